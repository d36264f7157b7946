/* view.c - the fields of a record that view_open has passed. */
#include "inner.h"

/* The value of f, or NULL: absent, or of another kind. */
static const unsigned char *value_of(const struct view *v, enum field f)
{
	const struct field_info *i = field_info(f);
	if (f == F_NONE || i->kind != v->kind)
		return NULL;
	uint32_t at = v->at[f - kind_first(v->kind)];
	return at ? v->raw + at : NULL;
}

bool view_int(const struct view *v, enum field f, int64_t *out)
{
	const unsigned char *p = value_of(v, f);
	return p && item_int(p, out);
}

bool view_num(const struct view *v, enum field f, double *out)
{
	const unsigned char *p = value_of(v, f);
	return p && item_num(p, out);
}

bool view_bool(const struct view *v, enum field f, bool *out)
{
	const unsigned char *p = value_of(v, f);
	if (!p || shapes[*p].item != I_BOOL)
		return false;
	*out = *p == 0xc3;
	return true;
}

bool view_time(const struct view *v, enum field f, struct timestamp *out)
{
	const unsigned char *p = value_of(v, f);
	return p && item_time(p, out);
}

bool view_str(const struct view *v, enum field f, const char **s, size_t *n)
{
	const unsigned char *p = value_of(v, f);
	if (!p || shapes[*p].item != I_STR)
		return false;
	*s = item_str(p, n);
	return true;
}

bool view_copy(const struct view *v, enum field f, char *out, size_t size)
{
	const char *s = "";
	size_t n = 0;
	bool there = view_str(v, f, &s, &n);
	if (!size)
		return there;
	if (n >= size)
		n = size - 1;
	memcpy(out, s, n);
	out[n] = 0;
	return there;
}

bool view_is(const struct view *v, enum field f, const char *want)
{
	const char *s;
	size_t n;
	return view_str(v, f, &s, &n) && n == strlen(want) && !memcmp(s, want, n);
}

int view_count(const struct view *v, enum field f)
{
	const unsigned char *p = value_of(v, f);
	return p && shapes[*p].item == I_ARRAY ? (int)shape_length(&shapes[*p], p) : -1;
}

static const unsigned char *item_of(const struct view *v, enum field f, int i)
{
	const unsigned char *p = value_of(v, f);
	if (i < 0 || i >= view_count(v, f))
		return NULL;
	p += shapes[*p].head;
	while (i--)
		p = item_skip(p);
	return p;
}

bool view_item_str(const struct view *v, enum field f, int i, const char **s, size_t *n)
{
	const unsigned char *p = item_of(v, f, i);
	if (!p || shapes[*p].item != I_STR)
		return false;
	*s = item_str(p, n);
	return true;
}

bool view_item_int(const struct view *v, enum field f, int i, int64_t *out)
{
	const unsigned char *p = item_of(v, f, i);
	return p && item_int(p, out);
}

bool view_item_num(const struct view *v, enum field f, int i, double *out)
{
	const unsigned char *p = item_of(v, f, i);
	return p && item_num(p, out);
}

/* Of a kind that is not known here, too: an unknown record may belong to a run. */
static const unsigned char *any_run(const struct view *v)
{
	struct view_pair p = {0};
	if (v->kind != KIND_UNKNOWN)
		return value_of(v, field_find(v->kind, "run", 3));
	while (view_next_pair(v, &p))
		if (p.key_size == 3 && !memcmp(p.key, "run", 3))
			return p.value;
	return NULL;
}

void view_run(const struct view *v, char out[ULID_SIZE])
{
	size_t n = 0;
	const unsigned char *p = any_run(v);
	const char *s = "";
	if (p && shapes[*p].item == I_STR)
		s = item_str(p, &n);
	if (n >= ULID_SIZE)
		n = ULID_SIZE - 1;
	memcpy(out, s, n);
	out[n] = 0;
}

bool view_next_pair(const struct view *v, struct view_pair *p)
{
	if (!p->next)
		p->next = shapes[*v->raw].head;
	if (p->next >= v->size)
		return false;
	p->key = item_str(v->raw + p->next, &p->key_size);
	p->value = (const unsigned char *)p->key + p->key_size;
	const unsigned char *end = item_skip(p->value);
	p->value_size = (size_t)(end - p->value);
	p->next = (size_t)(end - v->raw);
	return true;
}
