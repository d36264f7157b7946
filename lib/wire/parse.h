/* parse.h - Jansson's parser, made safe against a lack of memory; for JSON that is no record, too. */
#ifndef PILOT_WIRE_PARSE_H
#define PILOT_WIRE_PARSE_H

#include <jansson.h>

#include "../base/base.h"

/* The value that the n bytes at s are, duplicates of keys refused; release with json_decref.
 * NULL: -EX_DATAERR or -EX_OSERR in *code, the reason (with no name of the input) in w.
 * Depth is Jansson's affair: bound it before, where 2048 levels of its stack are too many. */
json_t *json_parse(const char *s, size_t n, int *code, struct why *w) MUST_USE;

#endif
