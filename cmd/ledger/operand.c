/* operand.c - a file on the command line, read record by record with its faults said. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger.h"

/* Copies a pipe into a file without a name, so that it can be read twice. */
int operand_keep(int from, struct why *w)
{
	const char *dir = getenv("TMPDIR");
	unsigned char p[16384];
	char path[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "%s/ledger.XXXXXX", dir && *dir ? dir : "/tmp");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return why_errno(w, EX_IOERR, "keeping standard input: %.300s", path);
	unlink(path);
	while ((n = io_read(from, p, sizeof p)) > 0)
		if (io_write(fd, p, (size_t)n) < 0) {
			n = -1;
			break;
		}
	if (n < 0 || lseek(fd, 0, SEEK_SET) < 0) {
		int r = why_errno(w, EX_IOERR, "keeping standard input: %.300s", path);
		close(fd);
		return r;
	}
	return fd;
}

static int open_stdin(struct operand *o, bool again, struct why *w)
{
	struct stat st;
	int r = 0;

	o->name = "standard input";
	o->fd = 0;
	if (fstat(0, &st) == 0 && !S_ISREG(st.st_mode) && again)
		o->fd = operand_keep(0, w);
	if (o->fd < 0)
		return o->fd;
	r = ledger_open_fd(&o->l, o->fd, o->name, w);
	if (r < 0 && o->fd > 0)
		close(o->fd);
	return r;
}

int operand_open(struct operand *o, const char *name, bool again, struct why *w)
{
	struct stat st;

	/* a copy of standard input, by ask_keep */
	*o = (struct operand){ .name = strncmp(name, "/proc/self/fd/", 14) == 0 ? "standard input" : name, .fd = -1 };
	if (strcmp(name, "-") == 0)
		return open_stdin(o, again, w);
	/* a fifo, or <(...) of a shell */
	if (again && stat(name, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		int r, fd = open(name, O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return why_errno(w, EX_NOINPUT, "reading: %.300s", name);
		o->fd = operand_keep(fd, w);
		close(fd);
		if (o->fd < 0)
			return o->fd;
		r = ledger_open_fd(&o->l, o->fd, name, w);
		if (r < 0)
			close(o->fd);
		return r;
	}
	return ledger_open(&o->l, name, w);
}

int operand_rewind(struct operand *o, struct why *w)
{
	ledger_close(o->l);
	o->l = NULL;
	if (o->fd < 0)
		return ledger_open(&o->l, o->name, w);
	if (lseek(o->fd, 0, SEEK_SET) < 0)
		return why_errno(w, EX_IOERR, "reading again: %.300s", o->name);
	return ledger_open_fd(&o->l, o->fd, o->name, w);
}

void operand_close(struct operand *o)
{
	ledger_close(o->l);
	if (o->fd > 0)
		close(o->fd);
	*o = (struct operand){ .fd = -1 };
}

void say_fault(const char *name, const struct ledger_fault *f)
{
	cmd_say("reading: %.300s: offset %lld, member %lld, %lld bytes: %s: %s", name, (long long)f->offset, (long long)f->member,
	        (long long)f->bytes, ledger_fault_name(f->kind), f->text);
}

static int see_skipped(const struct operand *o, const struct reading *r, struct why *w)
{
	int n, code = 0;
	const struct ledger_steps *s = ledger_skipped(o->l, &n);

	for (int i = 0; i < n && code == 0 && r->skipped; i++)
		code = r->skipped(r->ctx, &s[i], w);
	return code;
}

/* 0, or <0 and the reading is over. */
static int see_next(const struct operand *o, const struct reading *r, int what, const struct view *v, struct brackets *b, int *status, struct why *w)
{
	int code = 0;

	switch (what) {
	case LEDGER_RECORD:
		if (b && brackets_see(b, v, w) < 0) {
			if (!r->quiet && *status == 0)
				cmd_warn(w);
			*status = code_worst(*status, EX_DATAERR);
		}
		return r->see(r->ctx, v, w);
	case LEDGER_SKIPPED: return see_skipped(o, r, w);
	case LEDGER_FAULT:
		if (ledger_fault(o->l)->kind == LEDGER_IN_PROGRESS)
			return 0; /* a writer at work is no fault */
		if (!r->quiet)
			say_fault(o->name, ledger_fault(o->l));
		*status = code_worst(*status, EX_DATAERR);
		return 0;
	default: return code;
	}
}

/* In a ledger an open run is data; a stream with an open bracket was cut. */
int operand_read(struct operand *o, const struct reading *r)
{
	struct brackets *b = ledger_is(o->l) ? NULL : brackets_new();
	int what, status = 0, code = 0;
	struct why w;
	struct view v;

	/* told to stop: a file can be left, a stream's writers upstream are told as well, and end it */
	while ((what = ledger_next(o->l, &v, &w)) > 0 && code == 0 && !(stop_wanted() && ledger_is(o->l)))
		code = see_next(o, r, what, &v, b, &status, &w);
	if (what < 0 || code < 0) {
		if ((!r->quiet || code < 0) && !stop_wanted())
			cmd_warn(&w);
		status = code_worst(status, w.code);
	} else if (b && brackets_check(b, o->name, &w) < 0) {
		if (!r->quiet)
			cmd_warn(&w);
		status = code_worst(status, w.code);
	}
	brackets_free(b);
	return status;
}
