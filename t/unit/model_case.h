/* model_case.h - what the tests of models share: a model with everything taken, and random batches. */
#ifndef PILOT_MODEL_CASE_H
#define PILOT_MODEL_CASE_H

#include "../../lib/train/train.h"
#include "tap.h"

struct model_case {
	const char *spec;
	bool sequence;
	int64_t rows, length, classes;
	double dropout;
	const char *freeze;
	int threads;
	int64_t budget;
};

struct model_run {
	struct dev *dev;
	struct model *model;
	struct param *param;
	int params;
	struct batch batch;
	struct why why;
};

static inline void batch_random(struct batch *b, int64_t rows, int64_t length, bool sequence, int64_t classes)
{
	int64_t n = sequence ? rows * length : rows;

	*b = (struct batch){ .rows = rows, .length = length };
	b->targets = calloc((size_t)n, sizeof *b->targets);
	b->key = calloc((size_t)rows, sizeof *b->key);
	if (sequence)
		b->ids = calloc((size_t)n, sizeof *b->ids);
	else
		b->x = calloc((size_t)(rows * length), sizeof *b->x);
	for (int64_t i = 0; i < n; i++) {
		b->targets[i] = (int32_t)(rand_bits(1, RAND_TEST, (uint64_t)i, 0) % (uint64_t)classes);
		if (sequence)
			b->ids[i] = (int32_t)(rand_bits(1, RAND_TEST, (uint64_t)i, 1) % (uint64_t)classes);
	}
	for (int64_t i = 0; !sequence && i < rows * length; i++)
		b->x[i] = (float)rand_normal(1, RAND_TEST, (uint64_t)i, 2);
	for (int64_t r = 0; r < rows; r++)
		b->key[r] = 1000 + (uint64_t)r;
}

static inline void batch_drop(struct batch *b)
{
	free(b->ids);
	free(b->x);
	free(b->targets);
	free(b->key);
}

static inline struct data_facts facts_of(const struct model_case *c)
{
	return (struct data_facts){ .sequence = c->sequence, .classes = c->classes, .features = c->sequence ? 0 : c->length, .length = c->length };
}

/* Everything but the optimizer's part; weights initial, then shaken so that biases count. 0 or the code. */
static inline int run_open(struct model_run *r, const struct model_case *c)
{
	struct data_facts facts = facts_of(c);
	int rc;

	memset(r, 0, sizeof *r);
	rc = dev_open(&r->dev, "cpu", c->budget, c->threads ? c->threads : 2, &r->why);
	if (rc == 0)
		rc = model_new(&r->model, c->spec, &facts, c->length, c->dropout, c->freeze ? c->freeze : "", 5, r->dev, &r->why);
	if (rc == 0)
		r->params = model_params(r->model, &r->param);
	for (enum part part = PART_LOAD; rc == 0 && part < PARTS; part++)
		if (part != PART_UPDATE)
			rc = model_take(r->model, part, c->rows, c->length, "test", &r->why);
	if (rc < 0)
		return rc;
	model_init(r->model);
	for (int i = 0; i < r->params; i++)
		for (int64_t k = 0; k < r->param[i].count; k++)
			r->param[i].w[k] += 0.1f * (float)rand_normal(2, RAND_TEST, (uint64_t)k, (uint64_t)i);
	batch_random(&r->batch, c->rows, c->length, c->sequence, c->classes);
	return 0;
}

static inline void run_close(struct model_run *r)
{
	batch_drop(&r->batch);
	model_free(r->model);
	dev_close(r->dev);
}

/* Rows first..first+n-1 of the batch, in place. */
static inline struct batch batch_cut(const struct batch *b, int64_t first, int64_t n)
{
	struct batch c = *b;

	c.rows = n;
	c.targets += first * (b->ids ? b->length : 1);
	c.key += first;
	if (b->ids)
		c.ids += first * b->length;
	else
		c.x += first * b->length;
	return c;
}

/* Adds the batch's gradient; returns the loss's sum. */
static inline double run_pass(struct model_run *r, const struct batch *b, double scale)
{
	struct forward f;

	model_put(r->model, b, true);
	model_forward(r->model, true, false, &f);
	model_backward(r->model, scale);
	return f.loss_sum;
}

/* A copy of all gradients, one after another; the caller's. */
static inline float *run_gradients(const struct model_run *r)
{
	float *copy = malloc((size_t)model_numbers(r->model, true) * sizeof *copy), *at = copy;

	for (int i = 0; i < r->params; i++)
		if (r->param[i].g) {
			memcpy(at, r->param[i].g, (size_t)r->param[i].count * sizeof *at);
			at += r->param[i].count;
		}
	return copy;
}

#endif
