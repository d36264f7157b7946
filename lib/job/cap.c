/* cap.c - a limit on memory for a command that knows nothing of it. */
#include "cap.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../dev/ballast.h"

enum { DRIVER_SECONDS = 120 }; /* many devices without persistence take their time */

static int on_host(struct cap *c, int64_t bytes)
{
	c->address_bytes = bytes;
	snprintf(c->how, sizeof c->how, "address space of each process (RLIMIT_AS)");
	return 0;
}

static int by_adapter(struct cap *c)
{
	c->by_adapter = true;
	snprintf(c->how, sizeof c->how, "PyTorch's memory fraction");
	return 0;
}

/* ---- ballast ---- */

struct order {
	int number;
	int64_t leave;
	char *const *env;
};
struct answer {
	int code; /* 0: it holds */
	struct ballast_held held;
	char why[600];
};

/* In the child: takes the memory, tells, and stays until it is killed. */
static int hold(void *ctx, int out)
{
	const struct order *o = ctx;
	struct answer a = { 0 };
	struct why w = { 0 };

	for (char *const *e = o->env; e && *e; e++)
		if (!strncmp(*e, "CUDA_", 5) && putenv(*e))
			return 1;
	a.code = ballast_take(o->number, o->leave, &a.held, &w);
	snprintf(a.why, sizeof a.why, "%.590s", w.text);
	if (io_write(out, &a, sizeof a) < 0 || a.code < 0)
		return 1;
	for (;;)
		pause();
}

static int listen(struct cap *c, struct answer *a, struct why *w)
{
	struct pollfd p = { .fd = c->ballast.out, .events = POLLIN };
	double until = clock_seconds() + DRIVER_SECONDS;

	while (poll(&p, 1, 100) <= 0)
		if (stop_wanted() || clock_seconds() > until)
			return why_set(w, EX_UNAVAILABLE, "limiting memory: the ballast: no answer from the driver");
	if (io_read(p.fd, a, sizeof *a) != (ssize_t)sizeof *a)
		return why_set(w, EX_UNAVAILABLE, "limiting memory: the ballast died");
	a->why[sizeof a->why - 1] = '\0';
	return a->code < 0 ? why_set(w, -a->code, "limiting memory: the ballast: %s", a->why) : 0;
}

static int by_ballast(struct cap *c, int number, int64_t bytes, char *const *env, struct why *w)
{
	struct order o = { number, bytes, env };
	struct answer a;
	int r;

	if ((r = proc_fork(&c->ballast, hold, &o, "pilot-ballast", w)))
		return r;
	if ((r = listen(c, &a, w)) < 0) {
		proc_end(&c->ballast, 0);
		return r;
	}
	snprintf(c->how, sizeof c->how, "ballast: %lld bytes held by process %d, %lld left free of %lld", (long long)a.held.held,
		(int)c->ballast.pid, (long long)a.held.free, (long long)a.held.total);
	return 0;
}

/* ---- which ---- */

/* "cuda" or "cuda:N" */
static int device_number(const char *device, int *number, struct why *w)
{
	int64_t n = 0;

	if (strncmp(device, "cuda", 4) || (device[4] && device[4] != ':'))
		return why_set(w, EX_USAGE, "limiting memory: %.100s: no such kind of device (cpu, cuda:N)", device);
	if (device[4] && num_int(device + 5, "device", 0, 4095, &n, w) < 0)
		return -EX_USAGE;
	*number = (int)n;
	return 0;
}

int cap_set(struct cap *c, int64_t bytes, const char *device, bool adapter, char *const *env, struct why *w)
{
	int number = 0, r;

	*c = (struct cap){ .ballast = { .in = -1, .out = -1, .err = -1 } };
	if (bytes <= 0)
		return 0;
	if (!device || !strcmp(device, "cpu"))
		return on_host(c, bytes);
	if ((r = device_number(device, &number, w)) < 0)
		return r;
	return adapter ? by_adapter(c) : by_ballast(c, number, bytes, env, w);
}

void cap_end(struct cap *c)
{
	proc_end(&c->ballast, 0);
}
