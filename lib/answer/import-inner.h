/* import-inner.h - what the files of import share. */
#ifndef PILOT_IMPORT_INNER_H
#define PILOT_IMPORT_INNER_H

#include "import.h"

/* A run of the table: which column is which of its fields. */
struct series {
	char name[256];
	int column[LOG_FIELDS]; /* -1: none */
};
struct import {
	const struct log_table *t;
	const struct import_settings *s;
	struct series *series;
	int n;
	bool *taken; /* (columns) */
	char (*run_name)[256]; /* runs named by a column, in the order in which they came */
	int run_names;
	char digest[72]; /* of the file */
	struct why *w;
};

/* import-columns.c: fills series and taken. -EX_USAGE, -EX_DATAERR. */
int import_columns(struct import *m) MUST_USE;

#endif
