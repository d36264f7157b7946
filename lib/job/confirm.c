/* The size to recommend runs for longer, with its own accumulation, validation and saves, and then
 * goes on from its checkpoint in one more run. If that does not fit, a smaller one is taken. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"

enum { CONFIRMATIONS = 4 };
static const double confirm_seconds = 2;

static int confirm_trial(struct probe *p, struct trial *t, int64_t size, struct why *w)
{
	const struct config *c = p->set->config;
	char folder[4096];
	if (trial_init(t, p, "confirm", size) < 0)
		return why_set(w, EX_OSERR, "confirm micro-batch %lld: out of memory", (long long)size);
	int r = *c->save ? 0 : probe_folder(p, "confirm", folder, w);
	if (r < 0) {
		trial_free(t);
		return r;
	}
	t->whole = true;
	int64_t accum = p->set->effective > 0 ? p->set->effective / size : c->accum;
	int64_t half = probe_fill(confirm_seconds / 2, probe_expect(p, size) * (double)accum, 4, 16);
	trial_int(t, O_accum, accum);
	trial_int(t, O_updates, 2 * half);
	trial_int(t, O_val_every, half);
	trial_int(t, O_save_every, half);
	trial_int(t, O_keep, 0);
	trial_str(t, O_save, *c->save ? c->save : folder);
	if (!config_given(c, O_val_examples))
		trial_int(t, O_val_examples, 8 * (c->val_micro_batch > 0 ? c->val_micro_batch : size));
	p->accum = accum;
	return 0;
}

/* Going on from its checkpoint needs memory too, and not always the same. */
static int resume_trial(struct probe *p, const struct trial *confirmed, struct trial *t, struct why *w)
{
	char folder[4096];
	int r = probe_folder(p, "resume", folder, w);
	if (r < 0)
		return r;
	memset(t, 0, sizeof *t);
	t->part = "resume";
	t->size = confirmed->size;
	t->time = malloc(TRIAL_TIMES * sizeof *t->time);
	if (!t->time || config_init(&t->config) < 0) {
		free(t->time);
		return why_set(w, EX_OSERR, "resume micro-batch %lld: out of memory", (long long)t->size);
	}
	t->config.accum = confirmed->config.accum; /* not named: the checkpoint has it */
	trial_str(t, O_resume, confirmed->save);
	trial_str(t, O_save, folder);
	if (p->set->config->memory_bytes)
		trial_int(t, O_memory_bytes, p->set->config->memory_bytes);
	if (config_given(p->set->config, O_threads))
		trial_int(t, O_threads, p->set->config->threads);
	return 0;
}

static int resume_one(struct probe *p, const struct trial *confirmed, enum trial_verdict *verdict, struct why *w)
{
	struct trial t;
	probe_tell(p, "micro-batch %lld: does it resume?", (long long)confirmed->size);
	int r = resume_trial(p, confirmed, &t, w);
	if (r < 0)
		return r;
	r = trial_do(p, &t, "trial", w);
	*verdict = t.verdict;
	if (r == 0 && t.verdict != TRIAL_FITS && t.verdict != TRIAL_STOPPED)
		probe_warn(p, "micro-batch %lld ran, but did not resume: %s%s%s", (long long)t.size, trial_verdict_name(t.verdict), *t.why ? ": " : "", t.why);
	probe_learn(p, &t);
	trial_free(&t);
	return r;
}

static void confirmed(struct probe *p, const struct trial *t)
{
	p->confirmed = true;
	p->recommended = t->size;
	memcpy(p->confirm_run, t->run, sizeof p->confirm_run);
	p->update_rows = t->full_rows;
	if (t->stranger && t->passes)
		p->accum = t->passes;
	if (t->all_seconds > 0) {
		double rows = t->full_rows > 0 ? t->full_rows : (double)(t->size * t->config.accum);
		p->confirm_rate = (double)t->times * rows / t->all_seconds;
		p->confirm_tokens = (double)t->tokens / t->all_seconds;
	}
}

/* How many bytes more than the headroom allows. */
static double excess(const struct probe *p, const struct trial *t)
{
	return p->budget > 0 ? trial_bytes(t) - (1 - p->set->headroom) * p->budget : 0;
}

/* The size to try next: of a command, whose longer run may take more from the start, by what this one took too much. */
static int64_t smaller(const struct probe *p, const struct trial *t)
{
	double fixed, per, rows = 0;
	if (t->stranger && t->verdict != TRIAL_FITS) /* how much it lacked is unknown */
		return t->size / 2;
	if (t->stranger && search_line(&p->search, &fixed, &per))
		rows = ceil(excess(p, t) / per);
	if (rows > 0)
		return rows < (double)t->size ? t->size - (int64_t)rows : 1;
	return t->size > 16 ? t->size - t->size / 8 : t->size - 1;
}

/* 1 it is confirmed; 0 it is not, and `next` may be, if that is not 0. */
static int confirm_one(struct probe *p, int64_t size, int64_t *next, struct why *w)
{
	struct trial t;
	enum trial_verdict verdict;
	*next = 0;
	probe_tell(p, "micro-batch %lld: confirming it", (long long)size);
	int r = p->set->stranger ? stranger_confirm_trial(p, &t, size, w) : confirm_trial(p, &t, size, w);
	if (r < 0)
		return r;
	r = trial_do(p, &t, "confirm", w);
	verdict = t.verdict;
	probe_learn(p, &t);
	if (r == 0 && verdict == TRIAL_FITS && *t.save && !t.stranger)
		r = resume_one(p, &t, &verdict, w);
	else if (r == 0 && verdict != TRIAL_FITS)
		probe_warn(p, "micro-batch %lld was to be recommended, but its longer run ended otherwise: %s%s%s", (long long)size, trial_verdict_name(verdict), *t.why ? ": " : "", t.why);
	bool tight = excess(p, &t) > 0 && size > 1;
	if (size > 1 && (tight || verdict == TRIAL_OOM || verdict == TRIAL_HOST_OOM || verdict == TRIAL_SPILLED))
		*next = smaller(p, &t);
	if (t.stranger && size == 1 && excess(p, &t) > 0)
		probe_remark(p, "not even micro-batch 1 leaves the headroom");
	if (r == 0 && verdict == TRIAL_FITS && !tight) {
		confirmed(p, &t);
		r = 1;
	} else if (!t.stranger && *p->set->config->save && *t.save) { /* the user's folder holds one run: the next one's */
		unlink(t.save);
		unlink(t.last_save);
	}
	trial_free(&t);
	return r;
}

int probe_confirm(struct probe *p, struct why *w)
{
	int64_t limit = conclude_limit(p);
	int r = 0;
	for (int i = 0; i < CONFIRMATIONS && r == 0 && limit >= 1 && !stop_wanted(); i++) {
		int64_t size = speed_advise(limit, p->knee ? p->knee : p->knee_sure, p->set->effective, p->t0, p->c);
		r = confirm_one(p, size, &limit, w);
	}
	return r < 0 ? r : 0;
}
