/* show.c - ledger show: records of the runs that are asked for, as a stream or as text for people. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger.h"

static const char usage[] =
	"usage: ledger show [-t | -j | --msgpack] [-r PREFIX] [--last] [--since WHEN] [--steps] [FILE ...]\n";

enum { STEPS = 0x1010 };

static const struct cmd_option options[] = {
	CMD_FORM_OPTIONS,
	PICK_OPTIONS,
	{ STEPS, "steps", NULL, "in text, all steps and evaluations, not 20 of them" },
	{ 0 },
};

struct show {
	char **name;
	int n;
	bool steps;
	struct pick pick;
	struct operand *operand;
	struct out *out;
	struct story *story;
	struct summary *summary;
	struct ids rows, runs;
	struct buf text;
};

/* A reader that has gone away is no error to tell. */
static int wrote(struct show *s, int r)
{
	if (r < 0 && out_broken(s->out))
		stop_request(SIGPIPE);
	return r;
}

/* ---- a stream: records in their order ---- */

static int pass(void *ctx, const struct view *v, struct why *w)
{
	struct show *s = ctx;
	char owner[ULID_SIZE], run[ULID_SIZE];

	if (!pick_any(&s->pick))
		return wrote(s, out_view(s->out, v, w));
	summary_owner(s->summary, v, owner);
	view_run(v, run);
	if (!*owner || (!ids_find(&s->rows, owner) && !ids_find(&s->runs, run)))
		return 0;
	return wrote(s, out_view(s->out, v, w));
}

/* ---- the first pass ---- */

static int count(void *ctx, const struct view *v, struct why *w)
{
	struct show *s = ctx;

	return s->story ? story_count(s->story, v, w) : summary_see(s->summary, v, w);
}

static int count_steps(void *ctx, const struct ledger_steps *e, struct why *w)
{
	struct show *s = ctx;

	return s->story ? story_count_steps(s->story, e, w) : summary_steps(s->summary, e, w);
}

static bool no_steps(void *ctx, const struct ledger_steps *e, int n)
{
	(void)ctx;
	(void)e;
	(void)n;
	return false;
}

/* ---- text: run by run ---- */

static int put_text(struct show *s, struct why *w)
{
	int r = 0;

	if (s->text.n == 0)
		return 0;
	if (buf_add(&s->text, "", 1) < 0)
		r = why_set(w, EX_OSERR, "showing: out of memory");
	else
		r = wrote(s, out_text(s->out, (const char *)s->text.p, w));
	s->text.n = 0;
	return r;
}

static int tell(void *ctx, const struct view *v, struct why *w)
{
	struct show *s = ctx;
	int r = story_tell(s->story, v, &s->text, w);

	return r < 0 ? r : put_text(s, w);
}

static int tell_steps(void *ctx, const struct ledger_steps *e, struct why *w)
{
	struct show *s = ctx;
	int r = story_tell_steps(s->story, e, &s->text, w);

	return r < 0 ? r : put_text(s, w);
}

static bool wants(void *ctx, const struct ledger_steps *e, int n)
{
	struct show *s = ctx;

	return s->story ? story_wants(s->story, e, n) : true;
}

/* ---- passes ---- */

/* One pass over all operands. The first one opens them and tells their faults. */
static int go_over(struct show *s, struct reading *r, bool again, bool (*want)(void *, const struct ledger_steps *, int))
{
	int status = 0;
	struct why w;

	r->ctx = s;
	for (int i = 0; i < s->n; i++) {
		struct operand *o = &s->operand[i];
		int code = o->l ? operand_rewind(o, &w) : operand_open(o, s->name[i], again, &w);

		if (code < 0) {
			cmd_warn(&w);
			status = code_worst(status, w.code);
			continue;
		}
		ledger_skip(o->l, want, s);
		status = code_worst(status, operand_read(o, r));
		if (out_broken(s->out))
			break;
	}
	return status;
}

static int pick(struct show *s)
{
	const struct summary *sum = s->story ? story_summary(s->story) : s->summary;

	if (!pick_any(&s->pick))
		return 0;
	if (pick_rows(&s->pick, sum, &s->rows, &s->runs) < 0) {
		cmd_say("picking runs: out of memory");
		return EX_OSERR;
	}
	if (s->rows.n + s->runs.n == 0) {
		cmd_say("picking runs: none of %d is asked for", summary_count(sum));
		return EX_NO;
	}
	if (s->story)
		story_pick(s->story, &s->rows, &s->runs);
	return 0;
}

static int twice(struct show *s)
{
	struct reading first = { .see = count, .skipped = count_steps };
	struct reading second = { .see = s->story ? tell : pass, .skipped = s->story ? tell_steps : NULL, .quiet = true };
	int status = go_over(s, &first, true, no_steps), none;

	if (status && status != EX_DATAERR)
		return status;
	none = pick(s);
	if (none)
		return code_worst(status, none);
	go_over(s, &second, true, wants);
	return status;
}

static bool is_pipe(const char *name)
{
	struct stat st;

	return (strcmp(name, "-") == 0 ? fstat(0, &st) : stat(name, &st)) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISCHR(st.st_mode));
}

/* What comes through a pipe is shown while it comes. */
static bool live(const struct show *s)
{
	return !pick_any(&s->pick) && s->n == 1 && is_pipe(s->name[0]);
}

static int no_memory(void)
{
	cmd_say("showing: out of memory");
	return EX_OSERR;
}

static int show(struct show *s)
{
	bool text = out_form(s->out) == FORM_TEXT;
	struct reading once = { .see = pass };

	s->operand = calloc((size_t)s->n, sizeof *s->operand);
	if (!s->operand)
		return no_memory();
	if (live(s) || (!text && !pick_any(&s->pick)))
		return go_over(s, &once, false, NULL);
	if (text)
		s->story = story_new(out_text_state(s->out), s->steps);
	else
		s->summary = summary_new();
	return s->story || s->summary ? twice(s) : no_memory();
}

static void close_all(struct show *s)
{
	for (int i = 0; s->operand && i < s->n; i++)
		if (s->operand[i].l)
			operand_close(&s->operand[i]);
	free(s->operand);
	story_free(s->story);
	summary_free(s->summary);
	ids_free(&s->rows);
	ids_free(&s->runs);
	buf_free(&s->text);
}

int do_show(int argc, char **argv)
{
	static char *standard_input[] = { "-", NULL };
	struct show s = { 0 };
	enum form form = FORM_AUTO;
	const char *value;
	struct cmd c;
	struct why w;
	int opt, r, status;

	cmd_options(&c, argc, argv, usage, options, NULL);
	while ((opt = cmd_next(&c, &value)) >= 0) {
		if (cmd_form(opt, &form))
			continue;
		r = pick_option(&s.pick, opt, value);
		if (r == EX_USAGE)
			return r;
		s.steps |= opt == STEPS;
	}
	if (opt != CMD_END)
		return c.status;
	s.name = c.operand < argc ? argv + c.operand : standard_input;
	s.n = c.operand < argc ? argc - c.operand : 1;
	if (out_open(&s.out, 1, form, &w) < 0) {
		cmd_warn(&w);
		return w.code;
	}
	status = show(&s);
	if (out_close(s.out, &w) < 0) {
		if (!stop_wanted())
			cmd_warn(&w);
		status = code_worst(status, EX_IOERR);
	}
	close_all(&s);
	return status;
}
