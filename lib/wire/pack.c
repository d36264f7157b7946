/* pack.c - msgpack-c's packer over a struct buf. */
#include <msgpack/pack.h>

#include "inner.h"

static int append(void *data, const char *p, size_t n)
{
	struct pack *k = data;
	struct buf *b = k->buf;
	if (k->bad)
		return -1;
	if (b->cap - b->n >= n) { /* as buf_add, without the call */
		memcpy(b->p + b->n, p, n);
		b->n += n;
		return 0;
	}
	k->bad = -buf_add(k->buf, p, n);
	return k->bad ? -1 : 0;
}

/* What a call of the packer returns needs no look: append keeps the first failure in bad. */
#define PACKER(k) (&(msgpack_packer){(k), append})

void pack_int(struct pack *k, int64_t v)
{
	msgpack_pack_int64(PACKER(k), v);
}

void pack_num(struct pack *k, double v)
{
	msgpack_pack_double(PACKER(k), v);
}

void pack_bool(struct pack *k, bool v)
{
	if (v)
		msgpack_pack_true(PACKER(k));
	else
		msgpack_pack_false(PACKER(k));
}

void pack_nil(struct pack *k)
{
	msgpack_pack_nil(PACKER(k));
}

void pack_name(struct pack *k, const char *s, size_t n)
{
	msgpack_pack_str(PACKER(k), n);
	msgpack_pack_str_body(PACKER(k), s, n);
}

static size_t clean_size(const char *s, size_t n)
{
	size_t size = 0;
	for (size_t i = 0; i < n;) {
		size_t span = utf8_span(s + i, n - i);
		i += span;
		size += span;
		if (i < n) {
			size += 3;
			i++;
		}
	}
	return size;
}

void pack_str(struct pack *k, const char *s, size_t n)
{
	msgpack_pack_str(PACKER(k), clean_size(s, n));
	for (size_t i = 0; i < n;) {
		size_t span = utf8_span(s + i, n - i);
		if (span)
			msgpack_pack_str_body(PACKER(k), s + i, span);
		i += span;
		if (i < n) {
			msgpack_pack_str_body(PACKER(k), "\xef\xbf\xbd", 3);
			i++;
		}
	}
}

void pack_bin(struct pack *k, const void *p, size_t n)
{
	msgpack_pack_bin(PACKER(k), n);
	if (n)
		msgpack_pack_bin_body(PACKER(k), p, n);
}

void pack_ext(struct pack *k, int type, const void *p, size_t n)
{
	msgpack_pack_ext(PACKER(k), n, (int8_t)type);
	if (n)
		msgpack_pack_ext_body(PACKER(k), p, n);
}

void pack_time(struct pack *k, struct timestamp t)
{
	msgpack_timestamp ts = {.tv_sec = t.seconds, .tv_nsec = (uint32_t)t.nanoseconds};
	msgpack_pack_timestamp(PACKER(k), &ts);
}

void pack_array(struct pack *k, size_t n)
{
	msgpack_pack_array(PACKER(k), n);
}

void pack_record(struct pack *k, size_t n)
{
	if (n > UINT16_MAX)
		msgpack_pack_map(PACKER(k), n);
	else
		append(k, (char[]){'\xde', (char)(n >> 8), (char)n}, 3);
}

void pack_map(struct pack *k, size_t n)
{
	msgpack_pack_map(PACKER(k), n);
}
