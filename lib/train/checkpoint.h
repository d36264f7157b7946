/* checkpoint.h - what the checkpoint's files share: names of files and of metadata,
 * and the one list of progress. Private to lib/train/checkpoint*.c. */
#ifndef PILOT_CHECKPOINT_H
#define PILOT_CHECKPOINT_H

#include "train.h"

/* Numbers of struct progress, each once: P_INT(name) P_NUM(name). */
#define PROGRESS_LIST                                                                              \
	P_INT(update)                                                                              \
	P_INT(examples)                                                                            \
	P_INT(tokens)                                                                              \
	P_INT(attempted)                                                                           \
	P_INT(skipped)                                                                             \
	P_INT(dropped)                                                                             \
	P_INT(horizon)                                                                             \
	P_NUM(best_validation)                                                                     \
	P_NUM(last_validation)                                                                     \
	P_INT(best_update)                                                                         \
	P_INT(validations)                                                                         \
	P_NUM(training_seconds)

#define CHECKPOINT_FORMAT "1"
/* Tensors have digests of their own; this one is over the settings, the progress and those digests. */
#define CHECKPOINT_SEAL "pilot.digest.metadata"

/* The updates that a file of this name holds, -1 if the name is not a checkpoint's. */
int64_t checkpoint_name_update(const char *name);
/* Updates of all checkpoints in dir, greatest first; -1 in errno's way. *list is owned by the caller. */
int checkpoint_list(const char *dir, int64_t **list, struct why *w) MUST_USE;
void checkpoint_prune(const char *dir, int64_t keep);
/* "optimizer.<slot>.<tensor>" */
void checkpoint_state_name(char out[160], const struct optim *o, int slot, const struct param *p);

#endif
