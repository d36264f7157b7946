/* open.c - checks a record that has been scanned, and notes where its known fields stand. */
#include <stdlib.h>

#include "inner.h"

/* ---- keys: none twice, in any map of the record ---- */

struct key {
	const char *s;
	uint32_t n;
};

struct keys {
	struct key few[16]; /* enough for nearly every map, so that nothing is allocated */
	struct key *all;    /* few, or owned */
	size_t n, cap;
};

static void keys_begin(struct keys *k)
{
	k->all = k->few;
	k->n = 0;
	k->cap = sizeof k->few / sizeof *k->few;
}

static void keys_end(struct keys *k)
{
	if (k->all != k->few)
		free(k->all);
}

static int keys_grow(struct keys *k, struct why *w)
{
	size_t cap = k->cap * 4;
	struct key *more = malloc(cap * sizeof *more);
	if (!more)
		return why_set(w, EX_OSERR, "the host has no memory");
	memcpy(more, k->all, k->n * sizeof *more);
	keys_end(k);
	k->all = more;
	k->cap = cap;
	return 0;
}

static int key_cmp(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	return memcmp(x->s, y->s, x->n);
}

static int twice(const struct key *k, struct why *w)
{
	char short_key[80];
	return why_set(w, EX_DATAERR, "key %s is there twice", escape_short(short_key, k->s, k->n));
}

/* Few are compared each with each; many are sorted, so that no input makes it quadratic. */
static int keys_distinct(struct keys *k, struct why *w)
{
	if (k->all == k->few) {
		for (size_t i = 1; i < k->n; i++)
			for (size_t j = 0; j < i; j++)
				if (k->all[i].n == k->all[j].n && !memcmp(k->all[i].s, k->all[j].s, k->all[i].n))
					return twice(&k->all[i], w);
		return 0;
	}
	qsort(k->all, k->n, sizeof *k->all, key_cmp);
	for (size_t i = 1; i < k->n; i++)
		if (key_cmp(&k->all[i - 1], &k->all[i]) == 0)
			return twice(&k->all[i], w);
	return 0;
}

/* A key that the JSON view could not carry is refused here too: one that is no UTF-8, or holds a NUL. */
static int keys_add(struct keys *k, const char *s, size_t n, struct why *w)
{
	char short_key[80];
	if (utf8_span(s, n) != n || memchr(s, 0, n))
		return why_set(w, EX_DATAERR, "key %s is no text", escape_short(short_key, s, n));
	if (k->n == k->cap && keys_grow(k, w))
		return -EX_OSERR;
	k->all[k->n++] = (struct key){s, (uint32_t)n};
	return 0;
}

static int key_read(const unsigned char **p, const char **s, size_t *n, struct why *w)
{
	if (shapes[**p].item != I_STR)
		return why_set(w, EX_DATAERR, "a key is %s, not a string", item_name(*p));
	*s = item_str(*p, n);
	*p = (const unsigned char *)*s + *n;
	return 0;
}

/* ---- values inside values; the scanner has bounded the depth of this recursion ---- */

static int nest_check(const unsigned char **p, struct why *w);

static int array_check(const unsigned char **p, size_t n, struct why *w)
{
	while (n--) {
		int rc = nest_check(p, w);
		if (rc)
			return rc;
	}
	return 0;
}

static int map_check(const unsigned char **p, size_t n, struct why *w)
{
	struct keys k;
	int rc = 0;
	keys_begin(&k);
	while (n-- && !rc) {
		const char *s = NULL;
		size_t size = 0;
		rc = key_read(p, &s, &size, w);
		if (!rc)
			rc = keys_add(&k, s, size, w);
		if (!rc)
			rc = nest_check(p, w);
	}
	if (!rc)
		rc = keys_distinct(&k, w);
	keys_end(&k);
	return rc;
}

/* Checks the maps inside the item at *p and moves *p behind it. */
static int nest_check(const unsigned char **p, struct why *w)
{
	const struct shape *s = &shapes[**p];
	size_t length = shape_length(s, *p);
	*p += s->head;
	if (s->item == I_ARRAY)
		return array_check(p, length, w);
	if (s->item == I_MAP)
		return map_check(p, length, w);
	*p += length;
	return 0;
}

/* ---- known fields ---- */

static bool list_is(const unsigned char *p, enum type type)
{
	const struct shape *s = &shapes[*p];
	if (s->item != I_ARRAY)
		return false;
	size_t n = shape_length(s, p);
	p += s->head;
	for (; n--; p = item_skip(p)) {
		int64_t i;
		double x;
		if (type == T_STRS ? shapes[*p].item != I_STR : type == T_INTS ? !item_int(p, &i) : !item_num(p, &x))
			return false;
	}
	return true;
}

static bool is_int(const unsigned char *p)
{
	return shapes[*p].item == I_INT || (shapes[*p].item == I_UINT && (*p != 0xcf || p[1] < 0x80));
}

static bool value_is(const unsigned char *p, enum type type)
{
	struct timestamp t;
	switch (type) {
	case T_INT: return is_int(p);
	case T_NUM: return shapes[*p].item == I_FLOAT || is_int(p);
	case T_STR: return shapes[*p].item == I_STR;
	case T_BOOL: return shapes[*p].item == I_BOOL;
	case T_TIME: return item_time(p, &t);
	default: return list_is(p, type);
	}
}

/* What view_open carries along. */
struct opening {
	struct view *v;
	const char *kind; /* the value of kind; NULL until it is found */
	int first, fields;
	int next; /* place, from the kind's first, of the field that is expected next: writers keep the list's order */
	struct keys unknown;
};

/* Place of the field of that name, -1 if there is none. */
static int field_place(const struct opening *o, const char *s, size_t n)
{
	enum field expected = (enum field)(o->first + o->next);
	if (o->next < o->fields && field_is(expected, s, n))
		return o->next;
	enum field f = field_find(o->v->kind, s, n);
	return f == F_NONE ? -1 : (int)f - o->first;
}

static int known_value(struct opening *o, int place, const unsigned char *value, struct why *w)
{
	const struct field_info *f = &schema_fields[o->first + place];
	if (o->v->at[place])
		return why_set(w, EX_DATAERR, "key %s is there twice", f->name);
	if (!value_is(value, f->type))
		return why_set(w, EX_DATAERR, "field %s of a %s record is %s, not %s", f->name, kind_name(f->kind), item_name(value), type_name(f->type));
	o->v->at[place] = (uint32_t)(value - o->v->raw);
	o->next = place + 1;
	return 0;
}

static int pair_check(struct opening *o, const unsigned char **p, struct why *w)
{
	const char *s = NULL;
	size_t n = 0;
	int rc = key_read(p, &s, &n, w);
	if (rc)
		return rc;
	int place = field_place(o, s, n);
	if (place >= 0) {
		rc = known_value(o, place, *p, w);
		*p = item_skip(*p);
		return rc;
	}
	if (n == 4 && !memcmp(s, "kind", 4)) {
		size_t size;
		if (item_str(*p, &size) != o->kind) /* not the one that find_kind found */
			return why_set(w, EX_DATAERR, "key kind is there twice");
		*p = (const unsigned char *)o->kind + size;
		return 0;
	}
	rc = keys_add(&o->unknown, s, n, w);
	return rc ? rc : nest_check(p, w);
}

/* Nearly always the first key, so this costs little. */
static int find_kind(struct opening *o, const unsigned char *p, size_t pairs, struct why *w)
{
	const char *s = NULL;
	size_t n = 0;
	int rc;
	while (pairs--) {
		if ((rc = key_read(&p, &s, &n, w)))
			return rc;
		if (n == 4 && !memcmp(s, "kind", 4)) {
			if (shapes[*p].item != I_STR)
				return why_set(w, EX_DATAERR, "kind is %s, not a string", item_name(p));
			o->kind = item_str(p, &n);
			if (!n || utf8_span(o->kind, n) != n)
				return why_set(w, EX_DATAERR, "kind is empty or no text");
			o->v->kind = kind_find(o->kind, n);
			return 0;
		}
		p = item_skip(p);
	}
	return why_set(w, EX_DATAERR, "there is no kind");
}

static int required_there(const struct opening *o, struct why *w)
{
	for (int i = 0; i < o->fields; i++) {
		if (schema_needs[o->first + i] == MUST && !o->v->at[i]) {
			const struct field_info *f = &schema_fields[o->first + i];
			return why_set(w, EX_DATAERR, "field %s is missing in a %s record", f->name, kind_name(f->kind));
		}
	}
	return 0;
}

int view_open(struct view *v, const unsigned char *p, size_t size, struct why *w)
{
	struct opening o = {.v = v};
	const struct shape *s = &shapes[*p];
	size_t pairs = shape_length(s, p);
	v->raw = p;
	v->size = size;
	p += s->head;
	int rc = find_kind(&o, p, pairs, w);
	if (rc)
		return rc;
	o.first = kind_first(v->kind);
	o.fields = kind_fields(v->kind);
	memset(v->at, 0, (size_t)o.fields * sizeof *v->at);
	keys_begin(&o.unknown);
	while (pairs-- && !rc)
		rc = pair_check(&o, &p, w);
	if (!rc)
		rc = keys_distinct(&o.unknown, w);
	keys_end(&o.unknown);
	return rc ? rc : required_there(&o, w);
}

/* ---- both at once ---- */

/* One pair of a quick record; false: it is odd. */
static bool quick_pair(struct opening *o, const unsigned char **p, const unsigned char *end)
{
	size_t left = (size_t)(end - *p), n = **p & 0x1f;
	if (left < 33 || (**p & 0xe0) != 0xa0) /* room for any such key and a head */
		return false;
	int place = field_place(o, (const char *)*p + 1, n);
	const unsigned char *value = *p + 1 + n;
	const struct shape *s = &shapes[*value];
	if (place < 0 || o->v->at[place] || s->item >= I_ARRAY || left - 1 - n < (size_t)1 + s->lenbytes)
		return false;
	size_t bytes = s->head + shape_length(s, value);
	if (bytes > left - 1 - n || !value_is(value, schema_fields[o->first + place].type))
		return false;
	o->v->at[place] = (uint32_t)(value - o->v->raw);
	o->next = place + 1;
	*p = value + bytes;
	return true;
}

size_t view_quick(struct view *v, const unsigned char *p, size_t n)
{
	enum { KIND_KEY = 6 }; /* its head, it, and the head of the kind's name */
	struct opening o = {.v = v};
	size_t head = shapes[*p].head, pairs, length;
	if (n > REC_MAX_BYTES)
		n = REC_MAX_BYTES;
	if (shapes[*p].item != I_MAP || n < head + KIND_KEY + 32 || memcmp(p + head, "\xa4kind", 5) || (p[head + 5] & 0xe0) != 0xa0)
		return 0;
	pairs = shape_length(&shapes[*p], p);
	length = p[head + 5] & 0x1f;
	v->kind = kind_find((const char *)p + head + KIND_KEY, length);
	if (!pairs || v->kind == KIND_UNKNOWN)
		return 0;
	v->raw = p;
	o.first = kind_first(v->kind);
	o.fields = kind_fields(v->kind);
	memset(v->at, 0, (size_t)o.fields * sizeof *v->at);
	const unsigned char *at = p + head + KIND_KEY + length;
	while (--pairs)
		if (at >= p + n || !quick_pair(&o, &at, p + n))
			return 0;
	v->size = (size_t)(at - p);
	return required_there(&o, NULL) ? 0 : v->size;
}
