/* command-run.c - a user's command as one run: started, listened to, stopped, and its end understood. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "command-inner.h"

enum { LOOK_MS = 100, PIPE_BYTES = 1 << 20 };
static const double grace = 30;        /* between the request to end and the end by force */
static const double silence = 30 * 60; /* --deadline, if it is not given */

/* ---- small things ---- */

int command_send(struct command *c)
{
	struct why here = { 0 };
	int r = out_rec(c->out, &c->rec, &here);

	if (r == 0)
		return 0;
	if (out_broken(c->out)) {
		stop_request(SIGPIPE);
		return 0;
	}
	*c->why = here;
	return r;
}

void command_say(const struct command *c, const char *fmt, ...)
{
	char text[2000];
	va_list ap;

	if (!c->how->say)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	c->how->say(text);
}

void command_ask(struct command *c, enum asked why, int sig)
{
	if (c->asked != ASKED_NOTHING && !(c->asked == ASKED_UPDATES && why == ASKED_SIGNAL))
		return;
	if (c->asked == ASKED_NOTHING)
		c->kill_at = clock_seconds() + grace;
	c->asked = why;
	command_signal(c, sig);
}

/* ---- what is known before ---- */

/* A replay stops before {updates}: the command may make its schedule of these. */
static bool stops_after(const struct config *c, int64_t *update)
{
	static const char rule[] = "update=";
	int64_t n;

	if (!config_given(c, O_stop) || strncmp(c->stop, rule, strlen(rule)) || num_int(c->stop + strlen(rule), "--stop", 1, INT64_MAX, &n, NULL) < 0)
		return false;
	if (update)
		*update = n;
	return true;
}

static int refuse_settings(const struct config *c, struct why *w)
{
	static const enum option known[] = { O_micro_batch, O_accum, O_length, O_updates, O_seed, O_device, O_memory_bytes, O_freeze, O_save, O_resume };

	for (enum option o = 0; o < OPTIONS; o++) {
		bool ok = !config_given(c, o) || (o == O_stop && stops_after(c, NULL));

		for (size_t i = 0; i < sizeof known / sizeof *known; i++)
			ok |= known[i] == o;
		if (!ok)
			return why_set(w, EX_USAGE, "--%s with a command: the command has its own", option_info(o)->option);
	}
	if (config_given(c, O_updates) && c->updates == 0)
		return why_set(w, EX_USAGE, "--updates 0: a run needs updates; without it the command runs to its own end");
	return 0;
}

static const char *const shell[] = { "/bin/sh", "-c" };

/* sh -c 'the command that resumes' */
static int resuming_words(struct words *v, const char *text, bool check, char ***out, struct why *w)
{
	struct buf b = { 0 };
	char **list;
	int r = words_expand(v, text, true, "--resume-with", &b, w);

	if (r == 1 && !check)
		r = why_set(w, EX_USAGE, "--resume-with: {resume} has no value: --resume is not given");
	if (r < 0 || !(list = calloc(4, sizeof *list))) {
		buf_free(&b);
		return r < 0 ? r : why_set(w, EX_OSERR, "start: no memory");
	}
	list[0] = strdup(shell[0]);
	list[1] = strdup(shell[1]);
	list[2] = (char *)b.p;
	*out = list;
	return list[0] && list[1] ? 0 : why_set(w, EX_OSERR, "start: no memory");
}

/* The command's words: those of the one that resumes where that is wanted and there is one. */
static int expand(const struct command_run *r, struct words *v, char ***argv, char ***env, struct why *w)
{
	const struct stranger *s = r->stranger;
	bool given = *r->config->resume != '\0';
	int rc;

	words_from(v, r->config);
	v->own = r->names ? r->names->values : NULL;
	if ((rc = words_list(v, s->argv, "argument", argv, w)) < 0)
		return rc;
	if (given && !(v->used >> WORD_RESUME & 1) && !s->resume_with)
		return why_set(w, EX_USAGE, "--resume %.200s: neither the command nor --resume-with has {resume}", r->config->resume);
	if (s->resume_with && (r->resumes || (given && !(v->used >> WORD_RESUME & 1)))) {
		words_free(*argv);
		*argv = NULL;
		v->used = 0;
		if ((rc = resuming_words(v, s->resume_with, false, argv, w)) < 0)
			return rc;
	}
	if ((rc = words_list(v, s->env, "--env", env, w)) < 0)
		return rc;
	if (!**argv)
		return why_set(w, EX_USAGE, "the command is empty");
	return 0;
}

int command_check(const struct command_run *r, struct why *w)
{
	struct words *v = calloc(1, sizeof *v);
	char **argv = NULL, **env = NULL, **resume = NULL;
	struct step_regex x = { 0 };
	int rc = v ? refuse_settings(r->config, w) : why_set(w, EX_OSERR, "start: no memory");

	if (rc == 0)
		rc = expand(r, v, &argv, &env, w);
	if (rc == 0 && r->stranger->resume_with)
		rc = resuming_words(v, r->stranger->resume_with, true, &resume, w);
	if (rc == 0 && r->stranger->step_regex)
		rc = step_regex_open(&x, r->stranger->step_regex, w);
	step_regex_close(&x);
	words_free(argv);
	words_free(env);
	words_free(resume);
	free(v);
	return rc;
}

/* ---- before the run record ---- */

static int folders(struct command *c)
{
	char adapter[4096];
	struct why ignored;
	struct stat st;

	if (c->how->cwd)
		snprintf(c->cwd, sizeof c->cwd, "%.4000s", c->how->cwd);
	else if (!getcwd(c->cwd, sizeof c->cwd))
		return why_errno(c->why, EX_OSERR, "start: the working folder");
	if (stat(c->cwd, &st) < 0)
		return why_errno(c->why, EX_NOINPUT, "start: working folder %.300s", c->cwd);
	if (*c->how->config->save && mkdir(c->words.value[WORD_SAVE_DIR], 0777) < 0 && errno != EEXIST)
		return why_errno(c->why, EX_IOERR, "start: --save: %.300s", c->words.value[WORD_SAVE_DIR]);
	if (!c->how->stranger->no_adapter && proc_beside("../libexec/pilot/torch", adapter, sizeof adapter, &ignored) == 0)
		if (!realpath(adapter, c->adapter))
			*c->adapter = '\0';
	return 0;
}

/* Its reading end never blocks us; the writing end stays open here, so that PILOT_RECORD_PATH can be opened by
 * whoever lost the descriptor. */
static int record_pipe(struct command *c)
{
	int raw[2];

	if (pipe2(raw, O_CLOEXEC) < 0)
		return why_errno(c->why, EX_OSERR, "start: a pipe for records");
	for (int i = 0; i < 2; i++) {
		c->record[i] = raw[i] > 2 ? raw[i] : fcntl(raw[i], F_DUPFD_CLOEXEC, 3);
		if (c->record[i] != raw[i])
			close(raw[i]);
	}
	if (c->record[0] < 0 || c->record[1] < 0 || fcntl(c->record[0], F_SETFL, O_NONBLOCK) < 0)
		return why_errno(c->why, EX_OSERR, "start: a pipe for records");
	fcntl(c->record[1], F_SETPIPE_SZ, PIPE_BYTES); /* as much as there may be: it then waits less for us */
	snprintf(c->mark, sizeof c->mark, "PILOT_RECORD_PATH=/proc/%d/fd/%d", (int)getpid(), c->record[1]);
	return 0;
}

static int prepare(struct command *c)
{
	const struct command_run *how = c->how;
	const struct config *s = how->config;
	int r;

	c->evidence = how->evidence ? how->evidence : how->stranger->evidence ? how->stranger->evidence : "basic";
	c->stop_after = config_given(s, O_updates) ? s->updates : 0;
	(void)stops_after(s, &c->stop_after);
	c->deadline = how->stranger->deadline > 0 ? how->stranger->deadline : silence;
	if ((r = command_check(how, c->why)) || (r = expand(how, &c->words, &c->argv, &c->env, c->why)))
		return r;
	if (how->stranger->step_regex && (r = step_regex_open(&c->regex, how->stranger->step_regex, c->why)))
		return r;
	if ((r = folders(c)) || (r = record_pipe(c)))
		return r;
	command_read_init(c);
	if ((r = cap_set(&c->cap, s->memory_bytes, s->device, *c->adapter != '\0', c->env, c->why)))
		return r;
	return command_env(c, c->why);
}

/* ---- the run ---- */

static int start(struct command *c)
{
	const struct proc_how how = { .envp = c->envp, .cwd = c->cwd, .address_bytes = c->cap.address_bytes, .keep = { c->record[1] },
		.no_input = true, .joined = true };
	int r;

	c->oom_kills = host_oom_kills();
	if ((r = guard_start(&c->guard, c->mark, NULL, c->why)) || (r = tree_new(&c->tree, c->cwd, c->words.has[WORD_SAVE_DIR] ? c->words.value[WORD_SAVE_DIR] : NULL, c->why)))
		return r;
	c->started = c->heard = clock_seconds();
	if ((r = proc_start_as(&c->proc, c->argv, PROC_OUT, &how, c->why)))
		return r;
	guard_group(&c->guard, c->proc.pid);
	tree_limit(c->tree, c->cap.address_bytes);
	tree_watch(c->tree, c->proc.pid);
	c->watched = true;
	c->pidfd = (int)syscall(SYS_pidfd_open, c->proc.pid, 0);
	fcntl(c->proc.out, F_SETFL, fcntl(c->proc.out, F_GETFL) | O_NONBLOCK);
	return 0;
}

static void wait_a_little(struct command *c)
{
	struct pollfd p[] = {
		{ .fd = c->record[0], .events = POLLIN },
		{ .fd = c->proc.out, .events = POLLIN },
		{ .fd = c->pidfd, .events = POLLIN },
	};

	poll(p, sizeof p / sizeof *p, LOOK_MS);
}

/* Requests to end: ours to pass on, once; and what becomes of one that is not followed. */
static void look_at_the_clock(struct command *c)
{
	double now = clock_seconds(), quiet;

	if (stop_wanted() && c->asked != ASKED_SIGNAL)
		command_ask(c, ASKED_SIGNAL, stop_wanted() == SIGINT ? SIGINT : SIGTERM);
	if (c->asked == ASKED_NOTHING && now - c->heard > c->deadline) {
		quiet = tree_quiet(c->tree);
		if (quiet < c->deadline)
			c->heard = now - quiet;
		else
			command_ask(c, ASKED_DEADLINE, SIGTERM);
	}
	if (c->asked == ASKED_NOTHING && tree_stuck(c->tree, c->stuck)) {
		command_ask(c, ASKED_STUCK, SIGTERM);
		c->kill_at = now; /* it does not hear us */
	}
	if (c->asked != ASKED_NOTHING && now >= c->kill_at && !c->killed) {
		c->killed = true;
		tree_signal(c->tree, SIGKILL);
	}
}

static void listen(struct command *c)
{
	struct why ignored;

	while (!c->ended) {
		wait_a_little(c);
		command_read_output(c);
		command_read_records(c);
		tree_look(c->tree);
		look_at_the_clock(c);
		if (out_tick(c->out, &ignored) < 0 && out_broken(c->out))
			stop_request(SIGPIPE);
		c->ended = proc_wait(&c->proc, 0, &c->wait_status) == 1;
	}
	guard_group(&c->guard, 0);
	tree_end(c->tree, &c->tree_facts);
	c->tree = NULL;
	command_read_last(c);
}

/* What nobody told. */
static int tell_blind(struct command *c)
{
	const char *reason;

	if (c->taken > 0)
		return 0;
	if (c->regex_steps > 0)
		reason = "no line came from the command: only what --step-regex read from its output is known";
	else if (c->how->stranger->no_adapter)
		reason = "no line came from the command, and its adapter was switched off (--no-adapter)";
	else if (!*c->adapter)
		reason = "no line came from the command, and the adapter is not installed (libexec/pilot/torch)";
	else
		reason = "no line came from the command: it does not use PyTorch, or keeps the adapter out (python -I, -E or -S, another PYTHONPATH)";
	return command_record_blind(c, reason);
}

/* The adapter was to make the cap, and was not there. */
static int tell_cap(struct command *c)
{
	static const char words[] = "--memory was not kept to: PyTorch's adapter was to see to it, and did not speak; --no-adapter holds the rest of the device instead";

	if (!c->cap.by_adapter || c->speakers > 0)
		return 0;
	command_say(c, "%s", words);
	return command_record_note(c, words);
}

static void not_started(struct command *c, int rc)
{
	snprintf(c->result->status, sizeof c->result->status, "error");
	snprintf(c->reason, sizeof c->reason, "%s", c->why->text);
	snprintf(c->result->why, sizeof c->result->why, "%s", c->why->text);
	c->result->code = -rc;
	c->cause = "start";
}

static int whole_run(struct command *c)
{
	int r, after = 0;

	c->began = clock_seconds();
	ulid_new(c->result->run);
	if ((r = command_record_run(c)))
		return r;
	if (!*c->adapter && !c->how->stranger->no_adapter) {
		command_say(c, "the adapter for PyTorch is not there (../libexec/pilot/torch): only what the command tells and what is seen from outside is recorded");
		after = command_record_note(c, "the adapter for PyTorch is not there (../libexec/pilot/torch)");
	}
	if ((r = start(c)) == 0) {
		listen(c);
		command_cause(c);
		if ((r = tell_blind(c)) == 0)
			r = tell_cap(c);
	} else {
		not_started(c, r);
	}
	if (c->output.log_why.code) {
		command_say(c, "%s", c->output.log_why.text);
		c->result->code = code_worst(c->result->code, c->output.log_why.code);
	}
	after = command_record_end(c) ? -EX_IOERR : after;
	if (after)
		c->result->code = code_worst(c->result->code, -after);
	return r ? r : after;
}

static void close_all(struct command *c)
{
	proc_end(&c->proc, 0);
	if (c->tree)
		tree_end(c->tree, &c->tree_facts);
	cap_end(&c->cap);
	guard_end(&c->guard);
	for (int i = 0; i < 2; i++)
		if (c->record[i] > 2)
			close(c->record[i]);
	if (c->pidfd > 2)
		close(c->pidfd);
	words_free(c->argv);
	words_free(c->env);
	words_free(c->envp);
	step_regex_close(&c->regex);
	output_free(&c->output);
	tree_facts_free(&c->tree_facts);
	buf_free(&c->scratch);
	buf_free(&c->raw);
	rec_free(&c->rec);
}

int command_run(const struct command_run *how, struct out *o, struct outcome *result, struct why *w)
{
	struct command *c = calloc(1, sizeof *c);
	struct why here = { 0 };
	int r;

	memset(result, 0, sizeof *result);
	if (!c)
		return why_set(w, EX_OSERR, "start: no memory on the host");
	c->how = how;
	c->out = o;
	c->result = result;
	c->why = w ? w : &here;
	c->pidfd = -1;
	c->proc = (struct proc){ .in = -1, .out = -1, .err = -1 };
	totals_init(&c->totals);
	if ((r = prepare(c)) == 0)
		r = whole_run(c);
	close_all(c);
	free(c);
	return r;
}
