/* bundle.c - ledger bundle. */
#include "ledger.h"

int do_bundle(int argc, char **argv)
{
	(void)argc;
	return cmd_usage_error("%s: not there yet", argv[0]);
}
