/* written.c - which files below some folders are new or changed: two walks and a comparison. */
#include "written.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { MOST_ENTRIES = 20000, MOST_DEPTH = 6 };
static const double MOST_SECONDS = 2;

struct file {
	char *path; /* owned; as it is shown */
	dev_t dev;
	ino_t ino;
	int64_t size;
	double changed; /* seconds since 1970 */
	bool held;      /* somebody still writes to it */
};

struct files {
	struct file *p;
	size_t n, cap;
	bool partial;
};

struct written {
	char *cwd, *save; /* absolute; save may be NULL */
	double start;
	struct files before;
};

static double wall(void)
{
	struct timestamp t = clock_now();

	return (double)t.seconds + t.nanoseconds * 1e-9;
}

static void files_free(struct files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->p[i].path);
	free(f->p);
	*f = (struct files){ 0 };
}

/* Takes path over, also on failure. */
static int files_add(struct files *f, char *path, const struct stat *st)
{
	if (!path)
		return -EX_OSERR;
	if (f->n == f->cap) {
		size_t cap = f->cap ? f->cap * 2 : 64;
		struct file *p = realloc(f->p, cap * sizeof *p);

		if (!p) {
			free(path);
			return -EX_OSERR;
		}
		f->p = p;
		f->cap = cap;
	}
	f->p[f->n++] = (struct file){
		.path = path, .dev = st->st_dev, .ino = st->st_ino, .size = st->st_size,
		.changed = (double)st->st_mtim.tv_sec + (double)st->st_mtim.tv_nsec * 1e-9,
	};
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

/* ---- a walk ---- */

struct folder {
	char *path; /* owned */
	size_t shown; /* its name as shown begins here; the path's end: nothing of it is */
	int depth;
	dev_t dev;
};

struct walk {
	struct folder *queue; /* folders near the top first: what a bound cuts off lies deep */
	size_t n, cap, next;
	struct stat apart[2]; /* the two folders to begin with: not entered from one another */
	int entries;
	double until;
	struct files *out;
};

static int walk_push(struct walk *k, char *path, size_t shown, int depth, dev_t dev)
{
	if (!path)
		return -EX_OSERR;
	if (k->n == k->cap) {
		size_t cap = k->cap ? k->cap * 2 : 64;
		struct folder *p = realloc(k->queue, cap * sizeof *p);

		if (!p) {
			free(path);
			return -EX_OSERR;
		}
		k->queue = p;
		k->cap = cap;
	}
	k->queue[k->n++] = (struct folder){ path, shown, depth, dev };
	return 0;
}

static char *joined(const char *folder, const char *name)
{
	char *s = NULL;

	return asprintf(&s, "%s%s%s", folder, *folder && folder[strlen(folder) - 1] != '/' ? "/" : "", name) < 0 ? NULL : s;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Files there are no files: a walk through them has no end. */
static bool of_the_kernel(const char *path)
{
	static const long magic[] = { 0x9fa0 /* proc */, 0x62656572 /* sysfs */, 0x27e0eb /* cgroup */, 0x63677270 /* cgroup2 */,
		0x64626720 /* debugfs */, 0x74726163 /* tracefs */, 0x1cd1 /* devpts */ };
	struct statfs fs;

	if (statfs(path, &fs) < 0)
		return true;
	for (size_t i = 0; i < sizeof magic / sizeof *magic; i++)
		if (fs.f_type == magic[i])
			return true;
	return false;
}

static int see_folder(struct walk *k, const struct folder *in, const char *name, const struct stat *st)
{
	char *path;
	int r;

	if (*name == '.' || !strcmp(name, "__pycache__") || same_file(st, &k->apart[0]) || same_file(st, &k->apart[1]))
		return 0;
	if (in->depth == MOST_DEPTH) {
		k->out->partial = true;
		return 0;
	}
	path = joined(in->path, name);
	if (path && st->st_dev != in->dev && of_the_kernel(path)) {
		free(path);
		return 0;
	}
	r = walk_push(k, path, in->shown, in->depth + 1, st->st_dev);
	return r;
}

static int see_file(struct walk *k, const struct folder *in, const char *name, const struct stat *st)
{
	const char *shown = in->path + in->shown;

	return files_add(k->out, joined(*shown == '/' && in->shown ? shown + 1 : shown, name), st);
}

static int walk_folder(struct walk *k, const struct folder *in)
{
	DIR *d = opendir(in->path);
	struct dirent *e;
	struct stat st;
	int r = 0;

	while (d && r == 0 && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (k->entries++ >= MOST_ENTRIES || clock_seconds() > k->until) {
			k->out->partial = true;
			break;
		}
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISDIR(st.st_mode))
			r = see_folder(k, in, e->d_name, &st);
		else if (S_ISREG(st.st_mode))
			r = see_file(k, in, e->d_name, &st);
	}
	if (d)
		closedir(d);
	return r;
}

/* How much of a save folder's path is not shown: what it shares with cwd. */
static size_t below(const char *cwd, const char *path)
{
	size_t n = strlen(cwd);

	return !strncmp(cwd, path, n) && path[n] == '/' ? n : 0;
}

static int walk_begin(struct walk *k, const struct written *s)
{
	char *cwd = realpath(s->cwd, NULL), *save = s->save ? realpath(s->save, NULL) : NULL;
	bool have_cwd = cwd && !stat(cwd, &k->apart[0]), have_save = save && !stat(save, &k->apart[1]);
	int r = 0;

	if (have_save && !(have_cwd && same_file(&k->apart[0], &k->apart[1])))
		r = walk_push(k, strdup(save), have_cwd ? below(cwd, save) : 0, 0, k->apart[1].st_dev);
	if (r == 0 && have_cwd)
		r = walk_push(k, strdup(cwd), strlen(cwd), 0, k->apart[0].st_dev);
	free(cwd);
	free(save);
	return r;
}

static int walk(const struct written *s, struct files *out)
{
	struct walk k = { .out = out, .until = clock_seconds() + MOST_SECONDS };
	int r = walk_begin(&k, s);

	for (; r == 0 && k.next < k.n && k.entries <= MOST_ENTRIES; k.next++) {
		struct folder in = k.queue[k.next]; /* the queue moves as it grows */

		r = walk_folder(&k, &in);
	}
	for (size_t i = 0; i < k.n; i++)
		free(k.queue[i].path);
	free(k.queue);
	if (r < 0)
		files_free(out);
	return r;
}

/* ---- before and after ---- */

struct written *written_new(const char *cwd, const char *save_dir)
{
	struct written *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->start = wall();
	s->cwd = cwd ? strdup(cwd) : realpath(".", NULL);
	if (s->cwd && save_dir)
		s->save = *save_dir == '/' ? strdup(save_dir) : joined(s->cwd, save_dir);
	if (!s->cwd || (save_dir && !s->save) || walk(s, &s->before) < 0) {
		written_free(s);
		return NULL;
	}
	if (s->before.n)
		qsort(s->before.p, s->before.n, sizeof *s->before.p, by_path);
	return s;
}

/* Of what was not seen before, where not all was seen, the time must say it; clocks of file systems tick every 10 ms. */
static bool is_changed(const struct written *s, const struct file *now)
{
	const struct file *was = s->before.n ? bsearch(now, s->before.p, s->before.n, sizeof *now, by_path) : NULL;

	if (!was)
		return !s->before.partial || now->changed >= s->start - 0.02;
	return was->size != now->size || was->changed < now->changed || was->changed > now->changed || was->ino != now->ino || was->dev != now->dev;
}

/* Leaves only what is new or changed. */
static void keep_changed(const struct written *s, struct files *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		if (is_changed(s, &f->p[i]))
			f->p[n++] = f->p[i];
		else
			free(f->p[i].path);
	f->n = n;
}

/* ---- what others write ---- */

/* Open for writing, as its fdinfo says ("flags:\t0100002", octal). */
static bool writes(const char *pid, const char *fd)
{
	char path[64], text[256], *flags;
	ssize_t n;
	int f;

	snprintf(path, sizeof path, "/proc/%.16s/fdinfo/%.16s", pid, fd);
	f = open(path, O_RDONLY | O_CLOEXEC);
	if (f < 0)
		return false;
	n = io_read(f, text, sizeof text - 1);
	close(f);
	text[n < 0 ? 0 : n] = '\0';
	flags = strstr(text, "flags:");
	return flags && (strtol(flags + strlen("flags:"), NULL, 8) & O_ACCMODE) != O_RDONLY;
}

static void held_by(const char *pid, struct files *f)
{
	char path[64];
	struct dirent *e;
	struct stat st;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%.16s/fd", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		if (!isdigit((unsigned char)*e->d_name) || fstatat(dirfd(d), e->d_name, &st, 0) < 0 || !S_ISREG(st.st_mode))
			continue;
		for (size_t i = 0; i < f->n; i++)
			if (f->p[i].ino == st.st_ino && f->p[i].dev == st.st_dev && writes(pid, e->d_name))
				f->p[i].held = true;
	}
	if (d)
		closedir(d);
}

static void drop_held(struct files *f)
{
	DIR *proc = f->n ? opendir("/proc") : NULL;
	struct dirent *e;
	size_t n = 0;

	while (proc && (e = readdir(proc)))
		if (isdigit((unsigned char)*e->d_name))
			held_by(e->d_name, f);
	if (proc)
		closedir(proc);
	for (size_t i = 0; i < f->n; i++)
		if (!f->p[i].held)
			f->p[n++] = f->p[i];
		else
			free(f->p[i].path);
	f->n = n;
}

/* ---- the answer ---- */

static int tell(struct files *f, struct written_facts *out)
{
	size_t names = f->n < WRITTEN_NAMES ? f->n : WRITTEN_NAMES;

	out->files = (int64_t)f->n;
	for (size_t i = 0; i < f->n; i++)
		out->bytes += f->p[i].size;
	if (!names)
		return 0;
	qsort(f->p, f->n, sizeof *f->p, by_path);
	out->file = calloc(names, sizeof *out->file);
	if (!out->file)
		return -EX_OSERR;
	for (; (size_t)out->count < names; out->count++) {
		out->file[out->count] = f->p[out->count].path;
		f->p[out->count].path = NULL;
	}
	return 0;
}

int written_end(struct written *s, struct written_facts *f)
{
	struct files now = { 0 };
	int r = walk(s, &now);

	*f = (struct written_facts){ 0 };
	if (r == 0) {
		keep_changed(s, &now);
		drop_held(&now);
		f->partial = s->before.partial || now.partial;
		r = tell(&now, f);
	}
	files_free(&now);
	written_free(s);
	return r;
}

double written_quiet(struct written *s)
{
	struct files now = { 0 };
	double newest = -INFINITY, age;

	if (walk(s, &now) < 0)
		return INFINITY;
	for (size_t i = 0; i < now.n; i++)
		if (now.p[i].changed > newest)
			newest = now.p[i].changed;
	files_free(&now);
	age = wall() - newest;
	return newest < s->start ? INFINITY : age < 0 ? 0 : age;
}

void written_free(struct written *s)
{
	if (!s)
		return;
	files_free(&s->before);
	free(s->cwd);
	free(s->save);
	free(s);
}
