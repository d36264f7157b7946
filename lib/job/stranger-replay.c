/* stranger-replay.c - resume, proven by doing it with a command that is not ours. A runs from scratch past a save; S
 * runs from scratch and stops there; B resumes in a new process where S stopped; where A saved once more, B stops
 * there and B2 goes on; C resumes as B did, but what it restores besides weights is thrown away, and must
 * differ. Each arm works in a copy of the working folder: nothing of the user's is written to. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "stranger-replay.h"

enum { DISK_LEAST = 1 << 16, COLD = 4, LEAST = 4, MOST_UPDATES = 4000 };

/* ---- an arm ---- */

static void progress(const struct again_replay *x, const char *what)
{
	char line[128];

	snprintf(line, sizeof line, "replaying run %s: %s", x->run->id, what);
	if (x->settings->progress)
		x->settings->progress(line);
}

struct going {
	int64_t updates;
	const char *resume;  /* the file to resume from; NULL: from scratch */
	const char *control; /* NULL: none */
};

/* A command that is told {updates} may make its schedule of them: it is told the same number in each arm, and stopped. */
static void ask_updates(const struct again_replay *x, struct rec *q, int64_t n)
{
	const struct again *c = &x->command;
	char rule[64];

	if (!c->updates_word || c->updates < 1) {
		rec_int(q, F_request_updates, n);
		return;
	}
	rec_int(q, F_request_updates, c->updates);
	snprintf(rule, sizeof rule, "update=%lld", (long long)n);
	rec_str(q, F_request_stop, n < c->updates ? rule : NULL);
}

static int go(struct again_replay *x, struct arm *a, const struct going *g, struct why *w)
{
	const struct again *c = &x->command;
	struct rec q = { 0 };
	int rc;

	progress(x, a->name);
	a->stranger = &x->stranger;
	arm_request(&q, x->run->id);
	rec_str(&q, F_request_cwd, x->folder.cwd);
	rec_str(&q, F_request_evidence, "full");
	again_settings(x->run, &q);
	ask_updates(x, &q, g->updates);
	rec_str(&q, F_request_save, *x->folder.save ? x->folder.save : NULL);
	if (g->resume) {
		rec_bool(&q, F_request_resumes, true);
		rec_str(&q, F_request_resume, c->resume_word ? g->resume : NULL);
	}
	rec_str(&q, F_request_control, g->control);
	rc = arm_run(a, &q, x->until, w);
	rec_free(&q);
	return rc;
}

/* A program may not notice that its save was cut short, and then fail to read it. */
static bool disk_full(const struct again_replay *x)
{
	struct statvfs f;

	return statvfs(x->folder.temp.dir, &f) == 0 && f.f_bavail * f.f_frsize < DISK_LEAST;
}

static void lacks(struct again_replay *x, const struct arm *a, int rc, const struct why *w)
{
	if (rc == 1)
		find_lack(x->into, G_RESUME, "the replay did not get through: %s: status %s%s%s%s", a->name, a->status, *a->why ? ": " : "", a->why, shadow_refused(a->why) ? SHADOW_REFUSED : "");
	else
		find_lack(x->into, G_RESUME, "the replay did not get through: %s: %s", a->name, w->text);
}

/* ---- where to stop ---- */

static double update_seconds(const struct watch *r)
{
	return r->steps ? r->step_seconds / (double)r->steps : 0;
}

/* Of the saves the last that can be paid for: S and A come to it, then the others go on from it. */
static int64_t choose(const struct again_replay *x, int64_t window)
{
	const struct watch *r = x->run;
	double afford = x->settings->deadline / 2;
	int64_t best = 0, first = 0;

	for (int i = 0; i <= WATCH_SAVES; i++) {
		int64_t u = i < WATCH_SAVES ? (r->save[i].path ? r->save[i].update : 0) : r->first_save;

		if (u < 1 || u >= r->update)
			continue;
		first = !first || u < first ? u : first;
		if ((double)(2 * u + 4 * window) * update_seconds(r) <= afford && u > best && u + window <= MOST_UPDATES)
			best = u;
	}
	if (!best)
		best = first;
	for (int i = 0; i < WATCH_SAVES && !best; i++) /* the last one, behind which a longer run may go on */
		if (r->save[i].path && r->save[i].update > best)
			best = r->save[i].update;
	return best;
}

static int64_t window_of(const struct again_replay *x)
{
	int64_t m = x->settings->updates;

	while (m > LEAST && 4 * (double)m * update_seconds(x->run) > x->settings->deadline / 4)
		m--;
	return m;
}

static int64_t last_update(const struct arm *a)
{
	return a->steps ? a->step[a->steps - 1].update : 0;
}

static bool only_weights(const struct arm *a, int64_t update)
{
	bool only = false;

	for (int64_t i = 0; i < a->saves; i++)
		if (a->save[i].update == update) {
			if (a->save[i].held & ~(unsigned)(HOLDS_WEIGHTS | HOLDS_COUNT))
				return false;
			only |= (a->save[i].held & HOLDS_WEIGHTS) != 0;
		}
	return only;
}

static bool weights_only(const struct again_replay *x)
{
	return only_weights(&x->s, x->k);
}

/* Nothing goes on behind the last save: what is not there cannot be missed, but weights alone are no resume. */
static void no_way_on(struct again_replay *x)
{
	int64_t update = x->a.save[x->a.saves - 1].update;

	if (!only_weights(&x->a, update))
		find_lack(x->into, G_RESUME, "no update follows the save of update %lld: a run that goes on cannot be compared with one that resumes", (long long)update);
	else if (x->command.resumable)
		find_fail(x->into, G_RESUME, NULL, "not resumable: the save holds weights only (update %lld)", (long long)update);
	else
		find_lack(x->into, G_RESUME, "not resumable: the save holds weights only (update %lld)", (long long)update);
}

/* The save of A to stop at: that of the run if A has it, else its last one behind which it goes on. */
static bool settle_stop(struct again_replay *x)
{
	int64_t best = 0, last = last_update(&x->a);

	if (x->k < last && arm_save(&x->a, x->k))
		return true;
	for (int64_t i = 0; i < x->a.saves; i++)
		if (x->a.save[i].update > best && x->a.save[i].update < last)
			best = x->a.save[i].update;
	if (!best && x->a.saves)
		no_way_on(x);
	else if (!best)
		find_lack(x->into, G_RESUME, "run again from scratch it saved nothing in %lld updates", (long long)last);
	x->k = best;
	return best > 0;
}

/* A later save of A within the window, where the resumed run is resumed once more; 0: none. */
static int64_t second_stop(const struct again_replay *x)
{
	int64_t last = last_update(&x->a), best = 0;

	for (int64_t i = 0; i < x->a.saves; i++) {
		int64_t u = x->a.save[i].update;

		if (u > x->k + 1 && u < last - 1 && (!best || u < best))
			best = u;
	}
	return best;
}

/* ---- what B showed ---- */

static const char *const name_it = "name the command that resumes with --resume-with";

/* A resumed arm that ends badly where the run went on is a fault of resuming, if it was said how to resume. */
static void broken(struct again_replay *x, const struct arm *b, int rc, const struct why *w)
{
	if (rc != 1 || !strcmp(b->status, "oom") || shadow_refused(b->why))
		lacks(x, b, rc, w);
	else if (x->command.resumable)
		find_fail(x->into, G_RESUME, NULL, "%s: status %s%s%s", b->name, b->status, *b->why ? ": " : "", b->why);
	else
		find_lack(x->into, G_RESUME, "the same command, run again where it had saved, ended with status %s%s%s: %s", b->status, *b->why ? ": " : "", b->why, name_it);
}

static void not_resumed(struct again_replay *x, const char *what)
{
	const char *only = weights_only(x) ? "not resumable: the save holds weights only; " : "";

	if (x->command.resumable)
		find_fail(x->into, G_RESUME, NULL, "%s%s", only, what);
	else
		find_lack(x->into, G_RESUME, "%sthe same command, run again where it had saved: %s: %s", only, what, name_it);
}

static int failed(struct again_replay *x, const struct back *back)
{
	bool only = weights_only(x) && back->piece[P_OPTIMIZER] == CAME_NOT;
	const char *prefix = only ? "not resumable: the save holds weights only; " : back->from > x->k ? "resumed once more: " : "";
	char say[1400];

	back_say(back, say, sizeof say);
	if (only && !x->command.resumable)
		find_lack(x->into, G_RESUME, "%s%s", prefix, say);
	else
		find_fail(x->into, G_RESUME, NULL, "%s%s", prefix, say);
	return 1;
}

/* What keeps an arm in which nothing differs from proving anything; true: said. */
static bool no_proof(struct again_replay *x, const struct back *back)
{
	char names[300];

	back_names(back, names, sizeof names);
	if (!back->moved)
		find_lack(x->into, G_RESUME, "nothing shows that the weights move in %lld updates: the replay proves nothing", (long long)x->k);
	else if (*x->unrepeated)
		find_lack(x->into, G_RESUME, "the command does not repeat itself (%s): %slosses after resuming cannot be compared%s%s%s", x->unrepeated, x->same_batches || back->piece[P_DATA] == CAME_BACK ? "" : "data order and ", *names ? "; " : "", names, *names ? " came back" : "");
	else if (!back->compared)
		find_lack(x->into, G_RESUME, "no update after resuming can be compared%s%s%s", *names ? "; " : "", names, *names ? " came back" : "");
	else
		return false;
	return true;
}

/* 0: it went the way that A went on from `from`; 1: not, or not seen, and that is said. */
static int judge_arm(struct again_replay *x, const struct state_fact *stop, const struct arm *b, int64_t from, int64_t wanted, struct back *back)
{
	const char *blind = *b->blind ? b->blind : *x->a.blind ? x->a.blind : NULL;

	compare_resumed(x, stop, b, from, back);
	if (!b->steps) {
		not_resumed(x, "it made no update");
		return 1;
	}
	if (blind) {
		find_lack(x->into, G_RESUME, "what comes back is not seen: %s", blind);
		return 1;
	}
	if (back->began_again) {
		not_resumed(x, "it began again from scratch");
		return 1;
	}
	if (b->steps < wanted && !back_failed(back)) {
		back->piece[P_COUNT] = CAME_NOT;
		snprintf(back->say[P_COUNT], sizeof back->say[P_COUNT], "it ended after %lld updates, the run that went on made %lld", (long long)b->steps, (long long)wanted);
	}
	if (back_failed(back))
		return failed(x, back);
	return no_proof(x, back);
}

/* ---- the arms that resume ---- */

static int resume(struct again_replay *x, struct arm *b, const struct state_fact *stop, const char *path, int64_t from, int64_t end, struct back *back)
{
	struct why w = { 0 };
	int rc = go(x, b, &(struct going){ .updates = end - from, .resume = path }, &w);

	if (disk_full(x))
		find_lack(x->into, G_RESUME, "the replay did not get through: %s: no space left in %s", b->name, x->folder.temp.dir);
	else if (!rc)
		return judge_arm(x, stop, b, from, end - from, back);
	else
		broken(x, b, rc, &w);
	return 1;
}

static int cold(struct again_replay *x, const struct back *back, const char *path, char *say, size_t n)
{
	struct arm c = { .name = "resumed without the saved state" };
	struct why w = { 0 };
	int rc = folder_back(x, &w);

	if (!rc)
		rc = go(x, &c, &(struct going){ .updates = last_update(&x->a) - x->k < COLD ? last_update(&x->a) - x->k : COLD, .resume = path, .control = "cold" }, &w);
	if (rc) {
		lacks(x, &c, rc, &w);
		rc = 1;
	} else if (!compare_cold(x, &c, x->k, say, n)) {
		if (back->stateless)
			snprintf(say, n, "its optimizer keeps no state, and the weights had moved");
		else
			find_lack(x->into, G_RESUME, "%s: the replay proves nothing", say);
		rc = !back->stateless;
	}
	arm_free(&c);
	return rc;
}

static void say_proof(struct again_replay *x, const struct back *back, int64_t end, int64_t second, const char *cold_say)
{
	const struct again *c = &x->command;
	char names[300], again[64] = "";

	back_names(back, names, sizeof names);
	if (second)
		snprintf(again, sizeof again, "resumed once more at update %lld; ", (long long)second);
	find_say(x->into, G_RESUME, "resumed at update %lld in a new process (%s): %s%supdates %lld-%lld bitwise equal to the run that went on; %s%s", (long long)x->k, c->resume_with ? "--resume-with" : c->resume_word ? "{resume}" : "the same command", names, *names ? " came back; " : "", (long long)x->k + 1, (long long)end, again, cold_say);
	for (int p = P_TORCH; p <= P_PYTHON; p++)
		if (*back->say[p])
			find_say(x->into, G_RESUME, "random state: %s", back->say[p]);
}

static void resumed_arms(struct again_replay *x)
{
	struct arm b = { .name = "resumed" }, b2 = { .name = "resumed once more" };
	struct back back, more;
	const struct save_fact *left = arm_save(&x->s, x->k), *then;
	int64_t last = last_update(&x->a), second = second_stop(x), end = second ? second : last;
	char say[300];
	int rc = resume(x, &b, &x->s.stop, left->path, x->k, end, &back);

	then = arm_save(&b, second - x->k);
	if (!rc && second && then) {
		rc = resume(x, &b2, &b.stop, then->path, second, last, &more);
		end = last;
	} else {
		second = 0;
	}
	if (!rc)
		rc = cold(x, &back, left->path, say, sizeof say);
	if (!rc)
		say_proof(x, &back, end, second, say);
	arm_free(&b);
	arm_free(&b2);
}

/* ---- from scratch ---- */

static int from_scratch(struct again_replay *x, struct why *w)
{
	int64_t window = window_of(x);
	struct arm *failing = &x->a;
	int rc;

	x->k = choose(x, window);
	rc = go(x, &x->a, &(struct going){ .updates = x->k + window }, w);
	if (!rc && !settle_stop(x))
		return 1;
	if (!rc) {
		failing = &x->s;
		rc = folder_fresh(x, w);
	}
	if (!rc)
		rc = go(x, &x->s, &(struct going){ .updates = x->k }, w);
	if (!rc)
		rc = folder_keep(x, w);
	if (rc)
		lacks(x, failing, rc, w);
	return rc;
}

static void run_all(struct again_replay *x)
{
	struct why w = { 0 };
	const struct save_fact *left;

	if (from_scratch(x, &w))
		return;
	compare_repeat(x);
	left = arm_save(&x->s, x->k);
	if (left && saved_bytes(left->path, left->digest, INFINITY, &w) == 0)
		++*x->files;
	if (left && !strncmp(left->path, x->folder.temp.dir, strlen(x->folder.temp.dir)))
		resumed_arms(x);
	else if (left)
		find_lack(x->into, G_RESUME, "in a replay it saved outside its copy of the working folder: %s", left->path);
	else
		find_lack(x->into, G_RESUME, "stopped after update %lld it had not saved there, where the run that went on had", (long long)x->k);
}

/* ---- a replay ---- */

static void in_folder(struct again_replay *x)
{
	struct why w = { 0 };
	const struct stranger *own = x->settings->stranger;

	if (folder_make(x, &w) < 0) {
		find_lack(x->into, G_RESUME, "no replay: %s", w.text);
	} else {
		x->stranger = (struct stranger){ .argv = x->command.argv, .env = x->command.env, .resume_with = x->command.resume_with, .step_regex = x->command.step_regex, .evidence = "full", .no_adapter = own && own->no_adapter, .guard = x->folder.guard };
		run_all(x);
	}
	if (x->folder.guard > 0)
		close(x->folder.guard);
	temp_end(&x->folder.temp);
}

void stranger_replay(struct watch *r, struct watch *into, const struct judge_settings *s, int *files)
{
	struct again_replay *x = calloc(1, sizeof *x);
	struct why w = { 0 };
	char say[1200];

	if (!x) {
		find_lack(into, G_RESUME, "no replay: no memory");
		return;
	}
	*x = (struct again_replay){ .run = r, .into = into, .settings = s, .until = clock_seconds() + s->deadline, .files = files, .a = { .name = "the run that goes on" }, .s = { .name = "the run that stops" } };
	if (again_read(&x->command, r, s, &w) < 0)
		find_lack(into, G_RESUME, "no replay: %s", w.text);
	else if (folder_unsafe(x, say, sizeof say))
		find_lack(into, G_RESUME, "no replay: %s", say);
	else
		in_folder(x);
	arm_free(&x->a);
	arm_free(&x->s);
	again_free(&x->command);
	free(x);
}
