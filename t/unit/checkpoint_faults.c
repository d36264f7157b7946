/* checkpoint_faults.c - the Nth write, sync or rename of a run that saves fails, for N = 1, 2, ... until none is left:
 * the run says so (74), the newest file left behind is whole and resumes, and nothing half-written stays.
 * Linked with -Wl,--wrap for the calls below. */
#include "../../lib/train/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tap.h"

enum call { WRITE, SHORT_WRITE, FSYNC, RENAME, CALLS };
static const char *const names[CALLS] = { "write", "short write", "fsync", "rename" };
static struct {
	enum call call;
	long at, seen; /* 0: none fails */
	bool hit;
} fault;
static int records = -1; /* where the stream goes: never fails here */

static bool refused(enum call c)
{
	if (!fault.at || fault.call != c || ++fault.seen != fault.at)
		return false;
	fault.hit = true;
	errno = c == FSYNC || c == RENAME ? EIO : ENOSPC;
	return true;
}

ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n)
{
	static bool full; /* a full disk takes some bytes first, and says so on the next call */

	if (fd <= 2 || fd == records || n == 1) /* one byte: the peak of the resident set is reset in /proc */
		return __real_write(fd, p, n);
	if (full || refused(WRITE)) {
		full = false;
		errno = ENOSPC;
		return -1;
	}
	full = refused(SHORT_WRITE);
	return __real_write(fd, p, full ? n / 2 : n);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	return refused(FSYNC) ? -1 : __real_fsync(fd);
}

int __real_rename(const char *a, const char *b);
int __wrap_rename(const char *a, const char *b);
int __wrap_rename(const char *a, const char *b)
{
	return refused(RENAME) ? -1 : __real_rename(a, b);
}

static char folder[256], save[300];

static int run(const char *const settings[][2], struct outcome *result, struct why *w)
{
	struct run_names n = { .role = "train" };
	struct config c;
	struct out *o;
	int rc = config_init(&c);

	for (int i = 0; !rc && settings[i][0]; i++)
		rc = config_set(&c, option_find(settings[i][0]), settings[i][1], w);
	if (!rc && (rc = out_open(&o, records, FORM_MSGPACK, w)) == 0) {
		rc = trainer_run(&c, &n, NULL, o, result, w);
		if (out_close(o, NULL) != 0 && !rc)
			rc = -EX_IOERR;
	}
	config_free(&c);
	return rc;
}

/* Files of the folder that are no checkpoint and no lock. */
static int strangers(void)
{
	struct dirent *e;
	DIR *d = opendir(save);
	int n = 0;

	while (d && (e = readdir(d)) != NULL)
		n += checkpoint_name_update(e->d_name) < 0 && strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && strcmp(e->d_name, ".lock");
	if (d)
		closedir(d);
	return n;
}

static void clean(void)
{
	char command[400];

	snprintf(command, sizeof command, "rm -rf '%s'", save);
	if (system(command) != 0)
		diag("cannot remove %s", save);
}

static bool resumes(void)
{
	const char *const again[][2] = { { "resume", save }, { "save", save }, { "save-every", "0" }, { "val-examples", "1" }, { NULL, NULL } };
	struct outcome result;
	struct why w = { 0 };
	int64_t *list = NULL;
	int n = checkpoint_list(save, &list, NULL), rc;

	free(list);
	if (n <= 0)
		return n == 0; /* it failed before the first was complete */
	rc = run(again, &result, &w);
	if (rc != 0 || strcmp(result.status, "done") != 0 || strangers() != 0)
		diag("resume: %d %s %s, %d strangers", rc, result.status, w.text, strangers());
	return rc == 0 && strcmp(result.status, "done") == 0 && strangers() == 0;
}

static void each(enum call call)
{
	const char *const settings[][2] = { { "model", "gpt:layers=1,width=8,heads=2" }, { "data", "sums:digits=1" }, { "updates", "4" },
		{ "threads", "1" }, { "val-examples", "1" }, { "save", save }, { "save-every", "1" }, { "keep", "2" }, { NULL, NULL } };
	int failures = 0, silent = 0, broken = 0, left = 0;
	struct outcome result;

	for (long at = 1; at < 1000; at++) {
		struct why w = { 0 };
		int rc;

		clean();
		fault.call = call;
		fault.at = at;
		fault.seen = 0;
		fault.hit = false;
		rc = run(settings, &result, &w);
		fault.at = 0;
		if (!fault.hit)
			break;
		failures++;
		if (rc != -EX_IOERR || result.code != EX_IOERR || strcmp(result.status, "error") != 0) {
			diag("%s %ld: %d, code %d, status %s: %s", names[call], at, rc, result.code, result.status, w.text);
			silent++;
		}
		left += strangers();
		broken += !resumes();
	}
	ok(failures >= 4 && silent == 0, "%s: %d failures, each one ends the run with 74", names[call], failures);
	is_int(left, 0, "nothing half-written stays");
	is_int(broken, 0, "what is there resumes");
}

int main(void)
{
	records = open("/dev/null", O_WRONLY);
	snprintf(folder, sizeof folder, "%s/checkpoint_faults.XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(folder))
		skip_all("no temporary folder");
	snprintf(save, sizeof save, "%s/c", folder);
	for (enum call c = 0; c < CALLS; c++)
		each(c);
	clean();
	rmdir(folder);
	return done_testing();
}
