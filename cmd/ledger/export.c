/* export.c - ledger export. */
#include "ledger.h"

int do_export(int argc, char **argv)
{
	(void)argc;
	return cmd_usage_error("%s: not there yet", argv[0]);
}
