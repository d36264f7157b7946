/* cpu_basic.c - matrix products by CBLAS, and the loops without mathematics. */
#include "cpu.h"

#include <cblas.h>

const struct ops cpu_ops = {
	.normal = cpu_normal,
	.uniform = cpu_uniform,
	.fill = cpu_fill,
	.scale = cpu_scale,
	.sum_squares = cpu_sum_squares,
	.matmul = cpu_matmul,
	.bias = cpu_bias,
	.bias_back = cpu_bias_back,
	.activate = cpu_activate,
	.activate_back = cpu_activate_back,
	.residual = cpu_residual,
	.dropout = cpu_dropout,
	.norm = cpu_norm,
	.norm_back = cpu_norm_back,
	.embed = cpu_embed,
	.embed_back = cpu_embed_back,
	.attention_scratch = cpu_attention_scratch,
	.attend = cpu_attend,
	.attend_back = cpu_attend_back,
	.cross_entropy = cpu_cross_entropy,
	.update = cpu_update,
};

void cpu_fill(struct dev *d, float *w, int64_t n, float value)
{
#pragma omp parallel for simd schedule(static) num_threads(d->threads) if (n > CPU_SMALL)
	for (int64_t i = 0; i < n; i++)
		w[i] = value;
}

void cpu_scale(struct dev *d, float *x, int64_t n, double factor)
{
	float f = (float)factor;

#pragma omp parallel for simd schedule(static) num_threads(d->threads) if (n > CPU_SMALL)
	for (int64_t i = 0; i < n; i++)
		x[i] *= f;
}

/* In 256 pieces whatever the number of threads, so that the sum keeps its bits. */
double cpu_sum_squares(struct dev *d, const float *x, int64_t n)
{
	enum { PIECES = 256 };
	int64_t piece = ((n + PIECES - 1) / PIECES + 15) / 16 * 16;
	double part[PIECES] = { 0 }, sum = 0;

#pragma omp parallel for schedule(static) num_threads(d->threads) if (n > CPU_SMALL)
	for (int k = 0; k < PIECES; k++) {
		int64_t end = (k + 1) * piece < n ? (k + 1) * piece : n;
		double s = 0;

#pragma omp simd reduction(+ : s)
		for (int64_t i = k * piece; i < end; i++)
			s += (double)x[i] * x[i];
		part[k] = s;
	}
	for (int k = 0; k < PIECES; k++)
		sum += part[k];
	return sum;
}

static void product(const struct matmul *m, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
	const float *a = m->a + row * (m->ta ? 1 : m->lda), *b = m->b + col * (m->tb ? m->ldb : 1);

	cblas_sgemm(CblasRowMajor, m->ta ? CblasTrans : CblasNoTrans, m->tb ? CblasTrans : CblasNoTrans, (int)rows, (int)cols, (int)m->k,
		m->alpha, a, (int)m->lda, b, (int)m->ldb, m->beta, m->c + row * m->ldc + col, (int)m->ldc);
}

/* Into how many bands of rows and of columns: those with the least sides, of which no piece is small. */
static int bands(const struct dev *d, const struct matmul *m, int *across)
{
	/* OpenBLAS takes another kernel, which sums in another order, for products below a million steps. */
	int64_t least = 1 << 21, parts = m->m * m->n * m->k / least;
	int best = 1;

	if (parts > d->threads)
		parts = d->threads;
	*across = 1;
	for (int down = 1; down <= parts; down++)
		if (parts % down == 0) {
			int64_t side = m->m / down + m->n / (parts / down);

			if (down == 1 || side < m->m / best + m->n / *across) {
				best = down;
				*across = (int)parts / down;
			}
		}
	return best;
}

/* A thread multiplies its piece of the result by itself: a BLAS library's own threads may cut the sums
 * at other places for another number of threads, and then the bits depend on it. */
void cpu_matmul(struct dev *d, const struct matmul *m)
{
	int across, down = bands(d, m, &across);
	int64_t rows = ((m->m + down - 1) / down + 15) / 16 * 16, cols = ((m->n + across - 1) / across + 15) / 16 * 16;

	if (down * across == 1) {
		product(m, 0, m->m, 0, m->n);
		return;
	}
#pragma omp parallel for schedule(static) num_threads(d->threads)
	for (int i = 0; i < down * across; i++) {
		int64_t row = i / across * rows, col = i % across * cols;
		int64_t high = m->m - row < rows ? m->m - row : rows, wide = m->n - col < cols ? m->n - col : cols;

		if (high > 0 && wide > 0)
			product(m, row, high, col, wide);
	}
}

void cpu_bias(struct dev *d, float *y, const float *b, int64_t rows, int64_t cols)
{
#pragma omp parallel for schedule(static) num_threads(d->threads) if (rows * cols > CPU_SMALL)
	for (int64_t r = 0; r < rows; r++) {
		float *to = y + r * cols;

#pragma omp simd
		for (int64_t c = 0; c < cols; c++)
			to[c] += b[c];
	}
}

/* A stripe of columns is one thread's: no two add to the same sum. Blocks of rows are summed in
 * float, the blocks in double. */
void cpu_bias_back(struct dev *d, float *db, const float *dy, int64_t rows, int64_t cols)
{
	enum { STRIPE = 64, BLOCK = 64 };

#pragma omp parallel for schedule(static) num_threads(d->threads) if (rows * cols > CPU_SMALL)
	for (int64_t c0 = 0; c0 < cols; c0 += STRIPE) {
		int64_t n = cols - c0 < STRIPE ? cols - c0 : STRIPE;
		double sum[STRIPE] = { 0 };

		for (int64_t r0 = 0; r0 < rows; r0 += BLOCK) {
			int64_t end = r0 + BLOCK < rows ? r0 + BLOCK : rows;
			float part[STRIPE] = { 0 };

			for (int64_t r = r0; r < end; r++)
#pragma omp simd
				for (int64_t c = 0; c < n; c++)
					part[c] += dy[r * cols + c0 + c];
			for (int64_t c = 0; c < n; c++)
				sum[c] += part[c];
		}
		for (int64_t c = 0; c < n; c++)
			db[c0 + c] += (float)sum[c];
	}
}

static void residual_row(float *y, const float *x, const float *v, const float *b, int64_t r, int64_t cols, const struct drop *drop)
{
	float mask[4 * CPU_GROUP];

	for (int64_t c0 = 0; c0 < cols; c0 += 4 * CPU_GROUP) {
		int64_t n = cols - c0 < 4 * CPU_GROUP ? cols - c0 : 4 * CPU_GROUP;

		cpu_mask(drop, r / drop->length, r % drop->length, cols, c0, n, mask);
#pragma omp simd
		for (int64_t c = 0; c < n; c++)
			y[c0 + c] = x[c0 + c] + mask[c] * (v[c0 + c] + b[c0 + c]);
	}
}

void cpu_residual(struct dev *d, float *y, const float *x, const float *v, const float *b, int64_t rows, int64_t cols, const struct drop *drop)
{
#pragma omp parallel for schedule(static) num_threads(d->threads) if (rows * cols > CPU_SMALL)
	for (int64_t r = 0; r < rows; r++) {
		float *to = y + r * cols;
		const float *from = x + r * cols, *add = v + r * cols;

		if (drop) {
			residual_row(to, from, add, b, r, cols, drop);
			continue;
		}
#pragma omp simd
		for (int64_t c = 0; c < cols; c++)
			to[c] = from[c] + (add[c] + b[c]);
	}
}

void cpu_dropout(struct dev *d, float *y, const float *x, int64_t rows, int64_t cols, const struct drop *drop)
{
	if (!drop) {
		if (y != x)
			memcpy(y, x, (size_t)(rows * cols) * sizeof *y);
		return;
	}
#pragma omp parallel for schedule(static) num_threads(d->threads) if (rows * cols > CPU_SMALL)
	for (int64_t r = 0; r < rows; r++) {
		float mask[4 * CPU_GROUP];

		for (int64_t c0 = 0; c0 < cols; c0 += 4 * CPU_GROUP) {
			int64_t n = cols - c0 < 4 * CPU_GROUP ? cols - c0 : 4 * CPU_GROUP;

			cpu_mask(drop, r / drop->length, r % drop->length, cols, c0, n, mask);
#pragma omp simd
			for (int64_t c = 0; c < n; c++)
				y[r * cols + c0 + c] = mask[c] * x[r * cols + c0 + c];
		}
	}
}
