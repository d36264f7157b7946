/* report.c - the page: conclusions first, then comparisons, curves, runs, verdicts, notes. */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compare.h"
#include "page.h"
#include "plot.h"

enum { RUNS_SHOWN = 200, COMPARISONS_SHOWN = 20 };

struct report {
	const struct book *book;
	const struct report_settings *settings;
	struct buf *out;
	int charts;
	bool bad; /* no memory */
};

static void ok(struct report *r, int rc)
{
	r->bad |= rc < 0;
}

static bool shown(const struct report *r, const struct book_run *x)
{
	return book_trained(x) && (!r->settings->only || ids_find(r->settings->only, x->id));
}

static void when(struct timestamp t, char out[32])
{
	time_t s = t.seconds;
	struct tm tm;

	if (!t.seconds || !localtime_r(&s, &tm) || !strftime(out, 32, "%Y-%m-%d %H:%M", &tm))
		snprintf(out, 32, "-");
}

/* ---- charts ---- */

static void chart(struct report *r, enum plot_kind k, const struct arms *arms)
{
	struct plot_settings s = { .arms = arms, .only = r->settings->only, .curves = r->settings->curves };
	struct chart c;
	struct why w;

	if (plot_chart(r->book, k, &s, &c, &w) < 0) {
		r->bad = true;
		return;
	}
	if (c.n) {
		ok(r, buf_printf(r->out, "<figure>"));
		ok(r, chart_svg(&c, ++r->charts, false, r->out));
		ok(r, buf_printf(r->out, "</figure>\n"));
	}
	chart_free(&c);
}

static void charts_begin(struct report *r)
{
	ok(r, buf_printf(r->out, "<div class=\"charts\">\n"));
}

static void charts_end(struct report *r)
{
	ok(r, buf_printf(r->out, "</div>\n"));
}

/* ---- notes and decisions ---- */

static bool note(struct report *r, const struct book_record *record, bool decisions, const char *of)
{
	char text[1200], author[100], line[1700], day[32];
	struct timestamp t = { 0 };
	bool decision = false;
	struct view v;

	if (record->kind != KIND_note || !book_view(record, &v))
		return false;
	view_bool(&v, F_note_decision, &decision);
	if ((view_copy(&v, F_note_author, author, sizeof author) && strcmp(author, "train-step") == 0) || decision != decisions)
		return false;
	view_copy(&v, F_note_text, text, sizeof text);
	view_time(&v, F_note_t, &t);
	when(t, day);
	snprintf(line, sizeof line, "%s, %s%s%s: %s", day, *author ? author : "somebody", *of ? ", on " : "", of, text);
	ok(r, page_line(r->out, "", line));
	return true;
}

static int notes(struct report *r, bool decisions)
{
	char id[ULID_SIZE];
	struct view v;
	int n = 0;

	for (int i = 0; i < book_others(r->book); i++) {
		const struct book_record *x = book_other(r->book, i);

		if (x->kind != KIND_note || !book_view(x, &v))
			continue;
		if (!view_copy(&v, F_note_comparison, id, sizeof id))
			*id = '\0';
		for (int k = 0; *id && arms_comparison(r->book, k, &v); k++)
			if (view_is(&v, F_comparison_id, id))
				view_copy(&v, F_comparison_name, id, sizeof id);
		n += note(r, x, decisions, id);
	}
	for (int i = 0; i < book_runs(r->book); i++)
		for (int k = 0; shown(r, book_run(r->book, i)) && k < book_run(r->book, i)->records; k++)
			n += note(r, &book_run(r->book, i)->record[k], decisions, book_run(r->book, i)->id);
	return n;
}

static void conclusions(struct report *r)
{
	ok(r, page_head(r->out, 2, "Decisions"));
	if (!notes(r, true))
		ok(r, page_line(r->out, "soft", "None was noted (ledger note --decision)."));
}

/* ---- comparisons ---- */

static void comparison(struct report *r, const char *id)
{
	struct compare_settings s = { .arms = { .comparison = id }, .within = NAN, .target = NAN };
	struct answer *a = NULL;
	struct arms arms;
	struct why w;
	int rc = compare_answer(r->book, &s, &a, &w);

	if (a && (rc == 0 || rc == -EX_NO))
		ok(r, page_answer(r->out, a));
	if (rc < 0)
		ok(r, page_line(r->out, "warn", w.text));
	answer_free(a);
	if (arms_of(r->book, &s.arms, &arms, &w) < 0)
		return;
	charts_begin(r);
	chart(r, PLOT_LOSS, &arms);
	chart(r, PLOT_VALIDATION, &arms);
	charts_end(r);
	arms_free(&arms);
}

static int comparisons(struct report *r)
{
	char id[ULID_SIZE];
	struct view v;
	int n = 0;

	for (; n < COMPARISONS_SHOWN && arms_comparison(r->book, n, &v); n++) {
		if (!n)
			ok(r, page_head(r->out, 2, "Comparisons"));
		view_copy(&v, F_comparison_id, id, sizeof id);
		comparison(r, id);
	}
	return n;
}

/* ---- runs ---- */

static void what_of(const struct book_run *x, char out[160])
{
	char name[80], model[60], data[60];

	if (book_text(x, F_run_name, name, sizeof name)) {
		snprintf(out, 160, "%s", name);
		return;
	}
	if (view_is(&x->run, F_run_trainer, "command")) {
		const char *s;
		size_t n = 0, m = 0;

		for (int i = 0; m < 120 && view_item_str(&x->run, F_run_command, i, &s, &n); i++)
			m += (size_t)snprintf(out + m, 160 - m, "%s%.*s", i ? " " : "", n > 60 ? 60 : (int)n, s);
		return;
	}
	book_text(x, F_run_model, model, sizeof model);
	book_text(x, F_run_data, data, sizeof data);
	snprintf(out, 160, "%s, %s", model, data);
}

static const char *verdict_of(const struct book_run *x, char phases[64])
{
	static const char *const ranks[] = { "ok", "unproven", "fail" };
	int worst = -1;

	*phases = '\0';
	for (int i = 0; i < x->records; i++) {
		char phase[24];
		struct view v;

		if (x->record[i].kind != KIND_verdict || !book_view(&x->record[i], &v))
			continue;
		view_copy(&v, F_verdict_phase, phase, sizeof phase);
		for (int k = 0; k < 3; k++)
			if (view_is(&v, F_verdict_verdict, ranks[k]) && k >= worst) {
				if (k > worst)
					*phases = '\0';
				worst = k;
				if (k && strlen(phases) + strlen(phase) + 2 < 64 && !strstr(phases, phase))
					snprintf(phases + strlen(phases), 64 - strlen(phases), "%s%s", *phases ? "," : " ", phase);
			}
	}
	return worst < 0 ? "" : ranks[worst];
}

static void put_run(struct table *t, const struct book_run *x)
{
	char what[160], day[32], phases[64];
	const struct book_eval *e = arms_eval(x, METRIC_LOSS, false);
	int64_t updates = -1, peak = -1, seed = 0;
	double speed = NAN;
	const char *verdict = verdict_of(x, phases);

	when(x->first, day);
	what_of(x, what);
	table_row(t);
	table_text(t, 0, x->id);
	table_text(t, 1, day);
	table_text(t, 2, what);
	table_text(t, 3, *x->arm ? x->arm : "-");
	if (book_int(x, F_run_seed, &seed))
		table_int(t, 4, seed);
	if (book_int(x, F_end_updates, &updates) || (updates = x->steps.last) >= 0)
		table_int(t, 5, updates);
	table_num(t, 6, e ? e->loss : NAN, "%.5g");
	if (book_num(x, F_end_examples_per_second, &speed))
		table_num(t, 7, speed, "%.4g");
	if (book_int(x, F_end_allocated_peak_bytes, &peak))
		table_bytes(t, 8, peak);
	table_textf(t, 9, "%s%s", *verdict ? verdict : "no gate", phases);
	table_text(t, 10, *x->status ? x->status : "unknown");
}

static void runs(struct report *r)
{
	static const char *const titles[] = { "run", "when", "what", "arm", "seed", "updates", "validation loss", "examples/s", "allocated peak", "verdict", "status" };
	struct answer *a = answer_new("report");
	struct table *t = a ? answer_table(a, "runs", NULL) : NULL;
	int n = 0, all = 0;

	for (int k = 0; k < 11; k++)
		(k < 4 || k > 8 ? table_words : table_column)(t, titles[k], titles[k]);
	for (int i = 0; i < book_runs(r->book); i++)
		all += shown(r, book_run(r->book, i));
	for (int i = book_runs(r->book) - 1; i >= 0 && n < RUNS_SHOWN; i--)
		if (shown(r, book_run(r->book, i))) {
			put_run(t, book_run(r->book, i));
			n++;
		}
	ok(r, page_head(r->out, 2, "Runs"));
	if (all > n && a)
		answer_say(a, SAY, "more", "The newest %d of %d runs; ledger summary lists all.", n, all);
	if (!a || a->bad)
		r->bad = true;
	else if (all)
		ok(r, page_answer(r->out, a));
	else
		ok(r, page_line(r->out, "soft", "No run is in what was read."));
	answer_free(a);
}

/* What failed or stayed unproven, with the reason. */
static void verdicts(struct report *r)
{
	struct answer *a = answer_new("report");
	struct table *t = a ? answer_table(a, "verdicts", NULL) : NULL;
	static const char *const titles[] = { "run", "phase", "verdict", "why", "look first at" };
	char text[500];

	for (int k = 0; k < 5; k++)
		table_words(t, titles[k], titles[k]);
	for (int i = book_runs(r->book) - 1; i >= 0 && t && t->rows < RUNS_SHOWN; i--) {
		const struct book_run *x = book_run(r->book, i);

		for (int k = 0; shown(r, x) && k < x->records; k++) {
			struct view v;

			if (x->record[k].kind != KIND_verdict || !book_view(&x->record[k], &v) || view_is(&v, F_verdict_verdict, "ok") || view_is(&v, F_verdict_verdict, "n/a"))
				continue;
			table_row(t);
			table_text(t, 0, x->id);
			static const enum field from[] = { F_verdict_phase, F_verdict_verdict, F_verdict_reason, F_verdict_look };
			for (int j = 0; j < 4; j++)
				if (view_copy(&v, from[j], text, sizeof text))
					table_text(t, j + 1, text);
				else
					table_text(t, j + 1, "-");
		}
	}
	if (!a || a->bad) {
		r->bad = true;
	} else if (t && t->rows) {
		ok(r, page_head(r->out, 2, "Verdicts that are not ok"));
		ok(r, page_answer(r->out, a));
	}
	answer_free(a);
}

/* ---- the page ---- */

int report_page(const struct book *b, const struct report_settings *s, struct buf *out, struct why *w)
{
	struct report r = { .book = b, .settings = s, .out = out };
	char foot[700], now[32];

	ok(&r, page_begin(out, s->title ? s->title : "Training campaign"));
	conclusions(&r);
	if (!comparisons(&r)) {
		ok(&r, page_head(out, 2, "Curves"));
		charts_begin(&r);
		chart(&r, PLOT_LOSS, NULL);
		chart(&r, PLOT_VALIDATION, NULL);
		charts_end(&r);
	}
	ok(&r, page_head(out, 2, "Speed and memory"));
	charts_begin(&r);
	chart(&r, PLOT_THROUGHPUT, NULL);
	chart(&r, PLOT_SECONDS, NULL);
	chart(&r, PLOT_MEMORY, NULL);
	charts_end(&r);
	verdicts(&r);
	runs(&r);
	ok(&r, page_head(out, 2, "Notes"));
	if (!notes(&r, false))
		ok(&r, page_line(out, "soft", "None (ledger note)."));
	when(clock_now(), now);
	snprintf(foot, sizeof foot, "Made %s by pilot " PILOT_VERSION " from %.500s. Figures that read `not measured` were not.", now, s->source ? s->source : "a record stream");
	ok(&r, page_end(out, foot));
	return r.bad ? why_set(w, EX_OSERR, "reporting: out of memory") : 0;
}
