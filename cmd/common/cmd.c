/* cmd.c - messages on stderr, and the last act of main. */
#include "cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static struct {
	const char *name;
	bool progress; /* a line of progress stands on the terminal */
} program = { .name = "pilot" };

/* A file opened later must not become stdout. The stand-in for stdout is read-only,
 * so that writing to it fails. */
static void fill_standard_streams(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY);
}

void cmd_init(const char *name)
{
	program.name = name;
	fill_standard_streams();
	stop_install();
}

const char *cmd_name(void)
{
	return program.name;
}

static void clear_progress(void)
{
	if (program.progress)
		(void)!write(2, "\r\033[K", 4);
	program.progress = false;
}

/* One write a message, so that lines of the members of a pipeline do not mix. */
static void say(const char *text)
{
	char line[4400];
	size_t n = (size_t)snprintf(line, 256, "%s: ", program.name);

	for (const unsigned char *p = (const unsigned char *)text; *p && n < sizeof line - 8; p++) {
		if (*p < 0x20 || *p == 0x7f)
			n += (size_t)sprintf(line + n, "\\x%02x", *p);
		else
			line[n++] = (char)*p;
	}
	line[n++] = '\n';
	clear_progress();
	(void)!io_write(2, line, n);
}

void cmd_warn(const struct why *w)
{
	say(*w->text ? w->text : "failed without a reason");
}

void cmd_say(const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	say(text);
}

int cmd_usage_error(const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	say(text);
	cmd_say("try '%s --help'", program.name);
	return EX_USAGE;
}

void cmd_progress(const char *fmt, ...)
{
	char text[512], line[600];
	va_list ap;
	int n;

	if (!isatty(2))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	n = snprintf(line, sizeof line, "\r%s: %.79s\033[K", program.name, text);
	(void)!io_write(2, line, (size_t)n);
	program.progress = true;
}

int cmd_close_stdout(int status)
{
	bool lost, gone;

	clear_progress();
	errno = 0;
	lost = fflush(stdout) != 0 || ferror(stdout);
	gone = lost && errno == EPIPE;
	/* The records went past stdio; a disk's error may show only now. */
	if (close(STDOUT_FILENO) < 0 && !lost)
		lost = true;
	if (!lost)
		return status;
	if (gone)
		stop_request(SIGPIPE);
	else
		cmd_say("writing: standard output: %s", strerror(errno ? errno : EIO));
	return code_worst(status, EX_IOERR);
}

int cmd_finish(int status)
{
	status = cmd_close_stdout(status);
	if (stop_wanted())
		stop_reraise(stop_wanted());
	return status;
}
