/* judge-watch.c - what is remembered of one run while it is open: counts, the last values,
 * the order of an epoch's first windows, and the updates after the newest saves. Its size
 * does not depend on the run's length. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"
#include "stranger-rules.h"

static int64_t int_of(const struct view *v, enum field f, int64_t otherwise)
{
	int64_t x;

	return rule_int(v, f, &x) ? x : otherwise;
}

static double num_of(const struct view *v, enum field f, double otherwise)
{
	double x;

	return view_num(v, f, &x) ? x : otherwise;
}

static double seconds_of(const struct view *v, enum field f)
{
	struct timestamp t = { 0 };

	view_time(v, f, &t);
	return (double)t.seconds + t.nanoseconds / 1e9;
}

/* ---- the run record ---- */

static void read_order(struct watch *r, const struct view *v)
{
	int64_t overfit = int_of(v, F_run_overfit, 0);

	r->train_examples = int_of(v, F_run_train_examples, 0);
	r->order = (struct order){
		.seed = (uint64_t)int_of(v, F_run_seed, 0),
		.examples = overfit > 0 && overfit < r->train_examples ? overfit : r->train_examples,
		.micro_batch = int_of(v, F_run_micro_batch, 0),
		.accum = int_of(v, F_run_accum, 1),
		.keep = view_is(v, F_run_last_window, "keep"),
	};
	if (int_of(v, F_run_replicas, 1) != 1 || r->order.micro_batch < 1 || r->order.accum < 1 || r->order.accum > (INT64_C(1) << 40) / r->order.micro_batch)
		r->order.examples = 0; /* windows are not ours to compute */
}

/* The rate can be computed again where the schedule is known and the base rate is named. */
static void read_schedule(struct watch *r, const struct view *v)
{
	char text[1024];
	struct spec s;

	if (!view_copy(v, F_run_optimizer, text, sizeof text) || spec_parse(&s, text, NULL) < 0)
		return;
	int named = spec_float(&s, "lr", 0, 1e15, &r->base_lr, NULL);
	spec_free(&s);
	if (named != 1 || r->planned_updates < 1 || !view_copy(v, F_run_schedule, text, sizeof text))
		return;
	r->scheduled = schedule_parse(&r->schedule, text, r->planned_updates, NULL) == 0;
}

static void read_run(struct watch *r, const struct view *v)
{
	const char *s;
	size_t n;

	view_copy(v, F_run_run, r->id, sizeof r->id);
	view_copy(v, F_run_role, r->role, sizeof r->role);
	r->began = seconds_of(v, F_run_t);
	r->validation_examples = int_of(v, F_run_validation_examples, -1);
	r->val_examples = int_of(v, F_run_val_examples, 0);
	r->planned_updates = int_of(v, F_run_planned_updates, 0);
	r->resumed_update = int_of(v, F_run_resumed_update, 0);
	r->resumed = r->resumed_update > 0 || (view_str(v, F_run_resumed_run, &s, &n) && n);
	r->given_weights = view_str(v, F_run_weights, &s, &n) && n;
	r->classes = int_of(v, F_run_classes, -1);
	r->micro_batch = int_of(v, F_run_micro_batch, -1);
	view_bool(v, F_run_deterministic, &r->deterministic);
	r->exact = !view_str(v, F_run_precision, &s, &n) || view_is(v, F_run_precision, "fp32");
	if (r->stranger)
		return; /* neither order nor schedule are ours to compute */
	read_order(r, v);
	read_schedule(r, v);
}

struct watch *watch_new(const struct view *run, int window)
{
	struct watch *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->head = calloc(WATCH_HEADS, sizeof *r->head);
	r->head_epoch = calloc(WATCH_HEADS, sizeof *r->head_epoch);
	r->rules = &builtin_rules;
	if (view_is(run, F_run_trainer, "command")) {
		r->rules = &stranger_rules;
		r->stranger = stranger_watch_new(run);
	}
	if (!r->head || !r->head_epoch || (r->rules == &stranger_rules && !r->stranger) || buf_add(&r->raw, run->raw, run->size) < 0) {
		watch_free(r);
		return NULL;
	}
	r->window = window;
	for (int i = 0; i < 6; i++)
		r->plan[i] = -1;
	r->plan_peak = r->save_tensors = r->trainable = -1;
	r->eval_update = r->validate_update = r->forward_update = r->save_phase_update = -1;
	for (int p = 0; p < GATE_PHASES; p++)
		r->measure[p] = (struct measure){ .micro_batch = -1, .length = -1, .allocated = -1, .reserved = -1, .used = -1, .seconds = -1 };
	read_run(r, run);
	r->update = r->resumed_update;
	return r;
}

static void save_free(struct save_fact *s)
{
	free(s->path);
	free(s->after);
	*s = (struct save_fact){ 0 };
}

void watch_ended(struct watch *r)
{
	for (int i = 0; i < WATCH_RULES; i++) {
		free(r->said[i]);
		r->said[i] = NULL;
	}
	free(r->head);
	free(r->head_epoch);
	r->head = NULL;
	r->head_epoch = NULL;
}

void watch_free(struct watch *r)
{
	if (!r)
		return;
	watch_ended(r);
	for (int i = 0; i < WATCH_SAVES; i++)
		save_free(&r->save[i]);
	for (int p = 0; p < GATE_PHASES; p++)
		finding_free(&r->finding[p]);
	buf_free(&r->raw);
	buf_free(&r->end);
	stranger_watch_free(r->stranger);
	free(r);
}

/* ---- updates ---- */

/* ln of the chance that two orders of n examples begin with the same k. */
static double ln_chance(int64_t n, int64_t k)
{
	return lgamma((double)(n - k) + 1) - lgamma((double)n + 1);
}

/* The same place of the epoch before had which examples? */
static void see_order(struct watch *r, const struct update_fact *u)
{
	int64_t epoch, first, count, per_epoch = r->order.examples > 0 ? order_updates_per_epoch(&r->order) : 0;

	if (per_epoch < 1 || u->update < 1 || !*u->batch_digest)
		return;
	int64_t place = (u->update - 1) % per_epoch;
	if (place >= WATCH_HEADS)
		return;
	order_window(&r->order, u->update - 1, &epoch, &first, &count);
	if (*r->head[place] && r->head_epoch[place] == epoch - 1) {
		r->orders_compared++;
		if (!strcmp(r->head[place], u->batch_digest) && count > 0 && count <= r->order.examples) {
			double chance = ln_chance(r->order.examples, count);

			r->orders_equal++;
			r->chance += chance;
			r->order_repeated |= chance < -30;
		}
	}
	snprintf(r->head[place], sizeof *r->head, "%s", u->batch_digest);
	r->head_epoch[place] = epoch;
}

static void after_saves(struct watch *r, const struct update_fact *u)
{
	for (int i = 0; i < WATCH_SAVES; i++) {
		struct save_fact *s = &r->save[i];

		if (s->path && s->steps < r->window && u->update == s->update + s->steps + 1)
			s->after[s->steps++] = *u;
	}
}

static void see_step(struct watch *r, const struct view *v)
{
	struct update_fact u = {
		.update = int_of(v, F_step_update, 0),
		.rows = int_of(v, F_step_rows, -1),
		.supervised = int_of(v, F_step_supervised, -1),
		.lr = num_of(v, F_step_lr, NAN),
		.loss = num_of(v, F_step_loss, NAN),
		.gradient_norm = num_of(v, F_step_gradient_norm, NAN),
	};
	bool skipped = false;

	view_copy(v, F_step_batch_digest, u.batch_digest, sizeof u.batch_digest);
	view_bool(v, F_step_skipped, &skipped);
	r->steps++;
	r->skips += skipped;
	r->norms += view_num(v, F_step_gradient_norm, &r->norm);
	r->step_seconds += num_of(v, F_step_seconds, 0);
	r->examples = int_of(v, F_step_examples, r->examples);
	if (r->steps == 1)
		r->first_update = u.update;
	r->update = u.update;
	r->last = u;
	if (skipped)
		return;
	see_order(r, &u);
	after_saves(r, &u);
}

/* ---- saves ---- */

/* What was saved under this name before is not there any more. */
static void written_over(struct watch *r, const char *path, size_t n)
{
	for (int i = 0; i < WATCH_SAVES; i++) {
		struct save_fact *s = &r->save[i];

		s->over |= s->path && strlen(s->path) == n && !memcmp(s->path, path, n);
	}
}

static void see_save(struct watch *r, const struct view *v)
{
	struct save_fact *s = &r->save[r->oldest_save];
	const char *path = "";
	size_t n = 0;

	r->saves++;
	view_str(v, F_save_path, &path, &n); /* a save record has one */
	save_free(s);
	if (r->stranger)
		written_over(r, path, n);
	s->after = calloc((size_t)r->window, sizeof *s->after);
	s->path = s->after && !memchr(path, 0, n) ? strndup(path, n) : NULL;
	if (!s->path) {
		save_free(s);
		find_lack(r, G_SAVE, "the file of update %lld could not be kept in mind", (long long)int_of(v, F_save_update, -1));
		return;
	}
	s->update = int_of(v, F_save_update, -1);
	view_copy(v, F_save_digest, s->digest, sizeof s->digest);
	view_copy(v, F_save_weights_digest, s->weights_digest, sizeof s->weights_digest);
	view_copy(v, F_save_optimizer_digest, s->optimizer_digest, sizeof s->optimizer_digest);
	r->oldest_save = (r->oldest_save + 1) % WATCH_SAVES;
}

/* ---- phases ---- */

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void see_measure(struct watch *r, const struct view *v, int p)
{
	struct measure *m = &r->measure[p];
	bool steady = view_is(v, F_phase_occurrence, "steady");

	m->allocated = most(m->allocated, int_of(v, F_phase_allocated_peak_bytes, -1));
	m->reserved = most(m->reserved, int_of(v, F_phase_reserved_peak_bytes, -1));
	m->used = most(m->used, int_of(v, F_phase_device_used_peak_bytes, -1));
	m->seen = true;
	if (m->steady && !steady)
		return;
	m->steady = steady;
	m->micro_batch = int_of(v, F_phase_micro_batch, m->micro_batch);
	m->length = int_of(v, F_phase_length, m->length);
	m->seconds = num_of(v, F_phase_seconds, m->seconds);
}

static void see_phase(struct watch *r, const struct view *v)
{
	const char *name;
	size_t n;
	int p;

	if (!view_str(v, F_phase_phase, &name, &n) || (p = gate_phase_find(name, n)) < 0)
		return;
	see_measure(r, v, p);
	if (r->trainable < 0)
		r->trainable = int_of(v, F_phase_trainable_tensors, -1);
	if (p == G_FORWARD) {
		r->forward_update = int_of(v, F_phase_update, -2) + 1;
		r->forward_loss = num_of(v, F_phase_loss, NAN);
	} else if (p == G_VALIDATE) {
		r->validate_update = int_of(v, F_phase_update, -1);
		r->validate_loss = num_of(v, F_phase_loss, NAN);
	} else if (p == G_SAVE) {
		r->save_phase_update = int_of(v, F_phase_update, -1);
		r->save_tensors = int_of(v, F_phase_tensors, r->save_tensors);
		view_copy(v, F_phase_digest, r->save_digest, sizeof r->save_digest);
	}
}

static void see_plan(struct watch *r, const struct view *v)
{
	static const enum field f[6] = { F_plan_load_bytes, F_plan_data_bytes, F_plan_forward_bytes, F_plan_backward_bytes, F_plan_update_bytes, F_plan_validate_bytes };

	for (int i = 0; i < 6; i++)
		r->plan[i] = int_of(v, f[i], -1);
	r->plan_peak = int_of(v, F_plan_peak_bytes, -1);
}

static void see_eval(struct watch *r, const struct view *v)
{
	if (!view_is(v, F_eval_split, "validation"))
		return;
	r->evals++;
	r->eval_update = int_of(v, F_eval_update, -1);
	r->eval_loss = num_of(v, F_eval_loss, NAN);
}

void watch_see(struct watch *r, const struct view *v)
{
	if (r->stranger && stranger_other_rank(v))
		return;
	rules_see(r, v);
	switch (v->kind) {
	case KIND_step:
		see_step(r, v);
		break;
	case KIND_phase:
		see_phase(r, v);
		break;
	case KIND_plan:
		see_plan(r, v);
		break;
	case KIND_eval:
		see_eval(r, v);
		break;
	case KIND_save:
		see_save(r, v);
		break;
	case KIND_end:
		view_copy(v, F_end_status, r->status, sizeof r->status);
		r->ended = true;
		break;
	default:
		break;
	}
	if (r->stranger)
		stranger_see(r, v);
}
