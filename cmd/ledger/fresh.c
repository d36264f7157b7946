/* fresh.c - a ledger that appears under its name when it is whole, and never over another file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger.h"

int fresh_begin(struct fresh *f, const char *path, struct why *w)
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path) + 1 : 0, r;
	char id[ULID_SIZE];

	*f = (struct fresh){ .path = path };
	if (access(path, F_OK) == 0)
		return why_set(w, EX_USAGE, "writing: %.300s: is there already, and is not overwritten", path);
	f->temp = malloc(strlen(path) + ULID_SIZE + 8);
	if (!f->temp)
		return why_set(w, EX_OSERR, "writing: %.300s: out of memory", path);
	ulid_new(id);
	sprintf(f->temp, "%.*s.%s.%s", folder, path, path + folder, id);
	r = ledger_writer_open(&f->l, f->temp, 60, w);
	if (r < 0)
		fresh_abandon(f);
	return r;
}

static int commit(struct fresh *f, struct why *w)
{
	struct ledger_receipt receipt;
	int r = ledger_commit(f->l, &receipt, w);

	return r < 0 ? r : 0;
}

int fresh_add(struct fresh *f, const struct view *v, struct why *w)
{
	int r = ledger_add(f->l, v, w);

	return r == 0 && ledger_full(f->l) ? commit(f, w) : r;
}

int fresh_commit(struct fresh *f, struct why *w)
{
	int r = commit(f, w);

	if (r == 0 && link(f->temp, f->path) < 0) {
		/* no links on this file system: as near as can be */
		if (errno == EEXIST || access(f->path, F_OK) == 0)
			r = why_set(w, EX_USAGE, "writing: %.300s: is there already, and is not overwritten", f->path);
		else if (rename(f->temp, f->path) < 0)
			r = why_errno(w, EX_IOERR, "writing: %.300s", f->path);
	}
	fresh_abandon(f);
	return r;
}

void fresh_abandon(struct fresh *f)
{
	ledger_writer_close(f->l);
	if (f->temp)
		unlink(f->temp);
	free(f->temp);
	*f = (struct fresh){ 0 };
}
