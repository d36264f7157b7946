/* story.c - runs told in the order people read them: a probe's table and conclusion, then each run from its
 * header to its end, with a handful of its steps. */
#include "job.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 20 }; /* steps, evaluations, ... of a run */

/* The places of things in a row's text: first the probe's, then a block for each run. */
enum { OF_PROBE, CONCLUSION, BLOCKS };
enum { HEADER, TRAINER, PLAN, EXAMPLES, LOADS, LOADERS, STATES, STEPS, REPLICAS, EVALS, PREDICTIONS, SAVES, CHECKS, PHASES, JUDGED, NOTES, FAILURES, END, PLACES };

/* Kinds of which a run may have any number: of these a handful is shown. */
static const struct {
	enum kind kind;
	int place;
} many[] = {
	{ KIND_step, STEPS }, { KIND_eval, EVALS }, { KIND_prediction, PREDICTIONS }, { KIND_example, EXAMPLES }, { KIND_load, LOADS },
	{ KIND_loader, LOADERS }, { KIND_state, STATES }, { KIND_replica, REPLICAS }, { KIND_check, CHECKS }, { KIND_failure, FAILURES },
};
enum { MANY = sizeof many / sizeof *many, MANY_STEPS = 0 };

static const char *const phases[] = { "load", "data", "forward", "backward", "update", "validate", "save", "resume", "export" };
enum { N_PHASES = sizeof phases / sizeof *phases };

struct item {
	int64_t place;   /* and then in the order they came */
	size_t from, size;
	int64_t of;      /* of how many it was chosen */
	char key[32];    /* a later item of the same place and key replaces this one; "" none does */
};

struct block { /* one run */
	int row, number;  /* the number of the run in its row */
	bool trial;
	int64_t n[MANY];      /* counted by the first pass */
	int64_t passed[MANY]; /* in the second */
	unsigned judged; /* phases with a verdict */
};

struct row {
	int64_t left;   /* records to come */
	int blocks;
	struct buf items, bytes;
};

struct story {
	struct text *text;
	bool all_steps;
	struct summary *summary;
	struct row *row;
	int rows;
	struct ids rows_by_id, blocks_by_id;
	struct block *block;
	int blocks;
	const struct ids *only_rows, *only_runs;
};

struct story *story_new(struct text *t, bool all_steps)
{
	struct story *s = calloc(1, sizeof *s);

	if (s && !(s->summary = summary_new())) {
		free(s);
		return NULL;
	}
	if (s) {
		s->text = t;
		s->all_steps = all_steps;
		t->all = true; /* what is hidden is chosen here */
	}
	return s;
}

void story_free(struct story *s)
{
	if (!s)
		return;
	for (int i = 0; i < s->rows; i++) {
		buf_free(&s->row[i].items);
		buf_free(&s->row[i].bytes);
	}
	summary_free(s->summary);
	ids_free(&s->rows_by_id);
	ids_free(&s->blocks_by_id);
	free(s->row);
	free(s->block);
	free(s);
}

const struct summary *story_summary(const struct story *s)
{
	return s->summary;
}

void story_pick(struct story *s, const struct ids *rows, const struct ids *runs)
{
	s->only_rows = rows;
	s->only_runs = runs;
}

/* ---- first pass ---- */

/* Room for one more in a list of n that doubles at powers of two. */
static void *more(void *list, int n, size_t size)
{
	if (n & (n - 1))
		return list;
	return realloc(list, (size_t)(n ? 2 * n : 1) * size);
}

static int row_of(struct story *s, const char *id)
{
	int *known = ids_find(&s->rows_by_id, id);
	struct row *p;

	if (known)
		return *known;
	p = more(s->row, s->rows, sizeof *p);
	if (!p)
		return -EX_OSERR;
	s->row = p;
	if (ids_put(&s->rows_by_id, id, s->rows) < 0)
		return -EX_OSERR;
	s->row[s->rows] = (struct row){ 0 };
	return s->rows++;
}

static struct block *block_of(struct story *s, const char *run, int row)
{
	int *known = ids_find(&s->blocks_by_id, run);
	struct block *p;

	if (known)
		return &s->block[*known];
	p = more(s->block, s->blocks, sizeof *p);
	if (!p)
		return NULL;
	s->block = p;
	if (ids_put(&s->blocks_by_id, run, s->blocks) < 0)
		return NULL;
	p = &s->block[s->blocks++];
	*p = (struct block){ .row = row, .number = s->row[row].blocks++ };
	return p;
}

static int many_of(enum kind kind)
{
	for (int i = 0; i < MANY; i++)
		if (many[i].kind == kind)
			return i;
	return -1;
}

static int phase_number(const char *name)
{
	for (int i = 0; i < N_PHASES; i++)
		if (strcmp(phases[i], name) == 0)
			return i;
	return -1;
}

static void count(struct block *b, const struct view *v)
{
	char phase[24];
	int i = many_of(v->kind);

	if (i >= 0)
		b->n[i]++;
	switch (v->kind) {
	case KIND_run: b->trial = view_is(v, F_run_role, "trial"); break;
	case KIND_verdict:
		view_copy(v, F_verdict_phase, phase, sizeof phase);
		i = phase_number(phase);
		if (i >= 0)
			b->judged |= 1u << i;
		break;
	default: break;
	}
}

int story_count(struct story *s, const struct view *v, struct why *w)
{
	char owner[ULID_SIZE], run[ULID_SIZE];
	struct block *b = NULL;
	int row, r = summary_see(s->summary, v, w);

	if (r < 0)
		return r;
	summary_owner(s->summary, v, owner);
	view_run(v, run);
	if (!*owner)
		return 0;
	row = row_of(s, owner);
	if (row >= 0 && *run)
		b = block_of(s, run, row);
	if (row < 0 || (*run && !b))
		return why_set(w, EX_OSERR, "telling runs: record %lld: out of memory", (long long)v->number);
	s->row[row].left++;
	if (b)
		count(b, v);
	return 0;
}

int story_count_steps(struct story *s, const struct ledger_steps *e, struct why *w)
{
	char owner[ULID_SIZE];
	struct block *b = NULL;
	int row, r = summary_steps(s->summary, e, w);

	if (r < 0)
		return r;
	summary_owner_of(s->summary, e->run, owner);
	row = row_of(s, owner);
	if (row >= 0)
		b = block_of(s, e->run, row);
	if (!b)
		return why_set(w, EX_OSERR, "telling runs: out of memory");
	s->row[row].left += e->count;
	b->n[MANY_STEPS] += e->count;
	return 0;
}

/* ---- second pass ---- */

static bool picked(const struct story *s, const char *owner, const char *run)
{
	return !s->only_rows || ids_find(s->only_rows, owner) || (s->only_runs && ids_find(s->only_runs, run));
}

/* A trial is its line in the table, unless it was asked for by its own id. */
static bool shown_whole(const struct story *s, const struct block *b, const char *run)
{
	return !b->trial || (s->only_runs && ids_find(s->only_runs, run));
}

/* Is the i-th of n one of SHOWN evenly chosen ones, the first and the last among them? */
static bool chosen(int64_t i, int64_t n)
{
	int64_t j;

	if (n <= SHOWN)
		return true;
	j = (i * (SHOWN - 1) + (n - 1) / 2) / (n - 1);
	return i == (j * (n - 1) + (SHOWN - 1) / 2) / (SHOWN - 1);
}

bool story_wants(struct story *s, const struct ledger_steps *e, int n)
{
	char owner[ULID_SIZE];

	for (int i = 0; i < n; i++) {
		const int *place = ids_find(&s->blocks_by_id, e[i].run);
		const struct block *b = place ? &s->block[*place] : NULL;

		summary_owner_of(s->summary, e[i].run, owner);
		if (!b || !picked(s, owner, e[i].run) || !shown_whole(s, b, e[i].run))
			continue;
		if (s->all_steps)
			return true;
		for (int64_t k = b->passed[MANY_STEPS]; k < b->passed[MANY_STEPS] + e[i].count; k++)
			if (chosen(k, b->n[MANY_STEPS]))
				return true;
	}
	return false;
}

static int keep_one(struct row *r, int64_t place, const char *key, int64_t of, const struct view *v)
{
	struct item it = { .place = place, .from = r->bytes.n, .size = v->size, .of = of };
	struct item *old = (struct item *)(void *)r->items.p;
	size_t n = r->items.n / sizeof it;

	snprintf(it.key, sizeof it.key, "%s", key);
	if (buf_add(&r->bytes, v->raw, v->size) < 0)
		return -EX_OSERR;
	for (size_t i = 0; i < n && *key; i++)
		if (old[i].place == place && strcmp(old[i].key, key) == 0) {
			old[i] = it;
			return 0;
		}
	return buf_add(&r->items, &it, sizeof it);
}

static int keep(struct row *r, int64_t place, const char *key, const struct view *v)
{
	return keep_one(r, place, key, 0, v);
}

/* The i-th of n, if it is one of the chosen, or if all are wanted. */
static int keep_some(struct row *r, int64_t place, int64_t i, int64_t n, bool all, const struct view *v)
{
	return all || chosen(i, n) ? keep_one(r, place, "", n, v) : 0;
}

static int keep_phase(struct row *r, struct block *b, int64_t place, const struct view *v)
{
	char phase[24], when[12], key[40];
	int i;

	view_copy(v, F_phase_phase, phase, sizeof phase);
	view_copy(v, F_phase_occurrence, when, sizeof when);
	i = phase_number(phase);
	if (i >= 0 && b->judged >> i & 1)
		return 0;
	snprintf(key, sizeof key, "%s %s", phase, when);
	return keep(r, place + PHASES, key, v);
}

static int keep_of_run(struct story *s, struct row *r, struct block *b, const struct view *v)
{
	int64_t place = BLOCKS + (int64_t)b->number * PLACES;
	char phase[24];
	int i = many_of(v->kind);

	if (i >= 0)
		return keep_some(r, place + many[i].place, b->passed[i], b->n[i], s->all_steps, v);
	switch (v->kind) {
	case KIND_run: return keep(r, place + HEADER, "", v);
	case KIND_trainer:
	case KIND_model:
	case KIND_optimizer:
	case KIND_blind: return keep(r, place + TRAINER, "", v);
	case KIND_plan: return keep(r, place + PLAN, "", v);
	case KIND_save: return keep(r, place + SAVES, "last", v);
	case KIND_phase: return keep_phase(r, b, place, v);
	case KIND_verdict:
		view_copy(v, F_verdict_phase, phase, sizeof phase);
		return keep(r, place + JUDGED, phase, v);
	case KIND_end: return keep(r, place + END, "", v);
	default: return keep(r, place + NOTES, "", v);
	}
}

static void passed(struct block *b, const struct view *v)
{
	int i = many_of(v->kind);

	if (i >= 0)
		b->passed[i]++;
}

static int by_place(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* The row is complete: its text, and its memory back. */
static int tell_row(struct story *s, struct row *r, struct buf *out, struct why *w)
{
	struct item *it = (struct item *)(void *)r->items.p;
	size_t n = r->items.n / sizeof *it;
	int code = 0;

	if (n)
		qsort(it, n, sizeof *it, by_place);
	for (size_t i = 0, first = 0; i < n && code == 0; i++) {
		struct view v;

		code = view_open(&v, r->bytes.p + it[i].from, it[i].size, w);
		if (code == 0 && text_write(s->text, &v, out) < 0)
			code = why_set(w, EX_OSERR, "telling runs: out of memory");
		if (it[first].place != it[i].place)
			first = i;
		if (code == 0 && (i + 1 == n || it[i + 1].place != it[i].place) && it[i].of > (int64_t)(i + 1 - first) &&
		    buf_printf(out, "  (%zu of %lld shown)\n", i + 1 - first, (long long)it[i].of) < 0)
			code = why_set(w, EX_OSERR, "telling runs: out of memory");
	}
	buf_free(&r->items);
	buf_free(&r->bytes);
	return code;
}

static int keep_record(struct story *s, struct row *r, const char *owner, const char *run, const struct view *v)
{
	const int *place = ids_find(&s->blocks_by_id, run);
	struct block *b = place ? &s->block[*place] : NULL;
	int code = 0;

	if (picked(s, owner, run)) {
		if (v->kind == KIND_trial)
			code = keep(r, OF_PROBE, "", v);
		else if (v->kind == KIND_probe)
			code = keep(r, CONCLUSION, "", v);
		else if (!b && v->kind == KIND_note) /* on the probe itself */
			code = keep(r, CONCLUSION, "", v);
		else if (b && shown_whole(s, b, run))
			code = keep_of_run(s, r, b, v);
	}
	if (b)
		passed(b, v);
	return code;
}

/* A note, a comparison, or a record of a foreign kind, that belongs to no run stands between them. */
static int tell_loose(struct story *s, const struct view *v, struct buf *out, struct why *w)
{
	if (s->only_rows || (v->kind != KIND_note && v->kind != KIND_comparison && v->kind != KIND_UNKNOWN))
		return 0;
	if (text_write(s->text, v, out) < 0)
		return why_set(w, EX_OSERR, "telling runs: record %lld: out of memory", (long long)v->number);
	return 0;
}

int story_tell(struct story *s, const struct view *v, struct buf *out, struct why *w)
{
	char owner[ULID_SIZE], run[ULID_SIZE];
	const int *row;
	struct row *r;

	summary_owner(s->summary, v, owner);
	view_run(v, run);
	row = ids_find(&s->rows_by_id, owner);
	if (!row)
		return tell_loose(s, v, out, w);
	r = &s->row[*row];
	if (keep_record(s, r, owner, run, v) < 0)
		return why_set(w, EX_OSERR, "telling runs: record %lld: out of memory", (long long)v->number);
	return --r->left == 0 ? tell_row(s, r, out, w) : 0;
}

int story_tell_steps(struct story *s, const struct ledger_steps *e, struct buf *out, struct why *w)
{
	const int *place = ids_find(&s->blocks_by_id, e->run);
	struct block *b = place ? &s->block[*place] : NULL;
	struct row *r;

	if (!b)
		return 0;
	b->passed[MANY_STEPS] += e->count;
	r = &s->row[b->row];
	r->left -= e->count;
	return r->left == 0 ? tell_row(s, r, out, w) : 0;
}
