/* stat-exact.c - tests that assume no distribution: every way the labels could have fallen is counted, or, where
 * these are too many, a million of them are drawn. */
#include "stat.h"

#include <math.h>
#include <stdlib.h>

enum { DRAWS = 1000000, MOST = 64 };
#define SPLITS_MOST 2000000.0
/* Sums of the same numbers in another order differ by rounding; they count as equal. */
#define SLACK 1e-12

static uint64_t mix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u; /* splitmix64: only which splits are drawn depends on it */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static double flipped(const double *d, int n, uint64_t signs)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += signs >> i & 1 ? -d[i] : d[i];
	return fabs(sum);
}

double stat_sign_flip(const double *d, int n)
{
	double seen = 0, size = 0, all;
	uint64_t state = 1, hits = 0;

	if (n < 1 || n > MOST)
		return NAN;
	for (int i = 0; i < n; i++)
		size += fabs(d[i]);
	if (!isfinite(size))
		return NAN;
	seen = flipped(d, n, 0) - SLACK * size;
	if (n <= STAT_EXACT_MOST) {
		all = (double)((uint64_t)1 << n);
		for (uint64_t s = 0; s < (uint64_t)1 << n; s++)
			hits += flipped(d, n, s) >= seen;
		return (double)hits / all;
	}
	for (int i = 0; i < DRAWS; i++)
		hits += flipped(d, n, mix(&state)) >= seen;
	return (double)(hits + 1) / (DRAWS + 1.0);
}

/* ---- two samples: which numbers are the first one's ---- */

static double choose(int n, int k)
{
	double c = 1;

	for (int i = 1; i <= k; i++)
		c = c * (n - k + i) / i;
	return c;
}

struct pool {
	double z[MOST]; /* both samples, x first */
	int n, nx;
	double middle, size; /* what the sum over x's places is expected to be; magnitude of the numbers */
};

static bool far_off(const struct pool *p, double sum, double seen)
{
	return fabs(sum - p->middle) >= seen - SLACK * p->size;
}

/* Every choice of nx of n places, in the order of combinations. */
static double count_all(const struct pool *p, double seen)
{
	double hits = 0, all = 0;
	int place[MOST];

	for (int i = 0; i < p->nx; i++)
		place[i] = i;
	for (;;) {
		double sum = 0;
		int i;

		for (i = 0; i < p->nx; i++)
			sum += p->z[place[i]];
		hits += far_off(p, sum, seen);
		all++;
		for (i = p->nx - 1; i >= 0 && place[i] == p->n - p->nx + i; i--)
			;
		if (i < 0)
			return hits / all;
		for (place[i]++; ++i < p->nx;)
			place[i] = place[i - 1] + 1;
	}
}

static double count_drawn(struct pool *p, double seen)
{
	uint64_t state = 1, hits = 0;

	for (int k = 0; k < DRAWS; k++) {
		double sum = 0;

		for (int i = 0; i < p->nx; i++) {
			int other = i + (int)(mix(&state) % (uint64_t)(p->n - i));
			double swap = p->z[i];

			p->z[i] = p->z[other];
			p->z[other] = swap;
			sum += p->z[i];
		}
		hits += far_off(p, sum, seen);
	}
	return (double)(hits + 1) / (DRAWS + 1.0);
}

/* p of the sum over x's places being as far from its expectation as it is. */
static double test_sum(struct pool *p)
{
	double sum = 0, all = 0, seen;

	p->size = 0;
	for (int i = 0; i < p->n; i++) {
		all += p->z[i];
		p->size += fabs(p->z[i]);
		sum += i < p->nx ? p->z[i] : 0;
	}
	if (!isfinite(p->size))
		return NAN;
	p->middle = all * p->nx / p->n;
	seen = fabs(sum - p->middle);
	return choose(p->n, p->nx) <= SPLITS_MOST ? count_all(p, seen) : count_drawn(p, seen);
}

static bool fill(struct pool *p, const double *x, int nx, const double *y, int ny)
{
	if (nx < 1 || ny < 1 || nx + ny > MOST)
		return false;
	p->n = nx + ny;
	p->nx = nx;
	for (int i = 0; i < p->n; i++)
		p->z[i] = i < nx ? x[i] : y[i - nx];
	return true;
}

double stat_rank_sum(const double *x, int nx, const double *y, int ny)
{
	struct pool p;
	double z[MOST];

	if (!fill(&p, x, nx, y, ny))
		return NAN;
	for (int i = 0; i < p.n; i++)
		z[i] = p.z[i];
	for (int i = 0; i < p.n; i++) {
		int below = 0, equal = 0;

		if (isnan(z[i]))
			return NAN;
		for (int k = 0; k < p.n; k++) {
			below += z[k] < z[i];
			equal += z[k] == z[i];
		}
		p.z[i] = below + (equal + 1) / 2.0;
	}
	return test_sum(&p);
}

/* ---- several tests ---- */

double stat_least_p(int n, int variants)
{
	double p = variants * 2 / pow(2, n);

	return p > 1 ? 1 : p;
}

/* The k-th smallest p is multiplied by the number of those not smaller, and is no less than the one before; what is NAN
 * was not tested, stays so and does not count. */
void stat_holm(double *p, int m)
{
	double before = 0;
	int *order = calloc((size_t)m + 1, sizeof *order), tested = 0;

	for (int i = 0; order && i < m; i++) {
		int k = tested;

		if (isnan(p[i]))
			continue;
		for (; k > 0 && p[order[k - 1]] > p[i]; k--)
			order[k] = order[k - 1];
		order[k] = i;
		tested++;
	}
	for (int i = 0; i < (order ? tested : m); i++) {
		double adjusted = order ? (tested - i) * p[order[i]] : 1;

		before = adjusted > before ? adjusted : before;
		p[order ? order[i] : i] = before > 1 ? 1 : before;
	}
	free(order);
}

double stat_detectable(double sd, int nx, int ny, double alpha, double power)
{
	double df = ny ? nx + ny - 2 : nx - 1, error = ny ? sd * sqrt(1.0 / nx + 1.0 / ny) : sd / sqrt(nx);

	if (df < 1 || isnan(sd))
		return INFINITY;
	return error * (stat_t_quantile(1 - alpha / 2, df) + stat_t_quantile(power, df));
}
