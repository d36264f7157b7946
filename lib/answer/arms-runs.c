/* arms-runs.c - runs that are one because they resume each other, and whether a run counts. */
#include "arms-inner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct book_run *resumed_by(const struct book *b, const struct book_run *r)
{
	const struct book_run *next = NULL;
	char id[ULID_SIZE];

	for (int i = 0; i < book_runs(b); i++) {
		const struct book_run *x = book_run(b, i);

		if (x != r && x->run.kind == KIND_run && strcmp(x->role, "train") == 0 && view_copy(&x->run, F_run_resumed_run, id, sizeof id) && strcmp(id, r->id) == 0)
			next = x;
	}
	return next;
}

/* The other run that r resumes, NULL if none is there. */
static const struct book_run *parent_of(const struct book *b, const struct book_run *r)
{
	const struct book_run *x;
	char id[ULID_SIZE];
	struct why w;

	if (r->run.kind != KIND_run || !view_copy(&r->run, F_run_resumed_run, id, sizeof id) || !*id)
		return NULL;
	return book_find(b, id, &x, &w) == 1 && x != r ? x : NULL;
}

/* Seconds in updates: what the end says (it counts those before a resume), else the steps' sum. */
static double seconds_of(const struct book_run *r)
{
	double s = NAN;

	if (!book_num(r, F_end_training_seconds, &s) && r->steps.count)
		s = r->steps.seconds > 0 ? r->steps.seconds : NAN; /* an imported log may have no times */
	return s;
}

struct chain arms_chain(const struct book *b, const struct book_run *r)
{
	struct chain c = { r, r, 0, seconds_of(r) };
	const struct book_run *next;

	if (parent_of(b, r) && !arms_resumed(b, r)) /* in a circle */
		return c;
	while (c.before < 1000 && (next = resumed_by(b, c.last)) != NULL) {
		double s = seconds_of(next);

		c.last = next;
		c.before++;
		if (!isnan(s) && !(s < c.seconds)) /* an end counts what was before */
			c.seconds = s;
		else if (!isnan(s))
			c.seconds += s;
	}
	return c;
}

/* Of runs that resume each other in a circle none is the later: each stands for itself, or all would vanish. */
bool arms_resumed(const struct book *b, const struct book_run *r)
{
	const struct book_run *first = parent_of(b, r), *x = first;

	for (int i = 0; x && i < book_runs(b); i++) {
		if (x == r)
			return false;
		x = parent_of(b, x);
	}
	return first != NULL;
}

/* ---- does a run count? ---- */

static bool stop_was_planned(const struct arms *a, const struct book_run *r)
{
	char rules[128], why[300], word[32];
	const char *p;

	if (!a->planned || !view_copy(&a->comparison, F_comparison_stop, rules, sizeof rules) || !book_text(r, F_end_why, why, sizeof why))
		return false;
	for (p = rules; *p; p += strcspn(p, ","), p += *p == ',') {
		snprintf(word, sizeof word, "%.*s", (int)strcspn(p, "=>,"), p);
		if (*word && strstr(why, "stop rule") && strstr(why, word))
			return true;
	}
	return false;
}

static void left_out(struct arm_run *x, const char *fmt, ...) PRINTF(2, 3);
static void left_out(struct arm_run *x, const char *fmt, ...)
{
	va_list ap;

	x->state = ARM_LEFT_OUT;
	va_start(ap, fmt);
	vsnprintf(x->why, sizeof x->why, fmt, ap);
	va_end(ap);
}

void arms_judge(const struct arms *a, struct arm_run *x)
{
	const struct book_run *r = x->run;
	char why[200];
	int64_t updates = -1, planned = -1;

	if (!r) {
		x->state = ARM_MISSING;
		snprintf(x->why, sizeof x->why, "planned, and no run of it is there");
		return;
	}
	book_text(r, F_end_why, why, sizeof why);
	book_int(r, F_end_updates, &updates);
	book_int(r, F_run_planned_updates, &planned);
	if (strcmp(r->status, "diverged") == 0) {
		x->state = ARM_DIVERGED;
		snprintf(x->why, sizeof x->why, "diverged: %.200s", *why ? why : "no reason is given");
	} else if (!*r->status) {
		left_out(x, "it has no end: cut, or still running");
	} else if (strcmp(r->status, "stopped") == 0 && stop_was_planned(a, r)) {
		x->state = ARM_COUNTS;
	} else if (strcmp(r->status, "done")) {
		left_out(x, "%.20s after %lld updates: %.160s", r->status, (long long)updates, *why ? why : "no reason is given");
	} else if (updates >= 0 && planned > 0 && updates < planned && !stop_was_planned(a, r)) {
		left_out(x, "ended after %lld of %lld updates", (long long)updates, (long long)planned);
	} else {
		x->state = ARM_COUNTS;
	}
}
