/* judge.c - any stream through the gate's rules: it survives, each run that ends gets its nine verdicts, and a run
 * with nothing to show for itself never gets an ok for it. */
#include "../../lib/job/job.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* Verdict records in what was written. */
static int verdicts(int fd)
{
	struct in *i = NULL;
	struct view v;
	struct why w = { 0 };
	int n = 0, rc;

	must(lseek(fd, 0, SEEK_SET) == 0 && in_open(&i, fd, "verdicts", &w) == 0);
	while ((rc = in_next(i, &v, &w)) > 0) {
		must(v.kind == KIND_verdict);
		must(!view_is(&v, F_verdict_verdict, "ok") || view_is(&v, F_verdict_phase, "export") == false);
		n++;
	}
	must(rc == 0);
	in_close(i);
	return n;
}

static int judge_all(struct in *i, struct judge *j)
{
	struct view v;
	struct why w = { 0 };

	while (in_next(i, &v, &w) > 0)
		must(judge_see(j, &v, &w) == 0);
	return judge_finish(j, &w);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const struct judge_settings settings = { .updates = 4, .deadline = 1 };
	int from = memfd_create("stream", 0), to = memfd_create("verdicts", 0), rc, written;
	struct why w = { 0 };
	struct in *i = NULL;
	struct out *o = NULL;
	struct judge *j = NULL;

	must(write(from, p, n) == (ssize_t)n && lseek(from, 0, SEEK_SET) == 0);
	must(in_open(&i, from, "fuzz", &w) == 0 && out_open(&o, to, FORM_MSGPACK, &w) == 0 && judge_new(&j, &settings, o, "t", &w) == 0);
	rc = judge_all(i, j);
	must(rc == 0 || rc == -EX_NO || rc == -EX_DATAERR);
	judge_free(j);
	must(out_close(o, &w) == 0);
	written = verdicts(to);
	must(written % 9 == 0 && (rc == -EX_DATAERR) == (written == 0));
	in_close(i);
	close(from);
	close(to);
	return 0;
}
