/* stat.h - floor 1: statistics of few numbers: distributions, intervals, exact tests. Pure functions,
 * no allocation unless said; NAN where the numbers say nothing. Checked against scipy to 1e-9 (relative
 * above 1, absolute below). */
#ifndef PILOT_STAT_H
#define PILOT_STAT_H

#include "base.h"

/* ---- stat-dist.c: distributions ---- */

/* Regularised incomplete beta I_x(a,b), a,b > 0, and its inverse (DLMF 8.17). */
double stat_beta(double x, double a, double b);
double stat_beta_quantile(double p, double a, double b);
/* Student's t with df > 0 (need not be whole) degrees of freedom; beyond 1e5 of them to 1e-7 only. */
double stat_t_cdf(double t, double df);
double stat_t_quantile(double p, double df);
double stat_normal_cdf(double z);
double stat_normal_quantile(double p);
double stat_binomial_tail(int64_t k, int64_t n, double p); /* P(X >= k) */

/* ---- stat.c: samples ---- */

struct stat_mean {
	int n;
	double mean, sd; /* sd with n - 1; NAN below two */
	double low, high; /* interval of the mean by Student's t; infinite below two */
	double t, df, p;  /* two-sided, against a mean of 0; NAN below two, or where sd is 0 */
};
/* x: n finite numbers. level: 0.95. Of paired runs x are the differences by seed. */
struct stat_mean stat_of(const double *x, int n, double level);
/* Difference mean(x) - mean(y) of two independent samples of unequal variance: Welch 1947, df of
 * Satterthwaite 1946. n is the smaller one's. */
struct stat_mean stat_welch(const double *x, int nx, const double *y, int ny, double level);
/* Where one more run of the same arm would lie: mean +- t sd sqrt(1 + 1/n). Infinite below two. */
void stat_prediction(const double *x, int n, double level, double *low, double *high);
/* Share of k in n with its interval (Clopper and Pearson 1934). */
void stat_share(int64_t k, int64_t n, double level, double *low, double *high);

/* ---- stat-exact.c: tests that assume no distribution ---- */

enum { STAT_EXACT_MOST = 24 }; /* differences whose signs are flipped in every way; above it by 1e6 draws of Philox */
/* Two-sided p of the sign-flip (Fisher-Pitman) test: share of the 2^n sign patterns whose |sum| is at least |sum d|. */
double stat_sign_flip(const double *d, int n);
/* Two-sided exact p of the rank-sum test (Mann and Whitney 1947), ties by midranks, every split counted
 * where C(nx+ny, nx) <= 2e6, else drawn. Worst ranks may be tied at +inf: a run that diverged is worse than any that did not. */
double stat_rank_sum(const double *x, int nx, const double *y, int ny);
double stat_least_p(int n, int variants); /* the floor 2/2^n times the variants; at most 1 */
/* Holm 1979: p[m] becomes the adjusted values, in place; NAN was not tested. */
void stat_holm(double *p, int m);
/* The smallest true difference that a two-sided t test at alpha finds with probability power, for paired differences
 * (ny = 0) of standard deviation sd, or two samples of pooled sd: standard error x (t_(1-alpha/2) + t_power), the usual
 * approximation of the noncentral t. */
double stat_detectable(double sd, int nx, int ny, double alpha, double power);

/* ---- stat-robust.c: middles ---- */

double stat_median(double *x, int n); /* sorts x; n > 0 */
double stat_mad(const double *x, int n, double middle); /* 1.4826 x median of |x - middle|: sd of normal numbers */
/* Least squares y = a + b x with the standard errors; false below three points or without spread in x. */
struct stat_line { double a, b, se_a, se_b, residual_sd; int n; };
bool stat_line(const double *x, const double *y, int n, struct stat_line *l);

#endif
