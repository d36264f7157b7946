/* base_num.c - strict numbers; shortest floats against Python's repr. */
#include "tap.h"

#include <unistd.h>

#include "../../lib/base/base.h"

static void refuses(int r, const struct why *w, const char *reason, const char *what)
{
	is_int(r, -EX_USAGE, what);
	has_str(w->text, reason, what);
}

static void integers(void)
{
	static const char *const bad[] = { "", "-", "+1", " 1", "1 ", "1x", "0x10", "1.0", "1e3", "--1", "NaN", "1_000", "\xd9\xa1" };
	struct why w = { 0 };
	int64_t v = 7;

	ok(num_int("0", "n", 0, 9, &v, &w) == 0 && v == 0, "0");
	ok(num_int("9223372036854775807", "n", INT64_MIN, INT64_MAX, &v, &w) == 0 && v == INT64_MAX, "the largest");
	ok(num_int("-9223372036854775808", "n", INT64_MIN, INT64_MAX, &v, &w) == 0 && v == INT64_MIN, "the smallest");
	ok(num_int("007", "n", 0, 9, &v, &w) == 0 && v == 7, "zeros in front are decimal, not octal");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		refuses(num_int(bad[i], "--updates", INT64_MIN, INT64_MAX, &v, &w), &w, "--updates: ", bad[i]);
	refuses(num_int("9223372036854775808", "n", 0, INT64_MAX, &v, &w), &w, "64 bits", "one too large");
	refuses(num_int("0", "n", 1, 5, &v, &w), &w, "less than 1", "below the range");
	refuses(num_int("6", "n", 1, 5, &v, &w), &w, "more than 5", "above the range");
	is_int(v, 7, "a refused number is not stored");
}

static void floats(void)
{
	static const char *const bad[] = { "", ".", "-", "+1", " 1", "1 ", "1e", "1e+", "e5", "0x1p3", "inf", "nan", "infinity", "1,5", "1.2.3", "1f", "--1" };
	struct why w = { 0 };
	double v = 7;

	ok(num_float("1e-4", "lr", 0, 1, &v, &w) == 0 && v == 1e-4, "1e-4");
	ok(num_float(".5", "lr", 0, 1, &v, &w) == 0 && v == 0.5, ".5");
	ok(num_float("-2.", "x", -9, 1, &v, &w) == 0 && v == -2, "-2.");
	ok(num_float("1E+2", "x", 0, 1000, &v, &w) == 0 && v == 100, "1E+2");
	ok(num_float("1e-400", "x", 0, 1, &v, &w) == 0 && v == 0, "what is too small is zero");
	v = 7;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		refuses(num_float(bad[i], "lr", -INFINITY, INFINITY, &v, &w), &w, "not a number", bad[i]);
	refuses(num_float("1e309", "lr", -INFINITY, INFINITY, &v, &w), &w, "too large", "1e309");
	refuses(num_float("-0.1", "p", 0, 1, &v, &w), &w, "less than 0", "below the range");
	refuses(num_float("1.1", "p", 0, 1, &v, &w), &w, "more than 1", "above the range");
	is_near(v, 7, 0, "a refused number is not stored");
}

static void sizes(void)
{
	static const struct {
		const char *s;
		int64_t v;
	} good[] = { { "0", 0 }, { "64M", 64 << 20 }, { "1k", 1024 }, { "1.5G", 3 << 29 }, { "2T", INT64_C(2) << 40 }, { "9007199254740993", 9007199254740993 }, { "9223372036854775807", INT64_MAX } };
	static const char *const bad[] = { "", "M", "-1", "-1K", "1.5", "1KB", "1 K", "1KiB", "1X", "8388608T", "9223372036854775808", "1e30" };
	struct why w = { 0 };
	int64_t v = 7;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		ok(num_size(good[i].s, "--memory", &v, &w) == 0 && v == good[i].v, "size %s", good[i].s);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		refuses(num_size(bad[i], "--memory", &v, &w), &w, "--memory: ", bad[i]);
}

static void durations(void)
{
	static const struct {
		const char *s;
		double v;
	} good[] = { { "90", 90 }, { "90s", 90 }, { "5m", 300 }, { "2h", 7200 }, { "3d", 259200 }, { "0.5", 0.5 }, { "1.5h", 5400 }, { "0", 0 } };
	static const char *const bad[] = { "", "m", "-1", "5min", "5 m", "1h30m", "1e12", "5M" };
	struct why w = { 0 };
	double v = 7;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		ok(num_duration(good[i].s, "--stop", &v, &w) == 0 && v == good[i].v, "duration %s", good[i].s);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		refuses(num_duration(bad[i], "--stop", &v, &w), &w, "--stop: ", bad[i]);
}

static void human(void)
{
	static const struct {
		int64_t bytes;
		const char *s;
	} want[] = { { 0, "0" }, { 999, "999" }, { 1000, "1.0K" }, { 1536, "1.5K" }, { 12897484, "12.3M" }, { INT64_C(5) << 30, "5.0G" }, { INT64_MAX, "8.0E" }, { -1536, "-1.5K" } };
	char out[16];
	bool narrow = true;

	for (size_t i = 0; i < sizeof want / sizeof *want; i++)
		is_str(num_human_bytes(want[i].bytes, out), want[i].s, "bytes for people");
	for (int64_t b = 1; b > 0 && b < INT64_MAX / 3; b = b * 3 / 2 + 1)
		narrow = narrow && strlen(num_human_bytes(b, out)) <= 7 && strlen(num_human_bytes(-b, out)) <= 7;
	ok(narrow, "never more than 7 characters");
}

/* ---- the shortest ---- */

static double bits_to_double(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

static double sample(uint64_t i)
{
	uint64_t r = rand_bits(3, RAND_TEST, i, 0);

	switch (i % 8) {
	case 0: return bits_to_double(r); /* any */
	case 1: return bits_to_double(r & UINT64_C(0x800fffffffffffff)); /* subnormal */
	case 2: return bits_to_double((r % 2046 + 1) << 52); /* powers of two */
	case 3: return (double)(r % 100000000) / 1e4; /* few digits */
	case 4: return (double)(int64_t)r; /* whole */
	case 5: return ldexp((double)(r >> 11), (int)(r % 75) - 71); /* 1e-5 to 2^53 and somewhat beyond */
	case 6: return (double)(r % 1000000) * pow(10, -(double)(r % 11)); /* few digits, rounded */
	default: return (double)r * 0x1p-64; /* [0,1) */
	}
}

/* Python's repr of n samples, which python reads as bit patterns. */
static void against_python(long n)
{
	static const char script[] = "import sys, struct, math\n"
		"for line in open(sys.argv[1]):\n"
		"    x = struct.unpack('<d', struct.pack('<Q', int(line)))[0]\n"
		"    print(repr(x)[:-2] if repr(x).endswith('.0') else repr(x))\n";
	char path[] = "/tmp/pilot-num-XXXXXX", command[1024], line[64], out[32];
	long compared = 0, wrong = 0;
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!ok(f != NULL, "a temporary file"))
		return;
	for (long i = 0; i < n; i++) {
		double x = sample((uint64_t)i);
		uint64_t bits;

		memcpy(&bits, &x, sizeof bits);
		if (isfinite(x))
			fprintf(f, "%llu\n", (unsigned long long)bits);
	}
	fclose(f);
	snprintf(command, sizeof command, "/usr/bin/python3 -c \"%s\" %s", script, path);
	f = popen(command, "r");
	for (long i = 0; f && i < n; i++) {
		double x = sample((uint64_t)i);

		if (!isfinite(x))
			continue;
		if (!fgets(line, sizeof line, f))
			break;
		line[strcspn(line, "\n")] = '\0';
		compared++;
		if (num_shortest(x, out) != (int)strlen(out) || strcmp(out, line)) {
			if (wrong++ < 5)
				diag("%.17g: got %s, Python has %s", x, out, line);
		}
	}
	ok(f && pclose(f) == 0 && compared > n * 9 / 10 && wrong == 0, "the shortest floats are Python's (%ld compared, %ld differ)", compared, wrong);
	remove(path);
}

static void shortest(void)
{
	static const struct {
		double x;
		const char *s;
	} want[] = { { 0, "0" }, { -0.0, "-0" }, { 0.1, "0.1" }, { 1e16, "1e+16" }, { 1e15, "1000000000000000" }, { 123456789.125, "123456789.125" },
		{ 0x1p-44, "5.684341886080802e-14" }, { 5e-324, "5e-324" }, { 1.7976931348623157e308, "1.7976931348623157e+308" },
		{ 0.0001, "0.0001" }, { 0.00001, "1e-05" }, { -1.5, "-1.5" }, { 1.0 / 3, "0.3333333333333333" } };
	char out[32];

	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		int n = num_shortest(want[i].x, out);

		is_str(out, want[i].s, "shortest");
		is_int(n, (long long)strlen(out), "and its length");
	}
}

int main(void)
{
	integers();
	floats();
	sizes();
	durations();
	human();
	shortest();
	if (access("/usr/bin/python3", X_OK) == 0)
		against_python(60000);
	else
		skip("the shortest floats are Python's", "python3 is not installed");
	return done_testing();
}
