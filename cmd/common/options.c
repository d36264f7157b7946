/* options.c - the command line: a command's own options beside those of wire/options.list,
 * --help and --version made from the same tables. */
#include "cmd.h"

#include <string.h>

/* C has one name space for tags, and `enum option` is a setting of a run. */
#define option getopt_option
#include <getopt.h>
#undef option

enum { TABLE = 128, HELP = 0x2000, VERSION, LISTED = 0x4000 };

/* getopt's two tables. */
struct table {
	struct getopt_option longs[TABLE];
	char letters[2 * TABLE + 2];
	int n;
};

static void add(struct table *t, int code, int letter, const char *name, bool value)
{
	size_t n = strlen(t->letters);

	if (letter > 0 && letter < 256) {
		t->letters[n++] = (char)letter;
		if (value)
			t->letters[n] = ':';
	}
	if (name && t->n < TABLE - 1)
		t->longs[t->n++] = (struct getopt_option){ name, value ? required_argument : no_argument, NULL, code };
}

static const struct cmd_option *own_find(const struct cmd *c, int code)
{
	for (const struct cmd_option *o = c->own; o && o->code; o++)
		if (o->code == code)
			return o;
	return NULL;
}

static void fill(struct table *t, const struct cmd *c)
{
	memset(t, 0, sizeof *t);
	t->letters[0] = ':';
	for (const struct cmd_option *o = c->own; o && o->code; o++)
		add(t, o->code, o->code, o->name, o->metavar != NULL);
	for (int i = 0; c->config && i < OPTIONS; i++) {
		const struct option_info *o = option_info((enum option)i);

		add(t, LISTED + i, o->letter, o->option, true);
	}
	add(t, HELP, own_find(c, 'h') ? 0 : 'h', "help", false);
	add(t, VERSION, 0, "version", false);
}

void cmd_options(struct cmd *c, int argc, char **argv, const char *usage, const struct cmd_option *own, struct config *config)
{
	*c = (struct cmd){ .argc = argc, .argv = argv, .usage = usage, .own = own, .config = config };
	optind = 0; /* glibc: forget an earlier command line */
	opterr = 0;
}

/* ---- --help ---- */

static void help_line(int letter, const char *name, const char *metavar, const char *doc)
{
	char left[128];
	int n = 0;

	if (letter > 0 && letter < 256)
		n += snprintf(left, sizeof left, "  -%c%s", letter, name ? ", " : "");
	else
		n += snprintf(left, sizeof left, "      ");
	if (name)
		n += snprintf(left + n, sizeof left - (size_t)n, "--%s", name);
	if (metavar)
		snprintf(left + n, sizeof left - (size_t)n, " %s", metavar);
	if (strlen(left) > 28)
		printf("%s\n%30s%s\n", left, "", doc);
	else
		printf("%-30s%s\n", left, doc);
}

/* Settings of a run, each with its default where it has one that says something. */
static void help_config(uint64_t refused)
{
	struct config c;

	puts("\nWhat a run is made of (and what it is when nothing is said):");
	if (config_init(&c) < 0)
		return;
	for (int i = 0; i < OPTIONS; i++) {
		const struct option_info *o = option_info((enum option)i);
		struct buf value = { 0 };
		char doc[400];

		if (refused >> i & 1)
			continue;
		if (config_get(&c, (enum option)i, &value) == 0 && buf_add(&value, "", 1) == 0 && *value.p && strcmp((char *)value.p, "0"))
			snprintf(doc, sizeof doc, "%s (%s)", o->doc, (char *)value.p);
		else
			snprintf(doc, sizeof doc, "%s", o->doc);
		help_line(o->letter, o->option, o->metavar, doc);
		buf_free(&value);
	}
	config_free(&c);
}

static void help(const struct cmd *c)
{
	fputs(c->usage, stdout);
	puts("\nOptions:");
	for (const struct cmd_option *o = c->own; o && o->code; o++)
		help_line(o->code, o->name, o->metavar, o->doc);
	help_line(own_find(c, 'h') ? 0 : 'h', "help", NULL, "print this");
	help_line(0, "version", NULL, "print the version");
	if (c->config)
		help_config(c->refused);
	printf("\nSee man %s.\n", cmd_name());
}

/* ---- parsing ---- */

static int leave(struct cmd *c, int status)
{
	c->status = status;
	return CMD_EXIT;
}

/* The code of an option of the list that is known by its letter. */
static int listed(const struct cmd *c, int letter)
{
	for (int i = 0; c->config && i < OPTIONS; i++)
		if (option_info((enum option)i)->letter == letter)
			return i;
	return -1;
}

static int end_of_options(struct cmd *c)
{
	c->operand = optind;
	c->dashes = optind > 1 && !strcmp(c->argv[optind - 1], "--");
	return CMD_END;
}

/* What getopt refuses: optopt is the option's code, 0 if the long name is unknown or
 * ambiguous, and its place is before optind. */
static int refuse(struct cmd *c, int opt)
{
	const char *word = c->argv[optind - 1];
	char letter[3] = { '-', (char)optopt, '\0' };

	if (optopt > 0 && optopt < 256 && strncmp(word, "--", 2))
		word = letter;
	if (opt == ':')
		return leave(c, cmd_usage_error("%s: needs a value", word));
	if (optopt > 0 && !strncmp(word, "--", 2))
		return leave(c, cmd_usage_error("%.*s: takes no value", (int)strcspn(word, "="), word));
	return leave(c, cmd_usage_error("%s: unknown option", word));
}

static int set_listed(struct cmd *c, int i)
{
	struct why w = { 0 };

	if (config_set(c->config, (enum option)i, optarg, &w) < 0) {
		cmd_warn(&w);
		return leave(c, w.code ? w.code : EX_USAGE);
	}
	return 0;
}

int cmd_next(struct cmd *c, const char **value)
{
	struct table t;
	int opt, i;

	fill(&t, c);
	for (;;) {
		opt = getopt_long(c->argc, c->argv, t.letters, t.longs, NULL);
		*value = optarg;
		if (opt == -1)
			return end_of_options(c);
		if (opt == '?' || opt == ':')
			return refuse(c, opt);
		if (own_find(c, opt))
			return opt;
		if (opt == HELP || opt == 'h') {
			help(c);
			return leave(c, 0);
		}
		if (opt == VERSION) {
			printf("%s (pilot) %s\n", cmd_name(), PILOT_VERSION);
			return leave(c, 0);
		}
		i = opt >= LISTED ? opt - LISTED : listed(c, opt);
		if (set_listed(c, i) != 0)
			return CMD_EXIT;
	}
}

bool cmd_form(int opt, enum form *form)
{
	switch (opt) {
	case 't': *form = FORM_TEXT; return true;
	case 'j': *form = FORM_JSON; return true;
	case CMD_MSGPACK: *form = FORM_MSGPACK; return true;
	default: return false;
	}
}

/* ---- values ---- */

static int said(int r, const struct why *w)
{
	if (r < 0)
		cmd_warn(w);
	return r < 0 ? EX_USAGE : 0;
}

int cmd_int(const char *option, const char *value, int64_t min, int64_t max, int64_t *out)
{
	struct why w = { 0 };

	return said(num_int(value, option, min, max, out, &w), &w);
}

int cmd_size(const char *option, const char *value, int64_t *out)
{
	struct why w = { 0 };

	return said(num_size(value, option, out, &w), &w);
}

int cmd_duration(const char *option, const char *value, double *out)
{
	struct why w = { 0 };

	return said(num_duration(value, option, out, &w), &w);
}
