/* stat.c - means, shares, and their intervals. */
#include "stat.h"

#include <math.h>

static void moments(const double *x, int n, double *mean, double *variance)
{
	double sum = 0, square = 0;

	for (int i = 0; i < n; i++)
		sum += x[i];
	*mean = n > 0 ? sum / n : NAN;
	for (int i = 0; i < n; i++)
		square += (x[i] - *mean) * (x[i] - *mean);
	*variance = n > 1 ? square / (n - 1) : NAN;
}

/* Interval and test of an estimate with its standard error. */
static void judge(struct stat_mean *m, double error, double level)
{
	double half = stat_t_quantile(0.5 + level / 2, m->df) * error;

	m->low = m->mean - half;
	m->high = m->mean + half;
	if (!(error > 0))
		return;
	m->t = m->mean / error;
	m->p = 2 * stat_t_cdf(-fabs(m->t), m->df);
}

struct stat_mean stat_of(const double *x, int n, double level)
{
	struct stat_mean m = { .n = n, .mean = NAN, .sd = NAN, .low = -INFINITY, .high = INFINITY, .t = NAN, .df = NAN, .p = NAN };
	double variance;

	moments(x, n, &m.mean, &variance);
	if (n < 2)
		return m;
	m.sd = sqrt(variance);
	m.df = n - 1;
	judge(&m, sqrt(variance / n), level);
	return m;
}

struct stat_mean stat_welch(const double *x, int nx, const double *y, int ny, double level)
{
	struct stat_mean m = { .n = nx < ny ? nx : ny, .sd = NAN, .low = -INFINITY, .high = INFINITY, .t = NAN, .df = NAN, .p = NAN };
	double mx, my, vx, vy, ex, ey;

	moments(x, nx, &mx, &vx);
	moments(y, ny, &my, &vy);
	m.mean = mx - my;
	if (m.n < 2)
		return m;
	ex = vx / nx;
	ey = vy / ny;
	m.sd = sqrt(((nx - 1) * vx + (ny - 1) * vy) / (nx + ny - 2));
	m.df = ex + ey > 0 ? (ex + ey) * (ex + ey) / (ex * ex / (nx - 1) + ey * ey / (ny - 1)) : nx + ny - 2;
	judge(&m, sqrt(ex + ey), level);
	return m;
}

void stat_prediction(const double *x, int n, double level, double *low, double *high)
{
	double mean, variance, half;

	moments(x, n, &mean, &variance);
	half = n < 2 ? INFINITY : stat_t_quantile(0.5 + level / 2, n - 1) * sqrt(variance * (1 + 1.0 / n));
	*low = mean - half;
	*high = mean + half;
}

void stat_share(int64_t k, int64_t n, double level, double *low, double *high)
{
	double tail = (1 - level) / 2;

	*low = k <= 0 ? 0 : stat_beta_quantile(tail, (double)k, (double)(n - k + 1));
	*high = k >= n ? 1 : stat_beta_quantile(1 - tail, (double)(k + 1), (double)(n - k));
}
