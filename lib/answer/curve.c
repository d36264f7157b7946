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
	free(c->curve);
	ids_free(&c->ids);
	*c = (struct curves){ 0 };
}

int curves_see(struct curves *c, const struct view *v)
{
	char run[ULID_SIZE];
	struct curve_part *p;
	struct curve *k;
	int64_t update, at;
	const int *place;
	double loss;

	if (v->kind != KIND_step)
		return 0;
	view_run(v, run);
	place = ids_find(&c->ids, run);
	if (!place || !view_int(v, F_step_update, &update) || !view_num(v, F_step_loss, &loss))
		return 0;
	k = &c->curve[*place];
	k->steps++;
	if (!isfinite(loss)) {
		if (k->not_finite < 0 || update < k->not_finite)
			k->not_finite = update;
		return 0;
	}
	at = c->last > c->first ? (int64_t)((double)(update - c->first) / ((double)(c->last - c->first) + 1) * CURVE_PARTS) : 0;
	p = &k->part[at < 0 ? 0 : at >= CURVE_PARTS ? CURVE_PARTS - 1 : at];
	p->least = !p->n || loss < p->least ? loss : p->least;
	p->most = !p->n || loss > p->most ? loss : p->most;
	p->sum += loss;
	p->updates += (double)update;
	p->n++;
	return 0;
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
