"""beside_scipy.py TOOL: what t/tools/stat says beside scipy and beside brute force; prints how many were compared."""
import itertools
import math
import subprocess
import sys

import numpy as np
from scipy import optimize, special, stats

cases = []


def words(x):
    return [str(len(x))] + [repr(float(v)) for v in x]


def add(expected, function, *args):
    line = [function]
    for a in args:
        line += words(a) if isinstance(a, (list, np.ndarray)) else [repr(float(a))]
    cases.append((" ".join(line), [float(e) for e in np.atleast_1d(expected)]))


def t_quantile(p, df):
    """The root of scipy's distribution function: its own t.ppf is only good to 2e-9."""
    q = min(p, 1 - p)
    u = optimize.brentq(lambda u: stats.t.sf(math.exp(u), df) / q - 1, -20, 50, xtol=1e-15, rtol=1e-15)
    return math.exp(u) if p > 0.5 else -math.exp(u)


def means(x):
    n = len(x)
    r = stats.ttest_1samp(x, 0)
    half = t_quantile(0.975, n - 1) * np.std(x, ddof=1) / math.sqrt(n)
    return [np.mean(x), np.std(x, ddof=1), np.mean(x) - half, np.mean(x) + half, r.statistic, n - 1, r.pvalue]


def welch(x, y):
    r = stats.ttest_ind(x, y, equal_var=False)
    nx, ny = len(x), len(y)
    vx, vy = np.var(x, ddof=1) / nx, np.var(y, ddof=1) / ny
    df = (vx + vy) ** 2 / (vx**2 / (nx - 1) + vy**2 / (ny - 1))
    d = np.mean(x) - np.mean(y)
    half = t_quantile(0.975, df) * math.sqrt(vx + vy)
    pooled = math.sqrt(((nx - 1) * vx * nx + (ny - 1) * vy * ny) / (nx + ny - 2))
    return [d, pooled, d - half, d + half, r.statistic, df, r.pvalue]


def sign_flip(d):
    seen = abs(sum(d)) - 1e-12 * sum(map(abs, d))
    return np.mean([abs(sum(s * v for s, v in zip(signs, d))) >= seen for signs in itertools.product((1, -1), repeat=len(d))])


def splits(z, nx):
    middle, size = sum(z) * nx / len(z), sum(map(abs, z))
    seen = abs(sum(z[:nx]) - middle) - 1e-12 * size
    return np.mean([abs(sum(c) - middle) >= seen for c in itertools.combinations(z, nx)])


def distributions():
    for df in [0.5, 1, 1.7, 2, 3, 4.33, 7, 10, 29.5, 100, 1e4]:
        for t in [-1e6, -1e3, -37, -5, -1, -0.1, 0, 1e-9, 0.3, 2, 12, 200]:
            add(stats.t.cdf(t, df), "t", t, df)
        for p in [1e-10, 1e-6, 0.001, 0.025, 0.2, 0.4999, 0.6, 0.975, 0.995, 1 - 1e-8]:
            add(t_quantile(p, df), "t_quantile", p, df)
        add(0, "t_quantile", 0.5, df)
    for a, b in itertools.product([0.5, 1, 2, 3.3, 20, 500], [0.5, 1, 4, 17.2, 300]):
        for x in [1e-8, 0.01, 0.3, 0.5, 0.9, 0.9999]:
            add(special.betainc(a, b, x), "beta", x, a, b)
        for p in [1e-8, 0.025, 0.5, 0.975, 0.9999]:
            add(special.betaincinv(a, b, p), "beta_quantile", p, a, b)
    for z in [-30, -8, -1.5, 0, 0.2, 5]:
        add(stats.norm.cdf(z), "normal", z)
    for p in [1e-300, 1e-10, 0.025, 0.5, 0.7, 0.99999]:
        add(stats.norm.ppf(p), "normal_quantile", p)
    for n in [1, 3, 10, 200]:
        for k in sorted({0, 1, n // 3, n - 1, n}):
            add(stats.binomtest(k, n).proportion_ci(method="exact"), "share", k, n)
            for p in [0.01, 0.5, 0.9]:
                add(stats.binom.sf(k - 1, n, p), "tail", k, n, p)


def samples(rng):
    for n in range(2, 11):
        x = rng.normal(2.3, 0.05, n)
        y = rng.normal(2.31, 0.2, n + 1)
        add(means(x), "mean", x)
        add(welch(x, y), "welch", x, y)
        half = t_quantile(0.975, n - 1) * np.std(x, ddof=1) * math.sqrt(1 + 1 / n)
        add([np.mean(x) - half, np.mean(x) + half], "prediction", x)
        add(np.median(x), "median", x)
        add(stats.median_abs_deviation(x) * 1.4826, "mad", x)
        d = rng.normal(0.02, 0.03, n)
        add(sign_flip(list(d)), "sign_flip", d)
        if n >= 3:
            add(stats.permutation_test((d,), np.mean, permutation_type="samples", n_resamples=np.inf).pvalue, "sign_flip", d)
            line = stats.linregress(x, y[:n])
            add([line.intercept, line.slope, line.intercept_stderr, line.stderr], "line", x, y[:n])
        if n <= 7:
            add(stats.mannwhitneyu(x, y, method="exact").pvalue, "rank_sum", x, y)
            tied = [float(v) for v in rng.integers(0, 4, 2 * n)]
            add(splits(list(stats.rankdata(tied)), n), "rank_sum", tied[:n], tied[n:])
            lost = list(x[: n - 1]) + [math.inf]
            add(splits(list(stats.rankdata(lost + list(y))), n), "rank_sum", lost, y)
    add([0.03, 0.06, 0.06, 0.02], "holm", [0.01, 0.03, 0.04, 0.005])
    add([1, 1], "holm", [0.6, 0.9])
    add([0.08, math.nan, 0.002], "holm", [0.08, math.nan, 0.001])


def main():
    distributions()
    samples(np.random.default_rng(1))
    said = subprocess.run([sys.argv[1]], input="\n".join(c[0] for c in cases) + "\n", capture_output=True, text=True, check=True)
    lines = said.stdout.splitlines()
    wrong = 0
    if len(lines) != len(cases):
        sys.exit(f"{len(lines)} answers to {len(cases)} questions")
    for (line, expected), answer in zip(cases, lines):
        got = [float(v) for v in answer.split()]
        close = len(got) == len(expected) and all(abs(g - e) <= 1e-9 * max(1, abs(e)) or math.isnan(g) and math.isnan(e) for g, e in zip(got, expected))
        if not close:
            print(f"{line}\n  said {got}\n  expected {expected}")
            wrong += 1
    print(f"{len(cases)} compared, {wrong} wrong")
    sys.exit(wrong > 0)


main()
