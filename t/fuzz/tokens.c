/* tokens.c - any bytes as a row of tokens (or as text): refused, or every window can be read. The first
 * byte is the length of a window. */
#include <stdlib.h>
#include <string.h>

#include "../unit/memfile.h"
#include "../../lib/train/train.h"

static void read_all(const struct data *d)
{
	const struct data_facts *f = data_facts(d);
	struct example_text x = { 0 };
	struct batch b;
	struct why w = { 0 };

	if (batch_init(&b, 1, f->length, true))
		abort();
	for (enum split s = 0; s < SPLITS; s++)
		for (int64_t i = 0; i < f->count[s]; i++) {
			if (data_fill(d, s, &i, 1, 0, &b, &w) || data_describe(d, s, i, &x, &w))
				abort();
			for (int64_t t = 0; t < b.length; t++)
				if (b.ids[t] < 0 || b.ids[t] >= f->classes || b.targets[t] < 0 || b.targets[t] >= f->classes)
					abort();
		}
	if (f->shared_examples)
		abort();
	batch_free(&b);
	example_text_free(&x);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct memfile m = memfile(p + (n > 0), n - (n > 0));
	struct why w = { 0 };
	char spec[100];
	struct data *d;

	snprintf(spec, sizeof spec, "%s:file=%s", n && p[0] & 1 ? "tokens" : "text", m.path);
	if (data_open(&d, spec, n ? p[0] / 2 : 0, 1, &w) == 0) {
		read_all(d);
		data_close(d);
	} else if (!*w.text) {
		abort();
	}
	memfile_close(&m);
	return 0;
}
