/* trainer_plan.c - what a run will need and how long it will be, before any memory is taken. */
#include "trainer.h"

#include <math.h>

/* The least number of updates that sees at least so many examples. */
static int64_t updates_for_examples(const struct order *o, int64_t examples)
{
	int64_t epoch = order_examples_per_epoch(o), window = o->micro_batch * o->accum;
	int64_t rest = examples % epoch;

	return examples / epoch * order_updates_per_epoch(o) + rest / window + (rest % window != 0);
}

int64_t tr_plan_horizon(const struct config *c, const struct order *o, struct why *w)
{
	int64_t upe = order_updates_per_epoch(o);
	double updates;

	if (upe == 0)
		return why_set(w, EX_USAGE, "budget: an update takes micro-batch x accum = %lld examples, the training split has %lld: "
			"no window is complete (--last-window keep trains on it all the same)",
			(long long)(o->micro_batch * o->accum), (long long)o->examples);
	if (c->updates > 0)
		return c->updates;
	if (c->examples > 0)
		return updates_for_examples(o, c->examples);
	updates = ceil(c->epochs * upe * (1 - 1e-12));
	if (updates > 1e15)
		return why_set(w, EX_USAGE, "--epochs %g: more than 1e15 updates", c->epochs);
	return updates < 1 ? 1 : (int64_t)updates;
}

double tr_plan_epochs(const struct trainer *t, int64_t updates)
{
	return (double)updates / t->upe;
}

static bool trains(const struct trainer *t)
{
	return t->progress.horizon > t->progress.update;
}

static bool validates(const struct trainer *t)
{
	return t->config.overfit > 0 || t->facts->count[VALIDATION] > 0 || t->facts->count[TEST] > 0;
}

/* Bytes of every part for micro-batches of that size. */
static void parts(const struct trainer *t, int64_t rows, int64_t bytes[PARTS])
{
	int64_t val_rows = t->config.val_micro_batch ? t->config.val_micro_batch : rows;

	for (enum part p = PART_LOAD; p <= PART_BACKWARD; p++)
		bytes[p] = model_plan(t->model, p, rows, t->length);
	bytes[PART_UPDATE] = optim_plan(t->optim, t->param, t->params);
	bytes[PART_VALIDATE] = validates(t) ? model_plan(t->model, PART_VALIDATE, val_rows, t->val_length) : 0;
}

/* A run that trains ends with all parts in memory at once; one that resumes has its
 * optimizer state from the start. */
static bool counts(const struct trainer *t, enum part p)
{
	if (p == PART_UPDATE)
		return trains(t) || t->checkpoint;
	return p == PART_LOAD || p == PART_VALIDATE || trains(t);
}

static int64_t peak_of(const struct trainer *t, int64_t rows)
{
	int64_t bytes[PARTS], sum = 0;

	parts(t, rows, bytes);
	for (enum part p = 0; p < PARTS; p++)
		sum += counts(t, p) ? bytes[p] : 0;
	return sum;
}

void tr_plan_memory(struct trainer *t)
{
	parts(t, t->config.micro_batch, t->plan);
	t->plan_peak = peak_of(t, t->config.micro_batch);
	t->plan_twice = peak_of(t, 2 * t->config.micro_batch);
}

/* The last phase in which memory grows. */
static const char *peak_phase(const struct trainer *t)
{
	static const enum phase of[PARTS] = { PHASE_LOAD, PHASE_DATA, PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_VALIDATE };
	enum phase last = PHASE_LOAD;

	if (t->checkpoint && t->plan[PART_UPDATE])
		last = PHASE_RESUME;
	for (enum part p = PART_DATA; p < PARTS; p++)
		if (counts(t, p) && t->plan[p] && !(p == PART_UPDATE && t->checkpoint))
			last = of[p];
	return tr_phase_name(last);
}

int tr_record_plan(struct trainer *t)
{
	int64_t reserved = 0, per_example = (t->plan_twice - t->plan_peak) / t->config.micro_batch;
	struct rec *r = &t->rec;

	for (enum part p = 0; p < PARTS; p++)
		reserved += counts(t, p) ? dev_reserved(t->plan[p]) : 0;
	rec_begin(r, KIND_plan);
	rec_str(r, F_plan_run, t->result->run);
	rec_int(r, F_plan_load_bytes, t->plan[PART_LOAD]);
	rec_int(r, F_plan_data_bytes, t->plan[PART_DATA]);
	rec_int(r, F_plan_forward_bytes, t->plan[PART_FORWARD]);
	rec_int(r, F_plan_backward_bytes, t->plan[PART_BACKWARD]);
	rec_int(r, F_plan_update_bytes, t->plan[PART_UPDATE]);
	rec_int(r, F_plan_validate_bytes, t->plan[PART_VALIDATE]);
	rec_int(r, F_plan_save_bytes, 0);
	rec_int(r, F_plan_resume_bytes, 0);
	rec_int(r, F_plan_peak_bytes, t->plan_peak);
	rec_str(r, F_plan_peak_phase, peak_phase(t));
	rec_int(r, F_plan_reserved_bytes, reserved);
	rec_int(r, F_plan_fixed_bytes, t->plan_peak - per_example * t->config.micro_batch);
	rec_int(r, F_plan_per_example_bytes, per_example);
	if (t->config.memory_bytes > 0)
		rec_int(r, F_plan_budget_bytes, t->config.memory_bytes);
	return tr_send(t);
}
