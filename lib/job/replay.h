/* replay.h - what the replays' own files share. Only replay*.c include it. */
#ifndef PILOT_REPLAY_H
#define PILOT_REPLAY_H

#include "judge.h"

enum {
	EPOCH = 4,  /* updates in an epoch of the short training set */
	STOP_1 = 6, /* in the middle of the second epoch, after a validation */
	STOP_2 = 12, /* at an epoch's end; the resumed run is resumed there once more */
	VAL_EVERY = 5,
};

struct replay {
	struct watch *run, *into; /* what is replayed; where findings go */
	const struct judge_settings *settings;
	struct config config; /* the run's */
	struct temp temp; /* checkpoints of the arms */
	double until;
	int *files;
};

/* ---- replay.c ---- */

int replay_config(struct replay *x, struct arm *a, const struct config *c, struct why *w) MUST_USE; /* as arm_run */

/* ---- replay-settings.c: the run's settings, over a short training set ---- */

struct cut {
	int64_t stop, val_every;
	const char *dir;     /* where it saves; "": nowhere */
	const char *weights; /* NULL: as the run */
};
int settings_short(struct config *c, const struct replay *x, const struct cut *cut, struct why *w) MUST_USE;
int64_t settings_examples(const struct config *c); /* of that training set */
int64_t settings_val_micro(const struct config *c);
/* The training set cut further, so that its only window has unequal micro-batches where there can be such. */
int settings_unequal(struct config *c, struct why *w) MUST_USE;
/* The same update in fewer passes, or in more; the same validation in other batches. */
int settings_otherwise(struct config *c, bool fewer, struct why *w) MUST_USE;

/* ---- replay-split.c: D ---- */

void replay_split(struct replay *x, const struct arm *c, const struct config *cold);

#endif
