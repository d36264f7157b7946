/* trainer.c - the loop: a run from its run record to its end record. */
#include "trainer.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void tr_ending(struct trainer *t, const char *status, const char *fmt, ...)
{
	va_list ap;

	if (t->status)
		return;
	t->status = status;
	va_start(ap, fmt);
	vsnprintf(t->reason, sizeof t->reason, fmt, ap);
	va_end(ap);
}

/* ---- load ---- */

static int record_load(struct trainer *t, int restored)
{
	char digest[72];

	tr_phase_record(t, PHASE_LOAD, "first");
	rec_int(&t->rec, F_phase_tensors, t->params);
	if (restored)
		rec_int(&t->rec, F_phase_restored_tensors, restored);
	if (!t->checkpoint && weights_digest(t->model, digest) == 0)
		rec_str(&t->rec, F_phase_weights_digest, digest);
	return tr_send(t);
}

static int load(struct trainer *t)
{
	char digest[72];
	int restored = 0, rc;

	tr_phase_begin(t, PHASE_LOAD);
	rc = tr_phase_take(t, model_take(t->model, PART_LOAD, t->config.micro_batch, t->length, "load", t->why),
		PHASE_LOAD, t->config.micro_batch, t->length);
	if (rc == 0 && *t->config.weights)
		rc = weights_load(t->config.weights, t->model, &restored, digest, t->why);
	else if (rc == 0 && !t->checkpoint)
		model_init(t->model);
	tr_phase_end(t, PHASE_LOAD, 0);
	if (rc)
		return rc;
	t->params = model_params(t->model, &t->param);
	tr_hook(t, "load");
	if ((rc = record_load(t, restored)) != 0)
		return rc;
	return t->checkpoint ? tr_resume_load(t) : 0;
}

/* ---- the loop ---- */

static void stop_rules(struct trainer *t)
{
	if (t->stop.update > 0 && t->progress.update >= t->stop.update && t->progress.update < t->progress.horizon)
		tr_ending(t, "stopped", "stop rule update=%lld", (long long)t->stop.update);
	else if (clock_seconds() - t->began >= t->stop.seconds && t->progress.update < t->progress.horizon)
		tr_ending(t, "stopped", "stop rule seconds=%g", t->stop.seconds);
}

static void progress(struct trainer *t)
{
	double now = clock_seconds();
	char line[160];

	if (!t->names->progress || now - t->told < 0.5)
		return;
	t->told = now;
	snprintf(line, sizeof line, "update %lld of %lld, loss %.4f, %.3g s an update", (long long)t->progress.update,
		(long long)t->progress.horizon, t->loss, t->update_seconds);
	t->names->progress(line);
}

static bool due(int64_t every, int64_t update)
{
	return every > 0 && update % every == 0;
}

static int validate(struct trainer *t)
{
	int64_t before = t->progress.validations;
	int rc = tr_validate(t);

	if (rc == 0 && t->progress.validations > before && t->progress.last_validation <= t->stop.target)
		tr_ending(t, "done", "target reached: validation loss %g, at most %g was wanted", t->progress.last_validation, t->stop.target);
	return rc;
}

/* A save that is due is made even if the validation before it fails. */
static int after_update(struct trainer *t)
{
	int64_t u = t->progress.update;
	bool last = u >= t->progress.horizon, final;
	int rc = 0, saved = 0;

	stop_rules(t);
	final = t->config.overfit == 0 && (last || t->status);
	if (!stop_wanted() && (final || due(t->config.val_every, u)))
		rc = validate(t);
	if (*t->config.save && !last && !t->status && due(t->config.save_every, u))
		saved = tr_save_now(t);
	return rc ? rc : saved;
}

static int loop(struct trainer *t)
{
	int rc = 0;

	if (t->progress.update >= t->progress.horizon && t->config.overfit == 0)
		rc = validate(t);
	stop_rules(t); /* a run that goes on may be past its rule already */
	while (!rc && !t->status && t->progress.update < t->progress.horizon) {
		if (stop_wanted())
			break;
		rc = tr_update_once(t);
		progress(t);
		if (!rc && !t->status)
			rc = after_update(t);
	}
	return rc;
}

static bool is(const char *status, const char *s)
{
	return status && strcmp(status, s) == 0;
}

/* What is new since the newest file is saved however the run ended, but for a divergence:
 * there the last good checkpoint stays the newest. */
static int final_save(struct trainer *t)
{
	if (!*t->config.save || t->progress.update <= t->last_saved || is(t->status, "diverged"))
		return 0;
	return tr_save_now(t);
}

static void settle(struct trainer *t, int rc)
{
	if (rc < 0)
		tr_ending(t, "error", "%s", t->why->text);
	else if (stop_wanted() == SIGPIPE)
		tr_ending(t, "stopped", "the reader of the records has gone away");
	else if (stop_wanted())
		tr_ending(t, "stopped", "signal %d (%s)", stop_wanted(), strsignal(stop_wanted()));
	tr_ending(t, "done", "%s", "");
	if (is(t->status, "oom") || is(t->status, "diverged"))
		t->result->code = EX_NO;
	else if (rc < 0)
		t->result->code = code_worst(t->result->code, -rc);
	snprintf(t->result->status, sizeof t->result->status, "%s", t->status);
	snprintf(t->result->why, sizeof t->result->why, "%s", t->reason);
	t->result->signal = stop_wanted();
}

/* The saved run's scores; only of a run that came to its end, and never of a probe's trial or a
 * replay: the test split is scored once, by the run that is the user's. */
static int scores(struct trainer *t)
{
	const char *role = t->names->role;

	if (stop_wanted() || (t->status && !is(t->status, "done")) || (role && !is(role, "train")))
		return 0;
	return t->config.overfit > 0 ? tr_overfit(t) : tr_test(t);
}

static int train(struct trainer *t)
{
	int rc, after;

	if ((rc = tr_record_plan(t)) != 0 || (rc = load(t)) != 0)
		return rc;
	rc = loop(t);
	if (rc)
		tr_ending(t, "error", "%s", t->why->text);
	after = final_save(t);
	if (!rc && after)
		t->status = NULL; /* whatever ended it: its last state is not on disk, and that is told instead */
	if (rc || after)
		return rc ? rc : after;
	rc = scores(t);
	if (!rc && !stop_wanted())
		tr_ending(t, "done", "%s", "");
	return rc;
}

static int whole_run(struct trainer *t)
{
	int rc, after;

	t->began = clock_seconds();
	tr_hook(t, "open");
	rc = tr_record_run(t);
	if (!rc && t->torn > 0)
		rc = tr_record_torn(t);
	if (!rc)
		rc = t->names->show > 0 ? tr_show_examples(t, t->names->show) : train(t);
	tr_hook(t, "end");
	settle(t, rc);
	after = tr_record_end(t);
	if (after) {
		t->result->code = code_worst(t->result->code, -after);
		rc = rc ? rc : after;
	}
	return rc;
}

int trainer_run(const struct config *c, const struct run_names *names, const struct trainer_hooks *h, struct out *o,
	struct outcome *result, struct why *w)
{
	struct trainer *t = calloc(1, sizeof *t);
	struct why here;
	int rc;

	memset(result, 0, sizeof *result);
	if (!t)
		return why_set(w, EX_OSERR, "start: no memory on the host");
	t->names = names;
	t->hooks = h;
	t->out = o;
	t->result = result;
	t->why = w ? w : &here;
	if ((rc = tr_open(t, c)) == 0)
		rc = whole_run(t);
	tr_close(t);
	free(t);
	return rc;
}
