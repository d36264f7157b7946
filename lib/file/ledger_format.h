/* ledger_format.h - the bytes of a ledger, spelled here and in ledger(1), FILE FORMAT, and nowhere
 * else. Private to ledger_*.c. Integers are little-endian. */
#ifndef PILOT_LEDGER_FORMAT_H
#define PILOT_LEDGER_FORMAT_H

#include "file.h"

/* In every member's head. Not UTF-8, so that no text holds it; ledger_deflate sees to it that no
 * member's compressed bytes hold it either, so that a search finds true heads only. */
#define LEDGER_MAGIC "\x89pilot\r\n"

enum {
	LEDGER_VERSION = 1,

	/* every member: 1f 8b 08 04, mtime 0, 00 ff, XLEN, one subfield "PL" */
	AT_XLEN = 10,
	AT_SUBFIELD = 12,
	AT_LEN = 14,
	AT_MAGIC = 16, /* 8 bytes */
	AT_TYPE = 24,  /* 'H', 'D', 'S', 'F' */

	/* 'H', the first member: empty */
	HEADER_VERSION = 25,
	HEADER_FILE = 26, /* 16 random bytes, the file's id */
	HEADER_CRC = 42,  /* CRC-32 of what stands before it */
	HEADER_BODY = 46,
	HEADER_SIZE = 56,

	/* 'D' records of all kinds, 'S' step records only */
	DATA_RUNS = 25,    /* entries below; 0 in 'D' */
	DATA_SIZE = 26,    /* of the whole member */
	DATA_RECORDS = 30, /* in it */
	DATA_CRC = 34,     /* of the head without these four bytes */
	DATA_ENTRIES = 38,
	ENTRY_RUN = 0,   /* 26 characters, two zero bytes */
	ENTRY_COUNT = 28,
	ENTRY_FIRST = 32,
	ENTRY_LAST = 40,
	ENTRY_EXAMPLES = 48,
	ENTRY_SECONDS = 56, /* IEEE 754 double */
	ENTRY_T = 64,
	ENTRY_T_NS = 72,
	ENTRY_SIZE = 76,
	ENTRY_MAX = 64,

	/* 'F', the commit mark behind each append: empty */
	FOOTER_FILE = 28,
	FOOTER_SEQUENCE = 44, /* from 1 */
	FOOTER_LENGTH = 52,   /* of the data members before it */
	FOOTER_OFFSET = 60,   /* where the footer itself begins */
	FOOTER_RECORDS = 68,
	FOOTER_TIME = 76,     /* seconds since 1970 */
	FOOTER_HASH = 84,     /* SHA-256 of: hash before, data members, these first 84 bytes */
	FOOTER_CRC = 116,     /* CRC-32 of what stands before it */
	FOOTER_BODY = 120,
	FOOTER_SIZE = 130,

	HEAD_MAX = DATA_ENTRIES + ENTRY_MAX * ENTRY_SIZE,

	/* what a writer puts into one member and one append, and what a reader takes */
	MEMBER_STEPS = 100,
	MEMBER_RAW = 64 << 10,
	APPEND_RAW = 256 << 10,
	MEMBER_MAX = 4 << 20, /* inflated or not */
};
#define MEMBER_SECONDS 5.0

enum head_type { HEAD_NONE, HEAD_HEADER = 'H', HEAD_DATA = 'D', HEAD_STEPS = 'S', HEAD_FOOTER = 'F' };

struct head {
	enum head_type type;
	int64_t size;    /* of the whole member */
	int64_t records; /* data: in it; footer: in the append */
	unsigned char file[16];
	int version;
	int runs;
	struct ledger_steps run[ENTRY_MAX];
	int64_t sequence, length, offset, time;
	unsigned char hash[32];
};

uint32_t le32(const unsigned char *p);
uint64_t le64(const unsigned char *p);

void header_write(const unsigned char file[16], unsigned char out[HEADER_SIZE]);
/* r's hash is computed: prev, then n bytes of data, then the footer. -EX_OSERR. */
int footer_write(struct ledger_receipt *r, const unsigned char prev[32], const unsigned char *data, size_t n, unsigned char out[FOOTER_SIZE]) MUST_USE;
/* Leaves room for a member's head with so many runs in b; head_finish fills it when the member is whole. */
int head_room(struct buf *b, int runs) MUST_USE;
void head_finish(unsigned char *member, size_t size, enum head_type type, int64_t records, const struct ledger_steps *run, int runs);

/* Reads the head of one of our members from its first n bytes (HEAD_MAX, or all there are). It is right
 * if it is whole and its checksum is; empty members must be right to the last byte. Else why says
 * what is wrong, in words; cut: it begins like one and goes on behind n. */
enum head_state { HEAD_RIGHT, HEAD_CUT, HEAD_WRONG };
enum head_state head_read(struct head *h, const unsigned char *p, size_t n, const char **why);
/* Do these n bytes begin like one of our members, as far as they go? */
bool head_like(const unsigned char *p, size_t n);
/* First place in p where a true head begins, at or after `from`; n if none. */
size_t head_search(const unsigned char *p, size_t n, size_t from);

/* ---- ledger_member.c ---- */

/* One reusable zlib state each way; zero to begin. */
struct squeezer;
struct squeezer *squeezer_new(void);
void squeezer_free(struct squeezer *s);
/* Appends a whole member with these records to out. */
int squeezer_member(struct squeezer *s, enum head_type type, const unsigned char *raw, size_t n, int64_t records, const struct ledger_steps *run, int runs, struct buf *out) MUST_USE;

struct inflater;
struct inflater *inflater_new(void);
void inflater_free(struct inflater *s);
/* Inflates the gzip member at p into out (emptied first), at most MEMBER_MAX bytes. 1 whole, checksum and length
 * right, *used its bytes; 0 it goes on behind n; -EX_DATAERR wrong (*why in words); -EX_OSERR. */
int inflater_member(struct inflater *s, const unsigned char *p, size_t n, struct buf *out, size_t *used, const char **why) MUST_USE;

/* ---- ledger_tail.c ---- */

/* Where whole appends end, and what a next one chains to. */
struct tail {
	int64_t size;        /* of the file */
	int64_t end;         /* of the last whole append; below size something lies behind it */
	int64_t sequence;
	unsigned char file[16], hash[32];
	struct ledger_fault fault; /* what lies behind, where end < size */
};
/* By the footer at the end of the file, whatever the file's length; only where it is torn by a search
 * backwards. hashed: the last append's bytes must match its hash too, unless it is `trust` (NULL: none).
 * -EX_DATAERR: no ledger. A file of no bytes gives size 0 and end 0, a torn header end 0. */
int tail_find(int fd, const char *path, bool hashed, const struct ledger_receipt *trust, struct tail *t, struct why *w) MUST_USE;
/* What the n bytes at `at`, which are no whole member, are: kind, place and words. */
void tail_name(struct ledger_fault *f, int fd, int64_t at, int64_t n);
/* Copies what lies behind t->end beside the file, syncs it, then cuts. name gets the copy's. */
int tail_cut(int fd, const char *path, struct tail *t, char *name, size_t size, struct why *w) MUST_USE;
/* Is a writer at work on it? */
bool tail_locked(int fd);

/* ---- ledger_walk.c: from member to member ---- */

struct walk {
	int fd;
	int64_t at, end;    /* next byte, and where to stop */
	int64_t number;     /* of the member walked to last */
	int64_t item_at;    /* its place */
	struct head head;
	struct ledger_fault fault;
	unsigned char *window; /* HEAD_MAX bytes */
};
enum walk_next { WALK_END, WALK_MEMBER, WALK_FAULT };
int walk_begin(struct walk *k, int fd, int64_t from, int64_t end) MUST_USE;
int walk_next(struct walk *k, struct why *w) MUST_USE;
void walk_end(struct walk *k);

/* ---- ledger_stream.c: records out of bytes in memory, and out of a gzip'd stream ---- */

/* The record at p, msgpack or a JSON line (which goes through json), white space before it skipped: 1 there it
 * is, *used bytes; 0 more bytes are needed (at the end of the input: none are left, or it is cut); -EX_DATAERR. */
int record_at(const unsigned char *p, size_t n, bool last, struct buf *json, struct view *v, size_t *used, struct why *w) MUST_USE;

struct gz;
int gz_open(struct gz **g, int fd, const char *name, struct why *w) MUST_USE; /* reads fd with pread, from its beginning */
int gz_next(struct gz *g, struct view *v, struct why *w) MUST_USE;            /* as in_next */
void gz_close(struct gz *g);                                                  /* may be NULL */

#endif
