/* replay-arm.c - one arm of a replay: a new train-step process, one request, and what its
 * records say of each update, evaluation and save. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"

enum { MOST = 4096 }; /* updates, evaluations, saves that an arm can have */

void arm_request(struct rec *q, const char *run)
{
	char id[ULID_SIZE];

	ulid_new(id);
	rec_begin(q, KIND_request);
	rec_str(q, F_request_id, id);
	rec_str(q, F_request_role, "replay");
	rec_str(q, F_request_parent, run);
	rec_str(q, F_request_repeats, run);
}

void arm_free(struct arm *a)
{
	for (int64_t i = 0; i < a->saves; i++)
		free(a->save[i].path);
	free(a->step);
	free(a->eval);
	free(a->save);
	watch_free(a->watch);
	*a = (struct arm){ .name = a->name };
}

const struct save_fact *arm_save(const struct arm *a, int64_t update)
{
	for (int64_t i = 0; i < a->saves; i++)
		if (a->save[i].update == update)
			return &a->save[i];
	return NULL;
}

const struct update_fact *arm_step(const struct arm *a, int64_t update)
{
	for (int64_t i = 0; i < a->steps; i++)
		if (a->step[i].update == update)
			return &a->step[i];
	return NULL;
}

/* Room for one more; NULL: no memory, or an arm that does not end. */
static void *one_more(void **list, int64_t n, size_t size)
{
	void *p;

	if (n >= MOST)
		return NULL;
	if (n == 0 || (n >= 16 && (n & (n - 1)) == 0)) {
		p = realloc(*list, (size_t)(n ? 2 * n : 16) * size);
		if (!p)
			return NULL;
		*list = p;
	}
	p = (char *)*list + (size_t)n * size;
	memset(p, 0, size);
	return p;
}

static void read_step(struct update_fact *u, const struct view *v)
{
	bool skipped;

	*u = (struct update_fact){ .rows = -1, .supervised = -1, .lr = NAN, .loss = NAN, .gradient_norm = NAN, .divisor = NAN, .scale = NAN };
	view_int(v, F_step_update, &u->update);
	view_int(v, F_step_rows, &u->rows);
	view_int(v, F_step_supervised, &u->supervised);
	view_num(v, F_step_lr, &u->lr);
	view_num(v, F_step_loss, &u->loss);
	view_num(v, F_step_gradient_norm, &u->gradient_norm);
	view_copy(v, F_step_batch_digest, u->batch_digest, sizeof u->batch_digest);
	view_num(v, F_step_divisor, &u->divisor);
	view_num(v, F_step_scale, &u->scale);
	view_copy(v, F_step_weights_digest, u->weights_digest, sizeof u->weights_digest);
	if (view_bool(v, F_step_skipped, &skipped) && skipped)
		u->update = -1; /* no update: it compares with none */
}

static bool add_step(struct arm *a, const struct view *v)
{
	struct update_fact *u = one_more((void **)&a->step, a->steps, sizeof *u);

	if (!u)
		return false;
	read_step(u, v);
	a->steps++;
	return true;
}

static bool add_eval(struct arm *a, const struct view *v)
{
	struct eval_fact *e;

	if (!view_is(v, F_eval_split, "validation"))
		return true;
	if (!(e = one_more((void **)&a->eval, a->evals, sizeof *e)))
		return false;
	view_int(v, F_eval_update, &e->update);
	view_num(v, F_eval_loss, &e->loss);
	a->evals++;
	return true;
}

static bool add_save(struct arm *a, const struct view *v)
{
	struct save_fact *s = one_more((void **)&a->save, a->saves, sizeof *s);
	const char *path;
	size_t n;

	if (!s)
		return false;
	if (!view_str(v, F_save_path, &path, &n) || !(s->path = strndup(path, n)))
		return false;
	a->saves++;
	view_int(v, F_save_update, &s->update);
	view_copy(v, F_save_digest, s->digest, sizeof s->digest);
	view_copy(v, F_save_weights_digest, s->weights_digest, sizeof s->weights_digest);
	view_copy(v, F_save_optimizer_digest, s->optimizer_digest, sizeof s->optimizer_digest);
	s->held = holds_of(v, F_save_holds);
	return true;
}

/* ---- what a command says of its state ---- */

unsigned holds_of(const struct view *v, enum field f)
{
	static const struct { const char *word; unsigned bit; } words[] = {
		{ "weights", HOLDS_WEIGHTS }, { "optimizer", HOLDS_OPTIMIZER }, { "schedule", HOLDS_SCHEDULE },
		{ "scale", HOLDS_SCALE }, { "random", HOLDS_RANDOM }, { "count", HOLDS_COUNT },
	};
	unsigned bits = 0;
	const char *s;
	size_t n;

	for (int i = 0; i < view_count(v, f); i++)
		for (size_t k = 0; k < sizeof words / sizeof *words; k++)
			if (view_item_str(v, f, i, &s, &n) && strlen(words[k].word) == n && !memcmp(words[k].word, s, n))
				bits |= words[k].bit;
	return bits;
}

static void add_state(struct arm *a, const struct view *v)
{
	static const enum field random[RANDOMS] = { F_state_torch_random, F_state_device_random, F_state_numpy_random, F_state_python_random };
	struct state_fact *s = view_is(v, F_state_at, "start") ? &a->start : &a->stop;

	*s = (struct state_fact){ .seen = true, .count = -1, .schedule = -1, .lr = NAN, .scale = NAN };
	view_int(v, F_state_update, &s->update);
	view_int(v, F_state_optimizer_count, &s->count);
	view_int(v, F_state_schedule_count, &s->schedule);
	view_num(v, F_state_lr, &s->lr);
	view_num(v, F_state_scale, &s->scale);
	view_copy(v, F_state_weights_digest, s->weights, sizeof s->weights);
	view_copy(v, F_state_optimizer_digest, s->optimizer, sizeof s->optimizer);
	view_copy(v, F_state_batch_digest, s->batch, sizeof s->batch);
	for (int i = 0; i < RANDOMS; i++)
		view_copy(v, random[i], s->random[i], sizeof s->random[i]);
}

static void add_load(struct arm *a, const struct view *v)
{
	a->loads++;
	a->restored |= holds_of(v, F_load_restored);
	if (view_int(v, F_load_matched, &a->matched))
		a->missing = -1;
	view_int(v, F_load_missing, &a->missing);
}

/* Blind to validation, say, is no matter here. */
static void add_blind(struct arm *a, const struct view *v)
{
	if (!*a->blind && (view_is(v, F_blind_phase, "all") || view_is(v, F_blind_phase, "update") || view_is(v, F_blind_phase, "backward") || view_is(v, F_blind_phase, "resume")))
		view_copy(v, F_blind_reason, a->blind, sizeof a->blind);
}

/* The rules hold for a short run as for a long one. */
static void judge_too(struct arm *a, const struct view *v)
{
	if (a->judged && !a->watch && v->kind == KIND_run)
		a->watch = watch_new(v, 1);
	else if (a->watch && v->kind != KIND_run)
		watch_see(a->watch, v);
}

static bool take(struct arm *a, const struct view *v)
{
	judge_too(a, v);
	a->began |= v->kind == KIND_run;
	switch (v->kind) {
	case KIND_step:
		return add_step(a, v);
	case KIND_eval:
		return add_eval(a, v);
	case KIND_save:
		return add_save(a, v);
	case KIND_state:
		add_state(a, v);
		return true;
	case KIND_load:
		add_load(a, v);
		return true;
	case KIND_blind:
		add_blind(a, v);
		return true;
	case KIND_end:
		view_copy(v, F_end_status, a->status, sizeof a->status);
		view_copy(v, F_end_why, a->why, sizeof a->why);
		return true;
	default:
		return true;
	}
}

/* Until the trainer has ended by itself. */
static int listen(struct arm *a, struct drive *d, double until, struct why *w)
{
	struct view v;
	double left;
	int rc;

	while ((left = until - clock_seconds()) > 0) {
		rc = drive_next(d, &v, left, w);
		if (rc == -EX_TEMPFAIL && !stop_wanted())
			break;
		if (rc <= 0)
			return rc;
		if (!take(a, &v))
			return why_set(w, EX_OSERR, "replay: %s: more than %d records of a kind, or no memory", a->name, MOST);
	}
	return why_set(w, EX_TEMPFAIL, "replay: %s: the deadline is over", a->name);
}

static int outcome(struct arm *a, struct drive *d, struct why *w)
{
	char *const *line;
	int n = drive_stderr(d, &line);

	if (!strcmp(a->status, "done") || !strcmp(a->status, "stopped"))
		return 0;
	if (*a->status)
		return 1;
	return why_set(w, EX_SOFTWARE, "%s", n ? line[n - 1] : "train-step ended without a word");
}

int arm_run(struct arm *a, struct rec *request, double until, struct why *w)
{
	struct drive *d = NULL;

	a->matched = a->missing = -1;
	int rc = drive_start(&d, a->stranger, false, w);

	if (rc < 0)
		return rc;
	rc = drive_request(d, request, w);
	if (rc == 0) {
		drive_no_more(d);
		rc = listen(a, d, until, w);
	}
	if (rc == 0)
		rc = outcome(a, d, w);
	drive_end(d);
	return rc;
}
