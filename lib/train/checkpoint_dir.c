/* checkpoint_dir.c - a folder of checkpoints: one run's line, files named by update, the
 * newest complete one found by its name and a look at its header. */
#include "checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIGITS = 9 };

int64_t checkpoint_name_update(const char *name)
{
	static const char before[] = "update-", after[] = ".safetensors";
	const char *p = name + sizeof before - 1;
	int64_t update = 0;
	int digits = 0;

	if (strncmp(name, before, sizeof before - 1) != 0)
		return -1;
	for (; *p >= '0' && *p <= '9' && digits < 18; p++, digits++)
		update = 10 * update + (*p - '0');
	return digits >= DIGITS && strcmp(p, after) == 0 ? update : -1;
}

static int newest_first(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x < y) - (x > y);
}

int checkpoint_list(const char *dir, int64_t **list, struct why *w)
{
	struct buf b = { 0 };
	struct dirent *e;
	DIR *d = opendir(dir);
	int n;

	*list = NULL;
	if (!d)
		return why_errno(w, errno == ENOENT ? EX_NOINPUT : EX_IOERR, "checkpoints: %s", dir);
	while ((e = readdir(d)) != NULL) {
		int64_t update = checkpoint_name_update(e->d_name);

		if (update >= 0 && buf_add(&b, &update, sizeof update)) {
			buf_free(&b);
			closedir(d);
			return why_set(w, EX_OSERR, "checkpoints: %s: no memory", dir);
		}
	}
	closedir(d);
	n = b.n / sizeof(int64_t);
	if (n > 1)
		qsort(b.p, n, sizeof(int64_t), newest_first);
	*list = (int64_t *)b.p;
	return n;
}

static void file_of(char path[4200], const char *dir, int64_t update)
{
	snprintf(path, 4200, "%s/update-%09" PRId64 ".safetensors", dir, update);
}

/* Files that cannot be removed stay: the next save tries again. */
void checkpoint_prune(const char *dir, int64_t keep)
{
	int64_t *list;
	char path[4200];
	int n = checkpoint_list(dir, &list, NULL);

	for (int i = n - 1; i >= keep; i--) {
		file_of(path, dir, list[i]);
		(void)!unlink(path);
	}
	if (n >= 0)
		free(list);
}

int checkpoint_find(const char *file_or_dir, char *path, size_t size, struct why *w)
{
	struct stat st;
	int64_t *list;
	char candidate[4200];
	int n, torn = 0;

	if (stat(file_or_dir, &st) != 0)
		return why_errno(w, EX_NOINPUT, "resume: %s", file_or_dir);
	if (!S_ISDIR(st.st_mode)) {
		if ((size_t)snprintf(path, size, "%s", file_or_dir) >= size)
			return why_set(w, EX_USAGE, "resume: %s: the name is too long", file_or_dir);
		return 0;
	}
	if ((n = checkpoint_list(file_or_dir, &list, w)) < 0)
		return n;
	for (; torn < n; torn++) {
		struct checkpoint *c;
		struct why here;

		file_of(candidate, file_or_dir, list[torn]);
		if (checkpoint_open(&c, candidate, &here) == 0) {
			checkpoint_close(c);
			break;
		}
		if (torn == 0 && w)
			*w = here;
	}
	free(list);
	if (n == 0)
		return why_set(w, EX_NOINPUT, "resume: %s: the folder holds no checkpoint (update-NNNNNNNNN.safetensors)", file_or_dir);
	if (torn == n)
		return w ? -w->code : -EX_DATAERR;
	if ((size_t)snprintf(path, size, "%s", candidate) >= size)
		return why_set(w, EX_USAGE, "resume: %s: the name is too long", file_or_dir);
	return torn;
}

/* ---- a folder belongs to one run at a time ---- */

static int make_dir(const char *dir, struct why *w)
{
	char part[4096];

	if ((size_t)snprintf(part, sizeof part, "%s", dir) >= sizeof part)
		return why_set(w, EX_USAGE, "save: %s: the folder's name is too long", dir);
	for (char *p = part + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(part, 0777) != 0 && errno != EEXIST && errno != EISDIR)
			return why_errno(w, EX_IOERR, "save: %s", part);
		*p = '/';
	}
	if (mkdir(part, 0777) != 0 && errno != EEXIST)
		return why_errno(w, EX_IOERR, "save: %s", part);
	return 0;
}

static int lock_dir(const char *dir, int *lock, struct why *w)
{
	char path[4200];
	int rc;

	snprintf(path, sizeof path, "%s/.lock", dir);
	if ((*lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666)) < 0)
		return why_errno(w, EX_IOERR, "save: %s", path);
	if ((rc = io_lock(*lock, true, 2, path, w)) == 0)
		return 0;
	close(*lock);
	*lock = -1;
	if (rc == -EX_TEMPFAIL)
		why_set(w, EX_TEMPFAIL, "save: %s: another run is saving into this folder", dir);
	return rc;
}

/* What a process that was killed in a save left behind; nobody else writes here while we hold the lock. */
static void remove_stale(const char *dir)
{
	static const char before[] = ".update-", after[] = ".tmp";
	char path[4400];
	struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d)) != NULL) {
		size_t n = strlen(e->d_name);

		if (strncmp(e->d_name, before, sizeof before - 1) != 0 || n < sizeof after ||
			strcmp(e->d_name + n - (sizeof after - 1), after) != 0)
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		(void)!unlink(path);
	}
	if (d)
		closedir(d);
}

/* What is wrong with this file being in a folder of that lineage. */
static int check_file(const char *dir, int64_t file, const char *lineage, int64_t update, struct why *w)
{
	char path[4200];
	struct checkpoint *c;
	struct why ignored;
	int rc = 0;

	if (!*lineage)
		return why_set(w, EX_USAGE, "save: %s: the folder holds another run's checkpoints; "
			"name another one, or go on from it with --resume %s", dir, dir);
	file_of(path, dir, file);
	if (checkpoint_open(&c, path, &ignored) != 0)
		return 0; /* torn: it will be written again, or passed over */
	if (strcmp(checkpoint_progress(c)->lineage, lineage) != 0)
		rc = why_set(w, EX_USAGE, "save: %s: the folder holds checkpoints of run %s, "
			"which is not the one resumed; name another folder", dir, checkpoint_progress(c)->run);
	else if (file > update)
		rc = why_set(w, EX_USAGE, "save: %s: the folder holds update %" PRId64 " of this run, newer than "
			"update %" PRId64 " that is resumed; name another folder", dir, file, update);
	checkpoint_close(c);
	return rc;
}

int checkpoint_claim(const char *dir, const char *lineage, int64_t update, int *lock, struct why *w)
{
	int64_t *list;
	int n, rc;

	*lock = -1;
	if ((rc = make_dir(dir, w)) != 0 || (rc = lock_dir(dir, lock, w)) != 0)
		return rc;
	if ((n = checkpoint_list(dir, &list, w)) < 0)
		rc = n;
	for (int i = 0; i < n && !rc; i++)
		rc = check_file(dir, list[i], lineage, update, w);
	if (!rc)
		remove_stale(dir);
	if (n >= 0)
		free(list);
	if (rc) {
		close(*lock);
		*lock = -1;
	}
	return rc;
}
