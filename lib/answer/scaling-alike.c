/* scaling-alike.c - whether runs may stand on one curve: batch, rate, seed and length of run may differ, no more. */
#include "scaling.h"

#include <stdlib.h>
#include <string.h>

static const struct same {
	const char *name;
	enum field field;
	bool without_rate; /* an optimizer's spec: its rate is left out */
} fields[] = {
	{ "model", F_run_model, false }, { "command", F_run_command, false }, { "data", F_run_data, false },
	{ "data digests", F_run_data_digests, false }, { "tokenizer", F_run_tokenizer, false }, { "training examples", F_run_train_examples, false },
	{ "cut examples", F_run_cut_examples, false }, { "length", F_run_length, false }, { "weights", F_run_weights_digest, false },
	{ "precision", F_run_precision, false }, { "optimizer", F_run_optimizer, true }, { "clip", F_run_clip, false },
	{ "dropout", F_run_dropout, false }, { "freeze", F_run_freeze, false }, { "overfit", F_run_overfit, false },
	{ "revision", F_run_revision, false }, { "uncommitted changes", F_run_dirty, false },
};
enum { SAME = sizeof fields / sizeof *fields, VALUE = 200 };

static void add(char *out, const char *s, size_t n)
{
	size_t have = strlen(out);

	if (n > VALUE - 1 - have)
		n = VALUE - 1 - have;
	memcpy(out + have, s, n);
	out[have + n] = '\0';
}

/* KIND:a=1,lr=..,b=2 without the rate. */
static void without_rate(char *s)
{
	char *p = strchr(s, ':');

	while (p) {
		char *next = strchr(p + 1, ',');

		if (strncmp(p + 1, "lr=", 3) == 0) {
			if (!next) {
				*p = '\0';
				return;
			}
			memmove(p + 1, next + 1, strlen(next + 1) + 1);
			continue;
		}
		p = next;
	}
}

static void value_of(const struct book_run *r, const struct same *f, char out[VALUE])
{
	int64_t i;
	double x;
	bool yes;
	const char *s;
	size_t n;

	*out = '\0';
	if (r->run.kind != KIND_run)
		return;
	if (view_copy(&r->run, f->field, out, VALUE)) {
		if (f->without_rate)
			without_rate(out);
	} else if (view_bool(&r->run, f->field, &yes)) {
		snprintf(out, VALUE, "%s", yes ? "yes" : "no");
	} else if (view_int(&r->run, f->field, &i)) {
		snprintf(out, VALUE, "%lld", (long long)i);
	} else if (view_num(&r->run, f->field, &x)) {
		snprintf(out, VALUE, "%.17g", x);
	} else {
		for (int k = 0; k < view_count(&r->run, f->field); k++)
			if (view_item_str(&r->run, f->field, k, &s, &n)) {
				add(out, " ", k > 0);
				add(out, s, n);
			}
	}
}

/* A row for each value of a field, most of them a few; at most eight. */
static void rows(const struct scaling *x, const struct same *f, struct table *t)
{
	char seen[8][VALUE], value[VALUE];
	int values = 0;

	for (int i = 0; i < x->tries && values < 8; i++) {
		int count = 0, k = 0;

		value_of(x->tried[i].r, f, value);
		while (k < values && strcmp(seen[k], value))
			k++;
		if (k < values)
			continue;
		memcpy(seen[values++], value, VALUE);
		table_row(t);
		table_text(t, 0, f->name);
		table_text(t, 1, *value ? value : "none");
		for (int m = i; m < x->tries; m++) {
			value_of(x->tried[m].r, f, value);
			if (strcmp(value, seen[values - 1]) == 0) {
				count++;
				table_run(t, x->tried[m].r->id);
			}
		}
		table_int(t, 2, count);
		table_text(t, 3, x->tried[i].r->id);
	}
}

static bool differs(const struct scaling *x, const struct same *f)
{
	char first[VALUE], value[VALUE];

	for (int i = 0; i < x->tries; i++) {
		value_of(x->tried[i].r, f, i ? value : first);
		if (i && strcmp(first, value))
			return true;
	}
	return false;
}

int scaling_alike(const struct scaling *x, const struct scaling_settings *s, struct answer *a)
{
	struct table *t = NULL;
	char names[300] = "";

	for (int i = 0; i < SAME; i++)
		if (differs(x, &fields[i]))
			snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "", fields[i].name);
	if (!*names)
		return 0;
	if (s->force) {
		answer_say(a, SAY_WARNING, "differ", "These runs differ in more than batch, rate, seed and length, and were put together by --force: %s.", names);
		return 0;
	}
	answer_say(a, SAY_WARNING, "differ", "These runs differ in more than batch, rate, seed and length, and cannot stand on one curve: %s. Pick those that belong together (--comparison, --run), or go on with --force.", names);
	t = answer_table(a, "differences", NULL);
	table_words(t, "field", "what differs");
	table_words(t, "value", "value");
	table_column(t, "runs_count", "runs");
	table_words(t, "first_run", "for example");
	for (int i = 0; i < SAME; i++)
		if (differs(x, &fields[i]))
			rows(x, &fields[i], t);
	return -EX_NO;
}
