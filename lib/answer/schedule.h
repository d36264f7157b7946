/* schedule.h - what of a planned comparison fits into a number of days, from what was measured. */
#ifndef PILOT_SCHEDULE_H
#define PILOT_SCHEDULE_H

#include "arms.h"

enum { SCHEDULE_DAYS = 8 };
struct schedule_settings {
	struct arms_settings arms;
	double days[SCHEDULE_DAYS];
	int n;
	const char *order;  /* arms by priority, separated by ';'; NULL: as planned. The control is always first */
	double reserve;     /* share of the time that is kept free: 0.2 */
	double restarts;    /* a day, on each device */
	int devices;        /* runs at a time */
	double updates;     /* of each run; NAN: as planned */
	double keep;        /* checkpoints of a run that stay on disk: 1 */
	double uplink;      /* bytes a second, for carrying one checkpoint of each run home; NAN: not told */
};
int schedule_answer(const struct book *b, const struct schedule_settings *s, struct answer **a, struct why *w) MUST_USE;

#endif
