/* Updates against batch: the curve's numbers from numbers made by it, how often the intervals hold them, and
 * when no number is named. */
#include "../../lib/answer/scaling-fit.h"
#include "../../lib/base/base.h"
#include "tap.h"

static struct scaling_point exact(double batch, double critical)
{
	double s = 100 * (1 + critical / batch);

	return (struct scaling_point){ .batch = batch, .low = s, .high = s, .n = 1, .sd = NAN };
}

static void without_noise(void)
{
	double truths[] = { 12, 90, 700 }, least;
	struct scaling_point p[8];
	struct scaling_range r;

	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < 8; i++)
			p[i] = exact(8 << i, truths[k]);
		scaling_critical(p, 8, 0.95, &r, &least);
		is_near(r.at / truths[k], 1, 1e-6, "the critical batch of an exact curve");
		is_near(least, 100, 1e-4, "and its least number of updates");
		ok(!r.lacking && r.low <= truths[k] && truths[k] <= r.high && r.high / r.low < 1.001, "in a narrow interval");
	}
	/* 8 (1 + 90/8) / (b (1 + 90/b)): within 20 % until 1.2 x 8 + 0.2 x 90 = 27.6 */
	for (int i = 0; i < 8; i++)
		p[i] = exact(8 << i, 90);
	scaling_perfect(p, 8, 0.2, 0.95, &r);
	is_near(r.at, 16, 0, "perfect scaling until the last size before 27.6");
	ok(r.low == 16 && r.high == 32, "which lies between 16 and 32");
	scaling_perfect(p, 8, 0.5, 0.95, &r);
	is_near(r.at, 32, 0, "at a tolerance of 50 %: 57");
}

static void too_little(void)
{
	struct scaling_point p[8];
	struct scaling_range r;

	for (int i = 0; i < 8; i++)
		p[i] = exact(8 << i, 90);
	scaling_critical(p, 4, 0.95, &r, NULL);
	ok(isnan(r.at) && r.lacking, "four sizes name no number");
	ok(r.low > 89 && r.high < 91, "but a bound");
	scaling_perfect(p, 4, 0.2, 0.95, &r);
	ok(isnan(r.at) && r.low == 16 && r.high == 32, "nor until where it is perfect, but between what");
	scaling_critical(p, 2, 0.95, &r, NULL);
	ok(isnan(r.at) && r.low == 0 && isinf(r.high), "two sizes bound nothing");
	scaling_perfect(p, 1, 0.2, 0.95, &r);
	ok(isnan(r.at) && r.lacking, "one size");
	scaling_critical(p, 0, 0.95, &r, NULL);
	ok(isnan(r.at) && r.lacking, "none");
	for (int i = 0; i < 6; i++)
		p[i] = exact(8 + 2 * i, 90);
	scaling_critical(p, 6, 0.95, &r, NULL);
	ok(isnan(r.at) && r.lacking, "six sizes over a factor of 2");
	for (int i = 0; i < 8; i++) {
		p[i] = exact(8 << i, 90);
		p[i].low *= 0.89;
		p[i].width = log(p[i].high / p[i].low);
	}
	scaling_critical(p, 8, 0.95, &r, NULL);
	ok(isnan(r.at) && r.lacking && r.low > 0 && r.low < 90 && r.high > 90, "a target seen every ninth of the way gives bounds");
	/* all of them far below, or far above, the critical batch */
	for (int i = 0; i < 8; i++)
		p[i] = exact(8 << i, 90e6);
	for (int i = 0; i < 8; i++)
		p[i].low = p[i].high *= i % 2 ? 1.01 : 0.99;
	scaling_critical(p, 8, 0.95, &r, NULL);
	ok(isnan(r.at) && r.lacking && r.low > 1000 && isinf(r.high), "perfect everywhere: at least");
	scaling_perfect(p, 8, 0.2, 0.95, &r);
	ok(r.at == 1024 && r.low == 1024 && isinf(r.high), "perfect until the last size at least");
	for (int i = 0; i < 8; i++)
		p[i] = exact(8 << i, 0.001);
	for (int i = 0; i < 8; i++)
		p[i].low = p[i].high *= i % 2 ? 1.01 : 0.99;
	scaling_critical(p, 8, 0.95, &r, NULL);
	ok(isnan(r.at) && r.lacking && r.low == 0 && r.high < 8, "flat everywhere: at most");
}

/* Sizes 8, 16, .. whose ln(updates) scatter by seed and, common to a size's seeds, by what its rate is
 * off; seen at every validation only. */
struct study {
	int sizes, seeds;
	double critical, seed_sd, size_sd, every; /* every: updates between validations as a share of those to the target */
};

static void draw(const struct study *s, uint64_t round, struct scaling_point *p)
{
	for (int i = 0; i < s->sizes; i++) {
		double truth = log(200 * (1 + s->critical / (8 << i))), x[8], low = 0, high = 0, mean = 0, ss = 0;
		double off = s->size_sd * rand_normal(11, RAND_TEST, round, (uint64_t)i);

		p[i] = (struct scaling_point){ .batch = 8 << i, .n = s->seeds };
		for (int k = 0; k < s->seeds; k++) {
			double u = exp(truth + off + s->seed_sd * rand_normal(12, RAND_TEST, round, (uint64_t)(i * 8 + k))), step = s->every * exp(truth), h, l;

			h = s->every > 0 ? ceil(u / step) * step : u;
			l = s->every > 0 ? h - step + 1e-9 : u;
			low += log(l) / s->seeds;
			high += log(h) / s->seeds;
			x[k] = (log(l) + log(h)) / 2;
			mean += x[k] / s->seeds;
			p[i].width = fmax(p[i].width, log(h / l));
		}
		for (int k = 0; k < s->seeds; k++)
			ss += (x[k] - mean) * (x[k] - mean);
		p[i].sd = s->seeds > 1 ? sqrt(ss / (s->seeds - 1)) : NAN;
		p[i].low = exp(low);
		p[i].high = exp(high);
	}
}

/* Intervals that are open on a side hold what lies on it, and count. */
static void coverage(const struct study *s)
{
	int rounds = 1000, critical = 0, perfect = 0, named = 0;
	double truth = 1.2 * 8 + 0.2 * s->critical, width = 0;

	for (int i = 0; i < rounds; i++) {
		struct scaling_point p[8];
		struct scaling_range r;

		draw(s, (uint64_t)i, p);
		scaling_critical(p, s->sizes, 0.95, &r, NULL);
		critical += r.low <= s->critical && s->critical <= r.high;
		named += !r.lacking;
		width += r.lacking ? 0 : log(r.high / r.low);
		scaling_perfect(p, s->sizes, 0.2, 0.95, &r);
		perfect += r.low <= truth && truth <= r.high;
	}
	diag("%d sizes, %d seeds, B_c %g, sd %g over seeds and %g over sizes, validations every %g: B_c held in %.1f %%, named in %.1f %% (interval %.2f in ln B), perfect until held in %.1f %%",
	     s->sizes, s->seeds, s->critical, s->seed_sd, s->size_sd, s->every, 100.0 * critical / rounds, 100.0 * named / rounds, named ? width / named : NAN, 100.0 * perfect / rounds);
	/* three standard errors of 1000 draws: 2.1 % */
	ok(critical >= 0.929 * rounds, "the interval of B_c holds it");
	ok(perfect >= 0.929 * rounds, "and the other that of perfect scaling");
}

int main(void)
{
	static const struct study studies[] = {
		{ 5, 1, 40, 0.05, 0, 0 }, { 5, 3, 40, 0.1, 0, 0 }, { 8, 3, 90, 0.05, 0, 0 }, { 8, 3, 90, 0.02, 0, 0.08 },
		{ 6, 2, 300, 0.05, 0, 0.05 }, { 8, 3, 90, 0.03, 0.05, 0 }, { 8, 1, 2000, 0.1, 0, 0.02 }, { 6, 3, 6, 0.1, 0, 0 },
	};

	without_noise();
	too_little();
	for (size_t i = 0; i < sizeof studies / sizeof *studies; i++)
		coverage(&studies[i]);
	return done_testing();
}
