/* arms.h - runs side by side: as a comparison planned them, or by the settings in which they differ. */
#ifndef PILOT_ARMS_H
#define PILOT_ARMS_H

#include "identity.h"

enum arm_state { ARM_COUNTS, ARM_DIVERGED, ARM_MISSING, ARM_LEFT_OUT };

struct arm_run {
	const struct book_run *run; /* the last of a chain of resumes; NULL: planned and missing */
	int64_t seed;               /* INT64_MIN: unknown */
	enum arm_state state;
	char why[240];              /* why it does not count */
	int resumed;                /* runs before it in its chain */
	double seconds;             /* in updates, of the whole chain; NAN unknown */
};
struct arm {
	char name[128];
	struct arm_run *run;
	int runs, counts, diverged, missing, left_out;
	struct identity identity;   /* of its first run that is there; empty if none is */
};
struct arms {
	struct arm *arm; /* the control first */
	int n;
	bool planned;
	struct view comparison; /* planned: its record */
	char id[ULID_SIZE], name[128];
	char **factor;          /* settings in which arms may differ, as identity names them */
	int factors;
	struct arm_note {       /* runs that belong to a planned run that already has one, and the like */
		char run[ULID_SIZE], text[240];
	} *note;
	int notes;
};
struct arms_settings {
	const char *comparison; /* id prefix or name; NULL: the newest in the book */
	const char *by;         /* FIELD[,FIELD]: group what is there by these, whatever was planned; NULL: as planned */
	const char *control;    /* with by: the control's values, "1e-4" or "lr=1e-4"; NULL: the arm that began first */
	const struct ids *only; /* runs to look at; NULL: all that trained */
};
/* 0; -EX_NO nothing to group (no runs, no plan): w says why; -EX_USAGE: no such comparison or field. */
int arms_of(const struct book *b, const struct arms_settings *s, struct arms *a, struct why *w) MUST_USE;
void arms_free(struct arms *a);
bool arms_factor(const struct arms *a, const char *name); /* arms may differ in this setting */
/* Comparisons in the book, newest first; false past the last. */
bool arms_comparison(const struct book *b, int i, struct view *v);

enum arms_metric { METRIC_LOSS, METRIC_ACCURACY, METRIC_EXACT };
const char *arms_metric_name(enum arms_metric m); /* validation_loss, ... */
int arms_metric_find(const char *name);           /* -1: no such metric */
bool arms_less_is_better(enum arms_metric m);
double arms_value(const struct book_eval *e, enum arms_metric m);
/* The evaluation that speaks for a run: the last, or the best of all; NULL: it has none with that metric. */
const struct book_eval *arms_eval(const struct book_run *r, enum arms_metric m, bool best);

#endif
