/* cpu_update.c - one optimizer step of one tensor in a single pass over its numbers: the pass is
 * bound by memory, so each number is read and written once. */
#include "cpu.h"

static void plain(const struct update *u, int64_t from, int64_t to)
{
	float *w = u->w;

#pragma omp simd
	for (int64_t i = from; i < to; i++)
		w[i] = w[i] * u->shrink - u->lr * (u->gscale * u->g[i] + u->decay * w[i]);
}

static void momentum(const struct update *u, int64_t from, int64_t to)
{
	/* Momentum steps by s0, Nesterov by g + beta1 s0. */
	float of_g = u->kind == UPDATE_NESTEROV ? 1 : 0, of_s = u->kind == UPDATE_NESTEROV ? u->beta1 : 1;
	float *w = u->w, *s0 = u->s0;

#pragma omp simd
	for (int64_t i = from; i < to; i++) {
		float g = u->gscale * u->g[i] + u->decay * w[i], s = u->beta1 * s0[i] + g;

		s0[i] = s;
		w[i] = w[i] * u->shrink - u->lr * (of_g * g + of_s * s);
	}
}

static void adam(const struct update *u, int64_t from, int64_t to)
{
	float *w = u->w, *s0 = u->s0, *s1 = u->s1;

#pragma omp simd
	for (int64_t i = from; i < to; i++) {
		float g = u->gscale * u->g[i] + u->decay * w[i];
		float m = u->beta1 * s0[i] + u->one_beta1 * g, v = u->beta2 * s1[i] + u->one_beta2 * (g * g);
		float den = sqrtf(v) * u->root_scale + u->eps;

		s0[i] = m;
		s1[i] = v;
		w[i] = w[i] * u->shrink - (u->rate_g * g + u->rate_m * m) / den;
	}
}

static void piece(const struct update *u, int64_t from, int64_t to)
{
	/* A copy on the stack: the compiler then knows that no store changes it. */
	const struct update own = *u;

	if (own.kind == UPDATE_SGD)
		plain(&own, from, to);
	else if (own.kind == UPDATE_MOMENTUM || own.kind == UPDATE_NESTEROV)
		momentum(&own, from, to);
	else
		adam(&own, from, to);
}

void cpu_update(struct dev *d, const struct update *u)
{
	int64_t size = 16384;

#pragma omp parallel for schedule(static) num_threads(d->threads) if (u->n > 4 * CPU_SMALL)
	for (int64_t from = 0; from < u->n; from += size)
		piece(u, from, from + size < u->n ? from + size : u->n);
}
