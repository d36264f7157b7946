/* replay-settings.c - settings of an arm: the run's own, but over a few examples, so that epochs end within
 * a few updates; validations lie between them; and, for one arm, the same work in other pieces. */
#include <string.h>

#include "replay.h"

static int set_text(struct config *c, enum option o, const char *value, struct why *w)
{
	int rc = config_set(c, o, value, w);

	if (!*value)
		c->given[o / 64] &= ~(UINT64_C(1) << o % 64);
	return rc;
}

static int set_number(struct config *c, enum option o, int64_t value, struct why *w)
{
	char text[32];

	snprintf(text, sizeof text, "%lld", (long long)value);
	return config_set(c, o, text, w);
}

static int64_t tail_of(int64_t effective)
{
	return effective > 1 ? (effective + 1) / 2 : 0;
}

/* Few enough examples for epochs of EPOCH updates, the last window incomplete where it can be. */
int64_t settings_examples(const struct config *c)
{
	int64_t effective = c->micro_batch * c->accum, tail = tail_of(effective), n;

	if (!strcmp(c->last_window, "keep") && tail)
		n = (EPOCH - 1) * effective + tail;
	else
		n = EPOCH * effective + tail;
	return c->overfit > 0 && c->overfit < n ? c->overfit : n;
}

int64_t settings_val_micro(const struct config *c)
{
	return c->val_micro_batch > 0 ? c->val_micro_batch : c->micro_batch;
}

static int set_all(struct config *c, const struct replay *x, const struct cut *cut, struct why *w)
{
	const struct { enum option o; int64_t value; } number[] = {
		{ O_overfit, settings_examples(c) },
		{ O_examples, 0 },
		{ O_updates, x->run->planned_updates > cut->stop ? x->run->planned_updates : cut->stop },
		{ O_val_every, cut->val_every },
		{ O_val_length, 0 },
		{ O_val_examples, c->val_examples > 0 && c->val_examples < 2 * settings_val_micro(c) + 1 ? c->val_examples : 2 * settings_val_micro(c) + 1 },
		{ O_save_every, *cut->dir ? STOP_1 : 0 },
		{ O_keep, 0 },
	};
	char rule[64];
	int rc = config_set(c, O_epochs, "0", w);

	for (size_t i = 0; i < sizeof number / sizeof *number && !rc; i++)
		rc = set_number(c, number[i].o, number[i].value, w);
	snprintf(rule, sizeof rule, "update=%lld", (long long)cut->stop);
	if (rc || (rc = set_text(c, O_stop, rule, w)) || (rc = set_text(c, O_resume, "", w)) || (rc = set_text(c, O_save, cut->dir, w)))
		return rc;
	return cut->weights ? set_text(c, O_weights, cut->weights, w) : 0;
}

int settings_short(struct config *c, const struct replay *x, const struct cut *cut, struct why *w)
{
	int rc;

	if (config_copy(c, &x->config) < 0)
		return why_set(w, EX_OSERR, "replay: no memory");
	rc = set_all(c, x, cut, w);
	if (rc < 0)
		config_free(c);
	return rc;
}

/* ---- the same work in other pieces ---- */

static int64_t least_factor(int64_t n)
{
	for (int64_t p = 2; p * p <= n; p++)
		if (n % p == 0)
			return p;
	return n;
}

/* Examples for a window whose last micro-batch is smaller: what is averaged by micro-batch shows. */
static int64_t unequal(const struct config *c)
{
	int64_t n = c->micro_batch * c->accum - c->micro_batch / 2;

	if (strcmp(c->last_window, "keep") || c->accum < 2 || c->micro_batch < 2 || n > c->overfit)
		return c->overfit;
	return n;
}

int settings_unequal(struct config *c, struct why *w)
{
	return set_number(c, O_overfit, unequal(c), w);
}

/* Rows of a window's last pass. */
static int64_t last_pass(int64_t rows, int64_t micro)
{
	return rows % micro ? rows % micro : micro;
}

/* Smaller passes, whose last one is not the same rows as now: else what is overwritten would not show. */
static int64_t smaller(const struct config *c)
{
	int64_t rows = unequal(c), whole = c->micro_batch * c->accum;

	if (rows > whole)
		rows = whole;
	for (int64_t m = c->micro_batch - 1; m > 1; m--)
		if (c->micro_batch % m == 0 && last_pass(rows, m) != last_pass(rows, c->micro_batch))
			return m;
	return 1;
}

int settings_otherwise(struct config *c, bool fewer, struct why *w)
{
	int64_t whole = c->micro_batch * c->accum, micro = c->micro_batch, v = settings_val_micro(c);
	int rc = 0;

	if (c->accum > 1)
		micro = fewer ? micro * least_factor(c->accum) : smaller(c);
	if ((rc = set_number(c, O_micro_batch, micro, w)) || (rc = set_number(c, O_accum, whole / micro, w)))
		return rc;
	return set_number(c, O_val_micro_batch, v > 1 ? v / 2 : 2, w);
}
