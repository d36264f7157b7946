/* nvml.c - asks libnvidia-ml.so.1 who holds how much memory of which device. */
#include "nvml.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* As the interface has them. A list of processes has two layouts: before version 2 and from it on. */
enum { NVML_SUCCESS = 0, NVML_TOO_SMALL = 7 };
struct nvml_memory {
	unsigned long long total, free, used;
};
struct process_1 {
	unsigned pid;
	unsigned long long used;
};
struct process_2 {
	unsigned pid;
	unsigned long long used;
	unsigned instance, compute_instance;
};
typedef int call_none(void);
typedef int call_count(unsigned *);
typedef int call_handle(unsigned, void **);
typedef int call_memory(void *, struct nvml_memory *);
typedef int call_processes(void *, unsigned *, void *);

enum { MOST_DEVICES = 64 };

struct nvml {
	void *library;
	call_none *init, *shutdown;
	call_count *count;
	call_handle *handle;
	call_memory *memory;
	call_processes *processes; /* NULL: no list */
	size_t entry;              /* bytes of one process in it */
	void *device[MOST_DEVICES];
	int devices;
	unsigned char *list; /* owned */
	size_t cap;          /* processes that it has room for */
};

/* ISO C has no way from an object pointer to a function's but by its bytes. */
static bool find(struct nvml *n, const char *name, void *function)
{
	void *p = dlsym(n->library, name);

	memcpy(function, &p, sizeof p);
	return p != NULL;
}

static bool find_all(struct nvml *n)
{
	n->entry = sizeof(struct process_2);
	if (!find(n, "nvmlDeviceGetComputeRunningProcesses_v3", &n->processes) &&
	    !find(n, "nvmlDeviceGetComputeRunningProcesses_v2", &n->processes) &&
	    find(n, "nvmlDeviceGetComputeRunningProcesses", &n->processes))
		n->entry = sizeof(struct process_1);
	return find(n, "nvmlInit_v2", &n->init) && find(n, "nvmlShutdown", &n->shutdown) && find(n, "nvmlDeviceGetCount_v2", &n->count) &&
		find(n, "nvmlDeviceGetHandleByIndex_v2", &n->handle) && find(n, "nvmlDeviceGetMemoryInfo", &n->memory);
}

static void find_devices(struct nvml *n)
{
	unsigned count = 0;

	if (n->count(&count) != NVML_SUCCESS)
		return;
	for (unsigned i = 0; i < count && n->devices < MOST_DEVICES; i++)
		if (n->handle(i, &n->device[n->devices]) == NVML_SUCCESS)
			n->devices++;
}

struct nvml *nvml_open(void)
{
	struct nvml *n = calloc(1, sizeof *n);

	if (!n)
		return NULL;
	n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (n->library && find_all(n) && n->init() == NVML_SUCCESS) {
		find_devices(n);
		if (n->devices > 0)
			return n;
		n->shutdown();
	}
	if (n->library)
		dlclose(n->library);
	free(n);
	return NULL;
}

void nvml_close(struct nvml *n)
{
	if (!n)
		return;
	n->shutdown();
	dlclose(n->library);
	free(n->list);
	free(n);
}

int nvml_devices(const struct nvml *n)
{
	return n->devices;
}

/* The processes on a device, into the list; how many. */
static unsigned list_of(struct nvml *n, void *device)
{
	unsigned count = (unsigned)n->cap;
	int r = NVML_TOO_SMALL;

	for (int tries = 0; n->processes && r == NVML_TOO_SMALL && tries < 4; tries++) {
		if (!n->list || tries) {
			size_t cap = (count > n->cap ? count : n->cap) + 16;
			unsigned char *p = realloc(n->list, cap * n->entry);

			if (!p)
				return 0;
			n->list = p;
			n->cap = cap;
		}
		count = (unsigned)n->cap;
		r = n->processes(device, &count, n->list);
	}
	return r == NVML_SUCCESS && count <= n->cap ? count : 0;
}

static bool is_mine(const pid_t *pid, int count, unsigned other)
{
	for (int i = 0; i < count; i++)
		if (pid[i] >= 0 && (unsigned)pid[i] == other)
			return true;
	return false;
}

/* Bytes of these processes on a device; -1 if none of them is listed, or the driver does not tell how much. */
static int64_t mine_on(struct nvml *n, void *device, const pid_t *pid, int count)
{
	unsigned listed = list_of(n, device);
	int64_t sum = -1;

	for (unsigned i = 0; i < listed; i++) {
		struct process_2 p = { 0 };

		if (n->entry == sizeof p) {
			memcpy(&p, n->list + i * n->entry, sizeof p);
		} else {
			struct process_1 old;

			memcpy(&old, n->list + i * n->entry, sizeof old);
			p.pid = old.pid;
			p.used = old.used;
		}
		if (is_mine(pid, count, p.pid) && p.used <= INT64_MAX)
			sum = (sum < 0 ? 0 : sum) + (int64_t)p.used;
	}
	return sum;
}

void nvml_look(struct nvml *n, const pid_t *pid, int count, struct nvml_use *use)
{
	int64_t any = -1, theirs = -1;

	*use = (struct nvml_use){ -1, -1 };
	for (int i = 0; n && i < n->devices; i++) {
		struct nvml_memory m = { 0 };
		int64_t mine = mine_on(n, n->device[i], pid, count), used = -1;

		if (n->memory(n->device[i], &m) == NVML_SUCCESS)
			used = (int64_t)m.used;
		if (used > any)
			any = used;
		if (mine < 0)
			continue;
		use->mine = (use->mine < 0 ? 0 : use->mine) + mine;
		if (used > theirs)
			theirs = used;
	}
	use->all = use->mine >= 0 ? theirs : any;
}
