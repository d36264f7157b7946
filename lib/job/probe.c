/* A probe from its settings to its conclusion: sizes are tried until the edge, those that fit are
 * timed in random order, and the one to recommend is run for longer and resumed. */
#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe.h"

enum { ROUNDS = 3 };
static const double search_seconds = 0.08;  /* what a trial of the search aims at */
static const double precise = 0.03;         /* half of the 95 % interval over the median */
static const double crowded = 0.1;          /* share of the processors from which others are named */
static const int64_t least_reserve = 512 << 20;

/* ---- its folder ---- */

static int make_folder(struct probe *p, struct why *w)
{
	const char *tmp = getenv("TMPDIR");
	if (!tmp || *tmp != '/')
		tmp = "/tmp";
	if ((size_t)snprintf(p->folder, sizeof p->folder, "%s/pilot-probe.XXXXXX", tmp) >= sizeof p->folder - 64) {
		p->folder[0] = '\0';
		return why_set(w, EX_USAGE, "make a folder for checkpoints: TMPDIR: too long");
	}
	if (mkdtemp(p->folder))
		return 0;
	int r = why_errno(w, EX_IOERR, "make a folder for checkpoints: %s", p->folder);
	p->folder[0] = '\0';
	return r;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st, (void)type, (void)f;
	return remove(path) && errno != ENOENT;
}

static void remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A folder of its own for each run: one folder holds one run. */
int probe_folder(const struct probe *p, const char *name, char out[4096], struct why *w)
{
	if ((size_t)snprintf(out, 4096, "%s/%s", p->folder, name) >= 4096)
		return why_set(w, EX_USAGE, "make a folder for checkpoints: TMPDIR: too long");
	remove_tree(out);
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
static void cap(const struct probe *p, struct trial *t)
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
	cap(p, t);
	return 0;
}

/* What the search learns from a trial that fits. */
static void fitted(struct probe *p, const struct trial *t)
{
	p->fixed = t->fixed;
	p->per = t->per;
	p->used = (double)t->allocated;
	struct timing *g = timing_of(p, t->size);
	if (!g || !t->times)
		return;
	g->expected = INFINITY; /* the least: the others had company */
	for (int i = 0; i < t->times; i++)
		g->expected = fmin(g->expected, t->time[i] / (double)t->config.accum);
}

static void failed(struct probe *p, const struct trial *t)
{
	bool smallest = !p->search.hi || t->size < p->search.hi;
	if (smallest)
		snprintf(p->oom_phase, sizeof p->oom_phase, "%s", t->oom_phase);
	if (t->size == 1)
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

/* Bytes that the next size will want: by the plan's line, else by proportion, which is too much. */
static double foreseen(const struct probe *p, int64_t size)
{
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

/* 1 go on, 0 the search is over. */
static int search_one(struct probe *p, int64_t size, struct why *w)
{
	struct trial t;
	int r;
	probe_tell(p, "micro-batch %lld: does it fit?", (long long)size);
	if ((r = search_trial(p, &t, size, w)) < 0)
		return r;
	r = trial_do(p, &t, "trial", w);
	if (r == 0 && t.verdict != TRIAL_STOPPED) {
		probe_learn(p, &t);
		if (t.verdict == TRIAL_FITS)
			fitted(p, &t);
		else if (trial_no_room(&t))
			failed(p, &t);
		else
			probe_warn(p, "the search stopped at micro-batch %lld: %s: %s", (long long)size, trial_verdict_name(t.verdict), t.why);
		if (t.verdict == TRIAL_FITS || trial_no_room(&t))
			search_tell(&p->search, size, t.verdict == TRIAL_FITS, t.verdict == TRIAL_FITS ? (double)t.allocated : t.planned);
		r = t.verdict == TRIAL_FITS || trial_no_room(&t);
	}
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

/* ---- speed ---- */

static bool power_of_two(int64_t n)
{
	return (n & (n - 1)) == 0;
}

/* The doublings that fit, and the largest; the guesses between them are not asked again. */
static void choose_timed(struct probe *p)
{
	int64_t lo = p->search.lo;
	for (int i = p->timings - 1; i >= 0; i--)
		if (p->timing[i].size > lo || (p->timing[i].size != lo && !power_of_two(p->timing[i].size)))
			timing_drop(p, p->timing[i].size);
	timing_of(p, lo);
}

static int speed_trial(const struct probe *p, struct trial *t, int64_t size, struct why *w)
{
	double each = probe_expect(p, size), share = p->set->seconds / ROUNDS;
	char rule[64], limit[32];
	if (trial_init(t, p, "speed", size) < 0)
		return why_set(w, EX_OSERR, "time micro-batch %lld: out of memory", (long long)size);
	trial_int(t, O_accum, 1);
	trial_str(t, O_last_window, "drop");
	trial_int(t, O_updates, 1 + probe_fill(share, each, 3, TRIAL_TIMES / 2));
	num_shortest(fmax(2 * share, 4 * each), limit); /* where it is slower than it was */
	snprintf(rule, sizeof rule, "seconds=%s", limit);
	trial_str(t, O_stop, rule);
	trial_int(t, O_val_every, 0);
	trial_int(t, O_val_examples, 1);
	cap(p, t);
	return 0;
}

/* It fitted, and now it does not: whatever it was, this size is no answer. */
static void distrust(struct probe *p, const struct trial *t)
{
	struct search *s = &p->search;
	int64_t size = t->size;
	probe_warn(p, "micro-batch %lld fitted once and then did not: %s%s%s", (long long)size, trial_verdict_name(t->verdict), *t->why ? ": " : "", t->why);
	timing_drop(p, size);
	for (int i = 0; i < s->points; i++)
		if (s->point[i].size == size)
			s->point[i].fits = false;
	if (size != s->lo)
		return;
	s->lo = 0;
	for (int i = 0; i < s->points; i++)
		if (s->point[i].fits && s->point[i].size > s->lo && s->point[i].size < size)
			s->lo = s->point[i].size;
}

static int speed_one(struct probe *p, int64_t size, int round, struct why *w)
{
	struct trial t;
	int r = speed_trial(p, &t, size, w);
	if (r < 0)
		return r;
	probe_tell(p, "micro-batch %lld: how fast is it? (round %d of %d)", (long long)size, round + 1, ROUNDS);
	r = trial_run(p, &t, "trial", w);
	if (r == 0 && t.verdict != TRIAL_STOPPED) {
		struct timing *g = timing_of(p, size);
		probe_learn(p, &t);
		if (t.verdict == TRIAL_FITS && g && timing_add(g, &t) == 0 && timing_close(g))
			g->expected = g->median;
		r = trial_write(p, &t, t.verdict == TRIAL_FITS ? g : NULL, w);
		if (t.verdict != TRIAL_FITS)
			distrust(p, &t);
	}
	trial_free(&t);
	return r;
}

/* Examples per second of the fastest size so far. */
static double best_rate(const struct probe *p)
{
	double best = 0;
	for (int i = 0; i < p->timings; i++)
		if (p->timing[i].n)
			best = fmax(best, (double)p->timing[i].size / p->timing[i].median);
	return best;
}

static bool sampled_enough(const struct probe *p, const struct timing *g, int round)
{
	if (round > 0 && g->n && (double)g->size / g->median < best_rate(p) / 2) /* nowhere near the knee */
		return true;
	if (round > 0 && g->expected * 3 > p->set->seconds) /* one round took the time of all */
		return true;
	return round > 1 && g->low > 0 && (g->high - g->low) / 2 < precise * g->median;
}

/* Every round visits the sizes in an order of its own, so that a machine that grows warm or busy
 * is not taken for a size that is slow. */
static int speed_sizes(struct probe *p, struct why *w)
{
	int64_t size[PROBE_SIZES];
	int n = p->timings, r = 0;
	uint64_t seed = (uint64_t)clock_now().nanoseconds;
	for (int i = 0; i < n; i++)
		size[i] = p->timing[i].size;
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < n && r == 0 && !stop_wanted(); i++) {
			int64_t b = size[rand_permute(seed, (uint64_t)round, n, i)];
			bool there = false;
			for (int k = 0; k < p->timings; k++)
				there |= p->timing[k].size == b && !sampled_enough(p, &p->timing[k], round);
			if (there)
				r = speed_one(p, b, round, w);
		}
	return r;
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
	int r = make_folder(p, w);
	if (r < 0 || (r = search_sizes(p, w)) < 0 || stop_wanted() || !p->search.lo)
		return r;
	choose_timed(p);
	if ((r = speed_sizes(p, w)) < 0 || stop_wanted() || !p->search.lo)
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
	int r = steps(p, w);
	drive_end(p->drive);
	if (*p->folder)
		remove_tree(p->folder);
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
