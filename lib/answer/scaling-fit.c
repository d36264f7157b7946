/* scaling-fit.c - perfect scaling and the critical batch, from updates to a target at a few batches. */
#include "scaling-fit.h"

#include <math.h>
#include <stddef.h>

#include "../base/stat.h"

double scaling_updates(const struct scaling_point *p)
{
	return sqrt(p->low * p->high);
}

/* ---- the curve ---- */

/* Sum of squares that B_c = exp(x) leaves, at its best S_min. */
static double left_over(const struct scaling_point *p, int n, double x, double *log_s)
{
	double mean = 0, sum = 0;

	for (int i = 0; i < n; i++)
		mean += (log(scaling_updates(&p[i])) - log1p(exp(x - log(p[i].batch)))) / n;
	for (int i = 0; i < n; i++) {
		double e = log(scaling_updates(&p[i])) - log1p(exp(x - log(p[i].batch))) - mean;

		sum += e * e;
	}
	if (log_s)
		*log_s = mean;
	return sum;
}

struct profile {
	double x, rss;    /* the least */
	double from, to;  /* where it was looked for; the curve is flat beyond */
};
enum { GRID = 300 };

static double grid(const struct profile *f, int i)
{
	return f->from + (f->to - f->from) * i / GRID;
}

/* A grid finds the valley, golden sections its bottom. */
static struct profile fit(const struct scaling_point *p, int n)
{
	const double golden = 0.6180339887498949, beyond = log(1e5);
	struct profile f = { .from = log(p[0].batch) - beyond, .to = log(p[n - 1].batch) + beyond, .rss = INFINITY };
	int best = 0;
	double a, b;

	for (int i = 0; i <= GRID; i++) {
		double rss = left_over(p, n, grid(&f, i), NULL);

		if (rss < f.rss) {
			f.rss = rss;
			best = i;
		}
	}
	a = grid(&f, best > 0 ? best - 1 : 0);
	b = grid(&f, best < GRID ? best + 1 : GRID);
	for (int i = 0; i < 80; i++) {
		double c = b - golden * (b - a), d = a + golden * (b - a);

		if (left_over(p, n, c, NULL) < left_over(p, n, d, NULL))
			b = d;
		else
			a = c;
	}
	f.x = (a + b) / 2;
	f.rss = left_over(p, n, f.x, NULL);
	return f;
}

static double blur(const struct scaling_point *p, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += p[i].width * p[i].width / 12 / n;
	return sum;
}

/* Where the profile crosses the bound between x (below it) and y (above). */
static double crossing(const struct scaling_point *p, int n, double x, double y, double bound)
{
	for (int i = 0; i < 60; i++) {
		double m = (x + y) / 2;

		if (left_over(p, n, m, NULL) <= bound)
			x = m;
		else
			y = m;
	}
	return x;
}

/* From far away down into the valley, the first place within the bound. */
static double end_of(const struct scaling_point *p, int n, const struct profile *f, double bound, int step)
{
	int i = step > 0 ? GRID : 0;

	if (left_over(p, n, grid(f, i), NULL) <= bound)
		return step > 0 ? INFINITY : 0;
	while ((grid(f, i - step) - f->x) * step > 0 && left_over(p, n, grid(f, i - step), NULL) > bound)
		i -= step;
	return exp(crossing(p, n, (grid(f, i - step) - f->x) * step > 0 ? grid(f, i - step) : f->x, grid(f, i), bound));
}

/* ---- what must be there before a number is named ---- */

static const char *lacking(const struct scaling_point *p, int n)
{
	if (n < 2)
		return "two sizes at least that count are needed for a bound, five over a factor of 16 for a number";
	if (n < SCALING_SIZES || p[n - 1].batch < SCALING_FACTOR * p[0].batch)
		return "five sizes over a factor of 16 are needed";
	for (int i = 0; i < n; i++)
		if (p[i].width >= -log1p(-SCALING_COARSE))
			return "the target was seen only every tenth of the way, or less often: validate more often";
	return NULL;
}

/* Where validations fall at the same phase at every size, what they round is not scatter: the curve fits, and lies
 * aside. So the interval is the hull of those with all targets met at once behind the earlier validation, in the
 * middle, and at the later one. */
static void hull(const struct scaling_point *p, int n, double margin, struct scaling_range *r)
{
	struct scaling_point q[SCALING_MOST];

	for (int end = 0; end < 2; end++) {
		struct profile f;

		for (int i = 0; i < n; i++) {
			q[i] = p[i];
			q[i].low = q[i].high = end ? p[i].high : p[i].low;
		}
		f = fit(q, n);
		r->low = fmin(r->low, end_of(q, n, &f, f.rss + margin, -1));
		r->high = fmax(r->high, end_of(q, n, &f, f.rss + margin, 1));
	}
}

void scaling_critical(const struct scaling_point *p, int n, double level, struct scaling_range *r, double *s_min)
{
	struct profile f;
	double variance, t, bound, log_s;

	*r = (struct scaling_range){ .at = NAN, .high = INFINITY, .lacking = lacking(p, n) };
	if (s_min)
		*s_min = NAN;
	if (n < 3)
		return;
	f = fit(p, n);
	variance = fmax(f.rss / (n - 2), blur(p, n));
	t = stat_t_quantile((1 + level) / 2, n - 2);
	/* Equal to the last digit is no evidence of anything: rounding is in the bound. */
	bound = f.rss + variance * t * t + 1e-18;
	r->low = end_of(p, n, &f, bound, -1);
	r->high = end_of(p, n, &f, bound, 1);
	hull(p, n, bound - f.rss, r);
	if (r->lacking)
		return;
	if (r->low == 0 || isinf(r->high)) {
		r->lacking = "the sizes do not reach from one side of it to the other, or differ by more than the curve does";
		return;
	}
	r->at = exp(f.x);
	left_over(p, n, f.x, &log_s);
	if (s_min)
		*s_min = exp(log_s);
}

/* ---- no curve: examples against the smallest batch's ---- */

/* Student's t times the standard error of ln(updates at i / updates at the smallest batch), by the seeds and by what the
 * curve leaves: the larger. INFINITY where neither says anything. */
struct noise {
	double seeds, curve; /* t x sd, of one seed and of one size; NAN unknown */
};

static struct noise noise(const struct scaling_point *p, int n, double level)
{
	struct noise e = { NAN, NAN };
	double sum = 0, df = 0;

	for (int i = 0; i < n; i++)
		if (p[i].n > 1 && isfinite(p[i].sd)) {
			sum += p[i].sd * p[i].sd * (p[i].n - 1);
			df += p[i].n - 1;
		}
	if (df >= 3)
		e.seeds = stat_t_quantile((1 + level) / 2, df) * sqrt(sum / df);
	if (n >= 3)
		e.curve = stat_t_quantile((1 + level) / 2, n - 2) * sqrt(fit(p, n).rss / (n - 2));
	return e;
}

static double error(const struct scaling_point *p, int i, const struct noise *e)
{
	double seeds = e->seeds * sqrt(1.0 / p[i].n + 1.0 / p[0].n), curve = e->curve * sqrt(2);

	return isnan(seeds) && isnan(curve) ? INFINITY : fmax(seeds, curve);
}

static double examples(const struct scaling_point *p, double updates)
{
	return log(p->batch) + log(updates);
}

void scaling_perfect(const struct scaling_point *p, int n, double tolerance, double level, struct scaling_range *r)
{
	double within = log1p(tolerance);
	struct noise e;

	*r = (struct scaling_range){ .at = NAN, .high = INFINITY, .lacking = lacking(p, n) };
	if (n < 2)
		return;
	e = noise(p, n, level);
	if (!r->lacking) {
		int i = 0;

		while (i + 1 < n && examples(&p[i + 1], scaling_updates(&p[i + 1])) - examples(p, scaling_updates(p)) <= within)
			i++;
		r->at = p[i].batch;
	}
	r->low = p[0].batch;
	for (int i = 1; i < n && examples(&p[i], p[i].high) - examples(p, p[0].low) + error(p, i, &e) <= within; i++)
		r->low = p[i].batch;
	for (int i = n - 1; i > 0 && examples(&p[i], p[i].low) - examples(p, p[0].high) - error(p, i, &e) > within; i--)
		r->high = p[i].batch;
}
