/* shadow.c - the copy of a working folder: what a program can read and write in it, and that nothing it does
 * reaches the user's. The programs are sh and Python, which pilot did not write. */
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#include "../../lib/job/shadow.h"

static char top[200], cwd[4096];

/* Runs a script in the user's folder's parent; its status. */
static int sh(const char *script)
{
	char line[4000];

	snprintf(line, sizeof line, "cd %s && { %s\n}", top, script);
	return system(line);
}

/* The same in the copy, held by the guard if there is one. */
static int inside(const char *script, int guard)
{
	int status;
	pid_t p = fork();

	if (p == 0) {
		if (chdir(cwd) < 0)
			_exit(99);
		if (guard >= 0 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_landlock_restrict_self, guard, 0) < 0))
			_exit(98);
		execl("/bin/sh", "sh", "-c", script, (char *)NULL);
		_exit(97);
	}
	return waitpid(p, &status, 0) == p && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *in(const char *name)
{
	static char path[8][300];
	static int k;

	k = (k + 1) % 8;
	snprintf(path[k], sizeof path[k], "%s/%s", top, name);
	return path[k];
}

static int make(const char *root, bool guess)
{
	char from[300], written[300], log[300], cached[300];
	char *omit[] = { written, log }, *copy[] = { cached };
	struct why w = { 0 };

	snprintf(from, sizeof from, "%s", in("user/repo"));
	snprintf(written, sizeof written, "%s", in("user/repo/out/ckpt.pt"));
	snprintf(log, sizeof log, "%s", in("user/repo/log.txt"));
	snprintf(cached, sizeof cached, "%s", in("user/repo/cached/tokens.bin"));
	struct shadow_plan p = { .cwd = from, .omit = omit, .omits = 2, .copy = copy, .copies = 1, .guess = guess };
	int rc = shadow_make(in(root), &p, cwd, sizeof cwd, &w);

	if (rc)
		printf("# %s\n", w.text);
	return rc;
}

static void build(void)
{
	ok(sh("mkdir -p user/repo/out user/repo/data user/repo/cached user/repo/.git user/repo/pkg user/repo/venv user/repo/many user/data tmp"
	      " && printf saved >user/repo/out/ckpt.pt && printf note >user/repo/out/note.txt && printf log >user/repo/log.txt"
	      " && head -c 2000000 /dev/zero >user/repo/data/train.bin && head -c 2000000 /dev/zero >user/repo/cached/tokens.bin"
	      " && { printf 'PK\\003\\004archive'; head -c 2000000 /dev/zero; } >user/repo/old.pt"
	      " && printf up >user/data/up.txt && touch user/repo/venv/pyvenv.cfg user/repo/pkg/__init__.py && ln -s data user/repo/link"
	      " && printf 'import os, pathlib\\nHERE = pathlib.Path(__file__).resolve().parent\\n' >user/repo/pkg/where.py"
	      " && printf 'import sys\\nfrom pkg import where\\nimport pathlib\\nhere = pathlib.Path(__file__).resolve().parent\\nprint(where.HERE.parent == here == pathlib.Path.cwd())\\n(here / \"made.txt\").write_text(\"x\")\\n' >user/repo/train.py"
	      " && touch -d 2020-01-01 user/repo/train.py && i=0 && while [ $i -lt 1100 ]; do : >user/repo/many/$i; i=$((i+1)); done"
	      " && find user -type f -exec sha256sum {} + | sort >before") == 0, "a folder to copy");
}

static void reads(void)
{
	ok(make("s", false) == 0, "the copy is made");
	ok(inside("test ! -e out/ckpt.pt && test ! -e log.txt && test \"$(cat out/note.txt)\" = note", -1) == 0, "what the run wrote is not there, what lay beside it is");
	ok(inside("test -L data/train.bin && cmp data/train.bin link/train.bin && test -L venv && test -L .git && test -L many && test -f many/1099", -1) == 0, "large files, large and hidden folders, environments are links");
	ok(inside("test ! -L cached/tokens.bin && test \"$(wc -c <cached/tokens.bin)\" -eq 2000000 && test -L old.pt", -1) == 0, "what is to be copied is");
	ok(inside("test \"$(cat ../data/up.txt)\" = up && test \"$(cat ../../user/data/up.txt)\" = up", -1) == 0, "the way up leads to the user's neighbours");
	ok(inside("test \"$(/usr/bin/python3 train.py)\" = True && test -f made.txt && /usr/bin/python3 -m pkg.where", -1) == 0, "a script and its package find themselves in the copy");
	ok(sh("test \"$(stat -c %Y user/repo/train.py)\" = \"$(stat -c %Y s/$PWD/user/repo/train.py)\"") == 0, "times are kept");
}

static void writes(void)
{
	struct why w = { 0 };

	ok(inside("mkdir -p out && printf new >out/ckpt.pt && printf x >>log.txt && printf x >>out/note.txt && mv out/ckpt.pt out/b && rm train.py", -1) == 0, "it can be written to");
	ok(shadow_copy(in("s"), in("s2"), &w) == 0 && sh("cd s2/$PWD/user/repo && test \"$(cat out/b)\" = new && test -L data/train.bin && test ! -e train.py") == 0, "copied again, with what was done in it");
	temp_clear(in("s"));
	temp_clear(in("s2"));
	ok(sh("test ! -e s && test ! -e s2 && find user -type f -exec sha256sum {} + | sort | cmp - before") == 0, "removed, and nothing of the user's has changed");
}

static void guessed(void)
{
	ok(make("s", true) == 0 && inside("test ! -L old.pt && cmp old.pt '../repo/old.pt' && test -L data/train.bin", -1) == 0, "by guess, what looks like a checkpoint is copied");
	temp_clear(in("s"));
}

/* In a folder that the run wrote to, only what is older than the run is there; a link to a folder is one. */
static void fresh(void)
{
	char from[300], out[300], far[300];
	char *folder[] = { out, far };
	struct why w = { 0 };

	snprintf(from, sizeof from, "%s", in("user/repo"));
	snprintf(out, sizeof out, "%s", in("user/repo/out"));
	snprintf(far, sizeof far, "%s", in("user/repo/far"));
	ok(sh("touch -d 2020-01-01 user/repo/out/note.txt && mkdir -p elsewhere/deep && echo x >elsewhere/deep/new && ln -s ../../elsewhere user/repo/far && ln -s ckpt.pt user/repo/out/last") == 0, "folders to empty");
	ok(shadow_make(in("s"), &(struct shadow_plan){ .cwd = from, .fresh = folder, .freshes = 2, .since = 1700000000 }, cwd, sizeof cwd, &w) == 0
	   && inside("test -f out/note.txt && test ! -e out/ckpt.pt && test ! -L out/last && test ! -L far && test ! -e far/deep && test -f log.txt && mkdir far/deep && : >far/deep/other", -1) == 0, "what is younger than the run is left out, folders too %s", w.text);
	ok(sh("test ! -e elsewhere/deep/other && rm -r elsewhere user/repo/far user/repo/out/last") == 0, "and not written to");
	temp_clear(in("s"));
}

/* TMPDIR may lie in the working folder. */
static void within(void)
{
	ok(sh("mkdir user/repo/tmp") == 0 && make("user/repo/tmp/s", false) == 0 && inside("test -d tmp && test ! -e tmp/s && test -f train.py", -1) == 0, "a copy below the folder itself is not copied into itself");
	ok(sh("rm -r user/repo/tmp") == 0, "removed");
}

static void refuses(void)
{
	struct why w = { 0 };
	struct shadow_plan gone = { .cwd = "/no/such/folder" }, relative = { .cwd = "x" };

	ok(shadow_make(in("s"), &gone, cwd, sizeof cwd, &w) == -EX_NOINPUT, "a folder that is gone: %s", w.text);
	ok(shadow_make(in("s"), &relative, cwd, sizeof cwd, &w) == -EX_NOINPUT, "a relative one");
	ok(sh("mkdir s") == 0 && make("s", false) == -EX_IOERR && sh("rmdir s") == 0, "a root that is there");
}

/* The kernel refuses what the copy cannot keep out: an absolute path, a link. */
static void guard(void)
{
	char from[300], keep[300], line[1000];
	int fd;

	snprintf(from, sizeof from, "%s", in("user/repo"));
	snprintf(keep, sizeof keep, "%s", in("s"));
	ok(make("s", false) == 0, "a copy to guard");
	fd = shadow_guard(from, (const char *const[]){ keep, NULL });
	if (fd < 0) {
		skip("the guard", "this kernel has no Landlock");
		temp_clear(in("s"));
		return;
	}
	snprintf(line, sizeof line, "U=%s; ! cp train.py $U/out/ckpt.pt 2>/dev/null && ! cp train.py data/train.bin 2>/dev/null && ! rm $U/old.pt 2>/dev/null && ! mkdir $U/new 2>/dev/null", from);
	ok(inside(line, fd) == 0, "what is the user's cannot be written to");
	ok(inside("mkdir -p out && : >out/ckpt.pt && mkdir -p a b && : >a/x && mv a/x b/x && rm b/x && : >/dev/null && cat ../data/up.txt >/dev/null", fd) == 0, "the copy can, and all can be read");
	close(fd);
	temp_clear(in("s"));
	ok(sh("find user -type f -exec sha256sum {} + | sort | cmp - before") == 0, "nothing of the user's has changed");
}

int main(void)
{
	const char *base = getenv("TMPDIR");

	snprintf(top, sizeof top, "%s/shadow-XXXXXX", base && *base ? base : "/tmp");
	if (!mkdtemp(top))
		return 1;
	char *real = realpath(top, NULL);
	if (real)
		snprintf(top, sizeof top, "%s", real);
	free(real);
	build();
	reads();
	writes();
	guessed();
	fresh();
	within();
	refuses();
	guard();
	temp_clear(top);
	return done_testing();
}
