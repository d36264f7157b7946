/* diff.c - ledger diff. */
#include "ledger.h"

int do_diff(int argc, char **argv)
{
	(void)argc;
	return cmd_usage_error("%s: not there yet", argv[0]);
}
