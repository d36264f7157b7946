/* shown.c - names and cells from a file as messages show them: cut, control characters escaped. */
#include "file.h"

#include <string.h>

const char *file_shown(const char *s, size_t n, char out[FILE_SHOWN])
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		if (at > FILE_SHOWN - 8) {
			memcpy(out + at, "..", 3);
			return out;
		}
		if (c < 0x20 || c == 0x7f || c == '\\')
			at += (size_t)snprintf(out + at, 5, "\\x%02x", c);
		else
			out[at++] = (char)c;
	}
	out[at] = 0;
	return out;
}
