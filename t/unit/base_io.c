/* base_io.c - whole files, locks between processes, digests against sha256sum. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#include "../../lib/base/base.h"

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		ok(false, "writing %s", path);
}

static bool holds(const char *path, const char *text)
{
	struct buf b = { 0 };
	bool same = io_slurp(path, 1 << 20, &b, NULL) == 0 && b.n == strlen(text) && !memcmp(b.p, text, b.n);

	buf_free(&b);
	return same;
}

static int files_here(void)
{
	FILE *f = popen("ls -A | wc -l", "r");
	int n = -1;

	if (!f || fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		pclose(f);
	return n;
}

static void reading(void)
{
	struct why w = { 0 };
	struct buf b = { 0 };
	char *big = calloc(1, 200001);

	put("f", "hello");
	ok(io_slurp("f", 5, &b, &w) == 0 && b.n == 5 && !memcmp(b.p, "hello", 5), "a file of just the size allowed");
	ok(io_slurp("f", 5, &b, &w) == 0 && b.n == 10, "a second one is appended");
	is_int(io_slurp("f", 4, &b, &w), -EX_DATAERR, "one byte too many");
	is_int((long long)b.n, 10, "and the buffer is as it was");
	has_str(w.text, "reading: f: larger than 4 bytes", "with the reason");
	is_int(io_slurp("absent", 4, &b, &w), -EX_NOINPUT, "a file that is not there");
	has_str(w.text, "absent: No such file", "with the reason");
	is_int(io_slurp(".", 4, &b, &w), -EX_IOERR, "a folder");
	b.n = 0;
	if (big) {
		memset(big, 'x', 200000);
		put("big", big);
		ok(io_slurp("big", 1 << 20, &b, &w) == 0 && b.n == 200000, "a file of several pieces");
	}
	free(big);
	buf_free(&b);
}

/* A pipe that gives a byte at a time, and signals that interrupt. */
static void on_alarm(int sig)
{
	(void)sig;
}

static void short_counts(void)
{
	struct sigaction tick = { .sa_handler = on_alarm };
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
	char got[64] = "";
	int fd[2];
	pid_t pid;

	if (pipe(fd) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 40; i++) {
			(void)!write(fd[1], "x", 1);
			usleep(2000);
		}
		_exit(0);
	}
	close(fd[1]);
	sigaction(SIGALRM, &tick, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	is_int(io_read(fd[0], got, sizeof got), 40, "single bytes and interruptions make one read");
	setitimer(ITIMER_REAL, &never, NULL);
	is_int((long long)strspn(got, "x"), 40, "of the right bytes");
	close(fd[0]);
	waitpid(pid, NULL, 0);
	is_int(io_read(-1, got, 1), -1, "reading what is not open");
	is_int(io_write(-1, got, 1), -1, "writing what is not open");
	signal(SIGPIPE, SIG_IGN);
	if (pipe(fd) == 0) {
		close(fd[0]);
		errno = 0;
		is_int(io_write(fd[1], got, 1), -1, "a pipe without a reader");
		is_int(errno, EPIPE, "says so");
		close(fd[1]);
	}
}

static void positions(void)
{
	char got[8] = "";
	int fd;

	put("f", "0123456789");
	fd = open("f", O_RDONLY);
	is_int(io_pread(fd, got, 4, 3), 4, "reading at a place");
	ok(!memcmp(got, "3456", 4), "the bytes of that place");
	is_int(io_pread(fd, got, 4, 8), 2, "less at the end");
	is_int(io_pread(fd, got, 4, 100), 0, "nothing behind it");
	close(fd);
}

/* ---- files that appear whole or not at all ---- */

static void whole_files(void)
{
	struct why w = { 0 };
	struct whole *f = NULL;
	struct stat st;
	int before;

	put("w", "old");
	before = files_here();
	umask(027);
	ok(whole_begin(&f, "w", &w) == 0 && io_write(whole_fd(f), "new", 3) == 0, "begun");
	ok(holds("w", "old"), "the old file stays until the end");
	is_int(files_here(), before + 1, "beside it there is one more");
	is_int(whole_commit(f, &w), 0, "committed");
	ok(holds("w", "new"), "the new file is there");
	ok(stat("w", &st) == 0 && (st.st_mode & 0777) == 0640, "with the rights that umask leaves");
	is_int(files_here(), before, "and nothing beside it");
	umask(022);
	ok(whole_begin(&f, "w", &w) == 0 && io_write(whole_fd(f), "newer", 5) == 0, "begun again");
	whole_abandon(f);
	ok(holds("w", "new") && files_here() == before, "abandoned: nothing changed");
	whole_abandon(NULL);
	is_int(whole_begin(&f, "absent/w", &w), -EX_IOERR, "a folder that is not there");
	ok(!f, "gives no file");
	has_str(w.text, "absent/w: No such file", "with the reason");
	mkdir("d", 0777);
	ok(whole_begin(&f, "d/w", &w) == 0 && whole_commit(f, &w) == 0 && holds("d/w", ""), "in another folder, empty");
	mkdir("d/folder", 0777);
	ok(whole_begin(&f, "d/folder", &w) == 0 && whole_commit(f, &w) == -EX_IOERR, "over a folder");
	has_str(w.text, "renaming: d/folder", "with the reason");
	ok(system("test \"$(ls -A d)\" = \"$(printf 'folder\\nw')\"") == 0, "and nothing is left behind");
}

/* A process that dies at any point leaves the old file. */
static void killed_while_writing(void)
{
	pid_t pid;
	int lost = 0;

	put("k", "old");
	for (int i = 0; i < 20; i++) {
		pid = fork();
		if (pid == 0)
			for (;;) {
				struct whole *f;

				if (whole_begin(&f, "k", NULL) < 0 || io_write(whole_fd(f), "0123456789", 10) < 0 || whole_commit(f, NULL) < 0)
					_exit(1);
			}
		usleep(2000 + 700 * (useconds_t)i);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		lost += !holds("k", "old") && !holds("k", "0123456789");
	}
	is_int(lost, 0, "killed twenty times: one whole file or the other");
	ok(holds("k", "0123456789"), "and some of them had come to the end");
}

static void full(void)
{
	struct rlimit old, small;
	struct why w = { 0 };
	struct whole *f = NULL;
	char block[4096] = "";

	put("l", "old");
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 2048;
	if (whole_begin(&f, "l", &w) == 0) {
		setrlimit(RLIMIT_FSIZE, &small);
		errno = 0;
		ok(io_write(whole_fd(f), block, sizeof block) < 0 && errno == EFBIG, "a short write is an error at last");
		setrlimit(RLIMIT_FSIZE, &old);
	}
	whole_abandon(f);
	ok(holds("l", "old"), "and the old file is there");
}

/* ---- locks ---- */

/* A child that holds a lock on "lock" until it is told to let go. */
static pid_t holder(bool exclusive, int go[2])
{
	int ready[2];
	char c;
	pid_t pid;

	if (pipe(go) < 0 || pipe(ready) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		int fd = open("lock", O_RDWR | O_CREAT, 0666);

		close(go[1]);
		if (io_lock(fd, exclusive, 1, "lock", NULL) == 0)
			(void)!write(ready[1], "r", 1);
		(void)!read(go[0], &c, 1);
		_exit(0);
	}
	close(go[0]);
	close(ready[1]);
	ok(read(ready[0], &c, 1) == 1, "another process holds the lock");
	close(ready[0]);
	return pid;
}

static void locks(void)
{
	struct why w = { 0 };
	int go[2], fd, other;
	double begin;
	pid_t pid = holder(true, go);

	fd = open("lock", O_RDWR);
	begin = clock_seconds();
	is_int(io_lock(fd, true, 0.2, "lock", &w), -EX_TEMPFAIL, "held: we do not get it");
	ok(clock_seconds() - begin >= 0.2, "after the time was up");
	has_str(w.text, "locking: lock: another process holds it", "with the reason");
	is_int(io_lock(fd, false, 0, "lock", &w), -EX_TEMPFAIL, "nor to read");
	other = fork();
	if (other == 0) {
		usleep(100000);
		(void)!write(go[1], "g", 1);
		_exit(0);
	}
	is_int(io_lock(fd, true, 20, "lock", &w), 0, "it is let go while we wait, and we get it");
	close(go[1]);
	waitpid(pid, NULL, 0);
	waitpid(other, NULL, 0);
	other = open("lock", O_RDWR);
	is_int(io_lock(other, true, 0, "lock", &w), -EX_TEMPFAIL, "another open file of ours is a stranger");
	close(fd);
	is_int(io_lock(other, true, 0, "lock", &w), 0, "closing the file lets go");
	close(other);
	pid = holder(false, go);
	fd = open("lock", O_RDWR);
	is_int(io_lock(fd, false, 0, "lock", &w), 0, "readers share");
	is_int(io_lock(fd, true, 0, "lock", &w), -EX_TEMPFAIL, "and keep writers out");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_int(io_lock(fd, true, 5, "lock", &w), 0, "the dead hold nothing");
	close(fd);
	close(go[1]);
	is_int(io_lock(-1, true, 0, "lock", &w), -EX_IOERR, "no file, no lock");
}

/* ---- digests ---- */

static void sha_of_file_by_others(const char *path, char out[72])
{
	char command[256];
	FILE *f;

	snprintf(command, sizeof command, "sha256sum %s", path);
	f = popen(command, "r");
	strcpy(out, "sha256:");
	if (!f || fscanf(f, "%64s", out + 7) != 1)
		strcpy(out, "none");
	if (f)
		pclose(f);
}

/* FIPS 180-4's examples. */
static void known_digests(void)
{
	unsigned char hash[32];
	char hex[65];
	struct sha *s = sha_new();

	ok(sha_of("abc", 3, hash) == 0, "abc");
	sha_hex(hash, hex);
	is_str(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "digest of abc");
	ok(sha_of(NULL, 0, hash) == 0, "nothing");
	sha_hex(hash, hex);
	is_str(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "digest of nothing");
	if (!s)
		return;
	for (int i = 0; i < 1000; i++)
		sha_add(s, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 1000);
	sha_end(s, hash);
	sha_hex(hash, hex);
	is_str(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", "digest of a million a, in pieces");
}

/* Over 16 MiB the digest is kept; a file that changed is digested again. */
static void cached_digest(void)
{
	char got[72], want[72];
	struct timespec past[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
	int64_t bytes = 0;
	int fd;

	ok(system("head -c 17000000 /dev/zero >large && mkdir -p cache") == 0, "a large file");
	setenv("XDG_CACHE_HOME", "/nonexistent", 1);
	sha_of_file_by_others("large", want);
	ok(sha_file("large", got, &bytes, NULL) == 0 && bytes == 17000000, "a cache that cannot be written is no error");
	is_str(got, want, "a large file's digest is sha256sum's");
	setenv("XDG_CACHE_HOME", "cache", 1);
	ok(sha_file("large", got, NULL, NULL) == 0 && system("test -z \"$(ls cache)\"") == 0, "a relative folder for the cache is not used");
	setenv("XDG_CACHE_HOME", "/", 1);
	unsetenv("XDG_CACHE_HOME");
	{
		char home[4096];

		if (!getcwd(home, sizeof home))
			return;
		setenv("HOME", home, 1);
	}
	ok(sha_file("large", got, NULL, NULL) == 0 && system("test ! -e .cache/pilot || test -z \"$(ls .cache/pilot)\"") == 0, "a file of this moment is not remembered");
	sleep(4); /* the change of its status must be 2 s ago */
	ok(sha_file("large", got, NULL, NULL) == 0 && system("test \"$(ls .cache/pilot | wc -l)\" = 1") == 0, "an older one is");
	ok(system("sed -i 's/sha256:..../sha256:0000/' .cache/pilot/*") == 0, "what the cache holds is altered");
	ok(sha_file("large", got, &bytes, NULL) == 0 && !strncmp(got, "sha256:0000", 11) && bytes == 17000000, "and it is used");
	fd = open("large", O_WRONLY);
	ok(pwrite(fd, "x", 1, 5) == 1 && futimens(fd, past) == 0 && close(fd) == 0, "one byte changes, and the time is set back");
	sha_of_file_by_others("large", want);
	ok(sha_file("large", got, NULL, NULL) == 0, "digested again");
	is_str(got, want, "the right digest");
	ok(system("for f in .cache/pilot/*; do echo nonsense >$f; done") == 0 && sha_file("large", got, NULL, NULL) == 0, "a damaged cache");
	is_str(got, want, "is not believed");
}

static void digests(void)
{
	char got[72], want[72];
	struct why w = { 0 };
	int64_t bytes = 0;

	known_digests();
	put("f", "The quick brown fox");
	ok(sha_file("f", got, &bytes, &w) == 0 && bytes == 19, "a file");
	sha_of_file_by_others("f", want);
	is_str(got, want, "has sha256sum's digest");
	is_int(sha_file("absent", got, &bytes, &w), -EX_NOINPUT, "a file that is not there");
	is_int(sha_file(".", got, &bytes, &w), -EX_IOERR, "a folder");
	has_str(w.text, "reading: .: Is a directory", "with the reason");
	cached_digest();
}

int main(void)
{
	char folder[] = "/tmp/pilot-io-XXXXXX", command[64];

	if (!mkdtemp(folder) || chdir(folder) < 0)
		return 70;
	reading();
	short_counts();
	positions();
	whole_files();
	killed_while_writing();
	full();
	locks();
	digests();
	snprintf(command, sizeof command, "rm -rf %s", folder);
	if (chdir("/") < 0 || system(command) != 0)
		return 70;
	return done_testing();
}
