/* item.c - the values of single msgpack items. They are read straight from the bytes, as the
 * scanner has decoded their heads already; msgpack-c's unpacker would build and allocate a
 * tree of objects for each record, which is the greater part of its time. */
#include "inner.h"

bool item_int(const unsigned char *p, int64_t *out)
{
	uint64_t u;
	switch (*p) {
	case 0xcc: *out = p[1]; return true;
	case 0xcd: *out = be16(p + 1); return true;
	case 0xce: *out = be32(p + 1); return true;
	case 0xcf:
		u = be64(p + 1);
		*out = (int64_t)u;
		return u <= INT64_MAX;
	case 0xd0: *out = (int8_t)p[1]; return true;
	case 0xd1: *out = (int16_t)be16(p + 1); return true;
	case 0xd2: *out = (int32_t)be32(p + 1); return true;
	case 0xd3: *out = (int64_t)be64(p + 1); return true;
	default:
		*out = (int8_t)*p;
		return *p < 0x80 || *p >= 0xe0;
	}
}

bool item_num(const unsigned char *p, double *out)
{
	int64_t i;
	if (*p == 0xcb) {
		uint64_t bits = be64(p + 1);
		memcpy(out, &bits, 8);
		return true;
	}
	if (*p == 0xca) {
		uint32_t bits = be32(p + 1);
		float f;
		memcpy(&f, &bits, 4);
		*out = f;
		return true;
	}
	if (!item_int(p, &i))
		return false;
	*out = (double)i;
	return true;
}

const unsigned char *item_ext(const unsigned char *p, int *type, size_t *n)
{
	const struct shape *s = &shapes[*p];
	*n = s->lenbytes ? shape_length(s, p) : (size_t)s->head - 2;
	*type = (int8_t)p[1 + s->lenbytes];
	return p + 2 + s->lenbytes;
}

bool item_time(const unsigned char *p, struct timestamp *out)
{
	int type;
	size_t n;
	uint32_t ns;
	if (shapes[*p].item != I_EXT)
		return false;
	p = item_ext(p, &type, &n);
	if (type != -1)
		return false;
	if (n == 4) {
		ns = 0;
		out->seconds = be32(p);
	} else if (n == 8) {
		ns = be32(p) >> 2;
		out->seconds = (int64_t)(be64(p) & 0x3ffffffffu);
	} else if (n == 12) {
		ns = be32(p);
		out->seconds = (int64_t)be64(p + 4);
	} else {
		return false;
	}
	out->nanoseconds = (int32_t)ns;
	return ns <= 999999999;
}

const char *item_name(const unsigned char *p)
{
	static const char *const names[] = {
		[I_NIL] = "nil", [I_BOOL] = "a boolean", [I_INT] = "an integer", [I_UINT] = "an integer",
		[I_FLOAT] = "a float", [I_STR] = "a string", [I_BIN] = "binary", [I_EXT] = "an extension",
		[I_ARRAY] = "an array", [I_MAP] = "a map", [I_BAD] = "nothing",
	};
	int64_t i;
	if (*p == 0xcf && !item_int(p, &i))
		return "an integer beyond 63 bits";
	return names[shapes[*p].item];
}
