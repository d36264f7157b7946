/* chart-axis.c - round numbers between the least and the greatest. */
#include <math.h>
#include <string.h>

#include "chart.h"

/* 1, 2 or 5 times a power of ten, so that about five steps fill the span. */
static double step_of(double span)
{
	double raw = span / 5, power = pow(10, floor(log10(raw))), m = raw / power;

	return power * (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10);
}

static void linear(struct axis *a, bool binary)
{
	double span = a->high - a->low, step = binary ? pow(2, floor(log2(span / 4))) : step_of(span), first = ceil(a->low / step - 1e-9) * step;

	for (int i = 0; i < AXIS_TICKS && first + i * step <= a->high + 1e-9 * step; i++)
		a->tick[a->ticks++] = fabs(first + i * step) < 1e-9 * step ? 0 : first + i * step;
}

/* Powers of ten; where these are few, 2 and 5 times them too; where they are many, every so many. */
static void logarithmic(struct axis *a)
{
	double decades = log10(a->high / a->low), low = floor(log10(a->low) + 1e-9), high = ceil(log10(a->high) - 1e-9);
	static const double fine[] = { 1, 2, 5 }, rough[] = { 1 };
	const double *m = decades < 3 ? fine : rough;
	int n = decades < 3 ? 3 : 1, every = (int)ceil((high - low) / (AXIS_TICKS - 2));

	for (double p = low; p <= high; p += decades < 3 || every < 1 ? 1 : every)
		for (int k = 0; k < n && a->ticks < AXIS_TICKS; k++) {
			double v = m[k] * pow(10, p);

			if (v >= a->low * (1 - 1e-9) && v <= a->high * (1 + 1e-9))
				a->tick[a->ticks++] = v;
		}
}

void axis_fit(struct axis *a, double low, double high, enum chart_scale scale, bool from_zero, bool binary)
{
	*a = (struct axis){ .scale = scale };
	if (!(low <= high) || !isfinite(low) || !isfinite(high))
		low = 0, high = 1;
	if (scale == CHART_LOG && !(low > 0))
		a->scale = scale = CHART_LINEAR;
	if (scale == CHART_LOG) {
		if (low < high * 1e-15) /* below that there is nothing to see, and their ratio may be no number */
			low = high * 1e-15;
		double room = high > low ? pow(high / low, 0.04) : 1.5;

		a->low = low / room;
		a->high = high * room;
		logarithmic(a);
		return;
	}
	if (from_zero && low > 0)
		low = 0;
	if (high == low)
		high = low + (low ? fabs(low) * 0.1 : 1);
	a->low = low - (from_zero && low == 0 ? 0 : 0.04 * (high - low));
	a->high = high + 0.04 * (high - low);
	linear(a, binary);
}

double axis_place(const struct axis *a, double v)
{
	if (a->scale == CHART_LOG)
		return log(v / a->low) / log(a->high / a->low);
	return (v - a->low) / (a->high - a->low);
}

void axis_label(const struct axis *a, double tick, enum axis_unit unit, char out[24])
{
	char s[48];

	(void)a;
	if (unit == AXIS_BYTES)
		num_human_bytes((int64_t)tick, s);
	else if (unit == AXIS_SECONDS)
		answer_seconds(tick, s);
	else if (fabs(tick) >= 1e6)
		snprintf(s, sizeof s, fmod(fabs(tick), 1e6) == 0 && fabs(tick) < 1e9 ? "%.0fM" : "%.4g", fabs(tick) < 1e9 ? tick / 1e6 : tick);
	else
		snprintf(s, sizeof s, "%.6g", tick);
	if (unit == AXIS_PLAIN && fabs(tick) >= 1e6 && fmod(fabs(tick), 1e6) != 0)
		snprintf(s, sizeof s, "%.4g", tick);
	snprintf(out, 24, "%.23s", unit == AXIS_SECONDS && tick == 0 ? "0" : s);
}
