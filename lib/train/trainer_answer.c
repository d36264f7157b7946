/* trainer_answer.c - what the model answers: greedily, letter by letter, where the data have
 * prompts; else the most likely target wherever the loss looks. */
#include "trainer.h"

#include <stdlib.h>
#include <string.h>

static int32_t most_likely(const float *logits, int64_t classes)
{
	int64_t best = 0;

	for (int64_t i = 1; i < classes; i++)
		if (logits[i] > logits[best])
			best = i;
	return (int32_t)best;
}

/* One prediction. right is compared letter by letter. */
static int predict(struct trainer *t, const struct buf *output, bool right, bool record)
{
	struct validation *v = &t->validation;
	struct example_text *x = &t->text;
	struct rec *r = &t->rec;

	v->answered++;
	v->exact += right;
	if (!record)
		return 0;
	rec_begin(r, KIND_prediction);
	rec_str(r, F_prediction_run, t->result->run);
	rec_int(r, F_prediction_update, t->progress.update);
	rec_str(r, F_prediction_split, split_name(v->split));
	rec_strn(r, F_prediction_id, (char *)x->id.p, x->id.n);
	rec_strn(r, F_prediction_text, (char *)x->text.p, x->text.n);
	rec_strn(r, F_prediction_target, (char *)x->target.p, x->target.n);
	rec_strn(r, F_prediction_output, (char *)output->p, output->n);
	rec_bool(r, F_prediction_correct, right);
	return tr_send(t);
}

/* ---- greedy generation ---- */

/* Rows of prompts that grow; a row is finished at its end id or when it is full. */
struct growing {
	int64_t rows, width;
	int32_t *ids;          /* (rows, width) */
	int64_t *prompt, *n;   /* ids of the prompt, and in all */
	bool *done, *ended; /* ended: by its end id, and not for lack of room */
	int32_t end_id;
};

static void growing_free(struct growing *g)
{
	free(g->ids);
	free(g->prompt);
	free(g->n);
	free(g->done);
	free(g->ended);
}

static int growing_new(struct growing *g, int64_t rows, int64_t width)
{
	memset(g, 0, sizeof *g);
	g->width = width;
	g->ids = calloc(rows * width, sizeof *g->ids);
	g->prompt = calloc(rows, sizeof *g->prompt);
	g->n = calloc(rows, sizeof *g->n);
	g->done = calloc(rows, sizeof *g->done);
	g->ended = calloc(rows, sizeof *g->ended);
	if (g->ids && g->prompt && g->n && g->done && g->ended)
		return 0;
	growing_free(g);
	return -EX_OSERR;
}

static int start(struct trainer *t, struct growing *g, int64_t first, int64_t rows)
{
	g->rows = rows;
	for (int64_t i = 0; i < rows; i++) {
		int64_t n = data_prompt(t->data, t->validation.split, first + i, g->ids + i * g->width, g->width, &g->end_id);

		if (n <= 0 || n > g->width)
			return why_set(t->why, EX_SOFTWARE, "validate: example %lld has no prompt that fits", (long long)(first + i));
		g->prompt[i] = g->n[i] = n;
		g->done[i] = g->ended[i] = false;
	}
	return 0;
}

static void into_batch(const struct growing *g, struct batch *b)
{
	b->rows = g->rows;
	b->length = 0;
	for (int64_t i = 0; i < g->rows; i++)
		if (g->n[i] > b->length)
			b->length = g->n[i];
	b->supervised = b->tokens = 0;
	for (int64_t i = 0; i < g->rows; i++) {
		for (int64_t k = 0; k < b->length; k++) {
			b->ids[i * b->length + k] = k < g->n[i] ? g->ids[i * g->width + k] : 0;
			b->targets[i * b->length + k] = -1;
		}
		b->lengths[i] = g->n[i];
		b->tokens += g->n[i];
	}
}

/* One more id for each unfinished row; whether any is left unfinished. */
static bool grow(struct trainer *t, struct growing *g)
{
	struct batch *b = &t->val_batch;
	const float *logits;
	bool more = false;

	into_batch(g, b);
	model_put(t->model, b, false);
	model_forward(t->model, false, false, &t->forward);
	logits = model_logits(t->model);
	for (int64_t i = 0; i < g->rows; i++) {
		int64_t at = i * b->length + g->n[i] - 1;
		int32_t id;

		if (g->done[i])
			continue;
		id = most_likely(logits + at * t->facts->classes, t->facts->classes);
		g->ended[i] = id == g->end_id;
		g->done[i] = g->ended[i] || g->n[i] == g->width;
		if (!g->done[i])
			g->ids[i * g->width + g->n[i]++] = id;
		more |= !g->done[i];
	}
	return more;
}

static int judge(struct trainer *t, const struct growing *g, int64_t first, bool records)
{
	struct buf output = { 0 };
	int rc = 0;

	if (buf_room(&output, 1)) /* so that an empty answer has a place too */
		return why_set(t->why, EX_OSERR, "validate: no memory for an answer");
	for (int64_t i = 0; i < g->rows && !rc; i++) {
		const struct buf *target = &t->text.target;

		output.n = 0;
		rc = data_describe(t->data, t->validation.split, first + i, &t->text, t->why);
		if (!rc && data_decode(t->data, g->ids + i * g->width + g->prompt[i], g->n[i] - g->prompt[i], &output) != 0)
			rc = why_set(t->why, EX_OSERR, "validate: no memory for an answer");
		if (!rc)
			rc = predict(t, &output, g->ended[i] && output.n == target->n && memcmp(output.p, target->p, target->n) == 0, records);
	}
	buf_free(&output);
	return rc;
}

int tr_generate(struct trainer *t, bool records)
{
	struct validation *v = &t->validation;
	int64_t rows = v->examples < v->micro_batch ? v->examples : v->micro_batch;
	struct growing g;
	int rc = 0;

	if (growing_new(&g, rows, v->length) != 0)
		return why_set(t->why, EX_OSERR, "validate: no memory for answers");
	for (int64_t at = 0; at < v->examples && !rc && !stop_wanted(); at += g.rows) {
		rc = start(t, &g, at, v->examples - at < rows ? v->examples - at : rows);
		while (!rc && !stop_wanted() && grow(t, &g))
			;
		if (!rc)
			rc = judge(t, &g, at, records);
	}
	growing_free(&g);
	return rc;
}

/* ---- targets that come back ---- */

/* Of one row of the batch just evaluated. */
static int forced_row(struct trainer *t, int64_t i, struct buf *output)
{
	const struct batch *b = t->current;
	int64_t positions = t->facts->sequence ? b->length : 1;
	bool right = true;
	int rc = data_describe(t->data, t->validation.split, b->index[i], &t->text, t->why);

	output->n = 0;
	for (int64_t k = 0; k < positions && !rc; k++) {
		int64_t at = i * positions + k;
		int32_t id;

		if (b->targets[at] < 0)
			continue;
		id = most_likely(model_logits(t->model) + at * t->facts->classes, t->facts->classes);
		right &= id == b->targets[at];
		if (t->facts->sequence)
			rc = data_decode(t->data, &id, 1, output);
		else if (id < t->facts->names)
			rc = buf_printf(output, "%s", t->facts->name[id]);
		else
			rc = buf_printf(output, "%d", id);
	}
	return rc ? rc : predict(t, output, right, true);
}

int tr_forced(struct trainer *t)
{
	struct buf output = { 0 };
	int rc = 0;

	for (int64_t i = 0; i < t->current->rows && !rc; i++)
		rc = forced_row(t, i, &output);
	buf_free(&output);
	return rc;
}
