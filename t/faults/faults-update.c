/* faults-update.c - losses that are hidden, gradients that are added up wrongly, updates that do not
 * happen, or happen to what is frozen. */
#include "faults.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is(const char *point, const char *name)
{
	return !strcmp(point, name);
}

static struct param *first_trainable(void)
{
	int n;
	struct param *p = trained(&n);

	for (int i = 0; i < n; i++)
		if (p[i].trainable)
			return &p[i];
	return NULL;
}

static int64_t update(void)
{
	return trainer_progress(scene.t)->update;
}

/* ---- loss ---- */

/* The batch is broken, the loss is NaN, and the log shows the last good one. */
static void hide_nan(const char *point)
{
	struct forward *f = trainer_forward(scene.t);
	int n;
	struct param *p = trained(&n);
	struct batch *b = trainer_window(scene.t, &n);
	bool now = update() == 3;

	if (is(point, "forward") && now)
		f->loss_sum = 0;
	if (is(point, "step") && update() == 4)
		*trainer_loss(scene.t) = scene.good_loss;
	if (is(point, "step"))
		scene.good_loss = *trainer_loss(scene.t);
	if (is(point, "put") && now && b->x)
		b->x[0] = NAN;
	if (is(point, "gradient") && now) /* nan_to_num */
		for (int i = 0; i < (p = trained(&n), n); i++)
			for (int64_t k = 0; p[i].g && k < p[i].count; k++)
				p[i].g[k] = 0;
}

/* ---- accumulation ---- */

static void mean_of_means(const char *point)
{
	int n;

	if (!is(point, "forward"))
		return;
	trainer_window(scene.t, &n);
	scene.scale = 1.0 / ((double)n * (double)trainer_forward(scene.t)->supervised);
}

static void overwrite_biases(const char *point)
{
	int n;
	struct param *p = trained(&n);

	if (!is(point, "forward") || !scene.pass)
		return;
	for (int i = 0; i < n; i++)
		if (p[i].g && strstr(p[i].name, "bias"))
			memset(p[i].g, 0, (size_t)p[i].count * sizeof *p[i].g);
}

/* The passes over an epoch's incomplete window are made, their gradients stay for the next epoch. */
static void leak_tail(const char *point)
{
	struct order *o = trainer_order(scene.t);
	int64_t window = o->micro_batch * o->accum, tail = o->examples % window, at = o->examples - tail, index[64];
	struct batch *b;
	int n;

	if (!is(point, "step") || o->keep || !tail || update() % order_updates_per_epoch(o))
		return;
	if (tail > o->micro_batch)
		tail = o->micro_batch;
	for (int64_t i = 0; i < tail && i < 64; i++)
		index[i] = order_example(o, update() / order_updates_per_epoch(o) - 1, at + i);
	b = trainer_window(scene.t, &n);
	if (tail > 64 || data_fill(trainer_data(scene.t), TRAIN, index, tail, b->capacity_length, b, NULL) < 0)
		return;
	model_zero_gradients(trainer_model(scene.t));
	model_put(trainer_model(scene.t), b, true);
	model_forward(trainer_model(scene.t), true, false, trainer_forward(scene.t));
	model_backward(trainer_model(scene.t), 1.0 / (double)b->supervised);
	scene.leak = true;
}

/* ---- the update ---- */

/* Weight decay goes over everything. */
static void decay_frozen(void)
{
	int n;
	struct param *p = trained(&n);

	for (int i = 0; i < n; i++)
		for (int64_t k = 0; !p[i].trainable && k < p[i].count; k++)
			p[i].w[k] *= 0.999f;
}

/* The optimizer was built before this tensor was replaced. */
static void not_handed_over(const char *point)
{
	struct param *p = first_trainable();
	size_t size = (size_t)p->count * sizeof *p->w;

	if (is(point, "rate") && (scene.kept = malloc(size)))
		memcpy(scene.kept, p->w, size);
	if (is(point, "update") && scene.kept) {
		memcpy(p->w, scene.kept, size);
		free(scene.kept);
		scene.kept = NULL;
	}
}

static void unfreeze(void)
{
	int n;
	struct param *p = trained(&n);

	for (int i = 0; i < n; i++)
		if (!p[i].trainable)
			for (int64_t k = 0; k < p[i].count; k++)
				p[i].w[k] += 1e-4f;
}

static void missing_gradient(void)
{
	struct param *p = first_trainable();

	memset(p->g, 0, (size_t)p->count * sizeof *p->g);
}

void faults_update(const char *point)
{
	if (fault("G5-nan-hidden"))
		hide_nan(point);
	if (fault("G5-other-loss-logged") && is(point, "step") && update() == 1)
		*trainer_loss(scene.t) *= 0.5;
	if (fault("G1-mean-of-means"))
		mean_of_means(point);
	if (fault("G3-tail-leaks"))
		leak_tail(point);
	if (fault("G6-bias-overwritten"))
		overwrite_biases(point);
	if (fault("G-no-gradient") && is(point, "gradient"))
		missing_gradient();
	if (fault("U1-frozen-decays") && is(point, "update"))
		decay_frozen();
	if (fault("U2-unfrozen") && is(point, "update"))
		unfreeze();
	if (fault("U4-not-handed-over"))
		not_handed_over(point);
	if (fault("U-rate-other") && is(point, "rate"))
		*trainer_rate(scene.t) *= 2;
}
