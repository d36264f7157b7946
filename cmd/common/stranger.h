/* stranger.h - the options of train-step, probe-batch and gate for a command of the user's. */
#ifndef PILOT_STRANGER_H
#define PILOT_STRANGER_H

#include "../../lib/job/job.h"
#include "cmd.h"

/* Put CMD_STRANGER_OPTIONS into the table and pass their codes to stranger_option. */
enum { STRANGER_ENV = 0x1100, STRANGER_RESUME, STRANGER_REGEX, STRANGER_EVIDENCE, STRANGER_DEADLINE, STRANGER_BLIND };
#define CMD_STRANGER_OPTIONS \
	{ STRANGER_ENV, "env", "NAME=VALUE", "-- COMMAND: set this in its environment; may be given again" }, \
	{ STRANGER_RESUME, "resume-with", "COMMAND", "-- COMMAND: the command line, for sh, that goes on from its checkpoint" }, \
	{ STRANGER_REGEX, "step-regex", "REGEX", "-- COMMAND: read updates from its output: named groups as in pilot-trainer(7)" }, \
	{ STRANGER_EVIDENCE, "evidence", "none|basic|full", "-- COMMAND: facts that its adapter takes; full costs extra passes" }, \
	{ STRANGER_BLIND, "no-adapter", NULL, "-- COMMAND: leave its environment alone and only watch it from outside" }

enum { STRANGER_ENVS = 64 };
struct stranger_options {
	struct stranger stranger; /* argv is the caller's to set */
	char *env[STRANGER_ENVS + 1];
	int envs;
	bool any;                 /* one of the options was given */
};
/* 1 it was one of them and is stored, 0 it is another option, EX_USAGE with all said. */
int stranger_option(struct stranger_options *s, int opt, const char *value) MUST_USE;

#endif
