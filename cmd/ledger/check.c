/* check.c - ledger check: did last night's run come, and is it worse than before? */
#include "../../lib/answer/check.h"
#include "ledger.h"

static const char usage[] = "usage: ledger check [-j | --csv] [--runs] [--since WHEN] [--against N] [--rate P] [--effect P] [--loss-effect P]\n"
	"                    [--by FIELD,...] [--only WORDS] [--strict] [FILE ...]\n";

enum { AGAINST = 0x1020, RATE, EFFECT, LOSS_EFFECT, BY, ONLY, STRICT };
static const struct cmd_option options[] = {
	PRINT_OPTIONS,
	{ PICK_SINCE, "since", "WHEN", "runs that began since then are tonight's (26h)" },
	{ AGAINST, "against", "N", "compare with at most so many earlier runs of the job (14)" },
	{ RATE, "rate", "P", "chance of any false alarm in a night, in percent (5)" },
	{ EFFECT, "effect", "P", "least change of times, throughput and memory that counts, in percent (5)" },
	{ LOSS_EFFECT, "loss-effect", "P", "least change of validation figures that counts, in percent (1)" },
	{ BY, "by", "FIELD,...", "runs with equal values of these settings are one job (equal settings)" },
	{ ONLY, "only", "WORDS", "only jobs whose name holds this" },
	{ STRICT, "strict", NULL, "too few earlier runs is a no" },
	{ 0 },
};

static int percent(const char *option, const char *value, double most, double *out)
{
	struct why w;

	if (num_float(value, option, 0, most, out, &w) < 0)
		return cmd_usage_error("%s", w.text);
	*out /= 100;
	return 0;
}

static int take(struct check_settings *s, int opt, const char *value)
{
	int64_t n;
	int rc;

	switch (opt) {
	case AGAINST:
		rc = cmd_int("--against", value, CHECK_FEW, 500, &n);
		s->against = rc ? 0 : (int)n;
		return rc;
	case RATE: return percent("--rate", value, 50, &s->rate);
	case EFFECT: return percent("--effect", value, 1000, &s->effect);
	case LOSS_EFFECT: return percent("--loss-effect", value, 1000, &s->loss_effect);
	case BY: s->by = value; return 0;
	case ONLY: s->only = value; return 0;
	case STRICT: s->strict = true; return 0;
	default: return 1;
	}
}

static int answer(const struct book *b, const struct check_settings *s, const struct printing *how)
{
	struct answer *a = NULL;
	struct why w;
	int rc = check_answer(b, s, &a, &w);

	return print_result(rc, a, how, &w);
}

int do_check(int argc, char **argv)
{
	struct check_settings s = { .against = 14, .rate = 0.05, .effect = 0.05, .loss_effect = 0.01 };
	struct printing how = { 0 };
	struct pick pick = { 0 };
	struct book *b = NULL;
	const char *value;
	struct cmd c;
	int opt, rc, status;

	cmd_options(&c, argc, argv, usage, options, NULL);
	while ((opt = cmd_next(&c, &value)) >= 0) {
		rc = take(&s, opt, value);
		if (rc == 1)
			rc = print_option(&how, opt);
		if (rc == 1)
			rc = pick_option(&pick, opt, value);
		if (rc)
			return EX_USAGE;
	}
	if (opt != CMD_END)
		return c.status;
	if (!pick.has_since && pick_option(&pick, PICK_SINCE, "26h"))
		return EX_USAGE;
	s.since = pick.since;
	status = ask_book(&b, argv + c.operand, c.argc - c.operand);
	if (ask_worth(b, status))
		status = code_worst(status, answer(b, &s, &how));
	book_free(b);
	return status;
}
