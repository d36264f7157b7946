/* file.h - floor 3: the files pilot reads and writes besides streams: safetensors,
 * the ledger, and data files. No device, no model. Every reader names the file,
 * the offset or line, and the reason, within bounded memory. */
#ifndef PILOT_FILE_H
#define PILOT_FILE_H

#include "../wire/wire.h"

/* ---- safetensors.c: https://github.com/huggingface/safetensors, the format's rules ---- */

enum { ST_MAX_DIMS = 8, ST_MAX_HEADER = 100000000 };

struct st_tensor {
	const char *name;  /* owned by the file */
	const char *dtype; /* "F32", "I64", ... */
	int dims;
	int64_t shape[ST_MAX_DIMS];
	int64_t begin, end; /* bytes in the data part */
};
struct st; /* an open file; its header is checked whole before it opens */
int st_open(struct st **f, const char *path, struct why *w) MUST_USE;
void st_close(struct st *f);
int st_count(const struct st *f);
const struct st_tensor *st_tensor(const struct st *f, int i);
const struct st_tensor *st_find(const struct st *f, const char *name); /* NULL if there is none */
const char *st_meta(const struct st *f, const char *key);              /* a __metadata__ string, or NULL */
/* Reads the tensor's bytes to dst (end - begin of them). */
int st_read(struct st *f, const struct st_tensor *t, void *dst, struct why *w) MUST_USE;

/* Writing: declare all tensors and metadata, begin, then put each tensor's bytes in the order declared. */
struct st_out;
int st_out_new(struct st_out **o, const char *path, struct why *w) MUST_USE;
int st_out_meta(struct st_out *o, const char *key, const char *value) MUST_USE;
int st_out_declare(struct st_out *o, const char *name, const char *dtype, int dims, const int64_t *shape) MUST_USE;
int st_out_put(struct st_out *o, const void *p, struct why *w) MUST_USE; /* the next tensor, whole */
/* Header and tensors are on disk, synced and renamed. digest ("sha256:..", of the whole file, may
 * be NULL) and bytes (may be NULL) of what was written. Frees o, also on failure. */
int st_out_commit(struct st_out *o, char digest[72], int64_t *bytes, struct why *w) MUST_USE;
void st_out_abandon(struct st_out *o); /* may be NULL */

/* ---- bytes.c: a data file in memory (mapped), plain or gzip ---- */

struct bytes {
	const unsigned char *p;
	int64_t n;
	void *owned;
	int64_t owned_size;
	bool mapped;
};
/* gzip (by its magic) is inflated whole, multi-member, every check done; max_bytes bounds it. */
int bytes_open(struct bytes *b, const char *path, int64_t max_bytes, struct why *w) MUST_USE;
void bytes_close(struct bytes *b);

/* ---- idx.c: images and labels as MNIST has them ---- */

struct idx {
	struct bytes bytes;
	int dims;
	int64_t shape[4];
	const unsigned char *data; /* unsigned bytes only (type 0x08) */
};
int idx_open(struct idx *x, const char *path, struct why *w) MUST_USE;
void idx_close(struct idx *x);

/* ---- csv.c: RFC 4180 tables ---- */

struct csv {
	int64_t rows; /* without the header */
	int columns;
	char **name;  /* of the columns */
	char **cell;  /* cell[row * columns + column], unquoted, NUL-terminated */
	int64_t *line; /* line number of each row */
	void *owned;
};
int csv_open(struct csv *c, const char *path, struct why *w) MUST_USE; /* plain or gzip; ragged rows refused by line */
void csv_close(struct csv *c);

#endif
