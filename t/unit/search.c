/* The search over micro-batches against thousands of simulated memories, whose edge is known
 * because every size up to it is asked, one after another. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/job/job.h"
#include "tap.h"

enum { MOST = 1 << 20 };
enum shape { LINEAR, TENSORS, BENT, PAGES, JAGGED, SHAPES };
static const char *const shape_name[] = { "linear", "tensors rounded to 64 bytes", "bent upwards", "pages of 2 MiB", "not monotonic" };

struct memory {
	enum shape shape;
	uint64_t seed;
	double fixed, per, bend, steeper;
};

static double uniform(uint64_t seed, uint64_t a)
{
	return rand_uniform(seed, RAND_TEST, a, 0);
}

static double up(double x, double unit)
{
	return ceil(x / unit) * unit;
}

static double needs(const struct memory *m, int64_t b)
{
	double lin = m->fixed + m->per * (double)b;
	switch (m->shape) {
	case TENSORS: { /* twelve tensors of unequal shares */
		double sum = m->fixed;
		for (int i = 1; i <= 12; i++)
			sum += up(floor(m->per * i / 78) * (double)b, 64);
		return sum;
	}
	case BENT:
		return fmax(lin, m->fixed / 2 + m->per * m->bend + m->per * m->steeper * ((double)b - m->bend));
	case PAGES:
		return up(lin, 2 << 20);
	case JAGGED: /* a workspace chosen by size, as convolution libraries do */
		return lin + m->per * 6 * uniform(m->seed, 1000 + (uint64_t)b);
	default:
		return lin;
	}
}

static struct memory invent(enum shape shape, uint64_t seed)
{
	struct memory m = { .shape = shape, .seed = seed };
	m.per = floor(exp(uniform(seed, 1) * 16 + 5));         /* 148 bytes to 1.3 GB */
	m.fixed = floor(exp(uniform(seed, 2) * 18 + 6));
	m.bend = floor(1 + uniform(seed, 3) * 100);
	m.steeper = 1 + 3 * uniform(seed, 4);
	return m;
}

struct result {
	int64_t edge, largest;
	int after, trials;
	bool ran, next_ran, exact;
};

/* The largest size before the first that does not fit; walks upwards, in big steps while far below. */
static int64_t edge_of(const struct memory *m, double budget, int64_t max)
{
	int64_t b = 0, step = m->shape == JAGGED ? 1 : max;
	for (; step; step /= 2)
		while (b + step <= max && needs(m, b + step) <= budget)
			b += step;
	return b;
}

/* told: what a size that fails wants is known. leap: trials are dear. */
static struct result seek(const struct memory *m, double budget, int64_t max, bool told, bool leap)
{
	struct search s;
	struct result r = { .edge = edge_of(m, budget, max) };
	search_init(&s, max, budget);
	s.leap = leap;
	for (int64_t b; (b = search_next(&s)) > 0 && r.trials < 200; r.trials++) {
		double n = needs(m, b);
		search_tell(&s, b, n <= budget, n <= budget || told ? n : 0);
	}
	r.largest = s.lo, r.after = s.after, r.exact = search_exact(&s);
	r.ran = s.lo == 0;
	for (int i = 0; i < s.points; i++) {
		r.ran |= s.point[i].size == s.lo && s.point[i].fits;
		r.next_ran |= s.point[i].size == s.lo + 1 && !s.point[i].fits;
	}
	return r;
}

static double budget_for(const struct memory *m, uint64_t seed)
{
	return floor(needs(m, 1 + (int64_t)(exp(uniform(seed, 5) * 9))) * (1 + 0.5 * uniform(seed, 6)));
}

static void shapes(enum shape shape, bool told, bool leap, int limit)
{
	int wrong = 0, unrun = 0, worst = 0, total = 0, all = 0, n = 2000;
	for (int i = 0; i < n; i++) {
		struct memory m = invent(shape, (uint64_t)i);
		struct result r = seek(&m, budget_for(&m, (uint64_t)i), MOST, told, leap);
		wrong += shape != JAGGED && r.largest != r.edge;
		unrun += !r.ran || (r.largest < MOST && !r.next_ran) || r.exact != (r.largest > 0 && r.next_ran);
		worst = r.after > worst ? r.after : worst;
		total += r.after;
		all += r.trials;
	}
	const char *how = leap ? "leaping" : told ? "wants known" : "wants unknown";
	ok(wrong == 0, "%s, %s: the edge is found in %d memories (%d wrong)", shape_name[shape], how, n, wrong);
	ok(unrun == 0, "%s, %s: the answer was run, and so was the next", shape_name[shape], how);
	ok(worst <= limit, "%s, %s: at most %d trials after the first failure (worst %d, mean %.2f; of %.1f in all)", shape_name[shape], how, limit, worst, (double)total / n, (double)all / n);
}

static void limits(void)
{
	struct memory m = { .shape = LINEAR, .fixed = 1000, .per = 10 };
	struct result r = seek(&m, 1e9, 100, false, false);
	is_int(r.largest, 100, "a cap that is no power of two is itself run");
	ok(r.ran && !r.exact, "and is not called the edge");
	is_int(r.trials, 8, "1 2 4 8 16 32 64 100");
	r = seek(&m, 1009, 100, false, false);
	is_int(r.largest, 0, "size 1 does not fit: nothing does");
	is_int(r.trials, 1, "and nothing else is tried");
	r = seek(&m, 1010, 100, false, false);
	is_int(r.largest, 1, "only size 1 fits");
	ok(r.exact, "which is exact, because 2 was run");
	r = seek(&m, 1e9, 1, false, false);
	is_int(r.largest, 1, "a cap of 1");
	struct search s;
	search_init(&s, MOST, 0);
	int64_t b;
	int n = 0;
	while ((b = search_next(&s)) > 0 && n++ < 100)
		search_tell(&s, b, b <= 777, 0);
	is_int(s.lo, 777, "nothing measured and no budget: bisection");
	ok(s.after <= 10, "in at most log2 of the bracket (%d)", s.after);
}

/* What leaping saves, and what it must not do: answer with a size that was not run. */
static void leaps(void)
{
	struct memory m = { .shape = LINEAR, .fixed = 1000, .per = 10 };
	struct result r = seek(&m, 1000 + 10 * 45, MOST, false, true);
	is_int(r.largest, 45, "the line is followed to the edge");
	ok(r.exact && r.ran, "which was run, and the next, which fails");
	is_int(r.trials, 6, "1 2 4, the 32 that is eight times 4, 45, 46");
	is_int(r.after, 0, "nothing is tried after the first failure");
	r = seek(&m, 1000 + 10 * 45, 40, false, true);
	ok(r.largest == 40 && !r.exact, "a cap below the edge is itself run, and is not called the edge");
	struct search s;
	search_init(&s, MOST, 1e6);
	s.leap = true;
	int64_t b;
	int n = 0;
	while ((b = search_next(&s)) > 0 && n++ < 100) /* the peak of starting hides the batch */
		search_tell(&s, b, b <= 77, fmax(9e5, 5e5 + 5e5 / 77 * (double)b));
	ok(s.lo == 77 && search_exact(&s), "bytes that do not grow at first: the edge all the same");
	ok(n <= 12, "in few trials (%d)", n);
	/* As measured of PyTorch on glibc's allocator: MB at 1, 2, 4 ... 32, and 961 + 3.145 a row beyond that. */
	static const double measured[] = { 969.0, 973.2, 985.8, 1019.3, 1061.3, 1061.9 };
	search_init(&s, MOST, 1086.9e6);
	s.leap = true;
	for (n = 0; (b = search_next(&s)) > 0 && n < 100; n++) {
		double mb = b > 32 ? 961.2 + 3.1447 * (double)b : measured[(int)ceil(log2((double)b))];
		search_tell(&s, b, mb <= 1086.9, mb <= 1086.9 ? mb * 1e6 : 0);
	}
	ok(s.lo == 39 && s.after <= 5, "an allocator that hides what the batch takes: at most 5 after the first failure (%d)", s.after);
}

static void line(void)
{
	struct search s;
	double fixed = 0, per = 0;
	search_init(&s, 64, 5000);
	search_tell(&s, 1, true, 1100);
	ok(!search_line(&s, &fixed, &per), "one point is no line");
	search_tell(&s, 2, true, 1200);
	search_tell(&s, 4, true, 1400);
	search_tell(&s, 8, false, 9e9);
	ok(search_line(&s, &fixed, &per) && fabs(fixed - 1000) < 1e-6 && fabs(per - 100) < 1e-6, "the line is fitted to what fits alone");
}

int main(void)
{
	shapes(LINEAR, true, false, 5);
	shapes(LINEAR, false, false, 5);
	shapes(TENSORS, true, false, 5);
	shapes(TENSORS, false, false, 5);
	shapes(BENT, true, false, 26); /* a few guesses, then log2 of the widest bracket */
	shapes(BENT, false, false, 26);
	shapes(PAGES, true, false, 26);
	shapes(PAGES, false, false, 26);
	shapes(JAGGED, true, false, 26);
	shapes(JAGGED, false, false, 26);
	for (enum shape i = LINEAR; i < SHAPES; i++)
		shapes(i, false, true, i == LINEAR ? 2 : i == TENSORS ? 9 : 26);
	limits();
	leaps();
	line();
	return done_testing();
}
