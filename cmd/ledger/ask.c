/* ask.c - the operands of a question, read into a book. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger.h"

static int see(void *ctx, const struct view *v, struct why *w)
{
	return book_see(ctx, v, w);
}

static int see_steps(void *ctx, const struct ledger_steps *e, struct why *w)
{
	return book_steps(ctx, e, w);
}

static bool no_steps(void *ctx, const struct ledger_steps *e, int n)
{
	(void)ctx;
	(void)e;
	(void)n;
	return false;
}

static int read_one(struct book *b, const char *name)
{
	struct reading r = { .see = see, .skipped = see_steps, .ctx = b };
	struct operand o;
	struct why w;
	int status;

	if (operand_open(&o, name, false, &w) < 0) {
		cmd_warn(&w);
		return w.code;
	}
	ledger_skip(o.l, no_steps, NULL);
	status = operand_read(&o, &r);
	operand_close(&o);
	return status;
}

int ask_book(struct book **b, char **name, int n)
{
	static char *standard_input[] = { "-", NULL };
	int status = 0;
	struct why w;

	if (n == 0) {
		name = standard_input;
		n = 1;
	}
	if (book_new(b, &w) < 0) {
		cmd_warn(&w);
		return w.code;
	}
	for (int i = 0; i < n; i++)
		status = code_worst(status, read_one(*b, name[i]));
	if (book_close(*b, &w) < 0) {
		cmd_warn(&w);
		status = code_worst(status, w.code);
	}
	return status;
}

/* Faults in the file are told, and what could be read is answered; without any of it there is nothing to say. */
bool ask_worth(const struct book *b, int status)
{
	return status == 0 || (b && (book_runs(b) || book_others(b)));
}

/* ---- steps of a few runs ---- */

struct asking {
	const struct ids *runs;
	bool steps;
	int (*see)(void *ctx, const struct view *v, struct why *w);
	void *ctx;
};

static bool these_steps(void *ctx, const struct ledger_steps *e, int n)
{
	const struct asking *a = ctx;

	for (int i = 0; i < n && a->steps; i++)
		if (ids_find(a->runs, e[i].run))
			return true;
	return false;
}

static int see_these(void *ctx, const struct view *v, struct why *w)
{
	const struct asking *a = ctx;
	char run[ULID_SIZE];

	view_run(v, run);
	return *run && ids_find(a->runs, run) ? a->see(a->ctx, v, w) : 0;
}

void ask_again(char **name, int n, const struct ids *runs, bool steps, int (*look)(void *ctx, const struct view *v, struct why *w), void *ctx)
{
	struct asking a = { runs, steps, look, ctx };
	struct reading r = { .see = see_these, .ctx = &a, .quiet = true };
	struct why w;

	for (int i = 0; i < n; i++) {
		struct operand o;

		if (strcmp(name[i], "-") == 0 || operand_open(&o, name[i], false, &w) < 0)
			continue; /* said when the book was read */
		ledger_skip(o.l, these_steps, &a);
		(void)operand_read(&o, &r);
		operand_close(&o);
	}
}

/* ---- what is read twice ---- */

static int keep_one(const char *name, char **out)
{
	bool standard = strcmp(name, "-") == 0;
	int from, kept;
	struct stat st;
	struct why w;

	*out = NULL;
	if (!standard && (stat(name, &st) < 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))) {
		*out = strdup(name);
		return *out ? 0 : EX_OSERR;
	}
	from = standard ? 0 : open(name, O_RDONLY | O_CLOEXEC);
	kept = from < 0 ? why_errno(&w, EX_NOINPUT, "reading: %.300s", name) : operand_keep(from, &w);
	if (from > 0)
		close(from);
	if (kept < 0) {
		cmd_warn(&w);
		return w.code;
	}
	return asprintf(out, "/proc/self/fd/%d", kept) < 0 ? EX_OSERR : 0;
}

int ask_keep(char **name, int n, char ***out, int *m)
{
	static char *standard_input[] = { "-", NULL };
	int status = 0;

	if (n == 0) {
		name = standard_input;
		n = 1;
	}
	*m = 0;
	*out = calloc((size_t)n + 1, sizeof **out);
	if (!*out)
		return EX_OSERR;
	for (int i = 0; i < n && status == 0; i++)
		status = keep_one(name[i], &(*out)[(*m)++]);
	return status;
}

void ask_kept_free(char **name, int n)
{
	for (int i = 0; name && i < n; i++)
		free(name[i]);
	free(name);
}
