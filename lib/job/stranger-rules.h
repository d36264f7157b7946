/* stranger-rules.h - what the gate remembers of a run whose trainer is a command of the user's, and the
 * checks of stranger-rules.c over it. A command reports what it happens to show, so most checks look at what
 * was remembered when the run has ended. Only stranger*.c and judge-watch.c include it. */
#ifndef PILOT_STRANGER_RULES_H
#define PILOT_STRANGER_RULES_H

#include "rules.h"

enum {
	S_NAMES = 200,   /* bytes of a list of names */
	S_PASSES = 64,   /* windows of so many passes are counted apart */
	S_RING = 32,     /* updates remembered for the replicas, batches to find again */
	S_REPLICAS = 64, /* replicas' parts remembered until rank 0's step has come */
	S_LOADERS = 8,
	S_TAILS = 8,
};

/* A thing that happened at some updates. */
struct happened {
	int64_t told;   /* updates that report the fact, 0 or not */
	int64_t times;  /* updates at which it was not 0 */
	int64_t update; /* the first of them */
	int64_t amount; /* then */
	int64_t most;
};

struct s_model {
	int count; /* models that were seen */
	char name[64], wrapper[64], precision[24], device[24], apart[S_NAMES];
	int64_t tensors, trainable, parameters, declared; /* -1 not reported; of the first one, declared of all */
	int64_t dropout, norms;                           /* layers in all models; -1 not reported */
};

struct s_optimizer {
	int count;
	char name[48], uncovered_names[S_NAMES];
	int64_t tensors, uncovered, strangers, before; /* before: updates counted before the first; -1 not reported */
	bool still; /* a group has the rate 0 */
};

/* What steps showed. */
struct s_steps {
	int64_t attempts, late_attempts, late_skips; /* late: after the first attempts, while a loss scale settles */
	int64_t windows[S_PASSES + 1]; /* updates of so many passes */
	int64_t rows_asked, rows_short, rows_other; /* passes with as many as asked, fewer, more */
	int64_t other_rows, other_update;
	int64_t rows_told;              /* updates */
	double first_loss, first_lr, least_lr, most_lr;
	bool first_classes_known;
	int64_t first_classes;
	char loss_function[48];
	int64_t offset_next, offset_same, offset_past, offset_far, far_offset, offset_update; /* updates whose targets are inputs so many positions on */
	int64_t offsets;                /* updates that told one */
	double offset_match;
	struct happened left_over, dropped, scaler, schedule, padding, no_target, untouched, no_gradient;
	int64_t gradient_zero_row;      /* updates in a row without any gradient, at most */
	int64_t zero_row;
	struct happened uneven;         /* passes with unequal targets, weighted alike; amount in percent */
	struct happened uneven_short;   /* because an epoch's last batch is short */
	double strayed, by_chance;      /* squares of what the passes' targets are off their mean, and what a random mask gives */
	int64_t freedom;                /* passes in it less their means; 0: how much is masked was not told */
	bool passes_uncounted;          /* several passes, and their targets not told */
	bool added;                     /* means of passes are added up */
	struct happened rescaled;       /* passes that should be divided by the same were by one number and its double */
	int64_t before_first;           /* passes thrown away before the first update */
	char first_digest[DIGEST_SIZE];
	int64_t digests, digests_same, digests_again; /* told; equal to the first; seen within the ring before */
	int64_t lag, lag_row;           /* updates since that one, and how often in a row */
	bool mode_told, training, trained; /* of the last step; of any */
	int64_t training_lost;          /* the update at which it was gone after a validation; 0: never */
	bool skipped;                   /* the last one was */
};

struct s_ring {
	int64_t update;
	char batch[DIGEST_SIZE], weights[DIGEST_SIZE];
};

struct s_replica {
	int64_t rank, update;
	char batch[DIGEST_SIZE], weights[DIGEST_SIZE];
};

struct s_replicas {
	struct s_ring mine[S_RING];
	struct s_replica other[S_REPLICAS];
	int next;
	int64_t batches, batches_same, weights, weights_apart, apart_update, apart_rank; /* compared, of these */
};

/* The end of a pass over a training loader. */
struct s_pass {
	int64_t rows, batches, examples, begin, end, number;
	char digest[DIGEST_SIZE], sampler[48];
};

struct s_loaders {
	struct s_pass pass[S_LOADERS]; /* ends, a ring */
	int next;
	struct s_open {
		int64_t number, update;
		int64_t done, waited; /* passes made before it (-1: the step is still to come); that waited then */
	} open[S_LOADERS];       /* begins, a ring */
	int next_open;
	struct s_ended {         /* of a training pass, until the last of its steps has come */
		int64_t update, batches, waiting, made; /* made: passes before it, those that waited left out; -1 not known */
		bool due;
	} ended;
	int64_t made;            /* passes so far */
	int64_t counted, unused, unused_batches, unused_update; /* ends; of them with batches that no pass was made on */
	int64_t trained, compared, repeated; /* passes of training; pairs */
	char repeat[S_NAMES];                /* of the first repeat, in words */
	bool repeat_small;                   /* so few examples that chance may do it */
	bool repeat_plain;                   /* its sampler goes through the data set as it lies */
	bool repeat_stream;                  /* data that comes as a stream: its order may be meant */
	char workers[S_NAMES];               /* workers that give out the same, in words */
	char again[S_NAMES];                 /* batches given out twice otherwise */
	int64_t micro_batch;                 /* of training loaders; 0 none, -1 several */
	int64_t first_rows;                  /* of the first pass of an update */
	int64_t waiting, waiting_update;     /* passes that waited at the last end, and then */
	struct { int64_t update, passes, waiting, dropped; } tail[S_TAILS]; /* the updates after such ends */
	int tails;
	int64_t dropped_examples, of_examples, whole; /* validation: left out; passes that saw every example */
	int64_t validated;
};

struct s_validate {
	int64_t count, mode_off, mode_update, after_off, after_update, after_unknown, buffers, buffers_update;
	int64_t weights, weights_update, optimizer, optimizer_update, random;
	int64_t examples, batches;
	bool told_mode, told_after, told_weights, told_buffers;
	int64_t since;          /* validations since the last step */
	char means[S_NAMES];    /* a mean of means that was printed, in words */
	bool mean_right;        /* the mean over targets was */
};

struct s_state {
	int64_t loads, none, missing, unexpected, matched, torn_update, torn_count;
	bool restored_optimizer;
	char path[S_NAMES], restored[S_NAMES];
	char none_path[S_NAMES], short_path[S_NAMES];
	int64_t short_missing; /* of a load that put back optimizer state too */
	char in_place[S_NAMES];
	int64_t saves, counted;
	char holds[96];
};

enum { CHECK_REPEAT, CHECK_FUTURE, CHECK_ROWS, CHECK_PADDING, S_CHECKS };
struct s_check {
	bool told;
	double difference, magnitude; /* of the worst; difference NAN: it could not be made */
	int64_t update;
	char reason[S_NAMES];
};

struct s_deep { /* of the newest phase record that has them */
	int64_t update, missing, zero, frozen, trainable, changed, unchanged;
	char worst[128];
};

struct stranger_watch {
	bool asks_rows, asks_accum; /* its command line has the placeholder */
	int64_t accum, replicas;
	bool spoke;                 /* there is a trainer record */
	bool padded;                /* its data has padding */
	struct s_model model;
	struct s_optimizer optimizer;
	struct s_steps steps;
	struct s_deep gradient, change;
	bool at_rest;               /* at an update that was looked at the rate was 0 */
	int64_t zero_changed, zero_update, declared_update;
	double changed_share, share_lr;
	int64_t share_update;
	int64_t first_count, first_count_update, last_count, last_count_update; /* the optimizer's own; -1 not told */
	struct s_replicas replicas_seen;
	struct s_loaders loaders;
	struct s_validate validate;
	struct s_state state;
	struct s_check check[S_CHECKS];
	int failure_phase;          /* of the last failure record; -1 none */
};

/* ---- stranger-watch.c, stranger-step.c, stranger-loader.c: remembering ---- */

struct stranger_watch *stranger_watch_new(const struct view *run); /* NULL: no memory */
void stranger_watch_free(struct stranger_watch *s);                /* may be NULL */
void stranger_see(struct watch *r, const struct view *v);          /* after the rules have looked at it */
void stranger_see_step(struct watch *r, const struct view *v);
void stranger_see_replica(struct stranger_watch *s, const struct view *v);
void stranger_see_loader(struct stranger_watch *s, const struct view *v, int64_t update);
void stranger_see_passes(struct s_loaders *l, int64_t update, int64_t passes, int64_t dropped);
/* A step that another replica than the first reports: none of the run's count. */
bool stranger_other_rank(const struct view *v);
int64_t stranger_usual(const struct s_steps *s); /* passes of most updates; 0 unknown */
void happened_see(struct happened *h, int64_t update, int64_t amount);
int64_t stranger_int(const struct view *v, enum field f, int64_t otherwise);
double stranger_num(const struct view *v, enum field f, double otherwise);
void stranger_names(const struct view *v, enum field f, char *out, size_t n); /* a list, joined by ", " */
enum rule_state stranger_say(enum rule_state s, char *say, size_t n, const char *fmt, ...) PRINTF(4, 5);

/* ---- the checks: after the last record, but for those that say otherwise ---- */

rule_check stranger_model, stranger_apart, stranger_loaded;                                        /* load */
rule_check stranger_rows, stranger_shift, stranger_padding, stranger_targets, stranger_order, stranger_workers, stranger_shards, stranger_batches; /* data */
rule_check stranger_loss, stranger_repeat, stranger_future, stranger_mixed, stranger_widened;      /* forward */
rule_check stranger_gradients, stranger_no_gradient, stranger_left_over, stranger_tail, stranger_dropped, stranger_unused, stranger_means; /* backward */
rule_check stranger_count, stranger_changed, stranger_zero_changed, stranger_declared, stranger_covered, stranger_touched, stranger_skipped, stranger_first, stranger_rounded, stranger_schedule, stranger_scaler, stranger_counted, stranger_synchronised, stranger_rate; /* update */
rule_check stranger_mode, stranger_mode_after, stranger_statistics, stranger_untouched, stranger_split, stranger_printed, stranger_evals; /* validate */
rule_check stranger_saves, stranger_in_place, stranger_torn;                                       /* save */
rule_check stranger_restored;                                                                      /* resume */

#endif
