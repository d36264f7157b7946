/* command-regex.c - --step-regex: an extended regular expression of POSIX with named groups. The names
 * (?<loss>...) are taken out, as regcomp(3) knows none; \d means [0-9]. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "command-inner.h"

/* A name behind "(?<" or "(?P<" at s: its field, and where the group goes on; NULL with the reason. */
static const char *name_of(const char *s, enum field *f, struct why *w)
{
	const char *name = s + (s[2] == 'P' ? 4 : 3), *end;

	if ((s[2] != '<' && strncmp(s, "(?P<", 4)) || !(end = strchr(name, '>')))
		return why_set(w, EX_USAGE, "--step-regex: \"%.20s\": only (?<NAME>...) may follow \"(?\"", s), NULL;
	*f = field_find(KIND_step, name, (size_t)(end - name));
	if (*f == F_NONE || (field_info(*f)->type != T_INT && field_info(*f)->type != T_NUM))
		return why_set(w, EX_USAGE, "--step-regex: %.*s: no number of a step record (update, loss, lr, rows, ... as in pilot-record(5))",
			(int)(end - name > 60 ? 60 : end - name), name), NULL;
	return end + 1;
}

/* A bracket expression at s as a whole; its length. */
static size_t bracket(const char *s)
{
	size_t i = 1;

	i += s[i] == '^';
	i += s[i] == ']';
	while (s[i] && s[i] != ']') {
		if (s[i] == '[' && s[i + 1] && strchr(":.=", s[i + 1])) {
			char close[3] = { s[i + 1], ']', '\0' };
			const char *end = strstr(s + i + 2, close);

			i = end ? (size_t)(end - s) + 2 : i + 1;
		} else {
			i++;
		}
	}
	return s[i] ? i + 1 : i;
}

/* The pattern for regcomp, and the fields of its groups. */
static int translate(struct step_regex *x, const char *s, struct buf *out, struct why *w)
{
	int r = 0;

	while (*s && !r) {
		size_t n = 1;

		if (s[0] == '\\' && s[1] == 'd') {
			r = buf_add(out, "[0-9]", 5);
			s += 2;
			continue;
		}
		if (s[0] == '\\' && s[1])
			n = 2;
		else if (s[0] == '[')
			n = bracket(s);
		else if (s[0] == '(') {
			if (x->groups == GROUPS)
				return why_set(w, EX_USAGE, "--step-regex: more than %d groups", GROUPS);
			x->groups++;
			r = buf_add(out, "(", 1);
			if (s[1] == '?' && !(s = name_of(s, &x->field[x->groups], w)))
				return -EX_USAGE;
			else if (x->field[x->groups] == F_NONE)
				s++;
			continue;
		}
		r = buf_add(out, s, n);
		s += n;
	}
	return r || buf_add(out, "", 1) ? why_set(w, EX_OSERR, "--step-regex: no memory") : 0;
}

int step_regex_open(struct step_regex *x, const char *pattern, struct why *w)
{
	struct buf b = { 0 };
	bool any = false;
	char text[200];
	int r;

	memset(x, 0, sizeof *x);
	r = translate(x, pattern, &b, w);
	for (int i = 1; i <= x->groups; i++)
		any |= x->field[i] != F_NONE;
	if (!r && !any)
		r = why_set(w, EX_USAGE, "--step-regex: %.200s: no group has a name, as in \"step (?<update>[0-9]+) loss (?<loss>[0-9.]+)\"", pattern);
	if (!r) {
		int e = regcomp(&x->regex, (char *)b.p, REG_EXTENDED);

		if (e) {
			regerror(e, &x->regex, text, sizeof text);
			r = why_set(w, EX_USAGE, "--step-regex: %.200s: %s", pattern, text);
		}
		x->set = !e;
	}
	buf_free(&b);
	return r;
}

void step_regex_close(struct step_regex *x)
{
	if (x->set)
		regfree(&x->regex);
	x->set = false;
}

/* "1,234" is one number for many programs. */
static bool number_of(const char *s, size_t n, double *out)
{
	char text[64];
	size_t k = 0;
	struct why w;

	for (size_t i = 0; i < n && k < sizeof text - 1; i++)
		if (s[i] != ',' || k == 0 || i + 1 == n || !isdigit((unsigned char)s[i + 1]))
			text[k++] = s[i];
	text[k] = '\0';
	if (!strcasecmp(text, "nan")) {
		*out = NAN;
		return true;
	}
	if (!strcasecmp(text, "inf") || !strcasecmp(text, "-inf")) {
		*out = *text == '-' ? -INFINITY : INFINITY;
		return true;
	}
	return num_float(text, "number", -1e300, 1e300, out, &w) == 0;
}

bool step_regex_match(const struct step_regex *x, const char *line, double value[GROUPS + 1], bool has[GROUPS + 1])
{
	regmatch_t m[GROUPS + 1];
	bool any = false;

	if (!x->set || regexec(&x->regex, line, (size_t)x->groups + 1, m, 0) != 0)
		return false;
	for (int i = 1; i <= x->groups; i++) {
		has[i] = x->field[i] != F_NONE && m[i].rm_so >= 0 && number_of(line + m[i].rm_so, (size_t)(m[i].rm_eo - m[i].rm_so), &value[i]);
		any |= has[i];
	}
	return any;
}
