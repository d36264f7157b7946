/* schedule.c - ledger schedule: what fits into 3, 7 or 30 days. */
#include <math.h>
#include <string.h>

#include "../../lib/answer/schedule.h"
#include "ledger.h"

static const char usage[] = "usage: ledger schedule --days N,... [-j | --csv] [--runs] [--comparison ID|NAME] [--order 'ARM;ARM'] [--reserve P]\n"
	"                       [--restarts N] [--devices N] [--updates N] [--keep N] [--uplink SIZE] [FILE ...]\n";

enum { DAYS = 0x1020, COMPARISON, ORDER, RESERVE, RESTARTS, DEVICES, UPDATES, KEEP, UPLINK };
static const struct cmd_option options[] = {
	PRINT_OPTIONS,
	{ DAYS, "days", "N,...", "for so many days each" },
	{ COMPARISON, "comparison", "ID|NAME", "the planned comparison; the newest if not given" },
	{ ORDER, "order", "'ARM;ARM'", "variants by priority; as planned if not given" },
	{ RESERVE, "reserve", "P", "percent of the time that is kept free (20)" },
	{ RESTARTS, "restarts", "N", "restarts a day of each device (0)" },
	{ DEVICES, "devices", "N", "runs at a time (1)" },
	{ UPDATES, "updates", "N", "updates of each run, instead of what was planned" },
	{ KEEP, "keep", "N", "checkpoints of a run that stay on disk (1)" },
	{ UPLINK, "uplink", "SIZE", "bytes a second for carrying one checkpoint of each run home" },
	{ 0 },
};

static int number(const char *option, const char *value, double least, double most, double *out)
{
	struct why w;

	return num_float(value, option, least, most, out, &w) < 0 ? cmd_usage_error("%s", w.text) : 0;
}

static int take_days(struct schedule_settings *s, const char *value)
{
	char word[32];

	for (s->n = 0; *value; value += *value == ',') {
		size_t k = strcspn(value, ",");

		if (s->n == SCHEDULE_DAYS)
			return cmd_usage_error("--days: more than %d", SCHEDULE_DAYS);
		snprintf(word, sizeof word, "%.*s", k > 31 ? 31 : (int)k, value);
		if (number("--days", word, 0.001, 36500, &s->days[s->n++]))
			return EX_USAGE;
		value += k;
	}
	return 0;
}

static int take(struct schedule_settings *s, int opt, const char *value)
{
	int64_t n;
	int rc;

	switch (opt) {
	case DAYS: return take_days(s, value);
	case COMPARISON: s->arms.comparison = value; return 0;
	case ORDER: s->order = value; return 0;
	case RESERVE:
		rc = number("--reserve", value, 0, 99, &s->reserve);
		s->reserve /= 100;
		return rc;
	case RESTARTS: return number("--restarts", value, 0, 1440, &s->restarts);
	case UPDATES: return number("--updates", value, 1, 1e15, &s->updates);
	case KEEP: return number("--keep", value, 0, 1e6, &s->keep);
	case DEVICES:
		rc = cmd_int("--devices", value, 1, 64, &n);
		s->devices = rc ? 1 : (int)n;
		return rc;
	case UPLINK:
		rc = cmd_size("--uplink", value, &n);
		s->uplink = rc ? NAN : (double)n;
		return rc == 0 && n == 0 ? cmd_usage_error("--uplink: 0 would take for ever") : rc;
	default: return 1;
	}
}

static int answer(const struct book *b, const struct schedule_settings *s, const struct printing *how)
{
	struct answer *a = NULL;
	struct why w;
	int rc = schedule_answer(b, s, &a, &w);

	return print_result(rc, a, how, &w);
}

int do_schedule(int argc, char **argv)
{
	struct schedule_settings s = { .reserve = 0.2, .devices = 1, .updates = NAN, .keep = 1, .uplink = NAN };
	struct printing how = { 0 };
	struct book *b = NULL;
	const char *value;
	struct cmd c;
	int opt, rc, status;

	cmd_options(&c, argc, argv, usage, options, NULL);
	while ((opt = cmd_next(&c, &value)) >= 0) {
		rc = take(&s, opt, value);
		if (rc == 1)
			rc = print_option(&how, opt);
		if (rc)
			return EX_USAGE;
	}
	if (opt != CMD_END)
		return c.status;
	if (!s.n)
		return cmd_usage_error("schedule: --days 3,7,30: for how long?");
	status = ask_book(&b, argv + c.operand, c.argc - c.operand);
	if (ask_worth(b, status))
		status = code_worst(status, answer(b, &s, &how));
	book_free(b);
	return status;
}
