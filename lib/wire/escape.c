/* escape.c - bytes of a record where a terminal will see them. */
#include "inner.h"

/* What a terminal obeys: C0, DEL, C1, and the marks that turn the direction of text around
 * (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), with which a line can lie. */
static bool obeyed(const char *s, size_t step)
{
	unsigned char a = (unsigned char)s[0], b = step > 1 ? (unsigned char)s[1] : 0, c = step > 2 ? (unsigned char)s[2] : 0;
	if (step == 1)
		return a < 0x20 || a == 0x7f;
	if (step == 2)
		return a == 0xc2 && b < 0xa0;
	if (step != 3 || a != 0xe2)
		return false;
	return (b == 0x80 && (c == 0x8e || c == 0x8f || (c >= 0xaa && c <= 0xae))) || (b == 0x81 && c >= 0xa6 && c <= 0xa9);
}

size_t plain_span(const char *s, size_t n)
{
	size_t i = 0;
	for (size_t step; i < n && (step = utf8_step(s + i, n - i)) && !obeyed(s + i, step); i += step)
		;
	return i;
}

int text_escape(struct buf *out, const char *s, size_t n)
{
	int rc = 0;
	while (n && !rc) {
		size_t span = plain_span(s, n);
		if (span) {
			rc = buf_add(out, s, span);
		} else {
			rc = buf_printf(out, "\\x%02x", (unsigned char)*s);
			span = 1;
		}
		s += span;
		n -= span;
	}
	return rc;
}

const char *escape_into(char *out, size_t size, const char *s, size_t n)
{
	size_t o = 0;
	while (n) {
		bool plain = plain_span(s, utf8_step(s, n)) > 0;
		size_t step = plain ? utf8_step(s, n) : 1, need = plain ? step : 4;
		if (o + need + 3 > size) {
			strcpy(out + o, "..");
			return out;
		}
		if (plain)
			memcpy(out + o, s, step);
		else
			snprintf(out + o, 5, "\\x%02x", (unsigned char)*s);
		o += need;
		s += step;
		n -= step;
	}
	out[o] = 0;
	return out;
}
