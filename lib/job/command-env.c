/* command-env.c - the environment of a command, and what of it stands in the run record. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command-inner.h"

enum { VALUE_SHOWN = 1000, ENVIRONMENT_SHOWN = 128 << 10 };

/* What we set: an outer run's values must not reach an inner one's command. */
static const char *const ours[] = { "PILOT_RECORD_FD", "PILOT_RECORD_PATH", "PILOT_UPDATES", "PILOT_EVIDENCE", "PILOT_MEMORY_BYTES",
	"PILOT_CONTROL", "PILOT_FREEZE", "PILOT_MICRO_BATCH", "PILOT_ACCUM", "PILOT_LENGTH", "PILOT_SEED", "PILOT_SAVE_DIR", "PILOT_RESUME" };

/* ---- a list of NAME=VALUE ---- */

struct env {
	char **line; /* owned, NULL-terminated */
	int n, cap;
	bool no_memory;
};

static int find(const struct env *e, const char *name, size_t n)
{
	for (int i = 0; i < e->n; i++)
		if (!strncmp(e->line[i], name, n) && e->line[i][n] == '=')
			return i;
	return -1;
}

static void drop(struct env *e, const char *name)
{
	int i = find(e, name, strlen(name));

	if (i < 0)
		return;
	free(e->line[i]);
	e->line[i] = e->line[--e->n];
	e->line[e->n] = NULL;
}

/* The line becomes the list's. */
static void put(struct env *e, char *line)
{
	int i = line ? find(e, line, strcspn(line, "=")) : -1;

	if (line && i >= 0) {
		free(e->line[i]);
		e->line[i] = line;
		return;
	}
	if (line && e->n + 2 > e->cap) {
		char **more = reallocarray(e->line, (size_t)e->cap * 2 + 64, sizeof *more);

		if (more) {
			e->line = more;
			e->cap = e->cap * 2 + 64;
		}
	}
	if (!line || e->n + 2 > e->cap) {
		e->no_memory = true;
		free(line);
		return;
	}
	e->line[e->n++] = line;
	e->line[e->n] = NULL;
}

static void set(struct env *e, const char *name, const char *value)
{
	struct buf b = { 0 };

	if (buf_printf(&b, "%s=%s", name, value))
		buf_free(&b);
	put(e, (char *)b.p);
}

static void set_number(struct env *e, const char *name, int64_t value)
{
	char text[32];

	snprintf(text, sizeof text, "%lld", (long long)value);
	set(e, name, text);
}

/* ---- the command's ---- */

static void inherited(struct env *e)
{
	for (char **p = environ; p && *p; p++)
		if (strchr(*p, '='))
			put(e, strdup(*p));
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		drop(e, ours[i]);
}

static void settings(struct env *e, const struct command *c)
{
	static const char *const names[WORDS] = { "PILOT_MICRO_BATCH", "PILOT_ACCUM", "PILOT_UPDATES", "PILOT_LENGTH", "PILOT_SEED", "PILOT_SAVE_DIR", "PILOT_RESUME" };

	for (int p = 0; p < WORDS; p++)
		if (c->words.has[p])
			set(e, names[p], c->words.value[p]);
	if (c->stop_after > 0)
		set_number(e, "PILOT_UPDATES", c->stop_after);
	if (c->stop_after > 0)
		set_number(e, "PILOT_UPDATES", c->stop_after);
	set(e, "PILOT_EVIDENCE", c->evidence);
	if (c->how->control)
		set(e, "PILOT_CONTROL", c->how->control);
	if (*c->how->config->freeze)
		set(e, "PILOT_FREEZE", c->how->config->freeze);
	if (c->cap.by_adapter)
		set_number(e, "PILOT_MEMORY_BYTES", c->how->config->memory_bytes);
}

/* Its folder comes first where Python looks for modules; output comes when it is printed. */
static void adapter(struct env *e, const char *folder)
{
	int i = find(e, "PYTHONPATH", strlen("PYTHONPATH"));
	const char *old = i < 0 ? "" : e->line[i] + strlen("PYTHONPATH=");
	struct buf b = { 0 };

	if (buf_printf(&b, "PYTHONPATH=%s%s%s", folder, *old ? ":" : "", old))
		buf_free(&b);
	put(e, (char *)b.p);
	set(e, "PYTHONUNBUFFERED", "1");
}

int command_env(struct command *c, struct why *w)
{
	struct env e = { 0 };

	inherited(&e);
	for (int i = 0; c->env && c->env[i]; i++)
		put(&e, strdup(c->env[i]));
	settings(&e, c);
	set_number(&e, "PILOT_RECORD_FD", c->record[1]);
	put(&e, strdup(c->mark));
	if (*c->adapter)
		adapter(&e, c->adapter);
	if (c->cap.address_bytes > 0) /* each arena of malloc's reserves 64 MiB of address space for a thread */
		set(&e, "MALLOC_ARENA_MAX", "2");
	c->envp = e.line;
	return e.no_memory ? why_set(w, EX_OSERR, "start: no memory for the environment") : 0;
}

/* ---- the record's ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* NAME=VALUE as it may be shown: NAME alone where the value looks like a secret, the value cut where it is long. */
static char *shown(const char *line)
{
	size_t n = strcspn(line, "=");
	struct buf b = { 0 };
	int r;

	if (!line[n] || secret_name(line, n) || secret_url(line + n))
		r = buf_printf(&b, "%.*s", (int)n, line);
	else
		r = buf_printf(&b, "%.*s%s", VALUE_SHOWN, line, strlen(line) > VALUE_SHOWN ? "..." : "");
	if (r)
		buf_free(&b);
	return (char *)b.p;
}

void command_env_record(struct rec *r, enum field f, char *const *env)
{
	size_t bytes = 0;
	char **list;
	int n = 0, m = 0;

	while (env && env[n])
		n++;
	if (!n || !(list = calloc((size_t)n, sizeof *list)))
		return;
	for (int i = 0; i < n && bytes < ENVIRONMENT_SHOWN; i++)
		if ((list[m] = shown(env[i])))
			bytes += strlen(list[m++]);
	qsort(list, (size_t)m, sizeof *list, by_name);
	rec_strs(r, f, list, m);
	for (int i = 0; i < m; i++)
		free(list[i]);
	free(list);
}
