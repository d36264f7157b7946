/* What timed updates say: medians and how sure they are, where more no longer helps, and
 * what to recommend. Nothing here runs anything. */
#include <math.h>
#include <stdlib.h>

#include "../base/stat.h"
#include "job.h"

/* The largest k with P(X < k) <= 2.5 % for X binomial (n, 1/2): then the k-th smallest and the k-th
 * largest enclose the median with 95 %. 0 below n = 6. */
static int median_rank(int n)
{
	if (n > 500) /* normal approximation, with its correction of one half */
		return (int)floor((n - 1.96 * sqrt(n)) / 2);
	double p = pow(0.5, n), sum = 0;
	int k = 0;
	while (sum + p <= 0.025) {
		sum += p;
		p *= (double)(n - k) / (k + 1);
		k++;
	}
	return k;
}

void speed_median(double *x, int n, double *median, double *low, double *high)
{
	*median = stat_median(x, n);
	*low = 0;
	*high = INFINITY;
	int k = median_rank(n);
	if (k > 0) {
		*low = x[k - 1];
		*high = x[n - k];
	} else if (n >= 3) {
		struct stat_mean m = stat_of(x, n, 0.95);

		*low = fmax(0, fmin(m.low, *median));
		*high = fmax(m.high, *median);
	}
}

/* Whether r is certainly within (1) or without (-1) the tolerance of the best, or neither (0). The errors of
 * the two are independent: their logarithms add as squares. */
static int placed(const struct rate *r, const struct rate *best, double tolerance)
{
	if (r == best)
		return 1;
	double ratio = log(r->median / best->median), line = log1p(-tolerance);
	double down = hypot(log(r->median / r->low), log(best->high / best->median));
	double up = hypot(log(r->high / r->median), log(best->median / best->low));
	if (ratio - down >= line)
		return 1;
	return ratio + up < line ? -1 : 0;
}

int64_t speed_knee(const struct rate *r, int n, double tolerance, int64_t *sure, int64_t *maybe)
{
	const struct rate *best = r;
	*sure = *maybe = 0;
	for (int i = 1; i < n; i++)
		if (r[i].median > best->median)
			best = &r[i];
	for (int i = 0; i < n && !*sure; i++) {
		int p = placed(&r[i], best, tolerance);
		if (p >= 0 && !*maybe)
			*maybe = r[i].size;
		if (p > 0)
			*sure = r[i].size;
	}
	return *sure == *maybe ? *sure : 0;
}

bool speed_line(const struct rate *r, int n, double *t0, double *c)
{
	double a = 0, b = 0, d = 0, p = 0, q = 0;
	for (int i = 0; i < n; i++) { /* minimise the sum of ((t0 + c x size) / t - 1)^2 */
		double t = (double)r[i].size / r[i].median, u = 1 / t, v = (double)r[i].size / t;
		a += u * u, b += u * v, d += v * v, p += u, q += v;
	}
	double det = a * d - b * b;
	if (n < 2 || det <= 1e-12 * a * d)
		return false;
	*t0 = (p * d - q * b) / det;
	*c = (q * a - p * b) / det;
	if (*t0 < 0) { /* no constant part to be seen */
		*t0 = 0;
		*c = q / d;
	}
	if (*c < 0) {
		*c = 0;
		*t0 = p / a;
	}
	return true;
}

/* The smallest divisor from `good` on, else the largest below it; at most limit. */
static int64_t divisor(int64_t effective, int64_t limit, int64_t good)
{
	int64_t below = 1, above = 0;
	for (int64_t d = 1; d <= effective / d; d++) {
		if (effective % d)
			continue;
		int64_t pair[2] = { d, effective / d };
		for (int i = 0; i < 2; i++) {
			if (pair[i] > limit)
				continue;
			if (pair[i] >= good && (!above || pair[i] < above))
				above = pair[i];
			if (pair[i] < good && pair[i] > below)
				below = pair[i];
		}
	}
	return above ? above : below;
}

int64_t speed_advise(int64_t limit, int64_t good, int64_t effective, double t0, double c)
{
	int64_t size = good > 0 && good < limit ? good : limit, eights = size / 8 * 8;
	if (size < 1)
		size = 1;
	if (effective > 0)
		return divisor(effective, limit, size);
	if (eights < 8 || eights == size)
		return size;
	double now = (double)size / (t0 + c * (double)size), then = (double)eights / (t0 + c * (double)eights);
	return then >= 0.99 * now ? eights : size;
}
