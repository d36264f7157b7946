/* Which micro-batch to try next. Nothing here runs anything: sizes go out, what became of
 * them comes back, and the answer is never a size that did not come back as fitting. */
#include <math.h>

#include "job.h"

enum { ENOUGH = 5 }; /* guesses; from then on halving, so that nothing takes long */
static const double AGREE = 0.1; /* difference of two slopes of the same line */
static const double LEAP = 8;    /* times the largest size that ran: a size far out would take that much longer */

void search_init(struct search *s, int64_t max, double budget)
{
	*s = (struct search){ .max = max > 0 ? max : 1, .budget = budget };
}

bool search_exact(const struct search *s)
{
	return s->lo > 0 && s->hi == s->lo + 1;
}

/* The fitting point with the largest size below `below` whose bytes are known; NULL if there is none. */
static const struct search_point *measured_below(const struct search *s, int64_t below)
{
	const struct search_point *best = NULL;
	for (int i = 0; i < s->points; i++) {
		const struct search_point *p = &s->point[i];
		if (p->fits && p->bytes > 0 && p->size < below && (!best || p->size > best->size))
			best = p;
	}
	return best;
}

static const struct search_point *find(const struct search *s, int64_t size)
{
	for (int i = s->points - 1; i >= 0; i--)
		if (s->point[i].size == size && s->point[i].bytes > 0)
			return &s->point[i];
	return NULL;
}

/* The largest size at which the line through a and b stays within the budget; -1 if there is no such line. */
static double meets(const struct search *s, const struct search_point *a, const struct search_point *b)
{
	if (!a || !b || s->budget <= 0 || b->bytes <= a->bytes)
		return -1;
	double per = (b->bytes - a->bytes) / (double)(b->size - a->size);
	return floor((s->budget - a->bytes) / per + 1e-9) + (double)a->size;
}

/* Where the edge is thought to be: -1 unknown. Through the two largest measured sizes; a size that did
 * not fit but is known to want so many bytes is a point too, and a nearer one. Where memory bends
 * upwards the first line goes too far and the second not far enough, so they take turns. */
static double guess(const struct search *s)
{
	const struct search_point *lo = find(s, s->lo), *hi = find(s, s->hi);
	/* An allocator that hides the batch below some size (a command's) is known by the nearest point alone. */
	double beyond = meets(s, measured_below(s, s->leap ? s->lo : s->lo / 2 + 1), lo);
	double between = hi && hi->bytes > s->budget ? meets(s, lo, hi) : -1;
	if (between < 0 || (beyond >= 0 && s->after % 2))
		return beyond;
	return between;
}

/* Between a size that fits and one that does not. */
static int64_t narrow(struct search *s)
{
	int64_t lo = s->lo, hi = s->hi, middle = lo + (hi - lo) / 2;
	double edge = guess(s);
	static const int64_t stride[] = { 1, 1, 3, 9 };
	int64_t step = stride[s->strikes & 3];
	s->hopeful = true;
	if (edge < 0 || s->strikes > 3 || s->after > ENOUGH)
		return middle;
	if (s->leap && edge > (double)(2 * hi - lo)) /* a line that hi has refuted altogether */
		return middle;
	if (edge >= (double)hi) /* thought to fit up to hi: so hi - 1 should */
		return step > hi - middle ? middle : hi - step;
	if (edge > (double)lo)
		return (int64_t)edge;
	s->hopeful = false; /* lo is thought to be the edge */
	return step > middle - lo ? middle : lo + step;
}

/* The n largest fitting points whose bytes are known, largest first; returns how many. */
static int largest(const struct search *s, const struct search_point *out[], int n)
{
	int have = 0;
	for (int64_t below = INT64_MAX; have < n; have++) {
		const struct search_point *p = measured_below(s, below);
		if (!p)
			break;
		out[have] = p;
		below = p->size;
	}
	return have;
}

/* Where the last two slopes agree, the size at which their line meets the budget; else -1. A slope that
 * would still leave room after a hundred times its own step says nothing: what is not the batch weighs as much. */
static double foreseen(const struct search *s)
{
	const struct search_point *p[3];
	if (s->budget <= 0 || largest(s, p, 3) < 3 || p[0]->size != s->lo)
		return -1;
	double last = (p[0]->bytes - p[1]->bytes) / (double)(p[0]->size - p[1]->size);
	double before = (p[1]->bytes - p[2]->bytes) / (double)(p[1]->size - p[2]->size);
	if (last <= 0 || before <= 0 || fabs(last - before) > AGREE * fmax(last, before))
		return -1;
	double edge = meets(s, p[1], p[0]);
	return edge - (double)s->lo > 100 * (double)(p[0]->size - p[1]->size) ? -1 : edge;
}

/* Nothing has failed yet: twice the size, or, where trials are dear, the edge that is foreseen. */
static int64_t upwards(struct search *s)
{
	static const int64_t stride[] = { 1, 2, 5, 11 };
	double edge = s->leap ? foreseen(s) : -1;
	int64_t next = s->lo * 2;
	if (edge > (double)s->lo)
		next = edge < LEAP * (double)s->lo ? (int64_t)edge : (int64_t)(LEAP * (double)s->lo);
	else if (edge >= 0) { /* lo is thought to be the edge */
		s->hopeful = false;
		if (s->strikes < 4 && stride[s->strikes] < s->lo)
			next = s->lo + stride[s->strikes];
	}
	return next < s->max ? next : s->max;
}

int64_t search_next(struct search *s)
{
	if (s->points >= SEARCH_POINTS)
		return 0;
	if (s->hi)
		return s->hi - s->lo <= 1 ? 0 : narrow(s);
	s->hopeful = true;
	if (!s->lo)
		return 1;
	if (s->lo >= s->max)
		return 0;
	return s->lo > s->max / 2 && !s->leap ? s->max : upwards(s);
}

void search_tell(struct search *s, int64_t size, bool fits, double bytes)
{
	if (s->hi)
		s->after++;
	if (s->hi || (s->leap && fits))
		s->strikes = fits == s->hopeful ? 0 : s->strikes + 1;
	else
		s->strikes = 0;
	if (s->points < SEARCH_POINTS)
		s->point[s->points++] = (struct search_point){ size, fits, bytes };
	if (fits && size > s->lo)
		s->lo = size;
	if (!fits && (!s->hi || size < s->hi))
		s->hi = size;
}

bool search_line(const struct search *s, double *fixed, double *per)
{
	double n = 0, x = 0, y = 0, xx = 0, xy = 0;
	const struct search_point *near[3];
	int64_t from = s->leap && largest(s, near, 3) == 3 ? near[2]->size : 0;
	for (int i = 0; i < s->points; i++) {
		const struct search_point *p = &s->point[i];
		if (!p->fits || p->bytes <= 0 || p->size < from)
			continue;
		double b = (double)p->size;
		n++, x += b, y += p->bytes, xx += b * b, xy += b * p->bytes;
	}
	double d = n * xx - x * x;
	if (n < 2 || d <= 0)
		return false;
	*per = (n * xy - x * y) / d;
	*fixed = (y - *per * x) / n;
	return *per > 0 && *fixed >= 0;
}
