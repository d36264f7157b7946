/* arms.c - runs grouped into arms, and which of them count. */
#include "arms.h"

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

static struct arm *add_arm(struct arms *a, const char *name)
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

static struct arm *find_arm(struct arms *a, const char *name)
{
	for (int i = 0; i < a->n; i++)
		if (strcmp(a->arm[i].name, name) == 0)
			return &a->arm[i];
	return NULL;
}

static struct arm_run *add_run(struct arm *m, const struct book_run *r, int64_t seed)
{
	struct arm_run *p = realloc(m->run, (size_t)(m->runs + 1) * sizeof *p);

	if (!p)
		return NULL;
	m->run = p;
	p = &p[m->runs++];
	*p = (struct arm_run){ .run = r, .seed = seed, .seconds = NAN };
	return p;
}

static void add_note(struct arms *a, const char *run, const char *fmt, ...) PRINTF(3, 4);
static void add_note(struct arms *a, const char *run, const char *fmt, ...)
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

static int add_factor(struct arms *a, const char *name)
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

/* ---- which runs there are: chains of resumes are one ---- */

struct chain {
	const struct book_run *first, *last;
	int before;
	double seconds;
};

static const struct book_run *resumed_by(const struct book *b, const struct book_run *r)
{
	const struct book_run *next = NULL;
	char id[ULID_SIZE];

	for (int i = 0; i < book_runs(b); i++) {
		const struct book_run *x = book_run(b, i);

		if (x != r && x->run.kind == KIND_run && strcmp(x->role, "train") == 0 && view_copy(&x->run, F_run_resumed_run, id, sizeof id) && strcmp(id, r->id) == 0)
			next = x;
	}
	return next;
}

/* Seconds in updates: what the end says (it counts those before a resume), else the steps' sum. */
static double seconds_of(const struct book_run *r)
{
	double s = NAN;

	if (!book_num(r, F_end_training_seconds, &s) && r->steps.count)
		s = r->steps.seconds > 0 ? r->steps.seconds : NAN; /* an imported log may have no times */
	return s;
}

static struct chain chain_of(const struct book *b, const struct book_run *r)
{
	struct chain c = { r, r, 0, seconds_of(r) };
	const struct book_run *next;

	while (c.before < 1000 && (next = resumed_by(b, c.last)) != NULL) {
		double s = seconds_of(next);

		c.last = next;
		c.before++;
		if (!isnan(s) && !(s < c.seconds)) /* an end counts what was before */
			c.seconds = s;
		else if (!isnan(s))
			c.seconds += s;
	}
	return c;
}

static bool is_resumed(const struct book *b, const struct book_run *r)
{
	const struct book_run *x;
	char id[ULID_SIZE];
	struct why w;

	return r->run.kind == KIND_run && view_copy(&r->run, F_run_resumed_run, id, sizeof id) && *id && book_find(b, id, &x, &w) == 1 && x != r;
}

/* ---- does a run count? ---- */

static bool stop_was_planned(const struct arms *a, const struct book_run *r)
{
	char rules[128], why[300], word[32];
	const char *p;

	if (!a->planned || !view_copy(&a->comparison, F_comparison_stop, rules, sizeof rules) || !book_text(r, F_end_why, why, sizeof why))
		return false;
	for (p = rules; *p; p += strcspn(p, ","), p += *p == ',') {
		snprintf(word, sizeof word, "%.*s", (int)strcspn(p, "=>,"), p);
		if (*word && strstr(why, "stop rule") && strstr(why, word))
			return true;
	}
	return false;
}

static void left_out(struct arm_run *x, const char *fmt, ...) PRINTF(2, 3);
static void left_out(struct arm_run *x, const char *fmt, ...)
{
	va_list ap;

	x->state = ARM_LEFT_OUT;
	va_start(ap, fmt);
	vsnprintf(x->why, sizeof x->why, fmt, ap);
	va_end(ap);
}

static void judge(const struct arms *a, struct arm_run *x)
{
	const struct book_run *r = x->run;
	char why[200];
	int64_t updates = -1, planned = -1;

	if (!r) {
		x->state = ARM_MISSING;
		snprintf(x->why, sizeof x->why, "planned, and no run of it is there");
		return;
	}
	book_text(r, F_end_why, why, sizeof why);
	book_int(r, F_end_updates, &updates);
	book_int(r, F_run_planned_updates, &planned);
	if (strcmp(r->status, "diverged") == 0) {
		x->state = ARM_DIVERGED;
		snprintf(x->why, sizeof x->why, "diverged: %.200s", *why ? why : "no reason is given");
	} else if (!*r->status) {
		left_out(x, "it has no end: cut, or still running");
	} else if (strcmp(r->status, "stopped") == 0 && stop_was_planned(a, r)) {
		x->state = ARM_COUNTS;
	} else if (strcmp(r->status, "done")) {
		left_out(x, "%.20s after %lld updates: %.160s", r->status, (long long)updates, *why ? why : "no reason is given");
	} else if (updates >= 0 && planned > 0 && updates < planned && !stop_was_planned(a, r)) {
		left_out(x, "ended after %lld of %lld updates", (long long)updates, (long long)planned);
	} else {
		x->state = ARM_COUNTS;
	}
}

static int finish(struct arms *a)
{
	for (int i = 0; i < a->n; i++) {
		struct arm *m = &a->arm[i];

		for (int k = 0; k < m->runs; k++) {
			struct arm_run *x = &m->run[k];

			judge(a, x);
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
	struct arm_run *x = add_run(m, NULL, seed);

	for (int i = 0; x && i < book_runs(b); i++) {
		const struct book_run *r = book_run(b, i);
		struct chain c;

		if (strcmp(r->request, request) || strcmp(r->role, "train") || is_resumed(b, r))
			continue;
		c = chain_of(b, r);
		if (!x->run || (!*x->run->status && *c.last->status)) {
			if (x->run)
				add_note(a, x->run->id, "has no end; %s was run in its place", c.last->id);
			x->run = c.last;
			x->resumed = c.before;
			x->seconds = c.seconds;
		} else {
			add_note(a, c.last->id, "is one more run of what %s had done: only the first counts", x->run->id);
		}
	}
	for (int i = 0; x && x->run && i < book_runs(b); i++) {
		const struct book_run *r = book_run(b, i);
		char repeats[ULID_SIZE];

		if (strcmp(r->role, "train") == 0 && strcmp(r->request, request) && book_text(r, F_run_repeats, repeats, sizeof repeats) && strcmp(repeats, x->run->id) == 0)
			add_note(a, r->id, "repeats %s by hand: it was not planned, and does not count", x->run->id);
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
		rc = add_factor(a, arm);
	}
	for (int i = 0; rc == 0 && view_item_str(&a->comparison, F_comparison_arms, i, &s, &n); i++) {
		snprintf(arm, sizeof arm, "%.*s", (int)n, s);
		rc = add_arm(a, arm) ? 0 : -EX_OSERR;
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
		m = find_arm(a, arm);
		if (m)
			rc = fill_planned(b, a, m, request, seed);
	}
	return rc ? why_set(w, EX_OSERR, "comparing: out of memory") : 0;
}

/* ---- by what is there ---- */

/* "lr=1e-4,b=8" for these fields of a run; false: it does not have them all. */
static bool name_of(const struct identity *id, char *const *field, int fields, char *out, size_t size)
{
	size_t n = 0;

	*out = '\0';
	for (int i = 0; i < fields; i++) {
		const char *name = identity_name(id, field[i]), *value = name ? identity_value(id, name) : NULL;

		if (!value)
			return false;
		n += (size_t)snprintf(out + n, size - n, "%s%s=%s", i ? "," : "", field[i], value);
		if (n >= size)
			return true;
	}
	return true;
}

static int split_words(const char *list, char **word, int most)
{
	int n = 0;

	while (*list && n < most) {
		size_t k = strcspn(list, ",");

		if (k && !(word[n++] = strndup(list, k)))
			return -1;
		list += k + (list[k] == ',');
	}
	return n;
}

static int group_run(const struct book *b, struct arms *a, const struct book_run *r, char *const *field, int fields)
{
	struct chain c = chain_of(b, r);
	struct identity id;
	struct arm_run *x;
	struct arm *m;
	char name[128];
	int64_t seed = INT64_MIN;

	if (identity_of(r, &id) < 0)
		return -EX_OSERR;
	if (!name_of(&id, field, fields, name, sizeof name)) {
		add_note(a, r->id, "does not say %s: left out", fields == 1 ? field[0] : "all of these settings");
		identity_free(&id);
		return 0;
	}
	for (int i = 0; i < fields && a->factors < fields; i++)
		if (add_factor(a, identity_name(&id, field[i])) < 0)
			a->factors = fields + 1;
	identity_free(&id);
	m = find_arm(a, name);
	if (!m)
		m = add_arm(a, name);
	book_int(r, F_run_seed, &seed);
	x = m && a->factors <= fields ? add_run(m, c.last, seed) : NULL;
	if (!x)
		return -EX_OSERR;
	x->resumed = c.before;
	x->seconds = c.seconds;
	return 0;
}

/* Of runs of one seed in an arm only the first counts: the others repeat it. */
static void drop_repeats(struct arms *a)
{
	for (int i = 0; i < a->n; i++) {
		struct arm *m = &a->arm[i];
		int kept = 0;

		for (int k = 0; k < m->runs; k++) {
			const struct arm_run *same = NULL;

			for (int j = 0; j < kept && !same; j++)
				if (m->run[k].seed != INT64_MIN && m->run[j].seed == m->run[k].seed)
					same = &m->run[j];
			if (same)
				add_note(a, m->run[k].run->id, "has the seed of %s: only the first counts", same->run->id);
			else
				m->run[kept++] = m->run[k];
		}
		m->runs = kept;
	}
}

/* 5e-5 and 5e-05 are the same. */
static bool same_value(const char *a, const char *b)
{
	double x, y;
	struct why w;

	return strcmp(a, b) == 0 || (num_float(a, "it", -1e300, 1e300, &x, &w) == 0 && num_float(b, "it", -1e300, 1e300, &y, &w) == 0 && x == y);
}

static int control_first(struct arms *a, const char *control, struct why *w)
{
	for (int i = 0; i < a->n; i++) {
		const char *name = a->arm[i].name, *value = strchr(name, '=');
		struct arm first = a->arm[i];

		if (strcmp(name, control) && (!value || !same_value(value + 1, control)))
			continue;
		memmove(a->arm + 1, a->arm, (size_t)i * sizeof *a->arm);
		a->arm[0] = first;
		return 0;
	}
	return why_set(w, EX_USAGE, "comparing: --control %.80s: no run has that", control);
}

static int grouped(const struct book *b, const struct arms_settings *s, struct arms *a, struct why *w)
{
	char *field[16] = { 0 };
	int fields = split_words(s->by, field, 16), rc = fields < 0 ? -EX_OSERR : 0;

	for (int i = 0; rc == 0 && i < book_runs(b); i++) {
		const struct book_run *r = book_run(b, i);

		if (!book_trained(r) || is_resumed(b, r) || (s->only && !ids_find(s->only, r->id)))
			continue;
		rc = group_run(b, a, r, field, fields);
	}
	for (int i = 0; i < 16; i++)
		free(field[i]);
	if (rc)
		return why_set(w, EX_OSERR, "comparing: out of memory");
	drop_repeats(a);
	if (!a->n)
		return why_set(w, EX_NO, "comparing: no run that trained says %.80s", s->by);
	return s->control ? control_first(a, s->control, w) : 0;
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
		rc = grouped(b, s, a, w);
	}
	if (rc == 0 && finish(a) < 0)
		rc = why_set(w, EX_OSERR, "comparing: out of memory");
	if (rc < 0)
		arms_free(a);
	return rc;
}
