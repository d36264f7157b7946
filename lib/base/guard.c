/* guard.c - when we are killed and can do nothing any more, somebody else must end what our children
 * left, and remove our folder: a process that waits for our end and does only that. */
#include "base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENVIRON_MAX = 1 << 18, ROUNDS = 20, FOLDER_ROUNDS = 100 };

/* ---- in the guard ---- */

/* Has the process the line in its environment? It was there when the process began. */
static bool marked(const char *pid, const char *mark, char *text)
{
	char path[300];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof path, "/proc/%.200s/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = io_read(fd, text, ENVIRON_MAX - 1);
		close(fd);
	}
	if (n <= 0)
		return false;
	text[n] = '\0';
	for (char *p = text; p < text + n; p += strlen(p) + 1)
		if (!strcmp(p, mark))
			return true;
	return false;
}

/* Kills whoever has the mark, wherever it went; how many there were. */
static int kill_marked(const char *mark, char *text)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		if (strspn(e->d_name, "0123456789") == strlen(e->d_name) && atoi(e->d_name) != getpid() && marked(e->d_name, mark, text))
			n += kill(atoi(e->d_name), SIGKILL) == 0;
	if (d)
		closedir(d);
	return n;
}

/* Its users may only now be killed by guards of their own, and write to it until then. */
static void remove_folder(const char *path)
{
	for (int i = 0; i < FOLDER_ROUNDS; i++) {
		temp_clear(path);
		if (access(path, F_OK) < 0)
			return;
		usleep(100000);
	}
}

struct duty {
	const char *mark, *folder; /* may be NULL */
	char *text;                /* room to read in */
};

static void watch(int fd, const struct duty *d) __attribute__((noreturn));
static void watch(int fd, const struct duty *d)
{
	pid_t group = 0, told;
	ssize_t n;

	while ((n = io_read(fd, &told, sizeof told)) == (ssize_t)sizeof told) {
		if (told < 0)
			_exit(0); /* all has ended well */
		group = told;
	}
	if (group > 0)
		kill(-group, SIGKILL);
	for (int i = 0; d->mark && i < ROUNDS && kill_marked(d->mark, d->text) > 0; i++)
		usleep(20000); /* what they started meanwhile */
	if (d->folder)
		remove_folder(d->folder);
	_exit(0);
}

/* Nothing of ours may stay open in it: a pipe that it held would never end. */
static void become_guard(int fd, const struct duty *d) __attribute__((noreturn));
static void become_guard(int fd, const struct duty *d)
{
	int null;

	setpgid(0, 0);
	prctl(PR_SET_NAME, "pilot-guard");
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	null = open("/dev/null", O_RDWR);
	for (int i = 0; i < 3 && null >= 0; i++)
		dup2(null, i);
	if (dup2(fd, 3) < 0)
		_exit(1);
	if (syscall(SYS_close_range, 4u, ~0u, 0u) < 0)
		for (int i = 4; i < 4096; i++)
			close(i);
	watch(3, d);
}

/* ---- with us ---- */

int guard_start(struct guard *g, const char *mark, const char *folder, struct why *w)
{
	char *text = malloc(ENVIRON_MAX);
	int fd[2];

	*g = (struct guard){ .fd = -1 };
	if (!text)
		return why_set(w, EX_OSERR, "starting: a guard: no memory");
	if (pipe2(fd, O_CLOEXEC) < 0) {
		free(text);
		return why_errno(w, EX_OSERR, "starting: a guard");
	}
	g->pid = fork();
	if (g->pid == 0)
		become_guard(fd[0], &(struct duty){ mark, folder, text });
	close(fd[0]);
	free(text);
	g->fd = fd[1];
	if (g->pid > 0)
		return 0;
	close(fd[1]);
	*g = (struct guard){ .fd = -1 };
	return why_errno(w, EX_OSERR, "starting: a guard");
}

void guard_group(struct guard *g, pid_t group)
{
	if (g->pid > 0)
		io_write(g->fd, &group, sizeof group);
}

void guard_end(struct guard *g)
{
	if (g->pid <= 0)
		return;
	guard_group(g, -1);
	close(g->fd);
	while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*g = (struct guard){ .fd = -1 };
}
