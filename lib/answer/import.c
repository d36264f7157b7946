/* import.c - rows of a log as steps and evaluations of runs. */
#include "import-inner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- cells ---- */

static const char *cell(const struct import *m, int64_t row, int column)
{
	const char *s = column < 0 ? NULL : m->t->cell[row * m->t->columns + column];

	return s && *s ? s : NULL;
}

static int bad_cell(const struct import *m, int64_t row, int column, const char *why)
{
	char shown[FILE_SHOWN], name[FILE_SHOWN];
	const char *s = cell(m, row, column);

	return why_set(m->w, EX_DATAERR, "importing: %.300s: line %lld, column %s: %s: %s", m->t->path, (long long)m->t->line[row],
	               file_shown(m->t->name[column], strlen(m->t->name[column]), name), file_shown(s, strlen(s), shown), why);
}

static bool not_finite(const char *s, double *x)
{
	double sign = *s == '-' ? -1 : 1;

	s += *s == '-' || *s == '+';
	if (strcasecmp(s, "nan") == 0)
		*x = NAN;
	else if (strcasecmp(s, "inf") == 0 || strcasecmp(s, "infinity") == 0)
		*x = sign * INFINITY;
	else
		return false;
	return true;
}

/* 1 stored, 0 the cell is empty. */
static int number(const struct import *m, int64_t row, int column, double *x)
{
	const char *s = cell(m, row, column);
	struct why w;

	if (!s)
		return 0;
	if (not_finite(s, x) || num_float(s, "it", -INFINITY, INFINITY, x, &w) == 0)
		return 1;
	return bad_cell(m, row, column, "not a number");
}

/* Whole numbers are exact to 2^63; "12.0" is one, too. */
static int whole(const struct import *m, int64_t row, int column, int64_t *i)
{
	const char *s = cell(m, row, column);
	struct why w;
	double x;

	if (!s)
		return 0;
	if (num_int(s, "it", 0, INT64_MAX, i, &w) == 0)
		return 1;
	if (num_float(s, "it", 0, 9e15, &x, &w) == 0 && x == floor(x)) {
		*i = (int64_t)x;
		return 1;
	}
	return bad_cell(m, row, column, "not a whole number from 0");
}

/* Seconds since 1970, as number or as a date of RFC 3339. */
static int moment(const struct import *m, int64_t row, int column, struct timestamp *t)
{
	const char *s = cell(m, row, column);
	struct why w;
	struct tm tm;
	double x;

	if (!s)
		return 0;
	if (num_float(s, "it", 0, 1e11, &x, &w) == 0) {
		*t = (struct timestamp){ (int64_t)x, (int32_t)((x - floor(x)) * 1e9) };
		return 1;
	}
	memset(&tm, 0, sizeof tm);
	if (strptime(s, "%Y-%m-%dT%H:%M:%S", &tm) || strptime(s, "%Y-%m-%d %H:%M:%S", &tm)) {
		*t = (struct timestamp){ timegm(&tm), 0 };
		return 1;
	}
	return bad_cell(m, row, column, "neither seconds since 1970 nor a date like 2026-11-30T18:00:00");
}

/* ---- records ---- */

/* What a run adds up to, for its end. */
struct sums {
	int64_t update, examples, tokens, validations, best_update;
	double loss, validation, accuracy, best, epochs, seconds;
	struct timestamp last;
	bool bad; /* its last loss is not finite */
};

static int set_field(const struct import *m, struct rec *r, const char *text)
{
	const char *equals = strchr(text, '=');
	enum field f = equals ? field_find(KIND_run, text, (size_t)(equals - text)) : F_NONE;
	struct why w;
	int64_t i;
	double x;

	if (f == F_NONE)
		return why_set(m->w, EX_USAGE, "--set: %.80s: not FIELD=VALUE with a field of the run record (pilot-record(5))", text);
	if (field_info(f)->type == T_STR)
		rec_str(r, f, equals + 1);
	else if (field_info(f)->type == T_INT && num_int(equals + 1, "it", INT64_MIN, INT64_MAX, &i, &w) == 0)
		rec_int(r, f, i);
	else if (field_info(f)->type == T_NUM && num_float(equals + 1, "it", -1e300, 1e300, &x, &w) == 0)
		rec_num(r, f, x);
	else if (field_info(f)->type == T_BOOL && (strcmp(equals + 1, "true") == 0 || strcmp(equals + 1, "false") == 0))
		rec_bool(r, f, equals[1] == 't');
	else
		return why_set(m->w, EX_USAGE, "--set: %.80s: %.*s is of type %s", text, (int)(equals - text), text, type_name(field_info(f)->type));
	return 0;
}

static void stamp(struct rec *r, enum field f, const struct timestamp *t)
{
	if (t->seconds)
		rec_time(r, f, *t);
}

static int64_t last_update(const struct import *m, const struct series *s, const char *run)
{
	int64_t most = -1, u;

	for (int64_t i = 0; i < m->t->rows; i++) {
		const char *name = cell(m, i, s->column[LOG_RUN]);

		if ((!run || (name && strcmp(name, run) == 0)) && whole(m, i, s->column[LOG_UPDATE], &u) == 1 && u > most)
			most = u;
	}
	return most;
}

static int run_record(const struct import *m, const struct series *s, const char *run, const char *id, const struct timestamp *t, struct rec *r, struct out *o)
{
	const char *slash = strrchr(m->t->path, '/');
	int64_t planned = last_update(m, s, run);
	int rc = 0;

	rec_begin(r, KIND_run);
	stamp(r, F_run_t, t);
	rec_str(r, F_run_run, id);
	rec_str(r, F_run_role, "train");
	rec_str(r, F_run_trainer, "import");
	rec_str(r, F_run_imported, m->t->path);
	rec_str(r, F_run_imported_digest, m->digest);
	rec_str(r, F_run_name, m->s->name ? m->s->name : run ? run : *s->name ? s->name : slash ? slash + 1 : m->t->path);
	for (int i = 0; rc == 0 && m->s->set && m->s->set[i]; i++)
		rc = set_field(m, r, m->s->set[i]);
	if (planned >= 0) {
		rec_str(r, F_run_budget, "updates");
		rec_int(r, F_run_planned_updates, planned);
	}
	return rc ? rc : out_rec(o, r, m->w);
}

static int step_record(const struct import *m, const struct series *s, int64_t row, const char *id, int64_t update, struct sums *x, struct rec *r, struct out *o)
{
	static const struct { enum log_field from; enum field to; bool whole; } also[] = {
		{ LOG_LR, F_step_lr, false }, { LOG_EPOCH, F_step_epoch, false }, { LOG_GRADIENT_NORM, F_step_gradient_norm, false },
		{ LOG_SECONDS, F_step_seconds, false }, { LOG_EXAMPLES, F_step_examples, true }, { LOG_TOKENS, F_step_tokens, true },
	};
	double loss, v;
	int64_t i;
	int rc = number(m, row, s->column[LOG_LOSS], &loss);

	if (rc <= 0)
		return rc;
	rec_begin(r, KIND_step);
	stamp(r, F_step_t, &x->last);
	rec_str(r, F_step_run, id);
	rec_int(r, F_step_update, update);
	rec_num(r, F_step_loss, loss);
	for (size_t k = 0; rc >= 0 && k < sizeof also / sizeof *also; k++) {
		int column = s->column[also[k].from];

		rc = also[k].whole ? whole(m, row, column, &i) : number(m, row, column, &v);
		if (rc == 1 && also[k].whole)
			rec_int(r, also[k].to, i);
		else if (rc == 1)
			rec_num(r, also[k].to, v);
		if (rc == 1 && also[k].from == LOG_EXAMPLES)
			x->examples = i;
		if (rc == 1 && also[k].from == LOG_TOKENS)
			x->tokens = i;
		if (rc == 1 && also[k].from == LOG_SECONDS)
			x->seconds = isnan(x->seconds) ? v : x->seconds + v;
		if (rc == 1 && also[k].from == LOG_EPOCH)
			x->epochs = v;
	}
	if (update >= x->update)
		x->bad = !isfinite(loss);
	x->loss = loss;
	return rc < 0 ? rc : out_rec(o, r, m->w);
}

static int eval_record(const struct import *m, const struct series *s, int64_t row, const char *id, int64_t update, struct sums *x, struct rec *r, struct out *o)
{
	double loss = NAN, accuracy = NAN;
	int has = number(m, row, s->column[LOG_VALIDATION_LOSS], &loss), has_accuracy = number(m, row, s->column[LOG_VALIDATION_ACCURACY], &accuracy);

	if (has < 0 || has_accuracy < 0)
		return has < 0 ? has : has_accuracy;
	if (!has && !has_accuracy)
		return 0;
	rec_begin(r, KIND_eval);
	stamp(r, F_eval_t, &x->last);
	rec_str(r, F_eval_run, id);
	rec_str(r, F_eval_split, "validation");
	rec_int(r, F_eval_update, update);
	if (has)
		rec_num(r, F_eval_loss, loss);
	if (has_accuracy)
		rec_num(r, F_eval_accuracy, accuracy);
	if (x->examples >= 0)
		rec_int(r, F_eval_run_examples, x->examples);
	if (!isnan(x->seconds))
		rec_num(r, F_eval_training_seconds, x->seconds);
	x->validation = has ? loss : x->validation;
	x->accuracy = has_accuracy ? accuracy : x->accuracy;
	x->validations++;
	if (has && (isnan(x->best) || loss < x->best)) {
		x->best = loss;
		x->best_update = update;
	}
	return out_rec(o, r, m->w);
}

static int end_record(const struct import *m, const char *id, const struct sums *x, struct rec *r, struct out *o)
{
	rec_begin(r, KIND_end);
	stamp(r, F_end_t, &x->last);
	rec_str(r, F_end_run, id);
	rec_str(r, F_end_status, m->s->status ? m->s->status : x->bad ? "diverged" : "done");
	rec_str(r, F_end_why, m->s->status ? "imported" : x->bad ? "imported; its last loss is not finite" : "imported; that it ended well is taken for granted");
	if (x->update >= 0)
		rec_int(r, F_end_updates, x->update);
	if (x->examples >= 0)
		rec_int(r, F_end_examples, x->examples);
	if (x->tokens >= 0)
		rec_int(r, F_end_tokens, x->tokens);
	const struct { enum field f; double v; } numbers[] = { { F_end_loss, x->loss }, { F_end_validation_loss, x->validation }, { F_end_validation_accuracy, x->accuracy },
		{ F_end_best_validation_loss, x->best }, { F_end_epochs, x->epochs }, { F_end_training_seconds, x->seconds } };
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (!isnan(numbers[i].v))
			rec_num(r, numbers[i].f, numbers[i].v);
	if (!isnan(x->best))
		rec_int(r, F_end_best_update, x->best_update);
	if (x->validations)
		rec_int(r, F_end_validations, x->validations);
	return out_rec(o, r, m->w);
}

static struct timestamp first_moment(const struct import *m, const struct series *s, const char *run)
{
	struct timestamp t = { 0 };

	for (int64_t i = 0; i < m->t->rows && !t.seconds; i++) {
		const char *name = cell(m, i, s->column[LOG_RUN]);

		if (!run || (name && strcmp(name, run) == 0))
			(void)moment(m, i, s->column[LOG_TIME], &t);
	}
	return t;
}

static int one_run(const struct import *m, const struct series *s, const char *run, struct out *o)
{
	struct sums x = { -1, -1, -1, 0, -1, NAN, NAN, NAN, NAN, NAN, NAN, { 0 }, false };
	struct rec r = { 0 };
	char id[ULID_SIZE];
	int rc;

	ulid_new(id);
	x.last = first_moment(m, s, run);
	rc = run_record(m, s, run, id, &x.last, &r, o);
	for (int64_t i = 0; i < m->t->rows && rc >= 0; i++) {
		const char *name = cell(m, i, s->column[LOG_RUN]);
		int64_t update = -1;

		if (run && (!name || strcmp(name, run)))
			continue;
		rc = whole(m, i, s->column[LOG_UPDATE], &update);
		if (rc == 1)
			rc = moment(m, i, s->column[LOG_TIME], &x.last);
		if (rc >= 0 && update >= 0)
			rc = step_record(m, s, i, id, update, &x, &r, o);
		if (rc >= 0 && update >= 0)
			rc = eval_record(m, s, i, id, update, &x, &r, o);
		if (update > x.update)
			x.update = update;
	}
	if (rc >= 0)
		rc = end_record(m, id, &x, &r, o);
	rec_free(&r);
	return rc < 0 ? rc : 0;
}

/* The names in a column of runs, each once. */
static int names_of(struct import *m, int column)
{
	for (int64_t i = 0; i < m->t->rows; i++) {
		const char *name = cell(m, i, column);
		bool known = !name;

		for (int k = m->run_names - 1; k >= 0 && !known; k--)
			known = strncmp(m->run_name[k], name, sizeof m->run_name[k] - 1) == 0;
		if (known)
			continue;
		char (*p)[256] = realloc(m->run_name, (size_t)(m->run_names + 1) * sizeof *p);

		if (!p)
			return -EX_OSERR;
		m->run_name = p;
		snprintf(p[m->run_names++], sizeof *p, "%s", name);
	}
	return 0;
}

static int write_series(struct import *m, const struct series *s, struct out *o)
{
	int rc = 0;

	if (s->column[LOG_RUN] < 0)
		return one_run(m, s, NULL, o);
	if (names_of(m, s->column[LOG_RUN]) < 0)
		return why_set(m->w, EX_OSERR, "importing: out of memory");
	for (int i = 0; i < m->run_names && rc == 0; i++)
		rc = one_run(m, s, m->run_name[i], o);
	return rc;
}

/* Every cell that will be used, before the first record is written. */
static int check_cells(const struct import *m)
{
	for (int i = 0; i < m->n; i++)
		for (int64_t row = 0; row < m->t->rows; row++)
			for (int f = 0; f < LOG_FIELDS; f++) {
				int column = m->series[i].column[f], rc;
				struct timestamp t;
				int64_t n;
				double x;

				if (f == LOG_RUN)
					continue;
				rc = f == LOG_TIME ? moment(m, row, column, &t) : f == LOG_UPDATE || f == LOG_EXAMPLES || f == LOG_TOKENS ? whole(m, row, column, &n) : number(m, row, column, &x);
				if (rc < 0)
					return rc;
			}
	return 0;
}

static int check_set(const struct import *m)
{
	struct rec r = { 0 };
	int rc = 0;

	rec_begin(&r, KIND_run);
	for (int i = 0; rc == 0 && m->s->set && m->s->set[i]; i++)
		rc = set_field(m, &r, m->s->set[i]);
	rec_free(&r);
	return rc;
}

int import_runs(const struct log_table *t, const struct import_settings *s, struct out *o, struct buf *untaken, struct why *w)
{
	struct import m = { .t = t, .s = s, .w = w };
	int rc;

	m.taken = calloc((size_t)t->columns + 1, sizeof *m.taken);
	rc = m.taken ? import_columns(&m) : why_set(w, EX_OSERR, "importing: out of memory");
	if (rc == 0)
		rc = sha_file(t->path, m.digest, NULL, w);
	if (rc == 0)
		rc = check_set(&m);
	if (rc == 0)
		rc = check_cells(&m);
	for (int i = 0; rc == 0 && o && i < m.n; i++)
		rc = write_series(&m, &m.series[i], o);
	for (int k = 0; rc == 0 && o && k < t->columns; k++)
		if (!m.taken[k] && buf_printf(untaken, "%s%s", untaken->n ? ", " : "", t->name[k]) < 0)
			rc = why_set(w, EX_OSERR, "importing: out of memory");
	free(m.taken);
	free(m.series);
	free(m.run_name);
	return rc;
}
