/* planned.c - comparisons among the records: how many of their planned runs have come. */
#include <stdlib.h>
#include <string.h>

#include "ledger.h"

/* The entry of a comparison, made if there is none yet: a run may come before its plan. NULL: out of memory. */
static struct plan_seen *entry(struct planned *p, const char *id)
{
	struct plan_seen *q;

	for (int i = 0; i < p->n; i++)
		if (strcmp(p->plan[i].id, id) == 0)
			return &p->plan[i];
	q = realloc(p->plan, ((size_t)p->n + 1) * sizeof *q);
	if (!q)
		return NULL;
	p->plan = q;
	q += p->n++;
	*q = (struct plan_seen){ .runs = -1 };
	snprintf(q->id, sizeof q->id, "%s", id);
	return q;
}

/* A run that resumes or repeats another is none that was planned besides. */
static int count(struct planned *p, const struct view *v)
{
	char comparison[ULID_SIZE], other[ULID_SIZE], run[ULID_SIZE];
	struct plan_seen *q;

	if (!view_copy(v, F_run_comparison, comparison, sizeof comparison) || view_copy(v, F_run_repeats, other, sizeof other) ||
	    view_copy(v, F_run_resumed_run, other, sizeof other))
		return 0;
	view_run(v, run);
	if (ids_find(&p->runs, run))
		return 0; /* the same ledger twice */
	q = entry(p, comparison);
	if (!q)
		return -1;
	q->came++;
	return ids_put(&p->runs, run, 1);
}

int planned_see(struct planned *p, const struct view *v, struct why *w)
{
	char id[ULID_SIZE] = "";
	struct plan_seen *q;

	if (v->kind == KIND_run && count(p, v) < 0)
		return why_set(w, EX_OSERR, "counting planned runs: out of memory");
	if (v->kind != KIND_comparison)
		return 0;
	view_copy(v, F_comparison_id, id, sizeof id);
	q = entry(p, id);
	if (!q)
		return why_set(w, EX_OSERR, "counting planned runs: out of memory");
	q->told = true;
	view_copy(v, F_comparison_name, q->name, sizeof q->name);
	view_int(v, F_comparison_runs, &q->runs);
	return 0;
}

void planned_print(const struct planned *p)
{
	for (int i = 0; i < p->n; i++) {
		const struct plan_seen *q = &p->plan[i];
		struct buf b = { 0 };

		if (!q->told)
			continue;
		if (text_escape(&b, *q->name ? q->name : q->id, strlen(*q->name ? q->name : q->id)) == 0)
			printf("comparison %.*s: %lld of %lld planned runs came\n", (int)b.n, (const char *)b.p, (long long)q->came, (long long)q->runs);
		buf_free(&b);
	}
}

void planned_free(struct planned *p)
{
	free(p->plan);
	ids_free(&p->runs);
	*p = (struct planned){ 0 };
}
