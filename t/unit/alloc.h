/* alloc.h - fails the Nth allocation that our objects ask of the host.
 *
 * The Makefile links a test program that includes this file with -Wl,--wrap for the functions
 * below, so calls from libpilot.a and the test come here; those inside shared libraries do not.
 * A leak on such a path shows in the sanitizers' build of the same test.
 *
 *	static int parse(void *ctx) { ... return spec_parse(...); }   frees what it made
 *	alloc_each("spec_parse", parse, NULL);
 */
#ifndef PILOT_ALLOC_H
#define PILOT_ALLOC_H

#include <errno.h>

#include "tap.h"

static long alloc_seen, alloc_fail_at; /* 0: none fails */
static bool alloc_hit, alloc_from;     /* from: every one from that on */

static inline bool alloc_refused(void)
{
	alloc_seen++;
	if (!alloc_fail_at || alloc_seen < alloc_fail_at || (!alloc_from && alloc_seen > alloc_fail_at))
		return false;
	alloc_hit = true;
	errno = ENOMEM;
	return true;
}

#define ALLOC_WRAP(result, name, parameters, arguments) \
	result __real_##name parameters; \
	result __wrap_##name parameters; \
	result __wrap_##name parameters { return alloc_refused() ? NULL : __real_##name arguments; }
ALLOC_WRAP(void *, malloc, (size_t n), (n))
ALLOC_WRAP(void *, calloc, (size_t n, size_t m), (n, m))
ALLOC_WRAP(void *, realloc, (void *p, size_t n), (p, n))
ALLOC_WRAP(void *, reallocarray, (void *p, size_t n, size_t m), (p, n, m))
ALLOC_WRAP(char *, strdup, (const char *s), (s))
ALLOC_WRAP(char *, strndup, (const char *s, size_t n), (s, n))
ALLOC_WRAP(void *, aligned_alloc, (size_t a, size_t n), (a, n))
int __real_posix_memalign(void **p, size_t a, size_t n);
int __wrap_posix_memalign(void **p, size_t a, size_t n);
int __wrap_posix_memalign(void **p, size_t a, size_t n)
{
	return alloc_refused() ? ENOMEM : __real_posix_memalign(p, a, n);
}

/* The nth allocation from now fails; with `on` all that follow it too. */
static inline void alloc_arm(long nth, bool on)
{
	alloc_seen = 0;
	alloc_hit = false;
	alloc_from = on;
	alloc_fail_at = nth;
}

/* No more failures; whether one happened. */
static inline bool alloc_disarm(void)
{
	alloc_fail_at = 0;
	return alloc_hit;
}

/* Calls f with the 1st, 2nd, 3rd... allocation failing until it runs without meeting the failure;
 * then the same with all later ones failing too. f returns 0, or <0 for a failure that it reported;
 * it must release what it made. One check: it never reports a failure that was not caused, and it
 * notices each one, unless `optional` (caches and the like may go on without). */
static inline bool alloc_each_(const char *what, int (*f)(void *), void *ctx, bool optional)
{
	long failures = 0, missed = 0;

	for (int on = 0; on < 2; on++)
		for (long n = 1;; n++) {
			alloc_arm(n, on);
			int r = f(ctx);

			if (!alloc_disarm()) {
				if (r < 0)
					return ok(false, "%s: failed with %d though all allocations succeeded", what, r);
				break;
			}
			failures++;
			missed += r >= 0;
		}
	return ok(failures > 0 && (optional || missed == 0), "%s: %ld failed allocations, %ld of them not reported", what, failures, missed);
}
static inline bool alloc_each(const char *what, int (*f)(void *), void *ctx)
{
	return alloc_each_(what, f, ctx, false);
}
static inline bool alloc_each_optional(const char *what, int (*f)(void *), void *ctx)
{
	return alloc_each_(what, f, ctx, true);
}

#endif
