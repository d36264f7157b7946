/* ballast.c - takes what shall not be used of a device, through the driver's interface. */
#include "ballast.h"

#include <dlfcn.h>
#include <string.h>

/* As the driver's interface has them; _v2 are the names behind the macros of its header. */
struct cuda {
	int (*init)(unsigned);
	int (*device)(int *, int);
	int (*retain)(void **, int);
	int (*current)(void *);
	int (*info)(size_t *, size_t *);
	int (*alloc)(unsigned long long *, size_t);
	int (*error)(int, const char **);
};

enum { PAGE = 2 << 20, CHUNK = 1 << 30 }; /* what the driver gives out, and most at once */

static int no(struct why *w, const struct cuda *c, const char *what, int code)
{
	const char *words = NULL;

	if (c->error)
		c->error(code, &words);
	return why_set(w, EX_UNAVAILABLE, "taking device memory: %s: %s (%d)", what, words ? words : "error", code);
}

static bool find(void *library, const char *name, void *function)
{
	void *p = dlsym(library, name);

	memcpy(function, &p, sizeof p); /* ISO C has no other way from an object pointer to a function's */
	return p != NULL;
}

static int open_driver(struct cuda *c, struct why *w)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return why_set(w, EX_UNAVAILABLE, "taking device memory: %.300s", dlerror());
	find(library, "cuGetErrorString", &c->error);
	if (!find(library, "cuInit", &c->init) || !find(library, "cuDeviceGet", &c->device) ||
	    !find(library, "cuDevicePrimaryCtxRetain", &c->retain) || !find(library, "cuCtxSetCurrent", &c->current) ||
	    !find(library, "cuMemGetInfo_v2", &c->info) || !find(library, "cuMemAlloc_v2", &c->alloc))
		return why_set(w, EX_UNAVAILABLE, "taking device memory: libcuda.so.1: %.300s", dlerror());
	return 0; /* it stays open as long as the process lives */
}

static int make_context(struct cuda *c, int number, struct why *w)
{
	void *context = NULL;
	char what[64];
	int device = 0, r;

	snprintf(what, sizeof what, "cuda:%d", number);
	if ((r = c->init(0)))
		return no(w, c, "cuInit", r);
	if ((r = c->device(&device, number)))
		return no(w, c, what, r);
	if ((r = c->retain(&context, device)) || (r = c->current(context)))
		return no(w, c, what, r);
	return 0;
}

/* What is free comes in pages; less than one above what shall be left is left too. */
static int take(struct cuda *c, int64_t leave, struct ballast_held *h, struct why *w)
{
	size_t chunk = CHUNK;

	for (;;) {
		size_t free_now = 0, total = 0, want;
		unsigned long long at = 0;
		int r = c->info(&free_now, &total);

		if (r)
			return no(w, c, "cuMemGetInfo", r);
		h->free = (int64_t)free_now;
		h->total = (int64_t)total;
		if (h->free < leave + PAGE || chunk < PAGE)
			return 0;
		want = (size_t)(h->free - leave) / PAGE * PAGE;
		if (want > chunk)
			want = chunk;
		if (c->alloc(&at, want) == 0)
			h->held += (int64_t)want;
		else
			chunk = want / 2; /* in pieces */
	}
}

int ballast_take(int number, int64_t leave_bytes, struct ballast_held *h, struct why *w)
{
	struct cuda c = { 0 };
	int r;

	*h = (struct ballast_held){ 0 };
	if ((r = open_driver(&c, w)) || (r = make_context(&c, number, w)) || (r = take(&c, leave_bytes, h, w)))
		return r;
	if (h->held == 0 && h->free < leave_bytes)
		return why_set(w, EX_UNAVAILABLE, "taking device memory: cuda:%d: %lld of %lld bytes are free, fewer than the %lld that shall be left",
			number, (long long)h->free, (long long)h->total, (long long)leave_bytes);
	if (h->free > leave_bytes + CHUNK / 8)
		return why_set(w, EX_UNAVAILABLE, "taking device memory: cuda:%d: the driver gives no more: %lld bytes stay free, %lld shall be left",
			number, (long long)h->free, (long long)leave_bytes);
	return 0;
}
