/* verify.c - ledger verify: is every byte as it was written, and are the appends of these receipts there? */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "ledger.h"

static const char usage[] = "usage: ledger verify [-j] [--receipt FILE] FILE ...\n";

enum { RECEIPT = 0x1001 };

static const struct cmd_option options[] = {
	{ 'j', "json", NULL, "print JSON Lines" },
	{ RECEIPT, "receipt", "FILE", "the appends of these receipts (of append --receipt) must be there; - is standard input" },
	{ 0 },
};

struct verify {
	const char *path;
	bool json;
};

static void escaped(const char *s)
{
	struct buf b = { 0 };

	if (text_escape(&b, s, strlen(s)) == 0)
		fwrite(b.p, 1, b.n, stdout);
	buf_free(&b);
}

static void json_string(const char *key, const char *s)
{
	printf("\"%s\":\"", key);
	for (; *s; s++)
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < 0x20 || *s == 0x7f)
			printf("\\u%04x", (unsigned char)*s);
		else
			putchar(*s);
	putchar('"');
}

static void fault(void *ctx, const struct ledger_fault *f)
{
	const struct verify *v = ctx;

	if (v->json) {
		printf("{");
		json_string("file", v->path);
		printf(",\"offset\":%" PRId64 ",\"member\":%" PRId64 ",\"bytes\":%" PRId64 ",", f->offset, f->member, f->bytes);
		json_string("fault", ledger_fault_name(f->kind));
		printf(",");
		json_string("why", f->text);
		puts("}");
		return;
	}
	escaped(v->path);
	printf(": offset %" PRId64 ", member %" PRId64 ", %" PRId64 " bytes: %s: ", f->offset, f->member, f->bytes, ledger_fault_name(f->kind));
	escaped(f->text);
	putchar('\n');
}

static void totals(const struct verify *v, const struct ledger_totals *t)
{
	char line[LEDGER_RECEIPT_SIZE];

	ledger_receipt_write(&t->last, line);
	if (v->json) {
		printf("{");
		json_string("file", v->path);
		printf(",\"ok\":%s,\"appends\":%" PRId64 ",\"members\":%" PRId64 ",\"records\":%" PRId64 ",\"bytes\":%" PRId64 ",\"faults\":%" PRId64 ",\"in_progress\":%s",
		       t->faults ? "false" : "true", t->appends, t->members, t->records, t->bytes, t->faults, t->in_progress ? "true" : "false");
		if (t->appends) {
			printf(",");
			json_string("last", line);
		}
		puts("}");
		return;
	}
	escaped(v->path);
	if (t->faults)
		printf(": %" PRId64 " fault%s", t->faults, t->faults > 1 ? "s" : "");
	else
		printf(": ok");
	printf("; %" PRId64 " appends, %" PRId64 " members, %" PRId64 " records, %" PRId64 " bytes\n", t->appends, t->members, t->records, t->bytes);
	if (t->appends)
		printf("%s\n", line);
}

static int verify_file(struct verify *v)
{
	struct ledger_totals t;
	struct why w;

	if (ledger_check(v->path, fault, v, &t, &w) < 0) {
		cmd_warn(&w);
		return w.code;
	}
	totals(v, &t);
	return t.faults ? EX_NO : 0;
}

static int verify_receipt(const struct verify *v, const char *line, int number, const char *from)
{
	struct ledger_receipt r;
	struct why w;
	int held;

	if (ledger_receipt_read(line, &r, &w) < 0) {
		cmd_say("%.300s: line %d: %s", from, number, w.text);
		return w.code;
	}
	held = ledger_receipt_holds(v->path, &r, &w);
	if (held > 0)
		return 0;
	if (held < 0) {
		cmd_warn(&w);
		return w.code;
	}
	if (v->json) {
		printf("{");
		json_string("file", v->path);
		printf(",\"offset\":%" PRId64 ",\"fault\":\"receipt\",", r.end);
		json_string("why", w.text);
		puts("}");
	} else {
		escaped(w.text);
		putchar('\n');
	}
	return EX_NO;
}

static int verify_receipts(const struct verify *v, const char *from)
{
	FILE *f = strcmp(from, "-") ? fopen(from, "re") : stdin;
	char line[512];
	int status = 0, n = 0;

	if (!f) {
		cmd_say("reading receipts: %.300s: %s", from, strerror(errno));
		return EX_NOINPUT;
	}
	while (fgets(line, sizeof line, f))
		if (line[strspn(line, " \t\r\n")])
			status = code_worst(status, verify_receipt(v, line, ++n, from));
	if (ferror(f)) {
		cmd_say("reading receipts: %.300s: %s", from, strerror(errno));
		status = code_worst(status, EX_IOERR);
	} else if (n == 0) {
		cmd_say("reading receipts: %.300s: empty", from);
		status = code_worst(status, EX_DATAERR);
	}
	if (f != stdin)
		fclose(f);
	if (status == 0 && !v->json)
		printf("%d receipt%s ok\n", n, n > 1 ? "s" : "");
	return status;
}

int do_verify(int argc, char **argv)
{
	struct verify v = { 0 };
	const char *value, *receipts = NULL;
	struct cmd c;
	int opt, status = 0;

	signal(SIGINT, SIG_DFL); /* nothing to save */
	signal(SIGTERM, SIG_DFL);
	cmd_options(&c, argc, argv, usage, options, NULL);
	while ((opt = cmd_next(&c, &value)) >= 0)
		switch (opt) {
		case 'j': v.json = true; break;
		case RECEIPT: receipts = value; break;
		}
	if (opt != CMD_END)
		return c.status;
	if (c.operand == c.argc)
		return cmd_usage_error("verify: which ledger?");
	if (receipts && c.argc - c.operand > 1)
		return cmd_usage_error("--receipt: goes with one ledger");
	for (int i = c.operand; i < c.argc; i++) {
		v.path = c.argv[i];
		status = code_worst(status, verify_file(&v));
		if (receipts)
			status = code_worst(status, verify_receipts(&v, receipts));
	}
	return status;
}
