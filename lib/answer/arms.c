/* arms.c - runs grouped into arms, and which of them count. */
#include "arms-inner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- metrics ---- */

static const char *const metrics[] = { "validation_loss", "validation_accuracy", "exact_match" };

const char *arms_metric_name(enum arms_metric m)
{
	return metrics[m];
}

int arms_metric_find(const char *name)
{
	if (strcmp(name, "loss") == 0)
		return METRIC_LOSS;
	if (strcmp(name, "accuracy") == 0)
		return METRIC_ACCURACY;
	for (int i = 0; i < 3; i++)
		if (strcmp(name, metrics[i]) == 0)
			return i;
	return -1;
}

bool arms_less_is_better(enum arms_metric m)
{
	return m == METRIC_LOSS;
}

double arms_value(const struct book_eval *e, enum arms_metric m)
{
	return m == METRIC_LOSS ? e->loss : m == METRIC_ACCURACY ? e->accuracy : e->exact_match;
}

const struct book_eval *arms_eval(const struct book_run *r, enum arms_metric m, bool best)
{
	const struct book_eval *found = NULL;

	for (int i = 0; i < r->evals; i++) {
		double x = arms_value(&r->eval[i], m), y = found ? arms_value(found, m) : NAN;

		if (isnan(x))
			continue;
		if (!found || !best || (arms_less_is_better(m) ? x < y : x > y))
			found = &r->eval[i];
	}
	return found;
}

/* ---- comparisons ---- */

bool arms_comparison(const struct book *b, int i, struct view *v)
{
	for (int k = book_others(b) - 1; k >= 0; k--)
		if (book_other(b, k)->kind == KIND_comparison && i-- == 0)
			return book_view(book_other(b, k), v);
	return false;
}

static int find_comparison(const struct book *b, const char *word, struct view *v, struct why *w)
{
	char id[ULID_SIZE], name[128];

	for (int i = 0; arms_comparison(b, i, v); i++) {
		view_copy(v, F_comparison_id, id, sizeof id);
		view_copy(v, F_comparison_name, name, sizeof name);
		if (!word || strncasecmp(id, word, strlen(word)) == 0 || strcmp(name, word) == 0)
			return 1;
	}
	return word ? why_set(w, EX_USAGE, "comparing: no comparison %.80s is in what was read", word) : 0;
}

/* ---- building ---- */

struct arm *arms_add(struct arms *a, const char *name)
{
	struct arm *p = realloc(a->arm, (size_t)(a->n + 1) * sizeof *p);

	if (!p)
		return NULL;
	a->arm = p;
	p = &p[a->n++];
	*p = (struct arm){ 0 };
	snprintf(p->name, sizeof p->name, "%s", name);
	return p;
}

struct arm *arms_find(struct arms *a, const char *name)
{
	for (int i = 0; i < a->n; i++)
		if (strcmp(a->arm[i].name, name) == 0)
			return &a->arm[i];
	return NULL;
}

struct arm_run *arm_add(struct arm *m, const struct book_run *r, int64_t seed)
{
	struct arm_run *p = realloc(m->run, (size_t)(m->runs + 1) * sizeof *p);

	if (!p)
		return NULL;
	m->run = p;
	p = &p[m->runs++];
	*p = (struct arm_run){ .run = r, .seed = seed, .seconds = NAN };
	return p;
}

void arms_note(struct arms *a, const char *run, const char *fmt, ...)
{
	struct arm_note *p = realloc(a->note, (size_t)(a->notes + 1) * sizeof *p);
	va_list ap;

	if (!p)
		return;
	a->note = p;
	p = &p[a->notes++];
	snprintf(p->run, sizeof p->run, "%s", run);
	va_start(ap, fmt);
	vsnprintf(p->text, sizeof p->text, fmt, ap);
	va_end(ap);
}

int arms_add_factor(struct arms *a, const char *name)
{
	char **p = realloc(a->factor, (size_t)(a->factors + 1) * sizeof *p);

	if (!p)
		return -EX_OSERR;
	a->factor = p;
	p[a->factors] = strdup(name);
	return p[a->factors] ? (a->factors++, 0) : -EX_OSERR;
}

void arms_free(struct arms *a)
{
	for (int i = 0; i < a->n; i++) {
		free(a->arm[i].run);
		identity_free(&a->arm[i].identity);
	}
	for (int i = 0; i < a->factors; i++)
		free(a->factor[i]);
	free(a->factor);
	free(a->arm);
	free(a->note);
	*a = (struct arms){ 0 };
}

/* A factor `lr` also names optimizer.lr; and what follows from the batch or the budget follows from it. */
bool arms_factor(const struct arms *a, const char *name)
{
	const char *dot = strrchr(name, '.');

	for (int i = 0; i < a->factors; i++) {
		const char *f = a->factor[i];
		bool batch = strcmp(f, "micro_batch") == 0 || strcmp(f, "accum") == 0 || strcmp(f, "replicas") == 0;

		if (strcmp(f, name) == 0 || (dot && strcmp(f, dot + 1) == 0))
			return true;
		if (strcmp(name, "planned_updates") == 0 && (batch || strcmp(f, "updates") == 0 || strcmp(f, "epochs") == 0 || strcmp(f, "examples") == 0))
			return true;
		if (strcmp(f, "weights") == 0 && strncmp(name, "weights", 7) == 0)
			return true;
		/* the kind of a spec decides which keys it has */
		if (strncmp(name, f, strlen(f)) == 0 && name[strlen(f)] == '.')
			return true;
	}
	return false;
}

static int finish(struct arms *a)
{
	for (int i = 0; i < a->n; i++) {
		struct arm *m = &a->arm[i];

		for (int k = 0; k < m->runs; k++) {
			struct arm_run *x = &m->run[k];

			arms_judge(a, x);
			m->counts += x->state == ARM_COUNTS;
			m->diverged += x->state == ARM_DIVERGED;
			m->missing += x->state == ARM_MISSING;
			m->left_out += x->state == ARM_LEFT_OUT;
			if (x->run && !m->identity.n && identity_of(x->run, &m->identity) < 0)
				return -EX_OSERR;
		}
	}
	return 0;
}

/* ---- as planned ---- */

/* The chains that carry this request, the first whole one counts. */
static int fill_planned(const struct book *b, struct arms *a, struct arm *m, const char *request, int64_t seed)
{
	struct arm_run *x = arm_add(m, NULL, seed);

	for (int i = 0; x && i < book_runs(b); i++) {
		const struct book_run *r = book_run(b, i);
		struct chain c;

		if (strcmp(r->request, request) || strcmp(r->role, "train") || arms_resumed(b, r))
			continue;
		c = arms_chain(b, r);
		if (!x->run || (!*x->run->status && *c.last->status)) {
			if (x->run)
				arms_note(a, x->run->id, "has no end; %s was run in its place", c.last->id);
			x->run = c.last;
			x->resumed = c.before;
			x->seconds = c.seconds;
		} else {
			arms_note(a, c.last->id, "is one more run of what %s had done: only the first counts", x->run->id);
		}
	}
	for (int i = 0; x && x->run && i < book_runs(b); i++) {
		const struct book_run *r = book_run(b, i);
		char repeats[ULID_SIZE];

		if (strcmp(r->role, "train") == 0 && strcmp(r->request, request) && book_text(r, F_run_repeats, repeats, sizeof repeats) && strcmp(repeats, x->run->id) == 0)
			arms_note(a, r->id, "repeats %s by hand: it was not planned, and does not count", x->run->id);
	}
	return x ? 0 : -EX_OSERR;
}

static int planned(const struct book *b, struct arms *a, struct why *w)
{
	char id[ULID_SIZE], request[64], arm[128];
	const char *s;
	size_t n;
	int rc = 0;

	view_copy(&a->comparison, F_comparison_id, a->id, sizeof a->id);
	view_copy(&a->comparison, F_comparison_name, a->name, sizeof a->name);
	for (int i = 0; rc == 0 && view_item_str(&a->comparison, F_comparison_factors, i, &s, &n); i++) {
		snprintf(arm, sizeof arm, "%.*s", (int)n, s);
		rc = arms_add_factor(a, arm);
	}
	for (int i = 0; rc == 0 && view_item_str(&a->comparison, F_comparison_arms, i, &s, &n); i++) {
		snprintf(arm, sizeof arm, "%.*s", (int)n, s);
		rc = arms_add(a, arm) ? 0 : -EX_OSERR;
	}
	for (int i = 0; rc == 0 && i < book_others(b); i++) {
		struct arm *m;
		struct view v;
		int64_t seed = INT64_MIN;

		if (book_other(b, i)->kind != KIND_request || !book_view(book_other(b, i), &v))
			continue;
		if (!view_copy(&v, F_request_comparison, id, sizeof id) || strcmp(id, a->id))
			continue;
		view_copy(&v, F_request_id, request, sizeof request);
		view_copy(&v, F_request_arm, arm, sizeof arm);
		view_int(&v, F_request_seed, &seed);
		m = arms_find(a, arm);
		if (m)
			rc = fill_planned(b, a, m, request, seed);
	}
	return rc ? why_set(w, EX_OSERR, "comparing: out of memory") : 0;
}

int arms_of(const struct book *b, const struct arms_settings *s, struct arms *a, struct why *w)
{
	int rc;

	*a = (struct arms){ 0 };
	if (!s->by) {
		rc = find_comparison(b, s->comparison, &a->comparison, w);
		if (rc == 0)
			rc = why_set(w, EX_NO, "comparing: there is no planned comparison; name the settings that differ: --by lr");
		a->planned = rc == 1;
		rc = rc == 1 ? planned(b, a, w) : rc;
	} else {
		rc = arms_grouped(b, s, a, w);
	}
	if (rc == 0 && finish(a) < 0)
		rc = why_set(w, EX_OSERR, "comparing: out of memory");
	if (rc < 0)
		arms_free(a);
	return rc;
}
