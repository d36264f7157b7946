/* safetensors.c - any bytes as a safetensors file: refused with a reason, or every tensor can be read whole. */
#include <stdlib.h>
#include <string.h>

#include "../unit/memfile.h"
#include "../../lib/file/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct memfile m = memfile(p, n);
	struct why w = { 0 };
	struct st *f;
	int64_t at = 0;

	if (st_open(&f, m.path, &w)) {
		if (!*w.text || strpbrk(w.text, "\n\x1b"))
			abort();
		memfile_close(&m);
		return 0;
	}
	for (int i = 0; i < st_count(f); i++) {
		const struct st_tensor *t = st_tensor(f, i);
		unsigned char *x = malloc((size_t)(t->end - t->begin) + 1);
		if (!x || t->begin != at || st_find(f, t->name) != t || st_read(f, t, x, &w))
			abort();
		at = t->end;
		free(x);
	}
	st_close(f);
	memfile_close(&m);
	return 0;
}
