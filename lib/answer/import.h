/* import.h - old logs as runs: a table of cells, columns that mean something, and records made of its rows. */
#ifndef PILOT_IMPORT_H
#define PILOT_IMPORT_H

#include "answer.h"

/* A log as cells of text. NULL: the row has no such cell. */
struct log_table {
	char **name;   /* (columns) */
	char **cell;   /* (rows, columns) */
	int64_t *line; /* (rows) in the file */
	int64_t rows;
	int columns;
	bool csv;
	const char *path;
	struct csv of_csv; /* what holds the memory of a CSV file; else name and cell are owned one by one */
};
int log_csv(struct log_table *t, const char *path, struct why *w) MUST_USE;
int log_jsonl(struct log_table *t, const char *path, struct why *w) MUST_USE; /* an object a line; nested ones are passed over */
void log_free(struct log_table *t);

/* What a column can be. */
enum log_field { LOG_UPDATE, LOG_LOSS, LOG_VALIDATION_LOSS, LOG_VALIDATION_ACCURACY, LOG_LR, LOG_EXAMPLES, LOG_TOKENS, LOG_EPOCH, LOG_SECONDS,
	LOG_GRADIENT_NORM, LOG_TIME, LOG_RUN, LOG_FIELDS };

struct import_settings {
	const char *map;    /* "update=Step,loss=train/loss,..": NULL: columns are known by their usual names */
	const char *name;   /* of the runs; NULL: their own, or the file's */
	const char *status; /* of the end; NULL: diverged where the last loss is not finite, else done */
	const char *const *set; /* "field=value" of the run record, NULL-terminated; may be NULL */
};
/* Writes the runs of a table; untaken gets the names of columns that were not taken, separated by ", ". Nothing is written
 * unless every cell is good: -EX_DATAERR names the line and the column, -EX_USAGE the map or setting. o NULL: only looks. */
int import_runs(const struct log_table *t, const struct import_settings *s, struct out *o, struct buf *untaken, struct why *w) MUST_USE;

#endif
