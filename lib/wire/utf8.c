/* utf8.c - which bytes are UTF-8 (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF). */
#include "inner.h"

static bool tail(const char *s, size_t i)
{
	return ((unsigned char)s[i] & 0xc0) == 0x80;
}

size_t utf8_step(const char *s, size_t n)
{
	if (!n)
		return 0;
	unsigned char a = (unsigned char)s[0], b = n > 1 ? (unsigned char)s[1] : 0;
	if (a < 0x80)
		return 1;
	if (a < 0xc2 || n < 2 || !tail(s, 1))
		return 0;
	if (a < 0xe0)
		return 2;
	if (n < 3 || !tail(s, 2))
		return 0;
	if (a < 0xf0)
		return (a == 0xe0 && b < 0xa0) || (a == 0xed && b > 0x9f) ? 0 : 3;
	if (n < 4 || !tail(s, 3) || a > 0xf4)
		return 0;
	return (a == 0xf0 && b < 0x90) || (a == 0xf4 && b > 0x8f) ? 0 : 4;
}

size_t utf8_span(const char *s, size_t n)
{
	size_t i = 0;
	for (uint64_t eight; i + 8 <= n; i += 8) {
		memcpy(&eight, s + i, 8);
		if (eight & 0x8080808080808080u)
			break;
	}
	for (size_t step; i < n && (step = utf8_step(s + i, n - i)); i += step)
		;
	return i;
}
