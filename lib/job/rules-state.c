/* rules-state.c - checks of validation, saves and resumed runs: that the records of a thing tell the same. */
#include <math.h>
#include <string.h>

#include "judge.h"

#define F(x) F_phase_##x

enum rule_state check_expected(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t expected, want = r->validation_examples;

	if (want < 0 || !view_is(v, F(split), "validation") || !rule_int(v, F(expected_examples), &expected))
		return RULE_UNSEEN;
	if (r->val_examples > 0 && r->val_examples < want)
		want = r->val_examples;
	if (expected == want)
		return RULE_HELD;
	snprintf(say, n, "%lld examples were to be validated; the split has %lld for it", (long long)expected, (long long)want);
	return RULE_BROKEN;
}

/* The eval record and the phase record tell the same. */
enum rule_state check_eval(struct watch *r, const struct view *v, char *say, size_t n)
{
	bool eval = v->kind == KIND_eval;
	double loss, other = eval ? r->validate_loss : r->eval_loss;
	int64_t update;
	char a[32], b[32];

	if (!rule_int(v, eval ? F_eval_update : F(update), &update) || update != (eval ? r->validate_update : r->eval_update))
		return RULE_UNSEEN;
	if (!view_num(v, eval ? F_eval_loss : F(loss), &loss) || loss == other || (isnan(loss) && isnan(other)))
		return RULE_HELD;
	snprintf(say, n, "the eval record shows loss %s, the phase record %s (update %lld)", rule_text(eval ? loss : other, a), rule_text(eval ? other : loss, b), (long long)update);
	return RULE_BROKEN;
}

enum rule_state check_end_evals(struct watch *r, const struct view *v, char *say, size_t n)
{
	(void)v;
	if (!r->evals) {
		snprintf(say, n, "no validation in this run (see --val-every)");
		return RULE_MISSING;
	}
	snprintf(say, n, "%lld validation%s, loss %.4g at the last", (long long)r->evals, r->evals == 1 ? "" : "s", r->eval_loss);
	return RULE_HELD;
}

static const struct save_fact *save_at(const struct watch *r, int64_t update)
{
	for (int i = 0; i < WATCH_SAVES; i++)
		if (r->save[i].path && r->save[i].update == update)
			return &r->save[i];
	return NULL;
}

enum rule_state check_save(struct watch *r, const struct view *v, char *say, size_t n)
{
	bool save = v->kind == KIND_save;
	const struct save_fact *s = NULL;
	char digest[DIGEST_SIZE];
	int64_t update;

	if (!rule_int(v, save ? F_save_update : F(update), &update) || !view_copy(v, save ? F_save_digest : F(digest), digest, sizeof digest))
		return RULE_UNSEEN;
	if (save ? update != r->save_phase_update : !(s = save_at(r, update)))
		return RULE_UNSEEN;
	if (!strcmp(digest, save ? r->save_digest : s->digest))
		return RULE_HELD;
	snprintf(say, n, "the save record and the phase record name different digests (update %lld)", (long long)update);
	return RULE_BROKEN;
}

enum rule_state check_end_saves(struct watch *r, const struct view *v, char *say, size_t n)
{
	(void)v;
	if (!r->saves) {
		snprintf(say, n, "nothing was saved in this run (see --save)");
		return RULE_MISSING;
	}
	return RULE_HELD;
}

enum rule_state check_resumed(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t update;

	if (!rule_int(v, F(restored_update), &update))
		return RULE_MISSING;
	if (update == r->resumed_update) {
		snprintf(say, n, "went on from update %lld", (long long)update);
		return RULE_HELD;
	}
	snprintf(say, n, "%lld updates came back; the run says that the checkpoint holds %lld", (long long)update, (long long)r->resumed_update);
	return RULE_BROKEN;
}

enum rule_state check_restored(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t restored, tensors;

	(void)r;
	if (!rule_int(v, F(restored_tensors), &restored))
		return RULE_MISSING;
	if (restored > 0 && (!rule_int(v, F(tensors), &tensors) || restored == tensors))
		return RULE_HELD;
	snprintf(say, n, "%lld tensors came back from the checkpoint, of all that the model has", (long long)restored);
	return RULE_BROKEN;
}
