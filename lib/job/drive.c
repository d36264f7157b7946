/* A resident `train-step -`: requests go down one pipe, records come up another, and
 * its messages are kept. Every wait has an end: the pipes never block, so that a
 * trainer that hangs in the middle of a record is noticed like one that says nothing. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"

enum { LINES = 20, LINE_BYTES = 400, READ_BYTES = 1 << 16 };
static const double slice = 0.2;   /* how late a signal or a death may be noticed */
static const double farewell = 5;  /* between the end of stdout and the end of the process */
static const double send_limit = 30;

struct drive {
	struct proc proc;
	struct buf in;    /* bytes read; the first `used` are the record given out last */
	size_t used;
	int64_t number, offset;
	bool ended;
	int status;
	bool pass;
	char *line[LINES];
	int lines;
	char part[LINE_BYTES]; /* a line of stderr that has not ended */
	size_t part_n;
};

static int unblock(int fd)
{
	int f = fcntl(fd, F_GETFL);
	return f < 0 ? -1 : fcntl(fd, F_SETFL, f | O_NONBLOCK);
}

/* ---- its command line ---- */

enum { OWN_ARGS = 24 };

static int count(char *const *list)
{
	int n = 0;
	while (list && list[n])
		n++;
	return n;
}

static int pair(char **argv, int n, const char *option, const char *value)
{
	if (!value)
		return n;
	argv[n++] = (char *)option;
	argv[n++] = (char *)value;
	return n;
}

/* train-step --msgpack OPTIONS - -- COMMAND. The array is the caller's, the words are borrowed; NULL: no memory. */
static char **command_line(char *path, const struct stranger *s, char deadline[32])
{
	int words = s ? count(s->argv) : 0, envs = s ? count(s->env) : 0, n = 0;
	char **argv = calloc((size_t)(words + 2 * envs + OWN_ARGS), sizeof *argv);
	if (!argv)
		return NULL;
	argv[n++] = path;
	argv[n++] = "--msgpack";
	if (words) {
		for (int i = 0; i < envs; i++)
			n = pair(argv, n, "--env", s->env[i]);
		n = pair(argv, n, "--resume-with", s->resume_with);
		n = pair(argv, n, "--step-regex", s->step_regex);
		n = pair(argv, n, "--evidence", s->evidence);
		num_shortest(s->deadline, deadline);
		n = pair(argv, n, "--deadline", s->deadline > 0 ? deadline : NULL);
		if (s->no_adapter)
			argv[n++] = "--no-adapter";
	}
	argv[n++] = "-";
	if (words)
		argv[n++] = "--";
	for (int i = 0; i < words; i++)
		argv[n++] = s->argv[i];
	return argv;
}

int drive_start(struct drive **out, const struct stranger *s, bool pass_stderr, struct why *w)
{
	char path[4096];
	int r = proc_beside("train-step", path, sizeof path, w);
	if (r < 0)
		return r;
	struct drive *d = calloc(1, sizeof *d);
	if (!d)
		return why_set(w, EX_OSERR, "start the trainer: %s: out of memory", path);
	d->proc = (struct proc){ .in = -1, .out = -1, .err = -1 };
	d->pass = pass_stderr;
	char deadline[32], **argv = command_line(path, s, deadline);
	r = argv ? proc_start_as(&d->proc, argv, PROC_IN | PROC_OUT | PROC_ERR, &(struct proc_how){ .rules = s ? s->guard : 0 }, w) : why_set(w, EX_OSERR, "start the trainer: %s: out of memory", path);
	free(argv);
	if (r < 0) {
		free(d);
		return r;
	}
	if (unblock(d->proc.in) || unblock(d->proc.out) || unblock(d->proc.err)) {
		r = why_errno(w, EX_OSERR, "start the trainer: %s", path);
		drive_end(d);
		return r;
	}
	*out = d;
	return 0;
}

/* ---- its stderr ---- */

static void keep_line(struct drive *d)
{
	char *s = strndup(d->part, d->part_n);
	d->part_n = 0;
	if (!s)
		return;
	if (d->lines == LINES) {
		free(d->line[0]);
		memmove(d->line, d->line + 1, (LINES - 1) * sizeof *d->line);
		d->lines--;
	}
	d->line[d->lines++] = s;
}

static void hear(struct drive *d, const char *p, size_t n)
{
	if (d->pass)
		io_write(STDERR_FILENO, p, n);
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '\n')
			keep_line(d);
		else if (d->part_n < sizeof d->part)
			d->part[d->part_n++] = p[i];
	}
}

/* Takes what is there; closes the pipe at its end. */
static void read_stderr(struct drive *d)
{
	char b[4096];
	ssize_t n = -1;
	while (d->proc.err >= 0 && (n = read(d->proc.err, b, sizeof b)) > 0)
		hear(d, b, (size_t)n);
	if (d->proc.err >= 0 && (n == 0 || (errno != EAGAIN && errno != EINTR))) {
		close(d->proc.err);
		d->proc.err = -1;
	}
}

int drive_stderr(struct drive *d, char *const **lines)
{
	*lines = d->line;
	return d->lines;
}

/* ---- its end ---- */

/* Whether the process has ended, without reaping it: while it is a zombie its group's number is
 * still its own, so that what it left behind can be killed by it. */
static bool has_ended(const struct drive *d)
{
	siginfo_t si = { .si_pid = 0 };
	if (d->proc.pid <= 0)
		return true;
	return waitid(P_PID, (id_t)d->proc.pid, &si, WEXITED | WNOHANG | WNOWAIT) == 0 && si.si_pid != 0;
}

/* Its stdout has ended, or the process has: hear its last words, kill the rest of the group, reap. */
static void finish(struct drive *d)
{
	double until = clock_seconds() + farewell;
	while (!has_ended(d) && clock_seconds() < until && !stop_wanted()) {
		struct pollfd p = { .fd = d->proc.err, .events = POLLIN };
		poll(&p, 1, 10);
		read_stderr(d);
	}
	bool alone = has_ended(d);
	if (d->proc.pid > 0)
		kill(-d->proc.pid, SIGKILL);
	if (proc_wait(&d->proc, farewell, &d->status) != 1 || !alone)
		d->status = SIGKILL;
	read_stderr(d);
	if (d->part_n)
		keep_line(d);
	proc_end(&d->proc, 0);
	d->ended = true;
}

int drive_status(struct drive *d)
{
	return d->status;
}

/* ---- requests ---- */

static int send_bytes(struct drive *d, const unsigned char *p, size_t n, struct why *w)
{
	double until = clock_seconds() + send_limit;
	while (n) {
		ssize_t k = write(d->proc.in, p, n);
		if (k > 0) {
			p += k;
			n -= (size_t)k;
		} else if (errno == EPIPE) {
			return 0; /* it has died: drive_next will say so, with its last words */
		} else if (errno != EAGAIN && errno != EINTR) {
			return why_errno(w, EX_IOERR, "send a request: to the trainer");
		} else if (clock_seconds() > until || stop_wanted()) {
			return why_set(w, EX_TEMPFAIL, "send a request: to the trainer: it does not read");
		} else {
			struct pollfd q = { .fd = d->proc.in, .events = POLLOUT };
			poll(&q, 1, (int)(slice * 1000));
		}
	}
	return 0;
}

int drive_request(struct drive *d, struct rec *request, struct why *w)
{
	int r = rec_end(request, w);
	if (r < 0)
		return r;
	if (d->ended || d->proc.in < 0)
		return 0;
	return send_bytes(d, request->buf.p, request->buf.n, w);
}

void drive_no_more(struct drive *d)
{
	if (d->proc.in >= 0)
		close(d->proc.in);
	d->proc.in = -1;
}

/* ---- records ---- */

static void drop_used(struct drive *d)
{
	if (!d->used)
		return;
	memmove(d->in.p, d->in.p + d->used, d->in.n - d->used);
	d->in.n -= d->used;
	d->offset += (int64_t)d->used;
	d->used = 0;
}

/* 1 a whole record stands at the front, 0 more bytes are needed. */
static int take(struct drive *d, struct view *v, struct why *w)
{
	if (!d->in.n)
		return 0;
	struct why reason = { 0 };
	ssize_t n = scan_size(d->in.p, d->in.n, &reason);
	if (n == 0)
		return 0;
	int r = n < 0 ? (int)n : view_open(v, d->in.p, (size_t)n, &reason);
	if (r < 0)
		return why_set(w, EX_DATAERR, "read the trainer's records: record %lld at byte %lld: %s", (long long)d->number + 1, (long long)d->offset, reason.text);
	d->used = (size_t)n;
	v->number = ++d->number;
	v->offset = d->offset;
	return 1;
}

static int read_stdout(struct drive *d, struct why *w)
{
	int r = buf_room(&d->in, READ_BYTES);
	if (r < 0)
		return why_set(w, EX_OSERR, "read the trainer's records: out of memory");
	ssize_t n = read(d->proc.out, d->in.p + d->in.n, READ_BYTES);
	if (n > 0)
		d->in.n += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		finish(d);
	return 0;
}

/* Waits for bytes on either pipe. */
static int pump(struct drive *d, double seconds, struct why *w)
{
	struct pollfd p[2] = { { .fd = d->proc.out, .events = POLLIN }, { .fd = d->proc.err, .events = POLLIN } };
	int n = poll(p, 2, (int)(seconds * 1000) + 1);
	if (p[1].revents)
		read_stderr(d);
	if (p[0].revents)
		return read_stdout(d, w);
	if (n == 0 && has_ended(d))
		finish(d); /* somebody else holds its stdout open */
	return 0;
}

int drive_next(struct drive *d, struct view *v, double seconds, struct why *w)
{
	double until = clock_seconds() + seconds;
	drop_used(d);
	for (;;) {
		int r = take(d, v, w);
		if (r)
			return r;
		if (d->ended)
			return 0;
		if (stop_wanted())
			return why_set(w, EX_TEMPFAIL, "wait for the trainer: asked to stop");
		double left = until - clock_seconds();
		if (left <= 0)
			return why_set(w, EX_TEMPFAIL, "wait for the trainer: no record for %g s", seconds);
		r = pump(d, left < slice ? left : slice, w);
		if (r < 0)
			return r;
	}
}

void drive_end(struct drive *d)
{
	if (!d)
		return;
	drive_no_more(d);
	if (!d->ended) {
		double until = clock_seconds() + slice; /* an idle one ends by itself */
		while (!has_ended(d) && !stop_wanted() && clock_seconds() < until)
			poll(NULL, 0, 2);
		if (has_ended(d))
			finish(d);
		else
			proc_end(&d->proc, 1);
	}
	for (int i = 0; i < d->lines; i++)
		free(d->line[i]);
	buf_free(&d->in);
	free(d);
}
