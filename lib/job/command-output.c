/* command-output.c - what a command prints: passed on, its last lines kept, and two things looked at:
 * how a Python program says that it failed, and which numbers were printed. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command-inner.h"

/* ---- the last lines ---- */

static void keep_line(struct output *o, const char *s, size_t n)
{
	char *copy = strndup(s, n < OUTPUT_SHOWN ? n : OUTPUT_SHOWN);

	if (!copy)
		return;
	if (o->lines == OUTPUT_LINES) {
		free(o->line[0]);
		memmove(o->line, o->line + 1, (OUTPUT_LINES - 1) * sizeof *o->line);
		o->lines--;
	}
	o->line[o->lines++] = copy;
}

void output_free(struct output *o)
{
	while (o->lines > 0)
		free(o->line[--o->lines]);
}

/* ---- Python's last words ---- */

/* Length of "package.Type" at s, 0 if it is none. */
static size_t type_length(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_' || (n && s[n] == '.'))
		n++;
	return isdigit((unsigned char)*s) || (n && s[n - 1] == '.') || n >= 200 ? 0 : n;
}

/* "Type: message" or "Type" alone. */
static void see_exception(struct output *o, const char *s)
{
	size_t n = type_length(s);

	if (!n || (s[n] && s[n] != ':'))
		return;
	if (o->chained)
		memcpy(o->earlier, o->message, sizeof o->earlier);
	else
		*o->earlier = '\0';
	o->chained = false;
	snprintf(o->exception, sizeof o->exception, "%.*s", (int)n, s);
	snprintf(o->message, sizeof o->message, "%s", s);
	o->traceback = false;
	o->since_exception = 0;
}

static void see_traceback(struct output *o, const char *line)
{
	static const char head[] = "Traceback (most recent call last):";
	const char *at = strstr(line, head);
	size_t n = strlen(o->prefix);

	if (at && (size_t)(at - line) < sizeof o->prefix) {
		snprintf(o->prefix, sizeof o->prefix, "%.*s", (int)(at - line), line);
		o->traceback = true;
		return;
	}
	if (strstr(line, "During handling of the above exception") || strstr(line, "was the direct cause of the following exception"))
		o->chained = true;
	if (o->traceback && !strncmp(line, o->prefix, n) && line[n] && !isspace((unsigned char)line[n]))
		see_exception(o, line + n);
}

/* ---- numbers ---- */

static void see_numbers(struct output *o, const char *s)
{
	while (*s) {
		size_t n = strspn(s, "0123456789"), digits = 0;
		char *end;

		if (!n || s[n] != '.' || !(digits = strspn(s + n + 1, "0123456789"))) {
			s += n ? n : 1;
			continue;
		}
		o->number[o->numbers++ % OUTPUT_NUMBERS] = (struct printed){ strtod(s, &end), (int)digits, clock_seconds() };
		if (strchr("eE", s[n + 1 + digits]) && s[n + 1 + digits] && end > s + n + 1 + digits) /* 1.5e-3 has 4 digits */
			o->number[(o->numbers - 1) % OUTPUT_NUMBERS].digits -= atoi(s + n + 2 + digits);
		s = end;
	}
}

static bool printed_as(const struct printed *p, double x)
{
	return isfinite(x) && p->digits > 0 && p->digits < 18 && fabs(p->value - x) <= 0.5000001 * pow(10, -p->digits);
}

int output_which(struct output *o, double first, double second, double since)
{
	int64_t least = o->numbers > OUTPUT_NUMBERS + o->mark ? o->numbers - OUTPUT_NUMBERS : o->mark;

	for (int64_t i = o->numbers - 1; i >= least; i--) {
		const struct printed *p = &o->number[i % OUTPUT_NUMBERS];
		bool one = printed_as(p, first), two = printed_as(p, second);

		if (p->at < since)
			break;
		if (one == two)
			continue;
		o->told = i + 1 > o->told ? i + 1 : o->told;
		return one ? 1 : 2;
	}
	return 0;
}

void output_spend(struct output *o)
{
	o->mark = o->told;
}

/* ---- bytes ---- */

static void end_line(struct output *o)
{
	char *s = o->part;
	size_t n = o->part_n;

	o->part_n = 0;
	s[n] = '\0';
	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		if (!s[i])
			s[i] = '?';
	keep_line(o, s, n);
	o->since_exception++;
	see_traceback(o, s);
	see_numbers(o, s);
	if (o->line_seen)
		o->line_seen(o->ctx, s);
}

void output_end(struct output *o)
{
	end_line(o);
}

void output_take(struct output *o, const char *p, size_t n)
{
	if (o->log >= 0 && !o->log_why.code && io_write(o->log, p, n) < 0 && errno != EPIPE)
		why_errno(&o->log_why, EX_IOERR, "passing on what the command prints");
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '\n' || p[i] == '\r')
			end_line(o);
		else if (o->part_n < sizeof o->part - 1)
			o->part[o->part_n++] = p[i];
	}
}
