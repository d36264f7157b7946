/* identity.h - what must be equal for two runs to be compared, setting by setting. */
#ifndef PILOT_IDENTITY_H
#define PILOT_IDENTITY_H

#include "answer.h"

enum identity_need {
	IDENTITY_HARD, /* compare refuses runs that differ in it, unless it is a planned factor */
	IDENTITY_TOLD, /* a difference is told: host, device, driver, how often it validated */
	IDENTITY_SELF  /* a run's own: seed */
};
/* One setting. A spec is taken apart: `optimizer` is its kind, `optimizer.lr` one of its keys. */
struct identity_item {
	char *name, *value; /* owned; "" is a setting that the run has and that is empty */
	enum identity_need need;
};
struct identity {
	struct identity_item *item;
	int n;
};
/* Of the run's record, and of what a command said of its model and optimizer. Paths of data are not in it, their
 * digests are; weights are the digest of the file, or `initialised`. No secrets: none are in records. -EX_OSERR. */
int identity_of(const struct book_run *r, struct identity *id) MUST_USE;
void identity_free(struct identity *id);
const char *identity_value(const struct identity *id, const char *name); /* NULL: the run does not say */
/* The setting that a person's word names: micro-batch, b, micro_batch; lr is optimizer.lr where there is no `lr`. NULL: none. */
const char *identity_name(const struct identity *id, const char *word);

#endif
