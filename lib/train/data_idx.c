/* data_idx.c - idx:images=F,labels=F,..: images and labels as MNIST has them. Validation is cut
 * from the training file; the test split is the test files and nothing else. */
#include "data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 1 << 20 };

struct images {
	struct idx x, y;
};

struct idx_data {
	struct images train, test; /* as files; test.x.data is NULL when there is none */
	int64_t split_seed, val;
	float scale, shift;        /* x = byte * scale - shift */
	bool meanstd;
	const char *names;         /* while opening */
};

/* The image in its file. */
static const struct images *find(const struct data *d, enum split s, int64_t index, int64_t *at)
{
	const struct idx_data *u = d->state;

	*at = index;
	if (s == TEST)
		return &u->test;
	*at = rand_permute((uint64_t)u->split_seed, DATA_SPLIT_EPOCH, u->train.y.shape[0], s == TRAIN ? index : d->facts.count[TRAIN] + index);
	return &u->train;
}

static void idx_features(const struct data *d, enum split s, int64_t index, float *x, int32_t *class)
{
	const struct idx_data *u = d->state;
	int64_t at, n = d->facts.features;
	const struct images *m = find(d, s, index, &at);
	const unsigned char *p = m->x.data + at * n;

	for (int64_t i = 0; i < n; i++)
		x[i] = (float)p[i] * u->scale - u->shift;
	*class = m->y.data[at];
}

static int idx_describe(const struct data *d, enum split s, int64_t index, struct example_text *out)
{
	int64_t at, n = d->facts.features, ink = 0;
	const struct images *m = find(d, s, index, &at);
	const unsigned char *p = m->x.data + at * n;
	int r = buf_printf(&out->id, "%s image %lld", s == TEST ? "test" : "training", (long long)at);

	for (int i = 1; i < m->x.dims && !r; i++)
		r = buf_printf(&out->text, i > 1 ? " x %lld" : "%lld", (long long)m->x.shape[i]);
	for (int64_t i = 0; i < n; i++)
		ink += p[i];
	if (r || buf_printf(&out->text, ", mean %.3f", (double)ink / (255.0 * (double)n)))
		return -EX_OSERR;
	if (d->facts.names)
		return buf_printf(&out->target, "%s", d->facts.name[m->y.data[at]]);
	return buf_printf(&out->target, "%d", m->y.data[at]);
}

/* ---- opening ---- */

static int open_pair(struct data *d, struct images *m, const char *images, const char *labels, struct why *w)
{
	int r;

	if ((r = idx_open(&m->x, images, w)) || (r = data_add_file(d, images, w)) || (r = idx_open(&m->y, labels, w)) || (r = data_add_file(d, labels, w)))
		return r;
	if (m->x.dims < 2)
		return why_set(w, EX_DATAERR, "data: idx: %.300s: one dimension: these are no images", images);
	if (m->y.dims != 1)
		return why_set(w, EX_DATAERR, "data: idx: %.300s: %d dimensions: labels have one", labels, m->y.dims);
	if (m->x.shape[0] != m->y.shape[0])
		return why_set(w, EX_DATAERR, "data: idx: %.200s: %lld images, but %.200s: %lld labels", images, (long long)m->x.shape[0], labels, (long long)m->y.shape[0]);
	return 0;
}

static int check_test(const struct idx_data *u, const char *path, struct why *w)
{
	const struct idx *a = &u->train.x, *b = &u->test.x;
	bool same = a->dims == b->dims;

	for (int i = 1; i < a->dims && same; i++)
		same = a->shape[i] == b->shape[i];
	return same ? 0 : why_set(w, EX_DATAERR, "data: idx: %.300s: its images have other sizes than the training file's", path);
}

static int read_names(struct data *d, const char *path, struct why *w)
{
	struct buf text = { 0 };
	int r = io_slurp(path, NAMES_MAX, &text, w);
	const char *p = (const char *)text.p, *end = p + text.n, *eol;

	for (; !r && p < end; p = eol + 1) {
		if (!(eol = memchr(p, '\n', (size_t)(end - p))))
			eol = end;
		size_t n = (size_t)(eol - p) - (eol > p && eol[-1] == '\r');
		if (!n || memchr(p, 0, n))
			r = why_set(w, EX_DATAERR, "data: idx: %.300s: line %d: %s", path, d->names.n + 1, n ? "a NUL byte" : "no name");
		else if (strings_add(&d->names, p, n))
			r = data_no_memory(w);
	}
	buf_free(&text);
	return r ? r : data_add_file(d, path, w);
}

/* Labels are classes 0..; their number is the names', or one more than the greatest label. */
static int count_classes(struct data *d, struct why *w)
{
	const struct idx_data *u = d->state;
	const struct idx *y[] = { &u->train.y, &u->test.y };
	int most = 0;

	for (int f = 0; f < 2; f++)
		for (int64_t i = 0; y[f]->data && i < y[f]->shape[0]; i++) {
			most = y[f]->data[i] > most ? y[f]->data[i] : most;
			if (d->names.n && most >= d->names.n)
				return why_set(w, EX_DATAERR, "data: idx: label %lld of the %s file is %d, there are %d names", (long long)i, f ? "test" : "training", most, d->names.n);
		}
	d->facts.classes = d->names.n ? d->names.n : most + 1;
	return 0;
}

/* meanstd: of all bytes of the training split. */
static void scale(struct data *d)
{
	struct idx_data *u = d->state;
	int64_t at, n = d->facts.features, count[256] = { 0 }, all = n * d->facts.count[TRAIN];
	double sum = 0, squares = 0, mean, std;

	u->scale = 1.f / 255;
	if (!u->meanstd)
		return;
	for (int64_t i = 0; i < d->facts.count[TRAIN]; i++) {
		const struct images *m = find(d, TRAIN, i, &at);
		for (int64_t j = 0; j < n; j++)
			count[m->x.data[at * n + j]]++;
	}
	for (int v = 0; v < 256; v++) {
		sum += v * (double)count[v];
		squares += (double)v * v * (double)count[v];
	}
	mean = sum / (double)all;
	std = sqrt(squares / (double)all - mean * mean);
	u->scale = (float)(1 / (std > 0 ? std : 255));
	u->shift = (float)(mean * u->scale);
}

static bool same_image(const void *ctx, int64_t a, int64_t b)
{
	const struct data *d = ctx;
	const struct idx_data *u = d->state;
	int64_t n = d->facts.features, train = u->train.y.shape[0];
	const unsigned char *x = a < train ? u->train.x.data + a * n : u->test.x.data + (a - train) * n;
	const unsigned char *y = b < train ? u->train.x.data + b * n : u->test.x.data + (b - train) * n;

	return !memcmp(x, y, (size_t)n);
}

/* Different images that stand in more than one split. */
static int count_shared(struct data *d, struct why *w)
{
	const struct idx_data *u = d->state;
	int64_t n = d->facts.features, all = d->facts.count[TRAIN] + d->facts.count[VALIDATION] + d->facts.count[TEST], k = 0, at;
	struct seen *v = malloc((size_t)all * sizeof *v + 1);

	if (!v)
		return data_no_memory(w);
	for (enum split s = 0; s < SPLITS; s++)
		for (int64_t i = 0; i < d->facts.count[s]; i++) {
			const struct images *m = find(d, s, i, &at);
			v[k++] = (struct seen){ data_hash(m->x.data + at * n, (size_t)n), s == TEST ? u->train.y.shape[0] + at : at, s };
		}
	d->facts.shared_examples = data_shared(v, k, same_image, d);
	free(v);
	return 0;
}

struct keys {
	const char *images, *labels, *test_images, *test_labels, *normalise;
};

static int read_keys(struct idx_data *u, struct spec *s, struct keys *k, struct why *w)
{
	int r;

	u->val = -1;
	if ((r = spec_str(s, "images", &k->images, w)) < 0 || (r = spec_str(s, "labels", &k->labels, w)) < 0 || (r = spec_str(s, "test-images", &k->test_images, w)) < 0 ||
	    (r = spec_str(s, "test-labels", &k->test_labels, w)) < 0 || (r = spec_str(s, "names", &u->names, w)) < 0 || (r = spec_str(s, "normalise", &k->normalise, w)) < 0 ||
	    (r = spec_int(s, "val", 0, INT32_MAX, &u->val, w)) < 0 || (r = spec_int(s, "split-seed", 0, INT64_MAX, &u->split_seed, w)) < 0 || (r = spec_done(s, w)))
		return r;
	if (!k->images || !k->labels)
		return why_set(w, EX_USAGE, "data: idx: %s=.. is missing", k->images ? "labels" : "images");
	if (!k->test_images != !k->test_labels)
		return why_set(w, EX_USAGE, "data: idx: %s=.. is missing", k->test_images ? "test-labels" : "test-images");
	u->meanstd = k->normalise && !strcmp(k->normalise, "meanstd");
	if (k->normalise && !u->meanstd && strcmp(k->normalise, "unit"))
		return why_set(w, EX_USAGE, "data: idx: normalise: %.100s: not one of unit, meanstd", k->normalise);
	return 0;
}

static int cut(struct data *d, struct why *w)
{
	struct idx_data *u = d->state;
	int64_t n = u->train.y.shape[0];

	if (u->val < 0)
		u->val = n / 10;
	if (u->val >= n)
		return why_set(w, EX_USAGE, "data: idx: val %lld: the training file has %lld examples", (long long)u->val, (long long)n);
	d->facts.count[TRAIN] = n - u->val;
	d->facts.count[VALIDATION] = u->val;
	d->facts.count[TEST] = u->test.y.data ? u->test.y.shape[0] : 0;
	d->facts.features = 1;
	for (int i = 1; i < u->train.x.dims; i++)
		d->facts.features *= u->train.x.shape[i];
	if (!d->facts.features)
		return why_set(w, EX_DATAERR, "data: idx: the images have no pixels");
	d->facts.length = d->facts.features;
	return 0;
}

static int idx_open_data(struct data *d, struct spec *spec, int64_t length, struct why *w)
{
	struct idx_data *u = d->state = calloc(1, sizeof *u);
	struct keys k = { 0 };
	int r;

	if (!u)
		return data_no_memory(w);
	if ((r = read_keys(u, spec, &k, w)) || (r = open_pair(d, &u->train, k.images, k.labels, w)))
		return r;
	if (k.test_images && ((r = open_pair(d, &u->test, k.test_images, k.test_labels, w)) || (r = check_test(u, k.test_images, w))))
		return r;
	if ((u->names && (r = read_names(d, u->names, w))) || (r = count_classes(d, w)) || (r = cut(d, w)) || (r = data_check_features(d, length, w)) || (r = count_shared(d, w)))
		return r;
	scale(d);
	return data_rule(d, w, "validation: %lld examples of the training file by a permutation keyed by split-seed %lld (the run's seed does not matter); test: %s. Features are %s",
	    (long long)u->val, (long long)u->split_seed, u->test.y.data ? "the test files" : "none",
	    u->meanstd ? "bytes less the training split's mean over its standard deviation" : "bytes / 255");
}

static void idx_close_data(struct data *d)
{
	struct idx_data *u = d->state;

	if (!u)
		return;
	idx_close(&u->train.x);
	idx_close(&u->train.y);
	idx_close(&u->test.x);
	idx_close(&u->test.y);
	free(u);
}

const struct data_kind data_idx = {
	.name = "idx",
	.open = idx_open_data,
	.close = idx_close_data,
	.features = idx_features,
	.describe = idx_describe,
};
