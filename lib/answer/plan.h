/* plan.h - a controlled comparison before its first run: arms that differ in what is named, and in nothing else. */
#ifndef PILOT_PLAN_H
#define PILOT_PLAN_H

#include "answer.h"

enum { PLAN_FACTORS = 8, PLAN_VALUES = 64, PLAN_SEEDS = 256, PLAN_ARMS = 4096 };

/* A setting that differs between arms, and the values it takes. */
struct plan_factor {
	char name[48];             /* as the user wrote it */
	char setting[64];          /* as records name it: micro_batch, optimizer.lr, or lr of a command's own */
	int option;                /* of options.list; OPTIONS: a placeholder of a command's own */
	char key[48];              /* inside that option's spec; "" the option itself */
	char *value[PLAN_VALUES];  /* owned; the control's first */
	int values;
};
struct plan_settings {
	const struct config *config; /* what every run has; what the user named is `given` */
	bool command;                /* the requests are for a command: only what was named is pinned */
	const char *control;         /* "lr=1e-4[,b=8]" */
	const char *vary[PLAN_FACTORS]; /* "lr=5e-5,2e-4": one setting changed at a time */
	int varies;
	const char *cross;           /* "b=8,16;lr=1e-3,2e-3": every combination, the first the control unless it is named */
	const char *seeds, *control_seeds; /* "5" is 1 to 5, "1,7,9" these; NULL: 1 */
	bool unpaired, best;
	const char *metric;          /* NULL: validation_loss */
	double within, target;       /* NAN: none */
	const char *name, *question; /* NULL: none */
};
struct plan_arm {
	char name[128];
	int value[PLAN_FACTORS];     /* which value of each factor */
	struct config config;
};
struct plan {
	char id[ULID_SIZE];
	struct plan_factor factor[PLAN_FACTORS];
	int factors;
	struct plan_arm *arm;
	int arms;
	int64_t seed[PLAN_SEEDS], control_seed[PLAN_SEEDS];
	int seeds, control_seeds;    /* of the variants, of the control */
	const char *budget;          /* updates, examples, epochs */
	double amount;
};
/* Checks all of it: no variant, equal arms, a seed twice, a factor that is pinned too, no budget, an unknown setting,
 * a value that the setting cannot take: -EX_USAGE. */
int plan_make(const struct plan_settings *s, struct plan *p, struct why *w) MUST_USE;
void plan_free(struct plan *p);
/* The comparison, then a request a run: seed by seed, so that a night that is cut has whole pairs. */
int plan_write(const struct plan_settings *s, const struct plan *p, struct out *o, struct why *w) MUST_USE;

/* account.c: what each arm sees: examples, updates, epochs, tokens; what stays equal and what does not. Opens the data. */
int account_answer(const struct plan_settings *s, const struct plan *p, struct answer **a, struct why *w) MUST_USE;

#endif
