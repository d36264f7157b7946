/* judge.c - the runs that pass by, from their first record to their verdicts. */
#include <stdlib.h>
#include <string.h>

#include "judge.h"

enum { WAITING = 64, PROVEN = 64 };

struct judge {
	struct judge_settings settings;
	struct out *out;
	char tool[ULID_SIZE];
	struct watch **open; /* owned */
	int opens, room;
	char other[ULID_SIZE]; /* the run seen last that is not judged */
	struct watch *waiting[WAITING]; /* ended, oldest first */
	int waits;
	struct proven {
		char fingerprint[DIGEST_SIZE];
		struct watch *found; /* id and findings only */
		int files;
	} proven[PROVEN];
	int provens;
	int64_t judged;
	int failed;
};

int judge_new(struct judge **out, const struct judge_settings *s, struct out *o, const char *tool, struct why *w)
{
	struct judge *j = calloc(1, sizeof *j);

	if (!j)
		return why_set(w, EX_OSERR, "judge: the stream: no memory");
	j->settings = *s;
	j->out = o;
	snprintf(j->tool, sizeof j->tool, "%s", tool);
	*out = j;
	return 0;
}

void judge_free(struct judge *j)
{
	if (!j)
		return;
	for (int i = 0; i < j->opens; i++)
		watch_free(j->open[i]);
	for (int i = 0; i < j->waits; i++)
		watch_free(j->waiting[i]);
	for (int i = 0; i < j->provens; i++)
		watch_free(j->proven[i].found);
	free(j->open);
	free(j);
}

/* ---- open runs ---- */

static int find(struct judge *j, const char *id)
{
	for (int i = j->opens - 1; i >= 0; i--)
		if (!strcmp(j->open[i]->id, id))
			return i;
	return -1;
}

static int begin(struct judge *j, const struct view *v, struct why *w)
{
	struct watch *r;

	if (!view_is(v, F_run_role, "train") && !view_is(v, F_run_role, "confirm"))
		return 0;
	if (j->opens == j->room) {
		int room = j->room ? 2 * j->room : 8;
		struct watch **more = realloc(j->open, (size_t)room * sizeof *more);

		if (!more)
			return why_set(w, EX_OSERR, "judge: record %lld: no memory for one more open run", (long long)v->number);
		j->open = more;
		j->room = room;
	}
	r = watch_new(v, (int)j->settings.updates);
	if (!r)
		return why_set(w, EX_OSERR, "judge: record %lld: no memory for one more open run", (long long)v->number);
	j->open[j->opens++] = r;
	*j->other = 0;
	return 0;
}

/* ---- how it ended ---- */

/* The phase that a run was in when it broke off: named by its reason, or the first that left no record. */
static enum gate_phase phase_of(const struct watch *r, const char *why)
{
	static const enum gate_phase order[] = { G_LOAD, G_DATA, G_FORWARD, G_BACKWARD, G_UPDATE };
	int named = gate_phase_find(why, strcspn(why, ": "));

	if (named >= 0)
		return named;
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		if (!r->measure[order[i]].seen)
			return order[i];
	return G_UPDATE;
}

static void see_status(struct watch *r, const struct view *v)
{
	char why[600], name[32], status[16];
	int phase;

	view_copy(v, F_end_why, why, sizeof why);
	view_copy(v, F_end_oom_phase, name, sizeof name);
	view_copy(v, F_end_status, status, sizeof status);
	if (!strcmp(status, "done") || !strcmp(status, "stopped"))
		return;
	phase = gate_phase_find(name, strlen(name));
	if (!strcmp(status, "diverged"))
		phase = G_FORWARD;
	else if (phase < 0 && r->stranger)
		phase = stranger_failed(r);
	if (phase < 0)
		phase = phase_of(r, why);
	find_fail(r, phase, !strcmp(status, "oom") ? "a smaller batch, a shorter input" : NULL, "the run ended with status %s%s%s", status, *why ? ": " : "", why);
}

/* ---- from an end to the verdicts ---- */

static double ended_at(const struct watch *r)
{
	struct timestamp t = { 0 };
	struct view v;

	if (r->end.n && view_open(&v, r->end.p, r->end.n, NULL) == 0)
		view_time(&v, F_end_t, &t);
	return (double)t.seconds + t.nanoseconds / 1e9;
}

static int check_file(struct watch *r, const struct save_fact *s, struct why *w)
{
	return r->stranger ? saved_bytes(s->path, s->digest, ended_at(r), w) : saved_file(s->path, s->digest, r->save_tensors, s->update, w);
}

/* What the newest saves left on disk, oldest first; gone: the newest is not there. */
static void check_files(struct watch *r, int *gone)
{
	struct why w = { 0 };
	char whole[128] = "";

	*gone = 0;
	for (int k = 0; k < WATCH_SAVES; k++) {
		struct save_fact *s = &r->save[(r->oldest_save + k) % WATCH_SAVES];
		size_t n = strlen(whole);

		if (!s->path || s->over)
			continue;
		int rc = check_file(r, s, &w);
		if (rc < 0)
			find_fail(r, G_SAVE, NULL, "%s", w.text);
		else if (rc == 2)
			find_lack(r, G_SAVE, "written again after the run had ended: %s", s->path);
		else if (rc == 0)
			snprintf(whole + n, sizeof whole - n, "%s%lld", n ? ", " : "", (long long)s->update);
		*gone = rc == 1;
		if (rc) /* not a file to replay from */
			s->steps = 0;
	}
	if (*whole)
		find_say(r, G_SAVE, "on disk with digest%s: update %s", r->stranger ? "" : " and tensors", whole);
}

static void copy_findings(struct watch *to, const struct watch *from)
{
	char said[2000];

	for (int p = 0; p < GATE_PHASES; p++) {
		const struct finding *f = &from->finding[p];

		if (f->fail)
			find_fail(to, p, f->look, "%s", f->fail);
		if (f->lack)
			find_lack(to, p, "%s", f->lack);
		if (!f->said.n)
			continue;
		snprintf(said, sizeof said, "%.*s", (int)f->said.n, (const char *)f->said.p);
		if (strcmp(to->id, from->id))
			find_say(to, p, "run %s, of the same settings: %s", from->id, said);
		else
			find_say(to, p, "%s", said);
	}
}

static const struct proven *proven_find(const struct judge *j, const char *fingerprint)
{
	for (int i = 0; i < j->provens; i++)
		if (!strcmp(j->proven[i].fingerprint, fingerprint))
			return &j->proven[i];
	return NULL;
}

/* Runs again what was not run again before; NULL: r's findings say why not. */
static const struct proven *prove(struct judge *j, struct watch *r)
{
	struct proven *p = &j->proven[j->provens];
	const struct proven *known;
	struct why w = { 0 };
	char line[64];

	if ((r->stranger ? stranger_fingerprint(r, p->fingerprint, &w) : replay_fingerprint(r, p->fingerprint, &w)) < 0) {
		find_lack(r, G_RESUME, "no replay: %s", w.text);
		return NULL;
	}
	if ((known = proven_find(j, p->fingerprint)) && !j->settings.every)
		return known;
	if (j->provens == PROVEN - 1) {
		find_lack(r, G_RESUME, "no replay: %d were made for this stream", j->provens);
		return NULL;
	}
	p->found = calloc(1, sizeof *p->found);
	if (!p->found) {
		find_lack(r, G_RESUME, "no replay: no memory");
		return NULL;
	}
	snprintf(p->found->id, sizeof p->found->id, "%s", r->id);
	p->files = 0;
	snprintf(line, sizeof line, "replaying run %s", r->id);
	if (j->settings.progress)
		j->settings.progress(line);
	if (r->stranger)
		stranger_replay(r, p->found, &j->settings, &p->files);
	else
		replay_run(r, p->found, &j->settings, &p->files);
	j->provens++;
	return p;
}

/* A command that a stream names is run only if the caller said so. */
static bool is_allowed(const struct judge *j, const struct watch *r)
{
	return !r->stranger || j->settings.allow_exec || (j->settings.stranger && j->settings.stranger->argv);
}

static void replay(struct judge *j, struct watch *r, int gone)
{
	const struct proven *p = NULL;

	if (!j->settings.replay)
		find_lack(r, G_RESUME, "no replay was asked for (--no-replay)");
	else if (!r->saves)
		find_lack(r, G_RESUME, "nothing was saved in this run%s", r->stranger ? "" : " (see --save)");
	else if (!is_allowed(j, r))
		find_lack(r, G_RESUME, "replaying a command was not allowed (--allow-exec)");
	else if (stop_wanted())
		find_lack(r, G_RESUME, "no replay: the gate was asked to stop");
	else if ((p = prove(j, r)))
		copy_findings(r, p->found);
	if (!gone)
		return;
	/* A probe's confirmation run saves into a folder that is removed: its settings' replays save too. */
	if (!strcmp(r->role, "confirm") && p && p->files)
		find_say(r, G_SAVE, "its own file went with the probe; %d saved by the replay of its settings %s on disk with digest%s", p->files, p->files == 1 ? "is" : "are", r->stranger ? "" : " and tensors");
	else
		find_lack(r, G_SAVE, "its newest file is gone");
}

static int settle(struct judge *j, struct watch *r, struct why *w)
{
	int gone = 0, rc;

	check_files(r, &gone);
	replay(j, r, gone);
	rc = find_write(r, j->tool, j->settings.required, j->out, &j->failed, w);
	watch_free(r);
	return rc;
}

static int wait_for_replay(struct judge *j, struct watch *r, struct why *w)
{
	struct watch *oldest = j->waiting[0];
	int gone, rc;

	if (j->waits < WAITING) {
		j->waiting[j->waits++] = r;
		return 0;
	}
	memmove(j->waiting, j->waiting + 1, (WAITING - 1) * sizeof *j->waiting);
	j->waiting[WAITING - 1] = r;
	check_files(oldest, &gone);
	if (gone)
		find_lack(oldest, G_SAVE, "its newest file is gone");
	find_lack(oldest, G_RESUME, "no replay: more than %d runs waited for theirs", WAITING);
	rc = find_write(oldest, j->tool, j->settings.required, j->out, &j->failed, w);
	watch_free(oldest);
	return rc;
}

static int finish(struct judge *j, int i, const struct view *v, struct why *w)
{
	struct watch *r = j->open[i];

	see_status(r, v);
	rules_close(r);
	watch_ended(r);
	j->judged++;
	j->open[i] = j->open[--j->opens];
	return wait_for_replay(j, r, w);
}

/* What a replay of a command needs to know besides the run record. */
static int remember(struct watch *r, const struct view *v, struct why *w)
{
	int64_t u;

	if (v->kind == KIND_save && !r->first_save && view_int(v, F_save_update, &u) && u > 0)
		r->first_save = u;
	if (v->kind == KIND_end && buf_add(&r->end, v->raw, v->size) < 0)
		return why_set(w, EX_OSERR, "judge: record %lld: no memory for the end of a run", (long long)v->number);
	return 0;
}

int judge_see(struct judge *j, const struct view *v, struct why *w)
{
	char id[ULID_SIZE];
	int i;

	if (v->kind == KIND_run)
		return begin(j, v, w);
	if (!j->opens || v->kind == KIND_UNKNOWN)
		return 0;
	view_run(v, id);
	if (!*id || !strcmp(id, j->other))
		return 0;
	if ((i = find(j, id)) < 0) {
		memcpy(j->other, id, sizeof id);
		return 0;
	}
	watch_see(j->open[i], v);
	if (j->open[i]->stranger && remember(j->open[i], v, w) < 0)
		return -EX_OSERR;
	return v->kind == KIND_end ? finish(j, i, v, w) : 0;
}

int judge_finish(struct judge *j, struct why *w)
{
	int rc = 0;

	for (int i = 0; i < j->waits; i++) {
		int r = rc ? 0 : settle(j, j->waiting[i], w);

		if (rc)
			watch_free(j->waiting[i]);
		rc = rc ? rc : r;
	}
	j->waits = 0;
	if (rc < 0)
		return rc;
	if (!j->judged)
		return why_set(w, EX_DATAERR, "judge: the stream: no run of role train or confirm has ended in it");
	return j->failed ? why_set(w, EX_NO, "%d of the verdicts are fail", j->failed) : 0;
}
