/* ledger.h - what the subcommands share: picking runs, operands, a file that must be new. */
#ifndef PILOT_CMD_LEDGER_H
#define PILOT_CMD_LEDGER_H

#include "../common/cmd.h"
#include "../../lib/job/job.h"

/* argv[0] is the subcommand's name. Return the exit status. */
int do_append(int argc, char **argv);
int do_show(int argc, char **argv);
int do_summary(int argc, char **argv);
int do_verify(int argc, char **argv);
int do_recover(int argc, char **argv);
int do_merge(int argc, char **argv);

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

/* ---- operand.c ---- */

/* "-" is standard input. again: it will be read twice, so a pipe is copied to an unlinked temporary file. */
struct operand {
	const char *name;
	int fd; /* -1: opened by name */
	struct ledger *l;
};
int operand_open(struct operand *o, const char *name, bool again, struct why *w) MUST_USE;
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
