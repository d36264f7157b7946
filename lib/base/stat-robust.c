/* stat-robust.c - middles that one bad number does not move, and a straight line. */
#include "stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double stat_median(double *x, int n)
{
	qsort(x, (size_t)n, sizeof *x, ascending);
	return n % 2 ? x[n / 2] : x[n / 2 - 1] + (x[n / 2] - x[n / 2 - 1]) / 2;
}

double stat_mad(const double *x, int n, double middle)
{
	double *away = n > 0 ? malloc((size_t)n * sizeof *away) : NULL, mad = NAN;

	for (int i = 0; away && i < n; i++)
		away[i] = fabs(x[i] - middle);
	if (away)
		mad = 1.4826 * stat_median(away, n);
	free(away);
	return mad;
}

bool stat_line(const double *x, const double *y, int n, struct stat_line *l)
{
	double mx = 0, my = 0, xx = 0, xy = 0, left = 0;

	for (int i = 0; i < n; i++) {
		mx += x[i] / n;
		my += y[i] / n;
	}
	for (int i = 0; i < n; i++) {
		xx += (x[i] - mx) * (x[i] - mx);
		xy += (x[i] - mx) * (y[i] - my);
	}
	if (n < 3 || !(xx > 0))
		return false;
	l->n = n;
	l->b = xy / xx;
	l->a = my - l->b * mx;
	for (int i = 0; i < n; i++)
		left += pow(y[i] - l->a - l->b * x[i], 2);
	l->residual_sd = sqrt(left / (n - 2));
	l->se_b = l->residual_sd / sqrt(xx);
	l->se_a = l->residual_sd * sqrt(1.0 / n + mx * mx / xx);
	return true;
}
