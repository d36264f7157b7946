/* in.c - reading a stream. A record is msgpack if it begins with the head of a map, JSON
 * if with a brace or white space; the two may follow one another. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "inner.h"

enum { FIRST_CAP = 1 << 16 };

struct in {
	int fd, failed; /* failed: the code that every later call returns */
	bool end;       /* read(2) has said 0 */
	unsigned char *p;
	size_t from, n, cap; /* bytes from..n of p wait to be taken */
	size_t looked;       /* of a JSON line: bytes in which there is no newline */
	size_t whole;        /* length of the record that is known to wait whole; 0 not known */
	struct scan scan;    /* of a msgpack record: as far as it has come */
	int64_t number, offset;
	struct buf json; /* the record that a JSON line became */
	struct why why;
	char name[256]; /* escaped */
};

int in_open(struct in **i, int fd, const char *name, struct why *w)
{
	struct in *n = calloc(1, sizeof *n);
	if (n)
		n->p = malloc(FIRST_CAP);
	if (!n || !n->p) {
		free(n);
		return why_set(w, EX_OSERR, "reading records: the host has no memory");
	}
	n->fd = fd;
	n->cap = FIRST_CAP;
	escape_into(n->name, sizeof n->name, name, strlen(name));
	*i = n;
	return 0;
}

void in_close(struct in *i)
{
	if (!i)
		return;
	buf_free(&i->json);
	free(i->p);
	free(i);
}

/* Keeps the reason, so that a broken stream stays broken. */
static int in_fail(struct in *i, int code, const char *reason, struct why *w)
{
	i->failed = -code;
	why_set(&i->why, code, "reading records: %s: record %lld at offset %lld: %s", i->name, (long long)i->number + 1, (long long)i->offset, reason);
	if (w)
		*w = i->why;
	return -code;
}

static int in_cut(struct in *i, const char *detail, struct why *w)
{
	char reason[300];
	long long end = (long long)i->offset + (long long)(i->n - i->from);
	snprintf(reason, sizeof reason, "cut inside record %lld at offset %lld%s%.200s", (long long)i->number + 1, end, *detail ? ": " : "", detail);
	return in_fail(i, EX_DATAERR, reason, w);
}

/* Makes room behind n: by moving what waits to the front, or by growing. */
static int in_room(struct in *i)
{
	if (i->n < i->cap)
		return 0;
	if (i->from) {
		memmove(i->p, i->p + i->from, i->n - i->from);
		i->n -= i->from;
		i->from = 0;
		return 0;
	}
	unsigned char *p = realloc(i->p, i->cap * 2);
	if (!p)
		return -1;
	i->p = p;
	i->cap *= 2;
	return 0;
}

/* Reads once: 1 bytes came, 0 the end, <0. */
static int in_fill(struct in *i, struct why *w)
{
	ssize_t got;
	if (i->end)
		return 0;
	if (i->from == i->n)
		i->from = i->n = 0;
	if (in_room(i))
		return in_fail(i, EX_OSERR, "the host has no memory", w);
	do {
		got = read(i->fd, i->p + i->n, i->cap - i->n);
		if (got < 0 && errno == EAGAIN)
			poll(&(struct pollfd){i->fd, POLLIN, 0}, 1, -1);
	} while (got < 0 && (errno == EINTR || errno == EAGAIN));
	if (got < 0)
		return in_fail(i, EX_IOERR, strerror(errno), w);
	i->n += (size_t)got;
	i->end = got == 0;
	return got > 0;
}

static bool white(unsigned char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void in_take(struct in *i, size_t n)
{
	i->from += n;
	i->offset += (int64_t)n;
	i->looked = 0;
	i->whole = 0;
	i->scan.pos = 0;
	i->scan.owed = 0;
	i->scan.depth = 0;
}

/* What came instead of a record. */
static int in_foreign(struct in *i, struct why *w)
{
	const unsigned char *p = i->p + i->from;
	size_t n = i->n - i->from;
	char reason[80];
	if (p[0] == 0x1f && (n < 2 || p[1] == 0x8b))
		return in_fail(i, EX_DATAERR, "is gzip: use zcat, or ledger show", w);
	if (p[0] == '[')
		return in_fail(i, EX_DATAERR, "is a JSON array: one object a line is wanted (jq -c '.[]')", w);
	if (p[0] == 0xef)
		return in_fail(i, EX_DATAERR, "byte 0xef begins no record (a byte order mark?)", w);
	snprintf(reason, sizeof reason, "byte 0x%02x begins no record", p[0]);
	return in_fail(i, EX_DATAERR, reason, w);
}

/* Length of the line that waits, its newline included; 0 more bytes are needed, <0 too long. */
static ssize_t in_line(struct in *i)
{
	const unsigned char *p = i->p + i->from;
	size_t n = i->n - i->from;
	const unsigned char *nl = memchr(p + i->looked, '\n', n - i->looked);
	i->looked = n;
	if (!nl && n <= JSON_MAX_LINE)
		return i->end ? (ssize_t)n : 0;
	ssize_t size = nl ? nl - p + 1 : JSON_MAX_LINE + 1;
	return size > JSON_MAX_LINE ? -EX_DATAERR : size;
}

/* Length of the record that waits whole: >0, 0 more bytes are needed, <0 malformed. */
static ssize_t in_measure(struct in *i, struct why *inner)
{
	while (i->from < i->n && white(i->p[i->from]))
		in_take(i, 1);
	if (i->from == i->n)
		return 0;
	if (i->p[i->from] == '{') {
		ssize_t n = in_line(i);
		return n < 0 ? why_set(inner, EX_DATAERR, "the line is longer than 8 MiB") : n;
	}
	if (shapes[i->p[i->from]].item != I_MAP)
		return why_set(inner, EX_DATAERR, "%s", "");
	return scan_on(&i->scan, i->p + i->from, i->n - i->from, inner);
}

/* The same, measured once: looking whether a record waits must not change what is read. */
static ssize_t in_whole(struct in *i, struct why *inner)
{
	ssize_t n = i->whole ? (ssize_t)i->whole : in_measure(i, inner);
	if (n > 0)
		i->whole = (size_t)n;
	return n;
}

/* Makes a view of the record of `size` bytes that waits whole. */
static int in_view(struct in *i, size_t size, struct view *v, struct why *w)
{
	struct why inner;
	const unsigned char *p = i->p + i->from;
	bool json = *p == '{', last = json && p[size - 1] != '\n';
	int rc = 0;
	if (json) {
		rc = json_read((const char *)p, size, &i->json, &inner);
		if (rc && last)
			return in_cut(i, inner.text, w);
		if (!rc && scan_size(i->json.p, i->json.n, &inner) < 0)
			rc = -EX_DATAERR;
	}
	if (!rc)
		rc = view_open(v, json ? i->json.p : p, json ? i->json.n : size, &inner);
	if (rc)
		return in_fail(i, -rc, inner.text, w);
	v->number = ++i->number;
	v->offset = i->offset;
	in_take(i, size);
	return 1;
}

/* The next record, if it waits whole and is like nearly all: 1, else 0 and nothing has changed. */
static int in_quick(struct in *i, struct view *v)
{
	if (i->from == i->n || i->failed || i->scan.pos)
		return 0;
	size_t size = view_quick(v, i->p + i->from, i->n - i->from);
	if (!size)
		return 0;
	v->number = ++i->number;
	v->offset = i->offset;
	in_take(i, size);
	return 1;
}

int in_next(struct in *i, struct view *v, struct why *w)
{
	struct why inner;
	if (in_quick(i, v))
		return 1;
	if (i->failed) {
		if (w)
			*w = i->why;
		return i->failed;
	}
	for (;;) {
		ssize_t size = in_whole(i, &inner);
		if (size > 0)
			return in_view(i, (size_t)size, v, w);
		if (size < 0)
			return inner.text[0] ? in_fail(i, EX_DATAERR, inner.text, w) : in_foreign(i, w);
		int filled = in_fill(i, w);
		if (filled < 0)
			return filled;
		if (!filled && i->from == i->n)
			return 0;
		if (!filled && i->p[i->from] != '{')
			return in_cut(i, "", w);
	}
}

bool in_would_wait(struct in *i)
{
	struct why inner;
	while (!i->failed && !i->end && in_whole(i, &inner) == 0) {
		struct pollfd p = {i->fd, POLLIN, 0};
		if (poll(&p, 1, 0) == 0)
			return true;
		if (in_fill(i, NULL) <= 0)
			return false;
	}
	return false;
}
