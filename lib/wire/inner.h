/* inner.h - what the files of lib/wire share among themselves: heads of msgpack items,
 * the resumable scanner, UTF-8, timestamps as text, base64. Nobody else includes it. */
#ifndef PILOT_WIRE_INNER_H
#define PILOT_WIRE_INNER_H

#include <string.h>

#include "wire.h"

/* ---- schema.c ---- */

/* Fields of a kind stand together: first, first + 1, ... in enum field. */
enum field kind_first(enum kind k);
int kind_fields(enum kind k);
extern const struct field_info schema_fields[FIELDS];
/* Length of the names, and enum need; apart, so that a search touches little else. */
extern const uint8_t schema_lengths[FIELDS], schema_needs[FIELDS];

/* As memcmp == 0, without its call: names are short. */
static inline bool same_bytes(const char *a, const char *b, size_t n)
{
	uint64_t x, y;
	uint32_t s, t;
	if (n >= 8) {
		for (size_t i = 0; i + 8 < n; i += 8) {
			memcpy(&x, a + i, 8);
			memcpy(&y, b + i, 8);
			if (x != y)
				return false;
		}
		memcpy(&x, a + n - 8, 8);
		memcpy(&y, b + n - 8, 8);
		return x == y;
	}
	if (n >= 4) {
		memcpy(&s, a, 4);
		memcpy(&t, b, 4);
		if (s != t)
			return false;
		memcpy(&s, a + n - 4, 4);
		memcpy(&t, b + n - 4, 4);
		return s == t;
	}
	return (n < 1 || a[0] == b[0]) && (n < 2 || a[1] == b[1]) && (n < 3 || a[2] == b[2]);
}

static inline bool field_is(enum field f, const char *name, size_t n)
{
	return schema_lengths[f] == n && same_bytes(schema_fields[f].name, name, n);
}

/* ---- open.c ---- */

/* scan_size and view_open in one pass, for what nearly all records are: kind first, then known
 * fields with scalars. The record's length, or 0: not by this way, whatever the reason. */
size_t view_quick(struct view *v, const unsigned char *p, size_t n);

/* ---- scan.c: the head of one msgpack item ---- */

enum item { I_NIL, I_BOOL, I_INT, I_UINT, I_FLOAT, I_STR, I_BIN, I_EXT, I_ARRAY, I_MAP, I_BAD };

struct shape {
	uint8_t item;    /* enum item */
	uint8_t head;     /* bytes before what has a length of its own; numbers and fixexts whole */
	uint8_t lenbytes; /* bytes of length behind the first byte: 0, 1, 2 or 4 */
	uint8_t mask;     /* where lenbytes is 0: the bits of the first byte that are the length */
};
extern const struct shape shapes[256];

static inline uint16_t be16(const unsigned char *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t be32(const unsigned char *p)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return __builtin_bswap32(v);
}

static inline uint64_t be64(const unsigned char *p)
{
	uint64_t v;
	memcpy(&v, p, 8);
	return __builtin_bswap64(v);
}

/* The length behind p's first byte: bytes of a payload, or items of an array, or pairs of a map. */
static inline size_t shape_length(const struct shape *s, const unsigned char *p)
{
	switch (s->lenbytes) {
	case 1: return p[1];
	case 2: return be16(p + 1);
	case 4: return be32(p + 1);
	default: return *p & s->mask;
	}
}

/* The item behind the one at p, whole, in bytes that scan_size has passed. */
const unsigned char *item_skip(const unsigned char *p);

/* A scan that goes on where it stopped, so that a record that drips in is looked at once.
 * Zero to begin; p must be the same record's bytes each time, n may grow. */
struct scan {
	size_t pos;
	size_t owed; /* items still to come, on every level: each is a byte at least */
	int depth;
	size_t left[REC_MAX_DEPTH];
};
ssize_t scan_on(struct scan *s, const unsigned char *p, size_t n, struct why *w);

/* A str's bytes (p stands on a str head). */
static inline const char *item_str(const unsigned char *p, size_t *n)
{
	const struct shape *s = &shapes[*p];
	*n = shape_length(s, p);
	return (const char *)p + s->head;
}
bool item_int(const unsigned char *p, int64_t *out); /* false beyond int64, or no integer */
bool item_num(const unsigned char *p, double *out);  /* integers too */
/* An ext's type and payload, fixext or not. */
const unsigned char *item_ext(const unsigned char *p, int *type, size_t *n);
bool item_time(const unsigned char *p, struct timestamp *out);
/* What p is, in words for a reason: "an integer". */
const char *item_name(const unsigned char *p);

/* ---- utf8.c (RFC 3629) ---- */

/* Length of the well-formed sequence at s, 1 to 4; 0 if there is none. */
size_t utf8_step(const char *s, size_t n);
/* Leading bytes of s that are well-formed. */
size_t utf8_span(const char *s, size_t n);
/* Bytes at s that a terminal shows and does not obey: UTF-8 without control characters. */
size_t plain_span(const char *s, size_t n);
/* text_escape into a fixed array, cut with "..": for reasons. Returns out. */
const char *escape_into(char *out, size_t size, const char *s, size_t n);
static inline const char *escape_short(char out[80], const char *s, size_t n)
{
	return escape_into(out, 80, s, n);
}

/* ---- rfc3339.c, base64 (RFC 4648) ---- */

#define RFC3339_SIZE 36
/* false where the year has not four digits. */
bool rfc3339_write(struct timestamp t, char out[RFC3339_SIZE]);
bool rfc3339_read(const char *s, size_t n, struct timestamp *out);
int base64_write(struct buf *out, const unsigned char *p, size_t n) MUST_USE;
/* Into p, which has room for n / 4 * 3 bytes; the number of bytes, or -1. */
ssize_t base64_read(const char *s, size_t n, unsigned char *p);

/* ---- pack.c: msgpack-c's packer over a struct buf ---- */

/* A lack of memory is kept in bad (an EX_ code) until somebody asks. */
struct pack {
	struct buf *buf;
	int bad;
};
void pack_int(struct pack *k, int64_t v);
void pack_num(struct pack *k, double v);
void pack_bool(struct pack *k, bool v);
void pack_nil(struct pack *k);
void pack_name(struct pack *k, const char *s, size_t n); /* one of the list's */
/* Bytes that are no UTF-8 become U+FFFD. */
void pack_str(struct pack *k, const char *s, size_t n);
void pack_bin(struct pack *k, const void *p, size_t n);
void pack_ext(struct pack *k, int type, const void *p, size_t n);
void pack_time(struct pack *k, struct timestamp t);
void pack_array(struct pack *k, size_t n);
void pack_map(struct pack *k, size_t n);
/* The head of a record: always a map16, so that the count can be set afterwards, and so that
 * a record has the same bytes whether a program wrote it or it came from JSON. */
void pack_record(struct pack *k, size_t n);

/* ---- json-read.c ---- */

/* The longest JSON line: no record of 1 MiB has a longer one (fixext 1 grows most, by 7.4). */
enum { JSON_MAX_LINE = 8 << 20, JSON_MAX_CONTAINERS = 1 << 16 };

#endif
