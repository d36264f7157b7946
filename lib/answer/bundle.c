/* bundle.c - what goes into the archive of a run. */
#include "bundle.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rerun.h"
#include "tar.h"

static bool same(const struct view *v, enum field f, const char *id)
{
	return *id && view_is(v, f, id);
}

bool bundle_takes(const struct book_run *r, const struct view *v)
{
	char run[ULID_SIZE];

	if (v->kind == KIND_request)
		return same(v, F_request_id, r->request);
	if (v->kind == KIND_comparison)
		return same(v, F_comparison_id, r->comparison);
	if (v->kind == KIND_note && same(v, F_note_comparison, r->comparison))
		return true;
	view_run(v, run);
	return strcmp(run, r->id) == 0;
}

/* ---- run.txt: the run's record, a line a field ---- */

static int text_line(struct buf *b, const char *name, const char *s, size_t n)
{
	return buf_printf(b, "%s: ", name) < 0 || text_escape(b, s, n) < 0 || buf_add(b, "\n", 1) < 0 ? -1 : 0;
}

static int number_line(struct buf *b, const struct view *v, enum field f, const char *name)
{
	char text[32];
	int64_t i;
	double x;
	bool yes;

	if (view_bool(v, f, &yes))
		return buf_printf(b, "%s: %s\n", name, yes ? "yes" : "no");
	if (view_int(v, f, &i))
		return buf_printf(b, "%s: %lld\n", name, (long long)i);
	if (!view_num(v, f, &x))
		return 0;
	num_shortest(x, text);
	return buf_printf(b, "%s: %s\n", name, text);
}

static int field_lines(struct buf *b, const struct view *v, enum field f)
{
	const struct field_info *info = field_info(f);
	const char *s;
	size_t n;
	int rc = 0;

	if (info->type == T_STR)
		return view_str(v, f, &s, &n) && n ? text_line(b, info->name, s, n) : 0;
	if (info->type != T_STRS)
		return number_line(b, v, f, info->name);
	for (int i = 0; rc == 0 && view_item_str(v, f, i, &s, &n); i++)
		rc = text_line(b, info->name, s, n);
	return rc;
}

static int run_text(struct buf *b, const struct book_run *r)
{
	const struct book_record *rec;
	int rc = 0;

	for (int f = F_NONE + 1; f < FIELDS && rc == 0; f++)
		if (field_info((enum field)f)->kind == KIND_run)
			rc = field_lines(b, &r->run, (enum field)f);
	for (int i = 0; rc == 0 && (rec = book_of(r, KIND_save, i)) != NULL; i++) {
		char path[4096], digest[80];
		struct view v;
		int64_t update = -1;

		if (!book_view(rec, &v))
			continue;
		view_int(&v, F_save_update, &update);
		view_copy(&v, F_save_path, path, sizeof path);
		view_copy(&v, F_save_digest, digest, sizeof digest);
		rc = buf_printf(b, "checkpoint: update %lld, %.79s, ", (long long)update, digest) < 0 || text_escape(b, path, strlen(path)) < 0 ||
		     buf_add(b, "\n", 1) < 0 ? -1 : 0;
	}
	return rc;
}

/* ---- rerun.sh ---- */

/* What differs here is nothing of the run's: ledger rerun tells it. */
static void unsaid(void *ctx, const char *sentence)
{
	(void)ctx;
	(void)sentence;
}

static int rerun_text(struct buf *b, const struct book_run *r, struct why *w)
{
	struct buf line = { 0 };
	int rc = rerun_line(r, &line, unsaid, NULL, w);
	bool secret = rc == 0 && line.n && memmem(line.p, line.n, SECRET_MARK, strlen(SECRET_MARK)) != NULL;

	if (rc == 0 && (buf_printf(b, "#!/bin/sh\n# Does the run %s again.%s\n", r->id, secret ? " What looked like a secret was not kept: put it in the place of " SECRET_MARK "." : "") < 0 ||
	                buf_add(b, line.p, line.n) < 0 || buf_add(b, "\n", 1) < 0))
		rc = why_set(w, EX_OSERR, "bundle: out of memory");
	buf_free(&line);
	return rc;
}

/* ---- the checkpoint ---- */

static int put_checkpoint(struct tar *t, const struct book_run *r, struct why *w)
{
	const struct book_record *rec = book_of(r, KIND_save, -1);
	char path[4096], digest[80], name[300];
	const char *base;
	struct stat st;
	struct view v;
	int fd, rc;

	if (!rec || !book_view(rec, &v))
		return why_set(w, EX_NO, "bundle: %s: it saved no checkpoint", r->id);
	view_copy(&v, F_save_path, path, sizeof path);
	view_copy(&v, F_save_digest, digest, sizeof digest);
	base = strrchr(path, '/');
	base = base ? base + 1 : path;
	for (const char *s = base; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == '\\' || *s == 0x7f)
			return why_set(w, EX_DATAERR, "bundle: %s: the name of its checkpoint has control characters or a backslash", r->id);
	snprintf(name, sizeof name, "checkpoint/%.255s", base);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return why_errno(w, EX_NOINPUT, "bundle: the checkpoint %.300s", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !*base)
		rc = why_set(w, EX_DATAERR, "bundle: the checkpoint %.300s: is no file", path);
	else
		rc = tar_file(t, name, fd, digest, w);
	close(fd);
	return rc;
}

/* ---- all of it ---- */

static int put_texts(struct tar *t, const struct book_run *r, struct why *w)
{
	struct buf b = { 0 };
	int rc = run_text(&b, r) < 0 ? why_set(w, EX_OSERR, "bundle: out of memory") : tar_bytes(t, "run.txt", b.p, b.n, w);

	b.n = 0;
	if (rc == 0) {
		rc = rerun_text(&b, r, w);
		/* how an imported run was run is not known */
		rc = rc == -EX_NO ? 0 : rc < 0 ? rc : tar_bytes(t, "rerun.sh", b.p, b.n, w);
	}
	buf_free(&b);
	return rc;
}

int bundle_write(int fd, const struct book_run *r, int json, int msgpack, bool checkpoint, struct why *w)
{
	char comment[200];
	struct tar *t;
	int rc;

	if (r->run.kind != KIND_run)
		return why_set(w, EX_NO, "bundle: %s: its run record is missing", r->id);
	snprintf(comment, sizeof comment, "run %s, by ledger bundle of pilot %s\nsha256sum -c MANIFEST checks it", r->id, PILOT_VERSION);
	rc = tar_begin(&t, fd, r->id, r->first.seconds, w);
	rc = rc < 0 ? rc : put_texts(t, r, w);
	rc = rc < 0 ? rc : tar_file(t, "records.jsonl", json, NULL, w);
	rc = rc < 0 ? rc : tar_file(t, "records.msgpack", msgpack, NULL, w);
	if (rc == 0 && checkpoint)
		rc = put_checkpoint(t, r, w);
	rc = rc < 0 ? rc : tar_end(t, comment, w);
	tar_free(t);
	return rc;
}
