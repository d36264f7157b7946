/* train-step: run N updates of one run, and report every phase. */
#include "train-step.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
	"usage: train-step [-jt] [--msgpack] [--show K] [options]\n"
	"       train-step [-jt] [--msgpack] [options] -- command ...\n"
	"       train-step [-jt] [--msgpack] [options] - [-- command ...]\n";

enum { SHOW = 256, LOG, SET, REPEATS, OWN_VALUES = 64 };
static const struct cmd_option own[] = {
	{ SHOW, "show", "K", "print the first K training examples as the loss sees them, and train nothing" },
	CMD_STRANGER_OPTIONS,
	{ SET, "set", "NAME=VALUE", "-- COMMAND: the value of a placeholder {NAME} of its own; may be given again" },
	{ REPEATS, "repeats", "ID", "the run that this one repeats" },
	{ LOG, "log", "FILE", "-- COMMAND: append its output to this file instead of standard error" },
	{ STRANGER_DEADLINE, "deadline", "TIME", "-- COMMAND: no line, no output and no file written for so long is a hang (30m)" },
	CMD_FORM_OPTIONS,
	{ 0 },
};

struct settings {
	struct config config;
	enum form form;
	int64_t show;
	bool requests;
	struct stranger_options command; /* its argv is NULL where the builtin trainer is wanted */
	const char *log, *repeats;
	int log_fd;
	char *value[OWN_VALUES + 1];     /* of --set, borrowed */
	int values;
	char **argv;                     /* as they came */
};

void say_outcome(const struct outcome *r)
{
	if (*r->why && (r->signal || (r->code && strcmp(r->status, "done") != 0)))
		cmd_say("%s: %s", r->status, r->why);
	else if (strcmp(r->status, "done") == 0 && r->code == EX_NO)
		cmd_say("--overfit: not all targets came back");
}

void say_line(const char *line)
{
	cmd_say("%s", line);
}

static void progress(const char *line)
{
	cmd_progress("%s", line);
}

static int run_one(const struct settings *s, struct out *o)
{
	struct run_names names = { .argv = s->argv, .show = s->show, .repeats = s->repeats, .values = s->values ? s->value : NULL };
	struct outcome result;
	struct why w = { 0 };
	int rc;

	if (!isatty(STDOUT_FILENO)) /* on a terminal the records themselves are the progress */
		names.progress = progress;
	if (s->command.stranger.argv) {
		struct command_run run = { .config = &s->config, .stranger = &s->command.stranger, .names = &names, .log = s->log_fd, .say = say_line };

		rc = command_run(&run, o, &result, &w);
	} else {
		rc = trainer_run(&s->config, &names, NULL, o, &result, &w);
	}

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
	int status = 0, rc = tool_begin(o, cmd_name(), s->argv, id, &w);

	if (rc == 0) {
		status = s->requests ? run_requests(s->command.stranger.argv ? &s->command.stranger : NULL, s->log_fd, o) : run_one(s, o);
		rc = tool_end(o, id, stop_wanted() ? 128 + stop_wanted() : status, &w);
	}
	if (out_broken(o))
		stop_request(SIGPIPE);
	else if (rc < 0 && status != EX_IOERR) /* else it is said already */
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
		if (status != EX_IOERR) /* else it is said already */
			cmd_warn(&w);
		status = code_worst(status, EX_IOERR);
	}
	return status;
}

/* "-" reads requests; settings would have no run to belong to. */
static int only_requests(struct settings *s)
{
	for (enum option o = 0; o < OPTIONS; o++)
		if (config_given(&s->config, o))
			return cmd_usage_error("--%s with \"-\": settings come with the requests", option_info(o)->option);
	if (s->show > 0 || s->repeats || s->values)
		return cmd_usage_error("--%s with \"-\": settings come with the requests", s->show > 0 ? "show" : s->repeats ? "repeats" : "set");
	s->requests = true;
	return 0;
}

/* getopt moves operands behind "--": was a "-" before it? */
static bool dash_before(const struct settings *s, const struct cmd *c)
{
	int n = c->argc - c->operand;

	return n > 0 && !strcmp(c->argv[c->operand], "-") && !strcmp(s->argv[c->argc - n], "--");
}

static int with_command(struct settings *s, char **argv)
{
	struct run_names names = { .values = s->values ? s->value : NULL };
	struct command_run run = { .config = &s->config, .stranger = &s->command.stranger, .names = &names };
	struct why w = { 0 };

	s->command.stranger.argv = argv;
	if (!*argv)
		return cmd_usage_error("--: no command follows");
	if (s->show > 0)
		return cmd_usage_error("--show with a command: only the builtin trainer can show its examples");
	if (s->requests || command_check(&run, &w) == 0)
		return 0;
	cmd_warn(&w);
	return w.code;
}

static int operands(struct settings *s, const struct cmd *c)
{
	char **word = c->argv + c->operand;
	int n = c->argc - c->operand, status = 0;

	if (c->dashes) {
		if (dash_before(s, c)) {
			status = only_requests(s);
			word++;
		}
		return status ? status : with_command(s, word);
	}
	if (s->command.any || s->log || s->values || s->command.stranger.deadline > 0)
		return cmd_usage_error("--env, --set, --resume-with, --step-regex, --evidence, --no-adapter, --log and --deadline are for a command: -- COMMAND");
	if (n == 0)
		return 0;
	if (n > 1 || strcmp(*word, "-") != 0)
		return cmd_usage_error("%s: takes no operand but \"-\" (a command follows \"--\")", *word);
	return only_requests(s);
}

static int open_log(struct settings *s)
{
	s->log_fd = STDERR_FILENO;
	if (!s->log)
		return 0;
	s->log_fd = open(s->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (s->log_fd >= 0)
		return 0;
	cmd_say("opening: --log %s: %s", s->log, strerror(errno));
	return EX_IOERR;
}

static int add_value(struct settings *s, const char *value)
{
	const char *equals = strchr(value, '=');

	if (!equals || equals == value || strcspn(value, "{}") < (size_t)(equals - value))
		return cmd_usage_error("--set %s: NAME=VALUE is wanted", value);
	if (s->values == OWN_VALUES)
		return cmd_usage_error("--set %s: more than %d", value, OWN_VALUES);
	s->value[s->values++] = (char *)value;
	return 0;
}

static int store(struct settings *s, int opt, const char *value)
{
	int r;

	if (opt == SET)
		return add_value(s, value);
	if (opt == REPEATS) {
		s->repeats = value;
		return ulid_valid(value) ? 0 : cmd_usage_error("--repeats %s: not a run's id", value);
	}
	if (cmd_form(opt, &s->form))
		return 0;
	if (opt == SHOW)
		return cmd_int("--show", value, 1, INT32_MAX, &s->show);
	if (opt == STRANGER_DEADLINE)
		return cmd_duration("--deadline", value, &s->command.stranger.deadline);
	if (opt == LOG) {
		s->log = value;
		return 0;
	}
	r = stranger_option(&s->command, opt, value);
	return r == EX_USAGE ? r : 0;
}

/* The command line before getopt moves its words. */
static char **as_it_came(int argc, char **argv)
{
	char **copy = calloc((size_t)argc + 1, sizeof *copy);

	if (copy)
		memcpy(copy, argv, (size_t)argc * sizeof *copy);
	return copy;
}

int main(int argc, char **argv)
{
	struct settings s = { .form = FORM_AUTO, .argv = as_it_came(argc, argv) };
	struct cmd c;
	const char *value;
	int opt, status = 0;

	cmd_init("train-step");
	if (!s.argv || config_init(&s.config) < 0) {
		cmd_say("start: settings: no memory");
		return cmd_finish(EX_OSERR);
	}
	cmd_options(&c, argc, argv, usage, own, &s.config);
	while (status == 0 && (opt = cmd_next(&c, &value)) >= 0)
		status = store(&s, opt, value);
	if (status == 0)
		status = opt == CMD_END ? operands(&s, &c) : c.status;
	if (status == 0 && opt == CMD_END && (status = open_log(&s)) == 0) {
		if (!s.command.stranger.argv)
			wait_asleep(s.argv);
		status = run(&s);
	}
	config_free(&s.config);
	free(s.argv);
	return cmd_finish(status);
}
