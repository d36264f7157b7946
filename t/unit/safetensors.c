/* safetensors.c - reading and writing safetensors. With arguments it is a tool for 310-safetensors.bats:
 *	dump FILE           name, dtype, shape and SHA-256 of every tensor; metadata keys named after FILE
 *	write FILE          a file of several types, for another reader
 *	full FILE           writes under RLIMIT_FSIZE and reports */
#include "tap.h"
#include "alloc.h"
#include "memfile.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../../lib/file/file.h"

/* ---- a tool ---- */

static int dump(const char *path, char **keys)
{
	struct why w = { 0 };
	struct st *f;
	int r = st_open(&f, path, &w);

	for (int i = 0; !r && i < st_count(f); i++) {
		const struct st_tensor *t = st_tensor(f, i);
		unsigned char sum[32], *p = malloc((size_t)(t->end - t->begin) + 1);
		char hex[65];
		if ((r = st_read(f, t, p, &w)) || (r = sha_of(p, (size_t)(t->end - t->begin), sum)))
			break;
		sha_hex(sum, hex);
		printf("%s %s ", t->name, t->dtype);
		for (int d = 0; d < t->dims; d++)
			printf(d ? "x%lld" : "%lld", (long long)t->shape[d]);
		printf(" %s\n", hex);
		free(p);
	}
	for (; !r && *keys; keys++)
		printf("meta %s %s\n", *keys, st_meta(f, *keys) ? st_meta(f, *keys) : "(none)");
	if (r)
		printf("%d %s\n", r, w.text);
	else
		st_close(f);
	return -r;
}

static int write_some(const char *path, int64_t numbers)
{
	struct why w = { 0 };
	struct st_out *o;
	float *f = malloc((size_t)numbers * sizeof *f);
	const int64_t shape[] = { numbers }, two[] = { 2, 3 }, none[] = { 0, 5 };
	const double d[] = { 1.5, -2.25, 1e300, 0, -0.0, 3 };
	const int64_t i[] = { INT64_MIN, -1, 0, 1, 2, INT64_MAX };
	char digest[72];
	int64_t bytes;
	int r;

	for (int64_t k = 0; k < numbers; k++)
		f[k] = (float)k / 7;
	if ((r = st_out_new(&o, path, &w)))
		goto out;
	if (st_out_meta(o, "pilot.data", "text:file=\"a\\b\"\n\xc3\xa9") || st_out_declare(o, "f \"quoted\" \xc3\xa9", "F32", 1, shape) || st_out_declare(o, "d", "F64", 2, two) ||
	    st_out_declare(o, "i", "I64", 2, two) || st_out_declare(o, "scalar", "F32", 0, NULL) || st_out_declare(o, "empty", "BF16", 2, none)) {
		st_out_abandon(o);
		r = -EX_SOFTWARE;
		goto out;
	}
	if ((r = st_out_put(o, f, &w)) || (r = st_out_put(o, d, &w)) || (r = st_out_put(o, i, &w)) || (r = st_out_put(o, f + 1, &w)) || (r = st_out_put(o, f, &w)))
		st_out_abandon(o);
	else if (!(r = st_out_commit(o, digest, &bytes, &w)))
		printf("%s %lld\n", digest, (long long)bytes);
out:
	free(f);
	if (r)
		printf("%d %s\n", r, w.text);
	return -r;
}

/* The file may grow to 64 KiB and no further. */
static int full(const char *path)
{
	struct rlimit l = { 65536, 65536 };

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &l);
	return write_some(path, 1 << 20);
}

/* ---- checks ---- */

/* header and n bytes of data as a file; the header's length is its own unless told. */
static struct memfile file_of(const char *header, int64_t length, size_t n)
{
	size_t h = strlen(header);
	unsigned char *p = calloc(8 + h + n, 1);
	struct memfile m;

	for (int i = 0; i < 8; i++)
		p[i] = (unsigned char)((uint64_t)(length < 0 ? (int64_t)h : length) >> 8 * i);
	memcpy(p + 8, header, h);
	m = memfile(p, 8 + h + n);
	free(p);
	return m;
}

#define T(name, dtype, shape, begin, end) "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" #begin "," #end "]}"

static void accepts(void)
{
	static const struct {
		const char *header;
		size_t data;
		int count;
	} t[] = {
		{ "{}", 0, 0 },
		{ "{}      ", 0, 0 },
		{ "{\"__metadata__\":{}}", 0, 0 },
		{ "{" T("a", "F32", "2,3", 0, 24) "}   ", 24, 1 },
		{ "{" T("scalar", "F64", "", 0, 8) "}", 8, 1 },
		{ "{" T("empty", "F32", "0,3", 0, 0) "}", 0, 1 },
		{ "{" T("b", "U8", "3", 4, 7) "," T("a", "F32", "1", 0, 4) "}", 7, 2 },
		{ "{" T("e", "F32", "0", 4, 4) "," T("b", "I16", "2", 4, 8) "," T("a", "BF16", "2", 0, 4) "}", 8, 3 },
		{ "{" T("nibbles", "F4", "3,2", 0, 3) "}", 3, 1 },
		{ "{\"a\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1],\"extra\":null}}", 1, 1 },
	};

	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct memfile m = file_of(t[i].header, -1, t[i].data);
		struct why w = { 0 };
		struct st *f;
		if (!ok(!st_open(&f, m.path, &w), "%s", t[i].header))
			diag("%s", w.text);
		else
			is_int(st_count(f), t[i].count, "its tensors");
		st_close(f);
		memfile_close(&m);
	}
}

static void refuses(void)
{
	static const struct {
		const char *header;
		int64_t length;
		size_t data;
		const char *reason;
	} t[] = {
		{ "", 0, 0, "too short for {}" },
		{ "{}", 3, 0, "more than the file has" },
		{ "{}", INT64_MAX, 0, "more than" },
		{ "{}", -2, 0, "" },
		{ "{}", 100000001, 0, "more than 100000000" },
		{ " {}", -1, 0, "offset 8: the header does not begin with {" },
		{ "[]", -1, 0, "does not begin with {" },
		{ "{]", -1, 0, "offset 10: header is no JSON object" },
		{ "{} x", -1, 0, "no JSON object" },
		{ "{\"a\":{},\"a\":{}}", -1, 0, "duplicate" },
		{ "{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", -1, 0, "duplicate" },
		{ "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", -1, 4, "duplicate" },
		{ "{\"a\":{\"dtype\":\"\xff\"}}", -1, 4, "no JSON object" },
		{ "{\"a\\u0000b\":1}", -1, 0, "no JSON object" },
		{ "{\"__metadata__\":[]}", -1, 0, "__metadata__ is no object" },
		{ "{\"__metadata__\":{\"k\\n\":1}}", -1, 0, "__metadata__: k\\x0a: is no string" },
		{ "{\"a\":1}", -1, 0, "tensor a: is no object" },
		{ "{\"a\\u001b[31m\":1}", -1, 0, "tensor a\\x1b[31m: is no object" },
		{ "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", -1, 4, "tensor a: dtype is missing" },
		{ "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", -1, 4, "tensor a: shape is missing" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", -1, 4, "tensor a: data_offsets is missing" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", -1, 4, "data_offsets" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", -1, 4, "no whole number" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[true],\"data_offsets\":[0,4]}}", -1, 4, "no whole number" },
		{ "{" T("a", "F32", "-1", 0, 4) "}", -1, 4, "no whole number" },
		{ "{" T("a", "F32", "1", -4, 0) "}", -1, 4, "data_offsets" },
		{ "{" T("a", "F32", "1", 4, 0) "}", -1, 4, "in order" },
		{ "{" T("a", "F33", "1", 0, 4) "}", -1, 4, "dtype F33: unknown" },
		{ "{" T("a", "f32", "1", 0, 4) "}", -1, 4, "dtype f32: unknown" },
		{ "{" T("a", "F32", "2", 0, 4) "}", -1, 4, "shape and dtype make 8 bytes, its data_offsets 4" },
		{ "{" T("a", "F4", "3", 0, 2) "}", -1, 2, "no whole number of them" },
		{ "{" T("a", "F32", "1,1,1,1,1,1,1,1,1", 0, 4) "}", -1, 4, "9 dimensions" },
		{ "{" T("a", "F32", "4611686018427387904,4611686018427387904", 0, 4) "}", -1, 4, "more bytes than can be counted" },
		{ "{" T("a", "U8", "4294967296,4294967296,0", 0, 4) "}", -1, 4, "more bytes than can be counted" },
		{ "{" T("a", "F32", "18446744073709551616", 0, 4) "}", -1, 4, "no JSON object" },
		{ "{" T("a", "F32", "2", 0, 8) "}", -1, 4, "data_offsets end at 8, the data part has 4 bytes" },
		{ "{" T("a", "F32", "1", 0, 4) "}", -1, 8, "the tensors end at 4, the data part has 8 bytes" },
		{ "{" T("a", "F32", "1", 4, 8) "}", -1, 8, "tensor a: data_offsets begin at 4, the tensor before ends at 0: a hole" },
		{ "{" T("a", "F32", "1", 0, 4) "," T("b", "F32", "1", 8, 12) "}", -1, 12, "tensor b: data_offsets begin at 8, the tensor before ends at 4: a hole" },
		{ "{" T("a", "F32", "2", 0, 8) "," T("b", "F32", "2", 4, 12) "}", -1, 12, "tensor b: data_offsets begin at 4, the tensor before ends at 8: they overlap" },
		{ "{" T("a", "F32", "1", 0, 4) "," T("b", "F32", "1", 0, 4) "}", -1, 4, "they overlap" },
	};

	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct memfile m = file_of(t[i].header, t[i].length, t[i].data);
		struct why w = { 0 };
		struct st *f;
		if (t[i].length == -2) { /* a length of 2^64 - 2 */
			unsigned char huge[8] = { 254, 255, 255, 255, 255, 255, 255, 255 };
			if (pwrite(m.fd, huge, 8, 0) != 8)
				ok(false, "test file");
		}
		is_int(st_open(&f, m.path, &w), -EX_DATAERR, t[i].header);
		has_str(w.text, t[i].reason, "its reason");
		has_str(w.text, m.path, "names the file");
		memfile_close(&m);
	}
}

static void missing(void)
{
	struct why w = { 0 };
	struct memfile m = memfile("\2\0\0", 3);
	struct st *f;

	is_int(st_open(&f, "/nowhere/x.safetensors", &w), -EX_NOINPUT, "a file that is not there");
	is_int(st_open(&f, "/tmp", &w), -EX_NOINPUT, "a folder");
	is_int(st_open(&f, m.path, &w), -EX_DATAERR, "three bytes");
	has_str(w.text, "8 bytes", "its reason");
	memfile_close(&m);
}

/* The file loses its end after it was opened: no bytes are made up. */
static void shrinks(void)
{
	struct memfile m = file_of("{" T("a", "F32", "2", 0, 8) "}", -1, 8);
	struct why w = { 0 };
	struct st *f;
	float x[2];

	if (st_open(&f, m.path, &w) || ftruncate(m.fd, lseek(m.fd, 0, SEEK_END) - 1))
		return (void)ok(false, "open: %s", w.text);
	is_int(st_read(f, st_find(f, "a"), x, &w), -EX_DATAERR, "a record shorter than its shape says");
	has_str(w.text, "tensor a", "is named");
	st_close(f);
	memfile_close(&m);
}

static char folder[] = "/tmp/pilot-st-XXXXXX";

static void round_trip(void)
{
	char path[80], digest[72], again[72];
	const int64_t shape[] = { 3 };
	const float x[] = { 1, -2, 3.5f };
	float y[3];
	struct why w = { 0 };
	struct st_out *o;
	struct st *f;
	int64_t bytes, size;

	snprintf(path, sizeof path, "%s/a.safetensors", folder);
	is_int(st_out_new(&o, path, &w), 0, "begin");
	is_int(st_out_meta(o, "k", "v \"\\\n\x01\xc3\xa9"), 0, "metadata");
	is_int(st_out_meta(o, "k2", "\xff"), -EX_DATAERR, "that is no UTF-8 is refused, not changed");
	is_int(st_out_declare(o, "x", "F32", 1, shape), 0, "a tensor");
	is_int(st_out_declare(o, "x", "F32", 1, shape), -EX_SOFTWARE, "not twice");
	is_int(st_out_declare(o, "__metadata__", "F32", 1, shape), -EX_SOFTWARE, "nor under the metadata's name");
	is_int(st_out_declare(o, "y", "F31", 1, shape), -EX_SOFTWARE, "nor of a type that there is not");
	ok(access(path, F_OK) != 0, "nothing under its name before the commit");
	is_int(st_out_put(o, x, &w), 0, "its bytes");
	is_int(st_out_put(o, x, &w), -EX_SOFTWARE, "no more than declared");
	is_int(st_out_meta(o, "late", "x"), -EX_SOFTWARE, "no metadata behind the header");
	is_int(st_out_commit(o, digest, &bytes, &w), 0, "commit");
	is_int(sha_file(path, again, &size, &w), 0, "digest of the file");
	is_str(digest, again, "is what the writer said");
	is_int(bytes, size, "and so is its size");
	is_int(st_open(&f, path, &w), 0, "reads back");
	is_str(st_meta(f, "format"), "pt", "format");
	is_str(st_meta(f, "k"), "v \"\\\n\x01\xc3\xa9", "metadata");
	is_str(st_meta(f, "k2"), NULL, "what was refused is not there");
	ok(st_find(f, "y") == NULL && st_find(f, "x") && st_find(f, "x")->shape[0] == 3, "the tensor by name");
	is_int(st_read(f, st_find(f, "x"), y, &w), 0, "read");
	ok(!memcmp(x, y, sizeof x), "the same bits");
	ok((bytes - 12) % 8 == 0, "the data part begins at a multiple of 8");
	st_close(f);
}

/* What goes wrong leaves the old file, and no other. */
static void all_or_nothing(void)
{
	char path[80], before[72], after[72], command[200];
	const int64_t shape[] = { 3 };
	struct why w = { 0 };
	struct st_out *o;

	snprintf(path, sizeof path, "%s/a.safetensors", folder);
	if (sha_file(path, before, NULL, &w) || st_out_new(&o, path, &w) || st_out_declare(o, "x", "F32", 1, shape))
		return (void)ok(false, "begin: %s", w.text);
	is_int(st_out_commit(o, NULL, NULL, &w), -EX_SOFTWARE, "a tensor is missing");
	has_str(w.text, "0 of 1 tensors", "its reason");
	if (st_out_new(&o, path, &w))
		return (void)ok(false, "begin: %s", w.text);
	st_out_abandon(o);
	is_int(sha_file(path, after, NULL, &w), 0, "the old file is there");
	is_str(after, before, "and the same");
	snprintf(command, sizeof command, "test $(ls -A %s | wc -l) = 1", folder);
	is_int(system(command), 0, "no temporary file is left");
	ok(st_out_new(&o, "/nowhere/x", &w) < 0, "a folder that is not there");
}

static int in_little_memory(void *ctx)
{
	const int64_t shape[] = { 3 };
	const float x[3] = { 0 };
	float y[3];
	struct st_out *o;
	struct st *f;
	int r = st_out_new(&o, ctx, NULL);

	if (r)
		return r;
	if ((r = st_out_declare(o, "x", "F32", 1, shape)) || (r = st_out_put(o, x, NULL))) {
		st_out_abandon(o);
		return r;
	}
	if ((r = st_out_commit(o, NULL, NULL, NULL)) || (r = st_open(&f, ctx, NULL)))
		return r;
	r = st_read(f, st_find(f, "x"), y, NULL);
	st_close(f);
	return r;
}

int main(int argc, char **argv)
{
	char path[80], command[100];

	if (argc > 2 && !strcmp(argv[1], "dump"))
		return dump(argv[2], argv + 3);
	if (argc > 2 && !strcmp(argv[1], "write"))
		return write_some(argv[2], 5);
	if (argc > 2 && !strcmp(argv[1], "full"))
		return full(argv[2]);
	if (!mkdtemp(folder))
		skip_all("no temporary folder");
	accepts();
	refuses();
	missing();
	shrinks();
	round_trip();
	all_or_nothing();
	snprintf(path, sizeof path, "%s/b.safetensors", folder);
	alloc_each("safetensors", in_little_memory, path);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	if (system(command))
		diag("%s stays", folder);
	return done_testing();
}
