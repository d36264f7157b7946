/* probe-batch: find which micro-batches fit and how fast each one is. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/job/job.h"
#include "../common/cmd.h"
#include "../common/stranger.h"

static const char usage[] =
	"usage: probe-batch [-jt] [--msgpack] [-v] [--exact] [--headroom SHARE] [--max N]\n"
	"                   [--effective-batch N] [--seconds TIME] [--deadline TIME]\n"
	"                   [options of train-step]\n"
	"       probe-batch [options] [--env NAME=VALUE] [--resume-with COMMAND]\n"
	"                   [--step-regex REGEX] [--evidence none|basic|full] [--no-adapter]\n"
	"                   -- COMMAND [ARGUMENT ...]\n";

enum { EXACT = 256, HEADROOM, MAX, EFFECTIVE, SECONDS, DEADLINE };
static const struct cmd_option own[] = {
	{ EXACT, "exact", NULL, "seek the edge of memory also where it is far past the knee" },
	{ HEADROOM, "headroom", "SHARE", "share of the budget that the recommended size leaves free: 0.1 or 10%" },
	{ MAX, "max", "N", "largest micro-batch to try" },
	{ EFFECTIVE, "effective-batch", "N", "wanted examples per update: recommend a divisor, and the accumulation that keeps it" },
	{ SECONDS, "seconds", "TIME", "time the updates of each size for so long" },
	{ DEADLINE, "deadline", "TIME", "end a trial that takes longer" },
	{ 'v', "verbose", NULL, "pass the trainer's messages on" },
	CMD_FORM_OPTIONS,
	CMD_STRANGER_OPTIONS,
	{ 0 },
};

/* A share: 0.1 or 10%. */
static int share(const char *value, double *out)
{
	char text[32];
	struct why w = { 0 };
	size_t n = strlen(value);
	bool percent = n > 0 && n < sizeof text && value[n - 1] == '%';
	snprintf(text, sizeof text, "%.*s", (int)(percent ? n - 1 : n), value);
	if (num_float(text, "--headroom", 0, percent ? 90 : 0.9, out, &w) < 0) {
		cmd_warn(&w);
		return EX_USAGE;
	}
	*out /= percent ? 100 : 1;
	return 0;
}

static int store(int opt, const char *value, struct probe_settings *s, enum form *form)
{
	if (cmd_form(opt, form))
		return 0;
	switch (opt) {
	case EXACT: s->exact = true; return 0;
	case 'v': s->pass_stderr = true; return 0;
	case HEADROOM: return share(value, &s->headroom);
	case MAX: return cmd_int("--max", value, 1, INT32_MAX, &s->max);
	case EFFECTIVE: return cmd_int("--effective-batch", value, 1, INT32_MAX, &s->effective);
	case SECONDS: return cmd_duration("--seconds", value, &s->seconds);
	case DEADLINE: return cmd_duration("--deadline", value, &s->deadline);
	}
	return 0;
}

/* What makes no sense here, though train-step has it. */
static int check(const struct config *c, const struct probe_settings *s)
{
	struct why w = { 0 };
	if (config_given(c, O_micro_batch))
		return cmd_usage_error("--micro-batch: it is what probe-batch finds (--max bounds it)");
	if (config_given(c, O_resume))
		return cmd_usage_error("--resume: a checkpoint has its micro-batch; probe without it");
	if (s->effective && config_given(c, O_accum))
		return cmd_usage_error("--effective-batch with --accum: one follows from the other");
	if (s->seconds <= 0 || s->deadline <= 0)
		return cmd_usage_error("%s: must be more than 0", s->seconds <= 0 ? "--seconds" : "--deadline");
	if ((s->stranger ? probe_check(s, &w) : config_check(c, &w)) < 0) {
		cmd_warn(&w);
		return w.code;
	}
	return 0;
}

/* What stands behind "--" is the command. */
static int operands(const struct cmd *c, struct stranger_options *o, struct probe_settings *s)
{
	bool command = c->operand < c->argc && c->dashes;
	if (c->operand < c->argc && !command)
		return cmd_usage_error("%s: takes no operands; a command stands behind --", c->argv[c->operand]);
	if (!command && c->dashes)
		return cmd_usage_error("--: a command is wanted");
	if (!command && o->any)
		return cmd_usage_error("--env, --resume-with, --step-regex, --evidence, --no-adapter: only with -- COMMAND");
	if (command) {
		o->stranger.argv = c->argv + c->operand;
		s->stranger = &o->stranger;
	}
	return 0;
}

static void progress(const char *line)
{
	cmd_progress("%s", line);
}

/* The stream, from the tool record to its done. */
static int probe(const struct probe_settings *s, struct out *o, char **argv)
{
	struct why w = { 0 }, warn = { 0 };
	char id[ULID_SIZE];
	int r = tool_begin(o, "probe-batch", argv, id, &w);
	if (r == 0)
		r = probe_run(s, o, &warn, &w);
	if (out_broken(o)) {
		stop_request(SIGPIPE);
		return EX_IOERR;
	}
	if (r < 0 && !stop_wanted())
		cmd_warn(&w);
	if (*warn.text)
		cmd_warn(&warn);
	int status = stop_wanted() ? 128 + stop_wanted() : -r;
	r = tool_end(o, id, status, &w);
	if (r < 0 && !out_broken(o)) {
		if (status != -r) /* else it is said already */
			cmd_warn(&w);
		return code_worst(status, -r);
	}
	return status;
}

static int run(struct probe_settings *s, enum form form, char **argv)
{
	struct why w = { 0 };
	struct out *o;
	int r = out_open(&o, STDOUT_FILENO, form, &w), status;
	if (r < 0) {
		cmd_warn(&w);
		return -r;
	}
	if (!isatty(STDOUT_FILENO)) /* on a terminal the records themselves are the progress */
		s->progress = progress;
	status = probe(s, o, argv);
	bool broken = out_broken(o);
	if (out_close(o, &w) < 0 && !broken) {
		if (status != EX_IOERR)
			cmd_warn(&w);
		status = code_worst(status, EX_IOERR);
	}
	return status;
}

int main(int argc, char **argv)
{
	struct config config;
	struct probe_settings s = { .config = &config, .headroom = 0.1, .deadline = 600, .seconds = 1.5 };
	enum form form = FORM_AUTO;
	struct stranger_options stranger = { 0 };
	struct cmd c;
	const char *value;
	int opt, status = 0;

	cmd_init("probe-batch");
	if (config_init(&config) < 0) {
		cmd_say("start: settings: out of memory");
		return EX_OSERR;
	}
	cmd_options(&c, argc, argv, usage, own, &config);
	c.refused = UINT64_C(1) << O_micro_batch | UINT64_C(1) << O_resume;
	while (status == 0 && (opt = cmd_next(&c, &value)) >= 0)
		if ((status = stranger_option(&stranger, opt, value)) <= 1)
			status = status ? 0 : store(opt, value, &s, &form);
	if (status == 0 && opt != CMD_END) {
		config_free(&config);
		return cmd_finish(c.status);
	}
	if (status == 0)
		status = operands(&c, &stranger, &s);
	if (status == 0)
		status = check(&config, &s);
	if (status == 0)
		status = run(&s, form, argv);
	config_free(&config);
	return cmd_finish(status);
}
