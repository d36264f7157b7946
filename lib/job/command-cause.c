/* command-cause.c - how a command ended, from outside: its status, its signal, what it said last, and
 * whether memory ran out. Memory is only looked for where it failed, and by what ended it, not by any word. */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>

#include "command-inner.h"

/* ---- memory ---- */

static bool has_one(const char *s, const char *const *words)
{
	for (; *words; words++)
		if (strstr(s, *words))
			return true;
	return false;
}

static const char *const device_words[] = { "CUDA out of memory", "CUDA error: out of memory", "HIP out of memory", "XPU out of memory", "MPS backend out of memory",
	"OutOfMemoryError: CUDA", "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "CUBLAS_STATUS_ALLOC_FAILED",
	"CUDNN_STATUS_ALLOC_FAILED", "RESOURCE_EXHAUSTED", "ResourceExhaustedError", NULL };
static const char *const host_words[] = { "can't allocate memory", "Cannot allocate memory", "std::bad_alloc", "MemoryError",
	"not enough memory: you tried to allocate", "Unable to allocate", "failed to map segment from shared object", "memory allocation of", "OutOfMemoryError",
	"out of shared memory", NULL };
static const char *const host_says[] = { "out of memory", "Out of memory", "out of Memory", "OUT OF MEMORY", NULL };
static const char *const capped_words[] = { "Thread creation failed", "can't start new thread", "Resource temporarily unavailable",
	"unable to create thread", "pthread_create", "libgomp: Thread", NULL };

enum memory { MEMORY_NO, MEMORY_DEVICE, MEMORY_HOST };

static enum memory memory_in(const char *s)
{
	if (has_one(s, device_words))
		return MEMORY_DEVICE;
	return has_one(s, host_words) || has_one(s, host_says) ? MEMORY_HOST : MEMORY_NO;
}

static enum memory memory_of(const struct command *c, const char *s)
{
	enum memory m = memory_in(s);

	return m == MEMORY_NO && c->cap.address_bytes > 0 && has_one(s, capped_words) ? MEMORY_HOST : m;
}

bool cause_memory(const char *exception, const char *message)
{
	return memory_in(exception) != MEMORY_NO || memory_in(message) != MEMORY_NO;
}

/* A Python program says what ended it in its last exception, or in one that this came of; others in
 * their last lines. */
static enum memory memory_said(const struct command *c, const char **said)
{
	const struct output *o = &c->output;
	enum memory m = MEMORY_NO;

	*said = o->message;
	if (*o->exception && (m = memory_of(c, *said)) == MEMORY_NO && *o->earlier)
		m = memory_of(c, *said = o->earlier);
	/* A library that dies in C under a cap says so without an exception, and behind one. */
	for (int i = o->lines - 1; i >= 0 && m == MEMORY_NO && (!*o->exception || WIFSIGNALED(c->wait_status)); i--)
		m = memory_of(c, *said = o->line[i]);
	return m;
}

int64_t cause_asked(const char *s)
{
	static const struct {
		const char *unit;
		double bytes;
	} units[] = { { "bytes", 1 }, { "KiB", 0x1p10 }, { "MiB", 0x1p20 }, { "GiB", 0x1p30 }, { "TiB", 0x1p40 } };
	const char *at = strstr(s, "tried to allocate ");
	double x;
	char unit[8];

	if (!at)
		at = strstr(s, "Tried to allocate ");
	if (!at)
		at = strstr(s, "Unable to allocate ");
	if (!at || sscanf(strstr(at, "allocate ") + 9, "%lf %5[a-zA-Z]", &x, unit) != 2 || !(x >= 0 && x < 1e15))
		return -1;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!strcmp(unit, units[i].unit) && x * units[i].bytes < 0x1p60)
			return (int64_t)(x * units[i].bytes);
	return -1;
}

/* ---- how it ended ---- */

static void settle(struct command *c, const char *status, int code, const char *cause, const char *fmt, ...) PRINTF(5, 6);
static void settle(struct command *c, const char *status, int code, const char *cause, const char *fmt, ...)
{
	va_list ap;

	snprintf(c->result->status, sizeof c->result->status, "%s", status);
	c->result->code = code_worst(c->result->code, code);
	c->cause = cause;
	va_start(ap, fmt);
	vsnprintf(c->reason, sizeof c->reason, fmt, ap);
	va_end(ap);
}

static const char *last_line(const struct command *c)
{
	return c->output.lines > 0 ? c->output.line[c->output.lines - 1] : "nothing was printed";
}

/* What it died of, in words. */
static void words_of(const struct command *c, char out[700])
{
	if (*c->output.message)
		snprintf(out, 700, "%.600s", c->output.message);
	else if (*c->totals.exception)
		snprintf(out, 700, "%.200s: %.400s", c->totals.exception, c->totals.message);
	else if (WIFSIGNALED(c->wait_status))
		snprintf(out, 700, "ended by %s (%s): %.400s", c->signal, strsignal(WTERMSIG(c->wait_status)), last_line(c));
	else
		snprintf(out, 700, "exit status %d: %.600s", WEXITSTATUS(c->wait_status), last_line(c));
}

static bool killed_by_kernel(const struct command *c)
{
	int64_t now = host_oom_kills();
	bool by_kill = (WIFSIGNALED(c->wait_status) && WTERMSIG(c->wait_status) == SIGKILL) ||
		(WIFEXITED(c->wait_status) && WEXITSTATUS(c->wait_status) == 128 + SIGKILL) ||
		strstr(c->output.message, "killed by signal: Killed");

	return by_kill && !c->killed && c->oom_kills >= 0 && now > c->oom_kills;
}

static bool out_of_memory(struct command *c)
{
	struct totals *t = &c->totals;
	const char *said = "";
	enum memory m = MEMORY_NO;
	char text[700];

	words_of(c, text);
	if (killed_by_kernel(c)) {
		settle(c, "oom", EX_NO, "host-memory", "the kernel killed it: the host's memory ran out");
		return true;
	}
	if (t->failure_memory)
		m = !strncmp(t->failure_device, "cpu", 3) || !*t->failure_device ? MEMORY_HOST : MEMORY_DEVICE;
	else
		m = memory_said(c, &said);
	if (m == MEMORY_NO)
		return false;
	if (t->asked_bytes < 0)
		t->asked_bytes = cause_asked(*said ? said : t->message);
	settle(c, "oom", EX_NO, m == MEMORY_DEVICE ? "device-memory" : "host-memory", "%s%s%s", t->failure_phase,
		*t->failure_phase ? ": " : "", *said ? said : text);
	return true;
}

/* By one of ours, or to one that was asked for. */
static bool as_asked(struct command *c)
{
	long long updates = c->totals.updates;

	switch (c->asked) {
	case ASKED_LOST:
		settle(c, "error", -c->lost, "asked", "%s", c->why->text);
		return true;
	case ASKED_SIGNAL:
		if (stop_wanted() == SIGPIPE)
			settle(c, "stopped", 0, "asked", "the reader of the records has gone away");
		else
			settle(c, "stopped", 0, "asked", "signal %d (%s)%s", stop_wanted(), strsignal(stop_wanted()), c->killed ? "; it did not end by itself and was killed" : "");
		return true;
	case ASKED_STUCK:
		settle(c, "oom", EX_NO, "host-memory", "%s", c->stuck);
		return true;
	case ASKED_DEADLINE:
		if (c->cap.address_bytes > 0 && out_of_memory(c)) /* some frameworks say so, and then wait for ever */
			return true;
		settle(c, "error", EX_TEMPFAIL, "deadline", "no line, no output and no file written for %g s, after update %lld", c->deadline, updates);
		return true;
	default:
		return false;
	}
}

static bool diverged(struct command *c)
{
	if (!c->totals.has_loss || isfinite(c->totals.loss))
		return false;
	settle(c, "diverged", EX_NO, c->asked == ASKED_UPDATES ? "updates" : WIFSIGNALED(c->wait_status) ? "signal" : *c->exception ? "exception" : "exit",
		"the loss of update %lld is %s", (long long)c->totals.updates, isnan(c->totals.loss) ? "NaN" : "infinite");
	return true;
}

static void ended_well(struct command *c)
{
	long long updates = c->totals.updates, n = c->stop_after;

	if (c->asked == ASKED_UPDATES)
		settle(c, "done", 0, "updates", "%s", c->killed ? "it did not end on SIGTERM after its updates and was killed" : "");
	else if (n > 0 && updates >= n)
		settle(c, "done", 0, "updates", "%s", "");
	else if (n > 0)
		settle(c, "done", 0, "exit", "ended by itself after %lld update%s", updates, updates == 1 ? "" : "s");
	else
		settle(c, "done", 0, "exit", "%s", "");
}

static void failed(struct command *c)
{
	char text[700];

	words_of(c, text);
	if (WIFSIGNALED(c->wait_status))
		settle(c, "killed", EX_SOFTWARE, "signal", "%s", text);
	else
		settle(c, "error", EX_SOFTWARE, *c->exception ? "exception" : "exit", "%s", text);
}

/* A mistake of syntax has no traceback: the file's line, some more, then the type. */
static void look_for_syntax(struct output *o)
{
	const char *s = o->lines > 0 ? o->line[o->lines - 1] : "";
	size_t n = strcspn(s, ":");
	bool file = false;

	for (int i = 0; i < o->lines; i++)
		file |= !strncmp(o->line[i], "  File \"", 8);
	if (*o->exception || !file || n < 5 || strncmp(s + n - 5, "Error", 5) || strcspn(s, " ") < n)
		return;
	snprintf(o->exception, sizeof o->exception, "%.*s", n < 190 ? (int)n : 190, s);
	snprintf(o->message, sizeof o->message, "%s", s);
}

/* An exception that ends Python makes its exit status 1, and stands in its last words; one that was caught and
 * told, and then something else, is not what ended it. */
static void forget_caught(struct command *c)
{
	bool one = WIFEXITED(c->wait_status) && WEXITSTATUS(c->wait_status) == 1;

	if (c->output.since_exception < OUTPUT_LINES && (one || WIFSIGNALED(c->wait_status)))
		return;
	*c->output.exception = *c->output.message = *c->output.earlier = '\0';
}

void command_cause(struct command *c)
{
	int st = c->wait_status;
	bool well = WIFEXITED(st) && WEXITSTATUS(st) == 0;

	if (WIFSIGNALED(st))
		snprintf(c->signal, sizeof c->signal, "SIG%s", sigabbrev_np(WTERMSIG(st)) ? sigabbrev_np(WTERMSIG(st)) : "?");
	if (!well && c->asked == ASKED_NOTHING) {
		forget_caught(c);
		look_for_syntax(&c->output);
		snprintf(c->exception, sizeof c->exception, "%s", *c->totals.exception ? c->totals.exception : c->output.exception);
	}
	if (!as_asked(c) && !(!well && c->asked == ASKED_NOTHING && out_of_memory(c)) && !diverged(c)) {
		if (well || c->asked == ASKED_UPDATES)
			ended_well(c);
		else
			failed(c);
	}
	c->result->signal = c->asked == ASKED_SIGNAL ? stop_wanted() : 0;
	snprintf(c->result->why, sizeof c->result->why, "%s", c->reason);
}
