/* records.c - any bytes as a record: what opens survives every view, and the views agree. */
#include "../../lib/wire/wire.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* Every field is asked for in every way. */
static void ask(const struct view *v)
{
	char text[64];
	const char *s;
	size_t size;
	int64_t i;
	double x;
	bool b;
	struct timestamp t;
	for (int f = F_NONE; f < FIELDS; f++) {
		bool is_int = view_int(v, (enum field)f, &i), is_num = view_num(v, (enum field)f, &x), is_str = view_str(v, (enum field)f, &s, &size);
		must(!is_int || is_num);
		must(!(is_num && is_str));
		must(!is_str || (s >= (const char *)v->raw && s + size <= (const char *)v->raw + v->size));
		must(view_copy(v, (enum field)f, text, sizeof text) == is_str && strlen(text) < sizeof text);
		view_bool(v, (enum field)f, &b);
		must(!view_time(v, (enum field)f, &t) || (t.nanoseconds >= 0 && t.nanoseconds < 1000000000));
		int items = view_count(v, (enum field)f);
		for (int k = -1; k <= items && k < 100; k++) {
			bool number = view_item_num(v, (enum field)f, k, &x), string = view_item_str(v, (enum field)f, k, &s, &size);
			must(!view_item_int(v, (enum field)f, k, &i) || number);
			must((number || string) == (k >= 0 && k < items));
		}
	}
}

static void pairs(const struct view *v)
{
	struct view_pair p = {0};
	size_t end = 0;
	while (view_next_pair(v, &p)) {
		must(p.value + p.value_size <= v->raw + v->size && p.next > end);
		end = p.next;
	}
	must(end == v->size);
}

/* Integers beyond int64 and keys that become alike in JSON are the only ones that do not come back. */
static void json(const struct view *v)
{
	struct buf j1 = {0}, m = {0}, j2 = {0};
	struct why w = {0};
	struct view back;
	must(json_write(v->raw, v->size, &j1) == 0 && !memchr(j1.p, '\n', j1.n));
	if (json_read((char *)j1.p, j1.n, &m, &w) == 0) {
		must(scan_size(m.p, m.n, &w) == (ssize_t)m.n);
		must(view_open(&back, m.p, m.n, &w) == 0 && back.kind == v->kind);
		must(json_write(m.p, m.n, &j2) == 0);
		/* Binary may look like $ext and the other way round; the third view is the second. */
		buf_free(&j1);
		must(json_read((char *)j2.p, j2.n, &m, &w) == 0 && json_write(m.p, m.n, &j1) == 0);
		must(j1.n == j2.n && !memcmp(j1.p, j2.p, j1.n));
	} else {
		must(strstr(w.text, "integer") || strstr(w.text, "1 MiB") || strstr(w.text, "65536"));
	}
	buf_free(&j1);
	buf_free(&m);
	buf_free(&j2);
}

static void text(const struct view *v)
{
	struct text t = {.width = 60, .all = true};
	struct buf b = {0};
	must(text_write(&t, v, &b) == 0);
	for (size_t i = 0; i < b.n; i++)
		must(b.p[i] == '\n' || (b.p[i] >= 0x20 && b.p[i] != 0x7f));
	buf_free(&b);
}

/* What is known of a record, in one number: the two ways of reading must agree on it. */
static uint64_t print_of(const struct view *v)
{
	uint64_t h = v->kind * 31u + v->size;
	for (int f = F_NONE + 1, place = 0; f < FIELDS; f++)
		if (field_info((enum field)f)->kind == v->kind)
			h = (h ^ v->at[place++]) * 1099511628211u;
	return h;
}

/* The stream reader, which is quick where it can be, must find the same records as scan_size
 * and view_open do one by one. */
static uint64_t prints[1 << 16];

static int records(const uint8_t *p, size_t n)
{
	struct view v;
	struct why w = {0};
	int count = 0;
	while (n && *p >= 0x80) {
		ssize_t size = scan_size(p, n, &w);
		must(size >= -EX_DATAERR && size <= REC_MAX_BYTES && (size <= 0 || (size_t)size <= n));
		if (size <= 0 || view_open(&v, p, (size_t)size, &w))
			break;
		prints[count] = print_of(&v);
		ask(&v);
		pairs(&v);
		json(&v);
		text(&v);
		p += size;
		n -= (size_t)size;
		count++;
	}
	return count;
}

static int stream(const uint8_t *p, size_t n, int known, int *end)
{
	struct in *i = NULL;
	struct view v;
	struct why w = {0};
	int fd = memfd_create("records", 0), count = 0;
	must(write(fd, p, n) == (ssize_t)n && lseek(fd, 0, SEEK_SET) == 0 && in_open(&i, fd, "fuzz", &w) == 0);
	while ((*end = in_next(i, &v, &w)) > 0) {
		must(count >= known || print_of(&v) == prints[count]);
		count++;
	}
	must(*end == 0 || (*end == -EX_DATAERR && strstr(w.text, "fuzz: record ")));
	in_close(i);
	close(fd);
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	int one_by_one = records(p, n > 1 << 16 ? 1 << 16 : n), end, read = stream(p, n, one_by_one, &end);
	must(read >= one_by_one && (one_by_one || !n || *p < 0x80 || read == 0));
	return 0;
}
