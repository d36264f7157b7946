/* plot-scaling.c - updates to a target against the effective batch, with the line that perfect scaling would follow. */
#include <math.h>
#include <string.h>

#include "plot.h"

/* Points at the sizes that count, each from the validation before the target to the one at it. */
static int measured(struct chart *c, const struct scaling_point *p, int n)
{
	struct chart_series *s = chart_add(c, "best rate at each batch", CHART_POINTS);
	int rc = s ? 0 : -EX_OSERR;

	for (int i = 0; i < n && rc == 0; i++)
		rc = chart_point(s, p[i].batch, scaling_updates(&p[i]), p[i].low, p[i].high);
	return rc;
}

/* Twice the batch, half the updates, from the smallest batch. */
static int perfect(struct chart *c, const struct scaling_point *p, int n)
{
	struct chart_series *s = chart_add(c, "perfect scaling", CHART_LINE);
	int rc = s ? 0 : -EX_OSERR;

	for (int i = 0; i < n && rc == 0; i++)
		rc = chart_point(s, p[i].batch, scaling_updates(&p[0]) * p[0].batch / p[i].batch, NAN, NAN);
	return rc;
}

/* S_min (1 + B_c / B), where it could be fitted. */
static int curve(struct chart *c, const struct scaling_point *p, int n)
{
	struct scaling_range r;
	struct chart_series *s;
	double least = NAN;
	char name[60];
	int rc = 0;

	scaling_critical(p, n, 0.95, &r, &least);
	if (isnan(r.at) || isnan(least))
		return 0;
	s = chart_add(c, "S_min (1 + B_c / B)", CHART_LINE);
	rc = s ? 0 : -EX_OSERR;
	for (int i = 0; i <= 40 && rc == 0; i++) {
		double b = p[0].batch * pow(p[n - 1].batch / p[0].batch, i / 40.0);

		rc = chart_point(s, b, least * (1 + r.at / b), NAN, NAN);
	}
	snprintf(name, sizeof name, "B_c %.3g", r.at);
	chart_mark(c, r.at, name);
	return rc;
}

int plot_scaling(const struct book *b, const struct scaling_settings *s, struct chart *c, struct why *w)
{
	const struct scaling_size *size[SCALING_MOST];
	struct scaling_point p[SCALING_MOST];
	struct scaling *x;
	int n, rc = scaling_read(&x, b, s, w);

	*c = (struct chart){ .x_scale = CHART_LOG, .y_scale = CHART_LOG };
	if (rc < 0)
		return rc;
	n = scaling_points(x, p, size);
	snprintf(c->title, sizeof c->title, "Updates to the target against the batch");
	snprintf(c->subtitle, sizeof c->subtitle, "validation %s %s %g; bars from the validation before it to the one at it", s->metric, strcmp(s->metric, "loss") ? "at least" : "at most", s->target);
	snprintf(c->x_name, sizeof c->x_name, "effective batch, examples (log scale)");
	snprintf(c->y_name, sizeof c->y_name, "updates (log scale)");
	snprintf(c->empty, sizeof c->empty, "no batch counts: three tuned rates at each are wanted, see ledger scaling");
	rc = n ? measured(c, p, n) : 0;
	if (rc == 0 && n > 1)
		rc = perfect(c, p, n);
	if (rc == 0 && n > 2)
		rc = curve(c, p, n);
	scaling_free(x);
	if (rc == 0)
		return 0;
	chart_free(c);
	return why_set(w, EX_OSERR, "plotting: out of memory");
}
