/* scaling-noise.c - the noise of the first gradient, from its norm at two batch sizes and the same weights. */
#include "scaling.h"
#include "../base/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct norm { /* of a run's first gradient */
	const struct book_run *r;
	char weights[80]; /* digest of the weights it was taken at */
	int64_t batch;
	double square;
};

/* Norm before clipping and examples of the first backward pass, at weights that no update has touched. */
static bool norm_of(const struct book_run *r, struct norm *o)
{
	bool have = false;
	struct view v;

	*o = (struct norm){ .r = r };
	if (!book_text(r, F_run_weights_digest, o->weights, sizeof o->weights))
		*o->weights = '\0';
	for (int i = 0; i < r->records; i++) {
		double norm;
		int64_t update = -1;

		if (r->record[i].kind == KIND_model && !*o->weights && book_view(&r->record[i], &v))
			view_copy(&v, F_model_weights_digest, o->weights, sizeof o->weights);
		if (r->record[i].kind != KIND_phase || !book_view(&r->record[i], &v) || !view_int(&v, F_phase_update, &update) || update != 0)
			continue;
		if (view_is(&v, F_phase_phase, "load"))
			view_copy(&v, F_phase_weights_digest, o->weights, sizeof o->weights);
		if (!view_is(&v, F_phase_phase, "backward") || !view_num(&v, F_phase_gradient_norm, &norm) || !isfinite(norm))
			continue;
		if ((!view_int(&v, F_phase_examples, &o->batch) || o->batch <= 0) && !book_int(r, F_run_effective_batch, &o->batch))
			continue;
		o->square = norm * norm;
		have = true;
	}
	return have && *o->weights && o->batch > 0;
}

static int by_weights(const void *a, const void *b)
{
	const struct norm *x = a, *y = b;
	int d = strcmp(x->weights, y->weights);

	if (d)
		return d;
	if (x->batch != y->batch)
		return x->batch < y->batch ? -1 : 1;
	return x->r->order < y->r->order ? -1 : 1;
}

struct pair { /* of one group: trace of the covariance, square of the true gradient's norm */
	double trace, square;
};

/* Mean of |G_B|^2 over the group's runs of the batch of o[at]. */
static double mean_square(const struct norm *o, int n, int64_t batch)
{
	double sum = 0;
	int k = 0;

	for (int i = 0; i < n; i++)
		if (o[i].batch == batch) {
			sum += o[i].square;
			k++;
		}
	return sum / k;
}

static struct pair pair_of(const struct norm *o, int n, int64_t small, int64_t large)
{
	double s = mean_square(o, n, small), l = mean_square(o, n, large), b = (double)small, c = (double)large;

	return (struct pair){ (s - l) / (1 / b - 1 / c), (c * l - b * s) / (c - b) };
}

static double ratio(const struct pair *p, int n, int without)
{
	double trace = 0, square = 0;

	for (int i = 0; i < n; i++)
		if (i != without) {
			trace += p[i].trace;
			square += p[i].square;
		}
	return trace > 0 && square > 0 ? trace / square : NAN;
}

static void jackknife(struct scaling_noise *z, const struct pair *p, int n)
{
	double all = log(z->scale), mean = 0, ss = 0, t;

	if (n < 3)
		return;
	for (int i = 0; i < n; i++)
		mean += log(ratio(p, n, i)) / n;
	for (int i = 0; i < n; i++) {
		double d = log(ratio(p, n, i)) - mean;

		ss += d * d;
	}
	t = stat_t_quantile(0.975, n - 1) * sqrt(ss * (n - 1) / n);
	z->low = exp(all - t);  /* NAN where leaving out one group turns a sign */
	z->high = exp(all + t);
}

static void measure(struct scaling_noise *z, const struct norm *o, int n, struct pair *p)
{
	for (int i = 0, k; i < n; i = k) {
		for (k = i; k < n && strcmp(o[k].weights, o[i].weights) == 0; k++)
			;
		if (o[k - 1].batch < 2 * o[i].batch)
			continue;
		p[z->groups++] = pair_of(o + i, k - i, o[i].batch, o[k - 1].batch);
		if (!z->smallest || o[i].batch < z->smallest)
			z->smallest = o[i].batch;
		if (o[k - 1].batch > z->largest)
			z->largest = o[k - 1].batch;
		for (int m = i; m < k; m++)
			if (o[m].batch == o[i].batch || o[m].batch == o[k - 1].batch)
				z->run[z->runs++] = o[m].r;
	}
	z->scale = z->groups ? ratio(p, z->groups, -1) : NAN;
	if (z->groups == 0)
		z->lacking = "no two runs began with the same weights, batches that differ by a factor of 2, and a measured norm of the first gradient";
	else if (isnan(z->scale))
		z->lacking = "the norms differ by less than chance: more seeds, or batches further apart";
	else
		jackknife(z, p, z->groups);
}

int scaling_noise(struct scaling_noise *z, const struct scaling *x, struct why *w)
{
	struct norm *o = malloc((size_t)(x->runs + 1) * sizeof *o);
	struct pair *p = malloc((size_t)(x->runs + 1) * sizeof *p);
	int n = 0, rc = 0;

	*z = (struct scaling_noise){ .scale = NAN, .low = NAN, .high = NAN, .run = malloc((size_t)(x->runs + 1) * sizeof(const struct book_run *)) };
	if (o && p && z->run) {
		for (int i = 0; i < x->runs; i++)
			n += norm_of(x->seen[i], &o[n]);
		qsort(o, (size_t)n, sizeof *o, by_weights);
		measure(z, o, n, p);
	} else {
		rc = why_set(w, EX_OSERR, "measuring gradient noise: out of memory");
	}
	free(o);
	free(p);
	return rc;
}

void scaling_noise_free(struct scaling_noise *z)
{
	free(z->run);
}
