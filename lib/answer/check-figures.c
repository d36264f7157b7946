/* check-figures.c - a run's figures beside those of earlier nights.
 *
 * A figure is worse if it lies beyond the earlier median by more than `limit` times their 1.4826 MAD, and by more than
 * the least change that counts. The limit makes the chance of any false alarm over all figures of the night at most the
 * stated rate (Bonferroni), for figures that are steady and whose logarithms are about normal; it is drawn for the number of earlier nights,
 * because the MAD of a few numbers is itself uncertain. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/stat.h"
#include "check.h"

enum { DRAWS = 200000, EARLIER = CHECK_MOST };

struct figure {
	char name[80];
	bool less;      /* less is better */
	bool quality;   /* a validation figure */
	enum { RATE, SECONDS, BYTES, VALUE } unit;
	enum field field;
	const char *phase;
};

/* ---- the limit ---- */

static double normal(uint64_t i, uint64_t k)
{
	return rand_normal(20261201, RAND_TEST, i, k);
}

static int descending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

double check_limit(int n, double alpha)
{
	double *ratio = malloc(DRAWS * sizeof *ratio), x[EARLIER], limit = INFINITY;
	int at = (int)(alpha * DRAWS);

	if (n > EARLIER)
		n = EARLIER;
	for (int i = 0; ratio && i < DRAWS; i++) {
		double middle, mad;

		for (int k = 0; k < n; k++)
			x[k] = normal((uint64_t)i, (uint64_t)k);
		middle = stat_median(x, n);
		mad = stat_mad(x, n, middle);
		ratio[i] = (normal((uint64_t)i, (uint64_t)n) - middle) / mad;
	}
	if (ratio) {
		qsort(ratio, DRAWS, sizeof *ratio, descending);
		limit = ratio[at < 1 ? 0 : at];
	}
	free(ratio);
	return limit;
}

static double limit_of(struct check_limits *l, int n, double alpha)
{
	if (l->alpha != alpha)
		*l = (struct check_limits){ .alpha = alpha };
	if (l->of[n] == 0)
		l->of[n] = check_limit(n, alpha);
	return l->of[n];
}

/* ---- figures ---- */

/* Seconds of a phase: its steady record, else its last. */
static double phase_seconds(const struct book_run *r, const char *phase)
{
	double seconds = NAN, s;
	bool steady = false;

	for (int i = 0; i < r->records; i++) {
		struct view v;

		if (r->record[i].kind != KIND_phase || !book_view(&r->record[i], &v) || !view_is(&v, F_phase_phase, phase) || !view_num(&v, F_phase_seconds, &s))
			continue;
		if (!steady || view_is(&v, F_phase_occurrence, "steady"))
			seconds = s;
		steady |= view_is(&v, F_phase_occurrence, "steady");
	}
	return seconds;
}

static double eval_at(const struct book_run *r, int64_t update, enum arms_metric m)
{
	for (int i = 0; i < r->evals; i++)
		if (r->eval[i].update == update)
			return arms_value(&r->eval[i], m);
	return NAN;
}

static double value_of(const struct book_run *r, const struct figure *f, int64_t update)
{
	double x = NAN;
	int64_t i;

	if (f->phase)
		return phase_seconds(r, f->phase);
	if (f->quality)
		return eval_at(r, update, f->less ? METRIC_LOSS : METRIC_ACCURACY);
	if (field_info(f->field)->type == T_INT)
		return book_int(r, f->field, &i) ? (double)i : NAN;
	return book_num(r, f->field, &x) ? x : NAN;
}

static const struct figure fixed[] = {
	{ "examples/s", false, false, RATE, F_end_examples_per_second, NULL },
	{ "training", true, false, SECONDS, F_end_training_seconds, NULL },
	{ "allocated peak", true, false, BYTES, F_end_allocated_peak_bytes, NULL },
	{ "reserved peak", true, false, BYTES, F_end_reserved_peak_bytes, NULL },
	{ "device used peak", true, false, BYTES, F_end_device_used_peak_bytes, NULL },
	{ "resident peak", true, false, BYTES, F_end_resident_peak_bytes, NULL },
	{ "load", true, false, SECONDS, F_NONE, "load" },
	{ "data", true, false, SECONDS, F_NONE, "data" },
	{ "forward", true, false, SECONDS, F_NONE, "forward" },
	{ "backward", true, false, SECONDS, F_NONE, "backward" },
	{ "update", true, false, SECONDS, F_NONE, "update" },
	{ "validate", true, false, SECONDS, F_NONE, "validate" },
	{ "save", true, false, SECONDS, F_NONE, "save" },
	{ "validation loss", true, true, VALUE, F_NONE, NULL },
	{ "validation accuracy", false, true, VALUE, F_NONE, NULL },
};
enum { FIGURES = sizeof fixed / sizeof *fixed };

/* Earlier values of a figure; at equal updates, where it is one of validation. Returns how many. */
static int earlier(const struct figure *f, const struct book_run *r, const struct book_run *const *base, int n, double *tonight, double *x)
{
	const struct book_run *with = r->evals || !n ? r : base[0]; /* where it validated no more, as the time before */
	int64_t update = with->evals ? with->eval[with->evals - 1].update : -1;
	int m = 0;

	*tonight = value_of(r, f, update);
	for (int i = 0; i < n && m < EARLIER; i++) {
		double v = value_of(base[i], f, update);

		if (isfinite(v))
			x[m++] = v;
	}
	return m;
}

/* It was measured, and is not a number: a loss that went wrong. Else it was not measured. */
static bool is_wrong(const struct figure *f, const struct book_run *r, double tonight)
{
	return isnan(tonight) && f->quality && f->less && r->evals;
}

int check_comparable(const struct book_run *r, const struct book_run *const *base, int n)
{
	double x[EARLIER], tonight;
	int count = 0;

	for (int i = 0; i < FIGURES; i++)
		count += earlier(&fixed[i], r, base, n, &tonight, x) >= CHECK_FEW && (!isnan(tonight) || is_wrong(&fixed[i], r, tonight));
	return count;
}

static void put(struct table *t, int k, const struct figure *f, double x)
{
	if (f->unit == SECONDS)
		table_seconds(t, k, x);
	else if (f->unit == BYTES)
		table_bytes(t, k, (int64_t)x);
	else
		table_num(t, k, x, "%.5g");
}

/* Times, rates, bytes and losses are compared by their logarithms: what makes them vary multiplies them. */
static bool logarithms(const double *x, int n, double tonight)
{
	bool positive = isfinite(tonight) && tonight > 0;

	for (int i = 0; i < n; i++)
		positive &= x[i] > 0;
	return positive;
}

static bool one(struct check *c, const struct check_job *j, const struct book_run *r, const struct figure *f, double tonight, double *x, int n, double limit)
{
	double effect = f->quality ? c->settings->loss_effect : c->settings->effect, middle, mad, room, least, shown, allowed, here = tonight;
	bool logs = logarithms(x, n, tonight), worse;
	struct table *t = c->table;

	for (int i = 0; logs && i < n; i++)
		x[i] = log(x[i]);
	here = logs ? log(tonight) : tonight;
	middle = stat_median(x, n);
	mad = stat_mad(x, n, middle);
	least = logs ? log1p(effect) : effect * fabs(middle);
	room = limit * mad > least ? limit * mad : least;
	/* a figure that is not finite is worse than any */
	worse = isnan(here) || (f->less ? here > middle + room : here < middle - room);
	shown = logs ? exp(middle) : middle;
	allowed = !logs ? (shown ? room / fabs(shown) : NAN) : f->less ? expm1(room) : -expm1(-room);
	table_row(t);
	table_text(t, 0, j->name);
	table_text(t, 1, f->name);
	put(t, 2, f, tonight);
	put(t, 3, f, shown);
	table_num(t, 4, shown ? 100 * (tonight - shown) / fabs(shown) : NAN, "%+.1f %%");
	table_num(t, 5, 100 * allowed, "%.1f %%");
	table_int(t, 6, n);
	table_text(t, 7, worse ? "worse" : "ok");
	table_run(t, r->id);
	if (!f->less && !worse && allowed > 0.5) {
		if (allowed < 1)
			answer_say(c->answer, SAY, "noise", "%s: %s differed so much on the nights before that only a fall of more than %.0f %% could be told.", j->name, f->name, 100 * allowed);
		else
			answer_say(c->answer, SAY, "noise", "%s: %s differed so much on the nights before that no fall of it could be told.", j->name, f->name);
		answer_run(c->answer, r->id);
	}
	return worse;
}

int check_figures(struct check *c, const struct check_job *j, const struct book_run *r, const struct book_run *const *base, int n, double alpha)
{
	double x[EARLIER], tonight;
	int worse = 0;

	for (int i = 0; i < FIGURES; i++) {
		int m = earlier(&fixed[i], r, base, n, &tonight, x);

		if (m < CHECK_FEW)
			continue;
		if (isnan(tonight) && !is_wrong(&fixed[i], r, tonight)) {
			answer_say(c->answer, SAY_WARNING, "unmeasured", "%s: %s was not measured; it was on %d nights before.", j->name, fixed[i].name, m);
			answer_run(c->answer, r->id);
			continue;
		}
		worse += one(c, j, r, &fixed[i], tonight, x, m, limit_of(c->limits, m, alpha));
		c->compared++;
	}
	return worse;
}
