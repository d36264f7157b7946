/* temp.c - a folder for temporary files that goes when we go, whatever ends us. */
#include "base.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int drop(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)at;
	if (type == FTW_DNR) /* a folder made unreadable */
		(void)!chmod(path, 0700);
	(void)!remove(path);
	return 0;
}

void temp_clear(const char *path)
{
	nftw(path, drop, 16, FTW_DEPTH | FTW_PHYS);
}

static int make(char *dir, size_t size, const char *prefix, struct why *w)
{
	const char *base = getenv("TMPDIR");
	char *absolute;

	if (!base || !*base)
		base = "/tmp";
	absolute = realpath(base, NULL);
	if (!absolute)
		return why_errno(w, EX_IOERR, "make a temporary folder: in %s", base);
	int n = snprintf(dir, size, "%s/%s.XXXXXX", absolute, prefix);
	free(absolute);
	if (n < 0 || (size_t)n >= size)
		return why_set(w, EX_IOERR, "make a temporary folder: in %s: the name is too long", base);
	return mkdtemp(dir) ? 0 : why_errno(w, EX_IOERR, "make a temporary folder: in %s", base);
}

int temp_make(struct temp *t, const char *prefix, struct why *w)
{
	int rc = make(t->dir, sizeof t->dir, prefix, w);

	t->guard = (struct guard){ .fd = -1 };
	if (rc < 0)
		*t->dir = '\0';
	else if ((rc = guard_start(&t->guard, NULL, t->dir, w)) < 0)
		temp_end(t);
	return rc;
}

void temp_end(struct temp *t)
{
	if (*t->dir)
		temp_clear(t->dir);
	*t->dir = '\0';
	guard_end(&t->guard);
}
