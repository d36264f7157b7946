/* stranger-step.c - what the gate remembers of a command's updates, and of its replicas' parts in them. */
#include <math.h>
#include <string.h>

#include "stranger-rules.h"

#define F(x) F_step_##x

enum { SETTLE = 10 }; /* attempts in which a loss scale may look for its place */

bool stranger_other_rank(const struct view *v)
{
	int64_t rank;

	return v->kind == KIND_step && rule_int(v, F(rank), &rank) && rank > 0;
}

int64_t stranger_usual(const struct s_steps *s)
{
	int64_t usual = 0;

	for (int64_t i = 1; i <= S_PASSES; i++)
		if (s->windows[i] && (!usual || s->windows[i] > s->windows[usual]))
			usual = i;
	return usual;
}

/* ---- one update against the one before ---- */

static void see_digest(struct stranger_watch *s, const struct view *v, int64_t update)
{
	struct s_steps *t = &s->steps;
	char digest[DIGEST_SIZE];

	if (!view_copy(v, F(batch_digest), digest, sizeof digest) || !*digest)
		return;
	if (!t->digests++)
		memcpy(t->first_digest, digest, sizeof digest);
	else
		t->digests_same += !strcmp(digest, t->first_digest);
	for (int64_t lag = 1; lag < S_RING; lag++) {
		const struct s_ring *a = &s->replicas_seen.mine[(uint64_t)(update - lag) % S_RING];

		if (a->update != update - lag || strcmp(a->batch, digest))
			continue;
		t->digests_again++;
		t->lag_row = lag == t->lag ? t->lag_row + 1 : 1;
		t->lag = lag;
		return;
	}
	t->lag_row = 0;
}

static void see_mode(struct stranger_watch *s, const struct view *v, int64_t update)
{
	struct s_steps *t = &s->steps;
	bool on;

	if (!view_bool(v, F(training), &on))
		return;
	if (!on && t->mode_told && t->training && s->validate.since && !t->training_lost)
		t->training_lost = update;
	t->mode_told = true;
	t->training = on;
	t->trained |= on;
}

/* ---- loss, rate ---- */

static void see_first(struct s_steps *s, const struct view *v)
{
	int dims = view_count(v, F(output_shape));

	s->first_loss = stranger_num(v, F(loss), NAN);
	view_copy(v, F(loss_function), s->loss_function, sizeof s->loss_function);
	if (dims >= 2)
		s->first_classes_known = view_item_int(v, F(output_shape), dims - 1, &s->first_classes);
	s->first_lr = s->least_lr = s->most_lr = stranger_num(v, F(lr), NAN);
}

static void see_rate(struct s_steps *s, double lr)
{
	s->least_lr = fmin(s->least_lr, lr);
	s->most_lr = fmax(s->most_lr, lr);
}

/* ---- targets ---- */

static void see_offset(struct s_steps *s, const struct view *v, int64_t update)
{
	double match = stranger_num(v, F(target_match), 0);
	int64_t offset;

	if (!rule_int(v, F(target_offset), &offset))
		return;
	s->offsets++;
	if (!(match >= 0.9))
		return;
	if (offset == 1)
		s->offset_next++;
	else if (offset > 1 && !s->offset_far++) {
		s->far_offset = offset;
		s->offset_update = update;
		s->offset_match = match;
	} else if (offset == 0)
		s->offset_same++;
	else if (offset < 0)
		s->offset_past++;
}

/* ---- passes ---- */

static void see_rows(struct stranger_watch *s, const struct view *v, int64_t asked, int64_t update)
{
	struct s_steps *t = &s->steps;
	int64_t rows;

	t->rows_told += rule_int(v, F(rows), &rows);
	if (!s->loaders.first_rows)
		view_item_int(v, F(pass_rows), 0, &s->loaders.first_rows);
	for (int i = 0; view_item_int(v, F(pass_rows), i, &rows); i++) {
		t->rows_asked += rows == asked;
		t->rows_short += rows < asked;
		if (rows != asked && (!t->other_update || rows > asked)) {
			t->other_rows = rows;
			t->other_update = update;
		}
		t->rows_other += rows > asked;
	}
}

struct spread {
	int64_t least, most, full_least, full_most; /* targets of all passes, of those with the most rows */
	bool even_rows;
};

/* Targets of each pass; false: they are not told. */
static bool spread_of(const struct view *v, struct spread *d)
{
	int n = view_count(v, F(pass_supervised));
	int64_t rows, most_rows = 0, x;

	for (int i = 0; i < n; i++)
		if (view_item_int(v, F(pass_rows), i, &rows) && rows > most_rows)
			most_rows = rows;
	*d = (struct spread){ .least = INT64_MAX, .full_least = INT64_MAX, .even_rows = true };
	for (int i = 0; i < n; i++) {
		if (!view_item_int(v, F(pass_supervised), i, &x) || x < 0 || x > INT64_C(1) << 40)
			return false;
		d->least = x < d->least ? x : d->least;
		d->most = x > d->most ? x : d->most;
		if (view_item_int(v, F(pass_rows), i, &rows) && rows != most_rows) {
			d->even_rows = false;
			continue;
		}
		d->full_least = x < d->full_least ? x : d->full_least;
		d->full_most = x > d->full_most ? x : d->full_most;
	}
	return n > 1;
}

struct divisors {
	double least, most;
	bool told, doubled; /* of each pass; one is another's double, four times, ... */
};

/* What the loss of each pass was divided by, after its function; of the update alone where passes are not told. */
static struct divisors divisors_of(const struct view *v)
{
	struct divisors d = { .least = INFINITY, .most = 0 };
	double x, power;

	for (int i = 0; view_item_num(v, F(pass_divisors), i, &x); i++) {
		d.told = true;
		d.least = fmin(d.least, x);
		d.most = fmax(d.most, x);
	}
	if (!d.told && view_num(v, F(divisor), &x))
		d.least = d.most = x;
	power = d.least > 0 && d.told ? log2(d.most / d.least) : 0;
	d.doubled = power > 0.5 && fabs(power - round(power)) < 1e-6;
	return d;
}

/* Means of passes that are added up as if they were of the same number of targets: each was divided by the same, and
 * where that is not told of each, by a number of passes, or by nothing. */
static bool weighted_alike(const struct stranger_watch *s, const struct divisors *d, int64_t passes)
{
	if (d->told)
		return rule_near(d->least, d->most, 1e-9, 0);
	return d->most == 1 || d->most == (double)passes || d->most == (double)s->accum || d->most == (double)stranger_usual(&s->steps);
}

/* A mask drawn at random lets each of `size` targets through with the same chance. */
static void see_stray(struct s_steps *t, const struct view *v, int64_t passes)
{
	int64_t x, ignored, supervised;
	double mean, size, share;

	if (!rule_int(v, F(ignored), &ignored) || !rule_int(v, F(supervised), &supervised) || supervised < 1 || ignored < 0)
		return;
	mean = (double)supervised / (double)passes;
	size = (double)(supervised + ignored) / (double)passes;
	share = mean / size;
	for (int i = 0; view_item_int(v, F(pass_supervised), i, &x); i++)
		t->strayed += ((double)x - mean) * ((double)x - mean);
	t->by_chance += (double)(passes - 1) * size * share * (1 - share);
	t->freedom += passes - 1;
}

static void see_means(struct stranger_watch *s, const struct view *v, int64_t passes, int64_t update)
{
	struct s_steps *t = &s->steps;
	struct divisors by = divisors_of(v);
	struct spread d;
	bool told = spread_of(v, &d);

	if (passes < 2)
		return;
	if (by.told && passes == stranger_usual(t)) /* what leaks from an epoch's end may be divided otherwise */
		happened_see(&t->rescaled, update, by.doubled && ((told && d.least == d.most) || view_is(v, F(reduction), "sum")));
	if (!view_is(v, F(reduction), "mean") || by.most <= 0)
		return;
	t->added |= by.most == 1;
	t->passes_uncounted |= !told;
	if (!told || !weighted_alike(s, &by, passes))
		return;
	t->uneven.told++;
	see_stray(t, v, passes);
	if (d.full_most > 0 && d.full_least < d.full_most)
		happened_see(&t->uneven, update, 100 - 100 * d.full_least / d.full_most);
	else if (!d.even_rows && d.least < d.most)
		happened_see(&t->uneven_short, update, 100 - 100 * d.least / d.most);
}

/* What waited at the end of a pass over the data: was it added to the next update, or thrown away? */
static void see_tail(struct s_loaders *l, int64_t update, int64_t passes, int64_t dropped)
{
	if (update <= l->waiting_update)
		return;
	if (l->waiting > 0 && l->tails < S_TAILS) {
		l->tail[l->tails].update = update;
		l->tail[l->tails].passes = passes;
		l->tail[l->tails].waiting = l->waiting;
		l->tail[l->tails++].dropped = dropped;
	}
	l->waiting = 0;
}

/* ---- the whole update ---- */

/* From the second update on: before the first anything may have been tried out. */
static void see_counters(struct stranger_watch *s, const struct view *v, int64_t passes, int64_t update)
{
	struct s_steps *t = &s->steps;
	int64_t x;

	if (rule_int(v, F(left_over), &x))
		happened_see(&t->left_over, update, update > 1 ? x : 0);
	if (rule_int(v, F(dropped_passes), &x))
		happened_see(&t->dropped, update, update > 1 ? x : 0);
	if (update == 1)
		rule_int(v, F(dropped_passes), &t->before_first);
	if (rule_int(v, F(scaler_calls), &x))
		happened_see(&t->scaler, update, passes > 1 && x == passes ? x : 0);
	if (rule_int(v, F(scheduler_calls), &x))
		happened_see(&t->schedule, update, passes > 1 && x == passes && x != s->replicas ? x : 0);
	if (rule_int(v, F(padding_supervised), &x))
		happened_see(&t->padding, update, x);
	if (rule_int(v, F(supervised), &x))
		happened_see(&t->no_target, update, x == 0);
	if (rule_int(v, F(touched), &x))
		happened_see(&t->untouched, update, x == 0);
}

static void see_gradient(struct s_steps *s, const struct view *v, int64_t update)
{
	double norm, loss = stranger_num(v, F(loss), NAN);
	bool none;

	if (!view_num(v, F(gradient_norm), &norm))
		return;
	none = norm == 0 && fabs(loss) > 1e-6;
	happened_see(&s->no_gradient, update, none);
	s->zero_row = none ? s->zero_row + 1 : 0;
	if (s->zero_row > s->gradient_zero_row)
		s->gradient_zero_row = s->zero_row;
}

static void see_attempt(struct s_steps *s, bool skipped)
{
	if (s->attempts++ >= SETTLE) {
		s->late_attempts++;
		s->late_skips += skipped;
	}
}

/* Of rank 0: against what other replicas have told, which may come before or after it. */
static void see_mine(struct s_replicas *g, const struct view *v, int64_t update);

void stranger_see_step(struct watch *r, const struct view *v)
{
	struct stranger_watch *s = r->stranger;
	int64_t update = r->update, passes = stranger_int(v, F(passes), 0); /* the step is remembered: r->update is its number */
	bool skipped = rule_skipped(v);

	see_attempt(&s->steps, skipped);
	see_digest(s, v, update);
	see_mine(&s->replicas_seen, v, update);
	see_mode(s, v, update);
	see_rows(s, v, r->micro_batch, update);
	see_offset(&s->steps, v, update);
	s->validate.since = 0;
	s->steps.skipped = skipped;
	stranger_see_passes(&s->loaders, update, passes, stranger_int(v, F(dropped_passes), 0));
	if (skipped)
		return;
	if (isnan(s->steps.first_loss))
		see_first(&s->steps, v);
	see_rate(&s->steps, stranger_num(v, F(lr), NAN));
	see_means(s, v, passes, update);
	see_tail(&s->loaders, update, passes, stranger_int(v, F(dropped_passes), 0));
	see_counters(s, v, passes, update);
	see_gradient(&s->steps, v, update);
	if (passes > 0 && passes <= S_PASSES)
		s->steps.windows[passes]++;
}

/* ---- replicas ---- */

static void compare(struct s_replicas *g, const struct s_ring *a, const struct s_replica *b)
{
	if (*a->batch && *b->batch) {
		g->batches++;
		g->batches_same += !strcmp(a->batch, b->batch);
	}
	if (!*a->weights || !*b->weights)
		return;
	g->weights++;
	if (strcmp(a->weights, b->weights) && !g->weights_apart++) {
		g->apart_update = a->update;
		g->apart_rank = b->rank;
	}
}

static void see_mine(struct s_replicas *g, const struct view *v, int64_t update)
{
	struct s_ring *a = &g->mine[(uint64_t)update % S_RING];

	*a = (struct s_ring){ .update = update };
	view_copy(v, F(batch_digest), a->batch, sizeof a->batch);
	view_copy(v, F(weights_digest), a->weights, sizeof a->weights);
	for (int i = 0; i < S_REPLICAS; i++)
		if (g->other[i].rank > 0 && g->other[i].update == update) {
			compare(g, a, &g->other[i]);
			g->other[i].rank = 0;
		}
}

void stranger_see_replica(struct stranger_watch *s, const struct view *v)
{
	struct s_replicas *g = &s->replicas_seen;
	struct s_replica b = { .rank = stranger_int(v, F_replica_rank, 0), .update = stranger_int(v, F_replica_update, 0) };
	const struct s_ring *a = &g->mine[(uint64_t)b.update % S_RING];

	if (stranger_int(v, F_replica_replicas, 0) > s->replicas)
		s->replicas = stranger_int(v, F_replica_replicas, 0);
	if (b.rank < 1 || b.update < 1)
		return;
	view_copy(v, F_replica_batch_digest, b.batch, sizeof b.batch);
	view_copy(v, F_replica_weights_digest, b.weights, sizeof b.weights);
	if (a->update == b.update) {
		compare(g, a, &b);
		return;
	}
	g->other[g->next] = b;
	g->next = (g->next + 1) % S_REPLICAS;
}
