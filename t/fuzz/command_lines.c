/* command_lines.c - any line of a command's protocol: what is taken is a record of this run and of a kind that
 * a command may write; the same bytes as output of a command break nothing. */
#include "../../lib/job/command-inner.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static const char run[] = "01M8Q7WAAGCQKW23ZMQG1CZE1J";

static const char *printed(void *ctx, double loss, double batch_mean)
{
	must(loss != batch_mean);
	return ctx;
}

static void taken(const struct view *v)
{
	static const enum kind never[] = { KIND_UNKNOWN, KIND_tool, KIND_done, KIND_request, KIND_run, KIND_plan, KIND_trial, KIND_probe, KIND_verdict, KIND_end };
	struct buf json = { 0 };
	struct timestamp t;
	char id[ULID_SIZE];
	double seconds;
	int64_t i;

	for (size_t k = 0; k < sizeof never / sizeof *never; k++)
		must(v->kind != never[k]);
	view_run(v, id);
	must(!strcmp(id, run));
	if (v->kind == KIND_step) {
		must(view_time(v, F_step_t, &t) && view_num(v, F_step_seconds, &seconds));
		must(view_int(v, F_step_update, &i) && i >= 0);
		must(!view_int(v, F_step_rows, &i) || i >= 0);
	}
	if (v->kind == KIND_save)
		must(view_int(v, F_save_bytes, &i) && i >= 0);
	must(json_write(v->raw, v->size, &json) == 0);
	buf_free(&json);
}

static void as_output(const uint8_t *p, size_t n)
{
	struct output *o = calloc(1, sizeof *o);

	if (!o)
		return;
	o->log = -1;
	output_take(o, (const char *)p, n / 2);
	output_take(o, (const char *)p + n / 2, n - n / 2);
	output_end(o);
	must(o->lines <= OUTPUT_LINES && strlen(o->exception) < sizeof o->exception);
	must(output_which(o, 1.5, 1.5, 0) == 0);
	for (int i = 0; i < o->lines; i++)
		must(strlen(o->line[i]) <= OUTPUT_SHOWN);
	output_free(o);
	free(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct line_adds adds = { run, 0.25, 8, printed, (void *)(uintptr_t) "loss" };
	struct totals totals;
	struct buf scratch = { 0 }, raw = { 0 };
	struct why w = { 0 };
	struct view v;
	int rc = memchr(p, '\n', n) ? -EX_DATAERR : command_line((const char *)p, n, &adds, &scratch, &raw, &v, &w);

	if (rc == 0) {
		taken(&v);
		totals_init(&totals);
		totals_see(&totals, &v);
	} else {
		must(memchr(p, '\n', n) || *w.text);
	}
	as_output(p, n);
	buf_free(&scratch);
	buf_free(&raw);
	return 0;
}
