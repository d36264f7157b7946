/* arms-inner.h - what the files of arms share. */
#ifndef PILOT_ARMS_INNER_H
#define PILOT_ARMS_INNER_H

#include "arms.h"

/* arms-runs.c: a run, and those that resumed it, one after another. */
struct chain {
	const struct book_run *first, *last;
	int before;     /* runs before the last */
	double seconds; /* in updates, of all; NAN unknown */
};
struct chain arms_chain(const struct book *b, const struct book_run *r);
bool arms_resumed(const struct book *b, const struct book_run *r); /* it resumes a run that is in the book */
void arms_judge(const struct arms *a, struct arm_run *x); /* sets its state and why */

/* arms.c: building; NULL or -EX_OSERR: no memory. */
struct arm *arms_find(struct arms *a, const char *name); /* NULL: none */
struct arm *arms_add(struct arms *a, const char *name);
struct arm_run *arm_add(struct arm *m, const struct book_run *r, int64_t seed);
void arms_note(struct arms *a, const char *run, const char *fmt, ...) PRINTF(3, 4);
int arms_add_factor(struct arms *a, const char *name) MUST_USE;
/* arms-group.c */
int arms_grouped(const struct book *b, const struct arms_settings *s, struct arms *a, struct why *w) MUST_USE;

#endif
