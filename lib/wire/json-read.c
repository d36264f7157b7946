/* json-read.c - one line of JSON to a record. Jansson parses; what would make it
 * recurse or allocate without bound is refused before. */
#include <math.h>
#include <stdlib.h>

#include "inner.h"
#include "parse.h"

/* Depth, containers and values of the line, counted without parsing it: outside of strings
 * each { or [ goes down, each comma is one more value. */
static int bounded(const char *s, size_t n, struct why *w)
{
	size_t depth = 0, containers = 0, commas = 0;
	bool quoted = false;
	for (size_t i = 0; i < n; i++) {
		char c = s[i];
		if (quoted) {
			i += c == '\\';
			quoted = c != '"';
			continue;
		}
		quoted = c == '"';
		commas += c == ',';
		if (c == '}' || c == ']')
			depth -= depth > 0;
		if (c != '{' && c != '[')
			continue;
		containers++;
		if (++depth > REC_MAX_DEPTH)
			return why_set(w, EX_DATAERR, "JSON: nested more than %d deep", REC_MAX_DEPTH);
	}
	if (containers > JSON_MAX_CONTAINERS)
		return why_set(w, EX_DATAERR, "JSON: more than %d objects and arrays", JSON_MAX_CONTAINERS);
	if (commas > REC_MAX_BYTES || n > JSON_MAX_LINE)
		return why_set(w, EX_DATAERR, "JSON: the record needs more than 1 MiB");
	return 0;
}

static int put(struct pack *k, const json_t *j, struct why *w);

static bool is(const json_t *j, const char *want)
{
	size_t n = strlen(want);
	return json_string_length(j) == n && !memcmp(json_string_value(j), want, n);
}

/* The strings that stand for floats that JSON has not. */
static bool special(const json_t *j, double *x)
{
	if (!json_is_string(j))
		return false;
	*x = is(j, "NaN") ? (double)NAN : is(j, "Infinity") ? INFINITY : -INFINITY;
	return is(j, "NaN") || is(j, "Infinity") || is(j, "-Infinity");
}

/* {"$bin":"base64"} and {"$ext":[type,"base64"]}: 1 written, 0 it is an ordinary object, <0. */
static int put_bytes(struct pack *k, const json_t *j, struct why *w)
{
	const json_t *bin = json_object_get(j, "$bin"), *ext = json_object_get(j, "$ext");
	if (json_object_size(j) != 1 || (!json_is_string(bin) && json_array_size(ext) != 2))
		return 0;
	const json_t *text = bin ? bin : json_array_get(ext, 1), *type = json_array_get(ext, 0);
	json_int_t number = json_integer_value(type);
	if (!json_is_string(text) || (!bin && (!json_is_integer(type) || number < -128 || number > 127)))
		return 0;
	size_t n = json_string_length(text);
	unsigned char *p = malloc(n / 4 * 3 + 1);
	if (!p)
		return why_set(w, EX_OSERR, "JSON: the host has no memory");
	ssize_t got = base64_read(json_string_value(text), n, p);
	if (got >= 0 && bin)
		pack_bin(k, p, (size_t)got);
	else if (got >= 0)
		pack_ext(k, (int)number, p, (size_t)got);
	free(p);
	return got >= 0;
}

static int put_object(struct pack *k, const json_t *j, struct why *w)
{
	const char *key;
	json_t *value;
	int rc = put_bytes(k, j, w);
	if (rc)
		return rc < 0 ? rc : 0;
	pack_map(k, json_object_size(j));
	json_object_foreach((json_t *)j, key, value) {
		pack_str(k, key, strlen(key));
		if ((rc = put(k, value, w)))
			return rc;
	}
	return 0;
}

static int put_array(struct pack *k, const json_t *j, bool numbers, struct why *w)
{
	double x;
	pack_array(k, json_array_size(j));
	for (size_t i = 0; i < json_array_size(j); i++) {
		const json_t *item = json_array_get(j, i);
		int rc = 0;
		if (numbers && special(item, &x))
			pack_num(k, x);
		else
			rc = put(k, item, w);
		if (rc)
			return rc;
	}
	return 0;
}

static int put(struct pack *k, const json_t *j, struct why *w)
{
	switch (json_typeof(j)) {
	case JSON_OBJECT: return put_object(k, j, w);
	case JSON_ARRAY: return put_array(k, j, false, w);
	case JSON_STRING: pack_str(k, json_string_value(j), json_string_length(j)); break;
	case JSON_INTEGER: pack_int(k, json_integer_value(j)); break;
	case JSON_REAL: pack_num(k, json_real_value(j)); break;
	case JSON_TRUE: pack_bool(k, true); break;
	case JSON_FALSE: pack_bool(k, false); break;
	case JSON_NULL: pack_nil(k); break;
	}
	return 0;
}

/* A field of a type that JSON has not gets it back; `t` is a time in unknown kinds, too. */
static int put_typed(struct pack *k, enum type type, const json_t *j, struct why *w)
{
	struct timestamp t;
	double x;
	if (type == T_TIME && json_is_string(j) && rfc3339_read(json_string_value(j), json_string_length(j), &t)) {
		pack_time(k, t);
		return 0;
	}
	if (type == T_NUM && special(j, &x)) {
		pack_num(k, x);
		return 0;
	}
	return json_is_array(j) ? put_array(k, j, type == T_NUMS, w) : put(k, j, w);
}

static enum type type_of(enum kind kind, const char *key)
{
	enum field f = field_find(kind, key, strlen(key));
	if (f == F_NONE)
		return kind == KIND_UNKNOWN && !strcmp(key, "t") ? T_TIME : T_STR;
	return field_info(f)->type;
}

static int put_record(struct pack *k, const json_t *j, struct why *w)
{
	const json_t *name = json_object_get(j, "kind");
	enum kind kind = json_is_string(name) ? kind_find(json_string_value(name), json_string_length(name)) : KIND_UNKNOWN;
	const char *key;
	json_t *value;
	pack_record(k, json_object_size(j));
	json_object_foreach((json_t *)j, key, value) {
		pack_str(k, key, strlen(key));
		int rc = put_typed(k, type_of(kind, key), value, w);
		if (rc)
			return rc;
		if (k->buf->n > REC_MAX_BYTES)
			return why_set(w, EX_DATAERR, "JSON: the record needs more than 1 MiB");
	}
	return 0;
}

static json_t *parse(const char *line, size_t n, int *rc, struct why *w)
{
	json_error_t e;
	bool no_memory;
	char text[80];
	json_t *j = json_parse(line, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &e, &no_memory);
	if (no_memory)
		*rc = why_set(w, EX_OSERR, "JSON: the host has no memory");
	else if (!j)
		*rc = why_set(w, EX_DATAERR, "JSON: byte %d: %s", e.position, escape_short(text, e.text, strlen(e.text)));
	return j;
}

int json_read(const char *line, size_t n, struct buf *out, struct why *w)
{
	struct pack k = {out, 0};
	out->n = 0;
	int rc = bounded(line, n, w);
	if (rc)
		return rc;
	json_t *j = parse(line, n, &rc, w);
	if (!j)
		return rc;
	if (!json_is_object(j))
		rc = why_set(w, EX_DATAERR, "JSON: no object");
	else
		rc = put_record(&k, j, w);
	if (!rc && k.bad)
		rc = why_set(w, k.bad, "JSON: the host has no memory");
	json_decref(j);
	return rc;
}
