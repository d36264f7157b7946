/* command-words.c - placeholders in the words of a command: {micro_batch} and the like. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static const struct {
	const char *name, *option;
} names[WORDS] = {
	[WORD_MICRO_BATCH] = { "micro_batch", "--micro-batch" },
	[WORD_ACCUM] = { "accum", "--accum" },
	[WORD_UPDATES] = { "updates", "--updates" },
	[WORD_LENGTH] = { "length", "--length" },
	[WORD_SEED] = { "seed", "--seed" },
	[WORD_SAVE_DIR] = { "save_dir", "--save" },
	[WORD_RESUME] = { "resume", "--resume" },
};

const char *word_name(enum word p)
{
	return names[p].name;
}

/* ---- values ---- */

static void number(struct words *v, enum word p, bool has, int64_t n)
{
	v->has[p] = has;
	if (has)
		snprintf(v->value[p], sizeof v->value[p], "%lld", (long long)n);
}

/* A file's name that holds in every working folder; what names no file (a tag of the command's) stays. */
static void path(struct words *v, enum word p, const char *name, bool must_be_file)
{
	char cwd[2048];

	v->has[p] = *name != '\0';
	if (*name == '\0' || *name == '/' || (must_be_file && access(name, F_OK) < 0) || !getcwd(cwd, sizeof cwd))
		snprintf(v->value[p], sizeof v->value[p], "%.4095s", name);
	else
		snprintf(v->value[p], sizeof v->value[p], "%s/%.2000s", strcmp(cwd, "/") ? cwd : "", name);
}

void words_from(struct words *v, const struct config *c)
{
	memset(v, 0, sizeof *v);
	number(v, WORD_MICRO_BATCH, true, c->micro_batch);
	number(v, WORD_ACCUM, true, c->accum);
	number(v, WORD_SEED, true, c->seed);
	number(v, WORD_UPDATES, config_given(c, O_updates) && c->updates > 0, c->updates);
	number(v, WORD_LENGTH, config_given(c, O_length) && c->length > 0, c->length);
	path(v, WORD_SAVE_DIR, c->save, false);
	path(v, WORD_RESUME, c->resume, true);
}

/* ---- one text ---- */

static int shell_quoted(struct buf *out, const char *s)
{
	int r = buf_add(out, "'", 1);

	for (; *s && r == 0; s++)
		r = *s == '\'' ? buf_add(out, "'\\''", 4) : buf_add(out, s, 1);
	return r ? r : buf_add(out, "'", 1);
}

static enum word find(const char *s, size_t n)
{
	enum word p = 0;

	while (p < WORDS && (strlen(names[p].name) != n || memcmp(names[p].name, s, n) != 0))
		p++;
	return p;
}

/* The value of a placeholder of the command's own; NULL: there is none. */
static const char *own_value(const struct words *v, const char *s, size_t n)
{
	for (int i = 0; v->own && v->own[i]; i++)
		if (strncmp(v->own[i], s, n) == 0 && v->own[i][n] == '=')
			return v->own[i] + n + 1;
	return NULL;
}

static int no_value(enum word p, const char *what, struct why *w)
{
	if (p == WORD_RESUME)
		return 1;
	return why_set(w, EX_USAGE, "%.300s: {%s} has no value: %s is not given", what, names[p].name, names[p].option);
}

/* The placeholder that begins at s, behind its brace; its length with the closing brace, <0. */
static int placeholder(struct words *v, const char *s, bool quoted, const char *what, struct buf *out, bool *left_out, struct why *w)
{
	size_t n = strcspn(s, "{}");
	enum word p = find(s, n);
	const char *own = p == WORDS ? own_value(v, s, n) : NULL;
	int r;

	if (s[n] != '}')
		return why_set(w, EX_USAGE, "%.300s: \"{%.*s\" is not closed (a brace itself is written twice: {{)", what, n > 60 ? 60 : (int)n, s);
	if (own) {
		r = quoted ? shell_quoted(out, own) : buf_add(out, own, strlen(own));
		return r < 0 ? why_set(w, EX_OSERR, "%.300s: no memory", what) : (int)n + 1;
	}
	if (p == WORDS && n == 6 && !memcmp(s, "secret", 6))
		return why_set(w, EX_USAGE, "%.300s: what looked like a secret was left out of the record: name the command again, with it", what);
	if (p == WORDS)
		return why_set(w, EX_USAGE, "%.300s: {%.*s}: no such placeholder (there are micro_batch, accum, updates, length, seed, save_dir, resume, and those of --set and of a plan; a brace itself is written twice: {{)",
			what, n > 60 ? 60 : (int)n, s);
	v->used |= 1u << p;
	if (!v->has[p] && (r = no_value(p, what, w)) < 0)
		return r;
	*left_out |= !v->has[p];
	r = quoted ? shell_quoted(out, v->value[p]) : buf_add(out, v->value[p], strlen(v->value[p]));
	return r < 0 ? why_set(w, EX_OSERR, "%.300s: no memory", what) : (int)n + 1;
}

int words_expand(struct words *v, const char *text, bool quoted, const char *what, struct buf *out, struct why *w)
{
	bool left_out = false;
	int n;

	for (const char *s = text; *s; s += n) {
		n = (int)strcspn(s, "{}");
		if (n) {
			if (buf_add(out, s, (size_t)n))
				return why_set(w, EX_OSERR, "%.300s: no memory", what);
		} else if (s[0] == s[1]) {
			n = 2;
			if (buf_add(out, s, 1))
				return why_set(w, EX_OSERR, "%.300s: no memory", what);
		} else if (*s == '}') {
			return why_set(w, EX_USAGE, "%.300s: \"}\" without its \"{\" (a brace itself is written twice: }})", what);
		} else {
			n = placeholder(v, s + 1, quoted, what, out, &left_out, w);
			if (n < 0)
				return n;
			n++;
		}
	}
	if (buf_add(out, "", 1))
		return why_set(w, EX_OSERR, "%.300s: no memory", what);
	out->n--;
	return left_out;
}

/* ---- a list of them ---- */

void words_free(char **list)
{
	for (int i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

/* "argument 2 (--batch={micro_batch})" */
static void name_of(char out[300], const char *what, int i, const char *text)
{
	snprintf(out, 300, "%.40s %d (%.200s)", what, i, text);
}

/* "--resume" in "--resume {resume}": it has no value of its own, and would take the next word for it. */
static bool waits_for_value(const char *word)
{
	return word[0] == '-' && word[1] && strcmp(word, "--") != 0 && !strchr(word, '=');
}

int words_list(struct words *v, char *const *text, const char *what, char ***out, struct why *w)
{
	int n = 0, m = 0, r = 0;
	char **list, name[300];

	while (text && text[n])
		n++;
	if (!(list = calloc((size_t)n + 1, sizeof *list)))
		return why_set(w, EX_OSERR, "%s: no memory", what);
	for (int i = 0; i < n && r >= 0; i++) {
		bool follows = i > 1 && r == 0; /* a word that is in the list, and is not the program */
		struct buf b = { 0 };

		name_of(name, what, i, text[i]);
		r = words_expand(v, text[i], false, name, &b, w);
		if (r == 0)
			list[m++] = (char *)b.p; /* NUL-terminated; now the list's */
		else
			buf_free(&b);
		if (r == 1 && follows && !strcmp(text[i], "{resume}") && waits_for_value(list[m - 1])) {
			free(list[--m]);
			list[m] = NULL;
		}
	}
	if (r < 0) {
		words_free(list);
		return r;
	}
	*out = list;
	return 0;
}
