/* dev.c - opening the cpu device, and its memory: blocks straight from mmap, counted
 * exactly, bounded by a budget, touched before they are handed out. */
#include "cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((int64_t)2 << 20)
/* Below this a look at the host's free memory costs more than it tells. */
#define LOOK_AT_HOST ((int64_t)64 << 20)

/* OpenBLAS has these; another CBLAS need not. */
extern void openblas_set_num_threads(int n) __attribute__((weak));
extern char *openblas_get_config(void) __attribute__((weak));
extern char *openblas_get_corename(void) __attribute__((weak));

/* "openblas 0.3.21 SkylakeX openmp" */
static void name_blas(char *out, size_t size)
{
	char text[160], *save, *word, *version = "";

	if (!openblas_get_config) {
		snprintf(out, size, "cblas");
		return;
	}
	snprintf(text, sizeof text, "%s", openblas_get_config());
	strtok_r(text, " ", &save);
	if ((word = strtok_r(NULL, " ", &save)))
		version = word;
	snprintf(out, size, "openblas %.40s%s%.40s%s", version, openblas_get_corename ? " " : "",
		openblas_get_corename ? openblas_get_corename() : "", strstr(openblas_get_config(), "USE_OPENMP") ? " openmp" : "");
}

int dev_open(struct dev **out, const char *name, int64_t budget_bytes, int threads, struct why *w)
{
	struct dev *d;

	*out = NULL;
	if (strcmp(name, "cpu"))
		return why_set(w, EX_UNAVAILABLE, "open device: %.60s: this program knows only \"cpu\"", name);
	d = calloc(1, sizeof *d);
	if (!d)
		return why_set(w, EX_OSERR, "open device: %.60s: out of memory", name);
	snprintf(d->name, sizeof d->name, "%s", name);
	d->budget = budget_bytes;
	d->threads = threads > 0 ? threads : host_cores();
	d->threads_before = omp_get_max_threads();
	omp_set_num_threads(d->threads);
	/* The threads are ours: see cpu_matmul. */
	if (openblas_set_num_threads)
		openblas_set_num_threads(1);
	name_blas(d->blas, sizeof d->blas);
	dev_mark(d);
	*out = d;
	return 0;
}

void dev_close(struct dev *d)
{
	if (!d)
		return;
	while (d->blocks)
		dev_free(d, d->blocks->p);
	omp_set_num_threads(d->threads_before);
	free(d);
}

const char *dev_name(const struct dev *d) { return d->name; }
const char *dev_blas(const struct dev *d) { return d->blas; }
bool dev_deterministic(const struct dev *d) { (void)d; return true; }
int dev_threads(const struct dev *d) { return d->threads; }
const struct ops *dev_ops(const struct dev *d) { (void)d; return &cpu_ops; }
void dev_sync(struct dev *d) { (void)d; }

void dev_read(struct dev *d, void *host, const void *from, int64_t bytes)
{
	(void)d;
	memcpy(host, from, (size_t)bytes);
}

void dev_write(struct dev *d, void *to, const void *host, int64_t bytes)
{
	(void)d;
	memcpy(to, host, (size_t)bytes);
}

/* ---- counters ---- */

static void raise_to(int64_t *peak, int64_t value)
{
	if (value > *peak)
		*peak = value;
}

void dev_memory(const struct dev *d, struct dev_memory *m)
{
	*m = d->peak;
	m->allocated = d->allocated;
	m->reserved = d->reserved;
	m->used = host_rss();
	if (d->high_water)
		raise_to(&m->used_peak, host_rss_peak());
	raise_to(&m->used_peak, m->used);
}

/* Asks the kernel to begin its peak of the resident set anew; without it (an old kernel, a sandbox) the
 * peak is the highest seen when blocks come and go. */
static bool reset_high_water(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	bool done;

	if (fd < 0)
		return false;
	done = write(fd, "5", 1) == 1;
	close(fd);
	return done;
}

void dev_mark(struct dev *d)
{
	d->high_water = reset_high_water();
	d->peak.allocated_peak = d->allocated;
	d->peak.reserved_peak = d->reserved;
	d->peak.used_peak = host_rss();
}

/* ---- blocks ---- */

int64_t dev_round(int64_t bytes)
{
	if (bytes > INT64_MAX - DEV_ALIGN)
		return INT64_MAX / DEV_ALIGN * DEV_ALIGN;
	return (bytes + DEV_ALIGN - 1) / DEV_ALIGN * DEV_ALIGN;
}

int64_t dev_reserved(int64_t block_bytes)
{
	int64_t page = sysconf(_SC_PAGESIZE);

	if (block_bytes > INT64_MAX - page)
		return INT64_MAX / page * page;
	return (block_bytes + page - 1) / page * page;
}

/* Large blocks begin at a huge page: with small ones their page faults alone cost a second a gigabyte. */
static int map_block(struct block *b)
{
	int64_t slack = b->reserved >= HUGE_PAGE ? HUGE_PAGE : 0, skip;
	char *p;

	if (b->reserved > INT64_MAX - slack || (uint64_t)b->reserved > SIZE_MAX / 2)
		return -1;
	p = mmap(NULL, (size_t)(b->reserved + slack), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -1;
	if (slack) {
		skip = (HUGE_PAGE - (int64_t)((uintptr_t)p % HUGE_PAGE)) % HUGE_PAGE;
		if (skip)
			munmap(p, (size_t)skip);
		munmap(p + skip + b->reserved, (size_t)(slack - skip));
		p += skip;
		madvise(p, (size_t)b->reserved, MADV_HUGEPAGE);
	}
	b->p = p;
	return 0;
}

static void touch(struct dev *d, const struct block *b)
{
	int64_t page = sysconf(_SC_PAGESIZE), pages = b->reserved / page;
	volatile char *p = b->p;

#pragma omp parallel for schedule(static) num_threads(d->threads) if (pages > 256)
	for (int64_t i = 0; i < pages; i++)
		p[i * page] = 0;
}

/* Whether there is room; says why not. Physical memory is looked at before it is touched: once it has
 * run out, the kernel kills instead of refusing. */
static const char *no_room(struct dev *d, int64_t reserved, char text[80])
{
	char human[16];

	if (d->fail_at > 0 && --d->fail_at == 0)
		return "the test's turn";
	if (d->budget > 0 && reserved > d->budget - d->reserved) {
		snprintf(text, 80, "the budget is %s", num_human_bytes(d->budget, human));
		return text;
	}
	if (reserved >= LOOK_AT_HOST && reserved > host_available())
		return "the host has not that much left";
	return NULL;
}

static int refuse(struct dev *d, int64_t bytes, const char *what, const char *reason, struct why *w)
{
	char asked[16], held[16];

	snprintf(d->oom.what, sizeof d->oom.what, "%s", what);
	d->oom.asked = bytes;
	d->oom.allocated = d->allocated;
	d->oom.budget = d->budget;
	return why_set(w, EX_NO, "allocate %s: %s: out of memory with %s allocated: %s", num_human_bytes(bytes, asked), what,
		num_human_bytes(d->allocated, held), reason);
}

int dev_alloc(struct dev *d, int64_t bytes, const char *what, void **p, struct why *w)
{
	int64_t reserved = dev_reserved(bytes);
	const char *reason;
	struct block *b;
	char text[80];

	*p = NULL;
	if (bytes == 0)
		return 0;
	if ((reason = no_room(d, reserved, text)))
		return refuse(d, bytes, what, reason, w);
	b = calloc(1, sizeof *b);
	if (!b)
		return refuse(d, bytes, what, strerror(ENOMEM), w);
	b->bytes = bytes;
	b->reserved = reserved;
	if (map_block(b) < 0) {
		free(b);
		return refuse(d, bytes, what, strerror(ENOMEM), w);
	}
	touch(d, b);
	b->next = d->blocks;
	d->blocks = b;
	d->allocated += bytes;
	d->reserved += reserved;
	raise_to(&d->peak.allocated_peak, d->allocated);
	raise_to(&d->peak.reserved_peak, d->reserved);
	if (!d->high_water)
		raise_to(&d->peak.used_peak, host_rss());
	*p = b->p;
	return 0;
}

void dev_free(struct dev *d, void *p)
{
	for (struct block **at = &d->blocks; p && *at; at = &(*at)->next) {
		struct block *b = *at;

		if (b->p != p)
			continue;
		if (!d->high_water)
			raise_to(&d->peak.used_peak, host_rss());
		munmap(b->p, (size_t)b->reserved);
		d->allocated -= b->bytes;
		d->reserved -= b->reserved;
		*at = b->next;
		free(b);
		return;
	}
}

void dev_last_oom(const struct dev *d, struct dev_oom *o) { *o = d->oom; }
void dev_fail_at(struct dev *d, int64_t nth) { d->fail_at = nth; }
