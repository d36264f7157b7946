/* catalogue.h - devices that can be rented or bought, from a TSV that people edit. */
#ifndef PILOT_CATALOGUE_H
#define PILOT_CATALOGUE_H

#include "../base/base.h"

struct catalogue_device {
	char name[80], capability[16], source[400];
	int64_t usable_bytes, nominal_bytes; /* -1: the cell is empty, or there is none */
	double bandwidth, price; /* bytes per second; per hour; NAN: the cell is empty */
};
struct catalogue {
	struct catalogue_device *device; /* owned */
	int n;
};
/* Columns by the header: name and usable_bytes (79G allowed; may be empty), and nominal_bytes, bandwidth,
 * compute_capability, price, source. A cell that is too long to keep is refused.
 * A line that begins with # is a remark. What is wrong is named by line and column (-EX_DATAERR). */
int catalogue_read(struct catalogue *c, const char *path, struct why *w) MUST_USE;
void catalogue_free(struct catalogue *c);

#endif
