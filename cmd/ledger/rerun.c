/* rerun.c - ledger rerun: the command line that does a run again, for sh. */
#include "../../lib/answer/rerun.h"
#include "ledger.h"

static const char usage[] = "usage: ledger rerun RUN [FILE ...]\n";

static void say(void *ctx, const char *sentence)
{
	cmd_say("rerun: %s: %s", (const char *)ctx, sentence);
}

static int answer(const struct book *b, const char *word)
{
	const struct book_run *r;
	struct buf line = { 0 };
	struct why w;
	int rc = book_find(b, word, &r, &w);

	if (rc == 0)
		rc = why_set(&w, EX_USAGE, "rerun: %.60s: no run whose id begins so is in what was read", word);
	else if (rc > 0)
		rc = rerun_line(r, &line, say, (void *)r->id, &w);
	if (rc < 0)
		cmd_warn(&w);
	else
		printf("%.*s\n", (int)line.n, (const char *)line.p);
	buf_free(&line);
	return rc < 0 ? -rc : 0;
}

int do_rerun(int argc, char **argv)
{
	struct book *b = NULL;
	const char *value;
	struct cmd c;
	int status;

	cmd_options(&c, argc, argv, usage, NULL, NULL);
	if (cmd_next(&c, &value) != CMD_END)
		return c.status;
	if (c.operand == c.argc)
		return cmd_usage_error("rerun: which run?");
	status = ask_book(&b, argv + c.operand + 1, c.argc - c.operand - 1);
	if (ask_worth(b, status))
		status = code_worst(status, answer(b, c.argv[c.operand]));
	book_free(b);
	return status;
}
