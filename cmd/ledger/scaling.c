/* scaling.c - ledger scaling: updates to a target against the effective batch. */
#include <math.h>
#include <string.h>

#include "ledger.h"
#include "../../lib/answer/scaling.h"

static const char usage[] = "usage: ledger scaling --target METRIC=X [-j | --csv] [--runs] [-r PREFIX] [--comparison NAME]\n"
                            "           [--within SHARE] [--price P] [--upfront X] [--force] [FILE ...]\n";

enum { TARGET = 0x2001, COMPARISON, WITHIN, PRICE, UPFRONT, FORCE, RUNS = 64 };

static const struct cmd_option options[] = {
	{ TARGET, "target", "METRIC=X", "loss=X, accuracy=X or exact_match=X of validation" },
	{ 'r', "run", "PREFIX", "only runs whose id begins so; may be repeated" },
	{ COMPARISON, "comparison", "NAME", "only runs of the comparison of this name, or whose id begins so" },
	{ WITHIN, "within", "SHARE", "how far from perfect counts as perfect (20%)" },
	{ PRICE, "price", "P", "price of one device for an hour, in any currency" },
	{ UPFRONT, "upfront", "X", "paid before the first run: after how many runs that breaks even with --price" },
	{ FORCE, "force", NULL, "put runs together that differ in more than batch and rate" },
	PRINT_OPTIONS,
	{ 0 },
};

struct request {
	struct scaling_settings s;
	struct printing print;
	const char *run[RUNS];
	bool target;
};

/* "20%" or "0.2" */
static int share(const char *value, double *out, struct why *w)
{
	char text[32];
	size_t n = strlen(value);
	bool percent = n > 1 && n < sizeof text && value[n - 1] == '%';
	int rc;

	snprintf(text, sizeof text, "%.*s", (int)(percent ? n - 1 : n), value);
	rc = num_float(percent ? text : value, "--within", percent ? 0.1 : 0.001, percent ? 1000 : 10, out, w);
	if (rc == 0 && percent)
		*out /= 100;
	return rc;
}

static int set(struct request *q, int opt, const char *value, struct why *w)
{
	switch (opt) {
	case TARGET: q->target = true; return scaling_target(value, &q->s, w);
	case COMPARISON: q->s.comparison = value; return 0;
	case WITHIN: return share(value, &q->s.tolerance, w);
	case PRICE: return num_float(value, "--price", 1e-12, 1e12, &q->s.price, w);
	case UPFRONT: return num_float(value, "--upfront", 0, 1e15, &q->s.upfront, w);
	case FORCE: q->s.force = true; return 0;
	default: break;
	}
	if (q->s.runs == RUNS)
		return why_set(w, EX_USAGE, "--run: more than %d", RUNS);
	q->run[q->s.runs++] = value;
	return 0;
}

static int answer(const struct book *b, const struct request *q)
{
	struct answer *a;
	struct why w;
	int rc = scaling_answer(b, &q->s, &a, &w), status = rc < 0 ? -rc : 0;

	if (a)
		status = code_worst(status, print_answer(a, &q->print));
	else
		cmd_warn(&w);
	answer_free(a);
	return status;
}

int do_scaling(int argc, char **argv)
{
	struct request q = { .s = { .tolerance = 0.2, .price = NAN, .upfront = NAN } };
	struct book *b = NULL;
	const char *value;
	struct cmd c;
	struct why w;
	int opt, status;

	q.s.run = q.run;
	cmd_options(&c, argc, argv, usage, options, NULL);
	while ((opt = cmd_next(&c, &value)) >= 0) {
		int rc = print_option(&q.print, opt);

		if (rc == EX_USAGE)
			return rc;
		if (rc == 1 && set(&q, opt, value, &w) < 0)
			return cmd_usage_error("%s", w.text);
	}
	if (opt != CMD_END)
		return c.status;
	if (!q.target)
		return cmd_usage_error("scaling: --target METRIC=X says what is to be reached");
	if (!isnan(q.s.upfront) && isnan(q.s.price))
		return cmd_usage_error("--upfront: needs --price, against which it breaks even");
	status = ask_book(&b, argv + c.operand, c.argc - c.operand);
	if (ask_worth(b, status))
		status = code_worst(status, answer(b, &q));
	book_free(b);
	return status;
}
