/* num.c - strict numbers: the whole string, in range, with its unit. Never atoi:
 * "12x", "", " 1", "0x10", "inf" and overflow are refused, each by its reason. */
#include "base.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int refuse(struct why *w, const char *what, const char *s, const char *reason)
{
	return why_set(w, EX_USAGE, "%s: \"%.100s\": %s", what, s, reason);
}

int num_int(const char *s, const char *what, int64_t min, int64_t max, int64_t *out, struct why *w)
{
	const char *digits = s + (*s == '-');
	long long v;

	if (!*digits || digits[strspn(digits, "0123456789")])
		return refuse(w, what, s, "not a whole number");
	errno = 0;
	v = strtoll(s, NULL, 10);
	if (errno == ERANGE)
		return refuse(w, what, s, "does not fit into 64 bits");
	if (v < min)
		return why_set(w, EX_USAGE, "%s: %lld: less than %" PRId64, what, v, min);
	if (v > max)
		return why_set(w, EX_USAGE, "%s: %lld: more than %" PRId64, what, v, max);
	*out = v;
	return 0;
}

/* Length of a decimal number ([-]digits[.digits][e[+-]digits]) at s, 0 if there is none. */
static size_t decimal(const char *s)
{
	const char *p = s + (*s == '-');
	size_t before = strspn(p, "0123456789"), after = 0, exponent;

	p += before;
	if (*p == '.') {
		after = strspn(p + 1, "0123456789");
		p += 1 + after;
	}
	if (!before && !after)
		return 0;
	if (*p == 'e' || *p == 'E') {
		const char *e = p + 1 + (p[1] == '-' || p[1] == '+');

		exponent = strspn(e, "0123456789");
		if (exponent)
			p = e + exponent;
	}
	return (size_t)(p - s);
}

int num_float(const char *s, const char *what, double min, double max, double *out, struct why *w)
{
	size_t n = decimal(s);
	double v;

	if (!n || s[n])
		return refuse(w, what, s, "not a number");
	v = strtod(s, NULL);
	if (isinf(v))
		return refuse(w, what, s, "too large");
	if (v < min)
		return why_set(w, EX_USAGE, "%s: %.100s: less than %g", what, s, min);
	if (v > max)
		return why_set(w, EX_USAGE, "%s: %.100s: more than %g", what, s, max);
	*out = v;
	return 0;
}

/* A number that is not negative, followed by one of the letters of `units` or none
 * (*unit stays as it was). */
static int with_unit(const char *s, const char *what, const char *units, const char *reason, double *v, int *unit, struct why *w)
{
	size_t n = *s == '-' ? 0 : decimal(s);
	const char *u;

	if (!n)
		return refuse(w, what, s, reason);
	if (s[n]) {
		u = strchr(units, s[n]);
		if (!u || s[n + 1])
			return refuse(w, what, s, reason);
		*unit = (int)(u - units);
	}
	*v = strtod(s, NULL); /* stops at the unit */
	return 0;
}

int num_size(const char *s, const char *what, int64_t *out, struct why *w)
{
	static const char reason[] = "not a size: bytes, or a number with K, M, G or T (powers of 1024)";
	size_t digits = strspn(s, "0123456789");
	double v = 0, bytes;
	int unit = -1, r;

	if (digits && !s[digits]) /* exact beyond 2^53 */
		return num_int(s, what, 0, INT64_MAX, out, w);
	r = with_unit(s, what, "KMGTkmgt", reason, &v, &unit, w);
	if (r < 0)
		return r;
	bytes = ldexp(v, unit < 0 ? 0 : 10 * (unit % 4 + 1));
	if (!(bytes < 0x1p63))
		return refuse(w, what, s, "does not fit into 64 bits");
	if (bytes != floor(bytes) && unit < 0)
		return refuse(w, what, s, "not a whole number of bytes");
	*out = (int64_t)bytes;
	return 0;
}

int num_duration(const char *s, const char *what, double *out, struct why *w)
{
	static const double seconds[] = { 1, 60, 3600, 86400 };
	double v = 0;
	int unit = -1, r;

	r = with_unit(s, what, "smhd", "not a duration: seconds, or a number with s, m, h or d", &v, &unit, w);
	if (r < 0)
		return r;
	v *= unit < 0 ? 1 : seconds[unit];
	if (!(v <= 1e10))
		return refuse(w, what, s, "too long");
	*out = v;
	return 0;
}

static char *put(char *p, const char *s, int n)
{
	memcpy(p, s, (size_t)n);
	return p + n;
}

/* Lays out digits d (n of them, no point) with decimal exponent e as Python's repr does, less its ".0". */
static int lay_out(char out[32], bool minus, const char *d, int n, int e)
{
	char *p = out;
	int whole = n < e + 1 ? n : e + 1; /* digits before the point */

	if (minus)
		*p++ = '-';
	if (e < -4 || e >= 16) {
		*p++ = d[0];
		if (n > 1)
			p += sprintf(p, ".%.*s", n - 1, d + 1);
		p += sprintf(p, "e%c%02d", e < 0 ? '-' : '+', abs(e));
	} else if (e < 0) {
		p = put(p, "0.000", 1 - e);
		p = put(p, d, n);
	} else {
		p = put(p, d, whole);
		p = put(p, "0000000000000000", e + 1 - whole);
		if (n > whole)
			*p++ = '.';
		p = put(p, d + whole, n - whole);
	}
	*p = '\0';
	return (int)(p - out);
}

/* x > 0 to `precision` digits; whether they read back as x. */
static bool try_digits(double x, int precision, char text[32])
{
	snprintf(text, 32, "%.*e", precision - 1, x);
	return strtod(text, NULL) == x;
}

/* Below a power of two doubles lie twice as dense, so the nearest decimal may not read
 * back while its upper neighbour does. Steps text's last digit up; digits end at 'e'. */
static bool try_upper(double x, char text[32])
{
	char *p = strchr(text, 'e') - 1;

	for (; p >= text; p--) {
		if (*p == '.')
			continue;
		if (*p != '9') {
			++*p;
			return strtod(text, NULL) == x;
		}
		*p = '0';
	}
	return false;
}

/* The digits of 1e-5 <= a < 2^53, in whole numbers and so exactly; their count, 0 where this way
 * leads nowhere. a is m / 2^s. Of a times 10^k = N / 2^s the nearest whole number is the
 * shortest that reads back, for the least k at which it is less than half a unit of m away. */
static int quick_digits(double a, char d[32], int *e)
{
	int binary, n = 0;
	uint64_t m = (uint64_t)(frexp(a, &binary) * 0x1p53);
	int s = 53 - binary;
	unsigned __int128 N = m, unit = 1; /* below 2^127: m < 2^53, 10^22 < 2^74 */

	if (a < 1e-5 || a >= 0x1p53)
		return 0;
	for (int k = 0; k <= 22; k++, N *= 10, unit *= 10) {
		unsigned __int128 one = (unsigned __int128)1 << s, near = N >> s, off = N & (one - 1);
		if (2 * off > one || (2 * off == one && near & 1)) { /* of two as near the even one */
			near++;
			off = one - off;
		}
		if (off && (2 * off >= unit || m == UINT64_C(1) << 52)) /* at a power of two the units differ */
			continue;
		if (near >> 63)
			return 0;
		char *end = d + 32, *p = end;
		for (uint64_t rest = (uint64_t)near; rest; rest /= 10)
			*--p = (char)('0' + rest % 10);
		n = (int)(end - p);
		memmove(d, p, (size_t)n);
		*e = n - 1 - k;
		return n;
	}
	return 0;
}

int num_shortest(double x, char out[32])
{
	char text[32], d[32];
	double a = fabs(x);
	int half, precision = a < 0x1p-1022 ? 1 : 15, n = 0, e;

	if (a == 0)
		return lay_out(out, signbit(x), "0", 1, 0);
	n = quick_digits(a, d, &e);
	if (n) {
		while (n > 1 && d[n - 1] == '0')
			n--;
		return lay_out(out, signbit(x), d, n, e);
	}
	while (precision < 17 && !try_digits(a, precision, text)) {
		if (frexp(a, &half) == 0.5 && try_upper(a, text))
			break;
		precision++;
	}
	if (precision == 17)
		try_digits(a, 17, text);
	for (const char *p = text; *p != 'e'; p++)
		if (*p != '.')
			d[n++] = *p;
	e = atoi(strchr(text, 'e') + 1); /* our own digits */
	while (n > 1 && d[n - 1] == '0')
		n--;
	return lay_out(out, signbit(x), d, n, e);
}

const char *num_human_bytes(int64_t bytes, char out[16])
{
	static const char unit[] = "KMGTPE";
	double v = fabs((double)bytes);
	const char *sign = bytes < 0 ? "-" : "";
	int u = -1;

	while (v >= 999.95 && u < 5) {
		v /= 1024;
		u++;
	}
	if (u < 0)
		snprintf(out, 16, "%s%.0f", sign, v);
	else
		snprintf(out, 16, "%s%.1f%c", sign, v, unit[u]);
	return out;
}

bool num_same(const char *a, const char *b)
{
	double x, y;
	struct why w;

	return strcmp(a, b) == 0 || (num_float(a, "it", -1e300, 1e300, &x, &w) == 0 && num_float(b, "it", -1e300, 1e300, &y, &w) == 0 && x == y);
}
