/* data.h - inside of the data part: one table of functions a format, and what they share.
 * Nothing outside data*.c includes it. */
#ifndef PILOT_TRAIN_DATA_H
#define PILOT_TRAIN_DATA_H

#include "train.h"

struct strings {
	char **v;
	int n, cap;
};

struct data {
	const struct data_kind *kind;
	void *state; /* owned by the kind */
	struct data_facts facts;
	struct strings digests, provenances, names;
	struct buf rule;
};

/* A format. Sequences have row, features have features; members may be NULL where data.c says. */
struct data_kind {
	const char *name;
	/* Reads its keys, calls spec_done, fills state and facts. What was taken is released by close, also on failure. */
	int (*open)(struct data *d, struct spec *s, int64_t length, struct why *w);
	void (*close)(struct data *d);
	/* All positions of one example (example_length of them): ids, and the target of each or -1. */
	int (*row)(const struct data *d, enum split s, int64_t index, int32_t *ids, int32_t *targets, struct why *w);
	void (*features)(const struct data *d, enum split s, int64_t index, float *x, int32_t *class);
	int64_t (*example_length)(const struct data *d, enum split s, int64_t index); /* NULL: all as long as facts.length */
	int64_t (*longest)(const struct data *d, enum split s);                       /* NULL: the first */
	int64_t (*declared)(const struct data *d, enum split s, int64_t index);       /* NULL: every position, or one class */
	int (*describe)(const struct data *d, enum split s, int64_t index, struct example_text *out);
	int (*decode)(const struct data *d, const int32_t *ids, int64_t n, struct buf *out); /* NULL: numbers */
	int64_t (*prompt)(const struct data *d, enum split s, int64_t index, int32_t *ids, int64_t max, int32_t *end_id);
	int (*cut)(struct data *d, int64_t val_length, struct why *w); /* NULL: examples are never cut */
};
extern const struct data_kind data_sums, data_text, data_tokens, data_idx, data_csv;

int strings_add(struct strings *s, const char *text, size_t n) MUST_USE; /* -EX_OSERR */
/* A data file: its digest, and where it is. */
int data_add_file(struct data *d, const char *path, struct why *w) MUST_USE;
int data_rule(struct data *d, struct why *w, const char *fmt, ...) PRINTF(3, 4) MUST_USE;
int data_no_memory(struct why *w);
/* Reads KIND's val= and test= shares; at most 0.9 together. */
int data_shares(struct spec *s, double *val, double *test, struct why *w) MUST_USE;
/* Of n things those that a share takes: rounded, and at least one if the share is not 0. */
int64_t data_share(double share, int64_t n);

/* Rows of features all have one length: --length may be left out, or be it. */
int data_check_features(const struct data *d, int64_t length, struct why *w) MUST_USE;

/* Splits are the same for every seed of a run: they are cut by rand_permute keyed by split-seed and
 * an epoch that no run reaches. */
#define DATA_SPLIT_EPOCH (UINT64_C(1) << 54)

/* How many different things stand in more than one split. Sorts v. */
struct seen {
	uint64_t hash;
	int64_t item;
	enum split split;
};
uint64_t data_hash(const void *p, size_t n);
void data_sort(struct seen *v, int64_t n); /* by hash, then by item */
int64_t data_shared(struct seen *v, int64_t n, bool (*same)(const void *ctx, int64_t a, int64_t b), const void *ctx);

/* ---- data_flat.c: one long row of numbers, cut into windows; text and tokens ---- */

struct flat {
	struct bytes file[SPLITS];          /* those that are open */
	const unsigned char *base[SPLITS];  /* of the file that holds the split */
	int64_t begin[SPLITS], end[SPLITS]; /* of the split, in numbers of that file */
	int64_t window[SPLITS];             /* positions */
	const char *digest[SPLITS];         /* of that file */
	int width;                          /* bytes a number: 1, or 2 (little-endian) */
	int64_t vocab;
	const char *unit;                   /* "byte", "token" */
};
enum { FLAT_WINDOW = 64 }; /* where --length is not named */
int flat_ready(struct data *d, int64_t length, struct why *w) MUST_USE; /* windows counted, overlaps looked for, facts filled */
void flat_close(struct data *d);
int flat_row(const struct data *d, enum split s, int64_t index, int32_t *ids, int32_t *targets, struct why *w);
int64_t flat_length(const struct data *d, enum split s, int64_t index);
int flat_describe(const struct data *d, enum split s, int64_t index, struct example_text *out);
int flat_cut(struct data *d, int64_t val_length, struct why *w);
int64_t flat_number(const struct flat *f, enum split s, int64_t at);

#endif
