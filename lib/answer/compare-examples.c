/* compare-examples.c - which examples one arm gets right and the other does not, seed by seed. */
#include "compare.h"

#include <math.h>
#include <string.h>

static const struct arm_run *of_seed(const struct arm *m, int64_t seed)
{
	for (int i = 0; i < m->runs; i++)
		if (m->run[i].state == ARM_COUNTS && m->run[i].seed == seed)
			return &m->run[i];
	return NULL;
}

/* A row for each seed that both have; returns how many examples were compared. */
static int64_t put(struct compare *c, struct table *t, const struct arm *m)
{
	const struct arm *control = &c->arms.arm[0];
	int64_t all = 0;

	for (int i = 0; i < m->runs; i++) {
		const struct arm_run *x = &m->run[i], *y = of_seed(control, x->seed);
		struct predictions_pair p;

		if (x->state != ARM_COUNTS || !y || !predictions_pair(c->settings->predictions, y->run->id, x->run->id, &p))
			continue;
		table_row(t);
		table_text(t, 0, m->name);
		if (x->seed != INT64_MIN)
			table_int(t, 1, x->seed);
		table_int(t, 2, p.both + p.first + p.second + p.none);
		table_int(t, 3, p.both);
		table_int(t, 4, p.first);
		table_int(t, 5, p.second);
		table_int(t, 6, p.none);
		table_num(t, 7, predictions_p(&p), "%.3g");
		table_run(t, x->run->id);
		table_run(t, y->run->id);
		all += p.both + p.first + p.second + p.none;
	}
	return all;
}

void compare_examples(struct compare *c)
{
	struct table *t;
	int64_t all = 0;

	if (!c->settings->predictions)
		return;
	t = answer_table(c->answer, "examples", "Example by example, the last answers of both:");
	table_words(t, "variant", "variant");
	table_column(t, "seed", "seed");
	table_column(t, "examples", "examples");
	table_column(t, "both_right", "both right");
	table_column(t, "control_only", "control alone");
	table_column(t, "variant_only", "variant alone");
	table_column(t, "none_right", "none");
	table_column(t, "p", "p");
	for (int i = 1; i < c->arms.n; i++)
		all += put(c, t, &c->arms.arm[i]);
	if (all)
		answer_say(c->answer, SAY, "examples", "p is of one pair of runs: that it answers these examples otherwise, not that its setting is better; seeds tell that.");
	else
		answer_say(c->answer, SAY, "examples", "No two runs of one seed answered the same examples: predictions were not kept.");
}
