/* options.c - lines "option=value" as settings of a run: each is refused by name, or reads back as it was taken. */
#include <stdlib.h>
#include <string.h>

#include "../../lib/train/train.h"

static void text_of(const struct config *c, enum option o, struct buf *out)
{
	out->n = 0;
	if (config_get(c, o, out) || buf_add(out, "", 1))
		abort();
}

static void one(struct config *c, struct config *other, char *line)
{
	char *value = strchr(line, '=');
	struct buf a = { 0 }, b = { 0 };
	struct why w = { 0 };
	enum option o;

	if (!value)
		return;
	*value++ = 0;
	if ((o = option_find(line)) == OPTIONS)
		return;
	text_of(c, o, &a);
	if (config_set(c, o, value, &w)) {
		text_of(c, o, &b);
		if (!strstr(w.text, option_info(o)->option) || strcmp((char *)a.p, (char *)b.p))
			abort();
	} else {
		text_of(c, o, &a);
		if (config_set(other, o, (char *)a.p, &w))
			abort();
		text_of(other, o, &b);
		if (strcmp((char *)a.p, (char *)b.p))
			abort();
	}
	buf_free(&a);
	buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	char *text = malloc(n + 1), *save, *line;
	struct config c, other;
	struct why w = { 0 };

	if (!text || config_init(&c) || config_init(&other))
		abort();
	memcpy(text, p, n);
	text[n] = 0;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		one(&c, &other, line);
	if (config_check(&c, &w) && !*w.text)
		abort();
	config_free(&c);
	config_free(&other);
	free(text);
	return 0;
}
