/* file.h - floor 3: the files pilot reads and writes besides streams: safetensors,
 * the ledger, and data files. No device, no model. Every reader names the file,
 * the offset or line, and the reason, within bounded memory. */
#ifndef PILOT_FILE_H
#define PILOT_FILE_H

#include "../wire/wire.h"

/* ---- shown.c: names and cells in messages ---- */

enum { FILE_SHOWN = 128 };
/* n bytes of s, cut, with control characters as \xNN. */
const char *file_shown(const char *s, size_t n, char out[FILE_SHOWN]);

/* What a reader takes into memory at most; mapped files are not bounded by it. */
#define FILE_MAX_INFLATED (INT64_C(4) << 30)

/* ---- safetensors.c, safetensors_out.c: https://github.com/huggingface/safetensors, the format's rules ---- */

enum { ST_MAX_DIMS = 8, ST_MAX_HEADER = 100000000 };

struct st_tensor {
	const char *name;  /* owned by the file */
	const char *dtype; /* "F32", "I64", ... */
	int dims;
	int64_t shape[ST_MAX_DIMS];
	int64_t begin, end; /* bytes in the data part */
};
int st_dtype_bits(const char *dtype); /* of one number; 0: no such type */
/* Bytes of a tensor; -1: no such type, more than can be counted, or no whole number of bytes. */
int st_bytes(const char *dtype, int dims, const int64_t *shape, int64_t *bytes) MUST_USE;
struct st; /* an open file; its header is checked whole before it opens */
int st_open(struct st **f, const char *path, struct why *w) MUST_USE;
void st_close(struct st *f);
int st_count(const struct st *f);
const struct st_tensor *st_tensor(const struct st *f, int i); /* in the order of their places */
const struct st_tensor *st_find(const struct st *f, const char *name); /* NULL if there is none */
const char *st_meta(const struct st *f, const char *key);              /* a __metadata__ string, or NULL */
/* 1: key is the seal that st_out_seal gave this metadata; 0: it is not, or is missing; -EX_OSERR. */
int st_sealed(const struct st *f, const char *key) MUST_USE;
/* Reads the tensor's bytes to dst (end - begin of them). */
int st_read(struct st *f, const struct st_tensor *t, void *dst, struct why *w) MUST_USE;

/* Writing: declare all tensors and metadata ("format":"pt" is always there), then put each tensor's
 * bytes in the order declared. Without a reason: -EX_OSERR no memory, -EX_DATAERR a name or value that
 * is no UTF-8, -EX_SOFTWARE declared twice, too late, or of no size. */
struct st_out;
int st_out_new(struct st_out **o, const char *path, struct why *w) MUST_USE;
int st_out_meta(struct st_out *o, const char *key, const char *value) MUST_USE;
int st_out_seal(struct st_out *o, const char *key) MUST_USE; /* a digest of all metadata so far, under this key */
int st_out_declare(struct st_out *o, const char *name, const char *dtype, int dims, const int64_t *shape) MUST_USE;
int st_out_put(struct st_out *o, const void *p, struct why *w) MUST_USE; /* the next tensor, whole; after a failure: abandon */
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
/* gzip (by its magic) is inflated whole, multi-member, every check done; max_bytes bounds what
 * is inflated. Plain files are mapped, whatever their size. Pipes are refused: a run is read again. */
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
	char **cell;  /* cell[row * columns + column], unquoted, NUL-terminated (a NUL byte in the file is refused) */
	int64_t *line; /* line number of each row */
	void *owned;
};
int csv_open(struct csv *c, const char *path, struct why *w) MUST_USE; /* plain or gzip; ragged rows, columns of one name refused by line */
void csv_close(struct csv *c);

/* ---- ledger_*.c: the append-only file of record streams; its bytes are in ledger(1), FILE FORMAT ---- */

/* What the head of a member of steps says about each of its runs, and what a reader gets instead
 * of the steps when it does not want them. Unknown numbers are -1. */
struct ledger_steps {
	char run[ULID_SIZE];
	int64_t count, first, last; /* step records; updates of the first and of the last */
	int64_t examples;           /* as the last one has it */
	double seconds;             /* summed */
	struct timestamp t;         /* of the last */
};
/* Counts a step record into e (which a writer began with count 0, examples -1). */
void ledger_steps_add(struct ledger_steps *e, const struct view *v);
/* A whole append, as its footer states it. */
struct ledger_receipt {
	unsigned char file[16];
	int64_t sequence; /* from 1 */
	int64_t end;      /* length of the file behind it */
	int64_t records;
	unsigned char hash[32]; /* chained: of its bytes and the hash before it */
};

/* ---- ledger_write.c: records collect in memory until a commit ---- */

struct ledger_writer;
/* Makes the file if there is none (atomically; two makers get the same one) and refuses one that is no
 * ledger (-EX_DATAERR). Waits up to lock_seconds for each commit's lock. */
int ledger_writer_open(struct ledger_writer **l, const char *path, double lock_seconds, struct why *w) MUST_USE;
void ledger_writer_close(struct ledger_writer *l); /* what was not committed is dropped; may be NULL */
int ledger_add(struct ledger_writer *l, const struct view *v, struct why *w) MUST_USE;
int64_t ledger_pending(const struct ledger_writer *l); /* records not committed */
/* Their bytes, a record stream; owned by l until the next call. */
const unsigned char *ledger_pending_bytes(const struct ledger_writer *l, size_t *n);
bool ledger_full(const struct ledger_writer *l); /* enough is pending: commit */
double ledger_age(const struct ledger_writer *l); /* seconds since the oldest pending record was added; 0 if none */
/* One append: 1 it is on disk, 0 nothing was pending, <0 not acknowledged, the file cut back to what it
 * was and the records still pending: -EX_TEMPFAIL (lock), -EX_IOERR, -EX_DATAERR. */
int ledger_commit(struct ledger_writer *l, struct ledger_receipt *r, struct why *w) MUST_USE;
/* What a commit found behind the last whole append and moved aside, for a message; NULL if nothing. Once. */
const char *ledger_notice(struct ledger_writer *l);

/* ---- ledger_read.c: a ledger, a gzip'd record stream or a plain one ---- */

enum ledger_fault_kind { LEDGER_TORN, LEDGER_CHECKSUM, LEDGER_FOREIGN, LEDGER_CHAIN, LEDGER_BAD_RECORD, LEDGER_IN_PROGRESS };
struct ledger_fault {
	enum ledger_fault_kind kind;
	int64_t offset, bytes, member; /* where in the file; number of the member, from 1 */
	bool empty;                    /* a damaged header or footer: no record was in it */
	char text[300];                /* why, without the place */
};
const char *ledger_fault_name(enum ledger_fault_kind k);

struct ledger;
enum ledger_next { LEDGER_END, LEDGER_RECORD, LEDGER_SKIPPED, LEDGER_FAULT };
/* Snapshot of the file's length as it is opened. A stream that is no file (a pipe) is read as a plain stream. */
int ledger_open(struct ledger **l, const char *path, struct why *w) MUST_USE;
int ledger_open_fd(struct ledger **l, int fd, const char *name, struct why *w) MUST_USE; /* fd stays the caller's */
void ledger_close(struct ledger *l); /* may be NULL */
bool ledger_is(const struct ledger *l); /* a ledger's file, not a stream */
/* Asked before a member of steps is inflated; false: it is skipped. */
void ledger_skip(struct ledger *l, bool (*want)(void *ctx, const struct ledger_steps *s, int n), void *ctx);
/* For recover: a file with members of a ledger in it, whatever else is in it, its header damaged perhaps. Also
 * reads whole members behind the last footer, and foreign gzip members that hold records. */
int ledger_open_damaged(struct ledger **l, const char *path, struct why *w) MUST_USE;
/* LEDGER_RECORD: *v until the next call. LEDGER_SKIPPED: ledger_skipped. LEDGER_FAULT: ledger_fault, and
 * reading goes on behind it. <0: the stream is broken or the file cannot be read. */
int ledger_next(struct ledger *l, struct view *v, struct why *w) MUST_USE;
const struct ledger_steps *ledger_skipped(const struct ledger *l, int *n);
const struct ledger_fault *ledger_fault(const struct ledger *l);

/* ---- ledger_check.c: verify ---- */

struct ledger_totals {
	int64_t appends, members, records, bytes, faults;
	struct ledger_receipt last;
	bool in_progress;
};
/* Goes over every byte; fault is called for each thing wrong. 0 when it could be read, whatever was found. */
int ledger_check(const char *path, void (*fault)(void *ctx, const struct ledger_fault *f), void *ctx, struct ledger_totals *t, struct why *w) MUST_USE;
/* "receipt FILE SEQUENCE END RECORDS HASH" without newline, and back. */
enum { LEDGER_RECEIPT_SIZE = 200 };
void ledger_receipt_write(const struct ledger_receipt *r, char out[LEDGER_RECEIPT_SIZE]);
int ledger_receipt_read(const char *line, struct ledger_receipt *r, struct why *w) MUST_USE;
/* 1 the file at path still holds that append, 0 it does not (w says why), <0 it cannot be read. */
int ledger_receipt_holds(const char *path, const struct ledger_receipt *r, struct why *w) MUST_USE;

#endif
