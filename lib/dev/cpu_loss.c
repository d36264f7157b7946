/* cpu_loss.c - cross-entropy over rows of logits. */
#include "cpu.h"

static float highest(const float *x, int64_t n)
{
	float high = x[0];

#pragma omp simd reduction(max : high)
	for (int64_t j = 0; j < n; j++)
		high = x[j] > high ? x[j] : high;
	return high;
}

/* The first of the highest logits is the answer. */
static bool is_answer(const float *x, int64_t target, float high)
{
	for (int64_t j = 0; j < target; j++)
		if (x[j] == high)
			return false;
	return x[target] == high;
}

static double variance_of(const float *x, int64_t n)
{
	double sum = 0, squares = 0, mean;

#pragma omp simd reduction(+ : sum)
	for (int64_t j = 0; j < n; j++)
		sum += x[j];
	mean = sum / (double)n;
#pragma omp simd reduction(+ : squares)
	for (int64_t j = 0; j < n; j++)
		squares += (x[j] - mean) * (x[j] - mean);
	return squares / (double)n;
}

static float exp_sum(float *x, int64_t n, float high, bool store)
{
	float sum = 0;

	if (store) {
#pragma omp simd reduction(+ : sum)
		for (int64_t j = 0; j < n; j++) {
			x[j] = cpu_exp(x[j] - high);
			sum += x[j];
		}
	} else {
#pragma omp simd reduction(+ : sum)
		for (int64_t j = 0; j < n; j++)
			sum += cpu_exp(x[j] - high);
	}
	return sum;
}

/* Fills out[0] (loss) and out[1] (variance); returns whether the row's answer is right. */
static bool loss_row(float *x, int64_t n, int64_t target, int what, double out[2])
{
	float high = highest(x, n), own = x[target], sum;
	bool correct = (what & LOSS_CORRECT) && is_answer(x, target, high);

	out[1] = what & LOSS_VARIANCE ? variance_of(x, n) : 0;
	sum = exp_sum(x, n, high, what & LOSS_GRADIENT);
	out[0] = log((double)sum) + (double)high - (double)own;
	if (what & LOSS_GRADIENT) {
		float inverse = 1.0f / sum;

#pragma omp simd
		for (int64_t j = 0; j < n; j++)
			x[j] *= inverse;
		x[target] -= 1.0f;
	}
	return correct && out[0] == out[0];
}

void cpu_cross_entropy(struct dev *d, struct loss *out, float *logits, const int32_t *targets, int64_t rows, int64_t classes, int what, double *row)
{
	int64_t correct = 0;

	*out = (struct loss){ 0 };
#pragma omp parallel for schedule(static) num_threads(d->threads) reduction(+ : correct) if (rows * classes > CPU_SMALL / 8)
	for (int64_t r = 0; r < rows; r++) {
		float *x = logits + r * classes;

		row[2 * r] = row[2 * r + 1] = 0;
		if (targets[r] >= 0)
			correct += loss_row(x, classes, targets[r], what, row + 2 * r);
		else if (what & LOSS_GRADIENT)
			memset(x, 0, (size_t)classes * sizeof *x);
	}
	/* In order, so that the sum keeps its bits. */
	for (int64_t r = 0; r < rows; r++) {
		out->sum += row[2 * r];
		out->variance += row[2 * r + 1];
		out->supervised += targets[r] >= 0;
	}
	out->correct = correct;
}
