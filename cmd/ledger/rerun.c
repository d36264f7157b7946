/* rerun.c - ledger rerun. */
#include "ledger.h"

int do_rerun(int argc, char **argv)
{
	(void)argc;
	return cmd_usage_error("%s: not there yet", argv[0]);
}
