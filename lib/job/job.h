/* job.h - floor 5: what the commands do with runs: search over trials, judge phases,
 * replay from a checkpoint, answer from the ledger. No device code is linked from here:
 * trainers are reached through processes and records. */
#ifndef PILOT_JOB_H
#define PILOT_JOB_H

#include "../train/train.h"

/* ---- drive.c: a resident `train-step -`, reached by requests and records ---- */

struct drive;
/* Starts the train-step beside the running binary, its stdin and stdout piped, the last lines of
 * its stderr kept (and passed on to ours when pass_stderr). */
int drive_start(struct drive **d, bool pass_stderr, struct why *w) MUST_USE;
int drive_request(struct drive *d, struct rec *request, struct why *w) MUST_USE; /* ends the record and sends it */
/* The next record, valid until the next call. 1 a record; 0 the trainer has ended (drive_status);
 * -EX_TEMPFAIL: `seconds` have gone without one; -EX_DATAERR: what it writes is no stream.
 * A stop signal (stop_wanted) ends the wait with -EX_TEMPFAIL too. */
int drive_next(struct drive *d, struct view *v, double seconds, struct why *w) MUST_USE;
void drive_no_more(struct drive *d); /* closes its stdin: it ends after the present run */
int drive_status(struct drive *d);   /* waitpid's status, once drive_next said 0 */
/* Last lines of its stderr, oldest first; owned by d. */
int drive_stderr(struct drive *d, char *const **lines);
void drive_end(struct drive *d); /* ends it, the whole group, and frees; d may be NULL */

/* ---- search.c: which sizes to try, from what was measured (no processes) ---- */
/* ---- probe.c: a probe, from its plan to its conclusion ---- */

/* ---- the gate's rules: rules.c; its replays: replay.c ---- */
/* ---- answers of the ledger: summary.c ---- */

#endif
