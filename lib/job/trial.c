/* One trial: a request to the resident trainer, its records passed on and read, and what the probe
 * writes about it. The verdict is trial-judge.c's. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "probe.h"

/* ---- what is asked ---- */

/* A trial has a budget and rules of its own. */
static void forget(struct config *c, enum option o)
{
	c->given[o / 64] &= ~(UINT64_C(1) << o % 64);
}

void trial_int(struct trial *t, enum option o, int64_t v)
{
	char text[32];
	snprintf(text, sizeof text, "%lld", (long long)v);
	trial_str(t, o, text);
}

void trial_str(struct trial *t, enum option o, const char *s)
{
	t->bad |= config_set(&t->config, o, s, NULL) < 0;
}

int trial_init(struct trial *t, const struct probe *p, const char *part, int64_t size)
{
	memset(t, 0, sizeof *t);
	t->part = part;
	t->size = size;
	if (config_copy(&t->config, p->set->config) < 0)
		return -EX_OSERR;
	t->time = malloc(TRIAL_TIMES * sizeof *t->time);
	if (!t->time) {
		config_free(&t->config);
		return -EX_OSERR;
	}
	struct config *c = &t->config;
	t->stranger = p->set->stranger != NULL;
	c->examples = 0, c->epochs = 0, c->stop[0] = '\0', c->save[0] = '\0', c->save_every = 0, c->keep = 0;
	static const enum option mine[] = { O_examples, O_epochs, O_stop, O_save, O_save_every, O_keep };
	for (size_t i = 0; i < sizeof mine / sizeof *mine; i++)
		forget(c, mine[i]);
	trial_int(t, O_micro_batch, size);
	return 0;
}

void trial_free(struct trial *t)
{
	config_free(&t->config);
	free(t->time);
	for (int i = 0; i < t->line_count; i++)
		free(t->lines[i]);
	free(t->lines);
	t->time = NULL;
	t->lines = NULL;
	t->line_count = 0;
}

/* ---- what its records say ---- */

static void see_plan(struct trial *t, const struct view *v)
{
	view_num(v, F_plan_fixed_bytes, &t->fixed);
	view_num(v, F_plan_per_example_bytes, &t->per);
	view_num(v, F_plan_peak_bytes, &t->planned);
}

static void see_phase(struct trial *t, const struct view *v)
{
	int64_t n;
	t->validated |= view_is(v, F_phase_phase, "validate");
	if (view_int(v, F_phase_length, &n) && n > t->length)
		t->length = n;
}

void trial_see_times(struct trial *t, const struct view *v, double seconds)
{
	double x;
	int64_t n;
	t->step_seconds += seconds;
	if (t->applied > 1 && t->times < TRIAL_TIMES) { /* the first takes memory, and time for it */
		t->time[t->times++] = seconds;
		t->all_seconds += seconds;
		t->parts |= view_num(v, F_step_update_seconds, &x) || view_num(v, F_step_data_seconds, &x);
		t->data_seconds += view_num(v, F_step_data_seconds, &x) ? x : 0;
		t->optimizer_seconds += view_num(v, F_step_update_seconds, &x) ? x : 0;
		t->examples += view_int(v, F_step_examples, &n) ? n - t->last_examples : 0;
		t->tokens += view_int(v, F_step_tokens, &n) ? n - t->last_tokens : 0;
	}
	view_int(v, F_step_examples, &t->last_examples);
	view_int(v, F_step_tokens, &t->last_tokens);
}

static void see_step(struct trial *t, const struct view *v)
{
	if (t->stranger) {
		trial_hear_step(t, v);
		return;
	}
	int64_t rows = 0, passes = 1;
	bool skipped = false;
	double seconds;
	view_bool(v, F_step_skipped, &skipped);
	view_int(v, F_step_rows, &rows);
	view_int(v, F_step_passes, &passes);
	if (skipped)
		return;
	t->applied++;
	t->after += t->validated && t->saved;
	t->rows = rows / (passes > 0 ? passes : 1);
	/* The last pass of a window that ends an epoch may hold less. */
	t->full += rows == t->size * passes || (passes > 1 && rows < t->size * passes && rows > t->size * (passes - 1));
	if (view_num(v, F_step_seconds, &seconds))
		trial_see_times(t, v, seconds);
}

static void see_end(struct trial *t, const struct view *v)
{
	view_copy(v, F_end_status, t->status, sizeof t->status);
	view_copy(v, F_end_why, t->why, sizeof t->why);
	view_int(v, F_end_allocated_peak_bytes, &t->allocated);
	view_int(v, F_end_reserved_peak_bytes, &t->reserved);
	view_int(v, F_end_device_used_peak_bytes, &t->used);
	view_copy(v, F_end_peak_phase, t->peak_phase, sizeof t->peak_phase);
	view_copy(v, F_end_oom_phase, t->oom_phase, sizeof t->oom_phase);
	view_int(v, F_end_asked_bytes, &t->asked);
	view_copy(v, F_end_input, t->input, sizeof t->input);
	view_copy(v, F_end_kernel_limit, t->limit, sizeof t->limit);
}

static void see(struct trial *t, const struct view *v)
{
	switch (v->kind) {
	case KIND_run:
		view_run(v, t->run);
		view_int(v, F_run_train_examples, &t->train_examples);
		view_copy(v, F_run_fingerprint, t->fingerprint, sizeof t->fingerprint);
		break;
	case KIND_plan:
		see_plan(t, v);
		break;
	case KIND_phase:
		see_phase(t, v);
		break;
	case KIND_step:
		see_step(t, v);
		break;
	case KIND_eval:
		t->validated = true;
		break;
	case KIND_save:
		if (!t->saved)
			view_copy(v, F_save_path, t->save, sizeof t->save);
		view_copy(v, F_save_path, t->last_save, sizeof t->last_save);
		t->saved = true;
		break;
	case KIND_end:
		see_end(t, v);
		break;
	default:
		break;
	}
	if (t->stranger)
		trial_hear(t, v);
}

/* ---- running it ---- */

static void keep_stderr(struct trial *t, struct drive *d)
{
	char *const *line;
	int n = t->lines ? 0 : drive_stderr(d, &line);
	if (!n)
		return;
	t->lines = calloc((size_t)n, sizeof *t->lines);
	for (int i = 0; t->lines && i < n; i++)
		if ((t->lines[t->line_count] = strdup(line[i])))
			t->line_count++;
}

static int ask(struct probe *p, struct trial *t, const char *role, char id[ULID_SIZE], struct why *w)
{
	struct rec *r = &p->rec;
	ulid_new(id);
	rec_begin(r, KIND_request);
	rec_str(r, F_request_id, id);
	rec_str(r, F_request_role, role);
	rec_str(r, F_request_parent, p->id);
	if (*t->cwd)
		rec_str(r, F_request_cwd, t->cwd);
	if (*t->cwd)
		rec_str(r, F_request_origin, p->cwd);
	if (t->stranger && !p->set->stranger->evidence)
		rec_str(r, F_request_evidence, "basic");
	config_to_rec(&t->config, r);
	return drive_request(p->drive, r, w);
}

/* A run that the trainer never announced: the record is still owed, so that the death has a place. */
static int announce(struct probe *p, struct trial *t, const char *role, const char *request, struct why *w)
{
	struct rec *r = &p->rec;
	ulid_new(t->run);
	rec_begin(r, KIND_run);
	rec_str(r, F_run_run, t->run);
	rec_str(r, F_run_role, role);
	rec_str(r, F_run_request, request);
	rec_str(r, F_run_parent, p->id);
	config_to_rec(&t->config, r);
	return out_rec(p->out, r, w);
}

/* The end that the trainer can no longer write. */
static int close_run(struct probe *p, struct trial *t, const char *role, const char *request, struct why *w)
{
	struct rec *r = &p->rec;
	int k = *t->run ? 0 : announce(p, t, role, request, w);
	if (k < 0)
		return k;
	rec_begin(r, KIND_end);
	rec_str(r, F_end_run, t->run);
	rec_str(r, F_end_status, "killed");
	rec_str(r, F_end_why, t->why);
	rec_int(r, F_end_updates, t->applied);
	return out_rec(p->out, r, w);
}

/* Reads until the run's end record. 1 it came; 0 the trainer has ended; <0 as drive_next. */
static int listen(struct probe *p, struct trial *t, double until, struct why *w, bool *lost)
{
	struct view v;
	for (;;) {
		int r = drive_next(p->drive, &v, until - clock_seconds(), w);
		if (r <= 0)
			return r;
		if (v.kind == KIND_tool || v.kind == KIND_done)
			continue;
		r = out_view(p->out, &v, w);
		if (r < 0) {
			*lost = true;
			return r;
		}
		see(t, &v);
		if (v.kind == KIND_end)
			return 1;
	}
}

static void fire(struct probe *p)
{
	drive_end(p->drive);
	p->drive = NULL;
}

/* No end record came: why not, and the record that says so. */
static int bury(struct probe *p, struct trial *t, const char *role, const char *request, int r, int64_t kills, struct why *w)
{
	if (r == 0) {
		keep_stderr(t, p->drive);
		trial_judge_death(t, drive_status(p->drive), kills);
	} else if (stop_wanted()) {
		trial_judge(t, TRIAL_STOPPED, "the probe was asked to stop");
	} else if (r == -EX_TEMPFAIL) {
		trial_judge(t, TRIAL_TIMEOUT, "not done within its deadline of %.3g s", t->deadline > 0 ? t->deadline : p->set->deadline);
		keep_stderr(t, p->drive);
	} else {
		trial_judge(t, TRIAL_ERROR, "%.500s", w->text);
		keep_stderr(t, p->drive);
	}
	fire(p);
	int k = close_run(p, t, role, request, w);
	return r == -EX_OSERR || r == -EX_IOERR ? r : k; /* no trainer's fault */
}

/* A run that was refused ended as `error`; which kind of error is its trainer's exit status. */
static void ask_code(struct probe *p, struct trial *t)
{
	double until = clock_seconds() + 5;
	struct view v;
	int r;
	drive_no_more(p->drive);
	while ((r = drive_next(p->drive, &v, until - clock_seconds(), NULL)) > 0)
		;
	int status = r == 0 ? drive_status(p->drive) : 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) >= EX__BASE)
		t->code = WEXITSTATUS(status);
}

int trial_run(struct probe *p, struct trial *t, const char *role, struct why *w)
{
	char request[ULID_SIZE];
	double began = clock_seconds();
	int64_t kills = host_oom_kills();
	bool lost = false;
	int r = 0;
	p->trials++;
	if (t->bad)
		return why_set(w, EX_OSERR, "try micro-batch %lld: its settings: out of memory", (long long)t->size);
	if (!p->drive)
		r = drive_start(&p->drive, p->set->stranger ? &p->stranger : NULL, p->set->pass_stderr, w);
	if (r == 0)
		r = ask(p, t, role, request, w);
	if (r == -EX_TEMPFAIL)
		r = bury(p, t, role, request, r, kills, w);
	if (r < 0 || !p->drive)
		return r;
	r = listen(p, t, began + (t->deadline > 0 ? t->deadline : p->set->deadline), w, &lost);
	t->seconds = clock_seconds() - began;
	if (lost)
		return r;
	if (r <= 0)
		return bury(p, t, role, request, r, kills, w);
	trial_judge_end(t);
	if (t->verdict != TRIAL_FITS) {
		if (!strcmp(t->status, "error"))
			ask_code(p, t);
		keep_stderr(t, p->drive);
		fire(p); /* what it still holds must not weigh on the next */
	}
	return 0;
}

/* ---- the record ---- */

static void write_bytes(struct rec *r, const struct trial *t)
{
	if (*t->oom_phase)
		rec_str(r, F_trial_oom_phase, t->oom_phase);
	if (t->asked)
		rec_int(r, F_trial_asked_bytes, t->asked);
	if (*t->input)
		rec_str(r, F_trial_input, t->input);
	rec_int(r, F_trial_updates, t->applied);
	if (t->rows)
		rec_int(r, F_trial_rows, t->rows);
	if (t->allocated)
		rec_int(r, F_trial_allocated_peak_bytes, t->allocated);
	if (t->reserved)
		rec_int(r, F_trial_reserved_peak_bytes, t->reserved);
	if (t->used)
		rec_int(r, F_trial_device_used_peak_bytes, t->used);
	if (*t->peak_phase)
		rec_str(r, F_trial_peak_phase, t->peak_phase);
}

static void write_times(struct rec *r, const struct timing *g)
{
	double n = timing_rows(g);
	rec_num(r, F_trial_update_seconds, g->median);
	rec_num(r, F_trial_update_seconds_mean, g->mean);
	rec_num(r, F_trial_examples_per_second, n / g->median);
	if (g->low > 0 && g->high < 1e300) {
		rec_num(r, F_trial_examples_per_second_low, n / g->high);
		rec_num(r, F_trial_examples_per_second_high, n / g->low);
	}
	if (g->tokens_per_example > 0)
		rec_num(r, F_trial_tokens_per_second, g->tokens_per_example * n / g->median);
	rec_int(r, F_trial_samples, g->n);
	if (g->parts) {
		rec_num(r, F_trial_data_wait_share, g->data / g->all);
		rec_num(r, F_trial_optimizer_share, g->optimizer / g->all);
	}
}

int trial_write(struct probe *p, const struct trial *t, const struct timing *timing, struct why *w)
{
	struct rec *r = &p->rec;
	rec_begin(r, KIND_trial);
	rec_str(r, F_trial_run, t->run);
	rec_str(r, F_trial_probe, p->id);
	rec_int(r, F_trial_micro_batch, t->size);
	if (t->length)
		rec_int(r, F_trial_length, t->length);
	if (t->passes || !t->stranger || p->accumulates)
		rec_int(r, F_trial_accum, t->passes ? t->passes : t->config.accum);
	rec_str(r, F_trial_part, t->part);
	rec_str(r, F_trial_verdict, trial_verdict_name(t->verdict));
	if (*t->why)
		rec_str(r, F_trial_why, t->why);
	write_bytes(r, t);
	if (timing && timing->n)
		write_times(r, timing);
	rec_num(r, F_trial_seconds, t->seconds);
	if (t->line_count && t->verdict != TRIAL_OOM) /* that one's end record says it all */
		rec_strs(r, F_trial_stderr, t->lines, t->line_count);
	return out_rec(p->out, r, w);
}

/* More allocated than the device holds for us, and the speed has collapsed: it fits, and crawls. */
static void notice_spill(struct probe *p, struct trial *t, const struct timing *g)
{
	double rate = g->n ? timing_rows(g) / g->median : 0;
	if (t->used > 0 && (double)t->allocated > 1.05 * (double)t->used && rate > 0 && rate < p->best_rate / 2) {
		trial_judge(t, TRIAL_SPILLED, "%.1f MiB are allocated, but the device holds %.1f, and throughput fell to %.0f %% of the best: the rest lies in slower memory",
			(double)t->allocated / 1048576, (double)t->used / 1048576, 100 * rate / p->best_rate);
		fire(p);
	} else if (rate > p->best_rate) {
		p->best_rate = rate;
	}
}

int trial_do(struct probe *p, struct trial *t, const char *role, struct why *w)
{
	int r = trial_run(p, t, role, w);
	if (r < 0 || t->verdict == TRIAL_STOPPED)
		return r;
	struct timing own = { .size = t->size };
	if (t->verdict == TRIAL_FITS && timing_add(&own, t) == 0 && timing_close(&own))
		notice_spill(p, t, &own);
	r = trial_write(p, t, &own, w);
	free(own.time);
	return r;
}
