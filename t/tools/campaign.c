/* campaign.c - for benchmarks: campaign RUNS STEPS writes a planned comparison of two arms with RUNS runs in all, each of
 * STEPS step records and four validations. */
#include <math.h>
#include <stdlib.h>

#include "../../lib/wire/wire.h"

static struct why w;
static struct out *o;

static int send(struct rec *r)
{
	return out_rec(o, r, &w);
}

static int plan(struct rec *r, const char *id, int64_t seeds)
{
	char *factors[] = { "optimizer.lr" }, *arms[] = { "lr=1", "lr=2" };

	rec_begin(r, KIND_comparison);
	rec_str(r, F_comparison_id, id);
	rec_strs(r, F_comparison_factors, factors, 1);
	rec_strs(r, F_comparison_arms, arms, 2);
	rec_int(r, F_comparison_runs, 2 * seeds);
	rec_ints(r, F_comparison_seeds, &seeds, 1);
	rec_bool(r, F_comparison_paired, true);
	rec_str(r, F_comparison_metric, "validation_loss");
	rec_str(r, F_comparison_choice, "last");
	rec_str(r, F_comparison_budget, "updates");
	rec_num(r, F_comparison_amount, 1);
	return send(r);
}

static int request(struct rec *r, const char *id, const char *of, int arm, int64_t seed)
{
	rec_begin(r, KIND_request);
	rec_str(r, F_request_id, id);
	rec_str(r, F_request_comparison, of);
	rec_str(r, F_request_arm, arm ? "lr=2" : "lr=1");
	rec_int(r, F_request_seed, seed);
	return send(r);
}

static int steps(struct rec *r, const char *run, int64_t from, int64_t to, double *loss)
{
	for (int64_t u = from; u <= to; u++) {
		*loss = 1 + 4 / sqrt((double)u) + 0.01 * sin((double)u);
		rec_begin(r, KIND_step);
		rec_str(r, F_step_run, run);
		rec_int(r, F_step_update, u);
		rec_int(r, F_step_examples, 16 * u);
		rec_num(r, F_step_loss, *loss);
		rec_num(r, F_step_lr, 1e-3);
		rec_num(r, F_step_seconds, 0.0123);
		if (send(r) < 0)
			return -1;
	}
	return 0;
}

static int run(struct rec *r, const char *of, const char *request_id, int arm, int64_t seed, int64_t n)
{
	char id[ULID_SIZE];
	double loss = 0;

	ulid_new(id);
	rec_begin(r, KIND_run);
	rec_str(r, F_run_run, id);
	rec_str(r, F_run_role, "train");
	rec_str(r, F_run_comparison, of);
	rec_str(r, F_run_arm, arm ? "lr=2" : "lr=1");
	rec_str(r, F_run_request, request_id);
	rec_str(r, F_run_optimizer, arm ? "adamw:lr=2" : "adamw:lr=1");
	rec_int(r, F_run_seed, seed);
	rec_int(r, F_run_planned_updates, n);
	if (send(r) < 0)
		return -1;
	for (int k = 1; k <= 4; k++) {
		if (steps(r, id, n * (k - 1) / 4 + 1, n * k / 4, &loss) < 0)
			return -1;
		rec_begin(r, KIND_eval);
		rec_str(r, F_eval_run, id);
		rec_str(r, F_eval_split, "validation");
		rec_int(r, F_eval_update, n * k / 4);
		rec_num(r, F_eval_loss, loss + 0.01 * sin((double)(seed * (arm + 1))));
		if (send(r) < 0)
			return -1;
	}
	rec_begin(r, KIND_end);
	rec_str(r, F_end_run, id);
	rec_str(r, F_end_status, "done");
	rec_int(r, F_end_updates, n);
	return send(r);
}

int main(int argc, char **argv)
{
	int64_t runs = argc > 1 ? atoll(argv[1]) : 10, n = argc > 2 ? atoll(argv[2]) : 1000;
	char tool[ULID_SIZE], id[ULID_SIZE], (*wanted)[ULID_SIZE] = calloc((size_t)runs + 1, sizeof *wanted);
	struct rec r = { 0 };
	int rc = wanted ? out_open(&o, 1, FORM_MSGPACK, &w) : -1;

	if (rc == 0)
		rc = tool_begin(o, "campaign", argv, tool, &w);
	ulid_new(id);
	if (rc == 0)
		rc = plan(&r, id, runs / 2);
	for (int64_t i = 0; i < runs && rc == 0; i++) {
		ulid_new(wanted[i]);
		rc = request(&r, wanted[i], id, i % 2, i / 2);
	}
	for (int64_t i = 0; i < runs && rc == 0; i++)
		rc = run(&r, id, wanted[i], i % 2, i / 2, n);
	if (rc == 0)
		rc = tool_end(o, tool, 0, &w);
	if (rc == 0)
		rc = out_close(o, &w);
	rec_free(&r);
	free(wanted);
	if (rc)
		fprintf(stderr, "campaign: %s\n", w.text);
	return rc ? 74 : 0;
}
