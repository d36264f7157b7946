/* diff.c - ledger diff: in what two runs differ. */
#include "../../lib/answer/diff.h"
#include "ledger.h"

static const char usage[] = "usage: ledger diff [-j | --csv] [--runs] RUN RUN [FILE ...]\n";

static const struct cmd_option options[] = { PRINT_OPTIONS, { 0 } };

static int see(void *ctx, const struct view *v, struct why *w)
{
	return diff_see(ctx, v, w);
}

static int find(const struct book *b, const char *word, const struct book_run **r)
{
	struct why w;
	int rc = book_find(b, word, r, &w);

	if (rc == 0)
		return cmd_usage_error("diff: %.60s: no run whose id begins so is in what was read", word);
	return rc < 0 ? cmd_usage_error("%s", w.text) : 0;
}

static int answer(const struct book *b, char **word, char **file, int files, const struct printing *how)
{
	struct diff_curves c = { 0 };
	const struct book_run *r[2];
	struct ids ids = { 0 };
	struct answer *a = NULL;
	struct why w;
	int status = find(b, word[0], &r[0]);

	if (status == 0)
		status = find(b, word[1], &r[1]);
	for (int i = 0; i < 2 && status == 0; i++) {
		snprintf(c.of[i].run, ULID_SIZE, "%s", r[i]->id);
		if (ids_put(&ids, r[i]->id, 1) < 0)
			status = EX_OSERR;
	}
	if (status == 0) {
		ask_again(file, files, &ids, true, see, &c);
		if (diff_answer(r[0], r[1], &c, &a, &w) < 0) {
			cmd_warn(&w);
			status = w.code;
		} else {
			status = print_answer(a, how);
		}
	}
	answer_free(a);
	diff_free(&c);
	ids_free(&ids);
	return status;
}

int do_diff(int argc, char **argv)
{
	struct printing how = { 0 };
	struct book *b = NULL;
	char **file = NULL;
	const char *value;
	struct cmd c;
	int opt, status, files = 0;

	cmd_options(&c, argc, argv, usage, options, NULL);
	while ((opt = cmd_next(&c, &value)) >= 0)
		if (print_option(&how, opt) == EX_USAGE)
			return EX_USAGE;
	if (opt != CMD_END)
		return c.status;
	if (c.argc - c.operand < 2)
		return cmd_usage_error("diff: which two runs?");
	status = ask_keep(c.argv + c.operand + 2, c.argc - c.operand - 2, &file, &files);
	if (status == 0) {
		status = ask_book(&b, file, files);
		if (ask_worth(b, status))
			status = code_worst(status, answer(b, c.argv + c.operand, file, files, &how));
	}
	book_free(b);
	ask_kept_free(file, files);
	return status;
}
