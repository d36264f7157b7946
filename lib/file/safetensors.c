/* safetensors.c - reading safetensors: 8 bytes (little-endian) of header length, a JSON header
 * of names, types, shapes and places, then the tensors' bytes. The header is checked whole
 * against the file before anything is read by it.
 *
 * Where this reader is stricter than the reference: at most ST_MAX_DIMS dimensions; places and
 * shapes below 2^63; no NUL character in a string; the header's first byte is {, as the format says
 * and the reference does not check. As there, unknown keys of a tensor are ignored. */
#include "../wire/parse.h"
#include "safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct st {
	int fd;
	char path[301]; /* for messages */
	int64_t size, data; /* of the file; where the data part begins */
	json_t *header;   /* owns all names, types and metadata */
	json_t *meta;     /* NULL if there is none */
	struct st_tensor *tensor; /* in the order of their places */
	struct st_tensor **by_name;
	int n;
};

static const struct {
	const char *name;
	int bits;
} types[] = {
	{ "BOOL", 8 }, { "U8", 8 }, { "I8", 8 }, { "F8_E5M2", 8 }, { "F8_E4M3", 8 }, { "F8_E8M0", 8 },
	{ "F4", 4 }, { "F6_E2M3", 6 }, { "F6_E3M2", 6 },
	{ "I16", 16 }, { "U16", 16 }, { "F16", 16 }, { "BF16", 16 },
	{ "I32", 32 }, { "U32", 32 }, { "F32", 32 },
	{ "F64", 64 }, { "I64", 64 }, { "U64", 64 }, { "C64", 64 },
};

int st_dtype_bits(const char *dtype)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (!strcmp(types[i].name, dtype))
			return types[i].bits;
	return 0;
}

int st_bytes(const char *dtype, int dims, const int64_t *shape, int64_t *bytes)
{
	int64_t bits = st_dtype_bits(dtype);

	if (!bits)
		return -1;
	for (int i = 0; i < dims; i++)
		if (shape[i] < 0 || __builtin_mul_overflow(bits, shape[i], &bits))
			return -1;
	if (bits % 8)
		return -1;
	*bytes = bits / 8;
	return 0;
}

static int bad(const struct st *f, const char *name, const char *reason, struct why *w)
{
	char shown[FILE_SHOWN];

	if (!name)
		return why_set(w, EX_DATAERR, "reading safetensors: %s: %s", f->path, reason);
	return why_set(w, EX_DATAERR, "reading safetensors: %s: tensor %s: %s", f->path, file_shown(name, strlen(name), shown), reason);
}

static int no_memory(const struct st *f, struct why *w)
{
	return why_set(w, EX_OSERR, "reading safetensors: %s: no memory", f->path);
}

/* ---- the header's frame ---- */

static int64_t little_endian(const unsigned char p[8])
{
	uint64_t v = 0;

	for (int i = 7; i >= 0; i--)
		v = v << 8 | p[i];
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static int parse_header(struct st *f, const char *text, int64_t n, struct why *w)
{
	json_error_t e;
	bool short_of_memory;
	char reason[400], shown[FILE_SHOWN];

	if (*text != '{')
		return bad(f, NULL, "offset 8: the header does not begin with {", w);
	f->header = json_parse(text, (size_t)n, JSON_REJECT_DUPLICATES, &e, &short_of_memory);
	if (f->header)
		return 0;
	if (short_of_memory)
		return no_memory(f, w);
	snprintf(reason, sizeof reason, "offset %d: header is no JSON object: %s", 8 + e.position, file_shown(e.text, strlen(e.text), shown));
	return bad(f, NULL, reason, w);
}

static int read_header(struct st *f, struct why *w)
{
	unsigned char head[8];
	char reason[160], *text;
	int64_t n;
	int r;

	if (f->size < 8)
		return bad(f, NULL, "shorter than the 8 bytes of a header's length", w);
	if (io_pread(f->fd, head, 8, 0) != 8)
		return why_errno(w, EX_IOERR, "reading safetensors: %s", f->path);
	n = little_endian(head);
	if (n > ST_MAX_HEADER || n > f->size - 8 || n < 2) {
		snprintf(reason, sizeof reason, "offset 0: a header of %lld bytes, %s", (long long)n,
		    n < 2 ? "too short for {}" : n > ST_MAX_HEADER ? "more than 100000000" : "more than the file has");
		return bad(f, NULL, reason, w);
	}
	f->data = 8 + n;
	if (!(text = malloc((size_t)n)))
		return no_memory(f, w);
	if (io_pread(f->fd, text, (size_t)n, 8) != n)
		r = why_set(w, EX_IOERR, "reading safetensors: %s: the header cannot be read whole", f->path);
	else
		r = parse_header(f, text, n, w);
	free(text);
	return r;
}

/* ---- its tensors ---- */

/* A JSON integer that is not negative; -1 otherwise. */
static int64_t whole(const json_t *j)
{
	return json_is_integer(j) && json_integer_value(j) >= 0 ? json_integer_value(j) : -1;
}

static int read_shape(struct st *f, struct st_tensor *t, const json_t *shape, struct why *w)
{
	char reason[160];

	if (!json_is_array(shape))
		return bad(f, t->name, "shape is missing or no list", w);
	if (json_array_size(shape) > ST_MAX_DIMS) {
		snprintf(reason, sizeof reason, "%zu dimensions: more than the %d that are read", json_array_size(shape), ST_MAX_DIMS);
		return bad(f, t->name, reason, w);
	}
	t->dims = (int)json_array_size(shape);
	for (int i = 0; i < t->dims; i++)
		if ((t->shape[i] = whole(json_array_get(shape, (size_t)i))) < 0)
			return bad(f, t->name, "shape holds something that is no whole number", w);
	return 0;
}

static int check_size(struct st *f, const struct st_tensor *t, struct why *w)
{
	char reason[200], shown[FILE_SHOWN];
	int64_t bytes;

	if (!st_dtype_bits(t->dtype)) {
		snprintf(reason, sizeof reason, "dtype %s: unknown", file_shown(t->dtype, strlen(t->dtype), shown));
		return bad(f, t->name, reason, w);
	}
	if (st_bytes(t->dtype, t->dims, t->shape, &bytes))
		return bad(f, t->name, "shape: more bytes than can be counted, or no whole number of them", w);
	if (bytes == t->end - t->begin)
		return 0;
	snprintf(reason, sizeof reason, "its shape and dtype make %lld bytes, its data_offsets %lld", (long long)bytes, (long long)(t->end - t->begin));
	return bad(f, t->name, reason, w);
}

static int read_tensor(struct st *f, struct st_tensor *t, const char *name, const json_t *j, struct why *w)
{
	const json_t *offsets = json_object_get(j, "data_offsets"), *dtype = json_object_get(j, "dtype");
	char reason[160];
	int r;

	t->name = name;
	if (!json_is_object(j))
		return bad(f, name, "is no object", w);
	if (!json_is_string(dtype))
		return bad(f, name, "dtype is missing or no string", w);
	t->dtype = json_string_value(dtype);
	if ((r = read_shape(f, t, json_object_get(j, "shape"), w)))
		return r;
	if (!json_is_array(offsets) || json_array_size(offsets) != 2)
		return bad(f, name, "data_offsets is missing or no pair", w);
	t->begin = whole(json_array_get(offsets, 0));
	t->end = whole(json_array_get(offsets, 1));
	if (t->begin < 0 || t->end < t->begin)
		return bad(f, name, "data_offsets are no whole numbers in order", w);
	if (t->end > f->size - f->data) {
		snprintf(reason, sizeof reason, "data_offsets end at %lld, the data part has %lld bytes", (long long)t->end, (long long)(f->size - f->data));
		return bad(f, name, reason, w);
	}
	return check_size(f, t, w);
}

static int read_meta(struct st *f, json_t *meta, struct why *w)
{
	const char *key;
	char reason[200], shown[FILE_SHOWN];
	json_t *value;

	if (!json_is_object(meta))
		return bad(f, NULL, "__metadata__ is no object", w);
	json_object_foreach(meta, key, value) {
		if (json_is_string(value))
			continue;
		snprintf(reason, sizeof reason, "__metadata__: %s: is no string", file_shown(key, strlen(key), shown));
		return bad(f, NULL, reason, w);
	}
	f->meta = meta;
	return 0;
}

static int read_tensors(struct st *f, struct why *w)
{
	const char *key;
	json_t *value;
	int r = 0;

	f->tensor = calloc(json_object_size(f->header) + 1, sizeof *f->tensor);
	f->by_name = calloc(json_object_size(f->header) + 1, sizeof *f->by_name);
	if (!f->tensor || !f->by_name)
		return no_memory(f, w);
	json_object_foreach(f->header, key, value) {
		if (!strcmp(key, "__metadata__"))
			r = read_meta(f, value, w);
		else
			r = read_tensor(f, &f->tensor[f->n++], key, value, w);
		if (r)
			return r;
	}
	return 0;
}

/* ---- the whole ---- */

static int by_place(const void *a, const void *b)
{
	const struct st_tensor *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end); /* empty ones first */
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct st_tensor *const *)a)->name, (*(struct st_tensor *const *)b)->name);
}

/* Tensors must cover the data part from its first byte to its last without holes or overlaps. */
static int check_cover(struct st *f, struct why *w)
{
	int64_t at = 0;
	char reason[200];

	qsort(f->tensor, (size_t)f->n, sizeof *f->tensor, by_place);
	for (int i = 0; i < f->n; i++) {
		const struct st_tensor *t = &f->tensor[i];
		if (t->begin != at) {
			snprintf(reason, sizeof reason, "data_offsets begin at %lld, the tensor before ends at %lld: %s", (long long)t->begin,
			    (long long)at, t->begin > at ? "a hole" : "they overlap");
			return bad(f, t->name, reason, w);
		}
		at = t->end;
	}
	if (at != f->size - f->data) {
		snprintf(reason, sizeof reason, "the tensors end at %lld, the data part has %lld bytes", (long long)at, (long long)(f->size - f->data));
		return bad(f, NULL, reason, w);
	}
	for (int i = 0; i < f->n; i++)
		f->by_name[i] = &f->tensor[i];
	qsort(f->by_name, (size_t)f->n, sizeof *f->by_name, by_name);
	return 0;
}

static int open_file(struct st *f, const char *path, struct why *w)
{
	struct stat st;

	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a fifo is refused, not waited for */
	if (f->fd < 0)
		return why_errno(w, errno == ENOENT || errno == EACCES || errno == ENOTDIR ? EX_NOINPUT : EX_IOERR, "opening: %s", f->path);
	if (fstat(f->fd, &st))
		return why_errno(w, EX_IOERR, "looking at: %s", f->path);
	if (!S_ISREG(st.st_mode))
		return why_set(w, EX_NOINPUT, "reading safetensors: %s: is no regular file", f->path);
	f->size = st.st_size;
	return 0;
}

int st_open(struct st **out, const char *path, struct why *w)
{
	struct st *f = calloc(1, sizeof *f);
	int r;

	*out = NULL;
	if (!f)
		return why_set(w, EX_OSERR, "reading safetensors: %.300s: no memory", path);
	snprintf(f->path, sizeof f->path, "%s", path);
	if ((r = open_file(f, path, w)) || (r = read_header(f, w)) || (r = read_tensors(f, w)) || (r = check_cover(f, w))) {
		st_close(f);
		return r;
	}
	*out = f;
	return 0;
}

void st_close(struct st *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	json_decref(f->header);
	free(f->tensor);
	free(f->by_name);
	free(f);
}

int st_count(const struct st *f)
{
	return f->n;
}

const struct st_tensor *st_tensor(const struct st *f, int i)
{
	return &f->tensor[i];
}

const struct st_tensor *st_find(const struct st *f, const char *name)
{
	struct st_tensor key = { .name = name }, *p = &key, **found;

	found = bsearch(&p, f->by_name, (size_t)f->n, sizeof *f->by_name, by_name);
	return found ? *found : NULL;
}

const char *st_meta(const struct st *f, const char *key)
{
	return json_string_value(json_object_get(f->meta, key));
}

int st_sealed(const struct st *f, const char *key)
{
	const char *said = st_meta(f, key);
	char is[72];

	if (!said)
		return 0;
	if (st_seal_of(f->meta, key, is))
		return -EX_OSERR;
	return strcmp(said, is) == 0;
}

int st_read(struct st *f, const struct st_tensor *t, void *dst, struct why *w)
{
	char shown[FILE_SHOWN];
	int64_t n = t->end - t->begin;
	ssize_t got = io_pread(f->fd, dst, (size_t)n, f->data + t->begin);

	if (got < 0)
		return why_errno(w, EX_IOERR, "reading safetensors: %s: tensor %s", f->path, file_shown(t->name, strlen(t->name), shown));
	if (got < n)
		return why_set(w, EX_DATAERR, "reading safetensors: %s: tensor %s: the file has become shorter: %lld of %lld bytes", f->path,
		    file_shown(t->name, strlen(t->name), shown), (long long)got, (long long)n);
	return 0;
}
