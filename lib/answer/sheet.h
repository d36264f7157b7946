/* sheet.h - ledger sheet: what each run took of its device, and which devices of a catalogue it fits. */
#ifndef PILOT_SHEET_H
#define PILOT_SHEET_H

#include "answer.h"
#include "catalogue.h"

struct sheet_settings {
	const struct catalogue *catalogue; /* NULL: none */
	double headroom; /* share of the usable bytes that stays free */
};
int sheet_answer(const struct book *b, const struct sheet_settings *s, struct answer **a, struct why *w) MUST_USE;

#endif
