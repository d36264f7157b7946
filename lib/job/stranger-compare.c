/* stranger-compare.c - what came back? The state that a process left, against the state in which another began
 * that resumed; then their updates, one by one. Each piece is judged by itself, so that the verdict names what
 * was lost and not only that something was. */
#include <math.h>
#include <string.h>

#include "stranger-replay.h"

enum { SHIFTED = 3 }; /* updates that show it */

/* The same number, bit by bit; two that are not there are the same nothing. */
static bool same(double a, double b)
{
	return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static const char *text_of(double x, char out[32])
{
	if (isfinite(x))
		num_shortest(x, out);
	else
		snprintf(out, 32, "%s", isnan(x) ? "none" : "infinite");
	return out;
}

static const char *brief(double x, char out[32])
{
	snprintf(out, 32, "%.9g", x);
	return out;
}

/* ---- does the program repeat itself? ---- */

void compare_repeat(struct again_replay *x)
{
	char a[32], b[32];

	x->same_batches = true;
	for (int64_t u = 1; u <= x->k; u++) {
		const struct update_fact *p = arm_step(&x->a, u), *q = arm_step(&x->s, u);
		bool batch = p && q && !strcmp(p->batch_digest, q->batch_digest) && p->rows == q->rows;

		x->same_batches &= batch;
		if (*x->unrepeated || (batch && same(p->loss, q->loss) && same(p->lr, q->lr) && same(p->gradient_norm, q->gradient_norm)))
			continue;
		if (p && q && batch)
			snprintf(x->unrepeated, sizeof x->unrepeated, "run twice from scratch, update %lld has loss %s and %s", (long long)u, brief(p->loss, a), brief(q->loss, b));
		else
			snprintf(x->unrepeated, sizeof x->unrepeated, "run twice from scratch, update %lld has %s", (long long)u, p && q ? "different batches" : "no match");
	}
}

/* ---- pieces ---- */

static void lost(struct back *o, enum piece p, const char *fmt, ...) PRINTF(3, 4);
static void lost(struct back *o, enum piece p, const char *fmt, ...)
{
	va_list ap;

	if (o->piece[p] == CAME_NOT)
		return;
	va_start(ap, fmt);
	vsnprintf(o->say[p], sizeof o->say[p], fmt, ap);
	va_end(ap);
	o->piece[p] = CAME_NOT;
}

/* What two digests say: equal, not equal, or nothing. */
static enum came digests(const char *left, const char *begun)
{
	if (!*left)
		return CAME_UNKNOWN;
	return strcmp(left, begun) ? CAME_NOT : CAME_BACK;
}

static void see_weights(const struct again_replay *x, const struct state_fact *stop, const struct arm *b, struct back *o)
{
	const struct state_fact *fresh = &x->s.start;
	int64_t u = 0;

	o->piece[P_WEIGHTS] = *b->start.weights ? digests(stop->weights, b->start.weights) : CAME_UNKNOWN;
	o->moved = *fresh->weights && strcmp(fresh->weights, stop->weights);
	if (o->piece[P_WEIGHTS] != CAME_NOT)
		return;
	for (int64_t i = 0; i < x->a.steps; i++)
		if (*x->a.step[i].weights_digest && !strcmp(x->a.step[i].weights_digest, b->start.weights))
			u = x->a.step[i].update;
	o->piece[P_WEIGHTS] = CAME_UNKNOWN;
	if (!strcmp(fresh->weights, b->start.weights)) {
		o->began_again = b->loads <= x->s.loads; /* weights to begin with are read every time */
		lost(o, P_WEIGHTS, "those of a fresh start");
	} else if (u > 0) {
		lost(o, P_WEIGHTS, "those of update %lld", (long long)u);
	} else {
		lost(o, P_WEIGHTS, "neither those that were left nor those of a fresh start");
	}
	size_t n = strlen(o->say[P_WEIGHTS]);
	if (b->loads > x->s.loads && b->matched >= 0)
		snprintf(o->say[P_WEIGHTS] + n, sizeof o->say[P_WEIGHTS] - n, " (of what was read, %lld tensors are the model's%s)", (long long)b->matched, b->matched ? "" : ": nothing was loaded");
}

static void see_optimizer(const struct again_replay *x, const struct state_fact *stop, const struct state_fact *begun, struct back *o)
{
	const char *fresh = x->s.start.optimizer;

	o->stateless = *stop->optimizer && !strcmp(fresh, stop->optimizer);
	o->piece[P_OPTIMIZER] = o->stateless ? CAME_FREE : digests(stop->optimizer, begun->optimizer);
	if (o->piece[P_OPTIMIZER] == CAME_NOT) {
		o->piece[P_OPTIMIZER] = CAME_UNKNOWN;
		if (!strcmp(fresh, begun->optimizer) || (begun->count <= 0 && stop->count > 0))
			lost(o, P_OPTIMIZER, "started empty");
		else if (begun->count == stop->count)
			lost(o, P_OPTIMIZER, "its state is not the one that was left");
	}
	if (stop->count < 0)
		return;
	if (stop->count == begun->count)
		o->piece[P_COUNT] = CAME_BACK;
	else if (o->piece[P_OPTIMIZER] != CAME_NOT && begun->count >= 0)
		lost(o, P_COUNT, "the optimizer has counted %lld updates where it had counted %lld", (long long)begun->count, (long long)stop->count);
}

static void see_schedule(const struct state_fact *stop, const struct state_fact *begun, struct back *o)
{
	if (stop->schedule >= 0 && begun->schedule >= 0 && stop->schedule != begun->schedule)
		lost(o, P_RATE, "the schedule has counted %lld steps where it had counted %lld", (long long)begun->schedule, (long long)stop->schedule);
}

static void see_scale(const struct state_fact *stop, const struct state_fact *begun, struct back *o)
{
	char a[32], b[32];

	if (isnan(stop->scale))
		return;
	if (same(stop->scale, begun->scale))
		o->piece[P_SCALE] = CAME_BACK;
	else
		lost(o, P_SCALE, "%s where it was %s", text_of(begun->scale, b), text_of(stop->scale, a));
}

static void see_random(const struct again_replay *x, const struct state_fact *stop, const struct state_fact *begun, struct back *o)
{
	for (int i = 0; i < RANDOMS; i++) {
		enum piece p = P_TORCH + i;

		if (!*stop->random[i])
			continue;
		if (!strcmp(stop->random[i], begun->random[i]))
			o->piece[p] = CAME_BACK;
		else if (!strcmp(stop->random[i], x->s.start.random[i]))
			o->piece[p] = CAME_FREE; /* nothing was drawn from it since the start */
		else
			o->piece[p] = CAME_NOT;
	}
}

/* ---- updates ---- */

static int64_t update_of_batch(const struct arm *a, const char *digest)
{
	for (int64_t i = 0; i < a->steps; i++)
		if (!strcmp(a->step[i].batch_digest, digest))
			return a->step[i].update;
	return 0;
}

static int64_t repeated(const struct arm *a, const struct arm *b, int64_t from)
{
	int64_t n = 0, u;

	for (int64_t i = 0; i < b->steps; i++)
		n += (u = update_of_batch(a, b->step[i].batch_digest)) > 0 && u <= from;
	return n;
}

static bool is_shifted(const struct arm *a, const struct arm *b, int64_t from, int64_t by)
{
	int64_t n = 0;

	for (int64_t i = 1; i <= b->steps && n < SHIFTED; i++) { /* what comes later may be lost besides */
		const struct update_fact *p = arm_step(a, from + i + by), *q = arm_step(b, i);

		if (!p || !q)
			continue;
		if (strcmp(p->batch_digest, q->batch_digest) || !same(p->lr, q->lr))
			return false;
		n++;
	}
	return n > 0;
}

/* The whole way is off by one or two: not the data were lost, but where it was. */
static bool see_shift(const struct again_replay *x, const struct arm *b, int64_t from, struct back *o)
{
	static const int64_t by[] = { -1, 1, -2, 2 };
	const struct update_fact *q = arm_step(b, 1);

	for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
		if (!q || !*q->batch_digest || from + 1 + by[i] < 2 || !is_shifted(&x->a, b, from, by[i]))
			continue;
		lost(o, P_COUNT, by[i] < 0 ? "the last %s: update %lld has the batch and the rate of update %lld" : "%s left out: update %lld has the batch and the rate of update %lld", by[i] == -1 ? "update runs again" : by[i] == -2 ? "two updates run again" : by[i] == 1 ? "an update is" : "two updates are", (long long)from + 1, (long long)(from + 1 + by[i]));
		return true;
	}
	return false;
}

static void say_batch(const struct again_replay *x, const struct arm *b, const struct update_fact *q, int64_t from, struct back *o)
{
	int64_t u = update_of_batch(&x->a, q->batch_digest), n = repeated(&x->a, b, from);

	if (u > from)
		lost(o, P_DATA, "the batch of update %lld is the batch of update %lld", (long long)(from + q->update), (long long)u);
	else if (u > 0)
		lost(o, P_DATA, "the batch of update %lld is the batch of update %lld (%lld of %lld repeated)", (long long)(from + q->update), (long long)u, (long long)n, (long long)b->steps);
	else
		lost(o, P_DATA, "the batch of update %lld is none of the first %lld of the run that went on: another order or other values", (long long)(from + q->update), (long long)x->a.steps);
}

static void see_batches(const struct again_replay *x, const struct arm *b, int64_t from, struct back *o)
{
	int64_t known = 0;

	if (!x->same_batches)
		return;
	for (int64_t i = 1; i <= b->steps; i++) {
		const struct update_fact *p = arm_step(&x->a, from + i), *q = arm_step(b, i);

		if (!p || !q || !*p->batch_digest || !*q->batch_digest)
			continue;
		known++;
		if (strcmp(p->batch_digest, q->batch_digest) || p->rows != q->rows) {
			if (!see_shift(x, b, from, o))
				say_batch(x, b, q, from, o);
			return;
		}
	}
	if (known)
		o->piece[P_DATA] = CAME_BACK;
}

static void see_rates(const struct again_replay *x, const struct state_fact *stop, const struct arm *b, int64_t from, struct back *o)
{
	char a[32], c[32];
	int64_t known = 0;

	for (int64_t i = 1; i <= b->steps && o->piece[P_COUNT] != CAME_NOT; i++) {
		const struct update_fact *p = arm_step(&x->a, from + i), *q = arm_step(b, i);

		if (!p || !q || isnan(p->lr))
			continue;
		known++;
		if (same(p->lr, q->lr))
			continue;
		bool counted = o->piece[P_RATE] == CAME_NOT;
		char more[300];
		snprintf(more, sizeof more, "%s", counted ? o->say[P_RATE] : "the schedule did not come back");
		o->piece[P_RATE] = CAME_UNKNOWN;
		lost(o, P_RATE, "%s at update %lld where the run that went on had %s: %.150s", text_of(q->lr, c), (long long)(from + i), text_of(p->lr, a), more);
		return;
	}
	if (o->piece[P_RATE] == CAME_NOT)
		return;
	if (known)
		o->piece[P_RATE] = CAME_BACK;
	else if (!isnan(stop->lr) && same(stop->lr, b->start.lr))
		o->piece[P_RATE] = CAME_BACK;
}

/* A scale of the script's own, of which no state tells, is in what its loss is divided by. */
static void see_scales(const struct again_replay *x, const struct arm *b, int64_t from, struct back *o)
{
	char a[32], c[32];

	for (int64_t i = 1; i <= b->steps; i++) {
		const struct update_fact *p = arm_step(&x->a, from + i), *q = arm_step(b, i);

		if (!p || !q || strcmp(p->batch_digest, q->batch_digest) || o->piece[P_SCALE] == CAME_NOT)
			continue;
		if (!same(p->scale, q->scale) && !*x->unrepeated)
			lost(o, P_SCALE, "%s at update %lld where the run that went on had %s", text_of(q->scale, c), (long long)(from + i), text_of(p->scale, a));
		else if (!same(p->divisor, q->divisor) && !isnan(p->divisor) && !isnan(q->divisor) && same(p->loss, q->loss))
			lost(o, P_SCALE, "update %lld divides the loss by %s where the run that went on divided it by %s", (long long)(from + i), brief(q->divisor, c), brief(p->divisor, a));
	}
}

static void see_losses(const struct again_replay *x, const struct arm *b, int64_t from, struct back *o)
{
	char a[32], c[32];

	if (*x->unrepeated)
		return;
	for (int64_t i = 1; i <= b->steps; i++) {
		const struct update_fact *p = arm_step(&x->a, from + i), *q = arm_step(b, i);

		if (!p || !q || isnan(p->loss))
			continue;
		o->compared++;
		if (!same(p->loss, q->loss))
			lost(o, P_LOSSES, "update %lld has loss %s, the run that went on had %s", (long long)(from + i), brief(q->loss, c), brief(p->loss, a));
		else if (!same(p->gradient_norm, q->gradient_norm))
			lost(o, P_LOSSES, "update %lld has gradient norm %s, the run that went on had %s", (long long)(from + i), brief(q->gradient_norm, c), brief(p->gradient_norm, a));
		else if (*p->weights_digest && strcmp(p->weights_digest, q->weights_digest))
			lost(o, P_LOSSES, "the weights after update %lld are not those of the run that went on", (long long)(from + i));
	}
	if (o->compared && o->piece[P_LOSSES] != CAME_NOT)
		o->piece[P_LOSSES] = CAME_BACK;
}

/* ---- together ---- */

static const char *const random_name[RANDOMS] = { "torch's", "the device's", "numpy's", "python's" };

/* A random state that did not come back matters if something follows from it. */
static void settle_random(struct back *o)
{
	bool follows = o->piece[P_LOSSES] == CAME_NOT || o->piece[P_DATA] == CAME_NOT, proven = o->piece[P_LOSSES] == CAME_BACK;

	for (int i = 0; i < RANDOMS; i++) {
		enum piece p = P_TORCH + i;

		if (o->piece[p] != CAME_NOT)
			continue;
		o->dependent |= follows;
		if (!follows)
			o->piece[p] = CAME_UNKNOWN;
		snprintf(o->say[p], sizeof o->say[p], "%s%s", random_name[i], follows ? " did not come back" : proven ? " did not come back, and no update compared depends on it" : " did not come back, and whether that matters is not seen");
	}
}

/* A program that says nothing of its state: its first update tells. */
static void see_blindly(const struct again_replay *x, const struct arm *b, int64_t from, struct back *o)
{
	const struct update_fact *first = arm_step(&x->a, 1), *next = arm_step(&x->a, from + 1), *q = arm_step(b, 1);

	if (b->start.seen || !first || !next || !q || isnan(q->loss))
		return;
	o->moved = !same(first->loss, next->loss);
	o->began_again = b->loads <= x->s.loads && o->moved && same(q->loss, first->loss) && !same(q->loss, next->loss);
}

void compare_resumed(const struct again_replay *x, const struct state_fact *stop, const struct arm *b, int64_t from, struct back *o)
{
	*o = (struct back){ .from = from };
	if (stop->seen && b->start.seen) {
		see_weights(x, stop, b, o);
		see_optimizer(x, stop, &b->start, o);
		see_schedule(stop, &b->start, o);
		see_scale(stop, &b->start, o);
		see_random(x, stop, &b->start, o);
	}
	see_batches(x, b, from, o);
	see_rates(x, stop, b, from, o);
	see_scales(x, b, from, o);
	see_losses(x, b, from, o);
	see_blindly(x, b, from, o);
	if (!x->same_batches && *stop->batch && !strcmp(stop->batch, b->start.batch))
		o->piece[P_DATA] = CAME_BACK;
	settle_random(o);
}

/* ---- in words ---- */

static const char *const piece_name[PIECES] = {
	[P_WEIGHTS] = "weights", [P_OPTIMIZER] = "optimizer", [P_COUNT] = "count", [P_RATE] = "rate", [P_SCALE] = "loss scale",
	[P_DATA] = "data order", [P_TORCH] = "torch's random state", [P_DEVICE] = "the device's random state", [P_NUMPY] = "numpy's random state",
	[P_PYTHON] = "python's random state", [P_LOSSES] = "losses",
};

static bool is_random(int p)
{
	return p >= P_TORCH && p <= P_PYTHON;
}

/* Losses differ by themselves only where nothing else explains it. */
static bool explained(const struct back *b)
{
	for (int p = 0; p < P_LOSSES; p++)
		if (b->piece[p] == CAME_NOT)
			return true;
	return false;
}

bool back_failed(const struct back *b)
{
	return explained(b) || b->piece[P_LOSSES] == CAME_NOT;
}

void back_names(const struct back *b, char *say, size_t n)
{
	int last = -1, k = 0;

	*say = 0;
	for (int p = 0; p < P_LOSSES; p++)
		if (b->piece[p] == CAME_BACK)
			last = p;
	for (int p = 0; p < P_LOSSES; p++) {
		size_t used = strlen(say);

		if (b->piece[p] == CAME_BACK)
			snprintf(say + used, n - used, "%s%s", !k++ ? "" : p == last ? " and " : ", ", piece_name[p]);
	}
}

static void say_random(const struct back *b, char *say, size_t n)
{
	bool first = true;

	for (int p = P_TORCH; p <= P_PYTHON; p++) {
		size_t used = strlen(say);

		if (b->piece[p] != CAME_NOT)
			continue;
		snprintf(say + used, n - used, "%s%s", first ? used ? "; random state: " : "random state: " : ", ", b->say[p]);
		first = false;
	}
	if (!first && b->piece[P_LOSSES] == CAME_NOT && b->piece[P_DATA] != CAME_NOT)
		snprintf(say + strlen(say), n - strlen(say), ": %s", b->say[P_LOSSES]);
}

void back_say(const struct back *b, char *say, size_t n)
{
	char names[300];

	*say = 0;
	for (int p = 0; p < P_LOSSES; p++) {
		size_t used = strlen(say);

		if (b->piece[p] == CAME_NOT && !is_random(p))
			snprintf(say + used, n - used, "%s%s: %s", used ? "; " : "", piece_name[p], b->say[p]);
	}
	say_random(b, say, n);
	if (!explained(b) && b->piece[P_LOSSES] == CAME_NOT)
		snprintf(say, n, "losses: %s: what else decides an update did not come back", b->say[P_LOSSES]);
	back_names(b, names, sizeof names);
	if (*names)
		snprintf(say + strlen(say), n - strlen(say), "; %s came back", names);
}

/* ---- C ---- */

bool compare_cold(const struct again_replay *x, const struct arm *c, int64_t from, char *say, size_t n)
{
	char a[32], b[32];

	snprintf(say, n, "a start without the saved state goes the same way");
	for (int64_t i = 1; i <= c->steps; i++) {
		const struct update_fact *p = arm_step(&x->a, from + i), *q = arm_step(c, i);

		if (!p || !q || (same(p->loss, q->loss) && same(p->gradient_norm, q->gradient_norm) && !strcmp(p->weights_digest, q->weights_digest)))
			continue;
		if (!same(p->loss, q->loss))
			snprintf(say, n, "a start without the saved state differs at update %lld (loss %s, not %s)", (long long)(from + i), brief(q->loss, b), brief(p->loss, a));
		else
			snprintf(say, n, "a start without the saved state differs after update %lld (%s)", (long long)(from + i), same(p->gradient_norm, q->gradient_norm) ? "other weights" : "another gradient norm");
		return true;
	}
	return false;
}
