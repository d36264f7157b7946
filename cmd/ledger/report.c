/* report.c - ledger report. */
#include "ledger.h"

int do_report(int argc, char **argv)
{
	(void)argc;
	return cmd_usage_error("%s: not there yet", argv[0]);
}
