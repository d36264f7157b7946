/* tap.h - a test program's words: each check prints one line of TAP.
 *
 *	int main(void) { is_int(1 + 1, 2, "sum"); return done_testing(); }
 *
 * To fail the Nth allocation of the host, include "alloc.h" too. */
#ifndef PILOT_TAP_H
#define PILOT_TAP_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_count, tap_failed;

__attribute__((format(printf, 2, 0))) static inline void tap_line(bool good, const char *fmt, va_list ap)
{
	printf("%sok %d - ", good ? "" : "not ", ++tap_count);
	vprintf(fmt, ap);
	putchar('\n');
	fflush(stdout); /* a crash later must not lose it */
	tap_failed += !good;
}

/* Returns cond, so that a test can give up. */
__attribute__((format(printf, 2, 3))) static inline bool ok(bool cond, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_line(cond, fmt, ap);
	va_end(ap);
	return cond;
}

__attribute__((format(printf, 1, 2))) static inline void diag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("# ", stdout);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
}

static inline bool is_int(long long got, long long want, const char *what)
{
	if (!ok(got == want, "%s", what))
		diag("got %lld, expected %lld", got, want);
	return got == want;
}

static inline bool is_str(const char *got, const char *want, const char *what)
{
	bool same = got && want ? !strcmp(got, want) : got == want;

	if (!ok(same, "%s", what))
		diag("got \"%s\", expected \"%s\"", got ? got : "(null)", want ? want : "(null)");
	return same;
}

/* |got - want| at most tolerance; NaN is near nothing. */
static inline bool is_near(double got, double want, double tolerance, const char *what)
{
	bool near = fabs(got - want) <= tolerance;

	if (!ok(near, "%s", what))
		diag("got %.17g, expected %.17g within %g", got, want, tolerance);
	return near;
}

/* text holds part. */
static inline bool has_str(const char *text, const char *part, const char *what)
{
	bool has = text && strstr(text, part);

	if (!ok(has, "%s", what))
		diag("got \"%s\", expected \"%s\" in it", text ? text : "(null)", part);
	return has;
}

/* One check that cannot be made here, for a reason. */
__attribute__((format(printf, 2, 3))) static inline void skip(const char *what, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("ok %d - %s # skip ", ++tap_count, what);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
}

/* The whole program; ends it. */
static inline void skip_all(const char *reason)
{
	printf("1..0 # skip %s\n", reason);
	exit(0);
}

static inline int done_testing(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}

#endif
