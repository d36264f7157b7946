/* numbers.c - option specs and strict numbers on any text. */
#include "../../lib/base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* What must hold whatever the text: a number that was read prints and reads back as itself. */
static void numbers(const char *s)
{
	struct why w = { 0 };
	char out[32];
	double x, y;
	int64_t i;

	if (num_float(s, "x", -INFINITY, INFINITY, &x, &w) == 0) {
		if (num_shortest(x, out) != (int)strlen(out) || strtod(out, NULL) != x || num_float(out, "x", x, x, &y, &w) < 0)
			abort();
	}
	if (num_int(s, "i", INT64_MIN, INT64_MAX, &i, &w) == 0 && i != strtoll(s, NULL, 10))
		abort();
	if (num_size(s, "size", &i, &w) == 0 && i < 0)
		abort();
	if (num_duration(s, "time", &x, &w) == 0 && !(x >= 0))
		abort();
}

static void spec(const char *s)
{
	struct why w = { 0 };
	struct spec spec;
	const char *text;
	double x;
	int64_t i;

	if (spec_parse(&spec, s, &w) < 0) {
		if (!*w.text)
			abort();
		return;
	}
	for (int k = 0; k < spec.n; k++) {
		numbers(spec.pair[k].value);
		if (spec_float(&spec, spec.pair[k].key, -1, 1, &x, &w) == 1 && !(x >= -1 && x <= 1))
			abort();
		if (spec_int(&spec, "n", 0, 10, &i, &w) == 1 && (i < 0 || i > 10))
			abort();
		if (spec_str(&spec, spec.pair[k].key, &text, &w) == 1 && !*text)
			abort();
	}
	if (spec_done(&spec, &w) < 0)
		abort();
	spec_free(&spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	char *s = malloc(n + 1);

	if (!s)
		return 0;
	memcpy(s, p, n);
	s[n] = '\0';
	numbers(s);
	spec(s);
	free(s);
	return 0;
}
