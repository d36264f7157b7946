/* data_tokens.c - tokens:file=F: flat 16-bit little-endian token ids, as nanoGPT writes them
 * (train.bin, val.bin). */
#include "data.h"

#include <stdlib.h>

struct keys {
	const char *file[SPLITS];
	double val, test;
	int64_t vocab;
};

static int read_keys(struct spec *spec, struct keys *k, struct why *w)
{
	double val = -1, test = -1;
	int r;

	if ((r = spec_str(spec, "file", &k->file[TRAIN], w)) < 0 || (r = spec_str(spec, "val-file", &k->file[VALIDATION], w)) < 0 ||
	    (r = spec_str(spec, "test-file", &k->file[TEST], w)) < 0 || (r = spec_int(spec, "vocab", 1, 65536, &k->vocab, w)) < 0 ||
	    (r = data_shares(spec, &val, &test, w)) || (r = spec_done(spec, w)))
		return r;
	if (!k->file[TRAIN])
		return why_set(w, EX_USAGE, "data: tokens: file=.. is missing");
	if (k->file[VALIDATION] && val >= 0)
		return why_set(w, EX_USAGE, "data: tokens: val with val-file: the validation split is one or the other");
	if (k->file[TEST] && test >= 0)
		return why_set(w, EX_USAGE, "data: tokens: test with test-file: the test split is one or the other");
	/* A file of its own for validation says that the first is for training: nothing is cut from it unasked. */
	k->val = k->file[VALIDATION] ? 0 : val >= 0 ? val : 0.05;
	k->test = k->file[TEST] ? 0 : test >= 0 ? test : k->file[VALIDATION] ? 0 : 0.05;
	return 0;
}

static int open_file(struct data *d, enum split s, const char *path, struct why *w)
{
	struct flat *f = d->state;
	int r = bytes_open(&f->file[s], path, FILE_MAX_INFLATED, w);

	if (r)
		return r;
	if (f->file[s].n % 2)
		return why_set(w, EX_DATAERR, "data: tokens: %.300s: %lld bytes: odd, so no row of 16-bit tokens", path, (long long)f->file[s].n);
	if (f->file[s].n < 4)
		return why_set(w, EX_DATAERR, "data: tokens: %.300s: %lld tokens: at least 2 are needed", path, (long long)f->file[s].n / 2);
	if ((r = data_add_file(d, path, w)))
		return r;
	f->base[s] = f->file[s].p;
	f->digest[s] = d->digests.v[d->digests.n - 1];
	f->end[s] = f->file[s].n / 2;
	return 0;
}

/* The shares that come from the training file's end: validation, then test. */
static void cut_shares(struct flat *f, const struct keys *k)
{
	int64_t n = f->end[TRAIN], nval = data_share(k->val, n), ntest = data_share(k->test, n);

	f->end[TRAIN] = n - nval - ntest;
	for (enum split s = VALIDATION; s < SPLITS; s++) {
		if (k->file[s])
			continue;
		f->base[s] = f->base[TRAIN];
		f->digest[s] = f->digest[TRAIN];
		f->begin[s] = s == VALIDATION ? f->end[TRAIN] : n - ntest;
		f->end[s] = s == VALIDATION ? n - ntest : n;
	}
}

/* One more than the greatest id in any split. */
static int64_t vocabulary(const struct flat *f)
{
	int64_t most = 0;

	for (enum split s = 0; s < SPLITS; s++)
		for (int64_t i = f->begin[s]; i < f->end[s]; i++) {
			int64_t x = flat_number(f, s, i);
			most = x > most ? x : most;
		}
	return most + 1;
}

static int make_rule(struct data *d, const struct keys *k, struct why *w)
{
	if (k->file[VALIDATION] && (k->file[TEST] || !k->test))
		return data_rule(d, w, "files of their own for training and validation, %s; windows do not overlap", k->file[TEST] ? "and for test" : "no test split");
	return data_rule(d, w, "stretches of the training file: training first, then %g of its tokens validation%s, then %g test%s; windows do not overlap", k->val,
	    k->file[VALIDATION] ? " (a file of its own instead)" : "", k->test, k->file[TEST] ? " (a file of its own instead)" : "");
}

static int tokens_open(struct data *d, struct spec *spec, int64_t length, struct why *w)
{
	struct flat *f = d->state = calloc(1, sizeof *f);
	struct keys k = { 0 };
	int r;

	if (!f)
		return data_no_memory(w);
	if ((r = read_keys(spec, &k, w)))
		return r;
	f->width = 2;
	f->unit = "token";
	for (enum split s = 0; s < SPLITS; s++)
		if (k.file[s] && (r = open_file(d, s, k.file[s], w)))
			return r;
	cut_shares(f, &k);
	f->vocab = k.vocab ? k.vocab : vocabulary(f); /* a named one is checked example by example */
	if ((r = flat_ready(d, length, w)))
		return r;
	return make_rule(d, &k, w);
}

const struct data_kind data_tokens = {
	.name = "tokens",
	.open = tokens_open,
	.close = flat_close,
	.row = flat_row,
	.example_length = flat_length,
	.describe = flat_describe,
	.cut = flat_cut,
};
