/* trainer_facts.c - what an update's batches, losses, gradients and weights show about it,
 * looked at after the loop has used them and before it goes on. */
#include "trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 65536 }; /* numbers of a tensor compared one by one; all of it by digest */

void tr_facts_reset(struct trainer *t)
{
	memset(&t->fact, 0, sizeof t->fact);
	t->fact.ids_min = t->fact.targets_min = INT64_MAX;
	t->fact.ids_max = t->fact.targets_max = INT64_MIN;
	t->fact.logits_variance = NAN;
}

/* ---- data ---- */

static void span(int64_t v, int64_t *min, int64_t *max)
{
	if (v < *min)
		*min = v;
	if (v > *max)
		*max = v;
}

static void row_of_ids(struct facts *f, const int32_t *ids, const int32_t *targets, int64_t length, int64_t padded)
{
	for (int64_t i = 0; i < padded; i++)
		span(ids[i], &f->ids_min, &f->ids_max);
	for (int64_t i = 0; i < padded; i++) {
		if (targets[i] < 0) {
			f->masked += i < length;
			continue;
		}
		f->supervised++;
		span(targets[i], &f->targets_min, &f->targets_max);
		if (i + 1 < length) {
			f->compared++;
			f->wrong += targets[i] != ids[i + 1];
		}
	}
	f->padding += padded - length;
}

static void row_of_features(struct facts *f, const float *x, int32_t class, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		f->nonfinite_inputs += !isfinite(x[i]);
	span(class, &f->targets_min, &f->targets_max);
	f->supervised++;
}

void tr_facts_data(struct trainer *t)
{
	for (int k = 0; k < t->passes; k++) {
		const struct batch *b = &t->window[k];

		for (int64_t i = 0; i < b->rows; i++) {
			t->fact.declared += data_declared(t->data, TRAIN, b->index[i]);
			if (t->facts->sequence)
				row_of_ids(&t->fact, b->ids + i * b->length, b->targets + i * b->length, b->lengths[i], b->length);
			else
				row_of_features(&t->fact, b->x + i * b->length, b->targets[i], b->length);
		}
	}
}

/* ---- forward ---- */

void tr_facts_forward(struct trainer *t)
{
	const struct forward *f = &t->forward;

	t->fact.loss_nonfinite += !isfinite(f->loss_sum);
	t->fact.output_dims = f->output_dims;
	memcpy(t->fact.output_shape, f->output_shape, sizeof t->fact.output_shape);
	if (isnan(t->fact.logits_variance))
		t->fact.logits_variance = f->logits_variance;
}

/* ---- backward ---- */

static double norm_of(const float *g, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += (double)g[i] * g[i];
	return sqrt(sum);
}

static void wrong(struct facts *f, const char *name)
{
	if (f->worst_norm < INFINITY) {
		snprintf(f->worst, sizeof f->worst, "%s", name);
		f->worst_norm = INFINITY;
	}
}

void tr_facts_gradient(struct trainer *t)
{
	struct facts *f = &t->fact;

	for (int i = 0; i < t->params; i++) {
		const struct param *p = &t->param[i];
		double norm = p->g ? norm_of(p->g, p->count) : 0;

		f->trainable += p->trainable;
		f->nonfinite += !isfinite(norm);
		f->missing += p->trainable && norm == 0;
		f->frozen_with_gradient += !p->trainable && norm != 0;
		if (!isfinite(norm) || (p->trainable ? norm == 0 : norm != 0)) {
			wrong(f, p->name);
		} else if (norm > f->worst_norm) {
			snprintf(f->worst, sizeof f->worst, "%s", p->name);
			f->worst_norm = norm;
		}
	}
}

/* ---- update ---- */

static int64_t stride(int64_t count)
{
	return (count + SAMPLE - 1) / SAMPLE;
}

void tr_facts_before(struct trainer *t)
{
	for (int i = 0; i < t->params; i++) {
		struct param *p = &t->param[i];
		struct before *b = &t->before[i];
		int64_t step = stride(p->count);

		free(b->sample);
		b->samples = 0;
		b->has_gradient = p->trainable && p->g && norm_of(p->g, p->count) != 0;
		b->known = sha_of(p->w, p->count * sizeof(float), b->digest) == 0;
		if (!p->trainable || (b->sample = malloc((p->count / step + 1) * sizeof(float))) == NULL) {
			b->sample = NULL;
			continue;
		}
		for (int64_t k = 0; k < p->count; k += step)
			b->sample[b->samples++] = p->w[k];
	}
}

static int64_t sample_changed(const struct param *p, const struct before *b)
{
	int64_t step = stride(p->count), n = 0;

	for (int64_t k = 0; k < b->samples; k++)
		n += memcmp(&p->w[k * step], &b->sample[k], sizeof(float)) != 0;
	return n;
}

void tr_facts_after(struct trainer *t)
{
	struct facts *f = &t->fact;
	double changed = 0, all = 0;
	unsigned char digest[32];

	for (int i = 0; i < t->params; i++) {
		struct param *p = &t->param[i];
		struct before *b = &t->before[i];
		bool moved;

		if (!b->known || sha_of(p->w, p->count * sizeof(float), digest) != 0) {
			f->unknown = true; /* no memory for a digest: nothing is claimed */
			continue;
		}
		moved = memcmp(digest, b->digest, sizeof digest) != 0;
		f->changed += p->trainable && moved;
		f->unchanged += b->has_gradient && !moved;
		f->frozen_changed += !p->trainable && moved;
		if (b->samples > 0)
			changed += (double)sample_changed(p, b) / b->samples * p->count;
		all += b->samples > 0 ? p->count : 0;
	}
	f->changed_share = all > 0 ? changed / all : 0;
	f->tied_apart = model_tied_apart(t->model);
	f->schedule_lr = schedule_rate(&t->schedule, optim_lr(t->optim), t->measure[PHASE_UPDATE].update);
	f->lr = t->rate;
}

void tr_facts_free(struct trainer *t)
{
	for (int i = 0; t->before && i < t->params; i++)
		free(t->before[i].sample);
	free(t->before);
	t->before = NULL;
}

/* ---- their records ---- */

static int data_record(struct trainer *t)
{
	const struct facts *f = &t->fact;
	struct rec *r = &t->rec;

	tr_phase_record(t, PHASE_DATA, t->occurrence);
	if (t->facts->sequence) {
		rec_int(r, F_phase_ids_min, f->ids_min);
		rec_int(r, F_phase_ids_max, f->ids_max);
		rec_int(r, F_phase_masked, f->masked);
		rec_int(r, F_phase_padding, f->padding);
		rec_int(r, F_phase_shift_compared, f->compared);
		rec_int(r, F_phase_shift_wrong, f->wrong);
	} else {
		rec_int(r, F_phase_nonfinite_inputs, f->nonfinite_inputs);
	}
	if (f->supervised > 0) {
		rec_int(r, F_phase_targets_min, f->targets_min);
		rec_int(r, F_phase_targets_max, f->targets_max);
	}
	rec_int(r, F_phase_classes, t->facts->classes);
	if (t->facts->names > 0)
		rec_int(r, F_phase_class_names, t->facts->names);
	rec_int(r, F_phase_supervised, f->supervised);
	rec_int(r, F_phase_declared_supervised, f->declared);
	if (t->facts->shared_examples >= 0) { /* -1: too many to look at */
		rec_int(r, F_phase_shared_examples, t->facts->shared_examples);
		rec_int(r, F_phase_shared_groups, t->facts->shared_groups);
	}
	rec_str(r, F_phase_order_digest, t->batch_digest);
	return tr_send(t);
}

static int forward_record(struct trainer *t)
{
	const struct facts *f = &t->fact;
	bool given = *t->config.weights || t->checkpoint;
	struct rec *r = &t->rec;

	tr_phase_record(t, PHASE_FORWARD, t->occurrence);
	rec_ints(r, F_phase_output_shape, f->output_shape, f->output_dims);
	rec_num(r, F_phase_loss, t->loss);
	rec_int(r, F_phase_loss_nonfinite, f->loss_nonfinite);
	rec_bool(r, F_phase_fresh, !given && t->measure[PHASE_FORWARD].update == 0);
	rec_num(r, F_phase_expected_loss, log((double)t->facts->classes));
	rec_num(r, F_phase_logits_variance, f->logits_variance);
	return tr_send(t);
}

static int backward_record(struct trainer *t)
{
	const struct facts *f = &t->fact;
	struct rec *r = &t->rec;

	tr_phase_record(t, PHASE_BACKWARD, t->occurrence);
	rec_int(r, F_phase_tensors, t->params);
	rec_int(r, F_phase_trainable_tensors, f->trainable);
	rec_int(r, F_phase_gradients_missing, f->missing);
	rec_int(r, F_phase_gradients_nonfinite, f->nonfinite);
	rec_int(r, F_phase_gradients_frozen, f->frozen_with_gradient);
	rec_num(r, F_phase_gradient_norm, t->gradient_norm);
	if (*f->worst)
		rec_str(r, F_phase_worst_tensor, f->worst);
	return tr_send(t);
}

static int update_record(struct trainer *t)
{
	const struct facts *f = &t->fact;
	struct rec *r = &t->rec;

	tr_phase_record(t, PHASE_UPDATE, t->occurrence);
	rec_int(r, F_phase_tensors, t->params);
	rec_int(r, F_phase_trainable_tensors, f->trainable);
	if (!f->unknown) {
		rec_int(r, F_phase_changed, f->changed);
		rec_int(r, F_phase_unchanged, f->unchanged);
		rec_int(r, F_phase_frozen_changed, f->frozen_changed);
		rec_num(r, F_phase_changed_share, f->changed_share);
	}
	rec_int(r, F_phase_tied_apart, f->tied_apart);
	rec_int(r, F_phase_attempted, t->progress.attempted);
	rec_int(r, F_phase_applied, t->progress.update);
	rec_int(r, F_phase_skipped, t->progress.skipped);
	rec_int(r, F_phase_optimizer_count, optim_count(t->optim));
	rec_num(r, F_phase_lr, f->lr);
	rec_num(r, F_phase_schedule_lr, f->schedule_lr);
	return tr_send(t);
}

int tr_facts_records(struct trainer *t)
{
	static int (*const record[])(struct trainer *) = { data_record, forward_record, backward_record, update_record };
	int rc = 0;

	/* An update that diverged ends before its later phases. */
	for (enum phase p = PHASE_DATA; p <= PHASE_UPDATE && !rc && t->measure[p].begun; p++)
		rc = record[p - PHASE_DATA](t);
	return rc;
}
