/* trainer_records.c - the records of a run itself: what it is, each update, how it ended. */
#include "trainer.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A reader that has gone away is a request to stop, not an error of the run's. */
int tr_send(struct trainer *t)
{
	struct why here;
	int rc = out_rec(t->out, &t->rec, &here);

	if (rc == 0)
		return 0;
	if (out_broken(t->out)) {
		stop_request(SIGPIPE);
		return 0;
	}
	if (t->why)
		*t->why = here;
	return rc;
}

int tr_record_torn(struct trainer *t)
{
	char text[1200];

	snprintf(text, sizeof text, "resume: passed over %d newer file%s that cannot be read: %s", t->torn, t->torn == 1 ? "" : "s", t->torn_why.text);
	rec_begin(&t->rec, KIND_note);
	rec_str(&t->rec, F_note_run, t->result->run);
	rec_str(&t->rec, F_note_text, text);
	rec_str(&t->rec, F_note_author, "train-step");
	return tr_send(t);
}

/* ---- run ---- */

static void host_fields(struct trainer *t)
{
	char text[4096], revision[64], *device[1] = { (char *)dev_name(t->dev) };
	struct rec *r = &t->rec;
	bool dirty;

	if (getcwd(text, sizeof text))
		rec_str(r, F_run_cwd, text);
	rec_str(r, F_run_version, PILOT_VERSION);
	host_revision(".", revision, &dirty);
	if (*revision) {
		rec_str(r, F_run_revision, revision);
		rec_bool(r, F_run_dirty, dirty);
	}
	host_name(text);
	rec_str(r, F_run_host, text);
	host_cpu(text);
	rec_str(r, F_run_cpu, text);
	rec_int(r, F_run_cores, host_cores());
	rec_str(r, F_run_blas, dev_blas(t->dev));
	rec_strs(r, F_run_devices, device, 1);
	rec_bool(r, F_run_deterministic, dev_deterministic(t->dev));
	rec_int(r, F_run_replicas, 1);
}

static void data_fields(struct trainer *t)
{
	const struct data_facts *d = t->facts;
	struct rec *r = &t->rec;

	rec_int(r, F_run_parameters, model_numbers(t->model, false));
	rec_int(r, F_run_trainable_parameters, model_numbers(t->model, true));
	rec_int(r, F_run_classes, d->classes);
	if (d->names > 0)
		rec_strs(r, F_run_class_names, d->name, d->names);
	rec_strs(r, F_run_data_digests, d->digest, d->files);
	rec_strs(r, F_run_data_provenance, d->provenance, d->files);
	rec_str(r, F_run_split_rule, d->rule);
	rec_int(r, F_run_train_examples, d->count[TRAIN]);
	rec_int(r, F_run_validation_examples, d->count[VALIDATION]);
	rec_int(r, F_run_test_examples, d->count[TEST]);
}

static void start_fields(struct trainer *t)
{
	struct rec *r = &t->rec;

	if (t->checkpoint) {
		rec_str(r, F_run_weights_provenance, t->checkpoint_path);
		rec_str(r, F_run_resumed_run, checkpoint_progress(t->checkpoint)->run);
		rec_int(r, F_run_resumed_update, t->progress.update);
		rec_str(r, F_run_resumed_digest, t->weights_file_digest);
	} else if (*t->config.weights) {
		rec_str(r, F_run_weights_provenance, t->config.weights);
		rec_str(r, F_run_weights_digest, t->weights_file_digest);
	} else {
		rec_str(r, F_run_weights_provenance, "initialised");
	}
}

static void budget_fields(struct trainer *t)
{
	const struct config *c = &t->config;
	struct rec *r = &t->rec;

	rec_int(r, F_run_effective_batch, c->micro_batch * c->accum);
	rec_str(r, F_run_budget, c->updates > 0 ? "updates" : c->examples > 0 ? "examples" : "epochs");
	rec_int(r, F_run_planned_updates, t->progress.horizon);
	rec_int(r, F_run_planned_examples, order_examples_before(&t->order, t->progress.horizon));
	rec_num(r, F_run_planned_epochs, tr_plan_epochs(t, t->progress.horizon));
	rec_num(r, F_run_updates_per_epoch, t->upe);
}

/* Of what decides whether a micro-batch fits and how fast it is, the micro-batch itself left out. */
static void fingerprint_field(struct trainer *t)
{
	const struct config *c = &t->config;
	struct buf b = { 0 };
	unsigned char raw[32];
	char hex[65], text[72], cpu[256];

	host_cpu(cpu);
	if (buf_printf(&b, "%s|%.*s|%s|%s|%lld|%lld|%lld|%lld|%g|%s|%s|%s|%d|%s", c->model, (int)strcspn(c->optimizer, ":"),
		    c->optimizer, c->precision, c->freeze, (long long)t->facts->classes, (long long)t->length, (long long)t->val_length,
		    (long long)c->val_micro_batch, c->dropout, dev_name(t->dev), cpu, dev_blas(t->dev), dev_threads(t->dev),
		    PILOT_VERSION) == 0 &&
		sha_of(b.p, b.n, raw) == 0) {
		sha_hex(raw, hex);
		snprintf(text, sizeof text, "sha256:%s", hex);
		rec_str(&t->rec, F_run_fingerprint, text);
	}
	buf_free(&b);
}

void tr_name_fields(struct rec *r, const char *run, const struct run_names *n)
{
	int args = 0;

	rec_str(r, F_run_run, run);
	rec_str(r, F_run_role, n->role ? n->role : "train");
	rec_str(r, F_run_request, n->request);
	rec_str(r, F_run_parent, n->parent);
	rec_str(r, F_run_repeats, n->repeats);
	rec_str(r, F_run_comparison, n->comparison);
	rec_str(r, F_run_arm, n->arm);
	rec_str(r, F_run_trainer, n->trainer ? n->trainer : "builtin");
	while (n->argv && n->argv[args])
		args++;
	if (args)
		rec_strs(r, F_run_argv, n->argv, args);
}

int tr_record_run(struct trainer *t)
{
	rec_begin(&t->rec, KIND_run);
	tr_name_fields(&t->rec, t->result->run, t->names);
	config_to_rec(&t->config, &t->rec);
	host_fields(t);
	data_fields(t);
	start_fields(t);
	budget_fields(t);
	fingerprint_field(t);
	return tr_send(t);
}

/* ---- step ---- */

int tr_record_step(struct trainer *t, bool skipped)
{
	const struct progress *p = &t->progress;
	const struct measure *m = t->measure;
	struct rec *r = &t->rec;

	rec_begin(r, KIND_step);
	rec_str(r, F_step_run, t->result->run);
	rec_int(r, F_step_update, p->update);
	rec_num(r, F_step_epoch, tr_plan_epochs(t, p->update));
	rec_int(r, F_step_examples, p->examples);
	rec_int(r, F_step_tokens, p->tokens);
	rec_num(r, F_step_loss, t->loss);
	rec_num(r, F_step_lr, t->rate);
	if (!skipped || t->gradient_norm != 0) {
		rec_num(r, F_step_gradient_norm, t->gradient_norm);
		rec_bool(r, F_step_clipped, t->scale < 1);
	}
	rec_int(r, F_step_rows, t->count);
	rec_int(r, F_step_supervised, t->supervised);
	rec_int(r, F_step_passes, t->passes);
	if (skipped)
		rec_bool(r, F_step_skipped, true);
	rec_str(r, F_step_batch_digest, t->batch_digest);
	rec_num(r, F_step_seconds, t->update_seconds);
	rec_num(r, F_step_data_seconds, m[PHASE_DATA].seconds);
	rec_num(r, F_step_forward_seconds, m[PHASE_FORWARD].seconds);
	rec_num(r, F_step_backward_seconds, m[PHASE_BACKWARD].seconds);
	rec_num(r, F_step_update_seconds, m[PHASE_UPDATE].seconds);
	return tr_send(t);
}

/* ---- end ---- */

static void end_totals(struct trainer *t)
{
	const struct progress *p = &t->progress;
	struct rec *r = &t->rec;

	rec_int(r, F_end_updates, p->update);
	rec_int(r, F_end_examples, p->examples);
	rec_int(r, F_end_tokens, p->tokens);
	rec_num(r, F_end_epochs, t->upe ? tr_plan_epochs(t, p->update) : 0);
	rec_int(r, F_end_dropped_examples, p->dropped);
	rec_int(r, F_end_skipped_updates, p->skipped);
	rec_num(r, F_end_seconds, clock_seconds() - t->began);
	rec_num(r, F_end_training_seconds, p->training_seconds);
	if (p->training_seconds > 0) {
		rec_num(r, F_end_examples_per_second, p->examples / p->training_seconds);
		rec_num(r, F_end_tokens_per_second, p->tokens / p->training_seconds);
	}
}

static void end_scores(struct trainer *t)
{
	const struct progress *p = &t->progress;
	struct rec *r = &t->rec;

	if (t->attempted_here > 0)
		rec_num(r, F_end_loss, t->loss);
	if (p->validations > 0) {
		rec_num(r, F_end_validation_loss, p->last_validation);
		rec_num(r, F_end_best_validation_loss, p->best_validation);
		rec_int(r, F_end_best_update, p->best_update);
		rec_int(r, F_end_validations, p->validations);
	}
	if (t->validated_here > 0)
		rec_num(r, F_end_validation_accuracy, t->val_accuracy);
	if (t->tested) {
		rec_num(r, F_end_test_loss, t->test_loss);
		rec_num(r, F_end_test_accuracy, t->test_accuracy);
	}
	if (t->exact && (t->validated_here > 0 || t->tested))
		rec_bool(r, F_end_exact_match, true);
	if (t->overfit_seen > 0) {
		rec_int(r, F_end_overfit_recovered, t->recovered);
		rec_int(r, F_end_overfit_examples, t->overfit_seen);
	}
}

static void end_memory(struct trainer *t)
{
	struct rec *r = &t->rec;

	if (t->allocated_peak > 0) {
		rec_int(r, F_end_allocated_peak_bytes, t->allocated_peak);
		rec_int(r, F_end_reserved_peak_bytes, t->reserved_peak);
		rec_int(r, F_end_device_used_peak_bytes, t->used_peak);
		rec_str(r, F_end_peak_phase, tr_phase_name(t->peak_phase));
	}
	if (*t->kernel_limit)
		rec_str(r, F_end_kernel_limit, t->kernel_limit);
	if (strcmp(t->status, "oom") != 0)
		return;
	rec_str(r, F_end_oom_phase, tr_phase_name(t->oom_phase));
	rec_int(r, F_end_asked_bytes, t->oom_facts.asked);
	rec_int(r, F_end_allocated_bytes, t->oom_facts.allocated);
	rec_int(r, F_end_budget_bytes, t->oom_facts.budget);
	rec_str(r, F_end_input, t->oom_input);
}

int tr_record_end(struct trainer *t)
{
	rec_begin(&t->rec, KIND_end);
	rec_str(&t->rec, F_end_run, t->result->run);
	rec_str(&t->rec, F_end_status, t->status);
	if (*t->reason)
		rec_str(&t->rec, F_end_why, t->reason);
	end_totals(t);
	end_scores(t);
	end_memory(t);
	return tr_send(t);
}

int trainer_refuse(const struct run_names *names, const struct why *reason, struct out *o, struct outcome *result, struct why *w)
{
	struct rec r = { 0 };
	int rc;

	memset(result, 0, sizeof *result);
	ulid_new(result->run);
	snprintf(result->status, sizeof result->status, "error");
	snprintf(result->why, sizeof result->why, "%s", reason->text);
	result->code = reason->code;
	rec_begin(&r, KIND_run);
	tr_name_fields(&r, result->run, names);
	rec_str(&r, F_run_version, PILOT_VERSION);
	if ((rc = out_rec(o, &r, w)) == 0) {
		rec_begin(&r, KIND_end);
		rec_str(&r, F_end_run, result->run);
		rec_str(&r, F_end_status, "error");
		rec_str(&r, F_end_why, reason->text);
		rec_int(&r, F_end_updates, 0);
		rc = out_rec(o, &r, w);
	}
	rec_free(&r);
	return rc;
}
