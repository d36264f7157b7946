/* train-step: run N updates of one run, and report every phase. */
#include "train-step.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
	"usage: train-step [-jt] [--msgpack] [--show K] [options]\n"
	"       train-step [-jt] [--msgpack] -\n";

enum { SHOW = 256 };
static const struct cmd_option own[] = {
	{ SHOW, "show", "K", "print the first K training examples as the loss sees them, and train nothing" },
	CMD_FORM_OPTIONS,
	{ 0 },
};

struct settings {
	struct config config;
	enum form form;
	int64_t show;
	bool requests;
	char **argv;
};

void say_outcome(const struct outcome *r)
{
	if (*r->why && (r->signal || (r->code && strcmp(r->status, "done") != 0)))
		cmd_say("%s: %s", r->status, r->why);
	else if (strcmp(r->status, "done") == 0 && r->code == EX_NO)
		cmd_say("--overfit: not all targets came back");
}

static void progress(const char *line)
{
	cmd_progress("%s", line);
}

static int run_one(const struct settings *s, struct out *o)
{
	struct run_names names = { .argv = s->argv, .show = s->show };
	struct outcome result;
	struct why w = { 0 };
	int rc;

	if (!isatty(STDOUT_FILENO)) /* on a terminal the records themselves are the progress */
		names.progress = progress;
	rc = trainer_run(&s->config, &names, NULL, o, &result, &w);

	if (rc < 0 && !*result.status) { /* it never became a run */
		cmd_warn(&w);
		return -rc;
	}
	say_outcome(&result);
	return result.code;
}

/* From the tool record to its done. */
static int bracket(const struct settings *s, struct out *o)
{
	struct why w = { 0 };
	char id[ULID_SIZE];
	int status, rc = tool_begin(o, cmd_name(), s->argv, id, &w);

	if (rc == 0) {
		status = s->requests ? run_requests(o) : run_one(s, o);
		rc = tool_end(o, id, stop_wanted() ? 128 + stop_wanted() : status, &w);
	} else {
		status = -rc;
	}
	if (out_broken(o))
		stop_request(SIGPIPE);
	else if (rc < 0)
		cmd_warn(&w);
	return rc < 0 ? code_worst(status, -rc) : status;
}

/* OpenMP's idle threads spin by default and take the core from whoever else is on a shared
 * machine: small models then run 40 times slower. The runtime reads its settings before
 * main, so the program starts itself again; it goes on as it is where that fails. */
static void wait_asleep(char **argv)
{
	char self[4096];
	ssize_t n;

	if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT"))
		return;
	n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n <= 0 || setenv("OMP_WAIT_POLICY", "passive", 1) < 0)
		return;
	self[n] = 0;
	execv(self, argv);
}

static int run(const struct settings *s)
{
	struct why w = { 0 };
	struct out *o;
	int rc = out_open(&o, STDOUT_FILENO, s->form, &w), status;
	bool broken;

	if (rc < 0) {
		cmd_warn(&w);
		return -rc;
	}
	status = bracket(s, o);
	broken = out_broken(o);
	if (out_close(o, &w) < 0 && !broken) {
		cmd_warn(&w);
		status = code_worst(status, EX_IOERR);
	}
	return status;
}

/* "-" reads requests; settings would have no run to belong to. */
static int operands(struct settings *s, const struct cmd *c)
{
	int n = c->argc - c->operand;

	if (n == 0)
		return 0;
	if (c->dashes)
		return cmd_usage_error("-- %s: foreign commands are not in this version", c->argv[c->operand]);
	if (n > 1 || strcmp(c->argv[c->operand], "-") != 0)
		return cmd_usage_error("%s: takes no operand but \"-\"", c->argv[c->operand]);
	for (enum option o = 0; o < OPTIONS; o++)
		if (config_given(&s->config, o))
			return cmd_usage_error("--%s with \"-\": settings come with the requests", option_info(o)->option);
	if (s->show > 0)
		return cmd_usage_error("--show with \"-\": settings come with the requests");
	s->requests = true;
	return 0;
}

int main(int argc, char **argv)
{
	struct settings s = { .form = FORM_AUTO, .argv = argv };
	struct cmd c;
	const char *value;
	int opt, status = 0;

	cmd_init("train-step");
	if (config_init(&s.config) < 0) {
		cmd_say("start: settings: no memory");
		return cmd_finish(EX_OSERR);
	}
	cmd_options(&c, argc, argv, usage, own, &s.config);
	while (status == 0 && (opt = cmd_next(&c, &value)) >= 0)
		if (!cmd_form(opt, &s.form))
			status = cmd_int("--show", value, 1, INT32_MAX, &s.show);
	if (status == 0)
		status = opt == CMD_END ? operands(&s, &c) : c.status;
	if (status == 0 && opt == CMD_END) {
		wait_asleep(argv);
		status = run(&s);
	}
	config_free(&s.config);
	return cmd_finish(status);
}
