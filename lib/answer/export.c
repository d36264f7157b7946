/* export.c - fields of records as columns, values as cells. */
#include "export.h"

#include <stdlib.h>
#include <string.h>

static unsigned hash(const char *s, size_t n)
{
	unsigned h = 2166136261u; /* FNV-1a */

	while (n--)
		h = (h ^ (unsigned char)*s++) * 16777619u;
	return h;
}

static int *place(const struct export_columns *c, const char *name, size_t n)
{
	int i = (int)(hash(name, n) & (unsigned)(c->slots - 1));

	while (c->slot[i] && (strlen(c->name[c->slot[i] - 1]) != n || memcmp(c->name[c->slot[i] - 1], name, n)))
		i = (i + 1) & (c->slots - 1);
	return &c->slot[i];
}

int export_find(const struct export_columns *c, const char *name, size_t n)
{
	return c->slots ? *place(c, name, n) - 1 : -1;
}

static int grow(struct export_columns *c)
{
	int cap = c->cap ? 2 * c->cap : 64;
	char **p = realloc(c->name, (size_t)cap * sizeof *p);
	int *slot = p ? calloc(4 * (size_t)cap, sizeof *slot) : NULL;

	if (p)
		c->name = p;
	if (!slot)
		return -EX_OSERR;
	free(c->slot);
	c->slot = slot;
	c->slots = 4 * cap;
	c->cap = cap;
	for (int i = 0; i < c->n; i++)
		*place(c, c->name[i], strlen(c->name[i])) = i + 1;
	return 0;
}

int export_add(struct export_columns *c, const char *name, size_t n)
{
	if (memchr(name, 0, n) || export_find(c, name, n) >= 0)
		return 0;
	if (c->n == c->cap && grow(c) < 0)
		return -EX_OSERR;
	c->name[c->n] = strndup(name, n);
	if (!c->name[c->n])
		return -EX_OSERR;
	*place(c, name, n) = c->n + 1; /* the place was empty: export_find said so */
	c->n++;
	return 0;
}

int export_see(struct export_columns *c, const struct view *v)
{
	struct view_pair p = { 0 };
	int rc = 0;

	if (!c->n && (export_add(c, "run", 3) < 0 || export_add(c, "t", 1) < 0))
		return -EX_OSERR;
	while (rc == 0 && view_next_pair(v, &p))
		if (!(p.key_size == 4 && memcmp(p.key, "kind", 4) == 0))
			rc = export_add(c, p.key, p.key_size);
	return rc;
}

void export_free(struct export_columns *c)
{
	for (int i = 0; i < c->n; i++)
		free(c->name[i]);
	free(c->name);
	free(c->slot);
	*c = (struct export_columns){ 0 };
}

/* One JSON string without its quotes and escapes, in place. */
static void unquote(struct buf *b)
{
	size_t to = 0;

	for (size_t i = 1; i + 1 < b->n; i++) {
		if (b->p[i] != '\\') {
			b->p[to++] = b->p[i];
			continue;
		}
		i++;
		switch (b->p[i]) {
		case 'n': b->p[to++] = '\n'; break;
		case 't': b->p[to++] = '\t'; break;
		case 'r': b->p[to++] = '\r'; break;
		case 'b': b->p[to++] = '\b'; break;
		case 'f': b->p[to++] = '\f'; break;
		case 'u': { /* only control characters are written so */
			char hex[5] = { 0 };

			memcpy(hex, b->p + i + 1, 4);
			b->p[to++] = (unsigned char)strtoul(hex, NULL, 16);
			i += 4;
			break;
		}
		default: b->p[to++] = b->p[i];
		}
	}
	b->n = to;
}

int export_cell(const struct view_pair *p, struct buf *out, bool *text)
{
	/* NaN and infinities are strings in JSON, and no words all the same */
	bool number = p->value_size && (*p->value == 0xca || *p->value == 0xcb);

	out->n = 0;
	if (json_write(p->value, p->value_size, out) < 0)
		return -EX_OSERR;
	*text = !number && out->n && strchr("\"[{", out->p[0]) != NULL;
	if (out->n > 1 && out->p[0] == '"')
		unquote(out);
	return buf_add(out, "", 1) < 0 ? -EX_OSERR : (out->n--, 0);
}
