/* stranger-rules-data.c - checks of what a command loads and feeds: its model, its batches, their order. */
#include <math.h>
#include <string.h>

#include "stranger-rules.h"

/* ---- load ---- */

enum rule_state stranger_model(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_model *m = &r->stranger->model;
	size_t k;

	(void)v;
	if (!m->count || m->tensors < 0)
		return stranger_say(RULE_MISSING, say, n, "not reported: the model");
	k = (size_t)snprintf(say, n, "%s: %lld tensors", m->name, (long long)m->tensors);
	if (m->trainable >= 0 && m->trainable < m->tensors && k < n)
		k += (size_t)snprintf(say + k, n - k, ", %lld of them trained", (long long)m->trainable);
	if (m->parameters >= 0 && k < n)
		k += (size_t)snprintf(say + k, n - k, ", %lld numbers", (long long)m->parameters);
	if (*m->precision && k < n)
		k += (size_t)snprintf(say + k, n - k, " in %s", m->precision);
	if (*m->device && k < n)
		k += (size_t)snprintf(say + k, n - k, " on %s", m->device);
	if (m->count > 1 && k < n)
		snprintf(say + k, n - k, " (the first of %d models)", m->count);
	return RULE_HELD;
}

enum rule_state stranger_apart(struct watch *r, const struct view *v, char *say, size_t n)
{
	(void)v;
	if (!*r->stranger->model.apart)
		return RULE_UNSEEN;
	return stranger_say(RULE_BROKEN, say, n, "equal weights in two tensors, tied in name only: %s", r->stranger->model.apart);
}

enum rule_state stranger_loaded(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_state *t = &r->stranger->state;

	(void)v;
	if (t->none)
		return stranger_say(RULE_BROKEN, say, n, "weights were loaded from %s, which has no tensor of the model", t->none_path);
	if (!t->loads || t->matched < 0)
		return RULE_UNSEEN;
	if (t->missing > 0)
		return stranger_say(RULE_HELD, say, n, "%lld tensors came from %s, %lld of the model's are not in it", (long long)t->matched, t->path, (long long)t->missing);
	return stranger_say(RULE_HELD, say, n, "all %lld tensors came from %s", (long long)t->matched, t->path);
}

/* ---- batches ---- */

static enum rule_state rows_asked(const struct watch *r, char *say, size_t n)
{
	const struct s_steps *t = &r->stranger->steps;
	int64_t usual = stranger_usual(t);

	if (r->stranger->asks_rows && r->micro_batch > 0 && (t->rows_other || (t->rows_short && t->rows_short >= t->rows_asked)))
		return stranger_say(RULE_MISSING, say, n, "it trains on passes of %lld rows where {micro_batch} was %lld (update %lld)", (long long)t->other_rows, (long long)r->micro_batch, (long long)t->other_update);
	if (r->stranger->asks_accum && usual && usual != r->stranger->accum)
		return stranger_say(RULE_MISSING, say, n, "%lld passes make an update where {accum} was %lld", (long long)usual, (long long)r->stranger->accum);
	if (r->stranger->asks_rows && t->rows_asked)
		return stranger_say(RULE_HELD, say, n, "passes of %lld rows as asked%s", (long long)r->micro_batch, t->rows_short ? ", a last one shorter" : "");
	return stranger_say(RULE_HELD, say, n, "%lld rows in the last update", (long long)r->last.rows);
}

enum rule_state stranger_rows(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_steps *t = &r->stranger->steps;

	(void)v;
	if (!r->steps)
		return stranger_say(RULE_MISSING, say, n, "no update in this run");
	if (t->rows_told < t->attempts)
		return stranger_say(RULE_MISSING, say, n, "not reported: rows");
	return rows_asked(r, say, n);
}

enum rule_state stranger_targets(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct happened *h = &r->stranger->steps.no_target;

	(void)v;
	if (!h->times)
		return RULE_UNSEEN;
	return stranger_say(RULE_BROKEN, say, n, "%lld of %lld updates have no target that the loss looks at (first at update %lld)", (long long)h->times, (long long)r->steps, (long long)h->update);
}

/* Targets that are an input further on are shifted twice. An input's own place, or an earlier one, is what an
 * autoencoder or a task of memory has; only a model that cannot look ahead shows that nothing else is meant. */
enum rule_state stranger_shift(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_steps *t = &r->stranger->steps;
	const struct s_check *c = &r->stranger->check[CHECK_FUTURE];

	(void)v;
	if (!t->offsets)
		return RULE_UNSEEN; /* inputs are no ids, or targets are none of them */
	if (t->offset_far)
		return stranger_say(RULE_BROKEN, say, n, "the target of each position is the input %lld positions on (%.3g %% of them, at update %lld): the next one is 1 on", (long long)t->far_offset, 100 * t->offset_match, (long long)t->offset_update);
	if (t->offset_same && c->told && c->difference == 0)
		return stranger_say(RULE_BROKEN, say, n, "the target of each position is the input at it, in a model that does not look ahead: nothing is left to predict");
	if (t->offset_same)
		return stranger_say(RULE_MISSING, say, n, "the target of each position is the input at it: right for an autoencoder, wrong for a model of the next token");
	if (t->offset_past)
		return stranger_say(RULE_MISSING, say, n, "the target of each position is an earlier input: right for a task of memory, wrong for a model of the next token");
	if (t->offset_next)
		return stranger_say(RULE_HELD, say, n, "each target is the next input");
	return RULE_UNSEEN;
}

enum rule_state stranger_padding(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct happened *h = &r->stranger->steps.padding;

	(void)v;
	if (!h->told)
		return RULE_UNSEEN;
	if (h->times)
		return stranger_say(h->times * 2 > h->told ? RULE_BROKEN : RULE_MISSING, say, n, "the loss looks at what looks like padding: %lld targets at update %lld, some in %lld of %lld updates looked at", (long long)h->amount, (long long)h->update, (long long)h->times, (long long)h->told);
	return stranger_say(RULE_HELD, say, n, "the loss does not look at padding");
}

enum rule_state stranger_batches(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_steps *t = &r->stranger->steps;
	const struct s_loaders *l = &r->stranger->loaders;

	(void)v;
	if (!t->digests)
		return stranger_say(RULE_MISSING, say, n, "not reported: batch_digest");
	if (t->digests > 1 && t->digests_same == t->digests - 1) {
		const struct s_pass *b = &l->pass[(l->next + S_LOADERS - 1) % S_LOADERS];

		if (l->trained && b->examples > 0 && b->rows >= b->examples)
			return stranger_say(RULE_HELD, say, n, "every update sees the whole data set, %lld examples", (long long)b->examples);
		return stranger_say(RULE_MISSING, say, n, "every one of %lld updates sees the same batch: the whole data set, or one batch of it", (long long)t->digests);
	}
	if (t->lag > 1 && t->lag_row > 1 && t->lag_row >= t->lag && !l->compared)
		return stranger_say(RULE_MISSING, say, n, "the batches repeat in the same order every %lld updates", (long long)t->lag);
	if (!t->digests_again)
		return stranger_say(RULE_HELD, say, n, "no batch of %lld seen twice", (long long)t->digests);
	return stranger_say(RULE_HELD, say, n, "%lld of %lld batches seen before", (long long)t->digests_again, (long long)t->digests);
}

/* ---- loaders ---- */

enum rule_state stranger_order(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_loaders *l = &r->stranger->loaders;

	(void)v;
	if (l->repeated && l->repeat_plain) /* said by the program itself, if not always meant */
		return stranger_say(RULE_MISSING, say, n, "epochs repeat their order, which is the data set's: nothing shuffles it: %s", l->repeat);
	if (l->repeated)
		return stranger_say(RULE_BROKEN, say, n, "epochs repeat their order: %s", l->repeat);
	if (!l->compared)
		return RULE_UNSEEN; /* no loader, or one pass, or passes broken off at different places */
	if (l->repeat_stream)
		return stranger_say(RULE_MISSING, say, n, "passes over the training data, which comes as a stream, have the same order");
	if (l->repeat_small)
		return stranger_say(RULE_MISSING, say, n, "passes over the training data had the same order; they have too few examples to tell it from chance");
	return stranger_say(RULE_HELD, say, n, "the order differs between %lld passes over the training data", (long long)l->trained);
}

enum rule_state stranger_workers(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_loaders *l = &r->stranger->loaders;

	(void)v;
	if (*l->workers)
		return stranger_say(RULE_BROKEN, say, n, "the loader's workers give out the same: %s", l->workers);
	if (*l->again)
		return stranger_say(RULE_MISSING, say, n, "%s: the data may hold the same example again, or be given out twice", l->again);
	return RULE_UNSEEN;
}

enum rule_state stranger_shards(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct stranger_watch *s = r->stranger;
	const struct s_replicas *g = &s->replicas_seen;

	(void)v;
	if (s->replicas < 2)
		return RULE_UNSEEN;
	if (!g->batches)
		return stranger_say(RULE_MISSING, say, n, "not reported: the batches of %lld replicas", (long long)s->replicas);
	if (g->batches_same < g->batches || g->batches < 2)
		return stranger_say(RULE_HELD, say, n, "replicas see different batches");
	if (g->weights_apart)
		return stranger_say(RULE_MISSING, say, n, "all replicas see the same batches and have different weights, as parts of one model do");
	if (s->steps.digests_same == s->steps.digests - 1)
		return stranger_say(RULE_MISSING, say, n, "all replicas see the same batch, at every update");
	return stranger_say(RULE_BROKEN, say, n, "the data is not shared out: replicas see the same batch in %lld of %lld comparisons", (long long)g->batches_same, (long long)g->batches);
}
