/* rules-run.c - checks of data, forward and backward that need more than one field of one record:
 * against the run's settings, against the record before, against sums over the run. */
#include <math.h>
#include <string.h>

#include "judge.h"

#define F(x) F_phase_##x

bool rule_near(double a, double b, double share, double least)
{
	return fabs(a - b) <= share * fmax(fabs(a), fabs(b)) + least;
}

/* Sums and products of what a stream claims must not overflow. */
bool rule_int(const struct view *v, enum field f, int64_t *out)
{
	int64_t x;

	if (!view_int(v, f, &x) || x < -(INT64_C(1) << 52) || x > INT64_C(1) << 52)
		return false;
	*out = x;
	return true;
}

bool rule_skipped(const struct view *v)
{
	bool skipped;

	return view_bool(v, F_step_skipped, &skipped) && skipped;
}

const char *rule_text(double x, char out[32])
{
	if (isfinite(x))
		num_shortest(x, out);
	else
		snprintf(out, 32, "%s", isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity");
	return out;
}

/* ---- data ---- */

/* Every update has the examples that its place in the epoch gives it. */
enum rule_state check_window(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t rows, update, epoch, first, count;

	if (r->order.examples < 1 || r->skips || rule_skipped(v) || !rule_int(v, F_step_update, &update) || update < 1)
		return RULE_UNSEEN;
	if (!rule_int(v, F_step_rows, &rows))
		return RULE_MISSING;
	order_window(&r->order, update - 1, &epoch, &first, &count);
	if (rows == count)
		return RULE_HELD;
	snprintf(say, n, "update %lld saw %lld examples; its window has %lld", (long long)update, (long long)rows, (long long)count);
	return RULE_BROKEN;
}

static int64_t drops(int64_t epochs, int64_t tail)
{
	int64_t n;

	return __builtin_mul_overflow(epochs, tail, &n) ? -1 : n;
}

/* An epoch's last, incomplete window is kept, or dropped with a word. */
enum rule_state check_end_windows(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t dropped = 0, per_epoch, tail;

	if (!r->steps) {
		snprintf(say, n, "no update in this run");
		return RULE_MISSING;
	}
	if (r->order.examples < 1 || (per_epoch = order_updates_per_epoch(&r->order)) < 1) {
		snprintf(say, n, "%lld updates", (long long)r->steps);
		return RULE_HELD;
	}
	tail = r->order.examples % (r->order.micro_batch * r->order.accum);
	rule_int(v, F_end_dropped_examples, &dropped);
	if (!r->order.keep && tail && dropped != drops(r->update / per_epoch, tail) && dropped != drops((r->update - 1) / per_epoch, tail)) {
		snprintf(say, n, "%lld examples dropped without a word: each epoch drops its last %lld, the end record says %lld", (long long)drops(r->update / per_epoch, tail), (long long)tail, (long long)dropped);
		return RULE_BROKEN;
	}
	snprintf(say, n, "windows of %lld%s", (long long)(r->order.micro_batch * r->order.accum), !tail ? "" : r->order.keep ? ", an epoch's last kept short" : ", an epoch's last dropped");
	return RULE_HELD;
}

enum rule_state check_end_orders(struct watch *r, const struct view *v, char *say, size_t n)
{
	bool all = r->orders_equal == r->orders_compared;

	(void)v;
	if (r->order_repeated || (r->orders_compared && all && r->chance < log(1e-6))) {
		snprintf(say, n, "epochs repeat their order: %lld of %lld windows hold the same examples in the same order as one epoch before", (long long)r->orders_equal, (long long)r->orders_compared);
		return RULE_BROKEN;
	}
	if (!r->orders_compared || all)
		return RULE_UNSEEN; /* one epoch, or too few examples to tell */
	snprintf(say, n, "the order differs between epochs");
	return RULE_HELD;
}

/* ---- forward ---- */

enum rule_state check_output(struct watch *r, const struct view *v, char *say, size_t n)
{
	int dims = view_count(v, F(output_shape));
	int64_t last, rows;
	size_t k;

	if (dims < 2 || r->classes < 1 || !view_item_int(v, F(output_shape), dims - 1, &last) || !view_item_int(v, F(output_shape), 0, &rows))
		return RULE_MISSING;
	k = (size_t)snprintf(say, n, "logits %lld", (long long)rows);
	for (int i = 1; i < dims && k < n; i++) {
		int64_t d = 0;

		view_item_int(v, F(output_shape), i, &d);
		k += (size_t)snprintf(say + k, n - k, " x %lld", (long long)d);
	}
	if (last == r->classes && rows > 0 && (r->micro_batch < 1 || rows <= r->micro_batch))
		return RULE_HELD;
	snprintf(say + k, n - k, ": not those of %lld classes and a micro-batch of %lld", (long long)r->classes, (long long)r->micro_batch);
	return RULE_BROKEN;
}

/* For logits that know nothing of the targets, with variance v over the classes, the mean of the
 * loss lies between ln(classes) and ln(classes) + v/2 (the mean of log-sum-exp of Gaussians). One
 * target's logit is off by sqrt(v) or so, and targets repeat, so that averaging helps little: 2.5
 * of these, and 0.02 nats for the rest, are let through on both sides. */
enum rule_state check_fresh_loss(struct watch *r, const struct view *v, char *say, size_t n)
{
	double loss, want, var, slack;
	char a[32], b[32];
	bool fresh;

	if (!view_is(v, F(occurrence), "first"))
		return RULE_UNSEEN;
	if (!view_bool(v, F(fresh), &fresh))
		return RULE_MISSING;
	if (!fresh)
		return RULE_UNSEEN;
	if (!view_num(v, F(loss), &loss) || !view_num(v, F(expected_loss), &want) || !view_num(v, F(logits_variance), &var) || var < 0)
		return RULE_MISSING;
	if (r->classes > 0 && !rule_near(want, log((double)r->classes), 1e-9, 0)) {
		snprintf(say, n, "a fresh model's loss is expected to be %s; ln(%lld classes) is %.6g", rule_text(want, a), (long long)r->classes, log((double)r->classes));
		return RULE_BROKEN;
	}
	slack = 2.5 * sqrt(var) + 0.02;
	snprintf(a, sizeof a, "%.4g", loss);
	snprintf(b, sizeof b, "%.4g", want);
	if (loss >= want - slack && loss <= want + var / 2 + slack) {
		snprintf(say, n, "fresh loss %s near ln(classes) %s", a, b);
		return RULE_HELD;
	}
	snprintf(say, n, "a fresh model's loss is %s; ln(classes) is %s, and logits of variance %.3g allow %.4g to %.4g", a, b, var, want - slack, want + var / 2 + slack);
	return RULE_BROKEN;
}

/* The log shows the loss that the pass had, not the last good one. */
static enum rule_state logged(double shown, double had, int64_t update, char *say, size_t n)
{
	char a[32], b[32];

	if (shown == had || (isnan(shown) && isnan(had)))
		return RULE_HELD;
	snprintf(say, n, "the step record shows loss %s; the forward pass had %s (update %lld)", rule_text(shown, a), rule_text(had, b), (long long)update);
	return RULE_BROKEN;
}

enum rule_state check_logged_loss(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t update;
	double loss;

	if (v->kind == KIND_step) {
		/* one that was not applied, as where a run diverges, carries the count of the one before */
		if (rule_skipped(v) || !rule_int(v, F_step_update, &update) || update != r->forward_update || !view_num(v, F_step_loss, &loss))
			return RULE_UNSEEN;
		return logged(loss, r->forward_loss, update, say, n);
	}
	if (!rule_int(v, F(update), &update) || r->last.update != update + 1 || !view_num(v, F(loss), &loss))
		return RULE_UNSEEN;
	return logged(r->last.loss, loss, update + 1, say, n);
}

/* Two updates on other examples never have the same loss to the last bit, unless the log repeats one. */
enum rule_state check_stale(struct watch *r, const struct view *v, char *say, size_t n)
{
	char digest[DIGEST_SIZE], a[32];
	double loss;

	if (!r->steps || rule_skipped(v) || !view_num(v, F_step_loss, &loss) || !view_copy(v, F_step_batch_digest, digest, sizeof digest))
		return RULE_UNSEEN;
	if (loss != r->last.loss || loss == 0 || r->last.lr == 0 || !strcmp(digest, r->last.batch_digest))
		return RULE_HELD;
	snprintf(say, n, "updates %lld and %lld, on other examples, show the same loss %s to the last bit", (long long)r->last.update, (long long)r->last.update + 1, rule_text(loss, a));
	return RULE_BROKEN;
}

/* ---- backward ---- */

enum rule_state check_gradient(struct watch *r, const struct view *v, char *say, size_t n)
{
	double loss = NAN, norm;

	if (rule_skipped(v) || !view_num(v, F_step_gradient_norm, &norm))
		return RULE_UNSEEN;
	view_num(v, F_step_loss, &loss);
	if (norm != 0 || loss < 1e-6)
		return RULE_HELD;
	snprintf(say, n, "update %lld has no gradient at all, with a loss of %.4g", (long long)r->update + 1, loss);
	return RULE_BROKEN;
}

/* What is trained does not change on the way. */
enum rule_state check_trainable(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t tensors;

	if (!rule_int(v, F(trainable_tensors), &tensors))
		return RULE_MISSING;
	if (r->trainable < 0 || tensors == r->trainable)
		return RULE_HELD;
	snprintf(say, n, "%lld tensors are trained now, %lld were before", (long long)tensors, (long long)r->trainable);
	return RULE_BROKEN;
}

enum rule_state check_end_finite(struct watch *r, const struct view *v, char *say, size_t n)
{
	(void)v;
	if (!r->steps) {
		snprintf(say, n, "no update in this run");
		return RULE_MISSING;
	}
	snprintf(say, n, "loss finite in %lld updates, %.4g at the last", (long long)r->steps, r->last.loss);
	return RULE_HELD;
}

enum rule_state check_end_norms(struct watch *r, const struct view *v, char *say, size_t n)
{
	(void)v;
	if (!r->norms) {
		snprintf(say, n, "no gradient norm in this run");
		return RULE_MISSING;
	}
	snprintf(say, n, "norm finite in %lld updates, %.4g at the last", (long long)r->norms, r->norm);
	return RULE_HELD;
}
