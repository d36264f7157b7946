/* check.c - the answer of `ledger check`: one sentence a job, one row a figure. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXPECTED = 3, DAY = 86400 }; /* a job is missed if it came on at least so many of the nights before */

static void when(struct timestamp t, char out[32])
{
	time_t s = t.seconds;
	struct tm tm;

	if (!t.seconds || !localtime_r(&s, &tm) || !strftime(out, 32, "%Y-%m-%d %H:%M", &tm))
		snprintf(out, 32, "at an unknown time");
}

static bool asked(const struct check *c, const struct check_job *j)
{
	return !c->settings->only || strstr(j->name, c->settings->only);
}

/* ---- verdicts ---- */

/* fail, unproven, ok or "": the worst that a gate said, and of which phase. */
static const char *verdict_of(const struct book_run *r, char phase[24])
{
	static const char *const ranks[] = { "", "n/a", "ok", "unproven", "fail" };
	int worst = 0;

	*phase = '\0';
	for (int i = 0; i < r->records; i++) {
		struct view v;

		if (r->record[i].kind != KIND_verdict || !book_view(&r->record[i], &v))
			continue;
		for (int k = 4; k > worst; k--)
			if (view_is(&v, F_verdict_verdict, ranks[k])) {
				worst = k;
				view_copy(&v, F_verdict_phase, phase, 24);
			}
	}
	return ranks[worst];
}

/* False: it is worse than on the nights before. */
static bool passed(struct check *c, const struct check_job *j, const struct book_run *r, const struct book_run *before)
{
	char phase[24], other[24];
	const char *now = verdict_of(r, phase), *then = before ? verdict_of(before, other) : "";
	bool bad = strcmp(now, "fail") == 0 || (strcmp(then, "ok") == 0 && strcmp(now, "ok"));

	if (!bad)
		return true;
	if (strcmp(now, "fail") == 0)
		answer_say(c->answer, SAY_WARNING, "verdict", "%s: the gate failed it: %s.", j->name, phase);
	else if (strcmp(now, "unproven") == 0)
		answer_say(c->answer, SAY_WARNING, "verdict", "%s: %s is unproven; it was ok the time before.", j->name, phase);
	else
		answer_say(c->answer, SAY_WARNING, "verdict", "%s: no gate judged it; the time before one did.", j->name);
	answer_run(c->answer, r->id);
	return false;
}

/* ---- a job ---- */

/* It came on some of the last nights, of its own: seeds of a planned comparison all come once, and a job that was given
 * up long ago is not waited for. */
static bool expected(const struct check *c, const struct check_job *j)
{
	int64_t night, before = -1;
	int nights = 0;

	for (int i = j->earlier - 1; i >= 0; i--) {
		night = (c->settings->since.seconds - j->run[i]->first.seconds) / DAY;
		if (night >= c->settings->against)
			break;
		nights += night != before && !*j->run[i]->comparison;
		before = *j->run[i]->comparison ? before : night;
	}
	return nights >= EXPECTED;
}

static void say_missing(struct check *c, const struct check_job *j)
{
	char last[32];

	when(j->run[j->earlier - 1]->first, last);
	answer_say(c->answer, SAY_WARNING, "missing", "%s: did not come; it came %d times before, last %s.", j->name, j->earlier, last);
	answer_run(c->answer, j->run[j->earlier - 1]->id);
	c->missing++;
}

static bool ended(struct check *c, const struct check_job *j, const struct book_run *r)
{
	char why[200] = "", first[32];

	when(r->first, first);
	book_text(r, F_end_why, why, sizeof why);
	if (strcmp(r->status, "done") == 0)
		return true;
	if (*r->status)
		answer_say(c->answer, SAY_WARNING, "ended", "%s: came %s and ended as %s%s%s.", j->name, first, r->status, *why ? ": " : "", why);
	else
		answer_say(c->answer, SAY_WARNING, "ended", "%s: came %s and has no end: it was cut, or still runs.", j->name, first);
	answer_run(c->answer, r->id);
	return false;
}

/* Enough nights before it, else says so. */
static bool comparable(struct check *c, const struct check_job *j, const struct book_run *r, int n, const char *changed)
{
	if (n >= CHECK_FEW)
		return true;
	c->few++;
	if (c->few_job == j && strcmp(c->few_changed, changed) == 0)
		return false; /* said of an earlier run of tonight */
	c->few_job = j;
	snprintf(c->few_changed, sizeof c->few_changed, "%s", changed);
	answer_say(c->answer, SAY, "few", "%s: %d earlier %s to compare with, %d are wanted%s%s: nothing is told of its figures.", j->name, n, n == 1 ? "run" : "runs", CHECK_FEW,
	           *changed ? "; a new baseline began, as " : "", changed);
	answer_run(c->answer, r->id);
	return false;
}

static int count_all(const struct check *c)
{
	const struct book_run *base[CHECK_MOST];
	char changed[200];
	int count = 0;

	for (int i = 0; i < c->jobs; i++)
		for (int k = c->job[i].earlier; asked(c, &c->job[i]) && k < c->job[i].runs; k++) {
			int n = check_baseline(&c->job[i], c->job[i].run[k], c->settings->against, base, changed);

			if (strcmp(c->job[i].run[k]->status, "done") == 0 && n >= CHECK_FEW)
				count += check_comparable(c->job[i].run[k], base, n);
		}
	return count;
}

static void check_run(struct check *c, const struct check_job *j, const struct book_run *r, double alpha)
{
	const struct book_run *base[CHECK_MOST];
	char changed[200], first[32];
	int n = check_baseline(j, r, c->settings->against, base, changed), worse = 0, before = c->compared;
	bool good = ended(c, j, r);

	good &= passed(c, j, r, n ? base[0] : NULL);
	if (!good)
		c->worse++;
	if (strcmp(r->status, "done") || !comparable(c, j, r, n, changed))
		return;
	worse = check_figures(c, j, r, base, n, alpha);
	c->worse += worse;
	when(r->first, first);
	answer_say(c->answer, worse ? SAY_WARNING : SAY, "job", "%s: came %s, %s; %d of %d figures %s worse than on %d nights before.", j->name, first, good ? "done and passed" : "see above", worse,
	           c->compared - before, worse == 1 ? "is" : "are", n);
	answer_run(c->answer, r->id);
}

/* ---- the answer ---- */

static struct table *figures(struct answer *a)
{
	struct table *t = answer_table(a, "figures", NULL);

	table_words(t, "job", "job");
	table_words(t, "figure", "figure");
	table_column(t, "tonight", "tonight");
	table_column(t, "median", "median before");
	table_column(t, "change_percent", "change");
	table_column(t, "allowed_percent", "allowed");
	table_column(t, "earlier", "nights");
	table_words(t, "verdict", "verdict");
	return t;
}

static void say_end(struct check *c, int came)
{
	const struct check_settings *s = c->settings;

	if (c->compared)
		answer_say(c->answer, SAY, "rate", "%d figures compared; with steady nights the chance of any false alarm among them is at most %g %%. Worse: beyond the median by more than `allowed`, which is the larger of the noise of these nights and %g %% (%g %% for validation).",
		           c->compared, 100 * s->rate, 100 * s->effect, 100 * s->loss_effect);
	if (!came && !c->missing) {
		answer_say(c->answer, SAY_WARNING, "missing", "No run came.");
		c->missing++;
	}
	answer_say(c->answer, SAY, "conclusion", "%s", c->missing && c->worse ? "Missing and worse." : c->missing ? "Missing." : c->worse ? "Worse." : c->few && s->strict ? "Too few earlier runs." :
	           c->few && !c->compared ? "What came ended well; of its figures nothing can be told yet." : "All is well.");
}

int check_answer(const struct book *b, const struct check_settings *s, struct answer **a, struct why *w)
{
	struct check c = { .settings = s };
	int rc, count, came = 0;

	c.answer = *a = answer_new("check");
	if (!c.answer)
		return why_set(w, EX_OSERR, "checking: out of memory");
	c.limits = s->limits ? s->limits : &c.own;
	rc = check_jobs(&c, b, w);
	if (rc == 0) {
		count = count_all(&c);
		c.table = count ? figures(c.answer) : NULL;
		for (int i = 0; i < c.jobs; i++) {
			const struct check_job *j = &c.job[i];

			if (!asked(&c, j))
				continue;
			came += j->runs - j->earlier;
			if (j->runs == j->earlier && expected(&c, j))
				say_missing(&c, j);
			for (int k = j->earlier; k < j->runs; k++)
				check_run(&c, j, j->run[k], s->rate / (count ? count : 1));
		}
		say_end(&c, came);
		if (c.missing || c.worse || (c.few && s->strict))
			rc = why_set(w, EX_NO, "checking: %s", c.missing ? "a run is missing" : c.worse ? "worse than before" : "too few earlier runs");
	}
	check_free(&c);
	return rc;
}
