/* wire.h - floor 2: records, and the streams they travel in.
 *
 * A record is one msgpack map with string keys: at most 1 MiB, 16 deep, no key
 * twice. The kinds and their fields stand in records.list and nowhere else;
 * the enums here, the encoder's and the reader's checks, the text views and
 * the table of pilot-record(5) are made from it. */
#ifndef PILOT_WIRE_H
#define PILOT_WIRE_H

#include "../base/base.h"

enum { REC_MAX_BYTES = 1 << 20, REC_MAX_DEPTH = 16, VIEW_FIELDS = 128 };

/* ---- schema.c: the one list ---- */

enum kind {
	KIND_UNKNOWN,
#define KIND(name, doc) KIND_##name,
#define FIELD(kind, name, type, need, doc)
#include "records.list"
	KINDS
};

/* F_step_loss and so on: one for each line of the list. */
enum field {
	F_NONE,
#define KIND(name, doc)
#define FIELD(kind, name, type, need, doc) F_##kind##_##name,
#include "records.list"
	FIELDS
};

enum type { T_INT, T_NUM, T_STR, T_BOOL, T_TIME, T_STRS, T_INTS, T_NUMS };
enum need { MAY, MUST };

struct field_info {
	enum kind kind;
	const char *name;
	enum type type;
	enum need need;
	const char *doc;
};
const struct field_info *field_info(enum field f);
const char *kind_name(enum kind k);
const char *kind_doc(enum kind k);
const char *type_name(enum type t);
enum kind kind_find(const char *name, size_t n);             /* KIND_UNKNOWN if there is none */
enum field field_find(enum kind k, const char *name, size_t n); /* F_NONE if there is none */

/* ---- record.c: writing one ---- */

/* Zero it, use it again and again, rec_free it. A field that is not of the
 * record's kind, of the wrong type, or given twice, and a lack of memory, make rec_end
 * fail; the others are ignored until then. */
struct rec {
	enum kind kind;
	struct buf buf;
	int fields;
	int bad; /* 0, or the code that rec_end will return */
	enum field culprit;
	uint64_t seen[(FIELDS + 63) / 64];
	bool stamped;
};

void rec_begin(struct rec *r, enum kind k); /* writes kind, and t = now */
void rec_time(struct rec *r, enum field f, struct timestamp t); /* F_<kind>_t replaces the stamp */
void rec_int(struct rec *r, enum field f, int64_t v);
void rec_num(struct rec *r, enum field f, double v);
void rec_bool(struct rec *r, enum field f, bool v);
void rec_str(struct rec *r, enum field f, const char *s); /* NULL: left out. Bytes that are no UTF-8 become U+FFFD */
void rec_strn(struct rec *r, enum field f, const char *s, size_t n);
void rec_strs(struct rec *r, enum field f, char *const *v, int n);
void rec_ints(struct rec *r, enum field f, const int64_t *v, int n);
void rec_nums(struct rec *r, enum field f, const double *v, int n);
int rec_end(struct rec *r, struct why *w) MUST_USE; /* r->buf then holds the whole map */
void rec_free(struct rec *r);

/* ---- scan.c, open.c, view.c: looking at one ---- */

/* A record inside bytes that somebody else owns. */
struct view {
	enum kind kind;
	const unsigned char *raw;
	size_t size;
	int64_t number, offset; /* in its stream: from 1, and the byte it began at */
	uint32_t at[VIEW_FIELDS]; /* value's place in raw by the field's place in its kind, 0 = absent */
};

/* Length of the map that starts at p: >0 its bytes, 0 more bytes are needed,
 * -EX_DATAERR malformed, too big, too deep. Never unpacks and never allocates. */
ssize_t scan_size(const unsigned char *p, size_t n, struct why *w);
/* Checks the whole map (size as scan_size said): string keys, none twice, `kind` there,
 * known fields of their type, required ones present; fills v. */
int view_open(struct view *v, const unsigned char *p, size_t size, struct why *w) MUST_USE;

/* Each returns whether the field is there. Strings are not NUL-terminated and
 * live as long as raw. An INT is accepted where a NUM is expected. */
bool view_int(const struct view *v, enum field f, int64_t *out);
bool view_num(const struct view *v, enum field f, double *out);
bool view_bool(const struct view *v, enum field f, bool *out);
bool view_time(const struct view *v, enum field f, struct timestamp *out);
bool view_str(const struct view *v, enum field f, const char **s, size_t *n);
/* Copies and terminates; cut to size. out is "" when absent. */
bool view_copy(const struct view *v, enum field f, char *out, size_t size);
bool view_is(const struct view *v, enum field f, const char *s);
/* Lists: number of items, -1 absent; then one by one. */
int view_count(const struct view *v, enum field f);
bool view_item_str(const struct view *v, enum field f, int i, const char **s, size_t *n);
bool view_item_int(const struct view *v, enum field f, int i, int64_t *out);
bool view_item_num(const struct view *v, enum field f, int i, double *out);
/* The run's id, whatever the kind; "" if it has none. */
void view_run(const struct view *v, char out[ULID_SIZE]);
/* Goes over every top-level pair, known or not, in order; false at the end. */
struct view_pair {
	const char *key;
	size_t key_size;
	const unsigned char *value;
	size_t value_size;
	size_t next; /* zero to begin */
};
bool view_next_pair(const struct view *v, struct view_pair *p);

/* ---- json-write.c, json-read.c, parse.c: the JSON view of one, and back ---- */

/* One line without newline. NaN and infinities become strings, t an RFC 3339 string,
 * bytes that are no UTF-8 U+FFFD, bin values {"$bin":"base64"}, other extensions {"$ext":[type,"base64"]}. */
int json_write(const unsigned char *raw, size_t size, struct buf *out) MUST_USE;
/* One line to msgpack (Jansson, duplicates rejected); known TIME and NUM fields get their type back. */
int json_read(const char *line, size_t n, struct buf *out, struct why *w) MUST_USE;

/* ---- text.c, text-*.c: the view for people: aligned columns, control characters escaped ---- */

/* State of a text view: what it has printed last, and how it may print. */
struct text {
	int width;        /* columns; 0 is no limit */
	bool color;
	bool all;         /* show what is inside trials and replays, too; else a trial is its line in the table */
	int64_t lines;             /* printed so far */
	int64_t header_at[KINDS];  /* the line behind each table's last column header; 0 where none counts any more */
	const char *header[KINDS]; /* that header: a table may have columns of two sorts */
	enum kind table;           /* whose row was printed last */
	char verdict_run[ULID_SIZE]; /* whose verdicts stand above */
	char hidden[8][ULID_SIZE]; /* open runs of which nothing is shown */
	struct text_tool {
		char id[ULID_SIZE], name[24];
	} tools[8]; /* the last that began, so that an end can name them */
	int next_hidden, next_tool;
};
/* Width from COLUMNS or the terminal; colour on a terminal unless NO_COLOR is set or TERM is dumb. */
void text_init(struct text *t, int fd);
int text_write(struct text *t, const struct view *v, struct buf *out) MUST_USE;
/* Appends n bytes with control characters, and bytes that are no UTF-8, as \xNN. */
int text_escape(struct buf *out, const char *s, size_t n) MUST_USE;

/* ---- out.c: writing a stream ---- */

enum form { FORM_AUTO, FORM_TEXT, FORM_JSON, FORM_MSGPACK };

/* FORM_AUTO: text on a terminal, else msgpack. FORM_MSGPACK on a terminal is refused (-EX_USAGE).
 * Flushes at 8 KiB, after half a second, or with any record that is not a step. */
struct out;
int out_open(struct out **o, int fd, enum form form, struct why *w) MUST_USE;
int out_rec(struct out *o, struct rec *r, struct why *w) MUST_USE;   /* ends r and writes it */
int out_view(struct out *o, const struct view *v, struct why *w) MUST_USE; /* original bytes in msgpack form */
int out_made(struct out *o, const struct view *v, struct why *w) MUST_USE; /* the same, of a record that is ours */
int out_text(struct out *o, const char *s, struct why *w) MUST_USE;  /* only shown by the text form */
int out_tick(struct out *o, struct why *w) MUST_USE;  /* flushes what has waited half a second */
int out_flush(struct out *o, struct why *w) MUST_USE;
enum form out_form(const struct out *o);
int64_t out_records(const struct out *o); /* written, by either function */
int64_t out_added(const struct out *o);   /* of these, by out_rec and out_made */
struct text *out_text_state(struct out *o); /* to set `all`; owned by o */
/* Flushes and frees (fd stays open). -EX_IOERR if anything was lost; a broken pipe
 * is -EX_IOERR with errno EPIPE, see out_broken. */
int out_close(struct out *o, struct why *w) MUST_USE;
bool out_broken(const struct out *o); /* the reader has gone away */

/* ---- in.c: reading a stream: msgpack maps and JSON Lines, mixed if need be ---- */

/* Memory is bounded by one record. */
struct in;
int in_open(struct in **i, int fd, const char *name, struct why *w) MUST_USE;
/* 1 a record (valid until the next call), 0 the clean end, <0 broken: -EX_DATAERR names the
 * input, record number, offset and reason (gzip is named for what it is); -EX_IOERR. */
int in_next(struct in *i, struct view *v, struct why *w) MUST_USE;
/* Would in_next have to wait for bytes? Filters flush before they wait. */
bool in_would_wait(struct in *i);
void in_close(struct in *i); /* fd stays open; i may be NULL */

/* ---- brackets.c: which brackets are open ---- */

/* Tells a stream that ended from one that was cut. */
struct brackets;
struct brackets *brackets_new(void);
int brackets_see(struct brackets *b, const struct view *v, struct why *w) MUST_USE; /* -EX_DATAERR: an end without its run */
int64_t brackets_seen(const struct brackets *b); /* records */
/* 0 if all are closed and something came; else -EX_DATAERR naming what is open (or "empty"). */
int brackets_check(const struct brackets *b, const char *name, struct why *w) MUST_USE;
/* Open tools and runs in order of opening; false past the last. */
bool brackets_open(const struct brackets *b, int i, const char **what, char id[ULID_SIZE]);
void brackets_free(struct brackets *b);

/* Opens and closes a tool's own bracket. id is filled by tool_begin; records counts what out_rec
 * wrote between the two. */
int tool_begin(struct out *o, const char *name, char *const argv[], char id[ULID_SIZE], struct why *w) MUST_USE;
int tool_end(struct out *o, const char *id, int status, struct why *w) MUST_USE;

#endif
