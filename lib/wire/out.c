/* out.c - writing a stream, in the form that its reader wants, in pieces that a pipe likes. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "inner.h"

enum { FLUSH_BYTES = 8192 };
static const double FLUSH_SECONDS = 0.5;

struct out {
	int fd;
	enum form form;
	int error; /* errno of the first write that failed: nothing is written after it */
	int64_t records, added;
	double since; /* when the oldest byte in buf was put there */
	struct buf buf;
	struct text text;
};

int out_open(struct out **o, int fd, enum form form, struct why *w)
{
	bool terminal = isatty(fd);
	if (form == FORM_MSGPACK && terminal)
		return why_set(w, EX_USAGE, "writing records: standard output: binary records do not go to a terminal; redirect it, or use -t or -j");
	if (form == FORM_AUTO)
		form = terminal ? FORM_TEXT : FORM_MSGPACK;
	struct out *n = calloc(1, sizeof *n);
	if (!n || buf_room(&n->buf, 2 * FLUSH_BYTES)) {
		free(n);
		return why_set(w, EX_OSERR, "writing records: the host has no memory");
	}
	n->fd = fd;
	n->form = form;
	text_init(&n->text, fd);
	*o = n;
	return 0;
}

static int out_why(const struct out *o, struct why *w)
{
	errno = o->error;
	if (o->fd == STDOUT_FILENO)
		return why_errno(w, EX_IOERR, "writing records: standard output");
	return why_errno(w, EX_IOERR, "writing records: file descriptor %d", o->fd);
}

/* As io_write, and a pipe that somebody made non-blocking is waited for. */
static int write_all(int fd, const unsigned char *p, size_t n)
{
	while (n) {
		ssize_t did = write(fd, p, n);
		if (did < 0 && errno == EAGAIN)
			poll(&(struct pollfd){fd, POLLOUT, 0}, 1, -1);
		else if (did < 0 && errno != EINTR)
			return errno;
		if (did > 0) {
			p += did;
			n -= (size_t)did;
		}
	}
	return 0;
}

int out_flush(struct out *o, struct why *w)
{
	if (!o->error && o->buf.n)
		o->error = write_all(o->fd, o->buf.p, o->buf.n);
	o->buf.n = 0;
	return o->error ? out_why(o, w) : 0;
}

int out_tick(struct out *o, struct why *w)
{
	if (o->error)
		return out_why(o, w);
	return o->buf.n && clock_seconds() - o->since >= FLUSH_SECONDS ? out_flush(o, w) : 0;
}

static int no_memory(struct out *o, size_t kept, struct why *w)
{
	o->buf.n = kept; /* half a record is never written */
	return why_set(w, EX_OSERR, "writing records: the host has no memory");
}

/* Bookkeeping before bytes are added. */
static int out_begin(struct out *o, struct why *w)
{
	if (o->error)
		return out_why(o, w);
	if (!o->buf.n)
		o->since = clock_seconds();
	return 0;
}

int out_view(struct out *o, const struct view *v, struct why *w)
{
	int rc = out_begin(o, w);
	size_t kept = o->buf.n;
	if (rc)
		return rc;
	if (o->form == FORM_MSGPACK)
		rc = buf_add(&o->buf, v->raw, v->size);
	else if (o->form == FORM_TEXT)
		rc = text_write(&o->text, v, &o->buf);
	else if (!(rc = json_write(v->raw, v->size, &o->buf)))
		rc = buf_add(&o->buf, "\n", 1);
	if (rc)
		return no_memory(o, kept, w);
	o->records++;
	if (v->kind != KIND_step || o->buf.n >= FLUSH_BYTES)
		return out_flush(o, w);
	return out_tick(o, w);
}

int out_rec(struct out *o, struct rec *r, struct why *w)
{
	struct view v = {.kind = r->kind, .raw = r->buf.p, .size = r->buf.n};
	int rc = rec_end(r, w);
	if (rc)
		return rc;
	v.size = r->buf.n;
	if (o->form == FORM_TEXT && (rc = view_open(&v, r->buf.p, r->buf.n, w)))
		return rc;
	o->added++;
	return out_view(o, &v, w);
}

int out_text(struct out *o, const char *s, struct why *w)
{
	int rc = out_begin(o, w);
	size_t kept = o->buf.n;
	if (rc || o->form != FORM_TEXT)
		return rc;
	if (buf_add(&o->buf, s, strlen(s)))
		return no_memory(o, kept, w);
	return out_flush(o, w);
}

enum form out_form(const struct out *o)
{
	return o->form;
}

struct text *out_text_state(struct out *o)
{
	return &o->text;
}

int64_t out_records(const struct out *o)
{
	return o->records;
}

int64_t out_added(const struct out *o)
{
	return o->added;
}

int out_made(struct out *o, const struct view *v, struct why *w)
{
	o->added++;
	return out_view(o, v, w);
}

bool out_broken(const struct out *o)
{
	return o->error == EPIPE;
}

int out_close(struct out *o, struct why *w)
{
	int rc = out_flush(o, w), error = o->error;
	buf_free(&o->buf);
	free(o);
	errno = error;
	return rc;
}
