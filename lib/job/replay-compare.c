/* replay-compare.c - did it come back? Two arms are compared bit by bit, in the order in which a
 * state that was lost shows first, so that the difference names what was lost. */
#include <math.h>
#include <string.h>

#include "judge.h"

/* The same number, bit by bit; two that are not there are no evidence. */
static bool same(double a, double b)
{
	return memcmp(&a, &b, sizeof a) == 0 && !isnan(a);
}

static const char *text_of(double x, char out[32])
{
	if (isfinite(x))
		num_shortest(x, out);
	else
		snprintf(out, 32, "%s", isnan(x) ? "none" : "infinite");
	return out;
}

static int numbers(double a, double b, const char *what, int64_t update, const char *lost, char *say, size_t n)
{
	char x[32], y[32];

	if (same(a, b))
		return 0;
	snprintf(say, n, "update %lld: %s %s, the run that went on had %s: %s", (long long)update, what, text_of(b, y), text_of(a, x), lost);
	return 1;
}

/* first: the update right after the checkpoint, whose loss knows weights, data and random numbers only. */
static int step_differs(const struct update_fact *a, const struct update_fact *b, bool first, char *say, size_t n)
{
	int64_t u = a->update;

	if (numbers(a->lr, b->lr, "rate", u, "the schedule did not come back", say, n))
		return 1;
	if (strcmp(a->batch_digest, b->batch_digest) || a->rows != b->rows) {
		snprintf(say, n, "update %lld: other examples (%s, the run that went on had %s): the position in the data did not come back", (long long)u, b->batch_digest, a->batch_digest);
		return 1;
	}
	if (!*a->batch_digest || a->supervised != b->supervised) {
		snprintf(say, n, "update %lld: %lld targets, the run that went on had %lld", (long long)u, (long long)b->supervised, (long long)a->supervised);
		return 1;
	}
	if (numbers(a->loss, b->loss, "loss", u, first ? "weights or random state did not come back" : "the optimizer's state, or the random state, did not come back", say, n))
		return 1;
	return numbers(a->gradient_norm, b->gradient_norm, "gradient norm", u, first ? "gradients were left over, or random state did not come back" : "state did not come back", say, n);
}

static int eval_differs(const struct arm *a, const struct arm *b, int64_t from, int64_t to, char *say, size_t n)
{
	for (int64_t i = 0; i < a->evals; i++)
		for (int64_t k = 0; k < b->evals; k++) {
			int64_t u = a->eval[i].update;

			if (u != b->eval[k].update || u < from || u > to)
				continue;
			if (numbers(a->eval[i].loss, b->eval[k].loss, "validation loss", u, "what validation sees did not come back", say, n))
				return 1;
		}
	return 0;
}

static int save_differs(const struct arm *a, const struct arm *b, int64_t at, char *say, size_t n)
{
	const struct save_fact *x = arm_save(a, at), *y = arm_save(b, at);

	if (!x || !y)
		return 0;
	if (strcmp(x->weights_digest, y->weights_digest)) {
		snprintf(say, n, "the weights after update %lld are not those of the run that went on", (long long)at);
		return 1;
	}
	if (strcmp(x->optimizer_digest, y->optimizer_digest)) {
		snprintf(say, n, "the optimizer's state after update %lld is not that of the run that went on", (long long)at);
		return 1;
	}
	return 0;
}

/* The count: from..to, each once, and nothing else. */
static int counts_differ(const struct arm *b, int64_t from, int64_t to, char *say, size_t n)
{
	for (int64_t i = 0; i < b->steps; i++)
		if (b->step[i].update != from + i) {
			snprintf(say, n, "it went on with update %lld, not %lld: the count did not come back", (long long)b->step[i].update, (long long)(from + i));
			return 1;
		}
	if (b->steps != to - from + 1) {
		snprintf(say, n, "%lld updates were made to get from %lld to %lld", (long long)b->steps, (long long)from - 1, (long long)to);
		return 1;
	}
	return 0;
}

int arms_differ(const struct arm *went_on, const struct arm *resumed, int64_t from, int64_t to, char *say, size_t n)
{
	if (counts_differ(resumed, from, to, say, n))
		return 1;
	for (int64_t u = from; u <= to; u++) {
		const struct update_fact *a = arm_step(went_on, u), *b = arm_step(resumed, u);

		if (!a || !b) {
			snprintf(say, n, "update %lld is not in both", (long long)u);
			return 1;
		}
		if (step_differs(a, b, u == from, say, n))
			return 1;
	}
	return eval_differs(went_on, resumed, from, to, say, n) || save_differs(went_on, resumed, to, say, n);
}

int cold_differs(const struct arm *a, int64_t at, const struct arm *cold, char *say, size_t n)
{
	const struct update_fact *x = arm_step(a, at), *y = cold->steps ? &cold->step[0] : NULL;

	if (!x || !y) {
		snprintf(say, n, "the cold start made no update");
		return 0;
	}
	snprintf(say, n, "a cold start from the weights alone differs at its first update (loss %.5g, not %.5g)", y->loss, x->loss);
	if (same(x->loss, y->loss))
		snprintf(say, n, "a cold start from the weights alone has the same loss %.5g", y->loss);
	return !same(x->loss, y->loss) && !same(x->gradient_norm, y->gradient_norm);
}

static bool near(double a, double b, double share)
{
	return fabs(a - b) <= share * fmax(fabs(a), fabs(b));
}

/* fp32 sums in another order differ by some 1e-6 of themselves; a loss or gradient normalised by
 * micro-batch instead of by update by far more, as soon as micro-batches are unequal. */
int split_differs(const struct arm *a, const struct arm *b, char *say, size_t n)
{
	const struct update_fact *x = arm_step(a, 1), *y = arm_step(b, 1);

	if (!x || !y || strcmp(x->batch_digest, y->batch_digest)) {
		snprintf(say, n, "the same update has other examples when its micro-batches are cut otherwise");
		return 1;
	}
	if (near(x->loss, y->loss, 1e-5) && near(x->gradient_norm, y->gradient_norm, 1e-4) && same(x->lr, y->lr))
		return 0;
	if (!same(x->lr, y->lr))
		snprintf(say, n, "rate %.9g, and %.9g", x->lr, y->lr);
	else if (!near(x->loss, y->loss, 1e-5))
		snprintf(say, n, "loss %.9g, and %.9g", x->loss, y->loss);
	else
		snprintf(say, n, "gradient norm %.9g, and %.9g", x->gradient_norm, y->gradient_norm);
	return 1;
}

int split_eval_differs(const struct arm *a, const struct arm *b, char *say, size_t n)
{
	if (!a->evals || !b->evals || a->eval[0].update != b->eval[0].update) {
		snprintf(say, n, "not evaluated");
		return -1;
	}
	if (near(a->eval[0].loss, b->eval[0].loss, 1e-4))
		return 0;
	snprintf(say, n, "loss %.9g, and %.9g", a->eval[0].loss, b->eval[0].loss);
	return 1;
}
