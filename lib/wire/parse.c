/* parse.c - Jansson 2.14 calls a lack of memory a syntax error, and if it is its buffer for
 * strings that cannot grow, it leaves a character out and goes on. So its allocations are
 * watched while it parses: a tree is believed only if none of them failed. */
#include "parse.h"

#include <stdlib.h>
#include <string.h>

#include "inner.h"

/* Jansson's hook has no argument to carry this in. */
static _Thread_local bool refused;

static void *watched(size_t n)
{
	void *p = malloc(n);
	refused |= !p;
	return p;
}

json_t *json_parse(const char *s, size_t n, int *code, struct why *w)
{
	json_error_t e;
	char text[80];
	json_set_alloc_funcs(watched, free);
	refused = false;
	json_t *j = json_loadb(s, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &e);
	if (refused) {
		json_decref(j);
		*code = why_set(w, EX_OSERR, "JSON: the host has no memory");
		return NULL;
	}
	if (!j)
		*code = why_set(w, EX_DATAERR, "JSON: byte %d: %s", e.position, escape_short(text, e.text, strlen(e.text)));
	return j;
}
