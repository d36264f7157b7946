/* job.h - floor 5: what the commands do with runs: search over trials, judge phases,
 * replay from a checkpoint, answer from the ledger. No device code is linked from here:
 * trainers are reached through processes and records. */
#ifndef PILOT_JOB_H
#define PILOT_JOB_H

#include "../train/train.h"

/* ---- drive.c: a resident `train-step -`, reached by requests and records ---- */

/* A user's command in the place of the builtin trainer: what `train-step ... -- COMMAND` takes, all
 * borrowed. Words have placeholders ({micro_batch} ...; see command.h). It never comes out of a stream, but
 * for gate --allow-exec. */
struct stranger {
	char *const *argv;        /* NULL-terminated; NULL: the builtin trainer */
	char *const *env;         /* NULL-terminated NAME=VALUE; may be NULL */
	const char *resume_with;  /* for sh -c: the command that resumes; may be NULL, as the next two */
	const char *step_regex;   /* reads updates from its output */
	const char *evidence;     /* none, basic, full */
	double deadline;          /* seconds without a sign of life; 0: train-step's default */
	bool no_adapter;          /* leave its environment alone */
	int guard;                /* rules of shadow_guard that hold it; 0: none */
};

struct drive;
/* Starts the train-step beside the running binary, for the stranger's command if there is one (s may be NULL),
 * its stdin and stdout piped, the last lines of its stderr kept (and passed on to ours when pass_stderr). */
int drive_start(struct drive **d, const struct stranger *s, bool pass_stderr, struct why *w) MUST_USE;
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
	bool leap;      /* trials are dear: the line may be followed beyond twice the size before anything has failed */
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
	const struct stranger *stranger; /* the command to probe; NULL: the builtin trainer */
	void (*progress)(const char *line); /* one line on what is being done; may be NULL */
};
/* Of a command: settings that mean nothing to it, placeholders that it lacks. -EX_USAGE names them. */
int probe_check(const struct probe_settings *p, struct why *w) MUST_USE;
/* Writes the records of a probe, from its first trial's to `probe`. 0, or -code: -EX_NO nothing fits;
 * -EX_SOFTWARE a trainer that fails otherwise with nothing found (or its own code from 64 on); also
 * when stop_wanted(). `warn` gets what the user should know though something was found. */
int probe_run(const struct probe_settings *p, struct out *o, struct why *warn, struct why *w) MUST_USE;

/* ---- the gate: judge*.c what is remembered and written, rules*.c the checks, replay*.c the arms ---- */

/* Phases in order of their verdicts, by number; -1, NULL if there is none. */
const char *gate_phase_name(int phase);
int gate_phase_find(const char *name, size_t n);

struct judge_settings {
	bool replay;        /* resume is proven by running again; false: it stays unproven */
	bool every;         /* every run, not once for each configuration */
	int64_t updates;    /* of a replay */
	double deadline;    /* seconds for the replays of one run */
	unsigned required;  /* bit by phase: unproven fails there */
	bool allow_exec;    /* commands that the stream names may be run again */
	const struct stranger *stranger; /* run this instead of what the stream names; its argv NULL: only its resume_with, in place of the stream's */
	void (*progress)(const char *line); /* what is being replayed; may be NULL */
};
/* Judges the runs of role train and confirm that pass by. Its size depends on the runs that are open or
 * wait for their replay (64 at most), not on the stream's length. o and tool (the gate's bracket) are
 * where verdicts go, in judge_finish, or earlier for runs beyond those 64. */
struct judge;
int judge_new(struct judge **j, const struct judge_settings *s, struct out *o, const char *tool, struct why *w) MUST_USE;
int judge_see(struct judge *j, const struct view *v, struct why *w) MUST_USE;
/* At the end of the input: replays, then a verdict for each phase of each run that has ended. 0, -EX_NO one
 * failed, -EX_DATAERR there was no run to judge; others: trouble. */
int judge_finish(struct judge *j, struct why *w) MUST_USE;
void judge_free(struct judge *j); /* may be NULL */

/* ---- ids.c: ids and a number for each ---- */

struct ids {
	struct ids_slot {
		char id[ULID_SIZE];
		int value;
	} *slot;
	size_t n, cap; /* used, of */
};
/* Zero to begin. The value's place, NULL if the id is not there. */
int *ids_find(const struct ids *s, const char *id);
/* Adds it, or changes its value. */
int ids_put(struct ids *s, const char *id, int value) MUST_USE;
void ids_free(struct ids *s);

/* ---- tally.c: the exit status that a stream's verdicts ask for (ledger append -e) ---- */

/* Remembers brackets, and the runs to judge that have no verdict yet: its memory is bounded by these. */
struct tally;
struct tally *tally_new(void); /* NULL: no memory */
/* part: the stream is the rest of one that was cut: closings without their opening are no fault. */
void tally_part(struct tally *t);
int tally_see(struct tally *t, const struct view *v, struct why *w) MUST_USE; /* <0: -EX_DATAERR, a bracket out of place; -EX_OSERR */
/* At the end of input: 0 whole, else -EX_DATAERR: empty, or a bracket is open. */
int tally_whole(const struct tally *t, const char *name, struct why *w) MUST_USE;
/* 0 the gate spoke and every run to judge has a verdict, none of them `fail`, and no program upstream
 * failed. Else the worst code, w says why. Call after tally_whole gave 0. */
int tally_verdict(const struct tally *t, const char *name, struct why *w) MUST_USE;
void tally_free(struct tally *t); /* may be NULL */

/* ---- summary.c: one row a run, a probe's trials and its last run folded into the probe's row ---- */

struct summary_row {
	char id[ULID_SIZE];       /* of the run, or of the probe */
	char role[12];            /* train, probe, replay, ... */
	char program[40];         /* a command: its name; then model and optimizer are the classes that it uses */
	char model[40], data[40], optimizer[24], device[24];
	struct timestamp first, last; /* first and last seen */
	char status[20];          /* of the end or probe record; "" while it is open */
	char why[200];
	int64_t micro_batch, accum, updates, planned_updates; /* -1 unknown, as below */
	int64_t validations, best_update, trials;
	double validation_loss, validation_accuracy, best_loss, test_loss, test_accuracy; /* NAN unknown */
	double examples_per_second, tokens_per_second;
	int64_t allocated_peak_bytes, reserved_peak_bytes, device_used_peak_bytes;
	int64_t resident_peak_bytes; /* a command: of all its processes on the host */
	char verdict[12];         /* fail, unproven, ok; "" if no gate spoke */
	char failed[64];          /* phases that failed, or are unproven where none failed */
	bool has_end;
	int64_t steps, effective_batch; /* seen; speed of a run without an end */
	double step_seconds;
};
struct summary;
struct summary *summary_new(void); /* NULL: no memory */
int summary_see(struct summary *s, const struct view *v, struct why *w) MUST_USE;
int summary_steps(struct summary *s, const struct ledger_steps *e, struct why *w) MUST_USE; /* steps that were not read */
int summary_count(const struct summary *s);
const struct summary_row *summary_row(const struct summary *s, int i); /* in the order of their first record */
void summary_free(struct summary *s); /* may be NULL */
/* The row that a record's run belongs to: its probe's id or its own; "" if it belongs to none. After summary_see of it. */
void summary_owner(const struct summary *s, const struct view *v, char out[ULID_SIZE]);
/* The same of a run's id. */
void summary_owner_of(const struct summary *s, const char *run, char out[ULID_SIZE]);
/* Calls see for each id known: a run, or a probe, and its row's id. Stops at the first that is not 0. */
int summary_ids(const struct summary *s, int (*see)(void *ctx, const char *id, const char *row), void *ctx);

/* ---- story.c: runs told in the order people read them ---- */

/* Two passes over the same records: the first counts, the second gives each row of the summary as text when
 * its last record has passed, so that memory is bounded by the rows that are open at one moment: trials and
 * conclusion of a probe; of a run its header, some steps, evaluations, phases (those with a verdict by the
 * verdict only), and the end. */
struct story;
struct story *story_new(struct text *t, bool all_steps); /* NULL: no memory */
void story_free(struct story *s); /* may be NULL */
int story_count(struct story *s, const struct view *v, struct why *w) MUST_USE;
int story_count_steps(struct story *s, const struct ledger_steps *e, struct why *w) MUST_USE;
const struct summary *story_summary(const struct story *s); /* of the first pass */
/* Only these rows, and these runs inside others' rows (values are not looked at). Both owned by the caller. */
void story_pick(struct story *s, const struct ids *rows, const struct ids *runs);
/* Second pass; text of what is complete is added to out. story_wants: must these steps be read? */
bool story_wants(struct story *s, const struct ledger_steps *e, int n);
int story_tell(struct story *s, const struct view *v, struct buf *out, struct why *w) MUST_USE;
int story_tell_steps(struct story *s, const struct ledger_steps *e, struct buf *out, struct why *w) MUST_USE;

#endif
