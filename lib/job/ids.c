/* ids.c - a hash table from ids to small numbers. */
#include "job.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a */
static size_t hash(const char *id)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *id; id++)
		h = (h ^ (unsigned char)*id) * 0x100000001b3u;
	return (size_t)(h ^ h >> 32);
}

static struct ids_slot *place(const struct ids *s, const char *id)
{
	size_t i = hash(id) & (s->cap - 1);

	while (s->slot[i].id[0] && strcmp(s->slot[i].id, id))
		i = (i + 1) & (s->cap - 1);
	return &s->slot[i];
}

int *ids_find(const struct ids *s, const char *id)
{
	struct ids_slot *p = s->cap && *id ? place(s, id) : NULL;

	return p && p->id[0] ? &p->value : NULL;
}

static int grow(struct ids *s)
{
	struct ids old = *s;

	s->cap = old.cap ? 2 * old.cap : 64;
	s->slot = calloc(s->cap, sizeof *s->slot);
	if (!s->slot) {
		*s = old;
		return -EX_OSERR;
	}
	for (size_t i = 0; i < old.cap; i++)
		if (old.slot[i].id[0])
			*place(s, old.slot[i].id) = old.slot[i];
	free(old.slot);
	return 0;
}

int ids_put(struct ids *s, const char *id, int value)
{
	struct ids_slot *p;

	if (!*id)
		return 0;
	if (2 * s->n >= s->cap && grow(s) < 0)
		return -EX_OSERR;
	p = place(s, id);
	if (!p->id[0]) {
		snprintf(p->id, sizeof p->id, "%s", id);
		s->n++;
	}
	p->value = value;
	return 0;
}

void ids_free(struct ids *s)
{
	free(s->slot);
	*s = (struct ids){ 0 };
}
