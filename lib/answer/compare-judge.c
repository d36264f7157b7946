/* compare-judge.c - each variant against the control: what these runs can tell, and what they cannot.
 *
 * n is the number of seeds that both have (paired), or the smaller of the two. Below 3 there are numbers only; from 3 to
 * 5 an interval by Student's t, and nothing firmer than `suggestive`; from 6 the sign-flip test of the paired differences
 * (all 2^n patterns), or Welch's test of unpaired ones. p values of several variants are adjusted by Holm. Where any run
 * of the two diverged, the ranks of all decide: an interval over the survivors would be one of the lucky ones. */
#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/stat.h"

#define ALPHA 0.05
#define LEVEL 0.95
#define POWER 0.8

enum means { MEANS_NONE, MEANS_ONE, MEANS_FEW, MEANS_PAIRED, MEANS_WELCH, MEANS_RANKS };

/* A variant beside the control. */
struct versus {
	const struct arm *arm;
	enum means by;
	int n;                 /* pairs, or runs of the smaller arm */
	struct stat_mean d;    /* variant - control */
	double p, adjusted;    /* NAN: none */
	double low, high;      /* by MEANS_ONE: where one more run of the control would lie */
};

/* ---- numbers ---- */

/* Differences of the seeds that both have. */
static int pair_up(const struct compare *c, const struct arm *control, const struct arm *m, double *d)
{
	double *x = calloc((size_t)(control->runs + m->runs) + 1, sizeof *x);
	int64_t *s = calloc((size_t)(control->runs + m->runs) + 1, sizeof *s);
	int n = -1;

	if (x && s) {
		int nc = compare_values(c, control, false, x, s), nm = compare_values(c, m, false, x + nc, s + nc);

		n = 0;
		for (int i = nc; i < nc + nm; i++)
			for (int k = 0; k < nc; k++)
				if (s[k] == s[i] && s[k] != INT64_MIN) {
					d[n++] = x[i] - x[k];
					break;
				}
	}
	free(x);
	free(s);
	return n;
}

static void by_ranks(struct versus *v, const double *y, int ny, const double *x, int nx)
{
	v->by = nx && ny ? MEANS_RANKS : MEANS_NONE;
	v->n = nx < ny ? nx : ny;
	v->p = stat_rank_sum(y, ny, x, nx);
}

static void by_means(struct versus *v, const double *y, int ny, const double *x, int nx)
{
	v->n = nx < ny ? nx : ny;
	v->d = stat_welch(y, ny, x, nx, LEVEL);
	v->by = !v->n ? MEANS_NONE : v->n >= 6 ? MEANS_WELCH : v->n >= 3 ? MEANS_FEW : MEANS_NONE;
	v->p = v->n >= 3 ? v->d.p : NAN;
	if (v->n && v->n < 3 && nx >= 2) {
		v->by = MEANS_ONE;
		stat_prediction(x, nx, LEVEL, &v->low, &v->high);
	}
}

static void by_pairs(struct versus *v, const double *d, int n)
{
	v->n = n;
	v->d = stat_of(d, n, LEVEL);
	v->by = n >= 6 ? MEANS_PAIRED : n >= 3 ? MEANS_FEW : MEANS_NONE;
	v->p = n >= 6 ? stat_sign_flip(d, n) : n >= 3 ? v->d.p : NAN;
	if (n >= 3 && isnan(v->p) && v->d.mean == 0)
		v->p = 1; /* no difference in any pair */
}

static int versus(const struct compare *c, const struct arm *control, struct versus *v)
{
	size_t most = (size_t)(control->runs + v->arm->runs) + 1;
	double *x = calloc(most, sizeof *x), *y = calloc(most, sizeof *y);
	int64_t *seed = calloc(most, sizeof *seed);
	int n = -1, nx, ny;

	v->d = (struct stat_mean){ .mean = NAN, .sd = NAN, .low = NAN, .high = NAN, .p = NAN };
	v->p = v->adjusted = v->low = v->high = NAN;
	if (x && y && seed) {
		nx = compare_values(c, control, true, x, seed);
		ny = compare_values(c, v->arm, true, y, seed);
		if (control->diverged || v->arm->diverged) {
			by_ranks(v, y, ny, x, nx);
			n = 0;
		} else if (c->paired && (n = pair_up(c, control, v->arm, x)) >= 2) {
			by_pairs(v, x, n);
		} else if (n != -1 || !c->paired) {
			nx = compare_values(c, control, true, x, seed);
			by_means(v, y, ny, x, nx);
			n = 0;
		}
	}
	free(x);
	free(y);
	free(seed);
	return n < 0 ? -EX_OSERR : 0;
}

static int adjust(struct versus *v, int n)
{
	double *p = calloc((size_t)n + 1, sizeof *p);
	int m = 0;

	if (!p)
		return -EX_OSERR;
	for (int i = 0; i < n; i++)
		if (!isnan(v[i].p))
			p[m++] = v[i].p;
	stat_holm(p, m);
	m = 0;
	for (int i = 0; i < n; i++)
		if (!isnan(v[i].p))
			v[i].adjusted = p[m++];
	free(p);
	return 0;
}

/* ---- words ---- */

static bool is_better(const struct compare *c, const struct versus *v)
{
	double d = v->d.mean;

	if (v->by == MEANS_RANKS) /* who diverged more often, else whose middle is better: ranks have no size */
		return v->arm->diverged * c->arms.arm[0].runs < c->arms.arm[0].diverged * v->arm->runs ||
		       (v->arm->diverged * c->arms.arm[0].runs == c->arms.arm[0].diverged * v->arm->runs && (arms_less_is_better(c->metric) ? d < 0 : d > 0));
	return arms_less_is_better(c->metric) ? d < 0 : d > 0;
}

static const char *verdict(const struct compare *c, const struct versus *v)
{
	bool told = !isnan(v->adjusted) && v->adjusted <= ALPHA;

	if (v->by == MEANS_NONE || v->by == MEANS_ONE || !c->winner)
		return "~";
	if (!told)
		return "~";
	if (v->by == MEANS_FEW || v->n < 6)
		return is_better(c, v) ? "suggestive: better" : "suggestive: worse";
	return is_better(c, v) ? "better" : "worse";
}

/* kept: not worse by the margin or more, even at the interval's bad end. */
static const char *kept(const struct compare *c, const struct versus *v)
{
	bool less = arms_less_is_better(c->metric);
	double near = less ? v->d.low : -v->d.high, far = less ? v->d.high : -v->d.low;

	if (v->by == MEANS_RANKS || v->n < 3 || isnan(far))
		return "unknown";
	return far <= c->within ? "kept" : near > c->within ? "worse" : "unknown";
}

static const char *test_name(const struct versus *v)
{
	switch (v->by) {
	case MEANS_ONE: return "one run against the control's spread";
	case MEANS_FEW: return "t interval";
	case MEANS_PAIRED: return "sign flips, every one";
	case MEANS_WELCH: return "Welch's t";
	case MEANS_RANKS: return "ranks: some diverged";
	default: return "numbers only";
	}
}

/* ---- sentences ---- */

static void say_one_run(struct compare *c, const struct versus *v, const char *control)
{
	double x[2] = { NAN, NAN };
	int64_t seed[2];
	bool in = v->arm->runs <= 2 && compare_values(c, v->arm, false, x, seed) >= 1;

	for (int i = 0; i < 2; i++)
		in &= isnan(x[i]) || (x[i] >= v->low && x[i] <= v->high);
	answer_say(c->answer, SAY, "variant", "%s: %s what one more run of %s would give, %.5g to %.5g (95 %%): %s.", v->arm->name, in ? "inside" : "outside", control, v->low, v->high,
	           in ? "nothing can be told" : "worth a comparison with several seeds");
}

static void say_variant(struct compare *c, const struct versus *v)
{
	const char *control = c->arms.arm[0].name, *name = v->arm->name, *what = verdict(c, v);
	const char *way = v->d.mean < 0 ? "lower" : "higher";

	if (v->by == MEANS_NONE && !v->n)
		answer_say(c->answer, SAY, "variant", "%s: no run of it counts beside one of %s.", name, control);
	else if (v->by == MEANS_ONE)
		say_one_run(c, v, control);
	else if (v->by == MEANS_NONE)
		answer_say(c->answer, SAY, "variant", "%s: %.4g %s than %s with %d %s: too few to tell anything (3 is the least).", name, fabs(v->d.mean), way, control, v->n, v->n == 1 ? "seed" : "seeds");
	else if (v->by == MEANS_RANKS)
		answer_say(c->answer, SAY, "variant", "%s%s%s than %s by ranks, as runs diverged (%d of %d, and %d of %d of %s); p = %.2g%s.", name,
		           strcmp(what, "~") == 0 ? ": " : strncmp(what, "suggestive", 10) == 0 ? " may be " : " is ",
		           strcmp(what, "~") == 0 ? "not certainly other" : is_better(c, v) ? "better" : "worse", control, v->arm->diverged, v->arm->runs,
		           c->arms.arm[0].diverged, c->arms.arm[0].runs, control, v->adjusted, c->arms.n > 2 ? " after Holm" : "");
	else if (strcmp(what, "~") == 0 && c->winner && (v->d.low > 0 || v->d.high < 0))
		answer_say(c->answer, SAY, "variant", "%s: a difference from %s is not certain: %+.4g, between %+.4g and %+.4g (95 %%), which leaves out 0, but p = %.2g%s; more seeds would tell.", name, control,
		           v->d.mean, v->d.low, v->d.high, v->adjusted, c->arms.n > 2 ? " after Holm" : "");
	else if (strcmp(what, "~") == 0)
		answer_say(c->answer, SAY, "variant", "%s: no difference from %s can be told%s: %+.4g, between %+.4g and %+.4g (95 %%).", name, control,
		           c->winner ? "" : " without a named budget", v->d.mean, v->d.low, v->d.high);
	else
		answer_say(c->answer, SAY, "variant", "%s %s %s than %s: %s is %s by %.4g, between %.4g and %.4g (95 %%), p = %.2g%s.", name,
		           strncmp(what, "suggestive", 10) == 0 ? "may be" : "is", is_better(c, v) ? "better" : "worse", control, arms_metric_name(c->metric), way, fabs(v->d.mean),
		           v->d.mean < 0 ? -v->d.high : v->d.low, v->d.mean < 0 ? -v->d.low : v->d.high, v->adjusted, c->arms.n > 2 ? " after Holm" : "");
	for (int i = 0; i < v->arm->runs; i++)
		if (v->arm->run[i].run)
			answer_run(c->answer, v->arm->run[i].run->id);
}

/* What these seeds could have shown at all. */
static void say_power(struct compare *c, const struct versus *v, int variants)
{
	struct buf b = { 0 };
	int most = 0, enough = 6;

	for (int i = 0; i < variants; i++)
		if (v[i].by != MEANS_RANKS && v[i].n > most)
			most = v[i].n;
	while (stat_least_p(enough, variants) > ALPHA)
		enough++;
	if (c->paired && most >= 3 && stat_least_p(most, variants) > ALPHA)
		answer_say(c->answer, SAY, "power", "With %d pairs and %d %s no result can be significant by counting sign flips: the least p is %.3g; with %d pairs one can be.", most, variants, variants == 1 ? "variant" : "variants",
		           stat_least_p(most, variants), enough);
	for (int i = 0; i < variants; i++) {
		double least = v[i].by == MEANS_RANKS || v[i].n < 2 ? INFINITY : stat_detectable(v[i].d.sd, v[i].n, c->paired ? 0 : v[i].n, ALPHA / variants, POWER);

		if (isfinite(least) && least > 0)
			c->answer->bad |= buf_printf(&b, "%s%.2g for %s", b.n ? ", " : "", least, v[i].arm->name) < 0;
	}
	if (b.n)
		answer_say(c->answer, SAY, "detectable", "The smallest difference that so many seeds with this spread would show four times in five: about %s.", (char *)b.p);
	buf_free(&b);
}

static void put_row(struct compare *c, struct table *t, const struct versus *v, const int *k)
{
	table_row(t);
	table_text(t, k[0], v->arm->name);
	table_int(t, k[1], v->n);
	if (v->by == MEANS_RANKS) {
		table_textf(t, k[2], "%s", "ranks only");
	} else {
		table_num(t, k[2], v->d.mean, "%+.5g");
		if (v->n >= 3) {
			table_num(t, k[3], v->d.low, "%+.5g");
			table_num(t, k[4], v->d.high, "%+.5g");
		}
	}
	table_num(t, k[5], v->p, "%.3g");
	table_num(t, k[6], v->adjusted, "%.3g");
	table_text(t, k[7], test_name(v));
	table_text(t, k[8], verdict(c, v));
	if (k[9] >= 0)
		table_text(t, k[9], kept(c, v));
	for (int i = 0; i < v->arm->runs; i++)
		if (v->arm->run[i].run)
			table_run(t, v->arm->run[i].run->id);
	for (int i = 0; i < c->arms.arm[0].runs; i++)
		if (c->arms.arm[0].run[i].run)
			table_run(t, c->arms.arm[0].run[i].run->id);
}

static void put_table(struct compare *c, const struct versus *v, int n)
{
	struct table *t;
	char title[200];
	int k[10];

	snprintf(title, sizeof title, "Against %s, %s:", c->arms.arm[0].name, c->paired ? "by seed" : "by means");
	t = answer_table(c->answer, "variants", title);
	k[0] = table_words(t, "variant", "variant");
	k[1] = table_column(t, "n", "n");
	k[2] = table_column(t, "difference", "difference");
	k[3] = table_column(t, "low", "95 % from");
	k[4] = table_column(t, "high", "to");
	k[5] = table_column(t, "p", "p");
	k[6] = table_column(t, "p_adjusted", "p adjusted");
	k[7] = table_words(t, "test", "test");
	k[8] = table_words(t, "verdict", "verdict");
	k[9] = isnan(c->within) ? -1 : table_words(t, "within", "quality");
	for (int i = 0; i < n; i++)
		put_row(c, t, &v[i], k);
}

static void say_within(struct compare *c, const struct versus *v)
{
	const char *what = kept(c, v);

	if (strcmp(what, "kept") == 0)
		answer_say(c->answer, SAY, "within", "%s: the quality is kept within %g of %s.", v->arm->name, c->within, c->arms.arm[0].name);
	else if (strcmp(what, "worse") == 0)
		answer_say(c->answer, SAY, "within", "%s: worse than %s by more than %g.", v->arm->name, c->arms.arm[0].name, c->within);
	else
		answer_say(c->answer, SAY, "within", "%s: whether the quality is kept within %g is unknown from these runs.", v->arm->name, c->within);
}

int compare_judge(struct compare *c)
{
	int n = c->arms.n - 1;
	struct versus *v = calloc((size_t)n + 1, sizeof *v);
	int rc = v ? 0 : -EX_OSERR;

	for (int i = 0; rc == 0 && i < n; i++) {
		v[i].arm = &c->arms.arm[i + 1];
		rc = versus(c, &c->arms.arm[0], &v[i]);
	}
	if (rc == 0)
		rc = adjust(v, n);
	if (rc == 0)
		put_table(c, v, n);
	for (int i = 0; rc == 0 && i < n; i++)
		say_variant(c, &v[i]);
	for (int i = 0; rc == 0 && i < n && !isnan(c->within); i++)
		say_within(c, &v[i]);
	if (rc == 0)
		say_power(c, v, n);
	free(v);
	return rc;
}
