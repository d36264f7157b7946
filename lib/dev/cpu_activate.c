/* cpu_activate.c - activations between matrix products, with their bias and dropout in the same pass. */
#include "cpu.h"

enum { CHUNK = 4 * CPU_GROUP };

/* sqrt(2/pi) (x + 0.044715 x^3), the argument of GELU's tanh: with it, gelu(x) = x sigmoid(2u). */
#define GELU_A 0.7978845608f
#define GELU_B 0.044715f

static inline float gelu(float x)
{
	return x * cpu_sigmoid(2.0f * GELU_A * (x + GELU_B * x * x * x));
}

static inline float gelu_slope(float x)
{
	float s = cpu_sigmoid(2.0f * GELU_A * (x + GELU_B * x * x * x));

	return s + x * s * (1.0f - s) * (2.0f * GELU_A * (1.0f + 3.0f * GELU_B * x * x));
}

/* Below 0.06 the quotient cancels; the series is exact to float there. */
static inline float tanh_of(float x)
{
	float t = 2.0f * cpu_sigmoid(2.0f * x) - 1.0f, x2 = x * x;
	float near = x * (1.0f + x2 * (-0.333333333f + x2 * 0.133333333f));

	return x < 0.06f && x > -0.06f ? near : t;
}

static void forward(enum activation a, float *y, const float *z, int64_t n)
{
	if (a == ACT_GELU) {
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			y[i] = gelu(z[i]);
	} else if (a == ACT_TANH) {
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			y[i] = tanh_of(z[i]);
	} else {
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			y[i] = z[i] <= 0.0f ? 0.0f : z[i]; /* in this sense a NaN stays */
	}
}

static void backward(enum activation a, float *dz, const float *z, int64_t n)
{
	if (a == ACT_GELU) {
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			dz[i] *= gelu_slope(z[i]);
	} else if (a == ACT_TANH) {
#pragma omp simd
		for (int64_t i = 0; i < n; i++) {
			float t = tanh_of(z[i]);

			dz[i] *= 1.0f - t * t;
		}
	} else {
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			dz[i] = z[i] <= 0.0f ? 0.0f : dz[i];
	}
}

static void times_mask(float *y, const struct drop *drop, int64_t r, int64_t cols, int64_t c0, int64_t n)
{
	float mask[CHUNK];

	cpu_mask(drop, r / drop->length, r % drop->length, cols, c0, n, mask);
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		y[i] *= mask[i];
}

void cpu_activate(struct dev *d, enum activation a, float *y, float *z, const float *b, int64_t rows, int64_t cols, const struct drop *drop)
{
#pragma omp parallel for schedule(static) num_threads(d->threads) if (rows * cols > CPU_SMALL / 8)
	for (int64_t r = 0; r < rows; r++)
		for (int64_t c0 = 0; c0 < cols; c0 += CHUNK) {
			int64_t n = cols - c0 < CHUNK ? cols - c0 : CHUNK;
			float *from = z + r * cols + c0, *to = y + r * cols + c0;

			if (b)
#pragma omp simd
				for (int64_t i = 0; i < n; i++)
					from[i] += b[c0 + i];
			forward(a, to, from, n);
			if (drop)
				times_mask(to, drop, r, cols, c0, n);
		}
}

void cpu_activate_back(struct dev *d, enum activation a, float *dz, const float *z, int64_t rows, int64_t cols, const struct drop *drop)
{
#pragma omp parallel for schedule(static) num_threads(d->threads) if (rows * cols > CPU_SMALL / 8)
	for (int64_t r = 0; r < rows; r++)
		for (int64_t c0 = 0; c0 < cols; c0 += CHUNK) {
			int64_t n = cols - c0 < CHUNK ? cols - c0 : CHUNK;
			float *at = dz + r * cols + c0;

			if (drop)
				times_mask(at, drop, r, cols, c0, n);
			backward(a, at, z + r * cols + c0, n);
		}
}
