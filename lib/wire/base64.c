/* base64.c - bytes as text for the JSON view (RFC 4648, padded, strict on reading). */
#include "inner.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int base64_write(struct buf *out, const unsigned char *p, size_t n)
{
	int rc = buf_room(out, (n + 2) / 3 * 4);
	if (rc)
		return rc;
	char *o = (char *)out->p + out->n;
	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) | (i + 2 < n ? p[i + 2] : 0);
		*o++ = digits[v >> 18];
		*o++ = digits[v >> 12 & 63];
		*o++ = i + 1 < n ? digits[v >> 6 & 63] : '=';
		*o++ = i + 2 < n ? digits[v & 63] : '=';
	}
	out->n += (n + 2) / 3 * 4;
	return 0;
}

static int value(char c)
{
	const char *at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) : -1;
}

/* Four characters to one to three bytes; the number of bytes, -1 malformed. */
static int four(const char *s, bool last, unsigned char *p)
{
	int pad = !last || s[3] != '=' ? 0 : s[2] != '=' ? 1 : 2;
	int v[4] = {0};
	for (int i = 0; i < 4 - pad; i++)
		if ((v[i] = value(s[i])) < 0)
			return -1;
	uint32_t all = (uint32_t)v[0] << 18 | (uint32_t)v[1] << 12 | (uint32_t)v[2] << 6 | (uint32_t)v[3];
	if ((pad == 1 && v[2] & 3) || (pad == 2 && v[1] & 15))
		return -1; /* bits that no byte has */
	for (int i = 0; i < 3 - pad; i++)
		p[i] = (unsigned char)(all >> (16 - 8 * i));
	return 3 - pad;
}

ssize_t base64_read(const char *s, size_t n, unsigned char *p)
{
	ssize_t bytes = 0;
	if (n % 4)
		return -1;
	for (size_t i = 0; i < n; i += 4) {
		int got = four(s + i, i + 4 == n, p + bytes);
		if (got < 0)
			return -1;
		bytes += got;
	}
	return bytes;
}
