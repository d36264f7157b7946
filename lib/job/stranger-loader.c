/* stranger-loader.c - what the gate remembers of a command's passes over its data loaders: whether their order
 * repeats, whether workers give out the same, what validation leaves out, and what waits at a pass's end. */
#include <math.h>
#include <string.h>

#include "stranger-rules.h"

#define F(x) F_loader_##x

static int64_t number_of(const struct view *v)
{
	return stranger_int(v, F(number), 0);
}

/* A step may be told after a loader's word that came after it: on a device they are written late. */
static void see_begin(struct s_loaders *l, const struct view *v, int64_t update)
{
	struct s_open *o = &l->open[l->next_open];

	*o = (struct s_open){ .number = number_of(v), .update = stranger_int(v, F(update), update), .waited = l->waiting };
	o->done = o->update <= update ? l->made : -1;
	l->next_open = (l->next_open + 1) % S_LOADERS;
}

/* The begin of the pass that ends now; NULL: it is not remembered. */
static const struct s_open *begun(const struct s_loaders *l, int64_t number)
{
	for (int i = 1; i <= S_LOADERS; i++) {
		const struct s_open *o = &l->open[(l->next_open + S_LOADERS - i) % S_LOADERS];

		if (o->number == number && o->update >= 0)
			return o;
	}
	return NULL;
}

/* ---- batches given out, and passes made on them ---- */

static void count(struct s_loaders *l)
{
	const struct s_ended *e = &l->ended;
	int64_t unused = e->batches - (l->made - e->made + e->waiting);

	l->ended.due = false;
	if (e->made < 0)
		return;
	l->counted++;
	if (unused > 0 && !l->unused++) {
		l->unused_batches = unused;
		l->unused_update = e->update;
	}
}

void stranger_see_passes(struct s_loaders *l, int64_t update, int64_t passes, int64_t dropped)
{
	l->made += passes + dropped;
	for (int i = 0; i < S_LOADERS; i++)
		if (l->open[i].done < 0 && l->open[i].update == update)
			l->open[i].done = l->made;
	if (l->ended.due && l->ended.update <= update)
		count(l);
}

static void see_ended(struct s_loaders *l, const struct s_open *o, const struct s_pass *b, int64_t waiting, int64_t update)
{
	l->ended = (struct s_ended){ .update = b->end, .batches = b->batches, .waiting = waiting, .made = -1, .due = true };
	if (o && o->done >= 0)
		l->ended.made = o->done + o->waited;
	if (b->end <= update)
		count(l);
}

/* ---- training ---- */

/* ln of the chance that two random orders agree in so many of n. */
static double ln_chance(int64_t n, int64_t k)
{
	return k > n ? 0 : lgamma((double)(n - k) + 1) - lgamma((double)n + 1);
}

/* Passes one after another, not two loaders side by side. */
static void compare(struct s_loaders *l, const struct s_pass *a, const struct s_pass *b)
{
	if (!*a->digest || a->rows != b->rows || a->batches != b->batches || a->examples != b->examples || a->end < 0 || b->begin < a->end)
		return;
	if (b->batches < 2 && b->examples > 0 && b->rows >= b->examples)
		return; /* the whole set in one batch has one order as good as the other */
	l->compared++;
	if (strcmp(a->digest, b->digest))
		return;
	if (ln_chance(b->examples > 0 ? b->examples : b->rows, b->rows) > log(1e-6)) {
		l->repeat_small = true;
		return;
	}
	if (strstr(b->sampler, "Infinite")) { /* the framework's word for data that comes as a stream, in its own order */
		l->repeat_stream = true;
		return;
	}
	l->repeat_plain |= !strcmp(b->sampler, "SequentialSampler");
	if (!l->repeated++)
		snprintf(l->repeat, sizeof l->repeat, "the pass over the training data that ended at update %lld gave out the same %lld examples in the same order as the one that ended at %lld%s%s", (long long)b->end, (long long)b->rows, (long long)a->end, *b->sampler ? ": " : "", b->sampler);
}

/* Each of w workers giving out the same leaves one batch in w new. */
static void see_repeats(struct s_loaders *l, const struct view *v)
{
	int64_t repeated = stranger_int(v, F(repeated), 0), batches = stranger_int(v, F(batches), 0), workers = stranger_int(v, F(workers), 0);
	int64_t fresh = batches - repeated;

	if (repeated <= 0 || batches < 1)
		return;
	if (workers >= 2 && fresh > 1 && repeated * 4 >= (batches - batches / workers) * 3) {
		if (!*l->workers)
			snprintf(l->workers, sizeof l->workers, "%lld of the %lld batches of a pass had been given out in it before, by %lld workers", (long long)repeated, (long long)batches, (long long)workers);
	} else if (!*l->again)
		snprintf(l->again, sizeof l->again, "%lld of the %lld batches of a pass had been given out in it before", (long long)repeated, (long long)batches);
}

static void see_train(struct s_loaders *l, const struct view *v, int64_t update)
{
	struct s_pass *b = &l->pass[l->next];
	const struct s_open *o = begun(l, number_of(v));
	int64_t micro_batch = stranger_int(v, F(micro_batch), 0);

	*b = (struct s_pass){
		.rows = stranger_int(v, F(rows), 0),
		.batches = stranger_int(v, F(batches), 0),
		.examples = stranger_int(v, F(examples), -1),
		.number = number_of(v),
		.end = stranger_int(v, F(update), update),
	};
	b->begin = o ? o->update : -1;
	view_copy(v, F(order_digest), b->digest, sizeof b->digest);
	view_copy(v, F(sampler), b->sampler, sizeof b->sampler);
	l->waiting = stranger_int(v, F(waiting), 0);
	l->waiting_update = b->end;
	see_ended(l, o, b, l->waiting, update);
	see_repeats(l, v);
	if (micro_batch > 0)
		l->micro_batch = !l->micro_batch || l->micro_batch == micro_batch ? micro_batch : -1;
	if (!b->rows)
		return;
	l->trained++;
	for (int i = 0; i < S_LOADERS; i++)
		if (i != l->next && l->pass[i].rows)
			compare(l, &l->pass[i], b);
	l->next = (l->next + 1) % S_LOADERS;
}

/* ---- validation ---- */

/* A pass that ended by itself, without the last batch, gave out all whole batches. */
static void see_validation(struct s_loaders *l, const struct view *v)
{
	int64_t rows = stranger_int(v, F(rows), -1), examples = stranger_int(v, F(examples), -1), micro_batch = stranger_int(v, F(micro_batch), -1);
	bool drop = false;

	if (rows < 0 || examples < 1)
		return;
	l->validated++;
	l->whole += rows == examples;
	view_bool(v, F(drop_last), &drop);
	if (!drop || micro_batch < 1 || rows == examples || rows != examples - examples % micro_batch)
		return;
	l->dropped_examples = examples - rows;
	l->of_examples = examples;
}

void stranger_see_loader(struct stranger_watch *s, const struct view *v, int64_t update)
{
	if (view_is(v, F(event), "begin"))
		see_begin(&s->loaders, v, update);
	else if (view_is(v, F(event), "end") && view_is(v, F(split), "train"))
		see_train(&s->loaders, v, update);
	else if (view_is(v, F(event), "end") && view_is(v, F(split), "validation"))
		see_validation(&s->loaders, v);
}
