/* diff.h - in what two runs differ: settings, surroundings, results, and where their losses part. */
#ifndef PILOT_DIFF_H
#define PILOT_DIFF_H

#include "answer.h"

/* The losses of two runs' steps, update by update, as they come. Zero to begin. */
struct diff_curves {
	struct diff_curve {
		char run[ULID_SIZE];
		struct diff_step {
			int64_t update;
			double loss;
			size_t order; /* in which it came */
		} *step; /* owned */
		size_t n, cap;
	} of[2];
};
int diff_see(struct diff_curves *c, const struct view *v, struct why *w) MUST_USE; /* any record */
void diff_free(struct diff_curves *c);

int diff_answer(const struct book_run *a, const struct book_run *b, struct diff_curves *c, struct answer **out, struct why *w) MUST_USE;

#endif
