/* The host as a test wants it, linked into a test-only probe-batch with --wrap: FAKE_AVAILABLE bytes
 * available, and as many out-of-memory kills as the file FAKE_KILLS has lines. With FAKE_ALLOC=N the Nth
 * allocation fails; the file FAKE_ALLOC_HIT is made if there was one. */
#include <stdlib.h>

#include "../../lib/base/base.h"
#include "../unit/alloc.h"

__attribute__((constructor)) static void arm(void)
{
	const char *n = getenv("FAKE_ALLOC");
	if (n)
		alloc_arm(atol(n), getenv("FAKE_ALLOC_ON") != NULL);
}

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("FAKE_ALLOC_HIT");
	bool hit = alloc_disarm();
	FILE *f = path && hit ? fopen(path, "w") : NULL;
	if (f)
		fclose(f);
}

int64_t __real_host_available(void);
int64_t __wrap_host_available(void);
int64_t __wrap_host_oom_kills(void);

int64_t __wrap_host_available(void)
{
	const char *s = getenv("FAKE_AVAILABLE");
	return s ? strtoll(s, NULL, 10) : __real_host_available();
}

int64_t __wrap_host_oom_kills(void)
{
	const char *path = getenv("FAKE_KILLS");
	FILE *f = path ? fopen(path, "r") : NULL;
	int64_t n = 0;
	if (!f)
		return path ? 0 : -1;
	for (int c; (c = getc(f)) != EOF;)
		n += c == '\n';
	fclose(f);
	return n;
}
