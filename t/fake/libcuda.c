/* A driver that only plays one, for lib/dev/ballast.c: FAKE_CUDA_DEVICES devices (2) of FAKE_CUDA_TOTAL bytes, of which
 * others hold FAKE_CUDA_USED, and which gives at most FAKE_CUDA_CHUNK at once; each allocation is a line of the file
 * FAKE_CUDA_LOG. CUDA_VISIBLE_DEVICES is heeded as far as a list of numbers goes. */
#include <stdio.h>
#include <stdlib.h>

enum { OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, PAGE = 2 << 20 };

int cuInit(unsigned flags);
int cuDeviceGet(int *device, int ordinal);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
int cuMemAlloc_v2(unsigned long long *at, size_t n);
int cuGetErrorString(int code, const char **words);

static int contexts[64], current = -1, initialised;
static long long taken[64];

static long long number(const char *name, long long otherwise)
{
	const char *s = getenv(name);

	return s ? strtoll(s, NULL, 10) : otherwise;
}

int cuInit(unsigned flags)
{
	if (flags || number("FAKE_CUDA_DEVICES", 2) == 0)
		return NO_DEVICE;
	initialised = 1;
	return OK;
}

int cuDeviceGet(int *device, int ordinal)
{
	const char *s = getenv("CUDA_VISIBLE_DEVICES");
	char *end;

	if (!initialised)
		return INVALID;
	if (!s) {
		*device = ordinal;
		return ordinal < number("FAKE_CUDA_DEVICES", 2) ? OK : INVALID_DEVICE;
	}
	for (int i = 0;; i++) {
		long d = strtol(s, &end, 10);

		if (end == s)
			return INVALID_DEVICE;
		if (i == ordinal) {
			*device = (int)d;
			return OK;
		}
		s = *end == ',' ? end + 1 : end;
	}
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
	contexts[device] = device;
	*context = &contexts[device];
	return OK;
}

int cuCtxSetCurrent(void *context)
{
	current = *(int *)context;
	return OK;
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	if (current < 0)
		return INVALID_CONTEXT;
	*total = (size_t)number("FAKE_CUDA_TOTAL", 8LL << 30);
	*free_bytes = (size_t)((long long)*total - number("FAKE_CUDA_USED", 0) - taken[current]);
	return OK;
}

int cuMemAlloc_v2(unsigned long long *at, size_t n)
{
	const char *log = getenv("FAKE_CUDA_LOG");
	size_t free_bytes, total;
	FILE *f;

	if (cuMemGetInfo_v2(&free_bytes, &total))
		return INVALID_CONTEXT;
	if (n > free_bytes || (long long)n > number("FAKE_CUDA_CHUNK", 1LL << 40))
		return OUT_OF_MEMORY;
	taken[current] += (long long)((n + PAGE - 1) / PAGE * PAGE);
	*at = 4096;
	f = log ? fopen(log, "a") : NULL;
	if (f) {
		fprintf(f, "%d %zu\n", current, n);
		fclose(f);
	}
	return OK;
}

int cuGetErrorString(int code, const char **words)
{
	*words = code == NO_DEVICE ? "no CUDA-capable device is detected" : code == INVALID_DEVICE ? "invalid device ordinal" : "fake error";
	return OK;
}
