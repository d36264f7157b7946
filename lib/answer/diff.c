/* diff.c - two runs beside each other; what is equal is not shown. */
#include "diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "identity.h"

/* ---- curves ---- */

int diff_see(struct diff_curves *c, const struct view *v, struct why *w)
{
	char run[ULID_SIZE];

	if (v->kind != KIND_step)
		return 0;
	view_run(v, run);
	for (int i = 0; i < 2; i++) {
		struct diff_curve *k = &c->of[i];
		struct diff_step s = { .loss = NAN };

		if (strcmp(run, k->run) || !view_int(v, F_step_update, &s.update))
			continue;
		view_num(v, F_step_loss, &s.loss);
		if (k->n == k->cap) {
			size_t cap = k->cap ? 2 * k->cap : 256;
			struct diff_step *p = realloc(k->step, cap * sizeof *p);

			if (!p)
				return why_set(w, EX_OSERR, "comparing losses: out of memory");
			k->step = p;
			k->cap = cap;
		}
		s.order = k->n;
		k->step[k->n++] = s;
	}
	return 0;
}

void diff_free(struct diff_curves *c)
{
	free(c->of[0].step);
	free(c->of[1].step);
	*c = (struct diff_curves){ 0 };
}

static int by_update(const void *a, const void *b)
{
	const struct diff_step *x = a, *y = b;

	if (x->update != y->update)
		return x->update > y->update ? 1 : -1;
	return (x->order > y->order) - (x->order < y->order);
}

/* In the order of updates; of one that was logged twice, what was said last. */
static void settle(struct diff_curve *c)
{
	size_t n = 0;

	qsort(c->step, c->n, sizeof *c->step, by_update);
	for (size_t i = 0; i < c->n; i++)
		if (i + 1 == c->n || c->step[i].update != c->step[i + 1].update)
			c->step[n++] = c->step[i];
	c->n = n;
}

static bool same_loss(double x, double y)
{
	return x == y || (isnan(x) && isnan(y));
}

/* With all digits that tell them apart. */
static void say_parting(struct answer *a, int64_t both, const struct diff_step *x, const struct diff_step *y)
{
	char first[32], second[32];

	num_shortest(x->loss, first);
	num_shortest(y->loss, second);
	if (both)
		answer_say(a, SAY, "losses", "Losses are the same, bit by bit, at the first %lld %s that both have, and part at update %lld: %s and %s.",
		           (long long)both, both == 1 ? "update" : "updates", (long long)x->update, first, second);
	else
		answer_say(a, SAY, "losses", "Losses differ from the first update that both have, %lld: %s and %s.", (long long)x->update, first, second);
}

static void say_curves(struct answer *a, struct diff_curves *c)
{
	struct diff_curve *x = &c->of[0], *y = &c->of[1];
	int64_t both = 0, last = -1;

	if (!x->n || !y->n) {
		answer_say(a, SAY, "losses", "Losses: not measured in %s.", !x->n && !y->n ? "either" : !x->n ? "the first" : "the second");
		return;
	}
	settle(x);
	settle(y);
	for (size_t i = 0, k = 0; i < x->n && k < y->n;) {
		if (x->step[i].update != y->step[k].update) {
			*(x->step[i].update < y->step[k].update ? &i : &k) += 1;
			continue;
		}
		if (!same_loss(x->step[i].loss, y->step[k].loss)) {
			say_parting(a, both, &x->step[i], &y->step[k]);
			return;
		}
		last = x->step[i].update;
		both++;
		i++;
		k++;
	}
	if (both)
		answer_say(a, SAY, "losses", "Losses are the same, bit by bit, at all %lld updates that both have, up to %lld.", (long long)both, (long long)last);
	else
		answer_say(a, SAY, "losses", "Losses: no update is in both.");
}

/* ---- settings ---- */

static void row(struct table *t, const char *name, const char *x, const char *y)
{
	table_row(t);
	table_text(t, 0, name);
	table_text(t, 1, x ? x : "(not said)");
	table_text(t, 2, y ? y : "(not said)");
}

static struct table *two(struct answer *a, const char *name, const char *title, const struct book_run *x, const struct book_run *y)
{
	struct table *t = answer_table(a, name, title);

	table_words(t, "what", "");
	table_words(t, "first", x->id);
	table_words(t, "second", y->id);
	return t;
}

static int settings(struct answer *a, const struct book_run *x, const struct book_run *y)
{
	struct identity p, q = { 0 };
	struct table *t = NULL;
	int rc = identity_of(x, &p), equal = 0;

	if (rc == 0)
		rc = identity_of(y, &q);
	for (int i = 0; rc == 0 && i < p.n; i++) {
		const char *other = identity_value(&q, p.item[i].name);

		if (other && strcmp(other, p.item[i].value) == 0) {
			equal++;
			continue;
		}
		t = t ? t : two(a, "settings", "Settings and surroundings:", x, y);
		row(t, p.item[i].name, p.item[i].value, other);
	}
	for (int i = 0; rc == 0 && i < q.n; i++)
		if (!identity_value(&p, q.item[i].name)) {
			t = t ? t : two(a, "settings", "Settings and surroundings:", x, y);
			row(t, q.item[i].name, NULL, q.item[i].value);
		}
	if (rc == 0)
		answer_say(a, SAY, "equal", "%d %s equal%s.", equal, equal == 1 ? "setting is" : "settings are", t ? "" : "; none differs");
	identity_free(&p);
	identity_free(&q);
	return rc;
}

/* ---- results ---- */

static const char *shown(const struct book_run *r, enum field f, char out[64])
{
	int64_t i;
	double x;

	if (field_info(f)->type == T_STR)
		return book_text(r, f, out, 64) && *out ? out : "not measured";
	if (field_info(f)->type == T_INT) {
		if (!book_int(r, f, &i))
			return "not measured";
		snprintf(out, 64, "%lld", (long long)i);
		return out;
	}
	if (!book_num(r, f, &x))
		return "not measured";
	snprintf(out, 64, "%.6g", x);
	return out;
}

/* The end's accuracy is that of whole answers. */
static bool exact(const struct book_run *r)
{
	bool is = false;

	return r->end.kind == KIND_end && view_bool(&r->end, F_end_exact_match, &is) && is;
}

static void results(struct answer *a, const struct book_run *x, const struct book_run *y)
{
	static const enum field fields[] = { F_end_status, F_end_updates, F_end_examples, F_end_loss, F_end_validation_loss, F_end_validation_accuracy,
		F_end_best_validation_loss, F_end_test_loss, F_end_examples_per_second, F_end_training_seconds, F_end_seconds, F_end_allocated_peak_bytes,
		F_end_reserved_peak_bytes, F_end_device_used_peak_bytes, F_end_resident_peak_bytes, F_end_peak_phase };
	struct table *t = two(a, "results", "Results:", x, y);
	char p[64], q[64];
	bool whole;

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		const char *s = shown(x, fields[i], p), *u = shown(y, fields[i], q);

		if (strcmp(s, "not measured") == 0 && strcmp(u, "not measured") == 0)
			continue;
		whole = fields[i] == F_end_validation_accuracy && (exact(x) || strcmp(s, "not measured") == 0) && (exact(y) || strcmp(u, "not measured") == 0);
		row(t, whole ? "exact_match" : field_info(fields[i])->name, s, u);
		table_run(t, x->id);
		table_run(t, y->id);
	}
}

int diff_answer(const struct book_run *x, const struct book_run *y, struct diff_curves *c, struct answer **out, struct why *w)
{
	struct answer *a = *out = answer_new("diff");

	if (!a || settings(a, x, y) < 0)
		return why_set(w, EX_OSERR, "comparing runs: out of memory");
	results(a, x, y);
	say_curves(a, c);
	return 0;
}
