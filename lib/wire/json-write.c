/* json-write.c - the JSON view of a record: valid JSON whatever the record holds. */
#include <math.h>

#include "inner.h"

static int add(struct buf *out, const char *s)
{
	return buf_add(out, s, strlen(s));
}

/* C0, C1 and DEL: valid inside JSON or not, a terminal obeys them. */
static bool is_control(const char *s, size_t step)
{
	unsigned char c = (unsigned char)s[0];
	return c < 0x20 || c == 0x7f || (step == 2 && c == 0xc2 && (unsigned char)s[1] < 0xa0);
}

static int escaped(struct buf *out, const char *s, size_t step)
{
	static const char letters[] = "btn\0fr"; /* \b is 8 */
	unsigned char c = (unsigned char)s[step - 1];
	if (step == 1 && c >= 8 && c <= 13 && letters[c - 8])
		return buf_add(out, (char[]){'\\', letters[c - 8]}, 2);
	if (c == '"' || c == '\\')
		return buf_add(out, (char[]){'\\', (char)c}, 2);
	return buf_printf(out, "\\u%04x", c); /* U+0080 to U+009F: the second byte is the number */
}

/* Bytes at s that go out as they are. */
static size_t unescaped_span(const char *s, size_t n)
{
	size_t i = 0;
	for (size_t step; i < n; i += step) {
		step = 1;
		if (s[i] == '"' || s[i] == '\\')
			break;
		if (s[i] >= 0x20 && s[i] < 0x7f)
			continue;
		step = utf8_step(s + i, n - i);
		if (!step || is_control(s + i, step))
			break;
	}
	return i;
}

static int string(struct buf *out, const char *s, size_t n)
{
	int rc = add(out, "\"");
	while (n && !rc) {
		size_t span = unescaped_span(s, n), step;
		if (span)
			rc = buf_add(out, s, span);
		s += span;
		n -= span;
		if (!n || rc)
			break;
		step = utf8_step(s, n);
		rc = step ? escaped(out, s, step) : add(out, "\xef\xbf\xbd");
		s += step ? step : 1;
		n -= step ? step : 1;
	}
	return rc ? rc : add(out, "\"");
}

/* A float stays one when it is read back: 1 is written 1.0. */
static int floating(struct buf *out, double x)
{
	char s[32];
	if (isnan(x))
		return add(out, "\"NaN\"");
	if (isinf(x))
		return add(out, x > 0 ? "\"Infinity\"" : "\"-Infinity\"");
	num_shortest(x, s);
	int rc = add(out, s);
	return rc || strpbrk(s, ".eE") ? rc : add(out, ".0");
}

static int integer(struct buf *out, const unsigned char *p)
{
	char s[24], *at = s + sizeof s;
	int64_t i;
	bool fits = item_int(p, &i);
	uint64_t u = !fits ? be64(p + 1) : i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
	do
		*--at = (char)('0' + u % 10);
	while (u /= 10);
	if (fits && i < 0)
		*--at = '-';
	return buf_add(out, at, (size_t)(s + sizeof s - at));
}

static int binary(struct buf *out, const unsigned char *p)
{
	size_t n;
	const char *s = item_str(p, &n);
	int rc = add(out, "{\"$bin\":\"");
	if (!rc)
		rc = base64_write(out, (const unsigned char *)s, n);
	return rc ? rc : add(out, "\"}");
}

static int extension(struct buf *out, const unsigned char *p)
{
	struct timestamp t;
	char s[RFC3339_SIZE];
	int type;
	size_t n;
	if (item_time(p, &t) && rfc3339_write(t, s))
		return buf_printf(out, "\"%s\"", s);
	p = item_ext(p, &type, &n);
	int rc = buf_printf(out, "{\"$ext\":[%d,\"", type);
	if (!rc)
		rc = base64_write(out, p, n);
	return rc ? rc : add(out, "\"]}");
}

static int value(struct buf *out, const unsigned char **p);

/* The scanner has bounded the depth of this recursion. */
static int container(struct buf *out, const unsigned char **p)
{
	const struct shape *s = &shapes[**p];
	size_t n = shape_length(s, *p);
	bool map = s->item == I_MAP;
	*p += s->head;
	int rc = add(out, map ? "{" : "[");
	for (size_t i = 0; i < n && !rc; i++) {
		if (i)
			rc = add(out, ",");
		if (map && !rc)
			rc = value(out, p);
		if (map && !rc)
			rc = add(out, ":");
		if (!rc)
			rc = value(out, p);
	}
	return rc ? rc : add(out, map ? "}" : "]");
}

static int scalar(struct buf *out, const unsigned char *p)
{
	size_t n;
	double x;
	switch (shapes[*p].item) {
	case I_BOOL: return add(out, *p == 0xc3 ? "true" : "false");
	case I_INT:
	case I_UINT: return integer(out, p);
	case I_FLOAT: return item_num(p, &x) ? floating(out, x) : 0;
	case I_STR: {
		const char *s = item_str(p, &n);
		return string(out, s, n);
	}
	case I_BIN: return binary(out, p);
	case I_EXT: return extension(out, p);
	default: return add(out, "null");
	}
}

static int value(struct buf *out, const unsigned char **p)
{
	if (shapes[**p].item >= I_ARRAY)
		return container(out, p);
	int rc = scalar(out, *p);
	*p = item_skip(*p);
	return rc;
}

int json_write(const unsigned char *raw, size_t size, struct buf *out)
{
	(void)size; /* scan_size has found it */
	return value(out, &raw);
}
