/* ledger_read.c - records out of a ledger, member by member; damaged ones are told and passed over. */
#include "ledger_format.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum stage { IN_FILE, AT_TAIL, IN_TAIL, AT_END };

struct ledger {
	int fd;
	bool own;
	char *name;
	struct in *in; /* a plain stream */
	struct gz *gz; /* a gzip'd one; else it is a ledger: */
	enum stage stage;
	struct tail tail;
	struct walk walk;
	struct inflater *inflater;
	struct buf member, raw, json;
	size_t taken;               /* bytes of raw */
	int64_t records, number;    /* taken of this member; of all */
	int64_t foreign, foreign_end; /* range in which gzip members are tried */
	bool salvage;
	bool (*want)(void *, const struct ledger_steps *, int);
	void *ctx;
	struct ledger_fault fault;
};

const char *ledger_fault_name(enum ledger_fault_kind k)
{
	switch (k) {
	case LEDGER_TORN: return "torn tail";
	case LEDGER_CHECKSUM: return "bad checksum";
	case LEDGER_FOREIGN: return "foreign bytes";
	case LEDGER_CHAIN: return "broken chain";
	case LEDGER_BAD_RECORD: return "bad record";
	default: return "in progress";
	}
}

/* ---- opening ---- */

static int begin_ledger(struct ledger *l, struct why *w)
{
	int r = tail_find(l->fd, l->name, false, NULL, &l->tail, w);

	if (r == -EX_DATAERR && l->salvage) {
		l->stage = IN_TAIL; /* there is no telling where appends end */
		l->tail.end = l->tail.size;
	} else if (r < 0) {
		return r;
	}
	l->inflater = inflater_new();
	if (!l->inflater || walk_begin(&l->walk, l->fd, 0, l->tail.end) < 0)
		return why_set(w, EX_OSERR, "reading: %.300s: out of memory", l->name);
	return 0;
}

/* Tells by the first bytes what it is. */
static int begin(struct ledger *l, struct why *w)
{
	unsigned char p[AT_TYPE];
	struct stat st;
	ssize_t n;

	if (fstat(l->fd, &st) < 0)
		return why_errno(w, EX_IOERR, "reading: %.300s", l->name);
	if (S_ISDIR(st.st_mode))
		return why_set(w, EX_IOERR, "reading: %.300s: is a directory", l->name);
	n = S_ISREG(st.st_mode) ? io_pread(l->fd, p, sizeof p, 0) : 0;
	if (n < 0)
		return why_errno(w, EX_IOERR, "reading: %.300s", l->name);
	if (l->salvage || (n > 0 && head_like(p, (size_t)n)))
		return begin_ledger(l, w);
	if (n >= 2 && p[0] == 0x1f && p[1] == 0x8b)
		return gz_open(&l->gz, l->fd, l->name, w);
	return in_open(&l->in, l->fd, l->name, w);
}

static int open_fd(struct ledger **out, int fd, const char *name, bool salvage, struct why *w)
{
	struct ledger *l = calloc(1, sizeof *l);
	int r;

	*out = NULL;
	if (l)
		l->name = strdup(name);
	if (!l || !l->name) {
		free(l);
		return why_set(w, EX_OSERR, "reading: %.300s: out of memory", name);
	}
	l->fd = fd;
	l->salvage = salvage;
	r = begin(l, w);
	if (r < 0) {
		ledger_close(l);
		return r;
	}
	*out = l;
	return 0;
}

int ledger_open_fd(struct ledger **l, int fd, const char *name, struct why *w)
{
	return open_fd(l, fd, name, false, w);
}

static int open_path(struct ledger **out, const char *path, bool salvage, struct why *w)
{
	int r, fd = open(path, O_RDONLY | O_CLOEXEC);

	*out = NULL;
	if (fd < 0)
		return why_errno(w, EX_NOINPUT, "reading: %.300s", path);
	r = open_fd(out, fd, path, salvage, w);
	if (r < 0)
		close(fd);
	else
		(*out)->own = true;
	return r;
}

int ledger_open(struct ledger **l, const char *path, struct why *w)
{
	return open_path(l, path, false, w);
}

int ledger_open_damaged(struct ledger **l, const char *path, struct why *w)
{
	return open_path(l, path, true, w);
}

void ledger_close(struct ledger *l)
{
	if (!l)
		return;
	in_close(l->in);
	gz_close(l->gz);
	inflater_free(l->inflater);
	walk_end(&l->walk);
	buf_free(&l->member);
	buf_free(&l->raw);
	buf_free(&l->json);
	if (l->own)
		close(l->fd);
	free(l->name);
	free(l);
}

bool ledger_is(const struct ledger *l)
{
	return !l->in && !l->gz;
}

void ledger_skip(struct ledger *l, bool (*want)(void *, const struct ledger_steps *, int), void *ctx)
{
	l->want = want;
	l->ctx = ctx;
}

const struct ledger_steps *ledger_skipped(const struct ledger *l, int *n)
{
	*n = l->walk.head.runs;
	return l->walk.head.run;
}

const struct ledger_fault *ledger_fault(const struct ledger *l)
{
	return &l->fault;
}

/* ---- reading ---- */

static int tell(struct ledger *l, enum ledger_fault_kind kind, int64_t offset, int64_t bytes, const char *text)
{
	l->fault = (struct ledger_fault){ .kind = kind, .offset = offset, .bytes = bytes, .member = l->walk.number };
	snprintf(l->fault.text, sizeof l->fault.text, "%s", text);
	return LEDGER_FAULT;
}

static int no_memory(const struct ledger *l, struct why *w)
{
	return why_set(w, EX_OSERR, "reading: %.300s: out of memory", l->name);
}

/* Brings the bytes of the file into l->member. */
static int load(struct ledger *l, int64_t at, int64_t n, struct why *w)
{
	ssize_t got;

	l->member.n = 0;
	if (buf_room(&l->member, (size_t)n) < 0)
		return no_memory(l, w);
	got = io_pread(l->fd, l->member.p, (size_t)n, at);
	if (got < 0)
		return why_errno(w, EX_IOERR, "reading: %.300s: offset %lld", l->name, (long long)at);
	l->member.n = (size_t)got;
	return 0;
}

static void take_raw(struct ledger *l)
{
	l->taken = 0;
	l->records = 0;
}

static int open_member(struct ledger *l, struct why *w)
{
	const char *why = "the member is cut";
	size_t used = 0;
	int r = load(l, l->walk.item_at, l->walk.head.size, w);

	if (r < 0)
		return r;
	r = inflater_member(l->inflater, l->member.p, l->member.n, &l->raw, &used, &why);
	take_raw(l);
	if (r == 1 && used == l->member.n)
		return LEDGER_RECORD;
	l->raw.n = 0;
	if (r == -EX_OSERR)
		return no_memory(l, w);
	return tell(l, LEDGER_CHECKSUM, l->walk.item_at, l->walk.head.size, r == 1 ? "its compressed data end early" : why);
}

/* A member of ours was walked to: FAULT, SKIPPED, or RECORD: look into raw and go on. */
static int member(struct ledger *l, struct why *w)
{
	const struct head *h = &l->walk.head;

	switch (h->type) {
	case HEAD_HEADER:
		if (l->walk.item_at == 0)
			return LEDGER_RECORD;
		return tell(l, LEDGER_FOREIGN, l->walk.item_at, h->size, "the header of another ledger");
	case HEAD_FOOTER:
		if (l->stage == IN_TAIL || (memcmp(h->file, l->tail.file, 16) == 0 && h->offset == l->walk.item_at))
			return LEDGER_RECORD;
		return tell(l, LEDGER_FOREIGN, l->walk.item_at, h->size, "a footer from another place or ledger");
	default:
		if (h->type == HEAD_STEPS && l->want && !l->want(l->ctx, h->run, h->runs))
			return LEDGER_SKIPPED;
		return open_member(l, w);
	}
}

/* Behind the last footer. A writer may have finished since the file was opened, or be at work. */
static int tail(struct ledger *l, struct why *w)
{
	bool locked = tail_locked(l->fd);
	int64_t end = l->tail.end;
	int r;

	if (l->tail.end == l->tail.size) {
		l->stage = AT_END;
		return LEDGER_RECORD;
	}
	r = tail_find(l->fd, l->name, false, NULL, &l->tail, w);
	if (r < 0)
		return r;
	if (l->tail.end > end) {
		l->walk.end = l->tail.end;
		return LEDGER_RECORD;
	}
	l->stage = AT_END;
	if (l->tail.end == l->tail.size)
		return LEDGER_RECORD;
	l->fault = l->tail.fault;
	l->fault.member = l->walk.number + 1;
	if (locked && l->fault.kind == LEDGER_TORN) {
		l->fault.kind = LEDGER_IN_PROGRESS;
		snprintf(l->fault.text, sizeof l->fault.text, "another process is appending");
	} else if (l->salvage) {
		l->stage = IN_TAIL;
		l->walk.end = l->tail.size;
	}
	return LEDGER_FAULT;
}

static int walk_on(struct ledger *l, struct why *w)
{
	int r;

	if (l->stage == AT_END)
		return LEDGER_END;
	r = walk_next(&l->walk, w);
	if (r < 0)
		return r;
	if (r == WALK_MEMBER)
		return member(l, w);
	if (r == WALK_FAULT) {
		l->fault = l->walk.fault;
		if (l->salvage && l->fault.kind == LEDGER_FOREIGN) {
			l->foreign = l->fault.offset;
			l->foreign_end = l->fault.offset + l->fault.bytes;
		}
		return LEDGER_FAULT;
	}
	if (l->stage == IN_FILE)
		return tail(l, w);
	l->stage = AT_END;
	return LEDGER_RECORD;
}

/* Another gzip member in a range of foreign bytes; RECORD: look into raw. Anything else ends the range. */
static int try_foreign(struct ledger *l, struct why *w)
{
	int64_t n = l->foreign_end - l->foreign;
	const char *why;
	size_t used;
	int r = load(l, l->foreign, n < MEMBER_MAX ? n : MEMBER_MAX, w);

	if (r < 0)
		return r;
	r = inflater_member(l->inflater, l->member.p, l->member.n, &l->raw, &used, &why);
	take_raw(l);
	if (r == -EX_OSERR)
		return no_memory(l, w);
	if (r == 1) {
		l->foreign += (int64_t)used;
	} else {
		l->raw.n = 0;
		l->foreign = l->foreign_end;
	}
	return LEDGER_RECORD;
}

/* The next record in raw: 1, or 0 and raw is used up, or FAULT for what is left of it. */
static int from_raw(struct ledger *l, struct view *v)
{
	struct why inner;
	size_t used = 0, left = l->raw.n - l->taken;
	char text[300];
	int r;

	if (left == 0)
		return LEDGER_END;
	r = record_at(l->raw.p + l->taken, left, true, &l->json, v, &used, &inner);
	if (r > 0) {
		l->taken += used;
		l->records++;
		v->number = ++l->number;
		v->offset = l->walk.item_at;
		return LEDGER_RECORD;
	}
	l->taken = l->raw.n;
	if (r == 0 && used == left)
		return LEDGER_END;
	snprintf(text, sizeof text, "record %lld of the member: %.200s", (long long)l->records + 1, r < 0 ? inner.text : "it is cut");
	return tell(l, LEDGER_BAD_RECORD, l->walk.item_at, l->walk.head.size, text);
}

int ledger_next(struct ledger *l, struct view *v, struct why *w)
{
	if (l->in)
		return in_next(l->in, v, w);
	if (l->gz)
		return gz_next(l->gz, v, w);
	for (;;) {
		int r = from_raw(l, v);

		if (r != LEDGER_END)
			return r;
		r = l->foreign < l->foreign_end ? try_foreign(l, w) : walk_on(l, w);
		if (r != LEDGER_RECORD)
			return r;
	}
}
