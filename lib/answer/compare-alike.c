/* compare-alike.c - do the runs differ in what was to be compared, and in nothing else? */
#include "compare.h"

#include <stdlib.h>
#include <string.h>

/* The arms' runs beside one of them, the reference: the first that counts. */
struct beside {
	struct compare *c;
	struct identity reference;
	const struct book_run *first;
	struct table *table;
	int runs, arm, setting, value, other;
	int hard, told;
	bool telling; /* of settings that only are told */
};

static const struct book_run *reference(const struct arms *a)
{
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < a->n; i++)
			for (int k = 0; k < a->arm[i].runs; k++)
				if (a->arm[i].run[k].run && (pass || a->arm[i].run[k].state == ARM_COUNTS))
					return a->arm[i].run[k].run;
	return NULL;
}

static void row(struct beside *s, const char *arm, const struct book_run *r, const char *name, const char *here, const char *there)
{
	if (!s->table) {
		s->table = answer_table(s->c->answer, s->telling ? "told" : "differences", s->telling ? "Other differences:" : "Differences that were not to be compared:");
		s->runs = table_words(s->table, "run", "run");
		s->arm = table_words(s->table, "arm", "arm");
		s->setting = table_words(s->table, "setting", "setting");
		s->value = table_words(s->table, "value", "here");
		s->other = table_words(s->table, "other", "in the first run");
	}
	table_row(s->table);
	table_text(s->table, s->runs, r->id);
	table_text(s->table, s->arm, arm);
	table_text(s->table, s->setting, name);
	table_text(s->table, s->value, here ? here : "(not said)");
	table_text(s->table, s->other, there ? there : "(not said)");
	table_run(s->table, r->id);
	table_run(s->table, s->first->id);
}

static bool planned(const struct beside *s, const char *name, enum identity_need need)
{
	return need == IDENTITY_SELF || arms_factor(&s->c->arms, name);
}

static void compare_one(struct beside *s, const char *arm, const struct book_run *r, const struct identity *id, bool told)
{
	const struct identity *ref = &s->reference;

	for (int i = 0; i < id->n; i++) {
		const char *other = identity_value(ref, id->item[i].name);

		if (planned(s, id->item[i].name, id->item[i].need) || (id->item[i].need == IDENTITY_TOLD) != told || (other && strcmp(other, id->item[i].value) == 0))
			continue;
		*(told ? &s->told : &s->hard) += 1;
		row(s, arm, r, id->item[i].name, id->item[i].value, other);
	}
	for (int i = 0; i < ref->n; i++) {
		if (planned(s, ref->item[i].name, ref->item[i].need) || (ref->item[i].need == IDENTITY_TOLD) != told || identity_value(id, ref->item[i].name))
			continue;
		*(told ? &s->told : &s->hard) += 1;
		row(s, arm, r, ref->item[i].name, NULL, ref->item[i].value);
	}
}

static int each(struct beside *s, bool told)
{
	const struct arms *a = &s->c->arms;

	for (int i = 0; i < a->n; i++)
		for (int k = 0; k < a->arm[i].runs; k++) {
			const struct book_run *r = a->arm[i].run[k].run;
			struct identity id;

			if (!r || r == s->first)
				continue;
			if (identity_of(r, &id) < 0)
				return -EX_OSERR;
			compare_one(s, a->arm[i].name, r, &id, told);
			identity_free(&id);
		}
	return 0;
}

/* A tree with changes in it is no revision, even if every run says so. */
static void say_dirty(struct beside *s)
{
	const char *dirty = identity_value(&s->reference, "dirty");

	if (dirty && strcmp(dirty, "yes") == 0)
		answer_say(s->c->answer, SAY_WARNING, "dirty", "The code had changes that no revision holds: these runs cannot be made again from what is recorded.");
}

/* Columns that are the same everywhere, as one sentence. */
static void say_equal(struct beside *s)
{
	static const char *const shown[] = { "model", "data", "optimizer", "optimizer.lr", "schedule", "micro_batch", "accum", "length", "precision", "planned_updates", "weights", "devices" };
	struct buf b = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof shown / sizeof *shown; i++) {
		const char *v = identity_value(&s->reference, shown[i]);

		if (v && *v && strcmp(v, "0") && !arms_factor(&s->c->arms, shown[i]))
			rc = buf_printf(&b, "%s%s %s", b.n ? ", " : "", shown[i], v);
	}
	if (rc == 0 && b.n)
		answer_say(s->c->answer, SAY, "equal", "The same in all runs: %s.", (char *)b.p);
	buf_free(&b);
}

int compare_alike(struct compare *c)
{
	struct beside s = { .c = c, .first = reference(&c->arms) };
	int rc;

	if (!s.first) {
		answer_say(c->answer, SAY_WARNING, "empty", "No run is there yet.");
		return 0;
	}
	if (identity_of(s.first, &s.reference) < 0)
		return -EX_OSERR;
	say_equal(&s);
	say_dirty(&s);
	rc = each(&s, false);
	if (rc == 0 && s.hard && c->settings->force)
		answer_say(c->answer, SAY_WARNING, "forced", "Forced: the runs differ in more than was to be compared, so whatever is found below may come from that.");
	else if (rc == 0 && s.hard)
		rc = -EX_NO;
	s.table = NULL;
	s.telling = true;
	if (rc == 0)
		rc = each(&s, true);
	if (rc == 0 && s.told)
		answer_say(c->answer, SAY, "told", "These do not forbid the comparison; times and memory may differ by them.");
	identity_free(&s.reference);
	return rc;
}
