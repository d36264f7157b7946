/* judge.h - what the gate's own files share: what is remembered of one run, what was
 * found about each phase, and how replays report. Only judge*.c, rules*.c, replay*.c
 * and stranger*.c include it. */
#ifndef PILOT_JUDGE_H
#define PILOT_JUDGE_H

#include "job.h"

enum gate_phase { G_LOAD, G_DATA, G_FORWARD, G_BACKWARD, G_UPDATE, G_VALIDATE, G_SAVE, G_RESUME, G_EXPORT, GATE_PHASES };

enum {
	WATCH_SAVES = 4,    /* saves remembered with the updates after them */
	WATCH_HEADS = 64,   /* windows of an epoch whose order is compared with the epoch before */
	WATCH_RULES = 192,  /* at least as many as there are rules */
	DIGEST_SIZE = 72,
};

/* One update as a replay must repeat it. */
struct update_fact {
	int64_t update, rows, supervised;
	double lr, loss, gradient_norm;
	char batch_digest[DIGEST_SIZE];
	/* A command's, in an arm alone. */
	double divisor, scale;
	char weights_digest[DIGEST_SIZE];
};

/* What a save holds, or a load put back. */
enum { HOLDS_WEIGHTS = 1, HOLDS_OPTIMIZER = 2, HOLDS_SCHEDULE = 4, HOLDS_SCALE = 8, HOLDS_RANDOM = 16, HOLDS_COUNT = 32 };

/* One save, and the run's own way on from it. */
struct save_fact {
	int64_t update;
	char *path; /* owned; NULL: the place is free */
	char digest[DIGEST_SIZE], weights_digest[DIGEST_SIZE], optimizer_digest[DIGEST_SIZE];
	unsigned held;             /* HOLDS_ bits, in an arm alone; 0: it does not say */
	struct update_fact *after; /* owned; the first `steps` updates after it */
	int steps;
	bool over;        /* a later save has the same path: the file is not this one any more */
};

/* What was found about a phase besides its rules, or by them. */
struct finding {
	char *fail;       /* owned; the first thing that is wrong; NULL: nothing */
	int more;         /* further ones */
	const char *look; /* where to look first */
	char *doubt;      /* owned; the first thing that is wrong unless the phase is seen badly */
	int doubts;       /* further ones */
	const char *doubt_look;
	bool blind;       /* an adapter says that it sees the phase badly */
	char *lack;       /* owned; why it is unproven */
	struct buf said;  /* evidence, clauses joined by "; " */
	bool na;
	const char *na_reason;
};

/* Inputs and peaks of a phase, copied into its verdict. */
struct measure {
	bool seen, steady;
	int64_t micro_batch, length, allocated, reserved, used; /* -1: not reported */
	double seconds;                                         /* negative: not reported */
};

enum rule_state { RULE_UNSEEN, RULE_MISSING, RULE_HELD, RULE_BROKEN };

/* A judged run. */
struct watch {
	char id[ULID_SIZE], role[16];
	struct buf raw;             /* its run record: what a replay runs again */
	unsigned char rule[WATCH_RULES];
	char *said[WATCH_RULES];    /* owned; evidence of a rule that held */
	const struct rules *rules;  /* the table that it is held to */
	struct stranger_watch *stranger; /* owned; what rules on a command remember; NULL: the builtin trainer */
	struct finding finding[GATE_PHASES];
	struct measure measure[GATE_PHASES];
	struct order order;         /* from the run record; examples 0: unknown */
	struct schedule schedule;
	bool scheduled;             /* the rate of every update can be computed again */
	double base_lr;
	int64_t train_examples, validation_examples, planned_updates, resumed_update, classes;
	int64_t val_examples, micro_batch;
	int64_t trainable;          /* tensors, as the first phase record has it; -1 unknown */
	bool deterministic, exact;  /* exact: fp32, no update may be skipped */
	bool resumed, given_weights;
	int64_t plan[6], plan_peak; /* load data forward backward update validate; -1 unknown */
	double began;               /* seconds since 1970 */

	int64_t steps, skips, first_update, update, examples; /* of the steps so far */
	int64_t norms;              /* steps with a gradient norm, and the last of them */
	double norm, step_seconds;
	struct update_fact last;
	char (*head)[DIGEST_SIZE];  /* owned; digests of the epoch's first windows */
	int64_t *head_epoch;        /* epoch of each */
	int64_t orders_compared, orders_equal;
	double chance;              /* ln of the chance that the equal ones are so by accident */
	bool order_repeated;        /* one of them alone is no accident */

	int64_t eval_update, validate_update, evals;
	double eval_loss, validate_loss;
	int64_t forward_update;     /* of the last forward phase record whose step is still to come */
	double forward_loss;
	int64_t save_phase_update, saves;
	char save_digest[DIGEST_SIZE];
	int64_t save_tensors;       /* model tensors that the phase record says are saved; -1 unknown */
	int window, oldest_save;
	struct save_fact save[WATCH_SAVES];
	int64_t first_save;         /* a command's: update of the first save after one; 0 none */
	struct buf end;             /* a command's: its end record, once it has ended */
	bool ended;
	char status[16];
};

/* ---- rules.c: the use of a table of rules ---- */

void rules_see(struct watch *r, const struct view *v);
/* Puts the rules' evidence and gaps into the findings, once, after the last record. */
void rules_close(struct watch *r);

/* ---- stranger-watch.c: a command's run ---- */

int stranger_failed(const struct watch *r); /* phase of the error that its framework raised last; -1: none was told */

/* ---- judge-find.c: findings ---- */

void find_fail(struct watch *r, enum gate_phase p, const char *look, const char *fmt, ...) PRINTF(4, 5);
/* As find_fail, unless an adapter turns out to see the phase badly (find_blind): then it is a reason for unproven. */
void find_doubt(struct watch *r, enum gate_phase p, const char *look, const char *fmt, ...) PRINTF(4, 5);
void find_blind(struct watch *r, enum gate_phase p, const char *reason, size_t n);
void find_settle(struct watch *r, enum gate_phase p); /* doubts become failures or gaps: after the last record */
void find_lack(struct watch *r, enum gate_phase p, const char *fmt, ...) PRINTF(3, 4);
void find_say(struct watch *r, enum gate_phase p, const char *fmt, ...) PRINTF(3, 4);
const char *gate_look(enum gate_phase p); /* where to look first when it fails */
void finding_free(struct finding *f);
/* One verdict record for each phase. required: bit by phase, unproven fails there. Counts those that fail. */
int find_write(struct watch *r, const char *tool, unsigned required, struct out *o, int *failed, struct why *w) MUST_USE;

/* ---- judge-watch.c: one run, from its run record on ---- */

/* window: updates to remember after a save. NULL: no memory. */
struct watch *watch_new(const struct view *run, int window);
void watch_see(struct watch *r, const struct view *v); /* the rules look at it, then it is remembered */
void watch_ended(struct watch *r); /* keeps only what a replay needs */
void watch_free(struct watch *r);

/* ---- rules-run.c, rules-update.c, rules-state.c: checks that need more than one field or record ----
 * Each writes what it saw into say: evidence if it holds, the reason if not. */

typedef enum rule_state rule_check(struct watch *r, const struct view *v, char *say, size_t n);
rule_check check_output, check_fresh_loss, check_logged_loss, check_rate, check_count, check_window, check_examples, check_passes;
rule_check check_skipped, check_step_time, check_plan, check_expected, check_eval, check_save, check_restored, check_resumed;
rule_check check_end_finite, check_end_norms, check_end_rate, check_end_updates, check_end_windows, check_end_orders, check_end_clock, check_end_peak;
rule_check check_end_evals, check_end_saves, check_stale, check_gradient, check_trainable;

bool rule_near(double a, double b, double share, double least); /* |a - b| within a share of the larger, or least */
bool rule_int(const struct view *v, enum field f, int64_t *out); /* of at most 2^52 */
bool rule_skipped(const struct view *step);
const char *rule_text(double x, char out[32]); /* as JSON shows it */

/* ---- judge-file.c: what lies on disk ---- */

/* 0 it is what the save said; 1 it is gone; -EX_DATAERR something is wrong with it. tensors: how many
 * of the model there must be at least, or -1. */
int saved_file(const char *path, const char *digest, int64_t tensors, int64_t update, struct why *w) MUST_USE;
/* The same of a file of any kind; 2: it was written again after `ended` (seconds since 1970). */
int saved_bytes(const char *path, const char *digest, double ended, struct why *w) MUST_USE;

/* ---- replay.c: the arms; they leave their findings in r ---- */

/* Runs r's settings again and leaves what it finds in into (whose findings alone are used). Files that were saved
 * on the way and are whole are counted in *files. */
void replay_run(struct watch *r, struct watch *into, const struct judge_settings *s, int *files);
/* Two runs with the same one need one replay between them. 0, or -code. */
int replay_fingerprint(const struct watch *r, char out[DIGEST_SIZE], struct why *w) MUST_USE;

/* ---- stranger-replay.c: the arms of a command that is not ours ---- */

void stranger_replay(struct watch *r, struct watch *into, const struct judge_settings *s, int *files);
int stranger_fingerprint(const struct watch *r, char out[DIGEST_SIZE], struct why *w) MUST_USE;

/* ---- replay-arm.c: one run of the trainer ---- */

struct eval_fact {
	int64_t update;
	double loss;
};

/* A state record: "", -1, NAN where it does not say. */
enum { TORCH_RANDOM, DEVICE_RANDOM, NUMPY_RANDOM, PYTHON_RANDOM, RANDOMS };
struct state_fact {
	bool seen;
	int64_t update, count, schedule;
	double lr, scale;
	char weights[DIGEST_SIZE], optimizer[DIGEST_SIZE], batch[DIGEST_SIZE], random[RANDOMS][DIGEST_SIZE];
};

struct arm {
	const char *name;
	int64_t steps, evals, saves;
	struct update_fact *step; /* owned */
	struct eval_fact *eval;
	struct save_fact *save;
	char status[16], why[400];
	bool began;          /* it has written its run record */
	const struct stranger *stranger; /* the command that it runs; NULL: the builtin trainer */
	struct state_fact start, stop;   /* of a command, as the next ones */
	int loads;                       /* files that it read back */
	unsigned restored;               /* what they put back in all */
	int64_t matched, missing;        /* tensors, of the last that had any; -1 unknown */
	char blind[300];                 /* why what it says of its state is not to be trusted */
	bool judged;         /* its records go through the rules too */
	struct watch *watch; /* owned; then what they found */
};
/* request: begun by arm_request, ended here. 0 it ran to an end record of status done or stopped; 1 it
 * ended otherwise (a->status, a->why); -EX_TEMPFAIL deadline or stop; other codes: it did not run. */
int arm_run(struct arm *a, struct rec *request, double until, struct why *w) MUST_USE;
void arm_request(struct rec *q, const char *run);
void arm_free(struct arm *a);
const struct save_fact *arm_save(const struct arm *a, int64_t update);
const struct update_fact *arm_step(const struct arm *a, int64_t update);
unsigned holds_of(const struct view *v, enum field f); /* words of a list as bits */

/* ---- replay-compare.c: is it the same way? ---- */

/* Updates from..to of a against b, bit by bit; 0 equal, 1 not: say names the first difference and what it points at. */
int arms_differ(const struct arm *went_on, const struct arm *resumed, int64_t from, int64_t to, char *say, size_t n);
/* The first update of cold against update `at` of a. */
int cold_differs(const struct arm *a, int64_t at, const struct arm *cold, char *say, size_t n);
/* The same updates with the micro-batches cut otherwise: equal within rounding. */
int split_differs(const struct arm *a, const struct arm *b, char *say, size_t n);
int split_eval_differs(const struct arm *a, const struct arm *b, char *say, size_t n);

#endif
