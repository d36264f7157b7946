/* train-step.h - what the command's files share. */
#ifndef PILOT_TRAIN_STEP_H
#define PILOT_TRAIN_STEP_H

#include "../../lib/job/command.h"
#include "../common/cmd.h"
#include "../common/stranger.h"

#include <signal.h>

/* Runs of the requests on stdin, of the stranger's command if there is one (its output goes to log); the worst of their codes. */
int run_requests(const struct stranger *stranger, int log, struct out *o);
/* Messages of a command's run. */
void say_line(const char *line);
/* On stderr: how a run ended, if it did not just end well. */
void say_outcome(const struct outcome *r);

#endif
