/* trainer_resume.c - a run that goes on: which settings come from the checkpoint and which from
 * this command, whether they contradict, and everything restored. */
#include "trainer.h"

#include <stdlib.h>
#include <string.h>

/* Of this process alone: never taken from the checkpoint. A folder is written to, and a rule
 * stops the run, only if this command says so. */
static bool of_process(enum option o)
{
	return o == O_save || o == O_resume || o == O_weights || o == O_stop || o == O_memory_bytes || o == O_threads || o == O_device;
}

/* May differ from the checkpoint's: they do not change what is trained. */
static bool may_differ(enum option o)
{
	return o == O_save_every || o == O_keep || o == O_val_every || o == O_val_length || o == O_val_micro_batch || o == O_val_examples;
}

static bool of_budget(enum option o)
{
	return o == O_updates || o == O_examples || o == O_epochs;
}

/* Keys whose value is a file: what is in it is compared by digest, wherever it lies. */
static bool names_file(const char *key)
{
	static const char *const keys[] = { "file", "val-file", "test-file", "images", "labels", "test-images", "test-labels", "names" };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strcmp(keys[i], key) == 0)
			return true;
	return false;
}

static bool same_value(const char *a, const char *b)
{
	double x, y;

	if (strcmp(a, b) == 0)
		return true;
	return num_float(a, "", -1e300, 1e300, &x, NULL) == 0 && num_float(b, "", -1e300, 1e300, &y, NULL) == 0 && x == y;
}

static const struct spec_pair *pair_of(const struct spec *s, const char *key)
{
	for (int i = 0; i < s->n; i++)
		if (strcmp(s->pair[i].key, key) == 0)
			return &s->pair[i];
	return NULL;
}

static bool same_pairs(const struct spec *a, const struct spec *b)
{
	if (strcmp(a->kind, b->kind) != 0 || a->n != b->n)
		return false;
	for (int i = 0; i < a->n; i++) {
		const struct spec_pair *other = pair_of(b, a->pair[i].key);

		if (!other || !(names_file(other->key) || same_value(a->pair[i].value, other->value)))
			return false;
	}
	return true;
}

/* "adamw:lr=1e-3,beta1=0.9" is "adamw:beta1=.9,lr=0.001". */
static bool same_spec(const char *a, const char *b)
{
	struct spec x = { 0 }, y = { 0 };
	bool same = false;

	if (spec_parse(&x, a, NULL) == 0) {
		if (spec_parse(&y, b, NULL) == 0)
			same = same_pairs(&x, &y);
		spec_free(&y);
	}
	spec_free(&x);
	return same;
}

static bool same_setting(enum option o, const char *a, const char *b)
{
	if (strcmp(a, b) == 0)
		return true;
	return (o == O_model || o == O_data || o == O_optimizer || o == O_schedule) && same_spec(a, b);
}

static int text_of(const struct config *c, enum option o, struct buf *b)
{
	b->n = 0;
	return config_get(c, o, b) || buf_add(b, "", 1) ? -EX_OSERR : 0;
}

/* One setting that this command names: taken, found equal, or refused. */
static int merge_one(struct trainer *t, const struct config *c, enum option o, struct buf *ours, struct buf *theirs)
{
	const struct option_info *info = option_info(o);
	const char *now, *then;

	if (text_of(c, o, ours) || text_of(&t->config, o, theirs))
		return why_set(t->why, EX_OSERR, "resume: no memory");
	now = (char *)ours->p;
	then = (char *)theirs->p;
	if (of_process(o) || may_differ(o))
		return strcmp(now, then) ? config_set(&t->config, o, now, t->why) : 0;
	if (same_setting(o, now, then))
		return o == O_data ? config_set(&t->config, o, now, t->why) : 0;
	return why_set(t->why, EX_USAGE, "resume: --%s: the checkpoint %s has \"%s\", this command names \"%s\"; "
		"leave it out, or start a run of its own with --weights", info->option, t->checkpoint_path, then, now);
}

/* A budget that is named takes the place of the checkpoint's, whichever of the three it was. */
static int merge_budget(struct trainer *t, const struct config *c)
{
	if (!(config_given(c, O_updates) && c->updates > 0) && !(config_given(c, O_examples) && c->examples > 0) &&
		!(config_given(c, O_epochs) && c->epochs > 0))
		return 0;
	t->config.updates = c->updates;
	t->config.examples = c->examples;
	t->config.epochs = c->epochs;
	return 0;
}

static int merge(struct trainer *t, const struct config *c)
{
	struct buf ours = { 0 }, theirs = { 0 };
	int rc = config_copy(&t->config, checkpoint_config(t->checkpoint)) ? why_set(t->why, EX_OSERR, "resume: no memory") : 0;

	for (enum option o = 0; o < OPTIONS && !rc; o++)
		if (!of_budget(o) && (of_process(o) || config_given(c, o)))
			rc = merge_one(t, c, o, &ours, &theirs);
	buf_free(&ours);
	buf_free(&theirs);
	return rc ? rc : merge_budget(t, c);
}

int tr_resume_open(struct trainer *t, const struct config *c)
{
	int rc;

	if ((t->torn = checkpoint_find(c->resume, t->checkpoint_path, sizeof t->checkpoint_path, t->why)) < 0)
		return t->torn;
	if (t->torn > 0)
		t->torn_why = *t->why;
	if ((rc = checkpoint_open(&t->checkpoint, t->checkpoint_path, t->why)) != 0)
		return rc;
	t->progress = *checkpoint_progress(t->checkpoint);
	t->last_saved = t->progress.update;
	if ((rc = merge(t, c)) != 0)
		return rc;
	return sha_file(t->checkpoint_path, t->weights_file_digest, NULL, t->why);
}

int tr_resume_budget(struct trainer *t)
{
	int64_t then = t->progress.horizon, now = tr_plan_horizon(&t->config, &t->order, t->why);
	struct schedule s;
	int rc;

	if (now < 0)
		return now;
	if ((rc = schedule_parse(&s, t->config.schedule, then, t->why)) != 0)
		return rc;
	if (now == then)
		return 0;
	if (schedule_decays(&s))
		return why_set(t->why, EX_USAGE, "resume: the budget is %lld updates in %s and %lld in this command; "
			"the rates of --schedule %s depend on it, so it cannot change",
			(long long)then, t->checkpoint_path, (long long)now, t->config.schedule);
	if (now < t->progress.update)
		return why_set(t->why, EX_USAGE, "resume: the budget of %lld updates is less than the %lld that %s holds",
			(long long)now, (long long)t->progress.update, t->checkpoint_path);
	t->progress.horizon = now;
	return 0;
}

/* ---- after the run record ---- */

static int record_phase(struct trainer *t, const struct checkpoint_facts *f)
{
	struct rec *r = &t->rec;

	tr_phase_record(t, PHASE_RESUME, "first");
	rec_int(r, F_phase_tied_apart, model_tied_apart(t->model));
	rec_str(r, F_phase_path, f->path);
	rec_str(r, F_phase_digest, f->digest);
	rec_int(r, F_phase_bytes, f->bytes);
	rec_str(r, F_phase_weights_digest, f->weights_digest);
	if (*f->optimizer_digest)
		rec_str(r, F_phase_optimizer_digest, f->optimizer_digest);
	rec_int(r, F_phase_restored_tensors, f->weights);
	rec_int(r, F_phase_restored_optimizer, f->states);
	rec_int(r, F_phase_restored_update, t->progress.update);
	return tr_send(t);
}

/* A fault that changed what was restored shows in these digests. */
static int look_again(struct trainer *t, struct checkpoint_facts *f)
{
	if (weights_digest(t->model, f->weights_digest) || optimizer_digest(t->model, t->optim, f->optimizer_digest))
		return why_set(t->why, EX_OSERR, "resume: no memory for a digest");
	return 0;
}

int tr_resume_load(struct trainer *t)
{
	struct checkpoint_facts f;
	int rc;

	tr_phase_begin(t, PHASE_RESUME);
	rc = tr_phase_take(t, optim_take(t->optim, t->dev, t->param, t->params, "resume", t->why),
		PHASE_RESUME, t->config.micro_batch, t->length);
	if (rc == 0)
		rc = checkpoint_load(t->checkpoint, t->model, t->optim, &f, t->why);
	tr_phase_end(t, PHASE_RESUME, 0);
	if (rc)
		return rc;
	tr_hook(t, "resume");
	if ((rc = look_again(t, &f)) != 0)
		return rc;
	return record_phase(t, &f);
}
