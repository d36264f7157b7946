/* compare.c - ledger compare: which variant won, and whether that can be told. */
#include <math.h>
#include <string.h>

#include "../../lib/answer/compare.h"
#include "ledger.h"

static const char usage[] =
	"usage: ledger compare [-j | --csv] [--runs] [--comparison ID|NAME] [--metric NAME] [--last | --best] [--within X]\n"
	"                      [--target X] [--budget UNIT=N] [--unpaired] [--predictions] [--force] [FILE ...]\n"
	"       ledger compare --by FIELD[,FIELD] [--control VALUE] [-r PREFIX] ... [FILE ...]\n";

enum { COMPARISON = 0x1020, BY, CONTROL, METRIC, LAST, BEST, WITHIN, TARGET, BUDGET, UNPAIRED, FORCE, PREDICTIONS };

static const struct cmd_option options[] = {
	PRINT_OPTIONS,
	{ COMPARISON, "comparison", "ID|NAME", "the planned comparison; the newest if not given" },
	{ BY, "by", "FIELD[,FIELD]", "group the runs that are there by these settings instead" },
	{ CONTROL, "control", "VALUE", "with --by: the control's value; the group that began first if not given" },
	{ 'r', "run", "PREFIX", "with --by: only runs whose id begins so; may be repeated" },
	{ METRIC, "metric", "NAME", "what decides: validation_loss, validation_accuracy, exact_match" },
	{ LAST, "last", NULL, "by the last validation of each run" },
	{ BEST, "best", NULL, "by the best validation of each run, a selection" },
	{ WITHIN, "within", "X", "is the quality kept within this margin?" },
	{ TARGET, "target", "[loss=]X", "updates, examples and seconds to this value of the metric" },
	{ BUDGET, "budget", "UNIT=N", "compare at that many updates, examples or seconds" },
	{ UNPAIRED, "unpaired", NULL, "by means, not by seed" },
	{ PREDICTIONS, "predictions", NULL, "compare kept predictions example by example, too" },
	{ FORCE, "force", NULL, "compare runs that differ in more than was planned" },
	{ 0 },
};

static int take_target(struct compare_settings *s, const char *value)
{
	const char *equals = strchr(value, '=');
	struct why w;

	if (equals && !s->metric) {
		static const char *const names[] = { "loss", "accuracy", "validation_loss", "validation_accuracy", "exact_match" };

		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			if (strncmp(value, names[i], (size_t)(equals - value)) == 0 && strlen(names[i]) == (size_t)(equals - value))
				s->metric = names[i];
		if (!s->metric)
			return cmd_usage_error("--target: %.80s: not loss=X, accuracy=X or exact_match=X", value);
	}
	if (num_float(equals ? equals + 1 : value, "--target", -1e300, 1e300, &s->target, &w) < 0)
		return cmd_usage_error("%s", w.text);
	return 0;
}

static int take_number(const char *option, const char *value, double *out)
{
	struct why w;

	return num_float(value, option, 0, 1e300, out, &w) < 0 ? cmd_usage_error("%s", w.text) : 0;
}

static int take(struct compare_settings *s, int opt, const char *value)
{
	switch (opt) {
	case COMPARISON: s->arms.comparison = value; break;
	case BY: s->arms.by = value; break;
	case CONTROL: s->arms.control = value; break;
	case METRIC: s->metric = value; break;
	case LAST: s->choice = 'l'; break;
	case BEST: s->choice = 'b'; break;
	case WITHIN: return take_number("--within", value, &s->within);
	case TARGET: return take_target(s, value);
	case BUDGET: s->budget = value; break;
	case UNPAIRED: s->unpaired = true; break;
	case FORCE: s->force = true; break;
	default: return 1;
	}
	return 0;
}

static int only(const struct book *b, const struct pick *p, struct ids *ids)
{
	for (int i = 0; i < p->runs; i++) {
		const struct book_run *r;
		struct why w;
		int found = book_find(b, p->run[i], &r, &w);

		if (found <= 0)
			return found ? cmd_usage_error("%s", w.text) : cmd_usage_error("--run: %.60s: no such run", p->run[i]);
		if (ids_put(ids, r->id, 1) < 0)
			return EX_OSERR;
	}
	return 0;
}

static int see_prediction(void *ctx, const struct view *v, struct why *w)
{
	return predictions_see(ctx, v, w);
}

/* A second pass over the files, for the runs of the book. */
static int read_predictions(const struct book *b, struct predictions *p, char **file, int files)
{
	struct ids all = { 0 };
	int status = 0;

	for (int i = 0; i < book_runs(b) && status == 0; i++)
		if (book_trained(book_run(b, i)) && ids_put(&all, book_run(b, i)->id, 1) < 0)
			status = EX_OSERR;
	if (status == 0)
		ask_again(file, files, &all, false, see_prediction, p);
	ids_free(&all);
	return status;
}

/* The book, and the predictions by a second pass over what can be read twice. */
static int keep_and_read(struct book **b, struct predictions *p, char **name, int n)
{
	char **file = NULL;
	int files = 0, status = ask_keep(name, n, &file, &files);

	if (status == 0)
		status = ask_book(b, file, files);
	if (*b && ask_worth(*b, status))
		status = code_worst(status, read_predictions(*b, p, file, files));
	ask_kept_free(file, files);
	return status;
}

static int answer(const struct book *b, struct compare_settings *s, const struct pick *pick, const struct printing *how)
{
	struct ids ids = { 0 };
	struct answer *a = NULL;
	struct why w;
	int status = only(b, pick, &ids);

	if (status == 0) {
		s->arms.only = pick->runs ? &ids : NULL;
		status = compare_answer(b, s, &a, &w);
		status = print_result(status, a, how, &w);
	}
	ids_free(&ids);
	return status;
}

int do_compare(int argc, char **argv)
{
	struct compare_settings s = { .within = NAN, .target = NAN };
	struct printing how = { 0 };
	struct pick pick = { 0 };
	struct predictions kept = { 0 };
	struct book *b = NULL;
	const char *value;
	struct cmd c;
	bool predictions = false;
	int opt, rc, status;

	cmd_options(&c, argc, argv, usage, options, NULL);
	while ((opt = cmd_next(&c, &value)) >= 0) {
		rc = take(&s, opt, value);
		predictions |= opt == PREDICTIONS;
		if (rc == 1 && opt == PREDICTIONS)
			rc = 0;
		if (rc == 1)
			rc = print_option(&how, opt);
		if (rc == 1)
			rc = pick_option(&pick, opt, value);
		if (rc)
			return EX_USAGE;
	}
	if (opt != CMD_END)
		return c.status;
	if (!s.arms.by && (s.arms.control || pick.runs))
		return cmd_usage_error("--control and --run go with --by: a plan has its own control and runs");
	if (predictions)
		status = keep_and_read(&b, &kept, c.argv + c.operand, c.argc - c.operand);
	else
		status = ask_book(&b, c.argv + c.operand, c.argc - c.operand);
	s.predictions = predictions ? &kept : NULL;
	if (b && ask_worth(b, status))
		status = code_worst(status, answer(b, &s, &pick, &how));
	predictions_free(&kept);
	book_free(b);
	return status;
}
