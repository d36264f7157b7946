/* summary.h - what the files of the summary share. */
#ifndef PILOT_JOB_SUMMARY_H
#define PILOT_JOB_SUMMARY_H

#include "job.h"

/* The row's program, from a run record of a command. */
void summary_command(struct summary_row *r, const struct view *v);
/* True if the record is one in which a command says what it is; the row then has its words. */
bool summary_word(struct summary_row *r, const struct view *v);
/* A command's examples in an update, and the passes they came in. */
void summary_rows(struct summary_row *r, int64_t rows, int64_t passes);

#endif
