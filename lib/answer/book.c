/* book.c - records sorted by the run they belong to, steps counted and not kept. */
#include "answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Raw records lie in blocks that never move. */
struct block {
	struct block *next;
	size_t n, cap;
	unsigned char p[];
};
enum { BLOCK = 1 << 18 };

struct records {
	struct book_record *p;
	int n, cap;
};
/* A run while the book is open. */
struct entry {
	struct book_run r;
	struct records records;
	struct book_eval *eval;
	int evals, eval_cap;
	double began; /* seconds of its run record */
};
struct book {
	struct entry *e;
	int n, cap;
	struct ids ids;
	struct records others;
	struct block *block;
};

int book_new(struct book **b, struct why *w)
{
	*b = calloc(1, sizeof **b);
	return *b ? 0 : why_set(w, EX_OSERR, "reading runs: out of memory");
}

void book_free(struct book *b)
{
	if (!b)
		return;
	for (int i = 0; i < b->n; i++) {
		free(b->e[i].records.p);
		free(b->e[i].eval);
	}
	for (struct block *k = b->block, *next; k; k = next) {
		next = k->next;
		free(k);
	}
	free(b->others.p);
	free(b->e);
	ids_free(&b->ids);
	free(b);
}

/* ---- keeping bytes ---- */

static const unsigned char *keep(struct book *b, const unsigned char *p, size_t n)
{
	struct block *k = b->block;

	if (!k || k->cap - k->n < n) {
		size_t cap = n > BLOCK ? n : BLOCK;

		k = malloc(sizeof *k + cap);
		if (!k)
			return NULL;
		*k = (struct block){ .next = b->block, .cap = cap };
		b->block = k;
	}
	memcpy(k->p + k->n, p, n);
	k->n += n;
	return k->p + k->n - n;
}

static const struct book_record *add(struct book *b, struct records *r, const struct view *v)
{
	const unsigned char *raw = keep(b, v->raw, v->size);

	if (r->n == r->cap) {
		int cap = r->cap ? 2 * r->cap : 8;
		struct book_record *p = realloc(r->p, (size_t)cap * sizeof *p);

		if (!p)
			return NULL;
		r->p = p;
		r->cap = cap;
	}
	if (!raw)
		return NULL;
	r->p[r->n] = (struct book_record){ raw, v->size, v->kind };
	return &r->p[r->n++];
}

bool book_view(const struct book_record *r, struct view *v)
{
	struct why w;

	return r && view_open(v, r->raw, r->size, &w) == 0;
}

/* ---- runs ---- */

static struct entry *entry_of(struct book *b, const char *id)
{
	const int *place = ids_find(&b->ids, id);
	struct entry *e;

	if (place)
		return &b->e[*place];
	if (b->n == b->cap) {
		int cap = b->cap ? 2 * b->cap : 16;

		e = realloc(b->e, (size_t)cap * sizeof *e);
		if (!e)
			return NULL;
		b->e = e;
		b->cap = cap;
	}
	if (ids_put(&b->ids, id, b->n) < 0)
		return NULL;
	e = &b->e[b->n];
	*e = (struct entry){ .began = NAN };
	snprintf(e->r.id, sizeof e->r.id, "%s", id);
	e->r.steps.first = e->r.steps.last = e->r.steps.examples = -1;
	e->r.order = b->n++;
	return e;
}

static bool later(struct timestamp a, struct timestamp b)
{
	return a.seconds > b.seconds || (a.seconds == b.seconds && a.nanoseconds > b.nanoseconds);
}

static void seen_at(struct book_run *r, struct timestamp t)
{
	if (!r->first.seconds)
		r->first = t;
	if (later(t, r->last))
		r->last = t;
}

static double seconds_of(struct timestamp t)
{
	return (double)t.seconds + 1e-9 * t.nanoseconds;
}

static bool time_of(const struct view *v, struct timestamp *t)
{
	enum field f = v->kind == KIND_UNKNOWN ? F_NONE : field_find(v->kind, "t", 1);

	return f != F_NONE && view_time(v, f, t);
}

static int see_eval(struct entry *e, const struct view *v)
{
	struct book_eval x = { -1, -1, NAN, NAN, NAN, NAN, NAN };
	struct timestamp t;

	if (!view_is(v, F_eval_split, "validation"))
		return 0;
	view_int(v, F_eval_update, &x.update);
	view_int(v, F_eval_run_examples, &x.examples);
	view_num(v, F_eval_loss, &x.loss);
	view_num(v, F_eval_accuracy, &x.accuracy);
	view_num(v, F_eval_exact_match, &x.exact_match);
	view_num(v, F_eval_training_seconds, &x.training_seconds);
	if (!view_num(v, F_eval_run_seconds, &x.run_seconds) && time_of(v, &t) && seconds_of(t) >= e->began)
		x.run_seconds = seconds_of(t) - e->began;
	if (e->evals == e->eval_cap) {
		int cap = e->eval_cap ? 2 * e->eval_cap : 8;
		struct book_eval *p = realloc(e->eval, (size_t)cap * sizeof *p);

		if (!p)
			return -EX_OSERR;
		e->eval = p;
		e->eval_cap = cap;
	}
	e->eval[e->evals++] = x;
	return 0;
}

static void see_step(struct entry *e, const struct view *v)
{
	struct ledger_steps s = { .examples = -1, .first = -1, .last = -1 };

	ledger_steps_add(&s, v);
	e->r.steps.count += s.count;
	e->r.steps.seconds += s.seconds;
	if (e->r.steps.first < 0)
		e->r.steps.first = s.first;
	if (s.last > e->r.steps.last)
		e->r.steps.last = s.last;
	if (s.examples > e->r.steps.examples)
		e->r.steps.examples = s.examples;
}

static void see_run(struct entry *e, const struct view *v)
{
	struct timestamp t;

	view_copy(v, F_run_role, e->r.role, sizeof e->r.role);
	view_copy(v, F_run_comparison, e->r.comparison, sizeof e->r.comparison);
	view_copy(v, F_run_arm, e->r.arm, sizeof e->r.arm);
	view_copy(v, F_run_request, e->r.request, sizeof e->r.request);
	if (time_of(v, &t))
		e->began = seconds_of(t);
}

/* Of many records of a run only a few kinds are ever asked for. */
static bool kept(enum kind k)
{
	return k != KIND_step && k != KIND_example && k != KIND_prediction && k != KIND_loader && k != KIND_replica;
}

static int see_of_run(struct book *b, struct entry *e, const struct view *v)
{
	const struct book_record *r;
	struct timestamp t;

	if (time_of(v, &t))
		seen_at(&e->r, t);
	if (v->kind == KIND_step)
		see_step(e, v);
	if (!kept(v->kind))
		return 0;
	r = add(b, &e->records, v);
	if (!r)
		return -EX_OSERR;
	if (v->kind == KIND_run) {
		book_view(r, &e->r.run);
		see_run(e, v);
	} else if (v->kind == KIND_end) {
		book_view(r, &e->r.end);
		view_copy(v, F_end_status, e->r.status, sizeof e->r.status);
	} else if (v->kind == KIND_eval) {
		return see_eval(e, v);
	}
	return 0;
}

int book_see(struct book *b, const struct view *v, struct why *w)
{
	char run[ULID_SIZE];
	struct entry *e;
	int rc;

	view_run(v, run);
	if (*run) {
		e = entry_of(b, run);
		rc = e ? see_of_run(b, e, v) : -EX_OSERR;
	} else {
		rc = v->kind == KIND_done || add(b, &b->others, v) ? 0 : -EX_OSERR;
	}
	return rc ? why_set(w, EX_OSERR, "reading runs: record %lld: out of memory", (long long)v->number) : 0;
}

int book_steps(struct book *b, const struct ledger_steps *s, struct why *w)
{
	struct entry *e = entry_of(b, s->run);

	if (!e)
		return why_set(w, EX_OSERR, "reading runs: out of memory");
	seen_at(&e->r, s->t);
	e->r.steps.count += s->count;
	e->r.steps.seconds += s->seconds;
	if (e->r.steps.first < 0)
		e->r.steps.first = s->first;
	if (s->last > e->r.steps.last)
		e->r.steps.last = s->last;
	if (s->examples > e->r.steps.examples)
		e->r.steps.examples = s->examples;
	return 0;
}

/* ---- after the last record ---- */

struct ordered {
	struct book_eval eval;
	int place;
};

static int by_update(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->eval.update != y->eval.update)
		return x->eval.update < y->eval.update ? -1 : 1;
	return x->place - y->place;
}

/* By update; of several at one update, as a resumed run repeats them, the last that was written. */
static int sort_evals(struct entry *e)
{
	struct ordered *o = malloc((size_t)(e->evals + 1) * sizeof *o);
	int n = 0;

	if (!o)
		return -EX_OSERR;
	for (int i = 0; i < e->evals; i++)
		o[i] = (struct ordered){ e->eval[i], i };
	qsort(o, (size_t)e->evals, sizeof *o, by_update);
	for (int i = 0; i < e->evals; i++)
		if (i + 1 == e->evals || o[i + 1].eval.update != o[i].eval.update)
			e->eval[n++] = o[i].eval;
	free(o);
	e->r.repeated = e->evals - n;
	e->r.eval = e->eval;
	e->r.evals = e->evals = n;
	return 0;
}

int book_close(struct book *b, struct why *w)
{
	for (int i = 0; i < b->n; i++) {
		struct entry *e = &b->e[i];

		if (sort_evals(e) < 0)
			return why_set(w, EX_OSERR, "reading runs: out of memory");
		e->r.record = e->records.p;
		e->r.records = e->records.n;
	}
	return 0;
}

/* ---- looking ---- */

int book_runs(const struct book *b)
{
	return b->n;
}

const struct book_run *book_run(const struct book *b, int i)
{
	return &b->e[i].r;
}

int book_find(const struct book *b, const char *prefix, const struct book_run **r, struct why *w)
{
	*r = NULL;
	for (int i = 0; i < b->n; i++) {
		const struct book_run *x = &b->e[i].r;

		if (!*prefix || strncasecmp(x->id, prefix, strlen(prefix)))
			continue;
		if (*r)
			return why_set(w, EX_USAGE, "finding a run: %.60s: is the beginning of %s and of %s", prefix, (*r)->id, x->id);
		*r = x;
	}
	return *r != NULL;
}

int book_others(const struct book *b)
{
	return b->others.n;
}

const struct book_record *book_other(const struct book *b, int i)
{
	return &b->others.p[i];
}

const struct book_record *book_of(const struct book_run *r, enum kind k, int n)
{
	if (n < 0) {
		for (int i = r->records - 1; i >= 0; i--)
			if (r->record[i].kind == k)
				return &r->record[i];
		return NULL;
	}
	for (int i = 0; i < r->records; i++)
		if (r->record[i].kind == k && n-- == 0)
			return &r->record[i];
	return NULL;
}

/* The run and end records are open already; others are opened into *scratch. */
static const struct view *last_of(const struct book_run *r, enum field f, struct view *scratch)
{
	enum kind k = field_info(f)->kind;

	if (k == KIND_run)
		return &r->run;
	if (k == KIND_end)
		return &r->end;
	return book_view(book_of(r, k, -1), scratch) ? scratch : NULL;
}

bool book_int(const struct book_run *r, enum field f, int64_t *out)
{
	struct view scratch;
	const struct view *v = last_of(r, f, &scratch);

	return v && v->kind != KIND_UNKNOWN && view_int(v, f, out);
}

bool book_num(const struct book_run *r, enum field f, double *out)
{
	struct view scratch;
	const struct view *v = last_of(r, f, &scratch);

	return v && v->kind != KIND_UNKNOWN && view_num(v, f, out);
}

bool book_text(const struct book_run *r, enum field f, char *out, size_t size)
{
	struct view scratch;
	const struct view *v = last_of(r, f, &scratch);

	*out = '\0';
	return v && v->kind != KIND_UNKNOWN && view_copy(v, f, out, size);
}

bool book_trained(const struct book_run *r)
{
	return strcmp(r->role, "train") == 0 || strcmp(r->role, "confirm") == 0;
}
