/* wire_kinds.c - every kind with all its fields: written, scanned, opened, read back, through JSON
 * and back, and shown as text. The values come from the fields' places in the list. */
#include "../../lib/wire/wire.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static const struct timestamp when = {1900000000, 123456789};

static void write_field(struct rec *r, enum field f)
{
	char s[80];
	int64_t ints[3] = {f, -(int64_t)f, INT64_MIN + f};
	double nums[3] = {f + 0.5, -1e300 / f, 1.0 / 3 * f};
	char *strs[2] = {s, "h\xc3\xa9"};
	snprintf(s, sizeof s, "%s of %d\n\"\\", field_info(f)->name, (int)f);
	switch (field_info(f)->type) {
	case T_INT: rec_int(r, f, INT64_MAX - f); break;
	case T_NUM: rec_num(r, f, f + 0.25); break;
	case T_STR: rec_str(r, f, s); break;
	case T_BOOL: rec_bool(r, f, f & 1); break;
	case T_TIME: rec_time(r, f, when); break;
	case T_STRS: rec_strs(r, f, strs, 2); break;
	case T_INTS: rec_ints(r, f, ints, 3); break;
	case T_NUMS: rec_nums(r, f, nums, 3); break;
	}
}

static bool str_is(const struct view *v, enum field f, int item, const char *want)
{
	const char *s;
	size_t n;
	bool there = item < 0 ? view_str(v, f, &s, &n) : view_item_str(v, f, item, &s, &n);
	return there && n == strlen(want) && !memcmp(s, want, n);
}

static bool list_right(const struct view *v, enum field f, const char *first)
{
	int64_t i;
	double x;
	switch (field_info(f)->type) {
	case T_STRS:
		return view_count(v, f) == 2 && str_is(v, f, 0, first) && str_is(v, f, 1, "h\xc3\xa9") && !str_is(v, f, 2, "");
	case T_INTS:
		return view_count(v, f) == 3 && view_item_int(v, f, 1, &i) && i == -(int64_t)f && view_item_int(v, f, 2, &i) && i == INT64_MIN + f;
	default:
		return view_count(v, f) == 3 && view_item_num(v, f, 1, &x) && x == -1e300 / f && view_item_num(v, f, 2, &x) && x == 1.0 / 3 * f;
	}
}

static bool field_right(const struct view *v, enum field f)
{
	char s[80];
	int64_t i;
	double x;
	bool b;
	struct timestamp t;
	snprintf(s, sizeof s, "%s of %d\n\"\\", field_info(f)->name, (int)f);
	switch (field_info(f)->type) {
	case T_INT: return view_int(v, f, &i) && i == INT64_MAX - f;
	case T_NUM: return view_num(v, f, &x) && x == f + 0.25;
	case T_STR: return str_is(v, f, -1, s) && view_is(v, f, s);
	case T_BOOL: return view_bool(v, f, &b) && b == (f & 1);
	case T_TIME: return view_time(v, f, &t) && t.seconds == when.seconds && t.nanoseconds == when.nanoseconds;
	default: return list_right(v, f, s);
	}
}

static void write_all(struct rec *r, enum kind k)
{
	rec_begin(r, k);
	for (int f = F_NONE + 1; f < FIELDS; f++)
		if (field_info(f)->kind == k)
			write_field(r, (enum field)f);
}

/* The first field that does not read back; F_NONE when all do, and those of other kinds are absent. */
static enum field wrong_field(const struct view *v)
{
	for (int f = F_NONE + 1; f < FIELDS; f++) {
		bool own = field_info(f)->kind == v->kind;
		int64_t i;
		if (own ? !field_right(v, (enum field)f) : view_int(v, (enum field)f, &i) || view_count(v, (enum field)f) >= 0)
			return (enum field)f;
	}
	return F_NONE;
}

static bool opens(struct view *v, const struct buf *b, struct why *w)
{
	w->text[0] = 0;
	return scan_size(b->p, b->n, w) == (ssize_t)b->n && view_open(v, b->p, b->n, w) == 0;
}

static void through_json(const struct buf *raw, const char *kind)
{
	struct buf j1 = {0}, m = {0}, j2 = {0};
	struct view v;
	struct why w = {0};
	ok(json_write(raw->p, raw->n, &j1) == 0 && json_read((char *)j1.p, j1.n, &m, &w) == 0, "%s: JSON there and back %s", kind, w.text);
	ok(m.n == raw->n && !memcmp(m.p, raw->p, m.n), "%s: through JSON the bytes are the same", kind);
	ok(opens(&v, &m, &w) && wrong_field(&v) == F_NONE, "%s: and so are the values %s", kind, w.text);
	ok(json_write(m.p, m.n, &j2) == 0 && j2.n == j1.n && !memcmp(j1.p, j2.p, j1.n), "%s: the second JSON is the first", kind);
	buf_free(&j1);
	buf_free(&m);
	buf_free(&j2);
}

static bool clean(const struct buf *b)
{
	for (size_t i = 0; i < b->n; i++)
		if ((b->p[i] < 0x20 && b->p[i] != '\n') || b->p[i] == 0x7f)
			return false;
	return true;
}

static void through_text(const struct view *v, const char *kind)
{
	struct text t = {.all = true};
	struct buf b = {0};
	ok(text_write(&t, v, &b) == 0, "%s: has a text view", kind);
	ok(clean(&b), "%s: no control character of a value reaches it", kind);
	buf_free(&b);
}

static void one_kind(enum kind k)
{
	struct rec r = {0};
	struct view v;
	struct why w = {0};
	const char *kind = kind_name(k);
	write_all(&r, k);
	ok(rec_end(&r, &w) == 0, "%s: all its fields are written %s", kind, w.text);
	ok(opens(&v, &r.buf, &w), "%s: it opens %s", kind, w.text);
	is_int(v.kind, k, "its kind");
	is_str(field_info(wrong_field(&v))->name, "", "the field that does not read back");
	through_json(&r.buf, kind);
	through_text(&v, kind);
	rec_free(&r);
}

/* Each required field in turn is left out. */
static void without(enum kind k, enum field left_out)
{
	struct rec r = {0};
	struct why w = {0};
	rec_begin(&r, k);
	for (int f = F_NONE + 1; f < FIELDS; f++)
		if (field_info(f)->kind == k && f != (int)left_out)
			write_field(&r, (enum field)f);
	int rc = rec_end(&r, &w);
	ok(rc < 0 && strstr(w.text, field_info(left_out)->name), "%s without %s is refused: %s", kind_name(k), field_info(left_out)->name, w.text);
	rec_free(&r);
}

static void misuse(void)
{
	struct rec r = {0};
	struct why w = {0};
	rec_begin(&r, KIND_note);
	rec_str(&r, F_note_text, "a");
	rec_str(&r, F_note_text, "b");
	ok(rec_end(&r, &w) < 0 && strstr(w.text, "text"), "a field twice: %s", w.text);
	rec_begin(&r, KIND_note);
	rec_int(&r, F_note_text, 1);
	ok(rec_end(&r, &w) < 0, "a wrong type: %s", w.text);
	rec_begin(&r, KIND_note);
	rec_str(&r, F_tool_name, "x");
	ok(rec_end(&r, &w) < 0, "a field of another kind: %s", w.text);
	rec_begin(&r, KIND_note);
	rec_str(&r, F_note_text, "a");
	rec_time(&r, F_note_t, when);
	rec_time(&r, F_note_t, when);
	ok(rec_end(&r, &w) < 0, "two times: %s", w.text);
	rec_begin(&r, KIND_note);
	rec_str(&r, F_note_text, NULL);
	ok(rec_end(&r, &w) < 0, "NULL is absent: %s", w.text);
	rec_free(&r);
}

static void limits(void)
{
	struct rec r = {0};
	struct view v;
	struct why w = {0};
	char *big = malloc(REC_MAX_BYTES + 1);
	memset(big, 'x', REC_MAX_BYTES + 1);
	rec_begin(&r, KIND_note);
	rec_strn(&r, F_note_text, big, REC_MAX_BYTES);
	is_int(rec_end(&r, &w), -EX_DATAERR, "a record of more than 1 MiB");
	rec_begin(&r, KIND_note);
	size_t head = r.buf.n + 1 + 4 + 5; /* "text" and the head of a str32 */
	rec_strn(&r, F_note_text, big, REC_MAX_BYTES - head);
	ok(rec_end(&r, &w) == 0 && r.buf.n == REC_MAX_BYTES, "one of 1 MiB to the byte: %zu %s", r.buf.n, w.text);
	ok(opens(&v, &r.buf, &w), "is read: %s", w.text);
	free(big);
	rec_free(&r);
}

static void not_utf8(void)
{
	struct rec r = {0};
	struct view v = {0};
	struct why w = {0};
	rec_begin(&r, KIND_note);
	rec_str(&r, F_note_text, "a\xff" "b\xed\xa0\x80" "c");
	ok(rec_end(&r, &w) == 0 && opens(&v, &r.buf, &w), "bytes that are no UTF-8 are written");
	ok(view_is(&v, F_note_text, "a\xef\xbf\xbd" "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" "c"), "each as U+FFFD");
	rec_free(&r);
}

int main(void)
{
	for (int k = KIND_UNKNOWN + 1; k < KINDS; k++)
		one_kind((enum kind)k);
	for (int f = F_NONE + 1; f < FIELDS; f++)
		if (field_info(f)->need == MUST && strcmp(field_info(f)->name, "t"))
			without(field_info(f)->kind, (enum field)f);
	misuse();
	limits();
	not_utf8();
	return done_testing();
}
