/* model_numeric.c - gradients against differences of the loss, dropout, and what must not change a
 * result: how a batch is cut, threads, padding, order, a validation in between. */
#include "../../lib/dev/ops.h"
#include "model_case.h"

static const struct model_case gpt = { "gpt:layers=2,width=24,heads=3,context=80", true, 4, 70, 17, 0, "", 2, 0 };
static const struct model_case mlp = { "mlp:hidden=40x70,activation=gelu", false, 12, 30, 5, 0, "", 2, 0 };

static double norm_of(const float *x, int64_t n)
{
	double s = 0;

	for (int64_t i = 0; i < n; i++)
		s += (double)x[i] * x[i];
	return sqrt(s);
}

/* |x - y| / |y| */
static double apart(const float *x, const float *y, int64_t n)
{
	double s = 0;

	for (int64_t i = 0; i < n; i++)
		s += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
	return sqrt(s) / norm_of(y, n);
}

static bool same_bits(const float *x, const float *y, int64_t n)
{
	return memcmp(x, y, (size_t)n * sizeof *x) == 0;
}

static double loss_of(struct model_run *r, const struct batch *b, bool train)
{
	struct forward f;

	model_put(r->model, b, train);
	model_forward(r->model, train, false, &f);
	return f.loss_sum;
}

/* ---- numeric gradients ---- */

/* The slope of the loss along a direction is the gradient's product with it. Two directions a tensor:
 * the gradient's own, where the slope is its norm, and a random one. */
static double slope_error(struct model_run *r, const struct param *p, const float *g, bool random)
{
	double size = random ? sqrt((double)p->count) : norm_of(g, p->count), step = 2e-2, want = 0, up, down;
	float *kept = malloc((size_t)p->count * sizeof *kept), *v = malloc((size_t)p->count * sizeof *v);

	memcpy(kept, p->w, (size_t)p->count * sizeof *kept);
	for (int64_t i = 0; i < p->count; i++) {
		v[i] = (float)((random ? (rand_bits(3, RAND_TEST, (uint64_t)i, 0) & 1 ? 1 : -1) : g[i]) / size);
		want += (double)v[i] * g[i];
	}
	for (int64_t i = 0; i < p->count; i++)
		p->w[i] = kept[i] + (float)step * v[i];
	up = loss_of(r, &r->batch, true);
	for (int64_t i = 0; i < p->count; i++)
		p->w[i] = kept[i] - (float)step * v[i];
	down = loss_of(r, &r->batch, true);
	memcpy(p->w, kept, (size_t)p->count * sizeof *kept);
	free(kept);
	free(v);
	return fabs((up - down) / (2 * step) - want) / norm_of(g, p->count);
}

static void test_slopes(const char *what, struct model_case c, double dropout)
{
	double worst = 0, error;
	struct model_run r;

	c.dropout = dropout;
	if (!ok(run_open(&r, &c) == 0, "%s with dropout %g", what, dropout))
		return;
	run_pass(&r, &r.batch, 1);
	for (int i = 0; i < r.params; i++) {
		float *g = malloc((size_t)r.param[i].count * sizeof *g);

		memcpy(g, r.param[i].g, (size_t)r.param[i].count * sizeof *g);
		for (int random = 0; random < 2; random++) {
			error = slope_error(&r, &r.param[i], g, random);
			if (!(error <= worst))
				worst = error;
			if (!(error < 1e-2))
				diag("%s: off by %g of its norm", r.param[i].name, error);
		}
		free(g);
	}
	ok(worst < 1e-2, "slopes of every tensor agree with its gradient (worst %.1e of the norm)", worst);
	run_close(&r);
}

/* ---- dropout ---- */

/* Philox by the book: numbers in groups of 64, word by word of sixteen counters. */
static bool kept_by_the_book(const struct drop *d, uint64_t key, int64_t position, int64_t cols, int64_t col)
{
	uint64_t group = (uint64_t)(position * ((cols + 63) / 64) + col / 64), at = group * 16 + (uint64_t)(col % 16);
	uint32_t k[2] = { (uint32_t)d->seed, (uint32_t)(d->seed >> 32) }, out[4];
	uint32_t counter[4] = { (uint32_t)at, d->site | (uint32_t)RAND_DROPOUT << 24, (uint32_t)key, (uint32_t)(key >> 32) };

	philox(k, counter, out);
	return out[col % 64 / 16] >= (uint32_t)(d->p * 4294967296.0);
}

static void test_masks(void)
{
	enum { ROWS = 6, LENGTH = 11, COLS = 100, N = ROWS * LENGTH * COLS };
	uint64_t key[ROWS] = { 3, 4, 5, 6, 7, UINT64_C(0x123456789ab) };
	struct drop d = { .p = 0.3, .seed = UINT64_C(0xfeedf00d12345678), .site = 9, .key = key, .length = LENGTH }, other = d;
	float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y), *z = malloc(N * sizeof *z);
	int zeros = 0, scaled = 0, book = 0;
	struct dev *dev;

	if (dev_open(&dev, "cpu", 0, 2, NULL) < 0)
		return;
	for (int i = 0; i < N; i++)
		x[i] = 1;
	dev_ops(dev)->dropout(dev, y, x, ROWS * LENGTH, COLS, &d);
	for (int i = 0; i < N; i++) {
		int row = i / COLS;

		zeros += y[i] == 0;
		scaled += y[i] == (float)(1 / 0.7);
		book += (y[i] != 0) == kept_by_the_book(&d, key[row / LENGTH], row % LENGTH, COLS, i % COLS);
	}
	ok(fabs(zeros - 0.3 * N) < 4 * sqrt(0.21 * N), "dropped: %d of %d at 0.3", zeros, N);
	is_int(zeros + scaled, N, "the others are 1/(1-p) times themselves");
	is_int(book, N, "all as Philox by the book says");
	other.key = key + 3;
	dev_ops(dev)->dropout(dev, z, x, 3 * LENGTH, COLS, &other);
	ok(same_bits(z, y + 3 * LENGTH * COLS, 3 * LENGTH * COLS), "the last three rows alone have the same mask");
	other = d;
	other.length = LENGTH - 4;
	dev_ops(dev)->dropout(dev, z, x, LENGTH - 4, COLS, &other);
	ok(same_bits(z, y, (LENGTH - 4) * COLS), "so has a shorter row");
	other = d;
	other.site = 10;
	dev_ops(dev)->dropout(dev, z, x, ROWS * LENGTH, COLS, &other);
	ok(!same_bits(z, y, N), "another site has another");
	other = d;
	other.seed++;
	dev_ops(dev)->dropout(dev, z, x, ROWS * LENGTH, COLS, &other);
	ok(!same_bits(z, y, N), "and another seed");
	ok(!same_bits(y, y + LENGTH * COLS, LENGTH * COLS), "and another row");
	free(x);
	free(y);
	free(z);
	dev_close(dev);
}

/* Rows of one batch, in one pass and in passes of 1, 2 and the rest. */
static void test_cut(const char *what, struct model_case c)
{
	struct model_run r;
	float *whole, *parts;
	double loss, sum = 0;
	struct batch b;
	int64_t n;

	c.dropout = 0.25;
	if (!ok(run_open(&r, &c) == 0, "%s", what))
		return;
	n = model_numbers(r.model, true);
	loss = run_pass(&r, &r.batch, 0.5);
	whole = run_gradients(&r);
	model_zero_gradients(r.model);
	b = batch_cut(&r.batch, 0, 1);
	sum += run_pass(&r, &b, 0.5);
	b = batch_cut(&r.batch, 1, 2);
	sum += run_pass(&r, &b, 0.5);
	b = batch_cut(&r.batch, 3, c.rows - 3);
	sum += run_pass(&r, &b, 0.5);
	parts = run_gradients(&r);
	is_near(sum / loss, 1, 1e-6, "unequal micro-batches: the same dropout, the same loss");
	ok(apart(parts, whole, n) < 1e-5, "and the same gradient (%.1e)", apart(parts, whole, n));
	is_near(loss_of(&r, &r.batch, true), loss, 0, "again: the same bits");
	r.batch.key[0] += 77;
	ok(fabs(loss_of(&r, &r.batch, true) - loss) > 1e-4 * loss, "another position in the run: another loss");
	free(whole);
	free(parts);
	run_close(&r);
}

/* ---- what must not change anything ---- */

/* Loss and gradient of one pass with so many threads. */
/* OpenBLAS's kernels for AVX2 without AVX-512 sum a larger product in another order where it is cut elsewhere: then the
 * bits are the same for one number of threads, and close for others. */
static bool cuts_show(const struct dev *d)
{
	return strstr(dev_blas(d), "Zen") || strstr(dev_blas(d), "Haswell");
}

static float *with_threads(struct model_case c, int threads, double *loss, int64_t *n, bool *cuts)
{
	struct model_run r;
	float *g;

	c.threads = threads;
	c.dropout = 0.1;
	if (run_open(&r, &c) < 0)
		exit(1);
	*loss = run_pass(&r, &r.batch, 1);
	*n = model_numbers(r.model, true);
	*cuts = cuts_show(r.dev);
	g = run_gradients(&r);
	run_close(&r);
	return g;
}

static void test_threads(const char *what, const struct model_case *c)
{
	double loss, other;
	bool cuts;
	int64_t n;
	float *one = with_threads(*c, 1, &loss, &n, &cuts);

	for (int threads = 2; threads <= 4; threads++) {
		float *more = with_threads(*c, threads, &other, &n, &cuts);

		if (cuts && !same_bits(one, more, n))
			ok(fabs(loss - other) < 1e-6 * fabs(loss) && apart(more, one, n) < 2e-6, "%s: 1 and %d threads are close, by these kernels (%.1e apart)", what, threads, apart(more, one, n));
		else
			ok(loss == other && same_bits(one, more, n), "%s: 1 and %d threads give the same bits (%.1e apart)", what, threads, apart(more, one, n));
		free(more);
	}
	free(one);
}

/* A validation between forward and backward, of another batch, leaves the training pass alone. */
static void test_validation(const char *what, const struct model_case *c)
{
	struct model_run r;
	struct forward f;
	struct batch b;
	float *plain, *between, *w;
	int64_t n;

	if (!ok(run_open(&r, c) == 0, "%s", what))
		return;
	n = model_numbers(r.model, true);
	run_pass(&r, &r.batch, 1);
	ok(model_training(r.model), "training mode");
	plain = run_gradients(&r);
	model_zero_gradients(r.model);
	w = malloc((size_t)r.param[0].count * sizeof *w);
	memcpy(w, r.param[0].w, (size_t)r.param[0].count * sizeof *w);
	model_put(r.model, &r.batch, true);
	model_forward(r.model, true, false, &f);
	b = batch_cut(&r.batch, 1, 2);
	model_put(r.model, &b, false);
	model_forward(r.model, false, false, &f);
	ok(!model_training(r.model), "evaluation mode");
	model_backward(r.model, 1);
	between = run_gradients(&r);
	ok(same_bits(plain, between, n), "a validation between forward and backward changes no gradient");
	ok(same_bits(w, r.param[0].w, r.param[0].count), "and no weight");
	free(plain);
	free(between);
	free(w);
	run_close(&r);
}

/* The same rows behind more padding. */
static void test_padding(void)
{
	struct model_case narrow = gpt, wide = gpt;
	struct model_run a, b;
	double la, lb;
	float *ga, *gb;
	int64_t n;

	narrow.length = 50;
	if (!ok(run_open(&a, &narrow) == 0 && run_open(&b, &wide) == 0, "a batch of 50 positions and one padded to 70"))
		return;
	for (int64_t i = 0; i < wide.rows * wide.length; i++) {
		int64_t r = i / wide.length, t = i % wide.length;

		b.batch.ids[i] = t < 50 ? a.batch.ids[r * 50 + t] : 0;
		b.batch.targets[i] = t < 50 ? a.batch.targets[r * 50 + t] : -1;
	}
	la = run_pass(&a, &a.batch, 1);
	lb = run_pass(&b, &b.batch, 1);
	n = model_numbers(a.model, true);
	ga = run_gradients(&a);
	gb = run_gradients(&b);
	is_near(lb / la, 1, 1e-6, "have the same loss");
	ok(apart(gb, ga, n) < 1e-5, "and the same gradient (%.1e)", apart(gb, ga, n));
	free(ga);
	free(gb);
	run_close(&a);
	run_close(&b);
}

/* Ids at 40 and behind are changed: logits before 40 must not be, at 40 they must. */
static void test_future(void)
{
	int64_t t = 40, v = gpt.classes, row = gpt.length * v;
	struct model_run r;
	float *kept;

	if (!ok(run_open(&r, &gpt) == 0, "a gpt"))
		return;
	loss_of(&r, &r.batch, false);
	kept = malloc((size_t)(gpt.rows * row) * sizeof *kept);
	memcpy(kept, model_logits(r.model), (size_t)(gpt.rows * row) * sizeof *kept);
	for (int64_t i = t; i < gpt.length; i++)
		r.batch.ids[i] = (r.batch.ids[i] + 1) % (int32_t)v;
	loss_of(&r, &r.batch, false);
	ok(same_bits(kept, model_logits(r.model), t * v), "does not see the future");
	ok(!same_bits(kept + t * v, model_logits(r.model) + t * v, v), "but the present");
	ok(same_bits(kept + row, model_logits(r.model) + row, row), "nor other rows");
	free(kept);
	run_close(&r);
}

/* ---- numbers that are none ---- */

static void test_nonfinite(const char *what, const struct model_case *c, const char *tensor, float value)
{
	struct model_run r;
	struct forward f;

	if (run_open(&r, c) < 0)
		exit(1);
	for (int i = 0; i < r.params; i++)
		if (!strcmp(r.param[i].name, tensor))
			r.param[i].w[0] = value;
	model_put(r.model, &r.batch, false);
	model_forward(r.model, false, true, &f);
	ok(!isfinite(f.loss_sum), "%s: %g in %s shows in the loss of validation (%g)", what, value, tensor, f.loss_sum);
	ok(f.correct < f.supervised, "and not all answers are right");
	ok(!isfinite(loss_of(&r, &r.batch, true)), "and in that of training");
	run_close(&r);
}

/* ---- initial weights ---- */

static double deviation(const struct param *p)
{
	return norm_of(p->w, p->count) / sqrt((double)p->count);
}

static void test_init_gpt(void)
{
	struct data_facts facts = { .sequence = true, .classes = 256, .length = 64 };
	struct model *m, *again;
	struct dev *d;
	struct param *p, *q;
	bool normal = true, residual = true, plain = true, same = true, other = false;

	if (dev_open(&d, "cpu", 0, 2, NULL) < 0 || model_new(&m, "gpt:layers=8,width=64,heads=2", &facts, 64, 0, "", 1, d, NULL) < 0 ||
	    model_new(&again, "gpt:layers=8,width=64,heads=2", &facts, 64, 0, "", 1, d, NULL) < 0 ||
	    model_take(m, PART_LOAD, 1, 1, "load", NULL) < 0 || model_take(again, PART_LOAD, 1, 1, "load", NULL) < 0)
		exit(1);
	model_init(m);
	model_init(again);
	model_params(again, &q);
	for (int i = 0, n = model_params(m, &p); i < n; i++) {
		bool added = strstr(p[i].name, "c_proj.weight"), gain = strstr(p[i].name, "ln_") && strstr(p[i].name, "weight");

		if (p[i].dims == 2 && !added)
			normal = normal && fabs(deviation(&p[i]) / 0.02 - 1) < 0.05;
		if (added)
			residual = residual && fabs(deviation(&p[i]) / (0.02 / 4) - 1) < 0.05;
		for (int64_t k = 0; p[i].dims == 1 && k < p[i].count; k++)
			plain = plain && p[i].w[k] == (gain ? 1 : 0);
		same = same && same_bits(p[i].w, q[i].w, p[i].count);
		if (i && p[i].dims == 2 && p[i].count == p[0].count)
			other = other || same_bits(p[i].w, p[0].w, p[i].count);
	}
	ok(normal, "gpt: matrices N(0, 0.02)");
	ok(residual, "gpt: residual projections N(0, 0.02 / sqrt(2 x 8))");
	ok(plain, "gpt: biases 0, norms 1");
	ok(same && !other, "gpt: the same for the same seed, another for each tensor");
	model_free(m);
	model_free(again);
	dev_close(d);
}

static void test_init_mlp(void)
{
	struct data_facts facts = { .classes = 10, .features = 100 };
	struct model *m, *other;
	struct dev *d;
	struct param *p, *q;
	float high = 0;

	if (dev_open(&d, "cpu", 0, 2, NULL) < 0 || model_new(&m, "mlp:hidden=50", &facts, 0, 0, "", 1, d, NULL) < 0 ||
	    model_new(&other, "mlp:hidden=50", &facts, 0, 0, "", 2, d, NULL) < 0 ||
	    model_take(m, PART_LOAD, 1, 1, "load", NULL) < 0 || model_take(other, PART_LOAD, 1, 1, "load", NULL) < 0)
		exit(1);
	model_init(m);
	model_init(other);
	model_params(m, &p);
	model_params(other, &q);
	for (int64_t k = 0; k < p[0].count; k++)
		high = fabsf(p[0].w[k]) > high ? fabsf(p[0].w[k]) : high;
	ok(high <= 0.1f && high > 0.0999f && fabs(deviation(&p[0]) - 0.1 / sqrt(3)) < 1e-3, "mlp: uniform within 1/sqrt(in)");
	is_str(p[3].name, "fc.1.bias", "mlp: names");
	ok(deviation(&p[3]) > 0.04 && deviation(&p[3]) < 0.1416, "mlp: biases too");
	ok(!same_bits(p[0].w, q[0].w, p[0].count), "mlp: another seed, other weights");
	model_free(m);
	model_free(other);
	dev_close(d);
}

int main(void)
{
	struct model_case relu = mlp, tanh_ = mlp, big = { "gpt:layers=1,width=96,heads=2", true, 5, 130, 211, 0, "", 2, 0 };

	relu.spec = "mlp:hidden=40x70";
	tanh_.spec = "mlp:hidden=40x70,activation=tanh";
	test_slopes("gpt", gpt, 0);
	test_slopes("gpt", gpt, 0.2);
	test_slopes("mlp, gelu", mlp, 0.2);
	test_slopes("mlp, tanh", tanh_, 0.2);
	test_slopes("mlp, relu", relu, 0);
	test_masks();
	test_cut("gpt", gpt);
	test_cut("mlp", relu);
	test_threads("gpt", &gpt);
	test_threads("a larger gpt", &big);
	test_threads("mlp", &relu);
	test_validation("gpt", &gpt);
	test_validation("mlp", &mlp);
	test_padding();
	test_future();
	test_nonfinite("gpt", &gpt, "h.0.mlp.c_fc.weight", NAN);
	test_nonfinite("gpt", &gpt, "h.1.attn.c_attn.bias", INFINITY);
	test_nonfinite("gpt", &gpt, "h.0.ln_1.weight", -INFINITY);
	test_nonfinite("gpt", &gpt, "wpe.weight", NAN);
	test_nonfinite("mlp, relu", &relu, "fc.0.weight", NAN);
	test_nonfinite("mlp, gelu", &mlp, "fc.1.bias", NAN);
	test_nonfinite("mlp, tanh", &tanh_, "fc.2.bias", INFINITY);
	test_init_gpt();
	test_init_mlp();
	return done_testing();
}
