/* csv.c - any bytes as a table: refused with a line, or every row has all its cells; then as data with
 * the first column as the class. */
#include <stdlib.h>
#include <string.h>

#include "../unit/memfile.h"
#include "../../lib/train/train.h"

static void touch(const struct csv *c)
{
	for (int64_t i = 0; i < c->rows * c->columns; i++)
		if (strlen(c->cell[i]) > 1 << 20)
			abort();
	for (int64_t i = 1; i < c->rows; i++)
		if (c->line[i] <= c->line[i - 1])
			abort();
}

/* A spec cannot name every column: commas and backslashes are escaped. */
static void as_data(const char *path, const char *class)
{
	char spec[4200], *to = spec + sprintf(spec, "csv:file=%s,class=", path);
	struct data *d;

	if (strlen(class) > 1000)
		return;
	for (const char *s = class; *s; s++) {
		if (*s == ',' || *s == '\\')
			*to++ = '\\';
		*to++ = *s;
	}
	*to = 0;
	if (data_open(&d, spec, 0, 1, NULL) == 0) {
		if (data_facts(d)->shared_examples || data_facts(d)->shared_groups)
			abort();
		data_close(d);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct memfile m = memfile(p, n);
	struct why w = { 0 };
	struct csv c;

	if (csv_open(&c, m.path, &w)) {
		if (!*w.text || strpbrk(w.text, "\n\x1b"))
			abort();
	} else {
		touch(&c);
		as_data(m.path, c.name[0]);
		csv_close(&c);
	}
	memfile_close(&m);
	return 0;
}
