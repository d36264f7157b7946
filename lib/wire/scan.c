/* scan.c - where a record ends, found without unpacking it: the heads of its items are
 * read one after another, and what they claim is held to the limits before it is believed. */
#include "inner.h"

/* By an item's first byte (the msgpack specification's table). */
const struct shape shapes[256] = {
	[0x00 ... 0x7f] = {I_INT, 1, 0, 0},
	[0x80 ... 0x8f] = {I_MAP, 1, 0, 0x0f},
	[0x90 ... 0x9f] = {I_ARRAY, 1, 0, 0x0f},
	[0xa0 ... 0xbf] = {I_STR, 1, 0, 0x1f},
	[0xc0] = {I_NIL, 1, 0, 0},
	[0xc1] = {I_BAD, 1, 0, 0},
	[0xc2 ... 0xc3] = {I_BOOL, 1, 0, 0},
	[0xc4] = {I_BIN, 2, 1, 0},
	[0xc5] = {I_BIN, 3, 2, 0},
	[0xc6] = {I_BIN, 5, 4, 0},
	[0xc7] = {I_EXT, 3, 1, 0},
	[0xc8] = {I_EXT, 4, 2, 0},
	[0xc9] = {I_EXT, 6, 4, 0},
	[0xca] = {I_FLOAT, 5, 0, 0},
	[0xcb] = {I_FLOAT, 9, 0, 0},
	[0xcc] = {I_UINT, 2, 0, 0},
	[0xcd] = {I_UINT, 3, 0, 0},
	[0xce] = {I_UINT, 5, 0, 0},
	[0xcf] = {I_UINT, 9, 0, 0},
	[0xd0] = {I_INT, 2, 0, 0},
	[0xd1] = {I_INT, 3, 0, 0},
	[0xd2] = {I_INT, 5, 0, 0},
	[0xd3] = {I_INT, 9, 0, 0},
	[0xd4] = {I_EXT, 3, 0, 0},
	[0xd5] = {I_EXT, 4, 0, 0},
	[0xd6] = {I_EXT, 6, 0, 0},
	[0xd7] = {I_EXT, 10, 0, 0},
	[0xd8] = {I_EXT, 18, 0, 0},
	[0xd9] = {I_STR, 2, 1, 0},
	[0xda] = {I_STR, 3, 2, 0},
	[0xdb] = {I_STR, 5, 4, 0},
	[0xdc] = {I_ARRAY, 3, 2, 0},
	[0xdd] = {I_ARRAY, 5, 4, 0},
	[0xde] = {I_MAP, 3, 2, 0},
	[0xdf] = {I_MAP, 5, 4, 0},
	[0xe0 ... 0xff] = {I_INT, 1, 0, 0},
};

const unsigned char *item_skip(const unsigned char *p)
{
	for (size_t owed = 1; owed; owed--) {
		const struct shape *s = &shapes[*p];
		size_t length = shape_length(s, p);
		p += s->head;
		if (s->item < I_ARRAY)
			p += length;
		else
			owed += s->item == I_MAP ? 2 * length : length;
	}
	return p;
}

static int too_big(size_t at, struct why *w)
{
	return why_set(w, EX_DATAERR, "byte %zu: the record needs more than 1 MiB", at);
}

/* Steps into a map or array of so many items. */
static int go_down(struct scan *s, size_t items, struct why *w)
{
	if (s->depth == REC_MAX_DEPTH)
		return why_set(w, EX_DATAERR, "byte %zu: nested more than %d deep", s->pos, REC_MAX_DEPTH);
	s->left[s->depth++] = items;
	s->owed += items;
	return 0;
}

/* What can be refused by the first byte alone. */
static int odd_byte(const struct scan *s, const unsigned char *p, struct why *w)
{
	if (shapes[*p].item == I_BAD)
		return why_set(w, EX_DATAERR, "byte %zu: 0xc1 begins nothing in msgpack", s->pos);
	if (s->pos == 0 && shapes[*p].item != I_MAP)
		return why_set(w, EX_DATAERR, "byte 0: 0x%02x begins no map", *p);
	return 0;
}

/* Takes the item at s->pos: 1 taken, 0 it is not whole yet (nothing is changed), <0 refused.
 * Each item that is still owed has a byte at least, so a head that claims gigabytes is
 * refused when it is seen, not when they have come. */
static int take(struct scan *s, const unsigned char *p, size_t n, struct why *w)
{
	const unsigned char *at = p + s->pos;
	const struct shape *h = &shapes[*at];
	if ((s->pos == 0 || h->item == I_BAD) && odd_byte(s, at, w))
		return -EX_DATAERR;
	if (n - s->pos < (size_t)1 + h->lenbytes)
		return 0;
	size_t length = shape_length(h, at), items = 0, bytes = h->head;
	if (h->item == I_MAP)
		items = 2 * length;
	else if (h->item == I_ARRAY)
		items = length;
	else
		bytes += length;
	size_t owed = s->depth ? s->owed - 1 : 0;
	if (s->pos + bytes + owed + items > REC_MAX_BYTES)
		return too_big(s->pos, w);
	if (n - s->pos < bytes)
		return 0;
	if (s->depth)
		s->left[s->depth - 1]--;
	s->owed = owed;
	if (h->item >= I_ARRAY && go_down(s, items, w))
		return -EX_DATAERR;
	s->pos += bytes;
	return 1;
}

/* The same for as many scalars as come in a row, nearly all that a record is made of. What is
 * odd about the next item, if only that the bytes end near it, is left to take. */
static void take_scalars(struct scan *s, const unsigned char *p, size_t n)
{
	enum { LONGEST_HEAD = 18 };
	size_t left = s->left[s->depth - 1], pos = s->pos, owed = s->owed;
	if (n > REC_MAX_BYTES)
		n = REC_MAX_BYTES;
	while (left && n - pos > LONGEST_HEAD) {
		const struct shape *h = &shapes[p[pos]];
		size_t bytes = h->head + shape_length(h, p + pos);
		if (h->item >= I_ARRAY || bytes > n - pos || pos + bytes + owed - 1 > REC_MAX_BYTES)
			break;
		pos += bytes;
		left--;
		owed--;
	}
	s->left[s->depth - 1] = left;
	s->pos = pos;
	s->owed = owed;
}

ssize_t scan_on(struct scan *s, const unsigned char *p, size_t n, struct why *w)
{
	while (!s->pos || s->depth) { /* neither: it was found whole before */
		if (s->pos == n)
			return 0;
		int took = take(s, p, n, w);
		if (took <= 0)
			return took;
		if (s->depth)
			take_scalars(s, p, n);
		while (s->depth && !s->left[s->depth - 1])
			s->depth--;
	}
	return (ssize_t)s->pos;
}

ssize_t scan_size(const unsigned char *p, size_t n, struct why *w)
{
	struct scan s;
	s.pos = s.owed = 0;
	s.depth = 0; /* left[] is written before it is read */
	return scan_on(&s, p, n, w);
}
