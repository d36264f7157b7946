/* ledger_stream.c - records out of bytes in memory, and out of a gzip'd record stream that is no ledger. */
#include "ledger_format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { LINE_MAX_BYTES = 8 << 20, CHUNK = 64 << 10 };

static int json_at(const unsigned char *p, size_t n, bool last, struct buf *json, size_t *used, struct why *w)
{
	const unsigned char *nl = memchr(p, '\n', n);
	size_t size = nl ? (size_t)(nl - p) + 1 : n;
	int r;

	if (size > LINE_MAX_BYTES)
		return why_set(w, EX_DATAERR, "the line is longer than 8 MiB");
	if (!nl && !last)
		return 0;
	json->n = 0;
	r = json_read((const char *)p, size, json, w);
	*used = size;
	return r < 0 ? r : 1;
}

int record_at(const unsigned char *p, size_t n, bool last, struct buf *json, struct view *v, size_t *used, struct why *w)
{
	size_t white = 0, mine = 0;
	ssize_t size;
	int r;

	while (white < n && isspace(p[white]))
		white++;
	*used = white;
	p += white;
	n -= white;
	if (n == 0)
		return 0;
	if (*p == '{') {
		r = json_at(p, n, last, json, &mine, w);
		if (r <= 0)
			return r;
		p = json->p;
		size = (ssize_t)json->n;
	} else {
		size = scan_size(p, n, w);
		if (size <= 0)
			return (int)size;
		mine = (size_t)size;
	}
	r = view_open(v, p, (size_t)size, w);
	*used += mine;
	return r < 0 ? r : 1;
}

struct gz {
	int fd;
	int64_t at, offset, number; /* in the file; in the stream; of the record */
	bool end;                   /* the file has no more */
	bool inside;                /* of a gzip member */
	z_stream z;
	unsigned char in[CHUNK];
	struct buf out, json;
	size_t from; /* first byte of out that was not taken */
	char *name;
};

int gz_open(struct gz **out, int fd, const char *name, struct why *w)
{
	struct gz *g = calloc(1, sizeof *g);

	*out = NULL;
	if (g)
		g->name = strdup(name);
	if (!g || !g->name || inflateInit2(&g->z, 15 + 16) != Z_OK) {
		if (g)
			free(g->name);
		free(g);
		return why_set(w, EX_OSERR, "reading records: %.300s: out of memory", name);
	}
	g->fd = fd;
	*out = g;
	return 0;
}

void gz_close(struct gz *g)
{
	if (!g)
		return;
	inflateEnd(&g->z);
	buf_free(&g->out);
	buf_free(&g->json);
	free(g->name);
	free(g);
}

static int gz_fail(const struct gz *g, int code, const char *reason, struct why *w)
{
	return why_set(w, code, "reading records: %.300s: record %lld, before byte %lld of the gzip file: %s",
	               g->name, (long long)g->number + 1, (long long)(g->at - g->z.avail_in), reason);
}

static int gz_read(struct gz *g, struct why *w)
{
	ssize_t got = io_pread(g->fd, g->in, sizeof g->in, g->at);

	if (got < 0)
		return why_errno(w, EX_IOERR, "reading records: %.300s", g->name);
	g->z.next_in = g->in;
	g->z.avail_in = (uInt)got;
	g->at += got;
	g->end = got == 0;
	return 0;
}

/* Inflates some more behind out: 1 bytes may have come, 0 the end, <0. */
static int gz_fill(struct gz *g, struct why *w)
{
	int code;

	if (g->z.avail_in == 0 && !g->end) {
		int r = gz_read(g, w);
		if (r < 0)
			return r;
	}
	if (g->end && g->z.avail_in == 0)
		return g->inside ? gz_fail(g, EX_DATAERR, "the gzip member is cut", w) : 0;
	memmove(g->out.p, g->out.p + g->from, g->out.n - g->from);
	g->out.n -= g->from;
	g->from = 0;
	if (buf_room(&g->out, CHUNK) < 0)
		return gz_fail(g, EX_OSERR, "out of memory", w);
	g->inside = true;
	g->z.next_out = g->out.p + g->out.n;
	g->z.avail_out = CHUNK;
	code = inflate(&g->z, Z_NO_FLUSH);
	g->out.n = (size_t)(g->z.next_out - g->out.p);
	if (code == Z_STREAM_END) {
		g->inside = false;
		inflateReset(&g->z);
	} else if (code != Z_OK && code != Z_BUF_ERROR) {
		return gz_fail(g, EX_DATAERR, g->z.msg ? g->z.msg : "the compressed data are damaged", w);
	}
	return 1;
}

int gz_next(struct gz *g, struct view *v, struct why *w)
{
	bool last = false;

	if (!g->out.p && buf_room(&g->out, CHUNK) < 0)
		return gz_fail(g, EX_OSERR, "out of memory", w);
	for (;;) {
		struct why inner;
		size_t used = 0;
		int r = record_at(g->out.p + g->from, g->out.n - g->from, last, &g->json, v, &used, &inner);

		if (r < 0)
			return gz_fail(g, -r, inner.text, w);
		if (r > 0) {
			v->number = ++g->number;
			v->offset = g->offset;
		}
		g->from += r > 0 || used == g->out.n - g->from ? used : 0;
		g->offset += r > 0 ? (int64_t)used : 0;
		if (r > 0)
			return 1;
		if (last)
			return g->from == g->out.n ? 0 : gz_fail(g, EX_DATAERR, "the record is cut", w);
		r = gz_fill(g, w);
		if (r < 0)
			return r;
		last = r == 0;
	}
}
