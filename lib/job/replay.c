/* replay.c - resume, proven by doing it: the run that went on (A) against new processes from its
 * checkpoint (B, and B resumed once more) bit by bit, and a cold start from the weights alone (C), which
 * must differ. Stop points are hard ones: training is cut to a few examples so that epochs end within
 * the window, and validations lie on both sides. D is C with micro-batches cut otherwise. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay.h"

static void progress(const struct replay *x, const char *what)
{
	char line[128];

	snprintf(line, sizeof line, "replaying run %s: %s", x->run->id, what);
	if (x->settings->progress)
		x->settings->progress(line);
}

/* ---- an arm ---- */

int replay_config(struct replay *x, struct arm *a, const struct config *c, struct why *w)
{
	struct rec q = { 0 };
	int rc;

	progress(x, a->name);
	arm_request(&q, x->run->id);
	config_to_rec(c, &q);
	rc = arm_run(a, &q, x->until, w);
	rec_free(&q);
	return rc;
}

/* The device, its budget and the threads are a process's own; everything else comes from the checkpoint. */
static int run_resumed(struct replay *x, struct arm *a, const char *file, const char *dir, int64_t stop, bool whole, struct why *w)
{
	struct rec q = { 0 };
	char rule[64];
	int rc;

	progress(x, a->name);
	snprintf(rule, sizeof rule, "update=%lld", (long long)stop);
	arm_request(&q, x->run->id);
	rec_str(&q, F_request_resume, file);
	rec_str(&q, F_request_save, dir);
	rec_str(&q, F_request_stop, rule);
	rec_str(&q, F_request_device, x->config.device);
	rec_int(&q, F_request_threads, x->config.threads);
	rec_int(&q, F_request_memory_bytes, x->config.memory_bytes);
	if (whole) { /* a user's checkpoint: what would take long and proves nothing here is left out */
		rec_int(&q, F_request_val_every, 0);
		rec_int(&q, F_request_val_examples, 1);
		rec_int(&q, F_request_save_every, 0);
		rec_int(&q, F_request_keep, 0);
	}
	rc = arm_run(a, &q, x->until, w);
	rec_free(&q);
	return rc;
}

/* ---- what an arm that did not run means ---- */

static void lacks(struct replay *x, const struct arm *a, int rc, const struct why *w)
{
	if (rc == 1)
		find_lack(x->into, G_RESUME, "the replay did not get through: %s: status %s%s%s", a->name, a->status, *a->why ? ": " : "", a->why);
	else
		find_lack(x->into, G_RESUME, "the replay did not get through: %s: %s", a->name, w->text);
}

/* A save that fails in a replay fails in the gate's own folder: the disk is full, or the like. */
static bool no_chance(const struct arm *a)
{
	return !strcmp(a->status, "oom") || !strncmp(a->why, "save: ", strlen("save: "));
}

/* A resumed arm that ends badly where the run went on is a fault of resuming, unless it had no chance. */
static void broken(struct replay *x, const struct arm *a, int rc, const struct why *w)
{
	if (rc == 1 && !no_chance(a))
		find_fail(x->into, G_RESUME, NULL, "%s: status %s%s%s", a->name, a->status, *a->why ? ": " : "", a->why);
	else if (rc == -EX_SOFTWARE && a->began)
		find_fail(x->into, G_RESUME, NULL, "%s: %s", a->name, w->text);
	else
		lacks(x, a, rc, w);
}

/* ---- B and B again ---- */

/* One process from a checkpoint of update k up to m, against a. 0: the same way. */
static int resume_once(struct replay *x, const struct arm *a, struct arm *b, const char *file, const char *dir, int64_t k, int64_t m, bool whole)
{
	struct why w = { 0 };
	char say[600];
	int rc = run_resumed(x, b, file, dir, m, whole, &w);

	if (rc)
		broken(x, b, rc, &w);
	else if ((rc = arms_differ(a, b, k + 1, m, say, sizeof say)))
		find_fail(x->into, G_RESUME, NULL, "%s at update %lld: %s", b->name, (long long)k, say);
	return rc;
}

/* From a's checkpoint at k to m, and from what that left in yet another process to end. */
static int resume_twice(struct replay *x, const struct arm *a, const char *file, int64_t k, int64_t m, int64_t end, bool whole, const char *tag)
{
	struct arm b = { .name = "resumed" }, b2 = { .name = "resumed once more" };
	char dir[4200];
	const struct save_fact *s;
	int rc;

	snprintf(dir, sizeof dir, "%s/%s-b", x->temp.dir, tag);
	rc = resume_once(x, a, &b, file, dir, k, m, whole);
	if (!rc && m < end && (s = arm_save(&b, m))) {
		snprintf(dir, sizeof dir, "%s/%s-b2", x->temp.dir, tag);
		rc = resume_once(x, a, &b2, s->path, dir, m, end, whole);
	} else if (!rc && m < end) {
		find_fail(x->into, G_RESUME, NULL, "resumed at update %lld: it saved nothing at update %lld", (long long)k, (long long)m);
		rc = 1;
	}
	arm_free(&b);
	arm_free(&b2);
	return rc;
}

/* ---- C ---- */

static int cold_start(struct replay *x, const struct arm *a, const char *file, int64_t k, bool split, char *say, size_t n)
{
	struct arm c = { .name = "a cold start" };
	struct config cold;
	struct why w = { 0 };
	int rc = settings_short(&cold, x, &(struct cut){ 1, 1, "", file }, &w);

	if (rc < 0) {
		lacks(x, &c, rc, &w);
		return rc;
	}
	rc = settings_unequal(&cold, &w);
	if (rc == 0)
		rc = replay_config(x, &c, &cold, &w);
	if (rc)
		lacks(x, &c, rc, &w);
	else if (!cold_differs(a, k + 1, &c, say, n)) {
		find_lack(x->into, G_RESUME, "%s: the trajectory proves nothing", say);
		rc = 1;
	} else if (split) {
		replay_split(x, &c, &cold);
	}
	arm_free(&c);
	config_free(&cold);
	return rc;
}

/* ---- the run's own checkpoint ---- */

/* The newest save whose file is whole and behind which the run went on. */
static struct save_fact *usable_save(struct watch *r)
{
	struct save_fact *best = NULL;

	for (int i = 0; i < WATCH_SAVES; i++)
		if (r->save[i].path && r->save[i].steps > 0 && (!best || r->save[i].update > best->update))
			best = &r->save[i];
	return best;
}

/* The window's end: at a later save if there is one in it, whose digests can then be compared. */
static int64_t window_end(const struct watch *r, const struct save_fact *s)
{
	int64_t last = s->update + s->steps, end = -1;

	for (int i = 0; i < WATCH_SAVES; i++)
		if (r->save[i].path && r->save[i].update > s->update && r->save[i].update <= last && r->save[i].update > end)
			end = r->save[i].update;
	return end > 0 ? end : last;
}

static void own_checkpoint(struct replay *x)
{
	struct save_fact *s = usable_save(x->run);
	int64_t end, middle;
	char cold[300];

	if (!s)
		return;
	end = window_end(x->run, s);
	middle = s->update + (end - s->update + 1) / 2;
	/* The stream is the arm that went on: its updates, and its saves with their digests. */
	struct arm a = { .name = "the run", .step = s->after, .steps = s->steps, .save = x->run->save, .saves = WATCH_SAVES };
	if (resume_twice(x, &a, s->path, s->update, middle, end, true, "own") || cold_start(x, &a, s->path, s->update, false, cold, sizeof cold))
		return;
	find_say(x->into, G_RESUME, "from its own checkpoint of update %lld: updates %lld-%lld bitwise equal to the run that went on (count, rate, batch digests, losses, gradient norms%s); resumed %s; %s", (long long)s->update, (long long)s->update + 1, (long long)end, arm_save(&a, end) ? ", weights, optimizer" : "", middle < end ? "twice" : "once", cold);
}

/* ---- hard stop points ---- */

static void check_saved(struct replay *x, const struct arm *a)
{
	struct why w = { 0 };

	for (int64_t i = 0; i < a->saves; i++) {
		int rc = saved_file(a->save[i].path, a->save[i].digest, x->run->save_tensors, a->save[i].update, &w);

		if (rc < 0)
			find_fail(x->into, G_SAVE, NULL, "in a replay: %s", w.text);
		else if (rc)
			find_fail(x->into, G_SAVE, NULL, "in a replay: %s: is not there", a->save[i].path);
		else
			(*x->files)++;
	}
}

/* Where in its epoch an update of the short run stands. */
static const char *place(const struct replay *x, int64_t update)
{
	struct order o = x->run->order;

	o.examples = settings_examples(&x->config) < x->run->train_examples ? settings_examples(&x->config) : x->run->train_examples;
	int64_t per_epoch = o.examples > 0 && o.micro_batch > 0 ? order_updates_per_epoch(&o) : 0;

	if (per_epoch < 1)
		return "after a validation";
	if (update % per_epoch == 0)
		return "an epoch's end";
	return update > per_epoch ? "in a later epoch, after a validation" : "in the first epoch, after a validation";
}

static void hard_stops(struct replay *x, const struct arm *a, int64_t end)
{
	const struct save_fact *s = arm_save(a, STOP_1), *last = arm_save(a, end);
	char cold[300];

	if (!s || !last || !arm_save(a, STOP_2)) {
		find_lack(x->into, G_RESUME, "the replay did not save where it should (updates %d, %d, %lld)", STOP_1, STOP_2, (long long)end);
		return;
	}
	if (!strcmp(s->weights_digest, last->weights_digest)) {
		find_lack(x->into, G_RESUME, "the weights do not move in %lld updates: the trajectory proves nothing", (long long)(end - STOP_1));
		return;
	}
	if (resume_twice(x, a, s->path, STOP_1, STOP_2, end, false, "hard") || cold_start(x, a, s->path, STOP_1, true, cold, sizeof cold))
		return;
	find_say(x->into, G_RESUME, "on a short training set, stopped at update %d (%s) and once more at %d (%s): updates %d-%lld bitwise equal (validation too); %s", STOP_1, place(x, STOP_1), STOP_2, place(x, STOP_2), STOP_1 + 1, (long long)end, cold);
}

/* The facts of the short run, which sees the ends of epochs that the run itself may not have come to. */
static void short_facts(struct replay *x, struct watch *r)
{
	if (!r)
		return;
	rules_close(r);
	for (int p = 0; p < GATE_PHASES; p++)
		if (r->finding[p].fail)
			find_fail(x->into, p, r->finding[p].look, "on a short training set: %s", r->finding[p].fail);
}

static void short_run(struct replay *x)
{
	struct arm a = { .name = "the run that goes on", .judged = true };
	struct config c;
	struct why w = { 0 };
	char dir[4200];
	int64_t end = x->settings->updates > STOP_2 + EPOCH ? x->settings->updates : STOP_2 + EPOCH;
	int rc;

	snprintf(dir, sizeof dir, "%s/a", x->temp.dir);
	rc = settings_short(&c, x, &(struct cut){ end, VAL_EVERY, dir, NULL }, &w);
	if (rc < 0) {
		lacks(x, &a, rc, &w);
		return;
	}
	rc = replay_config(x, &a, &c, &w);
	if (rc)
		lacks(x, &a, rc, &w);
	else {
		short_facts(x, a.watch);
		check_saved(x, &a);
		hard_stops(x, &a, end);
	}
	arm_free(&a);
	config_free(&c);
}

/* ---- a replay ---- */

static int read_config(const struct watch *r, struct config *c, struct why *w)
{
	struct view v;
	int rc = view_open(&v, r->raw.p, r->raw.n, w);

	if (rc < 0)
		return rc;
	if (config_init(c) < 0)
		return why_set(w, EX_OSERR, "replay: no memory");
	rc = config_from_view(c, &v, w);
	if (rc == 0 && c->micro_batch > (INT64_C(1) << 40) / c->accum)
		rc = why_set(w, EX_DATAERR, "replay: micro_batch %lld x accum %lld: more than 2^40 examples", (long long)c->micro_batch, (long long)c->accum);
	if (rc < 0)
		config_free(c);
	return rc;
}

/* Relative paths among the settings are relative to where the run was. */
static int enter(const struct watch *r)
{
	struct view v;
	char cwd[4096];
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (here >= 0 && view_open(&v, r->raw.p, r->raw.n, NULL) == 0 && view_copy(&v, F_run_cwd, cwd, sizeof cwd) && *cwd)
		(void)!chdir(cwd);
	return here;
}

static void leave(int here)
{
	if (here < 0)
		return;
	(void)!fchdir(here);
	close(here);
}

static void run_all(struct replay *x)
{
	struct why w = { 0 };
	int here;

	if (temp_make(&x->temp, "gate", &w) < 0) {
		find_lack(x->into, G_RESUME, "no replay: %s", w.text);
		return;
	}
	here = enter(x->run);
	own_checkpoint(x);
	short_run(x);
	leave(here);
	temp_end(&x->temp);
}

void replay_run(struct watch *r, struct watch *into, const struct judge_settings *s, int *files)
{
	struct replay x = { .run = r, .into = into, .settings = s, .until = clock_seconds() + s->deadline, .files = files };
	struct why w = { 0 };

	if (!r->deterministic) {
		find_lack(into, G_RESUME, "no replay: the device does not repeat a run bit by bit, and comparing within its noise takes at least 4 arms and a bound, which this version does not have");
		return;
	}
	if (read_config(r, &x.config, &w) < 0) {
		find_lack(into, G_RESUME, "no replay: %s", w.text);
		return;
	}
	run_all(&x);
	config_free(&x.config);
}

/* ---- which runs share one ---- */

/* Settings that do not decide whether a run comes back. */
static bool incidental(enum option o)
{
	switch (o) {
	case O_seed:
	case O_updates:
	case O_examples:
	case O_epochs:
	case O_memory_bytes:
	case O_threads:
	case O_val_every:
	case O_val_examples:
	case O_overfit:
	case O_stop:
	case O_save_every:
	case O_keep:
	case O_save:
	case O_resume:
	case O_weights:
		return true;
	default:
		return false;
	}
}

int replay_fingerprint(const struct watch *r, char out[DIGEST_SIZE], struct why *w)
{
	struct config c;
	struct buf b = { 0 };
	unsigned char raw[32];
	int rc = read_config(r, &c, w);

	if (rc < 0)
		return rc;
	rc = buf_printf(&b, "%d|", r->resumed);
	for (int o = 0; o < OPTIONS && rc >= 0; o++)
		if (!incidental(o) && (rc = config_get(&c, o, &b)) >= 0)
			rc = buf_printf(&b, "|");
	if (rc >= 0)
		rc = sha_of(b.p, b.n, raw);
	if (rc >= 0)
		sha_hex(raw, out);
	else
		rc = why_set(w, EX_OSERR, "replay: no memory");
	buf_free(&b);
	config_free(&c);
	return rc < 0 ? rc : 0;
}
