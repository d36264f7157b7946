/* A driver's library that only plays one, for lib/dev/nvml.c. The file FAKE_NVML says what it tells, a line each:
 * "DEVICE used BYTES", and "DEVICE PID BYTES" for a process (BYTES - : the driver does not know). Built twice: with
 * -DOLD it has the first layout of a process only. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, TOO_SMALL = 7, ERROR = 999 };
struct memory {
	unsigned long long total, free, used;
};
struct process {
	unsigned pid;
	unsigned long long used;
#ifndef OLD
	unsigned instance, compute_instance;
#endif
};
#ifdef OLD
#define PROCESSES nvmlDeviceGetComputeRunningProcesses
#else
#define PROCESSES nvmlDeviceGetComputeRunningProcesses_v3
#endif

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *m);
int PROCESSES(void *device, unsigned *count, struct process *p);

static int devices[2];

int nvmlInit_v2(void)
{
	return getenv("FAKE_NVML") ? SUCCESS : ERROR;
}

int nvmlShutdown(void)
{
	return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = 2;
	return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device)
{
	devices[i] = (int)i;
	*device = &devices[i];
	return SUCCESS;
}

/* The next line about a device: its word and its bytes. */
static int next(FILE *f, const void *device, char word[32], unsigned long long *bytes)
{
	char line[128], n[32];
	int d;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%d %31s %31s", &d, word, n) == 3 && d == *(const int *)device) {
			*bytes = *n == '-' ? ULLONG_MAX : strtoull(n, NULL, 10);
			return 1;
		}
	return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *m)
{
	FILE *f = fopen(getenv("FAKE_NVML"), "r");
	unsigned long long bytes;
	char word[32];

	*m = (struct memory){ .total = 8ULL << 30 };
	while (next(f, device, word, &bytes))
		if (!strcmp(word, "used"))
			m->used = bytes;
	m->free = m->total - m->used;
	if (f)
		fclose(f);
	return SUCCESS;
}

int PROCESSES(void *device, unsigned *count, struct process *p)
{
	FILE *f = fopen(getenv("FAKE_NVML"), "r");
	unsigned long long bytes;
	unsigned room = *count, n = 0;
	char word[32];

	while (next(f, device, word, &bytes)) {
		if (!strcmp(word, "used"))
			continue;
		if (n < room) {
			p[n] = (struct process){ .used = bytes };
			p[n].pid = (unsigned)atoi(word);
		}
		n++;
	}
	if (f)
		fclose(f);
	*count = n;
	return n > room ? TOO_SMALL : SUCCESS;
}
