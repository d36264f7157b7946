/* tree.c - what a command and all that it started use: counted, compared with what they say themselves, and
 * ended wherever they escaped to. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"

#include "../../lib/job/tree.h"
#include "../../lib/job/written.h"

static char self[300];

static char *const *sh(const char *script)
{
	static char *argv[] = { "sh", "-c", NULL, NULL };

	argv[2] = (char *)(uintptr_t)script;
	return argv;
}

static void rid(const char *folder)
{
	struct proc p;

	if (proc_start(&p, (char *[]){ "rm", "-rf", (char *)(uintptr_t)folder, NULL }, 0, NULL) == 0)
		proc_wait(&p, 30, NULL);
}

static int lines_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void make_file(const char *folder, const char *name)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	f = fopen(path, "w");
	if (f)
		fclose(f);
}

/* Watches the script in a new folder; its stdout, cut at size. The folder is left in `folder`; the file `stop`
 * appears there when all the lines that are wanted have come. */
static void watch(const char *script, int wanted, char folder[64], bool whole, char *out, size_t size, struct tree_facts *f)
{
	struct why w = { 0 };
	struct tree *t = NULL;
	struct proc p;
	char line[6000];
	ssize_t n = 0, k;
	double said = 0;

	snprintf(folder, 64, "/tmp/tree.XXXXXX");
	if (!mkdtemp(folder) || tree_new(&t, folder, "saves", &w) < 0) {
		ok(false, "a tree: %s", w.text);
		return;
	}
	tree_scan(t, whole);
	snprintf(line, sizeof line, "cd %s || exit; %s", folder, script);
	if (proc_start(&p, sh(line), PROC_OUT, &w) < 0) {
		ok(false, "a child: %s", w.text);
		return;
	}
	tree_watch(t, p.pid);
	fcntl(p.out, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 2000 && !proc_wait(&p, 0.01, NULL); i++) {
		tree_look(t);
		k = read(p.out, out + n, size - 1 - (size_t)n);
		n += k > 0 ? k : 0;
		out[n] = '\0';
		if (!said && lines_of(out) == wanted)
			said = clock_seconds();
		if (said && clock_seconds() > said + 1.2) /* some looks later */
			make_file(folder, "stop");
	}
	k = read(p.out, out + n, size - 1 - (size_t)n);
	n += k > 0 ? k : 0;
	out[n] = '\0';
	proc_end(&p, 0);
	tree_end(t, f);
}

/* Three processes that each hold what they say; all are there at once. */
static void resident(bool whole)
{
	struct tree_facts f;
	char folder[64], out[4096], *p = out, script[1000];
	int64_t sum = 0, address = 0, n;

	snprintf(script, sizeof script, "%s hold 40 & %s hold 80 & %s hold 20 & wait", self, self, self);
	watch(script, 3, folder, whole, out, sizeof out, &f);
	for (int i = 0; i < 3; i++) {
		sum += strtoll(p, &p, 10);
		n = strtoll(p, &p, 10);
		address = n > address ? n : address;
	}
	ok(sum > 140 << 20, "three processes hold %lld bytes together, they say", (long long)sum);
	ok(f.resident_peak >= sum && f.resident_peak < sum + (16 << 20), "the tree's peak is that and a shell's: %lld", (long long)f.resident_peak);
	is_int(f.processes, 4, "of four processes");
	ok(f.address_peak >= address && f.address_peak <= address + (1 << 20), "the largest address space is one process's: %lld", (long long)f.address_peak);
	is_int(f.escaped, 0, "none escaped");
	tree_facts_free(&f);
	rid(folder);
}

/* A peak between two looks is in the kernel's own account of each process. */
static void short_peak(void)
{
	struct tree_facts f;
	char folder[64], out[4096], script[1000];

	snprintf(script, sizeof script, "exec %s flash 200", self);
	watch(script, -1, folder, false, out, sizeof out, &f);
	ok(f.resident_peak > 200 << 20 && llabs(f.resident_peak - strtoll(out, NULL, 10)) < 2 << 20, "a peak that was over at the next look: %lld", (long long)f.resident_peak);
	tree_facts_free(&f);
	rid(folder);
	watch("exec true", -1, folder, false, out, sizeof out, &f);
	ok(f.resident_peak < 100 << 20, "the next command does not inherit it: %lld", (long long)f.resident_peak);
	tree_facts_free(&f);
	rid(folder);
}

static void cpu(bool whole)
{
	struct tree_facts f;
	char folder[64], out[4096], script[1000];

	snprintf(script, sizeof script, "%s burn 0.4; (setsid sh -c '%s burn 0.4; >done' &); until [ -e done ]; do sleep 0.1; done; sleep 0.1", self, self);
	watch(script, -1, folder, whole, out, sizeof out, &f);
	ok(f.cpu_seconds >= 0.79 && f.cpu_seconds < 1, "one child that was waited for and one that escaped: %g seconds", f.cpu_seconds);
	tree_facts_free(&f);
	rid(folder);
}

static void escapes(bool whole)
{
	struct tree_facts f;
	char folder[64], out[4096];
	pid_t pid;

	watch("(setsid sh -c 'echo $$; exec sleep 100' &) ; sleep 0.4", -1, folder, whole, out, sizeof out, &f);
	pid = (pid_t)atoi(out);
	ok(pid > 0, "a double fork and a session of its own: %d", (int)pid);
	is_int(f.escaped, 1, "it was counted");
	ok(kill(pid, 0) < 0, "it is gone");
	ok(waitpid(-1, NULL, WNOHANG) < 0, "and reaped");
	tree_facts_free(&f);
	rid(folder);
}

/* A child that we had before is none of the tree's. */
static void others(bool whole)
{
	struct tree_facts f;
	char folder[64], out[4096];
	struct proc mine;

	if (proc_start(&mine, sh("sleep 100"), 0, NULL) < 0)
		return;
	watch("exec sleep 1.2", -1, folder, whole, out, sizeof out, &f);
	is_int(f.processes, 1, "another child of ours is not counted");
	is_int(kill(mine.pid, 0), 0, "nor killed");
	proc_end(&mine, 0);
	tree_facts_free(&f);
	rid(folder);
}

static void files(void)
{
	struct tree_facts f;
	char folder[64], out[4096];

	watch("mkdir -p a/b .git saves __pycache__; echo 12345 >a/b/new; echo x >.git/hidden; echo 123 >saves/last; ln -s a/b/new link; echo >__pycache__/p;"
	      "echo 1 >.dot; ln -s / root", -1, folder, false, out, sizeof out, &f);
	is_int(f.files, 3, "three files");
	is_int(f.bytes, 6 + 4 + 2, "of so many bytes");
	ok(f.file_count == 3 && !strcmp(f.file[0], ".dot") && !strcmp(f.file[1], "a/b/new") && !strcmp(f.file[2], "saves/last"), "their names");
	ok(!f.files_partial, "all were looked at");
	tree_facts_free(&f);
	rid(folder);
}

/* Before and after, with a new file between. */
static int compare(void *folder)
{
	struct written_facts f;
	struct written *s = written_new(folder, "saves");
	char path[128];
	int r;

	if (!s)
		return -EX_OSERR;
	snprintf(path, sizeof path, "%s/new", (const char *)folder);
	close(open(path, O_CREAT | O_WRONLY, 0666));
	r = written_end(s, &f);
	if (r == 0 && f.files != 1)
		ok(false, "%lld files are new", (long long)f.files);
	for (int i = 0; i < f.count; i++)
		free(f.file[i]);
	free(f.file);
	unlink(path);
	return r;
}

static void no_memory(void)
{
	char folder[] = "/tmp/tree.XXXXXX", path[128];

	if (!mkdtemp(folder))
		return;
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s/%d", folder, i);
		mkdir(path, 0777);
		snprintf(path, sizeof path, "%s/%d/file", folder, i);
		close(open(path, O_CREAT | O_WRONLY, 0666));
	}
	alloc_each("written", compare, folder);
	rid(folder);
}

static int64_t address_peak(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[200];
	long long kib = 0;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "VmPeak: %lld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib * 1024;
}

/* What the scripts above start: this program itself. */
static int part(const char *what, double amount)
{
	double begin = clock_seconds();
	char *p = NULL;

	if (!strcmp(what, "burn")) {
		struct rusage u;

		do
			getrusage(RUSAGE_SELF, &u);
		while ((double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6 < amount);
		return 0;
	}
	if (!strcmp(what, "spin")) /* near its limit, and computing: never stuck */
		for (volatile double x = 0;; x += 1)
			;
	if (!strcmp(what, "starve")) /* as OpenBLAS before 0.3.22 */
		for (;;)
			if (mmap(NULL, (size_t)amount << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
				return 1;
	p = malloc((size_t)amount << 20);
	for (size_t i = 0; p && i < (size_t)amount << 20; i += 4096)
		((volatile char *)p)[i] = 1;
	if (!strcmp(what, "flash")) {
		free(p);
		printf("%lld\n", (long long)host_rss_peak());
		return 0; /* and nobody has looked */
	}
	printf("%lld %lld\n", (long long)host_rss(), (long long)address_peak());
	fflush(stdout);
	while (access("stop", F_OK) < 0 && clock_seconds() < begin + 30)
		usleep(10000);
	free(p);
	return 0;
}

int main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (argc == 3)
		return part(argv[1], strtod(argv[2], NULL));
	if (n < 0)
		return 1;
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* of the parts: looking for leaks starts one more process each */
	resident(false);
	resident(true);
	short_peak();
	cpu(false);
	cpu(true);
	escapes(false);
	escapes(true);
	others(false);
	others(true);
	files();
	no_memory();
	return done_testing();
}
