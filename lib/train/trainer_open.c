/* trainer_open.c - all parts of a run, made before its first record: settings, folder, device, data,
 * model, optimizer, schedule and the plan. Nothing is taken from the device yet. */
#include "trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int no_memory(struct trainer *t)
{
	return why_set(t->why, EX_OSERR, "start: no memory on the host");
}

static void fresh(struct trainer *t)
{
	memset(&t->progress, 0, sizeof t->progress);
	snprintf(t->progress.lineage, sizeof t->progress.lineage, "%s", t->result->run);
	t->progress.best_validation = t->progress.last_validation = NAN;
}

/* A checkpoint keeps settings as JSON strings, so what it could not keep is refused before the training. */
static int check_strings(struct trainer *t)
{
	struct buf value = { 0 }, shown = { 0 };
	int rc = 0;

	for (enum option o = 0; o < OPTIONS && !rc && *t->config.save; o++) {
		value.n = shown.n = 0;
		if (config_get(&t->config, o, &value) || text_escape(&shown, (char *)value.p, value.n))
			rc = no_memory(t);
		else if (value.n != shown.n)
			rc = why_set(t->why, EX_USAGE, "--%s: a control character, or bytes that are no UTF-8: a checkpoint cannot keep them", option_info(o)->option);
	}
	buf_free(&value);
	buf_free(&shown);
	return rc;
}

static int open_settings(struct trainer *t, const struct config *c)
{
	int rc;

	if ((rc = config_check(c, t->why)) != 0)
		return rc;
	if (*c->resume) {
		rc = tr_resume_open(t, c);
	} else {
		fresh(t);
		rc = config_copy(&t->config, c) ? no_memory(t) : 0;
		if (rc == 0 && c->overfit > 0 && !config_given(c, O_val_every))
			t->config.val_every = 0; /* held-out examples are not what --overfit asks about */
	}
	if (rc)
		return rc;
	snprintf(t->progress.run, sizeof t->progress.run, "%s", t->result->run);
	if ((rc = stop_parse(&t->stop, t->config.stop, t->why)) != 0 || (rc = check_strings(t)) != 0)
		return rc;
	if (*t->config.save && !t->names->show)
		rc = checkpoint_claim(t->config.save, t->checkpoint ? t->progress.lineage : "", t->progress.update, &t->lock, t->why);
	return rc;
}

static int open_data(struct trainer *t)
{
	struct config *c = &t->config;
	int rc;

	if ((rc = data_open(&t->data, c->data, c->length, 0, t->why)) != 0)
		return rc;
	t->facts = data_facts(t->data);
	t->length = t->facts->sequence ? t->facts->length : t->facts->features;
	if (c->val_length > 0 && (!t->facts->sequence || c->overfit > 0))
		return why_set(t->why, EX_USAGE, "--val-length: %s", c->overfit > 0 ? "--overfit evaluates training examples at their own length" :
			"the data have no length to choose");
	if ((rc = data_cut(t->data, c->val_length, t->why)) != 0)
		return rc;
	/* Room for more than the longest example is room for padding alone. */
	t->val_length = c->val_length <= 0 ? t->length : c->val_length < t->facts->length ? c->val_length : t->facts->length;
	t->val_micro_batch = c->val_micro_batch > 0 ? c->val_micro_batch : c->micro_batch;
	return t->checkpoint ? checkpoint_same_data(t->checkpoint, t->facts, t->why) : 0;
}

static int open_order(struct trainer *t)
{
	const struct config *c = &t->config;
	int64_t examples = t->facts->count[TRAIN], horizon;

	if (c->overfit > 0 && c->overfit < examples)
		examples = c->overfit;
	t->order = (struct order){ .seed = (uint64_t)c->seed, .examples = examples, .micro_batch = c->micro_batch,
		.accum = c->accum, .keep = strcmp(c->last_window, "keep") == 0 };
	t->upe = order_updates_per_epoch(&t->order);
	if (t->checkpoint)
		return tr_resume_budget(t);
	if ((horizon = tr_plan_horizon(c, &t->order, t->why)) < 0)
		return horizon;
	t->progress.horizon = horizon;
	return 0;
}

static int open_model(struct trainer *t)
{
	const struct config *c = &t->config;
	int64_t longest = t->length > t->val_length ? t->length : t->val_length;
	int rc;

	if ((rc = schedule_parse(&t->schedule, c->schedule, t->progress.horizon, t->why)) != 0 ||
		(rc = optim_new(&t->optim, c->optimizer, t->why)) != 0 ||
		(rc = dev_open(&t->dev, c->device, c->memory_bytes, (int)c->threads, t->why)) != 0)
		return rc;
	rc = model_new(&t->model, c->model, t->facts, longest, c->dropout, c->freeze, (uint64_t)c->seed, t->dev, t->why);
	if (rc)
		return rc;
	t->params = model_params(t->model, &t->param);
	if (model_numbers(t->model, true) == 0)
		return why_set(t->why, EX_USAGE, "--freeze %s: nothing is left to train", c->freeze);
	return *c->weights ? sha_file(c->weights, t->weights_file_digest, NULL, t->why) : 0;
}

/* The host's side: a window's micro-batches, one batch for evaluation, and scratch. */
static int open_batches(struct trainer *t)
{
	int64_t accum = t->config.accum, mb = t->config.micro_batch, val = t->val_micro_batch, most = 0;
	bool sequence = t->facts->sequence;

	if (mb > t->order.examples)
		mb = t->order.examples; /* no batch can have more rows */
	if (accum > t->order.examples / mb + 1)
		accum = t->order.examples / mb + 1;
	for (enum split s = 0; s < SPLITS; s++)
		most = t->facts->count[s] > most ? t->facts->count[s] : most;
	if (val > most)
		val = most;
	t->windows = (int)accum;
	t->seen_bytes = most / 8 + 1;
	t->index = calloc(mb > val ? mb : val, sizeof *t->index);
	t->seen = malloc(t->seen_bytes);
	t->before = calloc(t->params, sizeof *t->before);
	t->window = calloc(accum, sizeof *t->window);
	if (!t->index || !t->seen || !t->before || !t->window)
		return no_memory(t);
	for (int k = 0; k < t->windows; k++)
		if (batch_init(&t->window[k], mb, t->length, sequence) != 0)
			return no_memory(t);
	return batch_init(&t->val_batch, val, t->val_length, sequence) ? no_memory(t) : 0;
}

int tr_open(struct trainer *t, const struct config *c)
{
	int rc;

	t->lock = -1;
	t->training = true;
	t->last_saved = 0;
	ulid_new(t->result->run);
	if ((rc = open_settings(t, c)) != 0 || (rc = open_data(t)) != 0 || (rc = open_order(t)) != 0 ||
		(rc = open_model(t)) != 0 || (rc = open_batches(t)) != 0)
		return rc;
	tr_plan_memory(t);
	return 0;
}

void tr_close(struct trainer *t)
{
	for (int k = 0; t->window && k < t->windows; k++)
		batch_free(&t->window[k]);
	free(t->window);
	batch_free(&t->val_batch);
	tr_facts_free(t);
	free(t->index);
	free(t->seen);
	example_text_free(&t->text);
	rec_free(&t->rec);
	if (t->optim)
		optim_free(t->optim, t->dev);
	model_free(t->model);
	dev_close(t->dev);
	data_close(t->data);
	checkpoint_close(t->checkpoint);
	if (t->lock >= 0)
		close(t->lock);
	config_free(&t->config);
}
