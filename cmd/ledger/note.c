/* note.c - ledger note: a person's remark or decision, kept beside the measured. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/answer/arms.h"
#include "ledger.h"

static const char usage[] = "usage: ledger note [--decision] [-a NAME] [--timeout SECONDS] LEDGER RUN|PLAN TEXT\n";

enum { DECISION = 0x1020, TIMEOUT };
static const struct cmd_option options[] = {
	{ DECISION, "decision", NULL, "it is what was decided" },
	{ 'a', "author", "NAME", "who says so (your login name)" },
	{ TIMEOUT, "timeout", "SECONDS", "how long to wait for the ledger's lock (60)" },
	{ 0 },
};

struct said {
	const char *author, *text;
	bool decision;
	double timeout;
	char run[ULID_SIZE], comparison[ULID_SIZE];
};

/* RUN by the beginning of its id, a comparison by that or by its name. */
static int find(const struct book *b, const char *word, struct said *s)
{
	const struct book_run *r;
	char id[ULID_SIZE], name[128];
	struct view v;
	struct why w;
	int found = book_find(b, word, &r, &w);

	if (found < 0)
		return cmd_usage_error("%s", w.text);
	if (found)
		snprintf(s->run, sizeof s->run, "%s", r->id);
	for (int i = 0; arms_comparison(b, i, &v); i++) {
		view_copy(&v, F_comparison_id, id, sizeof id);
		view_copy(&v, F_comparison_name, name, sizeof name);
		if (strcmp(name, word) && strncasecmp(id, word, strlen(word)))
			continue;
		if (*s->run || *s->comparison)
			return cmd_usage_error("note: %.80s: is the beginning of %s and of %s", word, *s->run ? s->run : s->comparison, id);
		snprintf(s->comparison, sizeof s->comparison, "%s", id);
	}
	if (!*s->run && !*s->comparison)
		return cmd_usage_error("note: %.80s: no run and no comparison of that name is in the ledger", word);
	return 0;
}

static int add(struct ledger_writer *l, struct rec *r, struct why *w)
{
	struct view v;
	int rc = rec_end(r, w);

	if (rc == 0)
		rc = view_open(&v, r->buf.p, r->buf.n, w);
	return rc < 0 ? rc : ledger_add(l, &v, w);
}

/* In a bracket of ours, like whatever a program adds. */
static int add_all(struct ledger_writer *l, const struct said *s, char **argv, int argc, struct why *w)
{
	struct rec r = { 0 };
	char id[ULID_SIZE];
	int rc;

	ulid_new(id);
	rec_begin(&r, KIND_tool);
	rec_str(&r, F_tool_id, id);
	rec_str(&r, F_tool_name, "ledger");
	rec_str(&r, F_tool_version, PILOT_VERSION);
	rec_strs(&r, F_tool_argv, argv, argc);
	rc = add(l, &r, w);
	rec_begin(&r, KIND_note);
	rec_str(&r, F_note_run, *s->run ? s->run : NULL);
	rec_str(&r, F_note_comparison, *s->comparison ? s->comparison : NULL);
	rec_str(&r, F_note_text, s->text);
	rec_str(&r, F_note_author, s->author);
	if (s->decision)
		rec_bool(&r, F_note_decision, true);
	rc = rc < 0 ? rc : add(l, &r, w);
	rec_begin(&r, KIND_done);
	rec_str(&r, F_done_id, id);
	rec_int(&r, F_done_status, 0);
	rec_int(&r, F_done_records, 1);
	rc = rc < 0 ? rc : add(l, &r, w);
	rec_free(&r);
	return rc;
}

static int append(const char *path, const struct said *s, char **argv, int argc)
{
	struct ledger_writer *l = NULL;
	struct ledger_receipt receipt;
	const char *notice;
	struct why w;
	int rc = ledger_writer_open(&l, path, s->timeout, &w);

	if (rc == 0)
		rc = add_all(l, s, argv, argc, &w);
	if (rc == 0)
		rc = ledger_commit(l, &receipt, &w);
	if (l && (notice = ledger_notice(l)) != NULL)
		cmd_say("%s", notice);
	ledger_writer_close(l);
	if (rc >= 0)
		return 0;
	cmd_warn(&w);
	return -rc;
}

static const char *login(void)
{
	struct passwd *p = getpwuid(geteuid());

	return p && p->pw_name ? p->pw_name : "unknown";
}

int do_note(int argc, char **argv)
{
	struct said s = { .timeout = 60 };
	struct book *b = NULL;
	const char *value;
	struct cmd c;
	int opt, status = 0;

	cmd_options(&c, argc, argv, usage, options, NULL);
	while (status == 0 && (opt = cmd_next(&c, &value)) >= 0)
		switch (opt) {
		case DECISION: s.decision = true; break;
		case TIMEOUT: status = cmd_duration("--timeout", value, &s.timeout); break;
		default: s.author = value; break;
		}
	if (status || opt != CMD_END)
		return status ? status : c.status;
	if (c.argc - c.operand != 3)
		return cmd_usage_error("note: LEDGER, RUN or PLAN, and TEXT are wanted (quote the text)");
	s.text = c.argv[c.operand + 2];
	if (!*s.text)
		return cmd_usage_error("note: the text is empty");
	if (access(c.argv[c.operand], F_OK) < 0) {
		cmd_say("reading: %.300s: there is no such ledger", c.argv[c.operand]);
		return EX_NOINPUT;
	}
	if (!s.author)
		s.author = login();
	status = ask_book(&b, c.argv + c.operand, 1);
	if (ask_worth(b, status) && status != EX_NOINPUT)
		status = code_worst(status, find(b, c.argv[c.operand + 1], &s));
	book_free(b);
	return status ? status : append(c.argv[c.operand], &s, argv, argc);
}
