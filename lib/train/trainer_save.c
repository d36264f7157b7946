/* trainer_save.c - a save of the run: its checkpoint, the record of it, and for the first two
 * the phase with what it left untouched. */
#include "trainer.h"

#include <string.h>

static int record_save(struct trainer *t)
{
	const struct checkpoint_facts *f = &t->saved;
	struct rec *r = &t->rec;

	rec_begin(r, KIND_save);
	rec_str(r, F_save_run, t->result->run);
	rec_int(r, F_save_update, t->progress.update);
	rec_str(r, F_save_path, f->path);
	rec_str(r, F_save_digest, f->digest);
	rec_int(r, F_save_bytes, f->bytes);
	rec_num(r, F_save_seconds, f->seconds);
	rec_str(r, F_save_weights_digest, f->weights_digest);
	if (*f->optimizer_digest)
		rec_str(r, F_save_optimizer_digest, f->optimizer_digest);
	rec_num(r, F_save_epoch, tr_plan_epochs(t, t->progress.update));
	return tr_send(t);
}

static int record_phase(struct trainer *t, const struct tr_touch *before)
{
	const struct checkpoint_facts *f = &t->saved;
	struct rec *r = &t->rec;

	tr_phase_record(t, PHASE_SAVE, t->saved_here == 1 ? "first" : "steady");
	rec_int(r, F_phase_tensors, f->weights);
	rec_str(r, F_phase_path, f->path);
	rec_str(r, F_phase_digest, f->digest);
	rec_int(r, F_phase_bytes, f->bytes);
	rec_bool(r, F_phase_complete, true);
	rec_str(r, F_phase_weights_digest, f->weights_digest);
	if (*f->optimizer_digest)
		rec_str(r, F_phase_optimizer_digest, f->optimizer_digest);
	tr_touch_fields(t, before);
	return tr_send(t);
}

/* So that the end record tells what the run was at. */
static int name_phase(struct trainer *t, int rc)
{
	struct why inner = *t->why;

	return strncmp(inner.text, "save: ", 6) ? why_set(t->why, -rc, "save: %.900s", inner.text) : rc;
}

int tr_save_now(struct trainer *t)
{
	struct tr_touch before = { .known = false };
	int rc;

	if (t->saved_here < 2)
		tr_touch_look(t, &before);
	tr_hook(t, "save");
	tr_phase_begin(t, PHASE_SAVE);
	rc = checkpoint_save(t->config.save, t->config.keep, &t->config, &t->progress, t->facts, t->model, t->optim, &t->saved, t->why);
	tr_phase_end(t, PHASE_SAVE, 0);
	if (rc)
		return name_phase(t, rc);
	tr_hook(t, "saved");
	t->last_saved = t->progress.update;
	t->saved_here++;
	if ((rc = record_save(t)) != 0)
		return rc;
	return t->saved_here <= 2 ? record_phase(t, &before) : 0;
}
