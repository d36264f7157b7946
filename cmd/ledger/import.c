/* import.c - ledger import. */
#include "ledger.h"

int do_import(int argc, char **argv)
{
	(void)argc;
	return cmd_usage_error("%s: not there yet", argv[0]);
}
