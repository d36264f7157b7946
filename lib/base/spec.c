/* spec.c - KIND:key=value,key=value. In a value `\,` is a comma and `\\` a backslash;
 * any other backslash stands for itself. */
#include "base.h"

#include <stdlib.h>
#include <string.h>

/* Ends the field that starts at p (NUL in place of its comma, escapes resolved); returns
 * what follows it, or NULL at the end. */
static char *split(char *p)
{
	char *to = p;

	for (; *p; p++) {
		if (*p == ',') {
			*to = '\0';
			return p + 1;
		}
		if (*p == '\\' && (p[1] == ',' || p[1] == '\\'))
			p++;
		*to++ = *p;
	}
	*to = '\0';
	return NULL;
}

static int add_pair(struct spec *s, char *field, const char *text, struct why *w)
{
	char *eq = strchr(field, '=');
	struct spec_pair *pair;

	if (!eq || eq == field)
		return why_set(w, EX_USAGE, "%.200s: \"%.100s\": expected key=value", text, field);
	*eq = '\0';
	for (int i = 0; i < s->n; i++)
		if (!strcmp(s->pair[i].key, field))
			return why_set(w, EX_USAGE, "%.200s: key \"%.100s\": given twice", text, field);
	pair = realloc(s->pair, (size_t)(s->n + 1) * sizeof *pair);
	if (!pair)
		return why_set(w, EX_OSERR, "%.200s: out of memory", text);
	s->pair = pair;
	pair[s->n++] = (struct spec_pair){ .key = field, .value = eq + 1 };
	return 0;
}

int spec_parse(struct spec *s, const char *text, struct why *w)
{
	char *p, *next;
	int r = 0;

	*s = (struct spec){ .text = strdup(text) };
	if (!s->text)
		return why_set(w, EX_OSERR, "%.200s: out of memory", text);
	s->kind = s->text;
	p = s->text + strcspn(s->text, ":=,");
	if (p == s->text || *p == '=' || *p == ',')
		r = why_set(w, EX_USAGE, "\"%.200s\": expected KIND or KIND:key=value,...", text);
	if (r == 0 && *p == ':') {
		*p++ = '\0';
		for (; p && r == 0; p = next) {
			next = split(p);
			r = add_pair(s, p, text, w);
		}
	}
	if (r < 0)
		spec_free(s);
	return r;
}

static struct spec_pair *find(struct spec *s, const char *key)
{
	if (s->n_asked < (int)(sizeof s->asked / sizeof *s->asked))
		s->asked[s->n_asked++] = key;
	for (int i = 0; i < s->n; i++)
		if (!strcmp(s->pair[i].key, key)) {
			s->pair[i].used = true;
			return &s->pair[i];
		}
	return NULL;
}

/* How a number's reason names it: "adamw: lr". */
static const char *name(const struct spec *s, const char *key, char out[200])
{
	snprintf(out, 200, "%.90s: %.90s", s->kind, key);
	return out;
}

int spec_int(struct spec *s, const char *key, int64_t min, int64_t max, int64_t *out, struct why *w)
{
	struct spec_pair *p = find(s, key);
	char what[200];
	int r;

	if (!p)
		return 0;
	r = num_int(p->value, name(s, key, what), min, max, out, w);
	return r < 0 ? r : 1;
}

int spec_float(struct spec *s, const char *key, double min, double max, double *out, struct why *w)
{
	struct spec_pair *p = find(s, key);
	char what[200];
	int r;

	if (!p)
		return 0;
	r = num_float(p->value, name(s, key, what), min, max, out, w);
	return r < 0 ? r : 1;
}

int spec_str(struct spec *s, const char *key, const char **out, struct why *w)
{
	struct spec_pair *p = find(s, key);

	if (!p)
		return 0;
	if (!*p->value)
		return why_set(w, EX_USAGE, "%.100s: %.100s: is empty", s->kind, key);
	*out = p->value;
	return 1;
}

int spec_done(const struct spec *s, struct why *w)
{
	char known[300] = "";
	int at = 0;

	for (int i = 0; i < s->n; i++) {
		if (s->pair[i].used)
			continue;
		for (int k = 0; k < s->n_asked && at < (int)sizeof known; k++)
			at += snprintf(known + at, sizeof known - (size_t)at, "%s%s", k ? ", " : "", s->asked[k]);
		return why_set(w, EX_USAGE, "%.100s: unknown key \"%.100s\" (there are: %s)", s->kind, s->pair[i].key, known);
	}
	return 0;
}

void spec_free(struct spec *s)
{
	free(s->pair);
	free(s->text);
	*s = (struct spec){ 0 };
}
