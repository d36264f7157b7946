/* optim.c - what PyTorch is no judge of: refusals, clipping, stopping and going on, frozen parameters. */
#include "../../lib/dev/ops.h"
#include "../../lib/train/train.h"
#include "alloc.h"

enum { N = 3, MOST = 40000 };
static const char *const kinds[] = { "sgd", "momentum", "nesterov", "adam", "adamw", "nadam" };
static struct why why;

/* Three parameters of which the second is frozen; the third is large enough for threads. */
struct params {
	struct param p[N];
	float w[N][MOST], g[N][MOST];
};

static void fill(struct params *s, int step)
{
	static const int64_t count[N] = { 70, 10, MOST };

	for (int i = 0; i < N; i++) {
		s->p[i] = (struct param){ .dims = i == 2 ? 2 : 1, .count = count[i], .w = s->w[i], .g = i == 1 ? NULL : s->g[i], .trainable = i != 1, .decay = i == 2 };
		for (int64_t k = 0; k < count[i]; k++) {
			if (step == 0)
				s->w[i][k] = (float)rand_normal(1, RAND_TEST, (uint64_t)k, (uint64_t)i);
			s->g[i][k] = (float)rand_normal(2, RAND_TEST, (uint64_t)k, (uint64_t)(100 * step + i));
		}
	}
}

static struct optim *fresh(const char *spec, struct dev *d, const struct params *s)
{
	struct optim *o;

	if (optim_new(&o, spec, &why) < 0 || optim_take(o, d, s->p, N, "update", &why) < 0) {
		diag("%s", why.text);
		exit(1);
	}
	return o;
}

static void steps(struct optim *o, struct dev *d, struct params *s, int from, int to)
{
	for (int step = from; step < to; step++) {
		fill(s, step);
		optim_step(o, d, s->p, N, 0.01 / (1 + step), 0.5);
	}
}

/* Six updates beside three, everything carried over by hand to a new optimizer, and three. */
static void test_going_on(const char *spec, struct dev *d)
{
	static struct params a, b;
	struct optim *o = fresh((fill(&a, 0), spec), d, &a), *p;
	struct buf scalars = { 0 };

	steps(o, d, &a, 0, 6);
	p = fresh((fill(&b, 0), spec), d, &b);
	steps(p, d, &b, 0, 3);
	optim_free(o, d);
	o = fresh(spec, d, &b);
	for (int i = 0; i < N; i++)
		for (int slot = 0; slot < optim_slots(o); slot++)
			if (optim_state(o, i, slot))
				memcpy(optim_state(o, i, slot), optim_state(p, i, slot), (size_t)b.p[i].count * sizeof(float));
	if (optim_scalars(p, &scalars) < 0 || buf_add(&scalars, "", 1) < 0)
		exit(1);
	is_int(optim_restore(o, optim_count(p), (char *)scalars.p, &why), 0, spec);
	is_int(optim_count(o), 3, "goes on after three updates");
	steps(o, d, &b, 3, 6);
	ok(!memcmp(a.w, b.w, sizeof a.w), "with the same bits as one that never stopped");
	buf_free(&scalars);
	optim_free(o, d);
	optim_free(p, d);
}

static void test_frozen(const char *spec, struct dev *d)
{
	static struct params s, before;
	struct optim *o;

	fill(&s, 0);
	before = s;
	o = fresh(spec, d, &s);
	steps(o, d, &s, 1, 4);
	ok(!memcmp(s.w[1], before.w[1], sizeof s.w[1]), "%s: a frozen parameter keeps its bits", spec);
	ok(memcmp(s.w[0], before.w[0], 70 * sizeof(float)) && memcmp(s.w[2], before.w[2], sizeof s.w[2]), "%s: the others move", spec);
	for (int slot = 0; slot < optim_slots(o); slot++)
		ok(!optim_state(o, 1, slot), "%s: no state for it", spec);
	optim_free(o, d);
}

/* gscale is the gradient scaled beforehand; threads do not matter. */
static void test_scale_and_threads(const char *spec)
{
	static struct params a, b;
	struct optim *o, *p;
	struct dev *d;

	if (dev_open(&d, "cpu", 0, 1, &why) < 0)
		exit(1);
	fill(&a, 0);
	b = a;
	o = fresh(spec, d, &a);
	optim_step(o, d, a.p, N, 0.1, 0.25);
	optim_free(o, d);
	dev_close(d);
	if (dev_open(&d, "cpu", 0, 3, &why) < 0)
		exit(1);
	for (int i = 0; i < N; i++) {
		b.p[i].w = b.w[i];
		b.p[i].g = i == 1 ? NULL : b.g[i];
		for (int64_t k = 0; k < b.p[i].count; k++)
			b.g[i][k] *= 0.25f;
	}
	p = fresh(spec, d, &b);
	optim_step(p, d, b.p, N, 0.1, 1);
	ok(!memcmp(a.w, b.w, sizeof a.w), "%s: gscale is a scaled gradient, whatever the threads", spec);
	optim_free(p, d);
	dev_close(d);
}

static void test_norm(struct dev *d)
{
	static struct params s;
	double sum = 0;

	fill(&s, 0);
	for (int i = 0; i < N; i += 2)
		for (int64_t k = 0; k < s.p[i].count; k++)
			sum += (double)s.g[i][k] * s.g[i][k];
	is_near(optim_gradient_norm(d, s.p, N) / sqrt(sum), 1, 1e-12, "the norm of the gradient, frozen parameters aside");
	s.g[2][MOST - 1] = NAN;
	ok(isnan(optim_gradient_norm(d, s.p, N)), "a NaN anywhere is in it");
}

static void test_memory(struct dev *d)
{
	static struct params s;
	struct dev_memory m;
	struct optim *o;

	fill(&s, 0);
	o = fresh("adam", d, &s);
	dev_memory(d, &m);
	is_int(m.allocated, 2 * (320 + MOST * 4), "two states of 70 and 40000 numbers, to the byte");
	is_int(optim_plan(o, s.p, N), m.allocated, "as planned");
	ok(optim_taken(o), "taken");
	is_int(optim_take(o, d, s.p, N, "update", &why), 0, "once");
	optim_free(o, d);
	dev_memory(d, &m);
	is_int(m.allocated, 0, "and given back");
	dev_fail_at(d, 1);
	if (optim_new(&o, "adam", &why) < 0)
		exit(1);
	is_int(optim_take(o, d, s.p, N, "update", &why), -EX_NO, "no room for it");
	ok(!optim_taken(o), "is not taken");
	has_str(why.text, "update", "the reason names the phase");
	is_int(optim_take(o, d, s.p, N, "update", &why), 0, "and can be tried again");
	optim_free(o, d);
}

static void refused(const char *spec, const char *reason)
{
	struct optim *o;

	is_int(optim_new(&o, spec, &why), -EX_USAGE, spec);
	has_str(why.text, reason, reason);
}

static void refused_schedule(const char *spec, const char *reason)
{
	struct schedule s;

	is_int(schedule_parse(&s, spec, 10, &why), -EX_USAGE, spec);
	has_str(why.text, reason, reason);
}

static void refused_scalars(const char *spec, int64_t count, const char *scalars)
{
	struct optim *o;

	if (optim_new(&o, spec, &why) < 0)
		exit(1);
	is_int(optim_restore(o, count, scalars, &why), -EX_DATAERR, scalars);
	is_int(optim_count(o), 0, "is refused, and nothing changed");
	optim_free(o, NULL);
}

static void test_refusals(void)
{
	refused("adagrad", "\"adagrad\"");
	refused("sgd:momentum=0.9", "\"momentum\"");
	refused("adam:lr=-1", "lr");
	refused("adam:lr=1e-3x", "lr");
	refused("adam:lr=nan", "lr");
	refused("adamw:beta1=1", "beta1");
	refused("adamw:beta2=1.5", "beta2");
	refused("adamw:weight_decay=-0.1", "weight_decay");
	refused("adamw:decay=some", "\"some\"");
	refused("momentum:beta1=0.5", "\"beta1\"");
	refused("adam:momentum_decay=0.5", "\"momentum_decay\"");
	refused_schedule("step", "\"step\"");
	refused_schedule("linear:warmup=-1", "warmup");
	refused_schedule("cosine:floor=2", "floor");
	refused_schedule("cosine:gamma=2", "\"gamma\"");
	refused_scalars("nadam", 3, "");
	refused_scalars("nadam", 3, "mu_product=x");
	refused_scalars("nadam", 3, "mu_product=2");
	refused_scalars("adam", 3, "mu_product=0.5");
	refused_scalars("adam", -1, "");
}

static int make(void *ctx)
{
	static struct params s;
	struct optim *o;
	struct schedule schedule;
	struct buf scalars = { 0 };
	int rc = optim_new(&o, "nadam:lr=0.1,beta1=0.8", &why);

	fill(&s, 0);
	if (rc == 0)
		rc = optim_take(o, ctx, s.p, N, "update", &why);
	if (rc == 0)
		rc = optim_scalars(o, &scalars);
	if (rc == 0)
		rc = schedule_parse(&schedule, "cosine:warmup=5", 10, &why);
	buf_free(&scalars);
	optim_free(o, ctx);
	return rc;
}

int main(void)
{
	struct dev *d;

	if (dev_open(&d, "cpu", 0, 2, &why) < 0)
		return 1;
	for (int i = 0; i < 6; i++) {
		test_going_on(kinds[i], d);
		test_frozen(kinds[i], d);
		test_scale_and_threads(kinds[i]);
	}
	test_frozen("adamw:weight_decay=0.5,decay=all", d);
	test_norm(d);
	test_memory(d);
	test_refusals();
	alloc_each("an optimizer", make, d);
	dev_close(d);
	return done_testing();
}
