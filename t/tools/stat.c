/* stat.c - lib/base/stat.h by lines: FUNCTION NUMBER ..., a list as its length and its numbers; prints what it gives, by %.17g. */
#include <stdlib.h>
#include <string.h>

#include "../../lib/base/stat.h"

enum { MOST = 4096 };
static double list[2][MOST];
static int length[2];

static double number(void)
{
	double x;

	if (scanf("%lf", &x) != 1)
		exit(65);
	return x;
}

static void read_list(int k)
{
	length[k] = (int)number();
	if (length[k] < 0 || length[k] > MOST)
		exit(65);
	for (int i = 0; i < length[k]; i++)
		list[k][i] = number();
}

static void say(double x)
{
	printf("%.17g ", x);
}

static void say_mean(struct stat_mean m)
{
	say(m.mean);
	say(m.sd);
	say(m.low);
	say(m.high);
	say(m.t);
	say(m.df);
	say(m.p);
}

static bool distribution(const char *f)
{
	double a, b;

	if (strcmp(f, "beta") == 0 || strcmp(f, "beta_quantile") == 0) {
		double x = number();

		a = number();
		b = number();
		say(f[4] ? stat_beta_quantile(x, a, b) : stat_beta(x, a, b));
	} else if (strcmp(f, "t") == 0 || strcmp(f, "t_quantile") == 0) {
		a = number();
		b = number();
		say(f[1] ? stat_t_quantile(a, b) : stat_t_cdf(a, b));
	} else if (strcmp(f, "normal") == 0) {
		say(stat_normal_cdf(number()));
	} else if (strcmp(f, "normal_quantile") == 0) {
		say(stat_normal_quantile(number()));
	} else if (strcmp(f, "tail") == 0) {
		int64_t k = (int64_t)number(), n = (int64_t)number();

		say(stat_binomial_tail(k, n, number()));
	} else {
		return false;
	}
	return true;
}

static bool two_samples(const char *f)
{
	bool known = strcmp(f, "welch") == 0 || strcmp(f, "rank_sum") == 0;

	if (!known)
		return false;
	read_list(0);
	read_list(1);
	if (*f == 'w')
		say_mean(stat_welch(list[0], length[0], list[1], length[1], 0.95));
	else
		say(stat_rank_sum(list[0], length[0], list[1], length[1]));
	return true;
}

static bool shares(const char *f)
{
	double low, high;
	int64_t k;

	if (strcmp(f, "share") == 0) {
		k = (int64_t)number();
		stat_share(k, (int64_t)number(), 0.95, &low, &high);
	} else if (strcmp(f, "prediction") == 0) {
		read_list(0);
		stat_prediction(list[0], length[0], 0.95, &low, &high);
	} else {
		return false;
	}
	say(low);
	say(high);
	return true;
}

static bool one_sample(const char *f)
{
	struct stat_line l;
	int n;

	read_list(0);
	n = length[0];
	if (strcmp(f, "mean") == 0) {
		say_mean(stat_of(list[0], n, 0.95));
	} else if (strcmp(f, "sign_flip") == 0) {
		say(stat_sign_flip(list[0], n));
	} else if (strcmp(f, "median") == 0) {
		say(stat_median(list[0], n));
	} else if (strcmp(f, "mad") == 0) {
		double middle = stat_median(list[0], n);

		say(stat_mad(list[0], n, middle));
	} else if (strcmp(f, "holm") == 0) {
		stat_holm(list[0], n);
		for (int i = 0; i < n; i++)
			say(list[0][i]);
	} else if (strcmp(f, "line") == 0) {
		read_list(1);
		if (!stat_line(list[0], list[1], n, &l))
			return false;
		say(l.a);
		say(l.b);
		say(l.se_a);
		say(l.se_b);
	} else {
		return false;
	}
	return true;
}

int main(void)
{
	char f[32];

	while (scanf("%31s", f) == 1) {
		if (!distribution(f) && !two_samples(f) && !shares(f) && !one_sample(f))
			return 64;
		putchar('\n');
	}
	return 0;
}
