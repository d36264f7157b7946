/* text-plan.c - a comparison and its requests, for people. */
#include "inner.h"
#include "text.h"

static void list(struct pen *p, const struct view *v, enum field f, const char *between)
{
	const char *s;
	size_t n;

	for (int i = 0; view_item_str(v, f, i, &s, &n); i++) {
		if (i)
			pen_printf(p, "%s", between);
		pen_bytes(p, s, n);
	}
}

static void seeds(struct pen *p, const struct view *v, enum field f)
{
	int64_t seed;

	for (int i = 0; view_item_int(v, f, i, &seed); i++)
		pen_printf(p, "%s%lld", i ? ", " : "", (long long)seed);
}

static void terms(struct pen *p, const struct view *v)
{
	char x[VALUE], unit[VALUE];
	double amount = 0;
	bool paired = true;

	view_bool(v, F_comparison_paired, &paired);
	pen_label(p, "decides");
	pen_printf(p, "%s, the %s validation; seeds %s", say_str(v, F_comparison_metric, x), view_is(v, F_comparison_choice, "best") ? "best" : "last", paired ? "pair" : "do not pair");
	if (*say_num(v, F_comparison_within, x))
		pen_printf(p, "; kept within %s", x);
	if (*say_num(v, F_comparison_target, x))
		pen_printf(p, "; target %s", x);
	pen_newline(p);
	pen_label(p, "budget");
	view_num(v, F_comparison_amount, &amount);
	pen_printf(p, "%.10g %s a run", amount, say_str(v, F_comparison_budget, unit));
	if (*say_str(v, F_comparison_stop, x))
		pen_printf(p, "; stops at %s", x);
	pen_newline(p);
}

void text_comparison(struct pen *p, const struct view *v)
{
	char name[VALUE], id[VALUE], runs[VALUE], question[VALUE];

	pen_break(p);
	pen_colored(p, BOLD, "comparison %s", *say_str(v, F_comparison_name, name) ? name : "without a name");
	pen_printf(p, "  %s, %s runs", say_str(v, F_comparison_id, id), say_int(v, F_comparison_runs, runs));
	pen_newline(p);
	if (*say_str(v, F_comparison_question, question)) {
		pen_label(p, "question");
		pen_printf(p, "%s", question);
		pen_newline(p);
	}
	pen_label(p, "arms");
	list(p, v, F_comparison_arms, "  ");
	pen_newline(p);
	pen_label(p, "seeds");
	seeds(p, v, F_comparison_seeds);
	if (view_count(v, F_comparison_arm_seeds) > 0) {
		pen_printf(p, " of the control; of the others ");
		seeds(p, v, F_comparison_arm_seeds);
	}
	pen_newline(p);
	terms(p, v);
}

/* Of a comparison: a line; else every setting that it names. */
void text_request(struct pen *p, const struct view *v)
{
	char arm[VALUE], seed[VALUE], id[VALUE];

	if (!*say_str(v, F_request_arm, arm)) {
		text_generic(p, v);
		return;
	}
	pen_printf(p, "  request %s  seed %s  %s", say_str(v, F_request_id, id), say_int(v, F_request_seed, seed), arm);
	pen_newline(p);
}
