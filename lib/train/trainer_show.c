/* trainer_show.c - --show: examples as the loss sees them, in micro-batches as training would
 * pad them. */
#include "trainer.h"

#include <stdlib.h>

enum { FEATURES_SHOWN = 64 };

static void ints(struct rec *r, enum field f, const int32_t *v, int64_t n, int64_t *scratch)
{
	for (int64_t i = 0; i < n; i++)
		scratch[i] = v[i];
	rec_ints(r, f, scratch, (int)n);
}

static void sequence_fields(struct rec *r, const struct batch *b, int64_t i, int64_t *scratch)
{
	const int32_t *targets = b->targets + i * b->length;

	ints(r, F_example_ids, b->ids + i * b->length, b->length, scratch);
	ints(r, F_example_targets, targets, b->length, scratch);
	for (int64_t k = 0; k < b->length; k++)
		scratch[k] = targets[k] >= 0;
	rec_ints(r, F_example_mask, scratch, (int)b->length);
}

static void class_fields(struct rec *r, const struct batch *b, int64_t i)
{
	int64_t n = b->length < FEATURES_SHOWN ? b->length : FEATURES_SHOWN;
	double x[FEATURES_SHOWN];

	for (int64_t k = 0; k < n; k++)
		x[k] = b->x[i * b->length + k];
	rec_nums(r, F_example_features, x, (int)n);
	rec_int(r, F_example_class, b->targets[i]);
}

static int show_row(struct trainer *t, const struct batch *b, int64_t i, int64_t *scratch)
{
	struct example_text *x = &t->text;
	struct rec *r = &t->rec;
	int rc = data_describe(t->data, TRAIN, b->index[i], x, t->why);

	if (rc)
		return rc;
	rec_begin(r, KIND_example);
	rec_str(r, F_example_run, t->result->run);
	rec_str(r, F_example_split, split_name(TRAIN));
	rec_strn(r, F_example_id, (char *)x->id.p, x->id.n);
	if (x->group.n)
		rec_strn(r, F_example_group, (char *)x->group.p, x->group.n);
	rec_strn(r, F_example_text, (char *)x->text.p, x->text.n);
	rec_strn(r, F_example_target, (char *)x->target.p, x->target.n);
	if (t->facts->sequence)
		sequence_fields(r, b, i, scratch);
	else
		class_fields(r, b, i);
	rec_int(r, F_example_length, b->lengths[i]);
	rec_int(r, F_example_padding, b->length - b->lengths[i]);
	return tr_send(t);
}

int tr_show_examples(struct trainer *t, int64_t k)
{
	struct batch *b = &t->window[0];
	int64_t *scratch = calloc(t->length, sizeof *scratch), rows;
	int rc = scratch ? 0 : why_set(t->why, EX_OSERR, "show: no memory");

	if (k > t->order.examples)
		k = t->order.examples;
	for (int64_t at = 0; at < k && !rc && !stop_wanted(); at += rows) {
		rows = k - at < t->config.micro_batch ? k - at : t->config.micro_batch;
		for (int64_t i = 0; i < rows; i++)
			t->index[i] = at + i;
		rc = data_fill(t->data, TRAIN, t->index, rows, t->length, b, t->why);
		for (int64_t i = 0; i < rows && !rc; i++)
			rc = show_row(t, b, i, scratch);
	}
	free(scratch);
	return rc;
}
