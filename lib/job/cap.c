/* cap.c - a limit on memory for a command that knows nothing of it. */
#include "cap.h"

#include <string.h>

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

int cap_set(struct cap *c, int64_t bytes, const char *device, bool adapter, struct why *w)
{
	*c = (struct cap){ .ballast = { .in = -1, .out = -1, .err = -1 } };
	if (bytes <= 0)
		return 0;
	if (!device || !strcmp(device, "cpu"))
		return on_host(c, bytes);
	if (strncmp(device, "cuda", 4))
		return why_set(w, EX_USAGE, "limiting memory: %.100s: no such kind of device (cpu, cuda:N)", device);
	if (adapter)
		return by_adapter(c);
	return why_set(w, EX_UNAVAILABLE, "limiting memory: %.100s: no ballast yet", device);
}

void cap_end(struct cap *c)
{
	if (c->ballast.pid > 0)
		proc_end(&c->ballast, 0);
}
