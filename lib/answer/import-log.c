/* import-log.c - a CSV file, or a line of JSON a row, as one table of cells. */
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "import.h"

#define LOG_MAX_BYTES ((size_t)1 << 30)

int log_csv(struct log_table *t, const char *path, struct why *w)
{
	int rc;

	*t = (struct log_table){ .csv = true, .path = path };
	rc = csv_open(&t->of_csv, path, w);
	if (rc < 0)
		return rc;
	t->name = t->of_csv.name;
	t->cell = t->of_csv.cell;
	t->line = t->of_csv.line;
	t->rows = t->of_csv.rows;
	t->columns = t->of_csv.columns;
	return 0;
}

void log_free(struct log_table *t)
{
	if (t->csv) {
		csv_close(&t->of_csv);
	} else {
		for (int i = 0; i < t->columns; i++)
			free(t->name[i]);
		for (int64_t i = 0; i < t->rows * t->columns; i++)
			free(t->cell[i]);
		free(t->name);
		free(t->cell);
		free(t->line);
	}
	*t = (struct log_table){ 0 };
}

/* ---- JSON lines: first which columns there are, then their cells ---- */

struct reading {
	struct log_table *t;
	struct export_columns columns;
	struct buf raw, cell;
	struct why *w;
};

/* Each non-empty line as a map; see is told its number. */
static int each_line(struct reading *r, const struct buf *file, int (*see)(struct reading *r, const struct view *v, int64_t line))
{
	const char *p = (const char *)file->p, *end = p + file->n;
	int64_t line = 0;
	int rc = 0;

	while (p < end && rc == 0) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		size_t n = stop ? (size_t)(stop - p) : (size_t)(end - p);
		struct why inner;

		line++;
		while (n && (p[n - 1] == '\r' || p[n - 1] == ' '))
			n--;
		r->raw.n = 0;
		if (n) {
			rc = json_read(p, n, &r->raw, &inner);
			if (rc < 0)
				return why_set(r->w, EX_DATAERR, "reading log: %.300s: line %lld: %.300s", r->t->path, (long long)line, inner.text);
			rc = see(r, &(struct view){ .raw = r->raw.p, .size = r->raw.n }, line);
		}
		p = stop ? stop + 1 : end;
	}
	return rc < 0 ? why_set(r->w, EX_OSERR, "reading log: %.300s: out of memory", r->t->path) : 0;
}

static int see_names(struct reading *r, const struct view *v, int64_t line)
{
	struct view_pair p = { 0 };
	int rc = 0;

	(void)line;
	while (rc == 0 && view_next_pair(v, &p))
		rc = export_add(&r->columns, p.key, p.key_size);
	r->t->rows++;
	return rc;
}

static int see_cells(struct reading *r, const struct view *v, int64_t line)
{
	char **cell = r->t->cell + r->t->rows * r->t->columns;
	struct view_pair p = { 0 };
	bool text;

	while (view_next_pair(v, &p)) {
		int k = export_find(&r->columns, p.key, p.key_size);

		if (export_cell(&p, &r->cell, &text) < 0)
			return -EX_OSERR;
		if (k < 0 || (text && (r->cell.p[0] == '[' || r->cell.p[0] == '{')) || strcmp((char *)r->cell.p, "null") == 0)
			continue;
		free(cell[k]);
		cell[k] = strdup((char *)r->cell.p);
		if (!cell[k])
			return -EX_OSERR;
	}
	r->t->line[r->t->rows++] = line;
	return 0;
}

int log_jsonl(struct log_table *t, const char *path, struct why *w)
{
	struct reading r = { .t = t, .w = w };
	struct buf file = { 0 };
	int rc;

	*t = (struct log_table){ .path = path };
	rc = io_slurp(path, LOG_MAX_BYTES, &file, w);
	if (rc == 0)
		rc = each_line(&r, &file, see_names);
	if (rc == 0) {
		t->cell = calloc((size_t)t->rows * (size_t)r.columns.n + 1, sizeof *t->cell);
		t->line = calloc((size_t)t->rows + 1, sizeof *t->line);
		t->columns = r.columns.n;
		t->name = r.columns.name;
		t->rows = 0;
		rc = t->cell && t->line ? each_line(&r, &file, see_cells) : why_set(w, EX_OSERR, "reading log: %.300s: out of memory", path);
		free(r.columns.slot); /* the names are the table's now */
	} else {
		export_free(&r.columns);
		t->rows = 0;
	}
	buf_free(&file);
	buf_free(&r.raw);
	buf_free(&r.cell);
	if (rc < 0)
		log_free(t);
	return rc;
}
