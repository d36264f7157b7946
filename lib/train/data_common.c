/* data_common.c - what the formats share: lists of strings, provenance, shares of splits, and
 * the count of what stands in more than one split. */
#include "data.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int data_no_memory(struct why *w)
{
	return why_set(w, EX_OSERR, "data: no memory on the host");
}

int strings_add(struct strings *s, const char *text, size_t n)
{
	if (s->n == s->cap) {
		int cap = s->cap ? s->cap * 2 : 8;
		char **v = realloc(s->v, (size_t)cap * sizeof *v);
		if (!v)
			return -EX_OSERR;
		s->v = v;
		s->cap = cap;
	}
	if (!(s->v[s->n] = strndup(text, n)))
		return -EX_OSERR;
	s->n++;
	return 0;
}

int data_add_file(struct data *d, const char *path, struct why *w)
{
	char digest[72], *real;
	struct buf where = { 0 };
	int64_t bytes;
	int r = sha_file(path, digest, &bytes, w);

	if (r)
		return r;
	real = realpath(path, NULL);
	r = buf_printf(&where, "%s, %lld bytes", real ? real : path, (long long)bytes);
	free(real);
	if (r || strings_add(&d->digests, digest, strlen(digest)) || strings_add(&d->provenances, (char *)where.p, where.n))
		r = data_no_memory(w);
	buf_free(&where);
	return r;
}

int data_rule(struct data *d, struct why *w, const char *fmt, ...)
{
	char text[2000];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	n = n < (int)sizeof text ? n : (int)sizeof text - 1;
	d->rule.n = 0;
	return buf_add(&d->rule, text, (size_t)n + 1) ? data_no_memory(w) : 0;
}

int data_shares(struct spec *s, double *val, double *test, struct why *w)
{
	int r;

	if ((r = spec_float(s, "val", 0, 0.9, val, w)) < 0 || (r = spec_float(s, "test", 0, 0.9, test, w)) < 0)
		return r;
	if (*val + *test > 0.9)
		return why_set(w, EX_USAGE, "%.100s: val %g and test %g: leave less than a tenth to training", s->kind, *val, *test);
	return 0;
}

int64_t data_share(double share, int64_t n)
{
	int64_t k = (int64_t)llround(share * (double)n);

	return share > 0 && k < 1 ? 1 : k;
}

int data_check_features(const struct data *d, int64_t length, struct why *w)
{
	if (!length || length == d->facts.features)
		return 0;
	return why_set(w, EX_USAGE, "--length %lld: %s: its examples have %lld features, and are not cut", (long long)length, d->kind->name, (long long)d->facts.features);
}

/* ---- what stands in more than one split ---- */

uint64_t data_hash(const void *p, size_t n)
{
	const unsigned char *b = p;
	uint64_t h = 0x9E3779B97F4A7C15u ^ n, word;

	for (; n >= 8; b += 8, n -= 8) {
		memcpy(&word, b, 8);
		h = (h ^ word) * 0xD6E8FEB86659FD93u;
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, b, n);
	h = (h ^ word) * 0xD6E8FEB86659FD93u;
	return h ^ h >> 32;
}

static int by_hash(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return (x->item > y->item) - (x->item < y->item);
}

void data_sort(struct seen *v, int64_t n)
{
	if (n)
		qsort(v, (size_t)n, sizeof *v, by_hash);
}

/* Things of one hash, nearly always one thing: those unlike the first are moved up and go round again. */
static int64_t shared_of_hash(struct seen *v, int64_t n, bool (*same)(const void *ctx, int64_t a, int64_t b), const void *ctx)
{
	int64_t shared = 0, rest;

	for (; n > 0; v++, n = rest) {
		bool more = false;
		rest = 0;
		for (int64_t i = 1; i < n; i++) {
			if (same(ctx, v[0].item, v[i].item))
				more |= v[i].split != v[0].split;
			else
				v[1 + rest++] = v[i];
		}
		shared += more;
	}
	return shared;
}

int64_t data_shared(struct seen *v, int64_t n, bool (*same)(const void *ctx, int64_t a, int64_t b), const void *ctx)
{
	int64_t shared = 0, end;

	data_sort(v, n);
	for (int64_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n && v[end].hash == v[i].hash; end++)
			;
		shared += shared_of_hash(v + i, end - i, same, ctx);
	}
	return shared;
}
