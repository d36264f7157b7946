/* base_text.c - reasons, exit codes, buffers, and KIND:key=value specs. */
#include <errno.h>

#include "tap.h"

#include "../../lib/base/base.h"

static void reasons(void)
{
	struct why w = { 0 };
	char longest[3000];

	is_int(why_set(&w, EX_DATAERR, "reading: %s: %d bytes", "f", 3), -EX_DATAERR, "why_set returns -code");
	is_int(w.code, EX_DATAERR, "and keeps it");
	is_str(w.text, "reading: f: 3 bytes", "and the text");
	errno = ENOSPC;
	is_int(why_errno(&w, EX_IOERR, "writing: %s", "f"), -EX_IOERR, "why_errno returns -code");
	is_str(w.text, "writing: f: No space left on device", "with the system's reason");
	is_int(errno, ENOSPC, "errno is left as it was");
	is_int(why_set(NULL, EX_USAGE, "x"), -EX_USAGE, "nobody wants to know why");
	is_int(why_errno(NULL, EX_USAGE, "x"), -EX_USAGE, "nobody wants to know why, with errno");
	memset(longest, 'a', sizeof longest);
	longest[sizeof longest - 1] = '\0';
	why_set(&w, 1, "%s", longest);
	is_int((long long)strlen(w.text), (long long)sizeof w.text - 1, "a long reason is cut");
	errno = ENOENT;
	why_errno(&w, 1, "%s", longest);
	has_str(w.text, "aaa: No such file or directory", "a long name does not push out the cause");
	is_int((long long)strlen(w.text), (long long)sizeof w.text - 1, "and is cut");
}

static void codes(void)
{
	static const int order[] = { 0, EX_NO, EX_USAGE, EX_DATAERR, EX_UNAVAILABLE, EX_IOERR };
	enum { N = sizeof order / sizeof *order };

	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			is_int(code_worst(order[i], order[j]), order[i > j ? i : j], "the worst of two codes");
	is_int(code_worst(EX_TEMPFAIL, EX_NO), EX_TEMPFAIL, "75 counts more than 1");
	is_int(code_worst(EX_TEMPFAIL, EX_DATAERR), EX_DATAERR, "and less than 65");
}

static void buffers(void)
{
	struct buf b = { 0 };
	bool good = true;

	ok(buf_add(&b, "", 0) == 0 && b.n == 0, "adding nothing");
	for (int i = 0; i < 10000; i++)
		good = good && buf_printf(&b, "%d,", i) == 0;
	ok(good && b.n == 48890, "ten thousand numbers");
	ok(!memcmp(b.p, "0,1,2,", 6) && !memcmp(b.p + b.n - 6, ",9999,", 6), "and they are there");
	is_int(buf_room(&b, SIZE_MAX), -EX_OSERR, "more than there can be");
	is_int(buf_room(&b, SIZE_MAX - b.n), -EX_OSERR, "and a little less");
	is_int((long long)b.n, 48890, "what was there stays");
	buf_free(&b);
	ok(!b.p && !b.n && !b.cap, "freed");
	buf_free(&b);
}

/* ---- specs ---- */

static void good_specs(void)
{
	struct why w = { 0 };
	struct spec s;
	const char *text = "";
	int64_t i = 0;
	double x = 0;

	if (!is_int(spec_parse(&s, "adamw:lr=1e-4,n=3,file=a\\,b=c\\\\,path=C:\\dir", &w), 0, "a spec"))
		return;
	is_str(s.kind, "adamw", "its kind");
	is_int(s.n, 4, "its pairs");
	ok(spec_float(&s, "lr", 0, 1, &x, &w) == 1 && x == 1e-4, "a float");
	ok(spec_int(&s, "n", 0, 9, &i, &w) == 1 && i == 3, "a whole number");
	ok(spec_str(&s, "file", &text, &w) == 1, "a text");
	is_str(text, "a,b=c\\", "\\, is a comma and \\\\ a backslash");
	is_int(spec_done(&s, &w), -EX_USAGE, "one key is left");
	is_str(w.text, "adamw: unknown key \"path\" (there are: lr, n, file)", "and named, with those that there are");
	ok(spec_str(&s, "path", &text, &w) == 1, "asked for");
	is_str(text, "C:\\dir", "another backslash stands for itself");
	is_int(spec_done(&s, &w), 0, "nothing is left");
	x = 5;
	is_int(spec_float(&s, "beta", 0, 1, &x, &w), 0, "an absent key");
	is_near(x, 5, 0, "leaves the default");
	spec_free(&s);
	ok(spec_parse(&s, "sums", &w) == 0 && s.n == 0 && spec_done(&s, &w) == 0, "a kind alone");
	is_str(s.kind, "sums", "is the kind");
	spec_free(&s);
}

static void bad_values(void)
{
	struct why w = { 0 };
	struct spec s;
	const char *text;
	int64_t i;
	double x;

	if (!is_int(spec_parse(&s, "gpt:layers=x,width=,heads=0", &w), 0, "wrong values are found when asked for"))
		return;
	is_int(spec_int(&s, "layers", 1, 99, &i, &w), -EX_USAGE, "not a number");
	has_str(w.text, "gpt: layers: \"x\": not a whole number", "kind, key, value, reason");
	is_int(spec_str(&s, "width", &text, &w), -EX_USAGE, "an empty text");
	has_str(w.text, "gpt: width: ", "is named");
	is_int(spec_float(&s, "heads", 1, 2, &x, &w), -EX_USAGE, "out of range");
	has_str(w.text, "gpt: heads: 0: less than 1", "is named with the bound");
	spec_free(&s);
}

static void bad_specs(void)
{
	static const struct {
		const char *text, *reason;
	} bad[] = { { "", "expected KIND" }, { ":a=1", "expected KIND" }, { "a=1", "expected KIND" }, { "adamw,lr=1", "expected KIND" }, { "x:", "expected key=value" },
		{ "x:a", "\"a\": expected key=value" }, { "x:=1", "expected key=value" }, { "x:a=1,", "expected key=value" }, { "x:,a=1", "expected key=value" },
		{ "x:a=1,b=2,a=3", "key \"a\": given twice" }, { "x:a=1,,b=2", "expected key=value" } };
	struct spec s;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct why w = { 0 };

		is_int(spec_parse(&s, bad[i].text, &w), -EX_USAGE, bad[i].text);
		has_str(w.text, bad[i].reason, bad[i].text);
		ok(!s.kind && !s.pair && !s.text, "nothing is left to free");
	}
}

int main(void)
{
	reasons();
	codes();
	buffers();
	good_specs();
	bad_values();
	bad_specs();
	return done_testing();
}
