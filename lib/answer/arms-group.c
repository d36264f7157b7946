/* arms-group.c - without a plan: runs that are there, grouped by settings in which they differ. */
#include "arms-inner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
	struct chain c = arms_chain(b, r);
	struct identity id;
	struct arm_run *x;
	struct arm *m;
	char name[128];
	int64_t seed = INT64_MIN;

	if (identity_of(r, &id) < 0)
		return -EX_OSERR;
	if (!name_of(&id, field, fields, name, sizeof name)) {
		arms_note(a, r->id, "does not say %s: left out", fields == 1 ? field[0] : "all of these settings");
		identity_free(&id);
		return 0;
	}
	for (int i = 0; i < fields && a->factors < fields; i++)
		if (arms_add_factor(a, identity_name(&id, field[i])) < 0)
			a->factors = fields + 1;
	identity_free(&id);
	m = arms_find(a, name);
	if (!m)
		m = arms_add(a, name);
	book_int(r, F_run_seed, &seed);
	x = m && a->factors <= fields ? arm_add(m, c.last, seed) : NULL;
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
				arms_note(a, m->run[k].run->id, "has the seed of %s: only the first counts", same->run->id);
			else
				m->run[kept++] = m->run[k];
		}
		m->runs = kept;
	}
}

static int control_first(struct arms *a, const char *control, struct why *w)
{
	for (int i = 0; i < a->n; i++) {
		const char *name = a->arm[i].name, *value = strchr(name, '=');
		struct arm first = a->arm[i];

		if (strcmp(name, control) && (!value || !num_same(value + 1, control)))
			continue;
		memmove(a->arm + 1, a->arm, (size_t)i * sizeof *a->arm);
		a->arm[0] = first;
		return 0;
	}
	return why_set(w, EX_USAGE, "comparing: --control %.80s: no run has that", control);
}

int arms_grouped(const struct book *b, const struct arms_settings *s, struct arms *a, struct why *w)
{
	char *field[16] = { 0 };
	int fields = split_words(s->by, field, 16), rc = fields < 0 ? -EX_OSERR : 0;

	for (int i = 0; rc == 0 && i < book_runs(b); i++) {
		const struct book_run *r = book_run(b, i);

		if (!book_trained(r) || arms_resumed(b, r) || (s->only && !ids_find(s->only, r->id)))
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
