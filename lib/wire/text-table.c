/* text-table.c - the tables: steps, phases, verdicts, trials. All fit 80 columns but for
 * words that follow the last column. */
#include <math.h>

#include "text.h"

/* ---- step ---- */

static void step_rate(const struct view *v, char out[VALUE])
{
	double seconds;
	int64_t rows;
	out[0] = 0;
	if (view_num(v, F_step_seconds, &seconds) && view_int(v, F_step_rows, &rows) && seconds > 0)
		snprintf(out, VALUE, "%.1f", (double)rows / seconds);
}

/* A command does not say how many epochs it has gone through: its column is that of the examples. */
static const char step_epochs[] = "  update     epoch        loss         lr  grad norm   ms/update  examples/s";
static const char step_rows[] = "  update      rows        loss         lr  grad norm   ms/update  examples/s";

/* Sets the second cell, and chooses the header; a row that has neither stays under the last one. */
static const char *step_second(const struct text *t, const struct view *v, char out[VALUE])
{
	double epoch;
	int64_t rows, passes = 1;
	out[0] = 0;
	if (view_num(v, F_step_epoch, &epoch)) {
		snprintf(out, VALUE, "%.3f", epoch);
		return step_epochs;
	}
	if (!view_int(v, F_step_rows, &rows))
		return t->header[KIND_step] ? t->header[KIND_step] : step_epochs;
	view_int(v, F_step_passes, &passes);
	if (passes > 1 && rows % passes == 0)
		snprintf(out, VALUE, "%lld x %lld", (long long)(rows / passes), (long long)passes);
	else
		grouped(rows, out);
	return step_rows;
}

/* What is odd about an update, behind its row. */
static void step_words(struct pen *p, const struct view *v)
{
	char n[VALUE];
	bool training = true;
	int64_t left = 0, dropped = 0;
	if (view_bool(v, F_step_training, &training) && !training)
		pen_colored(p, YELLOW, "  not in training mode");
	if (view_int(v, F_step_left_over, &left) && left)
		pen_colored(p, YELLOW, "  %s gradients were left over", grouped(left, n));
	if (view_int(v, F_step_dropped_passes, &dropped) && dropped)
		pen_colored(p, YELLOW, "  %s %s thrown away", grouped(dropped, n), dropped == 1 ? "pass was" : "passes were");
}

void text_step(struct pen *p, const struct view *v)
{
	char s[VALUE], second[VALUE];
	bool skipped = false;
	int64_t update;
	double loss, ms;
	pen_header(p, KIND_step, step_second(p->t, v, second));
	view_bool(v, F_step_skipped, &skipped);
	say_int(v, F_step_update, s);
	if (skipped && view_int(v, F_step_update, &update) && update < INT64_MAX)
		grouped(update + 1, s); /* the one that was attempted; the record has those applied */
	pen_cell(p, 8, s);
	pen_cell(p, 10, second);
	say_num(v, F_step_loss, s);
	bool finite = !view_num(v, F_step_loss, &loss) || isfinite(loss);
	pen_printf(p, "%*s", strlen(s) < 12 ? (int)(12 - strlen(s)) : 1, "");
	pen_colored(p, finite ? "" : RED, "%s", s);
	pen_cell(p, 11, say_short(v, F_step_lr, s));
	pen_cell(p, 11, say_num(v, F_step_gradient_norm, s));
	if (view_num(v, F_step_seconds, &ms))
		snprintf(s, sizeof s, "%.1f", 1000 * ms);
	else
		s[0] = 0;
	pen_cell(p, 12, s);
	step_rate(v, s);
	pen_cell(p, 12, s);
	if (skipped)
		pen_colored(p, YELLOW, "  skipped");
	step_words(p, v);
	pen_newline(p);
}

/* ---- phase and verdict: the same columns ---- */

static const char phase_header[] = "phase            b x length  allocated   reserved  device used   seconds";

struct measures {
	enum field batch, length, allocated, reserved, used, seconds;
};

static void measures(struct pen *p, const struct view *v, const struct measures *m)
{
	char b[VALUE], l[VALUE], s[2 * VALUE + 4];
	say_int(v, m->batch, b);
	say_int(v, m->length, l);
	snprintf(s, sizeof s, *l ? "%s x %s" : "%s", b, l);
	pen_cell(p, 10, *b ? s : "");
	pen_cell(p, 11, say_bytes(v, m->allocated, s));
	pen_cell(p, 11, say_bytes(v, m->reserved, s));
	pen_cell(p, 13, say_bytes(v, m->used, s));
	pen_cell(p, 10, say_seconds(v, m->seconds, s));
}

/* Of the phases of one update the first and a steady one are shown; others carry facts alone. */
static bool only_facts(const struct view *v)
{
	static const char *const of_update[] = {"data", "forward", "backward", "update"};
	int64_t bytes;
	if (view_is(v, F_phase_occurrence, "first") || view_is(v, F_phase_occurrence, "steady") || view_int(v, F_phase_reserved_peak_bytes, &bytes))
		return false;
	for (size_t i = 0; i < sizeof of_update / sizeof *of_update; i++)
		if (view_is(v, F_phase_phase, of_update[i]))
			return true;
	return false;
}

void text_phase(struct pen *p, const struct view *v)
{
	static const struct measures m = {
		F_phase_micro_batch, F_phase_length, F_phase_allocated_peak_bytes,
		F_phase_reserved_peak_bytes, F_phase_device_used_peak_bytes, F_phase_seconds,
	};
	char phase[VALUE], when[VALUE], s[2 * VALUE + 4];
	if (only_facts(v))
		return;
	pen_header(p, KIND_phase, phase_header);
	say_str(v, F_phase_phase, phase);
	say_str(v, F_phase_occurrence, when);
	snprintf(s, sizeof s, *when ? "%s, %s" : "%s", phase, when);
	pen_cell(p, -17, s);
	measures(p, v, &m);
	pen_newline(p);
}

/* The first verdict of a run names the run above the columns; nine rows need no second header. */
static void verdict_header(struct pen *p, const struct view *v)
{
	char run[ULID_SIZE], shown[VALUE];
	view_run(v, run);
	if (p->t->table == KIND_verdict && !strcmp(run, p->t->verdict_run))
		return;
	pen_break(p);
	pen_newline(p);
	pen_colored(p, BOLD, "verdicts on run %s", say_str(v, F_verdict_run, shown));
	pen_newline(p);
	pen_colored(p, BOLD, "%s  verdict", phase_header);
	pen_newline(p);
	p->t->table = KIND_verdict;
	memcpy(p->t->verdict_run, run, sizeof run);
}

static void verdict_words(struct pen *p, const struct view *v, const char *verdict)
{
	const char *s;
	size_t n;
	bool good = !strcmp(verdict, "ok");
	if (view_str(v, F_verdict_reason, &s, &n) && n)
		pen_wrapped(p, "", 4, s, n);
	if (good && view_str(v, F_verdict_evidence, &s, &n) && n)
		pen_wrapped(p, DIM, 4, s, n);
	if (strcmp(verdict, "fail") || !view_str(v, F_verdict_look, &s, &n) || !n)
		return;
	pen_printf(p, "    look first at: ");
	pen_bytes(p, s, n);
	pen_newline(p);
}

void text_verdict(struct pen *p, const struct view *v)
{
	static const struct measures m = {
		F_verdict_micro_batch, F_verdict_length, F_verdict_allocated_peak_bytes,
		F_verdict_reserved_peak_bytes, F_verdict_device_used_peak_bytes, F_verdict_seconds,
	};
	char phase[VALUE], verdict[VALUE];
	verdict_header(p, v);
	pen_cell(p, -17, say_str(v, F_verdict_phase, phase));
	measures(p, v, &m);
	say_str(v, F_verdict_verdict, verdict);
	pen_printf(p, "  ");
	pen_colored(p, status_color(verdict), "%s", verdict);
	pen_newline(p);
	verdict_words(p, v, verdict);
}

/* ---- trial ---- */

static const char *interval(const struct view *v, char out[VALUE])
{
	double low, high;
	out[0] = 0;
	if (view_num(v, F_trial_examples_per_second_low, &low) && view_num(v, F_trial_examples_per_second_high, &high))
		snprintf(out, VALUE, low < 100 ? "%.3g..%.3g" : "%.0f..%.0f", low, high);
	return out;
}

static void trial_failed(struct pen *p, const struct view *v)
{
	char phase[VALUE], asked[VALUE], input[VALUE];
	const char *s;
	size_t n;
	if (*say_str(v, F_trial_oom_phase, phase)) {
		pen_printf(p, "    in %s", phase);
		if (*say_bytes(v, F_trial_asked_bytes, asked))
			pen_printf(p, ", %s more were asked", asked);
		if (*say_str(v, F_trial_input, input))
			pen_printf(p, ", on %s", input);
		pen_newline(p);
	} else if (view_str(v, F_trial_why, &s, &n) && n) {
		pen_wrapped(p, "", 4, s, n);
	}
	for (int i = 0; i < view_count(v, F_trial_stderr); i++)
		if (view_item_str(v, F_trial_stderr, i, &s, &n)) {
			pen_printf(p, "    | ");
			pen_bytes(p, s, n);
			pen_newline(p);
		}
}

/* Counters are told apart: where nobody counts what tensors hold, the column is that of what was reserved, or
 * used. A row without any stays under the last header. */
static const char *trial_peak(const struct text *t, const struct view *v, char out[VALUE])
{
	static const char allocated[] = "micro-batch  for      verdict      examples/s      95 % of it   tokens/s    peak";
	static const char reserved[] = "micro-batch  for      verdict      examples/s      95 % of it   tokens/s  reserved";
	static const char used[] = "micro-batch  for      verdict      examples/s      95 % of it   tokens/s    used";
	if (*say_bytes(v, F_trial_allocated_peak_bytes, out))
		return allocated;
	if (*say_bytes(v, F_trial_reserved_peak_bytes, out))
		return reserved;
	if (*say_bytes(v, F_trial_device_used_peak_bytes, out))
		return used;
	return t->header[KIND_trial] ? t->header[KIND_trial] : allocated;
}

void text_trial(struct pen *p, const struct view *v)
{
	char s[VALUE], verdict[VALUE], peak[VALUE];
	pen_header(p, KIND_trial, trial_peak(p->t, v, peak));
	pen_cell(p, 11, say_int(v, F_trial_micro_batch, s));
	pen_printf(p, "  %-7s  ", say_str(v, F_trial_part, s));
	say_str(v, F_trial_verdict, verdict);
	pen_colored(p, status_color(verdict), "%s", verdict);
	pen_printf(p, "%*s", strlen(verdict) < 12 ? (int)(12 - strlen(verdict)) : 0, "");
	pen_cell(p, 11, say_rate(v, F_trial_examples_per_second, s));
	pen_cell(p, 16, interval(v, s));
	pen_cell(p, 11, say_tokens(v, F_trial_examples_per_second, F_trial_tokens_per_second, s));
	pen_cell(p, 8, peak);
	pen_newline(p);
	if (strcmp(verdict, "fits"))
		trial_failed(p, v);
}
