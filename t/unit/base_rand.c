/* base_rand.c - Philox against the known answers of Random123, uniforms, normals, permutations. */
#include "tap.h"

#include "../../lib/base/base.h"

/* kat_vectors of Random123 1.14: philox4x32, 10 rounds. */
static void known_answers(void)
{
	static const struct {
		uint32_t counter[4], key[2], out[4];
	} kat[] = {
		{ { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
		{ { ~0u, ~0u, ~0u, ~0u }, { ~0u, ~0u }, { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
		{ { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 }, { 0xa4093822, 0x299f31d0 }, { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
	};

	for (size_t i = 0; i < sizeof kat / sizeof *kat; i++) {
		uint32_t out[4];

		philox(kat[i].key, kat[i].counter, out);
		ok(!memcmp(out, kat[i].out, sizeof out), "philox4x32-10, vector %zu", i);
	}
}

/* What a checkpoint's future depends on: these numbers may never change. */
static void frozen(void)
{
	const uint32_t key[2] = { 7, 0 }, counter[4] = { 3, 0, 4, (uint32_t)RAND_DROPOUT << 24 };
	uint32_t out[4];

	philox(key, counter, out);
	ok(rand_bits(7, RAND_DROPOUT, 3, 4) == ((uint64_t)out[1] << 32 | out[0]), "seed is the key; a, b and the purpose are the counter");
	ok(rand_bits(7, RAND_DROPOUT, 3, 4) != rand_bits(7, RAND_INIT, 3, 4), "purposes differ");
	ok(rand_bits(7, RAND_DROPOUT, 3, 4) != rand_bits(8, RAND_DROPOUT, 3, 4), "seeds differ");
	ok(rand_bits(UINT64_C(7) << 32, RAND_INIT, 0, 0) != rand_bits(0, RAND_INIT, 0, 0), "the seed's upper half counts");
	ok(rand_bits(1, RAND_INIT, UINT64_C(1) << 40, 0) != rand_bits(1, RAND_INIT, 0, 0), "the position's upper half counts");
	ok(rand_bits(1, RAND_INIT, 0, UINT64_C(1) << 40) != rand_bits(1, RAND_INIT, 0, 0), "the epoch's upper half counts");
}

static void distributions(void)
{
	enum { N = 200000 };
	double sum = 0, squares = 0, normal = 0, normal2 = 0, normal4 = 0, least = 1, most = 0, pairs = 0, last = 0.5;

	for (uint64_t i = 0; i < N; i++) {
		double u = rand_uniform(1, RAND_TEST, i, 0), z = rand_normal(1, RAND_TEST, i, 1);

		sum += u;
		squares += (u - 0.5) * (u - 0.5);
		pairs += (u - 0.5) * (last - 0.5);
		last = u;
		least = u < least ? u : least;
		most = u > most ? u : most;
		normal += z;
		normal2 += z * z;
		normal4 += z * z * z * z;
	}
	/* Bounds are five standard errors. */
	is_near(sum / N, 0.5, 5 * sqrt(1.0 / 12 / N), "mean of uniforms");
	is_near(squares / N, 1.0 / 12, 5 * sqrt(1.0 / 180 / N), "variance of uniforms");
	is_near(pairs / N, 0, 5.0 / 12 / sqrt(N), "neighbours are not correlated");
	ok(least >= 0 && least < 1e-4 && most < 1 && most > 1 - 1e-4, "uniforms fill [0,1)");
	is_near(normal / N, 0, 5 / sqrt(N), "mean of normals");
	is_near(normal2 / N, 1, 5 * sqrt(2.0 / N), "variance of normals");
	is_near(normal4 / N, 3, 5 * sqrt(96.0 / N), "kurtosis of normals");
}

static bool permutes(uint64_t seed, uint64_t epoch, int64_t n)
{
	unsigned char *seen = calloc(1, (size_t)n + 1);
	bool good = seen != NULL;

	for (int64_t i = 0; good && i < n; i++) {
		int64_t x = rand_permute(seed, epoch, n, i);

		good = x >= 0 && x < n && !seen[x];
		if (good)
			seen[x] = 1;
	}
	free(seen);
	return good;
}

static void permutations(void)
{
	static const int64_t sizes[] = { 1000, 1023, 1024, 1025, 4095, 4097, 60000, 65536, 65537, 1000003 };
	bool good = true;

	for (int64_t n = 1; n <= 300; n++)
		for (uint64_t seed = 0; seed < 3; seed++)
			good = good && permutes(seed, seed + 1, n);
	ok(good, "a permutation for every n up to 300");
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		ok(permutes(42, i, sizes[i]), "a permutation of %lld", (long long)sizes[i]);
	good = true;
	for (int64_t i = 0; i < 1000; i++) {
		int64_t n = INT64_MAX / 3, x = rand_permute(1, 0, n, n - 1 - i);

		good = good && x >= 0 && x < n;
	}
	ok(good, "positions of a huge permutation are in range");
}

/* Every value at every position, equally often: chi-square over seeds. */
static void even(int64_t n)
{
	enum { TRIES = 10000 };
	double chi = 0, expected = (double)TRIES / (double)n, cells = (double)(n * (n - 1)), sigma = sqrt(2 * cells);
	int count[16][16] = { { 0 } };

	for (uint64_t seed = 0; seed < TRIES; seed++)
		for (int64_t i = 0; i < n; i++)
			count[i][rand_permute(seed, 0, n, i)]++;
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++)
			chi += (count[i][j] - expected) * (count[i][j] - expected) / expected;
	ok(chi < cells + 5 * sigma + 5, "n = %lld: each value at each position equally often (chi-square %.1f of %.0f)", (long long)n, chi, cells);
}

static void epochs(void)
{
	int same = 0, neighbours = 0;

	for (int64_t i = 0; i < 1000; i++) {
		same += rand_permute(5, 0, 1000, i) == rand_permute(5, 1, 1000, i);
		neighbours += i && llabs(rand_permute(5, 0, 1000, i) - rand_permute(5, 0, 1000, i - 1)) == 1;
	}
	ok(same < 12, "two epochs share %d of 1000 positions", same);
	ok(neighbours < 16, "%d of 1000 neighbours stay neighbours", neighbours);
}

int main(void)
{
	known_answers();
	frozen();
	distributions();
	permutations();
	for (int64_t n = 2; n <= 16; n++)
		even(n);
	epochs();
	return done_testing();
}
