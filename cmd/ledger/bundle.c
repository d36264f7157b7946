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
	char **name; /* files that can be read again */
	int n;
	const struct book_run *run;
	struct out *json, *msgpack;
};

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

/* What could not be opened, and other faults, were said when the book was read. */
static int read_again(struct bundling *b)
{
	struct reading r = { .see = keep, .ctx = b, .quiet = true };
	int status = 0;
	struct why w;

	for (int i = 0; i < b->n; i++) {
		struct operand o;

		if (operand_open(&o, b->name[i], false, &w) < 0)
			continue;
		ledger_skip(o.l, its_steps, b);
		status = code_worst(status, operand_read(&o, &r));
		operand_close(&o);
	}
	return status;
}

static int find(const struct book *b, const char *word, const struct book_run **r)
{
	struct why w;
	int rc = book_find(b, word, r, &w);

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
	faults = rc < 0 ? 0 : read_again(b);
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
	struct book *book = NULL;
	int status = ask_book(&book, b->name, b->n), found;

	if (ask_worth(book, status) && (status == 0 || status == EX_DATAERR)) {
		found = find(book, word, &b->run);
		status = found ? code_worst(status, found) : write_archive(b, path, checkpoint, status);
	}
	book_free(book);
	return status;
}

int do_bundle(int argc, char **argv)
{
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
	status = ask_keep(c.argv + c.operand + 1, c.argc - c.operand - 1, &b.name, &b.n);
	if (status == 0)
		status = bundle(&b, c.argv[c.operand], path, checkpoint);
	ask_kept_free(b.name, b.n);
	return status;
}
