/* compare.c - the answer of `ledger compare`, from arms to sentences. */
#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a run says ---- */

static double at_of(const struct book_eval *e, const struct arm_run *x, const char *unit)
{
	int64_t batch = -1;

	if (strcmp(unit, "updates") == 0)
		return (double)e->update;
	if (strcmp(unit, "seconds") == 0)
		return isnan(e->training_seconds) ? e->run_seconds : e->training_seconds;
	if (e->examples >= 0)
		return (double)e->examples;
	return book_int(x->run, F_run_effective_batch, &batch) && e->update >= 0 ? (double)e->update * (double)batch : NAN;
}

/* The last evaluation within the budget. */
static const struct book_eval *within_budget(const struct compare *c, const struct arm_run *x)
{
	const struct book_eval *found = NULL;

	for (int i = 0; i < x->run->evals; i++) {
		const struct book_eval *e = &x->run->eval[i];

		if (!isnan(arms_value(e, c->metric)) && at_of(e, x, c->budget_unit) <= c->budget)
			found = e;
	}
	return found;
}

bool compare_point(const struct compare *c, const struct arm_run *x, struct compare_point *p)
{
	*p = (struct compare_point){ NAN, NAN, NAN, NAN, NULL };
	if (x->state == ARM_DIVERGED) {
		p->value = arms_less_is_better(c->metric) ? INFINITY : -INFINITY;
		return true;
	}
	if (x->state != ARM_COUNTS)
		return false;
	p->eval = *c->budget_unit ? within_budget(c, x) : arms_eval(x->run, c->metric, c->best);
	if (!p->eval)
		return false;
	p->value = arms_value(p->eval, c->metric);
	p->updates = at_of(p->eval, x, "updates");
	p->examples = at_of(p->eval, x, "examples");
	p->seconds = at_of(p->eval, x, "seconds");
	return true;
}

int compare_values(const struct compare *c, const struct arm *m, bool with_diverged, double *x, int64_t *seed)
{
	struct compare_point p;
	int n = 0;

	for (int i = 0; i < m->runs; i++)
		if (compare_point(c, &m->run[i], &p) && (isfinite(p.value) || with_diverged)) {
			x[n] = p.value;
			seed[n++] = m->run[i].seed;
		}
	return n;
}

/* ---- settings ---- */

static int take_budget(struct compare *c, struct why *w)
{
	static const char *const units[] = { "updates", "examples", "seconds" };
	const char *s = c->settings->budget, *equals = s ? strchr(s, '=') : NULL;

	if (!s)
		return 0;
	for (int i = 0; equals && i < 3; i++)
		if (strncmp(s, units[i], (size_t)(equals - s)) == 0 && strlen(units[i]) == (size_t)(equals - s)) {
			snprintf(c->budget_unit, sizeof c->budget_unit, "%s", units[i]);
			return num_float(equals + 1, "--budget", 0, 1e300, &c->budget, w);
		}
	return why_set(w, EX_USAGE, "--budget: %.80s: not updates=N, examples=N or seconds=S", s);
}

static int take_settings(struct compare *c, struct why *w)
{
	const struct compare_settings *s = c->settings;
	const struct view *v = c->arms.planned ? &c->arms.comparison : NULL;
	char metric[64] = "validation_loss";
	bool paired = true;
	int m;

	c->within = s->within;
	c->target = s->target;
	if (v) {
		view_copy(v, F_comparison_metric, metric, sizeof metric);
		view_bool(v, F_comparison_paired, &paired);
		if (isnan(c->within))
			view_num(v, F_comparison_within, &c->within);
		if (isnan(c->target))
			view_num(v, F_comparison_target, &c->target);
		c->best = view_is(v, F_comparison_choice, "best");
	}
	if (s->metric)
		snprintf(metric, sizeof metric, "%s", s->metric);
	m = arms_metric_find(metric);
	if (m < 0)
		return why_set(w, EX_USAGE, "--metric: %.60s: not validation_loss, validation_accuracy or exact_match", metric);
	c->metric = m;
	if (s->choice)
		c->best = s->choice == 'b';
	c->paired = paired && !s->unpaired;
	return take_budget(c, w);
}

/* ---- the beginning ---- */

/* What was planned is not what is asked now. */
static void say_departure(struct compare *c)
{
	const struct view *plan = &c->arms.comparison;
	char metric[64] = "validation_loss";
	bool best = view_is(plan, F_comparison_choice, "best");

	view_copy(plan, F_comparison_metric, metric, sizeof metric);
	if (strcmp(metric, arms_metric_name(c->metric)) != 0 || best != c->best || *c->budget_unit)
		answer_say(c->answer, SAY_WARNING, "departure", "This is not what was planned to decide: that is %s, the %s validation of each run.", metric, best ? "best" : "last");
}

static void say_subject(struct compare *c)
{
	const struct arms *a = &c->arms;
	char text[500];
	double amount = 0;

	answer_say(c->answer, SAY_HEAD, "subject", "%s%s%s", a->planned ? "Comparison " : "Runs by ", a->planned ? (*a->name ? a->name : a->id) : c->settings->arms.by, "");
	if (a->planned && view_copy(&a->comparison, F_comparison_question, text, sizeof text))
		answer_say(c->answer, SAY, "question", "%s", text);
	if (a->planned && view_num(&a->comparison, F_comparison_amount, &amount)) {
		view_copy(&a->comparison, F_comparison_budget, text, sizeof text);
		answer_say(c->answer, SAY, "plan", "Planned before the first result: %d arms, %s, %g %.20s each.", a->n, c->paired ? "seeds paired" : "seeds not paired", amount, text);
	} else {
		answer_say(c->answer, SAY, "plan", "Nothing was planned: arms are the runs that are there, so a difference found here was looked for after the fact.");
	}
	answer_say(c->answer, SAY, "metric", "What decides: %s, %s%s%s.", arms_metric_name(c->metric),
	           *c->budget_unit ? "the last validation within " : c->best ? "the best validation of each run, which is a selection" : "the last validation of each run",
	           *c->budget_unit ? c->settings->budget : "", arms_less_is_better(c->metric) ? "; less is better" : "; more is better");
	if (a->planned)
		say_departure(c);
}

static bool batches_differ(const struct arms *a)
{
	static const char *const names[] = { "micro_batch", "accum", "replicas" };
	double first = NAN;

	for (int i = 0; i < a->n; i++) {
		double batch = 1;

		if (!a->arm[i].identity.n)
			continue;
		for (int k = 0; k < 3; k++) {
			const char *v = identity_value(&a->arm[i].identity, names[k]);

			batch *= v && atoll(v) > 0 ? (double)atoll(v) : 1;
		}
		if (isnan(first))
			first = batch;
		if (first != batch)
			return true;
	}
	return false;
}

static int answer(struct compare *c, struct why *w)
{
	int rc;

	say_subject(c);
	if (c->arms.n < 2)
		return why_set(w, EX_NO, "comparing: one arm only: there is nothing to compare it with");
	rc = compare_alike(c);
	if (rc) {
		compare_left_out(c);
		return rc == -EX_NO ? why_set(w, EX_NO, "comparing: the runs differ in more than was to be compared; --force goes on all the same") : rc;
	}
	c->batches = batches_differ(&c->arms);
	c->winner = !c->batches || *c->budget_unit || c->arms.planned;
	compare_arms(c);
	compare_left_out(c);
	compare_flags(c);
	rc = compare_judge(c);
	if (rc)
		return why_set(w, EX_OSERR, "comparing: out of memory");
	compare_target(c);
	compare_examples(c);
	compare_notes(c);
	return 0;
}

int compare_answer(const struct book *b, const struct compare_settings *s, struct answer **a, struct why *w)
{
	struct compare c = { .book = b, .settings = s };
	int rc;

	*a = NULL;
	rc = arms_of(b, &s->arms, &c.arms, w);
	if (rc)
		return rc;
	c.answer = *a = answer_new("compare");
	rc = c.answer ? take_settings(&c, w) : why_set(w, EX_OSERR, "comparing: out of memory");
	if (rc == 0)
		rc = answer(&c, w);
	arms_free(&c.arms);
	return rc;
}
