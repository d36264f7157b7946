/* ops.h - the table of operations that models and optimizers are made of. A device is one
 * such table; lib/train calls nothing else (no BLAS, no threads).
 *
 * Tensors are fp32 and dense, row by row, the last dimension fastest; shapes stand in the
 * comments: R rows (batch x positions), C columns, B examples, T positions, H heads, V classes.
 * Pointers are the device's. Nothing here allocates or fails: scratch comes from the caller, whose
 * plan asks the device how much. The bits of a result depend on neither scheduling nor the
 * moment: no racing sums. NaN and infinities go through as IEEE 754 has them. */
#ifndef PILOT_OPS_H
#define PILOT_OPS_H

#include "dev.h"

/* Which elements a dropout drops: a function of (seed, RAND_DROPOUT, key of the row, site, position, column), so
 * that a mask neither depends on how a batch was cut into micro-batches nor on padding, and comes back in the
 * backward pass without being stored. A NULL struct drop * is no dropout and costs nothing. */
struct drop {
	double p; /* probability of zero; what stays is divided by 1 - p */
	uint64_t seed;
	uint32_t site;       /* below 2^24 */
	const uint64_t *key; /* (B) */
	int64_t length;      /* T: positions a key covers */
};

/* C = alpha op(A) op(B) + beta C; (m, k) x (k, n); ld: numbers from a row to the next. */
struct matmul {
	bool ta, tb; /* transposed: A is stored (k, m), B (n, k) */
	int64_t m, n, k;
	float alpha;
	const float *a;
	int64_t lda;
	const float *b;
	int64_t ldb;
	float beta;
	float *c;
	int64_t ldc;
};

enum activation { ACT_RELU, ACT_GELU, ACT_TANH }; /* GELU in its tanh form, as GPT-2 has it */

/* Causal self-attention of B x T positions, H heads of D: qkv is (B, T, 3, H, D), y (B, T, H, D),
 * stats (B, H, T, 2) what the softmax of each row needs to come back. context: the model's most positions
 * (keys of dropout do not depend on T). */
struct attention {
	int64_t rows, length, heads, depth, context;
	const struct drop *drop; /* of the probabilities */
};

enum { LOSS_GRADIENT = 1, LOSS_CORRECT = 2, LOSS_VARIANCE = 4 };
struct loss {
	double sum;      /* of -log softmax(logits)[target] over targets that are not -1 */
	double variance; /* sum over the same rows of the variance of a row's logits */
	int64_t supervised, correct;
};

enum update_kind { UPDATE_SGD, UPDATE_MOMENTUM, UPDATE_NESTEROV, UPDATE_ADAM, UPDATE_NADAM };
/* One update of one tensor. w, g, s0, s1: (n). g is multiplied by gscale, then: */
struct update {
	enum update_kind kind;
	float gscale;
	float decay;   /* g += decay w (L2) */
	float shrink;  /* w *= shrink (decoupled decay); 1 is none */
	float lr;      /* SGD kinds: w -= lr step */
	float beta1;   /* MOMENTUM: s0 = beta1 s0 + g, step s0; NESTEROV: step g + beta1 s0 */
	float beta2;   /* ADAM kinds: s0 = beta1 s0 + (1-beta1) g; s1 = beta2 s1 + (1-beta2) g^2 */
	float one_beta1, one_beta2; /* 1 - beta, rounded once from double */
	float eps, root_scale;      /* den = sqrt(s1) root_scale + eps */
	float rate_g, rate_m;       /* w -= rate_g g / den + rate_m s0 / den */
	float *w, *s0, *s1;
	const float *g;
	int64_t n;
};

struct ops {
	/* Random initial weights; element i is a function of (seed, stream, i). */
	void (*normal)(struct dev *d, float *w, int64_t n, uint64_t seed, uint64_t stream, double deviation);
	void (*uniform)(struct dev *d, float *w, int64_t n, uint64_t seed, uint64_t stream, double bound); /* [-bound, bound) */
	void (*fill)(struct dev *d, float *w, int64_t n, float value);
	void (*scale)(struct dev *d, float *x, int64_t n, double factor);
	double (*sum_squares)(struct dev *d, const float *x, int64_t n); /* in double */

	void (*matmul)(struct dev *d, const struct matmul *m);
	void (*bias)(struct dev *d, float *y, const float *b, int64_t rows, int64_t cols);             /* y (R, C) += b (C) */
	void (*bias_back)(struct dev *d, float *db, const float *dy, int64_t rows, int64_t cols);      /* db (C) += column sums of dy (R, C) */
	/* z (R, C) += b (C) unless b is NULL; y (R, C) = drop(act(z)). y may be z. */
	void (*activate)(struct dev *d, enum activation a, float *y, float *z, const float *b, int64_t rows, int64_t cols, const struct drop *drop);
	/* dz (R, C): in, the gradient of y; out, that of z. */
	void (*activate_back)(struct dev *d, enum activation a, float *dz, const float *z, int64_t rows, int64_t cols, const struct drop *drop);
	/* y (R, C) = x (R, C) + drop(v (R, C) + b (C)). y may be x or v. */
	void (*residual)(struct dev *d, float *y, const float *x, const float *v, const float *b, int64_t rows, int64_t cols, const struct drop *drop);
	void (*dropout)(struct dev *d, float *y, const float *x, int64_t rows, int64_t cols, const struct drop *drop); /* y = drop(x), y may be x; also its own backward */

	/* Layer norm over C: y = (x - mean) rstd w + b, eps inside the root. stats (R, 2): mean and rstd, may be NULL. */
	void (*norm)(struct dev *d, float *y, float *stats, const float *x, const float *w, const float *b, int64_t rows, int64_t cols, float eps);
	/* dx (R, C) += (add) or = its gradient; dw, db (C) += unless NULL. dx may not be dy. */
	void (*norm_back)(struct dev *d, float *dx, bool add, float *dw, float *db, const float *dy, const float *x, const float *w, const float *stats, int64_t rows, int64_t cols);

	/* x (B, T, C) = drop(wte[ids] + wpe[position]); ids (B, T). */
	void (*embed)(struct dev *d, float *x, const float *wte, const float *wpe, const int32_t *ids, int64_t rows, int64_t length, int64_t cols, const struct drop *drop);
	/* dwte, dwpe += unless NULL; dx (B, T, C) is the gradient before dropout. */
	void (*embed_back)(struct dev *d, float *dwte, float *dwpe, const float *dx, const int32_t *ids, int64_t rows, int64_t length, int64_t cols);

	int64_t (*attention_scratch)(const struct dev *d, int64_t length, bool backward); /* bytes */
	void (*attend)(struct dev *d, const struct attention *a, float *y, float *stats, const float *qkv, void *scratch); /* stats may be NULL */
	void (*attend_back)(struct dev *d, const struct attention *a, float *dqkv, const float *dy, const float *y, const float *qkv, const float *stats, void *scratch);

	/* logits (R, V), targets (R), -1 is not looked at; row (R, 2) is scratch of doubles. LOSS_GRADIENT puts
	 * the gradient of the sum in the logits' place. The row with a NaN is never correct. */
	void (*cross_entropy)(struct dev *d, struct loss *out, float *logits, const int32_t *targets, int64_t rows, int64_t classes, int what, double *row);

	void (*update)(struct dev *d, const struct update *u);
};

#endif
