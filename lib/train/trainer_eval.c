/* trainer_eval.c - going over a split: every example once, in evaluation mode, at its own length and
 * batch. Sums are accumulated, never means, so the result does not depend on the batch. */
#include "trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void begin(struct trainer *t, enum split s)
{
	struct validation *v = &t->validation;

	memset(v, 0, sizeof *v);
	v->split = s;
	v->examples = s == TRAIN ? t->order.examples : t->facts->count[s];
	if (s == VALIDATION && t->config.val_examples > 0 && t->config.val_examples < v->examples)
		v->examples = t->config.val_examples;
	v->micro_batch = t->val_micro_batch;
	v->length = t->val_length;
	v->evaluation_mode = true;
	t->training = false;
	memset(t->seen, 0, t->seen_bytes);
}

static void see(struct trainer *t, const struct batch *b)
{
	struct validation *v = &t->validation;

	for (int64_t i = 0; i < b->rows; i++) {
		unsigned char bit = 1 << b->index[i] % 8, *at = &t->seen[b->index[i] / 8];

		v->distinct += !(*at & bit);
		*at |= bit;
	}
}

static int one_batch(struct trainer *t, bool force)
{
	struct validation *v = &t->validation;
	int64_t rows = v->examples - v->next < v->micro_batch ? v->examples - v->next : v->micro_batch;
	int rc;

	for (int64_t i = 0; i < rows; i++)
		t->index[i] = v->next + i;
	if ((rc = data_fill(t->data, v->split, t->index, rows, v->length, &t->val_batch, t->why)) != 0)
		return rc;
	t->current = &t->val_batch;
	tr_hook(t, "val-batch");
	model_put(t->model, t->current, v->train_mode);
	model_forward(t->model, v->train_mode, false, &t->forward);
	tr_hook(t, "val-pass");
	see(t, t->current);
	v->loss_sum += t->forward.loss_sum;
	v->supervised += t->forward.supervised;
	v->correct += t->forward.correct;
	v->seen += t->current->rows;
	v->evaluation_mode &= !model_training(t->model);
	v->next += rows;
	return force ? tr_forced(t) : 0;
}

/* Memory is taken for the evaluation and given back after it. */
static int go_over(struct trainer *t, bool records)
{
	struct validation *v = &t->validation;
	bool generates = t->facts->answers;
	int rc = tr_phase_take(t, model_take(t->model, PART_VALIDATE, v->micro_batch, v->length, "validate", t->why),
		PHASE_VALIDATE, v->micro_batch, v->length);

	while (!rc && v->next < v->examples && !stop_wanted())
		rc = one_batch(t, records && !generates);
	if (!rc && generates && !stop_wanted())
		rc = tr_generate(t, records);
	model_release(t->model, PART_VALIDATE);
	return rc;
}

static double accuracy(struct trainer *t)
{
	const struct validation *v = &t->validation;

	t->exact = v->answered > 0;
	if (t->exact)
		return (double)v->exact / v->answered;
	return v->supervised > 0 ? (double)v->correct / v->supervised : NAN;
}

static int record_eval(struct trainer *t)
{
	const struct validation *v = &t->validation;
	struct rec *r = &t->rec;

	rec_begin(r, KIND_eval);
	rec_str(r, F_eval_run, t->result->run);
	rec_str(r, F_eval_split, split_name(v->split));
	rec_int(r, F_eval_update, t->progress.update);
	rec_int(r, F_eval_examples, v->seen);
	rec_int(r, F_eval_supervised, v->supervised);
	rec_num(r, F_eval_loss, v->loss_sum / v->supervised);
	rec_num(r, F_eval_accuracy, (double)v->correct / v->supervised);
	if (v->answered > 0)
		rec_num(r, F_eval_exact_match, (double)v->exact / v->answered);
	rec_int(r, F_eval_micro_batch, v->micro_batch);
	rec_int(r, F_eval_length, v->length);
	rec_num(r, F_eval_seconds, t->measure[PHASE_VALIDATE].seconds);
	rec_int(r, F_eval_run_examples, t->progress.examples);
	rec_num(r, F_eval_training_seconds, t->progress.training_seconds);
	rec_num(r, F_eval_run_seconds, clock_seconds() - t->began);
	return tr_send(t);
}

static int64_t expected(const struct trainer *t)
{
	int64_t n = t->facts->count[VALIDATION];

	return t->config.val_examples > 0 && t->config.val_examples < n ? t->config.val_examples : n;
}

static int record_phase(struct trainer *t, const struct tr_touch *before)
{
	const struct validation *v = &t->validation;
	struct rec *r = &t->rec;

	tr_phase_record(t, PHASE_VALIDATE, t->validated_here == 1 ? "first" : "steady");
	rec_num(r, F_phase_loss, v->loss_sum / v->supervised);
	rec_str(r, F_phase_split, split_name(v->split));
	rec_int(r, F_phase_supervised, v->supervised);
	rec_int(r, F_phase_expected_examples, expected(t));
	rec_int(r, F_phase_distinct_examples, v->distinct);
	rec_bool(r, F_phase_evaluation_mode, v->evaluation_mode);
	rec_bool(r, F_phase_training_mode_after, t->training);
	tr_touch_fields(t, before);
	return tr_send(t);
}

/* One evaluation: 0 whole, 1 cut short by a signal, <0 failed. */
static int evaluate(struct trainer *t, enum split s, bool records)
{
	int rc;

	begin(t, s);
	tr_hook(t, "validate");
	tr_phase_begin(t, PHASE_VALIDATE);
	rc = go_over(t, records);
	tr_phase_end(t, PHASE_VALIDATE, t->validation.seen);
	t->measure[PHASE_VALIDATE].passes = (t->validation.seen + t->validation.micro_batch - 1) / t->validation.micro_batch;
	t->training = true;
	if (rc < 0 || stop_wanted())
		return rc < 0 ? rc : 1;
	tr_hook(t, "validated");
	return record_eval(t);
}

static void keep_best(struct trainer *t)
{
	struct progress *p = &t->progress;

	p->last_validation = t->validation.loss_sum / t->validation.supervised;
	if (p->validations == 0 || p->last_validation < p->best_validation) {
		p->best_validation = p->last_validation;
		p->best_update = p->update;
	}
	p->validations++;
	t->val_accuracy = accuracy(t);
}

int tr_validate(struct trainer *t)
{
	struct tr_touch before = { .known = false };
	int rc;

	if (t->facts->count[VALIDATION] == 0)
		return 0;
	if (t->validated_here < 2)
		tr_touch_look(t, &before);
	if ((rc = evaluate(t, VALIDATION, false)) != 0)
		return rc < 0 ? rc : 0;
	t->validated_here++;
	keep_best(t);
	return t->validated_here <= 2 ? record_phase(t, &before) : 0;
}

int tr_test(struct trainer *t)
{
	int rc;

	if (t->facts->count[TEST] == 0)
		return 0;
	if ((rc = evaluate(t, TEST, false)) != 0)
		return rc < 0 ? rc : 0;
	t->tested = true;
	t->test_loss = t->validation.loss_sum / t->validation.supervised;
	t->test_accuracy = accuracy(t);
	return 0;
}

int tr_overfit(struct trainer *t)
{
	int rc = evaluate(t, TRAIN, true);

	if (rc)
		return rc < 0 ? rc : 0;
	t->overfit_seen = t->validation.answered;
	t->recovered = t->validation.exact;
	if (t->recovered < t->overfit_seen)
		t->result->code = EX_NO;
	return 0;
}
