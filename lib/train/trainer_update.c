/* trainer_update.c - one update: the window's micro-batches on the host, a forward and backward
 * pass each, then the optimizer. The loss is normalised by what the whole window holds. */
#include "trainer.h"

#include <math.h>
#include <string.h>

/* ---- data ---- */

static int fill(struct trainer *t, int k, struct sha *digest)
{
	struct batch *b = &t->window[k];
	int64_t at = k * t->config.micro_batch, rows = t->count - at;
	int rc;

	if (rows > t->config.micro_batch)
		rows = t->config.micro_batch;
	for (int64_t i = 0; i < rows; i++)
		t->index[i] = order_example(&t->order, t->epoch, t->first + at + i);
	if ((rc = data_fill(t->data, TRAIN, t->index, rows, t->length, b, t->why)) != 0)
		return rc;
	for (int64_t i = 0; i < rows; i++)
		b->key[i] = (uint64_t)(t->epoch * t->order.examples + t->first + at + i);
	sha_add(digest, b->index, rows * sizeof *b->index);
	return 0;
}

static void digest_end(struct trainer *t, struct sha *s)
{
	unsigned char raw[32];
	char hex[65];

	sha_end(s, raw);
	sha_hex(raw, hex);
	snprintf(t->batch_digest, sizeof t->batch_digest, "%.16s", hex);
}

static int load_window(struct trainer *t)
{
	struct sha *digest = sha_new();
	int rc = 0;

	if (!digest)
		return why_set(t->why, EX_OSERR, "data: no memory for a digest");
	order_window(&t->order, t->progress.update, &t->epoch, &t->first, &t->count);
	t->passes = (t->count + t->config.micro_batch - 1) / t->config.micro_batch;
	for (int k = 0; k < t->passes && !rc; k++)
		rc = fill(t, k, digest);
	digest_end(t, digest);
	if (rc)
		return rc;
	tr_hook(t, "window");
	t->supervised = t->tokens = 0;
	for (int k = 0; k < t->passes; k++) {
		t->supervised += t->window[k].supervised;
		t->tokens += t->window[k].tokens;
	}
	if (t->supervised == 0)
		return why_set(t->why, EX_DATAERR, "data: update %lld: none of its %lld examples has a target that the loss looks at",
			(long long)t->progress.update + 1, (long long)t->count);
	return 0;
}

static int data_phase(struct trainer *t)
{
	int rc;

	tr_phase_begin(t, PHASE_DATA);
	rc = tr_phase_take(t, model_take(t->model, PART_DATA, t->config.micro_batch, t->length, "data", t->why),
		PHASE_DATA, t->config.micro_batch, t->length);
	if (rc == 0)
		rc = load_window(t);
	tr_phase_end(t, PHASE_DATA, 0);
	return rc;
}

/* ---- passes ---- */

static void put_phase(struct trainer *t, int k)
{
	t->current = &t->window[k];
	tr_phase_begin(t, PHASE_DATA);
	tr_hook(t, "put");
	model_put(t->model, t->current, true);
	tr_phase_end(t, PHASE_DATA, t->current->rows);
}

static int forward_phase(struct trainer *t, int k)
{
	int rc;

	tr_phase_begin(t, PHASE_FORWARD);
	rc = tr_phase_take(t, model_take(t->model, PART_FORWARD, t->config.micro_batch, t->length, "forward", t->why),
		PHASE_FORWARD, t->config.micro_batch, t->length);
	if (rc == 0)
		model_forward(t->model, true, t->measuring && k == 0, &t->forward);
	tr_phase_end(t, PHASE_FORWARD, t->current->rows);
	if (rc)
		return rc;
	tr_hook(t, "forward");
	t->loss_sum += t->forward.loss_sum;
	if (t->measuring)
		tr_facts_forward(t);
	return 0;
}

static int backward_phase(struct trainer *t, int k)
{
	int rc;

	tr_phase_begin(t, PHASE_BACKWARD);
	rc = tr_phase_take(t, model_take(t->model, PART_BACKWARD, t->config.micro_batch, t->length, "backward", t->why),
		PHASE_BACKWARD, t->config.micro_batch, t->length);
	if (rc == 0 && k == 0)
		model_zero_gradients(t->model);
	if (rc == 0)
		model_backward(t->model, 1.0 / t->supervised);
	tr_phase_end(t, PHASE_BACKWARD, t->current->rows);
	if (rc == 0)
		tr_hook(t, "backward");
	return rc;
}

/* Ends early at a loss that is not finite: nothing after it could be used. */
static int passes(struct trainer *t)
{
	int rc = 0;

	t->loss_sum = 0;
	for (int k = 0; k < t->passes && !rc; k++) {
		put_phase(t, k);
		if ((rc = forward_phase(t, k)) != 0 || !isfinite(t->loss_sum))
			break;
		rc = backward_phase(t, k);
	}
	t->loss = t->loss_sum / t->supervised;
	return rc;
}

/* ---- the update itself ---- */

static int apply(struct trainer *t)
{
	int rc;

	tr_hook(t, "rate");
	rc = tr_phase_take(t, optim_take(t->optim, t->dev, t->param, t->params, "update", t->why),
		PHASE_UPDATE, t->config.micro_batch, t->length);
	if (rc == 0)
		optim_step(t->optim, t->dev, t->param, t->params, t->rate, t->scale);
	tr_phase_end(t, PHASE_UPDATE, t->count);
	if (rc == 0)
		tr_hook(t, "update");
	return rc;
}

/* Norm and clipping belong to the update's time. */
static void prepare(struct trainer *t)
{
	double clip = t->config.clip;

	tr_phase_begin(t, PHASE_UPDATE);
	t->gradient_norm = optim_gradient_norm(t->dev, t->param, t->params);
	t->scale = clip > 0 && t->gradient_norm > clip ? clip / t->gradient_norm : 1;
}

static void evidence(struct trainer *t, void (*look)(struct trainer *))
{
	double began = clock_seconds();

	if (t->measuring)
		look(t);
	t->evidence_seconds += clock_seconds() - began;
}

static void count(struct trainer *t)
{
	struct progress *p = &t->progress;

	p->update++;
	p->attempted++;
	p->examples += t->count;
	p->tokens += t->tokens;
	p->training_seconds += t->update_seconds;
	t->applied_here++;
	if (p->update % t->upe == 0)
		p->dropped += t->order.examples - order_examples_per_epoch(&t->order);
}

static bool diverged(struct trainer *t)
{
	if (!isfinite(t->loss))
		tr_ending(t, "diverged", "the loss of update %lld is not finite", (long long)t->progress.update + 1);
	else if (t->loss > t->stop.loss_above)
		tr_ending(t, "diverged", "the loss of update %lld is %g, above %g (--stop)", (long long)t->progress.update + 1,
			t->loss, t->stop.loss_above);
	else if (!isfinite(t->gradient_norm))
		tr_ending(t, "diverged", "the gradient of update %lld is not finite", (long long)t->progress.update + 1);
	else
		return false;
	return true;
}

/* An update that its loss alone ends: the gradient, if there is one, is told all the same. */
static void given_up(struct trainer *t)
{
	if (!t->measure[PHASE_BACKWARD].begun)
		return;
	tr_hook(t, "gradient");
	evidence(t, tr_facts_gradient);
	t->gradient_norm = optim_gradient_norm(t->dev, t->param, t->params);
}

/* Attempted and not applied: the weights stay as the last good update left them. */
static int skip(struct trainer *t)
{
	int rc;

	t->progress.attempted++;
	t->progress.skipped++;
	t->update_seconds = clock_seconds() - t->update_began - t->evidence_seconds;
	rc = tr_record_step(t, true);
	return rc || !t->measuring ? rc : tr_facts_records(t);
}

/* The first applied update of this process, and a steady one: the third, or the last there will be. */
static void choose_measuring(struct trainer *t)
{
	int64_t last = t->progress.horizon;

	if (t->stop.update > 0 && t->stop.update < last)
		last = t->stop.update;
	t->measuring = t->applied_here == 0 || t->applied_here == 2 || (t->applied_here == 1 && t->progress.update + 1 == last);
	t->occurrence = t->applied_here == 0 ? "first" : "steady";
}

static void begin(struct trainer *t)
{
	t->update_began = clock_seconds();
	choose_measuring(t);
	tr_phases_reset(t);
	tr_facts_reset(t);
	t->evidence_seconds = 0;
	t->gradient_norm = 0;
	t->scale = 1;
	t->rate = schedule_rate(&t->schedule, optim_lr(t->optim), t->progress.update);
}

int tr_update_once(struct trainer *t)
{
	int rc;

	begin(t);
	if (!t->training)
		return why_set(t->why, EX_SOFTWARE, "forward: update %lld: the model is still in evaluation mode", (long long)t->progress.update + 1);
	if ((rc = data_phase(t)) != 0)
		return rc;
	evidence(t, tr_facts_data);
	if ((rc = passes(t)) != 0)
		return rc;
	t->attempted_here++;
	if (diverged(t)) {
		given_up(t);
		return skip(t);
	}
	tr_hook(t, "gradient");
	evidence(t, tr_facts_gradient);
	evidence(t, tr_facts_before);
	prepare(t);
	if (diverged(t)) {
		tr_phase_end(t, PHASE_UPDATE, 0);
		t->measure[PHASE_UPDATE].begun = false;
		return skip(t);
	}
	if ((rc = apply(t)) != 0)
		return rc;
	evidence(t, tr_facts_after);
	t->update_seconds = clock_seconds() - t->update_began - t->evidence_seconds;
	count(t);
	tr_hook(t, "step");
	if ((rc = tr_record_step(t, false)) != 0)
		return rc;
	return t->measuring ? tr_facts_records(t) : 0;
}
