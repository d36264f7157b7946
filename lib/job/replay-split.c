/* replay-split.c - the arm whose micro-batches are cut otherwise: an update and a validation must not depend
 * on the pieces in which they are worked through. */
#include "replay.h"

static void compare_splits(struct replay *x, const struct arm *c, const struct arm *d, const struct config *other)
{
	char say[300];
	int rc;

	if (x->config.accum > 1 && split_differs(c, d, say, sizeof say))
		find_fail(x->into, G_BACKWARD, "how the loss is normalised over an update, and what accumulates gradients", "the same update as %lld passes of %lld and as %lld of %lld: %s", (long long)x->config.accum, (long long)x->config.micro_batch, (long long)other->accum, (long long)other->micro_batch, say);
	else if (x->config.accum > 1)
		find_say(x->into, G_BACKWARD, "the same gradient norm as %lld passes of %lld and as %lld of %lld", (long long)x->config.accum, (long long)x->config.micro_batch, (long long)other->accum, (long long)other->micro_batch);
	if (split_differs(c, d, say, sizeof say))
		return; /* what is validated then is not the same */
	rc = split_eval_differs(c, d, say, sizeof say);
	if (rc > 0)
		find_fail(x->into, G_VALIDATE, "a mean of means", "the same validation in batches of %lld and of %lld: %s", (long long)settings_val_micro(&x->config), (long long)other->val_micro_batch, say);
	else if (rc == 0)
		find_say(x->into, G_VALIDATE, "the same loss in batches of %lld and of %lld", (long long)settings_val_micro(&x->config), (long long)other->val_micro_batch);
}

static int try_split(struct replay *x, const struct arm *c, const struct config *cold, bool fewer)
{
	struct arm d = { .name = "cut otherwise" };
	struct config other;
	struct why w = { 0 };
	int rc = config_copy(&other, cold);

	if (rc < 0)
		return rc;
	rc = settings_otherwise(&other, fewer, &w);
	if (!rc)
		rc = replay_config(x, &d, &other, &w);
	if (!rc)
		compare_splits(x, c, &d, &other);
	arm_free(&d);
	config_free(&other);
	return rc;
}

/* Where D cannot run nothing is claimed. */
void replay_split(struct replay *x, const struct arm *c, const struct config *cold)
{
	if (try_split(x, c, cold, true) == 1)
		(void)!try_split(x, c, cold, false);
}
