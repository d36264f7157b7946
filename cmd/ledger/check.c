/* check.c - ledger check. */
#include "ledger.h"

int do_check(int argc, char **argv)
{
	(void)argc;
	return cmd_usage_error("%s: not there yet", argv[0]);
}
