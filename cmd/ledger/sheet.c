/* sheet.c - ledger sheet: what runs took of their devices, and which devices would do. */
#include "ledger.h"
#include "../../lib/answer/sheet.h"

static const char usage[] = "usage: ledger sheet [-j | --csv] [--runs] [--catalogue FILE.tsv] [--headroom PERCENT] [--metric NAME]\n"
	"                    [FILE ...]\n";

enum { CATALOGUE = 0x2001, HEADROOM, METRIC };

static const struct cmd_option options[] = {
	{ CATALOGUE, "catalogue", "FILE", "devices to compare with, tab-separated" },
	{ HEADROOM, "headroom", "PERCENT", "of the usable memory that must stay free (10)" },
	{ METRIC, "metric", "NAME", "of the last validation: loss, accuracy or exact_match (loss)" },
	PRINT_OPTIONS,
	{ 0 },
};

static int answer(const struct book *b, const struct sheet_settings *s, const struct printing *how)
{
	struct answer *a = NULL;
	struct why w;
	int rc = sheet_answer(b, s, &a, &w), status = 0;

	if (rc < 0)
		cmd_warn(&w);
	else
		status = print_answer(a, how);
	answer_free(a);
	return rc < 0 ? -rc : status;
}

int do_sheet(int argc, char **argv)
{
	struct sheet_settings s = { .headroom = 0.1 };
	struct printing how = { 0 };
	struct catalogue catalogue = { 0 };
	const char *value, *path = NULL;
	struct book *b = NULL;
	struct cmd c;
	struct why w;
	double percent = 10;
	int opt, status;

	cmd_options(&c, argc, argv, usage, options, NULL);
	while ((opt = cmd_next(&c, &value)) >= 0) {
		if (opt == CATALOGUE)
			path = value;
		else if (opt == HEADROOM && num_float(value, "--headroom", 0, 99, &percent, &w) < 0)
			return cmd_usage_error("%s", w.text);
		else if (opt == METRIC && sheet_metric(value, &s.metric, &w) < 0)
			return cmd_usage_error("%s", w.text);
		else if (opt != HEADROOM && opt != METRIC && print_option(&how, opt) == EX_USAGE)
			return EX_USAGE;
	}
	if (opt != CMD_END)
		return c.status;
	s.headroom = percent / 100;
	if (path && catalogue_read(&catalogue, path, &w) < 0) {
		cmd_warn(&w);
		return w.code;
	}
	s.catalogue = path ? &catalogue : NULL;
	status = ask_book(&b, argv + c.operand, c.argc - c.operand);
	if (ask_worth(b, status))
		status = code_worst(status, answer(b, &s, &how));
	book_free(b);
	catalogue_free(&catalogue);
	return status;
}
