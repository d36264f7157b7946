/* sheet.c - memory by phase and throughput of each trained configuration, against a catalogue of devices. */
#include "sheet.h"

#include <math.h>
#include <string.h>

static void put_text(struct table *t, int k, const struct book_run *r, enum field f)
{
	char text[200];

	if (book_text(r, f, text, sizeof text) && *text)
		table_text(t, k, text);
}

static void put_int(struct table *t, int k, const struct book_run *r, enum field f)
{
	int64_t n;

	if (book_int(r, f, &n))
		table_int(t, k, n);
}

static int64_t bytes_of(const struct book_run *r, enum field f)
{
	int64_t n;

	return book_int(r, f, &n) ? n : -1;
}

static void put_num(struct table *t, int k, const struct book_run *r, enum field f)
{
	double x;

	if (book_num(r, f, &x))
		table_num(t, k, x, "%.4g");
}

/* What the run needs of a device: reserved, where an allocator counts it; else allocated. */
static int64_t needed(const struct book_run *r)
{
	int64_t n = bytes_of(r, F_end_reserved_peak_bytes);

	return n >= 0 ? n : bytes_of(r, F_end_allocated_peak_bytes);
}

static bool emulated(const struct book_run *r)
{
	return bytes_of(r, F_run_memory_bytes) > 0;
}

/* Longest input of its phases; -1 unknown. */
static int64_t longest(const struct book_run *r)
{
	int64_t most = -1, n;
	struct view v;

	for (int i = 0; i < r->records; i++)
		if (r->record[i].kind == KIND_phase && book_view(&r->record[i], &v) && view_int(&v, F_phase_length, &n) && n > most)
			most = n;
	return most;
}

static void runs(const struct book *b, struct answer *a)
{
	struct table *t = answer_table(a, "runs", NULL);

	table_words(t, "run", "run");
	table_words(t, "device", "device");
	table_words(t, "budget", "budget");
	table_words(t, "precision", "precision");
	table_column(t, "micro_batch", "micro-batch");
	table_column(t, "accum", "accum");
	table_column(t, "replicas", "replicas");
	table_column(t, "longest_input", "longest");
	table_column(t, "allocated_peak_bytes", "allocated");
	table_column(t, "reserved_peak_bytes", "reserved");
	table_column(t, "device_used_peak_bytes", "device used");
	table_words(t, "peak_phase", "peak in");
	table_column(t, "examples_per_second", "examples/s");
	table_column(t, "validation_loss", "validation loss");
	for (int i = 0; i < book_runs(b); i++) {
		const struct book_run *r = book_run(b, i);

		if (!book_trained(r))
			continue;
		table_row(t);
		table_text(t, 0, r->id);
		put_text(t, 1, r, F_run_device);
		table_text(t, 2, emulated(r) ? "emulated" : "device");
		put_text(t, 3, r, F_run_precision);
		put_int(t, 4, r, F_run_micro_batch);
		put_int(t, 5, r, F_run_accum);
		put_int(t, 6, r, F_run_replicas);
		if (longest(r) >= 0)
			table_int(t, 7, longest(r));
		table_bytes(t, 8, bytes_of(r, F_end_allocated_peak_bytes));
		table_bytes(t, 9, bytes_of(r, F_end_reserved_peak_bytes));
		table_bytes(t, 10, bytes_of(r, F_end_device_used_peak_bytes));
		put_text(t, 11, r, F_end_peak_phase);
		put_num(t, 12, r, F_end_examples_per_second);
		put_num(t, 13, r, F_end_validation_loss);
		table_run(t, r->id);
	}
}

static void phases_of(const struct book_run *r, struct table *t)
{
	struct view v;

	for (int i = 0; i < r->records; i++) {
		char text[40];
		int64_t n;

		if (r->record[i].kind != KIND_phase || !book_view(&r->record[i], &v) || !view_int(&v, F_phase_allocated_peak_bytes, &n))
			continue;
		table_row(t);
		table_text(t, 0, r->id);
		if (view_copy(&v, F_phase_phase, text, sizeof text))
			table_text(t, 1, text);
		if (view_copy(&v, F_phase_occurrence, text, sizeof text))
			table_text(t, 2, text);
		table_bytes(t, 3, n);
		table_bytes(t, 4, view_int(&v, F_phase_reserved_peak_bytes, &n) ? n : -1);
		table_bytes(t, 5, view_int(&v, F_phase_device_used_peak_bytes, &n) ? n : -1);
		if (view_int(&v, F_phase_micro_batch, &n))
			table_int(t, 6, n);
		if (view_int(&v, F_phase_length, &n))
			table_int(t, 7, n);
		table_run(t, r->id);
	}
}

static void phases(const struct book *b, struct answer *a)
{
	struct table *t = answer_table(a, "phases", "memory by phase");

	table_words(t, "run", "run");
	table_words(t, "phase", "phase");
	table_words(t, "occurrence", "which");
	table_column(t, "allocated_peak_bytes", "allocated");
	table_column(t, "reserved_peak_bytes", "reserved");
	table_column(t, "device_used_peak_bytes", "device used");
	table_column(t, "micro_batch", "micro-batch");
	table_column(t, "length", "longest");
	for (int i = 0; i < book_runs(b); i++)
		if (book_trained(book_run(b, i)))
			phases_of(book_run(b, i), t);
}

static void fits(const struct book *b, const struct sheet_settings *s, struct answer *a)
{
	struct table *t = answer_table(a, "fits", "which devices it fits");

	table_words(t, "run", "run");
	table_words(t, "catalogue_device", "device");
	table_column(t, "usable_bytes", "usable");
	table_column(t, "needed_bytes", "needed");
	table_column(t, "fits", "fits");
	table_words(t, "memory", "memory figure");
	table_words(t, "software", "software");
	table_column(t, "price", "price");
	for (int i = 0; i < book_runs(b); i++)
		for (int k = 0; book_trained(book_run(b, i)) && k < s->catalogue->n; k++) {
			const struct book_run *r = book_run(b, i);
			const struct catalogue_device *d = &s->catalogue->device[k];
			int64_t n = needed(r);

			table_row(t);
			table_text(t, 0, r->id);
			table_text(t, 1, d->name);
			table_bytes(t, 2, d->usable_bytes);
			table_bytes(t, 3, n);
			if (n >= 0)
				table_bool(t, 4, (double)n <= (1 - s->headroom) * (double)d->usable_bytes);
			table_text(t, 5, emulated(r) ? "emulated" : "measured elsewhere");
			table_text(t, 6, "not verified");
			table_num(t, 7, d->price, "%.4g");
			if (isnan(d->price))
				table_shown(t, 7, "-");
			table_run(t, r->id);
		}
}

static bool any(const struct book *b)
{
	for (int i = 0; i < book_runs(b); i++)
		if (book_trained(book_run(b, i)))
			return true;
	return false;
}

int sheet_answer(const struct book *b, const struct sheet_settings *s, struct answer **a, struct why *w)
{
	*a = answer_new("sheet");
	if (!*a)
		return why_set(w, EX_OSERR, "answering: out of memory");
	if (!any(b)) {
		answer_say(*a, SAY, "nothing", "There is no training run here.");
		return 0;
	}
	runs(b, *a);
	phases(b, *a);
	if (!s->catalogue)
		return 0;
	fits(b, s, *a);
	answer_say(*a, SAY, "headroom", "It fits where %.3g %% of the usable bytes stay free. Driver, CUDA, framework and precision are not verified on a device until a probe ran there.", 100 * s->headroom);
	return 0;
}
