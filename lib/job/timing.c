/* Seconds of updates by size, gathered over several runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

struct timing *timing_of(struct probe *p, int64_t size)
{
	for (int i = 0; i < p->timings; i++)
		if (p->timing[i].size == size)
			return &p->timing[i];
	if (p->timings == PROBE_SIZES)
		return NULL;
	struct timing *g = &p->timing[p->timings++];
	*g = (struct timing){ .size = size, .accum = 1 };
	return g;
}

void timing_drop(struct probe *p, int64_t size)
{
	for (int i = 0; i < p->timings; i++) {
		if (p->timing[i].size != size)
			continue;
		free(p->timing[i].time);
		p->timing[i] = p->timing[--p->timings];
		return;
	}
}

static bool room(struct timing *g, int more)
{
	if (g->n + more <= g->room)
		return true;
	int want = g->n + more + 256;
	double *x = realloc(g->time, (size_t)want * sizeof *x);
	if (!x)
		return false;
	g->time = x;
	g->room = want;
	return true;
}

/* A median of one round, to see how far the machine drifts between rounds. */
static void see_round(struct timing *g, struct trial *t)
{
	double median, low, high;
	speed_median(t->time, t->times, &median, &low, &high);
	if (!g->rounds || median < g->median_low)
		g->median_low = median;
	if (!g->rounds || median > g->median_high)
		g->median_high = median;
	g->rounds++;
}

double timing_rows(const struct timing *g)
{
	return g->rows > 0 ? g->rows : (double)(g->size * g->accum);
}

int timing_add(struct timing *g, struct trial *t)
{
	g->accum = t->passes ? t->passes : t->config.accum;
	g->rows = t->full_rows;
	g->parts |= t->parts;
	if (!t->times)
		return 0;
	if (!room(g, t->times))
		return -EX_OSERR;
	memcpy(g->time + g->n, t->time, (size_t)t->times * sizeof *t->time);
	g->n += t->times;
	g->all += t->all_seconds;
	g->data += t->data_seconds;
	g->optimizer += t->optimizer_seconds;
	if (t->examples > 0)
		g->tokens_per_example = (double)t->tokens / (double)t->examples;
	see_round(g, t);
	return 0;
}

/* The interval encloses the medians of all rounds: what differs between two runs is noise too, and the
 * updates of one run do not know of it. */
bool timing_close(struct timing *g)
{
	if (!g->n || g->all <= 0)
		return false;
	speed_median(g->time, g->n, &g->median, &g->low, &g->high);
	if (g->rounds > 1 && g->low > 0) {
		g->low = fmin(g->low, g->median_low);
		g->high = fmax(g->high, g->median_high);
	}
	g->mean = g->all / g->n;
	return g->median > 0;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = ((const struct rate *)a)->size, y = ((const struct rate *)b)->size;
	return (x > y) - (x < y);
}

int timing_rates(struct probe *p, struct rate *r)
{
	int n = 0;
	for (int i = 0; i < p->timings; i++) {
		struct timing *g = &p->timing[i];
		double rows = timing_rows(g);
		if (timing_close(g))
			r[n++] = (struct rate){ g->size, rows / g->median, isfinite(g->high) ? rows / g->high : 0, g->low > 0 ? rows / g->low : INFINITY };
	}
	qsort(r, (size_t)n, sizeof *r, by_size);
	return n;
}
