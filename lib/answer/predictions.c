/* predictions.c - two models on the same examples, one by one. */
#include "predictions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/stat.h"

/* Ids are anybody's and of any length; a table has room for 26 letters. */
static int key_of(const struct view *v, char key[ULID_SIZE])
{
	const char *split = "", *id = "";
	size_t n = 0, m = 0;
	unsigned char raw[32];
	struct buf b = { 0 };
	char hex[65];
	int rc;

	view_str(v, F_prediction_split, &split, &n);
	view_str(v, F_prediction_id, &id, &m);
	rc = buf_printf(&b, "%.*s|", (int)n, split) < 0 || buf_add(&b, id, m) < 0 || sha_of(b.p, b.n, raw) < 0 ? -EX_OSERR : 0;
	buf_free(&b);
	if (rc == 0) {
		sha_hex(raw, hex);
		snprintf(key, ULID_SIZE, "%.26s", hex);
	}
	return rc;
}

/* Whether it says that it is right, or the answer is the target to the letter. */
static bool judged(const struct view *v, bool *right)
{
	const char *want, *got;
	size_t n, m;

	if (view_bool(v, F_prediction_correct, right))
		return true;
	if (!view_str(v, F_prediction_target, &want, &n) || !view_str(v, F_prediction_output, &got, &m))
		return false;
	*right = n == m && memcmp(want, got, n) == 0;
	return true;
}

static struct ids *run_of(struct predictions *p, const char *run)
{
	const int *place = ids_find(&p->runs, run);
	struct ids *more;

	if (place)
		return &p->of[*place];
	more = realloc(p->of, (size_t)(p->n + 1) * sizeof *more);
	if (!more)
		return NULL;
	p->of = more;
	p->of[p->n] = (struct ids){ 0 };
	if (ids_put(&p->runs, run, p->n) < 0)
		return NULL;
	return &p->of[p->n++];
}

int predictions_see(struct predictions *p, const struct view *v, struct why *w)
{
	char run[ULID_SIZE], key[ULID_SIZE];
	struct ids *of;
	bool right;

	if (v->kind != KIND_prediction || view_is(v, F_prediction_split, "train") || !judged(v, &right))
		return 0;
	view_run(v, run);
	of = *run ? run_of(p, run) : NULL;
	if (!of || key_of(v, key) < 0 || ids_put(of, key, right) < 0)
		return why_set(w, EX_OSERR, "reading predictions: out of memory");
	return 0;
}

void predictions_free(struct predictions *p)
{
	for (int i = 0; i < p->n; i++)
		ids_free(&p->of[i]);
	free(p->of);
	ids_free(&p->runs);
	*p = (struct predictions){ 0 };
}

bool predictions_pair(const struct predictions *p, const char *first, const char *second, struct predictions_pair *out)
{
	const int *a = ids_find(&p->runs, first), *b = ids_find(&p->runs, second);
	bool any = false;

	*out = (struct predictions_pair){ 0 };
	for (size_t i = 0; a && b && i < p->of[*a].cap; i++) {
		const struct ids_slot *s = &p->of[*a].slot[i];
		const int *other = s->id[0] ? ids_find(&p->of[*b], s->id) : NULL;

		if (!other)
			continue;
		any = true;
		*(s->value ? *other ? &out->both : &out->first : *other ? &out->second : &out->none) += 1;
	}
	return any;
}

double predictions_p(const struct predictions_pair *x)
{
	int64_t n = x->first + x->second, more = x->first > x->second ? x->first : x->second;
	double p = 2 * stat_binomial_tail(more, n, 0.5);

	return !n || p > 1 ? 1 : p;
}
