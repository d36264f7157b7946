/* data.c - examples whatever their format: opening by KIND, and micro-batches padded to their
 * longest row. Which targets the loss sees is decided by position, never by an id. */
#include "data.h"

#include <stdlib.h>
#include <string.h>

static const struct data_kind *const kinds[] = { &data_sums, &data_text, &data_tokens, &data_idx, &data_csv };

const char *split_name(enum split s)
{
	static const char *const names[SPLITS] = { "train", "validation", "test" };

	return names[s];
}

/* ---- micro-batches ---- */

static void *array(int64_t rows, int64_t columns, size_t size)
{
	int64_t n;

	if (__builtin_mul_overflow(rows, columns, &n) || n > INT64_MAX / 16)
		return NULL;
	return calloc(n ? (size_t)n : 1, size);
}

int batch_init(struct batch *b, int64_t rows, int64_t length, bool sequence)
{
	*b = (struct batch){ .capacity_rows = rows, .capacity_length = length };
	if (sequence)
		b->ids = array(rows, length, sizeof *b->ids);
	else
		b->x = array(rows, length, sizeof *b->x);
	b->targets = array(rows, sequence ? length : 1, sizeof *b->targets);
	b->index = array(rows, 1, sizeof *b->index);
	b->lengths = array(rows, 1, sizeof *b->lengths);
	b->key = array(rows, 1, sizeof *b->key);
	if ((sequence ? (void *)b->ids : (void *)b->x) && b->targets && b->index && b->lengths && b->key)
		return 0;
	batch_free(b);
	return -EX_OSERR;
}

void batch_free(struct batch *b)
{
	free(b->ids);
	free(b->targets);
	free(b->x);
	free(b->index);
	free(b->lengths);
	free(b->key);
	*b = (struct batch){ 0 };
}

/* ---- opening ---- */

static int find_kind(const struct data_kind **k, const char *name, struct why *w)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(kinds[i]->name, name)) {
			*k = kinds[i];
			return 0;
		}
	if (!strcmp(name, "jsonl"))
		return why_set(w, EX_UNAVAILABLE, "data: jsonl: not in this version");
	return why_set(w, EX_USAGE, "data: %.200s: no such kind (there are: sums, text, tokens, idx, csv)", name);
}

static int check_facts(const struct data *d, struct why *w)
{
	const struct data_facts *f = &d->facts;

	if (f->count[TRAIN] < 1)
		return why_set(w, EX_DATAERR, "data: %s: no example is left for the training split", d->kind->name);
	if (f->classes > INT32_MAX || f->length > INT32_MAX)
		return why_set(w, EX_DATAERR, "data: %s: more classes or positions than 2^31", d->kind->name);
	return 0;
}

static void publish(struct data *d)
{
	struct data_facts *f = &d->facts;

	f->rule = d->rule.n ? (const char *)d->rule.p : "";
	f->files = d->digests.n;
	f->digest = d->digests.v;
	f->provenance = d->provenances.v;
	f->names = d->names.n;
	f->name = d->names.v;
}

static int open_kind(struct data *d, struct spec *s, int64_t length, struct why *w)
{
	int r;

	if ((r = find_kind(&d->kind, s->kind, w)) || (r = d->kind->open(d, s, length, w)) || (r = check_facts(d, w)))
		return r;
	publish(d);
	return 0;
}

int data_open(struct data **out, const char *text, int64_t length, uint64_t seed, struct why *w)
{
	struct data *d = calloc(1, sizeof *d);
	struct spec s;
	int r;

	(void)seed; /* splits are the same for every seed, see data_facts.rule */
	*out = NULL;
	if (!d)
		return data_no_memory(w);
	if (!(r = spec_parse(&s, text, w))) {
		r = open_kind(d, &s, length, w);
		spec_free(&s);
	}
	if (r) {
		data_close(d);
		return r;
	}
	*out = d;
	return 0;
}

static void strings_free(struct strings *s)
{
	for (int i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
}

void data_close(struct data *d)
{
	if (!d)
		return;
	if (d->kind)
		d->kind->close(d);
	strings_free(&d->digests);
	strings_free(&d->provenances);
	strings_free(&d->names);
	buf_free(&d->rule);
	free(d);
}

const struct data_facts *data_facts(const struct data *d)
{
	return &d->facts;
}

int data_cut(struct data *d, int64_t val_length, struct why *w)
{
	if (!val_length)
		return 0;
	if (d->kind->cut)
		return d->kind->cut(d, val_length, w);
	for (enum split s = VALIDATION; s < SPLITS; s++) {
		int64_t n = d->facts.count[s] ? data_example_length(d, s, data_longest(d, s)) : 0;
		if (n > val_length)
			return why_set(w, EX_USAGE, "--val-length %lld: %s: the %s split has an example of %lld positions, and its examples cannot be cut",
			    (long long)val_length, d->kind->name, split_name(s), (long long)n);
	}
	return 0;
}

/* ---- examples ---- */

int64_t data_example_length(const struct data *d, enum split s, int64_t index)
{
	return d->kind->example_length ? d->kind->example_length(d, s, index) : d->facts.length;
}

int64_t data_longest(const struct data *d, enum split s)
{
	if (!d->facts.count[s])
		return -1;
	return d->kind->longest ? d->kind->longest(d, s) : 0;
}

int64_t data_declared(const struct data *d, enum split s, int64_t index)
{
	if (d->kind->declared)
		return d->kind->declared(d, s, index);
	return d->facts.sequence ? data_example_length(d, s, index) : 1;
}

static int check_index(const struct data *d, enum split s, int64_t index, struct why *w)
{
	if (index >= 0 && index < d->facts.count[s])
		return 0;
	return why_set(w, EX_SOFTWARE, "data: %s: example %lld of the %s split, which has %lld", d->kind->name, (long long)index, split_name(s),
	    (long long)d->facts.count[s]);
}

/* Positions of the longest row; refuses what the caller's length or the batch cannot hold. */
static int widest(const struct data *d, enum split s, const int64_t *index, int64_t rows, int64_t length, const struct batch *b, int64_t *out, struct why *w)
{
	int64_t most = 0, limit = length > 0 && length < b->capacity_length ? length : b->capacity_length;
	int r;

	if (rows > b->capacity_rows)
		return why_set(w, EX_SOFTWARE, "data: %lld rows into a batch for %lld", (long long)rows, (long long)b->capacity_rows);
	for (int64_t i = 0; i < rows; i++) {
		if ((r = check_index(d, s, index[i], w)))
			return r;
		int64_t n = data_example_length(d, s, index[i]);
		most = n > most ? n : most;
	}
	if (most > limit)
		return why_set(w, EX_DATAERR, "data: %s: an example of the %s split has %lld positions, there is room for %lld", d->kind->name, split_name(s),
		    (long long)most, (long long)limit);
	*out = most;
	return 0;
}

static int fill_sequence(const struct data *d, enum split s, int64_t i, struct batch *b, struct why *w)
{
	int32_t *ids = b->ids + i * b->length, *targets = b->targets + i * b->length;
	int64_t n = b->lengths[i];
	int r = d->kind->row(d, s, b->index[i], ids, targets, w);

	for (int64_t t = n; t < b->length; t++) {
		ids[t] = 0;
		targets[t] = -1;
	}
	for (int64_t t = 0; t < n; t++)
		b->supervised += targets[t] >= 0;
	b->tokens += n;
	return r;
}

int data_fill(const struct data *d, enum split s, const int64_t *index, int64_t rows, int64_t length, struct batch *b, struct why *w)
{
	int r = widest(d, s, index, rows, length, b, &b->length, w);

	b->rows = rows;
	b->supervised = b->tokens = 0;
	for (int64_t i = 0; i < rows && !r; i++) {
		b->index[i] = index[i];
		b->lengths[i] = data_example_length(d, s, index[i]);
		if (d->facts.sequence) {
			r = fill_sequence(d, s, i, b, w);
			continue;
		}
		d->kind->features(d, s, index[i], b->x + i * b->length, b->targets + i);
		b->supervised++;
		b->tokens++;
	}
	if (r)
		b->rows = 0;
	return r;
}

/* ---- for people ---- */

int data_describe(const struct data *d, enum split s, int64_t index, struct example_text *out, struct why *w)
{
	int r = check_index(d, s, index, w);

	out->id.n = out->group.n = out->text.n = out->target.n = 0;
	if (r)
		return r;
	return d->kind->describe(d, s, index, out) ? data_no_memory(w) : 0;
}

void example_text_free(struct example_text *t)
{
	buf_free(&t->id);
	buf_free(&t->group);
	buf_free(&t->text);
	buf_free(&t->target);
}

int data_decode(const struct data *d, const int32_t *ids, int64_t n, struct buf *out)
{
	int r = 0;

	if (d->kind->decode)
		return d->kind->decode(d, ids, n, out);
	for (int64_t i = 0; i < n && !r; i++)
		r = buf_printf(out, i ? " %d" : "%d", ids[i]);
	return r;
}

int64_t data_prompt(const struct data *d, enum split s, int64_t index, int32_t *ids, int64_t max, int32_t *end_id)
{
	if (!d->kind->prompt || index < 0 || index >= d->facts.count[s])
		return -1;
	return d->kind->prompt(d, s, index, ids, max, end_id);
}
