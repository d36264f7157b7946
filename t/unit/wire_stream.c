/* wire_stream.c - streams through real descriptors: mixed forms, drips, cuts, full disks, broken
 * pipes, flushing; and brackets. */
#include "../../lib/wire/wire.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static int fd_with(const void *p, size_t n)
{
	int fd = memfd_create("records", 0);
	if (write(fd, p, n) != (ssize_t)n)
		exit(70);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void note(struct rec *r, const char *text)
{
	struct why w;
	rec_begin(r, KIND_note);
	rec_time(r, F_note_t, (struct timestamp){1900000000, 0});
	rec_str(r, F_note_text, text);
	if (rec_end(r, &w))
		exit(70);
}

/* How many records come before the end (positive end: 0) or the failure; the reason in w. */
static int count(const void *p, size_t n, int *end, struct why *w)
{
	struct in *i;
	struct view v;
	int fd = fd_with(p, n), records = 0, rc;
	w->text[0] = 0;
	if (in_open(&i, fd, "file", w))
		exit(70);
	while ((rc = in_next(i, &v, w)) > 0)
		records++;
	*end = rc;
	ok(rc == 0 || in_next(i, &v, w) == rc, "what is broken stays broken");
	in_close(i);
	close(fd);
	return records;
}

static void mixed(void)
{
	struct rec r = {0};
	struct buf b = {0};
	struct why w;
	int end, rc = 0;
	note(&r, "one");
	rc |= buf_add(&b, r.buf.p, r.buf.n);
	rc |= buf_printf(&b, " \n\t{\"kind\":\"a\"}\r\n\n{\"kind\":\"b\"}\n");
	rc |= buf_add(&b, r.buf.p, r.buf.n);
	rc |= buf_printf(&b, "{\"kind\":\"c\"}");
	is_int(rc, 0, "a stream was made");
	is_int(count(b.p, b.n, &end, &w), 5, "msgpack and JSON Lines follow one another");
	is_int(end, 0, "and end");
	is_int(count("", 0, &end, &w), 0, "an empty stream has no record");
	is_int(end, 0, "and a clean end");
	buf_free(&b);
	rec_free(&r);
}

static void broken(const char *what, const void *p, size_t n, int records, const char *reason)
{
	struct why w;
	int end;
	is_int(count(p, n, &end, &w), records, what);
	ok(end == -EX_DATAERR && w.code == EX_DATAERR && strstr(w.text, reason) && strstr(w.text, "file"), "%s", w.text);
}

static void foreign(void)
{
	broken("gzip", "\x1f\x8b\x08\0\0\0", 6, 0, "is gzip: use zcat");
	broken("text", "hello\n", 6, 0, "record 1 at offset 0: byte 0x68 begins no record");
	broken("an array of records", "[{\"kind\":\"a\"}]\n", 15, 0, "jq -c");
	broken("garbage behind a record", "{\"kind\":\"a\"}\nx", 14, 1, "record 2 at offset 13");
	broken("JSON over several lines", "{\n\"kind\":\"a\"\n}\n", 15, 0, "record 1 at offset 0: JSON");
	broken("a record without kind", "{\"a\":1}\n", 8, 0, "there is no kind");
	broken("a huge claim", "{\"kind\":\"a\"}\n\xdf\xff\xff\xff\xff", 18, 1, "record 2 at offset 13: byte 0: the record needs more than 1 MiB");
}

/* Two records cut at every byte of the second. */
static void cuts(const char *what, const struct buf *two, size_t first)
{
	int wrong = 0;
	for (size_t n = first + 1; n < two->n; n++) {
		struct in *i;
		struct view v;
		struct why w;
		char want[80];
		int fd = fd_with(two->p, n);
		if (in_open(&i, fd, "file", &w))
			exit(70);
		snprintf(want, sizeof want, "cut inside record 2 at offset %zu", n);
		bool right = in_next(i, &v, &w) == 1 && in_next(i, &v, &w) == -EX_DATAERR && strstr(w.text, want);
		if (!right)
			diag("%s cut at %zu: %s", what, n, w.text);
		wrong += !right;
		in_close(i);
		close(fd);
	}
	is_int(wrong, 0, what);
}

static void cut(void)
{
	struct rec r = {0};
	struct buf b = {0}, j = {0};
	note(&r, "a note");
	if (buf_add(&b, r.buf.p, r.buf.n) || buf_add(&b, r.buf.p, r.buf.n))
		exit(70);
	cuts("a msgpack stream cut at any byte says where", &b, r.buf.n);
	static const char line[] = "{\"kind\":\"a\",\"b\":[true,null,-1.5e3,\"x\\u00e9\"]}\n";
	if (buf_printf(&j, "%s%s", line, line))
		exit(70);
	j.n--; /* a last line may lack its newline */
	cuts("a JSON stream cut at any byte says where", &j, strlen(line));
	buf_free(&b);
	buf_free(&j);
	rec_free(&r);
}

/* One byte at a time through a pipe: a record is there with its last byte, not before, not after. */
static void drip(void)
{
	struct rec r = {0};
	struct why w;
	struct view v;
	struct in *i;
	int p[2], early = 0;
	note(&r, "drop by drop");
	if (pipe(p) || in_open(&i, p[0], "pipe", &w))
		exit(70);
	for (size_t k = 0; k < r.buf.n; k++) {
		early += !in_would_wait(i);
		if (write(p[1], r.buf.p + k, 1) != 1)
			exit(70);
	}
	is_int(early, 0, "in_would_wait says so until the last byte is there");
	ok(!in_would_wait(i), "and then no more");
	is_int(in_next(i, &v, &w), 1, "the record");
	is_int(v.number, 1, "its number");
	ok(in_would_wait(i), "the next is not there");
	if (write(p[1], "{\"kind\":\"a\"}\n", 13) != 13)
		exit(70);
	ok(!in_would_wait(i), "a line of JSON is");
	is_int(in_next(i, &v, &w), 1, "and is read");
	is_int(v.offset, (long long)r.buf.n, "its offset");
	close(p[1]);
	ok(!in_would_wait(i), "the end is nothing to wait for");
	is_int(in_next(i, &v, &w), 0, "it is clean");
	in_close(i);
	close(p[0]);
	rec_free(&r);
}

static void big(void)
{
	struct rec r = {0};
	struct buf b = {0};
	struct why w;
	int end;
	char *text = calloc(1, 1 << 20);
	memset(text, 'x', (1 << 20) - 64);
	note(&r, text);
	for (int k = 0; k < 5; k++)
		if (buf_add(&b, r.buf.p, r.buf.n) || buf_printf(&b, "{\"kind\":\"a\"}\n"))
			exit(70);
	is_int(count(b.p, b.n, &end, &w), 10, "records of nearly 1 MiB between small ones");
	is_int(end, 0, w.text);
	free(text);
	buf_free(&b);
	rec_free(&r);
}

/* ---- writing ---- */

static off_t written(int fd)
{
	return lseek(fd, 0, SEEK_END);
}

static void step(struct rec *r, int64_t n)
{
	rec_begin(r, KIND_step);
	rec_str(r, F_step_run, "01ARZ3NDEKTSV4RRFFQ69G5FAV");
	rec_int(r, F_step_update, n);
	rec_num(r, F_step_loss, 1.0 / (double)n);
}

static void flushing(void)
{
	struct rec r = {0};
	struct out *o;
	struct why w;
	int fd = fd_with("", 0);
	ok(out_open(&o, fd, FORM_AUTO, &w) == 0 && out_form(o) == FORM_MSGPACK, "a file gets msgpack");
	step(&r, 1);
	is_int(out_rec(o, &r, &w), 0, "a step");
	is_int(written(fd), 0, "waits");
	is_int(out_tick(o, &w), 0, "a tick at once");
	is_int(written(fd), 0, "flushes nothing");
	usleep(550000);
	is_int(out_tick(o, &w), 0, "a tick after half a second");
	is_int(written(fd), (long long)r.buf.n, "does");
	step(&r, 2);
	is_int(out_rec(o, &r, &w), 0, "another step");
	off_t first = written(fd), waiting = (off_t)r.buf.n;
	note(&r, "n");
	is_int(out_rec(o, &r, &w), 0, "and a note");
	is_int(written(fd), first + waiting + (off_t)r.buf.n, "a record that is no step goes out with what waited");
	off_t before = written(fd);
	int n = 3;
	while (written(fd) == before && n < 1000) {
		step(&r, n++);
		if (out_rec(o, &r, &w))
			exit(70);
	}
	ok(written(fd) - before >= 8192 && written(fd) - before < 8192 + 200, "steps go out by 8 KiB: %lld", (long long)(written(fd) - before));
	is_int(out_records(o), n, "records are counted");
	is_int(out_close(o, &w), 0, "closed");
	rec_free(&r);
	close(fd);
}

static void full_disk(void)
{
	struct rec r = {0};
	struct out *o;
	struct why w = {0};
	int fd = open("/dev/full", O_WRONLY);
	if (fd < 0) {
		skip("a full disk", "no /dev/full");
		return;
	}
	if (out_open(&o, fd, FORM_JSON, &w))
		exit(70);
	note(&r, "lost");
	ok(out_rec(o, &r, &w) == -EX_IOERR && strstr(w.text, "No space left"), "a full disk: %s", w.text);
	ok(!out_broken(o), "is no broken pipe");
	step(&r, 1);
	is_int(out_rec(o, &r, &w), -EX_IOERR, "nothing is written after it");
	errno = 0;
	is_int(out_close(o, &w), -EX_IOERR, "and the end says so");
	is_int(errno, ENOSPC, "with errno");
	rec_free(&r);
	close(fd);
}

static void broken_pipe(void)
{
	struct rec r = {0};
	struct out *o;
	struct why w = {0};
	int p[2];
	signal(SIGPIPE, SIG_IGN);
	if (pipe(p) || out_open(&o, p[1], FORM_MSGPACK, &w))
		exit(70);
	close(p[0]);
	note(&r, "nobody reads");
	is_int(out_rec(o, &r, &w), -EX_IOERR, "a broken pipe");
	ok(out_broken(o), "is known as one");
	errno = 0;
	is_int(out_close(o, &w), -EX_IOERR, w.text);
	is_int(errno, EPIPE, "errno at the end");
	close(p[1]);
	rec_free(&r);
}

/* What comes in goes out in the same bytes, whatever is not known of it. */
static void pass_through(void)
{
	static const char odd[] = "\x84\xa4kind\xa8tomorrow\xa1t\xc7\x0c\xff\0\0\0\1\0\0\0\0\0\0\0\2\xda\0\1x\xcf\0\0\0\0\0\0\0\5\xa1y\xdc\0\1\xca\x3f\x80\0\0"
		"\xdf\0\0\0\4\xa1t\xd6\xff\0\0\0\7\xa4text\xd9\3abc\xa4kind\xa4note\xa3new\xc4\2\0\xff";
	static char back[4096];
	struct in *i;
	struct out *o;
	struct view v;
	struct why w = {0};
	int from = fd_with(odd, sizeof odd - 1), to = fd_with("", 0), n = 0;
	if (in_open(&i, from, "file", &w) || out_open(&o, to, FORM_MSGPACK, &w))
		exit(70);
	while (in_next(i, &v, &w) == 1 && out_view(o, &v, &w) == 0)
		n++;
	is_int(n, 2, w.text);
	is_int(out_close(o, &w), 0, "written");
	ok(pread(to, back, sizeof back, 0) == (ssize_t)sizeof odd - 1 && !memcmp(back, odd, sizeof odd - 1), "unknown kinds and fields, and longer forms than needed, keep their bytes");
	in_close(i);
	close(from);
	close(to);
}

/* ---- brackets ---- */

static int see(struct brackets *b, const char *json, struct why *w)
{
	struct buf m = {0};
	struct view v = {.number = 7, .offset = 70};
	int rc = json_read(json, strlen(json), &m, w);
	if (!rc)
		rc = view_open(&v, m.p, m.n, w);
	if (!rc)
		rc = brackets_see(b, &v, w);
	buf_free(&m);
	return rc;
}

#define T "\"t\":\"2026-11-30T18:34:05Z\","
#define TOOL(id) "{\"kind\":\"tool\"," T "\"id\":\"" id "\",\"name\":\"n\",\"version\":\"1\"}"
#define DONE(id) "{\"kind\":\"done\"," T "\"id\":\"" id "\",\"status\":0}"
#define RUN(id) "{\"kind\":\"run\"," T "\"run\":\"" id "\",\"role\":\"train\"}"
#define END(id) "{\"kind\":\"end\"," T "\"run\":\"" id "\",\"status\":\"done\"}"
#define STEP(id) "{\"kind\":\"step\"," T "\"run\":\"" id "\",\"update\":1}"
#define VERDICT(id) "{\"kind\":\"verdict\"," T "\"run\":\"" id "\",\"phase\":\"load\",\"verdict\":\"ok\"}"

static void brackets(void)
{
	struct brackets *b = brackets_new();
	struct why w = {0};
	const char *what;
	char id[ULID_SIZE];
	ok(brackets_check(b, "in", &w) == -EX_DATAERR && strstr(w.text, "in: empty"), "nothing came: %s", w.text);
	is_int(see(b, TOOL("A"), &w), 0, "a tool opens");
	is_int(see(b, RUN("R"), &w), 0, "a run opens");
	is_int(see(b, STEP("R"), &w), 0, "a step inside");
	ok(see(b, STEP("S"), &w) == -EX_DATAERR && strstr(w.text, "record 7 at offset 70") && strstr(w.text, "S"), "a step of no open run: %s", w.text);
	ok(see(b, RUN("R"), &w) < 0 && strstr(w.text, "open already"), "a run twice: %s", w.text);
	is_int(see(b, TOOL("R"), &w), 0, "a tool may have the id of a run");
	ok(brackets_open(b, 0, &what, id) && !strcmp(what, "tool") && !strcmp(id, "A"), "the first is the tool");
	ok(brackets_open(b, 1, &what, id) && !strcmp(what, "run") && !strcmp(id, "R"), "the second the run");
	ok(brackets_open(b, 2, &what, id) && !brackets_open(b, 3, &what, id), "three are open");
	ok(brackets_check(b, "in", &w) == -EX_DATAERR && strstr(w.text, "cut"), "cut: %s", w.text);
	is_int(see(b, END("R"), &w), 0, "the run ends");
	ok(see(b, END("R"), &w) == -EX_DATAERR && strstr(w.text, "not open"), "an end without its run: %s", w.text);
	is_int(see(b, VERDICT("R"), &w), 0, "a verdict comes after the end");
	is_int(see(b, "{\"kind\":\"new\",\"run\":\"Q\"}", &w), 0, "an unknown kind of an unknown run");
	is_int(see(b, DONE("R"), &w), 0, "a tool is done");
	ok(see(b, DONE("B"), &w) < 0 && strstr(w.text, "not open"), "a done without its tool: %s", w.text);
	ok(brackets_check(b, "in", &w) < 0 && strstr(w.text, "tool A"), "one is open still: %s", w.text);
	is_int(see(b, DONE("A"), &w), 0, "done");
	is_int(brackets_check(b, "in", &w), 0, "all are closed");
	is_int(brackets_seen(b), 13, "records seen");
	brackets_free(b);
}

static void many_brackets(void)
{
	struct brackets *b = brackets_new();
	struct why w = {0};
	char json[200], id[ULID_SIZE];
	const char *what;
	int wrong = 0;
	for (int k = 0; k < 2000; k++) {
		snprintf(json, sizeof json, RUN("R%d"), k);
		wrong += see(b, json, &w) != 0;
	}
	for (int k = 0; k < 2000; k += 2) {
		snprintf(json, sizeof json, END("R%d"), k);
		wrong += see(b, json, &w) != 0;
	}
	is_int(wrong, 0, "2,000 runs open, every other ends");
	ok(brackets_open(b, 999, &what, id) && !strcmp(id, "R1999") && !brackets_open(b, 1000, &what, id), "the others are open in order");
	brackets_free(b);
}

static void tool(void)
{
	struct out *o;
	struct in *i;
	struct view v;
	struct why w = {0};
	char id[ULID_SIZE], *argv[] = {"prog", "-x", NULL};
	int fd = fd_with("", 0);
	int64_t n = -1;
	if (out_open(&o, fd, FORM_JSON, &w))
		exit(70);
	is_int(tool_begin(o, "prog", argv, id, &w), 0, "a tool begins");
	ok(ulid_valid(id), "with a ULID");
	struct rec r = {0};
	note(&r, "n");
	is_int(out_rec(o, &r, &w), 0, "writes one record");
	is_int(tool_end(o, id, 1, &w), 0, "and is done");
	is_int(out_close(o, &w), 0, "closed");
	lseek(fd, 0, SEEK_SET);
	if (in_open(&i, fd, "file", &w))
		exit(70);
	ok(in_next(i, &v, &w) == 1 && view_is(&v, F_tool_id, id) && view_count(&v, F_tool_argv) == 2, "tool: %s", w.text);
	ok(in_next(i, &v, &w) == 1 && in_next(i, &v, &w) == 1 && view_is(&v, F_done_id, id) && view_int(&v, F_done_records, &n) && n == 1, "done counts one record: %s", w.text);
	is_int(in_next(i, &v, &w), 0, "the end");
	in_close(i);
	close(fd);
	rec_free(&r);
}

int main(void)
{
	mixed();
	foreign();
	cut();
	drip();
	big();
	flushing();
	full_disk();
	broken_pipe();
	pass_through();
	brackets();
	many_brackets();
	tool();
	return done_testing();
}
