/* note.c - ledger note. */
#include "ledger.h"

int do_note(int argc, char **argv)
{
	(void)argc;
	return cmd_usage_error("%s: not there yet", argv[0]);
}
