/* trainer_phase.c - measuring a phase: its time after a synchronise, and the device's memory
 * counters with their peaks. The passes of one update are summed. */
#include "trainer.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[PHASES] = { "load", "resume", "data", "forward", "backward", "update", "validate", "save" };

const char *tr_phase_name(enum phase p)
{
	return names[p];
}

void tr_phases_reset(struct trainer *t)
{
	for (enum phase p = PHASE_DATA; p <= PHASE_UPDATE; p++)
		memset(&t->measure[p], 0, sizeof t->measure[p]);
}

static bool of_an_update(enum phase p)
{
	return p >= PHASE_DATA && p <= PHASE_UPDATE;
}

/* Reading the counters costs a look into /proc, so updates that are not measured go without. */
static bool with_memory(const struct trainer *t, enum phase p)
{
	return t->measuring || !of_an_update(p);
}

static void larger(int64_t *peak, int64_t v)
{
	if (v > *peak)
		*peak = v;
}

/* Peaks since the last mark into those of the whole run. */
static void fold(struct trainer *t, enum phase p, const struct dev_memory *m)
{
	if (m->allocated_peak > t->allocated_peak) {
		t->allocated_peak = m->allocated_peak;
		t->peak_phase = p;
	}
	larger(&t->reserved_peak, m->reserved_peak);
	larger(&t->used_peak, m->used_peak);
}

void tr_phase_begin(struct trainer *t, enum phase p)
{
	struct measure *m = &t->measure[p];
	struct dev_memory now;

	if (!of_an_update(p))
		memset(m, 0, sizeof *m);
	if (with_memory(t, p)) {
		dev_memory(t->dev, &now);
		fold(t, PHASE_UPDATE, &now); /* of updates that were not measured */
		if (!m->begun)
			m->baseline = now.allocated;
		dev_mark(t->dev);
	}
	if (!m->begun)
		m->update = t->progress.update;
	m->begun = true;
	dev_sync(t->dev);
	m->since = clock_seconds();
}

void tr_phase_end(struct trainer *t, enum phase p, int64_t examples)
{
	struct measure *m = &t->measure[p];
	struct dev_memory now;

	dev_sync(t->dev);
	m->seconds += clock_seconds() - m->since;
	m->examples += examples;
	m->passes += examples > 0;
	if (!with_memory(t, p))
		return;
	dev_memory(t->dev, &now);
	if (!m->ended)
		m->memory = now;
	m->ended = true;
	larger(&m->memory.allocated_peak, now.allocated_peak);
	larger(&m->memory.reserved_peak, now.reserved_peak);
	larger(&m->memory.used_peak, now.used_peak);
	fold(t, p, &now);
}

void tr_phase_record(struct trainer *t, enum phase p, const char *occurrence)
{
	const struct measure *m = &t->measure[p];
	bool val = p == PHASE_VALIDATE, of_data = of_an_update(p) || val;
	struct rec *r = &t->rec;

	rec_begin(r, KIND_phase);
	rec_str(r, F_phase_run, t->result->run);
	rec_str(r, F_phase_phase, names[p]);
	rec_str(r, F_phase_occurrence, occurrence);
	rec_int(r, F_phase_update, m->update);
	rec_int(r, F_phase_micro_batch, val ? t->validation.micro_batch : t->config.micro_batch);
	rec_int(r, F_phase_length, val ? t->validation.length : t->length);
	if (of_data) {
		rec_int(r, F_phase_examples, m->examples);
		rec_int(r, F_phase_passes, m->passes);
	}
	rec_str(r, F_phase_device, dev_name(t->dev));
	rec_int(r, F_phase_baseline_bytes, m->baseline);
	rec_int(r, F_phase_allocated_bytes, m->memory.allocated);
	rec_int(r, F_phase_allocated_peak_bytes, m->memory.allocated_peak);
	rec_int(r, F_phase_reserved_bytes, m->memory.reserved);
	rec_int(r, F_phase_reserved_peak_bytes, m->memory.reserved_peak);
	rec_int(r, F_phase_device_used_bytes, m->memory.used);
	rec_int(r, F_phase_device_used_peak_bytes, m->memory.used_peak);
	rec_num(r, F_phase_seconds, m->seconds);
}

/* The size asked, the phase and the input are kept for the end record. A size that the kernels
 * cannot count is no lack of memory. */
int tr_phase_take(struct trainer *t, int rc, enum phase p, int64_t rows, int64_t length)
{
	if (rc == -EX_USAGE)
		snprintf(t->kernel_limit, sizeof t->kernel_limit, "%s", t->why->text);
	if (rc != -EX_NO)
		return rc;
	t->oom_phase = p;
	dev_last_oom(t->dev, &t->oom_facts);
	snprintf(t->oom_input, sizeof t->oom_input, "%lld x %lld", (long long)rows, (long long)length);
	tr_ending(t, "oom", "%s: out of memory on input %s: asked %lld bytes with %lld allocated",
		names[p], t->oom_input, (long long)t->oom_facts.asked, (long long)t->oom_facts.allocated);
	return rc;
}
