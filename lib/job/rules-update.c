/* rules-update.c - checks of updates: their count, rate, examples and time, and the memory that a run took
 * against its plan. */
#include <math.h>
#include <string.h>

#include "judge.h"

#define F(x) F_phase_##x

enum rule_state check_skipped(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t attempted, applied, skipped;

	if (!rule_int(v, F(attempted), &attempted) || !rule_int(v, F(applied), &applied) || !rule_int(v, F(skipped), &skipped))
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

	if (!r->scheduled || r->skips || rule_skipped(v) || !rule_int(v, F_step_update, &update) || update < 1)
		return RULE_UNSEEN;
	if (!view_num(v, F_step_lr, &lr))
		return RULE_MISSING;
	want = schedule_rate(&r->schedule, r->base_lr, update - 1);
	if (lr == want)
		return RULE_HELD;
	snprintf(say, n, "update %lld used the rate %s; the schedule asks for %s", (long long)update, rule_text(lr, a), rule_text(want, b));
	return RULE_BROKEN;
}

enum rule_state check_count(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t update, want = r->update + !rule_skipped(v);

	if (!rule_int(v, F_step_update, &update))
		return RULE_MISSING;
	if (update == want || (!r->steps && r->resumed && !r->resumed_update))
		return RULE_HELD;
	snprintf(say, n, "update %lld comes after update %lld%s", (long long)update, (long long)r->update, r->steps ? "" : r->resumed ? " of the checkpoint" : ": the first is 1");
	return RULE_BROKEN;
}

enum rule_state check_examples(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t examples, rows;

	if (rule_skipped(v) || r->skips || (!r->steps && r->resumed))
		return RULE_UNSEEN;
	if (!rule_int(v, F_step_examples, &examples) || !rule_int(v, F_step_rows, &rows))
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
	if (!rule_int(v, F_step_passes, &passes) || !rule_int(v, F_step_rows, &rows))
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

/* Bytes that the plan has for the phase; -1: it has none. */
static int64_t planned(const struct watch *r, const struct view *v)
{
	static const enum gate_phase phase[6] = { G_LOAD, G_DATA, G_FORWARD, G_BACKWARD, G_UPDATE, G_VALIDATE };

	for (int i = 0; i < 6; i++)
		if (view_is(v, F(phase), gate_phase_name(phase[i])))
			return r->plan[i];
	return -1;
}

/* What a phase took equals what was planned before the first allocation. */
enum rule_state check_plan(struct watch *r, const struct view *v, char *say, size_t n)
{
	int64_t before, after, plan = planned(r, v);
	char a[16], b[16];

	if (plan < 0 || !view_is(v, F(occurrence), "first") || !rule_int(v, F(baseline_bytes), &before))
		return RULE_UNSEEN;
	if (!rule_int(v, view_is(v, F(phase), "validate") ? F(allocated_peak_bytes) : F(allocated_bytes), &after))
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

	if (!rule_int(v, F_end_updates, &updates))
		return RULE_MISSING;
	if (!r->steps) {
		snprintf(say, n, "no update in this run");
		return RULE_MISSING;
	}
	if (updates != r->update) {
		snprintf(say, n, "the end record counts %lld updates; the last step is update %lld", (long long)updates, (long long)r->update);
		return RULE_BROKEN;
	}
	if (rule_int(v, F_end_examples, &examples) && examples != r->examples) {
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
	if (r->step_seconds > 0 && !rule_near(seconds, r->step_seconds, 0.02, 0.01)) {
		snprintf(say, n, "%.4g s of training; the steps add up to %.4g s", seconds, r->step_seconds);
		return RULE_BROKEN;
	}
	if (!view_num(v, F_end_examples_per_second, &rate) || !rule_int(v, F_end_examples, &examples) || seconds <= 0)
		return RULE_UNSEEN;
	if (rule_near(rate * seconds, (double)examples, 0.02, 0.5))
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

	if (r->plan_peak < 0 || !rule_int(v, F_end_allocated_peak_bytes, &peak))
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
