/* compare-arms.c - what each arm has; runs that do not count; what should be looked at twice; notes of people. */
#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/stat.h"

/* ---- arms ---- */

struct columns {
	int arm, n, missing, diverged, share_low, share_high, left_out, mean, sd, best, from, updates, examples, seconds, speed;
};

/* Mean over the runs that count of what f says; NAN: one does not say. */
static double mean_of(const struct compare *c, const struct arm *m, double (*f)(const struct compare *c, const struct arm_run *x))
{
	double sum = 0;
	int n = 0;

	for (int i = 0; i < m->runs; i++)
		if (m->run[i].state == ARM_COUNTS) {
			sum += f(c, &m->run[i]);
			n++;
		}
	return n ? sum / n : NAN;
}

/* Where the evaluation that speaks for a run was taken; NAN where there is none. */
static struct compare_point point_of(const struct compare *c, const struct arm_run *x)
{
	struct compare_point p;

	return compare_point(c, x, &p) ? p : (struct compare_point){ NAN, NAN, NAN, NAN, NULL };
}

static double updates_of(const struct compare *c, const struct arm_run *x)
{
	return point_of(c, x).updates;
}

static double examples_of(const struct compare *c, const struct arm_run *x)
{
	return point_of(c, x).examples;
}

static double seconds_of(const struct compare *c, const struct arm_run *x)
{
	return *c->budget_unit ? point_of(c, x).seconds : x->seconds;
}

static double speed_of(const struct compare *c, const struct arm_run *x)
{
	double s = NAN;

	(void)c;
	book_num(x->run, F_end_examples_per_second, &s);
	return s;
}

/* The best evaluation of any of its runs, and of how many it is the best. */
static double best_of(const struct compare *c, const struct arm *m, int64_t *from)
{
	double best = NAN;

	*from = 0;
	for (int i = 0; i < m->runs; i++) {
		const struct book_eval *e = m->run[i].state == ARM_COUNTS ? arms_eval(m->run[i].run, c->metric, true) : NULL;
		double x = e ? arms_value(e, c->metric) : NAN;

		if (!e)
			continue;
		*from += m->run[i].run->evals;
		if (isnan(best) || (arms_less_is_better(c->metric) ? x < best : x > best))
			best = x;
	}
	return best;
}

static void put_arm(struct compare *c, struct table *t, const struct columns *k, const struct arm *m)
{
	double *x = calloc((size_t)m->runs + 1, sizeof *x), low, high;
	int64_t *seed = calloc((size_t)m->runs + 1, sizeof *seed), from;
	int n = x && seed ? compare_values(c, m, false, x, seed) : 0, ran = m->counts + m->diverged;
	struct stat_mean s = stat_of(x, n, 0.95);

	table_row(t);
	table_text(t, k->arm, m->name);
	table_int(t, k->n, n);
	table_int(t, k->missing, m->missing);
	table_int(t, k->diverged, m->diverged);
	stat_share(m->diverged, ran, 0.95, &low, &high);
	if (m->diverged)
		table_shown(t, k->diverged, "%d of %d (%.0f to %.0f %%)", m->diverged, ran, 100 * low, 100 * high);
	table_num(t, k->share_low, ran ? low : NAN, NULL);
	table_num(t, k->share_high, ran ? high : NAN, NULL);
	table_int(t, k->left_out, m->left_out);
	table_num(t, k->mean, s.mean, "%.5g");
	table_num(t, k->sd, s.sd, "%.2g");
	table_num(t, k->best, best_of(c, m, &from), "%.5g");
	table_int(t, k->from, from);
	if (from)
		table_shown(t, k->best, "%.5g of %lld", best_of(c, m, &from), (long long)from);
	table_num(t, k->updates, mean_of(c, m, updates_of), "%.6g");
	table_num(t, k->examples, mean_of(c, m, examples_of), "%.8g");
	table_seconds(t, k->seconds, mean_of(c, m, seconds_of));
	table_num(t, k->speed, mean_of(c, m, speed_of), "%.4g");
	for (int i = 0; i < m->runs; i++)
		if (m->run[i].run)
			table_run(t, m->run[i].run->id);
	free(x);
	free(seed);
}

void compare_arms(struct compare *c)
{
	struct table *t = answer_table(c->answer, "arms", NULL);
	struct columns k;

	k.arm = table_words(t, "arm", "arm");
	k.n = table_column(t, "n", "n");
	k.missing = table_column(t, "missing", "missing");
	k.diverged = table_column(t, "diverged", "diverged");
	k.share_low = table_column(t, "diverged_low", "");
	k.share_high = table_column(t, "diverged_high", "");
	k.left_out = table_column(t, "left_out", "left out");
	k.mean = table_column(t, arms_metric_name(c->metric), arms_metric_name(c->metric));
	k.sd = table_column(t, "sd", "sd");
	k.best = table_column(t, "best_selected", "best (selected)");
	k.from = table_column(t, "selected_from", "");
	k.updates = table_column(t, "updates", "updates");
	k.examples = table_column(t, "examples", "examples");
	k.seconds = table_column(t, "seconds", "training");
	k.speed = table_column(t, "examples_per_second", "examples/s");
	table_hide(t, k.share_low);
	table_hide(t, k.share_high);
	table_hide(t, k.from);
	for (int i = 0; i < c->arms.n; i++)
		put_arm(c, t, &k, &c->arms.arm[i]);
}

/* ---- runs that do not count ---- */

static const char *state_name(enum arm_state s)
{
	static const char *const names[] = { "counts", "diverged", "missing", "left out" };

	return names[s];
}

void compare_left_out(struct compare *c)
{
	struct table *t = NULL;

	for (int i = 0; i < c->arms.n; i++)
		for (int k = 0; k < c->arms.arm[i].runs; k++) {
			const struct arm_run *x = &c->arms.arm[i].run[k];
			struct compare_point p;
			bool silent = x->state == ARM_COUNTS && !compare_point(c, x, &p);

			if (x->state == ARM_COUNTS && !silent)
				continue;
			if (!t) {
				t = answer_table(c->answer, "not_counted", "Runs that do not count as the others do:");
				table_words(t, "arm", "arm");
				table_column(t, "seed", "seed");
				table_words(t, "run", "run");
				table_words(t, "state", "state");
				table_words(t, "why", "why");
			}
			table_row(t);
			table_text(t, 0, c->arms.arm[i].name);
			if (x->seed != INT64_MIN)
				table_int(t, 1, x->seed);
			table_text(t, 2, x->run ? x->run->id : "-");
			table_text(t, 3, silent ? "left out" : state_name(x->state));
			table_text(t, 4, silent ? (*c->budget_unit ? "no validation within the budget" : "it never validated with that metric") : x->why);
			if (x->run)
				table_run(t, x->run->id);
		}
	for (int i = 0; i < c->arms.notes; i++) {
		answer_say(c->answer, SAY, "repeated", "%s %s.", c->arms.note[i].run, c->arms.note[i].text);
		answer_run(c->answer, c->arms.note[i].run);
	}
}

/* ---- flags ---- */

static const char *value(const struct arm *m, const char *word)
{
	const char *name = identity_name(&m->identity, word), *v = name ? identity_value(&m->identity, name) : NULL;

	return v ? v : "";
}

static bool batch_equal(const struct arm *a, const struct arm *b)
{
	return strcmp(value(a, "micro_batch"), value(b, "micro_batch")) == 0 && strcmp(value(a, "accum"), value(b, "accum")) == 0 && strcmp(value(a, "replicas"), value(b, "replicas")) == 0;
}

static void flag_arm(struct compare *c, const struct arm *m)
{
	const struct arm *control = &c->arms.arm[0];

	if (!m->identity.n || !control->identity.n)
		return;
	if (!batch_equal(m, control) && *value(m, "lr") && strcmp(value(m, "lr"), value(control, "lr")) == 0)
		answer_say(c->answer, SAY_WARNING, "batch_not_tuned", "%s: the batch changed and the rate stayed at %s: a changed batch must be tuned again, so this says little of the batch.", m->name, value(m, "lr"));
	if (strcmp(value(m, "planned_updates"), value(control, "planned_updates")) && *value(m, "schedule") && strcmp(value(m, "schedule"), "constant"))
		answer_say(c->answer, SAY_WARNING, "schedule_stretched", "%s: %s updates instead of %s under a %s schedule: the rate fell differently, too.", m->name, value(m, "planned_updates"), value(control, "planned_updates"), value(m, "schedule"));
}

void compare_flags(struct compare *c)
{
	for (int i = 1; i < c->arms.n; i++)
		flag_arm(c, &c->arms.arm[i]);
	if (c->batches && !c->winner)
		answer_say(c->answer, SAY_WARNING, "no_budget", "Batches differ: updates, examples and seconds are different budgets, and none was named; --budget examples=N (or updates, seconds) names one. No winner is told.");
	else if (c->batches && !*c->budget_unit)
		answer_say(c->answer, SAY, "budget", "Batches differ: the plan's budget decides; by updates, examples or seconds the order may be another (--budget).");
}

/* ---- the target ---- */

static double not_before(const struct compare *c, const struct arm_run *x, double *updates, double *examples)
{
	for (int i = 0; i < x->run->evals; i++) {
		const struct book_eval *e = &x->run->eval[i];
		double v = arms_value(e, c->metric);
		int64_t batch;

		if (isnan(v) || (arms_less_is_better(c->metric) ? v > c->target : v < c->target))
			continue;
		*updates = (double)e->update;
		*examples = e->examples >= 0 ? (double)e->examples : book_int(x->run, F_run_effective_batch, &batch) ? (double)e->update * (double)batch : NAN;
		return isnan(e->training_seconds) ? e->run_seconds : e->training_seconds;
	}
	*updates = *examples = INFINITY;
	return INFINITY;
}

/* The middle, counting those that never came there as beyond it. */
static void put_middle(struct table *t, int k, double *x, int n, bool seconds)
{
	double m = NAN;
	bool known = n > 0;

	for (int i = 0; i < n; i++)
		known &= !isnan(x[i]);
	if (known)
		m = stat_median(x, n);
	if (isnan(m) && known)
		m = INFINITY; /* between a number and never */
	if (isinf(m))
		table_text(t, k, "not by half of them");
	else if (seconds)
		table_seconds(t, k, m);
	else
		table_num(t, k, m, "%.8g");
}

static void put_target(struct compare *c, struct table *t, const struct arm *m)
{
	double *x = calloc(3 * (size_t)m->runs + 1, sizeof *x);
	int n = 0, reached = 0;

	for (int i = 0; x && i < m->runs; i++)
		if (m->run[i].state == ARM_COUNTS || m->run[i].state == ARM_DIVERGED) {
			double *u = x + n, *e = x + m->runs + n, *s = x + 2 * m->runs + n;

			*s = not_before(c, &m->run[i], u, e);
			reached += isfinite(*u);
			n++;
		}
	table_row(t);
	table_text(t, 0, m->name);
	table_int(t, 1, n);
	table_int(t, 2, reached);
	table_int(t, 3, n - reached);
	if (x) {
		put_middle(t, 4, x, n, false);
		put_middle(t, 5, x + m->runs, n, false);
		put_middle(t, 6, x + 2 * m->runs, n, true);
	}
	for (int i = 0; i < m->runs; i++)
		if (m->run[i].run)
			table_run(t, m->run[i].run->id);
	free(x);
}

void compare_target(struct compare *c)
{
	char title[160];
	struct table *t;

	if (isnan(c->target))
		return;
	snprintf(title, sizeof title, "To %s %s %g (the first validation there; never reached is censored):", arms_metric_name(c->metric), arms_less_is_better(c->metric) ? "<=" : ">=", c->target);
	t = answer_table(c->answer, "target", title);
	table_words(t, "arm", "arm");
	table_column(t, "n", "n");
	table_column(t, "reached", "reached");
	table_column(t, "censored", "censored");
	table_column(t, "updates_median", "updates, median");
	table_column(t, "examples_median", "examples");
	table_column(t, "seconds_median", "training");
	for (int i = 0; i < c->arms.n; i++)
		put_target(c, t, &c->arms.arm[i]);
}

/* ---- notes of people ---- */

static void say_note(struct compare *c, const struct book_record *r, const char *of)
{
	struct view v;
	char text[900], author[100];
	bool decision = false;

	if (!book_view(r, &v) || (view_copy(&v, F_note_author, author, sizeof author) && strcmp(author, "train-step") == 0))
		return;
	view_copy(&v, F_note_text, text, sizeof text);
	view_bool(&v, F_note_decision, &decision);
	answer_say(c->answer, SAY, decision ? "decision" : "note", "%s%s%s: %s%s%s", decision ? "Decision" : "Note", *of ? " on " : "", of, text, *author ? " - " : "", author);
}

void compare_notes(struct compare *c)
{
	char id[ULID_SIZE];
	struct view v;

	for (int i = 0; i < c->arms.n; i++)
		for (int k = 0; k < c->arms.arm[i].runs; k++) {
			const struct book_run *r = c->arms.arm[i].run[k].run;

			for (int j = 0; r && j < r->records; j++)
				if (r->record[j].kind == KIND_note)
					say_note(c, &r->record[j], r->id);
		}
	for (int i = 0; c->arms.planned && i < book_others(c->book); i++)
		if (book_other(c->book, i)->kind == KIND_note && book_view(book_other(c->book, i), &v) && view_copy(&v, F_note_comparison, id, sizeof id) && strcmp(id, c->arms.id) == 0)
			say_note(c, book_other(c->book, i), "");
}
