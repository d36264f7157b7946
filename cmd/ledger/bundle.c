/* bundle.c - ledger bundle: a run's records and files as one archive. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/answer/bundle.h"
#include "ledger.h"

static const char usage[] = "usage: ledger bundle [--checkpoint] -o OUT RUN [FILE ...]\n";

enum { CHECKPOINT = 0x1020 };
static const struct cmd_option options[] = {
	{ 'o', "output", "OUT", "the archive, a tar; it must be new" },
	{ CHECKPOINT, "checkpoint", NULL, "with the run's last checkpoint" },
	{ 0 },
};

struct bundling {
	char **name;
	int n;
	struct operand *operand;
	struct book *book;
	const struct book_run *run;
	struct out *json, *msgpack;
};

static int see(void *ctx, const struct view *v, struct why *w)
{
	return book_see(((struct bundling *)ctx)->book, v, w);
}

static int see_steps(void *ctx, const struct ledger_steps *e, struct why *w)
{
	return book_steps(((struct bundling *)ctx)->book, e, w);
}

static bool no_steps(void *ctx, const struct ledger_steps *e, int n)
{
	(void)ctx;
	(void)e;
	(void)n;
	return false;
}

static int keep(void *ctx, const struct view *v, struct why *w)
{
	struct bundling *b = ctx;
	int rc;

	if (!bundle_takes(b->run, v))
		return 0;
	rc = out_view(b->json, v, w);
	return rc < 0 ? rc : out_view(b->msgpack, v, w);
}

static bool its_steps(void *ctx, const struct ledger_steps *e, int n)
{
	const struct bundling *b = ctx;

	for (int i = 0; i < n; i++)
		if (strcmp(e[i].run, b->run->id) == 0)
			return true;
	return false;
}

/* First without steps, to find the run; then with its own. */
static int go_over(struct bundling *b)
{
	struct reading first = { .see = see, .skipped = see_steps, .ctx = b }, second = { .see = keep, .ctx = b, .quiet = true };
	struct reading *r = b->run ? &second : &first;
	int status = 0;
	struct why w;

	for (int i = 0; i < b->n; i++) {
		struct operand *o = &b->operand[i];

		if (b->run && !o->l)
			continue; /* could not be opened, and that was said */
		if (!b->run && i)
			book_source(b->book);
		if ((b->run ? operand_rewind(o, &w) : operand_open(o, b->name[i], true, &w)) < 0) {
			o->l = NULL;
			cmd_warn(&w);
			status = code_worst(status, w.code);
			continue;
		}
		ledger_skip(o->l, b->run ? its_steps : no_steps, b);
		status = code_worst(status, operand_read(o, r));
	}
	return status;
}

static int find(struct bundling *b, const char *word)
{
	struct why w;
	int rc = book_close(b->book, &w);

	if (rc < 0) {
		cmd_warn(&w);
		return w.code;
	}
	rc = book_find(b->book, word, &b->run, &w);
	if (rc > 0)
		return 0;
	return rc == 0 ? cmd_usage_error("bundle: %.60s: no run whose id begins so is in what was read", word) : cmd_usage_error("%s", w.text);
}

/* The records go to files without a name first: a member's size stands before it. */
static int spool(struct bundling *b, FILE *json, FILE *msgpack, int *status, struct why *w)
{
	int rc = out_open(&b->json, fileno(json), FORM_JSON, w), faults, last;

	if (rc < 0)
		return rc;
	rc = out_open(&b->msgpack, fileno(msgpack), FORM_MSGPACK, w);
	faults = rc < 0 ? 0 : go_over(b);
	if (rc == 0 && faults && faults != EX_DATAERR)
		rc = why_set(w, faults, "bundle: %s: its records cannot be read again", b->run->id);
	else if (rc == 0 && faults && !*status)
		cmd_say("bundle: %s: some of its records are damaged, and not in it: ledger verify tells where", b->run->id);
	*status = code_worst(*status, faults);
	last = out_close(b->json, w);
	rc = rc < 0 ? rc : last;
	if (b->msgpack) {
		last = out_close(b->msgpack, w);
		rc = rc < 0 ? rc : last;
	}
	return rc;
}

/* status: of the first reading. Returns the worst. */
static int write_archive(struct bundling *b, const char *path, bool checkpoint, int status)
{
	FILE *json = tmpfile(), *msgpack = tmpfile();
	struct whole *f = NULL;
	struct why w;
	int rc = json && msgpack ? 0 : why_errno(&w, EX_IOERR, "bundle: a temporary file");

	rc = rc < 0 ? rc : spool(b, json, msgpack, &status, &w);
	rc = rc < 0 ? rc : whole_begin(&f, path, &w);
	if (rc == 0) {
		rc = bundle_write(whole_fd(f), b->run, fileno(json), fileno(msgpack), checkpoint, &w);
		if (rc == 0)
			rc = whole_commit(f, &w);
		else
			whole_abandon(f);
	}
	if (json)
		fclose(json);
	if (msgpack)
		fclose(msgpack);
	if (rc < 0)
		cmd_warn(&w);
	return code_worst(status, rc < 0 ? -rc : 0);
}

static int bundle(struct bundling *b, const char *word, const char *path, bool checkpoint)
{
	int status, found;
	struct why w;

	b->operand = calloc((size_t)b->n, sizeof *b->operand);
	if (!b->operand || book_new(&b->book, &w) < 0) {
		cmd_say("bundle: out of memory");
		return EX_OSERR;
	}
	status = go_over(b);
	if (status && status != EX_DATAERR)
		return status;
	found = find(b, word);
	return found ? code_worst(status, found) : write_archive(b, path, checkpoint, status);
}

int do_bundle(int argc, char **argv)
{
	static char *standard_input[] = { "-", NULL };
	struct bundling b = { 0 };
	const char *value, *path = NULL;
	bool checkpoint = false;
	struct cmd c;
	int opt, status;

	cmd_options(&c, argc, argv, usage, options, NULL);
	while ((opt = cmd_next(&c, &value)) >= 0) {
		checkpoint |= opt == CHECKPOINT;
		path = opt == 'o' ? value : path;
	}
	if (opt != CMD_END)
		return c.status;
	if (c.operand == c.argc)
		return cmd_usage_error("bundle: which run?");
	if (!path || !*path)
		return cmd_usage_error("bundle: where to? -o OUT.tar");
	if (access(path, F_OK) == 0) {
		cmd_say("writing: %.300s: is there already, and is not overwritten", path);
		return EX_USAGE;
	}
	b.n = c.argc - c.operand - 1;
	b.name = b.n ? c.argv + c.operand + 1 : standard_input;
	b.n = b.n ? b.n : 1;
	status = bundle(&b, c.argv[c.operand], path, checkpoint);
	for (int i = 0; b.operand && i < b.n; i++)
		if (b.operand[i].l)
			operand_close(&b.operand[i]);
	free(b.operand);
	book_free(b.book);
	return status;
}
