/* faults.h - faults that real training loops had, put into the builtin trainer by a program that is
 * only a test's: the shipped commands have no such switch. $PILOT_FAULT names the one. */
#ifndef PILOT_FAULTS_H
#define PILOT_FAULTS_H

#include "../../lib/train/trainer_hooks.h"

bool fault(const char *name); /* is it this one? */

/* What a fault may remember of the run. */
struct scene {
	struct trainer *t;
	int64_t resumed_at;  /* updates in the checkpoint; -1: a fresh run */
	int pass;            /* of this update */
	double means;        /* of the batches of a validation */
	int batches;
	double scale;        /* of the pass's gradient; 0: as it should be */
	bool leak;           /* the next update does not clear its gradients */
	double good_loss;
	float *kept;         /* a tensor from before the update */
};
extern struct scene scene;

void faults_data(const char *point);   /* faults-data.c: what the loss sees */
void faults_update(const char *point); /* faults-update.c: gradients, updates */
void faults_state(const char *point);  /* faults-state.c: validation, saves, resume */
struct param *trained(int *n);

#endif
