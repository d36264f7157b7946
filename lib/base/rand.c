/* rand.c - counter-based random numbers: Philox4x32-10 of Salmon, Moraes, Dror and
 * Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. */
#include "base.h"

#include <math.h>

void philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
	uint32_t k0 = key[0], k1 = key[1];
	uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];

	for (int round = 0; round < 10; round++) {
		uint64_t a = (uint64_t)0xD2511F53 * c0, b = (uint64_t)0xCD9E8D57 * c2;

		c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
		c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
		c1 = (uint32_t)b;
		c3 = (uint32_t)a;
		k0 += 0x9E3779B9;
		k1 += 0xBB67AE85;
	}
	out[0] = c0;
	out[1] = c1;
	out[2] = c2;
	out[3] = c3;
}

/* Key: the seed. Counter: a, the low 56 bits of b, and the purpose in the top byte. */
static void draw(uint64_t seed, enum rand_purpose purpose, uint64_t a, uint64_t b, uint32_t out[4])
{
	const uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
	const uint32_t counter[4] = { (uint32_t)a, (uint32_t)(a >> 32), (uint32_t)b, (uint32_t)(b >> 32) ^ (uint32_t)purpose << 24 };

	philox(key, counter, out);
}

uint64_t rand_bits(uint64_t seed, enum rand_purpose purpose, uint64_t a, uint64_t b)
{
	uint32_t x[4];

	draw(seed, purpose, a, b, x);
	return (uint64_t)x[1] << 32 | x[0];
}

double rand_uniform(uint64_t seed, enum rand_purpose purpose, uint64_t a, uint64_t b)
{
	return (double)(rand_bits(seed, purpose, a, b) >> 11) * 0x1p-53;
}

/* Box and Muller; one draw's 128 bits make both uniforms. */
double rand_normal(uint64_t seed, enum rand_purpose purpose, uint64_t a, uint64_t b)
{
	uint32_t x[4];
	double u, v;

	draw(seed, purpose, a, b, x);
	u = (double)((((uint64_t)x[1] << 32 | x[0]) >> 11) + 1) * 0x1p-53; /* (0,1] */
	v = (double)(((uint64_t)x[3] << 32 | x[2]) >> 11) * 0x1p-53;
	return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* An alternating, possibly unbalanced Feistel network over `low` + `high` bits. Halves of few bits
 * mix slowly, so small domains take more rounds. */
static uint64_t feistel(uint64_t seed, uint64_t epoch, int low, int high, uint64_t x)
{
	uint64_t low_mask = (UINT64_C(1) << low) - 1, high_mask = (UINT64_C(1) << high) - 1;
	uint64_t l = x & low_mask, h = x >> low;
	uint64_t rounds = low + high < 12 ? 32 : 8;

	for (uint64_t round = 0; round < rounds; round += 2) {
		l ^= rand_bits(seed, RAND_ORDER, h | round << 32, epoch) & low_mask;
		h ^= rand_bits(seed, RAND_ORDER, l | (round + 1) << 32, epoch) & high_mask;
	}
	return h << low | l;
}

int64_t rand_permute(uint64_t seed, uint64_t epoch, int64_t n, int64_t i)
{
	uint64_t x = (uint64_t)i;
	int bits = 0;

	if (n <= 1)
		return 0;
	while (bits < 63 && (INT64_C(1) << bits) < n)
		bits++;
	/* Walk the cycle until it is back inside: less than two steps on average. */
	do
		x = feistel(seed, epoch, bits - bits / 2, bits / 2, x);
	while (x >= (uint64_t)n);
	return (int64_t)x;
}
