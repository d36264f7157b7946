/* report.h - all that a ledger says, on one page. */
#ifndef PILOT_REPORT_H
#define PILOT_REPORT_H

#include "curve.h"

struct report_settings {
	const char *title, *source; /* what was read, for the foot */
	const struct curves *curves;
	const struct ids *only;     /* NULL: all runs */
};
/* The page into out. Bounded: of very many runs the newest are listed, and it is said how many are not. */
int report_page(const struct book *b, const struct report_settings *s, struct buf *out, struct why *w) MUST_USE;

#endif
