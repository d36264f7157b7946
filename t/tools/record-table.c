/* record-table.c - the table of kinds and fields of pilot-record(5), from the one list.
 * record-table prints it; record-table FILE prints FILE with the text between its markers
 * replaced by it. */
#include <ctype.h>
#include <string.h>

#include "../../lib/wire/wire.h"

static const char begin[] = ".\\\" The table begins here. It is made by record-table from lib/wire/records.list.\n";
static const char end[] = ".\\\" The table ends here.\n";

/* Running text that ends a sentence, safe from roff. It keeps its case: it may begin with a value. */
static void text(const char *s)
{
	for (const char *c = s; *c; c++)
		fputs(*c == '\\' ? "\\e" : (char[]){*c, 0}, stdout);
	if (s[strlen(s) - 1] != '.')
		putchar('.');
	putchar('\n');
}

/* A run repeats the settings of its request: they are described once. */
static bool as_in_request(const struct field_info *f)
{
	enum field twin = field_find(KIND_request, f->name, strlen(f->name));
	return f->kind == KIND_run && twin != F_NONE && !strcmp(f->doc, field_info(twin)->doc);
}

static void field(const struct field_info *f)
{
	printf(".It Va %s\n%s%s: ", f->name, type_name(f->type), f->need == MUST ? ", required" : "");
	text(f->doc);
}

static void kind(enum kind k)
{
	const char *comma = "";
	printf(".Ss %s\n", kind_name(k));
	putchar(toupper((unsigned char)*kind_doc(k)));
	text(kind_doc(k) + 1);
	printf(".Pp\n.Bl -tag -width micro_batch -compact\n");
	for (int f = F_NONE + 1; f < FIELDS; f++)
		if (field_info((enum field)f)->kind == k && !as_in_request(field_info((enum field)f)))
			field(field_info((enum field)f));
	printf(".El\n");
	for (int f = F_NONE + 1; f < FIELDS; f++)
		if (field_info((enum field)f)->kind == k && as_in_request(field_info((enum field)f))) {
			printf("%s.Va %s", *comma ? comma : ".Pp\nAnd, as in\n.Sx request :\n", field_info((enum field)f)->name);
			comma = " ,\n";
		}
	if (*comma)
		printf(" .\n");
}

static void table(void)
{
	fputs(begin, stdout);
	for (int k = KIND_UNKNOWN + 1; k < KINDS; k++)
		kind((enum kind)k);
	fputs(end, stdout);
}

static int page(const char *path)
{
	char line[4096];
	bool inside = false, seen = false;
	FILE *f = fopen(path, "r");
	if (!f) {
		perror(path);
		return 1;
	}
	while (fgets(line, sizeof line, f)) {
		if (!strcmp(line, begin)) {
			inside = seen = true;
			table();
		}
		if (!inside)
			fputs(line, stdout);
		if (!strcmp(line, end))
			inside = false;
	}
	fclose(f);
	if (!seen || inside)
		fprintf(stderr, "%s: has no markers of the table\n", path);
	return !seen || inside;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		table();
	return argc < 2 ? 0 : page(argv[1]);
}
