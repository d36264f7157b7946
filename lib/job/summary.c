/* summary.c - a record stream folded into one row a run; memory is bounded by the number of runs. */
#include "summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct summary {
	struct summary_row *row;
	int n, cap;
	struct ids ids; /* run or probe: 2 x its row, + 1 for a trial */
};

struct summary *summary_new(void)
{
	return calloc(1, sizeof(struct summary));
}

void summary_free(struct summary *s)
{
	if (!s)
		return;
	ids_free(&s->ids);
	free(s->row);
	free(s);
}

int summary_count(const struct summary *s)
{
	return s->n;
}

const struct summary_row *summary_row(const struct summary *s, int i)
{
	return &s->row[i];
}

/* ---- rows ---- */

static struct summary_row *add_row(struct summary *s, const char *id)
{
	struct summary_row *r;

	if (s->n == s->cap) {
		int cap = s->cap ? 2 * s->cap : 16;
		struct summary_row *p = realloc(s->row, (size_t)cap * sizeof *p);

		if (!p)
			return NULL;
		s->row = p;
		s->cap = cap;
	}
	if (ids_put(&s->ids, id, 2 * s->n) < 0)
		return NULL;
	r = &s->row[s->n++];
	*r = (struct summary_row){ .micro_batch = -1, .accum = -1, .updates = -1, .planned_updates = -1, .best_update = -1,
		.validation_loss = NAN, .validation_accuracy = NAN, .best_loss = NAN, .test_loss = NAN, .test_accuracy = NAN,
		.examples_per_second = NAN, .tokens_per_second = NAN,
		.allocated_peak_bytes = -1, .reserved_peak_bytes = -1, .device_used_peak_bytes = -1, .resident_peak_bytes = -1 };
	snprintf(r->id, sizeof r->id, "%s", id);
	return r;
}

/* The row of an id, made if there is none; NULL: no memory. */
static struct summary_row *row_of(struct summary *s, const char *id, bool *trial)
{
	int *place = ids_find(&s->ids, id);

	*trial = place && *place & 1;
	return place ? &s->row[*place / 2] : add_row(s, id);
}

static bool later(struct timestamp a, struct timestamp b)
{
	return a.seconds > b.seconds || (a.seconds == b.seconds && a.nanoseconds > b.nanoseconds);
}

static void seen_at(struct summary_row *r, struct timestamp t)
{
	if (!r->first.seconds)
		r->first = t;
	if (later(t, r->last))
		r->last = t;
}

static void max_int(const struct view *v, enum field f, int64_t *most)
{
	int64_t x;

	if (view_int(v, f, &x) && x > *most)
		*most = x;
}

/* ---- what was run, in a few letters ---- */

static const char *value_of(struct spec *s, const char *key)
{
	const char *v = NULL;
	struct why w;

	return spec_str(s, key, &v, &w) > 0 ? v : NULL;
}

/* "gpt:layers=4,width=128,.." is gpt:4x128; "text:file=/a/b.txt" is text:b.txt. */
static void short_spec(const char *text, char *out, size_t size)
{
	struct spec s;
	struct why w;
	const char *a, *b, *slash;

	snprintf(out, size, "%.*s", (int)strcspn(text, ":"), text);
	if (spec_parse(&s, text, &w) < 0)
		return;
	a = value_of(&s, "layers");
	b = value_of(&s, "width");
	if (a && b) {
		snprintf(out, size, "%s:%sx%s", s.kind, a, b);
	} else if ((a = value_of(&s, "hidden"))) {
		snprintf(out, size, "%s:%s", s.kind, a);
	} else if ((a = value_of(&s, "file")) || (a = value_of(&s, "images"))) {
		slash = strrchr(a, '/');
		snprintf(out, size, "%s:%s", s.kind, slash ? slash + 1 : a);
	}
	spec_free(&s);
}

static void take_spec(const struct view *v, enum field f, char *out, size_t size)
{
	char text[512];

	if (view_copy(v, f, text, sizeof text))
		short_spec(text, out, size);
}

static void take_run(struct summary_row *r, const struct view *v)
{
	view_copy(v, F_run_device, r->device, sizeof r->device);
	if (view_is(v, F_run_trainer, "command")) {
		summary_command(r, v);
		return;
	}
	if (view_is(v, F_run_trainer, "import"))
		view_copy(v, F_run_name, r->program, sizeof r->program);
	take_spec(v, F_run_model, r->model, sizeof r->model);
	take_spec(v, F_run_data, r->data, sizeof r->data);
	take_spec(v, F_run_optimizer, r->optimizer, sizeof r->optimizer);
	view_int(v, F_run_micro_batch, &r->micro_batch);
	view_int(v, F_run_accum, &r->accum);
	view_int(v, F_run_planned_updates, &r->planned_updates);
	view_int(v, F_run_effective_batch, &r->effective_batch);
}

/* ---- kinds ---- */

/* A trial, and a probe's last run, belong to the probe's row. */
static struct summary_row *see_run(struct summary *s, const struct view *v)
{
	char run[ULID_SIZE], parent[ULID_SIZE], role[12];
	bool trial, probes;
	struct summary_row *r;

	view_run(v, run);
	view_copy(v, F_run_role, role, sizeof role);
	trial = strcmp(role, "trial") == 0;
	probes = (trial || strcmp(role, "confirm") == 0) && view_copy(v, F_run_parent, parent, sizeof parent) && *parent;
	r = row_of(s, probes ? parent : run, &(bool){ false });
	if (!r || (probes && ids_put(&s->ids, run, 2 * (int)(r - s->row) + trial) < 0))
		return NULL;
	snprintf(r->role, sizeof r->role, "%s", probes ? "probe" : role);
	take_run(r, v);
	return r;
}

static struct summary_row *see_trial(struct summary *s, const struct view *v)
{
	char run[ULID_SIZE], probe[ULID_SIZE], part[12];
	struct summary_row *r;
	bool confirm;

	view_run(v, run);
	view_copy(v, F_trial_probe, probe, sizeof probe);
	r = row_of(s, probe, &(bool){ false });
	if (!r)
		return NULL;
	snprintf(r->role, sizeof r->role, "probe");
	confirm = view_copy(v, F_trial_part, part, sizeof part) && strcmp(part, "confirm") == 0;
	if (!ids_find(&s->ids, run) && ids_put(&s->ids, run, 2 * (int)(r - s->row) + !confirm) < 0)
		return NULL;
	r->trials++;
	if (view_is(v, F_trial_verdict, "fits")) {
		max_int(v, F_trial_allocated_peak_bytes, &r->allocated_peak_bytes);
		max_int(v, F_trial_reserved_peak_bytes, &r->reserved_peak_bytes);
		max_int(v, F_trial_device_used_peak_bytes, &r->device_used_peak_bytes);
	}
	return r;
}

static struct summary_row *see_probe(struct summary *s, const struct view *v)
{
	char id[ULID_SIZE], status[20];
	struct summary_row *r;

	view_copy(v, F_probe_id, id, sizeof id);
	r = row_of(s, id, &(bool){ false });
	if (!r)
		return NULL;
	snprintf(r->role, sizeof r->role, "probe");
	view_copy(v, F_probe_status, status, sizeof status);
	/* a last run that diverged says more than that sizes were found */
	if (!r->status[0] || strcmp(r->status, "done") == 0 || strcmp(status, "found"))
		snprintf(r->status, sizeof r->status, "%s", status);
	if (!r->why[0])
		view_copy(v, F_probe_why, r->why, sizeof r->why);
	view_int(v, F_probe_recommended, &r->micro_batch);
	view_int(v, F_probe_accum, &r->accum);
	view_num(v, F_probe_examples_per_second, &r->examples_per_second);
	view_num(v, F_probe_tokens_per_second, &r->tokens_per_second);
	r->has_end = true;
	return r;
}

static void see_eval(struct summary_row *r, const struct view *v)
{
	double loss = NAN, accuracy = NAN;

	view_num(v, F_eval_loss, &loss);
	if (!view_num(v, F_eval_exact_match, &accuracy))
		view_num(v, F_eval_accuracy, &accuracy);
	if (view_is(v, F_eval_split, "test")) {
		r->test_loss = loss;
		r->test_accuracy = accuracy;
	}
	if (!view_is(v, F_eval_split, "validation"))
		return;
	r->validation_loss = loss;
	r->validation_accuracy = accuracy;
	r->validations++;
	if (!(loss >= r->best_loss) && !isnan(loss)) {
		r->best_loss = loss;
		view_int(v, F_eval_update, &r->best_update);
	}
}

static void see_end(struct summary_row *r, const struct view *v)
{
	view_copy(v, F_end_status, r->status, sizeof r->status);
	view_copy(v, F_end_why, r->why, sizeof r->why);
	max_int(v, F_end_updates, &r->updates);
	view_num(v, F_end_validation_loss, &r->validation_loss);
	view_num(v, F_end_validation_accuracy, &r->validation_accuracy);
	view_num(v, F_end_best_validation_loss, &r->best_loss);
	view_int(v, F_end_best_update, &r->best_update);
	view_int(v, F_end_validations, &r->validations);
	view_num(v, F_end_test_loss, &r->test_loss);
	view_num(v, F_end_test_accuracy, &r->test_accuracy);
	view_num(v, F_end_examples_per_second, &r->examples_per_second);
	view_num(v, F_end_tokens_per_second, &r->tokens_per_second);
	view_int(v, F_end_allocated_peak_bytes, &r->allocated_peak_bytes);
	view_int(v, F_end_reserved_peak_bytes, &r->reserved_peak_bytes);
	view_int(v, F_end_device_used_peak_bytes, &r->device_used_peak_bytes);
	view_int(v, F_end_resident_peak_bytes, &r->resident_peak_bytes);
	r->has_end = true;
}

static void see_phase(struct summary_row *r, const struct view *v)
{
	int64_t rows = -1, passes = 1;

	/* steps may lie in members that are not read */
	if (view_is(v, F_phase_phase, "forward") && view_int(v, F_phase_micro_batch, &rows)) {
		view_int(v, F_phase_passes, &passes);
		summary_rows(r, rows * passes, passes);
	}
	if (r->has_end)
		return; /* the end knows better */
	max_int(v, F_phase_allocated_peak_bytes, &r->allocated_peak_bytes);
	max_int(v, F_phase_reserved_peak_bytes, &r->reserved_peak_bytes);
	max_int(v, F_phase_device_used_peak_bytes, &r->device_used_peak_bytes);
}

/* fail is worse than unproven, which is worse than ok; n/a alone is no verdict on the run. */
static int rank(const char *verdict)
{
	return strcmp(verdict, "fail") == 0 ? 3 : strcmp(verdict, "unproven") == 0 ? 2 : strcmp(verdict, "ok") == 0 ? 1 : 0;
}

static void see_verdict(struct summary_row *r, const struct view *v)
{
	char verdict[12], phase[24];
	size_t n;

	view_copy(v, F_verdict_verdict, verdict, sizeof verdict);
	view_copy(v, F_verdict_phase, phase, sizeof phase);
	if (rank(verdict) > rank(r->verdict)) {
		snprintf(r->verdict, sizeof r->verdict, "%s", verdict);
		r->failed[0] = '\0';
	}
	if (rank(verdict) < 2 || rank(verdict) < rank(r->verdict) || strstr(r->failed, phase))
		return;
	n = strlen(r->failed);
	snprintf(r->failed + n, sizeof r->failed - n, "%s%s", n ? "," : "", phase);
}

static void count_steps(struct summary_row *r, int64_t count, int64_t last, double seconds)
{
	r->steps += count;
	r->step_seconds += seconds;
	if (last > r->updates)
		r->updates = last;
	if (!r->has_end && r->step_seconds > 0 && r->effective_batch > 0)
		r->examples_per_second = (double)r->steps * (double)r->effective_batch / r->step_seconds;
}

static void see_step(struct summary_row *r, const struct view *v)
{
	int64_t update = -1, rows = -1, passes = 1;
	double seconds = 0;

	view_int(v, F_step_update, &update);
	view_num(v, F_step_seconds, &seconds);
	if (view_int(v, F_step_rows, &rows)) {
		view_int(v, F_step_passes, &passes);
		if (r->micro_batch < 0 || rows > r->effective_batch) /* an epoch's last batch may be short */
			summary_rows(r, rows, passes);
	}
	count_steps(r, 1, update, seconds);
}

static void see_other(struct summary_row *r, const struct view *v)
{
	switch (v->kind) {
	case KIND_step: see_step(r, v); break;
	case KIND_eval: see_eval(r, v); break;
	case KIND_end: see_end(r, v); break;
	case KIND_phase: see_phase(r, v); break;
	case KIND_verdict: see_verdict(r, v); break;
	default: break;
	}
}

/* Every kind has its `t` under a name of its own. */
static bool time_of(const struct view *v, struct timestamp *t)
{
	enum field f = v->kind == KIND_UNKNOWN ? F_NONE : field_find(v->kind, "t", 1);

	return f != F_NONE && view_time(v, f, t);
}

int summary_see(struct summary *s, const struct view *v, struct why *w)
{
	struct summary_row *r = NULL;
	struct timestamp t;
	char run[ULID_SIZE];
	bool trial = false;

	if (v->kind == KIND_run) {
		r = see_run(s, v);
	} else if (v->kind == KIND_trial) {
		r = see_trial(s, v);
	} else if (v->kind == KIND_probe) {
		r = see_probe(s, v);
	} else {
		view_run(v, run);
		if (!*run)
			return 0;
		r = row_of(s, run, &trial);
		if (r && !summary_word(r, v) && !trial)
			see_other(r, v);
	}
	if (!r)
		return why_set(w, EX_OSERR, "summing up: record %lld: out of memory", (long long)v->number);
	if (time_of(v, &t))
		seen_at(r, t);
	return 0;
}

int summary_steps(struct summary *s, const struct ledger_steps *e, struct why *w)
{
	bool trial;
	struct summary_row *r = row_of(s, e->run, &trial);

	if (!r)
		return why_set(w, EX_OSERR, "summing up: out of memory");
	if (!trial)
		count_steps(r, e->count, e->last, e->seconds);
	seen_at(r, e->t);
	return 0;
}

void summary_owner_of(const struct summary *s, const char *run, char out[ULID_SIZE])
{
	const int *place = ids_find(&s->ids, run);

	snprintf(out, ULID_SIZE, "%s", place ? s->row[*place / 2].id : "");
}

int summary_ids(const struct summary *s, int (*see)(void *ctx, const char *id, const char *row), void *ctx)
{
	for (size_t i = 0; i < s->ids.cap; i++) {
		const struct ids_slot *p = &s->ids.slot[i];
		int r = p->id[0] ? see(ctx, p->id, s->row[p->value / 2].id) : 0;

		if (r)
			return r;
	}
	return 0;
}

void summary_owner(const struct summary *s, const struct view *v, char out[ULID_SIZE])
{
	char id[ULID_SIZE] = "";

	if (v->kind == KIND_probe)
		view_copy(v, F_probe_id, id, sizeof id);
	else
		view_run(v, id);
	summary_owner_of(s, id, out);
}
