/* ledger_alloc.c - the Nth allocation fails while a ledger is written, read, checked and summed up. */
#include "alloc.h"
#include "ledger_kit.h"
#include "../../lib/job/job.h"

static int write_some(void *ctx)
{
	const char *path = ctx;
	struct ledger_receipt receipt;
	struct ledger_writer *l;
	struct why w;
	long seen = alloc_seen, at = alloc_fail_at;
	int r;

	alloc_fail_at = 0; /* the kit's own */
	unlink(path);
	struct rec step = { 0 }, note = { 0 };
	struct view vs, vn;
	rec_begin(&step, KIND_step);
	rec_str(&step, F_step_run, kit_run);
	rec_int(&step, F_step_update, 1);
	kit_view(&step, &vs);
	rec_begin(&note, KIND_note);
	rec_str(&note, F_note_text, "x");
	kit_view(&note, &vn);
	alloc_fail_at = at;
	alloc_seen = seen;

	r = ledger_writer_open(&l, path, 5, &w);
	for (int i = 0; i < 150 && r == 0; i++)
		r = ledger_add(l, i % 50 ? &vs : &vn, &w);
	if (r == 0)
		r = ledger_commit(l, &receipt, &w);
	ledger_writer_close(l);
	rec_free(&step);
	rec_free(&note);
	return r < 0 ? r : 0;
}

static int read_all(void *ctx)
{
	struct kit_found f = kit_all(ctx, false, false, false);

	return f.code;
}

static int read_damaged(void *ctx)
{
	struct kit_found f = kit_all(ctx, true, false, false);

	return f.code;
}

static int check(void *ctx)
{
	return kit_check(ctx).code;
}

static int sum_up(void *ctx)
{
	struct summary *s = summary_new();
	struct text text = { 0 };
	struct story *story = story_new(&text, false);
	struct buf out = { 0 };
	struct ledger *l = NULL;
	struct view v;
	struct why w;
	int r = s && story ? ledger_open(&l, ctx, &w) : -EX_OSERR;

	while (r == 0 && (r = ledger_next(l, &v, &w)) == LEDGER_RECORD) {
		r = summary_see(s, &v, &w);
		if (r == 0)
			r = story_count(story, &v, &w);
	}
	ledger_close(l);
	l = NULL;
	if (r == 0)
		r = ledger_open(&l, ctx, &w);
	while (r == 0 && (r = ledger_next(l, &v, &w)) == LEDGER_RECORD)
		r = story_tell(story, &v, &out, &w);
	ledger_close(l);
	buf_free(&out);
	summary_free(s);
	story_free(story);
	return r;
}

static int tally(void *ctx)
{
	struct tally *t = tally_new();
	struct ledger *l = NULL;
	struct view v;
	struct why w;
	int r = t ? ledger_open(&l, ctx, &w) : -EX_OSERR;

	if (t)
		tally_part(t); /* the kit's ledger has no brackets */
	while (r == 0 && (r = ledger_next(l, &v, &w)) == LEDGER_RECORD)
		r = tally_see(t, &v, &w);
	ledger_close(l);
	tally_free(t);
	return r;
}

int main(void)
{
	char path[256];

	snprintf(path, sizeof path, "%s", kit_path("alloc"));
	/* a folder that cannot be synced for lack of memory is no reason to fail */
	alloc_each_optional("append", write_some, path);
	kit_ledger(path, 3, 120);
	alloc_each("read", read_all, path);
	alloc_each("read what is damaged", read_damaged, path);
	alloc_each("verify", check, path);
	alloc_each("sum up", sum_up, path);
	alloc_each("tally", tally, path);
	kit_done();
	return done_testing();
}
