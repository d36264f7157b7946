/* parse.c - Jansson 2.14 calls a lack of memory a syntax error, and if it is its buffer for
 * strings that cannot grow, it leaves a character out and goes on. So its allocations are
 * watched while it parses: a tree is believed only if none of them failed. */
#include "parse.h"

#include <stdlib.h>

/* Jansson's hook has no argument to carry this in. */
static _Thread_local bool refused;

static void *watched(size_t n)
{
	void *p = malloc(n);
	refused |= !p;
	return p;
}

json_t *json_parse(const char *s, size_t n, size_t flags, json_error_t *e, bool *no_memory)
{
	json_set_alloc_funcs(watched, free);
	refused = false;
	json_t *j = json_loadb(s, n, flags, e);
	*no_memory = refused;
	if (refused) {
		json_decref(j);
		j = NULL;
	}
	return j;
}
