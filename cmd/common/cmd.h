/* cmd.h - what the four commands share: messages, options, and the last act of main.
 *
 * A main reads
 *
 *	int main(int argc, char **argv)
 *	{
 *		struct cmd c;
 *		const char *value;
 *		int opt;
 *
 *		cmd_init("gate");
 *		cmd_options(&c, argc, argv, usage, own, NULL);
 *		while ((opt = cmd_next(&c, &value)) >= 0)
 *			switch (opt) { ... }
 *		if (opt != CMD_END)
 *			return cmd_finish(c.status);
 *		... one path through the library, over argv[c.operand] to argv[argc - 1] ...
 *		return cmd_finish(status);
 *	}
 */
#ifndef PILOT_CMD_H
#define PILOT_CMD_H

#include "../../lib/train/train.h"

/* ---- cmd.c: messages on stderr, and the end ---- */

/* Keeps the name (the only global); puts /dev/null in place of a closed stdin, stdout, stderr;
 * installs the stop signals and ignores SIGPIPE (stop_install). First act of main. */
void cmd_init(const char *name);
const char *cmd_name(void);

/* "name: text", control characters escaped. */
void cmd_warn(const struct why *w);
void cmd_say(const char *fmt, ...) PRINTF(1, 2);
/* Says "name: ...", then where help is; returns EX_USAGE. */
int cmd_usage_error(const char *fmt, ...) PRINTF(1, 2);
/* One line of progress that the next one overwrites; nothing unless stderr is a terminal. Messages clear it. */
void cmd_progress(const char *fmt, ...) PRINTF(1, 2);

/* Last act of main: flushes and closes stdout (a failure makes the status 74, unless its reader has
 * gone away), then ends by the signal that asked to stop, if one did. Returns the exit status. */
int cmd_finish(int status);
/* The same without the signal: for a command that has answered in full. */
int cmd_close_stdout(int status);

/* ---- options.c: the command line ---- */

/* An option of the command's own. Ends with a line of zeros. */
struct cmd_option {
	int code;            /* what cmd_next returns: the letter, or a number above 255 for none */
	const char *name;    /* long name; NULL: only the letter */
	const char *metavar; /* NULL: takes no value */
	const char *doc;     /* for --help */
};

/* Put CMD_FORM_OPTIONS into the table and pass their codes to cmd_form. */
enum { CMD_MSGPACK = 0x1000 };
#define CMD_FORM_OPTIONS \
	{ 't', "text", NULL, "write aligned text" }, \
	{ 'j', "json", NULL, "write JSON Lines" }, \
	{ CMD_MSGPACK, "msgpack", NULL, "write msgpack" }
/* True if opt was one of them (stored in form). */
bool cmd_form(int opt, enum form *form);

/* cmd_next: >= 0 an own option's code, or these. */
enum { CMD_END = -1, CMD_EXIT = -2 };

struct cmd {
	int argc;
	char **argv;
	const char *usage;              /* as in SYNOPSIS, a line each, ends with a newline */
	const struct cmd_option *own;
	struct config *config;          /* takes the options of wire/options.list; NULL: there are none */
	uint64_t refused;               /* of these, bit by option: not in --help; the command refuses them itself */
	int operand;                    /* CMD_END: index of the first operand */
	bool dashes;                    /* CMD_END: "--" stood before it */
	int status;                     /* CMD_EXIT: the exit status; all is said already */
};

/* argv[0] is the command, or the subcommand: options start at 1. Operands may stand among the
 * options (they are moved behind), but nothing behind "--" is touched. */
void cmd_options(struct cmd *c, int argc, char **argv, const char *usage, const struct cmd_option *own, struct config *config);
/* The next own option; options of the list are stored in config, --help and --version answered,
 * errors said. `-h` is --help where it is not an option of the command's own. */
int cmd_next(struct cmd *c, const char **value) MUST_USE;
/* A whole number, or a duration, or a size, for an own option: 0, or EX_USAGE with all said. */
int cmd_int(const char *option, const char *value, int64_t min, int64_t max, int64_t *out) MUST_USE;
int cmd_size(const char *option, const char *value, int64_t *out) MUST_USE;
int cmd_duration(const char *option, const char *value, double *out) MUST_USE;

#endif
