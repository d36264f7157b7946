/* ledger_kit.h - ledgers for unit tests: records of known contents, files in a folder of their own. */
#ifndef PILOT_LEDGER_KIT_H
#define PILOT_LEDGER_KIT_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/file/file.h"
#include "tap.h"

static char kit_dir[64];

static inline const char *kit_path(const char *name)
{
	static char path[4][256];
	static int n;

	if (!kit_dir[0]) {
		/* a sync costs nothing there, and these tests are not about the disk */
		strcpy(kit_dir, access("/dev/shm", W_OK) ? "/tmp/ledger-test-XXXXXX" : "/dev/shm/ledger-test-XXXXXX");
		if (!mkdtemp(kit_dir))
			exit(1);
	}
	n = (n + 1) % 4;
	snprintf(path[n], sizeof path[n], "%s/%s", kit_dir, name);
	return path[n];
}

static inline void kit_done(void)
{
	char command[100];

	snprintf(command, sizeof command, "rm -rf %s", kit_dir);
	if (kit_dir[0] && system(command))
		exit(1);
}

static inline struct buf kit_read(const char *path)
{
	struct buf b = { 0 };
	struct why w;

	if (io_slurp(path, 1 << 26, &b, &w) < 0) {
		diag("%s", w.text);
		exit(1);
	}
	return b;
}

static inline void kit_write(const char *path, const void *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd < 0 || io_write(fd, p, n) < 0)
		exit(1);
	close(fd);
}

static inline void kit_view(struct rec *r, struct view *v)
{
	struct why w;

	if (rec_end(r, &w) < 0 || view_open(v, r->buf.p, r->buf.n, &w) < 0) {
		diag("%s", w.text);
		exit(1);
	}
}

static const char kit_run[] = "01HZZZZZZZZZZZZZZZZZZZZZZZ";

static inline int kit_note(struct ledger_writer *l, const char *text, size_t n, struct why *w)
{
	struct rec r = { 0 };
	struct view v;
	int code;

	rec_begin(&r, KIND_note);
	rec_strn(&r, F_note_text, text, n);
	kit_view(&r, &v);
	code = ledger_add(l, &v, w);
	rec_free(&r);
	return code;
}

static inline int kit_step(struct ledger_writer *l, const char *run, int64_t update, struct why *w)
{
	struct rec r = { 0 };
	struct view v;
	int code;

	rec_begin(&r, KIND_step);
	rec_str(&r, F_step_run, run);
	rec_int(&r, F_step_update, update);
	rec_int(&r, F_step_examples, 8 * update);
	rec_num(&r, F_step_loss, 1.0 / (double)update);
	rec_num(&r, F_step_seconds, 0.25);
	kit_view(&r, &v);
	code = ledger_add(l, &v, w);
	rec_free(&r);
	return code;
}

/* A ledger of `appends` appends; each has a note, steps of two runs, and another note. */
static inline void kit_ledger(const char *path, int appends, int steps)
{
	struct ledger_writer *l;
	struct ledger_receipt receipt;
	struct why w = { 0 };

	unlink(path);
	if (ledger_writer_open(&l, path, 5, &w) < 0) {
		diag("%s", w.text);
		exit(1);
	}
	for (int i = 0; i < appends; i++) {
		int r = kit_note(l, "begin", 5, &w);

		for (int k = 1; k <= steps && r == 0; k++)
			r = kit_step(l, k % 3 ? kit_run : "01J00000000000000000000000", i * steps + k, &w);
		if (r == 0)
			r = kit_note(l, "end", 3, &w);
		if (r < 0 || ledger_commit(l, &receipt, &w) != 1) {
			diag("%s", w.text);
			exit(1);
		}
	}
	ledger_writer_close(l);
}

struct kit_found {
	int64_t records, faults, skipped;
	struct ledger_fault first;
	int code;
	struct why why;
	struct buf raw; /* the records' bytes, if wanted */
};

static inline bool kit_none(void *ctx, const struct ledger_steps *s, int n)
{
	(void)ctx;
	(void)s;
	(void)n;
	return false;
}

/* Reads it to its end. skip: step members are passed over. */
static inline struct kit_found kit_all(const char *path, bool damaged, bool skip, bool raw)
{
	struct kit_found f = { 0 };
	struct ledger *l;
	struct view v;
	int n, what;

	f.code = damaged ? ledger_open_damaged(&l, path, &f.why) : ledger_open(&l, path, &f.why);
	if (f.code < 0)
		return f;
	if (skip)
		ledger_skip(l, kit_none, NULL);
	while ((what = ledger_next(l, &v, &f.why)) > 0) {
		if (what == LEDGER_RECORD) {
			f.records++;
			if (raw && buf_add(&f.raw, v.raw, v.size) < 0)
				exit(1);
		} else if (what == LEDGER_SKIPPED) {
			const struct ledger_steps *s = ledger_skipped(l, &n);
			for (int i = 0; i < n; i++)
				f.skipped += s[i].count;
		} else if (f.faults++ == 0) {
			f.first = *ledger_fault(l);
		}
	}
	f.code = what;
	ledger_close(l);
	return f;
}

struct kit_checked {
	int code;
	int64_t faults;
	struct ledger_fault first;
	struct ledger_totals totals;
	struct why why;
};

static inline void kit_fault(void *ctx, const struct ledger_fault *f)
{
	struct kit_checked *c = ctx;

	if (c->faults++ == 0)
		c->first = *f;
}

static inline struct kit_checked kit_check(const char *path)
{
	struct kit_checked c = { 0 };

	c.code = ledger_check(path, kit_fault, &c, &c.totals, &c.why);
	return c;
}

#endif
