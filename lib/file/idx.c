/* idx.c - images and labels as MNIST has them: a magic number whose last two bytes are the
 * type and the number of dimensions, big-endian sizes, then the numbers. */
#include "file.h"

#include <string.h>

enum { IDX_UBYTE = 0x08 };

static const char *type_of(int code)
{
	switch (code) {
	case 0x09: return "signed bytes";
	case 0x0b: return "16-bit integers";
	case 0x0c: return "32-bit integers";
	case 0x0d: return "32-bit floats";
	case 0x0e: return "64-bit floats";
	default: return "of no known type";
	}
}

static int64_t big_endian(const unsigned char *p)
{
	return (int64_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

static int check_magic(struct idx *x, const char *path, struct why *w)
{
	const unsigned char *p = x->bytes.p;

	if (x->bytes.n < 4)
		return why_set(w, EX_DATAERR, "reading idx: %.300s: %lld bytes: too short for a header", path, (long long)x->bytes.n);
	if (p[0] || p[1])
		return why_set(w, EX_DATAERR, "reading idx: %.300s: offset 0: begins with %02x %02x, not with two zero bytes", path, p[0], p[1]);
	if (p[2] != IDX_UBYTE)
		return why_set(w, EX_DATAERR, "reading idx: %.300s: offset 2: type 0x%02x: numbers are %s, only unsigned bytes (0x08) are read", path, p[2], type_of(p[2]));
	if (p[3] < 1 || p[3] > 4)
		return why_set(w, EX_DATAERR, "reading idx: %.300s: offset 3: %d dimensions: 1 to 4 are read", path, p[3]);
	x->dims = p[3];
	if (x->bytes.n < 4 + 4 * x->dims)
		return why_set(w, EX_DATAERR, "reading idx: %.300s: %lld bytes: ends inside the header", path, (long long)x->bytes.n);
	return 0;
}

static int check_sizes(struct idx *x, const char *path, struct why *w)
{
	int64_t header = 4 + 4 * x->dims, all = 1, has = x->bytes.n - header;

	for (int i = 0; i < x->dims; i++) {
		x->shape[i] = big_endian(x->bytes.p + 4 + 4 * i);
		if (__builtin_mul_overflow(all, x->shape[i], &all))
			return why_set(w, EX_DATAERR, "reading idx: %.300s: offset %d: dimension %d is %lld: more numbers than can be counted",
			    path, 4 + 4 * i, i, (long long)x->shape[i]);
	}
	if (all != has)
		return why_set(w, EX_DATAERR, "reading idx: %.300s: its dimensions ask for %lld bytes behind the header, it has %lld",
		    path, (long long)all, (long long)has);
	x->data = x->bytes.p + header;
	return 0;
}

int idx_open(struct idx *x, const char *path, struct why *w)
{
	int r;

	memset(x, 0, sizeof *x);
	if ((r = bytes_open(&x->bytes, path, FILE_MAX_INFLATED, w)))
		return r;
	if ((r = check_magic(x, path, w)) || (r = check_sizes(x, path, w)))
		idx_close(x);
	return r;
}

void idx_close(struct idx *x)
{
	bytes_close(&x->bytes);
	memset(x, 0, sizeof *x);
}
