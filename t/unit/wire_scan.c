/* wire_scan.c - scan_size and view_open on bytes that mean harm, and on every kind of head. */
#include "../../lib/wire/wire.h"
#include "tap.h"

/* A string literal's bytes, NULs included. */
#define B(s) (const unsigned char *)(s), sizeof(s) - 1

static ssize_t scanned(const unsigned char *p, size_t n, struct why *w)
{
	/* A block of its own of the exact size, so that the sanitizers see a read beyond it. */
	unsigned char *copy = malloc(n ? n : 1);
	memcpy(copy, p, n);
	w->text[0] = 0;
	ssize_t size = scan_size(copy, n, w);
	free(copy);
	return size;
}

static void refuses(const char *what, const unsigned char *p, size_t n, const char *reason)
{
	struct why w;
	ssize_t size = scanned(p, n, &w);
	ok(size == -EX_DATAERR && strstr(w.text, reason), "refused: %s: %s", what, w.text);
}

static void claims(void)
{
	struct why w;
	refuses("a map that claims 4 G pairs", B("\xdf\xff\xff\xff\xff"), "more than 1 MiB");
	refuses("an array that claims 4 G items", B("\x81\xa1k\xdd\xff\xff\xff\xff"), "more than 1 MiB");
	refuses("a string that claims 4 GB", B("\x81\xa1k\xdb\xff\xff\xff\xff"), "more than 1 MiB");
	refuses("bytes that claim 1 MiB", B("\x81\xa1k\xc6\x00\x10\x00\x00"), "more than 1 MiB");
	refuses("an extension that claims 2 GB", B("\x81\xa1k\xc9\x7f\xff\xff\xff\x01"), "more than 1 MiB");
	refuses("arrays that together claim too much", B("\x82\xa1k\xdd\x00\x08\x00\x00\xdd\x00\x08\x00\x00"), "more than 1 MiB");
	is_int(scanned(B("\x81\xa1k\xdb\x00\x0f\x00\x00"), &w), 0, "a string of 960 KiB is waited for");
	refuses("an array first", B("\x91\x01"), "begins no map");
	refuses("a string first", B("\xa1k"), "begins no map");
	refuses("0xc1", B("\x81\xa1k\xc1"), "0xc1");
	refuses("0xc1 in an array", B("\x81\xa1k\x92\x01\xc1"), "0xc1");
	is_int(scanned(B(""), &w), 0, "nothing yet");
	is_int(scanned(B("\x80"), &w), 1, "an empty map ends at once");
	is_int(scanned(B("\xdf\x00\x00\x00\x00zz"), &w), 5, "and in its longest form, with bytes behind it");
}

/* Arrays in arrays: the map is the first level. */
static void depth(void)
{
	unsigned char p[64] = "\x81\xa1k";
	struct why w;
	memset(p + 3, 0x91, 15);
	p[18] = 7;
	is_int(scanned(p, 19, &w), 19, "16 deep");
	p[18] = 0x91;
	p[19] = 7;
	ok(scanned(p, 20, &w) == -EX_DATAERR && strstr(w.text, "16 deep"), "17 deep is refused: %s", w.text);
	p[18] = 0x90;
	ok(scanned(p, 19, &w) < 0, "also where the 17th is empty");
	static unsigned char deep[1 << 20] = "\x81\xa1k";
	memset(deep + 3, 0x81, sizeof deep - 3);
	ok(scanned(deep, sizeof deep, &w) == -EX_DATAERR, "a million deep is refused: %s", w.text);
}

/* One value behind each first byte, of the least length that the byte allows and one more. */
static size_t value_of(unsigned c, unsigned length, unsigned char *p)
{
	static const unsigned char fixed[] = {
		[0xca - 0xc0] = 4, [0xcb - 0xc0] = 8, [0xcc - 0xc0] = 1, [0xcd - 0xc0] = 2, [0xce - 0xc0] = 4, [0xcf - 0xc0] = 8,
		[0xd0 - 0xc0] = 1, [0xd1 - 0xc0] = 2, [0xd2 - 0xc0] = 4, [0xd3 - 0xc0] = 8, [0xd4 - 0xc0] = 2, [0xd5 - 0xc0] = 3,
		[0xd6 - 0xc0] = 5, [0xd7 - 0xc0] = 9, [0xd8 - 0xc0] = 17,
	};
	size_t n = 1;
	unsigned width = 0, items = 0;
	p[0] = (unsigned char)c;
	if (c < 0x80 || c >= 0xe0 || c == 0xc0 || c == 0xc2 || c == 0xc3)
		return 1;
	if (c < 0xa0) {
		for (unsigned i = 0; i < (c & 15); i++) {
			if (c < 0x90) {
				p[n++] = 0xa1;
				p[n++] = (unsigned char)('a' + i);
			}
			p[n++] = 0xc0;
		}
		return n;
	}
	if (c < 0xc0) {
		memset(p + n, 'x', c & 31);
		return n + (c & 31);
	}
	if (c >= 0xca && c <= 0xd8)
		return n + fixed[c - 0xc0];
	width = c == 0xc4 || c == 0xc7 || c == 0xd9 ? 1 : c == 0xc5 || c == 0xc8 || c == 0xda || c == 0xdc || c == 0xde ? 2 : 4;
	for (unsigned i = 0; i < width; i++)
		p[n++] = (unsigned char)(i == width - 1 ? length : 0);
	if (c >= 0xc7 && c <= 0xc9)
		p[n++] = 5; /* the extension's type */
	items = length;
	for (unsigned i = 0; i < items; i++) {
		if (c >= 0xde) {
			p[n++] = 0xa1;
			p[n++] = (unsigned char)('a' + i);
		}
		p[n++] = c >= 0xdc ? 0xc0 : 'x';
	}
	return n;
}

static void heads(void)
{
	int wrong = 0, early = 0;
	for (unsigned c = 0; c < 256; c++) {
		if (c == 0xc1)
			continue;
		for (unsigned length = 0; length < 3; length++) {
			unsigned char p[128] = "\x82\xa1z";
			struct why w;
			size_t n = 3 + value_of(c, length, p + 3);
			memcpy(p + n, "\xa4kind\xa1x", 7);
			n += 7;
			wrong += scanned(p, n, &w) != (ssize_t)n;
			struct view v;
			wrong += view_open(&v, p, n, &w) != 0;
			for (size_t cut = 0; cut < n; cut++)
				early += scanned(p, cut, &w) != 0;
		}
	}
	is_int(wrong, 0, "each head of msgpack is passed over to the byte");
	is_int(early, 0, "cut at any byte, more is asked for, and nothing is read beyond the cut");
}

static void opens(const char *what, const unsigned char *p, size_t n)
{
	struct why w;
	struct view v;
	bool good = scanned(p, n, &w) == (ssize_t)n && view_open(&v, p, n, &w) == 0;
	ok(good, "opens: %s %s", what, good ? "" : w.text);
}

static void closed(const char *what, const unsigned char *p, size_t n, const char *reason)
{
	struct why w;
	struct view v;
	if (scanned(p, n, &w) != (ssize_t)n) {
		ok(false, "%s: does not scan: %s", what, w.text);
		return;
	}
	w.text[0] = 0;
	ok(view_open(&v, p, n, &w) == -EX_DATAERR && strstr(w.text, reason), "not opened: %s: %s", what, w.text);
}

#define TIME "\xd6\xff\x00\x00\x00\x01"

static void maps(void)
{
	opens("an unknown kind", B("\x81\xa4kind\xa3new"));
	opens("kind behind another key", B("\x82\xa1" "a\x01\xa4kind\xa3new"));
	opens("a note", B("\x83\xa4kind\xa4note\xa1t" TIME "\xa4text\xa2hi"));
	opens("a note with a field of tomorrow", B("\x84\xa4kind\xa4note\xa1t" TIME "\xa4text\xa2hi\xa3new\x92\x01\x81\xa1" "a\xc0"));
	opens("one key in two maps", B("\x82\xa4kind\xa3new\xa1m\x92\x81\xa1" "a\x01\x81\xa1" "a\x02"));
	closed("no kind", B("\x81\xa1" "a\x01"), "no kind");
	closed("an empty map", B("\x80"), "no kind");
	closed("kind is a number", B("\x81\xa4kind\x01"), "kind is an integer");
	closed("kind is empty", B("\x81\xa4kind\xa0"), "kind is empty");
	closed("kind is no UTF-8", B("\x81\xa4kind\xa1\xff"), "kind");
	closed("kind twice", B("\x82\xa4kind\xa3new\xa4kind\xa3new"), "key kind is there twice");
	closed("kind twice, once a number", B("\x82\xa4kind\xa3new\xa4kind\x01"), "key kind is there twice");
	closed("an unknown key twice", B("\x83\xa4kind\xa3new\xa1" "a\x01\xa1" "a\x02"), "key a is there twice");
	closed("the same key in two forms", B("\x83\xa4kind\xa3new\xa1" "a\x01\xd9\x01" "a\x02"), "key a is there twice");
	closed("a known field twice", B("\x84\xa4kind\xa4note\xa1t" TIME "\xa4text\xa2hi\xa4text\xa2hi"), "key text is there twice");
	closed("a key twice in an inner map", B("\x82\xa4kind\xa3new\xa1m\x91\x82\xa1" "a\x01\xa1" "a\x02"), "key a is there twice");
	closed("a key that is a number", B("\x82\xa4kind\xa3new\x01\x02"), "a key is an integer");
	closed("an inner key that is nil", B("\x82\xa4kind\xa3new\xa1m\x81\xc0\x02"), "a key is nil");
	closed("a key that is no UTF-8", B("\x82\xa4kind\xa3new\xa2\xc3(\x02"), "key \\xc3( is no text");
	closed("a key with a NUL", B("\x82\xa4kind\xa3new\xa2" "a\0\x02"), "is no text");
	closed("an escape sequence in a key", B("\x83\xa4kind\xa3new\xa4\x1b[2J\x01\xa4\x1b[2J\x01"), "\\x1b[2J");
	closed("a field of the wrong type", B("\x83\xa4kind\xa4note\xa1t" TIME "\xa4text\x05"), "field text of a note record is an integer");
	closed("a time that is a number", B("\x83\xa4kind\xa4note\xa1t\x01\xa4text\xa2hi"), "field t");
	closed("a time of another extension", B("\x83\xa4kind\xa4note\xa1t\xd6\x05\x00\x00\x00\x01\xa4text\xa2hi"), "field t");
	closed("a time with 2^30 - 1 nanoseconds", B("\x83\xa4kind\xa4note\xa1t\xd7\xff\xff\xff\xff\xfc\x00\x00\x00\x01\xa4text\xa2hi"), "field t");
	closed("a required field is missing", B("\x82\xa4kind\xa4note\xa1t" TIME), "field text is missing");
	closed("an integer beyond 63 bits", B("\x84\xa4kind\xa4" "done\xa1t" TIME "\xa2id\xa1x\xa6status\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), "beyond 63 bits");
	opens("such an integer in an unknown field", B("\x82\xa4kind\xa3new\xa1n\xcf\xff\xff\xff\xff\xff\xff\xff\xff"));
}

static size_t many_keys(unsigned char *p, int n, bool one_twice)
{
	size_t at = 3;
	p[0] = 0xde;
	p[1] = (unsigned char)((n + 1) >> 8);
	p[2] = (unsigned char)(n + 1);
	memcpy(p + at, "\xa4kind\xa3new", 9);
	at += 9;
	for (int i = 0; i < n; i++) {
		at += (size_t)sprintf((char *)p + at, "\xa6%06d", one_twice && i == n - 1 ? n / 2 : i);
		p[at++] = 0xc0;
	}
	return at;
}

static void many(void)
{
	static unsigned char p[1 << 20];
	opens("60,000 unknown keys", p, many_keys(p, 60000, false));
	closed("60,000 keys, one of them twice", p, many_keys(p, 60000, true), "key 030000 is there twice");
	opens("17 keys", p, many_keys(p, 17, false));
	closed("17 keys, one of them twice", p, many_keys(p, 17, true), "twice");
	opens("16 keys", p, many_keys(p, 16, false));
	closed("16 keys, one of them twice", p, many_keys(p, 16, true), "twice");
}

/* Integers in every width, where an INT and where a NUM is expected. */
static void widths(void)
{
	static const struct {
		const char *bytes;
		size_t n;
		int64_t value;
	} t[] = {
		{"\x7f", 1, 127}, {"\xe0", 1, -32}, {"\xcc\xff", 2, 255}, {"\xcd\xff\xff", 3, 65535}, {"\xce\xff\xff\xff\xff", 5, 4294967295},
		{"\xcf\x7f\xff\xff\xff\xff\xff\xff\xff", 9, INT64_MAX}, {"\xd0\x80", 2, -128}, {"\xd1\x80\x00", 3, -32768},
		{"\xd2\x80\x00\x00\x00", 5, INT32_MIN}, {"\xd3\x80\x00\x00\x00\x00\x00\x00\x00", 9, INT64_MIN},
	};
	for (size_t k = 0; k < sizeof t / sizeof *t; k++) {
		unsigned char p[80];
		struct view v;
		struct why w;
		int64_t i = 0;
		double x = 0;
		size_t n = (size_t)sprintf((char *)p, "\x85\xa4kind\xa4step\xa1t\xd6\xff");
		memcpy(p + n, "\0\0\0\1\xa3run\xa1r\xa6update", 17);
		n += 17;
		memcpy(p + n, t[k].bytes, t[k].n);
		n += t[k].n;
		memcpy(p + n, "\xa4loss", 5);
		memcpy(p + n + 5, t[k].bytes, t[k].n);
		n += 5 + t[k].n;
		bool open = scanned(p, n, &w) == (ssize_t)n && view_open(&v, p, n, &w) == 0;
		ok(open && view_int(&v, F_step_update, &i) && i == t[k].value, "integer %lld", (long long)t[k].value);
		ok(open && view_num(&v, F_step_loss, &x) && x == (double)t[k].value, "the same where a number is expected");
		ok(open && !view_int(&v, F_step_lr, &i) && !view_int(&v, F_end_updates, &i), "absent fields and those of other kinds are absent");
	}
}

int main(void)
{
	claims();
	depth();
	heads();
	maps();
	many();
	widths();
	return done_testing();
}
