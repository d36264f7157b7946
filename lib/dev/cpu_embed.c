/* cpu_embed.c - token and position embeddings. */
#include "cpu.h"

void cpu_embed(struct dev *d, float *x, const float *wte, const float *wpe, const int32_t *ids, int64_t rows, int64_t length, int64_t cols, const struct drop *drop)
{
#pragma omp parallel for schedule(static) num_threads(d->threads) if (rows * length * cols > CPU_SMALL)
	for (int64_t r = 0; r < rows * length; r++) {
		const float *token = wte + ids[r] * cols, *place = wpe + r % length * cols;
		float *to = x + r * cols;

#pragma omp simd
		for (int64_t c = 0; c < cols; c++)
			to[c] = token[c] + place[c];
	}
	if (drop)
		cpu_dropout(d, x, x, rows * length, cols, drop);
}

/* A stripe of columns is one thread's, and it goes over the tokens in order: a token that comes twice is
 * added twice, always in the same order. */
void cpu_embed_back(struct dev *d, float *dwte, float *dwpe, const float *dx, const int32_t *ids, int64_t rows, int64_t length, int64_t cols)
{
#pragma omp parallel for schedule(static) num_threads(d->threads) if (rows * length * cols > CPU_SMALL)
	for (int64_t c0 = 0; c0 < cols; c0 += 64) {
		int64_t n = cols - c0 < 64 ? cols - c0 : 64;

		for (int64_t r = 0; r < rows * length; r++) {
			const float *from = dx + r * cols + c0;

			if (dwte) {
				float *to = dwte + ids[r] * cols + c0;

#pragma omp simd
				for (int64_t c = 0; c < n; c++)
					to[c] += from[c];
			}
			if (dwpe) {
				float *to = dwpe + r % length * cols + c0;

#pragma omp simd
				for (int64_t c = 0; c < n; c++)
					to[c] += from[c];
			}
		}
	}
}
