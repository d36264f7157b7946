/* stranger-folder.c - where the arms of a replay run: a copy of the working folder as it was before the run, always
 * at the same path, so that what a program makes of its path is the same in each; and what one arm has left, kept
 * for those that resume from it. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stranger-replay.h"

enum { FILES = 256 };

/* Paths of the run's files, by what becomes of them. All owned. */
struct files {
	char *omit[FILES], *copy[FILES], *fresh[FILES];
	int omits, copies, freshes;
};

static void files_free(struct files *f)
{
	for (int i = 0; i < FILES; i++) {
		free(f->omit[i]);
		free(f->copy[i]);
		free(f->fresh[i]);
	}
}

static void add(char **list, int *n, const char *dir, const char *path, size_t len)
{
	char text[4096];
	int k = *path == '/' ? snprintf(text, sizeof text, "%.*s", (int)len, path) : snprintf(text, sizeof text, "%s/%.*s", dir, (int)len, path);

	if (*n == FILES || k < 0 || k >= (int)sizeof text)
		return;
	for (int i = 0; i < *n; i++)
		if (!strcmp(list[i], text))
			return;
	if ((list[*n] = strdup(text)))
		++*n;
}

/* What is behind dir/ in path; NULL: it is not below. */
static const char *below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (!strcmp(dir, "/"))
		return *path == '/' && path[1] ? path + 1 : NULL;
	return !strncmp(path, dir, n) && path[n] == '/' && path[n + 1] ? path + n + 1 : NULL;
}

/* What a run writes beside its saves goes with them: the whole first folder below the working folder. */
static void add_save(struct files *f, const char *cwd, const char *path)
{
	const char *rest = below(path, cwd);
	size_t n = rest ? strcspn(rest, "/") : 0;

	if (!rest)
		return;
	add(f->omit, &f->omits, cwd, path, strlen(path));
	if (rest[n])
		add(f->fresh, &f->freshes, cwd, rest, n);
}

static bool is_fresh(const struct files *f, const char *path)
{
	for (int i = 0; i < f->freshes; i++)
		if (below(path, f->fresh[i]))
			return true;
	return false;
}

/* What it wrote into other folders may be data that it fetched or prepared there: copied. */
static void add_written(struct files *f, const struct again *c, const char *s, size_t n)
{
	char text[4096], path[4096];
	int k = snprintf(text, sizeof text, "%.*s", (int)n, s);
	const char *cwd = c->cwd, *rest = k > 0 && k < (int)sizeof text ? below(again_home(c, text, path), cwd) : NULL;

	if (!rest || memchr(s, 0, n) || is_fresh(f, path))
		return;
	if (strchr(rest, '/'))
		add(f->copy, &f->copies, cwd, path, strlen(path));
	else
		add(f->omit, &f->omits, cwd, path, strlen(path));
}

static void find_files(const struct again_replay *x, struct files *f)
{
	const struct watch *r = x->run;
	const char *s;
	char home[4096];
	struct view v;
	size_t n;

	for (int i = 0; i < WATCH_SAVES; i++)
		if (r->save[i].path)
			add_save(f, x->command.cwd, again_home(&x->command, r->save[i].path, home));
	if (x->command.save && below(x->command.save, x->command.cwd))
		add(f->fresh, &f->freshes, "", x->command.save, strlen(x->command.save));
	if (!r->end.n || view_open(&v, r->end.p, r->end.n, NULL) < 0)
		return;
	for (int i = 0; i < view_count(&v, F_end_files); i++)
		if (view_item_str(&v, F_end_files, i, &s, &n) && n)
			add_written(f, &x->command, s, n);
}

bool folder_unsafe(const struct again_replay *x, char *say, size_t n)
{
	const char *cwd = x->command.cwd, *save = x->command.save_word ? x->command.save : NULL; /* else its own words name it */
	char home[4096];

	for (int i = 0; i < WATCH_SAVES; i++) {
		const char *path = x->run->save[i].path ? again_home(&x->command, x->run->save[i].path, home) : NULL;

		if (!path || below(path, cwd) || (save && below(path, save)))
			continue;
		snprintf(say, n, "its saves lie outside its working folder, where a replay would write over them: %s (let the command name the folder with {save_dir})", path);
		return true;
	}
	return false;
}

/* ---- making ---- */

static void name(char out[4300], const struct again_replay *x, const char *what)
{
	snprintf(out, 4300, "%.4000s/%s", x->folder.temp.dir, what);
}

/* The save folder at its place below the working folder, or beside it. */
static void place_save(struct again_replay *x)
{
	const char *rest = x->command.save ? below(x->command.save, x->command.cwd) : NULL;

	if (rest)
		snprintf(x->folder.save, sizeof x->folder.save, "%.3000s/%.1200s", x->folder.cwd, rest);
	else if (x->command.save)
		name(x->folder.save, x, "arm/save");
}

int folder_fresh(struct again_replay *x, struct why *w)
{
	struct files f = { 0 };
	char arm[4300], root[4300];
	int rc;

	name(arm, x, "arm");
	name(root, x, "arm/w");
	temp_clear(arm);
	if (mkdir(arm, 0700) < 0)
		return why_errno(w, EX_IOERR, "copy the working folder: to %s", arm);
	find_files(x, &f);
	rc = shadow_make(root, &(struct shadow_plan){ .cwd = x->command.cwd, .omit = f.omit, .omits = f.omits, .copy = f.copy, .copies = f.copies, .fresh = f.fresh, .freshes = f.freshes, .since = (int64_t)x->run->began }, x->folder.cwd, sizeof x->folder.cwd, w);
	files_free(&f);
	return rc;
}

int folder_make(struct again_replay *x, struct why *w)
{
	int rc = temp_make(&x->folder.temp, "gate", w), fd;

	if (rc == 0)
		rc = folder_fresh(x, w);
	if (rc < 0)
		return rc;
	place_save(x);
	fd = shadow_guard(x->command.cwd, (const char *const[]){ x->folder.temp.dir, NULL });
	x->folder.guard = fd > 0 ? fd : 0;
	return again_move(&x->command, x->folder.cwd, w);
}

int folder_keep(struct again_replay *x, struct why *w)
{
	char arm[4300], kept[4300];

	name(arm, x, "arm");
	name(kept, x, "kept");
	return shadow_copy(arm, kept, w);
}

int folder_back(struct again_replay *x, struct why *w)
{
	char arm[4300], kept[4300];

	name(arm, x, "arm");
	name(kept, x, "kept");
	temp_clear(arm);
	return shadow_copy(kept, arm, w);
}
