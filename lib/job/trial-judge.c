/* What became of a trial. It fits on evidence alone: updates that were applied on batches of the size asked, and
 * of the builtin trainer a validation, a save and an update after them. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "probe.h"

static const char *const names[] = { "fits", "oom", "host-oom", "spilled", "kernel-limit", "crashed", "timeout", "error", "stopped" };

const char *trial_verdict_name(enum trial_verdict v)
{
	return names[v];
}

bool trial_no_room(const struct trial *t)
{
	return t->verdict == TRIAL_OOM || t->verdict == TRIAL_HOST_OOM || t->verdict == TRIAL_SPILLED;
}

void trial_judge(struct trial *t, enum trial_verdict v, const char *fmt, ...)
{
	va_list ap;
	t->verdict = v;
	va_start(ap, fmt);
	vsnprintf(t->why, sizeof t->why, fmt, ap);
	va_end(ap);
}

/* Messages by which CUDA and its libraries refuse a size that no memory would help. Looked for only in the
 * reason of a run that has failed. */
bool trial_names_limit(const char *s)
{
	static const char *const words[] = { "invalid configuration argument", "too many resources requested for launch", "canUse32BitIndexMath", "CUBLAS_STATUS_INVALID_VALUE", "CUDNN_STATUS_NOT_SUPPORTED", "kernel limit" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(s, words[i]))
			return true;
	return false;
}

/* A run that ended `done` must show what it did. */
static void judge_done(struct trial *t)
{
	if (t->applied < 2)
		trial_judge(t, TRIAL_ERROR, "ended `done` after %lld applied updates; at least 2 are needed as evidence", (long long)t->applied);
	else if (t->full < 2)
		trial_judge(t, TRIAL_ERROR, "ended `done`, but its passes had %lld rows where %lld were asked", (long long)t->rows, (long long)t->size);
	else if (t->whole && (!t->validated || !t->saved || !t->after))
		trial_judge(t, TRIAL_ERROR, "ended `done` without %s", !t->validated ? "a validation" : !t->saved ? "a save" : "an update after validation and save");
	else if (t->step_seconds > t->seconds * 1.1 + 0.1)
		trial_judge(t, TRIAL_ERROR, "reports %.3g seconds of updates, but only %.3g passed: is its unit seconds?", t->step_seconds, t->seconds);
	else
		trial_judge(t, TRIAL_FITS, "%s", "");
}

/* The run has an end record. */
void trial_judge_end(struct trial *t)
{
	char said[sizeof t->why];
	if (t->stranger) {
		trial_judge_stranger(t);
		return;
	}
	memcpy(said, t->why, sizeof said);
	if (!strcmp(t->status, "stopped") && *t->config.stop && t->full == t->applied)
		trial_judge(t, TRIAL_FITS, "%s", ""); /* by the rule that it was given; the evidence came before */
	else if (!strcmp(t->status, "done"))
		judge_done(t);
	else if (!strcmp(t->status, "oom"))
		t->verdict = TRIAL_OOM;
	else if (!strcmp(t->status, "error") && (*t->limit || trial_names_limit(said)))
		trial_judge(t, TRIAL_KERNEL_LIMIT, "%s", *t->limit ? t->limit : said);
	else
		trial_judge(t, TRIAL_ERROR, "ended `%s`%s%.400s", t->status, *said ? ": " : "", said);
}

/* The trainer has gone in the middle of it. */
void trial_judge_death(struct trial *t, int status, int64_t kills)
{
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0, code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	const char *last = t->line_count ? t->lines[t->line_count - 1] : "";
	int64_t now = host_oom_kills();
	if (sig == SIGKILL && kills >= 0 && now > kills)
		trial_judge(t, TRIAL_HOST_OOM, "killed for the host's memory (out-of-memory kills went from %lld to %lld)", (long long)kills, (long long)now);
	else if (sig == SIGBUS)
		trial_judge(t, TRIAL_CRASHED, "the trainer was ended by signal 7 (%s): /dev/shm or a mapped file's disk may be full", strsignal(sig));
	else if (sig)
		trial_judge(t, TRIAL_CRASHED, "the trainer was ended by signal %d (%s)%s%.300s", sig, strsignal(sig), *last ? ": " : "", last);
	else
		trial_judge(t, TRIAL_CRASHED, "the trainer left with status %d in the middle of it%s%.300s", code, *last ? ": " : "", last);
	if (code >= EX__BASE)
		t->code = code;
}
