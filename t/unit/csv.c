/* csv.c - RFC 4180 tables. With arguments, a tool for 312-csv.bats: dump FILE prints every cell of every
 * row as hexadecimal bytes. */
#include "tap.h"
#include "alloc.h"
#include "memfile.h"

#include "../../lib/file/file.h"

static void print_hex(const char *s)
{
	for (; *s; s++)
		printf("%02x", (unsigned char)*s);
}

static int dump(const char *path)
{
	struct why w = { 0 };
	struct csv c;
	int r = csv_open(&c, path, &w);

	if (r) {
		printf("%d %s\n", r, w.text);
		return -r;
	}
	for (int64_t row = -1; row < c.rows; row++)
		for (int i = 0; i < c.columns; i++) {
			print_hex(row < 0 ? c.name[i] : c.cell[row * c.columns + i]);
			putchar(i + 1 < c.columns ? ',' : '\n');
		}
	csv_close(&c);
	return 0;
}

/* The table's cells joined by | and rows by /. */
static void reads(const char *text, const char *want, const char *what)
{
	struct memfile m = memfile(text, strlen(text));
	struct why w = { 0 };
	struct csv c;
	char got[200] = "";

	if (csv_open(&c, m.path, &w)) {
		ok(false, "%s: %s", what, w.text);
		memfile_close(&m);
		return;
	}
	for (int64_t row = -1; row < c.rows; row++)
		for (int i = 0; i < c.columns; i++)
			snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i ? "|" : row < 0 ? "" : "/", row < 0 ? c.name[i] : c.cell[row * c.columns + i]);
	is_str(got, want, what);
	csv_close(&c);
	memfile_close(&m);
}

static void tables(void)
{
	reads("a,b\n1,2\n", "a|b/1|2", "plain");
	reads("a,b\n1,2", "a|b/1|2", "without a last newline");
	reads("a,b\r\n1,2\r\n", "a|b/1|2", "CRLF");
	reads("a,b\r\n1,2\r", "a|b/1|2", "CR at the very end");
	reads("\xef\xbb\xbf" "a,b\n1,2\n", "a|b/1|2", "a byte order mark");
	reads("\xef\xbb\xbf\"a\",b\n1,2\n", "a|b/1|2", "a byte order mark before a quote");
	reads("a,b\n\"1,5\",\"x \"\"y\"\"\"\n", "a|b/1,5|x \"y\"", "commas and quotes in quotes");
	reads("a,b\n\"1\n2\",\"3\r\n4\"\n5,6\n", "a|b/1\n2|3\r\n4/5|6", "newlines in quotes");
	reads("a,b\n,\n", "a|b/|", "empty cells");
	reads("a,b\n\"\",\"\"\n", "a|b/|", "empty quoted cells");
	reads("a\n\n1\n", "a//1", "one column: an empty line is an empty cell");
	reads("a,b\n 1 , 2\n", "a|b/ 1 | 2", "spaces belong to the cell");
	reads("a,b\n", "a|b", "a header alone");
	reads("a", "a", "a header without a newline");
	reads("a,b\n\"1\",2", "a|b/1|2", "a quoted cell and the end of the file");
	reads("a,b\n1,\"2\"", "a|b/1|2", "a quote that closes at the end of the file");
}

static void lines(void)
{
	const char text[] = "a,b\n\"1\n\n\",2\r\n3,4\n";
	struct memfile m = memfile(text, sizeof text - 1);
	struct csv c;

	if (csv_open(&c, m.path, NULL))
		return (void)ok(false, "open");
	ok(c.line[0] == 2 && c.line[1] == 5, "lines are counted through quoted newlines");
	csv_close(&c);
	memfile_close(&m);
}

static void refuses(const char *text, size_t n, const char *reason)
{
	struct memfile m = memfile(text, n);
	struct why w = { 0 };
	struct csv c;

	is_int(csv_open(&c, m.path, &w), -EX_DATAERR, reason);
	has_str(w.text, reason, "its reason");
	has_str(w.text, m.path, "names the file");
	memfile_close(&m);
}
#define REFUSES(text, reason) refuses(text, sizeof(text) - 1, reason)

static void faults(void)
{
	struct why w = { 0 };
	struct csv c;

	REFUSES("", "is empty");
	REFUSES("\xef\xbb\xbf", "is empty");
	REFUSES("a,b\n1\n", "line 2: 1 cells, the header has 2");
	REFUSES("a,b\n1,2\n1,2,3\n", "line 3: 3 cells, the header has 2");
	REFUSES("a,b\n\"x\ny\",2\n1\n", "line 4: 1 cells");
	REFUSES("a,b\n1,2\n\n", "line 3: 1 cells, the header has 2");
	REFUSES("a,b\n1,\"2\n3,4\n", "line 2: a quote is opened and never closed");
	REFUSES("a,b\n1,\"2\"x\n", "line 2: text behind a closing quote");
	REFUSES("a,b\n1,2\"3\n", "line 2: a quote inside a cell");
	REFUSES("a,b\n1,2\r3,4\n", "line 2: a carriage return without a line feed");
	REFUSES("a,b\n1,\0\n", "line 2: a NUL byte");
	REFUSES("a,b\n1,\"\0\"\n", "line 2: a NUL byte");
	REFUSES("a,b,a\n1,2,3\n", "line 1: two columns are named \"a\"");
	REFUSES("\x1f\x8b\x08\0\0\0\0\0\0\3", "ends inside gzip member 1");
	is_int(csv_open(&c, "/nowhere.csv", &w), -EX_NOINPUT, "a file that is not there");
}

static int in_little_memory(void *ctx)
{
	struct csv c;
	int r = csv_open(&c, ctx, NULL);

	if (!r)
		csv_close(&c);
	return r;
}

int main(int argc, char **argv)
{
	struct memfile m;

	if (argc > 2 && !strcmp(argv[1], "dump"))
		return dump(argv[2]);
	tables();
	lines();
	faults();
	m = memfile("a,b\n1,2\n3,4\n", 12);
	alloc_each("csv", in_little_memory, m.path);
	return done_testing();
}
