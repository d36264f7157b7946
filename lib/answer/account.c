/* account.c - how examples, accumulation and updates of each arm add up; it predicts neither time nor quality. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

enum { LOOKED_AT = 100000 }; /* examples whose length is looked at for the mean */

struct totals {
	int64_t examples, batch, per_epoch, last, updates, seen, dropped;
	double epochs, tokens; /* NAN: not known */
};

/* Tokens of an example in the mean, as many as are trained on. */
static double mean_length(const struct data *d)
{
	int64_t n = data_facts(d)->count[TRAIN], step = n > LOOKED_AT ? n / LOOKED_AT : 1, looked = 0;
	double sum = 0;

	for (int64_t i = 0; i < n; i += step, looked++)
		sum += (double)data_example_length(d, TRAIN, i);
	return looked ? sum / (double)looked : NAN;
}

static int count(const struct config *c, struct totals *t, struct why *w)
{
	struct order o = { .seed = (uint64_t)c->seed, .micro_batch = c->micro_batch, .accum = c->accum, .keep = strcmp(c->last_window, "drop") != 0 };
	struct data *d;
	int rc = data_open(&d, c->data, c->length, (uint64_t)c->seed, w);

	if (rc < 0)
		return rc;
	o.examples = t->examples = data_facts(d)->count[TRAIN];
	t->batch = c->micro_batch * c->accum;
	t->per_epoch = order_updates_per_epoch(&o);
	t->last = t->examples % t->batch;
	t->tokens = data_facts(d)->sequence ? mean_length(d) : NAN;
	data_close(d);
	if (!t->per_epoch)
		return why_set(w, EX_USAGE, "plan: an update of %lld examples is more than the %lld of the training split, and incomplete windows are dropped", (long long)t->batch, (long long)t->examples);
	t->updates = c->updates > 0 ? c->updates : c->examples > 0 ? 0 : (int64_t)ceil(c->epochs * (double)t->per_epoch * (1 - 1e-12));
	while (c->updates <= 0 && c->examples > 0 && order_examples_before(&o, t->updates) < c->examples)
		t->updates += t->updates ? (c->examples - order_examples_before(&o, t->updates) + t->batch - 1) / t->batch : (c->examples + t->batch - 1) / t->batch;
	t->seen = order_examples_before(&o, t->updates);
	t->epochs = (double)t->updates / (double)t->per_epoch;
	t->dropped = o.keep ? 0 : t->last * (t->updates / t->per_epoch);
	t->tokens *= (double)t->seen;
	return 0;
}

static void put(struct table *t, const struct plan_arm *a, const struct totals *x)
{
	table_row(t);
	table_text(t, 0, a->name);
	table_textf(t, 1, "%lld x %lld x 1", (long long)a->config.micro_batch, (long long)a->config.accum);
	table_int(t, 2, x->batch);
	table_int(t, 3, x->per_epoch);
	if (x->last == 0)
		table_text(t, 4, "whole");
	else
		table_textf(t, 4, "%lld of %lld, %s", (long long)x->last, (long long)x->batch, strcmp(a->config.last_window, "drop") ? "kept" : "dropped");
	table_int(t, 5, x->updates);
	table_int(t, 6, x->seen);
	table_num(t, 7, x->epochs, "%.4g");
	table_num(t, 8, x->tokens, "%.4g");
}

static void say_equal(struct answer *a, const char *what, bool equal, const char *then)
{
	answer_say(a, SAY, what, "%s: %s%s", what, equal ? "equal in all arms" : "not equal", equal ? "" : then);
}

static void say_changes(struct answer *a, const struct totals *t, int n, bool decays)
{
	bool batch = true, updates = true, seen = true, epochs = true;

	for (int i = 1; i < n; i++) {
		batch &= t[i].batch == t[0].batch;
		updates &= t[i].updates == t[0].updates;
		seen &= t[i].seen == t[0].seen;
		epochs &= fabs(t[i].epochs - t[0].epochs) < 1e-9;
	}
	say_equal(a, "examples per update", batch, ": a changed batch is to be tuned again");
	say_equal(a, "updates", updates, decays ? ": the rate, which falls with the budget, falls over another number of updates" : "");
	say_equal(a, "examples", seen, "");
	say_equal(a, "epochs", epochs, "");
	answer_say(a, SAY, "meaning", "Such accounts predict neither time nor quality.");
}

int account_answer(const struct plan_settings *s, const struct plan *p, struct answer **a, struct why *w)
{
	struct totals *t = calloc((size_t)p->arms + 1, sizeof *t);
	struct schedule schedule;
	struct table *table;
	int rc = s->command ? why_set(w, EX_USAGE, "plan: --account: what a command's data hold is not known here") : t ? 0 : why_set(w, EX_OSERR, "plan: out of memory");

	*a = answer_new("plan");
	table = *a ? answer_table(*a, "arms", NULL) : NULL;
	table_words(table, "arm", "arm");
	table_words(table, "batch", "micro-batch x accum x replicas");
	table_column(table, "effective_batch", "examples/update");
	table_column(table, "updates_per_epoch", "updates/epoch");
	table_words(table, "last_window", "an epoch's last window");
	table_column(table, "updates", "updates");
	table_column(table, "examples", "examples");
	table_column(table, "epochs", "epochs");
	table_column(table, "tokens", "tokens, about");
	for (int i = 0; rc == 0 && i < p->arms; i++) {
		rc = count(&p->arm[i].config, &t[i], w);
		if (rc == 0)
			put(table, &p->arm[i], &t[i]);
	}
	if (rc == 0)
		say_changes(*a, t, p->arms, schedule_parse(&schedule, s->config->schedule, 1, w) == 0 && schedule_decays(&schedule));
	free(t);
	return rc;
}
