/* main.c - ledger: keeps every run for ever, and answers questions about them. */
#include <string.h>

#include "ledger.h"

/* A page of its own: ledger-NAME(1). */
static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *doc; /* NULL: another group begins */
} commands[] = {
	{ "append", do_append, "keep a stream's records in a ledger" },
	{ "show", do_show, "runs told, or their records" },
	{ "summary", do_summary, "one row a run" },
	{ "verify", do_verify, "is the file what was written?" },
	{ "recover", do_recover, "what can be saved of a damaged file" },
	{ "merge", do_merge, "several ledgers into a new one" },
	{ NULL, NULL, NULL },
	{ "plan", do_plan, "a controlled comparison, fixed before its first run" },
	{ "compare", do_compare, "which variant won, and whether that can be told" },
	{ "scaling", do_scaling, "how updates to a target depend on the batch" },
	{ "sheet", do_sheet, "what a device must have, and which of a catalogue fit" },
	{ "schedule", do_schedule, "what fits into 3, 7 or 30 days" },
	{ "check", do_check, "did last night's run come, and is it worse than before?" },
	{ NULL, NULL, NULL },
	{ "note", do_note, "a person's remark or decision, kept beside the measured" },
	{ "rerun", do_rerun, "the command line that does a run again" },
	{ "diff", do_diff, "in what two runs differ" },
	{ "bundle", do_bundle, "a run's records and files as one archive" },
	{ "plot", do_plot, "curves, throughput, memory as SVG" },
	{ "report", do_report, "all of it on one HTML page" },
	{ "export", do_export, "records as CSV or JSON Lines" },
	{ "import", do_import, "old logs as runs" },
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static int say_usage(void)
{
	struct buf b = { 0 };
	int rc = buf_printf(&b, "usage: ledger SUBCOMMAND [OPTION ...] [FILE ...]\n\n");

	for (int i = 0; i < COMMANDS && rc == 0; i++)
		rc = commands[i].name ? buf_printf(&b, "  %-9s %s\n", commands[i].name, commands[i].doc) : buf_printf(&b, "\n");
	if (rc == 0)
		rc = buf_printf(&b, "\nledger SUBCOMMAND --help, man ledger\n");
	if (rc == 0)
		fwrite(b.p, 1, b.n, stdout);
	buf_free(&b);
	return rc == 0 ? 0 : EX_OSERR;
}

int main(int argc, char **argv)
{
	struct cmd c;
	const char *value;

	cmd_init("ledger");
	if (argc > 1)
		for (int i = 0; i < COMMANDS; i++)
			if (commands[i].name && strcmp(argv[1], commands[i].name) == 0)
				return cmd_finish(commands[i].run(argc - 1, argv + 1));
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0))
		return cmd_finish(say_usage());
	cmd_options(&c, argc < 2 || argv[1][0] != '-' ? 1 : 2, argv, "usage: ledger SUBCOMMAND [OPTION ...] [FILE ...]\n", NULL, NULL);
	if (cmd_next(&c, &value) != CMD_END)
		return cmd_finish(c.status);
	if (argc < 2)
		return cmd_finish(cmd_usage_error("which subcommand? ledger --help names them"));
	return cmd_finish(cmd_usage_error("%.80s: no such subcommand; ledger --help names them", argv[1]));
}
