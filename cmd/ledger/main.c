/* main.c - ledger: keeps every run for ever, and answers questions about them. */
#include <string.h>

#include "ledger.h"

static const char usage[] =
	"usage: ledger append [-e] [--receipt | --pass [-t | -j | --msgpack]] [--rest] [--spool DIR] [--timeout SECONDS] FILE\n"
	"       ledger show [-t | -j | --msgpack] [-r PREFIX] [--last] [--since WHEN] [--steps] [FILE ...]\n"
	"       ledger summary [-j | --csv] [-r PREFIX] [--last] [--since WHEN] [FILE ...]\n"
	"       ledger verify [-j] [--receipt FILE] FILE ...\n"
	"       ledger recover IN OUT\n"
	"       ledger merge OUT IN ...\n";

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "append", do_append }, { "show", do_show }, { "summary", do_summary },
	{ "verify", do_verify }, { "recover", do_recover }, { "merge", do_merge },
};

int main(int argc, char **argv)
{
	struct cmd c;
	const char *value;

	cmd_init("ledger");
	if (argc > 1)
		for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
			if (strcmp(argv[1], commands[i].name) == 0)
				return cmd_finish(commands[i].run(argc - 1, argv + 1));
	cmd_options(&c, argc < 2 || argv[1][0] != '-' ? 1 : 2, argv, usage, NULL, NULL);
	if (cmd_next(&c, &value) != CMD_END)
		return cmd_finish(c.status);
	if (argc < 2)
		return cmd_finish(cmd_usage_error("which of append, show, summary, verify, recover, merge?"));
	return cmd_finish(cmd_usage_error("%.80s: no such subcommand; there are append, show, summary, verify, recover, merge", argv[1]));
}
