/* schedule.c - measured seconds times planned numbers, arm by arm in order of priority. */
#include "schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one run of an arm costs, and from which run each number came. NAN: not measured. */
struct cost {
	double update, validation, save, start, resume; /* seconds each */
	double bytes;                                   /* of a checkpoint */
	double updates, validations, saves;             /* in a run */
	double run;                                     /* all of it */
	const char *from;                               /* "its own runs", ... */
	const struct book_run *source[64];
	int sources;
};
struct planned {
	const struct arm *arm;
	struct cost cost;
};
struct schedule_work {
	const struct book *book;
	const struct schedule_settings *s;
	struct arms arms;
	struct planned *p; /* in order of priority */
	int n;
	struct answer *a;
};

/* ---- measured ---- */

struct mean {
	double sum;
	int n;
};

static void add(struct mean *m, double x)
{
	if (isfinite(x)) {
		m->sum += x;
		m->n++;
	}
}

static double mean(const struct mean *m)
{
	return m->n ? m->sum / m->n : NAN;
}

static void sum_kind(const struct book_run *r, enum kind k, enum field f, struct mean *m)
{
	for (int i = 0; i < r->records; i++) {
		double x = NAN;
		int64_t n;
		struct view v;

		if (r->record[i].kind != k || !book_view(&r->record[i], &v))
			continue;
		if (field_info(f)->type == T_INT ? view_int(&v, f, &n) : false)
			x = (double)n;
		else
			view_num(&v, f, &x);
		add(m, x);
	}
}

static double phase_seconds(const struct book_run *r, const char *phase)
{
	double s = NAN;

	for (int i = 0; i < r->records; i++) {
		struct view v;

		if (r->record[i].kind == KIND_phase && book_view(&r->record[i], &v) && view_is(&v, F_phase_phase, phase))
			view_num(&v, F_phase_seconds, &s);
	}
	return s;
}

struct sums {
	struct mean update, validation, save, start, resume, bytes;
};

/* Seconds of an update are means over all of a run, so that stalls count. */
static void measure(const struct book_run *r, struct sums *m, struct cost *c)
{
	struct mean validation = { 0 }, save = { 0 };
	double training = NAN, all = NAN, rest;
	int64_t updates = 0;

	if (book_num(r, F_end_training_seconds, &training) && book_int(r, F_end_updates, &updates) && updates > 0)
		add(&m->update, training / (double)updates);
	else if (r->steps.count > 0 && r->steps.seconds > 0)
		add(&m->update, r->steps.seconds / (double)r->steps.count);
	else
		return;
	sum_kind(r, KIND_eval, F_eval_seconds, &validation);
	sum_kind(r, KIND_save, F_save_seconds, &save);
	sum_kind(r, KIND_save, F_save_bytes, &m->bytes);
	m->validation.sum += validation.sum;
	m->validation.n += validation.n;
	m->save.sum += save.sum;
	m->save.n += save.n;
	if (book_num(r, F_end_seconds, &all) && !isnan(training)) {
		rest = all - training - validation.sum - save.sum;
		add(&m->start, rest > 0 ? rest : 0);
	}
	add(&m->resume, phase_seconds(r, "resume"));
	if (c->sources < (int)(sizeof c->source / sizeof *c->source))
		c->source[c->sources++] = r;
}

static void take(const struct sums *m, struct cost *c)
{
	c->update = mean(&m->update);
	c->validation = mean(&m->validation);
	c->save = mean(&m->save);
	c->start = mean(&m->start);
	c->resume = mean(&m->resume);
	c->bytes = mean(&m->bytes);
}

/* What was asked of an arm's runs: its first request. False: there is none in the book. */
static bool asked_of(const struct schedule_work *k, const struct arm *m, struct view *v)
{
	for (int i = 0; i < book_others(k->book); i++)
		if (book_other(k->book, i)->kind == KIND_request && book_view(book_other(k->book, i), v) && view_is(v, F_request_comparison, k->arms.id) && view_is(v, F_request_arm, m->name))
			return true;
	return false;
}

/* Arms that were asked for the same model, data, batch, length and precision: a rate costs no time. */
static bool same_work(const struct schedule_work *k, const struct arm *a, const struct arm *b)
{
	static const enum field words[] = { F_request_model, F_request_data, F_request_precision, F_request_device, F_request_freeze };
	static const enum field numbers[] = { F_request_micro_batch, F_request_accum, F_request_length };
	struct view v, u;

	if (!asked_of(k, a, &v) || !asked_of(k, b, &u))
		return false;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		char x[512], y[512];

		view_copy(&v, words[i], x, sizeof x);
		view_copy(&u, words[i], y, sizeof y);
		if (strcmp(x, y))
			return false;
	}
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		int64_t x = -1, y = -1;

		view_int(&v, numbers[i], &x);
		view_int(&u, numbers[i], &y);
		if (x != y)
			return false;
	}
	return true;
}

static void cost_of(struct schedule_work *k, const struct arm *m, struct cost *c)
{
	struct sums sums = { 0 };

	*c = (struct cost){ .from = "its own runs" };
	for (int i = 0; i < m->runs; i++)
		if (m->run[i].run)
			measure(m->run[i].run, &sums, c);
	for (int i = 0; !sums.update.n && i < k->arms.n; i++)
		for (int j = 0; same_work(k, m, &k->arms.arm[i]) && j < k->arms.arm[i].runs; j++)
			if (k->arms.arm[i].run[j].run) {
				c->from = k->arms.arm[i].name;
				measure(k->arms.arm[i].run[j].run, &sums, c);
			}
	if (!sums.update.n)
		c->from = "nothing";
	take(&sums, c);
}

/* ---- planned ---- */

static void count(const struct schedule_work *k, struct cost *c)
{
	double amount = NAN, every = 0;
	int64_t n = 0, save_every = 0;

	if (k->arms.planned) {
		view_num(&k->arms.comparison, F_comparison_amount, &amount);
		if (view_int(&k->arms.comparison, F_comparison_val_every, &n))
			every = (double)n;
	}
	c->updates = isnan(k->s->updates) ? amount : k->s->updates;
	if (isnan(k->s->updates) && k->arms.planned && !view_is(&k->arms.comparison, F_comparison_budget, "updates")) {
		n = 0;
		for (int i = 0; i < c->sources && !n; i++)
			book_int(c->source[i], F_run_planned_updates, &n);
		c->updates = n > 0 ? (double)n : NAN;
	}
	for (int i = 0; i < c->sources && !save_every; i++)
		book_int(c->source[i], F_run_save_every, &save_every);
	c->validations = every > 0 ? ceil(c->updates / every) : 1;
	c->saves = isnan(c->save) ? 0 : save_every > 0 ? ceil(c->updates / (double)save_every) : 1;
	c->run = c->updates * c->update + (isnan(c->validation) ? 0 : c->validations * c->validation) + (isnan(c->save) ? 0 : c->saves * c->save) + (isnan(c->start) ? 0 : c->start);
}

static bool named_in(const char *list, const char *name, int place)
{
	for (int i = 0; list && *list; i++) {
		size_t n = strcspn(list, ";");

		if (strlen(name) == n && memcmp(list, name, n) == 0)
			return place < 0 || place == i;
		list += n + (list[n] == ';');
	}
	return false;
}

static int words_in(const char *list)
{
	int n = list && *list ? 1 : 0;

	for (; list && *list; list++)
		n += *list == ';';
	return n;
}

/* The control, then the arms of --order as it names them, then the others as planned. */
static int prioritise(struct schedule_work *k, struct why *w)
{
	const char *order = k->s->order;
	int words = words_in(order), found = 0;

	k->p = calloc((size_t)k->arms.n + 1, sizeof *k->p);
	if (!k->p)
		return why_set(w, EX_OSERR, "scheduling: out of memory");
	k->p[k->n++].arm = &k->arms.arm[0];
	found += named_in(order, k->arms.arm[0].name, -1);
	for (int i = 0; i < words; i++)
		for (int j = 1; j < k->arms.n; j++)
			if (named_in(order, k->arms.arm[j].name, i)) {
				k->p[k->n++].arm = &k->arms.arm[j];
				found++;
			}
	for (int j = 1; j < k->arms.n; j++)
		if (!named_in(order, k->arms.arm[j].name, -1))
			k->p[k->n++].arm = &k->arms.arm[j];
	return found == words ? 0 : why_set(w, EX_USAGE, "--order: %.200s: not names of arms, each once, separated by semicolons", order);
}

/* ---- tables ---- */

static void put_costs(struct schedule_work *k)
{
	struct table *t = answer_table(k->a, "costs", "One run of each arm, in order of priority:");

	table_words(t, "arm", "arm");
	table_column(t, "planned_runs", "runs");
	table_column(t, "seconds_per_update", "per update");
	table_column(t, "updates", "updates");
	table_column(t, "validation_seconds", "validation");
	table_column(t, "validations", "times");
	table_column(t, "save_seconds", "save");
	table_column(t, "saves", "times");
	table_column(t, "start_seconds", "start and rest");
	table_column(t, "run_seconds", "whole run");
	table_column(t, "checkpoint_bytes", "checkpoint");
	table_words(t, "measured_on", "measured on");
	for (int i = 0; i < k->n; i++) {
		const struct cost *c = &k->p[i].cost;

		table_row(t);
		table_text(t, 0, k->p[i].arm->name);
		table_int(t, 1, k->p[i].arm->runs);
		table_seconds(t, 2, c->update);
		table_num(t, 3, c->updates, "%.8g");
		table_seconds(t, 4, c->validation);
		table_num(t, 5, c->validations, "%.8g");
		table_seconds(t, 6, c->save);
		table_num(t, 7, c->saves, "%.8g");
		table_seconds(t, 8, c->start);
		table_seconds(t, 9, c->run);
		table_bytes(t, 10, isnan(c->bytes) ? -1 : (int64_t)c->bytes);
		table_text(t, 11, c->from);
		for (int j = 0; j < c->sources; j++)
			table_run(t, c->source[j]->id);
	}
}

/* Seconds of a day that are lost to restarts: loading and resuming, and half of what is done between two saves. */
static double lost(const struct schedule_work *k)
{
	const struct cost *c = &k->p[0].cost;
	double resume = isnan(c->resume) ? (isnan(c->start) ? 0 : c->start) : c->resume;
	double between = c->saves > 0 ? c->updates / c->saves * c->update : c->run;
	double seconds = k->s->restarts * (resume + (isnan(between) ? 0 : between / 2)), day = 86400 * (1 - k->s->reserve);

	return seconds < day ? seconds : day;
}

struct fitting {
	int runs;           /* that fit */
	double conclusion;  /* days until the control and the first variant are done; NAN: they do not fit */
	double bytes;       /* of checkpoints on disk; NAN unknown */
	char first_out[200];
};

/* Runs one after another on each device, each on the one that is free first. */
static void fit(const struct schedule_work *k, double days, struct fitting *f)
{
	double left[64] = { 0 }, usable = days * 86400 * (1 - k->s->reserve) - days * lost(k);
	double per_day = days > 0 ? usable / days : 0;

	*f = (struct fitting){ .conclusion = NAN };
	for (int i = 0; i < k->n; i++)
		for (int j = 0; j < k->p[i].arm->runs; j++) {
			const struct cost *c = &k->p[i].cost;
			int free_first = 0;

			for (int d = 1; d < k->s->devices; d++)
				if (left[d] < left[free_first])
					free_first = d;
			if (isnan(c->run) || left[free_first] + c->run > usable) {
				if (!*f->first_out)
					snprintf(f->first_out, sizeof f->first_out, "%.120s, seed %lld", k->p[i].arm->name, (long long)k->p[i].arm->run[j].seed);
				continue;
			}
			if (*f->first_out)
				continue; /* what follows has less priority */
			left[free_first] += c->run;
			f->runs++;
			f->bytes += k->s->keep * c->bytes;
			if (i <= 1)
				f->conclusion = fmax(isnan(f->conclusion) ? 0 : f->conclusion, left[free_first] / per_day);
		}
	if (k->n < 2 || f->runs < k->p[0].arm->runs + k->p[1].arm->runs)
		f->conclusion = NAN;
}

static void put_days(struct schedule_work *k)
{
	struct table *t = answer_table(k->a, "days", "What fits:");
	int all = 0;

	for (int i = 0; i < k->n; i++)
		all += k->p[i].arm->runs;
	table_column(t, "days", "days");
	table_column(t, "usable_seconds", "usable");
	table_column(t, "fitting_runs", "runs");
	table_column(t, "first_conclusion_days", "first conclusion");
	table_words(t, "left_out_first", "left out first");
	table_column(t, "disk_bytes", "on disk");
	table_column(t, "carry_home_seconds", "to carry home");
	for (int i = 0; i < k->s->n; i++) {
		struct fitting f;

		fit(k, k->s->days[i], &f);
		table_row(t);
		table_num(t, 0, k->s->days[i], "%g");
		table_seconds(t, 1, k->s->days[i] * (86400 * (1 - k->s->reserve) - lost(k)));
		table_int(t, 2, f.runs);
		table_shown(t, 2, "%d of %d", f.runs, all);
		if (isnan(f.conclusion))
			table_text(t, 3, "not in that time");
		else
			table_num(t, 3, f.conclusion, "after %.2g days");
		table_text(t, 4, *f.first_out ? f.first_out : "nothing");
		if (!isnan(f.bytes))
			table_bytes(t, 5, (int64_t)f.bytes);
		for (int j = 0; j < k->n; j++)
			for (int m = 0; m < k->p[j].cost.sources; m++)
				table_run(t, k->p[j].cost.source[m]->id);
		if (!isnan(k->s->uplink) && !isnan(f.bytes))
			table_seconds(t, 6, f.bytes / (k->s->keep > 0 ? k->s->keep : 1) / k->s->uplink);
	}
}

static void say_terms(struct schedule_work *k)
{
	const struct cost *c = &k->p[0].cost;

	answer_say(k->a, SAY, "terms", "%d %s; %g %% of the time is kept in reserve; %g %s a day%s. The first conclusion is the control's and the first variant's, with all their seeds.", k->s->devices,
	           k->s->devices == 1 ? "run at a time" : "runs at a time", 100 * k->s->reserve, k->s->restarts, k->s->restarts == 1 ? "restart" : "restarts",
	           k->s->restarts > 0 ? ", each with its load and half of what lies between two saves" : "");
	if (k->s->restarts > 0 && lost(k) >= 86400 * (1 - k->s->reserve))
		answer_say(k->a, SAY_WARNING, "restarts", "So many restarts, with so few saves, lose all of a day: save more often.");
	if (isnan(c->update))
		answer_say(k->a, SAY_WARNING, "not_measured", "No run was measured: run one of each arm for some updates first; nothing can be said of days.");
	for (int i = 0; i < k->n && !isnan(c->update); i++)
		if (isnan(k->p[i].cost.update))
			answer_say(k->a, SAY_WARNING, "not_measured", "%s: no run of it, or of an arm with the same model, data, batch, length and precision, was measured: its runs do not fit anywhere yet.", k->p[i].arm->name);
	answer_say(k->a, SAY, "export", "An export is not measured by any record, and is not in these times.");
	if (isnan(c->validation))
		answer_say(k->a, SAY, "not_measured", "Validation was not measured and counts as nothing.");
	if (isnan(c->save))
		answer_say(k->a, SAY, "not_measured", "Saving was not measured and counts as nothing; what goes on disk is not known.");
	if (k->s->restarts > 0 && isnan(c->resume))
		answer_say(k->a, SAY, "not_measured", "A resume was not measured; a run's start stands for it.");
}

int schedule_answer(const struct book *b, const struct schedule_settings *s, struct answer **a, struct why *w)
{
	struct schedule_work k = { .book = b, .s = s };
	int rc = arms_of(b, &s->arms, &k.arms, w);

	*a = NULL;
	if (rc < 0)
		return rc;
	k.a = *a = answer_new("schedule");
	rc = k.a ? prioritise(&k, w) : why_set(w, EX_OSERR, "scheduling: out of memory");
	for (int i = 0; rc == 0 && i < k.n; i++) {
		cost_of(&k, k.p[i].arm, &k.p[i].cost);
		count(&k, &k.p[i].cost);
	}
	if (rc == 0) {
		put_days(&k);
		put_costs(&k);
		say_terms(&k);
	}
	free(k.p);
	arms_free(&k.arms);
	return rc;
}
