/* cpu.h - what the files of the cpu device share: its state, its loops, its arithmetic. */
#ifndef PILOT_CPU_H
#define PILOT_CPU_H

#include "ops.h"

#include <math.h>
#include <string.h>

struct block {
	struct block *next;
	void *p;
	int64_t bytes, reserved;
};

struct dev {
	char name[16], blas[160];
	int threads, threads_before;
	int64_t budget, fail_at;
	struct block *blocks;
	int64_t allocated, reserved;
	struct dev_memory peak; /* the _peak members only */
	bool high_water; /* the kernel's own peak of the resident set starts at the last mark */
	struct dev_oom oom;
};

extern const struct ops cpu_ops;

/* A loop over numbers, and attention's steps of multiply and add, are worth waking a sleeping thread from
 * about so many on: that takes some tens of microseconds. */
enum { CPU_SMALL = 65536, CPU_SMALL_ATTENTION = 1 << 20, CPU_GROUP = 64 };

/* ---- cpu_random.c ---- */

/* Multipliers 0 or 1/(1-p) of columns first..first+n-1 of `position`; first is a multiple of CPU_GROUP, out has
 * room for n rounded up to CPU_GROUP. cols: columns a position has, constant for a site. */
void cpu_mask(const struct drop *drop, int64_t row, int64_t position, int64_t cols, int64_t first, int64_t n, float *out);

void cpu_normal(struct dev *d, float *w, int64_t n, uint64_t seed, uint64_t stream, double deviation);
void cpu_uniform(struct dev *d, float *w, int64_t n, uint64_t seed, uint64_t stream, double bound);

/* ---- cpu_basic.c, cpu_activate.c ---- */

void cpu_fill(struct dev *d, float *w, int64_t n, float value);
void cpu_scale(struct dev *d, float *x, int64_t n, double factor);
double cpu_sum_squares(struct dev *d, const float *x, int64_t n);
void cpu_matmul(struct dev *d, const struct matmul *m);
void cpu_bias(struct dev *d, float *y, const float *b, int64_t rows, int64_t cols);
void cpu_bias_back(struct dev *d, float *db, const float *dy, int64_t rows, int64_t cols);
void cpu_residual(struct dev *d, float *y, const float *x, const float *v, const float *b, int64_t rows, int64_t cols, const struct drop *drop);
void cpu_dropout(struct dev *d, float *y, const float *x, int64_t rows, int64_t cols, const struct drop *drop);
void cpu_activate(struct dev *d, enum activation a, float *y, float *z, const float *b, int64_t rows, int64_t cols, const struct drop *drop);
void cpu_activate_back(struct dev *d, enum activation a, float *dz, const float *z, int64_t rows, int64_t cols, const struct drop *drop);

/* ---- cpu_norm.c, cpu_embed.c, cpu_attention.c, cpu_loss.c, cpu_update.c ---- */

void cpu_norm(struct dev *d, float *y, float *stats, const float *x, const float *w, const float *b, int64_t rows, int64_t cols, float eps);
void cpu_norm_back(struct dev *d, float *dx, bool add, float *dw, float *db, const float *dy, const float *x, const float *w, const float *stats, int64_t rows, int64_t cols);
void cpu_embed(struct dev *d, float *x, const float *wte, const float *wpe, const int32_t *ids, int64_t rows, int64_t length, int64_t cols, const struct drop *drop);
void cpu_embed_back(struct dev *d, float *dwte, float *dwpe, const float *dx, const int32_t *ids, int64_t rows, int64_t length, int64_t cols);
int64_t cpu_attention_scratch(const struct dev *d, int64_t length, bool backward);
void cpu_attend(struct dev *d, const struct attention *a, float *y, float *stats, const float *qkv, void *scratch);
void cpu_attend_back(struct dev *d, const struct attention *a, float *dqkv, const float *dy, const float *y, const float *qkv, const float *stats, void *scratch);
void cpu_cross_entropy(struct dev *d, struct loss *out, float *logits, const int32_t *targets, int64_t rows, int64_t classes, int what, double *row);
void cpu_update(struct dev *d, const struct update *u);

/* ---- arithmetic that compilers vectorise ---- */

/* e^x to 2 ulp: x = n ln 2 + r, a polynomial in r, n added to the exponent. NaN stays NaN; above 88
 * (e^88 is half the largest float) infinity; below -87.33 (subnormal results) 0. */
static inline float cpu_exp(float x)
{
	union { float f; uint32_t i; } n, s;
	float r, p, y;

	/* Comparisons in this sense let a NaN through. */
	y = x > 88.0f ? 88.0f : x;
	y = y < -87.33f ? -87.33f : y;
	n.f = y * 1.44269504f + 12582912.0f; /* rounds: 1.5 x 2^23 leaves no fraction */
	s.i = (n.i << 23) + 0x3f800000u;
	n.f -= 12582912.0f;
	r = y - n.f * 0.693359375f;
	r = r + n.f * 2.12194440e-4f;
	p = 1.9875691500e-4f;
	p = p * r + 1.3981999507e-3f;
	p = p * r + 8.3334519073e-3f;
	p = p * r + 4.1665795894e-2f;
	p = p * r + 1.6666665459e-1f;
	p = p * r + 5.0000001201e-1f;
	p = p * r * r + r + 1.0f;
	y = p * s.f;
	y = x > 88.0f ? (float)INFINITY : y;
	return x < -87.33f ? 0.0f : y;
}

/* 1 / (1 + e^-x) */
static inline float cpu_sigmoid(float x)
{
	return 1.0f / (1.0f + cpu_exp(-x));
}

#endif
