/* trainer_touch.c - whether validation and saving left weights, optimizer and random numbers alone:
 * digests of what is in memory, before and after. */
#include "trainer.h"

#include <string.h>

void tr_touch_look(struct trainer *t, struct tr_touch *l)
{
	memset(l, 0, sizeof *l);
	l->update = t->progress.update;
	l->examples = t->progress.examples;
	l->seed = t->order.seed;
	l->known = weights_digest(t->model, l->weights) == 0 && optimizer_digest(t->model, t->optim, l->optimizer) == 0;
}

void tr_touch_fields(struct trainer *t, const struct tr_touch *before)
{
	struct tr_touch now;

	if (!before->known)
		return;
	tr_touch_look(t, &now);
	if (!now.known)
		return;
	rec_bool(&t->rec, F_phase_weights_changed, strcmp(before->weights, now.weights) != 0);
	rec_bool(&t->rec, F_phase_optimizer_changed, strcmp(before->optimizer, now.optimizer) != 0);
	rec_bool(&t->rec, F_phase_random_changed, before->update != now.update || before->examples != now.examples || before->seed != now.seed);
}
