/* catalogue.c - a table of devices, tab-separated. */
#include "catalogue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME, USABLE, NOMINAL, BANDWIDTH, CAPABILITY, PRICE, SOURCE, COLUMNS };
static const char *const names[COLUMNS] = { "name", "usable_bytes", "nominal_bytes", "bandwidth", "compute_capability", "price", "source" };

struct table_of {
	const char *path;
	int line;
	int column[COLUMNS]; /* which cell of a line; -1 none */
	int cells;
};

/* Cuts a line at its tabs. Returns the cells, at most most. */
static int cut(char *line, char **cell, int most)
{
	int n = 0;

	for (char *p = line; p && n < most; n++) {
		cell[n] = p;
		p = strchr(p, '\t');
		if (p)
			*p++ = '\0';
	}
	return n;
}

static int header(struct table_of *t, char **cell, int n, struct why *w)
{
	for (int k = 0; k < COLUMNS; k++)
		t->column[k] = -1;
	for (int i = 0; i < n; i++) {
		int k = 0;

		while (k < COLUMNS && strcmp(names[k], cell[i]))
			k++;
		if (k == COLUMNS || t->column[k] >= 0)
			return why_set(w, EX_DATAERR, "reading a catalogue: %s: line %d, column %d: \"%.40s\": %s", t->path, t->line, i + 1, cell[i],
			               k == COLUMNS ? "no such column" : "twice");
		t->column[k] = i;
	}
	t->cells = n;
	if (t->column[NAME] < 0 || t->column[USABLE] < 0)
		return why_set(w, EX_DATAERR, "reading a catalogue: %s: line %d: columns name and usable_bytes are needed", t->path, t->line);
	return 0;
}

static const char *cell_of(const struct table_of *t, char **cell, int k)
{
	return t->column[k] < 0 ? "" : cell[t->column[k]];
}

static int wrong(const struct table_of *t, int k, const struct why *why, struct why *w)
{
	return why_set(w, EX_DATAERR, "reading a catalogue: %s: line %d, column %d: %.200s", t->path, t->line, t->column[k] + 1, why->text);
}

static int number(const struct table_of *t, char **cell, int k, double *out, struct why *w)
{
	struct why why;

	*out = NAN;
	if (!*cell_of(t, cell, k))
		return 0;
	return num_float(cell_of(t, cell, k), names[k], 0, 1e18, out, &why) < 0 ? wrong(t, k, &why, w) : 0;
}

/* Nothing is cut silently. */
static int words(const struct table_of *t, char **cell, int k, char *out, size_t size, struct why *w)
{
	struct why why;

	if ((size_t)snprintf(out, size, "%s", cell_of(t, cell, k)) < size)
		return 0;
	why_set(&why, EX_DATAERR, "%s: longer than %zu bytes", names[k], size - 1);
	return wrong(t, k, &why, w);
}

static int bytes(const struct table_of *t, char **cell, int k, int64_t *out, struct why *w)
{
	struct why why;

	*out = -1;
	if (!*cell_of(t, cell, k))
		return 0;
	return num_size(cell_of(t, cell, k), names[k], out, &why) < 0 ? wrong(t, k, &why, w) : 0;
}

static int device(const struct table_of *t, char **cell, int n, struct catalogue_device *d, struct why *w)
{
	struct why why;
	int rc;

	if (n != t->cells)
		return why_set(w, EX_DATAERR, "reading a catalogue: %s: line %d, column %d: %d cells, the first line has %d", t->path, t->line, n < t->cells ? n + 1 : t->cells + 1, n, t->cells);
	rc = words(t, cell, NAME, d->name, sizeof d->name, w);
	if (rc == 0)
		rc = words(t, cell, CAPABILITY, d->capability, sizeof d->capability, w);
	if (rc == 0)
		rc = words(t, cell, SOURCE, d->source, sizeof d->source, w);
	if (rc < 0)
		return rc;
	if (!*d->name) {
		why_set(&why, EX_DATAERR, "name: empty");
		return wrong(t, NAME, &why, w);
	}
	rc = bytes(t, cell, USABLE, &d->usable_bytes, w);
	if (rc == 0)
		rc = bytes(t, cell, NOMINAL, &d->nominal_bytes, w);
	if (rc == 0)
		rc = number(t, cell, BANDWIDTH, &d->bandwidth, w);
	return rc < 0 ? rc : number(t, cell, PRICE, &d->price, w);
}

static int lines(struct catalogue *c, char *text, const char *path, struct why *w)
{
	struct table_of t = { .path = path };
	char *cell[COLUMNS + 2], *next;

	for (char *line = text; line; line = next) {
		struct catalogue_device *p;
		int n, rc;

		t.line++;
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		line[strcspn(line, "\r")] = '\0';
		if (!*line || *line == '#')
			continue;
		n = cut(line, cell, COLUMNS + 2);
		if (!t.cells) {
			rc = header(&t, cell, n, w);
			if (rc < 0)
				return rc;
			continue;
		}
		p = realloc(c->device, (size_t)(c->n + 1) * sizeof *p);
		if (!p)
			return why_set(w, EX_OSERR, "reading a catalogue: %s: out of memory", path);
		c->device = p;
		rc = device(&t, cell, n, &p[c->n], w);
		if (rc < 0)
			return rc;
		c->n++;
	}
	return t.cells ? 0 : why_set(w, EX_DATAERR, "reading a catalogue: %s: line 1: empty", path);
}

int catalogue_read(struct catalogue *c, const char *path, struct why *w)
{
	struct buf b = { 0 };
	int rc = io_slurp(path, 1 << 20, &b, w);

	*c = (struct catalogue){ 0 };
	if (rc == 0 && buf_add(&b, "", 1) < 0)
		rc = why_set(w, EX_OSERR, "reading a catalogue: %s: out of memory", path);
	if (rc == 0)
		rc = lines(c, (char *)b.p, path, w);
	if (rc < 0)
		catalogue_free(c);
	buf_free(&b);
	return rc;
}

void catalogue_free(struct catalogue *c)
{
	free(c->device);
	*c = (struct catalogue){ 0 };
}
