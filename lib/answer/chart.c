/* chart.c - a chart as SVG: the frame, what is in it, and the legend below. */
#include "chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The drawing's own units: a phone shows them nearly one to one, a desk half as large again. */
enum { WIDTH = 520, LEFT = 62, RIGHT = 14, TOP = 44, PLOT = 250, BOTTOM = 46, ROW = 18, COLOURS = 8, LEGEND = 14 };

void chart_free(struct chart *c)
{
	for (int i = 0; i < c->n; i++)
		free(c->series[i].point);
	free(c->series);
	c->series = NULL;
	c->n = 0;
}

struct chart_series *chart_add(struct chart *c, const char *name, enum chart_shape shape)
{
	struct chart_series *s = realloc(c->series, (size_t)(c->n + 1) * sizeof *s);

	if (!s)
		return NULL;
	c->series = s;
	s = &s[c->n++];
	*s = (struct chart_series){ .shape = shape, .colour = -1 };
	snprintf(s->name, sizeof s->name, "%s", name);
	return s;
}

int chart_point(struct chart_series *s, double x, double y, double low, double high)
{
	struct chart_point *p;

	if (s->n == s->cap) {
		int cap = s->cap ? 2 * s->cap : 32;

		p = realloc(s->point, (size_t)cap * sizeof *p);
		if (!p)
			return -EX_OSERR;
		s->point = p;
		s->cap = cap;
	}
	s->point[s->n++] = (struct chart_point){ x, y, low, high };
	return 0;
}

void chart_mark(struct chart *c, double x, const char *name)
{
	if (c->marks == (int)(sizeof c->mark / sizeof *c->mark))
		return;
	c->mark[c->marks].x = x;
	snprintf(c->mark[c->marks++].name, sizeof c->mark->name, "%s", name);
}

/* ---- what is drawn where ---- */

struct drawing {
	const struct chart *c;
	struct buf *out;
	struct axis x, y;
	int id, height, drawn, crosses; /* drawn: points that can be */
	bool bad;
};

static void put(struct drawing *d, const char *fmt, ...) PRINTF(2, 3);
static void put(struct drawing *d, const char *fmt, ...)
{
	char s[600];
	va_list ap;

	va_start(ap, fmt);
	d->bad |= vsnprintf(s, sizeof s, fmt, ap) >= (int)sizeof s || buf_add(d->out, s, strlen(s)) < 0;
	va_end(ap);
}

static void text(struct drawing *d, const char *s, size_t most)
{
	d->bad |= xml_text(d->out, s, most) < 0;
}

static bool drawable(const struct chart *c, const struct chart_point *p)
{
	return isfinite(p->x) && isfinite(p->y) && (c->x_scale == CHART_LINEAR || p->x > 0) && (c->y_scale == CHART_LINEAR || p->y > 0);
}

static double at_x(const struct drawing *d, double v)
{
	return LEFT + axis_place(&d->x, v) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const struct drawing *d, double v)
{
	double p = axis_place(&d->y, v);

	return TOP + (1 - (p < 0 ? 0 : p > 1 ? 1 : p)) * PLOT;
}

static int colour_of(const struct chart *c, int i)
{
	return (c->series[i].colour < 0 ? i : c->series[i].colour) % COLOURS;
}

static double stack_height(const struct chart *c, double x)
{
	double sum = 0;

	for (int i = 0; i < c->n; i++)
		for (int k = 0; k < c->series[i].n; k++)
			if (c->series[i].shape == CHART_STACK && c->series[i].point[k].x == x && c->series[i].point[k].y > 0)
				sum += c->series[i].point[k].y;
	return sum;
}

static void widen(double v, double *low, double *high)
{
	if (!isfinite(v))
		return;
	*low = isnan(*low) || v < *low ? v : *low;
	*high = isnan(*high) || v > *high ? v : *high;
}

static void fit(struct drawing *d)
{
	const struct chart *c = d->c;
	double x0 = NAN, x1 = NAN, y0 = NAN, y1 = NAN;

	for (int i = 0; i < c->n; i++)
		for (int k = 0; k < c->series[i].n; k++) {
			const struct chart_point *p = &c->series[i].point[k];

			if (!drawable(c, p))
				continue;
			d->drawn++;
			widen(p->x, &x0, &x1);
			widen(c->series[i].shape == CHART_STACK ? stack_height(c, p->x) : p->y, &y0, &y1);
			if (c->y_scale == CHART_LINEAR || p->low > 0)
				widen(p->low, &y0, &y1);
			widen(p->high, &y0, &y1);
		}
	for (int i = 0; i < c->marks && d->drawn; i++)
		if (c->x_scale == CHART_LINEAR || c->mark[i].x > 0)
			widen(c->mark[i].x, &x0, &x1);
	if (c->categories) {
		x0 = -0.5;
		x1 = c->categories - 0.5;
	}
	axis_fit(&d->x, x0, x1, c->x_scale, false, false);
	axis_fit(&d->y, y0, y1, c->y_scale, c->y_from_zero, c->y_bytes);
}

/* ---- the frame ---- */

static void style(struct drawing *d)
{
	static const char *const light[COLOURS] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#111111", "#7a5195" };
	static const char *const dark[COLOURS] = { "#56b4e9", "#f0883e", "#2fc79a", "#e8a5cc", "#e6c229", "#8ecdf2", "#eeeeee", "#b79ad0" };

	put(d, "<style>#c%d{--ink:#1a1a1a;--soft:#5c5c5c;--grid:#dcdcdc;--paper:#ffffff;", d->id);
	for (int i = 0; i < COLOURS; i++)
		put(d, "--k%d:%s;", i, light[i]);
	put(d, "font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;font-size:12px}@media (prefers-color-scheme:dark){#c%d{--ink:#ececec;--soft:#a9a9a9;--grid:#3a3a3a;--paper:#161616;", d->id);
	for (int i = 0; i < COLOURS; i++)
		put(d, "--k%d:%s;", i, dark[i]);
	put(d, "}}@media print{#c%d{--ink:#000;--soft:#333;--grid:#ccc;--paper:#fff;", d->id);
	for (int i = 0; i < COLOURS; i++)
		put(d, "--k%d:%s;", i, light[i]);
	put(d, "}}#c%d text{fill:var(--ink)}#c%d .s{fill:var(--soft)}#c%d .g{stroke:var(--grid);stroke-width:1}#c%d .p{fill:var(--paper)}</style>", d->id, d->id, d->id, d->id);
}

static void y_axis(struct drawing *d)
{
	enum axis_unit unit = d->c->y_bytes ? AXIS_BYTES : d->c->y_seconds ? AXIS_SECONDS : AXIS_PLAIN;
	char label[24];

	for (int i = 0; i < d->y.ticks; i++) {
		double y = at_y(d, d->y.tick[i]);

		axis_label(&d->y, d->y.tick[i], unit, label);
		put(d, "<line class=\"g\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"s\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4, label);
	}
}

/* Labels of ticks that would run into the one before are left out. */
static void x_axis(struct drawing *d)
{
	double free_from = 0;
	char label[24];

	for (int i = 0; !d->c->categories && i < d->x.ticks; i++) {
		double x = at_x(d, d->x.tick[i]), half;

		axis_label(&d->x, d->x.tick[i], AXIS_PLAIN, label);
		half = 3.6 * (double)strlen(label);
		put(d, "<line class=\"g\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>", x, x, TOP + PLOT, TOP + PLOT + 4);
		if (x - half < free_from)
			continue;
		free_from = x + half + 6;
		put(d, "<text class=\"s\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x + half > WIDTH ? WIDTH - half : x, TOP + PLOT + 18, label);
	}
	for (int i = 0; i < d->c->categories; i++) {
		put(d, "<text class=\"s\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" font-size=\"11\">", at_x(d, i), TOP + PLOT + (d->c->categories > 7 && i % 2 ? 29 : 17));
		text(d, d->c->category[i], d->c->categories > 7 ? 14 : 10);
		put(d, "</text>\n");
	}
}

static void frame(struct drawing *d)
{
	const struct chart *c = d->c;

	put(d, "<text x=\"8\" y=\"18\" font-size=\"14\" font-weight=\"600\">");
	text(d, c->title, 66);
	put(d, "</text><text class=\"s\" x=\"8\" y=\"34\" font-size=\"11\">");
	text(d, c->subtitle, 88);
	put(d, "</text>\n");
	if (!d->drawn) {
		put(d, "<text class=\"s\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">", WIDTH / 2, TOP + PLOT / 2);
		text(d, *c->empty ? c->empty : "nothing to draw: not measured", 70);
		put(d, "</text>\n");
		return;
	}
	y_axis(d);
	x_axis(d);
	put(d, "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"var(--soft)\"/>\n", LEFT, WIDTH - RIGHT, TOP + PLOT, TOP + PLOT);
	put(d, "<text class=\"s\" x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"11\">", (LEFT + WIDTH - RIGHT) / 2, TOP + PLOT + (c->categories > 7 ? 43 : 36));
	text(d, c->x_name, 60);
	put(d, "</text><text class=\"s\" transform=\"translate(11 %d) rotate(-90)\" text-anchor=\"middle\" font-size=\"11\">", TOP + PLOT / 2);
	text(d, c->y_name, 42);
	put(d, "</text>\n");
}

/* ---- series ---- */

static void dash_of(int i, char out[48])
{
	static const char *const dashes[] = { "", "6 3", "2 3", "8 3 2 3" };

	snprintf(out, 48, *dashes[i / 2 % 4] ? " stroke-dasharray=\"%s\"" : "%s", dashes[i / 2 % 4]);
}

/* A mark of one of four forms. */
static void mark(struct drawing *d, int form, double x, double y, int colour)
{
	switch (form % 4) {
	case 0: put(d, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"var(--k%d)\"/>", x, y, colour); break;
	case 1: put(d, "<rect x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"6\" fill=\"var(--k%d)\"/>", x - 3, y - 3, colour); break;
	case 2: put(d, "<path d=\"M%.1f %.1fl3.6 6.4h-7.2z\" fill=\"var(--k%d)\"/>", x, y - 4, colour); break;
	default: put(d, "<path d=\"M%.1f %.1fl4 4 -4 4 -4 -4z\" fill=\"var(--k%d)\"/>", x, y - 4, colour);
	}
}

static void band(struct drawing *d, const struct chart_series *s, int colour)
{
	bool any = false;

	for (int i = 0; i < s->n; i++)
		any |= drawable(d->c, &s->point[i]) && isfinite(s->point[i].low) && isfinite(s->point[i].high);
	if (!any || s->n < 2)
		return;
	put(d, "<path stroke=\"none\" fill=\"var(--k%d)\" fill-opacity=\"0.16\" d=\"", colour);
	for (int i = 0, first = 1; i < s->n; i++)
		if (drawable(d->c, &s->point[i]) && isfinite(s->point[i].high)) {
			put(d, "%s%.1f %.1f", first ? "M" : "L", at_x(d, s->point[i].x), at_y(d, s->point[i].high));
			first = 0;
		}
	for (int i = s->n - 1; i >= 0; i--)
		if (drawable(d->c, &s->point[i]) && isfinite(s->point[i].low))
			put(d, "L%.1f %.1f", at_x(d, s->point[i].x), at_y(d, d->y.scale == CHART_LOG && s->point[i].low <= 0 ? d->y.low : s->point[i].low));
	put(d, "z\"/>\n");
}

static void bars(struct drawing *d, const struct chart_series *s, int colour)
{
	for (int i = 0; i < s->n; i++) {
		const struct chart_point *p = &s->point[i];

		if (drawable(d->c, p) && isfinite(p->low) && isfinite(p->high))
			put(d, "<path stroke=\"var(--k%d)\" stroke-width=\"1\" d=\"M%.1f %.1fV%.1fm-3 0h6m-3 0\"/>", colour, at_x(d, p->x), at_y(d, p->low), at_y(d, p->high));
	}
}

/* Where something went wrong with a series: a cross, said in words beside the first few. */
static void cross(struct drawing *d, double x, double y, int colour, const char *word)
{
	bool left = x > WIDTH - 90;

	put(d, "<path d=\"M%.1f %.1fl8 8m0 -8l-8 8\" stroke=\"var(--k%d)\" stroke-width=\"2.5\"/>\n", x - 4, y - 4, colour);
	if (d->crosses++ < 3)
		put(d, "<text font-size=\"10\" x=\"%.1f\" y=\"%.1f\"%s>%s</text>\n", left ? x - 7 : x + 7, (y < TOP + 12 ? y + 12 : y - 5) + 11 * (d->crosses - 1) * (y < TOP + PLOT / 2 ? 1 : -1), left ? " text-anchor=\"end\"" : "", word);
}

/* At bad_x, and as high as the last point before it. */
static void cross_of(struct drawing *d, const struct chart_series *s, int colour)
{
	double x = LEFT, y = TOP + 8;

	for (int k = 0; k < s->n; k++)
		if (drawable(d->c, &s->point[k]) && (s->point[k].x <= s->bad_x || x == LEFT)) {
			x = at_x(d, s->point[k].x);
			y = at_y(d, s->point[k].y);
		}
	if (isfinite(s->bad_x) && s->n)
		x = at_x(d, fmin(fmax(s->bad_x, d->x.low), d->x.high));
	cross(d, x, y, colour, s->bad);
}

static void line(struct drawing *d, int i)
{
	const struct chart_series *s = &d->c->series[i];
	int colour = colour_of(d->c, i), drawn = 0;
	double x = 0, y = 0;
	char dash[48];

	dash_of(s->faint ? 0 : i, dash);
	if (!s->faint)
		band(d, s, colour);
	if (s->shape == CHART_LINE) {
		put(d, "<path fill=\"none\" stroke=\"var(--k%d)\" stroke-width=\"%s\"%s%s stroke-linejoin=\"round\" d=\"", colour, s->faint ? "0.8" : "1.8", s->faint ? " stroke-opacity=\"0.45\"" : "", dash);
		for (int k = 0; k < s->n; k++)
			if (drawable(d->c, &s->point[k])) {
				x = at_x(d, s->point[k].x);
				y = at_y(d, s->point[k].y);
				put(d, "%s%.1f %.1f", drawn++ ? "L" : "M", x, y);
			}
		put(d, "\"/>\n");
	} else {
		bars(d, s, colour);
	}
	for (int k = 0; k < s->n && !s->faint; k++)
		if (drawable(d->c, &s->point[k]) && (s->shape == CHART_POINTS || s->n <= 30))
			mark(d, i, x = at_x(d, s->point[k].x), y = at_y(d, s->point[k].y), colour);
	if (s->bad)
		cross_of(d, s, colour);
}

static void stacks(struct drawing *d)
{
	double base[24] = { 0 }, width = 0.62 * (WIDTH - LEFT - RIGHT) / (d->c->categories ? d->c->categories : 1);

	for (int i = 0; i < d->c->n; i++)
		for (int k = 0; d->c->series[i].shape == CHART_STACK && k < d->c->series[i].n; k++) {
			const struct chart_point *p = &d->c->series[i].point[k];
			int x = (int)p->x;
			double top, bottom;

			if (!drawable(d->c, p) || x < 0 || x >= d->c->categories || x >= 24 || !(p->y > 0))
				continue;
			bottom = at_y(d, base[x]);
			top = at_y(d, base[x] += p->y);
			put(d, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"var(--k%d)\" stroke=\"var(--paper)\" stroke-width=\"0.5\"/>\n", at_x(d, x) - width / 2, top, width, bottom - top, colour_of(d->c, i));
		}
}

static void marks(struct drawing *d)
{
	for (int i = 0; i < d->c->marks; i++) {
		double x = at_x(d, d->c->mark[i].x);
		bool left = x > WIDTH - 150;

		if (d->c->x_scale == CHART_LOG && !(d->c->mark[i].x > 0))
			continue;
		put(d, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"var(--soft)\" stroke-dasharray=\"3 3\"/><text class=\"s\" font-size=\"10\" x=\"%.1f\" y=\"%d\"%s>", x, x, TOP, TOP + PLOT,
		    left ? x - 4 : x + 4, TOP + PLOT - 8 - 12 * i, left ? " text-anchor=\"end\"" : "");
		text(d, d->c->mark[i].name, 40);
		put(d, "</text>\n");
	}
}

/* ---- the legend: below, as many columns as names allow ---- */

static int legend_names(const struct chart *c, int *columns)
{
	size_t longest = 0;
	int n = 0;

	for (int i = 0; i < c->n; i++)
		if (!c->series[i].faint && *c->series[i].name) {
			size_t k = strlen(c->series[i].name);

			longest = k > longest ? k : longest;
			n++;
		}
	*columns = longest > 30 ? 1 : longest > 17 ? 2 : 3;
	return n;
}

static int legend_rows(const struct chart *c)
{
	int columns, n = legend_names(c, &columns);

	n = n > LEGEND ? LEGEND + 1 : n;
	return (n + columns - 1) / columns;
}

static void legend(struct drawing *d)
{
	int columns, all = legend_names(d->c, &columns), k = 0, wide;
	char dash[48];

	wide = (WIDTH - 16) / columns;
	for (int i = 0; i < d->c->n && all > 0; i++) {
		const struct chart_series *s = &d->c->series[i];
		int x = 8 + k % columns * wide, y = TOP + PLOT + BOTTOM + 14 + k / columns * ROW;

		if (s->faint || !*s->name)
			continue;
		if (k++ == LEGEND) {
			put(d, "<text class=\"s\" x=\"%d\" y=\"%d\" font-size=\"11\">and %d more</text>\n", x, y, all - LEGEND);
			break;
		}
		dash_of(i, dash);
		if (s->shape == CHART_STACK) {
			put(d, "<rect x=\"%d\" y=\"%d\" width=\"14\" height=\"10\" fill=\"var(--k%d)\"/>", x, y - 9, colour_of(d->c, i));
		} else {
			put(d, "<path d=\"M%d %dh22\" stroke=\"var(--k%d)\" stroke-width=\"1.8\"%s/>", x, y - 4, colour_of(d->c, i), dash);
			mark(d, i, x + 11, y - 4, colour_of(d->c, i));
		}
		put(d, "<text x=\"%d\" y=\"%d\" font-size=\"11\">", x + 28, y);
		text(d, s->name, columns == 1 ? 66 : columns == 2 ? 31 : 18);
		put(d, "</text>\n");
	}
}

int chart_svg(const struct chart *c, int id, bool xml, struct buf *out)
{
	struct drawing d = { .c = c, .out = out, .id = id };

	fit(&d);
	d.height = TOP + PLOT + BOTTOM + 4 + legend_rows(c) * ROW + 6;
	if (xml)
		put(&d, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	put(&d, "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"c%d\" viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\" aria-labelledby=\"t%d e%d\"><title id=\"t%d\">", id, WIDTH, d.height, WIDTH * 3 / 2, id, id, id);
	text(&d, c->title, 160);
	put(&d, "</title><desc id=\"e%d\">", id);
	text(&d, c->subtitle, 200);
	put(&d, ": ");
	text(&d, c->y_name, 80);
	put(&d, " over ");
	text(&d, c->x_name, 80);
	put(&d, "</desc>");
	style(&d);
	put(&d, "<rect class=\"p\" width=\"%d\" height=\"%d\"/>\n", WIDTH, d.height);
	frame(&d);
	if (d.drawn) {
		stacks(&d);
		for (int pass = 0; pass < 2; pass++)
			for (int i = 0; i < c->n; i++)
				if (c->series[i].shape != CHART_STACK && c->series[i].faint == !pass)
					line(&d, i);
		marks(&d);
		legend(&d);
	}
	put(&d, "</svg>\n");
	return d.bad ? -EX_OSERR : 0;
}
