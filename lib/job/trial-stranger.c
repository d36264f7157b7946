/* A trial of a command of the user's: what its records say beyond those of the builtin trainer, which of its
 * updates count as evidence, and how its ends are to be taken. */
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "shadow.h"

/* ---- updates ---- */

/* Rows of one pass, as far as they are known: of all passes together where these differ. */
static int64_t rows_of_pass(const struct view *v, int64_t rows, int64_t passes)
{
	int64_t n;
	if (view_item_int(v, F_step_pass_rows, 0, &n))
		return n;
	return passes > 0 && rows % passes == 0 ? rows / passes : rows;
}

/* Each pass had the rows that were asked, or all replicas together had. The last pass of a window that ends an
 * epoch may hold less. */
static bool whole(const struct trial *t, int64_t rows)
{
	int64_t want = t->size * t->passes;
	if (rows == want || rows * t->replicas == want)
		return true;
	return t->passes > 1 && rows < want && rows > want - t->size;
}

/* Dimensions of the input that are as many as was asked, by bit. */
static unsigned axes_of(const struct trial *t, const struct view *v)
{
	unsigned axes = 0;
	int64_t n;

	for (int i = 0; i < TRIAL_AXES && view_item_int(v, F_step_shape, i, &n); i++)
		axes |= n == t->size ? 1u << i : 0;
	return axes;
}

static void keep_shape(struct trial *t, const struct view *v)
{
	size_t k = 0;
	int64_t n;

	for (int i = 0; i < TRIAL_AXES && k < sizeof t->shape && view_item_int(v, F_step_shape, i, &n); i++)
		k += (size_t)snprintf(t->shape + k, sizeof t->shape - k, "%s%lld", i ? "x" : "", (long long)n);
}

/* The dimension of the input that {micro_batch} decides: the first, or another that is as many as was asked in every
 * update of every trial so far. */
static bool follows(struct trial *t, const struct view *v, int64_t rows)
{
	bool first = whole(t, rows);
	unsigned axes = (axes_of(t, v) & ~1u) | first;

	if (!axes)
		return false;
	t->axes &= axes;
	t->full_rows = (double)((first ? rows : t->size * t->passes) * t->replicas);
	return true;
}

void trial_hear_step(struct trial *t, const struct view *v)
{
	int64_t rows = 0, passes = 1;
	bool skipped = false;
	double seconds;
	view_bool(v, F_step_skipped, &skipped);
	if (skipped || (view_int(v, F_step_rank, &rows) && rows != 0))
		return;
	rows = 0;
	t->applied++;
	t->after += t->validated && t->saved;
	view_int(v, F_step_passes, &passes);
	t->passes = passes > 0 ? passes : 1;
	t->replicas = 1;
	view_int(v, F_step_replicas, &t->replicas);
	if (t->replicas < 1)
		t->replicas = 1;
	t->rowless += !view_int(v, F_step_rows, &rows);
	bool full = follows(t, v, rows);
	if (full || !t->full) {
		t->rows = full && !whole(t, rows) ? t->size : rows_of_pass(v, rows, t->passes);
		keep_shape(t, v);
	}
	t->full += full;
	if (full && view_num(v, F_step_seconds, &seconds)) /* a short batch says nothing about the speed of a whole one */
		trial_see_times(t, v, seconds);
}

/* ---- the rest ---- */

static void hear_lines(struct trial *t, const struct view *v)
{
	int n = view_count(v, F_end_stderr);
	if (n <= 0 || t->lines)
		return;
	t->lines = calloc((size_t)n, sizeof *t->lines);
	for (int i = 0; t->lines && i < n; i++) {
		const char *s;
		size_t size;
		if (view_item_str(v, F_end_stderr, i, &s, &size) && (t->lines[t->line_count] = strndup(s, size)))
			t->line_count++;
	}
}

static bool on_device(const struct trial *t)
{
	return !strncmp(t->device, "cuda", 4) || !strncmp(t->config.device, "cuda", 4);
}

static void hear_end(struct trial *t, const struct view *v)
{
	view_copy(v, F_end_cause, t->cause, sizeof t->cause);
	view_copy(v, F_end_exception, t->exception, sizeof t->exception);
	view_copy(v, F_end_signal, t->ended_by, sizeof t->ended_by);
	view_int(v, F_end_address_peak_bytes, &t->address);
	view_int(v, F_end_resident_peak_bytes, &t->resident);
	if (!t->reserved && t->config.memory_bytes > 0 && !on_device(t))
		t->reserved = t->address;
	hear_lines(t, v);
}

/* What was taken before the first pass does not depend on the batch. */
static void hear_phase(struct trial *t, const struct view *v)
{
	view_copy(v, F_phase_device, t->device, sizeof t->device);
	bool earlier = view_is(v, F_phase_phase, "data") || view_is(v, F_phase_phase, "load");
	if (earlier && !t->before && !t->applied && !view_int(v, F_phase_reserved_bytes, &t->before))
		view_int(v, F_phase_allocated_bytes, &t->before);
}

void trial_hear(struct trial *t, const struct view *v)
{
	int64_t n;
	switch (v->kind) {
	case KIND_run:
		view_copy(v, F_run_memory_cap, t->cap, sizeof t->cap);
		break;
	case KIND_model:
		view_copy(v, F_model_device, t->device, sizeof t->device);
		break;
	case KIND_phase:
		hear_phase(t, v);
		break;
	case KIND_loader:
		if (view_is(v, F_loader_split, "train") && view_int(v, F_loader_examples, &n) && n > t->train_examples)
			t->train_examples = n;
		break;
	case KIND_blind:
		if (!*t->blind)
			view_copy(v, F_blind_reason, t->blind, sizeof t->blind);
		break;
	case KIND_end:
		hear_end(t, v);
		break;
	default:
		break;
	}
}

double trial_bytes(const struct trial *t)
{
	if (!t->stranger)
		return (double)t->allocated;
	if (on_device(t))
		return (double)(t->reserved ? t->reserved : t->allocated ? t->allocated : t->used);
	if (t->config.memory_bytes > 0) /* the address space of each process is what is capped */
		return (double)(t->reserved > t->address ? t->reserved : t->address);
	return (double)(t->resident ? t->resident : t->used);
}

/* ---- verdicts ---- */

static void judge_done(struct trial *t)
{
	char said[sizeof t->why];
	memcpy(said, t->why, sizeof said);
	if (t->applied < 2 && *t->blind && !t->applied)
		trial_judge(t, TRIAL_ERROR, "no update was seen: %s", t->blind);
	else if (t->applied < 2)
		trial_judge(t, TRIAL_ERROR, "%lld update%s seen; at least 2 are needed as evidence%s%.300s", (long long)t->applied, t->applied == 1 ? " was" : "s were", *said ? ": " : "", said);
	else if (t->rowless == t->applied)
		trial_judge(t, TRIAL_ERROR, "the program does not say how many rows it trains on: its step lines need `rows` (pilot-trainer(7))");
	else if (t->full < 2)
		trial_judge(t, TRIAL_ERROR, "the program trains on %lld rows where {micro_batch} was %lld%s%s", (long long)t->rows, (long long)t->size, strchr(t->shape, 'x') ? ": its input is " : "", strchr(t->shape, 'x') ? t->shape : "");
	else if (!t->axes)
		trial_judge(t, TRIAL_ERROR, "no one dimension of the program's input follows {micro_batch}: it is %s where that was %lld", t->shape, (long long)t->size);
	else if (t->step_seconds > t->seconds * 1.1 + 0.1)
		trial_judge(t, TRIAL_ERROR, "reports %.3g seconds of updates, but only %.3g passed: is its unit seconds?", t->step_seconds, t->seconds);
	else
		trial_judge(t, TRIAL_FITS, "%s", "");
}

static void judge_failed(struct trial *t)
{
	char said[sizeof t->why];
	memcpy(said, t->why, sizeof said);
	const char *last = t->line_count ? t->lines[t->line_count - 1] : "";
	if (!strcmp(t->cause, "deadline"))
		trial_judge(t, TRIAL_TIMEOUT, "%.500s", said);
	else if (*t->limit || trial_names_limit(said) || trial_names_limit(last))
		trial_judge(t, TRIAL_KERNEL_LIMIT, "%.500s", *t->limit ? t->limit : trial_names_limit(said) ? said : last);
	else if (*t->cause)
		trial_judge(t, TRIAL_CRASHED, "%.450s%s", *said ? said : *t->exception ? t->exception : t->cause, shadow_refused(said) ? SHADOW_REFUSED : "");
	else
		trial_judge(t, TRIAL_ERROR, "ended `%s`%s%.400s", t->status, *said ? ": " : "", said);
}

void trial_judge_stranger(struct trial *t)
{
	char said[sizeof t->why];
	memcpy(said, t->why, sizeof said);
	if (!strcmp(t->status, "done"))
		judge_done(t);
	else if (!strcmp(t->status, "oom") && strstr(said, "the kernel killed it"))
		trial_judge(t, TRIAL_HOST_OOM, "%.500s", said);
	else if (!strcmp(t->status, "oom"))
		t->verdict = TRIAL_OOM;
	else if (!strcmp(t->status, "killed"))
		trial_judge(t, TRIAL_CRASHED, "%.500s", *said ? said : t->ended_by);
	else if (!strcmp(t->status, "error"))
		judge_failed(t);
	else
		trial_judge(t, TRIAL_ERROR, "ended `%s`%s%.400s", t->status, *said ? ": " : "", said);
}
