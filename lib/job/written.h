/* written.h - which files below some folders are new or changed, by comparing them before and after.
 *
 * Bounded: 20000 entries, 6 folders deep, 2 seconds. Links are not followed; hidden folders, __pycache__ and
 * kernel file systems are left out. Beyond the bound a file counts if its time of change says so. */
#ifndef PILOT_WRITTEN_H
#define PILOT_WRITTEN_H

#include "../base/base.h"

enum { WRITTEN_NAMES = 64 };

struct written;
/* NULL: no memory. cwd NULL: ours. save_dir: below cwd if it is not absolute; may be NULL, may not exist. */
struct written *written_new(const char *cwd, const char *save_dir);
struct written_facts {
	int64_t files, bytes;
	char **file; /* owned: the first WRITTEN_NAMES in order, relative where below cwd */
	int count;
	bool partial;
};
/* After the watched processes have ended. A file that any process still holds open for writing (our own output, a
 * ledger down the pipe) is not counted. Frees s. -EX_OSERR: no memory. */
int written_end(struct written *s, struct written_facts *f) MUST_USE;
double written_quiet(struct written *s); /* see tree_quiet */
void written_free(struct written *s); /* may be NULL */

#endif
