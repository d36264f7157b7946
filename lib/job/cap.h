/* cap.h - how --memory is made for a command that knows nothing of it. */
#ifndef PILOT_CAP_H
#define PILOT_CAP_H

#include "../base/base.h"

struct cap {
	int64_t address_bytes; /* RLIMIT_AS of the command, for proc_start_as; 0 none */
	bool by_adapter;       /* set PILOT_MEMORY_BYTES: the adapter asks the framework */
	struct proc ballast;   /* holds the rest of the device */
	char how[200];         /* for run.memory_cap; "" where there is no cap */
};
/* bytes 0: no cap. device "cpu" or "cuda:N" (NULL: cpu); adapter: PyTorch's adapter will be there. Starts the ballast
 * where one is needed, so call it before tree_new. 0, -EX_USAGE for a device of no kind, -EX_UNAVAILABLE where the
 * ballast cannot be had (no driver, the device is too full already), saying why. */
int cap_set(struct cap *c, int64_t bytes, const char *device, bool adapter, struct why *w) MUST_USE;
/* Lets the device go. After tree_end. */
void cap_end(struct cap *c);

#endif
