/* rerun.c - a run's record turned back into a command line. */
#include "rerun.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct line {
	const struct book_run *run;
	struct buf *out;
	void (*say)(void *ctx, const char *sentence);
	void *ctx;
	bool bad, secret;
};

/* ---- words for sh ---- */

static bool plain(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+-@%", s[i]) || !s[i])
			return false;
	return n > 0;
}

static void word(struct line *l, const char *s, size_t n)
{
	l->secret |= memmem(s, n, SECRET_MARK, strlen(SECRET_MARK)) != NULL;
	if (l->out->n)
		l->bad |= buf_add(l->out, " ", 1) < 0;
	if (plain(s, n)) {
		l->bad |= buf_add(l->out, s, n) < 0;
		return;
	}
	l->bad |= buf_add(l->out, "'", 1) < 0;
	for (size_t i = 0; i < n; i++)
		l->bad |= (s[i] == '\'' ? buf_add(l->out, "'\\''", 4) : buf_add(l->out, s + i, 1)) < 0;
	l->bad |= buf_add(l->out, "'", 1) < 0;
}

static void text(struct line *l, const char *s)
{
	word(l, s, strlen(s));
}

static void say(struct line *l, const char *fmt, ...) PRINTF(2, 3);
static void say(struct line *l, const char *fmt, ...)
{
	char sentence[700];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof sentence, fmt, ap);
	va_end(ap);
	l->say(l->ctx, sentence);
}

/* ---- settings ---- */

static void setting(struct line *l, enum option o, const char *value)
{
	char option[64];

	snprintf(option, sizeof option, "--%s", option_info(o)->option);
	text(l, option);
	text(l, value);
}

/* A folder holds one run: the new one goes beside it. */
static void folder(struct line *l, const char *save)
{
	char path[4200];
	size_t n = strlen(save);

	while (n > 1 && save[n - 1] == '/')
		n--;
	snprintf(path, sizeof path, "%.*s-again", n > 4000 ? 4000 : (int)n, save);
	setting(l, O_save, path);
}

static void settings(struct line *l, const struct config *c, const struct config *defaults, bool builtin, bool all)
{
	for (int o = 0; o < OPTIONS; o++) {
		struct buf is = { 0 }, was = { 0 };
		bool budget = o == O_updates || o == O_examples || o == O_epochs, same;

		if (!config_given(c, (enum option)o))
			continue;
		l->bad |= config_get(c, (enum option)o, &is) < 0 || buf_add(&is, "", 1) < 0 || config_get(defaults, (enum option)o, &was) < 0 || buf_add(&was, "", 1) < 0;
		same = !l->bad && strcmp((char *)is.p, (char *)was.p) == 0;
		if (l->bad || !*is.p || (strcmp((char *)is.p, "0") == 0 && same) || (budget && strcmp((char *)is.p, "0") == 0))
			same = true;
		else if (budget || o == O_seed || all || !builtin)
			same = false;
		if (!same && o == O_save)
			folder(l, (char *)is.p);
		else if (!same)
			setting(l, (enum option)o, (char *)is.p);
		buf_free(&is);
		buf_free(&was);
	}
}

static void each(struct line *l, enum field f, const char *option)
{
	const char *s;
	size_t n;

	for (int i = 0; view_item_str(&l->run->run, f, i, &s, &n); i++) {
		if (option)
			text(l, option);
		word(l, s, n);
	}
}

enum { RECORDED = 1000 }; /* bytes of NAME=VALUE in a record; "..." behind it tells that there were more */

/* Of a variable that looked like a secret only its name was kept. */
static void environment(struct line *l)
{
	const char *s;
	size_t n;

	for (int i = 0; view_item_str(&l->run->run, F_run_env, i, &s, &n); i++) {
		bool cut = n == RECORDED + 3 && memcmp(s + RECORDED, "...", 3) == 0;
		struct buf b = { 0 };

		if (cut) {
			n = strcspn(s, "=");
			say(l, "the value of %.*s was too long for the record", (int)n, s);
		}
		text(l, "--env");
		l->bad |= buf_add(&b, s, n) < 0 || (!memchr(s, '=', n) && buf_printf(&b, "=" SECRET_MARK) < 0);
		word(l, (const char *)b.p, b.n);
		buf_free(&b);
	}
}

static void one(struct line *l, enum field f, const char *option)
{
	const char *s;
	size_t n;

	if (view_str(&l->run->run, f, &s, &n) && n) {
		text(l, option);
		word(l, s, n);
	}
}

/* ---- what is other here ---- */

static void look_around(struct line *l)
{
	const struct view *v = &l->run->run;
	char was[300], here[256], cwd[4096];
	bool dirty = false, now = false;

	if (view_copy(v, F_run_cwd, cwd, sizeof cwd) && access(cwd, X_OK) < 0)
		say(l, "its folder %.300s is not here", cwd);
	view_bool(v, F_run_dirty, &dirty);
	if (dirty)
		say(l, "its code had changes that no revision holds: it cannot be made the same with certainty");
	if (view_copy(v, F_run_revision, was, sizeof was) && *was) {
		host_revision(*cwd ? cwd : ".", here, &now);
		if (strcmp(was, here))
			say(l, "its code was revision %.64s; here is %.64s", was, *here ? here : "none");
		else if (now)
			say(l, "the checkout has changes now");
	}
	host_name(here);
	if (view_copy(v, F_run_host, was, sizeof was) && strcmp(was, here))
		say(l, "it ran on host %.200s", was);
	if (view_copy(v, F_run_version, was, sizeof was) && strcmp(was, PILOT_VERSION))
		say(l, "it was trained by version %.60s; this is %s", was, PILOT_VERSION);
	if (view_copy(v, F_run_imported, was, sizeof was))
		say(l, "it was imported from %.200s", was);
}

/* Files that data_provenance and data_digests name: "path, N bytes". */
static void look_at_data(struct line *l)
{
	const struct view *v = &l->run->run;
	const char *s, *d;
	size_t n, m;

	for (int i = 0; view_item_str(v, F_run_data_provenance, i, &s, &n) && view_item_str(v, F_run_data_digests, i, &d, &m); i++) {
		const char *comma = memchr(s, ',', n);
		char path[4096], digest[72];
		struct why w;

		snprintf(path, sizeof path, "%.*s", comma ? (int)(comma - s) : (int)n, s);
		if (*path != '/')
			continue;
		if (sha_file(path, digest, NULL, &w) < 0)
			say(l, "its data file %.300s cannot be read", path);
		else if (strlen(digest) != m || memcmp(digest, d, m))
			say(l, "its data file %.300s is another one now", path);
	}
}

/* ---- the line ---- */

static void train_step(struct line *l, const struct config *c, const struct config *defaults)
{
	const struct view *v = &l->run->run;
	bool builtin = !view_is(v, F_run_trainer, "command");
	char cwd[4096], version[64];

	if (view_copy(v, F_run_origin, cwd, sizeof cwd) || view_copy(v, F_run_cwd, cwd, sizeof cwd)) {
		text(l, "cd");
		text(l, cwd);
		l->bad |= buf_printf(l->out, " && train-step") < 0;
	} else {
		text(l, "train-step");
	}
	text(l, "--repeats");
	text(l, l->run->id);
	settings(l, c, defaults, builtin, view_copy(v, F_run_version, version, sizeof version) && strcmp(version, PILOT_VERSION));
	if (builtin)
		return;
	each(l, F_run_values, "--set");
	environment(l);
	one(l, F_run_step_regex, "--step-regex");
	one(l, F_run_resume_with, "--resume-with");
	one(l, F_run_evidence, "--evidence");
	text(l, "--");
	each(l, F_run_command, NULL);
}

int rerun_line(const struct book_run *r, struct buf *out, void (*tell)(void *ctx, const char *sentence), void *ctx, struct why *w)
{
	struct line l = { .run = r, .out = out, .say = tell, .ctx = ctx };
	struct config c, defaults;
	int rc;

	if (r->run.kind != KIND_run)
		return why_set(w, EX_NO, "rerun: %s: its run record is missing", r->id);
	if (view_is(&r->run, F_run_trainer, "import"))
		return why_set(w, EX_NO, "rerun: %s: it was imported; how it was run is not known", r->id);
	if (config_init(&c) < 0)
		return why_set(w, EX_OSERR, "rerun: out of memory");
	rc = config_init(&defaults) < 0 ? why_set(w, EX_OSERR, "rerun: out of memory") : config_from_view(&c, &r->run, w);
	if (rc == 0) {
		train_step(&l, &c, &defaults);
		look_around(&l);
		look_at_data(&l);
		if (l.secret)
			say(&l, "what looked like a secret was not kept: put it in the place of " SECRET_MARK);
		if (l.bad)
			rc = why_set(w, EX_OSERR, "rerun: out of memory");
	}
	config_free(&defaults);
	config_free(&c);
	return rc;
}
