/* rfc3339.c - times as text: 2026-11-30T18:34:05.123456789Z (RFC 3339). */
#include "inner.h"

enum { DAY = 86400 };

/* Days since 1970-01-01 of a date in the proleptic Gregorian calendar. A year is taken to begin
 * in March, so that the leap day is its last; an era is 400 years, 146097 days. */
static int64_t days_of(int64_t y, int m, int d)
{
	y -= m <= 2;
	int64_t era = (y >= 0 ? y : y - 399) / 400, year = y - era * 400;
	int64_t day = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
	return era * 146097 + year * 365 + year / 4 - year / 100 + day - 719468;
}

static void date_of(int64_t days, int64_t *y, int *m, int *d)
{
	days += 719468;
	int64_t era = (days >= 0 ? days : days - 146096) / 146097, day = days - era * 146097;
	int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	day -= 365 * year + year / 4 - year / 100;
	int64_t month = (5 * day + 2) / 153;
	*d = (int)(day - (153 * month + 2) / 5 + 1);
	*m = (int)(month < 10 ? month + 3 : month - 9);
	*y = year + era * 400 + (*m <= 2);
}

/* Two digits, and what follows them; printf is most of the cost of a record's JSON. */
static char *two(char *p, int v, const char *behind)
{
	*p++ = (char)('0' + v / 10);
	*p++ = (char)('0' + v % 10);
	if (behind)
		*p++ = *behind;
	return p;
}

/* "0.5" of a second is ".5": no zero that says nothing. */
static void fraction(int32_t ns, char *out)
{
	if (!ns) {
		strcpy(out, "Z");
		return;
	}
	char *end = out + 10;
	for (char *p = end; p > out + 1; ns /= 10)
		*--p = (char)('0' + ns % 10);
	*out = '.';
	while (end[-1] == '0')
		end--;
	strcpy(end, "Z");
}

bool rfc3339_write(struct timestamp t, char out[RFC3339_SIZE])
{
	int64_t days = t.seconds / DAY, rest = t.seconds % DAY, y;
	int m, d;
	if (rest < 0) {
		rest += DAY;
		days--;
	}
	if (days < days_of(0, 1, 1) || days > days_of(9999, 12, 31) || t.nanoseconds < 0 || t.nanoseconds > 999999999)
		return false;
	date_of(days, &y, &m, &d);
	out = two(two(out, (int)(y / 100), NULL), (int)(y % 100), "-");
	out = two(two(out, m, "-"), d, "T");
	out = two(two(out, (int)(rest / 3600), ":"), (int)(rest / 60 % 60), ":");
	fraction(t.nanoseconds, two(out, (int)(rest % 60), NULL));
	return true;
}

/* Exactly `digits` digits at *s. */
static bool number(const char **s, const char *end, int digits, int *out)
{
	for (*out = 0; digits--; (*s)++) {
		if (*s == end || **s < '0' || **s > '9')
			return false;
		*out = *out * 10 + (**s - '0');
	}
	return true;
}

static bool one_of(const char **s, const char *end, const char *set)
{
	return *s < end && **s && strchr(set, *(*s)++);
}

static int days_in(int y, int m)
{
	static const char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	return days[m - 1] + (m == 2 && ((y % 4 == 0 && y % 100) || y % 400 == 0));
}

static bool read_fraction(const char **s, const char *end, int32_t *ns)
{
	int digits = 0;
	*ns = 0;
	if (*s == end || **s != '.')
		return true;
	for (++*s; digits < 9 && *s < end && **s >= '0' && **s <= '9'; ++*s, digits++)
		*ns = *ns * 10 + (**s - '0');
	bool any = digits > 0; /* a tenth digit is left over, and refused as that */
	while (digits++ < 9)
		*ns *= 10;
	return any;
}

static bool read_zone(const char **s, const char *end, int *offset)
{
	int h, m;
	*offset = 0;
	if (*s < end && (**s == 'Z' || **s == 'z')) {
		++*s;
		return true;
	}
	if (*s == end || (**s != '+' && **s != '-'))
		return false;
	int sign = *(*s)++ == '-' ? -1 : 1;
	if (!number(s, end, 2, &h) || !one_of(s, end, ":") || !number(s, end, 2, &m) || h > 23 || m > 59)
		return false;
	*offset = sign * (h * 3600 + m * 60);
	return true;
}

bool rfc3339_read(const char *s, size_t n, struct timestamp *out)
{
	const char *end = s + n;
	int y, mo, d, h, mi, sec, offset;
	bool date = number(&s, end, 4, &y) && one_of(&s, end, "-") && number(&s, end, 2, &mo) && one_of(&s, end, "-") && number(&s, end, 2, &d);
	if (!date || mo < 1 || mo > 12 || d < 1 || d > days_in(y, mo) || !one_of(&s, end, "Tt "))
		return false;
	bool clock = number(&s, end, 2, &h) && one_of(&s, end, ":") && number(&s, end, 2, &mi) && one_of(&s, end, ":") && number(&s, end, 2, &sec);
	if (!clock || h > 23 || mi > 59 || sec > 59 || !read_fraction(&s, end, &out->nanoseconds))
		return false;
	if (!read_zone(&s, end, &offset) || s != end)
		return false;
	out->seconds = days_of(y, mo, d) * DAY + h * 3600 + mi * 60 + sec - offset;
	return true;
}
