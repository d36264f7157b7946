/* base_host.c - the machine as the kernel and git describe it; time and ids. */
#include <ctype.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"

#include "../../lib/base/base.h"

/* The first line that a command prints. */
static const char *said(const char *command)
{
	static char line[512];
	FILE *f = popen(command, "r");

	*line = '\0';
	if (f && fgets(line, sizeof line, f))
		line[strcspn(line, "\n")] = '\0';
	if (f)
		pclose(f);
	return line;
}

static void memory(void)
{
	enum { SIZE = 64 << 20, SLACK = 2 << 20 };
	int64_t before = host_rss(), during, kernel = atoll(said("awk '/MemAvailable/ { printf \"%.0f\", $2 * 1024 }' /proc/meminfo"));
	int64_t available = host_available();
	char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* The kernel's two counters are exact to a few pages a core only. */
	ok(before > 0 && host_rss_peak() >= before - SLACK, "resident bytes and their peak");
	if (p == MAP_FAILED)
		return;
	memset(p, 1, SIZE);
	during = host_rss();
	munmap(p, SIZE);
	ok(during - before >= SIZE - SLACK && during - before < SIZE + (8 << 20), "64 MiB more are seen");
	ok(host_rss() < during - SIZE / 2 && host_rss_peak() >= during - SLACK, "given back: the peak stays");
	ok(available > 0 && available <= kernel + kernel / 10, "available: at most what the kernel has");
	ok(host_oom_kills() >= -1, "kills by the kernel are counted, or unknown");
	is_int(host_cores(), atoll(said("env -u OMP_NUM_THREADS nproc")), "usable cores are nproc's");
}

/* Of the cores given to this process, not of the machine. */
static void one_core(void)
{
	cpu_set_t old, one;

	CPU_ZERO(&one);
	sched_getaffinity(0, sizeof old, &old);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &old))
			CPU_SET(i, &one);
	sched_setaffinity(0, sizeof one, &one);
	is_int(host_cores(), 1, "one core when bound to one");
	sched_setaffinity(0, sizeof old, &old);
}

static void names(void)
{
	char name[256], cpu[256];

	host_name(name);
	is_str(name, said("uname -n"), "the host's name");
	host_cpu(cpu);
	ok(*cpu && !strchr(cpu, '\n') && !isspace((unsigned char)*cpu), "the processor: %s", cpu);
}

static void revision(void)
{
	char folder[] = "/tmp/pilot-git-XXXXXX", command[512], out[64], want[64];
	bool dirty = true;

	if (strncmp(said("git --version"), "git version", 11)) {
		skip("revision of a checkout", "git is not installed");
		return;
	}
	if (!mkdtemp(folder))
		return;
	host_revision(folder, out, &dirty);
	ok(!*out && !dirty, "a folder that is no checkout has no revision");
	snprintf(command, sizeof command, "cd %s && git init -q . && echo a >f && git add f && git -c user.name=n -c user.email=e commit -q -m m && git rev-parse HEAD", folder);
	snprintf(want, sizeof want, "%s", said(command));
	host_revision(folder, out, &dirty);
	ok(strlen(want) == 40 && !strcmp(out, want), "the revision is git's");
	ok(!dirty, "and the tree is clean");
	snprintf(command, sizeof command, "cd %s && echo b >g && mkdir -p sub && echo done", folder);
	said(command);
	host_revision(folder, out, &dirty);
	ok(!dirty, "an untracked file does not count");
	snprintf(command, sizeof command, "cd %s && echo b >f && echo done", folder);
	said(command);
	strcat(strcpy(command, folder), "/sub");
	host_revision(command, out, &dirty);
	ok(!strcmp(out, want) && dirty, "a changed one does, seen from a folder below");
	host_revision("/nonexistent", out, &dirty);
	ok(!*out && !dirty, "a folder that is not there has no revision");
	snprintf(command, sizeof command, "rm -rf %s && echo done", folder);
	said(command);
}

static void ids(void)
{
	char a[ULID_SIZE], b[ULID_SIZE], time_part[11] = "";
	int64_t now = (int64_t)clock_now().seconds * 1000, ms = 0;
	double begin = clock_seconds();

	ulid_new(a);
	usleep(5000);
	ulid_new(b);
	ok(ulid_valid(a) && ulid_valid(b), "ids are ULIDs: %s", a);
	ok(strcmp(a, b) < 0, "a later one sorts later");
	memcpy(time_part, a, 10);
	for (int i = 0; i < 10; i++)
		ms = ms * 32 + (strchr("0123456789ABCDEFGHJKMNPQRSTVWXYZ", time_part[i]) - "0123456789ABCDEFGHJKMNPQRSTVWXYZ");
	ok(ms >= now && ms < now + 60000, "its first ten digits are the milliseconds since 1970");
	ok(!ulid_valid("") && !ulid_valid("01ARZ3NDEKTSV4RRFFQ69G5FA") && !ulid_valid("01ARZ3NDEKTSV4RRFFQ69G5FAVX"), "too short, too long");
	ok(!ulid_valid("01ARZ3NDEKTSV4RRFFQ69G5FAU") && !ulid_valid("81ARZ3NDEKTSV4RRFFQ69G5FAV") && ulid_valid("01ARZ3NDEKTSV4RRFFQ69G5FAV"), "letters that Crockford left out; more than 128 bits; the specification's example");
	ok(clock_seconds() - begin >= 0.005, "the clock goes on");
	ok(llabs((long long)clock_now().seconds - atoll(said("date +%s"))) <= 1, "the time is date's");
}

int main(void)
{
	memory();
	one_core();
	names();
	revision();
	ids();
	return done_testing();
}
