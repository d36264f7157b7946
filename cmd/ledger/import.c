/* import.c - ledger import: old logs as runs, on standard output. */
#include <string.h>
#include <unistd.h>

#include "../../lib/answer/import.h"
#include "ledger.h"

static const char usage[] = "usage: ledger import csv|jsonl [-jt] [--msgpack] [--map FIELD=COLUMN,...] [--name NAME] [--status STATUS]\n"
	"                     [--set FIELD=VALUE] ... FILE ...\n";

enum { MAP = 0x1020, NAME, STATUS, SET, SETS = 32 };
static const struct cmd_option options[] = {
	{ MAP, "map", "FIELD=COLUMN,...", "which columns are update, loss, validation_loss, validation_accuracy, lr, ..., run" },
	{ NAME, "name", "NAME", "what the runs are called (their own name, or the file's)" },
	{ STATUS, "status", "STATUS", "how they ended: done, diverged, oom, stopped, killed, error" },
	{ SET, "set", "FIELD=VALUE", "a field of the run record: model=.., seed=.., micro_batch=..; may be repeated" },
	CMD_FORM_OPTIONS,
	{ 0 },
};

struct importing {
	struct import_settings settings;
	const char *set[SETS + 1];
	int sets;
	enum form form;
	bool csv;
};

static int one(const struct importing *i, const char *path, struct out *o, struct why *w)
{
	struct buf untaken = { 0 };
	struct log_table t;
	int rc = i->csv ? log_csv(&t, path, w) : log_jsonl(&t, path, w);

	if (rc < 0)
		return rc;
	rc = import_runs(&t, &i->settings, o, &untaken, w);
	if (rc == 0 && untaken.n)
		cmd_say("importing: %.300s: columns that were not taken: %.600s", path, (const char *)untaken.p);
	buf_free(&untaken);
	log_free(&t);
	return rc;
}

/* Each file is read twice: nothing is written unless all of them are good. */
static int all(const struct importing *i, char **argv, char **file, int n)
{
	struct why w = { 0 };
	char id[ULID_SIZE];
	struct out *o;
	int rc = 0, closed;

	for (int k = 0; k < n && rc == 0; k++)
		rc = one(i, file[k], NULL, &w);
	if (rc == 0)
		rc = out_open(&o, STDOUT_FILENO, i->form, &w);
	if (rc < 0)
		return cmd_warn(&w), -rc;
	rc = tool_begin(o, "ledger", argv, id, &w);
	for (int k = 0; k < n && rc == 0; k++)
		rc = one(i, file[k], o, &w);
	if (rc < 0)
		cmd_warn(&w);
	if (tool_end(o, id, -rc, &w) < 0 && rc == 0)
		cmd_warn(&w);
	closed = out_close(o, &w);
	if (closed < 0 && rc == 0)
		cmd_warn(&w);
	return rc ? -rc : -closed;
}

static int take(struct importing *i, int opt, const char *value)
{
	switch (opt) {
	case MAP: i->settings.map = value; break;
	case NAME: i->settings.name = value; break;
	case STATUS:
		if (!strstr(" done diverged oom stopped killed error ", value) || strchr(value, ' ') || !*value)
			return cmd_usage_error("--status: %.40s: not done, diverged, oom, stopped, killed or error", value);
		i->settings.status = value;
		break;
	case SET:
		if (i->sets == SETS)
			return cmd_usage_error("--set: more than %d", SETS);
		i->set[i->sets++] = value;
		i->settings.set = i->set;
		break;
	default: cmd_form(opt, &i->form);
	}
	return 0;
}

int do_import(int argc, char **argv)
{
	struct importing i = { .form = FORM_AUTO };
	const char *value;
	struct cmd c;
	int opt;

	cmd_options(&c, argc, argv, usage, options, NULL);
	while ((opt = cmd_next(&c, &value)) >= 0)
		if (take(&i, opt, value))
			return EX_USAGE;
	if (opt != CMD_END)
		return c.status;
	if (c.operand == c.argc || (strcmp(c.argv[c.operand], "csv") && strcmp(c.argv[c.operand], "jsonl")))
		return cmd_usage_error("import: csv or jsonl?");
	if (c.operand + 1 == c.argc)
		return cmd_usage_error("import: which file?");
	i.csv = strcmp(c.argv[c.operand], "csv") == 0;
	return all(&i, argv, c.argv + c.operand + 1, c.argc - c.operand - 1);
}
