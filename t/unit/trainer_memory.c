/* trainer_memory.c - the Nth allocation fails, on the device and on the host, for N = 1, 2, ... until a run
 * succeeds: it never crashes, never leaks (the sanitizers' build tells), and always says how it ended. */
#include "../../lib/train/trainer_hooks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"

static char folder[256];

struct setup {
	const char *extra[12]; /* option, value, ... */
	int64_t fail_at;       /* device allocation */
	int64_t allocated_at_end;
	struct outcome result;
	struct why why;
	int fd;
	int odd; /* runs that reported no failure and were not done */
};

static void at(void *ctx, struct trainer *t, const char *point)
{
	struct setup *s = ctx;

	if (strcmp(point, "open") == 0 && s->fail_at)
		dev_fail_at(trainer_dev(t), s->fail_at);
}

static int set(struct config *c, const char *name, const char *value, struct why *w)
{
	return config_set(c, option_find(name), value, w);
}

static int settings(struct config *c, const struct setup *s, struct why *w)
{
	int rc = config_init(c) ? why_set(w, EX_OSERR, "settings: no memory") : 0;

	if (rc)
		return rc;
	if (!rc)
		rc = set(c, "model", "gpt:layers=1,width=8,heads=2", w);
	if (!rc)
		rc = set(c, "data", "sums:digits=1", w);
	if (!rc)
		rc = set(c, "updates", "4", w);
	if (!rc)
		rc = set(c, "threads", "1", w);
	for (int i = 0; !rc && s->extra[i]; i += 2)
		rc = set(c, s->extra[i], s->extra[i + 1], w);
	if (rc)
		config_free(c);
	return rc;
}

/* One run into /dev/null. */
static int run(void *ctx)
{
	struct setup *s = ctx;
	struct trainer_hooks hooks = { .ctx = s, .at = at };
	struct run_names names = { .role = "train" };
	struct config c;
	struct out *o;
	int rc, closed;

	memset(&s->result, 0, sizeof s->result);
	if ((rc = settings(&c, s, &s->why)) != 0)
		return rc;
	if ((rc = out_open(&o, s->fd, FORM_MSGPACK, &s->why)) == 0) {
		rc = trainer_run(&c, &names, &hooks, o, &s->result, &s->why);
		closed = out_close(o, NULL);
		rc = rc ? rc : closed;
	}
	config_free(&c);
	s->odd += rc == 0 && strcmp(s->result.status, "done") != 0;
	return rc;
}

static void clean(void)
{
	char command[300];

	snprintf(command, sizeof command, "rm -rf %s/*", folder);
	if (system(command) != 0)
		diag("cannot clean %s", folder);
}

static void device(const char *what, struct setup s)
{
	static const char *const phases[] = { "load", "data", "forward", "backward", "update", "validate", "resume" };
	int rc, seen = 0, wrong = 0;

	for (s.fail_at = 1; s.fail_at < 100; s.fail_at++) {
		bool named = false;

		if ((rc = run(&s)) == 0)
			break;
		seen++;
		for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
			named |= strncmp(s.result.why, phases[i], strlen(phases[i])) == 0;
		if (rc != -EX_NO || s.result.code != EX_NO || strcmp(s.result.status, "oom") != 0 || !named) {
			wrong++;
			diag("allocation %lld: %d, status %s: %s", (long long)s.fail_at, rc, s.result.status, s.result.why);
		}
	}
	ok(seen >= 5 && wrong == 0 && rc == 0, "%s: %d device allocations failed, each an oom with its phase; then it succeeds", what, seen);
}

/* Each host allocation: a run that fails says why; one that goes on (without a fact) is whole. */
static int host(void *ctx)
{
	struct setup *s = ctx;

	clean();
	return run(s);
}

int main(void)
{
	struct setup s = { .fd = open("/dev/null", O_WRONLY) };
	char save[300], file[400];

	snprintf(folder, sizeof folder, "%s/trainer_memory.XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(folder))
		skip_all("no temporary folder");
	snprintf(save, sizeof save, "%s/c", folder);
	snprintf(file, sizeof file, "%s/update-000000004.safetensors", save);
	setenv("XDG_CACHE_HOME", folder, 1);

	device("a plain run", s);
	device("with validations between", (struct setup){ .fd = s.fd, .extra = { "val-every", "1" } });
	device("with accumulation, momentum and freezing", (struct setup){ .fd = s.fd, .extra = { "accum", "3", "optimizer", "momentum:lr=0.1", "freeze", "*ln*" } });

	{
		struct setup saves = { .fd = s.fd, .extra = { "save", save, "updates", "2", "val-examples", "3" } };

		alloc_each_optional("a run that saves", host, &saves);
		is_int(saves.odd, 0, "what reported no failure was done");
	}
	clean();
	{
		struct setup first = { .fd = s.fd, .extra = { "save", save } };
		struct setup again = { .fd = s.fd, .extra = { "resume", file, "updates", "5", "val-examples", "3" } };

		is_int(run(&first), 0, "a run to resume");
		device("a resumed run", (struct setup){ .fd = s.fd, .extra = { "resume", file, "updates", "6" } });
		alloc_each_optional("a resumed run", run, &again);
		is_int(again.odd, 0, "what reported no failure was done");
	}
	clean();
	rmdir(folder);
	return done_testing();
}
