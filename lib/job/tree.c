/* tree.c - a process and its descendants, followed and counted through /proc. */
#include "tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../dev/nvml.h"
#include "written.h"

/* A look may cost this share of the time; and however dear, it is taken so often (seconds). */
static const double LOOK_SHARE = 0.01, LOOK_LEAST = 0.5;
static const double END_SECONDS = 5; /* for what was killed to go */
static const double STUCK_SECONDS = 10, STUCK_CPU = 1, STUCK_SHARE = 0.4; /* of its time is the kernel's */
static const int64_t STUCK_ROOM = 160 << 20; /* OpenBLAS wants 128 MiB and malloc's own */

struct member {
	pid_t pid, parent, group;
	unsigned long long start; /* clock ticks since boot: a number given away again has another */
	int threads;
	char state;
	bool seen; /* in the present look */
	double cpu, system; /* seconds */
	int64_t rss, rss_peak, address, address_peak;
	unsigned long faults;
	long long moves;    /* times it waited, read and wrote; only looked at near the limit */
	double still, still_system, still_cpu; /* clock since when nothing of this has changed, and its times then */
};

struct tree {
	pid_t root, self;
	struct member *p; /* of the last look */
	size_t n, cap;
	struct member *apart; /* children that we had before: not of the tree */
	size_t n_apart;
	bool whole; /* the kernel lists no children: go through all of /proc */
	double next; /* clock: no look before that */
	double gone_cpu; /* of members that are gone, as last seen */
	double reaped_cpu; /* of our children that were reaped before */
	long reaped_rss; /* KiB, the same */
	int64_t limit;   /* of each one's address space; 0 none */
	struct nvml *nvml; /* NULL: unknown */
	pid_t *pid;      /* of the last look, for nvml */
	size_t pid_cap;
	struct tree_facts f;
	struct written *written;
};

/* ---- one process ---- */

static ssize_t slurp(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = io_read(fd, text, size - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n;
}

/* The name may hold spaces and parentheses, so fields are counted from its end (proc(5)). */
static bool read_stat(pid_t pid, struct member *m)
{
	char path[64], text[1024], *p;
	unsigned long user, system;
	long threads;
	int parent, group;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (slurp(path, text, sizeof text) <= 0 || !(p = strrchr(text, ')')))
		return false;
	if (sscanf(p + 1, " %c %d %d %*d %*d %*d %*u %lu %*u %*u %*u %lu %lu %*d %*d %*d %*d %ld %*d %llu",
	           &m->state, &parent, &group, &m->faults, &user, &system, &threads, &m->start) != 8)
		return false;
	m->pid = pid;
	m->parent = parent;
	m->group = group;
	m->threads = (int)threads;
	m->cpu = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
	m->system = (double)system / (double)sysconf(_SC_CLK_TCK);
	return true;
}

static long long number_of(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	return p ? strtoll(p + strlen(key), NULL, 10) : 0;
}

static int64_t bytes_of(const char *text, const char *key)
{
	return number_of(text, key) * 1024;
}

static void read_memory(struct member *m)
{
	char path[64], text[4096];

	snprintf(path, sizeof path, "/proc/%d/status", (int)m->pid);
	m->rss = 0;
	if (slurp(path, text, sizeof text) <= 0)
		return;
	m->rss = bytes_of(text, "\nVmRSS:");
	m->rss_peak = bytes_of(text, "\nVmHWM:");
	m->address = bytes_of(text, "\nVmSize:");
	m->address_peak = bytes_of(text, "\nVmPeak:");
	m->moves = number_of(text, "\nvoluntary_ctxt_switches:");
}

static void read_moves(struct member *m)
{
	char path[64], text[1024];

	snprintf(path, sizeof path, "/proc/%d/io", (int)m->pid);
	if (slurp(path, text, sizeof text) > 0)
		m->moves += number_of(text, "\nsyscr:") + number_of(text, "\nsyscw:");
}

static bool ended(const struct member *m)
{
	return m->state == 'Z' || m->state == 'X';
}

/* ---- who belongs to it ---- */

static struct member *member(struct tree *t, pid_t pid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->p[i].pid == pid)
			return &t->p[i];
	return NULL;
}

static bool is_apart(const struct tree *t, const struct member *m)
{
	for (size_t i = 0; i < t->n_apart; i++)
		if (t->apart[i].pid == m->pid && t->apart[i].start == m->start)
			return true;
	return false;
}

static struct member *grown(struct tree *t)
{
	if (t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 16;
		struct member *p = realloc(t->p, cap * sizeof *p);

		if (!p)
			return NULL; /* not counted; the next look may have room */
		t->p = p;
		t->cap = cap;
	}
	return &t->p[t->n++];
}

/* What its stat says, and the rest as it was. */
static void now_is(struct member *m, const struct member *now)
{
	bool same = m->faults == now->faults && m->still > 0;

	m->parent = now->parent;
	m->group = now->group;
	m->threads = now->threads;
	m->state = now->state;
	m->cpu = now->cpu;
	m->system = now->system;
	m->faults = now->faults;
	m->seen = true;
	if (!same)
		m->still = 0;
}

/* Sees a process of the tree; true if it is there and was not seen in this look. */
static bool see(struct tree *t, pid_t pid)
{
	struct member now = { 0 }, *m = member(t, pid);

	if ((m && m->seen) || !read_stat(pid, &now) || is_apart(t, &now))
		return false;
	if (m && m->start != now.start) {
		t->gone_cpu += m->cpu;
		*m = now;
	}
	if (!m) {
		m = grown(t);
		if (!m)
			return false;
		*m = now;
	}
	now_is(m, &now);
	return true;
}

/* Calls see for each number in a thread's list of children. */
static void see_list(struct tree *t, pid_t pid, const char *tid)
{
	char path[64], text[8192], *p = text, *end;
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/task/%.16s/children", (int)pid, tid);
	n = slurp(path, text, sizeof text);
	if (n <= 0)
		return;
	if ((size_t)n == sizeof text - 1) /* the last number may be cut */
		*strrchr(text, ' ') = '\0';
	for (long child; child = strtol(p, &end, 10), end != p; p = end)
		see(t, (pid_t)child);
}

static void see_children(struct tree *t, pid_t pid, int threads)
{
	char path[64], tid[16];
	struct dirent *e;
	DIR *d;

	snprintf(tid, sizeof tid, "%d", (int)pid);
	if (threads == 1) {
		see_list(t, pid, tid);
		return;
	}
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (isdigit((unsigned char)*e->d_name))
			see_list(t, pid, e->d_name);
	if (d)
		closedir(d);
}

/* One pass over all processes for children of ours or of the tree's; how many are new. */
static int see_whole(struct tree *t)
{
	DIR *d = opendir("/proc");
	struct member m = { 0 };
	struct dirent *e;
	int found = 0;

	while (d && (e = readdir(d))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		if (isdigit((unsigned char)*e->d_name) && read_stat(pid, &m) && (m.parent == t->self || member(t, m.parent)))
			found += see(t, pid);
	}
	if (d)
		closedir(d);
	return found;
}

/* The root, whoever became our child, whom we knew already, and the children of all these. */
static void see_all(struct tree *t)
{
	for (size_t i = 0; i < t->n; i++)
		t->p[i].seen = false;
	see(t, t->root);
	for (size_t i = 0; i < t->n; i++)
		see(t, t->p[i].pid);
	if (t->whole) {
		while (see_whole(t) > 0) /* a child may have a lower number than its parent */
			;
		return;
	}
	see_children(t, t->self, 0);
	for (size_t i = 0; i < t->n; i++) /* grows as it goes */
		if (t->p[i].seen && !ended(&t->p[i]))
			see_children(t, t->p[i].pid, t->p[i].threads);
}

/* ---- a look ---- */

/* What escaped and ended is ours to reap; others wait for their parents, and are counted once, when they are gone. */
static bool reaped(const struct tree *t, const struct member *m)
{
	return ended(m) && m->parent == t->self && m->pid != t->root && waitpid(m->pid, NULL, WNOHANG) == m->pid;
}

static void drop_gone(struct tree *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct member *m = &t->p[i];

		if (m->seen && !reaped(t, m))
			t->p[n++] = *m;
		else
			t->gone_cpu += m->cpu;
	}
	t->n = n;
}

static void most(int64_t *most_so_far, int64_t x)
{
	if (x > *most_so_far)
		*most_so_far = x;
}

/* Since when nothing of it has changed but the time that it takes. */
static void see_still(const struct tree *t, struct member *m, int64_t address, long long moves)
{
	if (t->limit <= 0 || t->limit - m->address > STUCK_ROOM) {
		m->still = 0;
		return;
	}
	read_moves(m);
	if (m->still > 0 && m->address == address && m->moves == moves)
		return;
	m->still = clock_seconds();
	m->still_system = m->system;
	m->still_cpu = m->cpu;
}

static void see_devices(struct tree *t)
{
	struct nvml_use use;

	if (!t->nvml)
		return;
	if (t->n > t->pid_cap) {
		pid_t *p = realloc(t->pid, t->cap * sizeof *p);

		if (!p)
			return;
		t->pid = p;
		t->pid_cap = t->cap;
	}
	for (size_t i = 0; i < t->n; i++)
		t->pid[i] = t->p[i].pid;
	nvml_look(t->nvml, t->pid, (int)t->n, &use);
	most(&t->f.device_peak, use.mine);
	most(&t->f.device_all_peak, use.all);
}

static void count(struct tree *t)
{
	int64_t rss = 0;
	int alive = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct member *m = &t->p[i];
		int64_t address = m->address;
		long long moves = m->moves;

		if (ended(m))
			continue;
		alive++;
		read_memory(m);
		see_still(t, m, address, moves);
		rss += m->rss;
		most(&t->f.resident_peak, m->rss_peak);
		most(&t->f.address_peak, m->address_peak);
	}
	most(&t->f.resident_peak, rss);
	if (alive > t->f.processes)
		t->f.processes = alive;
	see_devices(t);
}

/* Not the wall clock's: on a busy machine a look takes long and costs little. */
static double own_cpu(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void tree_look(struct tree *t)
{
	double begin = clock_seconds(), cpu = own_cpu(), cost;

	if (!t->root || begin < t->next)
		return;
	see_all(t);
	drop_gone(t);
	count(t);
	cost = (own_cpu() - cpu) / LOOK_SHARE;
	t->next = begin + (cost < LOOK_LEAST ? cost : LOOK_LEAST);
}

void tree_signal(struct tree *t, int sig)
{
	if (!t->root)
		return;
	see_all(t);
	drop_gone(t);
	for (size_t i = 0; i < t->n; i++)
		kill(t->p[i].pid, sig);
}

void tree_limit(struct tree *t, int64_t address_bytes)
{
	t->limit = address_bytes;
}

bool tree_stuck(struct tree *t, char words[200])
{
	double now = clock_seconds();

	for (size_t i = 0; i < t->n; i++) {
		const struct member *m = &t->p[i];
		double cpu = m->cpu - m->still_cpu, system = m->system - m->still_system;

		if (m->still <= 0 || now - m->still < STUCK_SECONDS || cpu < STUCK_CPU || system < STUCK_SHARE * cpu)
			continue;
		snprintf(words, 200, "process %d asks in vain for memory, again and again: %lld of %lld bytes of its address space are taken",
			(int)m->pid, (long long)m->address, (long long)t->limit);
		return true;
	}
	return false;
}

double tree_quiet(struct tree *t)
{
	return written_quiet(t->written);
}

void tree_scan(struct tree *t, bool whole)
{
	t->whole = whole;
}

/* ---- from the beginning to the end ---- */

static bool lists_children(pid_t self)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)self, (int)self);
	return access(path, R_OK) == 0;
}

/* The children that we have already; the list is made as the tree's is. */
static void set_apart(struct tree *t)
{
	if (t->whole)
		see_whole(t);
	else
		see_children(t, t->self, 0);
	t->apart = t->p;
	t->n_apart = t->n;
	t->p = NULL;
	t->n = t->cap = 0;
}

int tree_new(struct tree **t, const char *cwd, const char *save_dir, struct why *w)
{
	struct tree *n = calloc(1, sizeof *n);

	if (n)
		n->written = written_new(cwd, save_dir);
	if (!n || !n->written) {
		free(n);
		return why_set(w, EX_OSERR, "watching a command: no memory");
	}
	n->self = getpid();
	n->whole = !lists_children(n->self);
	n->f.device_peak = n->f.device_all_peak = -1;
	set_apart(n);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* both before anything can escape */
	*t = n;
	return 0;
}

void tree_watch(struct tree *t, pid_t root)
{
	struct rusage u;

	t->root = root;
	t->nvml = nvml_open();
	getrusage(RUSAGE_CHILDREN, &u);
	t->reaped_cpu = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
	t->reaped_rss = u.ru_maxrss;
	tree_look(t);
}

/* Two lower bounds: what wait4 told of all that was waited for, by us or by a parent in the tree, and what was
 * last seen of each process. */
static void final_usage(struct tree *t)
{
	struct rusage u;
	double cpu;
	int64_t rss;

	getrusage(RUSAGE_CHILDREN, &u);
	cpu = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
	cpu -= t->reaped_cpu;
	t->f.cpu_seconds = cpu > t->gone_cpu ? cpu : t->gone_cpu;
	rss = (int64_t)u.ru_maxrss * 1024;
	/* A child's peak begins with what it had of us before exec. */
	if (u.ru_maxrss > t->reaped_rss && rss > host_rss_peak())
		most(&t->f.resident_peak, rss);
}

static void kill_rest(struct tree *t)
{
	double until = clock_seconds() + END_SECONDS;
	size_t rest = 1;

	for (bool first = true; rest && clock_seconds() < until; first = false) {
		see_all(t);
		drop_gone(t);
		rest = 0;
		for (size_t i = 0; i < t->n; i++) {
			const struct member *m = &t->p[i];

			if (ended(m) && m->pid == t->root)
				continue;
			rest++;
			t->f.escaped += first && !ended(m) && m->group != t->root; /* its group was killed with it */
			kill(m->pid, SIGKILL);
		}
		if (rest)
			usleep(2000);
	}
}

void tree_end(struct tree *t, struct tree_facts *f)
{
	struct written_facts files = { 0 };

	*f = (struct tree_facts){ .device_peak = -1, .device_all_peak = -1 };
	if (!t)
		return;
	if (t->root) {
		kill_rest(t);
		final_usage(t);
	}
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	if (written_end(t->written, &files) < 0)
		files.partial = true;
	t->f.files = files.files;
	t->f.bytes = files.bytes;
	t->f.file = files.file;
	t->f.file_count = files.count;
	t->f.files_partial = files.partial;
	*f = t->f;
	nvml_close(t->nvml);
	free(t->pid);
	free(t->p);
	free(t->apart);
	free(t);
}

void tree_facts_free(struct tree_facts *f)
{
	for (int i = 0; i < f->file_count; i++)
		free(f->file[i]);
	free(f->file);
	*f = (struct tree_facts){ .device_peak = -1, .device_all_peak = -1 };
}
