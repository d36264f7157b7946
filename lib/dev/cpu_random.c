/* cpu_random.c - dropout masks and initial weights from counters (Philox4x32-10), sixteen counters
 * at a time so that compilers vectorise the rounds. */
#include "cpu.h"

enum { LANES = 16 };

/* Sixteen consecutive counters c0..c0+15 under one key; out[w * 16 + i] is word w of counter i. */
static void philox_lanes(uint64_t seed, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t out[4 * LANES])
{
	uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
	uint32_t x0[LANES], x1[LANES], x2[LANES], x3[LANES];

	for (int i = 0; i < LANES; i++) {
		x0[i] = c0 + (uint32_t)i;
		x1[i] = c1;
		x2[i] = c2;
		x3[i] = c3;
	}
	for (int round = 0; round < 10; round++) {
#pragma omp simd
		for (int i = 0; i < LANES; i++) {
			uint64_t a = (uint64_t)0xD2511F53 * x0[i], b = (uint64_t)0xCD9E8D57 * x2[i];

			x0[i] = (uint32_t)(b >> 32) ^ x1[i] ^ k0;
			x2[i] = (uint32_t)(a >> 32) ^ x3[i] ^ k1;
			x1[i] = (uint32_t)b;
			x3[i] = (uint32_t)a;
		}
		k0 += 0x9E3779B9;
		k1 += 0xBB67AE85;
	}
	memcpy(out, x0, sizeof x0);
	memcpy(out + LANES, x1, sizeof x1);
	memcpy(out + 2 * LANES, x2, sizeof x2);
	memcpy(out + 3 * LANES, x3, sizeof x3);
}

/* The key is the seed; the counter is (which sixteen of the row's numbers, site and purpose, the row's key).
 * A position's columns begin at a whole group, so that no group is shared between positions. */
void cpu_mask(const struct drop *drop, int64_t row, int64_t position, int64_t cols, int64_t first, int64_t n, float *out)
{
	uint64_t key = drop->key[row];
	uint64_t group = (uint64_t)position * (uint64_t)((cols + CPU_GROUP - 1) / CPU_GROUP) + (uint64_t)(first / CPU_GROUP);
	double cut = drop->p * 4294967296.0;
	uint32_t least = cut < 4294967295.0 ? (uint32_t)cut : UINT32_MAX;
	float keep = (float)(1.0 / (1.0 - drop->p));
	uint32_t bits[4 * LANES];

	for (int64_t i = 0; i < n; i += CPU_GROUP, group++) {
		philox_lanes(drop->seed, (uint32_t)(group * LANES), drop->site | (uint32_t)RAND_DROPOUT << 24,
			(uint32_t)key, (uint32_t)(key >> 32) ^ (uint32_t)(group * LANES >> 32), bits);
#pragma omp simd
		for (int j = 0; j < 4 * LANES; j++)
			out[i + j] = bits[j] >= least ? keep : 0.0f;
	}
}

void cpu_normal(struct dev *d, float *w, int64_t n, uint64_t seed, uint64_t stream, double deviation)
{
#pragma omp parallel for schedule(static) num_threads(d->threads) if (n > CPU_SMALL)
	for (int64_t i = 0; i < n; i++)
		w[i] = (float)(deviation * rand_normal(seed, RAND_INIT, (uint64_t)i, stream));
}

void cpu_uniform(struct dev *d, float *w, int64_t n, uint64_t seed, uint64_t stream, double bound)
{
#pragma omp parallel for schedule(static) num_threads(d->threads) if (n > CPU_SMALL)
	for (int64_t i = 0; i < n; i++)
		w[i] = (float)(bound * (2.0 * rand_uniform(seed, RAND_INIT, (uint64_t)i, stream) - 1.0));
}
