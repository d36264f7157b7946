/* dev_math.c - the cpu's own exponential against libm's in double, at its edges and on the way, and
 * sums of squares that keep their bits. */
#include "../../lib/dev/cpu.h"
#include "tap.h"

/* Distance in units of the last place of the right result. */
static double ulps(float got, double want)
{
	float near = (float)want;

	return fabs((double)got - want) / (double)(nextafterf(fabsf(near), INFINITY) - fabsf(near));
}

static void test_exp(void)
{
	double worst = 0, at = 0;

	for (double x = -87.3; x < 88; x += 0.000731) {
		double e = ulps(cpu_exp((float)x), exp((double)(float)x));

		if (!(e <= worst)) {
			worst = e;
			at = x;
		}
	}
	ok(worst < 2, "e^x within 2 units of the last place from -87.3 to 88 (worst %.2f at %g)", worst, at);
	ok(cpu_exp(0) == 1, "e^0 is 1");
	ok(cpu_exp(-INFINITY) == 0 && cpu_exp(-1000) == 0, "e^-infinity is 0");
	ok(cpu_exp(INFINITY) == INFINITY && cpu_exp(1000) == INFINITY, "e^infinity is infinity");
	ok(isnan(cpu_exp(NAN)) && isnan(cpu_exp(-NAN)), "NaN stays NaN");
	ok(cpu_sigmoid(0) == 0.5f && cpu_sigmoid(-INFINITY) == 0 && cpu_sigmoid(INFINITY) == 1, "the sigmoid's ends");
	ok(isnan(cpu_sigmoid(NAN)), "and its NaN");
}

static void test_sums(void)
{
	enum { N = 100003 };
	float *x = malloc(N * sizeof *x);
	double plain = 0, sum[3];

	for (int i = 0; i < N; i++) {
		x[i] = (float)rand_normal(1, RAND_TEST, (uint64_t)i, 0);
		plain += (double)x[i] * x[i];
	}
	for (int threads = 1; threads <= 3; threads++) {
		struct dev *d;

		if (dev_open(&d, "cpu", 0, threads, NULL) < 0)
			exit(1);
		sum[threads - 1] = dev_ops(d)->sum_squares(d, x, N);
		dev_close(d);
	}
	is_near(sum[0] / plain, 1, 1e-12, "a sum of squares");
	ok(sum[0] == sum[1] && sum[1] == sum[2], "is the same for 1, 2 and 3 threads");
	free(x);
}

static double product_error(struct dev *d, const struct matmul *mm, const float *c0)
{
	double worst = 0;

	for (int64_t i = 0; i < mm->m; i++)
		for (int64_t j = 0; j < mm->n; j++) {
			double want = (double)mm->beta * c0[i * mm->ldc + j], e;

			for (int64_t k = 0; k < mm->k; k++)
				want += (double)mm->alpha * mm->a[mm->ta ? k * mm->lda + i : i * mm->lda + k] * mm->b[mm->tb ? j * mm->ldb + k : k * mm->ldb + j];
			e = fabs(mm->c[i * mm->ldc + j] - want);
			worst = e <= worst ? worst : e;
		}
	(void)d;
	return worst;
}

/* Large enough to be cut into bands, and odd, so that the bands are uneven. */
static void test_matmul(void)
{
	static const int64_t shape[][3] = { { 211, 149, 203 }, { 33, 700, 97 }, { 700, 33, 97 }, { 1, 5, 3 }, { 17, 1, 1 } };
	enum { MOST = 150000 };
	float *a = malloc(MOST * 4), *b = malloc(MOST * 4), *c = malloc(MOST * 4), *c0 = malloc(MOST * 4);
	double worst = 0, e;

	for (int i = 0; i < MOST; i++) {
		a[i] = (float)rand_normal(1, RAND_TEST, (uint64_t)i, 1);
		b[i] = (float)rand_normal(1, RAND_TEST, (uint64_t)i, 2);
		c0[i] = (float)rand_normal(1, RAND_TEST, (uint64_t)i, 3);
	}
	for (int threads = 1; threads <= 6; threads++) {
		struct dev *d;

		if (dev_open(&d, "cpu", 0, threads, NULL) < 0)
			exit(1);
		for (int s = 0; s < 5; s++)
			for (int t = 0; t < 4; t++) {
				int64_t m = shape[s][0], n = shape[s][1], k = shape[s][2];
				struct matmul mm = { t & 1, t & 2, m, n, k, 0.5f, a, t & 1 ? m : k, b, t & 2 ? k : n, s & 1 ? 1.0f : 0.0f, c, n };

				memcpy(c, c0, MOST * 4);
				dev_ops(d)->matmul(d, &mm);
				e = product_error(d, &mm, c0);
				worst = e <= worst ? worst : e;
				if (memcmp(c + m * n, c0 + m * n, (size_t)(MOST - m * n) * 4))
					worst = NAN;
			}
		dev_close(d);
	}
	ok(worst < 1e-3, "products of all forms, with 1 to 6 threads (worst %.1e)", worst);
	free(a);
	free(b);
	free(c);
	free(c0);
}

int main(void)
{
	test_exp();
	test_sums();
	test_matmul();
	return done_testing();
}
