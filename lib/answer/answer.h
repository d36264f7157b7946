/* answer.h - floor 6: what the ledger answers: which result to believe, and what to rent. Runs are read
 * into a book, without their steps; a question makes an answer of it, sentences and tables; the commands
 * print that as text, JSON Lines or CSV, and the report as HTML. Nothing here knows how it is shown. */
#ifndef PILOT_ANSWER_H
#define PILOT_ANSWER_H

#include "../job/job.h"

/* ---- book.c: the records of each run but its steps; its size depends on runs, not on updates ---- */

struct book_record { /* owned by the book */
	const unsigned char *raw;
	size_t size;
	enum kind kind;
};
/* False only where the bytes are no record, which no book holds. */
bool book_view(const struct book_record *r, struct view *v);

struct book_eval {
	int64_t update, examples;      /* updates applied, training examples seen; examples -1 unknown */
	double loss, accuracy, exact_match;        /* NAN unknown */
	double training_seconds, run_seconds;      /* NAN unknown; run_seconds falls back to the records' times where those do not jump back */
};

struct book_run {
	char id[ULID_SIZE], role[12];
	char status[20];           /* of its end; "": there is none (unknown, last seen `last`) */
	char comparison[ULID_SIZE], arm[128], request[64]; /* "" none */
	struct timestamp first, last;
	struct view run, end;      /* kind KIND_UNKNOWN: no such record was seen (a stream's rest) */
	const struct book_record *record; /* all but steps, examples, predictions and loaders, in the order they came */
	int records;
	const struct book_eval *eval; /* of the validation split, in the order of updates; a repeated update counts as said last */
	int evals, repeated;       /* repeated: how many were dropped so */
	struct {
		int64_t count, first, last, examples; /* step records; updates of the first and last; -1 unknown */
		double seconds;                       /* summed */
	} steps;
	int64_t order;             /* runs in the order of their first record */
};

struct book;
int book_new(struct book **b, struct why *w) MUST_USE;
void book_free(struct book *b); /* may be NULL */
int book_see(struct book *b, const struct view *v, struct why *w) MUST_USE;
int book_steps(struct book *b, const struct ledger_steps *e, struct why *w) MUST_USE; /* steps that were not read */
/* After the last record: sorts evaluations, fills what depends on all. Then the book is read only. */
int book_close(struct book *b, struct why *w) MUST_USE;
int book_runs(const struct book *b);
const struct book_run *book_run(const struct book *b, int i);
/* 1 the run whose id begins so (case does not matter), 0 there is none, -EX_USAGE several: w names two. */
int book_find(const struct book *b, const char *prefix, const struct book_run **r, struct why *w) MUST_USE;
/* Records of no run in their order: comparison, request, probe, tool, note of a comparison or of nothing. */
int book_others(const struct book *b);
const struct book_record *book_other(const struct book *b, int i);
/* The nth record of a kind, from 0; -1: the last. NULL if there is none. */
const struct book_record *book_of(const struct book_run *r, enum kind k, int n);
/* A field of the run's last record of that kind; false if it has none. */
bool book_int(const struct book_run *r, enum field f, int64_t *out);
bool book_num(const struct book_run *r, enum field f, double *out);
bool book_text(const struct book_run *r, enum field f, char *out, size_t size);
/* A run that counts as training (role train, or confirm: a probe's last), not a trial or a replay. */
bool book_trained(const struct book_run *r);

/* ---- answer.c: sentences and tables ---- */

enum cell_type { CELL_NONE, CELL_TEXT, CELL_INT, CELL_NUM, CELL_BOOL }; /* none: was not measured, and is said so */
struct cell {
	enum cell_type type;
	char *text;  /* CELL_TEXT; as the record has it: whoever prints it escapes it */
	int64_t i;
	double x;
	char *shown; /* for people; NULL: made of the value */
};
struct column {
	char *name;  /* key in JSON and CSV, with its unit */
	char *title; /* over it in text */
	bool left;   /* words; numbers stand to the right */
	bool hidden; /* not in text: only in JSON and CSV */
};
struct table {
	char *name, *title; /* title may be NULL */
	struct column *column;
	int columns, rows;
	struct cell *cell;  /* (rows, columns) */
	struct buf *run;    /* (rows) ids of the runs a row came from, separated by single spaces */
	struct answer *of;
};
enum say { SAY, SAY_WARNING, SAY_HEAD }; /* a sentence, one that the reader must not miss, a heading */
struct answer {
	const char *question; /* the subcommand: "compare", ... */
	struct answer_item {
		enum say say;
		char *name, *text; /* of a sentence; name is its key in JSON */
		struct table *table; /* else NULL */
		struct buf run;      /* of a sentence, as in a table */
	} *item;
	int items;
	bool bad; /* no memory: the answer is not whole */
};
struct answer *answer_new(const char *question); /* NULL: no memory */
void answer_free(struct answer *a);              /* may be NULL */
int answer_check(const struct answer *a, struct why *w) MUST_USE; /* -EX_OSERR if anything could not be kept */
/* The functions below fill; a lack of memory makes answer_check fail. */
void answer_say(struct answer *a, enum say say, const char *name, const char *fmt, ...) PRINTF(4, 5);
void answer_run(struct answer *a, const char *id); /* the last sentence came from this run, too */
/* A table, or NULL without memory: then every function on it does nothing. */
struct table *answer_table(struct answer *a, const char *name, const char *title);
int table_column(struct table *t, const char *name, const char *title); /* its number; before the first row */
int table_words(struct table *t, const char *name, const char *title);  /* the same, for words */
void table_hide(struct table *t, int column);
void table_row(struct table *t); /* begins a row of cells that were not measured */
/* Into the row begun last. fmt shows a number to people ("%.4g"); NULL: whole numbers in full, others by %.6g. */
void table_text(struct table *t, int column, const char *text);
void table_textf(struct table *t, int column, const char *fmt, ...) PRINTF(3, 4);
void table_int(struct table *t, int column, int64_t v);
void table_num(struct table *t, int column, double v, const char *fmt); /* NAN: not measured */
void table_bool(struct table *t, int column, bool v);
void table_bytes(struct table *t, int column, int64_t bytes); /* < 0: not measured; "12.3M" to people */
void table_seconds(struct table *t, int column, double seconds); /* "1h 05m" to people */
void table_shown(struct table *t, int column, const char *fmt, ...) PRINTF(3, 4); /* what people see of the cell set before */
void table_run(struct table *t, const char *id); /* the row came from this run, too */
/* "850 ms", "12.3 s", "4m 10s", "1h 05m", "3d 02h" */
const char *answer_seconds(double seconds, char out[48]);

#endif
