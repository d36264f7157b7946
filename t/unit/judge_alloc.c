/* judge_alloc.c - the Nth allocation fails while the gate judges: it never crashes, never leaks (the sanitizers'
 * build), and a lack of memory never opens a gate that should be shut. */
#include "alloc.h"
#include "gate_kit.h"

/* Something is wrong with each phase. */
static const struct change all_wrong[] = {
	{ 2, "\"seconds\":0.01", "\"seconds\":-1" }, { 4, "\"ids_max\":12", "\"ids_max\":13" }, { 5, "\"loss_nonfinite\":0", "\"loss_nonfinite\":1" },
	{ 6, "\"gradients_missing\":0", "\"gradients_missing\":1" }, { 7, "\"frozen_changed\":0", "\"frozen_changed\":1" },
	{ 11, "\"evaluation_mode\":true", "\"evaluation_mode\":false" }, { 16, "\"complete\":true", "\"complete\":false" },
};

static int input;           /* the stream */
static bool shut, opened;   /* it should be; an ok was written all the same */

static int see_all(struct in *in, struct judge *j, struct why *w)
{
	struct view v;
	int rc;

	while ((rc = in_next(in, &v, w)) > 0)
		if ((rc = judge_see(j, &v, w)) < 0)
			break;
	return rc;
}

static int judge_it(void *ctx)
{
	static const struct judge_settings plain = { .updates = 16, .deadline = 60 };
	int to = memfd_create("verdicts", MFD_CLOEXEC);
	struct out *o = NULL;
	struct judge *j = NULL;
	struct in *in = NULL;
	struct why w = { 0 };
	int rc;

	(void)ctx;
	lseek(input, 0, SEEK_SET);
	rc = out_open(&o, to, FORM_JSON, &w);
	if (rc == 0)
		rc = judge_new(&j, &plain, o, "tool", &w);
	if (rc == 0)
		rc = in_open(&in, input, "stream", &w);
	if (rc == 0)
		rc = see_all(in, j, &w);
	if (rc == 0)
		rc = judge_finish(j, &w);
	judge_free(j);
	in_close(in);
	if (o && out_close(o, &w) < 0)
		rc = -EX_IOERR;
	opened |= shut && rc == 0;
	close(to);
	return shut && rc == -EX_NO ? 0 : rc;
}

static void try(const char *what, const struct change *change, int changes)
{
	input = memfd_create("stream", MFD_CLOEXEC);
	shut = changes > 0;
	opened = false;
	if (stream(input, change, changes) < 0)
		exit(70);
	alloc_each_optional(what, judge_it, NULL);
	ok(!opened, "%s: never opened for lack of memory", what);
	close(input);
}

int main(void)
{
	if (!ok(make_file() == 0, "a checkpoint to judge"))
		return done_testing();
	try("a healthy run", NULL, 0);
	try("a run with everything wrong", all_wrong, sizeof all_wrong / sizeof *all_wrong);
	for (size_t i = 0; i < sizeof all_wrong / sizeof *all_wrong; i++)
		try("a run with one thing wrong", &all_wrong[i], 1);
	unlink(path);
	return done_testing();
}
