/* gate: judge each phase of the runs that pass by, and prove that their checkpoints resume. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/job/job.h"
#include "../common/stranger.h"

static const char usage[] =
	"usage: gate [-jt] [--msgpack] [--require PHASE[,PHASE...]] [--no-replay] [--replay once|all]\n"
	"            [--replay-updates N] [--deadline TIME] [--allow-exec] [--resume-with COMMAND]\n"
	"            [--env NAME=VALUE] [--step-regex REGEX] [--no-adapter] [FILE...] [-- COMMAND]\n";

enum { REQUIRE = 256, NO_REPLAY, REPLAY, UPDATES, DEADLINE, ALLOW };
static const struct cmd_option own[] = {
	{ REQUIRE, "require", "PHASES", "phases, joined by commas, that fail where they are unproven" },
	{ NO_REPLAY, "no-replay", NULL, "run nothing again: resume stays unproven" },
	{ REPLAY, "replay", "once|all", "once for runs of the same settings (default), or for every run" },
	{ UPDATES, "replay-updates", "N", "updates of a replay (default 16)" },
	{ DEADLINE, "deadline", "TIME", "time for the replays of one run (default 10m)" },
	{ ALLOW, "allow-exec", NULL, "run commands that the stream names again, to prove that they resume" },
	{ STRANGER_RESUME, "resume-with", "COMMAND", "for sh: how a command goes on from its checkpoint, instead of what the stream says" },
	{ STRANGER_ENV, "env", "NAME=VALUE", "-- COMMAND: set this in its environment; may be given again" },
	{ STRANGER_REGEX, "step-regex", "REGEX", "-- COMMAND: read updates from its output: named groups as in pilot-trainer(7)" },
	{ STRANGER_BLIND, "no-adapter", NULL, "-- COMMAND: leave its environment alone and only watch it from outside" },
	CMD_FORM_OPTIONS,
	{ 0 },
};

/* What one look at the stream goes through. */
struct gate {
	struct out *out;
	struct judge *judge;
	int status;
	bool absent; /* a FILE could not be opened, which says why there is nothing to judge */
};

static int require(const char *value, unsigned *required)
{
	while (*value) {
		size_t n = strcspn(value, ",");
		int p = gate_phase_find(value, n);

		if (p < 0)
			return cmd_usage_error("--require: %.*s: no such phase", (int)n, value);
		*required |= 1u << p;
		value += n + (value[n] == ',');
	}
	return 0;
}

static int replay(const char *value, bool *every)
{
	if (strcmp(value, "once") && strcmp(value, "all"))
		return cmd_usage_error("--replay: %s: not one of once, all", value);
	*every = !strcmp(value, "all");
	return 0;
}

/* What the command line asks for. */
struct asked {
	struct judge_settings judge;
	struct stranger_options stranger;
	enum form form;
	int files; /* operands before "--" */
};

static int store(int opt, const char *value, struct asked *a)
{
	struct judge_settings *s = &a->judge;
	int known = stranger_option(&a->stranger, opt, value);

	if (known)
		return known == 1 ? 0 : known;
	if (cmd_form(opt, &a->form))
		return 0;
	switch (opt) {
	case REQUIRE: return require(value, &s->required);
	case NO_REPLAY: s->replay = false; return 0;
	case REPLAY: return replay(value, &s->every);
	case ALLOW: s->allow_exec = true; return 0;
	case UPDATES: return cmd_int("--replay-updates", value, 1, 1000, &s->updates);
	case DEADLINE: return cmd_duration("--deadline", value, &s->deadline);
	}
	return 0;
}

static void trouble(struct gate *g, int rc, const struct why *w)
{
	if (out_broken(g->out)) {
		stop_request(SIGPIPE);
		return;
	}
	cmd_warn(w);
	g->status = code_worst(g->status, -rc);
}

/* A tool upstream that failed is a stream that failed. */
static void see_done(struct gate *g, const struct view *v)
{
	int64_t status;

	if (v->kind == KIND_done && view_int(v, F_done_status, &status) && status >= 64 && status < 256)
		g->status = code_worst(g->status, (int)status);
}

/* 0, or -code: nothing can be written, or remembered, any more. */
static int one(struct gate *g, struct brackets *b, const struct view *v, struct why *w)
{
	struct why bad = { 0 };
	int rc = out_view(g->out, v, w);

	if (rc < 0)
		return rc;
	if ((rc = brackets_see(b, v, &bad)) < 0)
		trouble(g, rc, &bad);
	see_done(g, v);
	return judge_see(g->judge, v, w);
}

/* 1: go on with the next input. */
static int input(struct gate *g, int fd, const char *name)
{
	struct brackets *b = brackets_new();
	struct in *in = NULL;
	struct view v;
	struct why w = { 0 };
	int rc = in_open(&in, fd, name, &w), lost = 0;

	if (!b)
		rc = why_set(&w, EX_OSERR, "read: %s: no memory", name);
	while (rc >= 0) {
		if (in_would_wait(in) && (lost = out_flush(g->out, &w)) < 0)
			break;
		if ((rc = in_next(in, &v, &w)) <= 0 || (lost = one(g, b, &v, &w)) < 0)
			break;
	}
	if (rc < 0 || lost < 0)
		trouble(g, rc < 0 ? rc : lost, &w);
	else if ((rc = brackets_check(b, name, &w)) < 0)
		trouble(g, rc, &w);
	brackets_free(b);
	in_close(in);
	return lost == 0;
}

static int file(struct gate *g, const char *path)
{
	struct why w = { 0 };
	int fd, ok;

	if (!strcmp(path, "-"))
		return input(g, STDIN_FILENO, "standard input");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		g->absent = true;
		trouble(g, why_errno(&w, EX_NOINPUT, "open: %s", path), &w);
		return 1;
	}
	ok = input(g, fd, path);
	close(fd);
	return ok;
}

static int inputs(struct gate *g, int n, char **path)
{
	int ok = n ? 1 : input(g, STDIN_FILENO, "standard input");

	for (int i = 0; i < n && ok; i++)
		ok = file(g, path[i]);
	return ok;
}

/* From the tool record to its done. */
static void gate(struct gate *g, const struct judge_settings *s, int n, char **path, char **argv)
{
	struct why w = { 0 };
	char id[ULID_SIZE];
	int rc = tool_begin(g->out, "gate", argv, id, &w);

	if (rc == 0)
		rc = judge_new(&g->judge, s, g->out, id, &w);
	if (rc < 0) {
		trouble(g, rc, &w);
		return;
	}
	if (!inputs(g, n, path))
		return;
	rc = judge_finish(g->judge, &w);
	if (rc == -EX_NO)
		g->status = code_worst(g->status, EX_NO);
	else if (rc < 0 && !(g->absent && rc == -EX_DATAERR))
		trouble(g, rc, &w);
	if (out_broken(g->out))
		return;
	g->status = stop_wanted() ? 128 + stop_wanted() : g->status;
	if ((rc = tool_end(g->out, id, g->status, &w)) < 0)
		trouble(g, rc, &w);
}

static void progress(const char *line)
{
	cmd_progress("%s", line);
}

static int run(const struct judge_settings *s, enum form form, int n, char **path, char **argv)
{
	struct gate g = { 0 };
	struct why w = { 0 };
	int rc = out_open(&g.out, STDOUT_FILENO, form, &w);

	if (rc < 0) {
		cmd_warn(&w);
		return -rc;
	}
	gate(&g, s, n, path, argv);
	judge_free(g.judge);
	bool broken = out_broken(g.out);
	if (out_close(g.out, &w) < 0 && !broken) {
		if (g.status != EX_IOERR) /* else it is said already */
			cmd_warn(&w);
		g.status = code_worst(g.status, EX_IOERR);
	}
	return g.status;
}

/* The command line before getopt moves its words. */
static char **as_it_came(int argc, char **argv)
{
	char **copy = calloc((size_t)argc + 1, sizeof *copy);

	if (copy)
		memcpy(copy, argv, (size_t)argc * sizeof *copy);
	return copy;
}

/* getopt moves the operands before "--" behind it: of n behind it now, these are so many. */
static int before_dashes(const struct cmd *c, char **came, int n)
{
	for (int i = 1; i < c->argc; i++)
		if (!strcmp(came[i], "--") && n >= c->argc - i - 1)
			return n - (c->argc - i - 1);
	return n;
}

/* Operands before "--" are files, those behind it the command. */
static int split(struct asked *a, const struct cmd *c, char **came)
{
	struct stranger *s = &a->stranger.stranger;
	int n = c->argc - c->operand;

	a->files = c->dashes ? before_dashes(c, came, n) : n;
	if (a->files < n)
		s->argv = c->argv + c->operand + a->files;
	else if (s->env || s->step_regex || s->no_adapter)
		return cmd_usage_error("%s: only with -- COMMAND", s->env ? "--env" : s->step_regex ? "--step-regex" : "--no-adapter");
	if (!s->argv && s->resume_with && !a->judge.allow_exec)
		return cmd_usage_error("--resume-with: only with --allow-exec or -- COMMAND");
	a->judge.stranger = s;
	return 0;
}

int main(int argc, char **argv)
{
	struct asked a = { .judge = { .replay = true, .updates = 16, .deadline = 600, .progress = progress } };
	char **came = as_it_came(argc, argv);
	struct cmd c;
	const char *value;
	int opt, status = 0;

	cmd_init("gate");
	if (!came) {
		cmd_say("start: no memory");
		return cmd_finish(EX_OSERR);
	}
	cmd_options(&c, argc, argv, usage, own, NULL);
	while (status == 0 && (opt = cmd_next(&c, &value)) >= 0)
		status = store(opt, value, &a);
	if (status == 0 && opt != CMD_END)
		status = c.status;
	if (status == 0 && opt == CMD_END && a.judge.deadline <= 0)
		status = cmd_usage_error("--deadline: must be more than 0");
	if (status == 0 && opt == CMD_END && (status = split(&a, &c, came)) == 0)
		status = run(&a.judge, a.form, a.files, argv + c.operand, came);
	free(came);
	return cmd_finish(status);
}
