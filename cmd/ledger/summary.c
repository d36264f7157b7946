/* summary.c - ledger summary: one row a run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ledger.h"

static const char usage[] = "usage: ledger summary [-j | --csv] [-r PREFIX] [--last] [--since WHEN] [FILE ...]\n";

enum { CSV = 0x1010 };

static const struct cmd_option options[] = {
	{ 'j', "json", NULL, "print JSON Lines" },
	{ CSV, "csv", NULL, "print comma-separated values" },
	PICK_OPTIONS,
	{ 0 },
};

struct summing {
	struct summary *runs;
	struct planned planned;
};

static int see(void *ctx, const struct view *v, struct why *w)
{
	struct summing *s = ctx;
	int rc = planned_see(&s->planned, v, w);

	return rc < 0 ? rc : summary_see(s->runs, v, w);
}

static int see_steps(void *ctx, const struct ledger_steps *e, struct why *w)
{
	return summary_steps(((struct summing *)ctx)->runs, e, w);
}

static bool no_steps(void *ctx, const struct ledger_steps *e, int n)
{
	(void)ctx;
	(void)e;
	(void)n;
	return false;
}

static int read_all(struct summing *s, char **name, int n)
{
	struct reading r = { .see = see, .skipped = see_steps, .ctx = s };
	int status = 0;
	struct why w;

	for (int i = 0; i < n; i++) {
		struct operand o;

		if (operand_open(&o, name[i], false, &w) < 0) {
			cmd_warn(&w);
			status = code_worst(status, w.code);
			continue;
		}
		ledger_skip(o.l, no_steps, NULL);
		status = code_worst(status, operand_read(&o, &r));
		operand_close(&o);
	}
	return status;
}

/* ---- cells ---- */

enum { CELL = 160, COLUMNS = 10 };
static const char *const titles[COLUMNS] = { "run", "when", "what", "batch", "updates", "validation", "best (selected)", "speed", "peak", "verdict" };
static const char *const last_title = "status";

static void when(struct timestamp t, char out[CELL])
{
	time_t s = t.seconds;
	struct tm tm;

	if (t.seconds && localtime_r(&s, &tm))
		strftime(out, CELL, "%Y-%m-%d %H:%M", &tm);
	else
		snprintf(out, CELL, "-");
}

static void what(const struct summary_row *r, char out[CELL])
{
	const char *role = strcmp(r->role, "train") ? r->role : "", *first = *r->program ? r->program : *r->model ? r->model : "?";
	const char *model = *r->program ? r->model : "";

	snprintf(out, CELL, "%s%s%s%s%s%s%s%s%s", role, *role ? " " : "", first, *model ? " " : "", model,
	         *r->data ? " " : "", r->data, *r->optimizer ? " " : "", r->optimizer);
}

static void batch(const struct summary_row *r, char out[CELL])
{
	if (r->micro_batch < 0)
		snprintf(out, CELL, "-");
	else if (r->accum > 1)
		snprintf(out, CELL, "%lldx%lld", (long long)r->micro_batch, (long long)r->accum);
	else
		snprintf(out, CELL, "%lld", (long long)r->micro_batch);
}

static void updates(const struct summary_row *r, char out[CELL])
{
	if (r->updates < 0)
		snprintf(out, CELL, "-");
	else if (r->planned_updates > r->updates)
		snprintf(out, CELL, "%lld/%lld", (long long)r->updates, (long long)r->planned_updates);
	else
		snprintf(out, CELL, "%lld", (long long)r->updates);
}

static void validation(const struct summary_row *r, char out[CELL])
{
	int n = isnan(r->validation_loss) ? snprintf(out, CELL, "-") : snprintf(out, CELL, "%.4g", r->validation_loss);

	if (!isnan(r->validation_accuracy))
		snprintf(out + n, CELL - (size_t)n, " %.1f%%", 100 * r->validation_accuracy);
}

/* Always with how many it was selected from: the least of many is no estimate. */
static void best(const struct summary_row *r, char out[CELL])
{
	if (isnan(r->best_loss))
		snprintf(out, CELL, "-");
	else
		snprintf(out, CELL, "%.4g at %lld of %lld", r->best_loss, (long long)r->best_update, (long long)r->validations);
}

static void speed(const struct summary_row *r, char out[CELL])
{
	if (isnan(r->examples_per_second))
		snprintf(out, CELL, "-");
	else
		snprintf(out, CELL, r->examples_per_second >= 1000 ? "%.0f/s" : "%.4g/s", r->examples_per_second);
}

static void verdict(const struct summary_row *r, char out[CELL])
{
	snprintf(out, CELL, "%s%s%s", *r->verdict ? r->verdict : "-", *r->failed ? " " : "", r->failed);
}

static void status_of(const struct summary_row *r, char out[CELL])
{
	char seen[CELL];

	when(r->last, seen);
	if (!*r->status)
		snprintf(out, CELL, "unknown, last seen %.40s", seen);
	else if (strcmp(r->role, "probe") == 0)
		snprintf(out, CELL, "%s, %lld %s", r->status, (long long)r->trials, r->trials == 1 ? "trial" : "trials");
	else
		snprintf(out, CELL, "%s", r->status);
}

/* What tensors hold is the peak where somebody counts it; else what the device, or the host, has seen, and
 * the cell says which of them. */
static void peak(const struct summary_row *r, char out[CELL])
{
	bool host = !*r->device || strcmp(r->device, "cpu") == 0;
	char bytes[16];

	if (r->allocated_peak_bytes >= 0)
		snprintf(out, CELL, "%s", num_human_bytes(r->allocated_peak_bytes, bytes));
	else if (r->device_used_peak_bytes >= 0 && !host)
		snprintf(out, CELL, "%s device", num_human_bytes(r->device_used_peak_bytes, bytes));
	else if (r->resident_peak_bytes >= 0 || r->device_used_peak_bytes >= 0)
		snprintf(out, CELL, "%s resident", num_human_bytes(r->resident_peak_bytes >= 0 ? r->resident_peak_bytes : r->device_used_peak_bytes, bytes));
	else
		snprintf(out, CELL, "-");
}

static void cells(const struct summary_row *r, int id, char cell[COLUMNS + 1][CELL])
{
	snprintf(cell[0], CELL, "%.*s", id, r->id);
	when(r->first, cell[1]);
	what(r, cell[2]);
	batch(r, cell[3]);
	updates(r, cell[4]);
	validation(r, cell[5]);
	best(r, cell[6]);
	speed(r, cell[7]);
	peak(r, cell[8]);
	verdict(r, cell[9]);
	status_of(r, cell[10]);
}

/* ---- text ---- */

struct picked {
	const struct summary *s;
	const struct ids *rows; /* NULL: all */
};

static const struct summary_row *row(const struct picked *p, int i)
{
	const struct summary_row *r = summary_row(p->s, i);

	return !p->rows || ids_find(p->rows, r->id) ? r : NULL;
}

/* As many characters of the ids as tell them apart, and --run takes; 12 at least. */
static int id_length(const struct picked *p)
{
	int most = 12;

	for (int i = 1; i < summary_count(p->s); i++)
		for (int k = i - 1; k >= 0 && k >= i - 50; k--) {
			const char *a = summary_row(p->s, i)->id, *b = summary_row(p->s, k)->id;
			int same = 0;

			while (a[same] && a[same] == b[same])
				same++;
			if (same >= most)
				most = same + 1;
		}
	return most;
}

static void print_cell(const char *s, int width)
{
	struct buf b = { 0 };

	if (text_escape(&b, s, strlen(s)) == 0 && b.n)
		fwrite(b.p, 1, b.n, stdout);
	if (width > (int)b.n)
		printf("%*s", width - (int)b.n, "");
	buf_free(&b);
}

static void print_text(const struct picked *p)
{
	char cell[COLUMNS + 1][CELL];
	int width[COLUMNS], id = id_length(p);

	for (int k = 0; k < COLUMNS; k++)
		width[k] = (int)strlen(titles[k]);
	for (int i = 0; i < summary_count(p->s); i++) {
		if (!row(p, i))
			continue;
		cells(row(p, i), id, cell);
		for (int k = 0; k < COLUMNS; k++)
			if ((int)strlen(cell[k]) > width[k])
				width[k] = (int)strlen(cell[k]);
	}
	for (int k = 0; k < COLUMNS; k++)
		printf("%-*s  ", width[k], titles[k]);
	printf("%s\n", last_title);
	for (int i = 0; i < summary_count(p->s); i++) {
		if (!row(p, i))
			continue;
		cells(row(p, i), id, cell);
		for (int k = 0; k < COLUMNS; k++) {
			print_cell(cell[k], width[k]);
			printf("  ");
		}
		print_cell(cell[COLUMNS], 0);
		putchar('\n');
	}
}

/* ---- JSON and CSV: the same columns ---- */

struct writer {
	bool csv, header; /* header: names instead of values */
	int n;
};

static void quoted(const char *s, bool csv)
{
	if (csv)
		print_csv(s);
	else
		print_json(s);
}

/* Before a value: true if the value is to be printed. */
static bool column(struct writer *w, const char *name, bool known)
{
	if (w->csv) {
		if (w->n++)
			putchar(',');
		if (w->header)
			printf("%s", name);
		return !w->header && known;
	}
	if (known)
		printf("%s\"%s\":", w->n++ ? "," : "", name);
	return known;
}

static void put_str(struct writer *w, const char *name, const char *s)
{
	if (column(w, name, *s))
		quoted(s, w->csv);
}

static void put_int(struct writer *w, const char *name, int64_t x)
{
	if (column(w, name, x >= 0))
		printf("%lld", (long long)x);
}

static void put_num(struct writer *w, const char *name, double x)
{
	char s[32];

	if (!column(w, name, !isnan(x)))
		return;
	if (isinf(x)) {
		printf("\"%sInfinity\"", x > 0 ? "" : "-");
		return;
	}
	num_shortest(x, s);
	printf("%s", s);
}

static void put_time(struct writer *w, const char *name, struct timestamp t)
{
	char s[64] = "";
	time_t seconds = t.seconds;
	struct tm tm;

	if (t.seconds && gmtime_r(&seconds, &tm))
		strftime(s, sizeof s, "%Y-%m-%dT%H:%M:%SZ", &tm);
	put_str(w, name, s);
}

static void put_row(struct writer *w, const struct summary_row *r)
{
	w->n = 0;
	put_str(w, "id", r->id);
	put_str(w, "role", r->role);
	put_time(w, "first", r->first);
	put_time(w, "last", r->last);
	put_str(w, "program", r->program);
	put_str(w, "model", r->model);
	put_str(w, "data", r->data);
	put_str(w, "optimizer", r->optimizer);
	put_str(w, "device", r->device);
	put_str(w, "status", *r->status ? r->status : "unknown");
	put_str(w, "why", r->why);
	put_int(w, "micro_batch", r->micro_batch);
	put_int(w, "accum", r->accum);
	put_int(w, "updates", r->updates);
	put_int(w, "planned_updates", r->planned_updates);
	put_num(w, "validation_loss", r->validation_loss);
	put_num(w, "validation_accuracy", r->validation_accuracy);
	put_num(w, "best_validation_loss", r->best_loss);
	put_int(w, "best_update", r->best_update);
	put_int(w, "selected_from", r->validations ? r->validations : -1);
	put_num(w, "test_loss", r->test_loss);
	put_num(w, "test_accuracy", r->test_accuracy);
	put_num(w, "examples_per_second", r->examples_per_second);
	put_num(w, "tokens_per_second", r->tokens_per_second);
	put_int(w, "allocated_peak_bytes", r->allocated_peak_bytes);
	put_int(w, "reserved_peak_bytes", r->reserved_peak_bytes);
	put_int(w, "device_used_peak_bytes", r->device_used_peak_bytes);
	put_int(w, "resident_peak_bytes", r->resident_peak_bytes);
	put_int(w, "trials", r->trials ? r->trials : -1);
	put_str(w, "verdict", r->verdict);
	put_str(w, "phases", r->failed);
}

static void print_table(const struct picked *p, bool csv)
{
	struct writer w = { .csv = csv, .header = true };
	static const struct summary_row none;

	if (csv) {
		put_row(&w, &none);
		putchar('\n');
	}
	w.header = false;
	for (int i = 0; i < summary_count(p->s); i++) {
		if (!row(p, i))
			continue;
		if (!csv)
			putchar('{');
		put_row(&w, row(p, i));
		puts(csv ? "" : "}");
	}
}

/* ---- the command ---- */

static int answer(const struct summing *all, const struct pick *pick, int form)
{
	const struct summary *s = all->runs;
	struct ids rows = { 0 }, runs = { 0 };
	struct picked p = { .s = s };
	int status = 0;

	if (pick_any(pick)) {
		p.rows = &rows;
		if (pick_rows(pick, s, &rows, &runs) < 0) {
			cmd_say("picking runs: out of memory");
			status = EX_OSERR;
		} else if (rows.n == 0) {
			cmd_say("picking runs: none of %d is asked for", summary_count(s));
			status = EX_NO;
		}
	}
	if (status == 0 && form)
		print_table(&p, form == CSV);
	else if (status == 0)
		print_text(&p);
	if (status == 0 && !form && !p.rows)
		planned_print(&all->planned);
	ids_free(&rows);
	ids_free(&runs);
	return status;
}

int do_summary(int argc, char **argv)
{
	static char *standard_input[] = { "-", NULL };
	struct pick pick = { 0 };
	struct summing s = { 0 };
	const char *value;
	struct cmd c;
	int opt, form = 0, status;

	cmd_options(&c, argc, argv, usage, options, NULL);
	while ((opt = cmd_next(&c, &value)) >= 0) {
		if (opt == 'j' || opt == CSV)
			form = opt;
		else if (pick_option(&pick, opt, value) == EX_USAGE)
			return EX_USAGE;
	}
	if (opt != CMD_END)
		return c.status;
	s.runs = summary_new();
	if (!s.runs) {
		cmd_say("summing up: out of memory");
		return EX_OSERR;
	}
	if (c.operand < argc)
		status = read_all(&s, argv + c.operand, argc - c.operand);
	else
		status = read_all(&s, standard_input, 1);
	if (status == 0 || summary_count(s.runs) || s.planned.n)
		status = code_worst(status, answer(&s, &pick, form));
	summary_free(s.runs);
	planned_free(&s.planned);
	return status;
}
