/* stranger-rules-pass.c - checks of a command's forward and backward passes: its loss, what an extra pass
 * showed, its gradients, and how passes are put together to an update. */
#include <math.h>
#include <string.h>

#include "stranger-rules.h"

/* ---- forward ---- */

/* How far a first loss is from ln(classes) depends on the initialisation, and weights may have been given: both are said. */
enum rule_state stranger_loss(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_steps *t = &r->stranger->steps;
	size_t k;

	(void)v;
	if (!r->steps)
		return stranger_say(RULE_MISSING, say, n, "no update in this run");
	k = (size_t)snprintf(say, n, "loss finite in %lld updates, %.4g at the first", (long long)(r->steps - r->skips), t->first_loss);
	if (t->first_classes_known && t->first_classes > 1 && k < n && (strstr(t->loss_function, "NllLoss") || !strncmp(t->loss_function, "CrossEntropy", 12)))
		k += (size_t)snprintf(say + k, n - k, " (ln of %lld classes is %.4g)", (long long)t->first_classes, log((double)t->first_classes));
	if (k < n)
		snprintf(say + k, n - k, ", %.4g at the last", r->last.loss);
	return RULE_HELD;
}

/* Rounding: outputs that must be equal come from the same numbers in other places of other shapes. */
static bool beyond_rounding(const struct watch *r, const struct s_check *c)
{
	const char *p = r->stranger->model.precision;
	bool half = strstr(p, "bf16") || strstr(p, "bfloat16") || strstr(p, "fp16") || strstr(p, "float16");
	double scale = c->magnitude > 0 ? c->magnitude : 1;

	return !(c->difference <= (half ? 3e-2 : 1e-3) * scale);
}

static bool repeats(const struct watch *r)
{
	const struct s_check *c = &r->stranger->check[CHECK_REPEAT];

	return !c->told || !beyond_rounding(r, c);
}

enum rule_state stranger_repeat(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_check *c = &r->stranger->check[CHECK_REPEAT];

	(void)v;
	if (repeats(r))
		return RULE_UNSEEN;
	return stranger_say(RULE_MISSING, say, n, "the same batch gives other outputs when it is passed again (difference %.3g of %.3g): no extra pass can be compared", c->difference, c->magnitude);
}

/* One extra pass: RULE_UNSEEN where it was not asked for, or cannot be compared. */
static enum rule_state extra(const struct watch *r, int which, const char *what, char *say, size_t n)
{
	const struct s_check *c = &r->stranger->check[which];

	if (!c->told && *c->reason)
		return stranger_say(RULE_MISSING, say, n, "not shown with %s: %s", what, c->reason);
	if (!c->told || !repeats(r))
		return RULE_UNSEEN;
	if (!beyond_rounding(r, c))
		return stranger_say(RULE_HELD, say, n, "outputs unchanged with %s", what);
	return stranger_say(RULE_BROKEN, say, n, "outputs change with %s: by %.3g of %.3g (update %lld)", what, c->difference, c->magnitude, (long long)c->update);
}

/* Of a model whose targets are the next input; another may look where it likes. */
enum rule_state stranger_future(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_steps *t = &r->stranger->steps;

	(void)v;
	if (!t->offset_next || t->offset_same || t->offset_past)
		return RULE_UNSEEN;
	return extra(r, CHECK_FUTURE, "other tokens behind them", say, n);
}

/* That rows are examples is only known where somebody else counts as many. */
enum rule_state stranger_mixed(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct stranger_watch *s = r->stranger;
	bool known = (s->asks_rows && s->steps.rows_asked) || (s->loaders.micro_batch > 0 && s->loaders.micro_batch == s->loaders.first_rows);
	enum rule_state is = extra(r, CHECK_ROWS, "half the rows", say, n);

	(void)v;
	if (is != RULE_BROKEN || known)
		return is;
	return stranger_say(RULE_MISSING, say, n, "outputs change with half the rows: rows are mixed, if rows are examples");
}

/* Without padding in its data a model need not know what padding is. */
enum rule_state stranger_widened(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct stranger_watch *s = r->stranger;

	(void)v;
	if (!s->padded && !s->steps.padding.told)
		return RULE_UNSEEN;
	return extra(r, CHECK_PADDING, "more padding", say, n);
}

/* ---- backward ---- */

enum rule_state stranger_gradients(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_deep *d = &r->stranger->gradient;
	char some[80] = "", zero[64] = "";

	(void)v;
	if (!r->norms)
		return stranger_say(RULE_MISSING, say, n, "not reported: gradient_norm");
	if (d->missing < 0)
		return stranger_say(RULE_MISSING, say, n, "not reported: gradients_missing");
	if (d->missing > 0)
		return stranger_say(RULE_MISSING, say, n, "%lld of %lld trainable tensors have no gradient at update %lld%s%s", (long long)d->missing, (long long)d->trainable, (long long)d->update, *d->worst ? ": " : "", d->worst);
	if (d->frozen > 0)
		return stranger_say(RULE_MISSING, say, n, "%lld frozen tensors have a gradient at update %lld", (long long)d->frozen, (long long)d->update);
	if (d->trainable >= 0)
		snprintf(some, sizeof some, "every one of %lld trainable tensors has a gradient; ", (long long)d->trainable);
	if (d->zero > 0)
		snprintf(zero, sizeof zero, "%lld of them zero; ", (long long)d->zero);
	return stranger_say(RULE_HELD, say, n, "%s%snorm finite in %lld updates, %.4g at the last", some, zero, (long long)r->norms, r->norm);
}

enum rule_state stranger_no_gradient(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_steps *t = &r->stranger->steps;

	(void)v;
	if (t->gradient_zero_row < 2)
		return RULE_UNSEEN;
	if (r->stranger->optimizer.strangers > 0) /* a copy in float32, which takes the gradients away from the model */
		return stranger_say(RULE_MISSING, say, n, "the model's tensors have no gradient when the optimizer steps, which holds %lld others", (long long)r->stranger->optimizer.strangers);
	return stranger_say(RULE_BROKEN, say, n, "no gradient at all in %lld updates (first at update %lld), with a loss", (long long)t->no_gradient.times, (long long)t->no_gradient.update);
}

enum rule_state stranger_left_over(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct happened *h = &r->stranger->steps.left_over;

	(void)v;
	if (!h->told)
		return stranger_say(RULE_MISSING, say, n, "not reported: left_over");
	if (!h->times)
		return stranger_say(RULE_HELD, say, n, "none left over from the update before");
	return stranger_say(RULE_BROKEN, say, n, "gradients of the update before are still there when the next begins: %lld tensors at update %lld, some at %lld of %lld updates", (long long)h->amount, (long long)h->update, (long long)h->times, (long long)r->steps);
}

/* Passes that wait when the data ends are part of a window that goes on (as many passes as ever), or
 * leak into the next one (more than ever). */
enum rule_state stranger_tail(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_loaders *l = &r->stranger->loaders;
	int64_t usual = stranger_usual(&r->stranger->steps), more = 0, i;

	(void)v;
	for (i = 0; i < l->tails; i++)
		if (usual > 1 && l->tail[i].passes == usual + l->tail[i].waiting)
			return stranger_say(RULE_BROKEN, say, n, "gradients of %lld passes at the end of a pass over the data leak into update %lld: it sums %lld passes, others %lld", (long long)l->tail[i].waiting, (long long)l->tail[i].update, (long long)l->tail[i].passes, (long long)usual);
	for (i = usual + 1; usual && i <= S_PASSES; i++)
		more += r->stranger->steps.windows[i];
	if (more && !l->trained && r->stranger->steps.windows[usual] * 4 >= r->steps * 3)
		return stranger_say(RULE_MISSING, say, n, "%lld updates sum more passes than the usual %lld", (long long)more, (long long)usual);
	if (usual > 1)
		return stranger_say(RULE_HELD, say, n, "%lld passes an update", (long long)usual);
	return RULE_UNSEEN;
}

/* Thrown away at every update is how some optimizers look ahead; thrown away now and then is a window lost. */
enum rule_state stranger_dropped(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct happened *h = &r->stranger->steps.dropped;
	int64_t usual = stranger_usual(&r->stranger->steps);

	(void)v;
	if (!h->told || !h->times)
		return RULE_UNSEEN;
	if (usual > 1 && h->most < usual && h->times * 2 < r->steps)
		return stranger_say(RULE_BROKEN, say, n, "the gradients of %lld passes were thrown away before update %lld (an update has %lld), such at %lld updates", (long long)h->amount, (long long)h->update, (long long)usual, (long long)h->times);
	return stranger_say(RULE_MISSING, say, n, "gradients of backward passes were thrown away before %lld of %lld updates (%lld before update %lld)", (long long)h->times, (long long)r->steps, (long long)h->amount, (long long)h->update);
}

/* Batches that are drawn, and no pass is made on them: the last window of each pass over the data, if they are
 * those that do not fill one; a choice of the script's otherwise. */
enum rule_state stranger_unused(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_loaders *l = &r->stranger->loaders;
	const struct s_pass *b = &l->pass[(l->next + S_LOADERS - 1) % S_LOADERS];
	int64_t usual = stranger_usual(&r->stranger->steps);

	(void)v;
	if (!l->unused)
		return RULE_UNSEEN;
	if (usual > 1 && l->unused == l->counted && l->unused_batches == b->batches % usual)
		return stranger_say(RULE_BROKEN, say, n, "the last %lld batches of a pass over the data, which do not fill an update of %lld, are left out (first at update %lld)", (long long)l->unused_batches, (long long)usual, (long long)l->unused_update);
	return stranger_say(RULE_MISSING, say, n, "%lld batches of a pass over the training data were drawn and not trained on (until update %lld)", (long long)l->unused_batches, (long long)l->unused_update);
}

/* Do the passes' targets vary as a mask drawn at random makes them vary? Four standard deviations are let through. */
static bool by_chance(const struct s_steps *t)
{
	return t->freedom > 0 && t->by_chance > 0 && t->strayed <= t->by_chance * (1 + 4 * sqrt(2.0 / (double)t->freedom));
}

/* Small differences, and those of a random mask, even out over updates; others move the gradient. */
enum rule_state stranger_means(struct watch *r, const struct view *v, char *say, size_t n)
{
	const struct s_steps *t = &r->stranger->steps;

	(void)v;
	if (t->passes_uncounted)
		return stranger_say(RULE_MISSING, say, n, "not reported: pass_supervised, where an update has several passes");
	if (!t->uneven.told)
		return RULE_UNSEEN;
	if (t->uneven.times && by_chance(t))
		return stranger_say(RULE_HELD, say, n, "passes are weighted alike, their targets differ as a random mask makes them (by at most %lld %%)", (long long)t->uneven.most);
	if (t->uneven.most > 25)
		return stranger_say(RULE_BROKEN, say, n, "passes of unequal targets are weighted alike: the mean of their means is no mean over the targets (the least is %lld %% below the most at update %lld, such in %lld updates)", (long long)t->uneven.amount, (long long)t->uneven.update, (long long)t->uneven.times);
	if (t->uneven.times)
		return stranger_say(RULE_HELD, say, n, "passes are weighted alike, their targets differ by at most %lld %%", (long long)t->uneven.most);
	if (t->uneven_short.times)
		return stranger_say(RULE_HELD, say, n, "passes are weighted alike, %lld updates have a shorter last one", (long long)t->uneven_short.times);
	return stranger_say(RULE_HELD, say, n, t->added ? "passes of equal targets, their means added up" : "passes of equal targets weighted alike");
}
