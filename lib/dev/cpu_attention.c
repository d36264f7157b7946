/* cpu_attention.c - causal self-attention as matrix products, one example's head at a time in blocks of
 * 64 queries, over the keys that the block can see. The probabilities live in a thread's scratch
 * only: the backward pass makes them again from the logits and two numbers a row. */
#include "cpu.h"

#include <cblas.h>
#include <omp.h>

enum { QUERIES = 64, CHUNK = 4 * CPU_GROUP };

/* Where one head of one example lies. */
struct head {
	const float *q, *k, *v;
	int64_t example, head, wide; /* wide: numbers from a position of qkv to the next */
};

static int64_t key_stride(int64_t length)
{
	return (length + 15) / 16 * 16;
}

int64_t cpu_attention_scratch(const struct dev *d, int64_t length, bool backward)
{
	return d->threads * dev_round(QUERIES * key_stride(length) * (int64_t)sizeof(float)) * (backward ? 2 : 1);
}

static float *own_scratch(void *scratch, int64_t length, bool backward)
{
	return (float *)((char *)scratch + omp_get_thread_num() * dev_round(QUERIES * key_stride(length) * (int64_t)sizeof(float)) * (backward ? 2 : 1));
}

static struct head head_at(const struct attention *a, const float *qkv, int64_t n)
{
	struct head h = { .example = n / a->heads, .head = n % a->heads, .wide = 3 * a->heads * a->depth };

	h.q = qkv + h.example * a->length * h.wide + h.head * a->depth;
	h.k = h.q + a->heads * a->depth;
	h.v = h.k + a->heads * a->depth;
	return h;
}

static void gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
	cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, alpha, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
}

/* s (queries from..from+rows-1, keys 0..from+rows-1) = q k^T / sqrt(depth) */
static void scores(const struct attention *a, const struct head *h, float *s, int64_t from, int64_t rows)
{
	gemm(false, true, rows, from + rows, a->depth, 1.0f / sqrtf((float)a->depth), h->q + from * h->wide, h->wide, h->k, h->wide, 0, s, key_stride(a->length));
}

/* Softmax over the first n of `all` numbers, the others 0. stats: the highest, and 1 / the sum. */
static void softmax_row(float *s, int64_t n, int64_t all, float stats[2])
{
	float high = s[0], sum = 0, inverse;

#pragma omp simd reduction(max : high)
	for (int64_t j = 0; j < n; j++)
		high = s[j] > high ? s[j] : high;
#pragma omp simd reduction(+ : sum)
	for (int64_t j = 0; j < n; j++) {
		s[j] = cpu_exp(s[j] - high);
		sum += s[j];
	}
	inverse = 1.0f / sum;
#pragma omp simd
	for (int64_t j = 0; j < n; j++)
		s[j] *= inverse;
	for (int64_t j = n; j < all; j++)
		s[j] = 0;
	stats[0] = high;
	stats[1] = inverse;
}

/* The same probabilities from what softmax_row left. */
static void softmax_again(float *s, int64_t n, int64_t all, const float stats[2])
{
	float high = stats[0], inverse = stats[1];

#pragma omp simd
	for (int64_t j = 0; j < n; j++)
		s[j] = cpu_exp(s[j] - high) * inverse;
	for (int64_t j = n; j < all; j++)
		s[j] = 0;
}

static int64_t mask_chunk(const struct attention *a, const struct head *h, int64_t query, int64_t first, int64_t n, float mask[CHUNK])
{
	int64_t some = n - first < CHUNK ? n - first : CHUNK;

	cpu_mask(a->drop, h->example, h->head * a->context + query, a->context, first, some, mask);
	return some;
}

static void drop_row(const struct attention *a, const struct head *h, float *s, int64_t query)
{
	float mask[CHUNK];
	int64_t n = query + 1, some;

	for (int64_t j = 0; j < n; j += some) {
		some = mask_chunk(a, h, query, j, n, mask);
#pragma omp simd
		for (int64_t i = 0; i < some; i++)
			s[j + i] *= mask[i];
	}
}

static void attend_head(const struct attention *a, const struct head *h, float *y, float *stats, float *s)
{
	int64_t stride = key_stride(a->length), out = a->heads * a->depth;
	float unused[2];

	for (int64_t from = 0; from < a->length; from += QUERIES) {
		int64_t rows = a->length - from < QUERIES ? a->length - from : QUERIES;

		scores(a, h, s, from, rows);
		for (int64_t r = 0; r < rows; r++) {
			softmax_row(s + r * stride, from + r + 1, from + rows, stats ? stats + 2 * (from + r) : unused);
			if (a->drop)
				drop_row(a, h, s + r * stride, from + r);
		}
		gemm(false, false, rows, a->depth, from + rows, 1, s, stride, h->v, h->wide, 0, y + from * out, out);
	}
}

void cpu_attend(struct dev *d, const struct attention *a, float *y, float *stats, const float *qkv, void *scratch)
{
	int64_t tasks = a->rows * a->heads;

#pragma omp parallel for schedule(static) num_threads(d->threads) if (tasks * a->length * a->length * a->depth > CPU_SMALL_ATTENTION)
	for (int64_t n = 0; n < tasks; n++) {
		struct head h = head_at(a, qkv, n);

		attend_head(a, &h, y + (h.example * a->length * a->heads + h.head) * a->depth, stats ? stats + 2 * n * a->length : NULL, own_scratch(scratch, a->length, false));
	}
}

/* p: probabilities in, dropped ones out. s: their gradient (after the dropout) in, that of the scores out.
 * sum is the row's sum of gradient times probability, which the softmax's backward takes off. */
static void back_row(const struct attention *a, const struct head *h, float *p, float *s, int64_t query, int64_t all, float sum)
{
	float scale = 1.0f / sqrtf((float)a->depth), mask[CHUNK];
	int64_t n = query + 1, some;

	if (!a->drop) {
#pragma omp simd
		for (int64_t j = 0; j < n; j++)
			s[j] = p[j] * (s[j] - sum) * scale;
	}
	for (int64_t j = 0; a->drop && j < n; j += some) {
		some = mask_chunk(a, h, query, j, n, mask);
#pragma omp simd
		for (int64_t i = 0; i < some; i++) {
			s[j + i] = p[j + i] * (mask[i] * s[j + i] - sum) * scale;
			p[j + i] *= mask[i];
		}
	}
	for (int64_t j = n; j < all; j++)
		s[j] = 0;
}

static float dot(const float *x, const float *y, int64_t n)
{
	float sum = 0;

#pragma omp simd reduction(+ : sum)
	for (int64_t i = 0; i < n; i++)
		sum += x[i] * y[i];
	return sum;
}

/* From the last block to the first: the last one sees all keys, and sets what the others add to. */
static void back_head(const struct attention *a, const struct head *h, float *dqkv, const float *dy, const float *y, const float *stats, float *p, float *s)
{
	int64_t stride = key_stride(a->length), out = a->heads * a->depth, last = (a->length - 1) / QUERIES * QUERIES;
	float *dq = dqkv, *dk = dqkv + out, *dv = dqkv + 2 * out;

	for (int64_t from = last; from >= 0; from -= QUERIES) {
		int64_t rows = a->length - from < QUERIES ? a->length - from : QUERIES, keys = from + rows;
		float beta = from == last ? 0 : 1;

		scores(a, h, p, from, rows);
		gemm(false, true, rows, keys, a->depth, 1, dy + from * out, out, h->v, h->wide, 0, s, stride);
		for (int64_t r = 0; r < rows; r++) {
			int64_t query = from + r;

			softmax_again(p + r * stride, query + 1, keys, stats + 2 * query);
			back_row(a, h, p + r * stride, s + r * stride, query, keys, dot(dy + query * out, y + query * out, a->depth));
		}
		gemm(true, false, keys, a->depth, rows, 1, p, stride, dy + from * out, out, beta, dv, h->wide);
		gemm(false, false, rows, a->depth, keys, 1, s, stride, h->k, h->wide, 0, dq + from * h->wide, h->wide);
		gemm(true, false, keys, a->depth, rows, 1, s, stride, h->q + from * h->wide, h->wide, beta, dk, h->wide);
	}
}

void cpu_attend_back(struct dev *d, const struct attention *a, float *dqkv, const float *dy, const float *y, const float *qkv, const float *stats, void *scratch)
{
	int64_t tasks = a->rows * a->heads;

#pragma omp parallel for schedule(static) num_threads(d->threads) if (tasks * a->length * a->length * a->depth > CPU_SMALL_ATTENTION)
	for (int64_t n = 0; n < tasks; n++) {
		struct head h = head_at(a, qkv, n);
		int64_t at = (h.example * a->length * a->heads + h.head) * a->depth;
		float *own = own_scratch(scratch, a->length, true);

		back_head(a, &h, dqkv + (h.q - qkv), dy + at, y + at, stats + 2 * n * a->length, own, own + QUERIES * key_stride(a->length));
	}
}
