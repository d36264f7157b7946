/* sheet.c - memory by phase and throughput of each device and setup, probes, and which devices would do. */
#include "sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int sheet_metric(const char *text, enum sheet_metric *out, struct why *w)
{
	static const char *const names[] = { "loss", "accuracy", "exact_match" };

	for (int i = 0; i < 3; i++)
		if (strcmp(names[i], text) == 0) {
			*out = (enum sheet_metric)i;
			return 0;
		}
	return why_set(w, EX_USAGE, "--metric: %.40s: not loss, accuracy or exact_match", text);
}

static void put_count(struct table *t, int k, int64_t n)
{
	if (n >= 0)
		table_int(t, k, n);
}

static void put_view(struct table *t, int k, const struct view *v, enum field f)
{
	const char *s;
	size_t n;

	if (view_str(v, f, &s, &n) && n)
		table_textf(t, k, "%.*s", (int)n, s);
}

static void from_runs(struct table *t, const struct sheet_setup *s)
{
	for (int i = 0; i < s->runs; i++)
		table_run(t, s->run[i]->id);
}

/* ---- one row a setup ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool rate_of(const struct book_run *r, enum sheet_metric m, double *out)
{
	(void)m;
	return book_num(r, F_end_examples_per_second, out);
}

/* Of the last validation. */
static bool metric_of(const struct book_run *r, enum sheet_metric m, double *out)
{
	const struct book_eval *e = r->evals ? &r->eval[r->evals - 1] : NULL;

	*out = !e ? NAN : m == SHEET_LOSS ? e->loss : m == SHEET_ACCURACY ? e->accuracy : e->exact_match;
	return !isnan(*out) || (m == SHEET_LOSS && book_num(r, F_end_validation_loss, out));
}

/* NAN: no run has it. */
static double median(const struct sheet_setup *s, bool (*of)(const struct book_run *, enum sheet_metric, double *), enum sheet_metric m)
{
	double *x = calloc((size_t)s->runs + 1, sizeof *x), out = NAN;
	int n = 0;

	for (int i = 0; x && i < s->runs; i++)
		if (of(s->run[i], m, &x[n]) && !isnan(x[n]))
			n++;
	if (n) {
		qsort(x, (size_t)n, sizeof *x, by_value);
		out = (x[(n - 1) / 2] + x[n / 2]) / 2;
	}
	free(x);
	return out;
}

/* Longest input of its phases; -1 unknown. */
static int64_t longest(const struct sheet_setup *s)
{
	int64_t most = -1, n;
	struct view v;

	for (int k = 0; k < s->runs; k++)
		for (int i = 0; i < s->run[k]->records; i++)
			if (s->run[k]->record[i].kind == KIND_phase && book_view(&s->run[k]->record[i], &v) && view_int(&v, F_phase_length, &n) && n > most)
				most = n;
	return most;
}

/* The phase of the allocated peak, with its input; false where no record tells. */
static bool peak_phase(const struct book_run *r, struct view *out)
{
	int64_t most = -1, n;
	char phase[80];
	struct view v;

	if (!book_text(r, F_end_peak_phase, phase, sizeof phase))
		return false;
	for (int i = 0; i < r->records; i++)
		if (r->record[i].kind == KIND_phase && book_view(&r->record[i], &v) && view_is(&v, F_phase_phase, phase) && view_int(&v, F_phase_allocated_peak_bytes, &n) && n > most) {
			most = n;
			*out = v;
		}
	return most >= 0;
}

enum { DEVICE, FRAMEWORK, DRIVER, BUDGET, LIMIT, PRECISION, MICRO_BATCH, ACCUM, REPLICAS, LONGEST, ALLOCATED, RESERVED, USED, PEAK, INPUT, PEAK_MICRO_BATCH, PEAK_LENGTH, RATE, METRIC, RUNS };

static void columns(struct table *t, enum sheet_metric m)
{
	static const char *const metric[][2] = { { "validation_loss", "validation loss" }, { "validation_accuracy", "accuracy" }, { "exact_match", "exact match" } };

	table_words(t, "device", "device");
	table_hide(t, table_words(t, "framework", "framework"));
	table_hide(t, table_words(t, "driver", "driver"));
	table_words(t, "budget", "budget");
	table_hide(t, table_column(t, "memory_limit_bytes", "--memory"));
	table_words(t, "precision", "precision");
	table_column(t, "micro_batch", "micro-batch");
	table_column(t, "accum", "accum");
	table_column(t, "replicas", "replicas");
	table_column(t, "longest_input", "longest");
	table_column(t, "allocated_peak_bytes", "allocated");
	table_column(t, "reserved_peak_bytes", "reserved");
	table_column(t, "device_used_peak_bytes", "device used");
	table_words(t, "peak_phase", "peak in");
	table_words(t, "peak_input", "on input");
	table_hide(t, table_column(t, "peak_micro_batch", "peak micro-batch"));
	table_hide(t, table_column(t, "peak_length", "peak length"));
	table_column(t, "examples_per_second", "examples/s");
	table_column(t, metric[m][0], metric[m][1]);
	table_column(t, "run_count", "runs");
}

/* A run that ran out says its input itself. */
static void put_peak(struct table *t, const struct book_run *r)
{
	int64_t b = -1, n = -1;
	struct view v;

	if (r->end.kind == KIND_end)
		put_view(t, PEAK, &r->end, F_end_peak_phase);
	if (!peak_phase(r, &v)) {
		if (r->end.kind == KIND_end)
			put_view(t, INPUT, &r->end, F_end_input);
		return;
	}
	if (view_int(&v, F_phase_micro_batch, &b))
		table_int(t, PEAK_MICRO_BATCH, b);
	if (view_int(&v, F_phase_length, &n))
		table_int(t, PEAK_LENGTH, n);
	if (b >= 0 && n >= 0)
		table_textf(t, INPUT, "%lld x %lld", (long long)b, (long long)n);
}

static void row(struct table *t, const struct sheet_setup *s, enum sheet_metric m)
{
	table_row(t);
	table_text(t, DEVICE, s->stack.device);
	if (*s->stack.framework)
		table_text(t, FRAMEWORK, s->stack.framework);
	if (*s->stack.driver)
		table_text(t, DRIVER, s->stack.driver);
	table_text(t, BUDGET, s->limit > 0 ? "emulated" : "device");
	put_count(t, LIMIT, s->limit > 0 ? s->limit : -1);
	if (*s->stack.precision)
		table_text(t, PRECISION, s->stack.precision);
	put_count(t, MICRO_BATCH, s->micro_batch);
	put_count(t, ACCUM, s->accum);
	put_count(t, REPLICAS, s->replicas);
	put_count(t, LONGEST, longest(s));
	table_bytes(t, ALLOCATED, s->allocated);
	table_bytes(t, RESERVED, s->reserved);
	table_bytes(t, USED, s->used);
	if (s->peak)
		put_peak(t, s->peak);
	else
		put_peak(t, s->run[s->runs - 1]);
	table_num(t, RATE, median(s, rate_of, m), "%.4g");
	table_num(t, METRIC, median(s, metric_of, m), "%.4g");
	table_int(t, RUNS, s->runs);
	from_runs(t, s);
}

static void devices(const struct sheet_setups *x, enum sheet_metric m, struct answer *a)
{
	struct table *t = answer_table(a, "devices", NULL);

	columns(t, m);
	for (int i = 0; i < x->n; i++)
		row(t, &x->setup[i], m);
}

/* ---- memory by phase ---- */

struct held {
	struct view v; /* the first of its phase and occurrence */
	int64_t allocated, reserved, used, micro_batch, length; /* the last two: of the highest allocated */
};

static bool equal(const struct view *a, const struct view *b, enum field f)
{
	const char *s = "";
	size_t n = 0;
	char text[200];

	view_copy(b, f, text, sizeof text);
	return (view_str(a, f, &s, &n) ? n : 0) == strlen(text) && memcmp(s, text, strlen(text)) == 0;
}

static int64_t view_or(const struct view *v, enum field f)
{
	int64_t n;

	return view_int(v, f, &n) ? n : -1;
}

static struct held *held_of(struct held **h, int *n, const struct view *v)
{
	struct held *p;

	for (int i = 0; i < *n; i++)
		if (equal(&(*h)[i].v, v, F_phase_phase) && equal(&(*h)[i].v, v, F_phase_occurrence))
			return &(*h)[i];
	p = realloc(*h, (size_t)(*n + 1) * sizeof *p);
	if (!p)
		return NULL;
	*h = p;
	p[*n] = (struct held){ *v, -1, -1, -1, -1, -1 };
	return &p[(*n)++];
}

/* The highest of each phase over its runs. */
static int hold(const struct sheet_setup *s, struct held **h)
{
	int n = 0;
	struct view v;

	*h = NULL;
	for (int k = 0; k < s->runs; k++)
		for (int i = 0; i < s->run[k]->records; i++) {
			struct held *p;
			int64_t peak;

			if (s->run[k]->record[i].kind != KIND_phase || !book_view(&s->run[k]->record[i], &v) || !view_int(&v, F_phase_allocated_peak_bytes, &peak))
				continue;
			p = held_of(h, &n, &v);
			if (!p)
				return n;
			if (peak > p->allocated) {
				p->allocated = peak;
				p->micro_batch = view_or(&v, F_phase_micro_batch);
				p->length = view_or(&v, F_phase_length);
			}
			if (view_or(&v, F_phase_reserved_peak_bytes) > p->reserved)
				p->reserved = view_or(&v, F_phase_reserved_peak_bytes);
			if (view_or(&v, F_phase_device_used_peak_bytes) > p->used)
				p->used = view_or(&v, F_phase_device_used_peak_bytes);
		}
	return n;
}

static void phases_of(const struct sheet_setup *s, struct table *t)
{
	struct held *h;
	int n = hold(s, &h);

	for (int i = 0; i < n; i++) {
		table_row(t);
		table_text(t, 0, s->stack.device);
		put_view(t, 1, &h[i].v, F_phase_phase);
		put_view(t, 2, &h[i].v, F_phase_occurrence);
		table_bytes(t, 3, h[i].allocated);
		table_bytes(t, 4, h[i].reserved);
		table_bytes(t, 5, h[i].used);
		put_count(t, 6, h[i].micro_batch);
		put_count(t, 7, h[i].length);
		if (*s->stack.precision)
			table_text(t, 8, s->stack.precision);
		table_text(t, 9, s->limit > 0 ? "emulated" : "device");
		from_runs(t, s);
	}
	free(h);
}

static void phases(const struct sheet_setups *x, struct answer *a)
{
	struct table *t = answer_table(a, "phases", "memory by phase");

	table_words(t, "device", "device");
	table_words(t, "phase", "phase");
	table_words(t, "occurrence", "which");
	table_column(t, "allocated_peak_bytes", "allocated");
	table_column(t, "reserved_peak_bytes", "reserved");
	table_column(t, "device_used_peak_bytes", "device used");
	table_column(t, "micro_batch", "micro-batch");
	table_column(t, "length", "longest");
	table_words(t, "precision", "precision");
	table_words(t, "budget", "budget");
	for (int i = 0; i < x->n; i++)
		phases_of(&x->setup[i], t);
}

/* ---- what probes concluded ---- */

static void probe_columns(struct table *t)
{
	table_words(t, "probe", "probe");
	table_words(t, "status", "status");
	table_words(t, "budget", "budget");
	table_column(t, "budget_bytes", "bytes");
	table_words(t, "budget_source", "from");
	table_column(t, "recommended", "recommended");
	table_column(t, "accum", "accum");
	table_column(t, "largest", "largest");
	table_column(t, "fixed_bytes", "fixed");
	table_column(t, "per_example_bytes", "an example");
	table_column(t, "examples_per_second", "examples/s");
	table_hide(t, table_words(t, "fingerprint", "fingerprint"));
}

static void probe_row(struct table *t, const struct view *v)
{
	char run[ULID_SIZE];
	const char *source;
	size_t n;
	double x;

	table_row(t);
	put_view(t, 0, v, F_probe_id);
	put_view(t, 1, v, F_probe_status);
	if (view_is(v, F_probe_budget_source, "--memory"))
		table_text(t, 2, "emulated");
	else if (view_str(v, F_probe_budget_source, &source, &n))
		table_text(t, 2, "device");
	table_bytes(t, 3, view_or(v, F_probe_budget_bytes));
	put_view(t, 4, v, F_probe_budget_source);
	put_count(t, 5, view_or(v, F_probe_recommended));
	put_count(t, 6, view_or(v, F_probe_accum));
	put_count(t, 7, view_or(v, F_probe_largest));
	table_bytes(t, 8, view_or(v, F_probe_fixed_bytes));
	if (view_num(v, F_probe_per_example_bytes, &x))
		table_num(t, 9, x, "%.4g");
	if (view_num(v, F_probe_examples_per_second, &x))
		table_num(t, 10, x, "%.4g");
	put_view(t, 11, v, F_probe_fingerprint);
	if (view_copy(v, F_probe_confirm_run, run, sizeof run))
		table_run(t, run);
}

static int probes(const struct book *b, struct answer *a)
{
	struct table *t = NULL;
	struct view v;
	int n = 0;

	for (int i = 0; i < book_others(b); i++) {
		if (book_other(b, i)->kind != KIND_probe || !book_view(book_other(b, i), &v))
			continue;
		if (n++ == 0) {
			t = answer_table(a, "probes", "what probes found");
			probe_columns(t);
		}
		probe_row(t, &v);
	}
	return n;
}

int sheet_answer(const struct book *b, const struct sheet_settings *s, struct answer **a, struct why *w)
{
	struct sheet_setups x;
	int rc = sheet_setups(&x, b, w);

	*a = NULL;
	if (rc < 0)
		return rc;
	*a = answer_new("sheet");
	if (!*a) {
		sheet_setups_free(&x);
		return why_set(w, EX_OSERR, "answering: out of memory");
	}
	if (x.n)
		devices(&x, s->metric, *a);
	if (x.n)
		phases(&x, *a);
	if (!probes(b, *a) && !x.n)
		answer_say(*a, SAY, "nothing", "There is no training run here.");
	else if (x.n && s->catalogue)
		sheet_fits(&x, s, *a);
	sheet_setups_free(&x);
	return 0;
}
