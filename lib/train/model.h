/* model.h - what gpt.c and mlp.c give to model.c. A model is a list of parameters and, for
 * each part of its memory, one layout: the same function adds up the bytes and, with a block
 * in hand, says where each tensor lies; so a plan cannot differ from what is taken. */
#ifndef PILOT_MODEL_H
#define PILOT_MODEL_H

#include "../dev/ops.h"
#include "train.h"

struct layout {
	char *base; /* NULL while bytes are only added up */
	int64_t bytes;
};
/* The next tensor of n numbers of `size` bytes: its place, or NULL without a base. Saturates. */
void *layout_take(struct layout *l, int64_t n, int64_t size);
int64_t times(int64_t a, int64_t b); /* of non-negative numbers; saturates */

/* Inputs and targets of a micro-batch: the train one in PART_DATA, the other in PART_VALIDATE. */
struct inputs {
	int64_t rows, length;
	int32_t *ids, *targets; /* (B, T); classes: targets (B) */
	float *x;               /* (B, F) */
	uint64_t *key;          /* (B), train only */
};

struct arch;
struct model {
	const struct arch *arch;
	struct dev *dev;
	const struct ops *ops;
	struct param *param;
	int params;
	char spec[200];
	bool sequence;
	int64_t classes, features, context; /* context: most positions; 1 for features */
	double dropout;
	uint64_t seed;
	bool training; /* mode of the last forward */
	struct held {
		void *p;
		int64_t rows, length;
	} held[PARTS];
	struct inputs in[2]; /* [train] */
	void *own;           /* struct gpt, struct mlp */
};

struct arch {
	/* Lays out activations or scratch; with a base also keeps the places in m->own. */
	void (*forward)(struct model *m, struct layout *l, int64_t rows, int64_t length, bool train);
	void (*backward)(struct model *m, struct layout *l, int64_t rows, int64_t length);
	void (*init)(struct model *m);
	void (*run)(struct model *m, bool train, int what, struct loss *out);
	void (*back)(struct model *m, double scale);
	const float *(*logits)(const struct model *m);
	void (*free)(struct model *m);
};

/* Each refuses what its spec has wrong (-EX_USAGE), sets arch, own, context and the parameters. */
int gpt_new(struct model *m, struct spec *s, const struct data_facts *facts, int64_t length, struct why *w) MUST_USE;
int mlp_new(struct model *m, struct spec *s, const struct data_facts *facts, struct why *w) MUST_USE;
/* Appends one; -EX_OSERR. rows 0: a vector of cols numbers. */
int model_add(struct model *m, int64_t rows, int64_t cols, const char *name, ...) PRINTF(4, 5) MUST_USE;
uint64_t model_stream(const struct param *p); /* of random numbers: a function of the name */

#endif
