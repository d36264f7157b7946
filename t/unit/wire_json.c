/* wire_json.c - the JSON view: exact numbers, times, bytes; what is refused; what comes back. */
#include "../../lib/wire/wire.h"
#include "tap.h"

/* json -> msgpack -> json; "" and the reason in w where it is refused. */
static const char *there_and_back(const char *json, struct why *w)
{
	static char text[4096];
	struct buf m = {0}, j = {0};
	text[0] = w->text[0] = 0;
	if (json_read(json, strlen(json), &m, w) == 0 && json_write(m.p, m.n, &j) == 0)
		snprintf(text, sizeof text, "%.*s", (int)j.n, (char *)j.p);
	buf_free(&m);
	buf_free(&j);
	return text;
}

static void same(const char *json)
{
	struct why w;
	is_str(there_and_back(json, &w), json, json);
}

static void becomes(const char *json, const char *want)
{
	struct why w;
	is_str(there_and_back(json, &w), want, json);
	is_str(there_and_back(want, &w), want, "and that stays");
}

static void refuses(const char *json, const char *reason)
{
	struct why w;
	const char *text = there_and_back(json, &w);
	ok(!*text && strstr(w.text, reason), "%.60s is refused: %s", json, *text ? text : w.text);
}

static void numbers(void)
{
	same("{\"kind\":\"x\",\"a\":[0,1,-1,127,128,-32,-33,65535,65536,4294967295,4294967296]}");
	same("{\"kind\":\"x\",\"a\":[9223372036854775807,-9223372036854775808,9007199254740993]}");
	same("{\"kind\":\"x\",\"a\":[0.1,-0.0,1.0,5e-324,1.7976931348623157e+308,0.30000000000000004]}");
	becomes("{\"kind\":\"x\",\"a\":[1e2,100.50,1E-7]}", "{\"kind\":\"x\",\"a\":[100.0,100.5,1e-07]}");
	refuses("{\"kind\":\"x\",\"a\":9223372036854775808}", "integer");
	refuses("{\"kind\":\"x\",\"a\":-9223372036854775809}", "integer");
	refuses("{\"kind\":\"x\",\"a\":1e999}", "real number");
	refuses("{\"kind\":\"x\",\"a\":NaN}", "JSON");
	refuses("{\"kind\":\"x\",\"a\":01}", "JSON");
}

#define STEP(f) "{\"kind\":\"step\",\"t\":\"2026-11-30T18:34:05Z\",\"run\":\"r\",\"update\":1," f "}"

static void special(void)
{
	static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
	for (int i = 0; i < 3; i++) {
		struct buf m = {0};
		struct view v;
		struct why w = {0};
		char json[200];
		double x = 0;
		snprintf(json, sizeof json, STEP("\"loss\":\"%s\""), words[i]);
		same(json);
		bool open = json_read(json, strlen(json), &m, &w) == 0 && view_open(&v, m.p, m.n, &w) == 0 && view_num(&v, F_step_loss, &x);
		ok(open && (i == 0 ? isnan(x) : i == 1 ? x == INFINITY : x == -INFINITY), "%s is a float again", words[i]);
		buf_free(&m);
	}
	same(STEP("\"batch_digest\":\"NaN\""));
	same(STEP("\"loss\":3"));
	same("{\"kind\":\"x\",\"loss\":\"NaN\"}");
}

static void time_is(const char *text, int64_t seconds, int32_t ns, const char *shown)
{
	struct buf m = {0};
	struct view v;
	struct why w = {0};
	struct timestamp t = {0};
	char json[200];
	snprintf(json, sizeof json, "{\"kind\":\"note\",\"t\":\"%s\",\"text\":\"\"}", text);
	bool open = json_read(json, strlen(json), &m, &w) == 0 && view_open(&v, m.p, m.n, &w) == 0 && view_time(&v, F_note_t, &t);
	ok(open && t.seconds == seconds && t.nanoseconds == ns, "%s is %lld.%09d", text, (long long)t.seconds, t.nanoseconds);
	buf_free(&m);
	char want[200];
	snprintf(want, sizeof want, "{\"kind\":\"note\",\"t\":\"%s\",\"text\":\"\"}", shown);
	is_str(there_and_back(json, &w), want, "and is shown");
}

/* Seconds from `date -u -d ... +%s`. */
static void times(void)
{
	time_is("2026-11-30T18:34:05Z", 1796063645, 0, "2026-11-30T18:34:05Z");
	time_is("2026-11-30T18:34:05.123456789Z", 1796063645, 123456789, "2026-11-30T18:34:05.123456789Z");
	time_is("2026-11-30T18:34:05.5+02:00", 1796056445, 500000000, "2026-11-30T16:34:05.5Z");
	time_is("1970-01-01t00:00:00z", 0, 0, "1970-01-01T00:00:00Z");
	time_is("1969-12-31T23:59:59.9Z", -1, 900000000, "1969-12-31T23:59:59.9Z");
	time_is("2000-02-29T00:00:00.000000001Z", 951782400, 1, "2000-02-29T00:00:00.000000001Z");
	time_is("2100-03-01T00:00:00Z", 4107542400, 0, "2100-03-01T00:00:00Z");
	time_is("0001-01-01T00:00:00Z", -62135596800, 0, "0001-01-01T00:00:00Z");
	time_is("9999-12-31T23:59:59Z", 253402300799, 0, "9999-12-31T23:59:59Z");
	same("{\"kind\":\"later\",\"t\":\"2026-11-30T18:34:05.25Z\"}");
	same("{\"kind\":\"later\",\"t\":\"tomorrow\"}");
}

/* As the tests of msgpack do: an invalid time is a string, and a string is no time. */
static void no_times(void)
{
	static const char *const bad[] = {"2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-11-30T24:00:00Z", "2026-11-30T18:34:60Z", "2026-11-30T18:34:05", "2026-11-30T18:34:05.Z", "2026-11-30T18:34:05.1234567890Z", "2026-11-30T18:34:05.99999999999999999999Z", "2026-11-30T18:34:05Zx", "2026-11-30", "", "26-11-30T18:34:05Z"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct buf m = {0};
		struct view v;
		struct why w = {0};
		char json[200];
		snprintf(json, sizeof json, "{\"kind\":\"note\",\"t\":\"%s\",\"text\":\"\"}", bad[i]);
		bool read = json_read(json, strlen(json), &m, &w) == 0;
		ok(read && view_open(&v, m.p, m.n, &w) < 0 && strstr(w.text, "field t"), "\"%s\" is no time: %s", bad[i], w.text);
		buf_free(&m);
	}
}

static void strings(void)
{
	same("{\"kind\":\"x\",\"a\":\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u0001\\u001f\\u007f\\u009b\"}");
	same("{\"kind\":\"x\",\"a\":\"h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\",\"\xc3\xa9\":1}");
	becomes("{ \"kind\" : \"x\", \"a\":\"\\u00e9\\ud83d\\ude00\\/\" }", "{\"kind\":\"x\",\"a\":\"\xc3\xa9\xf0\x9f\x98\x80/\"}");
	refuses("{\"kind\":\"x\",\"a\":\"\\ud83d\"}", "JSON");
	refuses("{\"kind\":\"x\",\"a\":\"\xff\"}", "JSON");
	refuses("{\"kind\":\"x\",\"a\\u0000\":1}", "JSON");
	struct buf j = {0};
	static const unsigned char raw[] = "\x82\xa4kind\xa1x\xa1" "a\xa3" "a\xff" "b";
	ok(json_write(raw, sizeof raw - 1, &j) == 0 && j.n == 24 && !memcmp(j.p, "{\"kind\":\"x\",\"a\":\"a\xef\xbf\xbd" "b\"}", 24), "bytes that are no UTF-8 become U+FFFD");
	buf_free(&j);
}

static void bytes(void)
{
	same("{\"kind\":\"x\",\"a\":{\"$bin\":\"\"},\"b\":{\"$bin\":\"AA==\"},\"c\":{\"$bin\":\"AAE=\"},\"d\":{\"$bin\":\"/+8A\"}}");
	same("{\"kind\":\"x\",\"a\":{\"$ext\":[5,\"AAECAw==\"]},\"b\":{\"$ext\":[-128,\"AA==\"]}}");
	same("{\"kind\":\"x\",\"a\":{\"$bin\":\"AB==\"}}");
	same("{\"kind\":\"x\",\"a\":{\"$bin\":\"A\"},\"b\":{\"$bin\":1},\"c\":{\"$ext\":[200,\"AA==\"]},\"d\":{\"$bin\":\"AA==\",\"e\":1}}");
	struct buf m = {0};
	struct why w = {0};
	static const char json[] = "{\"kind\":\"x\",\"a\":{\"$bin\":\"/+8A\"}}";
	ok(json_read(json, strlen(json), &m, &w) == 0 && m.n > 5 && !memcmp(m.p + m.n - 5, "\xc4\x03\xff\xef\x00", 5), "$bin is bytes");
	buf_free(&m);
}

static void shapes(void)
{
	char deep[200];
	same("{\"kind\":\"x\",\"a\":null,\"b\":true,\"c\":false,\"d\":{},\"e\":[],\"f\":[{\"g\":[[1]]}]}");
	refuses("{\"kind\":\"x\",\"kind\":\"x\"}", "duplicate");
	refuses("{\"kind\":\"x\",\"a\":{\"b\":1,\"b\":1}}", "duplicate");
	refuses("[1]", "no object");
	refuses("{\"kind\":\"x\"} {}", "JSON");
	refuses("{\"kind\":\"x\",}", "JSON");
	refuses("{kind:1}", "JSON");
	snprintf(deep, sizeof deep, "{\"kind\":\"x\",\"a\":%s1%s}", "[[[[[[[[[[[[[[[", "]]]]]]]]]]]]]]]");
	same(deep);
	snprintf(deep, sizeof deep, "{\"kind\":\"x\",\"a\":%s1%s}", "[[[[[[[[[[[[[[[[", "]]]]]]]]]]]]]]]]");
	refuses(deep, "16 deep");
	same("{\"kind\":\"x\",\"a\":\"[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[[[[[[[[[[[[[[\"}");
}

static void sizes(void)
{
	struct buf m = {0};
	struct why w = {0};
	size_t n = 9 << 20;
	char *s = malloc(n);
	strcpy(s, "{\"kind\":\"x\",\"a\":\"");
	memset(s + 17, 'x', n - 17);
	memcpy(s + (1 << 20), "\"}", 2);
	ok(json_read(s, (1 << 20) + 2, &m, &w) == 0 && m.n > REC_MAX_BYTES - 20 && m.n <= REC_MAX_BYTES, "a string of nearly 1 MiB: %zu %s", m.n, w.text);
	memset(s + (1 << 20), 'x', 2);
	memcpy(s + (2 << 20), "\"}", 2);
	ok(json_read(s, (2 << 20) + 2, &m, &w) < 0 && strstr(w.text, "1 MiB"), "more than 1 MiB is refused: %s", w.text);
	for (size_t i = 16; i + 4 < n; i += 3)
		memcpy(s + i, "{},", 3);
	s[15] = '[';
	memcpy(s + n - 4, "1]} ", 4);
	ok(json_read(s, n, &m, &w) < 0, "millions of objects are refused before they are made: %s", w.text);
	free(s);
	buf_free(&m);
}

int main(void)
{
	numbers();
	special();
	times();
	no_times();
	strings();
	bytes();
	shapes();
	sizes();
	return done_testing();
}
