/* probe.h - what the files of the probe share among themselves. Nobody else includes it. */
#ifndef PILOT_PROBE_H
#define PILOT_PROBE_H

#include "job.h"

/* ---- trial.c: one run by the resident trainer, and what became of it ---- */

enum trial_verdict { TRIAL_FITS, TRIAL_OOM, TRIAL_HOST_OOM, TRIAL_SPILLED, TRIAL_KERNEL_LIMIT, TRIAL_CRASHED, TRIAL_TIMEOUT, TRIAL_ERROR, TRIAL_STOPPED };

enum { TRIAL_TIMES = 2000, TRIAL_AXES = 8 };

struct trial {
	/* asked */
	const char *part; /* search, speed, confirm, resume */
	int64_t size;
	struct config config; /* owned: settings of the run */
	bool whole;           /* must show a validation, a save, and an update after them */
	bool stranger;        /* a command in the trainer's place */
	char cwd[4096];       /* its working folder; "" is ours */
	double deadline;      /* seconds; 0: as the settings say */

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
	bool parts;           /* its updates say their parts */
	bool bad;             /* no memory for its settings */
	char **lines;         /* last lines of stderr of a trainer that died; owned */
	int line_count;

	/* of a command */
	char device[32], cap[200];   /* device that it trains on, where it says so; how --memory was enforced */
	char cause[32], exception[64], ended_by[32]; /* how it ended: the last is the signal's name */
	char blind[200];             /* why nothing, or not all, of it was seen */
	int64_t address, resident;   /* peaks: of one process, of all together */
	int64_t before;              /* address space or device memory before its first pass */
	int64_t passes, replicas;    /* of its last update */
	int64_t rowless;             /* updates that did not say their rows */
	double full_rows;            /* rows of an update of whole passes, all replicas */
	unsigned axes;               /* dimensions of the input that have been as many as was asked, by bit, here and before */
	char shape[96];              /* of the input: 10x4 */
};

/* Times at one size, over all the runs that took them. */
struct timing {
	int64_t size, accum;
	double rows;  /* in an update, all replicas; 0: size x accum */
	double *time; /* owned */
	int n, room, rounds;
	double median_low, median_high; /* least and greatest median of a round */
	bool parts;   /* data and optimizer are known */
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
#define PROBE_TOLERANCE 0.05 /* of the knee */

struct probe {
	const struct probe_settings *set;
	struct out *out;
	struct rec rec;
	char id[ULID_SIZE];
	struct temp temp;  /* for the trials' checkpoints */
	struct drive *drive;
	struct search search;
	bool seek;         /* the edge of memory is sought */
	struct stranger stranger; /* the command, and where it may write */
	char cwd[4096];           /* the user's folder, which its trials get copies of */
	char save[4096];          /* the user's folder for checkpoints; "" none */
	bool accumulates, saves;  /* it has {accum}, {save_dir} */
	double longest;           /* seconds of the longest trial so far that was whole */
	unsigned axes;            /* dimensions of its input that {micro_batch} may decide, by bit; 1: the first alone */
	int axes_sizes;           /* sizes that fit though the first dimension was another, up to 2 */
	int64_t axes_size;        /* the last of them */
	double budget;     /* bytes, 0 unknown */
	char source[240];
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
	char oom_phase[32], oom_input[200]; /* of the smallest that did not fit; input: a command's */
	bool validated, saved; /* a trial showed it */
	int64_t least_needs;   /* a command: bytes that size 1 took without the cap */
	int64_t passes;        /* a command: passes in one of its updates */
	double update_rows;    /* a command: rows of an update of the confirmed run */
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
/* Runs and writes in one. */
int trial_do(struct probe *p, struct trial *t, const char *role, struct why *w) MUST_USE;
void trial_see_times(struct trial *t, const struct view *step, double seconds); /* of an applied update, counted already */

/* ---- trial-judge.c: what became of it ---- */

const char *trial_verdict_name(enum trial_verdict v);
bool trial_no_room(const struct trial *t); /* memory was the reason */
void trial_judge(struct trial *t, enum trial_verdict v, const char *fmt, ...) PRINTF(3, 4);
bool trial_names_limit(const char *s); /* a message of a kernel that refuses the size */
void trial_judge_end(struct trial *t); /* its run has an end record */
void trial_judge_death(struct trial *t, int status, int64_t kills); /* the trainer has gone in the middle of it */

/* ---- trial-stranger.c: the same of a command's run ---- */

void trial_hear(struct trial *t, const struct view *v); /* what only a command's records say */
void trial_hear_step(struct trial *t, const struct view *v);
void trial_judge_stranger(struct trial *t);
/* Bytes that decide whether it fits: allocated; of a command what its cap counts. */
double trial_bytes(const struct trial *t);

/* ---- timing.c: seconds of updates, by size ---- */

struct timing *timing_of(struct probe *p, int64_t size); /* made where there is none; NULL: no room */
int timing_add(struct timing *g, struct trial *t) MUST_USE; /* t's times are sorted by it */
void timing_drop(struct probe *p, int64_t size);
bool timing_close(struct timing *g); /* fills the statistics; false without times */
/* Rates of the sizes that were timed, in order of size; returns how many. */
int timing_rates(struct probe *p, struct rate *r);
double timing_rows(const struct timing *g); /* examples in one of its updates */

/* Both add to the reason in the probe record; a warning is said to the user besides. */
void probe_remark(struct probe *p, const char *fmt, ...) PRINTF(2, 3);
void probe_warn(struct probe *p, const char *fmt, ...) PRINTF(2, 3);
void probe_tell(const struct probe *p, const char *fmt, ...) PRINTF(2, 3); /* progress */
void probe_learn(struct probe *p, const struct trial *t); /* what every trial tells */
void probe_cap(const struct probe *p, struct trial *t); /* the budget is the trial's --memory */
/* An empty folder in the probe's own. */
int probe_folder(const struct probe *p, const char *name, char out[4096], struct why *w) MUST_USE;
double probe_expect(const struct probe *p, int64_t size); /* seconds of an update, from the nearest size tried; 0 unknown */
int64_t probe_fill(double seconds, double each, int64_t least, int64_t most); /* how many go into so many seconds */

/* ---- probe-speed.c ---- */

int probe_speed(struct probe *p, struct why *w) MUST_USE;

/* ---- probe-stranger.c: what is asked of a command, where that differs ---- */

/* Where it works and saves, and what a trial of it is told. */
int stranger_begin(struct probe *p, struct why *w) MUST_USE;
void stranger_end(struct probe *p);
int stranger_search_trial(struct probe *p, struct trial *t, int64_t size, struct why *w) MUST_USE;
int stranger_speed_trial(struct probe *p, struct trial *t, int64_t size, struct why *w) MUST_USE;
int stranger_confirm_trial(struct probe *p, struct trial *t, int64_t size, struct why *w) MUST_USE;
void stranger_learn(struct probe *p, const struct trial *t);
/* The search has stopped at an error: a size that fitted by a dimension that happened to be as many is forgotten. */
void stranger_stopped(struct probe *p);
/* The same without the cap, where an address space is what is capped. A crash or a hang is no lack of memory; one
 * that comes in the cap alone, from a program that takes more without it, is (CAPPED). SLOW: it was given too little time. */
enum control { CONTROL_NOTHING, CONTROL_CAPPED, CONTROL_SLOW };
int stranger_control(struct probe *p, const struct trial *t, enum control *found, struct why *w) MUST_USE;
/* The sizes to time (again) in this round; returns how many. */
int stranger_round(struct probe *p, int round, int64_t size[PROBE_SIZES]);

/* ---- confirm.c ---- */

int probe_confirm(struct probe *p, struct why *w) MUST_USE;


/* ---- conclude.c: from measurements to the probe record ---- */

void conclude_knee(struct probe *p);
int64_t conclude_limit(const struct probe *p); /* the largest size that leaves the headroom */
void conclude_nothing(struct probe *p); /* why nothing fits */
int conclude_write(struct probe *p, struct why *w) MUST_USE;

#endif
