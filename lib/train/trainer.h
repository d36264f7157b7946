/* trainer.h - the loop's own state and its parts, by file. Private to lib/train/trainer*.c. */
#ifndef PILOT_TRAINER_H
#define PILOT_TRAINER_H

#include "trainer_hooks.h"

enum phase { PHASE_LOAD, PHASE_RESUME, PHASE_DATA, PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_VALIDATE, PHASE_SAVE, PHASES };

/* One phase of one update: several passes are summed. */
struct measure {
	bool begun, ended;
	double since, seconds;
	int64_t baseline, passes, examples, update;
	struct dev_memory memory; /* when its first pass ended; peaks are the highest of all its passes */
};

/* Facts of an update's phases, gathered while it runs. */
struct facts {
	int64_t ids_min, ids_max, targets_min, targets_max;
	int64_t supervised, declared, masked, padding, compared, wrong, nonfinite_inputs;
	int64_t loss_nonfinite;
	double logits_variance;
	int64_t output_shape[3];
	int output_dims;
	int trainable, missing, nonfinite, frozen_with_gradient;
	int changed, unchanged, frozen_changed, tied_apart;
	double changed_share;
	char worst[64];
	double worst_norm;
	double lr, schedule_lr;
	bool unknown; /* what changed: a digest could not be taken */
};

/* A tensor before an update: a digest of all of it, and a sample of its numbers. */
struct before {
	unsigned char digest[32];
	float *sample;
	int64_t samples;
	bool has_gradient, known;
};

struct trainer {
	struct config config; /* after a resume: the checkpoint's, where the command does not name another */
	const struct run_names *names;
	const struct trainer_hooks *hooks;
	struct out *out;
	struct outcome *result;
	struct why *why;
	struct rec rec;

	struct dev *dev;
	struct data *data;
	const struct data_facts *facts;
	struct model *model;
	struct param *param;
	int params;
	struct optim *optim;
	struct schedule schedule;
	struct order order; /* of the training split, or of the first --overfit of it */
	struct stop_rules stop;
	struct checkpoint *checkpoint; /* that is resumed */
	char checkpoint_path[4096];
	int torn; /* newer files passed over to find it */
	struct why torn_why;
	int lock; /* on the --save folder */
	char weights_file_digest[72];
	struct progress progress;

	int64_t length, val_length, val_micro_batch; /* positions, or features a row */
	int64_t upe; /* updates an epoch */
	int64_t plan[PARTS];
	int64_t plan_peak, plan_twice; /* at the micro-batch, and at twice that */

	struct batch *window; /* an update's micro-batches */
	int windows;          /* how many there are at most */
	int passes;           /* and in this update */
	int64_t *index;       /* scratch: as many as the larger micro-batch */
	int64_t epoch, first, count, supervised, tokens;
	struct batch val_batch;
	struct batch *current;
	struct forward forward;
	struct validation validation;
	unsigned char *seen;  /* a bit for each example of the split under evaluation */
	int64_t seen_bytes;
	struct example_text text;
	bool training;
	double loss, loss_sum, rate, scale, gradient_norm;
	char batch_digest[17];
	struct checkpoint_facts saved;

	bool measuring; /* memory and facts, in this update */
	const char *occurrence;
	int64_t attempted_here, applied_here, validated_here, saved_here; /* in this process */
	int64_t last_saved;               /* updates that the newest file holds */
	struct measure measure[PHASES];
	struct facts fact;
	struct before *before; /* a tensor each */
	int64_t allocated_peak, reserved_peak, used_peak;
	enum phase peak_phase;

	double began, update_began, update_seconds, told; /* told: when progress was */
	double val_accuracy, test_loss, test_accuracy;
	bool exact; /* of generated answers */
	bool tested;
	int64_t recovered, overfit_seen;
	enum phase oom_phase;
	char oom_input[64];
	struct dev_oom oom_facts;
	char kernel_limit[1000];
	double evidence_seconds; /* of this update, spent on facts and not on training */
	const char *status; /* of the end record, once it is known; else NULL */
	char reason[1000];
};

/* Settles the status of the end record, if none is settled yet. */
void tr_ending(struct trainer *t, const char *status, const char *fmt, ...) PRINTF(3, 4);

/* ---- trainer_open.c: all parts of a run, before its first record ---- */
int tr_open(struct trainer *t, const struct config *c);
void tr_close(struct trainer *t);

/* ---- trainer_resume.c: settings and budget of a run that goes on ---- */
int tr_resume_open(struct trainer *t, const struct config *c); /* t->config becomes the merged one */
int tr_resume_budget(struct trainer *t);  /* once the data are known: the horizon */
int tr_resume_load(struct trainer *t);                            /* weights, state, position; the phase resume */

/* ---- trainer_plan.c: memory, budget, the plan record ---- */
int tr_record_plan(struct trainer *t);
int64_t tr_plan_horizon(const struct config *c, const struct order *o, struct why *w); /* updates of the budget, <0 refused */
double tr_plan_epochs(const struct trainer *t, int64_t updates);
void tr_plan_memory(struct trainer *t);

/* ---- trainer_records.c: run, step, end ---- */
int tr_record_run(struct trainer *t);
int tr_record_torn(struct trainer *t); /* a note on files that were passed over */
int tr_record_step(struct trainer *t, bool skipped);
int tr_record_end(struct trainer *t);
void tr_name_fields(struct rec *r, const char *run, const struct run_names *n);
int tr_send(struct trainer *t); /* ends t->rec and writes it; a broken pipe asks to stop and is 0 */

/* ---- trainer_phase.c: time and memory of a phase ---- */
void tr_phases_reset(struct trainer *t);
void tr_phase_begin(struct trainer *t, enum phase p);
void tr_phase_end(struct trainer *t, enum phase p, int64_t examples);
const char *tr_phase_name(enum phase p);
/* Begins the phase's record with inputs, memory and time; the facts follow, then tr_send. */
void tr_phase_record(struct trainer *t, enum phase p, const char *occurrence);
/* Passes on what taking memory returned; after -EX_NO the status is settled as oom, with the phase and its input. */
int tr_phase_take(struct trainer *t, int rc, enum phase p, int64_t rows, int64_t length);

/* ---- trainer_facts.c: facts of an update ---- */
void tr_facts_reset(struct trainer *t);
void tr_facts_data(struct trainer *t);
void tr_facts_forward(struct trainer *t);
void tr_facts_gradient(struct trainer *t);
void tr_facts_before(struct trainer *t);
void tr_facts_after(struct trainer *t);
void tr_facts_free(struct trainer *t);
int tr_facts_records(struct trainer *t); /* phase records of the update that was measured */

/* ---- trainer_update.c: one update ---- */
int tr_update_once(struct trainer *t); /* a divergence settles the status and applies nothing */

/* ---- trainer_eval.c: a split, each example once ---- */
int tr_validate(struct trainer *t); /* the validation split; best and last are kept. A signal cuts it short: nothing is recorded */
int tr_test(struct trainer *t);     /* the test split, once */
int tr_overfit(struct trainer *t);  /* the --overfit examples: do their targets come back? */

/* ---- trainer_answer.c: greedy generation, and what comes back of targets ---- */
/* Answers to the examples of the split under evaluation, letter by letter; with records a prediction each. */
int tr_generate(struct trainer *t, bool records);
/* The most likely target at each place where the loss looks, of the batch that was just evaluated: a prediction each. */
int tr_forced(struct trainer *t);

/* ---- trainer_touch.c: did something that should touch nothing touch anything? ---- */
struct tr_touch {
	bool known;
	char weights[72], optimizer[72];
	int64_t update, examples; /* what decides the next random numbers */
	uint64_t seed;
};
void tr_touch_look(struct trainer *t, struct tr_touch *before);
void tr_touch_fields(struct trainer *t, const struct tr_touch *before); /* into the phase record begun */

/* ---- trainer_save.c ---- */
int tr_save_now(struct trainer *t);

/* ---- trainer_show.c: --show ---- */
int tr_show_examples(struct trainer *t, int64_t k);

static inline void tr_hook(struct trainer *t, const char *point)
{
	if (t->hooks && t->hooks->at)
		t->hooks->at(t->hooks->ctx, t, point);
}

#endif
