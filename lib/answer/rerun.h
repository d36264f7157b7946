/* rerun.h - the command line that does a run again. */
#ifndef PILOT_RERUN_H
#define PILOT_RERUN_H

#include "answer.h"

/* One line for sh, without newline, into out. What stands in the way, or differs here (secrets that were left out, data or
 * code that are others now), is told to say, a sentence each. 0; -EX_NO: it cannot be written, w says why. */
int rerun_line(const struct book_run *r, struct buf *out, void (*say)(void *ctx, const char *sentence), void *ctx, struct why *w) MUST_USE;

#endif
