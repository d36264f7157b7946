/* plan.c - ledger plan. */
#include "ledger.h"

int do_plan(int argc, char **argv)
{
	(void)argc;
	return cmd_usage_error("%s: not there yet", argv[0]);
}
