/* rules.h - what a rule of the gate is, and a table of them: one for the builtin trainer, one
 * for a command in its place. Only rules*.c and stranger*.c include it. */
#ifndef PILOT_RULES_H
#define PILOT_RULES_H

#include "judge.h"

enum test {
	ZERO,   /* a == 0 */
	SOME,   /* a > 0 */
	LEAST,  /* a >= 0 */
	YES,    /* a is true */
	NO,     /* a is false */
	SAME,   /* a == b, numbers bit by bit */
	MOST,   /* a <= b */
	BELOW,  /* a < b */
	FINITE, /* a is a number */
	CALL,   /* fn says */
};

enum when {
	ALWAYS,
	IDS,      /* inputs are ids: the record has ids_min */
	FEATURES, /* they are features */
	MOVING,   /* the rate is not 0 */
	FROM_FILE, /* the run was given weights */
	CONTINUED, /* the run goes on from a checkpoint */
};

enum {
	NEED = 1, /* where the rule applies, its facts must be there */
	FIRM = 2, /* what it finds wrong is so even where an adapter sees the phase badly (KIND_blind) */
};

struct rule {
	enum kind kind;
	enum gate_phase phase; /* whose verdict it is; of KIND_phase records, only those of this phase */
	enum test test;
	enum field a, b;
	rule_check *fn;
	enum when when;
	int need;         /* NEED | FIRM */
	const char *good; /* evidence; {a} and {b} are the values. NULL: silent, or what fn says */
	const char *bad;  /* the reason; the values are added */
	const char *look; /* where to look first; NULL: as the phase has it */
};

struct rules {
	const struct rule *rule;
	int count;
	const struct rule *common; /* of every phase record, whatever its phase */
	int commons;
	/* Without a phase record the phase is unproven, for this reason; NULL: it needs none. */
	const char *unseen[GATE_PHASES];
};

extern const struct rules builtin_rules, stranger_rules;

#define PH(p) KIND_phase, p
#define ON(k, p) KIND_##k, p

#endif
