/* job.h - floor 5: what the commands do with runs: search over trials, judge phases,
 * replay from a checkpoint, answer from the ledger. No device code is linked from here:
 * trainers are reached through processes and records. */
#ifndef PILOT_JOB_H
#define PILOT_JOB_H

#include "../train/train.h"

/* ---- trainer process: drive.c: a resident `train-step -` ---- */
/* ---- search over micro-batches: search.c (pure), probe.c (with processes) ---- */
/* ---- the gate's rules: rules.c; its replays: replay.c ---- */
/* ---- answers of the ledger: summary.c ---- */

#endif
