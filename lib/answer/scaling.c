/* scaling.c - the sizes as a table, and what follows from them: two critical numbers, time, cost, advice. */
#include "scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LEVEL = 0.95;

/* One question on its way to an answer. */
struct telling {
	const struct scaling_settings *s;
	const struct scaling *x;
	struct answer *a;
	struct scaling_point point[SCALING_MOST]; /* of the sizes that count */
	const struct scaling_size *size[SCALING_MOST];
	int n;
};

static void from_size(struct answer *a, const struct scaling *x, const struct scaling_size *z)
{
	for (int i = z->best_first; i < z->best_first + z->best_tries; i++)
		answer_run(a, x->tried[i].r->id);
}

static void from_sizes(const struct telling *q)
{
	for (int i = 0; i < q->n; i++)
		from_size(q->a, q->x, q->size[i]);
}

/* ---- what a run costs ---- */

static double time_to(const struct scaling_size *z, double updates)
{
	return z->seconds_per_update * updates;
}

static double device_seconds(const struct scaling_size *z)
{
	return z->point.n ? z->devices * time_to(z, scaling_updates(&z->point)) : NAN;
}

static double money(const struct telling *q, const struct scaling_size *z)
{
	return q->s->price * device_seconds(z) / 3600;
}

/* Runs after which what was paid once is less than what they would have cost by the hour. */
static double break_even(const struct telling *q, const struct scaling_size *z)
{
	double each = money(q, z);

	return each > 0 ? ceil(q->s->upfront / each - 1e-9) : NAN;
}

/* ---- the table ---- */

enum { BATCH, MADE, RATES, RATE, SEEDS, UPDATES, LOW, HIGH, EXAMPLES, RATIO, PER_UPDATE, DEVICES, TIME, DEVICE_TIME, COST, EVEN, COUNTS, WHY };

static void columns(struct table *t, const struct scaling_settings *s)
{
	table_column(t, "effective_batch", "batch");
	table_words(t, "made_of", "micro x accum");
	table_column(t, "rates", "rates");
	table_column(t, "lr", "best rate");
	table_column(t, "seeds", "seeds");
	table_column(t, "updates", "updates");
	table_column(t, "updates_low", "from");
	table_column(t, "updates_high", "to");
	table_hide(t, table_column(t, "examples", "examples"));
	table_column(t, "updates_over_perfect", "to perfect");
	table_column(t, "seconds_per_update", "s/update");
	table_column(t, "devices", "devices");
	table_column(t, "training_seconds", "time");
	table_column(t, "device_seconds", "device time");
	table_column(t, "cost", "cost");
	table_column(t, "break_even_runs", "runs to break even");
	if (isnan(s->price))
		table_hide(t, COST);
	if (isnan(s->price) || isnan(s->upfront))
		table_hide(t, EVEN);
	table_hide(t, table_column(t, "counts", "counts"));
	table_words(t, "refused", "refused");
}

static void made_of(struct table *t, const struct scaling_size *z)
{
	if (z->micro_batch < 0)
		return;
	if (z->replicas > 1)
		table_textf(t, MADE, "%lld x %lld x %lld", (long long)z->micro_batch, (long long)(z->accum > 0 ? z->accum : 1), (long long)z->replicas);
	else
		table_textf(t, MADE, "%lld x %lld", (long long)z->micro_batch, (long long)(z->accum > 0 ? z->accum : 1));
}

static void row(const struct telling *q, struct table *t, const struct scaling_size *z)
{
	double updates = z->point.n ? scaling_updates(&z->point) : NAN;

	table_row(t);
	table_int(t, BATCH, z->batch);
	made_of(t, z);
	table_int(t, RATES, z->rates);
	table_num(t, RATE, z->rate, "%.4g");
	table_bool(t, COUNTS, !*z->refused);
	table_text(t, WHY, z->refused);
	for (int i = z->first; i < z->first + z->tries; i++)
		table_run(t, q->x->tried[i].r->id);
	if (z->point.n == 0)
		return;
	table_int(t, SEEDS, z->point.n);
	table_num(t, UPDATES, updates, "%.4g");
	table_num(t, LOW, z->point.low, "%.4g");
	table_num(t, HIGH, z->point.high, "%.4g");
	table_num(t, EXAMPLES, updates * z->point.batch, "%.4g");
	if (!*z->refused && q->n)
		table_num(t, RATIO, updates * z->point.batch / (scaling_updates(q->point) * q->point[0].batch), "x%.3g");
	table_num(t, PER_UPDATE, z->seconds_per_update, "%.4g");
	table_int(t, DEVICES, z->devices);
	table_seconds(t, TIME, time_to(z, updates));
	table_seconds(t, DEVICE_TIME, device_seconds(z));
	table_num(t, COST, money(q, z), "%.4g");
	table_num(t, EVEN, break_even(q, z), "%.0f");
}

static int refused(const struct scaling *x)
{
	int n = 0;

	for (int i = 0; i < x->sizes; i++)
		n += *x->size[i].refused != '\0';
	return n;
}

static void table_of_sizes(const struct telling *q)
{
	struct table *t = answer_table(q->a, "sizes", NULL);

	columns(t, q->s);
	if (!refused(q->x))
		table_hide(t, WHY);
	for (int i = 0; i < q->x->sizes; i++)
		row(q, t, &q->x->size[i]);
}

static void table_of_left(const struct telling *q)
{
	struct table *t;

	if (q->x->lefts == 0)
		return;
	t = answer_table(q->a, "left_out", "left out");
	table_words(t, "run", "run");
	table_words(t, "why", "because");
	for (int i = 0; i < q->x->lefts; i++) {
		table_row(t);
		table_text(t, 0, q->x->left[i].r->id);
		table_text(t, 1, q->x->left[i].why);
		table_run(t, q->x->left[i].r->id);
	}
}

/* ---- perfect scaling, and the critical batch ---- */

static const char *interval(const struct scaling_range *r, char out[80])
{
	if (r->low > 0 && isfinite(r->high))
		snprintf(out, 80, "between %.3g and %.3g", r->low, r->high);
	else if (r->low > 0)
		snprintf(out, 80, "at least %.3g", r->low);
	else if (isfinite(r->high))
		snprintf(out, 80, "at most %.3g", r->high);
	else
		*out = '\0';
	return out;
}

static void say_range(const struct telling *q, const char *name, const char *title, const struct scaling_range *r, const char *meaning)
{
	char text[80], at[32];

	interval(r, text);
	snprintf(at, sizeof at, "%.3g", r->at);
	if (!r->lacking)
		answer_say(q->a, SAY, name, "%s %s (95 %%: %s). %s", title, at, *text ? text : "no bound", meaning);
	else if (*text)
		answer_say(q->a, SAY, name, "%s not determined, but %s (95 %%): %s. %s", title, text, r->lacking, meaning);
	else
		answer_say(q->a, SAY, name, "%s not determined: %s. %s", title, r->lacking, meaning);
	from_sizes(q);
}

static void bound(struct table *t, int column, double x, const char *none)
{
	table_num(t, column, x, "%.4g");
	if (isnan(x))
		table_shown(t, column, "%s", none);
}

static void critical_row(struct table *t, const char *name, const struct telling *q, const struct scaling_range *r, double updates)
{
	table_row(t);
	table_text(t, 0, name);
	bound(t, 1, r->at, "not determined");
	bound(t, 2, r->low > 0 ? r->low : NAN, "-");
	bound(t, 3, isfinite(r->high) ? r->high : NAN, "-");
	table_num(t, 4, updates, "%.4g");
	if (r->lacking)
		table_text(t, 5, r->lacking);
	for (int i = 0; i < q->n; i++)
		for (int k = 0; k < q->size[i]->best_tries; k++)
			table_run(t, q->x->tried[q->size[i]->best_first + k].r->id);
}

static void criticals(const struct telling *q)
{
	struct scaling_range perfect, critical;
	double least;
	char meaning[300];
	struct table *t;

	scaling_perfect(q->point, q->n, q->s->tolerance, LEVEL, &perfect);
	scaling_critical(q->point, q->n, LEVEL, &critical, &least);
	snprintf(meaning, sizeof meaning, "Up to it, twice the batch is about half the updates: the target takes at most %g times the examples of the smallest batch",
	         1 + q->s->tolerance);
	if (q->n)
		snprintf(meaning + strlen(meaning), sizeof meaning - strlen(meaning), ", %lld.", (long long)q->size[0]->batch);
	else
		snprintf(meaning + strlen(meaning), sizeof meaning - strlen(meaning), ".");
	say_range(q, "perfect_scaling_until", "Perfect scaling until:", &perfect, meaning);
	if (isnan(least))
		snprintf(meaning, sizeof meaning, "There a run takes twice the least number of updates, and twice the least number of examples (S = S_min (1 + B_c/B), McCandlish et al. 2018).");
	else
		snprintf(meaning, sizeof meaning, "There a run takes twice the least number of updates, which is %.4g, and twice the least number of examples (S = S_min (1 + B_c/B), McCandlish et al. 2018).", least);
	say_range(q, "critical_batch", "Critical batch B_c:", &critical, meaning);
	t = answer_table(q->a, "critical", "two different numbers");
	table_words(t, "what", "");
	table_column(t, "batch", "batch");
	table_column(t, "batch_low", "95 % from");
	table_column(t, "batch_high", "to");
	table_hide(t, table_column(t, "least_updates", "least updates"));
	table_hide(t, table_words(t, "not_determined", "not determined because"));
	critical_row(t, "perfect scaling until", q, &perfect, NAN);
	critical_row(t, "critical batch B_c", q, &critical, least);
}

static int noise(const struct telling *q, struct why *w)
{
	static const char caveat[] = "This is the noise of the first update; it grows as the loss falls, tenfold and more, and the optimizer's steps are not its gradients: a hint beside B_c, no measurement of it.";
	struct scaling_noise z;
	char range[80] = "no interval from fewer than three seeds";
	int rc = scaling_noise(&z, q->x, w);

	if (rc == 0 && isnan(z.scale)) {
		answer_say(q->a, SAY, "gradient_noise", "Gradient noise B_simple = tr(Sigma)/|G|^2: not measured: %s.", z.lacking);
	} else if (rc == 0) {
		if (isfinite(z.low) && isfinite(z.high))
			snprintf(range, sizeof range, "95 %%: %.3g to %.3g", z.low, z.high);
		answer_say(q->a, SAY, "gradient_noise", "Gradient noise B_simple = tr(Sigma)/|G|^2: %.3g examples (%s; from batches of %lld to %lld at %d %s of first weights). %s", z.scale, range,
		           (long long)z.smallest, (long long)z.largest, z.groups, z.groups == 1 ? "set" : "sets", caveat);
		for (int i = 0; i < z.runs; i++)
			answer_run(q->a, z.run[i]->id);
	}
	scaling_noise_free(&z);
	return rc;
}

/* ---- which batch ---- */

static const struct scaling_size *least(const struct telling *q, double (*cost)(const struct scaling_size *z))
{
	const struct scaling_size *best = NULL;

	for (int i = 0; i < q->n; i++)
		if (!isnan(cost(q->size[i])) && (!best || cost(q->size[i]) < cost(best)))
			best = q->size[i];
	return best;
}

static double training_time(const struct scaling_size *z)
{
	return time_to(z, scaling_updates(&z->point));
}

/* Sizes whose least cost is below the best one's greatest: validations do not tell them apart. */
static void also(const struct telling *q, const struct scaling_size *best, bool devices, char *out, size_t size)
{
	double most = time_to(best, best->point.high) * (devices ? best->devices : 1);

	*out = '\0';
	for (int i = 0; i < q->n; i++) {
		const struct scaling_size *z = q->size[i];
		size_t n = strlen(out);

		if (z != best && time_to(z, z->point.low) * (devices ? z->devices : 1) <= most)
			snprintf(out + n, size - n, "%s%lld", n ? ", " : "; not told apart from it by the validations: ", (long long)z->batch);
	}
}

static void advise(const struct telling *q, const struct scaling_size *fast, const struct scaling_size *cheap)
{
	if (fast == cheap)
		answer_say(q->a, SAY, "advice", "Advice: batch %lld is both the fastest and the cheapest of those that count.", (long long)fast->batch);
	else
		answer_say(q->a, SAY, "advice", "Advice: batch %lld where time counts, %lld where devices or money do: the first saves %.0f %% of the time and takes %.0f %% more device time.", (long long)fast->batch,
		           (long long)cheap->batch, 100 * (1 - training_time(fast) / training_time(cheap)), 100 * (device_seconds(fast) / device_seconds(cheap) - 1));
	from_size(q->a, q->x, fast);
	if (fast != cheap)
		from_size(q->a, q->x, cheap);
}

static void which(const struct telling *q)
{
	const struct scaling_size *fast = least(q, training_time), *cheap = least(q, device_seconds);
	char near[200], time[48];

	if (!fast) {
		answer_say(q->a, SAY, "least_time", "The batch of least time: not determined: %s.", q->n ? "no size has a measured time of an update" : "no size counts");
		return;
	}
	also(q, fast, false, near, sizeof near);
	answer_say(q->a, SAY, "least_time", "Least time: batch %lld, %s of training%s. Seconds per update are means of whole runs, stalls included; validation and saving are not in them.", (long long)fast->batch,
	           answer_seconds(training_time(fast), time), near);
	from_size(q->a, q->x, fast);
	also(q, cheap, true, near, sizeof near);
	if (isnan(q->s->price))
		answer_say(q->a, SAY, "least_resource", "Least resource: batch %lld, %s of device time%s.", (long long)cheap->batch, answer_seconds(device_seconds(cheap), time), near);
	else
		answer_say(q->a, SAY, "least_resource", "Least resource: batch %lld, %s of device time, %.4g at %.4g per device and hour%s.", (long long)cheap->batch,
		           answer_seconds(device_seconds(cheap), time), money(q, cheap), q->s->price, near);
	from_size(q->a, q->x, cheap);
	if (!isnan(q->s->price) && !isnan(q->s->upfront))
		answer_say(q->a, SAY, "break_even", "%.4g paid up front, against %.4g a run by the hour at batch %lld: it pays from run %.0f on.", q->s->upfront, money(q, cheap), (long long)cheap->batch,
		           break_even(q, cheap));
	advise(q, fast, cheap);
}

/* ---- warnings ---- */

/* A rate that falls towards a fixed end makes updates to a target depend on where that end was set. */
static void warn_schedules(const struct telling *q)
{
	char kind[64] = "";
	int n = 0;

	for (int i = 0; i < q->x->tries; i++) {
		char text[64];

		if (!book_text(q->x->tried[i].r, F_run_schedule, text, sizeof text) || !*text || strncmp(text, "constant", 8) == 0)
			continue;
		memcpy(kind, text, sizeof kind);
		n++;
	}
	if (n)
		answer_say(q->a, SAY_WARNING, "decaying_schedule",
		           "The rate of %d of %d runs falls towards a fixed end (%s): when they come to the target depends on how long they were planned to run. Use a constant rate, or tune the length at each batch, too.", n, q->x->tries, kind);
}

static void place_of(const struct book_run *r, char out[400])
{
	char host[100], driver[100], device[100];

	book_text(r, F_run_host, host, sizeof host);
	book_text(r, F_run_driver, driver, sizeof driver);
	if (!book_text(r, F_run_device, device, sizeof device))
		*device = '\0';
	snprintf(out, 400, "%s%s%s%s%s", host, *device ? ", " : "", device, *driver ? ", driver " : "", driver);
}

static void warn_places(const struct telling *q)
{
	char first[400], other[400];

	for (int i = 0; i < q->n; i++)
		for (int k = 0; k < q->size[i]->best_tries; k++) {
			place_of(q->x->tried[q->size[i]->best_first + k].r, other);
			if (i == 0 && k == 0)
				memcpy(first, other, sizeof first);
			if (strcmp(first, other) == 0)
				continue;
			answer_say(q->a, SAY_WARNING, "places", "Times are from different places (%s; %s): they differ by more than the batch.", first, other);
			return;
		}
}

static void warn_refused(const struct telling *q)
{
	int n = refused(q->x);

	if (n)
		answer_say(q->a, SAY_WARNING, "refused", "%d of %d sizes %s not count: see `refused`. At each batch the best of three rates or more counts, and only where rates on both sides of it were tried.", n, q->x->sizes, n == 1 ? "does" : "do");
}

/* ---- together ---- */

static void say_target(const struct telling *q)
{
	char target[32];

	num_shortest(q->s->target, target);
	answer_say(q->a, SAY_HEAD, "target", "Updates until validation %s is %s %s", q->s->metric, strcmp(q->s->metric, "loss") ? "at least" : "at most", target);
}

static int tell(struct telling *q, const struct book *b, struct why *w)
{
	int rc;

	say_target(q);
	if (q->x->runs == 0) {
		answer_say(q->a, SAY, "nothing", "There is no training run here%s.", book_runs(b) ? " that was asked for" : "");
		return 0;
	}
	rc = scaling_alike(q->x, q->s, q->a);
	if (rc < 0)
		return rc;
	q->n = scaling_points(q->x, q->point, q->size);
	table_of_sizes(q);
	warn_refused(q);
	warn_schedules(q);
	warn_places(q);
	criticals(q);
	rc = noise(q, w);
	if (rc < 0)
		return rc;
	which(q);
	table_of_left(q);
	return 0;
}

int scaling_answer(const struct book *b, const struct scaling_settings *s, struct answer **a, struct why *w)
{
	struct telling q = { .s = s };
	struct scaling *x;
	int rc = scaling_read(&x, b, s, w);

	*a = NULL;
	if (rc < 0)
		return rc;
	q.x = x;
	*a = q.a = answer_new("scaling");
	rc = q.a ? tell(&q, b, w) : why_set(w, EX_OSERR, "answering: out of memory");
	if (rc < 0 && rc != -EX_NO) {
		answer_free(*a);
		*a = NULL;
	}
	scaling_free(x);
	return rc;
}
