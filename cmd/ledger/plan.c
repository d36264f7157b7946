/* plan.c - ledger plan: a controlled comparison, fixed before its first run. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/answer/arms.h"
#include "../../lib/answer/plan.h"
#include "ledger.h"

static const char usage[] =
	"usage: ledger plan [-jt] [--msgpack] [--control NAME=VALUE,...] --vary NAME=VALUE,... [--vary ...] [options]\n"
	"       ledger plan [-jt] [--msgpack] [--control NAME=VALUE,...] --cross 'NAME=VALUE,...;NAME=VALUE,...' [options]\n"
	"       ledger plan --account [-j | --csv] ... [options]\n";

enum { CONTROL = 0x1020, VARY, CROSS, SEEDS, CONTROL_SEEDS, UNPAIRED, METRIC, BEST, WITHIN, TARGET, NAME, QUESTION, COMMAND, ACCOUNT };

static const struct cmd_option own[] = {
	{ CONTROL, "control", "NAME=VALUE,...", "what the control has; what every run has, if not given" },
	{ VARY, "vary", "NAME=VALUE,...", "a variant for each value, all else as the control; may be repeated" },
	{ CROSS, "cross", "'NAME=..;NAME=..'", "an arm for every combination" },
	{ SEEDS, "seeds", "N | N,N,...", "seeds 1 to N, or these (1)" },
	{ CONTROL_SEEDS, "control-seeds", "N | N,N,...", "seeds of the control, where only it is run with several" },
	{ UNPAIRED, "unpaired", NULL, "do not compare seed by seed" },
	{ METRIC, "metric", "NAME", "what decides: validation_loss, validation_accuracy, exact_match" },
	{ BEST, "best", NULL, "by the best validation instead of the last" },
	{ WITHIN, "within", "X", "margin of the metric inside which quality counts as kept" },
	{ TARGET, "target", "X", "value of the metric whose reaching is timed" },
	{ NAME, "name", "TEXT", "what to call it" },
	{ QUESTION, "question", "TEXT", "what it is to answer" },
	{ COMMAND, "command", NULL, "the runs are a command's: NAME may be a placeholder {NAME} of its own" },
	{ ACCOUNT, "account", NULL, "print how examples and updates of each arm add up, and plan nothing" },
	{ PRINT_CSV, "csv", NULL, "--account: comma-separated values" },
	CMD_FORM_OPTIONS,
	{ 0 },
};

static int number(const char *option, const char *value, double min, double *out)
{
	struct why w;

	return num_float(value, option, min, 1e300, out, &w) < 0 ? cmd_usage_error("%s", w.text) : 0;
}

static int take(struct plan_settings *s, int opt, const char *value)
{
	switch (opt) {
	case CONTROL: s->control = value; return 0;
	case VARY:
		if (s->varies == PLAN_FACTORS)
			return cmd_usage_error("--vary: more than %d", PLAN_FACTORS);
		s->vary[s->varies++] = value;
		return 0;
	case CROSS: s->cross = value; return 0;
	case SEEDS: s->seeds = value; return 0;
	case CONTROL_SEEDS: s->control_seeds = value; return 0;
	case UNPAIRED: s->unpaired = true; return 0;
	case METRIC:
		if (arms_metric_find(value) < 0)
			return cmd_usage_error("--metric: %.60s: not validation_loss, validation_accuracy or exact_match", value);
		s->metric = arms_metric_name((enum arms_metric)arms_metric_find(value));
		return 0;
	case BEST: s->best = true; return 0;
	case WITHIN: return number("--within", value, 0, &s->within);
	case TARGET: return number("--target", value, -1e300, &s->target);
	case NAME: s->name = value; return 0;
	case QUESTION: s->question = value; return 0;
	case COMMAND: s->command = true; return 0;
	default: return 1;
	}
}

/* Tool record, the plan, done. */
static int write_plan(const struct plan_settings *s, const struct plan *p, enum form form, char **argv)
{
	struct why w = { 0 };
	char id[ULID_SIZE];
	struct out *o;
	int rc = out_open(&o, STDOUT_FILENO, form, &w), closed;

	if (rc < 0) {
		cmd_warn(&w);
		return -rc;
	}
	rc = tool_begin(o, "ledger", argv, id, &w);
	if (rc == 0)
		rc = plan_write(s, p, o, &w);
	if (rc == 0)
		rc = tool_end(o, id, 0, &w);
	if (rc < 0)
		cmd_warn(&w);
	closed = out_close(o, &w);
	if (rc == 0 && closed < 0)
		cmd_warn(&w);
	return rc ? -rc : -closed;
}

/* Equal updates are not equal examples. */
static void warn_batches(const struct plan *p)
{
	for (int i = 0; i < p->factors; i++)
		if ((p->factor[i].option == O_micro_batch || p->factor[i].option == O_accum) && strcmp(p->budget, "updates") == 0)
			cmd_say("plan: %s: arms of other batches see other numbers of examples in as many updates; --examples makes these equal (see --account)", p->factor[i].name);
}

static int account(const struct plan_settings *s, const struct plan *p, const struct printing *how)
{
	struct answer *a = NULL;
	struct why w;
	int rc = account_answer(s, p, &a, &w), status;

	if (rc < 0)
		cmd_warn(&w);
	status = rc < 0 ? -rc : print_answer(a, how);
	answer_free(a);
	return status;
}

int do_plan(int argc, char **argv)
{
	struct plan_settings s = { .within = NAN, .target = NAN };
	struct printing how = { 0 };
	enum form form = FORM_AUTO;
	bool only_account = false;
	struct config config;
	struct plan plan;
	const char *value;
	struct cmd c;
	struct why w;
	int opt, rc, status;

	if (config_init(&config) < 0) {
		cmd_say("plan: out of memory");
		return EX_OSERR;
	}
	cmd_options(&c, argc, argv, usage, own, &config);
	while ((opt = cmd_next(&c, &value)) >= 0) {
		rc = take(&s, opt, value);
		only_account |= opt == ACCOUNT;
		how.csv |= opt == PRINT_CSV;
		if (rc == 1 && opt != ACCOUNT && opt != PRINT_CSV)
			cmd_form(opt, &form);
		if (rc == EX_USAGE)
			break;
	}
	status = opt == CMD_END ? 0 : opt >= 0 ? EX_USAGE : c.status;
	if (opt == CMD_END && c.operand < c.argc)
		status = cmd_usage_error("plan: %.80s: takes no operands", c.argv[c.operand]);
	else if (opt == CMD_END && config_given(&config, O_seed))
		status = cmd_usage_error("plan: --seed: a comparison's seeds are --seeds");
	else if (opt == CMD_END && config_given(&config, O_resume))
		status = cmd_usage_error("plan: --resume: the runs of a comparison begin anew; --weights gives them weights");
	if (opt == CMD_END && status == 0) {
		s.config = &config;
		how.json = form == FORM_JSON;
		rc = plan_make(&s, &plan, &w);
		if (rc < 0) {
			status = rc == -EX_USAGE ? cmd_usage_error("%s", w.text) : (cmd_warn(&w), -rc);
		} else {
			if (!only_account)
				warn_batches(&plan);
			status = only_account ? account(&s, &plan, &how) : write_plan(&s, &plan, form, argv);
			plan_free(&plan);
		}
	}
	config_free(&config);
	return status;
}
