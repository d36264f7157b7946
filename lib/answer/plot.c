/* plot.c - which numbers of which runs a chart shows. */
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[PLOT_KINDS] = { "loss", "validation", "throughput", "seconds", "memory" };

int plot_find(const char *name)
{
	for (int i = 0; i < PLOT_KINDS; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -1;
}

/* ---- one run as points ---- */

/* A point and where it meets those of other runs: the part of the span, or the update. */
struct point {
	int64_t key;
	double x, y;
};
struct points {
	struct point *p;
	int n;
};

static int points_of(const struct book_run *r, enum plot_kind k, const struct plot_settings *s, struct points *out)
{
	const struct curve *c = curves_of(s->curves, r->id);
	int most = k == PLOT_LOSS ? CURVE_PARTS : r->evals;

	*out = (struct points){ calloc((size_t)most + 1, sizeof *out->p), 0 };
	if (!out->p)
		return -EX_OSERR;
	for (int i = 0; i < most; i++) {
		double x, y;

		if (k == PLOT_LOSS ? !c || !curve_mean(c, i, &x, &y) : isnan(y = r->eval[i].loss))
			continue;
		if (k == PLOT_VALIDATION)
			x = (double)r->eval[i].update;
		out->p[out->n++] = (struct point){ k == PLOT_LOSS ? i : r->eval[i].update, x, y };
	}
	return 0;
}

/* A run that diverged, or whose last loss is not finite, is no part of an arm's mean. */
static bool diverged(const struct book_run *r, const struct plot_settings *s)
{
	const struct curve *c = curves_of(s->curves, r->id);

	return strcmp(r->status, "diverged") == 0 || (c && c->steps && !c->ends_finite);
}

static int add_run(struct chart *c, const struct book_run *r, enum plot_kind k, const struct plot_settings *s, const char *name, int colour, bool faint)
{
	const struct curve *curve = curves_of(s->curves, r->id);
	struct chart_series *l;
	struct points p;
	int rc = points_of(r, k, s, &p);

	if (rc == 0 && (p.n || diverged(r, s))) {
		l = chart_add(c, name, CHART_LINE);
		rc = l ? 0 : -EX_OSERR;
		for (int i = 0; rc == 0 && i < p.n; i++)
			rc = chart_point(l, p.p[i].x, p.p[i].y, NAN, NAN);
		if (l) {
			l->faint = faint;
			l->colour = colour;
			l->bad = diverged(r, s) ? "diverged" : k == PLOT_LOSS && curve && curve->not_finite >= 0 ? "not finite" : NULL;
			l->bad_x = k == PLOT_LOSS && curve && curve->not_finite >= 0 ? (double)curve->not_finite : INFINITY;
		}
	}
	free(p.p);
	return rc;
}

/* ---- an arm: the mean over its runs, and a band from the least to the greatest ---- */

struct sums {
	int64_t key;
	double x, sum, least, most;
	int n;
};
struct meeting {
	struct sums *at;
	int n, cap, runs;
};

static int meet(struct meeting *m, const struct point *p)
{
	int q = 0;

	while (q < m->n && m->at[q].key != p->key)
		q++;
	if (q == m->n && m->n == m->cap) {
		int cap = m->cap ? 2 * m->cap : 64;
		struct sums *more = realloc(m->at, (size_t)cap * sizeof *more);

		if (!more)
			return -EX_OSERR;
		m->at = more;
		m->cap = cap;
	}
	if (q == m->n)
		m->at[m->n++] = (struct sums){ p->key, 0, 0, p->y, p->y, 0 };
	m->at[q].x += p->x;
	m->at[q].sum += p->y;
	m->at[q].n++;
	m->at[q].least = fmin(m->at[q].least, p->y);
	m->at[q].most = fmax(m->at[q].most, p->y);
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct sums *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/* A mean over some of the runs would jump where others join: only places that all of them have, if there are such. */
static int put_mean(struct chart *c, struct meeting *m, const char *name, int colour)
{
	struct chart_series *l = chart_add(c, name, CHART_LINE);
	bool all = false;
	int rc = l ? 0 : -EX_OSERR;

	if (m->n)
		qsort(m->at, (size_t)m->n, sizeof *m->at, by_key);
	for (int i = 0; i < m->n; i++)
		all |= m->at[i].n == m->runs;
	for (int i = 0; rc == 0 && i < m->n; i++)
		if (!all || m->at[i].n == m->runs)
			rc = chart_point(l, m->at[i].x / m->at[i].n, m->at[i].sum / m->at[i].n, m->at[i].n > 1 ? m->at[i].least : NAN, m->at[i].n > 1 ? m->at[i].most : NAN);
	if (l)
		l->colour = colour;
	return rc;
}

static int collect(const struct arm *a, enum plot_kind k, const struct plot_settings *s, struct meeting *m, int *bad)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < a->runs; i++) {
		struct points p;

		if (!a->run[i].run || a->run[i].state == ARM_LEFT_OUT)
			continue;
		if (diverged(a->run[i].run, s)) {
			++*bad; /* drawn for itself */
			continue;
		}
		rc = points_of(a->run[i].run, k, s, &p);
		m->runs += rc == 0 && p.n > 0;
		for (int j = 0; rc == 0 && j < p.n; j++)
			rc = meet(m, &p.p[j]);
		free(p.p);
	}
	return rc;
}

static int add_arm(struct chart *c, const struct arm *a, enum plot_kind k, const struct plot_settings *s, int colour)
{
	struct meeting m = { 0 };
	int bad = 0, rc = collect(a, k, s, &m, &bad);
	bool named = m.n > 0;
	char name[128];

	if (rc == 0 && m.n) {
		if (bad)
			snprintf(name, sizeof name, "%.80s (n = %d, %d diverged)", a->name, m.runs + bad, bad);
		else
			snprintf(name, sizeof name, "%.80s (n = %d)", a->name, m.runs);
		rc = put_mean(c, &m, name, colour);
	}
	free(m.at);
	for (int i = 0; rc == 0 && i < a->runs; i++)
		if (a->run[i].run && a->run[i].state != ARM_LEFT_OUT && diverged(a->run[i].run, s)) {
			snprintf(name, sizeof name, "%.80s (diverged)", a->name);
			rc = add_run(c, a->run[i].run, k, s, name, colour, named);
			named = true;
		}
	return rc;
}

static void run_name(const struct book_run *r, char out[128])
{
	char name[80];

	if (book_text(r, F_run_name, name, sizeof name))
		snprintf(out, 128, "%s", name);
	else
		snprintf(out, 128, "%.12s%s%.60s", r->id, *r->arm ? " " : "", r->arm);
}

static int curves(const struct book *b, enum plot_kind k, const struct plot_settings *s, struct chart *c)
{
	double least = INFINITY, most = 0;
	char name[128];
	int rc = 0;

	snprintf(c->title, sizeof c->title, "%s", k == PLOT_LOSS ? "Training loss" : "Validation loss");
	snprintf(c->x_name, sizeof c->x_name, "update");
	snprintf(c->y_name, sizeof c->y_name, "loss");
	for (int i = 0; s->arms && i < s->arms->n && rc == 0; i++)
		rc = add_arm(c, &s->arms->arm[i], k, s, i);
	for (int i = 0; !s->arms && i < book_runs(b) && rc == 0; i++) {
		const struct book_run *r = book_run(b, i);

		if (!book_trained(r) || (s->only && !ids_find(s->only, r->id)))
			continue;
		run_name(r, name);
		rc = add_run(c, r, k, s, name, -1, false);
	}
	for (int i = 0; i < c->n; i++)
		for (int j = 0; j < c->series[i].n; j++) {
			least = fmin(least, c->series[i].point[j].y);
			most = fmax(most, c->series[i].point[j].y);
		}
	if (least > 0 && most / least > 20)
		c->y_scale = CHART_LOG;
	snprintf(c->subtitle, sizeof c->subtitle, "%.120s%s%s%s", s->source ? s->source : "", s->source && s->arms ? "; " : "", s->arms ? "mean of an arm's runs, band from least to greatest" : "", c->y_scale == CHART_LOG ? "; log scale" : "");
	return rc;
}

/* ---- a probe ---- */

static bool newest_probe(const struct book *b, const char *want, char id[ULID_SIZE], struct view *v)
{
	for (int i = book_others(b) - 1; i >= 0; i--)
		if (book_other(b, i)->kind == KIND_probe && book_view(book_other(b, i), v) && view_copy(v, F_probe_id, id, ULID_SIZE) && (!want || strcmp(id, want) == 0))
			return true;
	return false;
}

/* The trial of each size that was timed longest. */
static int trials(const struct book *b, const char *probe, bool seconds, struct chart_series *l)
{
	char of[ULID_SIZE];
	int rc = 0;

	for (int i = 0; rc == 0 && i < book_runs(b); i++) {
		const struct book_run *r = book_run(b, i);

		for (int k = 0; rc == 0 && k < r->records; k++) {
			double y = NAN, low = NAN, high = NAN;
			int64_t size = 0, accum = 1;
			struct view v;
			int j;

			if (r->record[k].kind != KIND_trial || !book_view(&r->record[k], &v) || !view_copy(&v, F_trial_probe, of, sizeof of) || strcmp(of, probe))
				continue;
			if (!view_int(&v, F_trial_micro_batch, &size) || !view_num(&v, F_trial_examples_per_second, &y) || !(y > 0))
				continue;
			view_num(&v, F_trial_examples_per_second_low, &low);
			view_num(&v, F_trial_examples_per_second_high, &high);
			view_int(&v, F_trial_accum, &accum);
			if (seconds) {
				double n = (double)(size * accum), swap = n / low;

				low = n / high;
				high = swap;
				y = n / y;
			}
			for (j = 0; j < l->n && l->point[j].x != (double)size; j++)
				;
			if (j < l->n)
				l->point[j] = (struct chart_point){ (double)size, y, low, high };
			else
				rc = chart_point(l, (double)size, y, low, high);
		}
	}
	return rc;
}

static int by_x(const void *a, const void *b)
{
	const struct chart_point *p = a, *q = b;

	return (p->x > q->x) - (p->x < q->x);
}

static void mark_size(struct chart *c, const struct view *v, enum field f, const char *what)
{
	char name[60];
	int64_t size;

	if (!view_int(v, f, &size) || size < 1)
		return;
	snprintf(name, sizeof name, "%s %lld", what, (long long)size);
	chart_mark(c, (double)size, name);
}

static int speeds(const struct book *b, enum plot_kind k, const struct plot_settings *s, struct chart *c)
{
	struct chart_series *l;
	char id[ULID_SIZE];
	struct view v;
	int rc;

	snprintf(c->title, sizeof c->title, "%s", k == PLOT_THROUGHPUT ? "Throughput against the micro-batch" : "Seconds of an update against the micro-batch");
	snprintf(c->x_name, sizeof c->x_name, "micro-batch, examples (log scale)");
	snprintf(c->y_name, sizeof c->y_name, "%s", k == PLOT_THROUGHPUT ? "examples per second" : "seconds per update");
	snprintf(c->empty, sizeof c->empty, "no probe was timed: probe-batch has not run");
	c->x_scale = c->y_scale = CHART_LOG;
	c->y_seconds = k == PLOT_SECONDS;
	if (!newest_probe(b, s->probe, id, &v))
		return 0;
	snprintf(c->subtitle, sizeof c->subtitle, "probe %s; median and its 95 %% interval", id);
	l = chart_add(c, "measured", CHART_LINE);
	if (!l)
		return -EX_OSERR;
	rc = trials(b, id, k == PLOT_SECONDS, l);
	if (l->n)
		qsort(l->point, (size_t)l->n, sizeof *l->point, by_x);
	mark_size(c, &v, F_probe_knee, "knee");
	mark_size(c, &v, F_probe_recommended, "recommended");
	mark_size(c, &v, F_probe_largest, "largest that fits");
	return rc;
}

/* ---- memory by phase ---- */

static const char *const phases[] = { "load", "data", "forward", "backward", "update", "validate", "save", "resume" };
enum { PHASES_SHOWN = sizeof phases / sizeof *phases };

struct held {
	int64_t base, peak, reserved;
};

/* The highest record of each phase. */
static int look(const struct book_run *r, struct held *h)
{
	int seen = 0;

	for (int i = 0; i < PHASES_SHOWN; i++)
		h[i] = (struct held){ -1, -1, -1 };
	for (int i = 0; i < r->records; i++) {
		int64_t peak = -1, base = -1, reserved = -1;
		struct view v;

		if (r->record[i].kind != KIND_phase || !book_view(&r->record[i], &v) || !view_int(&v, F_phase_allocated_peak_bytes, &peak))
			continue;
		view_int(&v, F_phase_baseline_bytes, &base);
		view_int(&v, F_phase_reserved_peak_bytes, &reserved);
		for (int k = 0; k < PHASES_SHOWN; k++)
			if (view_is(&v, F_phase_phase, phases[k])) {
				if (peak > h[k].peak) {
					h[k].peak = peak;
					h[k].base = base;
				}
				h[k].reserved = reserved > h[k].reserved ? reserved : h[k].reserved;
				seen++;
			}
	}
	return seen;
}

static int memory(const struct book *b, const struct plot_settings *s, struct chart *c)
{
	const struct book_run *r = NULL;
	struct chart_series *base, *own, *whole, *reserved;
	struct held h[PHASES_SHOWN];
	int rc = 0;

	snprintf(c->title, sizeof c->title, "Memory by phase");
	snprintf(c->x_name, sizeof c->x_name, "phase");
	snprintf(c->y_name, sizeof c->y_name, "bytes allocated");
	snprintf(c->empty, sizeof c->empty, "no phase of these runs was measured");
	c->y_bytes = c->y_from_zero = true;
	for (int i = 0; i < book_runs(b); i++)
		if (book_trained(book_run(b, i)) && (!s->only || ids_find(s->only, book_run(b, i)->id)) && look(book_run(b, i), h))
			r = book_run(b, i);
	if (!r || !look(r, h))
		return 0;
	snprintf(c->subtitle, sizeof c->subtitle, "run %s; reserved is another counter, not part of the bars", r->id);
	if (!chart_add(c, "held when the phase began", CHART_STACK) || !chart_add(c, "of the phase, at its peak", CHART_STACK) || !chart_add(c, "both (what was held before: not measured)", CHART_STACK) ||
	    !chart_add(c, "reserved, at its peak", CHART_POINTS))
		return -EX_OSERR;
	base = &c->series[0];
	own = &c->series[1];
	whole = &c->series[2];
	reserved = &c->series[3];
	for (int k = 0; k < PHASES_SHOWN && rc == 0; k++) {
		double x = c->categories;

		if (h[k].peak < 0)
			continue;
		c->category[c->categories++] = phases[k];
		if (h[k].base < 0)
			rc = chart_point(whole, x, (double)h[k].peak, NAN, NAN);
		else
			rc = chart_point(base, x, (double)h[k].base, NAN, NAN);
		if (rc == 0 && h[k].base >= 0)
			rc = chart_point(own, x, (double)(h[k].peak - h[k].base), NAN, NAN);
		if (rc == 0 && h[k].reserved >= 0)
			rc = chart_point(reserved, x, (double)h[k].reserved, NAN, NAN);
	}
	if (!whole->n) /* nothing that the legend would name */
		*whole->name = '\0';
	return rc;
}

int plot_chart(const struct book *b, enum plot_kind k, const struct plot_settings *s, struct chart *c, struct why *w)
{
	int rc;

	*c = (struct chart){ 0 };
	if (k == PLOT_MEMORY)
		rc = memory(b, s, c);
	else if (k == PLOT_THROUGHPUT || k == PLOT_SECONDS)
		rc = speeds(b, k, s, c);
	else
		rc = curves(b, k, s, c);
	if (rc == 0)
		return 0;
	chart_free(c);
	return why_set(w, EX_OSERR, "plotting: out of memory");
}
