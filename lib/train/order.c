/* order.c - which examples an update sees: a function of (seed, epoch, position) alone,
 * so that going on from a checkpoint needs a number and no iterator's state. */
#include "train.h"

static int64_t window(const struct order *o)
{
	return o->micro_batch * o->accum;
}

int64_t order_updates_per_epoch(const struct order *o)
{
	int64_t n = o->examples / window(o);

	return n + (o->keep && o->examples % window(o));
}

int64_t order_examples_per_epoch(const struct order *o)
{
	return o->keep ? o->examples : o->examples - o->examples % window(o);
}

void order_window(const struct order *o, int64_t u, int64_t *epoch, int64_t *first, int64_t *count)
{
	int64_t per_epoch = order_updates_per_epoch(o);

	*epoch = *first = *count = 0;
	if (!per_epoch) /* every window is incomplete and dropped */
		return;
	*epoch = u / per_epoch;
	*first = u % per_epoch * window(o);
	*count = o->examples - *first;
	if (*count > window(o))
		*count = window(o);
}

int64_t order_example(const struct order *o, int64_t epoch, int64_t position)
{
	return rand_permute(o->seed, (uint64_t)epoch, o->examples, position);
}

int64_t order_examples_before(const struct order *o, int64_t u)
{
	int64_t per_epoch = order_updates_per_epoch(o);

	if (!per_epoch)
		return 0;
	return u / per_epoch * order_examples_per_epoch(o) + u % per_epoch * window(o);
}
