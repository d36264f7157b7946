/* judge-find.c - what was found about each phase of a run, and the verdicts that follow from
 * it. Nothing here turns a gap into an ok: without evidence a phase is unproven. */
#include <stdlib.h>
#include <string.h>

#include "judge.h"

enum { TEXT = 1500, SAID_MAX = 4000 };

static const struct {
	const char *name, *look;
} phases[GATE_PHASES] = {
	[G_LOAD] = { "load", "the file of weights, memory" },
	[G_DATA] = { "data", "the data set or its transformation" },
	[G_FORWARD] = { "forward", "a smaller batch, its values" },
	[G_BACKWARD] = { "backward", "the graph, the precision, normalisation" },
	[G_UPDATE] = { "update", "the optimizer, accumulation" },
	[G_VALIDATE] = { "validate", "the separation from training" },
	[G_SAVE] = { "save", "the disk, memory" },
	[G_RESUME] = { "resume", "the checkpoint, before the campaign" },
	[G_EXPORT] = { "export", "what the file holds" },
};

const char *gate_phase_name(int p)
{
	return phases[p].name;
}

int gate_phase_find(const char *name, size_t n)
{
	for (int p = 0; p < GATE_PHASES; p++)
		if (strlen(phases[p].name) == n && !memcmp(phases[p].name, name, n))
			return p;
	return -1;
}

const char *gate_look(enum gate_phase p)
{
	return phases[p].look;
}

static char no_memory[] = "out of memory";

/* What is found must never get lost, memory or not. */
static char *keep(const char *text)
{
	char *s = strdup(text);

	return s ? s : no_memory;
}

static void drop(char *s)
{
	if (s != no_memory)
		free(s);
}

static void first_of(char **at, int *more, const char **look, const char *to_look, const char *fmt, va_list ap)
{
	char text[TEXT];

	if (*at) {
		++*more;
		return;
	}
	vsnprintf(text, sizeof text, fmt, ap);
	*at = keep(text);
	*look = to_look;
}

void find_fail(struct watch *r, enum gate_phase p, const char *look, const char *fmt, ...)
{
	struct finding *f = &r->finding[p];
	va_list ap;

	va_start(ap, fmt);
	first_of(&f->fail, &f->more, &f->look, look ? look : phases[p].look, fmt, ap);
	va_end(ap);
}

void find_doubt(struct watch *r, enum gate_phase p, const char *look, const char *fmt, ...)
{
	struct finding *f = &r->finding[p];
	va_list ap;

	va_start(ap, fmt);
	first_of(&f->doubt, &f->doubts, &f->doubt_look, look ? look : phases[p].look, fmt, ap);
	va_end(ap);
}

void find_blind(struct watch *r, enum gate_phase p, const char *reason, size_t n)
{
	r->finding[p].blind = true;
	find_lack(r, p, "%.*s", (int)(n < TEXT ? n : TEXT), reason);
}

void find_settle(struct watch *r, enum gate_phase p)
{
	struct finding *f = &r->finding[p];

	if (!f->doubt)
		return;
	if (f->blind)
		find_say(r, p, "not to be trusted: %s", f->doubt);
	else if (f->fail)
		f->more += 1 + f->doubts;
	else {
		f->fail = f->doubt;
		f->more = f->doubts;
		f->look = f->doubt_look;
		f->doubt = NULL;
	}
}

void find_lack(struct watch *r, enum gate_phase p, const char *fmt, ...)
{
	struct finding *f = &r->finding[p];
	char text[TEXT];
	va_list ap;

	if (f->lack)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	f->lack = keep(text);
}

void find_say(struct watch *r, enum gate_phase p, const char *fmt, ...)
{
	struct buf *b = &r->finding[p].said;
	char text[TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (b->n > SAID_MAX || buf_printf(b, "%s%s", b->n ? "; " : "", text) < 0)
		find_lack(r, p, "the evidence does not fit into memory");
}

void finding_free(struct finding *f)
{
	drop(f->fail);
	drop(f->doubt);
	drop(f->lack);
	buf_free(&f->said);
	*f = (struct finding){ 0 };
}

/* ---- verdicts ---- */

struct answer {
	const char *verdict, *evidence, *look;
	char reason[TEXT + 100];
	bool failed;
};

static void fail(struct answer *a, const struct finding *f)
{
	a->verdict = "fail";
	a->failed = true;
	a->look = f->look;
	if (f->more)
		snprintf(a->reason, sizeof a->reason, "%s (and %d more)", f->fail, f->more);
	else
		snprintf(a->reason, sizeof a->reason, "%s", f->fail);
}

static void lack(struct answer *a, const char *why, bool required, enum gate_phase p)
{
	a->verdict = required ? "fail" : "unproven";
	a->failed = required;
	a->look = phases[p].look;
	snprintf(a->reason, sizeof a->reason, "%s%s", required ? "required, and unproven: " : "", why);
}

static void answer(struct answer *a, const struct watch *r, enum gate_phase p, bool required)
{
	const struct finding *f = &r->finding[p];

	*a = (struct answer){ .evidence = f->said.n ? (const char *)f->said.p : NULL };
	if (f->fail)
		fail(a, f);
	else if (f->na && !required) {
		a->verdict = "n/a";
		snprintf(a->reason, sizeof a->reason, "%s", f->na_reason);
	} else if (f->na || f->lack || !a->evidence)
		lack(a, f->na ? f->na_reason : f->lack ? f->lack : "nothing in the stream shows it", required, p);
	else
		a->verdict = "ok";
}

static void write_measure(struct rec *q, const struct measure *m)
{
	if (!m->seen)
		return;
	if (m->micro_batch >= 0)
		rec_int(q, F_verdict_micro_batch, m->micro_batch);
	if (m->length >= 0)
		rec_int(q, F_verdict_length, m->length);
	if (m->allocated >= 0)
		rec_int(q, F_verdict_allocated_peak_bytes, m->allocated);
	if (m->reserved >= 0)
		rec_int(q, F_verdict_reserved_peak_bytes, m->reserved);
	if (m->used >= 0)
		rec_int(q, F_verdict_device_used_peak_bytes, m->used);
	if (m->seconds >= 0)
		rec_num(q, F_verdict_seconds, m->seconds);
}

static int write_one(struct rec *q, struct watch *r, enum gate_phase p, const struct answer *a, const char *tool, struct out *o, struct why *w)
{
	rec_begin(q, KIND_verdict);
	rec_str(q, F_verdict_run, r->id);
	rec_str(q, F_verdict_phase, phases[p].name);
	rec_str(q, F_verdict_verdict, a->verdict);
	rec_str(q, F_verdict_evidence, a->evidence);
	rec_str(q, F_verdict_reason, *a->reason ? a->reason : NULL);
	rec_str(q, F_verdict_look, a->look);
	rec_str(q, F_verdict_tool, tool);
	write_measure(q, &r->measure[p]);
	return out_rec(o, q, w);
}

int find_write(struct watch *r, const char *tool, unsigned required, struct out *o, int *failed, struct why *w)
{
	struct rec q = { 0 };
	struct answer a;
	int rc = 0;

	for (int p = 0; p < GATE_PHASES && !rc; p++) {
		struct buf *said = &r->finding[p].said;

		if (said->n && buf_add(said, "", 1) < 0)
			find_lack(r, p, "the evidence does not fit into memory");
		answer(&a, r, p, required >> p & 1);
		*failed += a.failed;
		rc = write_one(&q, r, p, &a, tool, o, w);
	}
	rec_free(&q);
	return rc;
}
