/* data_csv.c - csv:file=F,class=COLUMN,..: a table of numbers with a class. Rows of one group, and
 * rows with the same features, stay together on one side of the splits. */
#include "data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CELL_MAX 1e100 /* so that squares can be summed */

struct table {
	struct csv csv;
	int class, group; /* columns; group -1: none */
	int *column;      /* of each feature */
	int64_t features, rows;
	double *value;    /* (rows, features), as they stand in the file */
	double *mean, *std;
	int32_t *label;   /* (rows) */
	int64_t *part;    /* (rows) the row that speaks for its group: union-find */
	unsigned char *split; /* (rows) */
	int64_t *row[SPLITS]; /* rows of each split, in the file's order */
};

struct keys {
	const char *file, *class, *group, *features, *ignore;
	double val, test;
	int64_t split_seed;
};

static const double *values(const struct table *t, int64_t row)
{
	return t->value + row * t->features;
}

static const char *cell(const struct table *t, int64_t row, int column)
{
	return t->csv.cell[row * t->csv.columns + column];
}

/* ---- the table ---- */

static void csv_features(const struct data *d, enum split s, int64_t index, float *x, int32_t *class)
{
	const struct table *t = d->state;
	int64_t row = t->row[s][index];

	for (int64_t i = 0; i < t->features; i++)
		x[i] = t->std[i] > 0 ? (float)((values(t, row)[i] - t->mean[i]) / t->std[i]) : 0;
	*class = t->label[row];
}

static int csv_describe(const struct data *d, enum split s, int64_t index, struct example_text *out)
{
	const struct table *t = d->state;
	int64_t row = t->row[s][index];
	int r = buf_printf(&out->id, "line %lld", (long long)t->csv.line[row]);

	for (int64_t i = 0; i < t->features && !r; i++)
		r = buf_printf(&out->text, i ? " %s=%s" : "%s=%s", t->csv.name[t->column[i]], cell(t, row, t->column[i]));
	if (!r && t->group >= 0)
		r = buf_printf(&out->group, "%s", cell(t, row, t->group));
	return r ? r : buf_printf(&out->target, "%s", cell(t, row, t->class));
}

/* ---- columns ---- */

static int find_column(const struct table *t, const char *key, const char *name, size_t n, int *out, struct why *w)
{
	for (int i = 0; i < t->csv.columns; i++)
		if (strlen(t->csv.name[i]) == n && !memcmp(t->csv.name[i], name, n)) {
			*out = i;
			return 0;
		}
	return why_set(w, EX_USAGE, "data: csv: %s: the table has no column \"%.*s\"", key, (int)(n > 100 ? 100 : n), name);
}

/* Marks the columns that a list "a:b:c" names with `mark`. */
static int mark_columns(const struct table *t, const char *key, const char *list, char *marks, char mark, struct why *w)
{
	int r, i = 0;

	for (const char *p = list, *end; list && *p; p = *end ? end + 1 : end) {
		end = p + strcspn(p, ":");
		if ((r = find_column(t, key, p, (size_t)(end - p), &i, w)))
			return r;
		if (marks[i])
			return why_set(w, EX_USAGE, "data: csv: %s: column \"%.100s\" is named twice, or is the class or the group", key, t->csv.name[i]);
		marks[i] = mark;
	}
	return 0;
}

static int choose(struct table *t, const struct keys *k, char *marks, struct why *w)
{
	int r;

	if ((r = find_column(t, "class", k->class, strlen(k->class), &t->class, w)))
		return r;
	marks[t->class] = 'c';
	t->group = -1;
	if (k->group && (r = find_column(t, "group", k->group, strlen(k->group), &t->group, w)))
		return r;
	if (t->group == t->class)
		return why_set(w, EX_USAGE, "data: csv: group: column \"%.100s\" is the class", k->group);
	if (t->group >= 0)
		marks[t->group] = 'g';
	if ((r = mark_columns(t, "features", k->features, marks, 'f', w)) || (r = mark_columns(t, "ignore", k->ignore, marks, 'i', w)))
		return r;
	for (int i = 0; i < t->csv.columns; i++)
		if (marks[i] == 'f' || (!marks[i] && !k->features))
			t->column[t->features++] = i;
	return t->features ? 0 : why_set(w, EX_USAGE, "data: csv: no column is left for features");
}

static int choose_columns(struct table *t, const struct keys *k, struct why *w)
{
	char *marks = calloc((size_t)t->csv.columns, 1);
	int r;

	t->column = malloc((size_t)t->csv.columns * sizeof *t->column);
	r = marks && t->column ? choose(t, k, marks, w) : data_no_memory(w);
	free(marks);
	return r;
}

/* ---- numbers and classes ---- */

static int bad_cell(const struct table *t, const char *path, int64_t row, int column, const char *reason, struct why *w)
{
	const char *text = cell(t, row, column), *name = t->csv.name[column];
	char a[FILE_SHOWN], b[FILE_SHOWN];

	return why_set(w, EX_DATAERR, "data: csv: %.300s: line %lld, column \"%s\": \"%s\": %s", path, (long long)t->csv.line[row], file_shown(name, strlen(name), a),
	    file_shown(text, strlen(text), b), reason);
}

static int read_values(struct table *t, const char *path, struct why *w)
{
	for (int64_t row = 0; row < t->rows; row++)
		for (int64_t i = 0; i < t->features; i++) {
			double *x = &t->value[row * t->features + i];
			if (!*cell(t, row, t->column[i]))
				return bad_cell(t, path, row, t->column[i], "is empty", w);
			if (num_float(cell(t, row, t->column[i]), "", -CELL_MAX, CELL_MAX, x, NULL))
				return bad_cell(t, path, row, t->column[i], "is no number, or beyond 1e100", w);
			*x += 0.0; /* -0 is 0: equal values have equal bytes */
		}
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of the classes, sorted, each once; every row gets its number. */
static int number_classes(struct data *d, char **sorted, const char *path, struct why *w)
{
	struct table *t = d->state;

	for (int64_t row = 0; row < t->rows; row++) {
		sorted[row] = t->csv.cell[row * t->csv.columns + t->class];
		if (!*sorted[row])
			return bad_cell(t, path, row, t->class, "is empty: no class", w);
	}
	qsort(sorted, (size_t)t->rows, sizeof *sorted, by_text);
	for (int64_t i = 0; i < t->rows; i++)
		if ((!i || strcmp(sorted[i - 1], sorted[i])) && strings_add(&d->names, sorted[i], strlen(sorted[i])))
			return data_no_memory(w);
	for (int64_t row = 0; row < t->rows; row++) {
		const char *name = cell(t, row, t->class);
		char **found = bsearch(&name, d->names.v, (size_t)d->names.n, sizeof *d->names.v, by_text);
		t->label[row] = (int32_t)(found - d->names.v);
	}
	d->facts.classes = d->names.n;
	if (d->names.n < 2)
		return why_set(w, EX_DATAERR, "data: csv: %.300s: column \"%.100s\": all rows are of one class", path, t->csv.name[t->class]);
	return 0;
}

/* ---- groups and splits ---- */

static int64_t speaker(const struct table *t, int64_t row)
{
	while (t->part[row] != row)
		row = t->part[row] = t->part[t->part[row]];
	return row;
}

/* The earlier row speaks. */
static void join(struct table *t, int64_t a, int64_t b)
{
	a = speaker(t, a);
	b = speaker(t, b);
	if (a != b)
		t->part[a > b ? a : b] = a < b ? a : b;
}

static bool same_values(const void *ctx, int64_t a, int64_t b)
{
	const struct table *t = ctx;

	return !memcmp(values(t, a), values(t, b), (size_t)t->features * sizeof(double));
}

static bool same_group(const void *ctx, int64_t a, int64_t b)
{
	const struct table *t = ctx;

	return !strcmp(cell(t, a, t->group), cell(t, b, t->group));
}

static uint64_t hash_row(const struct table *t, int64_t row, bool group)
{
	const char *g = group ? cell(t, row, t->group) : NULL;

	return g ? data_hash(g, strlen(g)) : data_hash(values(t, row), (size_t)t->features * sizeof(double));
}

/* Joins all rows that are alike. (Rows of one hash are joined to the first; two unlike ones of one
 * hash would share a side for no reason, and do no harm.) */
static void join_alike(struct table *t, struct seen *v, bool group)
{
	for (int64_t row = 0; row < t->rows; row++)
		v[row] = (struct seen){ hash_row(t, row, group), row, TRAIN };
	data_sort(v, t->rows);
	for (int64_t i = 1; i < t->rows; i++)
		if (v[i].hash == v[i - 1].hash)
			join(t, v[i - 1].item, v[i].item);
}

static int assign(struct table *t, const struct keys *k, int64_t groups, struct why *w)
{
	int64_t nval = data_share(k->val, groups), ntest = data_share(k->test, groups), n = 0;

	if (nval + ntest >= groups)
		return why_set(w, EX_DATAERR, "data: csv: %.300s: %lld groups of rows that stay together: too few for three splits", k->file, (long long)groups);
	for (int64_t row = 0; row < t->rows; row++) {
		if (speaker(t, row) != row) { /* its speaker came before */
			t->split[row] = t->split[speaker(t, row)];
			continue;
		}
		int64_t at = rand_permute((uint64_t)k->split_seed, DATA_SPLIT_EPOCH, groups, n++);
		t->split[row] = at < ntest ? TEST : at < ntest + nval ? VALIDATION : TRAIN;
	}
	return 0;
}

static int list_rows(struct data *d, struct why *w)
{
	struct table *t = d->state;

	for (int64_t row = 0; row < t->rows; row++)
		d->facts.count[t->split[row]]++;
	for (enum split s = 0; s < SPLITS; s++) {
		int64_t n = 0;
		if (!(t->row[s] = malloc((size_t)(d->facts.count[s] + 1) * sizeof **t->row)))
			return data_no_memory(w);
		for (int64_t row = 0; row < t->rows; row++)
			if (t->split[row] == s)
				t->row[s][n++] = row;
	}
	return 0;
}

static int64_t count_alike(const struct data *d, struct seen *v, bool group)
{
	const struct table *t = d->state;
	int64_t n = 0;

	for (enum split s = 0; s < SPLITS; s++)
		for (int64_t i = 0; i < d->facts.count[s]; i++)
			v[n++] = (struct seen){ hash_row(t, t->row[s][i], group), t->row[s][i], s };
	return data_shared(v, n, group ? same_group : same_values, t);
}

static int split_rows(struct data *d, const struct keys *k, struct seen *v, int64_t *groups, struct why *w)
{
	struct table *t = d->state;
	int r;

	for (int64_t row = 0; row < t->rows; row++)
		t->part[row] = row;
	join_alike(t, v, false);
	if (t->group >= 0)
		join_alike(t, v, true);
	*groups = 0;
	for (int64_t row = 0; row < t->rows; row++)
		*groups += speaker(t, row) == row;
	if ((r = assign(t, k, *groups, w)) || (r = list_rows(d, w)))
		return r;
	d->facts.shared_examples = count_alike(d, v, false);
	d->facts.shared_groups = t->group >= 0 ? count_alike(d, v, true) : 0;
	return 0;
}

/* Of the training rows only. */
static void standardise(const struct data *d)
{
	const struct table *t = d->state;
	double n = (double)d->facts.count[TRAIN];

	for (int64_t i = 0; i < t->features; i++) {
		double sum = 0, squares = 0;
		for (int64_t j = 0; j < d->facts.count[TRAIN]; j++)
			sum += values(t, t->row[TRAIN][j])[i];
		t->mean[i] = sum / n;
		for (int64_t j = 0; j < d->facts.count[TRAIN]; j++) {
			double x = values(t, t->row[TRAIN][j])[i] - t->mean[i];
			squares += x * x;
		}
		t->std[i] = sqrt(squares / n);
	}
}

/* ---- opening ---- */

static int read_keys(struct spec *s, struct keys *k, struct why *w)
{
	int r;

	if ((r = spec_str(s, "file", &k->file, w)) < 0 || (r = spec_str(s, "class", &k->class, w)) < 0 || (r = spec_str(s, "group", &k->group, w)) < 0 ||
	    (r = spec_str(s, "features", &k->features, w)) < 0 || (r = spec_str(s, "ignore", &k->ignore, w)) < 0 || (r = data_shares(s, &k->val, &k->test, w)) ||
	    (r = spec_int(s, "split-seed", 0, INT64_MAX, &k->split_seed, w)) < 0 || (r = spec_done(s, w)))
		return r;
	if (!k->file || !k->class)
		return why_set(w, EX_USAGE, "data: csv: %s=.. is missing", k->file ? "class" : "file");
	return 0;
}

static int allocate(struct table *t, struct why *w)
{
	size_t rows = (size_t)t->rows, features = (size_t)t->features;
	size_t numbers;

	if (__builtin_mul_overflow(rows, features, &numbers) || numbers > SIZE_MAX / 64)
		return data_no_memory(w);
	t->value = malloc(numbers * sizeof *t->value);
	t->mean = calloc(features, sizeof *t->mean);
	t->std = calloc(features, sizeof *t->std);
	t->label = malloc(rows * sizeof *t->label);
	t->part = malloc(rows * sizeof *t->part);
	t->split = malloc(rows);
	return t->value && t->mean && t->std && t->label && t->part && t->split ? 0 : data_no_memory(w);
}

static int read_table(struct data *d, const struct keys *k, struct why *w)
{
	struct table *t = d->state;
	int r;

	if ((r = csv_open(&t->csv, k->file, w)) || (r = data_add_file(d, k->file, w)))
		return r;
	t->rows = t->csv.rows;
	if (!t->rows)
		return why_set(w, EX_DATAERR, "data: csv: %.300s: has a header and no rows", k->file);
	if ((r = choose_columns(t, k, w)) || (r = allocate(t, w)))
		return r;
	d->facts.features = d->facts.length = t->features;
	return read_values(t, k->file, w);
}

static int csv_open_data(struct data *d, struct spec *spec, int64_t length, struct why *w)
{
	struct table *t = d->state = calloc(1, sizeof *t);
	struct keys k = { .val = 0.1, .test = 0.1 };
	int64_t groups = 0;
	void *scratch; /* for sorting: one struct seen a row, or one pointer */
	int r;

	if (!t)
		return data_no_memory(w);
	if ((r = read_keys(spec, &k, w)) || (r = read_table(d, &k, w)) || (r = data_check_features(d, length, w)))
		return r;
	if (!(scratch = malloc((size_t)t->rows * sizeof(struct seen))))
		return data_no_memory(w);
	if (!(r = number_classes(d, scratch, k.file, w)))
		r = split_rows(d, &k, scratch, &groups, w);
	free(scratch);
	if (r)
		return r;
	standardise(d);
	return data_rule(d, w, "rows that share %s%.100s%sall feature values stay together; of these %lld groups %g go to validation and %g to test, by a permutation keyed by split-seed %lld "
	    "(the run's seed does not matter). Features are standardised by the training split's mean and deviation", k.group ? "the column " : "", k.group ? k.group : "",
	    k.group ? " or " : "", (long long)groups, k.val, k.test, (long long)k.split_seed);
}

static void csv_close_data(struct data *d)
{
	struct table *t = d->state;

	if (!t)
		return;
	csv_close(&t->csv);
	free(t->column);
	free(t->value);
	free(t->mean);
	free(t->std);
	free(t->label);
	free(t->part);
	free(t->split);
	for (enum split s = 0; s < SPLITS; s++)
		free(t->row[s]);
	free(t);
}

const struct data_kind data_csv = {
	.name = "csv",
	.open = csv_open_data,
	.close = csv_close_data,
	.features = csv_features,
	.describe = csv_describe,
};
