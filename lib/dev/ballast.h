/* ballast.h - floor 3: holds so much of an NVIDIA device that only a wanted size is left free.
 *
 * For programs whose framework has no limit of its own: they then run out as on a smaller device. Through the
 * driver's interface in libcuda.so.1, found when it is called, by own prototypes; no BLAS or OpenMP is linked. */
#ifndef PILOT_BALLAST_H
#define PILOT_BALLAST_H

#include "../base/base.h"

struct ballast_held {
	int64_t held, free, total; /* bytes: by us, left, of the device */
};
/* Takes all but leave_bytes of the device's free memory, in the calling process, for as long as that lives (a child
 * of its own: it makes a CUDA context). number: as CUDA_VISIBLE_DEVICES numbers them. -EX_UNAVAILABLE: no driver,
 * no such device, or less is free than shall be left, in words. */
int ballast_take(int number, int64_t leave_bytes, struct ballast_held *h, struct why *w) MUST_USE;

#endif
