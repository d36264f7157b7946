/* check.h - did last night's runs come, end and pass, and is any figure worse than on the nights before? */
#ifndef PILOT_CHECK_H
#define PILOT_CHECK_H

#include "arms.h"

enum { CHECK_FEW = 4, CHECK_MOST = 512 }; /* earlier runs below which nothing is compared; and no more than so many are */
/* What check_limit gave, by number of earlier runs: drawing is slow. */
struct check_limits {
	double alpha, of[CHECK_MOST + 1]; /* 0: not drawn yet */
};

struct check_settings {
	struct timestamp since; /* tonight begins here */
	int against;            /* earlier runs of a job to compare with, at most */
	double rate;            /* of a false alarm over all figures of the night: 0.05 */
	double effect;          /* least change of a time, throughput or memory that counts: 0.05 */
	double loss_effect;     /* least change of a validation figure that counts, of its size: 0.01 */
	bool strict;            /* too few earlier runs is a no */
	const char *by;         /* FIELD[,FIELD]: runs with equal values are one job; NULL: with equal settings */
	const char *only;       /* words that a job's name must hold; NULL: all */
	struct check_limits *limits; /* kept from answer to answer, zeroed at first; NULL: not kept */
};

/* 0 nothing is worse and nothing is missing; -EX_NO something is, *a says what; -EX_USAGE. */
int check_answer(const struct book *b, const struct check_settings *s, struct answer **a, struct why *w) MUST_USE;

/* ---- shared by the files of check ---- */

struct check_job {
	char key[72];                /* digest of what makes runs the same job */
	char name[200];              /* what people see */
	const struct book_run **run; /* in the order of time */
	int runs, earlier;           /* the first `earlier` began before tonight */
};
struct check {
	const struct check_settings *settings;
	struct answer *answer;
	struct check_job *job;
	int jobs;
	struct check_limits own, *limits;
	struct table *table;
	int compared, worse, missing, few;
	const struct check_job *few_job; /* of which it was said last that there are too few runs before */
	char few_changed[200];           /* and what was new then */
};
/* check-jobs.c: runs that trained, grouped. -EX_OSERR, -EX_USAGE. */
int check_jobs(struct check *c, const struct book *b, struct why *w) MUST_USE;
void check_free(struct check *c);
/* The earlier runs that a run may be compared with: same host, device, driver, code; newest last. Returns how many, and
 * what is new, if they are none of those that there were ("" nothing). */
int check_baseline(const struct check_job *j, const struct book_run *r, int most, const struct book_run **out, char changed[200]);
/* check-figures.c: how many figures of the run can be compared (first pass), then their rows. */
int check_comparable(const struct book_run *r, const struct book_run *const *base, int n);
int check_figures(struct check *c, const struct check_job *j, const struct book_run *r, const struct book_run *const *base, int n, double alpha) MUST_USE;
/* How many MADs of n earlier figures a steady figure exceeds with probability alpha: drawn from normal numbers, the same
 * every time. Accurate to a few percent. */
double check_limit(int n, double alpha);

#endif
