/* command-line.c - one line of a command's protocol, checked, becomes a record. It comes from a
 * stranger: a field that it may not bring (t, run) makes a key that is there twice, and is refused. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "command-inner.h"

static bool may_say(enum kind k)
{
	switch (k) {
	case KIND_step: case KIND_phase: case KIND_eval: case KIND_save: case KIND_prediction: case KIND_example: case KIND_note:
	case KIND_trainer: case KIND_blind: case KIND_model: case KIND_optimizer: case KIND_loader: case KIND_load: case KIND_state:
	case KIND_replica: case KIND_check: case KIND_failure:
		return true;
	default:
		return false;
	}
}

static int now_text(char out[64])
{
	struct timestamp t = clock_now();
	time_t s = (time_t)t.seconds;
	struct tm tm;
	char day[40];

	if (!gmtime_r(&s, &tm) || !strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm))
		return -1;
	snprintf(out, 64, "%s.%09dZ", day, (int)t.nanoseconds);
	return 0;
}

/* The record of the line with `fields` (JSON, each with a comma behind it) put in front of its own. */
static int read_with(const char *fields, const char *line, size_t n, struct buf *scratch, struct buf *raw, struct view *v, struct why *w)
{
	int r;

	scratch->n = 0;
	if (buf_printf(scratch, "{%s", fields) || buf_add(scratch, line + 1, n - 1))
		return why_set(w, EX_OSERR, "no memory");
	if ((r = json_read((const char *)scratch->p, scratch->n, raw, w)))
		return r;
	if (scan_size(raw->p, raw->n, w) != (ssize_t)raw->n)
		return why_set(w, EX_DATAERR, "too big for a record");
	return view_open(v, raw->p, raw->n, w);
}

static int outside(const char *what, int64_t value, struct why *w)
{
	return why_set(w, EX_DATAERR, "%s %lld: must not be negative", what, (long long)value);
}

static int check_step(const struct view *v, struct why *w)
{
	int64_t update = 0, rows = 0;

	view_int(v, F_step_update, &update);
	view_int(v, F_step_rows, &rows);
	return update < 0 ? outside("update", update, w) : rows < 0 ? outside("rows", rows, w) : 0;
}

/* ---- what we add ---- */

/* Seconds and examples of a step that has none. */
static int complete_step(const char *common, const char *line, size_t n, const struct line_adds *a, struct buf *scratch, struct buf *raw, struct view *v, struct why *w)
{
	char more[400], text[32];
	double x;
	int64_t i, rows;
	int r = check_step(v, w), len = snprintf(more, sizeof more, "%s", common);

	if (r)
		return r;
	if (a->seconds >= 0 && !view_num(v, F_step_seconds, &x)) {
		num_shortest(a->seconds, text);
		len += snprintf(more + len, sizeof more - (size_t)len, "\"seconds\":%s,", text);
	}
	if (a->examples >= 0 && !view_int(v, F_step_examples, &i) && view_int(v, F_step_rows, &rows) && rows <= INT64_MAX - a->examples)
		snprintf(more + len, sizeof more - (size_t)len, "\"examples\":%lld,", (long long)(a->examples + rows));
	return strcmp(more, common) ? read_with(more, line, n, scratch, raw, v, w) : 0;
}

/* Digest and size of the saved file: ours, and those that it told must be the same. */
static int complete_save(const char *common, const char *line, size_t n, struct buf *scratch, struct buf *raw, struct view *v, bool told_digest, struct why *w)
{
	char more[400], path[4096], digest[72];
	int64_t bytes, told;
	bool told_bytes = view_int(v, F_save_bytes, &told);
	int r;

	view_copy(v, F_save_path, path, sizeof path);
	if (*path != '/')
		return why_set(w, EX_DATAERR, "save: path %.200s: is not absolute", path);
	if ((r = sha_file(path, digest, &bytes, w)))
		return r;
	if ((told_digest && !view_is(v, F_save_digest, digest)) || (told_bytes && told != bytes))
		return why_set(w, EX_DATAERR, "save: %.200s: is another file than the line says: %lld bytes, %s", path, (long long)bytes, digest);
	r = snprintf(more, sizeof more, "%s", common);
	if (!told_digest)
		r += snprintf(more + r, sizeof more - (size_t)r, "\"digest\":\"%s\",", digest);
	if (!told_bytes)
		snprintf(more + r, sizeof more - (size_t)r, "\"bytes\":%lld,", (long long)bytes);
	return read_with(more, line, n, scratch, raw, v, w);
}

static int complete_eval(const char *common, const char *line, size_t n, const struct line_adds *a, struct buf *scratch, struct buf *raw, struct view *v, struct why *w)
{
	double loss, mean;
	const char *printed = NULL, *told;
	char more[400];
	size_t size;

	if (a->printed && view_num(v, F_eval_loss, &loss) && view_num(v, F_eval_batch_mean_loss, &mean) && loss != mean && !view_str(v, F_eval_printed, &told, &size))
		printed = a->printed(a->ctx, loss, mean);
	if (!printed)
		return 0;
	snprintf(more, sizeof more, "%s\"printed\":\"%s\",", common, printed);
	return read_with(more, line, n, scratch, raw, v, w);
}

/* Whether memory ran out and how much was asked for, by the words of an exception, where the line does not say so. */
static int complete_failure(const char *common, const char *line, size_t n, struct buf *scratch, struct buf *raw, struct view *v, struct why *w)
{
	char exception[200], message[1000], more[400];
	int64_t asked = -1, told;
	bool memory, says = view_bool(v, F_failure_memory, &memory);
	int len;

	view_copy(v, F_failure_exception, exception, sizeof exception);
	view_copy(v, F_failure_message, message, sizeof message);
	if (!says)
		memory = cause_memory(exception, message);
	if (memory && !view_int(v, F_failure_asked_bytes, &told))
		asked = cause_asked(message);
	if (says && asked < 0)
		return 0;
	len = snprintf(more, sizeof more, "%s", common);
	if (!says)
		len += snprintf(more + len, sizeof more - (size_t)len, "\"memory\":%s,", memory ? "true" : "false");
	if (asked >= 0)
		snprintf(more + len, sizeof more - (size_t)len, "\"asked_bytes\":%lld,", (long long)asked);
	return read_with(more, line, n, scratch, raw, v, w);
}

/* A save without its digest cannot be a record yet: with one that is none it can. */
static bool lacks_digest(const char *common, const char *line, size_t n, struct buf *scratch, struct buf *raw, struct view *v)
{
	char more[400];
	struct why w;

	snprintf(more, sizeof more, "%s\"digest\":\"\",", common);
	return read_with(more, line, n, scratch, raw, v, &w) == 0 && v->kind == KIND_save;
}

int command_line(const char *line, size_t n, const struct line_adds *a, struct buf *scratch, struct buf *raw, struct view *v, struct why *w)
{
	char common[200], t[64];
	bool told_digest = true;
	size_t inside;
	int r;

	if (n + 1 > LINE_MAX_BYTES)
		return why_set(w, EX_DATAERR, "longer than %d bytes", LINE_MAX_BYTES);
	if (!n || *line != '{')
		return why_set(w, EX_DATAERR, "not a JSON object");
	for (inside = 1; inside < n && strchr(" \t\r", line[inside]) && line[inside]; inside++)
		;
	if (inside < n && line[inside] == '}')
		return why_set(w, EX_DATAERR, "there is no kind");
	if (now_text(t) < 0)
		return why_set(w, EX_OSERR, "the clock has no date");
	snprintf(common, sizeof common, "\"t\":\"%s\",\"run\":\"%.30s\",", t, a->run);
	r = read_with(common, line, n, scratch, raw, v, w);
	if (r == -EX_DATAERR && lacks_digest(common, line, n, scratch, raw, v)) {
		told_digest = false;
		r = 0;
	}
	if (r) {
		struct why alone;

		if (r == -EX_DATAERR && json_read(line, n, raw, &alone) == -EX_DATAERR)
			*w = alone; /* a place in the line as it came */
		return r;
	}
	if (!may_say(v->kind))
		return why_set(w, EX_DATAERR, "kind %s: not one that a command may write", v->kind == KIND_UNKNOWN ? "unknown" : kind_name(v->kind));
	if (v->kind == KIND_step)
		return complete_step(common, line, n, a, scratch, raw, v, w);
	if (v->kind == KIND_eval)
		return complete_eval(common, line, n, a, scratch, raw, v, w);
	if (v->kind == KIND_failure)
		return complete_failure(common, line, n, scratch, raw, v, w);
	return v->kind == KIND_save ? complete_save(common, line, n, scratch, raw, v, told_digest, w) : 0;
}
