/* answer.c - an answer: sentences and tables, filled cell by cell. */
#include "answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct answer *answer_new(const char *question)
{
	struct answer *a = calloc(1, sizeof *a);

	if (a)
		a->question = question;
	return a;
}

static void table_free(struct table *t)
{
	if (!t)
		return;
	for (int i = 0; i < t->columns; i++) {
		free(t->column[i].name);
		free(t->column[i].title);
	}
	for (int i = 0; i < t->rows * t->columns; i++) {
		free(t->cell[i].text);
		free(t->cell[i].shown);
	}
	for (int i = 0; i < t->rows; i++)
		buf_free(&t->run[i]);
	free(t->column);
	free(t->cell);
	free(t->run);
	free(t->name);
	free(t->title);
	free(t);
}

void answer_free(struct answer *a)
{
	if (!a)
		return;
	for (int i = 0; i < a->items; i++) {
		free(a->item[i].name);
		free(a->item[i].text);
		buf_free(&a->item[i].run);
		table_free(a->item[i].table);
	}
	free(a->item);
	free(a);
}

int answer_check(const struct answer *a, struct why *w)
{
	return !a || a->bad ? why_set(w, EX_OSERR, "answering: out of memory") : 0;
}

static struct answer_item *item(struct answer *a)
{
	struct answer_item *p = realloc(a->item, (size_t)(a->items + 1) * sizeof *p);

	if (!p) {
		a->bad = true;
		return NULL;
	}
	a->item = p;
	p += a->items++;
	*p = (struct answer_item){ 0 };
	return p;
}

static char *copy(struct answer *a, const char *s)
{
	char *c = s ? strdup(s) : NULL;

	a->bad |= s && !c;
	return c;
}

static char *formatted(struct answer *a, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
static char *formatted(struct answer *a, const char *fmt, va_list ap)
{
	char *s = NULL;

	if (vasprintf(&s, fmt, ap) < 0) {
		a->bad = true;
		return NULL;
	}
	return s;
}

static void add_run(struct answer *a, struct buf *b, const char *id)
{
	if (b->n && memmem(b->p, b->n, id, strlen(id)))
		return;
	a->bad |= buf_printf(b, "%s%s", b->n ? " " : "", id) < 0;
}

void answer_say(struct answer *a, enum say say, const char *name, const char *fmt, ...)
{
	struct answer_item *p = item(a);
	va_list ap;

	if (!p)
		return;
	va_start(ap, fmt);
	p->say = say;
	p->name = copy(a, name);
	p->text = formatted(a, fmt, ap);
	va_end(ap);
}

void answer_run(struct answer *a, const char *id)
{
	if (a->items)
		add_run(a, &a->item[a->items - 1].run, id);
}

/* ---- tables ---- */

struct table *answer_table(struct answer *a, const char *name, const char *title)
{
	struct answer_item *p = item(a);

	if (!p)
		return NULL;
	p->table = calloc(1, sizeof *p->table);
	a->bad |= !p->table;
	if (!p->table)
		return NULL;
	p->table->of = a;
	p->table->name = copy(a, name);
	p->table->title = copy(a, title);
	return p->table;
}

static int column(struct table *t, const char *name, const char *title, bool left)
{
	struct column *c;

	if (!t)
		return 0;
	c = realloc(t->column, (size_t)(t->columns + 1) * sizeof *c);
	if (!c) {
		t->of->bad = true;
		return 0;
	}
	t->column = c;
	t->column[t->columns] = (struct column){ .name = copy(t->of, name), .title = copy(t->of, title), .left = left };
	return t->columns++;
}

int table_column(struct table *t, const char *name, const char *title)
{
	return column(t, name, title, false);
}

int table_words(struct table *t, const char *name, const char *title)
{
	return column(t, name, title, true);
}

void table_hide(struct table *t, int k)
{
	if (t && k < t->columns)
		t->column[k].hidden = true;
}

void table_row(struct table *t)
{
	struct cell *c;
	struct buf *run;

	if (!t || !t->columns)
		return;
	c = realloc(t->cell, (size_t)(t->rows + 1) * (size_t)t->columns * sizeof *c);
	if (c)
		t->cell = c;
	run = realloc(t->run, (size_t)(t->rows + 1) * sizeof *run);
	if (run)
		t->run = run;
	if (!c || !run) {
		t->of->bad = true;
		return;
	}
	memset(t->cell + t->rows * t->columns, 0, (size_t)t->columns * sizeof *c);
	t->run[t->rows++] = (struct buf){ 0 };
}

/* The cell of the row begun last, emptied; NULL if there is none. */
static struct cell *cell(struct table *t, int k)
{
	struct cell *c;

	if (!t || k < 0 || k >= t->columns || !t->rows)
		return NULL;
	c = &t->cell[(t->rows - 1) * t->columns + k];
	free(c->text);
	free(c->shown);
	*c = (struct cell){ 0 };
	return c;
}

void table_text(struct table *t, int k, const char *text)
{
	struct cell *c = cell(t, k);

	if (!c || !text)
		return;
	c->type = CELL_TEXT;
	c->text = copy(t->of, text);
}

void table_textf(struct table *t, int k, const char *fmt, ...)
{
	struct cell *c = cell(t, k);
	va_list ap;

	if (!c)
		return;
	va_start(ap, fmt);
	c->type = CELL_TEXT;
	c->text = formatted(t->of, fmt, ap);
	va_end(ap);
}

void table_int(struct table *t, int k, int64_t v)
{
	struct cell *c = cell(t, k);

	if (c) {
		c->type = CELL_INT;
		c->i = v;
	}
}

void table_bool(struct table *t, int k, bool v)
{
	struct cell *c = cell(t, k);

	if (c) {
		c->type = CELL_BOOL;
		c->i = v;
	}
}

void table_shown(struct table *t, int k, const char *fmt, ...)
{
	struct cell *c = t && t->rows && k >= 0 && k < t->columns ? &t->cell[(t->rows - 1) * t->columns + k] : NULL;
	va_list ap;

	if (!c)
		return;
	free(c->shown);
	va_start(ap, fmt);
	c->shown = formatted(t->of, fmt, ap);
	va_end(ap);
}

void table_num(struct table *t, int k, double v, const char *fmt)
{
	struct cell *c = cell(t, k);
	char shown[64];

	if (!c || isnan(v))
		return;
	c->type = CELL_NUM;
	c->x = v;
	if (!fmt)
		return;
	/* fmt is one of our own literals; a lone conversion of a double */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(shown, sizeof shown, fmt, v);
#pragma GCC diagnostic pop
	if (strstr(shown, "e+") && fabs(v) < 1e15)
		snprintf(shown, sizeof shown, fmt[1] == '+' ? "%+.0f" : "%.0f", v); /* 16890, not 1.689e+04 */
	table_shown(t, k, "%s", shown);
}

void table_bytes(struct table *t, int k, int64_t bytes)
{
	char shown[16];

	if (bytes < 0)
		return;
	table_int(t, k, bytes);
	table_shown(t, k, "%s", num_human_bytes(bytes, shown));
}

void table_seconds(struct table *t, int k, double seconds)
{
	char shown[48];

	if (isnan(seconds))
		return;
	table_num(t, k, seconds, NULL);
	table_shown(t, k, "%s", answer_seconds(seconds, shown));
}

void table_run(struct table *t, const char *id)
{
	if (t && t->rows)
		add_run(t->of, &t->run[t->rows - 1], id);
}

const char *answer_seconds(double s, char out[48])
{
	long long m = (long long)(s / 60 + 0.5), h = m / 60;

	if (isnan(s) || isinf(s) || s > 1e12)
		snprintf(out, 48, isnan(s) ? "not measured" : "never");
	else if (s < 1)
		snprintf(out, 48, "%.3g ms", 1000 * s);
	else if (s < 99.95)
		snprintf(out, 48, "%.3g s", s);
	else if (s < 3599.5)
		snprintf(out, 48, "%dm %02ds", (int)(s + 0.5) / 60, (int)(s + 0.5) % 60);
	else if (h < 72)
		snprintf(out, 48, "%lldh %02lldm", h, m % 60);
	else
		snprintf(out, 48, "%lldd %02lldh", (m + 30) / 1440, (m + 30) % 1440 / 60);
	return out;
}
