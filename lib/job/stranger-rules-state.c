/* stranger-rules-state.c - checks of a command's validation, saves and loads. */
#include <math.h>
#include <string.h>

#include "stranger-rules.h"

/* ---- validate ---- */

/* Passes without a gradient before nearly every update may be validation, or part of the training: a teacher's
 * answers, labels guessed by the model itself. What they do is no fault then. */
static bool part_of_training(const struct watch *r)
{
	return r->steps >= 4 && r->stranger->validate.count * 2 > r->steps;
}

static enum rule_state wrong(const struct watch *r, char *say, size_t n, const char *what, int64_t times, int64_t update)
{
	if (part_of_training(r))
		return stranger_say(RULE_MISSING, say, n, "%s, in passes without a gradient that come with nearly every update: they may be part of the training", what);
	return stranger_say(RULE_BROKEN, say, n, "%s in %lld of %lld validations (first at update %lld)", what, (long long)times, (long long)r->stranger->validate.count, (long long)update);
}

/* Layers that do in training what they must not do in validation. */
static bool two_modes(const struct s_model *m)
{
	return m->dropout != 0 || m->norms != 0; /* -1: not known to have none */
}

enum rule_state stranger_evals(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_validate *a = &r->stranger->validate;
	size_t k;

	(void)v;
	if (!a->count)
		return RULE_UNSEEN;
	k = (size_t)snprintf(say, n, "%lld validation%s", (long long)a->count, a->count == 1 ? "" : "s");
	if (a->examples >= 0 && a->batches >= 0 && k < n)
		k += (size_t)snprintf(say + k, n - k, ", %lld examples in %lld batches at the last", (long long)a->examples, (long long)a->batches);
	if (r->evals && isfinite(r->eval_loss) && k < n)
		snprintf(say + k, n - k, ", loss %.4g", r->eval_loss);
	return RULE_HELD;
}

enum rule_state stranger_mode(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_validate *a = &r->stranger->validate;

	(void)v;
	if (!a->told_mode)
		return stranger_say(RULE_MISSING, say, n, "not reported: evaluation_mode");
	if (!a->mode_off)
		return stranger_say(RULE_HELD, say, n, "evaluation mode");
	if (!two_modes(&r->stranger->model))
		return stranger_say(RULE_HELD, say, n, "no layer does otherwise in evaluation mode");
	return wrong(r, say, n, "evaluation mode was not on", a->mode_off, a->mode_update);
}

enum rule_state stranger_mode_after(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_validate *a = &r->stranger->validate;
	const struct s_steps *t = &r->stranger->steps;

	(void)v;
	if (!two_modes(&r->stranger->model))
		return RULE_UNSEEN;
	if (t->training_lost || a->after_off)
		return wrong(r, say, n, "training mode was not back", a->after_off ? a->after_off : 1, a->after_off ? a->after_update : t->training_lost - 1);
	if (a->after_unknown && t->mode_told && !t->trained)
		return stranger_say(RULE_MISSING, say, n, "training mode was not on in every layer after the first validation, and never again: lost, or not meant");
	if (!a->told_after)
		return stranger_say(RULE_MISSING, say, n, "not reported: training_mode_after");
	return stranger_say(RULE_HELD, say, n, "training mode %s", t->mode_told && !t->trained ? "after it as before" : "back");
}

enum rule_state stranger_statistics(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_validate *a = &r->stranger->validate;

	(void)v;
	if (!a->told_buffers)
		return r->stranger->model.norms == 0 ? RULE_UNSEEN : stranger_say(RULE_MISSING, say, n, "not reported: buffers_changed");
	if (!a->buffers)
		return RULE_HELD;
	if (r->stranger->model.norms == 0)
		return stranger_say(RULE_HELD, say, n, "it changed buffers, none of a normalisation");
	return wrong(r, say, n, "statistics of normalisation changed", a->buffers, a->buffers_update);
}

enum rule_state stranger_untouched(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_validate *a = &r->stranger->validate;
	const char *drawn = a->random ? "; it drew random numbers" : "";

	(void)v;
	if (!a->told_weights)
		return stranger_say(RULE_MISSING, say, n, "not reported: weights_changed");
	if (a->weights)
		return wrong(r, say, n, "weights changed", a->weights, a->weights_update);
	if (a->optimizer)
		return wrong(r, say, n, "the optimizer's state changed", a->optimizer, a->optimizer_update);
	return stranger_say(RULE_HELD, say, n, "weights and optimizer untouched%s", drawn);
}

enum rule_state stranger_split(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_loaders *l = &r->stranger->loaders;

	(void)v;
	if (l->dropped_examples)
		return stranger_say(RULE_BROKEN, say, n, "the last %lld of %lld examples are never validated: the loader drops an incomplete batch", (long long)l->dropped_examples, (long long)l->of_examples);
	if (l->validated && l->whole == l->validated)
		return stranger_say(RULE_HELD, say, n, "every example of its data");
	return RULE_UNSEEN;
}

enum rule_state stranger_printed(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_validate *a = &r->stranger->validate;

	(void)v;
	if (*a->means)
		return stranger_say(RULE_BROKEN, say, n, "%s", a->means);
	return a->mean_right ? stranger_say(RULE_HELD, say, n, "the loss that is printed is the mean over the targets") : RULE_UNSEEN;
}

/* ---- save ---- */

enum rule_state stranger_saves(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_state *t = &r->stranger->state;

	(void)v;
	if (!t->saves)
		return stranger_say(RULE_MISSING, say, n, "nothing was saved in this run");
	if (*t->holds)
		return stranger_say(RULE_HELD, say, n, "%lld save%s, the last holds %s", (long long)t->saves, t->saves == 1 ? "" : "s", t->holds);
	return stranger_say(RULE_HELD, say, n, "%lld save%s", (long long)t->saves, t->saves == 1 ? "" : "s");
}

enum rule_state stranger_in_place(struct watch *r, const struct view *v, char *say, size_t n)
{
	(void)v;
	if (!*r->stranger->state.in_place)
		return RULE_UNSEEN;
	return stranger_say(RULE_MISSING, say, n, "%s is written in place: a kill during it loses the file before", r->stranger->state.in_place);
}

enum rule_state stranger_torn(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct stranger_watch *s = r->stranger;

	(void)v;
	if (s->state.torn_update)
		return stranger_say(RULE_BROKEN, say, n, "the optimizer in the save after update %lld counts %lld updates, not %lld", (long long)s->state.torn_update, (long long)s->state.torn_count, (long long)(s->optimizer.before + s->state.torn_update));
	return s->state.counted ? stranger_say(RULE_HELD, say, n, "the optimizer in it counts as many updates") : RULE_UNSEEN;
}

/* ---- resume ---- */

/* Frozen tensors may come from where the model came from. */
enum rule_state stranger_restored(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_state *t = &r->stranger->state;
	const struct s_model *m = &r->stranger->model;
	int64_t frozen = m->tensors >= 0 && m->trainable >= 0 ? m->tensors - m->trainable : 0;

	(void)v;
	if (t->short_missing > frozen)
		return stranger_say(RULE_BROKEN, say, n, "%lld tensors of the model are not in %s, from which the optimizer's state came back", (long long)t->short_missing, t->short_path);
	if (!t->loads || !*t->restored)
		return RULE_UNSEEN;
	return stranger_say(RULE_HELD, say, n, "%s put back from %s", t->restored, t->path);
}
