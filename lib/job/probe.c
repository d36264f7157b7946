/* A probe from its settings to its conclusion: sizes are tried until the edge, those that fit are
 * timed in random order, and the one to recommend is run for longer and resumed. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe.h"

static const double search_seconds = 0.08;  /* what a trial of the search aims at */
static const double crowded = 0.1;          /* share of the processors from which others are named */
static const int64_t least_reserve = 512 << 20;

/* ---- its folder ---- */

/* A folder of its own for each run: one folder holds one run. */
int probe_folder(const struct probe *p, const char *name, char out[4096], struct why *w)
{
	if ((size_t)snprintf(out, 4096, "%s/%s", p->temp.dir, name) >= 4096)
		return why_set(w, EX_USAGE, "make a folder for checkpoints: TMPDIR: too long");
	temp_clear(out);
	return mkdir(out, 0700) ? why_errno(w, EX_IOERR, "make a folder for checkpoints: %s", out) : 0;
}

/* ---- how much memory there is ---- */

static void set_budget(struct probe *p)
{
	const struct config *c = p->set->config;
	p->seek = true;
	if (c->memory_bytes > 0) {
		p->budget = (double)c->memory_bytes;
		snprintf(p->source, sizeof p->source, "--memory");
	} else if (!strcmp(c->device, "cpu")) {
		int64_t have = host_available(), reserve = have / 10 > least_reserve ? have / 10 : least_reserve;
		if (reserve > have / 2)
			reserve = have / 2;
		p->budget = (double)(have - reserve);
		p->seek = p->set->exact;
		snprintf(p->source, sizeof p->source, "host memory available, less a reserve of %lld MiB", (long long)(reserve >> 20));
	} else {
		snprintf(p->source, sizeof p->source, "device");
	}
}

/* Trials get the budget as their cap, so that a size nobody could foresee ends as `oom` and not as a killed host. */
void probe_cap(const struct probe *p, struct trial *t)
{
	if (t->config.memory_bytes == 0 && p->budget > 0)
		trial_int(t, O_memory_bytes, (int64_t)p->budget);
}

/* ---- remarks ---- */

static void remark(struct probe *p, const char *fmt, va_list ap)
{
	size_t n = strlen(p->why);
	if (n)
		n += (size_t)snprintf(p->why + n, sizeof p->why - n, "; ");
	if (n < sizeof p->why)
		vsnprintf(p->why + n, sizeof p->why - n, fmt, ap);
}

void probe_remark(struct probe *p, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	remark(p, fmt, ap);
	va_end(ap);
}

void probe_warn(struct probe *p, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	remark(p, fmt, ap);
	va_end(ap);
	p->remarkable = true;
}

void probe_tell(const struct probe *p, const char *fmt, ...)
{
	char line[200];
	va_list ap;
	if (!p->set->progress)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	p->set->progress(line);
}

void probe_learn(struct probe *p, const struct trial *t)
{
	if (t->train_examples > 0 && !p->train_examples) {
		int64_t overfit = p->set->config->overfit;
		p->train_examples = overfit > 0 && overfit < t->train_examples ? overfit : t->train_examples;
		if (p->train_examples < p->search.max)
			p->search.max = p->train_examples;
	}
	if (*t->fingerprint)
		memcpy(p->fingerprint, t->fingerprint, sizeof p->fingerprint);
	if (t->stranger)
		stranger_learn(p, t);
	if (t->code)
		p->code = code_worst(p->code, t->code);
}

/* ---- the search ---- */

/* Seconds of an update at this size, from the nearest one that was tried; 0 unknown. */
double probe_expect(const struct probe *p, int64_t size)
{
	double best = 0, distance = INFINITY;
	for (int i = 0; i < p->timings; i++) {
		double d = fabs(log((double)size / (double)p->timing[i].size));
		if (p->timing[i].expected > 0 && d < distance) {
			distance = d;
			best = p->timing[i].expected * fmax(1, (double)size / (double)p->timing[i].size);
		}
	}
	return best;
}

int64_t probe_fill(double seconds, double each, int64_t least, int64_t most)
{
	double n = each > 0 ? seconds / each : (double)least;
	return n < (double)least ? least : n > (double)most ? most : (int64_t)n;
}

/* The campaign in small: two updates at least, a validation of one pass, a save, another update. */
static int search_trial(struct probe *p, struct trial *t, int64_t size, struct why *w)
{
	char folder[4096];
	const struct config *c = p->set->config;
	if (p->set->stranger)
		return stranger_search_trial(p, t, size, w);
	int r = probe_folder(p, "trial", folder, w);
	if (r < 0)
		return r;
	if (trial_init(t, p, p->search.hi ? "exact" : "search", size) < 0)
		return why_set(w, EX_OSERR, "try micro-batch %lld: out of memory", (long long)size);
	t->whole = true;
	int64_t n = probe_fill(search_seconds, probe_expect(p, size), 3, 8);
	int64_t accum = c->accum > 1 && (!p->train_examples || 2 * size <= p->train_examples) ? 2 : 1;
	trial_int(t, O_accum, accum);
	trial_str(t, O_last_window, "drop");
	trial_int(t, O_updates, n);
	trial_int(t, O_val_every, n - 1);
	trial_int(t, O_val_examples, c->val_micro_batch > 0 ? c->val_micro_batch : size);
	trial_int(t, O_save_every, n - 1);
	trial_int(t, O_keep, 1);
	trial_str(t, O_save, folder);
	probe_cap(p, t);
	return 0;
}

/* What the search learns from a trial that fits. */
static int fitted(struct probe *p, struct trial *t)
{
	p->fixed = t->fixed;
	p->per = t->per;
	p->used = trial_bytes(t);
	struct timing *g = timing_of(p, t->size);
	if (!g || !t->times)
		return 0;
	g->expected = INFINITY; /* the least: the others had company */
	for (int i = 0; i < t->times; i++)
		g->expected = fmin(g->expected, t->time[i] / (double)(t->stranger ? 1 : t->config.accum));
	return t->stranger ? timing_add(g, t) : 0; /* a command's start is dear: what it ran counts */
}

static void failed(struct probe *p, const struct trial *t)
{
	bool smallest = !p->search.hi || t->size < p->search.hi;
	if (smallest)
		snprintf(p->oom_phase, sizeof p->oom_phase, "%s", t->oom_phase);
	if (smallest && t->stranger)
		snprintf(p->oom_input, sizeof p->oom_input, "%s", t->input);
	if (t->size == 1 && !t->stranger)
		p->least_bytes = t->fixed;
	if (t->verdict != TRIAL_OOM)
		probe_warn(p, "micro-batch %lld: %s: %s", (long long)t->size, trial_verdict_name(t->verdict), t->why);
}

/* Two doublings beyond the smallest size that is within 5 % of the best so far. */
static bool past_knee(const struct probe *p, int64_t *knee)
{
	double best = 0;
	*knee = INT64_MAX;
	for (int i = 0; i < p->timings; i++)
		best = fmax(best, (double)p->timing[i].size / p->timing[i].expected);
	for (int i = 0; i < p->timings; i++)
		if ((double)p->timing[i].size / p->timing[i].expected >= 0.95 * best && p->timing[i].size < *knee)
			*knee = p->timing[i].size;
	return p->search.lo / 4 >= *knee;
}

/* Bytes that the next size will want: by the plan's line, else by proportion, which is too much, and of a
 * command, whose start takes most of it, by what was measured. */
static double foreseen(const struct probe *p, int64_t size)
{
	double fixed, per;
	if (p->set->stranger)
		return search_line(&p->search, &fixed, &per) ? fixed + per * (double)size : p->used;
	if (p->fixed > 0 && p->per > 0)
		return p->fixed + p->per * (double)size;
	return p->search.lo ? p->used * (double)size / (double)p->search.lo : 0;
}

/* Where the edge is not sought: is it time to stop before trying `size`? */
static bool enough(struct probe *p, int64_t size)
{
	int64_t knee;
	double want = foreseen(p, size);
	char a[16], b[16];
	if (p->seek || p->search.hi)
		return false;
	if (past_knee(p, &knee)) {
		probe_remark(p, "the edge of memory was not sought: %lld is two doublings past the knee (--exact seeks it)", (long long)p->search.lo);
		return true;
	}
	if (want > p->budget) {
		probe_remark(p, "the edge of memory was not sought: %lld would need %s of the %s there are (--exact seeks it)", (long long)size, num_human_bytes((int64_t)want, a), num_human_bytes((int64_t)p->budget, b));
		return true;
	}
	return false;
}

static void stopped_at(struct probe *p, const struct trial *t)
{
	probe_warn(p, "the search stopped at micro-batch %lld: %s: %s", (long long)t->size, trial_verdict_name(t->verdict), t->why);
	if (t->stranger)
		stranger_stopped(p);
}

/* 1 go on, 0 the search is over. */
static int learn(struct probe *p, struct trial *t, struct why *w)
{
	enum control control = CONTROL_NOTHING;
	bool fits = t->verdict == TRIAL_FITS;
	probe_learn(p, t);
	if (t->stranger && (t->verdict == TRIAL_CRASHED || t->verdict == TRIAL_TIMEOUT || (t->verdict == TRIAL_OOM && t->size == 1))) {
		int r = stranger_control(p, t, &control, w);
		if (r < 0 || control == CONTROL_SLOW)
			return r < 0 ? r : 1;
	}
	if (fits && fitted(p, t) < 0)
		return why_set(w, EX_OSERR, "try micro-batch %lld: out of memory", (long long)t->size);
	if (trial_no_room(t))
		failed(p, t);
	else if (!fits && control != CONTROL_CAPPED)
		stopped_at(p, t);
	if (!fits && !trial_no_room(t) && control != CONTROL_CAPPED)
		return 0;
	search_tell(&p->search, t->size, fits, fits ? trial_bytes(t) : t->planned);
	return 1;
}

static int search_one(struct probe *p, int64_t size, struct why *w)
{
	struct trial t;
	int r;
	probe_tell(p, "micro-batch %lld: does it fit?", (long long)size);
	if ((r = search_trial(p, &t, size, w)) < 0)
		return r;
	r = trial_do(p, &t, "trial", w);
	if (r == 0 && t.verdict != TRIAL_STOPPED)
		r = learn(p, &t, w);
	trial_free(&t);
	return r;
}

static int search_sizes(struct probe *p, struct why *w)
{
	int64_t size;
	int r = 1;
	while (r > 0 && !stop_wanted() && (size = search_next(&p->search)) > 0 && !enough(p, size))
		r = search_one(p, size, w);
	if (r < 0 || stop_wanted())
		return r < 0 ? r : 0;
	if (r > 0 && p->search.lo && p->search.lo == p->search.max && !p->search.hi)
		probe_remark(p, p->search.max == p->train_examples ? "the edge of memory was not reached: the data has %lld examples to train on" : "the edge of memory was not reached: --max is %lld", (long long)p->search.max);
	return 0;
}

/* ---- the whole ---- */

static void take_stock(struct probe *p)
{
	double others = busy_others(&p->busy);
	if (others > crowded && p->timings)
		probe_remark(p, "other programs took %.0f %% of the processors: speeds are of what they left", others * 100);
	if (stop_wanted()) {
		p->status = "stopped";
		probe_remark(p, "asked to stop");
	} else if (p->confirmed) {
		p->status = "found";
	} else if (!p->search.lo && p->search.hi == 1) {
		p->status = "nothing-fits";
		conclude_nothing(p);
	} else {
		p->status = "error";
	}
}

static int steps(struct probe *p, struct why *w)
{
	int r = temp_make(&p->temp, "pilot-probe", w);
	if (r == 0 && p->set->stranger)
		r = stranger_begin(p, w);
	if (r < 0 || (r = search_sizes(p, w)) < 0 || stop_wanted())
		return r;
	if (!p->search.lo)
		return 0;
	if ((r = probe_speed(p, w)) < 0 || stop_wanted() || !p->search.lo)
		return r;
	conclude_knee(p);
	return probe_confirm(p, w);
}

static int outcome(const struct probe *p, struct why *warn, struct why *w)
{
	if (!strcmp(p->status, "nothing-fits"))
		return why_set(w, EX_NO, "probe: nothing fits: %s", p->why);
	if (!strcmp(p->status, "error"))
		return why_set(w, p->code ? p->code : EX_SOFTWARE, "probe: %s", *p->why ? p->why : "nothing was confirmed");
	if (p->remarkable)
		why_set(warn, 0, "probe: %s", p->why);
	return 0;
}

int probe_run(const struct probe_settings *set, struct out *o, struct why *warn, struct why *w)
{
	struct probe *p = calloc(1, sizeof *p);
	if (!p)
		return why_set(w, EX_OSERR, "probe: out of memory");
	p->set = set;
	p->out = o;
	p->began = clock_seconds();
	busy_begin(&p->busy);
	ulid_new(p->id);
	set_budget(p);
	search_init(&p->search, set->max > 0 ? set->max : INT32_MAX, p->budget);
	p->search.leap = set->stranger && p->seek;
	int r = steps(p, w);
	drive_end(p->drive);
	stranger_end(p);
	temp_end(&p->temp);
	if (r == 0) {
		take_stock(p);
		r = conclude_write(p, w);
	}
	if (r == 0)
		r = outcome(p, warn, w);
	for (int i = 0; i < p->timings; i++)
		free(p->timing[i].time);
	rec_free(&p->rec);
	free(p);
	return r;
}
