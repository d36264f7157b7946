/* compare.h - which arm of a comparison is better, and whether that can be told from these runs. */
#ifndef PILOT_COMPARE_H
#define PILOT_COMPARE_H

#include "predictions.h"

struct compare_settings {
	struct arms_settings arms;
	const char *metric;   /* NULL: the plan's, or validation_loss */
	int choice;           /* 0: the plan's, or last; 'l' last, 'b' best */
	double within;        /* margin of non-inferiority; NAN: the plan's, or none */
	double target;        /* value of the metric whose reaching is timed; NAN: the plan's, or none */
	const char *budget;   /* "updates=200", "examples=N", "seconds=S": compare at that much; NULL: at the end */
	bool unpaired;        /* differences of means, whatever was planned */
	const struct predictions *predictions; /* compared example by example; NULL: were not asked for */
	bool force;           /* go on though runs differ in more than was planned */
};
/* 0; -EX_NO: refused (*a says in what the runs differ), or there is nothing to compare; -EX_USAGE. *a may be NULL. */
int compare_answer(const struct book *b, const struct compare_settings *s, struct answer **a, struct why *w) MUST_USE;

/* ---- shared by the files of compare ---- */

struct compare {
	const struct book *book;
	const struct compare_settings *settings;
	struct arms arms;
	struct answer *answer;
	enum arms_metric metric;
	bool best, paired, batches; /* batches: effective batches differ between arms */
	double within, target;
	char budget_unit[12];       /* "": the end */
	double budget;
	bool winner;                /* a winner may be named */
};
/* What one run says: its metric and where it was taken. */
struct compare_point {
	double value, updates, examples, seconds; /* NAN unknown */
	const struct book_eval *eval;
};
/* False: it says nothing. A run that diverged is INFINITY away on the bad side. */
bool compare_point(const struct compare *c, const struct arm_run *x, struct compare_point *p);
/* Numbers of an arm's runs that count, and of those that diverged as the worst there is. Returns how many; x and seeds hold `runs`. */
int compare_values(const struct compare *c, const struct arm *m, bool with_diverged, double *x, int64_t *seed);

/* compare-alike.c: 0 alike but for what was planned, or forced; -EX_NO: refused, and said */
int compare_alike(struct compare *c) MUST_USE;
/* compare-judge.c: each variant against the control */
int compare_judge(struct compare *c) MUST_USE;
/* compare-arms.c: what each arm has, runs that do not count, flags, target, notes */
void compare_arms(struct compare *c);
void compare_left_out(struct compare *c);
void compare_flags(struct compare *c);
void compare_target(struct compare *c);
void compare_notes(struct compare *c);
/* compare-examples.c: example by example, where predictions were kept */
void compare_examples(struct compare *c);

#endif
