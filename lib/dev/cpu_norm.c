/* cpu_norm.c - layer norm (Ba, Kiros and Hinton 2016), forward and backward. */
#include "cpu.h"

static void norm_row(float *y, float *stats, const float *x, const float *w, const float *b, int64_t cols, float eps)
{
	float sum = 0, squares = 0, mean, rstd;

#pragma omp simd reduction(+ : sum)
	for (int64_t c = 0; c < cols; c++)
		sum += x[c];
	mean = sum / (float)cols;
#pragma omp simd reduction(+ : squares)
	for (int64_t c = 0; c < cols; c++)
		squares += (x[c] - mean) * (x[c] - mean);
	rstd = 1.0f / sqrtf(squares / (float)cols + eps);
#pragma omp simd
	for (int64_t c = 0; c < cols; c++)
		y[c] = (x[c] - mean) * rstd * w[c] + b[c];
	if (stats) {
		stats[0] = mean;
		stats[1] = rstd;
	}
}

void cpu_norm(struct dev *d, float *y, float *stats, const float *x, const float *w, const float *b, int64_t rows, int64_t cols, float eps)
{
#pragma omp parallel for schedule(static) num_threads(d->threads) if (rows * cols > CPU_SMALL)
	for (int64_t r = 0; r < rows; r++)
		norm_row(y + r * cols, stats ? stats + 2 * r : NULL, x + r * cols, w, b, cols, eps);
}

/* With n = (x - mean) rstd and e = dy w: dx = rstd (e - mean(e) - n mean(e n)). */
static void back_row(float *dx, bool add, const float *dy, const float *x, const float *w, const float *stats, int64_t cols)
{
	float mean = stats[0], rstd = stats[1], e = 0, en = 0;

#pragma omp simd reduction(+ : e, en)
	for (int64_t c = 0; c < cols; c++) {
		float g = dy[c] * w[c];

		e += g;
		en += g * ((x[c] - mean) * rstd);
	}
	e /= (float)cols;
	en /= (float)cols;
	if (add) {
#pragma omp simd
		for (int64_t c = 0; c < cols; c++)
			dx[c] += rstd * (dy[c] * w[c] - e - (x[c] - mean) * rstd * en);
	} else {
#pragma omp simd
		for (int64_t c = 0; c < cols; c++)
			dx[c] = rstd * (dy[c] * w[c] - e - (x[c] - mean) * rstd * en);
	}
}

/* One stripe of columns: blocks of rows summed in float, the blocks in double. */
static void back_stripe(float *dw, float *db, const float *dy, const float *x, const float *stats, int64_t rows, int64_t cols, int64_t n)
{
	enum { STRIPE = 64, BLOCK = 64 };
	double sum_w[STRIPE] = { 0 }, sum_b[STRIPE] = { 0 };

	for (int64_t r0 = 0; r0 < rows; r0 += BLOCK) {
		int64_t end = r0 + BLOCK < rows ? r0 + BLOCK : rows;
		float w[STRIPE] = { 0 }, b[STRIPE] = { 0 };

		for (int64_t r = r0; r < end; r++)
#pragma omp simd
			for (int64_t c = 0; c < n; c++) {
				float g = dy[r * cols + c];

				b[c] += g;
				w[c] += g * ((x[r * cols + c] - stats[2 * r]) * stats[2 * r + 1]);
			}
		for (int64_t c = 0; c < n; c++) {
			sum_w[c] += w[c];
			sum_b[c] += b[c];
		}
	}
	for (int64_t c = 0; c < n; c++) {
		if (dw)
			dw[c] += (float)sum_w[c];
		if (db)
			db[c] += (float)sum_b[c];
	}
}

void cpu_norm_back(struct dev *d, float *dx, bool add, float *dw, float *db, const float *dy, const float *x, const float *w, const float *stats, int64_t rows, int64_t cols)
{
#pragma omp parallel for schedule(static) num_threads(d->threads) if (rows * cols > CPU_SMALL)
	for (int64_t r = 0; r < rows; r++)
		back_row(dx + r * cols, add, dy + r * cols, x + r * cols, w, stats + 2 * r, cols);
	if (!dw && !db)
		return;
#pragma omp parallel for schedule(static) num_threads(d->threads) if (rows * cols > CPU_SMALL)
	for (int64_t c = 0; c < cols; c += 64)
		back_stripe(dw ? dw + c : NULL, db ? db + c : NULL, dy + c, x + c, stats, rows, cols, cols - c < 64 ? cols - c : 64);
}
