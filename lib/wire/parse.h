/* parse.h - Jansson's parser, made safe against a lack of memory; for JSON that is no record, too. */
#ifndef PILOT_WIRE_PARSE_H
#define PILOT_WIRE_PARSE_H

#include <jansson.h>

#include "../base/base.h"

/* json_loadb, and whether the host had no memory for it (NULL then, whatever e says). */
json_t *json_parse(const char *s, size_t n, size_t flags, json_error_t *e, bool *no_memory) MUST_USE;

#endif
