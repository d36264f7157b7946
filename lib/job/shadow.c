/* shadow.c - a working folder that can be written to, in the place of the user's. */
#include "shadow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SMALL = 1 << 20,      /* bytes; a smaller file is copied */
	MOST_BYTES = 1 << 28, /* of small files */
	MOST_ENTRIES = 20000, /* in all */
	MOST_IN_FOLDER = 1000,
	DEPTH = 8,
	CHUNK = 1 << 16,
};

/* A shadow while it is made. */
struct maker {
	const struct shadow_plan *plan;
	struct stat root; /* of the shadow, which may lie below what it is a copy of */
	dev_t dev;        /* file system of the working folder */
	int64_t bytes, entries; /* so far */
	struct why *why;
};

static int no_room(struct maker *m, const char *to)
{
	return why_errno(m->why, EX_IOERR, "copy the working folder: to %s", to);
}

static bool join(char out[4096], const char *dir, const char *name)
{
	int n = snprintf(out, 4096, "%s%s%s", dir, !strcmp(dir, "/") ? "" : "/", name);

	return n > 0 && n < 4096;
}

/* ---- one file ---- */

static int pump(int in, int out)
{
	char chunk[CHUNK];
	ssize_t n;

	while ((n = copy_file_range(in, NULL, out, NULL, 1 << 30, 0)) > 0)
		;
	if (n == 0)
		return 0;
	if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
		return -1;
	while ((n = io_read(in, chunk, sizeof chunk)) > 0)
		if (io_write(out, chunk, (size_t)n) < 0)
			return -1;
	return n < 0 ? -1 : 0;
}

/* With its mode and its time: compiled modules are valid by the time of their source. 1: it cannot be read. */
static int copy_file(const char *from, const char *to)
{
	struct stat st;
	int in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), out, rc;

	if (in < 0 || fstat(in, &st) < 0 || !S_ISREG(st.st_mode)) {
		if (in >= 0)
			close(in);
		return 1;
	}
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (st.st_mode & 0777) | S_IWUSR);
	if (out < 0) {
		close(in);
		return -1;
	}
	rc = ioctl(out, FICLONE, in) == 0 ? 0 : pump(in, out);
	(void)!futimens(out, (struct timespec[2]){ st.st_atim, st.st_mtim });
	if (close(out) < 0)
		rc = -1;
	close(in);
	return rc;
}

/* zip (PyTorch, numpy), safetensors, pickle, HDF5, gzip. */
static bool looks_saved(const char *path)
{
	unsigned char b[9] = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd >= 0 ? io_read(fd, b, sizeof b) : -1;

	if (fd >= 0)
		close(fd);
	return n == sizeof b && (!memcmp(b, "PK\3\4", 4) || b[8] == '{' || (b[0] == 0x80 && b[1] < 6) || !memcmp(b, "\x89HDF", 4));
}

/* ---- what becomes of an entry ---- */

static bool listed(char *const *list, int n, const char *path)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(list[i], path))
			return true;
	return false;
}

static bool above(char *const *list, int n, const char *path)
{
	size_t k = strlen(path);

	for (int i = 0; i < n; i++)
		if (!strncmp(list[i], path, k) && list[i][k] == '/')
			return true;
	return false;
}

static bool below_any(char *const *list, int n, const char *path)
{
	for (int i = 0; i < n; i++) {
		size_t k = strlen(list[i]);

		if (!strncmp(list[i], path, k) && path[k] == '/')
			return true;
	}
	return false;
}

static bool is_omitted(const struct shadow_plan *p, const char *path, const struct stat *st)
{
	return listed(p->omit, p->omits, path) || (!S_ISDIR(st->st_mode) && st->st_mtime >= p->since && below_any(p->fresh, p->freshes, path));
}

/* Something in it is written to. */
static bool is_written(const struct shadow_plan *p, const char *path)
{
	return above(p->omit, p->omits, path) || above(p->copy, p->copies, path) || listed(p->fresh, p->freshes, path) || below_any(p->fresh, p->freshes, path);
}

static int entries(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	if (!d)
		return MOST_IN_FOLDER + 1;
	while (n <= MOST_IN_FOLDER && readdir(d))
		n++;
	closedir(d);
	return n;
}

static bool is_linked(const struct maker *m, const char *path, const char *name, const struct stat *st, int depth)
{
	char config[4096];

	return st->st_dev != m->dev || *name == '.' || depth >= DEPTH || m->entries >= MOST_ENTRIES || entries(path) > MOST_IN_FOLDER || (join(config, path, "pyvenv.cfg") && access(config, F_OK) == 0);
}

static bool is_copied(const struct maker *m, const char *path, const struct stat *st)
{
	if (listed(m->plan->copy, m->plan->copies, path))
		return true;
	if (st->st_size <= SMALL)
		return m->bytes + st->st_size <= MOST_BYTES;
	return m->plan->guess && looks_saved(path);
}

static int link_to(struct maker *m, const char *from, const char *to)
{
	return symlink(from, to) < 0 ? no_room(m, to) : 0;
}

static int take_file(struct maker *m, const char *from, const char *to, const struct stat *st)
{
	int rc;

	if (!is_copied(m, from, st))
		return link_to(m, from, to);
	rc = copy_file(from, to);
	if (rc < 0)
		return no_room(m, to);
	if (rc > 0) /* what cannot be read cannot be read there either */
		return link_to(m, from, to);
	m->bytes += st->st_size <= SMALL ? st->st_size : 0;
	return 0;
}

static int fill(struct maker *m, const char *from, const char *to, int depth);

/* Made by the run whose files are left out: by its birth, or where no file system says that its last change. */
static bool is_new(const struct shadow_plan *p, const char *path)
{
	struct statx s;

	if (!below_any(p->fresh, p->freshes, path) || statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME | STATX_MTIME, &s) < 0)
		return false;
	return (s.stx_mask & STATX_BTIME ? s.stx_btime.tv_sec : s.stx_mtime.tv_sec) >= p->since;
}

/* A folder that is empty without the run's files, and is the run's, would look like a checkpoint with nothing in it. */
static int take_folder(struct maker *m, const char *from, const char *to, int depth)
{
	int rc;

	if (mkdir(to, 0777) < 0)
		return no_room(m, to);
	rc = fill(m, from, to, depth + 1);
	if (!rc && is_new(m->plan, from))
		(void)!rmdir(to); /* unless something is in it */
	return rc;
}

static int take(struct maker *m, const char *dir, const char *name, const char *into, int depth)
{
	char from[4096], to[4096];
	struct stat st;
	bool written;

	if (!strcmp(name, "__pycache__"))
		return 0;
	if (!join(from, dir, name) || !join(to, into, name))
		return why_set(m->why, EX_IOERR, "copy the working folder: to %s/%s: the name is too long", into, name);
	m->entries++;
	if (lstat(from, &st) < 0 || is_omitted(m->plan, from, &st))
		return 0;
	if (st.st_dev == m->root.st_dev && st.st_ino == m->root.st_ino)
		return 0;
	written = is_written(m->plan, from);
	if (written && S_ISLNK(st.st_mode) && stat(from, &st) < 0)
		return 0;
	if (S_ISDIR(st.st_mode) && (written || !is_linked(m, from, name, &st, depth)))
		return take_folder(m, from, to, depth);
	if (S_ISREG(st.st_mode))
		return take_file(m, from, to, &st);
	return link_to(m, from, to);
}

static int fill(struct maker *m, const char *from, const char *to, int depth)
{
	DIR *d = opendir(from);
	struct dirent *e;
	int rc = 0;

	if (!d && depth)
		return 0; /* as empty as it looks to the program */
	if (!d)
		return why_errno(m->why, EX_NOINPUT, "copy the working folder: %s", from);
	while (!rc && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			rc = take(m, from, e->d_name, to, depth);
	closedir(d);
	return rc;
}

/* ---- the way to it ---- */

/* A folder on the way: its entries as links, but the next one on the way, which is made. */
static int step(struct maker *m, const char *from, const char *to, const char *next)
{
	char a[4096], b[4096];
	DIR *d = opendir(from);
	struct dirent *e;
	int n = 0;

	while (d && n++ < MOST_IN_FOLDER && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && strcmp(e->d_name, next) && join(a, from, e->d_name) && join(b, to, e->d_name))
			(void)!symlink(a, b);
	if (d)
		closedir(d);
	if (!join(b, to, next))
		return why_set(m->why, EX_IOERR, "copy the working folder: to %s: the name is too long", to);
	return mkdir(b, 0777) < 0 ? no_room(m, b) : 0;
}

static int walk(struct maker *m, const char *root, char *to, size_t size)
{
	char from[4096] = "/", part[256];
	const char *p = m->plan->cwd;
	int rc = 0;

	snprintf(to, size, "%s", root);
	while (!rc && *(p += strspn(p, "/"))) {
		size_t n = strcspn(p, "/"), used = strlen(to), under = strlen(from);

		if (n >= sizeof part || used + n + 2 > size || under + n + 2 > sizeof from)
			return why_set(m->why, EX_IOERR, "copy the working folder: %s: the name is too long", m->plan->cwd);
		snprintf(part, sizeof part, "%.*s", (int)n, p);
		rc = step(m, from, to, part);
		snprintf(to + used, size - used, "/%s", part);
		snprintf(from + under, sizeof from - under, "%s%s", under > 1 ? "/" : "", part);
		p += n;
	}
	return rc;
}

int shadow_make(const char *root, const struct shadow_plan *p, char *cwd, size_t size, struct why *w)
{
	struct maker m = { .plan = p, .why = w };
	int rc;

	if (*p->cwd != '/')
		return why_set(w, EX_NOINPUT, "copy the working folder: %s: no absolute path", p->cwd);
	if (access(p->cwd, R_OK | X_OK) < 0 || stat(p->cwd, &m.root) < 0)
		return why_errno(w, EX_NOINPUT, "copy the working folder: %s", p->cwd);
	m.dev = m.root.st_dev;
	if (mkdir(root, 0700) < 0 || stat(root, &m.root) < 0)
		return no_room(&m, root);
	rc = walk(&m, root, cwd, size);
	if (!rc)
		rc = fill(&m, p->cwd, cwd, 0);
	if (rc)
		temp_clear(root);
	return rc;
}

/* ---- a copy of it ---- */

static int copy_link(const char *from, const char *to)
{
	char target[4096];
	ssize_t n = readlink(from, target, sizeof target - 1);

	if (n < 0)
		return -1;
	target[n] = 0;
	return symlink(target, to);
}

static int copy_tree(const char *from, const char *to, struct why *w)
{
	char a[4096], b[4096];
	DIR *d = opendir(from);
	struct dirent *e;
	struct stat st;
	int rc = 0;

	if (!d || mkdir(to, 0777) < 0) {
		rc = why_errno(w, EX_IOERR, "copy a folder of a replay: %s", to);
		if (d)
			closedir(d);
		return rc;
	}
	while (!rc && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || !join(a, from, e->d_name) || !join(b, to, e->d_name) || lstat(a, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode))
			rc = copy_tree(a, b, w);
		else if ((S_ISLNK(st.st_mode) && copy_link(a, b) < 0) || (S_ISREG(st.st_mode) && copy_file(a, b) < 0))
			rc = why_errno(w, EX_IOERR, "copy a folder of a replay: %s", b);
	}
	closedir(d);
	return rc;
}

int shadow_copy(const char *from, const char *to, struct why *w)
{
	int rc = copy_tree(from, to, w);

	if (rc)
		temp_clear(to);
	return rc;
}

bool shadow_refused(const char *why)
{
	return strstr(why, "Permission") || strstr(why, "Read-only") || strstr(why, "No space");
}
