/* scaling-alike.c - whether runs may stand on one curve: batch, rate, seed and length of run may differ, no more. */
#include "scaling.h"

#include <stdlib.h>
#include <string.h>

#include "identity.h"

enum { SHOWN = 8 }; /* values of a setting that are shown */

/* What a study of batches changes. */
static bool may_differ(const struct identity_item *i)
{
	static const char *const loose[] = { "micro_batch", "accum", "replicas", "planned_updates", "lr", "optimizer.lr", "last_window" };

	for (size_t k = 0; k < sizeof loose / sizeof *loose; k++)
		if (strcmp(i->name, loose[k]) == 0)
			return true;
	return i->need != IDENTITY_HARD;
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool differs(const struct identity *id, int n, const char *name)
{
	for (int i = 1; i < n; i++)
		if (!same(identity_value(&id[0], name), identity_value(&id[i], name)))
			return true;
	return false;
}

/* The settings in which they differ, each once: calls see for each. */
static void each_difference(const struct identity *id, int n, void (*see)(void *ctx, const char *name), void *ctx)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < id[i].n; k++) {
			const struct identity_item *item = &id[i].item[k];
			bool known = false;

			for (int j = 0; j < i && !known; j++)
				known = identity_value(&id[j], item->name) != NULL;
			if (!known && !may_differ(item) && differs(id, n, item->name))
				see(ctx, item->name);
		}
}

struct seeing {
	const struct scaling *x;
	const struct identity *id;
	struct table *t;
	char names[300];
};

static void name(void *ctx, const char *s)
{
	struct seeing *k = ctx;
	size_t n = strlen(k->names);

	snprintf(k->names + n, sizeof k->names - n, "%s%s", n ? ", " : "", s);
}

/* A row for each value of a setting, at most eight. */
static void rows(void *ctx, const char *setting)
{
	struct seeing *k = ctx;
	int shown = 0;

	for (int i = 0; i < k->x->tries && shown < SHOWN; i++) {
		const char *value = identity_value(&k->id[i], setting);
		bool seen = false;
		int count = 0;

		for (int j = 0; j < i; j++)
			seen |= same(value, identity_value(&k->id[j], setting));
		if (seen)
			continue;
		shown++;
		table_row(k->t);
		table_text(k->t, 0, setting);
		table_text(k->t, 1, value ? value : "(not said)");
		for (int j = i; j < k->x->tries; j++)
			if (same(value, identity_value(&k->id[j], setting))) {
				count++;
				table_run(k->t, k->x->tried[j].r->id);
			}
		table_int(k->t, 2, count);
		table_text(k->t, 3, k->x->tried[i].r->id);
	}
}

static int refuse(struct seeing *k, const struct scaling_settings *s, struct answer *a)
{
	each_difference(k->id, k->x->tries, name, k);
	if (!*k->names)
		return 0;
	if (s->force) {
		answer_say(a, SAY_WARNING, "differ", "These runs differ in more than batch, rate, seed and length, and were put together by --force: %s.", k->names);
		return 0;
	}
	answer_say(a, SAY_WARNING, "differ", "These runs differ in more than batch, rate, seed and length, and cannot stand on one curve: %s. Pick those that belong together (--comparison, --run), or go on with --force.", k->names);
	k->t = answer_table(a, "differences", NULL);
	table_words(k->t, "field", "what differs");
	table_words(k->t, "value", "value");
	table_column(k->t, "runs_count", "runs");
	table_words(k->t, "first_run", "for example");
	each_difference(k->id, k->x->tries, rows, k);
	return -EX_NO;
}

int scaling_alike(const struct scaling *x, const struct scaling_settings *s, struct answer *a)
{
	struct identity *id = calloc((size_t)x->tries + 1, sizeof *id);
	struct seeing k = { .x = x, .id = id };
	int n = 0, rc = id ? 0 : -EX_OSERR;

	while (rc == 0 && n < x->tries)
		if ((rc = identity_of(x->tried[n].r, &id[n])) == 0)
			n++;
	rc = rc < 0 ? (a->bad = true, 0) : refuse(&k, s, a); /* no memory: answer_check says it */
	while (n > 0)
		identity_free(&id[--n]);
	free(id);
	return rc;
}
