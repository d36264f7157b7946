/* plot.h - charts of what a book holds. */
#ifndef PILOT_PLOT_H
#define PILOT_PLOT_H

#include "arms.h"
#include "chart.h"
#include "curve.h"
#include "scaling.h"

enum plot_kind { PLOT_LOSS, PLOT_VALIDATION, PLOT_THROUGHPUT, PLOT_SECONDS, PLOT_MEMORY, PLOT_KINDS };
int plot_find(const char *name); /* -1 */

struct plot_settings {
	const struct arms *arms;     /* lines by arm, a band over its seeds; NULL: a line a run */
	const struct ids *only;      /* NULL: all runs */
	const struct curves *curves; /* for the loss; NULL: none were read */
	const char *source;          /* what the numbers came from, for the subtitle */
	const char *probe;           /* id of the probe; NULL: the newest */
};
/* Fills *c, which chart_free frees. Nothing to draw is a chart that says so. -EX_OSERR. */
int plot_chart(const struct book *b, enum plot_kind k, const struct plot_settings *s, struct chart *c, struct why *w) MUST_USE;
/* plot-scaling.c: the same of `ledger scaling`'s points. */
int plot_scaling(const struct book *b, const struct scaling_settings *s, struct chart *c, struct why *w) MUST_USE;

#endif
