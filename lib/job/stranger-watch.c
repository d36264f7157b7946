/* stranger-watch.c - what the gate remembers of a command's run besides steps and loaders: its model,
 * optimizer, validations, saves, loads, extra passes, and what its adapter cannot see. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stranger-rules.h"

#define F(x) F_phase_##x

int64_t stranger_int(const struct view *v, enum field f, int64_t otherwise)
{
	int64_t x;

	return rule_int(v, f, &x) ? x : otherwise;
}

double stranger_num(const struct view *v, enum field f, double otherwise)
{
	double x;

	return view_num(v, f, &x) ? x : otherwise;
}

void stranger_names(const struct view *v, enum field f, char *out, size_t n)
{
	const char *s;
	size_t k = 0, len;

	*out = 0;
	for (int i = 0; k < n && view_item_str(v, f, i, &s, &len); i++)
		k += (size_t)snprintf(out + k, n - k, "%s%.*s", k ? ", " : "", (int)(len < 80 ? len : 80), s);
}

enum rule_state stranger_say(enum rule_state s, char *say, size_t n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(say, n, fmt, ap);
	va_end(ap);
	return s;
}

void happened_see(struct happened *h, int64_t update, int64_t amount)
{
	h->told++;
	if (!amount)
		return;
	if (!h->times++) {
		h->update = update;
		h->amount = amount;
	}
	if (amount > h->most)
		h->most = amount;
}

/* ---- the run ---- */

enum { MOST_WORDS = 4096 }; /* of a command; to find one takes a walk over those before it */

static bool mentions(const struct view *v, enum field f, const char *placeholder)
{
	const char *s;
	size_t n, k = strlen(placeholder);

	for (int i = 0; i < MOST_WORDS && view_item_str(v, f, i, &s, &n); i++)
		if (memmem(s, n, placeholder, k))
			return true;
	return false;
}

struct stranger_watch *stranger_watch_new(const struct view *run)
{
	struct stranger_watch *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->asks_rows = mentions(run, F_run_command, "{micro_batch}") || mentions(run, F_run_env, "{micro_batch}");
	s->asks_accum = mentions(run, F_run_command, "{accum}") || mentions(run, F_run_env, "{accum}");
	s->accum = stranger_int(run, F_run_accum, -1);
	s->replicas = stranger_int(run, F_run_replicas, 1);
	s->model = (struct s_model){ .tensors = -1, .trainable = -1, .parameters = -1, .declared = -1, .dropout = -1, .norms = -1 };
	s->optimizer = (struct s_optimizer){ .tensors = -1, .uncovered = -1, .strangers = -1, .before = -1 };
	s->gradient = s->change = (struct s_deep){ .update = -1, .missing = -1, .frozen = -1, .trainable = -1, .changed = -1, .unchanged = -1 };
	s->steps.first_loss = s->steps.first_lr = s->steps.least_lr = s->steps.most_lr = s->changed_share = NAN;
	for (int i = 0; i < S_LOADERS; i++)
		s->loaders.open[i].update = -1;
	s->zero_changed = s->first_count = s->last_count = -1;
	s->failure_phase = -1;
	return s;
}

int stranger_failed(const struct watch *r)
{
	return r->stranger->failure_phase;
}

void stranger_watch_free(struct stranger_watch *s)
{
	free(s);
}

/* ---- model, optimizer ---- */

static void add(int64_t *sum, int64_t x)
{
	if (x >= 0)
		*sum = (*sum < 0 ? 0 : *sum) + x;
}

static void see_model(struct s_model *m, const struct view *v)
{
	add(&m->dropout, stranger_int(v, F_model_dropout_layers, -1));
	add(&m->norms, stranger_int(v, F_model_norm_layers, -1));
	add(&m->declared, stranger_int(v, F_model_declared_trainable, -1));
	if (!*m->apart)
		stranger_names(v, F_model_equal_apart, m->apart, sizeof m->apart);
	if (m->count++)
		return;
	view_copy(v, F_model_name, m->name, sizeof m->name);
	view_copy(v, F_model_wrapper, m->wrapper, sizeof m->wrapper);
	view_copy(v, F_model_precision, m->precision, sizeof m->precision);
	view_copy(v, F_model_device, m->device, sizeof m->device);
	m->tensors = stranger_int(v, F_model_tensors, -1);
	m->trainable = stranger_int(v, F_model_trainable_tensors, -1);
	m->parameters = stranger_int(v, F_model_parameters, -1);
}

static void see_optimizer(struct s_optimizer *o, const struct view *v)
{
	double lr;

	for (int i = 0; view_item_num(v, F_optimizer_lr, i, &lr); i++)
		o->still |= lr == 0;
	/* What the first one lacks another may hold: the newest count of what none holds is the right one. */
	if (view_count(v, F_optimizer_uncovered_names) >= 0)
		stranger_names(v, F_optimizer_uncovered_names, o->uncovered_names, sizeof o->uncovered_names);
	o->uncovered = stranger_int(v, F_optimizer_uncovered, o->uncovered);
	o->strangers = stranger_int(v, F_optimizer_strangers, o->strangers);
	if (o->count++)
		return;
	view_copy(v, F_optimizer_name, o->name, sizeof o->name);
	o->tensors = stranger_int(v, F_optimizer_tensors, -1);
	o->before = stranger_int(v, F_optimizer_count, 0); /* no state yet, no count */
}

/* ---- phases ---- */

static void see_deep(struct s_deep *d, const struct view *v)
{
	d->update = stranger_int(v, F(update), 0) + 1;
	d->trainable = stranger_int(v, F(trainable_tensors), d->trainable);
	view_copy(v, F(worst_tensor), d->worst, sizeof d->worst);
}

static void see_backward(struct stranger_watch *s, const struct view *v)
{
	int64_t x;

	if (rule_int(v, F(gradients_missing), &x)) {
		see_deep(&s->gradient, v);
		s->gradient.missing = x;
		s->gradient.zero = stranger_int(v, F(gradients_zero), 0);
		s->gradient.frozen = stranger_int(v, F(gradients_frozen), s->gradient.frozen);
	}
	if (rule_int(v, F(declared_trainable), &x) && x > 0 && !s->declared_update) {
		s->model.declared = x;
		s->declared_update = stranger_int(v, F(update), 0) + 1;
	}
}

static void see_update(struct stranger_watch *s, const struct view *v)
{
	int64_t x, update = stranger_int(v, F(update), 0) + 1;
	double lr = stranger_num(v, F(lr), NAN), share;

	see_backward(s, v);
	if (lr == 0) {
		s->at_rest = true; /* nothing is meant to change */
		return;
	}
	if (rule_int(v, F(changed), &x)) {
		see_deep(&s->change, v);
		s->change.changed = x;
		s->change.unchanged = stranger_int(v, F(unchanged), -1);
	}
	if (update >= 3 && rule_int(v, F(zero_changed), &x) && x >= s->zero_changed) {
		s->zero_changed = x;
		s->zero_update = update;
	}
	if (update >= 3 && view_num(v, F(changed_share), &share)) {
		s->changed_share = share;
		s->share_lr = lr;
		s->share_update = update;
	}
	if (!rule_int(v, F(optimizer_count), &x))
		return;
	if (s->first_count < 0) {
		s->first_count = x;
		s->first_count_update = update;
	}
	s->last_count = x;
	s->last_count_update = update;
}

static void see_bool(const struct view *v, enum field f, bool bad, bool *told, int64_t *times, int64_t *update)
{
	bool x;

	if (!view_bool(v, f, &x))
		return;
	if (told)
		*told = true;
	if (x == bad && !(*times)++ && update)
		*update = stranger_int(v, F(update), -1);
}

static void see_validate(struct stranger_watch *s, const struct view *v)
{
	struct s_validate *a = &s->validate;
	int64_t never = 0;

	a->count++;
	a->since++;
	see_bool(v, F(evaluation_mode), false, &a->told_mode, &a->mode_off, &a->mode_update);
	if (!s->steps.mode_told) /* what it was before is not known */
		see_bool(v, F(training_mode_after), false, &a->told_after, &a->after_unknown, NULL);
	else if (s->steps.training)
		see_bool(v, F(training_mode_after), false, &a->told_after, &a->after_off, &a->after_update);
	else /* it was off before */
		see_bool(v, F(training_mode_after), false, &a->told_after, &never, NULL);
	see_bool(v, F(buffers_changed), true, &a->told_buffers, &a->buffers, &a->buffers_update);
	see_bool(v, F(weights_changed), true, &a->told_weights, &a->weights, &a->weights_update);
	see_bool(v, F(optimizer_changed), true, NULL, &a->optimizer, &a->optimizer_update);
	see_bool(v, F(random_changed), true, NULL, &a->random, NULL);
	a->examples = stranger_int(v, F(examples), -1);
	a->batches = stranger_int(v, F(batches), -1);
}

static void see_phase(struct stranger_watch *s, const struct view *v)
{
	if (view_is(v, F(phase), "data"))
		s->padded |= stranger_int(v, F(padding), 0) > 0;
	else if (view_is(v, F(phase), "backward"))
		see_backward(s, v);
	else if (view_is(v, F(phase), "update"))
		see_update(s, v);
	else if (view_is(v, F(phase), "validate"))
		see_validate(s, v);
}

/* ---- evaluations, saves, loads ---- */

static void see_eval(struct s_validate *a, const struct view *v)
{
	double loss = stranger_num(v, F_eval_loss, NAN), means = stranger_num(v, F_eval_batch_mean_loss, NAN);

	a->mean_right |= view_is(v, F_eval_printed, "loss");
	if (!view_is(v, F_eval_printed, "batch_mean_loss") || *a->means || !isfinite(loss) || !isfinite(means) || rule_near(loss, means, 1e-6, 1e-12))
		return;
	snprintf(a->means, sizeof a->means, "%.7g is printed, the mean of the passes' means; the mean over the targets is %.7g (update %lld)", means, loss, (long long)stranger_int(v, F_eval_update, -1));
}

/* The count inside belongs to the weights beside it. */
static void see_save(struct stranger_watch *s, const struct view *v)
{
	struct s_state *t = &s->state;
	int64_t count, update = stranger_int(v, F_save_update, -1);
	bool in_place = false;

	t->saves++;
	stranger_names(v, F_save_holds, t->holds, sizeof t->holds);
	if (view_bool(v, F_save_in_place, &in_place) && in_place && !*t->in_place)
		view_copy(v, F_save_path, t->in_place, sizeof t->in_place);
	if (!rule_int(v, F_save_optimizer_count, &count) || !s->optimizer.count)
		return;
	t->counted++;
	if (count != s->optimizer.before + update && !t->torn_update) {
		t->torn_update = update;
		t->torn_count = count;
	}
}

static bool lists(const struct view *v, enum field f, const char *word)
{
	const char *s;
	size_t n;

	for (int i = 0; view_item_str(v, f, i, &s, &n); i++)
		if (n == strlen(word) && !memcmp(s, word, n))
			return true;
	return false;
}

static void see_load(struct s_state *t, const struct view *v)
{
	int64_t matched = stranger_int(v, F_load_matched, -1), missing = stranger_int(v, F_load_missing, -1);

	t->loads++;
	view_copy(v, F_load_path, t->path, sizeof t->path);
	stranger_names(v, F_load_restored, t->restored, sizeof t->restored);
	t->matched = matched;
	t->missing = missing;
	if (matched == 0 && missing > 0 && !t->none++)
		memcpy(t->none_path, t->path, sizeof t->none_path);
	if (matched > 0 && missing > 0 && lists(v, F_load_restored, "optimizer") && !t->short_missing) {
		t->short_missing = missing;
		memcpy(t->short_path, t->path, sizeof t->short_path);
	}
}

/* ---- extra passes ---- */

static void see_check(struct stranger_watch *s, const struct view *v)
{
	static const char *const name[S_CHECKS] = { "repeat", "future", "rows", "padding" };
	double d, m = stranger_num(v, F_check_magnitude, NAN);

	for (int i = 0; i < S_CHECKS; i++) {
		struct s_check *c = &s->check[i];

		if (!view_is(v, F_check_name, name[i]))
			continue;
		if (!view_num(v, F_check_difference, &d)) {
			if (!c->told)
				view_copy(v, F_check_reason, c->reason, sizeof c->reason);
		} else if (!c->told || !(d <= c->difference)) {
			c->told = true;
			c->difference = d;
			c->magnitude = m;
			c->update = stranger_int(v, F_check_update, -1);
		}
	}
}

/* ---- what its adapter cannot see ---- */

static void blind(struct watch *r, const char *phase, size_t n, const char *reason, size_t k)
{
	int p = gate_phase_find(phase, n);

	for (int i = 0; i < GATE_PHASES; i++)
		if (p == i || p < 0) /* all, or a phase that we do not know */
			find_blind(r, i, reason, k);
}

static void see_blind(struct watch *r, const struct view *v)
{
	const char *phase = "", *reason = "";
	size_t n = 0, k = 0;

	view_str(v, F_blind_phase, &phase, &n);
	view_str(v, F_blind_reason, &reason, &k);
	blind(r, phase, n, reason, k);
}

static void see_trainer(struct watch *r, const struct view *v)
{
	struct stranger_watch *s = r->stranger;
	int64_t replicas = stranger_int(v, F_trainer_replicas, -1);
	char fault[400], said[480];

	s->spoke = true;
	if (replicas > s->replicas)
		s->replicas = replicas;
	if (!view_copy(v, F_trainer_fault, fault, sizeof fault) || !*fault)
		return;
	snprintf(said, sizeof said, "the adapter failed: %s", fault);
	blind(r, "all", 3, said, strlen(said));
}

static void see_failure(struct stranger_watch *s, const struct view *v)
{
	const char *name;
	size_t n;

	if (view_str(v, F_failure_phase, &name, &n))
		s->failure_phase = gate_phase_find(name, n);
}

void stranger_see(struct watch *r, const struct view *v)
{
	struct stranger_watch *s = r->stranger;

	switch (v->kind) {
	case KIND_step:
		stranger_see_step(r, v);
		break;
	case KIND_replica:
		stranger_see_replica(s, v);
		break;
	case KIND_loader:
		stranger_see_loader(s, v, r->update);
		break;
	case KIND_phase:
		see_phase(s, v);
		break;
	case KIND_eval:
		see_eval(&s->validate, v);
		break;
	case KIND_save:
		see_save(s, v);
		break;
	case KIND_load:
		see_load(&s->state, v);
		break;
	case KIND_model:
		see_model(&s->model, v);
		break;
	case KIND_optimizer:
		see_optimizer(&s->optimizer, v);
		break;
	case KIND_check:
		see_check(s, v);
		break;
	case KIND_blind:
		see_blind(r, v);
		break;
	case KIND_trainer:
		see_trainer(r, v);
		break;
	case KIND_failure:
		see_failure(s, v);
		break;
	default:
		break;
	}
}
