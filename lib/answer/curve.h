/* curve.h - loss curves of a few runs, thinned while they are read: a million steps take the memory of some hundred. */
#ifndef PILOT_CURVE_H
#define PILOT_CURVE_H

#include "answer.h"

enum { CURVE_PARTS = 240, CURVE_EXACT = 50000, CURVES_EXACT = 1000000 };
/* Steps of a part of the span, which is cut into CURVE_PARTS. */
struct curve_part {
	double sum, least, most, updates; /* of losses that are finite; sum of their updates */
	int64_t n;
};
/* Of an update that was logged several times, as a resumed run does, the last counts. Up to CURVE_EXACT steps of a run (and
 * CURVES_EXACT of all) are kept until the end and sorted; beyond that steps are taken as they come, and where one goes back,
 * the parts from there on begin anew. */
struct curve {
	char run[ULID_SIZE];
	struct curve_part part[CURVE_PARTS];
	struct curve_step {
		int64_t update;
		double loss;
		int place; /* in the order in which they came */
	} *step; /* owned; NULL once they were taken */
	int n, cap;
	bool taken;
	struct curve_step last;
	int64_t steps, not_finite; /* seen; the first update whose loss is not finite, -1 none */
	bool ends_finite;          /* the last one's loss is */
};
struct curves {
	struct curve *curve; /* owned */
	int n;
	int64_t kept;        /* steps that are kept, of all */
	struct ids ids;      /* run: its place */
	int64_t first, last; /* updates, of all of them */
};
/* For these runs of a book (NULL: all that trained), over the span that their steps have. */
int curves_begin(struct curves *c, const struct book *b, const struct ids *only, struct why *w) MUST_USE;
int curves_see(struct curves *c, const struct view *v) MUST_USE; /* any record; -EX_OSERR */
void curves_end(struct curves *c); /* after the last record */
void curves_free(struct curves *c);
const struct curve *curves_of(const struct curves *c, const char *run); /* NULL: none */
/* Mean loss of a part and the mean of its updates; false: it has none. */
bool curve_mean(const struct curve *c, int part, double *update, double *loss);

#endif
