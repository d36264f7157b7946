/* predictions.h - answers of models to the same examples, where they were kept. */
#ifndef PILOT_PREDICTIONS_H
#define PILOT_PREDICTIONS_H

#include "arms.h"

/* Of each run, which examples it got right; of several answers to one example the last counts. Zero to begin. */
struct predictions {
	struct ids runs; /* run: its place in of */
	struct ids *of;  /* owned; digest of the example's id: 1 right, 0 wrong */
	int n;
};
/* Any record; those of the validation and test splits that say whether they are right, or what the right answer is. */
int predictions_see(struct predictions *p, const struct view *v, struct why *w) MUST_USE;
void predictions_free(struct predictions *p);
/* Examples that both runs answered: right by both, by the first alone, by the second alone, by none. False: they share none. */
struct predictions_pair {
	int64_t both, first, second, none;
};
bool predictions_pair(const struct predictions *p, const char *first, const char *second, struct predictions_pair *out);
/* Two-sided exact p that the two are right equally often, from the examples on which they differ (McNemar 1947, as a sign test). */
double predictions_p(const struct predictions_pair *x);

#endif
