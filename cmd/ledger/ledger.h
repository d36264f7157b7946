/* ledger.h - what the subcommands share: picking runs, operands, a file that must be new. */
#ifndef PILOT_CMD_LEDGER_H
#define PILOT_CMD_LEDGER_H

#include "../common/cmd.h"
#include "../../lib/answer/curve.h"

/* argv[0] is the subcommand's name. Return the exit status. */
int do_append(int argc, char **argv);
int do_show(int argc, char **argv);
int do_summary(int argc, char **argv);
int do_verify(int argc, char **argv);
int do_recover(int argc, char **argv);
int do_merge(int argc, char **argv);
int do_plan(int argc, char **argv);
int do_compare(int argc, char **argv);
int do_scaling(int argc, char **argv);
int do_sheet(int argc, char **argv);
int do_schedule(int argc, char **argv);
int do_check(int argc, char **argv);
int do_note(int argc, char **argv);
int do_rerun(int argc, char **argv);
int do_diff(int argc, char **argv);
int do_bundle(int argc, char **argv);
int do_plot(int argc, char **argv);
int do_report(int argc, char **argv);
int do_export(int argc, char **argv);
int do_import(int argc, char **argv);

/* ---- pick.c ---- */

/* Which runs are asked for: all conditions that are set must hold. */
struct pick {
	const char *run[16]; /* prefixes, any of them */
	int runs;
	bool last;
	struct timestamp since;
	bool has_since;
};
enum { PICK_LAST = 0x1001, PICK_SINCE };
#define PICK_OPTIONS \
	{ 'r', "run", "PREFIX", "only runs (or probes) whose id begins so; may be repeated" }, \
	{ PICK_LAST, "last", NULL, "only the run that began last" }, \
	{ PICK_SINCE, "since", "WHEN", "only runs seen since a date (2026-11-30, or with THH:MM:SSZ) or for a duration (12h, 3d)" }
/* 0 stored, 1 not one of these, EX_USAGE with all said. */
int pick_option(struct pick *p, int opt, const char *value);
bool pick_any(const struct pick *p);
/* Marks the rows, and single runs inside a probe's row, that are asked for; value 1. */
int pick_rows(const struct pick *p, const struct summary *s, struct ids *rows, struct ids *runs) MUST_USE;

/* The runs of a book that --run names; none named: out stays empty. 0, or the exit status with all said. plot.c */
int pick_book(const struct pick *p, const struct book *b, struct ids *out) MUST_USE;

/* ---- operand.c ---- */

/* "-" is standard input. again: it will be read twice, so a pipe is copied to an unlinked temporary file. */
struct operand {
	const char *name;
	int fd; /* -1: opened by name */
	struct ledger *l;
};
int operand_open(struct operand *o, const char *name, bool again, struct why *w) MUST_USE;
int operand_keep(int from, struct why *w) MUST_USE; /* a pipe, copied into a file without a name: its descriptor */
int operand_rewind(struct operand *o, struct why *w) MUST_USE; /* reads from the beginning again */
void operand_close(struct operand *o);
/* "reading: FILE: offset N, member N: what: why" */
void say_fault(const char *name, const struct ledger_fault *f);
/* Calls see for each record, skipped for each run of a member of steps that was passed over. Faults are
 * said unless quiet. Returns the exit status so far (65 for faults, a cut stream, ...). */
struct reading {
	int (*see)(void *ctx, const struct view *v, struct why *w);
	int (*skipped)(void *ctx, const struct ledger_steps *s, struct why *w);
	void *ctx;
	bool quiet;
};
int operand_read(struct operand *o, const struct reading *r);

/* ---- ask.c ---- */

/* Reads the operands (none: standard input) into *b without their steps, and says what is wrong with them.
 * Returns the exit status so far; *b is the caller's also then, and may be NULL. */
int ask_book(struct book **b, char **name, int n);
bool ask_worth(const struct book *b, int status); /* something can be answered */
/* For questions that read twice: names in which what cannot be read again (standard input, a pipe) is a copy's, under
 * /proc/self/fd. n may be 0. *out has *m names, freed by ask_kept_free. 0, or the exit status with all said. */
int ask_keep(char **name, int n, char ***out, int *m) MUST_USE;
void ask_kept_free(char **name, int n);
/* Reads the files (not standard input) again: look gets every record of these runs; steps too if they are wanted, and members
 * without them are passed over. What is wrong in the files was said when the book was read. */
void ask_again(char **name, int n, const struct ids *runs, bool steps, int (*look)(void *ctx, const struct view *v, struct why *w), void *ctx);

int curves_read(struct curves *c, const struct book *b, const struct ids *only, char **file, int files); /* the exit status; plot.c */

/* ---- print.c ---- */

/* How an answer is printed: PRINT_OPTIONS in a table of options, their codes to print_option. */
struct printing {
	bool json, csv; /* csv: the first table */
	bool runs;      /* with the runs that each row came from */
};
enum { PRINT_CSV = 0x1010, PRINT_RUNS };
#define PRINT_OPTIONS \
	{ 'j', "json", NULL, "print JSON Lines" }, \
	{ PRINT_CSV, "csv", NULL, "print the main table as comma-separated values" }, \
	{ PRINT_RUNS, "runs", NULL, "name the runs that each figure came from" }
int print_option(struct printing *p, int opt); /* 0 stored, 1 not one of these, EX_USAGE with all said */
int print_answer(const struct answer *a, const struct printing *p); /* the exit status; a is not whole: says so */
/* What a question returned: its answer is printed (rc 0, or -EX_NO), its reason said (rc not 0). Frees a. The exit status. */
int print_result(int rc, struct answer *a, const struct printing *p, const struct why *w);
int print_whole(const char *path, const struct buf *b); /* a file that appears whole or not at all; the exit status, with all said */
void print_json(const char *s); /* quoted */
void print_csv(const char *s);  /* quoted; no formula, no control characters */

/* ---- planned.c ---- */

/* The comparisons of a ledger. Zero to begin. */
struct planned {
	struct plan_seen {
		char id[ULID_SIZE], name[128];
		int64_t runs, came;
		bool told; /* its plan is among the records */
	} *plan; /* owned; also of runs whose plan did not come */
	int n;
	struct ids runs; /* counted */
};
int planned_see(struct planned *p, const struct view *v, struct why *w) MUST_USE; /* any record */
void planned_print(const struct planned *p); /* a line each */
void planned_free(struct planned *p);

/* ---- fresh.c ---- */

/* A ledger that appears under its name when it is whole, and never over another file. */
struct fresh {
	const char *path;
	char *temp;
	struct ledger_writer *l;
};
int fresh_begin(struct fresh *f, const char *path, struct why *w) MUST_USE;
int fresh_add(struct fresh *f, const struct view *v, struct why *w) MUST_USE;
int fresh_commit(struct fresh *f, struct why *w) MUST_USE; /* frees f, also on failure */
void fresh_abandon(struct fresh *f);

#endif
