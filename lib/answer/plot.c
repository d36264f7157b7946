/* plot.c - which numbers of which runs a chart shows. */
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[PLOT_KINDS] = { "loss", "validation", "throughput", "seconds", "memory" };

const char *plot_name(enum plot_kind k)
{
	return names[k];
}

int plot_find(const char *name)
{
	for (int i = 0; i < PLOT_KINDS; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -1;
}

/* ---- one run as points ---- */

struct points {
	struct chart_point *p;
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
		out->p[out->n++] = (struct chart_point){ x, y, NAN, NAN };
	}
	return 0;
}

static bool diverged(const struct book_run *r, const struct plot_settings *s)
{
	const struct curve *c = curves_of(s->curves, r->id);

	return strcmp(r->status, "diverged") == 0 || (c && c->not_finite >= 0);
}

static int add_run(struct chart *c, const struct book_run *r, enum plot_kind k, const struct plot_settings *s, const char *name, int colour, bool faint)
{
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
			l->ended_badly = diverged(r, s);
		}
	}
	free(p.p);
	return rc;
}

/* ---- an arm: the mean over its runs, and a band from the least to the greatest ---- */

struct sums {
	double x, sum, least, most;
	int n;
};

/* Where points of several runs meet: parts of the span for losses, updates for evaluations. */
static int add_arm(struct chart *c, const struct arm *m, enum plot_kind k, const struct plot_settings *s, int colour)
{
	struct sums *at = NULL;
	struct chart_series *l;
	int n = 0, cap = 0, runs = 0, bad = 0, rc = 0;
	char name[128];

	for (int i = 0; rc == 0 && i < m->runs; i++) {
		struct points p;

		if (!m->run[i].run || m->run[i].state == ARM_LEFT_OUT)
			continue;
		bad += diverged(m->run[i].run, s);
		if (diverged(m->run[i].run, s))
			continue; /* drawn for itself */
		rc = points_of(m->run[i].run, k, s, &p);
		runs += rc == 0 && p.n > 0;
		for (int j = 0; rc == 0 && j < p.n; j++) {
			int q = 0;

			while (q < n && fabs(at[q].x - p.p[j].x) > (k == PLOT_LOSS && s->curves ? (double)(s->curves->last - s->curves->first) / CURVE_PARTS / 2 : 0))
				q++;
			if (q == cap) {
				struct sums *more = realloc(at, (size_t)(cap = cap ? 2 * cap : 64) * sizeof *at);

				rc = more ? 0 : -EX_OSERR;
				at = more ? more : at;
			}
			if (rc)
				break;
			if (q == n)
				at[n++] = (struct sums){ p.p[j].x, 0, p.p[j].y, p.p[j].y, 0 };
			at[q].sum += p.p[j].y;
			at[q].n++;
			at[q].least = fmin(at[q].least, p.p[j].y);
			at[q].most = fmax(at[q].most, p.p[j].y);
		}
		free(p.p);
	}
	if (rc == 0 && n) {
		if (bad)
			snprintf(name, sizeof name, "%.80s (n = %d, %d diverged)", m->name, runs + bad, bad);
		else
			snprintf(name, sizeof name, "%.80s (n = %d)", m->name, runs);
		l = chart_add(c, name, CHART_LINE);
		rc = l ? 0 : -EX_OSERR;
		for (int i = 0; rc == 0 && i < n; i++)
			rc = chart_point(l, at[i].x, at[i].sum / at[i].n, at[i].n > 1 ? at[i].least : NAN, at[i].n > 1 ? at[i].most : NAN);
		if (l)
			l->colour = colour;
	}
	free(at);
	for (int i = 0, first = !n; rc == 0 && i < m->runs; i++)
		if (m->run[i].run && m->run[i].state != ARM_LEFT_OUT && diverged(m->run[i].run, s)) {
			snprintf(name, sizeof name, "%.80s (diverged)", m->name);
			rc = add_run(c, m->run[i].run, k, s, name, colour, !first);
			first = 0;
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
	struct chart_series *base, *own, *reserved;
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
	if (!chart_add(c, "held when the phase began", CHART_STACK) || !chart_add(c, "of the phase, at its peak", CHART_STACK) || !chart_add(c, "reserved, at its peak", CHART_POINTS))
		return -EX_OSERR;
	base = &c->series[0];
	own = &c->series[1];
	reserved = &c->series[2];
	for (int k = 0; k < PHASES_SHOWN && rc == 0; k++) {
		double x = c->categories;

		if (h[k].peak < 0)
			continue;
		c->category[c->categories++] = phases[k];
		rc = chart_point(base, x, h[k].base > 0 ? (double)h[k].base : 0, NAN, NAN);
		if (rc == 0)
			rc = chart_point(own, x, (double)(h[k].peak - (h[k].base > 0 ? h[k].base : 0)), NAN, NAN);
		if (rc == 0 && h[k].reserved >= 0)
			rc = chart_point(reserved, x, (double)h[k].reserved, NAN, NAN);
	}
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
