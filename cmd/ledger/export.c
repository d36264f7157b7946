/* export.c - ledger export: records as CSV or JSON Lines, every one of them, exactly. */
#include <stdlib.h>
#include <string.h>

#include "../../lib/answer/export.h"
#include "ledger.h"

static const char usage[] = "usage: ledger export csv|jsonl [--kind KIND] [--fields NAME,...] [-r PREFIX] ... [FILE ...]\n";

enum { KIND_OPTION = 0x1020, FIELDS_OPTION };
static const struct cmd_option options[] = {
	{ KIND_OPTION, "kind", "KIND", "records of this kind (csv: step; jsonl: all)" },
	{ FIELDS_OPTION, "fields", "NAME,...", "csv: these columns only, in this order" },
	{ 'r', "run", "PREFIX", "only runs whose id begins so; may be repeated" },
	{ 0 },
};

struct export {
	bool csv, first;   /* first: of two passes, in which columns are found */
	enum kind kind;    /* KIND_UNKNOWN: all */
	const char *fields;
	struct pick pick;
	struct export_columns columns;
	struct buf line, cell;
	struct buf *row;   /* (columns) cells of one record */
	bool *text;
	int rows_cap;
};

static bool wanted(const struct export *e, const struct view *v)
{
	char run[ULID_SIZE];

	if (e->kind != KIND_UNKNOWN && v->kind != e->kind)
		return false;
	view_run(v, run);
	for (int i = 0; i < e->pick.runs; i++)
		if (strncasecmp(run, e->pick.run[i], strlen(e->pick.run[i])) == 0)
			return true;
	return e->pick.runs == 0;
}

static void print_row(const struct export *e)
{
	for (int i = 0; i < e->columns.n; i++) {
		const struct buf *b = &e->row[i];

		if (i)
			putchar(',');
		if (!b->n)
			continue;
		if (e->text[i])
			print_csv((const char *)b->p);
		else
			fwrite(b->p, 1, b->n, stdout);
	}
	putchar('\n');
}

static int csv_row(struct export *e, const struct view *v)
{
	struct view_pair p = { 0 };

	for (int i = 0; i < e->columns.n; i++)
		e->row[i].n = 0;
	while (view_next_pair(v, &p)) {
		int k = export_find(&e->columns, p.key, p.key_size);

		if (k >= 0 && export_cell(&p, &e->row[k], &e->text[k]) < 0)
			return -EX_OSERR;
	}
	print_row(e);
	return 0;
}

static int see(void *ctx, const struct view *v, struct why *w)
{
	struct export *e = ctx;
	int rc;

	if (!wanted(e, v))
		return 0;

	if (e->csv && e->first) {
		rc = e->fields ? 0 : export_see(&e->columns, v);
	} else if (e->csv) {
		rc = csv_row(e, v);
	} else {
		e->line.n = 0;
		rc = json_write(v->raw, v->size, &e->line);
		if (rc == 0) {
			fwrite(e->line.p, 1, e->line.n, stdout);
			putchar('\n');
		}
	}
	return rc < 0 ? why_set(w, EX_OSERR, "exporting: record %lld: out of memory", (long long)v->number) : 0;
}

static int header(struct export *e)
{
	for (const char *s = e->fields; s && *s;) {
		size_t n = strcspn(s, ",");

		if (n && export_add(&e->columns, s, n) < 0)
			return EX_OSERR;
		s += n + (s[n] == ',');
	}
	e->row = calloc((size_t)e->columns.n + 1, sizeof *e->row);
	e->text = calloc((size_t)e->columns.n + 1, sizeof *e->text);
	if (!e->row || !e->text)
		return EX_OSERR;
	for (int i = 0; i < e->columns.n; i++) {
		if (i)
			putchar(',');
		print_csv(e->columns.name[i]);
	}
	putchar('\n');
	return 0;
}

/* Steps are read only where they are exported. */
static bool steps_wanted(void *ctx, const struct ledger_steps *s, int n)
{
	const struct export *e = ctx;

	if (e->kind != KIND_UNKNOWN && e->kind != KIND_step)
		return false;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < e->pick.runs; k++)
			if (strncasecmp(s[i].run, e->pick.run[k], strlen(e->pick.run[k])) == 0)
				return true;
	return e->pick.runs == 0;
}

static int read_operands(struct export *e, struct operand *o, int n, bool again)
{
	struct reading r = { .see = see, .ctx = e, .quiet = again };
	int status = 0;
	struct why w;

	for (int i = 0; i < n; i++) {
		if (!o[i].l)
			continue;
		if (again && operand_rewind(&o[i], &w) < 0) {
			cmd_warn(&w);
			status = code_worst(status, w.code);
			continue;
		}
		ledger_skip(o[i].l, steps_wanted, e);
		status = code_worst(status, operand_read(&o[i], &r));
	}
	return status;
}

static int run(struct export *e, char **name, int n)
{
	struct operand *o = calloc((size_t)n + 1, sizeof *o);
	int status = o ? 0 : EX_OSERR;
	struct why w;

	for (int i = 0; o && i < n; i++)
		if (operand_open(&o[i], name[i], e->csv, &w) < 0) {
			cmd_warn(&w);
			o[i] = (struct operand){ .fd = -1 };
			status = code_worst(status, w.code);
		}
	e->first = true;
	if (o)
		status = code_worst(status, read_operands(e, o, n, false));
	if (o && e->csv) {
		e->first = false;
		status = code_worst(status, header(e));
		if (e->row && e->text)
			status = code_worst(status, read_operands(e, o, n, true));
	}
	for (int i = 0; o && i < n; i++)
		operand_close(&o[i]);
	if (e->row)
		for (int i = 0; i < e->columns.n; i++)
			buf_free(&e->row[i]);
	free(e->row);
	free(e->text);
	export_free(&e->columns);
	buf_free(&e->line);
	free(o);
	return status;
}

int do_export(int argc, char **argv)
{
	static char *standard_input[] = { "-", NULL };
	struct export e = { 0 };
	const char *value;
	struct cmd c;
	int opt;

	cmd_options(&c, argc, argv, usage, options, NULL);
	while ((opt = cmd_next(&c, &value)) >= 0) {
		if (opt == KIND_OPTION && (e.kind = kind_find(value, strlen(value))) == KIND_UNKNOWN)
			return cmd_usage_error("--kind: %.60s: no such kind of record; pilot-record(5) names them", value);
		if (opt == FIELDS_OPTION)
			e.fields = value;
		if (pick_option(&e.pick, opt, value) == EX_USAGE)
			return EX_USAGE;
	}
	if (opt != CMD_END)
		return c.status;
	if (c.operand == c.argc || (strcmp(c.argv[c.operand], "csv") && strcmp(c.argv[c.operand], "jsonl")))
		return cmd_usage_error("export: csv or jsonl?");
	e.csv = strcmp(c.argv[c.operand], "csv") == 0;
	if (!e.csv && e.fields)
		return cmd_usage_error("--fields goes with csv: JSON Lines are whole records");
	if (e.csv && e.kind == KIND_UNKNOWN)
		e.kind = KIND_step;
	if (c.operand + 1 == c.argc)
		return run(&e, standard_input, 1);
	return run(&e, c.argv + c.operand + 1, c.argc - c.operand - 1);
}
