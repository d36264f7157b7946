/* ledger_tail.c - the end of a ledger: where the last whole append ends, what lies behind it, and
 * how that is moved aside. */
#include "ledger_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 64 << 10 };

static bool footer_at(int fd, const unsigned char file[16], int64_t at, struct head *h)
{
	unsigned char p[FOOTER_SIZE];
	const char *why;

	if (at < HEADER_SIZE || io_pread(fd, p, sizeof p, at) != FOOTER_SIZE || head_read(h, p, sizeof p, &why) != HEAD_RIGHT)
		return false;
	return h->type == HEAD_FOOTER && memcmp(h->file, file, 16) == 0 && h->offset == at && h->sequence > 0 &&
	       h->length > 0 && h->length <= at - HEADER_SIZE;
}

/* The hash that the append with footer h chains to; false where the footer before it is damaged. */
static bool hash_before(int fd, const struct head *h, const unsigned char first[32], unsigned char out[32])
{
	int64_t begin = h->offset - h->length;
	struct head before;

	if (begin == HEADER_SIZE) {
		memcpy(out, first, 32);
		return true;
	}
	if (!footer_at(fd, h->file, begin - FOOTER_SIZE, &before))
		return false;
	memcpy(out, before.hash, 32);
	return true;
}

static int hash_range(struct sha *sha, int fd, int64_t at, int64_t n)
{
	unsigned char *p = malloc(CHUNK);

	if (!p)
		return -EX_OSERR;
	while (n > 0) {
		ssize_t got = io_pread(fd, p, n < CHUNK ? (size_t)n : CHUNK, at);

		if (got <= 0)
			break;
		sha_add(sha, p, (size_t)got);
		at += got;
		n -= got;
	}
	free(p);
	return n ? -EX_IOERR : 0;
}

/* 1 the bytes of the append match its hash (or what it chains to is damaged: then it cannot be told), 0 they do not. */
static int append_matches(int fd, const struct head *h, const unsigned char first[32])
{
	unsigned char hash[32];
	struct sha *sha;
	int r;

	if (!hash_before(fd, h, first, hash))
		return 1;
	sha = sha_new();
	if (!sha)
		return -EX_OSERR;
	sha_add(sha, hash, 32);
	r = hash_range(sha, fd, h->offset - h->length, h->length + FOOTER_HASH);
	sha_end(sha, hash);
	return r < 0 ? r : memcmp(hash, h->hash, 32) == 0;
}

/* The last true footer of this file that ends at or before `end`. Works backwards in chunks that overlap. */
static int search_back(int fd, const unsigned char file[16], int64_t end, struct head *h)
{
	unsigned char *p = malloc(CHUNK + FOOTER_SIZE);
	int found = 0;

	if (!p)
		return -EX_OSERR;
	for (int64_t to = end; !found && to > HEADER_SIZE; ) {
		int64_t from = to - CHUNK > HEADER_SIZE ? to - CHUNK : HEADER_SIZE;
		ssize_t got = io_pread(fd, p, (size_t)(to - from) + FOOTER_SIZE - 1, from);

		for (ssize_t i = got - AT_MAGIC - 8; i >= 0 && !found; i--)
			if (p[i + AT_MAGIC] == (unsigned char)LEDGER_MAGIC[0] && memcmp(p + i + AT_MAGIC, LEDGER_MAGIC, 8) == 0)
				found = from + i + FOOTER_SIZE <= end && footer_at(fd, file, from + i, h);
		to = from;
	}
	free(p);
	return found;
}

static int header_at(int fd, const char *path, struct tail *t, struct why *w)
{
	unsigned char p[HEADER_SIZE];
	struct head h;
	const char *why;
	ssize_t n = io_pread(fd, p, sizeof p, 0);

	if (n < 0)
		return why_errno(w, EX_IOERR, "reading: %.300s: offset 0", path);
	if (head_read(&h, p, (size_t)n, &why) == HEAD_RIGHT && h.type == HEAD_HEADER) {
		if (h.version != LEDGER_VERSION)
			return why_set(w, EX_DATAERR, "reading: %.300s: format version %d; this program knows %d", path, h.version, LEDGER_VERSION);
		memcpy(t->file, h.file, 16);
		return sha_of(p, HEADER_SIZE, t->hash) < 0 ? why_set(w, EX_OSERR, "reading: %.300s: out of memory", path) : 1;
	}
	if (n < HEADER_SIZE && head_like(p, (size_t)n))
		return 0;
	if (head_like(p, (size_t)n))
		return why_set(w, EX_DATAERR, "reading: %.300s: offset 0, member 1: %s; see ledger recover", path, why);
	return why_set(w, EX_DATAERR, "reading: %.300s: offset 0: not a ledger", path);
}

static void tail_is(struct tail *t, const struct head *h)
{
	t->end = h->offset + FOOTER_SIZE;
	t->sequence = h->sequence;
	memcpy(t->hash, h->hash, 32);
}

static void fault(struct tail *t, enum ledger_fault_kind kind, const char *text)
{
	t->fault.kind = kind;
	t->fault.offset = t->end;
	t->fault.bytes = t->size - t->end;
	snprintf(t->fault.text, sizeof t->fault.text, "%s", text);
}

static bool trusted(const struct head *h, const struct ledger_receipt *trust)
{
	return trust && trust->sequence == h->sequence && memcmp(trust->hash, h->hash, 32) == 0;
}

/* The last append's bytes do not match: step back over it alone. */
static void step_back(int fd, const struct head *h, struct tail *t)
{
	struct head before;

	t->end = h->offset - h->length;
	t->sequence = 0;
	if (footer_at(fd, t->file, t->end - FOOTER_SIZE, &before))
		tail_is(t, &before);
	fault(t, LEDGER_CHECKSUM, "the last append does not match the hash in its footer");
}

int tail_find(int fd, const char *path, bool hashed, const struct ledger_receipt *trust, struct tail *t, struct why *w)
{
	struct stat st;
	struct head h;
	int r;

	*t = (struct tail){ 0 };
	if (fstat(fd, &st) < 0)
		return why_errno(w, EX_IOERR, "reading: %.300s", path);
	t->size = st.st_size;
	if (t->size == 0)
		return 0;
	r = header_at(fd, path, t, w);
	if (r == 0)
		fault(t, LEDGER_TORN, "the header is cut");
	if (r <= 0)
		return r;
	t->end = HEADER_SIZE;
	if (t->size == HEADER_SIZE)
		return 0;
	r = footer_at(fd, t->file, t->size - FOOTER_SIZE, &h) ? 1 : search_back(fd, t->file, t->size, &h);
	if (r > 0) {
		int matches = !hashed || trusted(&h, trust) ? 1 : append_matches(fd, &h, t->hash);

		if (matches > 0)
			tail_is(t, &h);
		else if (matches == 0)
			step_back(fd, &h, t);
		else
			r = matches;
	}
	if (r < 0)
		return why_set(w, -r, "reading: %.300s: %s", path, r == -EX_OSERR ? "out of memory" : "its last append cannot be read");
	if (t->end < t->size && !t->fault.text[0])
		tail_name(&t->fault, fd, t->end, t->size - t->end);
	return 0;
}

static bool all_zero(int fd, int64_t at, int64_t n)
{
	unsigned char p[4096];

	while (n > 0) {
		ssize_t got = io_pread(fd, p, n < (int64_t)sizeof p ? (size_t)n : sizeof p, at);

		if (got <= 0 || p[0] || memcmp(p, p + 1, (size_t)got - 1))
			return false;
		at += got;
		n -= got;
	}
	return true;
}

void tail_name(struct ledger_fault *f, int fd, int64_t at, int64_t n)
{
	unsigned char p[32] = { 0 };
	ssize_t got = io_pread(fd, p, n < (int64_t)sizeof p ? (size_t)n : sizeof p, at);
	const char *text;

	f->kind = LEDGER_FOREIGN;
	f->offset = at;
	f->bytes = n;
	f->empty = false;
	if (got > AT_TYPE && head_like(p, (size_t)got) && p[AT_TYPE] == HEAD_HEADER) {
		text = "another ledger was put behind this one; see ledger merge";
	} else if (got > 0 && head_like(p, (size_t)got)) {
		f->kind = LEDGER_TORN;
		text = "an append that was cut";
	} else if (all_zero(fd, at, n)) {
		f->kind = LEDGER_TORN;
		text = "nothing but zero bytes: an append whose bytes never reached the disk";
	} else if (got >= 2 && p[0] == 0x1f && p[1] == 0x8b) {
		text = "gzip data that ledger append did not write";
	} else {
		text = "bytes that are no gzip member";
	}
	snprintf(f->text, sizeof f->text, "%s", text);
}

/* Creates PATH.torn-TIME-OFFSET, with something unique behind it where that is taken. */
static int aside_open(const char *path, int64_t offset, char *name, size_t size)
{
	time_t now = time(NULL);
	char stamp[32], id[ULID_SIZE];
	struct tm tm;
	int fd = -1;

	gmtime_r(&now, &tm);
	strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &tm);
	ulid_new(id);
	for (int i = 0; i < 2 && fd < 0; i++) {
		int n = snprintf(name, size, "%s.torn-%s-%lld%s%s", path, stamp, (long long)offset, i ? "-" : "", i ? id : "");

		if (n < 0 || (size_t)n >= size) {
			errno = ENAMETOOLONG;
			return -1;
		}
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			return -1;
	}
	return fd;
}

static int copy_range(int from, int64_t at, int64_t n, int to)
{
	unsigned char p[4096];

	while (n > 0) {
		ssize_t got = io_pread(from, p, n < (int64_t)sizeof p ? (size_t)n : sizeof p, at);

		if (got == 0)
			errno = EIO;
		if (got <= 0 || io_write(to, p, (size_t)got) < 0)
			return -1;
		at += got;
		n -= got;
	}
	return fsync(to);
}

int tail_cut(int fd, const char *path, struct tail *t, char *name, size_t size, struct why *w)
{
	int to = aside_open(path, t->end, name, size);
	int r = 0;

	if (to < 0)
		return why_errno(w, EX_IOERR, "saving the torn tail: %.300s: offset %lld, not cut", path, (long long)t->end);
	if (copy_range(fd, t->end, t->size - t->end, to) < 0) {
		r = why_errno(w, EX_IOERR, "saving the torn tail: %.300s: offset %lld, not cut", name, (long long)t->end);
		unlink(name);
	}
	close(to);
	if (r == 0 && ftruncate(fd, t->end) < 0)
		r = why_errno(w, EX_IOERR, "cutting the torn tail: %.300s: offset %lld", path, (long long)t->end);
	if (r == 0)
		t->size = t->end;
	return r;
}

bool tail_locked(int fd)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}
