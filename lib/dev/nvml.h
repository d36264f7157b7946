/* nvml.h - floor 3: memory of NVIDIA devices as the driver counts it, by process, through libnvidia-ml.so.1.
 *
 * The library is looked for when it is opened; where it is not there, or says nothing, all is unknown and
 * nothing is an error. Own prototypes of its published interface (NVML API reference); no CUDA context is made,
 * and no BLAS or OpenMP is linked by this file. */
#ifndef PILOT_NVML_H
#define PILOT_NVML_H

#include "../base/base.h"

struct nvml;
struct nvml *nvml_open(void); /* NULL: unknown here */
void nvml_close(struct nvml *n); /* n may be NULL */
int nvml_devices(const struct nvml *n);

struct nvml_use {
	int64_t mine; /* bytes that these processes hold on all devices together; -1: none of them is listed */
	int64_t all;  /* highest bytes in use on one device where they are listed (on any, if on none); -1 unknown */
};
/* n may be NULL. In a container the driver may list processes by numbers that are not ours: mine is then -1. */
void nvml_look(struct nvml *n, const pid_t *pid, int count, struct nvml_use *use);

#endif
