/* dev.h - floor 3: devices behind one small interface. The cpu stands here; a
 * CUDA plug-in with the same table of functions comes later.
 *
 * Memory is planned before it is taken: a layout adds up tensors, the whole is
 * allocated as one block when its phase first needs it, and running out is a
 * return value at that one place. */
#ifndef PILOT_DEV_H
#define PILOT_DEV_H

#include "../base/base.h"

struct dev;

/* Three counters, never added together; each with its peak since dev_mark. */
struct dev_memory {
	int64_t allocated, allocated_peak; /* bytes held by tensors */
	int64_t reserved, reserved_peak;   /* bytes taken from the device (whole pages) */
	int64_t used, used_peak;           /* what the device reports; cpu: resident set */
};

/* name "cpu"; budget_bytes 0 is no limit; threads 0 is all cores. -EX_UNAVAILABLE if there is no such device.
 * A budget bounds the reserved bytes of all blocks together: what a smaller device would have to give. What the
 * process needs besides (code, libraries, the BLAS library's own buffers, data sets on the host) is in `used` alone.
 * The number of threads is the process's: of several open devices the last one opened sets it. */
int dev_open(struct dev **d, const char *name, int64_t budget_bytes, int threads, struct why *w) MUST_USE;
void dev_close(struct dev *d); /* d may be NULL */
const char *dev_name(const struct dev *d);
const char *dev_blas(const struct dev *d); /* library and kernel of the matrix products */
/* Repeats a run bit by bit. The cpu does, and for any number of threads: no sum is cut by threads (with a BLAS library
 * whose own sums do not depend on which rows and columns are asked for; OpenBLAS's do not). Another kind of processor
 * or another build gives other bits. */
bool dev_deterministic(const struct dev *d);
int dev_threads(const struct dev *d);
void dev_memory(const struct dev *d, struct dev_memory *m);
void dev_mark(struct dev *d); /* peaks start again from the present values */
void dev_sync(struct dev *d);

/* ---- memory ---- */

#define DEV_ALIGN 64 /* every tensor begins at a multiple of it */
int64_t dev_round(int64_t bytes);          /* a tensor's bytes as a layout counts them */
int64_t dev_reserved(int64_t block_bytes); /* what a block of that size takes from the device */

/* Takes one block. bytes 0 gives *p = NULL and 0. Returns 0, or -EX_NO: the budget or
 * the device has no room (dev_oom tells), leaving everything as it was. `what` names the phase. */
int dev_alloc(struct dev *d, int64_t bytes, const char *what, void **p, struct why *w) MUST_USE;
void dev_free(struct dev *d, void *p); /* p may be NULL */
struct dev_oom {
	char what[32];
	int64_t asked, allocated, budget;
};
void dev_last_oom(const struct dev *d, struct dev_oom *o);
/* For tests: the nth allocation from now fails as if there were no room; 0 none. */
void dev_fail_at(struct dev *d, int64_t nth);

/* Between the host and a block: tensors are read and written from outside (files, tests) with these. */
void dev_read(struct dev *d, void *host, const void *from, int64_t bytes);
void dev_write(struct dev *d, void *to, const void *host, int64_t bytes);

/* ---- the operations: see the table in ops.h ---- */

struct ops;
const struct ops *dev_ops(const struct dev *d);

#endif
