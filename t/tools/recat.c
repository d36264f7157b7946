/* recat.c - for tests and benchmarks: copies a record stream through the library and no command.
 * recat [-j|-t|-m|-n] [-b] [FILE]: JSON, text, msgpack (the default) or nothing out; -b also
 * holds the stream to its brackets. Exits with the library's code. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "../../lib/wire/wire.h"

static int copy(struct in *i, struct out *o, struct brackets *b, const char *name, struct why *w)
{
	struct view v;
	int rc;
	while ((rc = in_next(i, &v, w)) > 0) {
		rc = o ? out_view(o, &v, w) : 0;
		if (!rc && b)
			rc = brackets_see(b, &v, w);
		if (rc)
			return rc;
	}
	return !rc && b ? brackets_check(b, name, w) : rc;
}

int main(int argc, char **argv)
{
	enum form form = FORM_MSGPACK;
	bool silent = false, held = false;
	struct why w = {0}, closing = {0};
	int c, fd = 0;
	while ((c = getopt(argc, argv, "jtmnb")) != -1) {
		form = c == 'j' ? FORM_JSON : c == 't' ? FORM_TEXT : c == 'm' ? FORM_MSGPACK : form;
		silent |= c == 'n';
		held |= c == 'b';
	}
	const char *name = optind < argc ? argv[optind] : "standard input";
	if (optind < argc && (fd = open(name, O_RDONLY)) < 0)
		return EX_NOINPUT;
	struct in *i = NULL;
	struct out *o = NULL;
	struct brackets *b = held ? brackets_new() : NULL;
	int rc = in_open(&i, fd, name, &w);
	if (!rc && !silent)
		rc = out_open(&o, 1, form, &w);
	if (!rc)
		rc = copy(i, o, b, name, &w);
	if (o && out_close(o, &closing) && !rc) {
		rc = -EX_IOERR;
		w = closing;
	}
	in_close(i);
	brackets_free(b);
	if (rc)
		fprintf(stderr, "recat: %s\n", w.text);
	return -rc;
}
