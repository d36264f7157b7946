/* command-inner.h - one run of a command and its parts, by file. Private to lib/job/command-*.c. */
#ifndef PILOT_COMMAND_INNER_H
#define PILOT_COMMAND_INNER_H

#include <math.h>
#include <regex.h>
#include <signal.h>

#include "cap.h"
#include "command.h"
#include "tree.h"

/* ---- command-line.c: one line of the protocol ---- */

enum { LINE_MAX_BYTES = 4096 };
struct line_adds {
	const char *run;
	double seconds;   /* since the last update; <0 unknown */
	int64_t examples; /* before this update; -1 unknown */
	/* Which of the two losses of an evaluation was printed: "loss", "batch_mean_loss", NULL unknown; may be NULL. */
	const char *(*printed)(void *ctx, double loss, double batch_mean);
	void *ctx;
};
/* Checks a line (without its newline) and makes the record of it in raw, which v then points into. What is wrong
 * with it is -EX_DATAERR. scratch is used again and again. */
int command_line(const char *line, size_t n, const struct line_adds *a, struct buf *scratch, struct buf *raw, struct view *v, struct why *w) MUST_USE;

/* ---- command-regex.c: --step-regex ---- */

enum { GROUPS = 16 };
struct step_regex {
	regex_t regex;
	enum field field[GROUPS + 1]; /* of each group; F_NONE */
	int groups;
	bool set;
};
int step_regex_open(struct step_regex *x, const char *pattern, struct why *w) MUST_USE;
void step_regex_close(struct step_regex *x);
/* Numbers of the line, if it matches: has[i] says whether field[i] has one. */
bool step_regex_match(const struct step_regex *x, const char *line, double value[GROUPS + 1], bool has[GROUPS + 1]);

/* ---- command-output.c: what a command prints ---- */

enum { OUTPUT_LINES = 20, OUTPUT_SHOWN = 400, OUTPUT_LINE = 4096, OUTPUT_NUMBERS = 2048 };
struct output {
	char *line[OUTPUT_LINES]; /* the last ones, oldest first; each cut to OUTPUT_SHOWN */
	int lines;
	char part[OUTPUT_LINE]; /* a line that has not ended */
	size_t part_n;
	struct printed {
		double value;
		int digits; /* behind the point */
		double at;  /* when it came */
	} number[OUTPUT_NUMBERS]; /* a ring */
	int64_t numbers, mark, told; /* printed; of these spent on earlier evaluations; and on those of this moment */
	char prefix[64];        /* of the lines of a traceback */
	bool traceback, chained;
	int64_t since_exception; /* lines */
	char exception[200], message[OUTPUT_SHOWN], earlier[OUTPUT_SHOWN]; /* the last exception, and one that led to it */
	void (*line_seen)(void *ctx, const char *line);
	void *ctx;
	int log;
	struct why log_why; /* code 0: all was passed on */
};
void output_take(struct output *o, const char *p, size_t n);
void output_end(struct output *o); /* a last line without its newline */
void output_free(struct output *o);
/* Which of two numbers was printed last, as far as its digits go, since then: 1, 2, or 0 where nothing tells. */
int output_which(struct output *o, double first, double second, double since);
void output_spend(struct output *o); /* what was found so far, and all before it, is not found again */

/* ---- command-totals.c: what the lines come to ---- */

struct totals {
	int64_t updates, examples, tokens, skipped, timed_examples, steps;
	bool examples_known, tokens_known;
	double training_seconds, timed_seconds, loss;
	bool has_loss;
	double validation_loss, best_validation_loss, validation_accuracy, test_loss, test_accuracy;
	int64_t validations, best_update, tests;
	int64_t allocated_peak, reserved_peak, used_peak;
	char peak_phase[32];
	char exception[200], message[400], failure_phase[32], failure_device[64], input[200];
	bool failure_memory;
	int64_t asked_bytes;
	double mark; /* when the last step, evaluation or save was told; 0 none */
};
void totals_init(struct totals *t);
void totals_see(struct totals *t, const struct view *v);
void totals_fields(const struct totals *t, struct rec *end);

/* ---- one run ---- */

enum asked { ASKED_NOTHING, ASKED_UPDATES, ASKED_SIGNAL, ASKED_DEADLINE, ASKED_STUCK, ASKED_LOST };

enum { SPEAKERS = 64 };

struct command {
	const struct command_run *how;
	struct out *out;
	struct outcome *result;
	struct why *why;
	struct rec rec;

	struct words words;
	char **argv, **env; /* expanded; owned */
	char **envp;        /* owned */
	char cwd[4096], save_dir[4200], adapter[4096], mark[64];
	const char *evidence;
	int64_t stop_after; /* updates; 0: when it ends by itself */
	double deadline;

	int record[2]; /* the pipe of the protocol: both ends stay open */
	struct cap cap;
	struct guard guard;
	struct proc proc;
	int pidfd;
	struct tree *tree;
	struct tree_facts tree_facts;
	bool watched;
	int64_t oom_kills;

	char lines[2 * LINE_MAX_BYTES];
	size_t lines_n;
	bool overlong;
	int64_t taken, refused; /* lines */
	struct buf scratch, raw;
	struct step_regex regex;
	int64_t regex_steps, protocol_steps;
	struct output output;
	struct totals totals;
	bool stepped;   /* since the last evaluation */
	double evaluated, evaluated_before; /* when: the last one, and the one before those that came with it */
	int lost;       /* the code of records that could not be written; 0 */

	pid_t speaker[SPEAKERS]; /* processes that say they train */
	int speakers;

	double began, started, heard;
	enum asked asked;
	double kill_at;
	char stuck[200];   /* how it asked for memory in vain */
	bool killed;       /* it went on for the whole grace */
	bool ended;
	int wait_status;   /* as waitpid's */
	char reason[1000]; /* of the end */
	const char *cause;
	char signal[32], exception[200];
};

/* command-run.c */
int command_send(struct command *c) MUST_USE; /* ends c->rec and writes it; a broken pipe asks to stop and is 0 */
void command_say(const struct command *c, const char *fmt, ...) PRINTF(2, 3);
void command_ask(struct command *c, enum asked why, int sig); /* to end; once, then a grace */

/* command-signal.c: a request to end goes to those that train, where they are known */
void command_speaker(struct command *c, const struct view *trainer);
void command_signal(const struct command *c, int sig);

/* command-env.c: c->envp; and a list of NAME=VALUE for a record */
int command_env(struct command *c, struct why *w) MUST_USE;
void command_env_record(struct rec *r, enum field f, char *const *env);

/* command-read.c: what waits in the two pipes */
void command_read_init(struct command *c);
bool command_read_records(struct command *c); /* false: nothing waited */
bool command_read_output(struct command *c);
void command_read_last(struct command *c); /* all that still waits, and a last line without its newline */

/* command-record.c */
int command_record_run(struct command *c) MUST_USE;
int command_record_blind(struct command *c, const char *reason) MUST_USE;
int command_record_note(struct command *c, const char *text) MUST_USE;
int command_record_end(struct command *c) MUST_USE;

/* command-cause.c: how it ended: status, code, reason, cause */
void command_cause(struct command *c);
/* Whether memory ran out, by the words of an exception; and the bytes that were asked for then:
 * "tried to allocate 2.50 GiB", "tried to allocate 1024 bytes"; -1 not said. */
bool cause_memory(const char *exception, const char *message);
int64_t cause_asked(const char *message);

#endif
