/* idx.c - any bytes as an idx file, plain or gzip: refused with a reason, or as long as its sizes say. */
#include <stdlib.h>
#include <string.h>

#include "../unit/memfile.h"
#include "../../lib/file/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct memfile m = memfile(p, n);
	struct why w = { 0 };
	struct idx x;
	static volatile unsigned sum; /* so that every byte is read */

	if (idx_open(&x, m.path, &w)) {
		if (!*w.text)
			abort();
	} else {
		int64_t all = 1;
		for (int i = 0; i < x.dims; i++)
			all *= x.shape[i];
		for (int64_t i = 0; i < all; i++)
			sum += x.data[i];
		idx_close(&x);
	}
	memfile_close(&m);
	return 0;
}
