/* stranger-rules-update.c - checks of a command's updates: their count, what they changed, skips, rate. */
#include <math.h>
#include <string.h>

#include "stranger-rules.h"

/* Of each step, before it is remembered. A skipped one may be counted or not. */
enum rule_state stranger_count(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t update;

	if (!rule_int(v, F_step_update, &update))
		return RULE_MISSING;
	if (update == r->update + 1 || (update == r->update && (rule_skipped(v) || r->stranger->steps.skipped)))
		return RULE_HELD;
	if (update > r->update)
		return stranger_say(RULE_MISSING, say, n, "update %lld comes after update %lld: not every one was reported", (long long)update, (long long)r->update);
	if (r->stranger->replicas > 1)
		return stranger_say(RULE_MISSING, say, n, "update %lld comes after update %lld: more than one replica may report", (long long)update, (long long)r->update);
	return stranger_say(RULE_BROKEN, say, n, "update %lld comes after update %lld", (long long)update, (long long)r->update);
}

enum rule_state stranger_counted(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct stranger_watch *s = r->stranger;
	int64_t updates, counted = s->last_count - s->first_count, made = s->last_count_update - s->first_count_update;

	if (!r->steps)
		return stranger_say(RULE_MISSING, say, n, "no update in this run");
	if (rule_int(v, F_end_updates, &updates) && updates != r->update)
		return stranger_say(RULE_MISSING, say, n, "the end record counts %lld updates; the last step is update %lld", (long long)updates, (long long)r->update);
	if (made > 0 && s->first_count >= 0 && counted != made)
		return stranger_say(RULE_MISSING, say, n, "the optimizer counts %lld updates where %lld were made", (long long)counted, (long long)made);
	return stranger_say(RULE_HELD, say, n, "updates %lld-%lld counted%s", (long long)r->first_update, (long long)r->update, made > 0 && s->first_count >= 0 ? ", by the optimizer too" : "");
}

/* ---- what changed ---- */

enum rule_state stranger_changed(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_deep *d = &r->stranger->change;

	(void)v;
	if (d->changed < 0 && r->stranger->at_rest)
		return stranger_say(RULE_MISSING, say, n, "the rate of the first group was 0 at every update that was looked at: nothing was to change");
	if (d->changed < 0)
		return stranger_say(RULE_MISSING, say, n, "not reported: changed");
	if (d->changed == 0 && d->unchanged != 0)
		return stranger_say(RULE_BROKEN, say, n, "no tensor changed at update %lld", (long long)d->update);
	if (d->unchanged > 0)
		return stranger_say(RULE_MISSING, say, n, "%lld tensors with a gradient did not change at update %lld%s%s", (long long)d->unchanged, (long long)d->update, *d->worst ? ": " : "", d->worst);
	return stranger_say(RULE_HELD, say, n, "every tensor with a gradient changed (%lld at update %lld)", (long long)d->changed, (long long)d->update);
}

enum rule_state stranger_zero_changed(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct stranger_watch *s = r->stranger;

	(void)v;
	if (s->zero_changed <= 0)
		return RULE_UNSEEN;
	return stranger_say(RULE_BROKEN, say, n, "%lld tensors changed that have had no gradient at any update so far (update %lld)", (long long)s->zero_changed, (long long)s->zero_update);
}

enum rule_state stranger_declared(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct stranger_watch *s = r->stranger;

	(void)v;
	if (s->model.declared < 0)
		return RULE_UNSEEN;
	if (s->model.declared > 0)
		return stranger_say(RULE_BROKEN, say, n, "%lld tensors that --freeze names are trained (update %lld)", (long long)s->model.declared, (long long)(s->declared_update ? s->declared_update : 1));
	return stranger_say(RULE_HELD, say, n, "what --freeze names is frozen");
}

/* What no optimizer holds and has a gradient was to be trained, as far as anybody can see. */
enum rule_state stranger_covered(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_optimizer *o = &r->stranger->optimizer;

	(void)v;
	if (!o->count || o->uncovered < 0)
		return stranger_say(RULE_MISSING, say, n, "not reported: what the optimizer holds");
	if (o->uncovered > 0 && r->stranger->change.unchanged == 0)
		return stranger_say(RULE_MISSING, say, n, "%lld trainable tensors are in no optimizer, and have no gradient: %s", (long long)o->uncovered, o->uncovered_names);
	if (o->uncovered > 0)
		return stranger_say(RULE_BROKEN, say, n, "%lld trainable tensors are in no optimizer: %s%s", (long long)o->uncovered, o->uncovered_names, o->strangers > 0 ? "; it holds others that no model has" : "");
	if (o->strangers > 0)
		return stranger_say(RULE_HELD, say, n, "%s holds all of the model, and %lld tensors that no model has", o->name, (long long)o->strangers);
	return stranger_say(RULE_HELD, say, n, "%s holds every trainable tensor", o->name);
}

/* Kernels may write without a trace: only beside weights that stay the same it means something. */
enum rule_state stranger_touched(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct happened *h = &r->stranger->steps.untouched;

	(void)v;
	if (!h->times || r->stranger->change.changed > 0)
		return RULE_UNSEEN;
	return stranger_say(RULE_BROKEN, say, n, "the optimizer wrote to no tensor in %lld of %lld updates (first at update %lld)", (long long)h->times, (long long)r->steps, (long long)h->update);
}

static bool half(const char *precision)
{
	return strstr(precision, "bf16") || strstr(precision, "bfloat16") || strstr(precision, "fp16") || strstr(precision, "float16");
}

/* A step that is smaller than the last place of a weight is lost. */
enum rule_state stranger_rounded(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct stranger_watch *s = r->stranger;
	const char *precision = s->model.precision;

	(void)v;
	if (!half(precision))
		return RULE_UNSEEN;
	if (isnan(s->changed_share))
		return stranger_say(RULE_MISSING, say, n, "not reported: changed_share, with weights in %s", precision);
	if (s->changed_share < 0.5)
		return stranger_say(RULE_BROKEN, say, n, "weights in %s, and %.3g %% of the numbers changed at update %lld, at a rate of %.3g: updates are rounded away", precision, 100 * s->changed_share, (long long)s->share_update, s->share_lr);
	return stranger_say(RULE_HELD, say, n, "%.3g %% of the numbers changed, in %s", 100 * s->changed_share, precision);
}

/* ---- skips, ticks ---- */

enum rule_state stranger_skipped(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_steps *t = &r->stranger->steps;

	(void)v;
	if (t->late_attempts >= 10 && t->late_skips * 2 > t->late_attempts)
		return stranger_say(RULE_BROKEN, say, n, "%lld of %lld attempted updates were skipped, %lld of the last %lld", (long long)r->skips, (long long)t->attempts, (long long)t->late_skips, (long long)t->late_attempts);
	return r->skips ? stranger_say(RULE_HELD, say, n, "%lld of %lld attempts skipped", (long long)r->skips, (long long)t->attempts) : RULE_UNSEEN;
}

/* A loss scale of the script's own skips without a word. */
enum rule_state stranger_first(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_steps *t = &r->stranger->steps;
	int64_t usual = stranger_usual(t);

	(void)v;
	if (!usual || t->before_first < 10 * usual)
		return RULE_UNSEEN;
	return stranger_say(RULE_MISSING, say, n, "%lld backward passes made no update before the first one", (long long)t->before_first);
}

enum rule_state stranger_scaler(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct happened *h = &r->stranger->steps.scaler, *own = &r->stranger->steps.rescaled;

	(void)v;
	if (own->times && own->times * 2 < own->told)
		return stranger_say(RULE_BROKEN, say, n, "the loss scale changes between the passes of update %lld (of %lld in all)", (long long)own->update, (long long)own->times);
	if (h->times < 3)
		return RULE_UNSEEN;
	return stranger_say(RULE_BROKEN, say, n, "the loss scale is changed after every pass: %lld times by update %lld, as in %lld others", (long long)h->amount, (long long)h->update, (long long)h->times - 1);
}

enum rule_state stranger_schedule(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct happened *h = &r->stranger->steps.schedule;

	(void)v;
	if (h->times < 3)
		return RULE_UNSEEN;
	return stranger_say(RULE_BROKEN, say, n, "the schedule of the rate ticks once a pass: %lld times by update %lld, as in %lld others", (long long)h->amount, (long long)h->update, (long long)h->times - 1);
}

enum rule_state stranger_rate(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_steps *t = &r->stranger->steps;

	(void)v;
	if (isnan(t->least_lr))
		return stranger_say(RULE_MISSING, say, n, "not reported: lr");
	if (t->least_lr == t->most_lr)
		return stranger_say(RULE_HELD, say, n, "the rate is %.6g", t->most_lr);
	return stranger_say(RULE_HELD, say, n, "the rate is between %.6g and %.6g", t->least_lr, t->most_lr);
}

/* ---- replicas ---- */

enum rule_state stranger_synchronised(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct stranger_watch *s = r->stranger;
	const struct s_replicas *g = &s->replicas_seen;
	bool shards = strstr(s->model.wrapper, "Shard") || strstr(s->model.wrapper, "FSDP") || (g->batches && g->batches_same == g->batches);

	(void)v;
	if (s->replicas < 2)
		return RULE_UNSEEN;
	if (!g->weights)
		return stranger_say(RULE_MISSING, say, n, "not reported: the weights of %lld replicas", (long long)s->replicas);
	if (g->weights_apart && shards)
		return stranger_say(RULE_MISSING, say, n, "the weights of replicas differ, as parts of one model do");
	if (g->weights_apart && s->model.norms != 0)
		return stranger_say(RULE_MISSING, say, n, "the weights of replicas differ, taken with the statistics of normalisation, which may");
	if (g->weights_apart)
		return stranger_say(RULE_BROKEN, say, n, "replica %lld has other weights than replica 0 after update %lld", (long long)g->apart_rank, (long long)g->apart_update);
	return stranger_say(RULE_HELD, say, n, "%lld replicas have the same weights after each update compared", (long long)s->replicas);
}
