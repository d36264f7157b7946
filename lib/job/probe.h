/* probe.h - what the files of the probe share among themselves. Nobody else includes it. */
#ifndef PILOT_PROBE_H
#define PILOT_PROBE_H

#include "job.h"

/* ---- trial.c: one run by the resident trainer, and what became of it ---- */

enum trial_verdict { TRIAL_FITS, TRIAL_OOM, TRIAL_HOST_OOM, TRIAL_SPILLED, TRIAL_KERNEL_LIMIT, TRIAL_CRASHED, TRIAL_TIMEOUT, TRIAL_ERROR, TRIAL_STOPPED };

enum { TRIAL_TIMES = 2000 };

struct trial {
	/* asked */
	const char *part; /* search, speed, confirm, resume */
	int64_t size;
	struct config config; /* owned: settings of the run */
	bool whole;           /* must show a validation, a save, and an update after them */

	/* came of it */
	char run[ULID_SIZE];  /* "" until there is one */
	enum trial_verdict verdict;
	char why[600];
	int code;             /* exit status of a trainer that ended by itself with 64 or more */
	int64_t applied, full, rows, after; /* updates; of these with whole micro-batches; batch dimension seen; after validation and save */
	bool validated, saved;
	char save[4096], last_save[4096]; /* checkpoints, the first and the last */
	int64_t train_examples;
	char fingerprint[160];
	double fixed, per, planned; /* the plan's bytes; 0 unknown */
	int64_t allocated, reserved, used; /* peaks */
	char peak_phase[32], oom_phase[32], input[200];
	int64_t asked;
	int64_t length;
	char status[16], limit[200];
	double *time;         /* seconds of each update after the first; owned, TRIAL_TIMES of them */
	int times;
	double step_seconds, all_seconds, data_seconds, optimizer_seconds; /* step_seconds: all; the others: of the timed updates */
	int64_t examples, tokens; /* of the timed updates */
	int64_t last_examples, last_tokens;
	double seconds;       /* wall clock of the whole trial */
	bool bad;             /* no memory for its settings */
	char **lines;         /* last lines of stderr of a trainer that died; owned */
	int line_count;
};

/* Times at one size, over all the runs that took them. */
struct timing {
	int64_t size, accum;
	double *time; /* owned */
	int n, room, rounds;
	double median_low, median_high; /* least and greatest median of a round */
	double all, data, optimizer;
	double tokens_per_example;
	double expected; /* seconds of an update, from the search */
	double median, low, high, mean; /* seconds, after timing_close */
};

/* ---- busy.c: other programs on the processors ---- */

struct busy {
	double began, own, all;
};
void busy_begin(struct busy *b);
/* Share of all processors that went to others since; children that still run count as others. 0 where it cannot be known. */
double busy_others(const struct busy *b);

/* ---- probe.c: the state of a probe ---- */

enum { PROBE_SIZES = 72 };

struct probe {
	const struct probe_settings *set;
	struct out *out;
	struct rec rec;
	char id[ULID_SIZE];
	char folder[4096]; /* for the trials' checkpoints; removed at the end */
	struct drive *drive;
	struct search search;
	bool seek;         /* the edge of memory is sought */
	double budget;     /* bytes, 0 unknown */
	char source[80];
	struct timing timing[PROBE_SIZES];
	int timings;
	double fixed, per, used; /* of the last trial that fits: the plan's line, or 0; allocated */
	double best_rate;   /* examples per second, roughly, to know a collapse by */
	double least_bytes; /* fixed bytes where size 1 does not fit */
	int64_t train_examples;
	char fingerprint[160];
	int trials;
	struct busy busy;
	double began;
	/* conclusions */
	const char *status;
	char why[1000];
	char oom_phase[32]; /* of the smallest that did not fit */
	int64_t knee, knee_sure, recommended, accum;
	char knee_note[300];
	bool confirmed;
	char confirm_run[ULID_SIZE];
	double t0, c;
	double confirm_rate, confirm_tokens; /* per second, means */
	bool remarkable; /* `why` holds more than what was not sought */
	int code;        /* of a trainer that failed */
};

/* Zeroes t and takes a copy of the campaign's settings. */
int trial_init(struct trial *t, const struct probe *p, const char *part, int64_t size) MUST_USE;
void trial_int(struct trial *t, enum option o, int64_t v); /* sets one setting */
void trial_str(struct trial *t, enum option o, const char *s);
void trial_free(struct trial *t);
/* Runs it: records of the trainer go on, the trial is judged (not yet written). 0, or -code when the
 * probe itself cannot go on (writing failed, no memory, no trainer). */
int trial_run(struct probe *p, struct trial *t, const char *role, struct why *w) MUST_USE;
int trial_write(struct probe *p, const struct trial *t, const struct timing *timing, struct why *w) MUST_USE;
const char *trial_verdict_name(enum trial_verdict v);
/* Runs and writes in one. */
int trial_do(struct probe *p, struct trial *t, const char *role, struct why *w) MUST_USE;
bool trial_no_room(const struct trial *t); /* memory was the reason */

/* ---- timing.c: seconds of updates, by size ---- */

struct timing *timing_of(struct probe *p, int64_t size); /* made where there is none; NULL: no room */
int timing_add(struct timing *g, struct trial *t) MUST_USE; /* t's times are sorted by it */
void timing_drop(struct probe *p, int64_t size);
bool timing_close(struct timing *g); /* fills the statistics; false without times */
/* Rates of the sizes that were timed, in order of size; returns how many. */
int timing_rates(struct probe *p, struct rate *r);

/* Both add to the reason in the probe record; a warning is said to the user besides. */
void probe_remark(struct probe *p, const char *fmt, ...) PRINTF(2, 3);
void probe_warn(struct probe *p, const char *fmt, ...) PRINTF(2, 3);
void probe_tell(const struct probe *p, const char *fmt, ...) PRINTF(2, 3); /* progress */
void probe_learn(struct probe *p, const struct trial *t); /* what every trial tells */
/* An empty folder in the probe's own. */
int probe_folder(const struct probe *p, const char *name, char out[4096], struct why *w) MUST_USE;
double probe_expect(const struct probe *p, int64_t size); /* seconds of an update, from the nearest size tried; 0 unknown */
int64_t probe_fill(double seconds, double each, int64_t least, int64_t most); /* how many go into so many seconds */

/* ---- confirm.c ---- */

int probe_confirm(struct probe *p, struct why *w) MUST_USE;


/* ---- conclude.c: from measurements to the probe record ---- */

void conclude_knee(struct probe *p);
int64_t conclude_limit(const struct probe *p); /* the largest size that leaves the headroom */
void conclude_nothing(struct probe *p); /* why nothing fits */
int conclude_write(struct probe *p, struct why *w) MUST_USE;

#endif
