/* schedule.c - ledger schedule. */
#include "ledger.h"

int do_schedule(int argc, char **argv)
{
	(void)argc;
	return cmd_usage_error("%s: not there yet", argv[0]);
}
