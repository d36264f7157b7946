/* steps.c - for benchmarks: steps N [-j] writes one run with N step records of 12 fields. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/wire/wire.h"

static const char run[] = "01JDZ3NDEKTSV4RRFFQ69G5FAV";

static int one(struct out *o, struct rec *r, int64_t n, struct why *w)
{
	double x = (double)n;
	rec_begin(r, KIND_step);
	rec_str(r, F_step_run, run);
	rec_int(r, F_step_update, n);
	rec_num(r, F_step_epoch, x / 4096);
	rec_int(r, F_step_examples, 16 * n);
	rec_int(r, F_step_tokens, 1024 * n);
	rec_num(r, F_step_loss, 1 + 4 / sqrt(x) + 0.01 * sin(x));
	rec_num(r, F_step_lr, 1e-3);
	rec_num(r, F_step_gradient_norm, 1 / sqrt(x));
	rec_int(r, F_step_rows, 16);
	rec_num(r, F_step_seconds, 0.0123 + 0.001 * sin(7 * x));
	return out_rec(o, r, w);
}

int main(int argc, char **argv)
{
	int64_t n = argc > 1 ? atoll(argv[1]) : 1000;
	struct rec r = {0};
	struct out *o;
	struct why w = {0};
	char id[ULID_SIZE];
	int rc = out_open(&o, 1, argc > 2 && !strcmp(argv[2], "-j") ? FORM_JSON : FORM_MSGPACK, &w);
	if (!rc)
		rc = tool_begin(o, "steps", argv, id, &w);
	rec_begin(&r, KIND_run);
	rec_str(&r, F_run_run, run);
	rec_str(&r, F_run_role, "train");
	if (!rc)
		rc = out_rec(o, &r, &w);
	for (int64_t i = 1; i <= n && !rc; i++)
		rc = one(o, &r, i, &w);
	rec_begin(&r, KIND_end);
	rec_str(&r, F_end_run, run);
	rec_str(&r, F_end_status, "done");
	if (!rc)
		rc = out_rec(o, &r, &w);
	if (!rc)
		rc = tool_end(o, id, 0, &w);
	rec_free(&r);
	if (rc)
		fprintf(stderr, "steps: %s\n", w.text);
	return rc ? -rc : -out_close(o, &w);
}
