/* bytes.c - a data file in memory: mapped where it is plain, inflated where it is gzip. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static int map(struct bytes *b, int fd, int64_t size, const char *path, struct why *w)
{
	b->n = size;
	b->p = (const unsigned char *)"";
	if (!size)
		return 0;
	b->owned = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (b->owned == MAP_FAILED) {
		b->owned = NULL;
		return why_errno(w, EX_IOERR, "mapping: %.300s", path);
	}
	b->owned_size = size;
	b->mapped = true;
	b->p = b->owned;
	return 0;
}

/* ---- gzip ---- */

struct inflater {
	const unsigned char *in;
	int64_t n, at;
	struct buf out;
	int64_t max;
	const char *path;
	int member;
};

static int gzip_fault(const struct inflater *f, const z_stream *z, int code, struct why *w)
{
	if (code == Z_MEM_ERROR)
		return why_set(w, EX_OSERR, "inflating: %.300s: no memory", f->path);
	if (code == Z_BUF_ERROR)
		return why_set(w, EX_DATAERR, "inflating: %.300s: ends inside gzip member %d", f->path, f->member);
	return why_set(w, EX_DATAERR, "inflating: %.300s: offset %lld, gzip member %d: %.300s", f->path, (long long)f->at,
	    f->member, z->msg ? z->msg : "damaged");
}

/* One call of inflate: moves input and output on; 1 the member has ended. */
static int inflate_some(struct inflater *f, z_stream *z, struct why *w)
{
	int64_t left = f->n - f->at;
	size_t room, given = left > INT_MAX ? INT_MAX : (size_t)left;
	int r;

	if ((int64_t)f->out.n > f->max)
		return why_set(w, EX_DATAERR, "inflating: %.300s: holds more than %lld bytes", f->path, (long long)f->max);
	if (buf_room(&f->out, 1 << 16))
		return why_set(w, EX_OSERR, "inflating: %.300s: no memory", f->path);
	room = f->out.cap - f->out.n;
	room = room > INT_MAX ? INT_MAX : room;
	z->next_in = (Bytef *)(uintptr_t)(f->in + f->at);
	z->avail_in = (uInt)given;
	z->next_out = f->out.p + f->out.n;
	z->avail_out = (uInt)room;
	r = inflate(z, Z_NO_FLUSH);
	f->at += (int64_t)(given - z->avail_in);
	f->out.n += room - z->avail_out;
	if (r == Z_STREAM_END)
		return 1;
	return r == Z_OK ? 0 : gzip_fault(f, z, r, w);
}

static int inflate_member(struct inflater *f, struct why *w)
{
	z_stream z = { 0 };
	int r;

	f->member++;
	if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
		return why_set(w, EX_OSERR, "inflating: %.300s: no memory", f->path);
	while (!(r = inflate_some(f, &z, w)))
		;
	inflateEnd(&z);
	return r < 0 ? r : 0;
}

static bool is_gzip(const unsigned char *p, int64_t n)
{
	return n >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

/* Replaces b's gzip bytes by what they hold. */
static int inflate_whole(struct bytes *b, const char *path, int64_t max, struct why *w)
{
	struct inflater f = { .in = b->p, .n = b->n, .max = max, .path = path };
	int r = 0;

	while (!r && f.at < f.n) {
		if (!is_gzip(f.in + f.at, f.n - f.at))
			r = why_set(w, EX_DATAERR, "inflating: %.300s: offset %lld: %lld bytes behind the last gzip member are no gzip",
			    path, (long long)f.at, (long long)(f.n - f.at));
		else
			r = inflate_member(&f, w);
	}
	if (!r && (int64_t)f.out.n > max)
		r = why_set(w, EX_DATAERR, "inflating: %.300s: holds more than %lld bytes", path, (long long)max);
	if (r) {
		buf_free(&f.out);
		return r;
	}
	bytes_close(b);
	b->owned = f.out.p;
	b->owned_size = (int64_t)f.out.cap;
	b->p = f.out.p ? f.out.p : (const unsigned char *)"";
	b->n = (int64_t)f.out.n;
	return 0;
}

int bytes_open(struct bytes *b, const char *path, int64_t max_bytes, struct why *w)
{
	struct stat st;
	int r, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a fifo is refused, not waited for */

	memset(b, 0, sizeof *b);
	if (fd < 0)
		return why_errno(w, errno == ENOENT || errno == EACCES || errno == ENOTDIR ? EX_NOINPUT : EX_IOERR, "opening: %.300s", path);
	if (fstat(fd, &st))
		r = why_errno(w, EX_IOERR, "looking at: %.300s", path);
	else if (S_ISDIR(st.st_mode))
		r = why_set(w, EX_NOINPUT, "opening: %.300s: is a directory", path);
	else if (!S_ISREG(st.st_mode)) /* a run is read again: by trials, by a resume, by a replay */
		r = why_set(w, EX_NOINPUT, "opening: %.300s: is no regular file, so it cannot be read again", path);
	else
		r = map(b, fd, st.st_size, path, w);
	close(fd);
	if (!r && is_gzip(b->p, b->n))
		r = inflate_whole(b, path, max_bytes, w);
	if (r)
		bytes_close(b);
	return r;
}

void bytes_close(struct bytes *b)
{
	if (b->mapped)
		munmap(b->owned, (size_t)b->owned_size);
	else
		free(b->owned);
	memset(b, 0, sizeof *b);
}
