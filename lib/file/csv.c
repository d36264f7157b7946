/* csv.c - RFC 4180 tables: quoted cells with commas, quotes and newlines in them; CRLF or LF
 * ends a row; a byte order mark is skipped. Every row must have the header's number of cells. */
#include "file.h"

#include <stdlib.h>
#include <string.h>

struct parser {
	const char *path;
	unsigned char *p;   /* the file; cells are unquoted in place */
	int64_t n, at;
	int64_t line;       /* of p[at], from 1 */
	int64_t row_line;   /* on which the row began */
	char **cells;       /* all so far, the header's first */
	int64_t count, cap;
	int64_t *lines;     /* of the rows, the header's first */
	int64_t rows, rows_cap;
	int64_t columns;    /* of the header; 0 before it is read */
};

static int bad(const struct parser *s, int64_t line, const char *reason, struct why *w)
{
	return why_set(w, EX_DATAERR, "reading csv: %.300s: line %lld: %.300s", s->path, (long long)line, reason);
}

static int grow(void **p, int64_t *cap, size_t size)
{
	int64_t more = *cap ? *cap * 2 : 256;
	void *q = realloc(*p, (size_t)more * size);

	if (!q)
		return -EX_OSERR;
	*p = q;
	*cap = more;
	return 0;
}

static int add_cell(struct parser *s, unsigned char *cell, struct why *w)
{
	if (s->count == s->cap && grow((void **)&s->cells, &s->cap, sizeof *s->cells))
		return why_set(w, EX_OSERR, "reading csv: %.300s: line %lld: no memory", s->path, (long long)s->line);
	s->cells[s->count++] = (char *)cell;
	return 0;
}

/* From behind the opening quote to behind the closing one; doubled quotes become one. */
static int quoted(struct parser *s, unsigned char **end, struct why *w)
{
	unsigned char *to = s->p + s->at;
	int64_t began = s->line;

	for (; s->at < s->n; s->at++) {
		unsigned char c = s->p[s->at];
		if (c == '"') {
			if (s->at + 1 == s->n || s->p[s->at + 1] != '"')
				break;
			s->at++;
		}
		if (!c)
			return bad(s, s->line, "a NUL byte", w);
		s->line += c == '\n';
		*to++ = c;
	}
	if (s->at == s->n)
		return bad(s, began, "a quote is opened and never closed", w);
	s->at++;
	*end = to;
	return 0;
}

static int unquoted(struct parser *s, unsigned char **end, struct why *w)
{
	for (; s->at < s->n; s->at++) {
		unsigned char c = s->p[s->at];
		if (c == ',' || c == '\n' || c == '\r')
			break;
		if (c == '"')
			return bad(s, s->line, "a quote inside a cell that does not begin with one", w);
		if (!c)
			return bad(s, s->line, "a NUL byte", w);
	}
	*end = s->p + s->at;
	return 0;
}

/* What stands behind a cell: 1 another cell, 0 the row's end. The place is known before *end is overwritten. */
static int separator(struct parser *s, struct why *w)
{
	if (s->at == s->n)
		return 0;
	if (s->p[s->at] == ',') {
		s->at++;
		return 1;
	}
	if (s->p[s->at] == '\r') {
		if (s->at + 1 < s->n && s->p[s->at + 1] != '\n')
			return bad(s, s->line, "a carriage return without a line feed", w);
		s->at++;
	} else if (s->p[s->at] != '\n') {
		return bad(s, s->line, "text behind a closing quote", w);
	}
	if (s->at < s->n) {
		s->at++;
		s->line++;
	}
	return 0;
}

static int one_cell(struct parser *s, struct why *w)
{
	unsigned char *cell, *end = NULL;
	int r;

	if (s->at < s->n && s->p[s->at] == '"') {
		s->at++;
		cell = s->p + s->at;
		r = quoted(s, &end, w);
	} else {
		cell = s->p + s->at;
		r = unquoted(s, &end, w);
	}
	if (r || (r = add_cell(s, cell, w)))
		return r;
	r = separator(s, w);
	if (r >= 0)
		*end = 0; /* on a quote or a separator that has been read, or behind the file's end */
	return r;
}

static int one_row(struct parser *s, struct why *w)
{
	int64_t first = s->count, cells;
	char text[100];
	int r;

	s->row_line = s->line;
	if (s->rows == s->rows_cap && grow((void **)&s->lines, &s->rows_cap, sizeof *s->lines))
		return why_set(w, EX_OSERR, "reading csv: %.300s: line %lld: no memory", s->path, (long long)s->line);
	while ((r = one_cell(s, w)) == 1)
		;
	if (r)
		return r;
	s->lines[s->rows++] = s->row_line;
	cells = s->count - first;
	if (!s->columns)
		s->columns = cells;
	if (cells == s->columns)
		return 0;
	snprintf(text, sizeof text, "%lld cells, the header has %lld", (long long)cells, (long long)s->columns);
	return bad(s, s->row_line, text, w);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int check_header(const struct parser *s, struct why *w)
{
	char shown[FILE_SHOWN], **sorted;
	int r = 0;

	if (s->columns > INT32_MAX)
		return bad(s, 1, "too many columns", w);
	if (!(sorted = malloc((size_t)s->columns * sizeof *sorted)))
		return why_set(w, EX_OSERR, "reading csv: %.300s: no memory", s->path);
	memcpy(sorted, s->cells, (size_t)s->columns * sizeof *sorted);
	qsort(sorted, (size_t)s->columns, sizeof *sorted, by_name);
	for (int64_t i = 1; i < s->columns && !r; i++)
		if (!strcmp(sorted[i - 1], sorted[i]))
			r = why_set(w, EX_DATAERR, "reading csv: %.300s: line 1: two columns are named \"%s\"", s->path,
			    file_shown(sorted[i], strlen(sorted[i]), shown));
	free(sorted);
	return r;
}

static int parse(struct parser *s, struct why *w)
{
	int r = 0;

	if (s->n >= 3 && !memcmp(s->p, "\xef\xbb\xbf", 3))
		s->at = 3;
	if (s->at == s->n)
		return why_set(w, EX_DATAERR, "reading csv: %.300s: is empty: no header line", s->path);
	if ((r = one_row(s, w)) || (r = check_header(s, w)))
		return r;
	while (!r && s->at < s->n)
		r = one_row(s, w);
	return r;
}

/* A copy that ends with NUL: cells are cut out of it, and the file itself may be mapped. */
static int take(struct parser *s, struct why *w)
{
	struct bytes b;
	int r = bytes_open(&b, s->path, FILE_MAX_INFLATED, w);

	if (r)
		return r;
	s->n = b.n;
	if (b.n > FILE_MAX_INFLATED)
		r = why_set(w, EX_DATAERR, "reading csv: %.300s: more than %lld bytes", s->path, (long long)FILE_MAX_INFLATED);
	else if (!(s->p = malloc((size_t)b.n + 1)))
		r = why_set(w, EX_OSERR, "reading csv: %.300s: no memory", s->path);
	else {
		memcpy(s->p, b.p, (size_t)b.n);
		s->p[b.n] = 0;
	}
	bytes_close(&b);
	return r;
}

struct owned {
	unsigned char *text;
	char **cells;
	int64_t *lines;
};

int csv_open(struct csv *c, const char *path, struct why *w)
{
	struct parser s = { .path = path, .line = 1 };
	struct owned *owned = calloc(1, sizeof *owned);
	int r;

	memset(c, 0, sizeof *c);
	if (!owned)
		return why_set(w, EX_OSERR, "reading csv: %.300s: no memory", path);
	if (!(r = take(&s, w)))
		r = parse(&s, w);
	*owned = (struct owned){ s.p, s.cells, s.lines };
	c->owned = owned;
	if (r) {
		csv_close(c);
		return r;
	}
	c->rows = s.rows - 1;
	c->columns = (int)s.columns;
	c->name = s.cells;
	c->cell = s.cells + s.columns;
	c->line = s.lines + 1;
	return 0;
}

void csv_close(struct csv *c)
{
	struct owned *owned = c->owned;

	if (owned) {
		free(owned->text);
		free(owned->cells);
		free(owned->lines);
		free(owned);
	}
	memset(c, 0, sizeof *c);
}
