/* tally.c - the exit status that a stream's verdicts ask for. Whatever is missing (an end, the gate, a
 * verdict) counts against the stream: what did not happen is no yes. */
#include "job.h"

#include <stdlib.h>
#include <string.h>

struct tally {
	struct brackets *brackets;
	struct ids gates, runs; /* brackets of gates; runs to judge: 1 without, 0 with a verdict */
	int64_t judged, waiting, failed;
	char missing[ULID_SIZE], first_failed[ULID_SIZE + 40];
	int upstream; /* worst status of a done record */
	bool part;
};

struct tally *tally_new(void)
{
	struct tally *t = calloc(1, sizeof *t);

	if (t && !(t->brackets = brackets_new())) {
		free(t);
		return NULL;
	}
	return t;
}

void tally_free(struct tally *t)
{
	if (!t)
		return;
	brackets_free(t->brackets);
	ids_free(&t->gates);
	ids_free(&t->runs);
	free(t);
}

void tally_part(struct tally *t)
{
	t->part = true;
}

static int see_tool(struct tally *t, const struct view *v)
{
	char id[ULID_SIZE];

	if (!view_is(v, F_tool_name, "gate"))
		return 0;
	view_copy(v, F_tool_id, id, sizeof id);
	return ids_put(&t->gates, id, 1);
}

static int see_run(struct tally *t, const struct view *v)
{
	char run[ULID_SIZE];
	int *waits;

	view_run(v, run);
	if (!view_is(v, F_run_role, "train") && !view_is(v, F_run_role, "confirm"))
		return 0;
	waits = ids_find(&t->runs, run);
	if (waits && *waits)
		return 0;
	t->judged += !waits;
	t->waiting++; /* also a second time: a verdict on what went before says nothing of this */
	return ids_put(&t->runs, run, 1);
}

static bool known_word(const struct view *v)
{
	return view_is(v, F_verdict_verdict, "ok") || view_is(v, F_verdict_verdict, "fail") || view_is(v, F_verdict_verdict, "unproven") || view_is(v, F_verdict_verdict, "n/a");
}

/* A verdict counts if a gate of this stream gave it, in a word that is one. */
static void see_verdict(struct tally *t, const struct view *v)
{
	char run[ULID_SIZE], tool[ULID_SIZE], phase[24];
	int *waits;

	if (view_copy(v, F_verdict_tool, tool, sizeof tool) ? !ids_find(&t->gates, tool) : t->gates.n == 0)
		return;
	if (!known_word(v))
		return;
	view_run(v, run);
	waits = ids_find(&t->runs, run);
	if (waits && *waits) {
		*waits = 0;
		t->waiting--;
	}
	if (view_is(v, F_verdict_verdict, "fail") && t->failed++ == 0) {
		view_copy(v, F_verdict_phase, phase, sizeof phase);
		snprintf(t->first_failed, sizeof t->first_failed, "%.23s of run %s", phase, run);
	}
}

int tally_see(struct tally *t, const struct view *v, struct why *w)
{
	int64_t status = 0;
	int r = brackets_see(t->brackets, v, w), more = 0;

	switch (v->kind) {
	case KIND_tool: more = see_tool(t, v); break;
	case KIND_run: more = see_run(t, v); break;
	case KIND_verdict: see_verdict(t, v); break;
	case KIND_done:
		if (view_int(v, F_done_status, &status) && status != 0)
			t->upstream = code_worst(t->upstream, status > 0 && status < 256 ? (int)status : EX_NO);
		break;
	default: break;
	}
	if (more < 0)
		return why_set(w, EX_OSERR, "following verdicts: out of memory");
	return r == -EX_DATAERR && t->part ? 0 : r;
}

int tally_whole(const struct tally *t, const char *name, struct why *w)
{
	return brackets_check(t->brackets, name, w);
}

static const char *find_waiting(const struct tally *t)
{
	for (size_t i = 0; i < t->runs.cap; i++)
		if (t->runs.slot[i].id[0] && t->runs.slot[i].value)
			return t->runs.slot[i].id;
	return "?";
}

static int evidence(const struct tally *t, const char *name, struct why *w)
{
	if (t->gates.n == 0)
		return why_set(w, EX_DATAERR, "asking for verdicts: %.300s: no gate in the stream", name);
	if (t->judged == 0)
		return why_set(w, EX_DATAERR, "asking for verdicts: %.300s: no run to judge in the stream", name);
	if (t->waiting)
		return why_set(w, EX_DATAERR, "asking for verdicts: %.300s: run %s has no verdict%s", name, find_waiting(t), t->waiting > 1 ? ", nor have others" : "");
	return 0;
}

int tally_verdict(const struct tally *t, const char *name, struct why *w)
{
	int code = -evidence(t, name, w);

	if (t->failed && code_worst(code, EX_NO) != code) {
		code = EX_NO;
		why_set(w, code, "asking for verdicts: %.300s: failed: %s%s", name, t->first_failed, t->failed > 1 ? ", and more" : "");
	}
	if (t->upstream && code_worst(code, t->upstream) != code) {
		code = t->upstream;
		why_set(w, code, "asking for verdicts: %.300s: a program upstream ended with status %d", name, code);
	}
	return -code;
}
