/* record.c - writing one record: its kind first, then t, then its fields, checked against the list. */
#include "inner.h"

enum { MAP_HEAD = 3 }; /* map16: two bytes of count are set by rec_end */

static void rec_fail(struct rec *r, int code, enum field f)
{
	if (r->bad)
		return;
	r->bad = code;
	r->culprit = f;
}

static enum field stamp_field(enum kind k)
{
	return field_find(k, "t", 1);
}

/* Where the value of t stands: behind the map's head, "kind", the kind and "t". */
static size_t stamp_at(const struct rec *r)
{
	return MAP_HEAD + 5 + 1 + strlen(kind_name(r->kind)) + 2;
}

/* Takes the outcome of a packing over into r, and holds the record to its limit. */
static void rec_took(struct rec *r, const struct pack *k, enum field f)
{
	if (k->bad)
		rec_fail(r, k->bad, f);
	else if (r->buf.n > REC_MAX_BYTES)
		rec_fail(r, EX_DATAERR, f);
}

void rec_begin(struct rec *r, enum kind k)
{
	r->kind = k;
	r->buf.n = 0;
	r->fields = 0;
	r->bad = 0;
	r->culprit = F_NONE;
	r->stamped = false;
	memset(r->seen, 0, sizeof r->seen);
	struct pack p = {&r->buf, 0};
	if (k <= KIND_UNKNOWN || k >= KINDS) {
		rec_fail(r, EX_SOFTWARE, F_NONE);
		return;
	}
	pack_record(&p, 0);
	pack_str(&p, "kind", 4);
	pack_str(&p, kind_name(k), strlen(kind_name(k)));
	pack_str(&p, "t", 1);
	pack_time(&p, clock_now());
	r->fields = 2;
	rec_took(r, &p, F_NONE);
}

/* Whether field f may be written now, as one of these types; if so its key is. */
static bool rec_key(struct rec *r, enum field f, enum type type, struct pack *p)
{
	const struct field_info *i = &schema_fields[(unsigned)f < FIELDS ? f : F_NONE];
	*p = (struct pack){&r->buf, 0};
	if (r->bad)
		return false;
	bool twice = (unsigned)f < FIELDS && r->seen[f / 64] >> (f % 64) & 1;
	if (i->kind != r->kind || i->type != type || twice) {
		rec_fail(r, EX_SOFTWARE, f);
		return false;
	}
	r->seen[f / 64] |= (uint64_t)1 << (f % 64);
	r->fields++;
	pack_name(p, i->name, schema_lengths[f]);
	return true;
}

/* Puts another time in the place of the one that rec_begin wrote; it may be of another size. */
static void restamp(struct rec *r, struct timestamp t)
{
	struct buf b = {0};
	struct pack p = {&b, 0};
	pack_time(&p, t);
	size_t at = stamp_at(r);
	size_t old = (size_t)(item_skip(r->buf.p + at) - (r->buf.p + at));
	if (!p.bad)
		p.bad = -buf_room(&r->buf, b.n);
	if (!p.bad) {
		memmove(r->buf.p + at + b.n, r->buf.p + at + old, r->buf.n - at - old);
		memcpy(r->buf.p + at, b.p, b.n);
		r->buf.n += b.n - old;
	}
	rec_took(r, &p, stamp_field(r->kind));
	r->stamped = true;
	buf_free(&b);
}

void rec_time(struct rec *r, enum field f, struct timestamp t)
{
	struct pack p;
	if (t.nanoseconds < 0 || t.nanoseconds > 999999999)
		rec_fail(r, EX_SOFTWARE, f);
	if (!r->bad && !r->stamped && f == stamp_field(r->kind)) {
		restamp(r, t);
	} else if (r->stamped && f == stamp_field(r->kind)) {
		rec_fail(r, EX_SOFTWARE, f);
	} else if (rec_key(r, f, T_TIME, &p)) {
		pack_time(&p, t);
		rec_took(r, &p, f);
	}
}

void rec_int(struct rec *r, enum field f, int64_t v)
{
	struct pack p;
	if (rec_key(r, f, T_INT, &p)) {
		pack_int(&p, v);
		rec_took(r, &p, f);
	}
}

void rec_num(struct rec *r, enum field f, double v)
{
	struct pack p;
	if (rec_key(r, f, T_NUM, &p)) {
		pack_num(&p, v);
		rec_took(r, &p, f);
	}
}

void rec_bool(struct rec *r, enum field f, bool v)
{
	struct pack p;
	if (rec_key(r, f, T_BOOL, &p)) {
		pack_bool(&p, v);
		rec_took(r, &p, f);
	}
}

void rec_str(struct rec *r, enum field f, const char *s)
{
	if (s)
		rec_strn(r, f, s, strlen(s));
}

void rec_strn(struct rec *r, enum field f, const char *s, size_t n)
{
	struct pack p;
	if (rec_key(r, f, T_STR, &p)) {
		pack_str(&p, s, n);
		rec_took(r, &p, f);
	}
}

void rec_strs(struct rec *r, enum field f, char *const *v, int n)
{
	struct pack p;
	if (!rec_key(r, f, T_STRS, &p))
		return;
	pack_array(&p, (size_t)n);
	for (int i = 0; i < n && !p.bad && r->buf.n <= REC_MAX_BYTES; i++)
		pack_str(&p, v[i], strlen(v[i]));
	rec_took(r, &p, f);
}

void rec_ints(struct rec *r, enum field f, const int64_t *v, int n)
{
	struct pack p;
	if (!rec_key(r, f, T_INTS, &p))
		return;
	pack_array(&p, (size_t)n);
	for (int i = 0; i < n && !p.bad && r->buf.n <= REC_MAX_BYTES; i++)
		pack_int(&p, v[i]);
	rec_took(r, &p, f);
}

void rec_nums(struct rec *r, enum field f, const double *v, int n)
{
	struct pack p;
	if (!rec_key(r, f, T_NUMS, &p))
		return;
	pack_array(&p, (size_t)n);
	for (int i = 0; i < n && !p.bad && r->buf.n <= REC_MAX_BYTES; i++)
		pack_num(&p, v[i]);
	rec_took(r, &p, f);
}

/* The first required field that was not given; F_NONE when all were. */
static enum field rec_missing(const struct rec *r)
{
	enum field first = kind_first(r->kind), end = first + (enum field)kind_fields(r->kind), stamp = stamp_field(r->kind);
	for (enum field f = first; f < end; f++)
		if (schema_fields[f].need == MUST && f != stamp && !(r->seen[f / 64] >> (f % 64) & 1))
			return f;
	return F_NONE;
}

static int rec_refuse(const struct rec *r, struct why *w)
{
	const char *kind = kind_name(r->kind), *field = field_info(r->culprit)->name;
	const char *of = kind_name(field_info(r->culprit)->kind);
	if (r->bad == EX_SOFTWARE && r->culprit == F_NONE)
		return why_set(w, r->bad, "writing a record: there is no kind number %d", (int)r->kind);
	if (r->bad == EX_SOFTWARE)
		return why_set(w, r->bad, "writing a %s record: field %s of %s: of another kind or type, or given twice", kind, field, of);
	if (r->bad == EX_DATAERR)
		return why_set(w, r->bad, "writing a %s record: field %s: the record needs more than %d bytes", kind, field, REC_MAX_BYTES);
	return why_set(w, r->bad, "writing a %s record: the host has no memory", kind);
}

int rec_end(struct rec *r, struct why *w)
{
	if (r->bad)
		return rec_refuse(r, w);
	enum field missing = rec_missing(r);
	if (missing != F_NONE)
		return why_set(w, EX_SOFTWARE, "writing a %s record: field %s: it is required and was not given", kind_name(r->kind), field_info(missing)->name);
	r->buf.p[1] = (unsigned char)(r->fields >> 8);
	r->buf.p[2] = (unsigned char)r->fields;
	return 0;
}

void rec_free(struct rec *r)
{
	buf_free(&r->buf);
}
