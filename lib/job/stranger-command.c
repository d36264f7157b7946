/* stranger-command.c - the command that a replay runs again: the words of the run record, where that is allowed,
 * or of the gate's own command line. */
#include <stdlib.h>
#include <string.h>

#include "stranger-replay.h"

static char *text_of(const struct view *v, enum field f)
{
	const char *s;
	size_t n;

	if (!view_str(v, f, &s, &n) || !n || memchr(s, 0, n))
		return NULL;
	return strndup(s, n);
}

static void list_free(char **list)
{
	for (int i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

enum { MOST_WORDS = 4096 }; /* finding one of a record takes a walk over those before it */

/* NULL: no memory, a word that none can be, or too many. */
static char **list_of(const struct view *v, enum field f)
{
	int n = view_count(v, f);
	char **list = n > MOST_WORDS ? NULL : calloc((size_t)(n > 0 ? n : 0) + 1, sizeof *list);
	const char *s;
	size_t len;

	for (int i = 0; list && i < n; i++) {
		if (view_item_str(v, f, i, &s, &len) && !memchr(s, 0, len) && (list[i] = strndup(s, len)))
			continue;
		list_free(list);
		return NULL;
	}
	return list;
}

static char **list_copy(char *const *from)
{
	int n = 0;
	char **list;

	while (from && from[n])
		n++;
	list = calloc((size_t)n + 1, sizeof *list);
	for (int i = 0; list && i < n; i++)
		if (!(list[i] = strdup(from[i]))) {
			list_free(list);
			return NULL;
		}
	return list;
}

void again_free(struct again *c)
{
	list_free(c->argv);
	list_free(c->env);
	free(c->resume_with);
	free(c->step_regex);
	free(c->cwd);
	free(c->ran);
	free(c->save);
	*c = (struct again){ 0 };
}

/* ---- reading ---- */

static bool has_word(const struct again *c, const char *word)
{
	bool has = c->resume_with && strstr(c->resume_with, word);

	for (int i = 0; c->argv[i]; i++)
		has |= strstr(c->argv[i], word) != NULL;
	for (int i = 0; c->env[i]; i++)
		has |= strstr(c->env[i], word) != NULL;
	return has;
}

/* Takes "a/.." out of a path in place: by what is there, for a may be a link, and by the words where nothing is. */
static void climb(char path[4096])
{
	char *up, *real = strstr(path, "/..") ? realpath(path, NULL) : NULL;

	if (real)
		snprintf(path, 4096, "%s", real);
	free(real);
	for (char *p = path; (up = strstr(p, "/.."));) {
		p = up + 3;
		if (*p && *p != '/') /* a name that begins so */
			continue;
		*up = '\0';
		p = strrchr(path, '/') ? strrchr(path, '/') : path;
		memmove(p, up + 3, strlen(up + 3) + 1);
	}
}

/* Takes path over. */
static char *absolute(const char *cwd, char *path)
{
	char *out = path ? malloc(4096) : NULL;

	if (out) {
		snprintf(out, 4096, "%s%s%s", *path == '/' ? "" : cwd, *path == '/' ? "" : "/", path);
		climb(out);
	}
	free(path);
	return out;
}

/* What the caller names goes before what the stream names. */
static void take_words(struct again *c, const struct view *v, const struct stranger *s)
{
	bool own = s && s->argv;

	c->argv = own ? list_copy(s->argv) : list_of(v, F_run_command);
	c->env = own ? list_copy(s->env) : list_of(v, F_run_env);
	c->resume_with = s && s->resume_with ? strdup(s->resume_with) : own ? NULL : text_of(v, F_run_resume_with);
	c->step_regex = own ? (s->step_regex ? strdup(s->step_regex) : NULL) : text_of(v, F_run_step_regex);
	c->cwd = text_of(v, F_run_origin);
	if (c->cwd)
		c->ran = text_of(v, F_run_cwd);
	else
		c->cwd = text_of(v, F_run_cwd);
	c->save = text_of(v, F_run_save);
}

const char *again_home(const struct again *c, const char *path, char out[4096])
{
	size_t n = c->ran ? strlen(c->ran) : 0;
	bool ran = n && !strncmp(path, c->ran, n) && path[n] == '/';

	snprintf(out, 4096, "%s%s%s", ran || *path != '/' ? c->cwd : "", *path != '/' ? "/" : "", ran ? path + n : path);
	climb(out);
	return out;
}

int again_read(struct again *c, const struct watch *r, const struct judge_settings *s, struct why *w)
{
	struct view v;
	int rc = view_open(&v, r->raw.p, r->raw.n, w);

	*c = (struct again){ 0 };
	if (rc < 0)
		return rc;
	take_words(c, &v, s->stranger);
	if (c->argv && c->env && has_word(c, SECRET_MARK)) {
		again_free(c);
		return why_set(w, EX_DATAERR, "its command line held a secret, which the stream leaves out: name the command behind --");
	}
	if (c->argv && c->env && c->cwd && c->argv[0]) {
		c->save = absolute(c->ran ? c->ran : c->cwd, c->save);
		c->resume_word = has_word(c, "{resume}");
		c->resumable = c->resume_with || c->resume_word;
		c->updates_word = has_word(c, "{updates}");
		c->save_word = has_word(c, "{save_dir}");
		(void)!view_int(&v, F_run_updates, &c->updates);
		return 0;
	}
	again_free(c);
	return why_set(w, EX_DATAERR, "the run record does not say what was run and where, or in too many words");
}

/* ---- settings ---- */

void again_settings(const struct watch *r, struct rec *q)
{
	static const struct { enum field from, to; } number[] = {
		{ F_run_micro_batch, F_request_micro_batch }, { F_run_accum, F_request_accum }, { F_run_length, F_request_length },
		{ F_run_seed, F_request_seed }, { F_run_memory_bytes, F_request_memory_bytes },
	}, word[] = { { F_run_device, F_request_device }, { F_run_freeze, F_request_freeze } };
	struct view v;
	int64_t i;
	char **values;
	const char *s;
	size_t n;

	if (view_open(&v, r->raw.p, r->raw.n, NULL) < 0)
		return;
	values = list_of(&v, F_run_values);
	for (i = 0; values && values[i]; i++)
		;
	if (values && i)
		rec_strs(q, F_request_values, values, (int)i);
	list_free(values);
	for (size_t k = 0; k < sizeof number / sizeof *number; k++)
		if (view_int(&v, number[k].from, &i))
			rec_int(q, number[k].to, i);
	for (size_t k = 0; k < sizeof word / sizeof *word; k++)
		if (view_str(&v, word[k].from, &s, &n) && n)
			rec_strn(q, word[k].to, s, n);
}

/* ---- moving ---- */

static bool path_goes_on(char c)
{
	return c && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+~@%", c);
}

/* Where the path `from` stands by itself or begins a longer one, `to` takes its place. NULL: no memory. */
static char *moved(const char *text, const char *from, const char *to)
{
	struct buf b = { 0 };
	size_t n = strlen(from);
	int rc = 0;

	for (const char *p = text; *p && rc >= 0;) {
		bool here = !strncmp(p, from, n) && !path_goes_on(p[n]) && (p == text || (!path_goes_on(p[-1]) && p[-1] != '/'));

		rc = here ? buf_printf(&b, "%s", to) : buf_add(&b, p, 1);
		p += here ? n : 1;
	}
	if (rc < 0 || buf_add(&b, "", 1) < 0)
		buf_free(&b);
	return (char *)b.p;
}

static int move(char **text, const char *from, const char *to)
{
	char *s = *text ? moved(*text, from, to) : NULL;

	if (*text && !s)
		return -EX_OSERR;
	free(*text);
	*text = s;
	return 0;
}

int again_move(struct again *c, const char *to, struct why *w)
{
	int rc = strcmp(c->cwd, "/") ? move(&c->resume_with, c->cwd, to) : 0;

	for (int i = 0; c->argv[i] && !rc && strcmp(c->cwd, "/"); i++)
		rc = move(&c->argv[i], c->cwd, to);
	for (int i = 0; c->env[i] && !rc && strcmp(c->cwd, "/"); i++)
		rc = move(&c->env[i], c->cwd, to);
	return rc ? why_set(w, EX_OSERR, "replay: no memory") : 0;
}

/* ---- which runs share a replay ---- */

static int add_all(struct buf *b, char *const *list)
{
	int rc = 0;

	for (int i = 0; list[i] && rc >= 0; i++)
		rc = buf_printf(b, "%s%c", list[i], 0);
	return rc < 0 ? rc : buf_printf(b, "|");
}

int stranger_fingerprint(const struct watch *r, char out[DIGEST_SIZE], struct why *w)
{
	static const struct judge_settings none = { 0 };
	struct again c;
	struct buf b = { 0 };
	struct rec q = { 0 };
	unsigned char raw[32];
	int rc = again_read(&c, r, &none, w);

	if (rc < 0)
		return rc;
	rec_begin(&q, KIND_request);
	rec_time(&q, F_request_t, (struct timestamp){ 0 });
	rec_str(&q, F_request_id, "");
	again_settings(r, &q);
	if ((rc = rec_end(&q, w)) >= 0 && (rc = add_all(&b, c.argv)) >= 0 && (rc = add_all(&b, c.env)) >= 0 && (rc = buf_printf(&b, "%s|%s|", c.cwd, c.resume_with ? c.resume_with : "")) >= 0 && (rc = buf_add(&b, q.buf.p, q.buf.n)) >= 0)
		rc = sha_of(b.p, b.n, raw);
	if (rc >= 0)
		sha_hex(raw, out);
	else
		rc = why_set(w, EX_OSERR, "replay: no memory");
	rec_free(&q);
	buf_free(&b);
	again_free(&c);
	return rc < 0 ? rc : 0;
}
