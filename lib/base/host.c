/* host.c - the machine we are on: memory, cores, names, and the code's revision. */
#include "base.h"

#include <ctype.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads a small file of the kernel into text; "" where it is absent. */
static void small_file(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n = 0;

	if (f) {
		n = fread(text, 1, size - 1, f);
		fclose(f);
	}
	text[n] = '\0';
}

/* The number behind `key` at the start of a line; -1 if it is not there. */
static int64_t number_of(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (!strncmp(p, key, n) && (p[n] == ' ' || p[n] == ':' || p[n] == '\t'))
			return strtoll(p + n + 1, NULL, 10);
	}
	return -1;
}

static int64_t kib_of(const char *path, const char *key)
{
	char text[8192];
	int64_t kib;

	small_file(path, text, sizeof text);
	kib = number_of(text, key);
	return kib < 0 ? -1 : kib * 1024;
}

int64_t host_rss(void)
{
	return kib_of("/proc/self/status", "VmRSS");
}

int64_t host_rss_peak(void)
{
	return kib_of("/proc/self/status", "VmHWM");
}

/* ---- control groups, version 2 and 1 ---- */

struct cgroup {
	bool v2;
	char path[1024]; /* where its files are */
	size_t root;     /* length of the mount point in it */
};

/* The line of /proc/self/cgroup that speaks of memory: "0::/a/b" or "9:memory:/a/b". */
static bool cgroup_find(struct cgroup *c)
{
	char text[8192], *save, *line, *path;
	bool found = false;

	small_file("/proc/self/cgroup", text, sizeof text);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		bool v2 = !strncmp(line, "0::", 3), v1 = strstr(line, ":memory:") != NULL;

		if ((!v1 && !v2) || (found && v2))
			continue;
		found = true;
		c->v2 = v2;
		path = strchr(strchr(line, ':') + 1, ':') + 1;
		c->root = strlen(v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory");
		snprintf(c->path, sizeof c->path, "%s%.900s", v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory", strcmp(path, "/") ? path : "");
	}
	return found;
}

static int64_t cgroup_number(const struct cgroup *c, const char *file, const char *key)
{
	char path[1200], text[8192];

	snprintf(path, sizeof path, "%s/%s", c->path, file);
	small_file(path, text, sizeof text);
	if (key)
		return number_of(text, key);
	return isdigit((unsigned char)*text) ? strtoll(text, NULL, 10) : -1;
}

/* Bytes left below the limit of this group itself; page cache that can be dropped counts as left. */
static int64_t cgroup_room(const struct cgroup *c)
{
	int64_t max = cgroup_number(c, c->v2 ? "memory.max" : "memory.limit_in_bytes", NULL);
	int64_t used = cgroup_number(c, c->v2 ? "memory.current" : "memory.usage_in_bytes", NULL);
	int64_t cache = cgroup_number(c, "memory.stat", c->v2 ? "inactive_file" : "total_inactive_file");

	if (max < 0 || used < 0)
		return INT64_MAX;
	used -= cache > 0 ? cache : 0;
	return max > used ? max - used : 0;
}

/* To the parent group; false at the mount point. */
static bool cgroup_up(struct cgroup *c)
{
	char *slash = strrchr(c->path, '/');

	if (strlen(c->path) <= c->root || !slash)
		return false;
	*slash = '\0';
	return strlen(c->path) >= c->root;
}

int64_t host_available(void)
{
	int64_t least = kib_of("/proc/meminfo", "MemAvailable"), room;
	struct cgroup c;

	if (least < 0)
		least = (int64_t)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
	if (!cgroup_find(&c))
		return least;
	do {
		room = cgroup_room(&c);
		if (room < least)
			least = room;
	} while (cgroup_up(&c));
	return least;
}

int64_t host_oom_kills(void)
{
	char text[16384];
	struct cgroup c;
	int64_t n = -1;

	if (cgroup_find(&c))
		do
			n = cgroup_number(&c, c.v2 ? "memory.events" : "memory.oom_control", "oom_kill");
		while (n < 0 && cgroup_up(&c));
	if (n >= 0)
		return n;
	small_file("/proc/vmstat", text, sizeof text);
	return number_of(text, "oom_kill");
}

/* ---- names ---- */

int host_cores(void)
{
	cpu_set_t set;
	long n;

	if (sched_getaffinity(0, sizeof set, &set) == 0)
		return CPU_COUNT(&set);
	n = sysconf(_SC_NPROCESSORS_ONLN); /* more cores than the set has bits */
	return n > 0 ? (int)n : 1;
}

void host_name(char out[256])
{
	if (gethostname(out, 256) < 0)
		strcpy(out, "unknown");
	out[255] = '\0';
}

void host_cpu(char out[256])
{
	char text[8192], *p, *end;

	small_file("/proc/cpuinfo", text, sizeof text);
	p = strstr(text, "model name");
	if (p)
		p = strchr(p, ':');
	if (!p) {
		strcpy(out, "unknown");
		return;
	}
	p += 1 + strspn(p + 1, " \t");
	end = strchr(p, '\n');
	snprintf(out, 256, "%.*s", (int)(end ? end - p : (long)strlen(p)), p);
}

/* ---- revision ---- */

/* What the command prints within two seconds; the number of bytes, -1 if it failed. */
static ssize_t output_of(char *const argv[], char *text, size_t size)
{
	double end = clock_seconds() + 2;
	struct proc p;
	size_t n = 0;
	int status = -1;
	bool over = false;

	if (proc_start(&p, argv, PROC_IN | PROC_OUT | PROC_ERR, NULL) < 0)
		return -1;
	while (!over && n < size - 1 && clock_seconds() < end) {
		struct pollfd fd = { .fd = p.out, .events = POLLIN };

		if (poll(&fd, 1, 100) > 0) {
			ssize_t got = read(p.out, text + n, size - 1 - n);

			over = got <= 0;
			n += got > 0 ? (size_t)got : 0;
		}
	}
	text[n] = '\0';
	if (over)
		proc_wait(&p, 1, &status);
	proc_end(&p, 0);
	/* A list of changes that is too long for us is an answer too. */
	return status == 0 || (!over && n == size - 1) ? (ssize_t)n : -1;
}

void host_revision(const char *dir, char out[64], bool *dirty)
{
	char text[4096], *oid, *line;
	char *argv[] = { "git", "--no-optional-locks", "-C", (char *)(uintptr_t)dir, "status", "--porcelain=v2", "--branch", "--untracked-files=no", NULL };

	*out = '\0';
	*dirty = false;
	if (output_of(argv, text, sizeof text) < 0)
		return;
	oid = strstr(text, "# branch.oid ");
	if (!oid)
		return;
	snprintf(out, 64, "%.*s", (int)strcspn(oid + 13, "\n"), oid + 13);
	for (line = text; *line; line += *line == '\n') {
		*dirty |= *line != '#';
		line += strcspn(line, "\n");
	}
}
