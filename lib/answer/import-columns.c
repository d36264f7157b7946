/* import-columns.c - which columns of a log mean something, and to which run. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "import-inner.h"

static const struct {
	const char *name, *usual; /* usual names, small letters, between spaces */
} fields[LOG_FIELDS] = {
	[LOG_UPDATE] = { "update", " step _step global_step iteration iter update trainer/global_step " },
	[LOG_LOSS] = { "loss", " loss train_loss train/loss training_loss loss/train value " },
	[LOG_VALIDATION_LOSS] = { "validation_loss", " validation_loss val_loss val/loss eval_loss eval/loss valid_loss valid/loss loss/val loss/validation validation/loss " },
	[LOG_VALIDATION_ACCURACY] = { "validation_accuracy", " validation_accuracy val_accuracy val_acc val/accuracy val/acc eval_accuracy eval/accuracy " },
	[LOG_LR] = { "lr", " lr learning_rate train/learning_rate train/lr lr-adamw " },
	[LOG_EXAMPLES] = { "examples", " examples samples " },
	[LOG_TOKENS] = { "tokens", " tokens num_tokens " },
	[LOG_EPOCH] = { "epoch", " epoch train/epoch " },
	[LOG_SECONDS] = { "seconds", " seconds step_seconds " },
	[LOG_GRADIENT_NORM] = { "gradient_norm", " gradient_norm grad_norm train/grad_norm " },
	[LOG_TIME] = { "time", " time _timestamp timestamp wall\ttime " },
	[LOG_RUN] = { "run", " run run_id run_name " },
};

static struct series *series_of(struct import *m, const char *name)
{
	struct series *p;

	for (int i = 0; i < m->n; i++)
		if (strcmp(m->series[i].name, name) == 0)
			return &m->series[i];
	p = realloc(m->series, (size_t)(m->n + 1) * sizeof *p);
	if (!p)
		return NULL;
	m->series = p;
	p = &p[m->n++];
	snprintf(p->name, sizeof p->name, "%s", name);
	for (int i = 0; i < LOG_FIELDS; i++)
		p->column[i] = -1;
	return p;
}

static enum log_field field_named(const char *s, size_t n)
{
	enum log_field f = 0;

	while (f < LOG_FIELDS && (strlen(fields[f].name) != n || memcmp(fields[f].name, s, n)))
		f++;
	return f;
}

static enum log_field usual_field(const char *column)
{
	char word[128] = " ";
	size_t n = 1;

	for (; *column && n < sizeof word - 2; column++)
		word[n++] = *column == ' ' ? '\t' : (char)tolower((unsigned char)*column);
	word[n++] = ' ';
	word[n] = '\0';
	for (enum log_field f = 0; f < LOG_FIELDS; f++)
		if (strstr(fields[f].usual, word))
			return f;
	return LOG_FIELDS;
}

static int column_named(const struct log_table *t, const char *s, size_t n)
{
	for (int i = 0; i < t->columns; i++)
		if (strlen(t->name[i]) == n && memcmp(t->name[i], s, n) == 0)
			return i;
	return -1;
}

/* "update=Step,loss=train/loss": a comma inside a column's name is written \, */
static int take_map(struct import *m)
{
	struct series *s = series_of(m, "");

	for (const char *p = m->s->map; s && *p;) {
		const char *equals = strchr(p, '=');
		enum log_field f = equals ? field_named(p, (size_t)(equals - p)) : LOG_FIELDS;
		char column[512];
		size_t n = 0;
		int k;

		if (f == LOG_FIELDS)
			return why_set(m->w, EX_USAGE, "--map: %.80s: not FIELD=COLUMN with update, loss, validation_loss, validation_accuracy, lr, examples, tokens, epoch, seconds, gradient_norm, time or run", p);
		for (p = equals + 1; *p && *p != ','; p++) {
			p += *p == '\\' && p[1];
			if (n < sizeof column - 1)
				column[n++] = *p;
		}
		p += *p == ',';
		k = column_named(m->t, column, n);
		if (k < 0)
			return why_set(m->w, EX_USAGE, "--map: %s=%.*s: %.200s has no such column", fields[f].name, n > 200 ? 200 : (int)n, column, m->t->path);
		s->column[f] = k;
		m->taken[k] = true;
	}
	return s ? 0 : why_set(m->w, EX_OSERR, "importing: out of memory");
}

/* "NAME - metric", as downloads of charts of several runs have them; their __MIN and __MAX are passed over. */
static int take_usual(struct import *m, int k)
{
	const char *column = m->t->name[k], *dash = NULL, *p;
	size_t n = strlen(column);
	enum log_field f = usual_field(column);
	struct series *s;
	char run[256] = "";

	for (p = column; (p = strstr(p, " - ")) != NULL; p += 3)
		dash = p;
	if (f == LOG_FIELDS && dash) {
		if (n > 5 && (strcmp(column + n - 5, "__MIN") == 0 || strcmp(column + n - 5, "__MAX") == 0)) {
			m->taken[k] = true;
			return 0;
		}
		f = usual_field(dash + 3);
		snprintf(run, sizeof run, "%.*s", (int)(dash - column), column);
	}
	if (f == LOG_FIELDS)
		return 0;
	s = series_of(m, run);
	if (!s)
		return why_set(m->w, EX_OSERR, "importing: out of memory");
	if (s->column[f] < 0) {
		s->column[f] = k;
		m->taken[k] = true;
	}
	return 0;
}

/* What stands once for all runs of a chart (Step) goes to each; a series without anything of its own is none. */
static void share(struct import *m)
{
	if (m->n < 2 || *m->series[0].name)
		return;
	for (int i = 1; i < m->n; i++)
		for (int f = 0; f < LOG_FIELDS; f++)
			if (m->series[i].column[f] < 0)
				m->series[i].column[f] = m->series[0].column[f];
	memmove(m->series, m->series + 1, (size_t)--m->n * sizeof *m->series);
}

static int by_name(const void *a, const void *b)
{
	return (*((const struct series *)a)->name != '\0') - (*((const struct series *)b)->name != '\0');
}

int import_columns(struct import *m)
{
	int rc = m->s->map ? take_map(m) : 0;

	for (int k = 0; rc == 0 && !m->s->map && k < m->t->columns; k++)
		rc = take_usual(m, k);
	if (rc == 0 && m->n)
		qsort(m->series, (size_t)m->n, sizeof *m->series, by_name);
	share(m);
	for (int i = 0; rc == 0 && i < m->n; i++) {
		const int *c = m->series[i].column;

		if (c[LOG_UPDATE] < 0)
			rc = why_set(m->w, EX_DATAERR, "importing: %.300s: no column is the update (Step, step, iter ..); --map update=COLUMN names it", m->t->path);
		else if (c[LOG_LOSS] < 0 && c[LOG_VALIDATION_LOSS] < 0 && c[LOG_VALIDATION_ACCURACY] < 0)
			rc = why_set(m->w, EX_DATAERR, "importing: %.300s: no column is a loss; --map loss=COLUMN (or validation_loss) names it", m->t->path);
	}
	if (rc == 0 && !m->n)
		rc = why_set(m->w, EX_DATAERR, "importing: %.300s: no column is the update, and none a loss; --map update=COLUMN,loss=COLUMN names them", m->t->path);
	return rc;
}

