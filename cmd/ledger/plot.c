/* plot.c - ledger plot. */
#include "ledger.h"

int do_plot(int argc, char **argv)
{
	(void)argc;
	return cmd_usage_error("%s: not there yet", argv[0]);
}
