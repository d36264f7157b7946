/* stat-dist.c - the beta, Student's t, normal and binomial distributions. Our own code: GSL is under the GPL and
 * pilot is not, and Boost.Math wants C++. A test holds it to scipy's values. */
#include "stat.h"

#include <math.h>

enum { TERMS = 2000, HALVINGS = 200 };

/* Continued fraction of I_x(a,b), DLMF 8.17.22, by Lentz's method (Thompson and Barnett 1986);
 * converges fast for x < (a + 1) / (a + b + 2). */
static double fraction(double x, double a, double b)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), f;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	f = d;
	for (int m = 1; m < TERMS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		f *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		step = d * c;
		f *= step;
		if (fabs(step - 1) < 1e-16)
			break;
	}
	return f;
}

/* ln of x^a (1-x)^b / (a B(a,b)); y is 1 - x, given apart so that neither is rounded away. */
static double front(double x, double y, double a, double b)
{
	return a * log(x) + b * log(y) + lgamma(a + b) - lgamma(a) - lgamma(b) - log(a);
}

/* I_x(a,b) with y = 1 - x. */
static double beta_xy(double x, double y, double a, double b)
{
	if (isnan(x) || !(a > 0) || !(b > 0))
		return NAN;
	if (x <= 0)
		return 0;
	if (y <= 0)
		return 1;
	if (x < (a + 1) / (a + b + 2))
		return exp(front(x, y, a, b)) * fraction(x, a, b);
	return 1 - exp(front(y, x, b, a)) * fraction(y, b, a);
}

double stat_beta(double x, double a, double b)
{
	return beta_xy(x, 1 - x, a, b);
}

/* The root of a rising function between low and high, by halving until nothing lies between. */
static double root(double (*f)(const void *ctx, double x), const void *ctx, double want, double low, double high)
{
	for (int i = 0; i < HALVINGS * 6; i++) {
		double middle = low + (high - low) / 2;

		if (!(middle > low) || !(middle < high))
			break;
		if (f(ctx, middle) < want)
			low = middle;
		else
			high = middle;
	}
	return low + (high - low) / 2;
}

struct beta_shape {
	double a, b;
};

static double beta_at(const void *ctx, double x)
{
	const struct beta_shape *s = ctx;

	return stat_beta(x, s->a, s->b);
}

double stat_beta_quantile(double p, double a, double b)
{
	struct beta_shape s = { a, b };

	if (isnan(p) || p < 0 || p > 1 || !(a > 0) || !(b > 0))
		return NAN;
	if (p == 0 || p == 1)
		return p;
	return root(beta_at, &s, p, 0, 1);
}

/* P(T > t), t >= 0: half of I_x(df/2, 1/2) at x = df / (df + t^2). */
static double t_upper(double t, double df)
{
	double square = t * t;

	return isinf(square) ? 0 : 0.5 * beta_xy(df / (df + square), square / (df + square), df / 2, 0.5);
}

double stat_t_cdf(double t, double df)
{
	if (isnan(t) || !(df > 0))
		return NAN;
	if (isinf(df))
		return stat_normal_cdf(t);
	return t < 0 ? t_upper(-t, df) : 1 - t_upper(t, df);
}

static double t_below(const void *ctx, double log_t)
{
	return -t_upper(exp(log_t), *(const double *)ctx);
}

double stat_t_quantile(double p, double df)
{
	double upper = p > 0.5 ? 1 - p : p, t;

	if (isnan(p) || p < 0 || p > 1 || !(df > 0))
		return NAN;
	if (upper == 0)
		return p > 0.5 ? INFINITY : -INFINITY;
	if (p == 0.5)
		return 0;
	if (isinf(df))
		return stat_normal_quantile(p);
	t = exp(root(t_below, &df, -upper, -100, 700)); /* in ln t: the tails of few degrees reach far */
	return p > 0.5 ? t : -t;
}

double stat_normal_cdf(double z)
{
	return 0.5 * erfc(-z / M_SQRT2);
}

static double normal_below(const void *ctx, double z)
{
	(void)ctx;
	return -0.5 * erfc(z / M_SQRT2);
}

double stat_normal_quantile(double p)
{
	double upper = p > 0.5 ? 1 - p : p, z;

	if (isnan(p) || p < 0 || p > 1)
		return NAN;
	if (upper == 0)
		return p > 0.5 ? INFINITY : -INFINITY;
	z = root(normal_below, NULL, -upper, 0, 40);
	return p > 0.5 ? z : -z;
}

double stat_binomial_tail(int64_t k, int64_t n, double p)
{
	if (n < 0 || isnan(p) || p < 0 || p > 1)
		return NAN;
	if (k <= 0)
		return 1;
	if (k > n)
		return 0;
	return stat_beta(p, (double)k, (double)(n - k + 1));
}
