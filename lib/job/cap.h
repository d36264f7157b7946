/* cap.h - how --memory is made for a command that knows nothing of it.
 *
 * On the host: RLIMIT_AS, a bound on the address space of each process, so that the framework's own allocator
 * fails. It counts what is mapped, not what is touched. Measured on two cores (MiB; PyTorch on the CPU):
 * - `import torch` maps 785 (1.13, Debian; resident 227) or 3070 (2.15 with CUDA libraries; resident 526). Each
 *   thread of OpenMP after the first adds 136 of OpenBLAS's buffer and stack, and 64 of an arena of malloc, unless
 *   MALLOC_ARENA_MAX=2 is set, as it is under a cap: of 8 threads 1984 instead of 2369.
 * - VmPeak then grows with the batch as resident memory does, to the MiB: it is usable for a line. With malloc as it
 *   is, one size repeats to 1 % (1116 to 1127), and the line bends where tensors grow beyond malloc's threshold,
 *   which moves up to 32 MiB: blocks below it stay in the heap in pieces (a small GPT at 64, 128, 256, 512 rows:
 *   1117, 1330, 1750, 2350).
 * - MALLOC_MMAP_THRESHOLD_=131072 in the environment (--env) keeps that threshold: sizes repeat to 0.2 MiB in
 *   1224, the line is exact (1023.5, 1130.9, 1346, 1774: 1.67 a row), and the same batch needs up to a third less;
 *   an update took up to a fifth more time in the kernel. It is the user's choice, not set here: what fits with
 *   it need not fit without it. Exact edges in a test want it.
 * - Short of memory, PyTorch says "DefaultCPUAllocator: can't allocate memory"; Python MemoryError or OSError 12; an
 *   import "failed to map segment from shared object"; libstdc++ std::bad_alloc; and OpenBLAS before 0.3.22 asks for
 *   its buffer (128 MiB) again and again for ever: tree_stuck sees it.
 *
 * On a CUDA device: the adapter asks PyTorch (memory fraction); for other programs a ballast, a process of ours that
 * holds all but the wanted size of what is free there. */
#ifndef PILOT_CAP_H
#define PILOT_CAP_H

#include "../base/base.h"

struct cap {
	int64_t address_bytes; /* RLIMIT_AS of the command, for proc_start_as; 0 none */
	bool by_adapter;       /* set PILOT_MEMORY_BYTES: the adapter asks the framework */
	struct proc ballast;   /* holds the rest of the device */
	char how[200];         /* for run.memory_cap; "" where there is no cap */
};
/* bytes 0: no cap. device "cpu" or "cuda:N" (NULL: cpu); adapter: PyTorch's adapter will be there; env: NAME=VALUE
 * that the command gets besides our environment (which devices are visible), NULL-terminated, may be NULL. Starts the
 * ballast where one is needed, so call it before tree_new. 0, -EX_USAGE for a device of no kind, -EX_UNAVAILABLE where
 * the ballast cannot be had (no driver, the device is too full already), saying why. */
int cap_set(struct cap *c, int64_t bytes, const char *device, bool adapter, char *const *env, struct why *w) MUST_USE;
/* Lets the device go. After tree_end. */
void cap_end(struct cap *c);

#endif
