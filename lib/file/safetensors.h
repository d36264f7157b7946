/* safetensors.h - what reader and writer share. Private to lib/file/safetensors*.c. */
#ifndef PILOT_SAFETENSORS_H
#define PILOT_SAFETENSORS_H

#include <jansson.h>

#include "file.h"

/* "sha256:.." of all strings of the metadata but that of key, whatever their order in the file. */
int st_seal_of(json_t *meta, const char *key, char digest[72]) MUST_USE;

#endif
