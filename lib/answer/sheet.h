/* sheet.h - ledger sheet: what training took of each device, and which devices of a catalogue it fits. */
#ifndef PILOT_SHEET_H
#define PILOT_SHEET_H

#include "answer.h"
#include "catalogue.h"

enum sheet_metric { SHEET_LOSS, SHEET_ACCURACY, SHEET_EXACT_MATCH };
struct sheet_settings {
	const struct catalogue *catalogue; /* NULL: none */
	double headroom; /* share of the usable bytes that stays free */
	enum sheet_metric metric; /* of the last validation */
};
/* "loss", "accuracy", "exact_match" */
int sheet_metric(const char *text, enum sheet_metric *out, struct why *w) MUST_USE;
int sheet_answer(const struct book *b, const struct sheet_settings *s, struct answer **a, struct why *w) MUST_USE;

/* ---- sheet-setups.c: runs on equal devices with equal settings are one row ---- */

struct sheet_stack { /* what software a figure was measured with; owned; "" unknown */
	char *device, *name; /* "cuda:0 ..., host" as shown; the device's own name */
	char *framework, *driver, *precision;
};
struct sheet_setup {
	struct sheet_stack stack;
	int64_t micro_batch, accum, replicas, length, limit; /* length: --length; limit: --memory, 0 none; -1 unknown */
	const struct book_run **run; /* owned; newest last */
	int runs;
	int64_t allocated, reserved, used; /* highest of its runs; -1 not measured */
	const struct book_run *peak;       /* the run with the highest need; NULL */
};
struct sheet_setups {
	struct sheet_setup *setup; /* by device, in the order of their first runs */
	int n;
};
int sheet_setups(struct sheet_setups *x, const struct book *b, struct why *w) MUST_USE;
void sheet_setups_free(struct sheet_setups *x);
/* Reserved where an allocator counts it, else allocated; -1. */
int64_t sheet_needs(const struct sheet_setup *s);

/* ---- sheet-fits.c ---- */

void sheet_fits(const struct sheet_setups *x, const struct sheet_settings *s, struct answer *a);

#endif
