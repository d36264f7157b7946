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

enum { SEARCH_POINTS = 256 };
struct search_point {
	int64_t size;
	bool fits;
	double bytes; /* measured where it fits, what was wanted where it does not; 0 unknown */
};
/* 1, 2, 4, ... until one does not fit, then the largest that does: where the line through the measured
 * bytes meets the budget, else by bisection. lo and hi are always sizes that ran. */
struct search {
	int64_t max;    /* the largest size to try */
	double budget;  /* bytes; 0 unknown */
	int64_t lo, hi; /* largest that fits, smallest above it that does not; 0 none yet */
	int strikes;    /* guesses in a row that the last trials proved wrong */
	int after;      /* trials since the first that did not fit, that one not counted */
	bool hopeful;   /* the size given out last was thought to fit */
	struct search_point point[SEARCH_POINTS];
	int points;
};
void search_init(struct search *s, int64_t max, double budget);
int64_t search_next(struct search *s); /* the size to run next; 0: nothing is left to try */
void search_tell(struct search *s, int64_t size, bool fits, double bytes);
bool search_exact(const struct search *s); /* lo fits, and lo + 1 was run and does not */
/* bytes = fixed + size x per, by least squares over what fits; false if that says nothing. */
bool search_line(const struct search *s, double *fixed, double *per);

/* ---- speed.c: what timed updates say (no processes) ---- */

/* Median of n > 0 numbers, which are sorted, and its 95 % interval: by order statistics (n >= 6), by
 * Student's t below that. low is 0 and high infinite where there is none (n < 3). */
void speed_median(double *x, int n, double *median, double *low, double *high);
struct rate {
	int64_t size;
	double median, low, high; /* examples per second and its interval */
};
/* The smallest size whose rate is within `tolerance` of the best one's; 0 where the intervals cannot
 * tell. `sure` is the smallest size that certainly is, `maybe` the smallest that may be. Rates in order of size. */
int64_t speed_knee(const struct rate *r, int n, double tolerance, int64_t *sure, int64_t *maybe);
/* seconds of an update = t0 + c x size, least squares of the relative error; false below two sizes. */
bool speed_line(const struct rate *r, int n, double *t0, double *c);
/* The size to recommend: at most `limit`; `good` if it is below that; of the divisors of `effective` (0: none
 * wanted) the best placed; else rounded down to a multiple of 8 where t0 + c x size says that it loses
 * less than 1 %. */
int64_t speed_advise(int64_t limit, int64_t good, int64_t effective, double t0, double c);

/* ---- probe.c, trial.c: a probe, from its settings to its conclusion ---- */

struct probe_settings {
	const struct config *config; /* the campaign's */
	bool exact;       /* seek the edge where it would not be sought */
	int64_t max;      /* largest size to try; 0: what the data has */
	int64_t effective; /* wanted effective batch; 0 none */
	double headroom;  /* share of the budget left free */
	double deadline;  /* seconds a trial may take */
	double seconds;   /* of timing for each size */
	bool pass_stderr; /* the trainer's messages go to our stderr too */
	void (*progress)(const char *line); /* one line on what is being done; may be NULL */
};
/* Writes the records of a probe, from its first trial's to `probe`. 0, or -code: -EX_NO nothing fits;
 * -EX_SOFTWARE a trainer that fails otherwise with nothing found (or its own code from 64 on); also
 * when stop_wanted(). `warn` gets what the user should know though something was found. */
int probe_run(const struct probe_settings *p, struct out *o, struct why *warn, struct why *w) MUST_USE;

/* ---- the gate's rules: rules.c; its replays: replay.c ---- */
/* ---- answers of the ledger: summary.c ---- */

#endif
