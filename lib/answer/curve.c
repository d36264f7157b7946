/* curve.c - steps summed by the part of the run in which they lie. */
#include "curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int curves_begin(struct curves *c, const struct book *b, const struct ids *only, struct why *w)
{
	*c = (struct curves){ .first = INT64_MAX, .last = INT64_MIN };
	c->curve = calloc((size_t)book_runs(b) + 1, sizeof *c->curve);
	for (int i = 0; c->curve && i < book_runs(b); i++) {
		const struct book_run *r = book_run(b, i);

		if (!book_trained(r) || r->steps.count == 0 || (only && !ids_find(only, r->id)))
			continue;
		if (ids_put(&c->ids, r->id, c->n) < 0)
			break;
		c->curve[c->n] = (struct curve){ .not_finite = -1 };
		snprintf(c->curve[c->n++].run, ULID_SIZE, "%s", r->id);
		c->first = r->steps.first >= 0 && r->steps.first < c->first ? r->steps.first : c->first;
		c->last = r->steps.last > c->last ? r->steps.last : c->last;
	}
	if (c->curve && (size_t)c->n == c->ids.n)
		return 0;
	curves_free(c);
	return why_set(w, EX_OSERR, "reading curves: out of memory");
}

void curves_free(struct curves *c)
{
	for (int i = 0; i < c->n; i++)
		free(c->curve[i].step);
	free(c->curve);
	ids_free(&c->ids);
	*c = (struct curves){ 0 };
}

/* ---- parts ---- */

static int part_of(const struct curves *c, int64_t update)
{
	double share = c->last > c->first ? (double)(update - c->first) / ((double)(c->last - c->first) + 1) : 0;
	int at = (int)(share * CURVE_PARTS);

	return at < 0 ? 0 : at >= CURVE_PARTS ? CURVE_PARTS - 1 : at;
}

static void put(const struct curves *c, struct curve *k, const struct curve_step *s)
{
	struct curve_part *p = &k->part[part_of(c, s->update)];

	k->ends_finite = isfinite(s->loss);
	if (!isfinite(s->loss)) {
		if (k->not_finite < 0 || s->update < k->not_finite)
			k->not_finite = s->update;
		return;
	}
	p->least = !p->n || s->loss < p->least ? s->loss : p->least;
	p->most = !p->n || s->loss > p->most ? s->loss : p->most;
	p->sum += s->loss;
	p->updates += (double)s->update;
	p->n++;
}

/* Steps by update, those of one update in the order in which they came. */
static int by_update(const void *a, const void *b)
{
	const struct curve_step *x = a, *y = b;

	return x->update != y->update ? (x->update > y->update) - (x->update < y->update) : (x->place > y->place) - (x->place < y->place);
}

static void take(struct curves *c, struct curve *k)
{
	if (k->taken)
		return;
	k->taken = true;
	if (k->n) /* no steps: no block */
		qsort(k->step, (size_t)k->n, sizeof *k->step, by_update);
	for (int i = 0; i < k->n; i++)
		if (i + 1 == k->n || k->step[i + 1].update != k->step[i].update)
			put(c, k, &k->step[i]);
	if (k->n)
		k->last = k->step[k->n - 1];
	c->kept -= k->n;
	free(k->step);
	k->step = NULL;
	k->n = k->cap = 0;
}

/* Step by step: one that repeats the last replaces it; one that goes back further begins its part and those behind anew. */
static void stream(struct curves *c, struct curve *k, const struct curve_step *s)
{
	struct curve_part *p = &k->part[part_of(c, s->update)];

	if (s->update == k->last.update && isfinite(k->last.loss) && p->n) {
		p->sum -= k->last.loss;
		p->updates -= (double)k->last.update;
		p->n--;
	} else if (s->update < k->last.update) {
		for (int i = part_of(c, s->update); i < CURVE_PARTS; i++)
			k->part[i] = (struct curve_part){ 0 };
		if (k->not_finite >= s->update)
			k->not_finite = -1;
	}
	put(c, k, s);
	k->last = *s;
}

static int keep(struct curves *c, struct curve *k, const struct curve_step *s)
{
	if (k->n == k->cap) {
		int cap = k->cap ? 2 * k->cap : 256;
		struct curve_step *p = realloc(k->step, (size_t)cap * sizeof *p);

		if (!p)
			return -EX_OSERR;
		k->step = p;
		k->cap = cap;
	}
	k->step[k->n] = *s;
	k->step[k->n].place = k->n;
	k->n++;
	c->kept++;
	if (k->n >= CURVE_EXACT || c->kept >= CURVES_EXACT)
		take(c, k);
	return 0;
}

int curves_see(struct curves *c, const struct view *v)
{
	char run[ULID_SIZE];
	struct curve_step s = { 0 };
	struct curve *k;
	const int *place;

	if (v->kind != KIND_step)
		return 0;
	view_run(v, run);
	place = ids_find(&c->ids, run);
	if (!place || !view_int(v, F_step_update, &s.update) || !view_num(v, F_step_loss, &s.loss))
		return 0;
	k = &c->curve[*place];
	k->steps++;
	if (!k->taken)
		return keep(c, k, &s);
	stream(c, k, &s);
	return 0;
}

void curves_end(struct curves *c)
{
	for (int i = 0; i < c->n; i++)
		take(c, &c->curve[i]);
}

const struct curve *curves_of(const struct curves *c, const char *run)
{
	const int *place = c ? ids_find(&c->ids, run) : NULL;

	return place ? &c->curve[*place] : NULL;
}

bool curve_mean(const struct curve *c, int part, double *update, double *loss)
{
	const struct curve_part *p = &c->part[part];

	if (!p->n)
		return false;
	*update = p->updates / (double)p->n;
	*loss = p->sum / (double)p->n;
	return true;
}
