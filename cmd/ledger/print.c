/* print.c - an answer on standard output: text for people, JSON Lines, CSV. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ledger.h"

/* ---- strings that come from anybody ---- */

void print_json(const char *s)
{
	putchar('"');
	for (; *s; s++)
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < 0x20)
			printf("\\u%04x", (unsigned char)*s);
		else
			putchar(*s);
	putchar('"');
}

/* Control characters as in every text view. A spreadsheet takes =, +, - and @ at the beginning for a
 * formula, and a record's strings are anybody's; behind an apostrophe it is text. */
void print_csv(const char *s)
{
	struct buf b = { 0 };
	int rc = text_escape(&b, s, strlen(s));

	printf(*s && strchr("=+-@", *s) ? "\"'" : "\"");
	for (size_t i = 0; rc == 0 && i < b.n; i++) {
		if (b.p[i] == '"')
			putchar('"');
		putchar(b.p[i]);
	}
	putchar('"');
	buf_free(&b);
}

static void number(double x)
{
	char s[32];

	if (isinf(x)) {
		printf("\"%sInfinity\"", x > 0 ? "" : "-");
		return;
	}
	num_shortest(x, s);
	printf("%s", s);
}

/* ---- text ---- */

/* What people see of a cell, escaped. */
static void shown(struct buf *b, const struct cell *c)
{
	const char *s = c->shown ? c->shown : c->type == CELL_TEXT ? c->text : NULL;

	b->n = 0;
	if (s && text_escape(b, s, strlen(s)) < 0)
		b->n = 0;
	if (s)
		return;
	if ((c->type == CELL_INT ? buf_printf(b, "%lld", (long long)c->i) :
	     c->type == CELL_NUM ? buf_printf(b, "%.6g", c->x) :
	     c->type == CELL_BOOL ? buf_printf(b, "%s", c->i ? "yes" : "no") : buf_printf(b, "not measured")) < 0)
		b->n = 0;
}

/* Letters on the screen: UTF-8's continuation bytes are not counted. */
static int letters(const struct buf *b)
{
	int n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += (b->p[i] & 0xc0) != 0x80;
	return n;
}

static void put_cell(const struct buf *b, const struct column *c, int width, bool last)
{
	int pad = width - letters(b);

	if (!c->left && pad > 0)
		printf("%*s", pad, "");
	if (b->n)
		fwrite(b->p, 1, b->n, stdout);
	if (c->left && pad > 0 && !last)
		printf("%*s", pad, "");
	if (!last)
		fputs("  ", stdout);
}

static int last_shown(const struct table *t)
{
	int k = t->columns - 1;

	while (k > 0 && t->column[k].hidden)
		k--;
	return k;
}

static void line_of_table(const struct table *t, int row, const int *width, struct buf *b)
{
	for (int k = 0, last = last_shown(t); k < t->columns; k++) {
		const char *title = t->column[k].title;

		if (t->column[k].hidden)
			continue;
		if (row >= 0)
			shown(b, &t->cell[row * t->columns + k]);
		else if ((b->n = 0, text_escape(b, title, strlen(title))) < 0)
			b->n = 0;
		put_cell(b, &t->column[k], width[k], k == last);
	}
	putchar('\n');
}

static void text_table(const struct table *t, bool runs)
{
	int *width = calloc((size_t)t->columns + 1, sizeof *width);
	struct buf b = { 0 };

	if (!width)
		return;
	for (int k = 0; k < t->columns; k++) {
		width[k] = (int)strlen(t->column[k].title);
		for (int i = 0; i < t->rows; i++) {
			shown(&b, &t->cell[i * t->columns + k]);
			if (letters(&b) > width[k])
				width[k] = letters(&b);
		}
	}
	if (t->title)
		printf("%s\n", t->title);
	line_of_table(t, -1, width, &b);
	for (int i = 0; i < t->rows; i++) {
		line_of_table(t, i, width, &b);
		if (runs && t->run[i].n)
			printf("    runs: %.*s\n", (int)t->run[i].n, (const char *)t->run[i].p);
	}
	free(width);
	buf_free(&b);
}

static void sentence(const struct answer_item *p, bool runs)
{
	struct buf b = { 0 };

	if (text_escape(&b, p->text, strlen(p->text)) == 0 && b.n)
		printf("%s%.*s\n", p->say == SAY_WARNING ? "! " : "", (int)b.n, (const char *)b.p);
	if (runs && p->run.n)
		printf("    runs: %.*s\n", (int)p->run.n, (const char *)p->run.p);
	buf_free(&b);
}

/* An empty line around tables and before headings. */
static void text(const struct answer *a, bool runs)
{
	for (int i = 0; i < a->items; i++) {
		const struct answer_item *p = &a->item[i], *before = i ? p - 1 : NULL;

		if (before && (p->table || before->table || p->say == SAY_HEAD))
			putchar('\n');
		if (p->table)
			text_table(p->table, runs);
		else
			sentence(p, runs);
	}
}

/* ---- JSON and CSV ---- */

static void json_runs(const struct buf *b)
{
	size_t i = 0;

	printf(",\"runs\":[");
	while (i < b->n) {
		size_t k = i;

		while (k < b->n && b->p[k] != ' ')
			k++;
		printf("%s\"%.*s\"", i ? "," : "", (int)(k - i), (const char *)b->p + i);
		i = k + 1;
	}
	putchar(']');
}

static void json_cell(const struct cell *c)
{
	switch (c->type) {
	case CELL_TEXT: print_json(c->text); break;
	case CELL_INT: printf("%lld", (long long)c->i); break;
	case CELL_NUM: number(c->x); break;
	case CELL_BOOL: fputs(c->i ? "true" : "false", stdout); break;
	case CELL_NONE: fputs("null", stdout); break;
	}
}

static void json_table(const struct answer *a, const struct table *t, bool runs)
{
	for (int i = 0; i < t->rows; i++) {
		printf("{\"answer\":\"%s\",\"table\":\"%s\"", a->question, t->name);
		for (int k = 0; k < t->columns; k++) {
			printf(",");
			print_json(t->column[k].name);
			printf(":");
			json_cell(&t->cell[i * t->columns + k]);
		}
		if (runs)
			json_runs(&t->run[i]);
		puts("}");
	}
}

static void json(const struct answer *a, bool runs)
{
	for (int i = 0; i < a->items; i++) {
		const struct answer_item *p = &a->item[i];

		if (p->table) {
			json_table(a, p->table, runs);
			continue;
		}
		printf("{\"answer\":\"%s\",\"%s\":\"%s\",\"text\":", a->question, p->say == SAY_WARNING ? "warning" : p->say == SAY_HEAD ? "heading" : "says", p->name);
		print_json(p->text);
		if (runs)
			json_runs(&p->run);
		puts("}");
	}
}

static void csv_cell(const struct cell *c)
{
	switch (c->type) {
	case CELL_TEXT: print_csv(c->text); break;
	case CELL_INT: printf("%lld", (long long)c->i); break;
	case CELL_NUM: number(c->x); break;
	case CELL_BOOL: fputs(c->i ? "true" : "false", stdout); break;
	case CELL_NONE: break;
	}
}

static void csv_table(const struct table *t, bool runs)
{
	for (int k = 0; k < t->columns; k++) {
		if (k)
			putchar(',');
		print_csv(t->column[k].name);
	}
	puts(runs ? ",\"runs\"" : "");
	for (int i = 0; i < t->rows; i++) {
		for (int k = 0; k < t->columns; k++) {
			if (k)
				putchar(',');
			csv_cell(&t->cell[i * t->columns + k]);
		}
		if (runs)
			printf(",\"%.*s\"", (int)t->run[i].n, (const char *)t->run[i].p);
		putchar('\n');
	}
}

/* The first table: one file is one table. */
static void csv(const struct answer *a, bool runs)
{
	for (int i = 0; i < a->items; i++)
		if (a->item[i].table) {
			csv_table(a->item[i].table, runs);
			return;
		}
}

int print_answer(const struct answer *a, const struct printing *p)
{
	struct why w;

	if (answer_check(a, &w) < 0) {
		cmd_warn(&w);
		return w.code;
	}
	if (p->csv)
		csv(a, p->runs);
	else if (p->json)
		json(a, p->runs);
	else
		text(a, p->runs);
	return 0;
}

int print_result(int rc, struct answer *a, const struct printing *p, const struct why *w)
{
	int status = a && (rc == 0 || rc == -EX_NO) ? print_answer(a, p) : 0;

	if (rc < 0) {
		fflush(stdout); /* the answer before what is said of it */
		cmd_warn(w);
	}
	answer_free(a);
	return code_worst(status, -rc);
}

int print_whole(const char *path, const struct buf *b)
{
	struct whole *f;
	struct why w;
	int rc = whole_begin(&f, path, &w);

	if (rc == 0 && io_write(whole_fd(f), b->p, b->n) < 0) {
		rc = why_errno(&w, EX_IOERR, "writing: %.300s", path);
		whole_abandon(f);
	} else if (rc == 0) {
		rc = whole_commit(f, &w);
	}
	if (rc < 0)
		cmd_warn(&w);
	return -rc;
}

int print_option(struct printing *p, int opt)
{
	switch (opt) {
	case 'j': p->json = true; break;
	case PRINT_CSV: p->csv = true; break;
	case PRINT_RUNS: p->runs = true; break;
	default: return 1;
	}
	if (p->json && p->csv)
		return cmd_usage_error("--json and --csv: which of the two?");
	return 0;
}
