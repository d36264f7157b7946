/* sheet.c - ledger sheet. */
#include "ledger.h"

int do_sheet(int argc, char **argv)
{
	(void)argc;
	return cmd_usage_error("%s: not there yet", argv[0]);
}
