/* scaling.h - ledger scaling: how many updates a target takes at each effective batch, what that costs in
 * time and devices, and which batch to train with. */
#ifndef PILOT_SCALING_H
#define PILOT_SCALING_H

#include "answer.h"
#include "scaling-fit.h"

struct scaling_settings {
	char metric[16];   /* loss (validation's, at most), accuracy, exact_match (at least) */
	double target;
	double tolerance;  /* of perfect scaling: 0.2 */
	double price;      /* of one device for an hour; NAN: none was given */
	double upfront;    /* what is paid before the first run; NAN */
	const char *const *run; /* prefixes: only runs whose id begins so; */
	int runs;               /* 0: all */
	const char *comparison; /* beginning of the id, or name: only its runs; NULL */
	bool force;        /* go on with runs that differ in more than batch and rate */
};
/* "loss=2.0", "accuracy=0.9", "exact_match=0.5" into metric and target. */
int scaling_target(const char *text, struct scaling_settings *s, struct why *w) MUST_USE;

/* ---- scaling-runs.c: the runs of a book as sizes ---- */

enum { SCALING_RATES = 3 }; /* rates to be tried at a size before the best of them counts */

struct scaling_try { /* one run that tells something */
	const struct book_run *r;
	int64_t batch, seed; /* seed: -1 - order of the run, where the record has none */
	double rate;
	int64_t low, high;   /* the target was not there at update low - 1, and was at high; high -1: never */
	int64_t seen;        /* never: not until this update */
	bool diverged;
};
struct scaling_size {
	struct scaling_point point; /* at its best rate; n 0: there is none */
	int64_t batch, micro_batch, accum, replicas; /* -1 unknown */
	int rates;                  /* tried, with updates enough to tell */
	double rate;                /* NAN: none */
	int first, tries;           /* of scaling.tried; of all rates */
	int best_first, best_tries; /* those of the best rate */
	double seconds_per_update;  /* mean, stalls included; NAN unknown */
	int devices;
	char refused[160];          /* why its best rate does not count; "": it does */
};
struct scaling_left { /* a run that does not count */
	const struct book_run *r;
	char why[120];
};
struct scaling {
	struct scaling_try *tried; /* by batch, rate, seed */
	struct scaling_size *size; /* by batch */
	struct scaling_left *left;
	int tries, sizes, lefts;
	const struct book_run **seen; /* training runs asked for, in the book's order */
	int runs;
};
int scaling_read(struct scaling **x, const struct book *b, const struct scaling_settings *s, struct why *w) MUST_USE;
void scaling_free(struct scaling *x); /* may be NULL */
/* Points of the sizes that count, smallest batch first, into p (SCALING_MOST); size[i] is that of p[i], may be NULL. */
int scaling_points(const struct scaling *x, struct scaling_point *p, const struct scaling_size **size);

/* ---- scaling-alike.c ---- */

/* Runs of another model, data or recipe cannot stand on one curve: what differs, as a table, and -EX_NO; with force
 * a warning, and 0. */
int scaling_alike(const struct scaling *x, const struct scaling_settings *s, struct answer *a) MUST_USE;

/* ---- scaling-noise.c ---- */

/* B_simple = tr(Sigma) / |G|^2 (McCandlish et al. 2018, appendix A.1) at the first weights: E|G_B|^2 = |G|^2 +
 * tr(Sigma) / B is taken at the smallest and the largest batch of runs that begin with the same weights, each
 * of the two numbers averaged over such groups (seeds), and then divided. The interval is a jackknife's over
 * groups, in ln; NAN with fewer than three. */
struct scaling_noise {
	double scale, low, high; /* examples; NAN: not measured */
	int groups;
	int64_t smallest, largest; /* batches it was measured between */
	const char *lacking;
	const struct book_run **run; /* (runs) it came from; owned */
	int runs;
};
int scaling_noise(struct scaling_noise *z, const struct scaling *x, struct why *w) MUST_USE;
void scaling_noise_free(struct scaling_noise *z);

/* ---- scaling.c ---- */

/* -EX_NO: the runs cannot be put together; *a says why. */
int scaling_answer(const struct book *b, const struct scaling_settings *s, struct answer **a, struct why *w) MUST_USE;

#endif
