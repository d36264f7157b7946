/* chart-text.c - strings of strangers in XML and HTML. */
#include <string.h>

#include "chart.h"

/* The code point that begins at s (n bytes are left), its length in *len; U+FFFD and 1 where it is none. */
static unsigned decode(const unsigned char *s, size_t n, size_t *len)
{
	static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t k = *s < 0x80 ? 1 : *s >= 0xc2 && *s < 0xe0 ? 2 : *s >= 0xe0 && *s < 0xf0 ? 3 : *s >= 0xf0 && *s < 0xf5 ? 4 : 0;
	unsigned c = k == 1 ? *s : k ? *s & (0x7fu >> k) : 0;

	*len = 1;
	if (!k || k > n)
		return 0xfffd;
	for (size_t i = 1; i < k; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0xfffd;
		c = c << 6 | (s[i] & 0x3fu);
	}
	if (c < least[k] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0xfffd;
	*len = k;
	return c;
}

/* Controls, what turns the direction of writing, what has no width, and what XML forbids. */
static bool hidden(unsigned c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || c == 0x61c || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff || c == 0xfffe || c == 0xffff;
}

int xml_text(struct buf *out, const char *text, size_t most)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n = strlen(text), len, letters = 0;
	int rc = 0;

	for (; n && rc == 0; s += len, n -= len, letters++) {
		unsigned c = decode(s, n, &len);

		if (letters >= most)
			return buf_printf(out, "...");
		switch (c) {
		case '&': rc = buf_printf(out, "&amp;"); break;
		case '<': rc = buf_printf(out, "&lt;"); break;
		case '>': rc = buf_printf(out, "&gt;"); break;
		case '"': rc = buf_printf(out, "&quot;"); break;
		case '\'': rc = buf_printf(out, "&#39;"); break;
		case 0xfffd: rc = buf_printf(out, "\xef\xbf\xbd"); break;
		default:
			rc = hidden(c) ? buf_printf(out, "\\u%04X", c) : buf_add(out, s, len);
			letters += hidden(c) ? 5 : 0;
		}
	}
	return rc;
}
