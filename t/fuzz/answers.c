/* answers.c - any stream through the questions of the ledger: each survives, answers or says why not, and what is drawn
 * is well-formed as far as angle brackets tell. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../lib/answer/check.h"
#include "../../lib/answer/compare.h"
#include "../../lib/answer/diff.h"
#include "../../lib/answer/plot.h"
#include "../../lib/answer/report.h"
#include "../../lib/answer/rerun.h"
#include "../../lib/answer/scaling.h"
#include "../../lib/answer/schedule.h"
#include "../../lib/answer/sheet.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
long fuzz_runs = 6000; /* each asks six questions */

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* An answer where there is none to give, and a reason where it is not 0. */
static void answered(int rc, struct answer **p)
{
	struct answer *a = *p;

	struct why w;

	must(rc == 0 || rc == -EX_NO || rc == -EX_USAGE);
	must(rc != 0 || (a && answer_check(a, &w) == 0));
	answer_free(a);
	*p = NULL;
}

static void questions(const struct book *b)
{
	struct compare_settings c = { .within = 0.1, .target = 1.5, .force = true }, by = { .within = NAN, .target = NAN, .arms.by = "seed,lr" };
	struct check_settings k = { .since = { 1764460800, 0 }, .against = 14, .rate = 0.05 };
	struct schedule_settings d = { .days = { 1, 30 }, .n = 2, .devices = 2, .updates = NAN, .keep = 1, .uplink = 1e6, .restarts = 1 };
	struct scaling_settings s = { .metric = "loss", .target = 2, .tolerance = 0.2, .price = 1, .upfront = NAN, .force = true };
	struct sheet_settings t = { .headroom = 0.1 };
	struct answer *a = NULL;
	struct why w;

	answered(compare_answer(b, &c, &a, &w), &a);
	answered(compare_answer(b, &by, &a, &w), &a);
	answered(check_answer(b, &k, &a, &w), &a);
	answered(schedule_answer(b, &d, &a, &w), &a);
	answered(scaling_answer(b, &s, &a, &w), &a);
	answered(sheet_answer(b, &t, &a, &w), &a);
}

static void nothing(void *ctx, const char *sentence)
{
	(void)ctx;
	must(*sentence);
}

static void runs(const struct book *b)
{
	struct diff_curves c = { 0 };
	struct answer *a = NULL;
	struct buf line = { 0 };
	struct why w;

	if (book_runs(b) < 2)
		return;
	answered(diff_answer(book_run(b, 0), book_run(b, 1), &c, &a, &w), &a);
	(void)!rerun_line(book_run(b, 0), &line, nothing, NULL, &w);
	buf_free(&line);
}

/* No < but of our own elements: those of strangers are entities. */
static void page(const struct book *b, const struct curves *curves)
{
	struct report_settings s = { .curves = curves };
	struct buf out = { 0 };
	struct why w;
	int open = 0;

	must(report_page(b, &s, &out, &w) == 0);
	for (size_t i = 0; i < out.n; i++) {
		open += out.p[i] == '<' ? 1 : out.p[i] == '>' ? -1 : 0;
		must(open == 0 || open == 1);
		must(out.p[i] >= ' ' || out.p[i] == '\n');
	}
	must(open == 0 && !memmem(out.p, out.n, "<script", 7));
	buf_free(&out);
}

static void read_all(int fd, struct book *b, struct curves *curves)
{
	struct why w = { 0 };
	struct in *i = NULL;
	struct view v;

	must(lseek(fd, 0, SEEK_SET) == 0 && in_open(&i, fd, "fuzz", &w) == 0);
	while (in_next(i, &v, &w) > 0)
		must(curves ? curves_see(curves, &v) == 0 : book_see(b, &v, &w) == 0);
	in_close(i);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	int fd = memfd_create("stream", 0);
	struct curves curves = { 0 };
	struct book *b = NULL;
	struct why w = { 0 };

	must(write(fd, p, n) == (ssize_t)n && book_new(&b, &w) == 0);
	read_all(fd, b, NULL);
	must(book_close(b, &w) == 0 && curves_begin(&curves, b, NULL, &w) == 0);
	read_all(fd, b, &curves);
	curves_end(&curves);
	questions(b);
	runs(b);
	if (n % 8 == 0) /* a page costs as much as all questions together */
		page(b, &curves);
	curves_free(&curves);
	book_free(b);
	close(fd);
	return 0;
}
