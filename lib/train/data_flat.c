/* data_flat.c - one long row of numbers cut into windows: what text and tokens share. A window of
 * n positions holds n inputs, and the number behind each is its target; windows of a split follow
 * each other without gap or overlap, the last may be shorter. So every number of a split but its
 * first is a target exactly once. */
#include "data.h"

#include <stdlib.h>
#include <string.h>

int64_t flat_number(const struct flat *f, enum split s, int64_t at)
{
	const unsigned char *p = f->base[s] + at * f->width;

	return f->width == 1 ? p[0] : p[0] | p[1] << 8;
}

static void window(const struct flat *f, enum split s, int64_t index, int64_t *from, int64_t *n)
{
	*from = f->begin[s] + index * f->window[s];
	*n = f->end[s] - 1 - *from;
	if (*n > f->window[s])
		*n = f->window[s];
}

static void count_windows(struct data *d)
{
	const struct flat *f = d->state;
	int64_t from, n;

	d->facts.length = 0;
	for (enum split s = 0; s < SPLITS; s++) {
		int64_t targets = f->end[s] - f->begin[s] - 1;
		d->facts.count[s] = targets > 0 ? (targets - 1) / f->window[s] + 1 : 0;
		if (targets <= 0)
			continue;
		window(f, s, 0, &from, &n);
		d->facts.length = n > d->facts.length ? n : d->facts.length;
	}
}

/* Windows of one split that touch numbers which a window of another split touches in the same file (or in a copy of it). */
static void count_shared(struct data *d)
{
	const struct flat *f = d->state;
	int64_t low[SPLITS], high[SPLITS], from, n;

	for (enum split s = 0; s < SPLITS; s++) {
		low[s] = INT64_MAX;
		high[s] = 0;
		for (int64_t i = 0; i < d->facts.count[s]; i++) {
			window(f, s, i, &from, &n);
			low[s] = from < low[s] ? from : low[s];
			high[s] = from + n + 1 > high[s] ? from + n + 1 : high[s];
		}
	}
	d->facts.shared_examples = 0;
	for (enum split s = 0; s < SPLITS; s++)
		for (int64_t i = 0; i < d->facts.count[s]; i++)
			for (enum split o = s + 1; o < SPLITS; o++) {
				window(f, s, i, &from, &n);
				d->facts.shared_examples += !strcmp(f->digest[o], f->digest[s]) && from < high[o] && from + n + 1 > low[o];
			}
}

static int check_splits(const struct data *d, struct why *w)
{
	const struct flat *f = d->state;

	for (enum split s = 0; s < SPLITS; s++)
		if (f->end[s] - f->begin[s] == 1 || (s == TRAIN && f->end[s] == f->begin[s]))
			return why_set(w, EX_DATAERR, "data: %s: the %s split would have %lld %s: at least 2 are needed, an input and its target", d->kind->name, split_name(s),
			    (long long)(f->end[s] - f->begin[s]), f->unit);
	return 0;
}

int flat_ready(struct data *d, int64_t length, struct why *w)
{
	struct flat *f = d->state;
	int r = check_splits(d, w);

	for (enum split s = 0; s < SPLITS; s++)
		f->window[s] = length ? length : FLAT_WINDOW;
	count_windows(d);
	count_shared(d);
	d->facts.sequence = true;
	d->facts.classes = f->vocab;
	return r;
}

int flat_cut(struct data *d, int64_t val_length, struct why *w)
{
	struct flat *f = d->state;

	(void)w;
	f->window[VALIDATION] = f->window[TEST] = val_length;
	count_windows(d);
	count_shared(d);
	return 0;
}

void flat_close(struct data *d)
{
	struct flat *f = d->state;

	if (f)
		for (enum split s = 0; s < SPLITS; s++)
			bytes_close(&f->file[s]);
	free(f);
}

int flat_row(const struct data *d, enum split s, int64_t index, int32_t *ids, int32_t *targets, struct why *w)
{
	const struct flat *f = d->state;
	int64_t from, n, x;

	window(f, s, index, &from, &n);
	for (int64_t t = 0; t <= n; t++) {
		x = flat_number(f, s, from + t);
		if (x >= f->vocab)
			return why_set(w, EX_DATAERR, "data: %s: %s %lld of the %s split's file is %lld, the vocabulary has %lld", d->kind->name, f->unit, (long long)(from + t),
			    split_name(s), (long long)x, (long long)f->vocab);
		if (t < n)
			ids[t] = (int32_t)x;
		if (t)
			targets[t - 1] = (int32_t)x;
	}
	return 0;
}

int64_t flat_length(const struct data *d, enum split s, int64_t index)
{
	int64_t from, n;

	window(d->state, s, index, &from, &n);
	return n;
}

static int put_text(const struct data *d, enum split s, int64_t from, int64_t n, struct buf *out)
{
	const struct flat *f = d->state;
	int r = 0;

	if (f->width == 1)
		return buf_add(out, f->base[s] + from, (size_t)n);
	for (int64_t i = 0; i < n && !r; i++)
		r = buf_printf(out, i ? " %lld" : "%lld", (long long)flat_number(f, s, from + i));
	return r;
}

int flat_describe(const struct data *d, enum split s, int64_t index, struct example_text *out)
{
	const struct flat *f = d->state;
	int64_t from, n;

	window(f, s, index, &from, &n);
	if (buf_printf(&out->id, "%s %lld..%lld", f->unit, (long long)from, (long long)(from + n - 1)) || put_text(d, s, from, n, &out->text))
		return -EX_OSERR;
	return put_text(d, s, from + 1, n, &out->target);
}
