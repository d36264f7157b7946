/* command-signal.c - whom a request to end goes to. To the whole group it would end the workers of a data
 * loader, and the program would fail for want of them instead of coming to its end; to the first process alone
 * it would end a shell before the program in it. So it goes to those that say they train. */
#include <stdlib.h>
#include <string.h>

#include "command-inner.h"

enum { DEPTH = 64 };

static pid_t parent_of(pid_t pid)
{
	char path[64], text[512];
	const char *end;
	long parent = 0;
	FILE *f;
	size_t n;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (!(f = fopen(path, "re")))
		return 0;
	n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = '\0';
	end = strrchr(text, ')'); /* the name may hold anything */
	if (end && sscanf(end + 1, " %*c %ld", &parent) != 1)
		parent = 0;
	return (pid_t)parent;
}

/* A line may name any process: only the command and what it started is meant. */
static bool is_ours(const struct command *c, pid_t pid)
{
	for (int i = 0; i < DEPTH && pid > 1; i++, pid = parent_of(pid))
		if (pid == c->proc.pid)
			return true;
	return false;
}

void command_speaker(struct command *c, const struct view *trainer)
{
	int64_t pid;

	if (c->speakers < SPEAKERS && view_int(trainer, F_trainer_process, &pid) && pid > 1 && pid < INT32_MAX)
		c->speaker[c->speakers++] = (pid_t)pid;
}

void command_signal(const struct command *c, int sig)
{
	int told = 0;

	if (c->proc.pid <= 0)
		return;
	for (int i = 0; i < c->speakers; i++)
		if (is_ours(c, c->speaker[i]))
			told += kill(c->speaker[i], sig) == 0;
	if (!told)
		proc_signal(&c->proc, sig);
	proc_signal(&c->proc, SIGCONT); /* one that was stopped does not hear it before */
}
