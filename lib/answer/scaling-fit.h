/* scaling-fit.h - how updates to a target fall with the effective batch: until where each doubling still
 * halves them, and where it has stopped to pay. Pure functions of a few sizes. */
#ifndef PILOT_SCALING_FIT_H
#define PILOT_SCALING_FIT_H

#include <stdbool.h>

/* What it takes to name a number and not only a bound. */
enum { SCALING_SIZES = 5, SCALING_FACTOR = 16, SCALING_MOST = 64 };
#define SCALING_COARSE 0.1 /* a target seen only every tenth of the way */

/* One effective batch at its best rate. The target was reached behind update low - 1 and not after high:
 * geometric means over its seeds. */
struct scaling_point {
	double batch;
	double low, high;
	int n;     /* seeds */
	double sd; /* of ln(updates) over the seeds; NAN below two */
	double width; /* ln(high / low) of the coarsest seed */
};

/* A batch: at NAN where only a bound is known; low 0 and high INFINITY where there is none on that side.
 * The interval is one in ln(batch). */
struct scaling_range {
	double at, low, high;
	const char *lacking; /* why there is no `at`; NULL: there is */
};

/* Middle of a point's interval, in updates. */
double scaling_updates(const struct scaling_point *p);

/* Until which batch updates x batch stays within 1 + tolerance of the smallest batch's: no model. p is in
 * the order of batches, n at most SCALING_MOST.
 * at: the largest one tried up to which all are within. The interval is made of batches that were tried, too:
 * low is the last of those from the smallest up that a one-sided test at (1 - level) / 2 holds within, the
 * first that it does not ends the row; high is the first of those from the largest down that are held outside
 * alike. Tests in a fixed order, which stop at the first that fails, err together no oftener than one alone
 * (Maurer, Hothorn and Lehmacher 1995): the interval holds with probability level at least, whatever the
 * curve between sizes. A test takes the worse end of the validations' intervals, and Student's t times the
 * larger of two standard errors: of the seeds, their deviation pooled over sizes (3 degrees of freedom at least), and of what
 * scaling_critical's curve leaves over, which sees what the tuning of the rates left at a size. */
void scaling_perfect(const struct scaling_point *p, int n, double tolerance, double level, struct scaling_range *r);

/* B_c of S = S_min (1 + B_c / B) (McCandlish et al. 2018, eq. 2.11 at fixed batch), least squares in ln S.
 * A size counts once, as the mean over its seeds: what the rate's tuning left over is common to them.
 * The interval is the profile's: all B_c with RSS <= least RSS + s^2 t^2, s^2 = least RSS / (n - 2) and t of n - 2
 * degrees of freedom (Seber and Wild 1989, 5.2.1, exact where the curve is straight), open where the curve cannot tell. s^2
 * is not taken below the mean width^2 / 12, what not seeing between validations leaves (a uniform's variance),
 * and the interval is the hull with those of all targets met early, and all late, between their validations. Below
 * three sizes: no bound. s_min may be NULL; NAN without a curve. */
void scaling_critical(const struct scaling_point *p, int n, double level, struct scaling_range *r, double *s_min);

#endif
