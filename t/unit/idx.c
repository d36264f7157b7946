/* idx.c - idx files and what gzip does to them. With arguments, a tool for 311-idx.bats: dump FILE prints the
 * sizes and the SHA-256 of the numbers. */
#include "tap.h"
#include "alloc.h"
#include "memfile.h"

#include <zlib.h>

#include "../../lib/file/file.h"

static int dump(const char *path)
{
	struct why w = { 0 };
	struct idx x;
	unsigned char sum[32];
	char hex[65];
	int64_t n = 1;
	int r = idx_open(&x, path, &w);

	if (r) {
		printf("%d %s\n", r, w.text);
		return -r;
	}
	for (int i = 0; i < x.dims; i++) {
		n *= x.shape[i];
		printf("%lld ", (long long)x.shape[i]);
	}
	if (sha_of(x.data, (size_t)n, sum))
		return 1;
	sha_hex(sum, hex);
	printf("%s\n", hex);
	idx_close(&x);
	return 0;
}

#define HEAD_2x3 "\0\0\x08\2\0\0\0\2\0\0\0\3"

static void refuses(const char *p, size_t n, const char *reason)
{
	struct memfile m = memfile(p, n);
	struct why w = { 0 };
	struct idx x;

	is_int(idx_open(&x, m.path, &w), -EX_DATAERR, reason);
	has_str(w.text, reason, "its reason");
	has_str(w.text, m.path, "names the file");
	memfile_close(&m);
}
#define REFUSES(bytes, reason) refuses(bytes, sizeof(bytes) - 1, reason)

static void plain(void)
{
	struct memfile m = memfile(HEAD_2x3 "abcdef", 18), none = memfile("\0\0\x08\1\0\0\0\0", 8);
	struct why w = { 0 };
	struct idx x;

	is_int(idx_open(&x, m.path, &w), 0, "2 x 3");
	ok(x.dims == 2 && x.shape[0] == 2 && x.shape[1] == 3 && !memcmp(x.data, "abcdef", 6), "its sizes and numbers");
	idx_close(&x);
	is_int(idx_open(&x, none.path, &w), 0, "no numbers at all");
	idx_close(&x);
	memfile_close(&m);
	memfile_close(&none);
}

static void faults(void)
{
	struct why w = { 0 };
	struct idx x;

	REFUSES("", "too short for a header");
	REFUSES("\0\0\x08", "too short for a header");
	REFUSES("\1\0\x08\1\0\0\0\0", "offset 0: begins with 01 00");
	REFUSES("\0\0\x0d\1\0\0\0\1abcd", "offset 2: type 0x0d: numbers are 32-bit floats");
	REFUSES("\0\0\x07\1\0\0\0\1a", "offset 2: type 0x07: numbers are of no known type");
	REFUSES("\0\0\x08\0", "offset 3: 0 dimensions");
	REFUSES("\0\0\x08\5", "offset 3: 5 dimensions");
	REFUSES("\0\0\x08\2\0\0\0\2\0\0", "ends inside the header");
	REFUSES(HEAD_2x3 "abcde", "ask for 6 bytes behind the header, it has 5");
	REFUSES(HEAD_2x3 "abcdefg", "ask for 6 bytes behind the header, it has 7");
	REFUSES("\0\0\x08\4\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "more numbers than can be counted");
	is_int(idx_open(&x, "/nowhere", &w), -EX_NOINPUT, "a file that is not there");
	is_int(idx_open(&x, "/dev/null", &w), -EX_NOINPUT, "no regular file");
}

/* ---- gzip ---- */

/* One member behind what out holds. */
static void gzip(struct buf *out, const void *p, size_t n)
{
	z_stream z = { 0 };

	if (deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK || buf_room(out, n + 1000)) {
		ok(false, "gzip");
		return;
	}
	z.next_in = (Bytef *)(uintptr_t)p;
	z.avail_in = (uInt)n;
	z.next_out = out->p + out->n;
	z.avail_out = (uInt)(out->cap - out->n);
	is_int(deflate(&z, Z_FINISH), Z_STREAM_END, "compressed");
	out->n += z.total_out;
	deflateEnd(&z);
}

static void members(void)
{
	struct buf b = { 0 };
	struct memfile m;
	struct bytes x;
	struct why w = { 0 };

	gzip(&b, HEAD_2x3 "abc", 15);
	gzip(&b, "", 0);
	gzip(&b, "def", 3);
	m = memfile(b.p, b.n);
	is_int(bytes_open(&x, m.path, 18, &w), 0, "three members, one of them empty");
	ok(x.n == 18 && !memcmp(x.p, HEAD_2x3 "abcdef", 18), "are one file");
	bytes_close(&x);
	is_int(bytes_open(&x, m.path, 17, &w), -EX_DATAERR, "more than the bound");
	has_str(w.text, "more than 17 bytes", "its reason");
	memfile_close(&m);
	for (size_t n = 2; n < b.n; n++) {
		m = memfile(b.p, n);
		int r = bytes_open(&x, m.path, 1000, &w);
		if (!r && x.n == 18)
			ok(false, "cut to %zu of %zu bytes it is whole", n, b.n);
		if (r && r != -EX_DATAERR)
			ok(false, "cut to %zu bytes: %d", n, r);
		bytes_close(&x);
		memfile_close(&m);
	}
	refuses((char *)b.p, b.n - 1, "ends inside gzip member 3");
	if (buf_add(&b, "\0", 1))
		return;
	refuses((char *)b.p, b.n, "1 bytes behind the last gzip member are no gzip");
	b.p[b.n - 6] ^= 1; /* of the last member's checksum */
	refuses((char *)b.p, b.n, "gzip member 3: incorrect data check");
	buf_free(&b);
}

/* Many MiB of zeros in one member, without ever holding them. */
static void gzip_zeros(struct buf *out, int mebibytes)
{
	static const unsigned char zeros[1 << 20];
	z_stream z = { 0 };

	if (deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK || buf_room(out, 1 << 20))
		return (void)ok(false, "gzip");
	z.next_out = out->p;
	z.avail_out = (uInt)out->cap;
	for (int i = 1; i <= mebibytes; i++) {
		z.next_in = (Bytef *)(uintptr_t)zeros;
		z.avail_in = sizeof zeros;
		deflate(&z, i < mebibytes ? Z_NO_FLUSH : Z_FINISH);
	}
	out->n = z.total_out;
	deflateEnd(&z);
}

/* Inflated no further than the bound. */
static void bomb(void)
{
	struct buf b = { 0 };
	struct memfile m;
	struct bytes x;
	struct why w = { 0 };
	int64_t before;

	gzip_zeros(&b, 64);
	before = host_rss_peak();
	m = memfile(b.p, b.n);
	is_int(bytes_open(&x, m.path, 1 << 20, &w), -EX_DATAERR, "64 MiB in a file of 64 KiB");
	ok(before > 0 && host_rss_peak() - before < 16 << 20, "take little memory");
	is_int(bytes_open(&x, m.path, 64 << 20, &w), 0, "and are read where that is allowed");
	is_int(x.n, 64 << 20, "whole");
	ok(host_rss_peak() - before > 32 << 20, "which the measure of memory sees");
	bytes_close(&x);
	memfile_close(&m);
	buf_free(&b);
}

static int in_little_memory(void *ctx)
{
	struct idx x;
	int r = idx_open(&x, ctx, NULL);

	if (!r)
		idx_close(&x);
	return r;
}

int main(int argc, char **argv)
{
	struct buf b = { 0 };
	struct memfile m;

	if (argc > 2 && !strcmp(argv[1], "dump"))
		return dump(argv[2]);
	plain();
	faults();
	members();
	bomb();
	gzip(&b, HEAD_2x3 "abcdef", 18);
	m = memfile(b.p, b.n);
	alloc_each("idx", in_little_memory, m.path);
	buf_free(&b);
	return done_testing();
}
