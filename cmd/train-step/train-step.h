/* train-step.h - what the command's files share. */
#ifndef PILOT_TRAIN_STEP_H
#define PILOT_TRAIN_STEP_H

#include "../common/cmd.h"

#include <signal.h>

/* Runs of the requests on stdin; the worst of their codes. */
int run_requests(struct out *o);
/* On stderr: how a run ended, if it did not just end well. */
void say_outcome(const struct outcome *r);

#endif
