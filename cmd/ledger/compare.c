/* compare.c - ledger compare. */
#include "ledger.h"

int do_compare(int argc, char **argv)
{
	(void)argc;
	return cmd_usage_error("%s: not there yet", argv[0]);
}
