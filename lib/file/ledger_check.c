/* ledger_check.c - every byte of a ledger against what its heads, checksums and chain of hashes say. */
#include "ledger_format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct check {
	int fd;
	const char *path;
	void (*report)(void *ctx, const struct ledger_fault *f);
	void *ctx;
	struct ledger_totals *totals;
	struct tail tail;
	struct walk walk;
	struct inflater *inflater;
	struct buf member, raw, json;
	bool named;              /* file id known */
	bool chained;            /* hash is that of the append before */
	bool damaged;            /* something in this append was reported: its hash is not asked again */
	unsigned char file[16], hash[32];
	int64_t begin, sequence, records; /* of this append: first byte, the number before it, counted */
	struct sha *sha;
};

static void report(struct check *c, enum ledger_fault_kind kind, int64_t offset, int64_t bytes, const char *fmt, ...) PRINTF(5, 6);
static void report(struct check *c, enum ledger_fault_kind kind, int64_t offset, int64_t bytes, const char *fmt, ...)
{
	struct ledger_fault f = { .kind = kind, .offset = offset, .bytes = bytes, .member = c->walk.number };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f.text, sizeof f.text, fmt, ap);
	va_end(ap);
	c->report(c->ctx, &f);
	c->totals->faults++;
	c->damaged = true;
}

static int no_memory(const struct check *c, struct why *w)
{
	return why_set(w, EX_OSERR, "verifying: %.300s: out of memory", c->path);
}

static int load(struct check *c, struct why *w)
{
	int64_t n = c->walk.head.size;
	ssize_t got;

	c->member.n = 0;
	if (buf_room(&c->member, (size_t)n) < 0)
		return no_memory(c, w);
	got = io_pread(c->fd, c->member.p, (size_t)n, c->walk.item_at);
	if (got < 0)
		return why_errno(w, EX_IOERR, "verifying: %.300s: offset %lld", c->path, (long long)c->walk.item_at);
	c->member.n = (size_t)got;
	return 0;
}

/* A new append's hash begins with the one before. */
static int begin_append(struct check *c, struct why *w)
{
	c->damaged = false;
	c->records = 0;
	c->begin = c->walk.at;
	c->sha = sha_new();
	if (!c->sha)
		return no_memory(c, w);
	sha_add(c->sha, c->hash, 32);
	return 0;
}

static void drop_sha(struct check *c)
{
	unsigned char none[32];

	if (c->sha)
		sha_end(c->sha, none);
	c->sha = NULL;
}

static int see_header(struct check *c, struct why *w)
{
	const struct head *h = &c->walk.head;

	if (c->walk.item_at != 0) {
		report(c, LEDGER_FOREIGN, c->walk.item_at, h->size, "the header of another ledger");
		return 0;
	}
	if (h->version != LEDGER_VERSION)
		return why_set(w, EX_DATAERR, "verifying: %.300s: format version %d; this program knows %d", c->path, h->version, LEDGER_VERSION);
	memcpy(c->file, h->file, 16);
	c->named = c->chained = true;
	if (sha_of(c->member.p, c->member.n, c->hash) < 0)
		return no_memory(c, w);
	drop_sha(c);
	return begin_append(c, w);
}

/* Does the head say of its steps what they are? */
static bool same_steps(const struct head *h, const struct ledger_steps *run, int runs)
{
	for (int i = 0; i < runs; i++) {
		const struct ledger_steps *a = &h->run[i], *b = &run[i];

		if (strcmp(a->run, b->run) || a->count != b->count || a->first != b->first || a->last != b->last || a->examples != b->examples ||
		    memcmp(&a->seconds, &b->seconds, sizeof a->seconds) || a->t.seconds != b->t.seconds || a->t.nanoseconds != b->t.nanoseconds)
			return false;
	}
	return runs == h->runs;
}

static void fold_step(struct ledger_steps *run, int *runs, const struct view *v)
{
	char id[ULID_SIZE];
	int i = 0;

	view_run(v, id);
	while (i < *runs && strcmp(run[i].run, id))
		i++;
	if (i == ENTRY_MAX)
		return;
	if (i == *runs) {
		run[(*runs)++] = (struct ledger_steps){ .examples = -1 };
		memcpy(run[i].run, id, sizeof id);
	}
	ledger_steps_add(&run[i], v);
}

static void see_records(struct check *c)
{
	const struct head *h = &c->walk.head;
	struct ledger_steps run[ENTRY_MAX];
	int64_t n = 0;
	int runs = 0;
	bool others = false;

	for (size_t at = 0, used = 0; at < c->raw.n; at += used, n++) {
		struct view v;
		struct why inner;
		int r = record_at(c->raw.p + at, c->raw.n - at, true, &c->json, &v, &used, &inner);

		if (r <= 0) {
			report(c, LEDGER_BAD_RECORD, c->walk.item_at, h->size, "record %lld of the member: %.200s", (long long)n + 1, r < 0 ? inner.text : "it is cut");
			break;
		}
		if (h->type == HEAD_STEPS && v.kind == KIND_step)
			fold_step(run, &runs, &v);
		else
			others = true;
	}
	c->records += n;
	c->totals->records += n;
	if (n != h->records)
		report(c, LEDGER_BAD_RECORD, c->walk.item_at, h->size, "its head says %lld records, it holds %lld", (long long)h->records, (long long)n);
	else if (h->type == HEAD_STEPS && (others || !same_steps(h, run, runs)))
		report(c, LEDGER_BAD_RECORD, c->walk.item_at, h->size, "its head says other steps than it holds");
}

static int see_data(struct check *c, struct why *w)
{
	const char *why = "the member is cut";
	size_t used = 0;
	int r;

	sha_add(c->sha, c->member.p, c->member.n);
	r = inflater_member(c->inflater, c->member.p, c->member.n, &c->raw, &used, &why);
	if (r == -EX_OSERR)
		return no_memory(c, w);
	if (r != 1 || used != c->member.n)
		report(c, LEDGER_CHECKSUM, c->walk.item_at, c->walk.head.size, "%s", r == 1 ? "its compressed data end early" : why);
	else
		see_records(c);
	return 0;
}

static void check_footer(struct check *c, const unsigned char hash[32])
{
	const struct head *h = &c->walk.head;
	int64_t at = c->walk.item_at;

	if (memcmp(h->file, c->file, 16))
		report(c, LEDGER_FOREIGN, at, h->size, "a footer of another ledger");
	else if (h->offset != at)
		report(c, LEDGER_CHAIN, at, h->size, "the footer was written for offset %lld", (long long)h->offset);
	else if (c->damaged)
		return; /* told already */
	else if ((uint64_t)h->sequence != (uint64_t)c->sequence + 1)
		report(c, LEDGER_CHAIN, at, h->size, "append %lld follows append %lld", (long long)h->sequence, (long long)c->sequence);
	else if (h->length != at - c->begin)
		report(c, LEDGER_CHAIN, at, h->size, "the footer says %lld bytes, the append has %lld", (long long)h->length, (long long)(at - c->begin));
	else if (h->records != c->records)
		report(c, LEDGER_CHAIN, at, h->size, "the footer says %lld records, the append has %lld", (long long)h->records, (long long)c->records);
	else if (c->chained && memcmp(hash, h->hash, 32))
		report(c, LEDGER_CHAIN, at, h->size, "append %lld: its bytes and the hash before it do not give its hash", (long long)h->sequence);
}

static int see_footer(struct check *c, struct why *w)
{
	const struct head *h = &c->walk.head;
	unsigned char hash[32];

	sha_add(c->sha, c->member.p, FOOTER_HASH);
	sha_end(c->sha, hash);
	c->sha = NULL;
	if (!c->named) { /* the header is damaged: the first footer tells */
		memcpy(c->file, h->file, 16);
		c->named = true;
	}
	check_footer(c, hash);
	c->sequence = h->sequence;
	c->chained = true;
	memcpy(c->hash, h->hash, 32);
	c->totals->appends++;
	c->totals->last = (struct ledger_receipt){ .sequence = h->sequence, .end = c->walk.at, .records = h->records };
	memcpy(c->totals->last.file, h->file, 16);
	memcpy(c->totals->last.hash, h->hash, 32);
	return begin_append(c, w);
}

static int see_member(struct check *c, struct why *w)
{
	int r = load(c, w);

	c->totals->members++;
	if (r < 0)
		return r;
	switch (c->walk.head.type) {
	case HEAD_HEADER: return see_header(c, w);
	case HEAD_FOOTER: return see_footer(c, w);
	default: return see_data(c, w);
	}
}

static int see_all(struct check *c, struct why *w)
{
	int r = begin_append(c, w);

	while (r >= 0 && (r = walk_next(&c->walk, w)) > WALK_END) {
		if (r == WALK_MEMBER) {
			r = see_member(c, w);
			continue;
		}
		c->report(c->ctx, &c->walk.fault);
		c->totals->faults++;
		c->damaged = true;
	}
	return r;
}

static void see_tail(struct check *c, bool locked)
{
	struct ledger_fault f = c->tail.fault;

	if (c->tail.end >= c->tail.size)
		return;
	f.member = c->walk.number + 1;
	if (locked && f.kind == LEDGER_TORN) {
		f.kind = LEDGER_IN_PROGRESS;
		snprintf(f.text, sizeof f.text, "another process is appending");
		c->totals->in_progress = true;
	} else {
		c->totals->faults++;
	}
	c->report(c->ctx, &f);
}

/* Where to stop: behind the last footer. A damaged header is a finding; a file that is none of ours is not. */
static int find_end(struct check *c, bool *locked, struct why *w)
{
	int r;

	*locked = tail_locked(c->fd);
	r = tail_find(c->fd, c->path, false, NULL, &c->tail, w);
	if (r == 0 && c->tail.size == 0)
		return why_set(w, EX_DATAERR, "verifying: %.300s: empty", c->path);
	if (r != -EX_DATAERR)
		return r;
	r = walk_begin(&c->walk, c->fd, 0, c->tail.size);
	if (r == 0)
		r = walk_next(&c->walk, w);
	walk_end(&c->walk);
	if (r == -EX_OSERR)
		return no_memory(c, w);
	/* a fault that reaches to the end: not one true head in the file */
	if (r == WALK_FAULT && c->walk.at >= c->tail.size && c->walk.fault.kind != LEDGER_CHECKSUM)
		return why_set(w, EX_DATAERR, "verifying: %.300s: not a ledger", c->path);
	c->tail.end = c->tail.size;
	return r < 0 ? r : 0;
}

int ledger_check(const char *path, void (*fault)(void *ctx, const struct ledger_fault *f), void *ctx, struct ledger_totals *t, struct why *w)
{
	struct check c = { .path = path, .report = fault, .ctx = ctx, .totals = t };
	bool locked;
	int r;

	*t = (struct ledger_totals){ 0 };
	c.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (c.fd < 0)
		return why_errno(w, EX_NOINPUT, "verifying: %.300s", path);
	r = find_end(&c, &locked, w);
	t->bytes = c.tail.size;
	c.inflater = inflater_new();
	if (r >= 0 && (!c.inflater || walk_begin(&c.walk, c.fd, 0, c.tail.end) < 0))
		r = no_memory(&c, w);
	if (r >= 0)
		r = see_all(&c, w);
	if (r >= 0)
		see_tail(&c, locked);
	drop_sha(&c);
	walk_end(&c.walk);
	inflater_free(c.inflater);
	buf_free(&c.member);
	buf_free(&c.raw);
	buf_free(&c.json);
	close(c.fd);
	return r < 0 ? r : 0;
}

/* ---- receipts ---- */

static void hex(const unsigned char *p, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++)
		sprintf(out + 2 * i, "%02x", p[i]);
}

static bool unhex(const char *s, unsigned char *out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned v;

		if (strspn(s + 2 * i, "0123456789abcdef") < 2 || sscanf(s + 2 * i, "%2x", &v) != 1)
			return false;
		out[i] = (unsigned char)v;
	}
	return true;
}

void ledger_receipt_write(const struct ledger_receipt *r, char out[LEDGER_RECEIPT_SIZE])
{
	char file[33], hash[65];

	hex(r->file, 16, file);
	hex(r->hash, 32, hash);
	snprintf(out, LEDGER_RECEIPT_SIZE, "receipt %s %" PRId64 " %" PRId64 " %" PRId64 " %s", file, r->sequence, r->end, r->records, hash);
}

int ledger_receipt_read(const char *line, struct ledger_receipt *r, struct why *w)
{
	char file[33], hash[65];
	int end = -1;

	if (sscanf(line, "receipt %32[0-9a-f] %" SCNd64 " %" SCNd64 " %" SCNd64 " %64[0-9a-f]%n", file, &r->sequence, &r->end, &r->records, hash, &end) == 5 &&
	    end > 0 && !line[end + (int)strspn(line + end, " \t\r\n")] && strlen(file) == 32 && strlen(hash) == 64 &&
	    unhex(file, r->file, 16) && unhex(hash, r->hash, 32))
		return 0;
	return why_set(w, EX_DATAERR, "reading a receipt: %.80s: not `receipt FILE SEQUENCE END RECORDS HASH`", line);
}

int ledger_receipt_holds(const char *path, const struct ledger_receipt *r, struct why *w)
{
	unsigned char p[FOOTER_SIZE];
	const char *why;
	struct head h;
	struct tail t;
	int code, fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return why_errno(w, EX_NOINPUT, "verifying: %.300s", path);
	code = tail_find(fd, path, false, NULL, &t, w);
	if (code == 0 && memcmp(t.file, r->file, 16))
		code = why_set(w, EX_NO, "verifying: %.300s: append %lld: the receipt is from another ledger", path, (long long)r->sequence);
	if (code == 0 && (r->end < HEADER_SIZE + FOOTER_SIZE || io_pread(fd, p, sizeof p, r->end - FOOTER_SIZE) != FOOTER_SIZE || head_read(&h, p, sizeof p, &why) != HEAD_RIGHT || h.type != HEAD_FOOTER))
		code = why_set(w, EX_NO, "verifying: %.300s: append %lld: no append ends at offset %lld", path, (long long)r->sequence, (long long)r->end);
	close(fd);
	if (code == 0 && (h.sequence != r->sequence || memcmp(h.hash, r->hash, 32) || h.records != r->records))
		code = why_set(w, EX_NO, "verifying: %.300s: append %lld: the append at offset %lld is another one", path, (long long)r->sequence, (long long)r->end);
	return code == -EX_NO ? 0 : code < 0 ? code : 1;
}
