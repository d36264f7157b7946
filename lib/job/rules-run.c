/* rules-run.c - checks that need more than one field of one record: against the run's
 * settings, against the record before, against sums over the run. */
#include <math.h>
#include <string.h>

#include "judge.h"

#define F(x) F_phase_##x

static bool close_to(double a, double b, double share, double least)
{
	return fabs(a - b) <= share * fmax(fabs(a), fabs(b)) + least;
}

static bool step_skipped(const struct view *v)
{
	bool skipped;

	return view_bool(v, F_step_skipped, &skipped) && skipped;
}

static const char *text_of(double x, char out[32])
{
	if (isfinite(x))
		num_shortest(x, out);
	else
		snprintf(out, 32, "%s", isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity");
	return out;
}

/* ---- data ---- */

/* Every update has the examples that its place in the epoch gives it. */
enum rule_state check_window(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t rows, update, epoch, first, count;

	if (r->order.examples < 1 || r->skips || step_skipped(v) || !view_int(v, F_step_update, &update) || update < 1)
		return RULE_UNSEEN;
	if (!view_int(v, F_step_rows, &rows))
		return RULE_MISSING;
	order_window(&r->order, update - 1, &epoch, &first, &count);
	if (rows == count)
		return RULE_HELD;
	snprintf(say, n, "update %lld saw %lld examples; its window has %lld", (long long)update, (long long)rows, (long long)count);
	return RULE_BROKEN;
}

/* An epoch's last, incomplete window is kept, or dropped with a word. */
enum rule_state check_end_windows(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t dropped = 0, per_epoch, tail;

	if (!r->steps) {
		snprintf(say, n, "no update in this run");
		return RULE_MISSING;
	}
	if (r->order.examples < 1 || (per_epoch = order_updates_per_epoch(&r->order)) < 1) {
		snprintf(say, n, "%lld updates", (long long)r->steps);
		return RULE_HELD;
	}
	tail = r->order.examples % (r->order.micro_batch * r->order.accum);
	view_int(v, F_end_dropped_examples, &dropped);
	if (!r->order.keep && tail && dropped != r->update / per_epoch * tail && dropped != (r->update - 1) / per_epoch * tail) {
		snprintf(say, n, "%lld examples dropped without a word: each epoch drops its last %lld, the end record says %lld", (long long)(r->update / per_epoch * tail), (long long)tail, (long long)dropped);
		return RULE_BROKEN;
	}
	snprintf(say, n, "windows of %lld%s", (long long)(r->order.micro_batch * r->order.accum), !tail ? "" : r->order.keep ? ", an epoch's last kept short" : ", an epoch's last dropped");
	return RULE_HELD;
}

enum rule_state check_end_orders(struct watch *r, const struct view *v, char *say, size_t n)
{
	bool all = r->orders_equal == r->orders_compared;

	(void)v;
	if (r->order_repeated || (r->orders_compared && all && r->chance < log(1e-6))) {
		snprintf(say, n, "epochs repeat their order: %lld of %lld windows hold the same examples in the same order as one epoch before", (long long)r->orders_equal, (long long)r->orders_compared);
		return RULE_BROKEN;
	}
	if (!r->orders_compared || all)
		return RULE_UNSEEN; /* one epoch, or too few examples to tell */
	snprintf(say, n, "the order differs between epochs");
	return RULE_HELD;
}

/* ---- forward ---- */

enum rule_state check_output(struct watch *r, const struct view *v, char *say, size_t n)
{
	int dims = view_count(v, F(output_shape));
	int64_t last, rows;
	size_t k;

	if (dims < 2 || r->classes < 1 || !view_item_int(v, F(output_shape), dims - 1, &last) || !view_item_int(v, F(output_shape), 0, &rows))
		return RULE_MISSING;
	k = (size_t)snprintf(say, n, "logits %lld", (long long)rows);
	for (int i = 1; i < dims && k < n; i++) {
		int64_t d = 0;

		view_item_int(v, F(output_shape), i, &d);
		k += (size_t)snprintf(say + k, n - k, " x %lld", (long long)d);
	}
	if (last == r->classes && rows > 0 && (r->micro_batch < 1 || rows <= r->micro_batch))
		return RULE_HELD;
	snprintf(say + k, n - k, ": not those of %lld classes and a micro-batch of %lld", (long long)r->classes, (long long)r->micro_batch);
	return RULE_BROKEN;
}

/* For logits that know nothing of the targets, with variance v over the classes, the mean of the
 * loss lies between ln(classes) and ln(classes) + v/2 (the mean of log-sum-exp of Gaussians). One
 * target's logit is off by sqrt(v) or so, and targets repeat, so that averaging helps little: 2.5
 * of these, and 0.02 nats for the rest, are let through on both sides. */
enum rule_state check_fresh_loss(struct watch *r, const struct view *v, char *say, size_t n)
{
	double loss, want, var, slack;
	char a[32], b[32];
	bool fresh;

	if (!view_is(v, F(occurrence), "first"))
		return RULE_UNSEEN;
	if (!view_bool(v, F(fresh), &fresh))
		return RULE_MISSING;
	if (!fresh)
		return RULE_UNSEEN;
	if (!view_num(v, F(loss), &loss) || !view_num(v, F(expected_loss), &want) || !view_num(v, F(logits_variance), &var) || var < 0)
		return RULE_MISSING;
	if (r->classes > 0 && !close_to(want, log((double)r->classes), 1e-9, 0)) {
		snprintf(say, n, "a fresh model's loss is expected to be %s; ln(%lld classes) is %.6g", text_of(want, a), (long long)r->classes, log((double)r->classes));
		return RULE_BROKEN;
	}
	slack = 2.5 * sqrt(var) + 0.02;
	snprintf(a, sizeof a, "%.4g", loss);
	snprintf(b, sizeof b, "%.4g", want);
	if (loss >= want - slack && loss <= want + var / 2 + slack) {
		snprintf(say, n, "fresh loss %s near ln(classes) %s", a, b);
		return RULE_HELD;
	}
	snprintf(say, n, "a fresh model's loss is %s; ln(classes) is %s, and logits of variance %.3g allow %.4g to %.4g", a, b, var, want - slack, want + var / 2 + slack);
	return RULE_BROKEN;
}

/* The log shows the loss that the pass had, not the last good one. */
static enum rule_state logged(double shown, double had, int64_t update, char *say, size_t n)
{
	char a[32], b[32];

	if (shown == had || (isnan(shown) && isnan(had)))
		return RULE_HELD;
	snprintf(say, n, "the step record shows loss %s; the forward pass had %s (update %lld)", text_of(shown, a), text_of(had, b), (long long)update);
	return RULE_BROKEN;
}

enum rule_state check_logged_loss(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t update;
	double loss;

	if (v->kind == KIND_step) {
		if (!view_int(v, F_step_update, &update) || update != r->forward_update || !view_num(v, F_step_loss, &loss))
			return RULE_UNSEEN;
		return logged(loss, r->forward_loss, update, say, n);
	}
	if (!view_int(v, F(update), &update) || r->last.update != update + 1 || !view_num(v, F(loss), &loss))
		return RULE_UNSEEN;
	return logged(r->last.loss, loss, update + 1, say, n);
}

/* Two updates on other examples never have the same loss to the last bit, unless the log repeats one. */
enum rule_state check_stale(struct watch *r, const struct view *v, char *say, size_t n)
{
	char digest[DIGEST_SIZE], a[32];
	double loss;

	if (!r->steps || step_skipped(v) || !view_num(v, F_step_loss, &loss) || !view_copy(v, F_step_batch_digest, digest, sizeof digest))
		return RULE_UNSEEN;
	if (loss != r->last.loss || loss == 0 || r->last.lr == 0 || !strcmp(digest, r->last.batch_digest))
		return RULE_HELD;
	snprintf(say, n, "updates %lld and %lld, on other examples, show the same loss %s to the last bit", (long long)r->last.update, (long long)r->last.update + 1, text_of(loss, a));
	return RULE_BROKEN;
}

/* ---- backward ---- */

enum rule_state check_gradient(struct watch *r, const struct view *v, char *say, size_t n)
{
	double loss = NAN, norm;

	if (step_skipped(v) || !view_num(v, F_step_gradient_norm, &norm))
		return RULE_UNSEEN;
	view_num(v, F_step_loss, &loss);
	if (norm != 0 || loss < 1e-6)
		return RULE_HELD;
	snprintf(say, n, "update %lld has no gradient at all, with a loss of %.4g", (long long)r->update + 1, loss);
	return RULE_BROKEN;
}

/* What is trained does not change on the way. */
enum rule_state check_trainable(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t tensors;

	if (!view_int(v, F(trainable_tensors), &tensors))
		return RULE_MISSING;
	if (r->trainable < 0 || tensors == r->trainable)
		return RULE_HELD;
	snprintf(say, n, "%lld tensors are trained now, %lld were before", (long long)tensors, (long long)r->trainable);
	return RULE_BROKEN;
}

enum rule_state check_end_finite(struct watch *r, const struct view *v, char *say, size_t n)
{
	(void)v;
	if (!r->steps) {
		snprintf(say, n, "no update in this run");
		return RULE_MISSING;
	}
	snprintf(say, n, "loss finite in %lld updates, %.4g at the last", (long long)r->steps, r->last.loss);
	return RULE_HELD;
}

enum rule_state check_end_norms(struct watch *r, const struct view *v, char *say, size_t n)
{
	(void)v;
	if (!r->steps) {
		snprintf(say, n, "no update in this run");
		return RULE_MISSING;
	}
	snprintf(say, n, "norm finite in %lld updates, %.4g at the last", (long long)r->steps, r->last.gradient_norm);
	return RULE_HELD;
}

/* ---- update ---- */

enum rule_state check_skipped(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t attempted, applied, skipped;

	if (!view_int(v, F(attempted), &attempted) || !view_int(v, F(applied), &applied) || !view_int(v, F(skipped), &skipped))
		return RULE_MISSING;
	if (attempted != applied + skipped || (r->exact && skipped)) {
		snprintf(say, n, "%lld updates attempted, %lld applied, %lld skipped%s", (long long)attempted, (long long)applied, (long long)skipped, attempted == applied + skipped ? ": nothing is skipped in fp32" : "");
		return RULE_BROKEN;
	}
	snprintf(say, n, skipped ? "%lld skipped of %lld attempted" : "none skipped", (long long)skipped, (long long)attempted);
	return RULE_HELD;
}

enum rule_state check_rate(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t update;
	double lr, want;
	char a[32], b[32];

	if (!r->scheduled || r->skips || step_skipped(v) || !view_int(v, F_step_update, &update) || update < 1)
		return RULE_UNSEEN;
	if (!view_num(v, F_step_lr, &lr))
		return RULE_MISSING;
	want = schedule_rate(&r->schedule, r->base_lr, update - 1);
	if (lr == want)
		return RULE_HELD;
	snprintf(say, n, "update %lld used the rate %s; the schedule asks for %s", (long long)update, text_of(lr, a), text_of(want, b));
	return RULE_BROKEN;
}

enum rule_state check_count(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t update, want = r->update + !step_skipped(v);

	if (!view_int(v, F_step_update, &update))
		return RULE_MISSING;
	if (update == want || (!r->steps && r->resumed && !r->resumed_update))
		return RULE_HELD;
	snprintf(say, n, "update %lld comes after update %lld%s", (long long)update, (long long)r->update, r->steps ? "" : r->resumed ? " of the checkpoint" : ": the first is 1");
	return RULE_BROKEN;
}

enum rule_state check_examples(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t examples, rows;

	if (step_skipped(v) || r->skips || (!r->steps && r->resumed))
		return RULE_UNSEEN;
	if (!view_int(v, F_step_examples, &examples) || !view_int(v, F_step_rows, &rows))
		return RULE_MISSING;
	if (examples == r->examples + rows)
		return RULE_HELD;
	snprintf(say, n, "%lld examples, and %lld more by this update, are counted as %lld (update %lld)", (long long)r->examples, (long long)rows, (long long)examples, (long long)r->update + 1);
	return RULE_BROKEN;
}

enum rule_state check_passes(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t passes, rows, want;

	if (r->order.micro_batch < 1 || r->order.examples < 1)
		return RULE_UNSEEN;
	if (!view_int(v, F_step_passes, &passes) || !view_int(v, F_step_rows, &rows))
		return RULE_MISSING;
	want = (rows + r->order.micro_batch - 1) / r->order.micro_batch;
	if (passes == want)
		return RULE_HELD;
	snprintf(say, n, "%lld examples in micro-batches of %lld are %lld passes; %lld were made (update %lld)", (long long)rows, (long long)r->order.micro_batch, (long long)want, (long long)passes, (long long)r->update + 1);
	return RULE_BROKEN;
}

enum rule_state check_step_time(struct watch *r, const struct view *v, char *say, size_t n)
{
	static const enum field part[] = { F_step_data_seconds, F_step_forward_seconds, F_step_backward_seconds, F_step_update_seconds };
	double whole, sum = 0, x;

	if (!view_num(v, F_step_seconds, &whole))
		return RULE_UNSEEN;
	for (int i = 0; i < 4; i++)
		sum += view_num(v, part[i], &x) ? x : 0;
	if (sum <= whole * 1.02 + 1e-3)
		return RULE_HELD;
	snprintf(say, n, "update %lld took %.4g s, its parts %.4g s", (long long)r->update + 1, whole, sum);
	return RULE_BROKEN;
}

/* Bytes that the plan has for the phase; -1: it has none. The passes of an update take turns, so that the
 * counter after a phase's last pass holds what the phases behind it took in the first. */
static int64_t planned(const struct watch *r, const struct view *v)
{
	static const enum gate_phase phase[6] = { G_LOAD, G_DATA, G_FORWARD, G_BACKWARD, G_UPDATE, G_VALIDATE };
	int64_t passes = 1, sum;
	int i = 0;

	while (i < 6 && !view_is(v, F(phase), gate_phase_name(phase[i])))
		i++;
	if (i == 6 || r->plan[i] < 0)
		return -1;
	sum = r->plan[i];
	view_int(v, F(passes), &passes);
	for (int k = i + 1; passes > 1 && (i == 1 || i == 2) && k <= 3; k++)
		sum += r->plan[k];
	return sum;
}

/* What a phase took equals what was planned before the first allocation. */
enum rule_state check_plan(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t before, after, plan = planned(r, v);
	char a[16], b[16];

	if (plan < 0 || !view_is(v, F(occurrence), "first") || !view_int(v, F(baseline_bytes), &before))
		return RULE_UNSEEN;
	if (!view_int(v, view_is(v, F(phase), "validate") ? F(allocated_peak_bytes) : F(allocated_bytes), &after))
		return RULE_MISSING;
	if (r->resumed && after == before)
		return RULE_UNSEEN; /* it was taken with the checkpoint */
	if (after - before == plan) {
		snprintf(say, n, "memory as planned (%s)", num_human_bytes(plan, a));
		return RULE_HELD;
	}
	snprintf(say, n, "it took %s (%lld bytes) of memory; %s (%lld) were planned", num_human_bytes(after - before, a), (long long)(after - before), num_human_bytes(plan, b), (long long)plan);
	return RULE_BROKEN;
}

enum rule_state check_end_updates(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t updates, examples;

	if (!view_int(v, F_end_updates, &updates))
		return RULE_MISSING;
	if (!r->steps) {
		snprintf(say, n, "no update in this run");
		return RULE_MISSING;
	}
	if (updates != r->update) {
		snprintf(say, n, "the end record counts %lld updates; the last step is update %lld", (long long)updates, (long long)r->update);
		return RULE_BROKEN;
	}
	if (view_int(v, F_end_examples, &examples) && examples != r->examples) {
		snprintf(say, n, "the end record counts %lld examples; the steps %lld", (long long)examples, (long long)r->examples);
		return RULE_BROKEN;
	}
	snprintf(say, n, "updates %lld-%lld counted, %lld examples", (long long)r->first_update, (long long)r->update, (long long)r->examples);
	return RULE_HELD;
}

/* Throughput is examples over seconds, and seconds are seconds. */
enum rule_state check_end_rate(struct watch *r, const struct view *v, char *say, size_t n)
{
	double rate, seconds;
	int64_t examples;

	if (!view_num(v, F_end_training_seconds, &seconds) || r->resumed || !r->steps)
		return RULE_UNSEEN;
	if (r->step_seconds > 0 && !close_to(seconds, r->step_seconds, 0.02, 0.01)) {
		snprintf(say, n, "%.4g s of training; the steps add up to %.4g s", seconds, r->step_seconds);
		return RULE_BROKEN;
	}
	if (!view_num(v, F_end_examples_per_second, &rate) || !view_int(v, F_end_examples, &examples) || seconds <= 0)
		return RULE_UNSEEN;
	if (close_to(rate * seconds, (double)examples, 0.02, 0.5))
		return RULE_HELD;
	snprintf(say, n, "%.4g examples a second; %lld examples in %.4g s are %.4g", rate, (long long)examples, seconds, (double)examples / seconds);
	return RULE_BROKEN;
}

/* Against the records' own times: a unit error is a factor, so the bounds are wide. */
enum rule_state check_end_clock(struct watch *r, const struct view *v, char *say, size_t n)
{
	struct timestamp t;
	double seconds, wall;

	if (!view_num(v, F_end_seconds, &seconds) || !view_time(v, F_end_t, &t))
		return RULE_UNSEEN;
	wall = (double)t.seconds + t.nanoseconds / 1e9 - r->began;
	if (wall < 0 || (seconds <= wall * 1.1 + 1 && seconds * 20 >= wall - 1))
		return RULE_HELD;
	snprintf(say, n, "the run says it took %.4g s; between its first and last record are %.4g s", seconds, wall);
	return RULE_BROKEN;
}

enum rule_state check_end_peak(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t peak;
	char a[16], b[16];

	if (r->plan_peak < 0 || !view_int(v, F_end_allocated_peak_bytes, &peak))
		return RULE_UNSEEN;
	if (peak == r->plan_peak) {
		snprintf(say, n, "the run's peak %s is the plan's", num_human_bytes(peak, a));
		return RULE_HELD;
	}
	if (peak < r->plan_peak && !view_is(v, F_end_status, "done"))
		return RULE_UNSEEN; /* it did not get there */
	snprintf(say, n, "the run's peak is %s (%lld bytes); %s (%lld) were planned", num_human_bytes(peak, a), (long long)peak, num_human_bytes(r->plan_peak, b), (long long)r->plan_peak);
	return RULE_BROKEN;
}

/* ---- validate, save, resume ---- */

enum rule_state check_expected(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t expected, want = r->validation_examples;

	if (want < 0 || !view_is(v, F(split), "validation") || !view_int(v, F(expected_examples), &expected))
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

	if (!view_int(v, eval ? F_eval_update : F(update), &update) || update != (eval ? r->validate_update : r->eval_update))
		return RULE_UNSEEN;
	if (!view_num(v, eval ? F_eval_loss : F(loss), &loss) || loss == other || (isnan(loss) && isnan(other)))
		return RULE_HELD;
	snprintf(say, n, "the eval record shows loss %s, the phase record %s (update %lld)", text_of(eval ? loss : other, a), text_of(eval ? other : loss, b), (long long)update);
	return RULE_BROKEN;
}

enum rule_state check_end_evals(struct watch *r, const struct view *v, char *say, size_t n)
{
	(void)v;
	if (!r->evals) {
		snprintf(say, n, "no validation in this run (see --val-every)");
		return RULE_MISSING;
	}
	snprintf(say, n, "%lld validations, loss %.4g at the last", (long long)r->evals, r->eval_loss);
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

	if (!view_int(v, save ? F_save_update : F(update), &update) || !view_copy(v, save ? F_save_digest : F(digest), digest, sizeof digest))
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

	if (!view_int(v, F(restored_update), &update))
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
	if (!view_int(v, F(restored_tensors), &restored))
		return RULE_MISSING;
	if (restored > 0 && (!view_int(v, F(tensors), &tensors) || restored == tensors))
		return RULE_HELD;
	snprintf(say, n, "%lld tensors came back from the checkpoint, of all that the model has", (long long)restored);
	return RULE_BROKEN;
}
