/* chart.h - numbers as a self-contained SVG: no script, no font, nothing fetched; light and dark by the reader's setting,
 * dark on white on paper. Lines differ by colour (Okabe and Ito's, for every kind of sight), dash and mark. */
#ifndef PILOT_CHART_H
#define PILOT_CHART_H

#include "answer.h"

/* Text for XML and HTML, also in attributes: & < > " ' as entities; control characters, which XML forbids, and those that
 * turn the direction of writing, shown as \u202E; bytes that are no UTF-8 as U+FFFD. At most `most` letters, then "...". */
int xml_text(struct buf *out, const char *s, size_t most) MUST_USE;

struct chart_point {
	double x, y;
	double low, high; /* band, or error bar; NAN: none */
};
enum chart_shape { CHART_LINE, CHART_POINTS, CHART_STACK }; /* stack: bars, one on the other, x is the category's number */
struct chart_series {
	char name[128];
	enum chart_shape shape;
	struct chart_point *point; /* owned */
	int n, cap;
	const char *bad;           /* what went wrong with it, said at bad_x: "diverged"; NULL: nothing. A literal */
	double bad_x;              /* INFINITY: at its last point */
	bool faint;                /* a run behind its arm's line: thin, and not in the legend */
	int colour;                /* which of the palette; -1: its number */
};
enum chart_scale { CHART_LINEAR, CHART_LOG };
struct chart {
	char title[160], subtitle[200], x_name[80], y_name[80]; /* names with units */
	enum chart_scale x_scale, y_scale;
	bool y_from_zero;
	bool y_bytes, y_seconds;   /* how ticks are written */
	struct chart_series *series; /* owned */
	int n;
	const char *category[24];  /* CHART_STACK: names along x, borrowed */
	int categories;
	struct chart_mark {        /* a line across at x, with its name */
		double x;
		char name[60];
	} mark[4];
	int marks;
	char empty[120];           /* what is said where there is nothing to draw */
};
void chart_free(struct chart *c);
/* NULL: no memory. Valid until the next is added. */
struct chart_series *chart_add(struct chart *c, const char *name, enum chart_shape shape);
int chart_point(struct chart_series *s, double x, double y, double low, double high) MUST_USE;
void chart_mark(struct chart *c, double x, const char *name);
/* The whole <svg> element, `id` unlike that of others on the page; added to out. xml: with what a file of its own begins with. */
int chart_svg(const struct chart *c, int id, bool xml, struct buf *out) MUST_USE;

/* chart-axis.c: where values lie, and the ticks between them. */
enum { AXIS_TICKS = 12 };
struct axis {
	double low, high; /* as drawn */
	enum chart_scale scale;
	double tick[AXIS_TICKS];
	int ticks;
};
void axis_fit(struct axis *a, double low, double high, enum chart_scale scale, bool from_zero, bool binary); /* binary: steps are powers of two */
double axis_place(const struct axis *a, double v); /* 0 to 1 */
enum axis_unit { AXIS_PLAIN, AXIS_BYTES, AXIS_SECONDS };
void axis_label(const struct axis *a, double tick, enum axis_unit unit, char out[24]);

#endif
