/* simulate.c - for benchmarks: how often the answers err where the truth is known.
 *     simulate coverage STUDIES   intervals of 95 % by n
 *     simulate compare STUDIES    differences told between arms that are the same
 *     simulate check NIGHTS       alarms on nights that are as all others */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/answer/check.h"
#include "../../lib/answer/compare.h"
#include "../../lib/base/stat.h"

static uint64_t counter;

static double normal(void)
{
	return rand_normal(7, RAND_TEST, counter++, 1);
}

/* ---- coverage ---- */

static void coverage(int studies)
{
	printf("   n  mean (t)  prediction  Welch, sd 1:3  share of 0.2\n");
	for (int n = 3; n <= 10; n++) {
		int mean = 0, one = 0, welch = 0, share = 0;

		for (int i = 0; i < studies; i++) {
			double x[16], y[16], low, high;
			int k = 0;
			struct stat_mean m;

			for (int j = 0; j < n; j++) {
				x[j] = normal();
				y[j] = 3 * normal();
				k += rand_uniform(7, RAND_TEST, counter++, 2) < 0.2;
			}
			m = stat_of(x, n, 0.95);
			mean += m.low <= 0 && m.high >= 0;
			m = stat_welch(x, n, y, n, 0.95);
			welch += m.low <= 0 && m.high >= 0;
			stat_prediction(x, n, 0.95, &low, &high);
			x[0] = normal();
			one += low <= x[0] && high >= x[0];
			stat_share(k, n, 0.95, &low, &high);
			share += low <= 0.2 && high >= 0.2;
		}
		printf("  %2d   %6.2f %%    %6.2f %%       %6.2f %%      %6.2f %%\n", n, 100.0 * mean / studies, 100.0 * one / studies, 100.0 * welch / studies, 100.0 * share / studies);
	}
}

/* ---- records ---- */

static struct why w;

static void see(struct book *b, struct rec *r)
{
	struct view v;

	if (rec_end(r, &w) < 0 || view_open(&v, r->buf.p, r->buf.n, &w) < 0 || book_see(b, &v, &w) < 0) {
		fprintf(stderr, "simulate: %s\n", w.text);
		exit(70);
	}
}

static void run(struct book *b, struct rec *r, const char *of, const char *request, int arm, int64_t seed, int64_t when, double loss, double speed)
{
	struct timestamp t = { when, 0 };
	char id[ULID_SIZE], name[32], spec[40];

	ulid_new(id);
	snprintf(name, sizeof name, "lr=%d", arm);
	snprintf(spec, sizeof spec, "adamw:lr=%d", arm);
	rec_begin(r, KIND_run);
	rec_time(r, F_run_t, t);
	rec_str(r, F_run_run, id);
	rec_str(r, F_run_role, "train");
	rec_str(r, F_run_comparison, of);
	rec_str(r, F_run_request, request);
	rec_str(r, F_run_arm, of ? name : NULL);
	rec_str(r, F_run_optimizer, spec);
	rec_int(r, F_run_seed, seed);
	see(b, r);
	rec_begin(r, KIND_eval);
	rec_time(r, F_eval_t, t);
	rec_str(r, F_eval_run, id);
	rec_str(r, F_eval_split, "validation");
	rec_int(r, F_eval_update, 100);
	rec_num(r, F_eval_loss, loss);
	see(b, r);
	for (int i = 0; speed > 0 && i < 7; i++) {
		static const char *const phases[] = { "load", "data", "forward", "backward", "update", "validate", "save" };

		rec_begin(r, KIND_phase);
		rec_time(r, F_phase_t, t);
		rec_str(r, F_phase_run, id);
		rec_str(r, F_phase_phase, phases[i]);
		rec_num(r, F_phase_seconds, exp(0.1 * normal()));
		see(b, r);
	}
	rec_begin(r, KIND_end);
	rec_time(r, F_end_t, t);
	rec_str(r, F_end_run, id);
	rec_str(r, F_end_status, "done");
	rec_int(r, F_end_updates, 100);
	if (speed > 0) {
		rec_num(r, F_end_examples_per_second, speed);
		rec_int(r, F_end_allocated_peak_bytes, (int64_t)(1e9 * exp(0.1 * normal())));
	}
	see(b, r);
}

/* ---- compare ---- */

static struct book *study(struct rec *r, int variants, int n, bool paired)
{
	char id[ULID_SIZE], request[ULID_SIZE], *factors[] = { "optimizer.lr" }, *arms[8];
	double shared[16];
	struct book *b;

	if (book_new(&b, &w) < 0)
		exit(71);
	ulid_new(id);
	for (int i = 0; i <= variants; i++)
		if (asprintf(&arms[i], "lr=%d", i) < 0)
			exit(71);
	rec_begin(r, KIND_comparison);
	rec_str(r, F_comparison_id, id);
	rec_strs(r, F_comparison_factors, factors, 1);
	rec_strs(r, F_comparison_arms, arms, variants + 1);
	rec_int(r, F_comparison_runs, n * (variants + 1));
	rec_ints(r, F_comparison_seeds, &(int64_t){ 1 }, 1);
	rec_bool(r, F_comparison_paired, paired);
	rec_str(r, F_comparison_metric, "validation_loss");
	rec_str(r, F_comparison_choice, "last");
	rec_str(r, F_comparison_budget, "updates");
	rec_num(r, F_comparison_amount, 100);
	see(b, r);
	for (int k = 0; k < n; k++)
		shared[k] = normal();
	for (int i = 0; i <= variants; i++)
		for (int k = 0; k < n; k++) {
			ulid_new(request);
			rec_begin(r, KIND_request);
			rec_str(r, F_request_id, request);
			rec_str(r, F_request_comparison, id);
			rec_str(r, F_request_arm, arms[i]);
			rec_int(r, F_request_seed, k);
			see(b, r);
			run(b, r, id, request, i, k, 1700000000, 2 + (paired ? 0.05 : 0) * shared[k] + 0.02 * normal(), 0);
		}
	for (int i = 0; i <= variants; i++)
		free(arms[i]);
	if (book_close(b, &w) < 0)
		exit(71);
	return b;
}

/* A verdict other than ~ about any variant. */
static bool told(const struct answer *a)
{
	for (int i = 0; i < a->items; i++) {
		const struct table *t = a->item[i].table;

		for (int k = 0; t && strcmp(t->name, "variants") == 0 && k < t->columns; k++)
			for (int row = 0; strcmp(t->column[k].name, "verdict") == 0 && row < t->rows; row++)
				if (strcmp(t->cell[row * t->columns + k].text, "~"))
					return true;
	}
	return false;
}

static void compare(int studies)
{
	struct compare_settings s = { .within = NAN, .target = NAN };
	struct rec r = { 0 };

	printf("   n  1 variant  3 variants  3, not paired\n");
	for (int n = 3; n <= 10; n++) {
		int errs[3] = { 0 };

		for (int i = 0; i < studies; i++)
			for (int k = 0; k < 3; k++) {
				struct book *b = study(&r, k ? 3 : 1, n, k < 2);
				struct answer *a;

				if (compare_answer(b, &s, &a, &w) < 0) {
					fprintf(stderr, "simulate: %s\n", w.text);
					exit(70);
				}
				errs[k] += told(a);
				answer_free(a);
				book_free(b);
			}
		printf("  %2d   %6.2f %%    %6.2f %%       %6.2f %%\n", n, 100.0 * errs[0] / studies, 100.0 * errs[1] / studies, 100.0 * errs[2] / studies);
	}
	rec_free(&r);
}

/* ---- check ---- */

static void check(int nights)
{
	static struct check_limits limits;
	static const int before[] = { 4, 7, 14 };
	struct check_settings s = { .since = { 1700000000, 0 }, .against = 14, .rate = 0.05, .limits = &limits }; /* no least change: noise alone decides */
	struct rec r = { 0 };

	printf("  nights before  false alarms (stated: at most 5 %%)\n");
	for (int k = 0; k < 3; k++) {
		int alarms = 0;

		for (int i = 0; i < nights; i++) {
			struct answer *a;
			struct book *b;

			if (book_new(&b, &w) < 0)
				exit(71);
			for (int j = before[k]; j >= 0; j--)
				run(b, &r, NULL, NULL, 1, 1, 1700000000 + 3600 - 86400 * j, 2 * exp(0.1 * normal()), 1000 * exp(0.1 * normal()));
			if (book_close(b, &w) < 0)
				exit(71);
			alarms += check_answer(b, &s, &a, &w) == -EX_NO;
			answer_free(a);
			book_free(b);
		}
		printf("  %13d  %6.2f %%\n", before[k], 100.0 * alarms / nights);
	}
	rec_free(&r);
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 1000;

	if (argc < 2)
		return 64;
	if (strcmp(argv[1], "coverage") == 0)
		coverage(n);
	else if (strcmp(argv[1], "compare") == 0)
		compare(n);
	else if (strcmp(argv[1], "check") == 0)
		check(n);
	else
		return 64;
	return 0;
}
