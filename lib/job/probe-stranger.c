/* A probe of a user's command: each trial is a whole process in a copy of the working folder, so that trials
 * are few, and nothing of the user's is written to. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "probe.h"
#include "shadow.h"

enum { SEARCH_UPDATES = 4, SEARCH_MOST = 24, CONFIRM_UPDATES = 20, SPEED_MOST = 200 };
static const double search_seconds = 0.3; /* of updates in a trial of the search: beside starting the program they cost nothing */
static const double rounds = 2;
static const double first_patience = 60; /* seconds, where nothing is known yet */

/* ---- before anything runs ---- */

/* Which placeholders it has, by expanding them as for a trial. */
static int used(const struct probe_settings *p, struct words *v, struct why *w)
{
	const struct stranger *s = p->stranger;
	char **list = NULL;
	words_from(v, p->config);
	for (int i = 0; i < WORDS; i++) {
		bool ours = i == WORD_MICRO_BATCH || i == WORD_UPDATES || i == WORD_SAVE_DIR;
		if (ours && !v->has[i])
			snprintf(v->value[i], sizeof v->value[i], "1");
		v->has[i] |= ours;
	}
	int r = words_list(v, s->argv, "the command", &list, w);
	words_free(list);
	list = NULL;
	if (r >= 0 && s->env) {
		r = words_list(v, s->env, "--env", &list, w);
		words_free(list);
	}
	return r < 0 ? r : 0;
}

static bool means_something(enum option o)
{
	static const enum option these[] = { O_accum, O_updates, O_length, O_seed, O_save, O_device, O_memory_bytes, O_freeze };
	for (size_t i = 0; i < sizeof these / sizeof *these; i++)
		if (these[i] == o)
			return true;
	return false;
}

int probe_check(const struct probe_settings *p, struct why *w)
{
	struct words v = { 0 };
	for (enum option o = 0; o < OPTIONS; o++)
		if (config_given(p->config, o) && !means_something(o))
			return why_set(w, EX_USAGE, "--%s: the command has its own", option_info(o)->option);
	if (config_given(p->config, O_updates) && p->config->updates < 2)
		return why_set(w, EX_USAGE, "--updates: a trial needs at least 2 as evidence");
	int r = used(p, &v, w);
	if (r < 0)
		return r;
	if (!(v.used >> WORD_MICRO_BATCH & 1))
		return why_set(w, EX_USAGE, "%s: the command has no {micro_batch}: there is nothing to vary", p->stranger->argv[0]);
	if (p->effective && !(v.used >> WORD_ACCUM & 1))
		return why_set(w, EX_USAGE, "--effective-batch: the command has no {accum}, by which it would be kept");
	return 0;
}

/* ---- its folders ---- */

int stranger_begin(struct probe *p, struct why *w)
{
	struct words v = { 0 };
	const char *save = p->set->config->save, *keep[3] = { p->temp.dir };
	if (*save && mkdir(save, 0777) && errno != EEXIST)
		return why_errno(w, EX_IOERR, "make a folder for checkpoints: %s", save);
	if (*save && !(keep[1] = realpath(save, p->save)))
		return why_errno(w, EX_IOERR, "make a folder for checkpoints: %s", save);
	if (!getcwd(p->cwd, sizeof p->cwd))
		return why_errno(w, EX_IOERR, "probe: the working folder");
	int r = used(p->set, &v, w);
	p->accumulates = v.used >> WORD_ACCUM & 1;
	p->saves = v.used >> WORD_SAVE_DIR & 1;
	p->stranger = *p->set->stranger;
	p->axes = ~0u;
	p->stranger.guard = shadow_guard(p->cwd, keep);
	if (p->stranger.guard < 0)
		p->stranger.guard = 0;
	return r;
}

void stranger_end(struct probe *p)
{
	if (p->stranger.guard > 0)
		close(p->stranger.guard);
	p->stranger.guard = 0;
}

/* A copy of the working folder as the user has it now, and a folder to save to where it names one. */
static int place(struct probe *p, struct trial *t, const char *name, struct why *w)
{
	char root[4200], folder[4096];
	struct shadow_plan plan = { .cwd = p->cwd, .guess = true };
	snprintf(root, sizeof root, "%s/%s-work", p->temp.dir, name);
	temp_clear(root);
	int r = shadow_make(root, &plan, t->cwd, sizeof t->cwd, w);
	if (r < 0 || !p->saves || *t->config.save)
		return r;
	if ((r = probe_folder(p, name, folder, w)) < 0)
		return r;
	trial_str(t, O_save, folder);
	return 0;
}

/* ---- what a trial is told ---- */

static bool address_capped(const struct trial *t)
{
	return t->config.memory_bytes > 0 && strncmp(t->device, "cuda", 4) != 0 && strncmp(t->config.device, "cuda", 4) != 0;
}

/* Seconds to wait for it. Some frameworks hang where an address space ends, so there what others took counts. */
static double patience(const struct probe *p, const struct trial *t)
{
	double all = p->set->deadline, times = p->search.lo ? fmax(1, (double)t->size / (double)p->search.lo) : 1;
	if (!address_capped(t))
		return all;
	if (p->longest <= 0)
		return fmin(all, first_patience);
	return fmin(all, 20 + 10 * p->longest * times + 5 * (double)t->config.updates * probe_expect(p, t->size));
}

static int prepare(struct probe *p, struct trial *t, const char *part, int64_t size, int64_t updates, struct why *w)
{
	const struct config *c = p->set->config;
	int r = trial_init(t, p, part, size);
	if (r < 0)
		return why_set(w, EX_OSERR, "try micro-batch %lld: out of memory", (long long)size);
	trial_int(t, O_updates, config_given(c, O_updates) ? c->updates : updates);
	if (p->accumulates && (p->set->effective || config_given(c, O_accum))) /* two passes show what a third needs */
		trial_int(t, O_accum, p->set->effective || c->accum > 1 ? 2 : 1);
	if (c->memory_bytes == 0 && p->seek && p->budget > 0)
		trial_int(t, O_memory_bytes, (int64_t)p->budget);
	t->deadline = patience(p, t);
	t->axes = p->axes;
	return 0;
}

static int done(struct trial *t, int r)
{
	if (r < 0)
		trial_free(t);
	return r;
}

int stranger_search_trial(struct probe *p, struct trial *t, int64_t size, struct why *w)
{
	double each = probe_expect(p, size);
	int64_t n = each > 0 ? 1 + probe_fill(search_seconds, each, SEARCH_UPDATES - 1, SEARCH_MOST) : SEARCH_UPDATES;
	int r = prepare(p, t, p->search.hi ? "exact" : "search", size, n, w);
	return r < 0 ? r : done(t, place(p, t, "trial", w));
}

int stranger_speed_trial(struct probe *p, struct trial *t, int64_t size, struct why *w)
{
	double each = probe_expect(p, size);
	int r = prepare(p, t, "speed", size, 1 + probe_fill(p->set->seconds / rounds, each, SEARCH_UPDATES, SPEED_MOST), w);
	return r < 0 ? r : done(t, place(p, t, "trial", w));
}

int stranger_confirm_trial(struct probe *p, struct trial *t, int64_t size, struct why *w)
{
	const struct config *c = p->set->config;
	int r = prepare(p, t, "confirm", size, CONFIRM_UPDATES, w);
	if (r < 0)
		return r;
	int64_t accum = p->set->effective > 0 ? p->set->effective / size : c->accum;
	if (p->accumulates && (p->set->effective || config_given(c, O_accum)))
		trial_int(t, O_accum, accum);
	if (*c->save)
		trial_str(t, O_save, p->save);
	p->accum = accum;
	return done(t, place(p, t, "confirm", w));
}

/* ---- what a trial teaches ---- */

/* Which dimension of its input holds the rows; not each script has them first. */
static void learn_axes(struct probe *p, const struct trial *t)
{
	int axis = 0;
	if (t->verdict != TRIAL_FITS)
		return;
	p->axes = t->axes;
	if (t->axes & 1 || !(p->axes_sizes < 2 && t->size != p->axes_size))
		return;
	p->axes_size = t->size;
	if (++p->axes_sizes < 2)
		return;
	while (!(t->axes >> axis & 1))
		axis++;
	probe_remark(p, "rows are dimension %d of the input (%s): it follows {micro_batch}, and the first does not", axis + 1, t->shape);
}

void stranger_stopped(struct probe *p)
{
	if (p->axes & 1 || p->axes_sizes != 1)
		return;
	p->search.lo = 0;
	timing_drop(p, p->axes_size);
}

void stranger_learn(struct probe *p, const struct trial *t)
{
	learn_axes(p, t);
	p->validated |= t->validated;
	p->saved |= t->saved;
	if (t->passes)
		p->passes = t->passes;
	if (t->verdict == TRIAL_FITS && t->seconds > p->longest)
		p->longest = t->seconds;
	if (!p->set->config->memory_bytes && !p->seek && !strncmp(t->device, "cuda", 4)) {
		p->seek = true; /* it trains on a device with a memory of its own, whatever we thought */
		p->budget = p->search.budget = 0;
		snprintf(p->source, sizeof p->source, "device");
	}
	if (*t->cap && p->seek)
		snprintf(p->source, sizeof p->source, "%s: %.190s", p->set->config->memory_bytes ? "--memory" : "host memory available, less a reserve", t->cap);
}

static int control_run(struct probe *p, struct trial *t, int64_t size, struct why *w)
{
	probe_tell(p, "micro-batch %lld: what does it take without the cap?", (long long)size);
	int r = prepare(p, t, "uncapped", size, SEARCH_UPDATES, w);
	if (r < 0)
		return r;
	trial_str(t, O_memory_bytes, "0");
	t->deadline = 0;
	if ((r = place(p, t, "trial", w)) == 0)
		r = trial_do(p, t, "trial", w);
	return done(t, r);
}

/* The same size ran without the cap. What size 1 takes is what the probe's last word names if nothing fits. */
static enum control compare(struct probe *p, const struct trial *capped, const struct trial *free)
{
	int64_t took = free->reserved > free->address ? free->reserved : free->address;
	char a[16], b[16];
	p->longest = fmax(p->longest, free->seconds);
	if (free->size == 1) {
		p->least_needs = took;
		p->least_bytes = (double)free->before;
	}
	if (capped->verdict == TRIAL_TIMEOUT && capped->deadline < p->set->deadline && 5 * free->seconds > capped->deadline)
		return CONTROL_SLOW;
	if (took <= capped->config.memory_bytes)
		return CONTROL_NOTHING;
	if (capped->verdict != TRIAL_OOM)
		probe_warn(p, "micro-batch %lld: %s in the cap of %s; without it, it ran and took %s", (long long)capped->size, trial_verdict_name(capped->verdict),
			num_human_bytes(capped->config.memory_bytes, a), num_human_bytes(took, b));
	return CONTROL_CAPPED;
}

int stranger_control(struct probe *p, const struct trial *t, enum control *found, struct why *w)
{
	struct trial free;
	double fixed, per, want = search_line(&p->search, &fixed, &per) ? fixed + per * (double)t->size : 0;
	*found = CONTROL_NOTHING;
	if (!address_capped(t) || stop_wanted() || want > (double)host_available())
		return 0;
	int r = control_run(p, &free, t->size, w);
	if (r < 0)
		return r;
	if (free.verdict == TRIAL_FITS)
		*found = compare(p, t, &free);
	trial_free(&free);
	return 0;
}

/* ---- speed: the sizes around the knee ---- */

static int add(int64_t *size, int n, int64_t b)
{
	for (int i = 0; i < n; i++)
		if (size[i] == b)
			return n;
	if (n < PROBE_SIZES - 1)
		size[n++] = b;
	return n;
}

/* The doublings between two sizes, which the search left out. */
static int fill(int64_t *size, int n, int64_t from, int64_t to)
{
	for (int64_t b = 1; b < to && b > 0; b *= 2)
		if (b > from && 4 * b > 5 * from && 4 * to > 5 * b)
			n = add(size, n, b);
	return n;
}

int stranger_round(struct probe *p, int round, int64_t size[PROBE_SIZES])
{
	struct rate r[PROBE_SIZES];
	int64_t sure = 0, maybe = 0, best = 0;
	int n = timing_rates(p, r), out = 0;
	double most = 0;
	if (!n)
		return 0;
	int64_t knee = speed_knee(r, n, PROBE_TOLERANCE, &sure, &maybe);
	for (int i = 0; i < n; i++)
		if (r[i].median > most)
			most = r[i].median, best = r[i].size;
	for (int i = 0; i + 1 < n; i++) /* the knee may lie between two */
		if (r[i + 1].size > 2 * r[i].size && r[i].size < sure && r[i + 1].size >= maybe)
			out = fill(size, out, r[i].size, r[i + 1].size);
	if (knee && round > 0)
		return out;
	for (int i = 0; i < n; i++)
		if ((r[i].size >= maybe && r[i].size <= sure) || (i + 1 < n && r[i + 1].size == maybe))
			out = add(size, out, r[i].size);
	return add(size, out, best);
}
