/* The statistics of a probe: how often the interval of a median holds it, when a knee is
 * known and when it is not, the line of time over size, and what is recommended. */
#include "../../lib/job/job.h"
#include "tap.h"

/* Share of 4000 samples of n skewed times whose interval holds the true median. */
static double coverage(int n)
{
	int held = 0, rounds = 4000;
	for (int i = 0; i < rounds; i++) {
		double x[64], median, low, high;
		for (int k = 0; k < n; k++)
			x[k] = 1 + 0.1 * -log(1 - rand_uniform(7, RAND_TEST, (uint64_t)(n * 100000 + i), (uint64_t)k));
		speed_median(x, n, &median, &low, &high);
		double truth = 1 + 0.1 * log(2);
		held += low <= truth && truth <= high && low <= median && median <= high;
	}
	return (double)held / rounds;
}

static void medians(void)
{
	double one[] = { 3 }, five[] = { 5, 1, 4, 2, 3 }, m, low, high;
	speed_median(one, 1, &m, &low, &high);
	ok(m == 3 && low == 0 && isinf(high), "one time has a median and no interval");
	speed_median(five, 5, &m, &low, &high);
	is_near(m, 3, 0, "median of five");
	is_near(low, 3 - 2.7764451051977987 * sqrt(2.5 / 5), 1e-12, "Student's t below six");
	double six[] = { 6, 1, 2, 5, 3, 4 };
	speed_median(six, 6, &m, &low, &high);
	ok(m == 3.5 && low == 1 && high == 6, "six times: from the least to the greatest, 96.9 %%");
	double ten[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	speed_median(ten, 10, &m, &low, &high);
	ok(low == 2 && high == 9, "ten times: second and ninth, 97.9 %% (first to last is 99.8, third to eighth 89.1)");
	for (int n = 6; n <= 60; n += 9) {
		double c = coverage(n);
		ok(c >= 0.94 && c <= 0.995, "n = %d: the interval holds the median of skewed times in %.1f %% of samples", n, 100 * c);
	}
}

static struct rate tight(int64_t size, double r)
{
	return (struct rate){ size, r, r * 0.995, r * 1.005 };
}

static void knees(void)
{
	int64_t sure, maybe;
	struct rate r[] = { tight(1, 10), tight(2, 19), tight(4, 34), tight(8, 50), tight(16, 60), tight(32, 61), tight(64, 59) };
	is_int(speed_knee(r, 7, 0.05, &sure, &maybe), 16, "the smallest size within 5 % of the best");
	r[3] = tight(8, 61 * 0.951);
	is_int(speed_knee(r, 7, 0.05, &sure, &maybe), 0, "unknown where a smaller size is on the line");
	ok(maybe == 8 && sure == 16, "and the two candidates are named");
	r[3] = (struct rate){ 8, 50, 0, INFINITY };
	is_int(speed_knee(r, 7, 0.05, &sure, &maybe), 0, "unknown where a smaller size has no interval");
	struct rate down[] = { tight(1, 10), tight(2, 9), tight(4, 8) };
	is_int(speed_knee(down, 3, 0.05, &sure, &maybe), 1, "slower from the start: the knee is 1");
	is_int(speed_knee(down, 1, 0.05, &sure, &maybe), 1, "one size is its own knee");
}

static void lines(void)
{
	double t0 = 0, c = 0;
	struct rate r[8];
	for (int i = 0; i < 8; i++)
		r[i] = tight(1 << i, (1 << i) / (0.010 + 0.002 * (1 << i)));
	ok(speed_line(r, 8, &t0, &c) && fabs(t0 - 0.010) < 1e-9 && fabs(c - 0.002) < 1e-9, "t0 and c come back");
	for (int i = 0; i < 8; i++)
		r[i] = tight(1 << i, 1000 - 10 * (1 << i > 32));
	ok(speed_line(r, 8, &t0, &c) && t0 >= 0 && fabs(c - 0.001) < 1e-4, "no constant part is 0, never less");
	ok(!speed_line(r, 1, &t0, &c), "one size is no line");
}

static void advice(void)
{
	is_int(speed_advise(43, 0, 0, 0.001, 1), 40, "rounded down to a multiple of 8 where that costs nothing");
	is_int(speed_advise(43, 0, 0, 10, 0.001), 43, "not where it costs throughput");
	is_int(speed_advise(100, 16, 0, 0, 1), 16, "the knee, where the headroom leaves room for it");
	is_int(speed_advise(7, 16, 0, 0, 1), 7, "never above the limit");
	is_int(speed_advise(100, 16, 100, 0, 1), 20, "a divisor of the wanted effective batch: the first from the knee on");
	is_int(speed_advise(18, 16, 100, 0, 1), 10, "or the largest below it");
	is_int(speed_advise(100, 16, 7, 0, 1), 7, "a small effective batch is one pass");
	is_int(speed_advise(0, 4, 0, 0, 1), 1, "no headroom at all: still size 1");
}

int main(void)
{
	medians();
	knees();
	lines();
	advice();
	return done_testing();
}
