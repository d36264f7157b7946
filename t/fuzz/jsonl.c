/* jsonl.c - any line as JSON: what is read is a record in form, and its JSON view reads back. */
#include "../../lib/wire/wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void must(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf m1 = {0}, j1 = {0}, m2 = {0}, j2 = {0};
	struct why w = {0};
	struct view v;
	int rc = json_read((const char *)p, n, &m1, &w);
	must(rc == 0 || (rc == -EX_DATAERR && strstr(w.text, "JSON: ")));
	if (rc == 0) {
		must(scan_size(m1.p, m1.n, &w) == (ssize_t)m1.n);
		must(json_write(m1.p, m1.n, &j1) == 0);
		must(json_read((char *)j1.p, j1.n, &m2, &w) == 0);
		/* A time in a field that is not known comes back as the string that shows it. */
		must(memmem(p, n, "$ext", 4) || memmem(p, n, "u00", 3) || (m2.n == m1.n && !memcmp(m1.p, m2.p, m1.n)));
		must(json_write(m2.p, m2.n, &j2) == 0 && j1.n == j2.n && !memcmp(j1.p, j2.p, j1.n));
		rc = view_open(&v, m1.p, m1.n, &w);
		must(rc == 0 || *w.text);
	}
	buf_free(&m1);
	buf_free(&j1);
	buf_free(&m2);
	buf_free(&j2);
	return 0;
}
