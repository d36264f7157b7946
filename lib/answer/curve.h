/* curve.h - loss curves of a few runs, thinned while they are read: a million steps take the memory of some hundred. */
#ifndef PILOT_CURVE_H
#define PILOT_CURVE_H

#include "answer.h"

enum { CURVE_PARTS = 240 }; /* the span of updates is cut into so many parts */
/* Steps of a part of the span. A step that was logged twice counts twice in its part. */
struct curve_part {
	double sum, least, most, updates; /* of losses that are finite; sum of their updates */
	int64_t n;
};
struct curve {
	char run[ULID_SIZE];
	struct curve_part part[CURVE_PARTS];
	int64_t steps, not_finite; /* seen; the first update whose loss is not finite, -1 none */
};
struct curves {
	struct curve *curve; /* owned */
	int n;
	struct ids ids;      /* run: its place */
	int64_t first, last; /* updates, of all of them */
};
/* For these runs of a book (NULL: all that trained), over the span that their steps have. */
int curves_begin(struct curves *c, const struct book *b, const struct ids *only, struct why *w) MUST_USE;
int curves_see(struct curves *c, const struct view *v); /* any record */
void curves_free(struct curves *c);
const struct curve *curves_of(const struct curves *c, const char *run); /* NULL: none */
/* Mean loss of a part and the mean of its updates; false: it has none. */
bool curve_mean(const struct curve *c, int part, double *update, double *loss);

#endif
