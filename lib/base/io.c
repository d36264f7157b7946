/* io.c - whole reads and writes, files that appear whole or not at all, locks. */
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

ssize_t io_read(int fd, void *p, size_t n)
{
	size_t got = 0;

	while (got < n) {
		ssize_t r = read(fd, (char *)p + got, n - got);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -1;
		if (r == 0)
			break;
		got += (size_t)r;
	}
	return (ssize_t)got;
}

int io_write(int fd, const void *p, size_t n)
{
	while (n) {
		ssize_t r = write(fd, p, n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -1;
		p = (const char *)p + r;
		n -= (size_t)r;
	}
	return 0;
}

ssize_t io_pread(int fd, void *p, size_t n, off_t at)
{
	size_t got = 0;

	while (got < n) {
		ssize_t r = pread(fd, (char *)p + got, n - got, at + (off_t)got);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -1;
		if (r == 0)
			break;
		got += (size_t)r;
	}
	return (ssize_t)got;
}

/* Reads fd to its end; out is left as it was on failure. */
static int slurp_fd(int fd, const char *path, size_t max, struct buf *out, struct why *w)
{
	size_t before = out->n, step = 65536;
	ssize_t got;

	for (;;) {
		if (buf_room(out, step) < 0) {
			out->n = before;
			return why_set(w, EX_OSERR, "reading: %.300s: out of memory", path);
		}
		got = io_read(fd, out->p + out->n, step);
		if (got < 0) {
			out->n = before;
			return why_errno(w, EX_IOERR, "reading: %.300s", path);
		}
		out->n += (size_t)got;
		if (out->n - before > max) {
			out->n = before;
			return why_set(w, EX_DATAERR, "reading: %.300s: larger than %zu bytes", path, max);
		}
		if ((size_t)got < step)
			return 0;
	}
}

int io_slurp(const char *path, size_t max, struct buf *out, struct why *w)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return why_errno(w, EX_NOINPUT, "reading: %.300s", path);
	r = slurp_fd(fd, path, max, out, w);
	close(fd);
	return r;
}

struct whole {
	int fd, dir;
	char *path, *temp; /* in one block behind the struct */
};

/* Places ".base.ULID.tmp" in path's folder into temp; returns the folder's length in path. */
static size_t temp_name(char *temp, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
	char id[ULID_SIZE];

	ulid_new(id);
	memcpy(temp, path, folder);
	sprintf(temp + folder, ".%s.%s.tmp", path + folder, id);
	return folder;
}

static int open_folder(char *temp, size_t length)
{
	char keep = temp[length];
	int fd;

	if (length == 0)
		return open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	temp[length] = '\0';
	fd = open(temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	temp[length] = keep;
	return fd;
}

int whole_begin(struct whole **out, const char *path, struct why *w)
{
	size_t n = strlen(path) + 1, folder;
	struct whole *f = malloc(sizeof *f + 2 * n + ULID_SIZE + 8);

	*out = NULL;
	if (!f)
		return why_set(w, EX_OSERR, "writing: %.300s: out of memory", path);
	f->path = (char *)(f + 1);
	f->temp = f->path + n;
	memcpy(f->path, path, n);
	folder = temp_name(f->temp, path);
	f->dir = open_folder(f->temp, folder);
	f->fd = f->dir < 0 ? -1 : open(f->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (f->fd < 0) {
		int r = why_errno(w, EX_IOERR, "writing: %.300s", path);

		if (f->dir >= 0)
			close(f->dir);
		free(f);
		return r;
	}
	*out = f;
	return 0;
}

int whole_fd(const struct whole *f)
{
	return f->fd;
}

int whole_commit(struct whole *f, struct why *w)
{
	int r = 0;

	if (fsync(f->fd) < 0)
		r = why_errno(w, EX_IOERR, "syncing: %.300s", f->path);
	if (close(f->fd) < 0 && r == 0)
		r = why_errno(w, EX_IOERR, "closing: %.300s", f->path);
	f->fd = -1;
	if (r == 0 && rename(f->temp, f->path) < 0)
		r = why_errno(w, EX_IOERR, "renaming: %.300s", f->path);
	if (r < 0) {
		whole_abandon(f);
		return r;
	}
	/* Some file systems cannot sync a folder and say EINVAL. */
	if (fsync(f->dir) < 0 && errno != EINVAL)
		r = why_errno(w, EX_IOERR, "syncing the folder of: %.300s", f->path);
	close(f->dir);
	free(f);
	return r;
}

void whole_abandon(struct whole *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	unlink(f->temp);
	close(f->dir);
	free(f);
}

int io_lock(int fd, bool exclusive, double seconds, const char *path, struct why *w)
{
	const struct timespec nap = { .tv_nsec = 10000000 };
	double end = clock_seconds() + seconds;
	struct flock lock = { .l_type = exclusive ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET };

	for (;;) {
		if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
			return 0;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN && errno != EACCES)
			return why_errno(w, EX_IOERR, "locking: %.300s", path);
		if (clock_seconds() >= end)
			return why_set(w, EX_TEMPFAIL, "locking: %.300s: another process holds it (waited %g s)", path, seconds);
		if (stop_wanted())
			return why_set(w, EX_TEMPFAIL, "locking: %.300s: interrupted while waiting for another process", path);
		nanosleep(&nap, NULL);
	}
}
