/* schedule.c - learning-rate schedules; the formulas stand in train.h. */
#include "train.h"

#include <math.h>
#include <string.h>

enum { CONSTANT, LINEAR, COSINE };

int schedule_parse(struct schedule *s, const char *text, int64_t horizon, struct why *w)
{
	static const char *const kind[] = { "constant", "linear", "cosine" };
	struct spec spec;
	int rc = spec_parse(&spec, text, w);

	if (rc < 0)
		return rc;
	*s = (struct schedule){ .kind = -1, .horizon = horizon };
	for (int i = 0; i < 3; i++)
		if (!strcmp(spec.kind, kind[i]))
			s->kind = i;
	if (s->kind < 0)
		rc = why_set(w, EX_USAGE, "schedule: \"%.60s\": is none of constant, linear, cosine", spec.kind);
	if (rc == 0 && (rc = spec_int(&spec, "warmup", 0, INT64_MAX, &s->warmup, w)) >= 0 && (rc = spec_float(&spec, "floor", 0, 1, &s->floor, w)) >= 0)
		rc = spec_done(&spec, w);
	spec_free(&spec);
	return rc < 0 ? rc : 0;
}

bool schedule_decays(const struct schedule *s)
{
	return s->kind != CONSTANT;
}

double schedule_rate(const struct schedule *s, double base, int64_t update)
{
	double r = 0;

	if (update < s->warmup)
		return base * ((double)update + 1) / (double)s->warmup;
	if (s->kind == CONSTANT)
		return base;
	if (s->horizon > s->warmup)
		r = (double)(update - s->warmup) / (double)(s->horizon - s->warmup);
	if (r > 1)
		r = 1;
	if (s->kind == LINEAR)
		return base * (s->floor + (1 - s->floor) * (1 - r));
	return base * (s->floor + (1 - s->floor) * (1 + cos(3.141592653589793 * r)) / 2);
}
