/* command.h - a user's command as the trainer: its words, and one run of it. See train-step(1) and pilot-trainer(7). */
#ifndef PILOT_COMMAND_H
#define PILOT_COMMAND_H

#include "job.h"

/* ---- command-words.c: placeholders ---- */

enum word { WORD_MICRO_BATCH, WORD_ACCUM, WORD_UPDATES, WORD_LENGTH, WORD_SEED, WORD_SAVE_DIR, WORD_RESUME, WORDS };
const char *word_name(enum word p);

/* Values of the placeholders for one run. */
struct words {
	char value[WORDS][4200]; /* "" : none */
	bool has[WORDS];         /* there is a value */
	unsigned used;           /* bit by placeholder: some text asked for it */
	char *const *own;        /* NULL-terminated NAME=VALUE of the command's own placeholders, borrowed; may be NULL */
};
/* From the settings; file names become absolute: the command may have another working folder. */
void words_from(struct words *v, const struct config *c);
/* Text with its placeholders replaced, for sh in quotes if `quoted`; added to out. `what` names the text in the reason.
 * 0; 1 {resume} is in it and nothing is resumed; -EX_USAGE. */
int words_expand(struct words *v, const char *text, bool quoted, const char *what, struct buf *out, struct why *w) MUST_USE;
/* A NULL-terminated list of words, without those that 1 was returned for, and without an
 * option before one that is {resume} alone. Owned by the caller, freed by words_free. */
int words_list(struct words *v, char *const *text, const char *what, char ***out, struct why *w) MUST_USE;
void words_free(char **list); /* may be NULL */

/* ---- command-run.c, command-*.c: one run ---- */

struct command_run {
	const struct config *config;
	const struct stranger *stranger;
	const struct run_names *names;
	const char *cwd;      /* its working folder; NULL: ours */
	const char *origin;   /* the user's folder that this is a copy of; NULL: none */
	const char *control;  /* "cold", or NULL */
	const char *evidence; /* instead of the stranger's; NULL */
	bool resumes;         /* run --resume-with where there is one */
	int log;              /* its output is passed on there */
	void (*say)(const char *line); /* told what the user should know; may be NULL */
};
/* All that can be known to be wrong before anything runs: words, pattern, settings that the command has of its own.
 * -EX_USAGE names it. */
int command_check(const struct command_run *r, struct why *w) MUST_USE;
/* One run: run record to end record. Errors before the run record return <0 with nothing written; later ones
 * stand in the end record and in w. result->code: 0, EX_NO (diverged, oom), EX_SOFTWARE (it failed), EX_UNAVAILABLE
 * (it did not start), EX_TEMPFAIL (deadline), EX_IOERR (the log). */
int command_run(const struct command_run *r, struct out *o, struct outcome *result, struct why *w) MUST_USE;

#endif
