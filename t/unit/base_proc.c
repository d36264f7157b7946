/* base_proc.c - children that die with us and leave none behind; signals that ask us to stop. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#include "../../lib/base/base.h"

static char *const *sh(const char *script)
{
	static char *argv[] = { "sh", "-c", NULL, NULL };

	argv[2] = (char *)(uintptr_t)script;
	return argv;
}

/* What is left to read. */
static const char *rest(int fd)
{
	static char text[4096];
	ssize_t n = io_read(fd, text, sizeof text - 1);

	text[n < 0 ? 0 : n] = '\0';
	return text;
}

/* Does the process run? A zombie does not. */
static bool alive(pid_t pid)
{
	char path[64], state = 'X';
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 'X';
	fclose(f);
	return state != 'Z' && state != 'X';
}

static bool gone_soon(pid_t pid)
{
	for (int i = 0; i < 200; i++) {
		if (!alive(pid))
			return true;
		usleep(20000);
	}
	return false;
}

static void pipes(void)
{
	struct why w = { 0 };
	struct proc p;
	int status = -1;

	if (!is_int(proc_start(&p, sh("read x; echo \"got $x\"; echo trouble >&2; exit 7"), PROC_IN | PROC_OUT | PROC_ERR, &w), 0, "a child with three pipes"))
		return;
	is_int(proc_wait(&p, 0.05, &status), 0, "it waits for us");
	ok(io_write(p.in, "words\n", 6) == 0, "we write");
	is_str(rest(p.out), "got words\n", "its stdout");
	is_str(rest(p.err), "trouble\n", "its stderr");
	is_int(proc_wait(&p, 10, &status), 1, "it has ended");
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 7, "with its status");
	is_int(p.pid, 0, "and is reaped");
	is_int(proc_wait(&p, 0, NULL), 1, "waiting again is harmless");
	proc_signal(&p, SIGKILL);
	proc_end(&p, 1);
	ok(p.in == -1 && p.out == -1 && p.err == -1, "its pipes are closed");
	proc_end(&p, 1);
	memset(&p, 0, sizeof p);
	proc_end(&p, 1);
	ok(fcntl(0, F_GETFD) >= 0, "a struct of zeros does not cost us stdin");
}

static void unable(void)
{
	char *none[] = { "/nonexistent/program", NULL }, *folder[] = { "/tmp", NULL };
	struct why w = { 0 };
	struct proc p;

	is_int(proc_start(&p, none, PROC_OUT, &w), -EX_UNAVAILABLE, "a program that is not there");
	is_str(w.text, "starting: /nonexistent/program: No such file or directory", "is named with the reason");
	ok(p.pid == 0 && p.out == -1, "and nothing is left");
	is_int(proc_start(&p, folder, PROC_IN | PROC_OUT | PROC_ERR, &w), -EX_UNAVAILABLE, "a folder");
	has_str(w.text, "/tmp: Permission denied", "is named with the reason");
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no child is left");
}

/* A child inherits nothing of ours but 0, 1, 2; its group is its own; SIGPIPE works again. */
static void surroundings(void)
{
	struct proc first, second;
	char group[32];
	int status = -1;

	signal(SIGPIPE, SIG_IGN);
	if (proc_start(&first, sh("cat"), PROC_IN | PROC_OUT, NULL) < 0 ||
	    proc_start(&second, sh("cut -d' ' -f5 </proc/$$/stat; sh -c 'kill -PIPE $$; echo ignored'; read x"), PROC_IN | PROC_OUT, NULL) < 0) {
		ok(false, "two children");
		return;
	}
	close(first.in);
	first.in = -1;
	is_int(proc_wait(&first, 10, &status), 1, "the end of its input ends the first: the second does not hold the pipe");
	proc_end(&first, 0);
	ok(io_write(second.in, "\n", 1) == 0, "the second goes on");
	snprintf(group, sizeof group, "%d\n", (int)second.pid);
	is_str(rest(second.out), group, "it has its own process group, and SIGPIPE is not ignored");
	proc_end(&second, 1);
}

/* With stdin closed a pipe could become descriptor 0. */
static void closed_stdin(void)
{
	int old = dup(0);
	struct proc p;
	char got[8] = "";

	close(0);
	if (is_int(proc_start(&p, sh("read x; echo \"$x\""), PROC_IN | PROC_OUT, NULL), 0, "a child of a process without stdin")) {
		ok(p.in > 2 && p.out > 2 && io_write(p.in, "a\n", 2) == 0, "has pipes out of the way");
		ok(io_read(p.out, got, 2) == 2 && got[0] == 'a', "that work");
		proc_end(&p, 1);
	}
	dup2(old, 0);
	close(old);
}

/* ---- ending ---- */

static void whole_group(void)
{
	struct proc p;
	int status = 0, grandchild = 0;
	double begin;

	if (proc_start(&p, sh("sleep 600 & echo $!; trap '' TERM; wait; sleep 600"), PROC_OUT, NULL) < 0)
		return;
	{
		char line[32] = "";

		for (size_t i = 0; i < sizeof line - 1 && read(p.out, line + i, 1) == 1 && line[i] != '\n'; i++)
			;
		grandchild = atoi(line);
	}
	ok(grandchild > 0 && alive(grandchild), "a child and its child run");
	begin = clock_seconds();
	is_int(proc_wait(&p, 0.1, &status), 0, "waiting ends after its time");
	ok(clock_seconds() - begin >= 0.1, "not before");
	usleep(100000);
	proc_end(&p, 0.3);
	ok(p.pid == 0 && waitpid(-1, NULL, WNOHANG) < 0, "one that ignores SIGTERM is killed after its grace, and reaped");
	ok(gone_soon(grandchild), "and its child with it");
}

/* A child that ends leaves its own children: they are ended too. */
static void leftovers(void)
{
	struct proc p;
	int status = -1;
	pid_t grandchild;

	if (proc_start(&p, sh("sleep 600 >/dev/null & echo $!; exit 3"), PROC_OUT, NULL) < 0)
		return;
	grandchild = atoi(rest(p.out));
	is_int(proc_wait(&p, 10, &status), 1, "a child has ended");
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 3, "with its own status");
	ok(grandchild > 0 && gone_soon(grandchild), "what it left behind is ended");
	proc_end(&p, 0);
}

static void graceful(void)
{
	struct proc p;
	int status = 0;

	if (proc_start(&p, sh("trap 'echo bye; exit 4' TERM; echo ready; while :; do sleep 0.05; done"), PROC_OUT, NULL) < 0)
		return;
	{
		char line[6];

		ok(io_read(p.out, line, 6) == 6, "a child that ends in its own way");
	}
	proc_signal(&p, SIGTERM);
	is_int(proc_wait(&p, 10, &status), 1, "has ended");
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 4, "by itself");
	is_str(rest(p.out), "bye\n", "with its last words");
	proc_end(&p, 0);
	if (proc_start(&p, sh("kill -SEGV $$"), 0, NULL) < 0)
		return;
	ok(proc_wait(&p, 10, &status) == 1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "a crash is seen as the signal it was");
}

/* Killed without a chance to say goodbye, we take our children along. */
static void orphans(void)
{
	int fd[2];
	pid_t middle, child = 0;

	if (pipe(fd) < 0)
		return;
	middle = fork();
	if (middle == 0) {
		struct proc p;

		if (proc_start(&p, sh("exec sleep 600"), 0, NULL) < 0)
			_exit(1);
		(void)!write(fd[1], &p.pid, sizeof p.pid);
		pause();
	}
	ok(read(fd[0], &child, sizeof child) == sizeof child && alive(child), "a grandchild runs");
	kill(middle, SIGKILL);
	waitpid(middle, NULL, 0);
	ok(gone_soon(child), "its parent is killed: it is gone too");
	close(fd[0]);
	close(fd[1]);
}

/* ---- signals ---- */

/* Runs `body` in a child of fork and returns its waitpid status. */
static int status_of(void (*body)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		body();
		_exit(99);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void once(void)
{
	stop_install();
	raise(SIGTERM);
	_exit(stop_wanted());
}

static void twice(void)
{
	stop_install();
	raise(SIGTERM);
	raise(SIGINT);
	_exit(98);
}

static void echoed(void)
{
	stop_install();
	raise(SIGTERM);
	raise(SIGTERM);
	_exit(97);
}

static void twice_later(void)
{
	stop_install();
	raise(SIGTERM);
	usleep(300000);
	raise(SIGTERM);
	_exit(98);
}

static void by_hand(void)
{
	stop_install();
	stop_request(SIGPIPE);
	stop_request(SIGTERM);
	raise(SIGPIPE);
	_exit(stop_wanted());
}

static void again(void)
{
	stop_install();
	raise(SIGINT);
	stop_reraise(stop_wanted());
}

static void again_pipe(void)
{
	stop_install();
	stop_reraise(SIGPIPE);
}

static void blocked(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	stop_reraise(SIGTERM);
}

static bool exited(int status, int code)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

static bool killed(int status, int sig)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == sig;
}

static void stops(void)
{
	is_int(stop_wanted(), 0, "nobody asked us to stop");
	ok(exited(status_of(once), SIGTERM), "a signal is remembered, not obeyed");
	ok(killed(status_of(twice), SIGINT), "a second one ends us at once");
	ok(exited(status_of(echoed), 97), "the same one at the same moment is an echo");
	ok(killed(status_of(twice_later), SIGTERM), "the same one later ends us at once");
	ok(exited(status_of(by_hand), SIGPIPE), "the first request counts; SIGPIPE itself is ignored");
	ok(killed(status_of(again), SIGINT), "we end by the signal that asked");
	ok(killed(status_of(again_pipe), SIGPIPE), "also by SIGPIPE");
	ok(killed(status_of(blocked), SIGTERM), "also where it is blocked");
}

static void beside(void)
{
	char path[4096], small[4], want[4096];
	struct why w = { 0 };
	ssize_t n = readlink("/proc/self/exe", want, sizeof want - 1);

	want[n < 0 ? 0 : n] = '\0';
	is_int(proc_beside(strrchr(want, '/') + 1, path, sizeof path, &w), 0, "the program beside us");
	is_str(path, want, "is found by its absolute path");
	is_int(proc_beside("no-such-program", path, sizeof path, &w), -EX_UNAVAILABLE, "one that is not there");
	has_str(w.text, "no-such-program: No such file", "is named");
	is_int(proc_beside("x", small, sizeof small, &w), -EX_OSERR, "a path that does not fit");
}

/* A child with all that can be set for one. */
static void as_told(void)
{
	char *env[] = { "PATH=/usr/bin:/bin", "WORD=said", NULL }, script[200];
	char *lost[] = { "no-such-program-anywhere", NULL };
	struct proc_how how = { .envp = env, .cwd = "/proc/self", .no_input = true, .joined = true, .address_bytes = 1 << 30 };
	struct why w = { 0 };
	struct proc p;
	int keep[2];

	if (!is_int(pipe2(keep, O_CLOEXEC), 0, "a pipe to hand down"))
		return;
	how.keep[0] = keep[1];
	snprintf(script, sizeof script, "echo kept >&%d; env | grep -c -e WORD -e HOME; echo $WORD >&2; read x; echo \"$x\"; ulimit -v; cd -P .; pwd | cut -c1-6", keep[1]);
	if (!is_int(proc_start_as(&p, sh(script), PROC_OUT, &how, &w), 0, "a child as told"))
		return;
	close(keep[1]);
	is_str(rest(p.out), "1\nsaid\n\n1048576\n/proc/\n", "its environment, one output, no input, its limit and its folder");
	is_str(rest(keep[0]), "kept\n", "a descriptor that it keeps");
	close(keep[0]);
	proc_end(&p, 1);
	how = (struct proc_how){ .cwd = "/no/such/folder" };
	is_int(proc_start_as(&p, sh("true"), 0, &how, &w), -EX_NOINPUT, "a folder that is not there");
	is_str(w.text, "starting: sh: working folder /no/such/folder: No such file or directory", "is named");
	how = (struct proc_how){ .envp = env };
	is_int(proc_start_as(&p, lost, 0, &how, &w), -EX_UNAVAILABLE, "a program that its PATH does not have");
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no child is left");
}

/* The guard: a process of ours dies by SIGKILL, and what it started, in whatever session, dies with it. */
static void guarded(void)
{
	char *env[] = { "PATH=/usr/bin:/bin", "UNIT_MARK=this-one", NULL };
	struct proc_how how = { .envp = env, .joined = true };
	struct guard g;
	struct proc p;
	int told[2], pids[2] = { 0, 0 };
	pid_t middle;

	if (pipe(told) < 0)
		return;
	middle = fork();
	if (middle == 0) {
		char text[128] = "";

		if (guard_start(&g, "UNIT_MARK=this-one", NULL, NULL) < 0 || proc_start_as(&p, sh("sleep 99 & setsid sleep 99 & echo $!; wait"), PROC_OUT, &how, NULL) < 0)
			_exit(1);
		guard_group(&g, p.pid);
		(void)!read(p.out, text, sizeof text - 1);
		usleep(100000); /* until setsid has run */
		pids[0] = (int)p.pid;
		pids[1] = atoi(text);
		(void)!write(told[1], pids, sizeof pids);
		pause();
		_exit(0);
	}
	ok(read(told[0], pids, sizeof pids) == (ssize_t)sizeof pids && pids[1] > 0, "a process with children");
	kill(middle, SIGKILL);
	waitpid(middle, NULL, 0);
	ok(gone_soon(pids[0]), "the child is gone");
	ok(gone_soon(pids[1]), "so is one that left its session");
	close(told[0]);
	close(told[1]);
	is_int(guard_start(&g, "UNIT_MARK=other", NULL, NULL), 0, "a guard that is not needed");
	guard_end(&g);
	ok(g.pid == 0 && waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "goes when it is told to");
	guard_end(&g);
}

int main(void)
{
	pipes();
	unable();
	surroundings();
	closed_stdin();
	whole_group();
	leftovers();
	graceful();
	orphans();
	stops();
	beside();
	as_told();
	guarded();
	return done_testing();
}
