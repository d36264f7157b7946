/* trainer_hooks.h - what a hook of the loop may reach. For the test-only trainer, which injects
 * faults at these points; a shipped program passes no hooks. Points, in order:
 *
 *   "open"       all parts exist, nothing is on the device      trainer_dev, trainer_config
 *   "load"       weights are in memory (given or initial)       trainer_model
 *   "resume"     after that, state is restored too               trainer_optim, trainer_progress
 *   "window"     the update's micro-batches are on the host     trainer_window
 *   "put"        the next of them goes to the device            trainer_batch
 *   "forward"    its loss is known                              trainer_forward
 *   "backward"   its gradients are added                        trainer_model
 *   "gradient"   all passes are done; next norm and clipping    trainer_model
 *   "rate"       next the update, at this rate and scale        trainer_rate, trainer_scale
 *   "update"     the weights have moved                         trainer_model, trainer_optim
 *   "step"       the update is counted; next its records        trainer_progress, trainer_loss
 *   "validate"   a validation begins                            trainer_validation
 *   "val-batch"  its next batch goes to the device              trainer_batch, trainer_validation
 *   "val-pass"   that batch's sums are known                    trainer_forward
 *   "validated"  its sums are whole; next its records           trainer_validation, trainer_training
 *   "save"       a save begins                                  trainer_progress, trainer_model
 *   "saved"      the file is complete                           trainer_saved
 *   "end"        next the end record                            trainer_progress
 */
#ifndef PILOT_TRAINER_HOOKS_H
#define PILOT_TRAINER_HOOKS_H

#include "train.h"

const struct config *trainer_config(const struct trainer *t);
struct dev *trainer_dev(struct trainer *t);
struct data *trainer_data(struct trainer *t);
struct model *trainer_model(struct trainer *t);
struct optim *trainer_optim(struct trainer *t);
struct schedule *trainer_schedule(struct trainer *t);
struct order *trainer_order(struct trainer *t);
struct progress *trainer_progress(struct trainer *t);  /* also what position the next window has */
struct batch *trainer_window(struct trainer *t, int *n); /* the update's micro-batches */
struct batch *trainer_batch(struct trainer *t);        /* the one about to be put */
struct forward *trainer_forward(struct trainer *t);    /* of the pass just done */
double *trainer_loss(struct trainer *t);               /* of the update, as the step record will have it */
double *trainer_rate(struct trainer *t);
double *trainer_scale(struct trainer *t);              /* what gradients are multiplied by: clipping */
bool *trainer_training(struct trainer *t);             /* mode of the training passes */
struct checkpoint_facts *trainer_saved(struct trainer *t);

/* One pass over a split. */
struct validation {
	enum split split;
	int64_t examples;    /* to go over, from index 0 */
	int64_t micro_batch, length;
	int64_t next;        /* index of the next batch's first example */
	bool train_mode;     /* false; a fault may set it */
	double loss_sum;
	int64_t supervised, correct, seen;
	int64_t distinct;    /* different examples, told by their index in the batches */
	int64_t answered, exact; /* generated answers, and those right to the letter */
	bool evaluation_mode; /* in every pass */
	double seconds;
};
struct validation *trainer_validation(struct trainer *t);

#endif
