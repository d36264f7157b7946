/* pen.c - how a text view writes: escaped, coloured, wrapped, in columns; numbers for people. */
#include <math.h>

#include "text.h"

void pen_printf(struct pen *p, const char *fmt, ...)
{
	char s[512];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(s, sizeof s, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if (!p->rc)
		p->rc = buf_add(p->out, s, (size_t)n < sizeof s ? (size_t)n : sizeof s - 1);
}

void pen_colored(struct pen *p, const char *color, const char *fmt, ...)
{
	char s[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(s, sizeof s, fmt, ap);
	va_end(ap);
	if (p->t->color && *color)
		pen_printf(p, "\x1b[%sm%s\x1b[m", color, s);
	else
		pen_printf(p, "%s", s);
}

void pen_bytes(struct pen *p, const char *s, size_t n)
{
	if (!p->rc)
		p->rc = text_escape(p->out, s, n);
}

void pen_newline(struct pen *p)
{
	pen_printf(p, "\n");
	p->line = p->out->n;
	p->t->lines++;
}

/* Columns of UTF-8 text, each character taken for one. */
static int columns(const char *s, size_t n)
{
	int c = 0;
	for (size_t i = 0; i < n; i++)
		c += ((unsigned char)s[i] & 0xc0) != 0x80;
	return c;
}

static size_t word_end(const char *s, size_t n)
{
	const char *space = memchr(s, ' ', n);
	return space ? (size_t)(space - s) : n;
}

void pen_wrapped(struct pen *p, const char *color, int indent, const char *s, size_t n)
{
	int width = p->t->width > indent + 20 ? p->t->width : 0, at = indent;
	bool colored = p->t->color && *color;
	if (colored)
		pen_printf(p, "\x1b[%sm", color);
	pen_printf(p, "%*s", indent, "");
	while (n && !p->rc) {
		size_t word = word_end(s, n);
		int wide = columns(s, word);
		if (width && at > indent && at + 1 + wide > width) {
			pen_printf(p, "\n%*s", indent, "");
			at = indent;
		} else if (at > indent) {
			pen_printf(p, " ");
			at++;
		}
		pen_bytes(p, s, word);
		at += wide;
		s += word;
		n -= word;
		if (n) { /* the blank */
			s++;
			n--;
		}
	}
	if (colored)
		pen_printf(p, "\x1b[m");
	pen_newline(p);
}

void pen_label(struct pen *p, const char *label)
{
	pen_printf(p, "  ");
	pen_colored(p, DIM, "%-12s", label);
}

void pen_cell(struct pen *p, int width, const char *text)
{
	int pad = (width < 0 ? -width : width) - columns(text, strlen(text));
	if (pad < 0)
		pad = 0;
	if (width < 0)
		pen_printf(p, "%s%*s", text, pad, "");
	else
		pen_printf(p, "%*s%s", pad, "", text);
}

/* Rows of phases come between rows of steps: a header that stands near above is enough. */
enum { NEAR_SAME = 40, NEAR_OTHER = 20 };

void pen_header(struct pen *p, enum kind k, const char *header)
{
	struct text *t = p->t;
	int64_t near = t->table == k ? NEAR_SAME : NEAR_OTHER;
	bool stands = t->header_at[k] && t->header[k] == header && t->lines - t->header_at[k] < near;
	t->table = k;
	if (stands)
		return;
	t->header[k] = header;
	pen_newline(p);
	pen_colored(p, BOLD, "%s", header);
	pen_newline(p);
	t->header_at[k] = t->lines;
}

void pen_break(struct pen *p)
{
	memset(p->t->header_at, 0, sizeof p->t->header_at);
	p->t->table = KIND_UNKNOWN;
}

/* ---- numbers for people ---- */

const char *grouped(int64_t i, char out[VALUE])
{
	char digits[24];
	int n = snprintf(digits, sizeof digits, "%llu", i < 0 ? 0 - (unsigned long long)i : (unsigned long long)i), o = 0;
	if (i < 0)
		out[o++] = '-';
	for (int d = 0; d < n; d++) {
		if (d && (n - d) % 3 == 0)
			out[o++] = ',';
		out[o++] = digits[d];
	}
	out[o] = 0;
	return out;
}

const char *number_words(double x, char out[VALUE])
{
	double a = fabs(x);
	if (isnan(x))
		snprintf(out, VALUE, "NaN");
	else if (isinf(x))
		snprintf(out, VALUE, x > 0 ? "Infinity" : "-Infinity");
	else if (a != 0 && (a < 1e-3 || a >= 1e6))
		snprintf(out, VALUE, "%.3e", x);
	else
		snprintf(out, VALUE, "%.*f", a < 100 ? 4 : 2, x);
	return out;
}

const char *say_int(const struct view *v, enum field f, char out[VALUE])
{
	int64_t i;
	out[0] = 0;
	return view_int(v, f, &i) ? grouped(i, out) : out;
}

const char *say_bytes(const struct view *v, enum field f, char out[VALUE])
{
	int64_t i;
	double x;
	out[0] = 0;
	if (!view_int(v, f, &i)) { /* a fitted number of bytes is a NUM */
		if (!view_num(v, f, &x) || !(fabs(x) < 9e18))
			return out;
		i = (int64_t)x;
	}
	return num_human_bytes(i, out);
}

const char *say_num(const struct view *v, enum field f, char out[VALUE])
{
	double x;
	out[0] = 0;
	return view_num(v, f, &x) ? number_words(x, out) : out;
}

const char *say_rate(const struct view *v, enum field f, char out[VALUE])
{
	double x;
	out[0] = 0;
	if (!view_num(v, f, &x))
		return out;
	if (!(fabs(x) < 1e15))
		return number_words(x, out);
	if (fabs(x) >= 1000)
		return grouped((int64_t)llround(x), out);
	snprintf(out, VALUE, "%.*f", fabs(x) < 10 ? 2 : 1, x);
	return out;
}

const char *say_tokens(const struct view *v, enum field examples, enum field tokens, char out[VALUE])
{
	double a, b;
	out[0] = 0;
	if (view_num(v, examples, &a) && view_num(v, tokens, &b) && a == b)
		return out;
	return say_rate(v, tokens, out);
}

const char *say_short(const struct view *v, enum field f, char out[VALUE])
{
	double x;
	out[0] = 0;
	if (view_num(v, f, &x))
		snprintf(out, VALUE, "%.3g", x);
	return out;
}

const char *say_share(const struct view *v, enum field f, char out[VALUE])
{
	double x;
	out[0] = 0;
	if (view_num(v, f, &x))
		snprintf(out, VALUE, "%.4g %%", 100 * x);
	return out;
}

const char *say_seconds(const struct view *v, enum field f, char out[VALUE])
{
	double x;
	out[0] = 0;
	if (view_num(v, f, &x))
		snprintf(out, VALUE, fabs(x) < 1e12 ? "%.*f" : "%.*e", x < 0.001 ? 6 : x < 0.1 ? 4 : x < 10 ? 3 : x < 1000 ? 1 : 0, x);
	return out;
}

const char *say_str(const struct view *v, enum field f, char out[VALUE])
{
	const char *s;
	size_t n;
	out[0] = 0;
	return view_str(v, f, &s, &n) ? escape_into(out, VALUE, s, n) : out;
}

const char *status_color(const char *status)
{
	static const char *const good[] = {"ok", "done", "fits", "found"}, *const bad[] = {"fail", "diverged", "oom", "killed", "error", "crashed", "host-oom", "timeout", "nothing-fits"};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		if (!strcmp(status, good[i]))
			return GREEN;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (!strcmp(status, bad[i]))
			return RED;
	return strcmp(status, "n/a") ? YELLOW : DIM;
}
