/* report.c - ledger report: all of it on one HTML page. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/answer/report.h"
#include "ledger.h"

static const char usage[] = "usage: ledger report [--title TEXT] [-r PREFIX] ... OUT.html [FILE ...]\n";

enum { TITLE = 0x1020 };
static const struct cmd_option options[] = {
	{ TITLE, "title", "TEXT", "over the page" },
	{ 'r', "run", "PREFIX", "only runs whose id begins so; may be repeated" },
	{ 0 },
};

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Never over what it was made from: a ledger is not to be lost by a word too few. */
static int check_out(const char *out, char **file, int files)
{
	unsigned char magic[2];
	FILE *f;
	bool gzip;

	for (int i = 0; i < files; i++)
		if (same_file(out, file[i]))
			return cmd_usage_error("report: %.300s: is one of the files that are read; OUT.html comes first", out);
	f = fopen(out, "rb");
	if (!f)
		return 0;
	gzip = fread(magic, 1, 2, f) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
	fclose(f);
	return gzip ? cmd_usage_error("report: %.300s: is a ledger, or another gzip file; OUT.html comes first", out) : 0;
}

static int report(const struct book *b, struct report_settings s, const struct pick *pick, const char *out, char **file, int files)
{
	struct curves curves = { 0 };
	struct ids only = { 0 };
	struct buf page = { 0 };
	struct why w;
	int status = pick_book(pick, b, &only);

	s.only = pick->runs ? &only : NULL;
	if (status == 0)
		status = curves_read(&curves, b, s.only, file, files);
	s.curves = &curves;
	if (status == 0 && report_page(b, &s, &page, &w) < 0) {
		cmd_warn(&w);
		status = w.code;
	} else if (status == 0) {
		status = print_whole(out, &page);
	}
	buf_free(&page);
	curves_free(&curves);
	ids_free(&only);
	return status;
}

int do_report(int argc, char **argv)
{
	struct report_settings s = { 0 };
	struct pick pick = { 0 };
	struct book *b = NULL;
	char **file = NULL, source[500] = "";
	const char *value;
	struct cmd c;
	int opt, files = 0, status;

	cmd_options(&c, argc, argv, usage, options, NULL);
	while ((opt = cmd_next(&c, &value)) >= 0) {
		if (opt == TITLE)
			s.title = value;
		else if (pick_option(&pick, opt, value))
			return EX_USAGE;
	}
	if (opt != CMD_END)
		return c.status;
	if (c.operand == c.argc)
		return cmd_usage_error("report: OUT.html, and what is read, are wanted");
	for (int i = c.operand + 1; i < c.argc; i++)
		snprintf(source + strlen(source), sizeof source - strlen(source), "%s%s", i > c.operand + 1 ? ", " : "", c.argv[i]);
	s.source = *source ? source : NULL;
	status = ask_keep(c.argv + c.operand + 1, c.argc - c.operand - 1, &file, &files);
	if (status == 0)
		status = check_out(c.argv[c.operand], file, files);
	if (status == 0)
		status = ask_book(&b, file, files);
	if (b && ask_worth(b, status))
		status = code_worst(status, report(b, s, &pick, c.argv[c.operand], file, files));
	ask_kept_free(file, files);
	book_free(b);
	return status;
}
