/* data_text.c - text:file=F: the bytes of a file, plain or gzip, as a vocabulary of 256. The splits
 * are three stretches of it: training first, then validation, then test. */
#include "data.h"

#include <stdlib.h>

/* Three stretches of one file of n numbers. */
static void stretch(struct flat *f, const char *digest, int64_t n, double val, double test)
{
	int64_t nval = data_share(val, n), ntest = data_share(test, n);
	const int64_t edge[SPLITS + 1] = { 0, n - nval - ntest, n - ntest, n };

	for (enum split s = 0; s < SPLITS; s++) {
		f->base[s] = f->file[TRAIN].p;
		f->digest[s] = digest;
		f->begin[s] = edge[s];
		f->end[s] = edge[s + 1];
	}
}

static int text_open(struct data *d, struct spec *spec, int64_t length, struct why *w)
{
	struct flat *f = d->state = calloc(1, sizeof *f);
	double val = 0.05, test = 0.05;
	const char *path = NULL;
	int r;

	if (!f)
		return data_no_memory(w);
	if ((r = spec_str(spec, "file", &path, w)) < 0 || (r = data_shares(spec, &val, &test, w)) || (r = spec_done(spec, w)))
		return r;
	if (!path)
		return why_set(w, EX_USAGE, "data: text: file=.. is missing");
	if ((r = bytes_open(&f->file[TRAIN], path, FILE_MAX_INFLATED, w)) || (r = data_add_file(d, path, w)))
		return r;
	f->width = 1;
	f->vocab = 256;
	f->unit = "byte";
	if (f->file[TRAIN].n < 16)
		return why_set(w, EX_DATAERR, "data: text: %.300s: %lld bytes: too short to be split", path, (long long)f->file[TRAIN].n);
	stretch(f, d->digests.v[0], f->file[TRAIN].n, val, test);
	if ((r = flat_ready(d, length, w)))
		return r;
	return data_rule(d, w, "three stretches of the file: training first, then %g of its bytes validation, then %g test; windows do not overlap", val, test);
}

static int text_decode(const struct data *d, const int32_t *ids, int64_t n, struct buf *out)
{
	int r = 0;

	(void)d;
	for (int64_t i = 0; i < n && !r; i++) {
		unsigned char c = (unsigned char)ids[i];
		r = buf_add(out, &c, 1);
	}
	return r;
}

const struct data_kind data_text = {
	.name = "text",
	.open = text_open,
	.close = flat_close,
	.row = flat_row,
	.example_length = flat_length,
	.describe = flat_describe,
	.decode = text_decode,
	.cut = flat_cut,
};
