/* How fast the sizes that fit are: each is timed in rounds, in an order that is not the search's. */
#include <math.h>
#include <string.h>

#include "probe.h"

enum { ROUNDS = 3, COMMAND_ROUNDS = 2 }; /* a command has been timed once by the search */
static const double precise = 0.03; /* half of the 95 % interval over the median */

static bool power_of_two(int64_t n)
{
	return (n & (n - 1)) == 0;
}

/* The doublings that fit, and the largest; the guesses between them are not asked again. */
static void choose_timed(struct probe *p)
{
	int64_t lo = p->search.lo;
	for (int i = p->timings - 1; i >= 0; i--)
		if (p->timing[i].size > lo || (p->timing[i].size != lo && !power_of_two(p->timing[i].size)))
			timing_drop(p, p->timing[i].size);
	timing_of(p, lo);
}

static int speed_trial(struct probe *p, struct trial *t, int64_t size, struct why *w)
{
	if (p->set->stranger)
		return stranger_speed_trial(p, t, size, w);
	double each = probe_expect(p, size), share = p->set->seconds / ROUNDS;
	char rule[64], limit[32];
	if (trial_init(t, p, "speed", size) < 0)
		return why_set(w, EX_OSERR, "time micro-batch %lld: out of memory", (long long)size);
	trial_int(t, O_accum, 1);
	trial_str(t, O_last_window, "drop");
	trial_int(t, O_updates, 1 + probe_fill(share, each, 3, TRIAL_TIMES / 2));
	num_shortest(fmax(2 * share, 4 * each), limit); /* where it is slower than it was */
	snprintf(rule, sizeof rule, "seconds=%s", limit);
	trial_str(t, O_stop, rule);
	trial_int(t, O_val_every, 0);
	trial_int(t, O_val_examples, 1);
	probe_cap(p, t);
	return 0;
}

static bool ran_before(const struct search *s, int64_t size)
{
	for (int i = 0; i < s->points; i++)
		if (s->point[i].size == size)
			return true;
	return false;
}

/* It fitted, and now it does not: whatever it was, this size is no answer. */
static void distrust(struct probe *p, const struct trial *t)
{
	struct search *s = &p->search;
	int64_t size = t->size;
	probe_warn(p, "micro-batch %lld %s: %s%s%s", (long long)size, ran_before(s, size) ? "fitted once and then did not" : "does not fit, though a larger one does", trial_verdict_name(t->verdict), *t->why ? ": " : "", t->why);
	timing_drop(p, size);
	for (int i = 0; i < s->points; i++)
		if (s->point[i].size == size)
			s->point[i].fits = false;
	if (size != s->lo)
		return;
	s->lo = 0;
	for (int i = 0; i < s->points; i++)
		if (s->point[i].fits && s->point[i].size > s->lo && s->point[i].size < size)
			s->lo = s->point[i].size;
}

static int speed_one(struct probe *p, int64_t size, int round, struct why *w)
{
	struct trial t;
	int r = speed_trial(p, &t, size, w);
	if (r < 0)
		return r;
	probe_tell(p, "micro-batch %lld: how fast is it? (round %d of %d)", (long long)size, round + 1, p->set->stranger ? COMMAND_ROUNDS : ROUNDS);
	r = trial_run(p, &t, "trial", w);
	if (r == 0 && t.verdict != TRIAL_STOPPED) {
		struct timing *g = timing_of(p, size);
		probe_learn(p, &t);
		if (t.verdict == TRIAL_FITS && g && timing_add(g, &t) == 0 && timing_close(g))
			g->expected = g->median;
		r = trial_write(p, &t, t.verdict == TRIAL_FITS ? g : NULL, w);
		if (t.verdict != TRIAL_FITS)
			distrust(p, &t);
	}
	trial_free(&t);
	return r;
}

/* Examples per second of the fastest size so far. */
static double best_rate(const struct probe *p)
{
	double best = 0;
	for (int i = 0; i < p->timings; i++)
		if (p->timing[i].n)
			best = fmax(best, (double)p->timing[i].size / p->timing[i].median);
	return best;
}

static bool sampled_enough(const struct probe *p, const struct timing *g, int round)
{
	if (round > 0 && g->n && (double)g->size / g->median < best_rate(p) / 2) /* nowhere near the knee */
		return true;
	if (round > 0 && g->expected * 3 > p->set->seconds) /* one round took the time of all */
		return true;
	return round > 1 && g->low > 0 && (g->high - g->low) / 2 < precise * g->median;
}

/* Every round visits the sizes in an order of its own, so that a machine that grows warm or busy
 * is not taken for a size that is slow. */
static int speed_sizes(struct probe *p, struct why *w)
{
	int64_t size[PROBE_SIZES];
	int n = p->timings, r = 0;
	uint64_t seed = (uint64_t)clock_now().nanoseconds;
	for (int i = 0; i < n; i++)
		size[i] = p->timing[i].size;
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < n && r == 0 && !stop_wanted(); i++) {
			int64_t b = size[rand_permute(seed, (uint64_t)round, n, i)];
			bool there = false;
			for (int k = 0; k < p->timings; k++)
				there |= p->timing[k].size == b && !sampled_enough(p, &p->timing[k], round);
			if (there)
				r = speed_one(p, b, round, w);
		}
	return r;
}

/* A command's sizes are timed while the search runs them; here those around the knee are timed again. */
static int speed_rounds(struct probe *p, struct why *w)
{
	int64_t size[PROBE_SIZES];
	uint64_t seed = (uint64_t)clock_now().nanoseconds;
	int r = 0;
	for (int round = 0; round < COMMAND_ROUNDS && r == 0 && !stop_wanted(); round++) {
		int n = stranger_round(p, round, size);
		for (int i = 0; i < n && r == 0 && !stop_wanted(); i++)
			r = speed_one(p, size[rand_permute(seed, (uint64_t)round, n, i)], round, w);
	}
	return r;
}

int probe_speed(struct probe *p, struct why *w)
{
	if (p->set->stranger)
		return speed_rounds(p, w);
	choose_timed(p);
	return speed_sizes(p, w);
}
