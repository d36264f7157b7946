/* faults-state.c - validation that is no validation, saves that are torn, state that does not come back. */
#include "faults.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is(const char *point, const char *name)
{
	return !strcmp(point, name);
}

/* ---- validation ---- */

static void mean_of_means(const char *point)
{
	struct validation *v = trainer_validation(scene.t);
	struct forward *f = trainer_forward(scene.t);

	if (is(point, "validate"))
		scene.means = scene.batches = 0;
	if (is(point, "val-pass") && f->supervised > 0) {
		scene.means += f->loss_sum / (double)f->supervised;
		scene.batches++;
	}
	if (is(point, "validated") && scene.batches)
		v->loss_sum = scene.means / scene.batches * (double)v->supervised;
}

static void last_batch(const char *point)
{
	struct validation *v = trainer_validation(scene.t);

	if (is(point, "validate") && fault("V3-last-batch-dropped"))
		v->examples -= v->examples % v->micro_batch;
	if (is(point, "val-batch") && fault("V3-first-batch-again") && v->next > 0) {
		struct batch *b = trainer_batch(scene.t);

		for (int64_t i = 0; i < b->rows; i++)
			b->index[i] = i;
	}
}

static void move_a_weight(void)
{
	int n;
	struct param *p = trained(&n);

	p[0].w[0] += 0.125f;
}

static void faults_validation(const char *point)
{
	struct validation *v = trainer_validation(scene.t);

	last_batch(point);
	if (fault("V5-mean-of-means"))
		mean_of_means(point);
	if (fault("V1-training-mode") && is(point, "validate"))
		v->train_mode = true;
	if (fault("V1-not-restored") && is(point, "validated"))
		*trainer_training(scene.t) = false;
	if (fault("V2-weights-touched") && is(point, "validated"))
		move_a_weight();
}

/* ---- saves ---- */

/* A byte of the file changes after it was written. */
static void flip(const char *path)
{
	int fd = open(path, O_RDWR);
	off_t end = lseek(fd, 0, SEEK_END);
	char c = 0;

	if (pread(fd, &c, 1, end - 9) == 1) {
		c ^= 1;
		(void)!pwrite(fd, &c, 1, end - 9);
	}
	close(fd);
}

/* The writer itself wrote less than the header says, and digested that. */
static void shorten(struct checkpoint_facts *f)
{
	int64_t bytes;

	(void)!truncate(f->path, (off_t)f->bytes - 4);
	(void)!sha_file(f->path, f->digest, &bytes, NULL);
	f->bytes = bytes;
}

static void faults_saves(const char *point)
{
	struct optim *o = trainer_optim(scene.t);
	struct buf scalars = { 0 };

	if (fault("C7-short") && is(point, "saved"))
		shorten(trainer_saved(scene.t));
	if (fault("C-bit-flipped") && is(point, "saved"))
		flip(trainer_saved(scene.t)->path);
	if (fault("C-gone") && is(point, "saved"))
		unlink(trainer_saved(scene.t)->path);
	if (fault("C-save-moves-weights") && is(point, "saved"))
		move_a_weight();
	if (!fault("C3-torn") || (!is(point, "save") && !is(point, "saved")))
		return;
	if (optim_scalars(o, &scalars) == 0 && buf_add(&scalars, "", 1) == 0)
		(void)!optim_restore(o, optim_count(o) + (is(point, "save") ? 1 : -1), (char *)scalars.p, NULL);
	buf_free(&scalars);
}

/* ---- resume ---- */

static void forget(const char *slot, bool all)
{
	struct optim *o = trainer_optim(scene.t);
	int n;
	struct param *p = trained(&n);

	for (int s = 0; s < optim_slots(o); s++)
		for (int i = 0; i < n; i++)
			if (optim_state(o, i, s) && (all || (i == n - 1 && !strcmp(optim_slot_name(o, s), slot))))
				memset(optim_state(o, i, s), 0, (size_t)p[i].count * sizeof(float));
}

static void cold_count(void)
{
	struct optim *o = trainer_optim(scene.t);
	struct buf scalars = { 0 };

	if (optim_scalars(o, &scalars) == 0 && buf_add(&scalars, "", 1) == 0)
		(void)!optim_restore(o, 0, (char *)scalars.p, NULL);
	buf_free(&scalars);
}

/* Random numbers of dropout are keyed by a row's place in the run. */
static void other_random(void)
{
	int n;
	struct batch *b = trainer_window(scene.t, &n);

	for (int k = 0; k < n; k++)
		for (int64_t i = 0; i < b[k].rows; i++)
			b[k].key[i] += 1000000;
}

/* Was the checkpoint itself saved by a run that had resumed? */
static bool second_resume(void)
{
	struct checkpoint *c;
	bool again = false;

	if (checkpoint_open(&c, trainer_config(scene.t)->resume, NULL) < 0)
		return false;
	again = strcmp(checkpoint_progress(c)->run, checkpoint_progress(c)->lineage) != 0;
	checkpoint_close(c);
	return again;
}

static void faults_resume(const char *point)
{
	struct progress *p = trainer_progress(scene.t);

	if (is(point, "window") && scene.resumed_at >= 0 && fault("R2-random-not-restored"))
		other_random();
	if (is(point, "window") && scene.resumed_at >= 0 && fault("R2-reseeded-later") && p->update > scene.resumed_at)
		other_random();
	if (!is(point, "resume"))
		return;
	scene.resumed_at = p->update;
	if (fault("R3-second-resume") && second_resume())
		p->update++;
	if (fault("R4-one-too-high"))
		p->update++;
	if (fault("R4-one-too-low"))
		p->update--;
	if (fault("R6-optimizer-cold"))
		forget("", true);
	if (fault("R6-one-tensor-cold"))
		forget("exp_avg_sq", false);
	if (fault("R6-count-cold"))
		cold_count();
	if (fault("R11-nothing-loaded"))
		model_init(trainer_model(scene.t));
	if (fault("R-weight-lost"))
		move_a_weight();
}

void faults_state(const char *point)
{
	faults_validation(point);
	faults_saves(point);
	faults_resume(point);
}
