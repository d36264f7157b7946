/* wire_alloc.c - the host refuses memory at every place where lib/wire asks for it. */
#include "../../lib/wire/wire.h"
#include "alloc.h"

#include <sys/mman.h>
#include <unistd.h>

static const char many[] = "{\"kind\":\"later\",\"t\":\"2026-11-30T18:34:05Z\",\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9,\"j\":10,"
	"\"k\":11,\"l\":12,\"m\":{\"$bin\":\"AAAA\"},\"n\":[1.5,\"x\\u001b\"],\"o\":15,\"p\":16,\"q\":17,\"r\":18}\n";

static int wrong_code; /* a lack of memory must not be taken for bad input */

static int write_one(void *ctx)
{
	struct rec r = {0};
	char *strs[] = {"one", "two", NULL};
	char long_text[3000];
	(void)ctx;
	memset(long_text, 'x', sizeof long_text);
	rec_begin(&r, KIND_run);
	rec_time(&r, F_run_t, (struct timestamp){1, 1});
	rec_str(&r, F_run_run, "r");
	rec_str(&r, F_run_role, "train");
	rec_strn(&r, F_run_model, long_text, sizeof long_text);
	rec_strs(&r, F_run_argv, strs, 2);
	int rc = rec_end(&r, NULL);
	rec_free(&r);
	return rc;
}

static int read_json(void *ctx)
{
	struct buf m = {0};
	struct view v;
	(void)ctx;
	int rc = json_read(many, sizeof many - 1, &m, NULL);
	if (!rc)
		rc = view_open(&v, m.p, m.n, NULL);
	buf_free(&m);
	if (rc < 0 && rc != -EX_OSERR)
		wrong_code = rc;
	return rc;
}

static int filled(void)
{
	int fd = memfd_create("records", 0);
	for (int k = 0; k < 3; k++)
		if (write(fd, many, sizeof many - 1) < 0)
			return -1;
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* From a file to a file, in the form that ctx names. */
static int copy(void *ctx)
{
	struct in *i = NULL;
	struct out *o = NULL;
	struct view v;
	int from = filled(), to = memfd_create("out", 0);
	int rc = in_open(&i, from, "file", NULL);
	if (!rc)
		rc = out_open(&o, to, *(enum form *)ctx, NULL);
	while (!rc && (rc = in_next(i, &v, NULL)) > 0)
		rc = out_view(o, &v, NULL);
	if (o) {
		int closed = out_close(o, NULL);
		rc = rc ? rc : closed;
	}
	in_close(i);
	close(from);
	close(to);
	return rc;
}

static int brackets(void *ctx)
{
	struct brackets *b = brackets_new();
	struct buf m = {0};
	struct view v = {0};
	(void)ctx;
	int rc = b ? 0 : -EX_OSERR;
	static const char tool[] = "{\"kind\":\"tool\",\"t\":\"2026-11-30T18:34:05Z\",\"id\":\"A\",\"name\":\"n\",\"version\":\"1\"}";
	if (!rc)
		rc = json_read(tool, sizeof tool - 1, &m, NULL);
	if (!rc)
		rc = view_open(&v, m.p, m.n, NULL);
	if (!rc)
		rc = brackets_see(b, &v, NULL);
	buf_free(&m);
	brackets_free(b);
	return rc;
}

static int tool(void *ctx)
{
	struct out *o = NULL;
	char id[ULID_SIZE], *argv[] = {"a", "b", NULL};
	int fd = memfd_create("out", 0);
	int rc = out_open(&o, fd, *(enum form *)ctx, NULL);
	if (!rc)
		rc = tool_begin(o, "a", argv, id, NULL);
	if (!rc)
		rc = tool_end(o, id, 0, NULL);
	if (o) {
		int closed = out_close(o, NULL);
		rc = rc ? rc : closed;
	}
	close(fd);
	return rc;
}

int main(void)
{
	enum form forms[] = {FORM_MSGPACK, FORM_JSON, FORM_TEXT};
	static const char *const names[] = {"msgpack", "JSON", "text"};
	alloc_each("a record written", write_one, NULL);
	alloc_each("JSON read, more keys than fit on the stack", read_json, NULL);
	is_int(wrong_code, 0, "a lack of memory is called that");
	for (int k = 0; k < 3; k++) {
		char what[80];
		snprintf(what, sizeof what, "a stream copied as %s", names[k]);
		alloc_each(what, copy, &forms[k]);
		snprintf(what, sizeof what, "a bracket written as %s", names[k]);
		alloc_each(what, tool, &forms[k]);
	}
	alloc_each("brackets", brackets, NULL);
	return done_testing();
}
