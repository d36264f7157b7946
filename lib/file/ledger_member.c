/* ledger_member.c - one gzip member of records: deflate and inflate, with bounded memory. */
#include "ledger_format.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Level 1 compresses records nearly as well as 6, and four times as fast: the trainer wants its cores. */
enum { LEVEL = 1 };

struct squeezer {
	z_stream z;
};

struct squeezer *squeezer_new(void)
{
	struct squeezer *s = calloc(1, sizeof *s);

	if (s && deflateInit2(&s->z, LEVEL, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(s);
		return NULL;
	}
	return s;
}

void squeezer_free(struct squeezer *s)
{
	if (!s)
		return;
	deflateEnd(&s->z);
	free(s);
}

static int deflate_some(z_stream *z, const unsigned char *p, size_t n, int flush, struct buf *out)
{
	int r;

	z->next_in = (unsigned char *)p;
	z->avail_in = (uInt)n;
	do {
		if (buf_room(out, 4096) < 0)
			return -EX_OSERR;
		z->next_out = out->p + out->n;
		z->avail_out = (uInt)(out->cap - out->n);
		r = deflate(z, flush);
		out->n = out->cap - z->avail_out;
	} while (z->avail_out == 0 || (flush == Z_FINISH && r == Z_OK));
	return r == Z_STREAM_ERROR ? -EX_SOFTWARE : 0;
}

/* Data that do not compress are stored as they are; a flush inside each LEDGER_MAGIC in them keeps the
 * output free of it, so that a search for heads never finds a ledger inside a ledger. */
static int deflate_all(z_stream *z, const unsigned char *p, size_t n, struct buf *out)
{
	const unsigned char *end = p + n, *m;
	int r = 0;

	while (r == 0 && (m = memmem(p, (size_t)(end - p), LEDGER_MAGIC, 8))) {
		r = deflate_some(z, p, (size_t)(m + 4 - p), Z_FULL_FLUSH, out);
		p = m + 4;
	}
	return r < 0 ? r : deflate_some(z, p, (size_t)(end - p), Z_FINISH, out);
}

static int add32(struct buf *out, uint32_t v)
{
	const unsigned char b[4] = { v & 255, v >> 8 & 255, v >> 16 & 255, v >> 24 };

	return buf_add(out, b, 4);
}

int squeezer_member(struct squeezer *s, enum head_type type, const unsigned char *raw, size_t n, int64_t records, const struct ledger_steps *run, int runs, struct buf *out)
{
	size_t begin = out->n;
	int r;

	deflateReset(&s->z);
	r = head_room(out, runs);
	if (r == 0)
		r = deflate_all(&s->z, raw, n, out);
	if (r == 0)
		r = add32(out, (uint32_t)crc32(0, raw, (uInt)n));
	if (r == 0)
		r = add32(out, (uint32_t)n);
	if (r < 0)
		out->n = begin;
	else
		head_finish(out->p + begin, out->n - begin, type, records, run, runs);
	return r;
}

struct inflater {
	z_stream z;
};

struct inflater *inflater_new(void)
{
	struct inflater *s = calloc(1, sizeof *s);

	if (s && inflateInit2(&s->z, 15 + 16) != Z_OK) { /* + 16: gzip only */
		free(s);
		return NULL;
	}
	return s;
}

void inflater_free(struct inflater *s)
{
	if (!s)
		return;
	inflateEnd(&s->z);
	free(s);
}

static const char *inflate_why(int code, const char *msg)
{
	if (msg && strcmp(msg, "incorrect data check") == 0)
		return "checksum mismatch";
	if (msg && strcmp(msg, "incorrect length check") == 0)
		return "length mismatch";
	return msg ? msg : code == Z_NEED_DICT ? "it needs a dictionary" : "the compressed data are damaged";
}

int inflater_member(struct inflater *s, const unsigned char *p, size_t n, struct buf *out, size_t *used, const char **why)
{
	z_stream *z = &s->z;
	int code = Z_OK;

	inflateReset(z);
	out->n = 0;
	z->next_in = (unsigned char *)p;
	z->avail_in = (uInt)n;
	while (code == Z_OK) {
		if (out->n > MEMBER_MAX) {
			*why = "it holds more than 4 MiB";
			return -EX_DATAERR;
		}
		if (buf_room(out, 16384) < 0)
			return -EX_OSERR;
		z->next_out = out->p + out->n;
		z->avail_out = (uInt)(out->cap - out->n);
		code = inflate(z, Z_NO_FLUSH);
		out->n = out->cap - z->avail_out;
	}
	*used = n - z->avail_in;
	if (code == Z_STREAM_END)
		return 1;
	if (code == Z_BUF_ERROR && z->avail_in == 0)
		return 0;
	if (code == Z_MEM_ERROR)
		return -EX_OSERR;
	*why = inflate_why(code, z->msg);
	return -EX_DATAERR;
}
