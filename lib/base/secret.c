/* secret.c - what should not stand in a record that is kept for ever and passed on: keys, tokens,
 * passwords. Known by their names; in doubt a variable is one, and a word of a command line is not. */
#include "base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const parts[] = { "KEY", "TOKEN", "SECRET", "PASS", "PWD", "CREDENTIAL", "AUTH", "COOKIE", "PRIVATE", "SESSION",
	"DSN", "SIGNATURE", "BEARER", "JWT", "LICENSE", "LICENCE", "WEBHOOK", "CONNECTION_STRING", "CONNSTR", "NETRC", "SALT" };

/* Names that hold such a part and are known to hold no secret. */
static const char *const harmless[] = { "PWD", "OLDPWD", "TOKENIZERS_PARALLELISM", "XDG_SESSION_TYPE", "XDG_SESSION_CLASS",
	"DESKTOP_SESSION" };

bool secret_name(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
		if (strlen(harmless[i]) == n && !memcmp(harmless[i], name, n))
			return false;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		for (size_t k = strlen(parts[i]), at = 0; at + k <= n; at++)
			if (!strncasecmp(name + at, parts[i], k))
				return true;
	return false;
}

/* scheme://user:password@host anywhere in s. */
bool secret_url(const char *s)
{
	const char *p = s;

	while ((p = strstr(p, "://"))) {
		size_t authority = strcspn(p + 3, "/?# \t\"'");
		const char *colon = memchr(p + 3, ':', authority), *at = memchr(p + 3, '@', authority);

		if (colon && at && colon < at)
			return true;
		p += 3;
	}
	return false;
}

/* ---- words of a command line ---- */

/* The last word of a name: "hub-token" ends with "token". Letters' case does not count. */
static bool ends_with(const char *name, size_t n, const char *word)
{
	size_t k = strlen(word);

	if (n < k || strncasecmp(name + n - k, word, k))
		return false;
	return n == k || !isalnum((unsigned char)name[n - k - 1]) || islower((unsigned char)name[n - k - 1]) != islower((unsigned char)name[n - k]);
}

/* Does it look like something drawn at random, and not like a word or a file? */
static bool random_looking(const char *s)
{
	bool digit = false, letter = false;
	size_t n = strlen(s);

	for (; *s; s++) {
		digit |= isdigit((unsigned char)*s) != 0;
		letter |= isalpha((unsigned char)*s) != 0;
		if (!isalnum((unsigned char)*s) && !strchr("_-+/=.", *s))
			return false;
	}
	return n >= 16 && digit && letter;
}

static bool secret_option(const char *name, size_t n, const char *value)
{
	static const char *const always[] = { "password", "passwd", "passphrase", "secret", "credential", "credentials", "cookie", "dsn",
		"apikey", "api_key", "api-key", "access_key", "access-key", "secret_key", "secret-key", "private_key", "private-key" };
	static const char *const perhaps[] = { "key", "token", "auth", "pass", "pwd", "session" };

	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		if (ends_with(name, n, always[i]))
			return true;
	for (size_t i = 0; i < sizeof perhaps / sizeof *perhaps; i++)
		if (ends_with(name, n, perhaps[i]))
			return random_looking(value);
	return false;
}

/* How much of the word may be kept: all of it where there is no secret. `before` is the word before it. */
static size_t kept(const char *word, const char *before)
{
	const char *equals = strchr(word, '=');
	bool option = word[0] == '-';

	if (equals && equals[1] && equals > word && secret_option(word, (size_t)(equals - word), equals + 1))
		return (size_t)(equals - word) + 1;
	if (equals && before && !strcmp(before, "--env") && secret_name(word, (size_t)(equals - word)))
		return (size_t)(equals - word) + 1;
	if (!strncmp(word, "--env=", 6) && (equals = strchr(word + 6, '=')) && secret_name(word + 6, (size_t)(equals - word) - 6))
		return (size_t)(equals - word) + 1;
	if (!option && before && before[0] == '-' && !strchr(before, '=') && secret_option(before, strlen(before), word))
		return 0;
	if (secret_url(word))
		return equals && equals < strstr(word, "://") ? (size_t)(equals - word) + 1 : 0;
	return strlen(word);
}

/* A variable's assignment, as a shell has them before a command. */
static bool assignment(const char *word)
{
	size_t n = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	return n && word[n] == '=' && word[n + 1] && secret_name(word, n) && isupper((unsigned char)*word);
}

char *secret_shell(const char *text)
{
	char *copy = strdup(text), *save = NULL, *before = NULL;
	struct buf b = { 0 };
	bool secret = false;
	int r = copy ? 0 : -1;

	for (char *p = copy ? strtok_r(copy, " \t\n", &save) : NULL; p && !r; p = strtok_r(NULL, " \t\n", &save)) {
		size_t keep = assignment(p) ? strcspn(p, "=") + 1 : kept(p, before);

		secret |= p[keep] != '\0';
		r = buf_printf(&b, "%s%.*s%s", before ? " " : "", (int)keep, p, p[keep] ? SECRET_MARK : "");
		before = p;
	}
	free(copy);
	if (secret && !r)
		return (char *)b.p;
	buf_free(&b);
	return r ? NULL : strdup(text);
}

static char *shown(const char *word, const char *before)
{
	size_t keep = kept(word, before);
	struct buf b = { 0 };

	if (keep && *word != '-' && strpbrk(word, " \t\n")) /* a line for sh */
		return secret_shell(word);
	if (buf_printf(&b, "%.*s%s", (int)keep, word, word[keep] ? SECRET_MARK : ""))
		buf_free(&b);
	return (char *)b.p;
}

int secret_argv(char *const argv[], char ***out)
{
	int n = 0;
	char **list;

	while (argv[n])
		n++;
	if (!(list = calloc((size_t)n + 1, sizeof *list)))
		return -EX_OSERR;
	for (int i = 0; i < n; i++)
		if (!(list[i] = shown(argv[i], i ? argv[i - 1] : NULL))) {
			secret_free(list);
			return -EX_OSERR;
		}
	*out = list;
	return 0;
}

void secret_free(char **argv)
{
	for (int i = 0; argv && argv[i]; i++)
		free(argv[i]);
	free(argv);
}
