/* command-totals.c - what the lines of a command come to, for the end record. */
#include <math.h>
#include <string.h>

#include "command-inner.h"

void totals_init(struct totals *t)
{
	memset(t, 0, sizeof *t);
	t->examples_known = t->tokens_known = true;
	t->allocated_peak = t->reserved_peak = t->used_peak = t->asked_bytes = -1;
	t->validation_accuracy = t->test_accuracy = t->test_loss = NAN;
}

/* ---- step ---- */

static void add(int64_t *sum, bool *known, bool has, int64_t n)
{
	*known &= has && n >= 0 && !__builtin_add_overflow(*sum, n, sum);
}

static void see_step(struct totals *t, const struct view *v)
{
	int64_t rank = 0, update = 0, rows = 0, tokens = 0;
	bool skipped = false, has_rows, has_tokens;
	double seconds;

	view_int(v, F_step_rank, &rank);
	if (rank > 0)
		return;
	t->steps++;
	view_int(v, F_step_update, &update);
	view_bool(v, F_step_skipped, &skipped);
	t->skipped += skipped;
	if (update > t->updates)
		t->updates = update;
	has_rows = view_int(v, F_step_rows, &rows);
	add(&t->examples, &t->examples_known, has_rows, rows);
	has_tokens = view_int(v, F_step_tokens, &tokens);
	t->tokens_known &= has_tokens && tokens >= t->tokens;
	if (t->tokens_known)
		t->tokens = tokens; /* seen so far */
	t->has_loss |= view_num(v, F_step_loss, &t->loss);
	if (view_num(v, F_step_seconds, &seconds) && seconds >= 0) {
		t->training_seconds += seconds;
		t->timed_examples += has_rows ? rows : 0;
	}
	t->mark = clock_seconds();
}

/* ---- evaluations, phases, failures ---- */

static void see_eval(struct totals *t, const struct view *v)
{
	int64_t update = t->updates;
	double loss = NAN, accuracy = NAN;
	bool has = view_num(v, F_eval_loss, &loss);

	view_num(v, F_eval_accuracy, &accuracy);
	view_int(v, F_eval_update, &update);
	if (view_is(v, F_eval_split, "test")) {
		t->tests++;
		t->test_loss = loss;
		t->test_accuracy = accuracy;
	} else if (view_is(v, F_eval_split, "validation") && has) {
		if (!t->validations++ || loss < t->best_validation_loss) {
			t->best_validation_loss = loss;
			t->best_update = update;
		}
		t->validation_loss = loss;
		t->validation_accuracy = accuracy;
	}
	t->mark = clock_seconds();
}

/* Peaks are kept apart; the phase named is that of the first counter that there is. */
static void see_phase(struct totals *t, const struct view *v)
{
	int64_t allocated = -1, reserved = -1, used = -1, rank = 0;
	bool higher;

	view_int(v, F_phase_rank, &rank);
	if (rank > 0)
		return;
	view_int(v, F_phase_allocated_peak_bytes, &allocated);
	view_int(v, F_phase_reserved_peak_bytes, &reserved);
	view_int(v, F_phase_device_used_peak_bytes, &used);
	higher = allocated >= 0 ? allocated > t->allocated_peak : t->allocated_peak < 0 && reserved > t->reserved_peak;
	if (higher)
		view_copy(v, F_phase_phase, t->peak_phase, sizeof t->peak_phase);
	if (allocated > t->allocated_peak)
		t->allocated_peak = allocated;
	if (reserved > t->reserved_peak)
		t->reserved_peak = reserved;
	if (used > t->used_peak)
		t->used_peak = used;
	if (view_is(v, F_phase_phase, "validate") || view_is(v, F_phase_phase, "save"))
		t->mark = clock_seconds();
}

/* "micro-batch 8, shape 8x64" */
static void input_of(struct totals *t, const struct view *v)
{
	int dims = view_count(v, F_failure_shape);
	int64_t rows = -1, n;
	size_t len = 0;

	*t->input = '\0';
	if (view_int(v, F_failure_rows, &rows))
		len = (size_t)snprintf(t->input, sizeof t->input, "micro-batch %lld", (long long)rows);
	for (int i = 0; i < dims && i < 6 && len < sizeof t->input - 32; i++)
		if (view_item_int(v, F_failure_shape, i, &n))
			len += (size_t)snprintf(t->input + len, sizeof t->input - len, "%s%lld", i ? "x" : len ? ", shape " : "shape ", (long long)n);
}

static void see_failure(struct totals *t, const struct view *v)
{
	t->failure_memory = false;
	t->asked_bytes = -1;
	view_copy(v, F_failure_exception, t->exception, sizeof t->exception);
	view_copy(v, F_failure_message, t->message, sizeof t->message);
	view_copy(v, F_failure_phase, t->failure_phase, sizeof t->failure_phase);
	view_copy(v, F_failure_device, t->failure_device, sizeof t->failure_device);
	view_bool(v, F_failure_memory, &t->failure_memory);
	view_int(v, F_failure_asked_bytes, &t->asked_bytes);
	input_of(t, v);
}

void totals_see(struct totals *t, const struct view *v)
{
	switch (v->kind) {
	case KIND_step: see_step(t, v); break;
	case KIND_eval: see_eval(t, v); break;
	case KIND_phase: see_phase(t, v); break;
	case KIND_save: t->mark = clock_seconds(); break;
	case KIND_failure: see_failure(t, v); break;
	default: break;
	}
}

/* ---- the end record ---- */

static void num(struct rec *r, enum field f, double x)
{
	if (!isnan(x))
		rec_num(r, f, x);
}

static void bytes(struct rec *r, enum field f, int64_t n)
{
	if (n >= 0)
		rec_int(r, f, n);
}

static void scores(const struct totals *t, struct rec *r)
{
	if (t->has_loss)
		rec_num(r, F_end_loss, t->loss);
	if (t->validations > 0) {
		rec_num(r, F_end_validation_loss, t->validation_loss);
		rec_num(r, F_end_best_validation_loss, t->best_validation_loss);
		rec_int(r, F_end_best_update, t->best_update);
		rec_int(r, F_end_validations, t->validations);
		num(r, F_end_validation_accuracy, t->validation_accuracy);
	}
	if (t->tests > 0) {
		num(r, F_end_test_loss, t->test_loss);
		num(r, F_end_test_accuracy, t->test_accuracy);
	}
}

void totals_fields(const struct totals *t, struct rec *r)
{
	rec_int(r, F_end_updates, t->updates);
	if (t->steps > 0 && t->examples_known)
		rec_int(r, F_end_examples, t->examples);
	if (t->steps > 0 && t->tokens_known)
		rec_int(r, F_end_tokens, t->tokens);
	if (t->steps > 0)
		rec_int(r, F_end_skipped_updates, t->skipped);
	if (t->training_seconds > 0)
		rec_num(r, F_end_training_seconds, t->training_seconds);
	if (t->training_seconds > 0 && t->timed_examples > 0)
		rec_num(r, F_end_examples_per_second, (double)t->timed_examples / t->training_seconds);
	scores(t, r);
	bytes(r, F_end_allocated_peak_bytes, t->allocated_peak);
	bytes(r, F_end_reserved_peak_bytes, t->reserved_peak);
	bytes(r, F_end_device_used_peak_bytes, t->used_peak);
	if (*t->peak_phase)
		rec_str(r, F_end_peak_phase, t->peak_phase);
}
