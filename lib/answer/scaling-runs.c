/* scaling-runs.c - when each run came to the target, and at each effective batch the best of the tried rates. */
#include "scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int scaling_target(const char *text, struct scaling_settings *s, struct why *w)
{
	static const char *const metrics[] = { "loss", "accuracy", "exact_match" };
	const char *eq = strchr(text, '=');

	for (int i = 0; eq && i < 3; i++)
		if (strlen(metrics[i]) == (size_t)(eq - text) && strncmp(metrics[i], text, (size_t)(eq - text)) == 0) {
			snprintf(s->metric, sizeof s->metric, "%s", metrics[i]);
			return num_float(eq + 1, "--target", -1e300, 1e300, &s->target, w);
		}
	return why_set(w, EX_USAGE, "--target: %.60s: expected loss=X, accuracy=X or exact_match=X", text);
}

/* ---- one run ---- */

static bool there(const struct book_eval *e, const struct scaling_settings *s)
{
	if (strcmp(s->metric, "loss") == 0)
		return e->loss <= s->target;
	return (strcmp(s->metric, "accuracy") ? e->exact_match : e->accuracy) >= s->target;
}

static bool measured(const struct book_run *r, const struct scaling_settings *s)
{
	for (int i = 0; i < r->evals; i++)
		if (!isnan(strcmp(s->metric, "loss") == 0 ? r->eval[i].loss : strcmp(s->metric, "accuracy") ? r->eval[i].exact_match : r->eval[i].accuracy))
			return true;
	return false;
}

/* The run whose checkpoint r went on from; *at updates were in it (0: r began anew). */
static const struct book_run *resumed(const struct book *b, const struct book_run *r, int64_t *at)
{
	char id[ULID_SIZE];
	const struct book_run *parent = NULL;
	struct why w;

	*at = 0;
	if (!book_int(r, F_run_resumed_update, at) || *at <= 0) {
		*at = 0;
		return NULL;
	}
	if (book_text(r, F_run_resumed_run, id, sizeof id) && *id && book_find(b, id, &parent, &w) == 1 && parent != r)
		return parent;
	return NULL;
}

struct reach {
	int64_t high, seen; /* high -1 not yet; seen: last update at which it was not there */
	bool blind;         /* what was before is in no record here */
};
enum { CHAIN = 64 };

/* Of a run that resumes another, the other's validations count up to the checkpoint. */
static void reach(const struct book *b, const struct book_run *r, int64_t upto, const struct scaling_settings *s, struct reach *o, int depth)
{
	int64_t at;
	const struct book_run *parent = resumed(b, r, &at);

	if (parent && depth < CHAIN)
		reach(b, parent, at < upto ? at : upto, s, o, depth + 1);
	else if (at > 0)
		*o = (struct reach){ .high = -1, .seen = at, .blind = true };
	for (int i = 0; i < r->evals && o->high < 0; i++) {
		const struct book_eval *e = &r->eval[i];

		if (e->update > upto || (e->update <= o->seen && e->update > 0))
			continue;
		if (there(e, s)) {
			o->high = e->update;
		} else {
			o->seen = e->update;
			o->blind = false;
		}
	}
}

static bool spec_rate(const struct book_run *r, double *rate)
{
	char text[512];
	struct spec p;
	struct why w;
	bool found;

	if (!book_text(r, F_run_optimizer, text, sizeof text) || !*text || spec_parse(&p, text, &w) < 0)
		return false;
	found = spec_float(&p, "lr", 0, 1e300, rate, &w) == 1;
	spec_free(&p);
	return found;
}

/* A command's: as its placeholders were filled, else as its optimizer was first seen. */
static bool command_rate(const struct book_run *r, double *rate)
{
	static const char *const names[] = { "lr=", "learning_rate=", "learning-rate=", "rate=" };
	struct view v;
	struct why w;

	for (int i = 0; r->run.kind == KIND_run && i < view_count(&r->run, F_run_values); i++) {
		const char *s;
		size_t n;
		char text[64];

		if (!view_item_str(&r->run, F_run_values, i, &s, &n) || n >= sizeof text)
			continue;
		memcpy(text, s, n);
		text[n] = '\0';
		for (int k = 0; k < 4; k++)
			if (strncmp(text, names[k], strlen(names[k])) == 0 && num_float(text + strlen(names[k]), "rate", 0, 1e300, rate, &w) == 0)
				return true;
	}
	return book_view(book_of(r, KIND_optimizer, 0), &v) && view_item_num(&v, F_optimizer_lr, 0, rate);
}

static bool rate_of(const struct book_run *r, double *rate)
{
	return spec_rate(r, rate) || command_rate(r, rate);
}

static int64_t batch_of(const struct book_run *r)
{
	int64_t n, micro, accum = 1, replicas = 1;

	if (book_int(r, F_run_effective_batch, &n) && n > 0)
		return n;
	if (!book_int(r, F_run_micro_batch, &micro) || micro <= 0)
		return -1;
	book_int(r, F_run_accum, &accum);
	book_int(r, F_run_replicas, &replicas);
	return accum > 0 && replicas > 0 && micro < INT64_C(1) << 40 && accum < 1 << 20 && replicas < 1 << 20 ? micro * accum * replicas : -1;
}

static bool ended(const struct book_run *r)
{
	return strcmp(r->status, "done") == 0 || strcmp(r->status, "stopped") == 0 || strcmp(r->status, "diverged") == 0;
}

/* NULL: *t is what the run tells; else why it tells nothing. */
static const char *look(const struct book *b, const struct book_run *r, const struct scaling_settings *s, struct scaling_try *t)
{
	struct reach o = { .high = -1 };
	int64_t at;
	const struct book_run *parent = resumed(b, r, &at);
	double rate;

	*t = (struct scaling_try){ .r = r, .batch = batch_of(r), .seed = -1 - r->order, .diverged = strcmp(r->status, "diverged") == 0 };
	if (t->batch < 0)
		return "its batch is not known";
	if (!rate_of(r, &t->rate))
		return "its rate is not known";
	if (parent && (batch_of(parent) != t->batch || !rate_of(parent, &rate) || rate < t->rate || rate > t->rate))
		return "it resumes a run of another batch or rate";
	book_int(r, F_run_seed, &t->seed);
	if (!measured(r, s) && !t->diverged)
		return "the metric was not validated in it";
	reach(b, r, INT64_MAX, s, &o, 0);
	if (o.high == 0)
		return "it was at the target before its first update";
	if (o.high > 0 && o.blind)
		return "it resumes a run that is not here, and was at the target at its first validation";
	if (o.high < 0 && !ended(r))
		return *r->status ? "it ended before its budget, and before the target" : "it has no end, and had not come to the target";
	t->low = o.seen + 1;
	t->high = o.high;
	t->seen = o.seen;
	return NULL;
}

/* ---- all of them ---- */

static void leave(struct scaling *x, const struct book_run *r, const char *fmt, ...) PRINTF(3, 4);

static void leave(struct scaling *x, const struct book_run *r, const char *fmt, ...)
{
	va_list ap;

	x->left[x->lefts].r = r;
	va_start(ap, fmt);
	vsnprintf(x->left[x->lefts].why, sizeof x->left[x->lefts].why, fmt, ap);
	va_end(ap);
	x->lefts++;
}

static bool asked(const struct book_run *r, const struct scaling_settings *s, const char *comparison)
{
	if (strcmp(r->role, "train"))
		return false;
	if (comparison && strcmp(r->comparison, comparison))
		return false;
	for (int i = 0; i < s->runs; i++)
		if (strncasecmp(r->id, s->run[i], strlen(s->run[i])) == 0)
			return true;
	return s->runs == 0;
}

/* The id of the comparison that is called so; of several of one name the latest. */
static int comparison_id(const struct book *b, const char *name, char id[ULID_SIZE], struct why *w)
{
	*id = '\0';
	for (int i = 0; i < book_others(b); i++) {
		char text[ULID_SIZE], called[128];
		struct view v;

		if (book_other(b, i)->kind != KIND_comparison || !book_view(book_other(b, i), &v) || !view_copy(&v, F_comparison_id, text, sizeof text))
			continue;
		if ((*name && strncasecmp(text, name, strlen(name)) == 0) || (view_copy(&v, F_comparison_name, called, sizeof called) && strcmp(called, name) == 0))
			memcpy(id, text, sizeof text);
	}
	return *id ? 0 : why_set(w, EX_USAGE, "finding a comparison: %.60s: none has this name or an id that begins so", name);
}

static int by_size(const void *a, const void *b)
{
	const struct scaling_try *x = a, *y = b;

	if (x->batch != y->batch)
		return x->batch < y->batch ? -1 : 1;
	if (x->rate < y->rate || x->rate > y->rate)
		return x->rate < y->rate ? -1 : 1;
	if (x->seed != y->seed)
		return x->seed < y->seed ? -1 : 1;
	return x->r->order < y->r->order ? -1 : 1;
}

/* Of runs of one batch, rate and seed the first counts. */
static void drop_repeats(struct scaling *x)
{
	int n = 0;

	for (int i = 0; i < x->tries; i++) {
		const struct scaling_try *t = &x->tried[i], *before = n ? &x->tried[n - 1] : NULL;

		if (before && before->batch == t->batch && before->seed == t->seed && !(before->rate < t->rate))
			leave(x, t->r, "it repeats %s", before->r->id);
		else
			x->tried[n++] = *t;
	}
	x->tries = n;
}

/* Marks the runs that another one of the same batch and rate went on from, by their place in the book. */
static void mark_resumed(const struct scaling *x, const struct book *b, bool *mark)
{
	for (int i = 0; i < x->runs; i++) {
		int64_t at;
		const struct book_run *r = x->seen[i], *parent = resumed(b, r, &at);
		double mine, its;

		if (parent && batch_of(parent) == batch_of(r) && rate_of(parent, &its) && rate_of(r, &mine) && !(its < mine) && !(its > mine))
			mark[parent->order] = true;
	}
}

/* ---- rates ---- */

struct tuned { /* one at a size */
	int first, n, reached;
	int64_t shortest; /* updates after which the least patient run gave up; INT64_MAX: none */
	struct scaling_point point;
};

static struct tuned rate_at(const struct scaling *x, int first, int end)
{
	struct tuned g = { .first = first, .shortest = INT64_MAX };
	double low = 0, high = 0, sum = 0, squares = 0;

	for (int i = first; i < end && !(x->tried[i].rate > x->tried[first].rate); i++) {
		const struct scaling_try *t = &x->tried[i];
		double middle = (log((double)t->low) + log((double)t->high)) / 2;

		g.n++;
		if (t->high < 0) {
			if (!t->diverged && t->seen < g.shortest)
				g.shortest = t->seen;
			continue;
		}
		g.reached++;
		low += log((double)t->low);
		high += log((double)(t->high > 0 ? t->high : 1));
		sum += middle;
		squares += middle * middle;
		g.point.width = fmax(g.point.width, log((double)t->high / (double)t->low));
	}
	g.point.batch = (double)x->tried[first].batch;
	g.point.n = g.reached;
	g.point.low = exp(low / g.reached);
	g.point.high = exp(high / g.reached);
	g.point.sd = g.reached > 1 ? sqrt(fmax(0, squares - sum * sum / g.reached) / (g.reached - 1)) : NAN;
	return g;
}

static bool whole(const struct tuned *g)
{
	return g->reached == g->n;
}

/* Fewest updates; of rates that validations do not tell apart the one in the middle. -1: none came with every seed. */
static int best_rate(const struct tuned *g, int n)
{
	int best = -1, last = -1;

	for (int i = 0; i < n; i++) {
		double d = best < 0 ? -1 : log(scaling_updates(&g[i].point) / scaling_updates(&g[best].point));

		if (!whole(&g[i]))
			continue;
		if (best < 0 || d < -1e-9)
			best = last = i;
		else if (d < 1e-9 && last == i - 1)
			last = i;
	}
	return best < 0 ? -1 : (best + last) / 2;
}

/* A rate at which a run gave up before the best one was there tells nothing. */
static bool tells(const struct tuned *g, const struct tuned *best)
{
	return whole(g) || g->shortest == INT64_MAX || (double)g->shortest >= best->point.high - 0.5;
}

static void refuse_none(struct scaling_size *z, const struct tuned *g, int n)
{
	int64_t most = 0;
	int came = 0;

	for (int i = 0; i < n; i++) {
		came += g[i].reached > 0;
		if (g[i].shortest != INT64_MAX && g[i].shortest > most)
			most = g[i].shortest;
	}
	z->rates = n;
	if (came)
		snprintf(z->refused, sizeof z->refused, "at no rate every seed came to the target");
	else if (most)
		snprintf(z->refused, sizeof z->refused, "no rate came to the target, in %lld updates", (long long)most);
	else
		snprintf(z->refused, sizeof z->refused, "every rate diverged");
}

static void choose(struct scaling_size *z, const struct tuned *g, int n)
{
	int best = best_rate(g, n), below = 0, above = 0;

	if (best < 0) {
		refuse_none(z, g, n);
		return;
	}
	for (int i = 0; i < n; i++) {
		below += i < best && tells(&g[i], &g[best]);
		above += i > best && tells(&g[i], &g[best]);
	}
	z->point = g[best].point;
	z->best_first = g[best].first;
	z->best_tries = g[best].n;
	z->rates = below + above + 1;
	if (z->rates < SCALING_RATES)
		snprintf(z->refused, sizeof z->refused, "%d %s tried long enough: three are needed", z->rates, z->rates == 1 ? "rate was" : "rates were");
	else if (!below || !above)
		snprintf(z->refused, sizeof z->refused, "its best rate is the %s tried: try %s ones", below ? "highest" : "lowest", below ? "higher" : "lower");
}

static void time_of(struct scaling_size *z, const struct scaling *x)
{
	double seconds = 0, updates = 0;
	int64_t n;

	for (int i = z->best_first; i < z->best_first + z->best_tries; i++) {
		const struct book_run *r = x->tried[i].r;
		const struct book_eval *e = r->evals ? &r->eval[r->evals - 1] : NULL;
		int64_t done, before = 0;
		double own;

		book_int(r, F_run_resumed_update, &before);
		if (r->steps.count > 0 && r->steps.seconds > 0) {
			seconds += r->steps.seconds;
			updates += (double)r->steps.count;
		} else if (before == 0 && book_int(r, F_end_updates, &done) && done > 0 && book_num(r, F_end_training_seconds, &own) && own > 0) {
			seconds += own;
			updates += (double)done;
		} else if (e && e->update > 0 && e->training_seconds > 0) {
			seconds += e->training_seconds;
			updates += (double)e->update;
		}
		n = r->run.kind == KIND_run ? view_count(&r->run, F_run_devices) : 0;
		if (n > z->devices)
			z->devices = (int)n;
		if (book_int(r, F_run_replicas, &n) && n > z->devices && n < 1 << 20)
			z->devices = (int)n;
	}
	z->seconds_per_update = updates > 0 ? seconds / updates : NAN;
}

static int size_of(struct scaling_size *z, const struct scaling *x, struct why *w)
{
	struct tuned *g = malloc((size_t)z->tries * sizeof *g);
	const struct book_run *r;
	int n = 0, end = z->first + z->tries;

	if (!g)
		return why_set(w, EX_OSERR, "sorting runs: out of memory");
	for (int i = z->first; i < end; i += g[n++].n)
		g[n] = rate_at(x, i, end);
	choose(z, g, n);
	free(g);
	if (z->point.n)
		z->rate = x->tried[z->best_first].rate;
	r = x->tried[z->point.n ? z->best_first : z->first].r;
	book_int(r, F_run_micro_batch, &z->micro_batch);
	book_int(r, F_run_accum, &z->accum);
	book_int(r, F_run_replicas, &z->replicas);
	time_of(z, x);
	return 0;
}

static int make_sizes(struct scaling *x, struct why *w)
{
	for (int i = 0; i < x->tries;) {
		struct scaling_size *z = &x->size[x->sizes];
		int rc;

		*z = (struct scaling_size){ .batch = x->tried[i].batch, .micro_batch = -1, .accum = -1, .replicas = -1, .rate = NAN,
		                            .first = i, .seconds_per_update = NAN, .devices = 1 };
		while (i < x->tries && x->tried[i].batch == z->batch)
			i++;
		z->tries = i - z->first;
		x->sizes++;
		rc = size_of(z, x, w);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int scaling_points(const struct scaling *x, struct scaling_point *p, const struct scaling_size **size)
{
	int n = 0;

	for (int i = 0; i < x->sizes && n < SCALING_MOST; i++) {
		if (*x->size[i].refused)
			continue;
		if (size)
			size[n] = &x->size[i];
		p[n++] = x->size[i].point;
	}
	return n;
}

static int fill(struct scaling *x, const struct book *b, const struct scaling_settings *s, struct why *w)
{
	char id[ULID_SIZE];
	int rc = s->comparison ? comparison_id(b, s->comparison, id, w) : 0;
	bool *went_on;

	if (rc < 0)
		return rc;
	for (int i = 0; i < book_runs(b); i++)
		if (asked(book_run(b, i), s, s->comparison ? id : NULL))
			x->seen[x->runs++] = book_run(b, i);
	went_on = calloc((size_t)book_runs(b) + 1, sizeof *went_on);
	if (!went_on)
		return why_set(w, EX_OSERR, "sorting runs: out of memory");
	mark_resumed(x, b, went_on);
	for (int i = 0; i < x->runs; i++) {
		const struct book_run *r = x->seen[i];
		const char *why = went_on[r->order] ? "another run went on from it, and counts" : look(b, r, s, &x->tried[x->tries]);

		if (why)
			leave(x, r, "%s", why);
		else
			x->tries++;
	}
	free(went_on);
	qsort(x->tried, (size_t)x->tries, sizeof *x->tried, by_size);
	drop_repeats(x);
	return make_sizes(x, w);
}

int scaling_read(struct scaling **out, const struct book *b, const struct scaling_settings *s, struct why *w)
{
	size_t n = (size_t)book_runs(b) + 1;
	struct scaling *x = calloc(1, sizeof *x);
	int rc;

	*out = x;
	if (!x)
		return why_set(w, EX_OSERR, "sorting runs: out of memory");
	x->tried = calloc(n, sizeof *x->tried);
	x->size = calloc(n, sizeof *x->size);
	x->left = calloc(n, sizeof *x->left);
	x->seen = calloc(n, sizeof *x->seen);
	if (!x->tried || !x->size || !x->left || !x->seen)
		rc = why_set(w, EX_OSERR, "sorting runs: out of memory");
	else
		rc = fill(x, b, s, w);
	if (rc < 0) {
		scaling_free(x);
		*out = NULL;
	}
	return rc;
}

void scaling_free(struct scaling *x)
{
	if (!x)
		return;
	free(x->tried);
	free(x->size);
	free(x->left);
	free(x->seen);
	free(x);
}
