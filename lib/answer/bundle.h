/* bundle.h - a run as one archive: its records, what is needed to do it again, and its checkpoint if asked. */
#ifndef PILOT_BUNDLE_H
#define PILOT_BUNDLE_H

#include "answer.h"

/* The run's records, its request, and the comparison that planned it with that one's notes. */
bool bundle_takes(const struct book_run *r, const struct view *v);
/* Writes the archive to fd, of the records that were written to the files json and msgpack. checkpoint: also the run's
 * last one, whose bytes must have the digest that its save record says. -EX_NO: it saved none; -EX_NOINPUT, -EX_DATAERR:
 * it is not there any more, or is another file. */
int bundle_write(int fd, const struct book_run *r, int json, int msgpack, bool checkpoint, struct why *w) MUST_USE;

#endif
