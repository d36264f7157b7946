/* proc.c - children that die with us, and signals that ask us to stop. */
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- starting ---- */

/* Both ends above 2, so that putting one in place of stdin cannot hit another. */
static int high_pipe(int fd[2])
{
	int raw[2];

	if (pipe2(raw, O_CLOEXEC) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		fd[i] = raw[i] > 2 ? raw[i] : fcntl(raw[i], F_DUPFD_CLOEXEC, 3);
		if (fd[i] != raw[i])
			close(raw[i]);
	}
	return fd[0] < 0 || fd[1] < 0 ? -1 : 0;
}

static void close_pipe(int fd[2])
{
	for (int i = 0; i < 2; i++) {
		if (fd[i] >= 0)
			close(fd[i]);
		fd[i] = -1;
	}
}

static void reset_signals(void)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;

	sigaction(SIGPIPE, &dfl, NULL); /* ignoring it would be inherited */
	sigaction(SIGXFSZ, &dfl, NULL);
	sigaction(SIGINT, &dfl, NULL);
	sigaction(SIGTERM, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

enum step { STEP_NONE, STEP_FOLDER, STEP_LIMIT, STEP_EXEC };
struct failed {
	int err;
	enum step step;
};

/* stdin, stdout and stderr. */
static int put_streams(int pipes[4][2], const struct proc_how *how)
{
	int null;

	for (int i = 0; i < 3; i++)
		if (pipes[i][0] >= 0 && dup2(pipes[i][i ? 1 : 0], i) < 0)
			return -1;
	if (how->joined && dup2(1, 2) < 0)
		return -1;
	if (!how->no_input)
		return 0;
	null = open("/dev/null", O_RDONLY);
	if (null < 0 || (null != 0 && dup2(null, 0) < 0))
		return -1;
	if (null > 2)
		close(null);
	return 0;
}

/* Everything between fork and exec; which step failed, with errno. */
static enum step become(char *const argv[], int pipes[4][2], const struct proc_how *how)
{
	struct rlimit limit = { .rlim_cur = (rlim_t)how->address_bytes, .rlim_max = (rlim_t)how->address_bytes };

	if (put_streams(pipes, how) < 0)
		return STEP_EXEC;
	for (int i = 0; i < 2; i++)
		if (how->keep[i] > 2 && fcntl(how->keep[i], F_SETFD, 0) < 0)
			return STEP_EXEC;
	if (how->cwd && chdir(how->cwd) < 0)
		return STEP_FOLDER;
	if (how->envp)
		environ = (char **)(uintptr_t)how->envp; /* its PATH finds the program */
	/* A kernel that refuses has no such rules: whoever gives them does not rely on them alone. */
	if (how->rules > 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		syscall(SYS_landlock_restrict_self, how->rules, 0);
	if (how->address_bytes > 0 && setrlimit(RLIMIT_AS, &limit) < 0)
		return STEP_LIMIT;
	execvp(argv[0], argv);
	return STEP_EXEC;
}

/* In the child; async-signal-safe. pipes[i] is stdin, stdout, stderr, and the way back for errno. */
static void child(char *const argv[], int pipes[4][2], const struct proc_how *how, pid_t parent) __attribute__((noreturn));
static void child(char *const argv[], int pipes[4][2], const struct proc_how *how, pid_t parent)
{
	struct failed f;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before the line above */
		_exit(127);
	reset_signals();
	f.step = become(argv, pipes, how);
	f.err = errno;
	(void)!write(pipes[3][1], &f, sizeof f);
	_exit(127);
}

/* Forks with all signals blocked, so that no handler of ours runs in the child. */
static pid_t fork_child(char *const argv[], int pipes[4][2], const struct proc_how *how)
{
	sigset_t all, old;
	pid_t parent = getpid(), pid;
	int err;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	pid = fork();
	if (pid == 0)
		child(argv, pipes, how, parent);
	err = errno;
	if (pid > 0)
		setpgid(pid, pid); /* whoever comes first; the other's attempt fails harmlessly */
	sigprocmask(SIG_SETMASK, &old, NULL);
	errno = err;
	return pid;
}

/* Zeros once exec has succeeded. */
static struct failed exec_error(int fd)
{
	struct failed f = { 0 };

	return io_read(fd, &f, sizeof f) == (ssize_t)sizeof f ? f : (struct failed){ 0 };
}

static int not_started(const char *program, const struct proc_how *how, struct failed f, struct why *w)
{
	errno = f.err;
	if (f.step == STEP_FOLDER)
		return why_errno(w, EX_NOINPUT, "starting: %.200s: working folder %.400s", program, how->cwd);
	if (f.step == STEP_LIMIT)
		return why_errno(w, EX_OSERR, "starting: %.200s: limit of its address space", program);
	return why_errno(w, EX_UNAVAILABLE, "starting: %.200s", program);
}

int proc_start_as(struct proc *p, char *const argv[], int pipes, const struct proc_how *how, struct why *w)
{
	int pipe_of[4][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 } };
	struct failed f;
	int r = 0;

	*p = (struct proc){ .in = -1, .out = -1, .err = -1 };
	for (int i = 0; i < 4 && r == 0; i++)
		if (i == 3 || pipes & 1 << i)
			r = high_pipe(pipe_of[i]);
	if (r == 0)
		p->pid = fork_child(argv, pipe_of, how);
	if (r < 0 || p->pid < 0) {
		r = why_errno(w, EX_OSERR, "starting: %.200s", argv[0]);
		for (int i = 0; i < 4; i++)
			close_pipe(pipe_of[i]);
		p->pid = 0;
		return r;
	}
	p->in = pipe_of[0][1];
	p->out = pipe_of[1][0];
	p->err = pipe_of[2][0];
	pipe_of[0][1] = pipe_of[1][0] = pipe_of[2][0] = -1;
	close(pipe_of[3][1]);
	pipe_of[3][1] = -1;
	f = exec_error(pipe_of[3][0]);
	for (int i = 0; i < 4; i++)
		close_pipe(pipe_of[i]);
	if (f.step == STEP_NONE)
		return 0;
	proc_end(p, 0);
	return not_started(argv[0], how, f, w);
}

int proc_start(struct proc *p, char *const argv[], int pipes, struct why *w)
{
	return proc_start_as(p, argv, pipes, &(struct proc_how){ 0 }, w);
}

/* ---- a child without another program ---- */

static void run_body(int (*body)(void *ctx, int out), void *ctx, const char *name, int out, pid_t parent) __attribute__((noreturn));
static void run_body(int (*body)(void *ctx, int out), void *ctx, const char *name, int out, pid_t parent)
{
	int null = open("/dev/null", O_RDWR);

	setpgid(0, 0);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(out, 3) < 0)
		_exit(127);
	reset_signals();
	if (syscall(SYS_close_range, 4u, ~0u, 0u) < 0)
		for (int i = 4; i < 4096; i++)
			close(i);
	_exit(body(ctx, 3));
}

int proc_fork(struct proc *p, int (*body)(void *ctx, int out), void *ctx, const char *name, struct why *w)
{
	int fd[2] = { -1, -1 }, r = 0;
	sigset_t all, old;
	pid_t parent = getpid();

	*p = (struct proc){ .in = -1, .out = -1, .err = -1 };
	if (high_pipe(fd) < 0) {
		r = why_errno(w, EX_OSERR, "starting: %.100s", name);
		close_pipe(fd);
		return r;
	}
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	p->pid = fork();
	if (p->pid == 0)
		run_body(body, ctx, name, fd[1], parent);
	if (p->pid < 0)
		r = why_errno(w, EX_OSERR, "starting: %.100s", name);
	sigprocmask(SIG_SETMASK, &old, NULL);
	p->out = r == 0 ? fd[0] : -1;
	if (r == 0)
		fd[0] = -1;
	else
		p->pid = 0;
	close_pipe(fd);
	return r;
}

/* ---- ending ---- */

void proc_signal(const struct proc *p, int sig)
{
	if (p->pid > 0)
		kill(-p->pid, sig);
}

/* Has it ended? It stays a zombie, so that its group's number cannot be given away. */
static bool ended(pid_t pid)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		return errno != EINTR; /* ECHILD: nothing to wait for */
	return info.si_pid == pid;
}

/* Waits for the end of pid; without pidfd_open(2) by looking every 5 ms. */
static bool wait_for(pid_t pid, double seconds)
{
	double end = clock_seconds() + seconds;
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	bool yes;

	while (!(yes = ended(pid))) {
		double left = seconds < 0 ? 1 : end - clock_seconds();
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

		if (left <= 0)
			break;
		if (left > 1)
			left = 1;
		if (fd < 0 && left > 0.005)
			left = 0.005;
		poll(&poll_fd, fd < 0 ? 0 : 1, (int)(left * 1000) + 1);
	}
	if (fd >= 0)
		close(fd);
	return yes;
}

int proc_wait(struct proc *p, double seconds, int *status)
{
	int st = 0;

	if (p->pid <= 0)
		return 1;
	if (!wait_for(p->pid, seconds))
		return 0;
	kill(-p->pid, SIGKILL); /* what it started and left behind */
	while (waitpid(p->pid, &st, 0) < 0 && errno == EINTR)
		;
	if (status)
		*status = st;
	p->pid = 0;
	return 1;
}

/* Ours are above 2; a struct proc of zeros must not cost us stdin. */
static void close_fd(int *fd)
{
	if (*fd > 2)
		close(*fd);
	*fd = -1;
}

void proc_end(struct proc *p, double grace_seconds)
{
	close_fd(&p->in);
	if (p->pid > 0 && grace_seconds > 0) {
		proc_signal(p, SIGTERM);
		proc_wait(p, grace_seconds, NULL);
	}
	proc_signal(p, SIGKILL);
	proc_wait(p, -1, NULL);
	close_fd(&p->out);
	close_fd(&p->err);
}

int proc_beside(const char *name, char *out, size_t size, struct why *w)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash;

	if (n < 0)
		return why_errno(w, EX_OSERR, "finding: %.200s: /proc/self/exe", name);
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return why_set(w, EX_OSERR, "finding: %.200s: %.300s: not an absolute path", name, self);
	slash[1] = '\0';
	if ((size_t)snprintf(out, size, "%s%s", self, name) >= size)
		return why_set(w, EX_OSERR, "finding: %.200s: path too long", name);
	if (access(out, X_OK) < 0)
		return why_errno(w, EX_UNAVAILABLE, "finding: %.300s", out);
	return 0;
}

/* ---- signals that ask us to stop ---- */

/* A handler reaches nothing but what is static. */
static volatile sig_atomic_t stop_signal;
static volatile int64_t stop_came; /* clock, in nanoseconds; written before stop_signal */

enum { STOP_ECHO = 200000000 }; /* nanoseconds */

static int64_t stop_clock(void) /* async-signal-safe */
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* The same signal again within STOP_ECHO is the first one's echo: timeout(1) signals its child and
 * then the child's group, and a terminal and a driver may both pass on one Ctrl-C. */
static void on_stop(int sig)
{
	int err = errno;
	struct sigaction dfl = { .sa_handler = SIG_DFL };

	if (!stop_signal) {
		stop_came = stop_clock();
		stop_signal = sig;
	} else if (sig != stop_signal || stop_clock() - stop_came > STOP_ECHO) {
		sigaction(sig, &dfl, NULL);
		kill(getpid(), sig); /* comes as soon as this handler returns */
	}
	errno = err;
}

void stop_install(void)
{
	struct sigaction stop = { .sa_handler = on_stop }, ignore = { .sa_handler = SIG_IGN }, old;

	/* No SA_RESTART: a wait in poll ends, so that the stop is seen at once. */
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) /* nohup(1) wants us to stay */
		sigaction(SIGHUP, &stop, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL); /* a file that grows too large is an error like a full disk */
}

int stop_wanted(void)
{
	return stop_signal;
}

void stop_request(int sig)
{
	if (!stop_signal)
		stop_signal = sig;
}

void stop_reraise(int sig)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t one;

	sigaction(sig, &dfl, NULL);
	sigemptyset(&one);
	sigaddset(&one, sig);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	kill(getpid(), sig);
	_exit(128 + sig); /* a signal whose default is not to end us */
}
