/* scaling.c - ledger scaling. */
#include "ledger.h"

int do_scaling(int argc, char **argv)
{
	(void)argc;
	return cmd_usage_error("%s: not there yet", argv[0]);
}
