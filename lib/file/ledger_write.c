/* ledger_write.c - appending: records collect in memory, a commit is one locked write and one sync. */
#include "ledger_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Pending records that will become one member. */
struct segment {
	size_t end; /* of its records in raw; they begin where the one before ends */
	bool steps;
	int64_t records;
	int first, runs; /* entries */
};

struct ledger_writer {
	char *path;
	double lock_seconds, since;
	struct buf raw, members, segments, entries;
	int64_t records;
	struct squeezer *squeezer;
	struct ledger_receipt last; /* our last append; sequence 0 if none */
	bool noticed; /* and not yet told */
	char notice[1200];
};

/* ---- making the file ---- */

static int write_header(int fd)
{
	unsigned char id[16], p[HEADER_SIZE];

	if (getrandom(id, sizeof id, 0) != sizeof id)
		return -1;
	header_write(id, p);
	return io_write(fd, p, sizeof p) < 0 || fsync(fd) < 0 ? -1 : 0;
}

static void sync_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(folder);
}

/* The file appears with its header or not at all; where another maker was faster, his stays. Where the file
 * system has no links an empty file is made, which the first append gives its header. */
static int create(const char *path, struct why *w)
{
	size_t n = strlen(path);
	char *temp = malloc(n + ULID_SIZE + 8), id[ULID_SIZE];
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path) + 1 : 0;
	int fd, r = 0;

	if (!temp)
		return why_set(w, EX_OSERR, "creating: %.300s: out of memory", path);
	ulid_new(id);
	sprintf(temp, "%.*s.%s.%s", folder, path, path + folder, id);
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0) {
		r = why_errno(w, EX_IOERR, "creating: %.300s", path);
		free(temp);
		return r;
	}
	if (write_header(fd) < 0)
		r = why_errno(w, EX_IOERR, "creating: %.300s", path);
	close(fd);
	if (r == 0 && link(temp, path) < 0 && errno != EEXIST) {
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
		if (fd < 0)
			r = why_errno(w, EX_IOERR, "creating: %.300s", path);
		else
			close(fd);
	}
	unlink(temp);
	free(temp);
	if (r == 0)
		sync_folder(path);
	return r;
}

/* ---- opening it under its lock ---- */

/* A stop signal ends io_lock's wait, but an append that was told to stop still has records to keep. */
static int lock_within(struct ledger_writer *l, int fd, double until, struct why *w)
{
	const struct timespec nap = { .tv_nsec = 5000000 };

	for (;;) {
		double left = until - clock_seconds();
		int r = io_lock(fd, true, left > 0 ? left : 0, l->path, w);

		if (r != -EX_TEMPFAIL)
			return r;
		if (left <= 0)
			return why_set(w, EX_TEMPFAIL, "locking: %.300s: another process holds it (waited %g s)", l->path, l->lock_seconds);
		nanosleep(&nap, NULL);
	}
}

static int open_or_create(const char *path, struct why *w)
{
	for (int tries = 0; tries < 3; tries++) {
		struct stat st;
		/* O_NONBLOCK: a fifo must be refused, not waited for */
		int r, fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);

		if (fd >= 0) {
			if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
				return fd;
			close(fd);
			return why_set(w, EX_IOERR, "opening: %.300s: not a regular file", path);
		}
		if (errno != ENOENT)
			break;
		r = create(path, w);
		if (r < 0)
			return r;
	}
	return why_errno(w, EX_IOERR, "opening: %.300s", path);
}

/* Open and locked, and still the file that the path names: it may have been replaced while we waited. */
static int open_locked(struct ledger_writer *l, struct why *w)
{
	double until = clock_seconds() + l->lock_seconds;

	for (;;) {
		struct stat a, b;
		int r, fd = open_or_create(l->path, w);

		if (fd < 0)
			return fd;
		r = lock_within(l, fd, until, w);
		if (r < 0) {
			close(fd);
			return r;
		}
		if (fstat(fd, &a) == 0 && stat(l->path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
			return fd;
		close(fd);
		if (clock_seconds() > until)
			return why_set(w, EX_TEMPFAIL, "locking: %.300s: the file is being replaced again and again", l->path);
	}
}

/* ---- pending records ---- */

static struct segment *segments(const struct ledger_writer *l, size_t *n)
{
	*n = l->segments.n / sizeof(struct segment);
	return (struct segment *)(void *)l->segments.p;
}

static struct ledger_steps *entries(const struct ledger_writer *l)
{
	return (struct ledger_steps *)(void *)l->entries.p;
}

static bool segment_takes(const struct ledger_writer *l, const struct segment *s, size_t begin, bool steps)
{
	return s->steps == steps && l->raw.n - begin < MEMBER_RAW && (!steps || s->records < MEMBER_STEPS);
}

/* The entry for a run in the last segment, NULL if it has none. */
static struct ledger_steps *entry_of(const struct ledger_writer *l, const struct segment *s, const char *run)
{
	for (int i = s->runs - 1; i >= 0; i--)
		if (strcmp(entries(l)[s->first + i].run, run) == 0)
			return &entries(l)[s->first + i];
	return NULL;
}

static int new_segment(struct ledger_writer *l, bool steps)
{
	struct segment s = { .end = l->raw.n, .steps = steps, .first = (int)(l->entries.n / sizeof(struct ledger_steps)) };

	return buf_add(&l->segments, &s, sizeof s);
}

static int add_entry(struct ledger_writer *l, struct segment *s, const char *run)
{
	struct ledger_steps e = { .examples = -1 };
	int r;

	snprintf(e.run, sizeof e.run, "%s", run);
	r = buf_add(&l->entries, &e, sizeof e);
	if (r == 0)
		s->runs++;
	return r;
}

/* The segment that takes a record of this run; a new one where the last does not. */
static int segment_for(struct ledger_writer *l, bool steps, const char *run, struct segment **out)
{
	size_t n;
	struct segment *s = segments(l, &n);
	size_t begin = n > 1 ? s[n - 2].end : 0;
	int r = 0;

	*out = NULL;
	if (n == 0 || !segment_takes(l, &s[n - 1], begin, steps) ||
	    (steps && s[n - 1].runs == ENTRY_MAX && !entry_of(l, &s[n - 1], run)))
		r = new_segment(l, steps);
	if (r < 0)
		return r;
	s = segments(l, &n);
	*out = &s[n - 1];
	if (steps && !entry_of(l, *out, run))
		r = add_entry(l, *out, run);
	return r;
}

int ledger_add(struct ledger_writer *l, const struct view *v, struct why *w)
{
	char run[ULID_SIZE];
	struct segment *s = NULL;
	bool steps;
	int r;

	view_run(v, run);
	steps = v->kind == KIND_step && ulid_valid(run); /* others cannot stand in a head: they are never skipped */
	r = buf_room(&l->raw, v->size);
	if (r == 0)
		r = segment_for(l, steps, run, &s);
	if (r < 0)
		return why_set(w, EX_OSERR, "appending: %.300s: record %lld: out of memory", l->path, (long long)v->number);
	memcpy(l->raw.p + l->raw.n, v->raw, v->size);
	l->raw.n += v->size;
	s->end = l->raw.n;
	s->records++;
	if (steps)
		ledger_steps_add(entry_of(l, s, run), v);
	if (l->records++ == 0)
		l->since = clock_seconds();
	return 0;
}

int64_t ledger_pending(const struct ledger_writer *l)
{
	return l->records;
}

const unsigned char *ledger_pending_bytes(const struct ledger_writer *l, size_t *n)
{
	*n = l->raw.n;
	return l->raw.p;
}

bool ledger_full(const struct ledger_writer *l)
{
	return l->raw.n >= APPEND_RAW || (l->records && clock_seconds() - l->since >= MEMBER_SECONDS);
}

double ledger_age(const struct ledger_writer *l)
{
	return l->records ? clock_seconds() - l->since : 0;
}

/* ---- commit ---- */

static int build(struct ledger_writer *l)
{
	size_t n, begin = 0;
	const struct segment *s = segments(l, &n);
	int r = 0;

	l->members.n = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct ledger_steps *run = s[i].runs ? entries(l) + s[i].first : NULL;

		if (s[i].records)
			r = squeezer_member(l->squeezer, s[i].steps ? HEAD_STEPS : HEAD_DATA, l->raw.p + begin, s[i].end - begin, s[i].records, run, s[i].runs, &l->members);
		begin = s[i].end;
	}
	return r == 0 ? buf_room(&l->members, FOOTER_SIZE) : r;
}

static void note_cut(struct ledger_writer *l, const struct ledger_fault *f, const char *name)
{
	snprintf(l->notice, sizeof l->notice, "checking the tail: %.300s: offset %lld, %lld bytes: %s: %s; saved in %.300s and cut",
	         l->path, (long long)f->offset, (long long)f->bytes, ledger_fault_name(f->kind), f->text, name);
	l->noticed = true;
}

/* Leaves the file ending with a whole append (or with nothing), t telling which. */
static int make_whole(struct ledger_writer *l, int fd, struct tail *t, struct why *w)
{
	char name[4200];
	int r = tail_find(fd, l->path, true, l->last.sequence ? &l->last : NULL, t, w);

	if (r < 0 || t->end == t->size)
		return r;
	r = tail_cut(fd, l->path, t, name, sizeof name, w);
	if (r == 0)
		note_cut(l, &t->fault, name);
	return r;
}

/* An empty file gets its header in the write of its first append. */
static int start_empty(struct tail *t, unsigned char header[HEADER_SIZE])
{
	if (getrandom(t->file, sizeof t->file, 0) != (ssize_t)sizeof t->file)
		return -EX_OSERR;
	header_write(t->file, header);
	t->end = HEADER_SIZE;
	return sha_of(header, HEADER_SIZE, t->hash);
}

static int put(struct ledger_writer *l, int fd, int64_t at, struct why *w)
{
	int r = 0;

	if (lseek(fd, at, SEEK_SET) < 0 || io_write(fd, l->members.p, l->members.n) < 0)
		r = why_errno(w, EX_IOERR, "appending: %.300s: offset %lld", l->path, (long long)at);
	else if (fdatasync(fd) < 0)
		r = why_errno(w, EX_IOERR, "syncing: %.300s: offset %lld", l->path, (long long)at);
	/* Not acknowledged: cut back to what was. Where that fails too, the next append finds it torn. */
	if (r < 0 && ftruncate(fd, at) < 0 && w) {
		size_t n = strlen(w->text);
		snprintf(w->text + n, sizeof w->text - n, "; and it could not be cut back");
	}
	return r;
}

static int commit_locked(struct ledger_writer *l, int fd, struct ledger_receipt *out, struct why *w)
{
	unsigned char header[HEADER_SIZE], footer[FOOTER_SIZE];
	struct ledger_receipt r = { .records = l->records };
	struct tail t;
	bool fresh;
	int code = make_whole(l, fd, &t, w);

	if (code < 0)
		return code;
	fresh = t.end == 0;
	if (fresh)
		code = start_empty(&t, header);
	memcpy(r.file, t.file, 16);
	r.sequence = (int64_t)((uint64_t)t.sequence + 1);
	r.end = t.end + (int64_t)l->members.n + FOOTER_SIZE;
	if (code == 0)
		code = footer_write(&r, t.hash, l->members.p, l->members.n, footer);
	if (code == 0)
		code = buf_add(&l->members, footer, FOOTER_SIZE);
	if (code == 0 && fresh) {
		code = buf_room(&l->members, HEADER_SIZE);
		if (code == 0) {
			memmove(l->members.p + HEADER_SIZE, l->members.p, l->members.n);
			memcpy(l->members.p, header, HEADER_SIZE);
			l->members.n += HEADER_SIZE;
		}
	}
	if (code < 0)
		return why_set(w, EX_OSERR, "appending: %.300s: out of memory", l->path);
	code = put(l, fd, fresh ? 0 : t.end, w);
	if (code == 0)
		*out = l->last = r;
	return code;
}

int ledger_commit(struct ledger_writer *l, struct ledger_receipt *r, struct why *w)
{
	int fd, code;

	if (!l->records)
		return 0;
	if (build(l) < 0)
		return why_set(w, EX_OSERR, "appending: %.300s: out of memory", l->path);
	fd = open_locked(l, w);
	if (fd < 0)
		return fd;
	code = commit_locked(l, fd, r, w);
	close(fd);
	if (code < 0)
		return code;
	l->raw.n = l->segments.n = l->entries.n = 0;
	l->records = 0;
	return 1;
}

const char *ledger_notice(struct ledger_writer *l)
{
	bool fresh = l->noticed;

	l->noticed = false;
	return fresh ? l->notice : NULL;
}

/* ---- the writer itself ---- */

static int check_header(const char *path, struct why *w)
{
	struct tail t;
	int r, fd = open_or_create(path, w);

	if (fd < 0)
		return fd;
	r = tail_find(fd, path, false, NULL, &t, w);
	close(fd);
	return r;
}

int ledger_writer_open(struct ledger_writer **out, const char *path, double lock_seconds, struct why *w)
{
	struct ledger_writer *l;
	int r = check_header(path, w);

	*out = NULL;
	if (r < 0)
		return r;
	l = calloc(1, sizeof *l);
	if (l) {
		l->path = strdup(path);
		l->squeezer = squeezer_new();
	}
	if (!l || !l->path || !l->squeezer) {
		ledger_writer_close(l);
		return why_set(w, EX_OSERR, "opening: %.300s: out of memory", path);
	}
	l->lock_seconds = lock_seconds;
	*out = l;
	return 0;
}

void ledger_writer_close(struct ledger_writer *l)
{
	if (!l)
		return;
	squeezer_free(l->squeezer);
	buf_free(&l->raw);
	buf_free(&l->members);
	buf_free(&l->segments);
	buf_free(&l->entries);
	free(l->path);
	free(l);
}
