/* export.h - records of one kind as a table of text: every one of them, exactly. */
#ifndef PILOT_EXPORT_H
#define PILOT_EXPORT_H

#include "answer.h"

/* Columns: names of fields in the order in which they were first seen, `run` and `t` before the others. Zero to begin. */
struct export_columns {
	char **name; /* owned */
	int n, cap;
	int *slot;   /* a hash table of places in name, + 1 */
	int slots;
};
int export_see(struct export_columns *c, const struct view *v) MUST_USE; /* its fields become columns */
int export_add(struct export_columns *c, const char *name, size_t n) MUST_USE;
int export_find(const struct export_columns *c, const char *name, size_t n); /* -1: none */
void export_free(struct export_columns *c);
/* The value of a pair as a table's cell: numbers as they are, strings as they are, lists and maps as JSON. text: it is words. */
int export_cell(const struct view_pair *p, struct buf *out, bool *text) MUST_USE;

#endif
