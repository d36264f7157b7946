/* safetensors_seal.c - a digest over a file's metadata, kept among it: the format has none, and a bit
 * turned over in a number's text leaves valid JSON that says something else. */
#include "safetensors.h"

#include <stdlib.h>
#include <string.h>

int st_seal_of(json_t *meta, const char *key, char digest[72])
{
	json_t *rest = json_copy(meta);
	unsigned char sum[32];
	char *text = NULL;
	int r = -EX_OSERR;

	if (rest) {
		json_object_del(rest, key); /* fails where there is none, which is as good */
		text = json_dumps(rest, JSON_COMPACT | JSON_SORT_KEYS);
	}
	if (text && (r = sha_of(text, strlen(text), sum)) == 0) {
		memcpy(digest, "sha256:", 7);
		sha_hex(sum, digest + 7);
	}
	free(text);
	json_decref(rest);
	return r;
}
