/* model_memory.c - what a model needs is known to the byte before it is taken; running out, of the
 * device's memory or the host's, at any allocation, leaves nothing behind. */
#include "alloc.h"
#include "model_case.h"

static const char *const part_name[PARTS] = { "load", "data", "forward", "backward", "update", "validate" };

/* Takes the parts one by one and compares the counter with the plan, then gives them back. */
static bool part_exact(struct model_run *r, struct optim *o, enum part part, int64_t rows, int64_t length)
{
	struct dev_memory before, after;
	int64_t plan = part == PART_UPDATE ? optim_plan(o, r->param, r->params) : model_plan(r->model, part, rows, length);
	int rc;

	dev_memory(r->dev, &before);
	rc = part == PART_UPDATE ? optim_take(o, r->dev, r->param, r->params, "update", &r->why) : model_take(r->model, part, rows, length, "test", &r->why);
	dev_memory(r->dev, &after);
	if (rc == 0 && after.allocated - before.allocated == plan && after.reserved - before.reserved == dev_reserved(plan))
		return true;
	diag("%s of %lld x %lld: plan %lld, counter %lld", part_name[part], (long long)rows, (long long)length, (long long)plan, (long long)(after.allocated - before.allocated));
	return false;
}

static bool shape_exact(const char *spec, const char *optimizer, bool sequence, int64_t rows, int64_t length, int64_t classes, int threads)
{
	struct model_case c = { spec, sequence, rows, length, classes, 0, "*ln_1*,*.0.*", threads, 0 };
	struct data_facts facts = facts_of(&c);
	struct model_run r = { 0 };
	struct optim *o = NULL;
	bool exact = true;

	if (dev_open(&r.dev, "cpu", 0, threads, &r.why) < 0 || optim_new(&o, optimizer, &r.why) < 0 ||
	    model_new(&r.model, spec, &facts, length, 0.1, sequence ? "*ln_1*,h.0.*" : "fc.0.*", 1, r.dev, &r.why) < 0) {
		diag("%s", r.why.text);
		return false;
	}
	r.params = model_params(r.model, &r.param);
	for (enum part part = PART_LOAD; part < PARTS; part++)
		exact = part_exact(&r, o, part, rows, length) && exact;
	optim_free(o, r.dev);
	model_free(r.model);
	dev_close(r.dev);
	return exact;
}

static void test_plans(void)
{
	static const char *const gpt[] = { "gpt:layers=1,width=8,heads=1", "gpt:layers=3,width=30,heads=5", "gpt:layers=2,width=64,heads=4,tied=0", "gpt:layers=2,width=33,heads=3,vocab=300,context=129" };
	static const char *const mlp[] = { "mlp:hidden=0,activation=tanh", "mlp:hidden=7", "mlp:hidden=64x3x130" };
	static const char *const optimizer[] = { "sgd", "momentum", "nesterov", "adam", "adamw", "nadam" };
	static const int64_t rows[] = { 1, 2, 3, 7, 16 }, length[] = { 1, 5, 16, 63, 65, 128 };
	bool all = true;
	int n = 0;

	for (int s = 0; s < 4; s++)
		for (int i = 0; i < 5; i++)
			for (int k = 0; k < 6; k++, n++)
				all = shape_exact(gpt[s], optimizer[n % 6], true, rows[i], length[k], 11 + n, 1 + n % 3) && all;
	ok(all, "gpt: the plan is the counter in all of %d shapes", n);
	all = true;
	for (int s = 1; s < 3; s++)
		for (int i = 0; i < 5; i++)
			for (int k = 0; k < 6; k++, n++)
				all = shape_exact(mlp[s], optimizer[n % 6], false, rows[i], length[k], 2 + n, 2) && all;
	ok(all, "mlp: the plan is the counter in all shapes");
}

/* A GPT-2's numbers are known: 124,439,808. */
static void test_known(void)
{
	struct data_facts facts = { .sequence = true, .classes = 50257, .length = 1024 };
	struct model_run r = { 0 };

	if (dev_open(&r.dev, "cpu", 0, 2, &r.why) == 0 && model_new(&r.model, "gpt2", &facts, 1024, 0, "", 1, r.dev, &r.why) == 0) {
		is_int(model_numbers(r.model, false), 124439808, "GPT-2 has 124,439,808 parameters");
		is_int(model_plan(r.model, PART_LOAD, 1, 1024), 124439808LL * 4, "of four bytes");
		ok(model_plan(r.model, PART_FORWARD, INT32_MAX, 1024) > (int64_t)1 << 50, "an absurd batch is planned without overflow");
		is_int(model_take(r.model, PART_FORWARD, INT32_MAX, 1024, "forward", &r.why), -EX_USAGE, "and refused");
		is_int(model_take(r.model, PART_FORWARD, 1, 1025, "forward", &r.why), -EX_USAGE, "as are positions beyond the context");
		has_str(r.why.text, "1025 positions", "by number");
	}
	model_free(r.model);
	dev_close(r.dev);
}

static const struct model_case small_gpt = { "gpt:layers=2,width=16,heads=2,context=12", true, 3, 9, 13, 0.1, "", 2, 0 };
static const struct model_case small_mlp = { "mlp:hidden=12x7", false, 5, 9, 4, 0.1, "", 2, 0 };

static struct batch small_batch[2]; /* [sequence]; made before allocations fail */

/* A whole update and a validation; 0 or the code. */
static int whole(const struct model_case *c, int64_t fail, struct dev_oom *oom)
{
	struct model_run r = { 0 };
	struct data_facts facts = facts_of(c);
	struct optim *o = NULL;
	struct forward f;
	const struct batch *b = &small_batch[c->sequence];
	int rc = dev_open(&r.dev, "cpu", c->budget, c->threads, &r.why);

	if (rc == 0) {
		dev_fail_at(r.dev, fail);
		rc = optim_new(&o, "adamw", &r.why);
	}
	if (rc == 0)
		rc = model_new(&r.model, c->spec, &facts, c->length, c->dropout, c->freeze, 5, r.dev, &r.why);
	for (enum part part = PART_LOAD; rc == 0 && part < PARTS; part++)
		if (part != PART_UPDATE)
			rc = model_take(r.model, part, c->rows, c->length, part_name[part], &r.why);
	if (rc == 0) {
		r.params = model_params(r.model, &r.param);
		rc = optim_take(o, r.dev, r.param, r.params, "update", &r.why);
	}
	if (rc == 0) {
		model_init(r.model);
		run_pass(&r, b, 1);
		optim_step(o, r.dev, r.param, r.params, 0.1, 1);
		model_put(r.model, b, false);
		model_forward(r.model, false, false, &f);
	}
	if (r.dev)
		dev_last_oom(r.dev, oom);
	optim_free(o, r.dev);
	model_free(r.model);
	if (r.dev) {
		struct dev_memory m;

		dev_memory(r.dev, &m);
		if (m.allocated || m.reserved)
			rc = -EX_SOFTWARE; /* something was left */
	}
	dev_close(r.dev);
	return rc;
}

static void test_device_runs_out(const char *what, const struct model_case *c)
{
	struct dev_oom oom;
	int64_t n = 1;
	int rc;

	for (; (rc = whole(c, n, &oom)) == -EX_NO; n++)
		if (oom.allocated < 0 || !*oom.what)
			break;
	ok(rc == 0 && n == 7, "%s: each of its six device allocations can fail, and the run then ends cleanly", what);
}

static void test_budget(const struct model_case *of)
{
	struct model_case c = *of;
	struct dev_oom oom;
	int64_t low = 4096, high = 1 << 24;

	while (high - low > 4096) {
		c.budget = (low + high) / 2 / 4096 * 4096;
		if (whole(&c, 0, &oom) == 0)
			high = c.budget;
		else
			low = c.budget;
	}
	c.budget = high;
	is_int(whole(&c, 0, &oom), 0, "the least budget that is enough");
	c.budget = high - 1;
	is_int(whole(&c, 0, &oom), -EX_NO, "a byte less is not");
	is_int(oom.budget, high - 1, "which the oom tells");
	is_str(oom.what, "update", "with the phase that came last");
}

static int whole_gpt(void *ctx)
{
	struct dev_oom oom;

	(void)ctx;
	return whole(&small_gpt, 0, &oom);
}

static int whole_mlp(void *ctx)
{
	struct dev_oom oom;

	(void)ctx;
	return whole(&small_mlp, 0, &oom);
}

/* Sizes that fit what is held take nothing new; larger ones take a new block in place of the old. */
static void test_take_again(void)
{
	struct model_run r;
	struct dev_memory m, n;

	if (!ok(run_open(&r, &small_gpt) == 0, "a model"))
		return;
	dev_memory(r.dev, &m);
	is_int(model_take(r.model, PART_FORWARD, 2, 9, "forward", &r.why), 0, "fewer rows");
	is_int(model_take(r.model, PART_FORWARD, 3, 4, "forward", &r.why), 0, "shorter rows");
	dev_memory(r.dev, &n);
	is_int(n.allocated, m.allocated, "need nothing new");
	is_int(model_take(r.model, PART_FORWARD, 5, 9, "forward", &r.why), 0, "more rows");
	dev_memory(r.dev, &n);
	is_int(n.allocated - m.allocated, model_plan(r.model, PART_FORWARD, 5, 9) - model_plan(r.model, PART_FORWARD, 3, 9), "need the difference");
	model_release(r.model, PART_VALIDATE);
	model_release(r.model, PART_VALIDATE);
	dev_memory(r.dev, &m);
	is_int(n.allocated - m.allocated, model_plan(r.model, PART_VALIDATE, 3, 9), "validation's block goes when released");
	ok(model_plan(r.model, PART_VALIDATE, 3, 9) < model_plan(r.model, PART_FORWARD, 3, 9) / 2, "and it was the smaller one");
	run_close(&r);
}

static void refused(const char *spec, bool sequence, const char *freeze, double dropout, const char *reason)
{
	struct data_facts facts = { .sequence = sequence, .classes = 20, .features = sequence ? 0 : 9, .length = 9 };
	struct model_run r = { 0 };

	if (dev_open(&r.dev, "cpu", 0, 2, &r.why) < 0)
		return;
	is_int(model_new(&r.model, spec, &facts, 9, dropout, freeze, 1, r.dev, &r.why), -EX_USAGE, spec);
	has_str(r.why.text, reason, reason);
	ok(!r.model, "is refused");
	dev_close(r.dev);
}

static void test_refusals(void)
{
	refused("gtp:layers=2", true, "", 0, "\"gtp\"");
	refused("gpt3", true, "", 0, "\"gpt3\"");
	refused("gpt:layers=0", true, "", 0, "layers");
	refused("gpt:layers=2x", true, "", 0, "layers");
	refused("gpt:layers=2,deep=3", true, "", 0, "\"deep\"");
	refused("gpt:layers=2,width=10,heads=4", true, "", 0, "no multiple of heads=4");
	refused("gpt:layers=2,context=8", true, "", 0, "9 positions do not fit 8");
	refused("gpt:layers=2,vocab=19", true, "", 0, "19 is less than the data's 20");
	refused("gpt:layers=2", false, "", 0, "use an mlp");
	refused("mlp:hidden=3", true, "", 0, "use a gpt");
	refused("mlp:hidden=3x", false, "", 0, "hidden");
	refused("mlp:hidden=3x-1", false, "", 0, "hidden");
	refused("mlp:hidden=3,activation=swish", false, "", 0, "\"swish\"");
	refused("mlp:hidden=1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1", false, "", 0, "more than 32 layers");
	refused("mlp:hidden=3", false, "fc.9.*", 0, "\"fc.9.*\"");
	refused("mlp:hidden=3", false, "*", 0, "nothing");
	refused("mlp:hidden=3", false, "", 1, "dropout: 1");
	refused("mlp:hidden=3", false, "", -0.1, "dropout: -0.1");
}

int main(void)
{
	batch_random(&small_batch[1], small_gpt.rows, small_gpt.length, true, small_gpt.classes);
	batch_random(&small_batch[0], small_mlp.rows, small_mlp.length, false, small_mlp.classes);
	test_plans();
	test_known();
	test_take_again();
	test_refusals();
	test_device_runs_out("gpt", &small_gpt);
	test_device_runs_out("mlp", &small_mlp);
	test_budget(&small_gpt);
	alloc_each("a gpt", whole_gpt, NULL);
	alloc_each("an mlp", whole_mlp, NULL);
	batch_drop(&small_batch[0]);
	batch_drop(&small_batch[1]);
	return done_testing();
}
