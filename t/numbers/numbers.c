/* numbers.c - test-only: runs a model, an optimizer or a schedule on numbers from a
 * safetensors file, and writes what comes out, for another program to compare.
 *
 *	numbers model IN OUT SPEC [KEY=VALUE...]   dropout seed freeze threads rows=2,1,... classes
 *	numbers optimizer IN OUT SPEC STEPS
 *	numbers schedule SPEC BASE HORIZON COUNT
 *	numbers speed SPEC ROWS LENGTH CLASSES UPDATES THREADS   adamw; CLASSES -K: LENGTH features and K classes
 *
 * model: IN holds the weights by name and batch.ids or batch.x, batch.targets (I32, F32); OUT gets grad.NAME,
 * logits, and in the metadata loss and the facts of validation. rows: the micro-batches that the batch is cut into.
 * optimizer: IN holds NAME and grad.NAME (STEPS, ...); OUT gets NAME (STEPS, ...), the weights after each step. */
#include "../../lib/dev/ops.h"
#include "../../lib/train/train.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct why why;

static void need(int rc)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "numbers: %s\n", why.text);
	exit(-rc);
}

static void *room(int64_t bytes)
{
	void *p = calloc(1, (size_t)bytes + 1);

	if (!p)
		exit(EX_OSERR);
	return p;
}

/* ---- options ---- */

struct setting {
	double dropout;
	int64_t seed, threads, classes;
	const char *freeze, *rows;
};

static struct setting read_settings(char **arg)
{
	struct setting s = { .freeze = "", .rows = "" };

	for (; *arg; arg++) {
		char *eq = strchr(*arg, '=');

		if (!eq)
			exit(EX_USAGE);
		*eq++ = '\0';
		if (!strcmp(*arg, "dropout"))
			s.dropout = atof(eq);
		else if (!strcmp(*arg, "seed"))
			s.seed = atoll(eq);
		else if (!strcmp(*arg, "threads"))
			s.threads = atoll(eq);
		else if (!strcmp(*arg, "classes"))
			s.classes = atoll(eq);
		else if (!strcmp(*arg, "freeze"))
			s.freeze = eq;
		else if (!strcmp(*arg, "rows"))
			s.rows = eq;
		else
			exit(EX_USAGE);
	}
	return s;
}

/* ---- model ---- */

static void *read_whole(struct st *f, const char *name, const struct st_tensor **t)
{
	void *p;

	*t = st_find(f, name);
	if (!*t)
		return NULL;
	p = room((*t)->end - (*t)->begin);
	need(st_read(f, *t, p, &why));
	return p;
}

static void read_batch(struct st *f, struct batch *b, struct data_facts *facts)
{
	const struct st_tensor *t, *u;

	*b = (struct batch){ 0 };
	b->ids = read_whole(f, "batch.ids", &t);
	facts->sequence = b->ids != NULL;
	if (!b->ids)
		b->x = read_whole(f, "batch.x", &t);
	b->targets = read_whole(f, "batch.targets", &u);
	if (!t || !u)
		exit(EX_DATAERR);
	b->rows = t->shape[0];
	b->length = facts->length = t->shape[1];
	facts->features = facts->sequence ? 0 : t->shape[1];
	b->key = room(b->rows * (int64_t)sizeof *b->key);
	for (int64_t r = 0; r < b->rows; r++)
		b->key[r] = (uint64_t)r;
}

/* Rows first..first+n-1 of a batch, in place. */
static struct batch cut(const struct batch *b, int64_t first, int64_t n)
{
	struct batch c = *b;
	bool sequence = b->ids != NULL;

	c.rows = n;
	if (sequence)
		c.ids += first * b->length;
	else
		c.x += first * b->length;
	c.targets += first * (sequence ? b->length : 1);
	c.key += first;
	return c;
}

static void load(struct st *f, struct model *m, struct dev *d)
{
	struct param *p;
	int n = model_params(m, &p);

	for (int i = 0; i < n; i++) {
		const struct st_tensor *t;
		float *w = read_whole(f, p[i].name, &t);

		if (!w || t->end - t->begin != p[i].count * (int64_t)sizeof *w) {
			fprintf(stderr, "numbers: %s: not there, or of another size\n", p[i].name);
			exit(EX_DATAERR);
		}
		dev_write(d, p[i].w, w, p[i].count * (int64_t)sizeof *w);
		free(w);
	}
}

/* All micro-batches of one update: "2,1,3", or the whole batch at once. */
static double train(struct model *m, const struct batch *b, const char *rows)
{
	int64_t first = 0, supervised = 0, positions = b->rows * (b->ids ? b->length : 1);
	struct forward f;
	double loss = 0;

	for (int64_t i = 0; i < positions; i++)
		supervised += b->targets[i] >= 0;
	model_zero_gradients(m);
	while (first < b->rows) {
		char *end = NULL;
		int64_t n = *rows ? strtoll(rows, &end, 10) : b->rows;
		struct batch part = cut(b, first, n);

		rows = end && *end ? end + 1 : rows;
		model_put(m, &part, true);
		model_forward(m, true, false, &f);
		model_backward(m, 1.0 / (double)supervised);
		loss += f.loss_sum;
		first += n;
	}
	return loss / (double)supervised;
}

static void meta(struct st_out *o, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof text, "%.17g", value);
	need(st_out_meta(o, key, text));
}

static void write_out(const char *path, struct model *m, const struct batch *b, double loss, const struct forward *f)
{
	struct param *p;
	int n = model_params(m, &p);
	int64_t shape[2] = { b->rows * (b->ids ? b->length : 1), f->output_shape[f->output_dims - 1] };
	struct st_out *o;
	char name[80];

	need(st_out_new(&o, path, &why));
	meta(o, "loss", loss);
	meta(o, "validation_loss", f->loss_sum / (double)f->supervised);
	meta(o, "correct", (double)f->correct);
	meta(o, "supervised", (double)f->supervised);
	meta(o, "logits_variance", f->logits_variance);
	for (int i = 0; i < n; i++)
		if (p[i].g) {
			snprintf(name, sizeof name, "grad.%s", p[i].name);
			need(st_out_declare(o, name, "F32", p[i].dims, p[i].shape));
		}
	need(st_out_declare(o, "logits", "F32", 2, shape));
	for (int i = 0; i < n; i++)
		if (p[i].g)
			need(st_out_put(o, p[i].g, &why));
	need(st_out_put(o, model_logits(m), &why));
	need(st_out_commit(o, NULL, NULL, &why));
}

static int run_model(char **arg)
{
	struct setting s = read_settings(arg + 3);
	struct data_facts facts = { .classes = s.classes };
	struct forward f;
	struct batch b;
	struct model *m;
	struct dev *d;
	struct st *in;
	double loss;

	need(st_open(&in, arg[0], &why));
	read_batch(in, &b, &facts);
	need(dev_open(&d, "cpu", 0, (int)s.threads, &why));
	need(model_new(&m, arg[2], &facts, facts.sequence ? b.length : facts.features, s.dropout, s.freeze, (uint64_t)s.seed, d, &why));
	for (enum part part = PART_LOAD; part < PARTS; part++)
		if (part != PART_UPDATE)
			need(model_take(m, part, b.rows, b.length, "test", &why));
	load(in, m, d);
	st_close(in);
	loss = train(m, &b, s.rows);
	model_put(m, &b, false);
	model_forward(m, false, true, &f);
	write_out(arg[1], m, &b, loss, &f);
	model_free(m);
	dev_close(d);
	free(b.ids);
	free(b.x);
	free(b.targets);
	free(b.key);
	return 0;
}

/* ---- optimizer ---- */

enum { MOST = 16 };

/* Parameters as IN names them; w is followed by room for the weights after each step. */
static int read_params(struct st *in, struct param *p, float *g[MOST], float *kept[MOST], int64_t steps)
{
	int n = 0;

	for (int i = 0; i < st_count(in) && n < MOST; i++) {
		const struct st_tensor *t = st_tensor(in, i), *unused;
		char name[80];

		if (!strncmp(t->name, "grad.", 5))
			continue;
		p[n] = (struct param){ .dims = t->dims, .count = (t->end - t->begin) / 4, .trainable = true, .decay = t->dims > 1 };
		snprintf(p[n].name, sizeof p[n].name, "%s", t->name);
		memcpy(p[n].shape, t->shape, sizeof p[n].shape);
		p[n].w = read_whole(in, t->name, &unused);
		snprintf(name, sizeof name, "grad.%s", t->name);
		g[n] = read_whole(in, name, &unused);
		kept[n] = room(steps * p[n].count * (int64_t)sizeof(float));
		n++;
	}
	return n;
}

static void write_params(const char *path, const struct param *p, int n, float *kept[MOST], int64_t steps, const char *scalars)
{
	struct st_out *o;

	need(st_out_new(&o, path, &why));
	need(st_out_meta(o, "scalars", scalars));
	for (int i = 0; i < n; i++) {
		int64_t shape[2] = { steps, p[i].count };

		need(st_out_declare(o, p[i].name, "F32", 2, shape));
	}
	for (int i = 0; i < n; i++)
		need(st_out_put(o, kept[i], &why));
	need(st_out_commit(o, NULL, NULL, &why));
}

static int run_optimizer(char **arg)
{
	int64_t steps = atoll(arg[3]);
	float *g[MOST], *kept[MOST];
	struct param p[MOST];
	struct buf scalars = { 0 };
	struct optim *o;
	struct dev *d;
	struct st *in;
	int n;

	need(st_open(&in, arg[0], &why));
	n = read_params(in, p, g, kept, steps);
	st_close(in);
	need(dev_open(&d, "cpu", 0, 0, &why));
	need(optim_new(&o, arg[2], &why));
	need(optim_take(o, d, p, n, "update", &why));
	for (int64_t step = 0; step < steps; step++) {
		for (int i = 0; i < n; i++)
			p[i].g = g[i] + step * p[i].count;
		optim_step(o, d, p, n, optim_lr(o), 1);
		for (int i = 0; i < n; i++)
			memcpy(kept[i] + step * p[i].count, p[i].w, (size_t)p[i].count * sizeof(float));
	}
	need(optim_scalars(o, &scalars));
	need(buf_add(&scalars, "", 1));
	write_params(arg[1], p, n, kept, steps, (char *)scalars.p);
	for (int i = 0; i < n; i++) {
		free(p[i].w);
		free(g[i]);
		free(kept[i]);
	}
	buf_free(&scalars);
	optim_free(o, d);
	dev_close(d);
	return 0;
}

static int run_schedule(char **arg)
{
	struct schedule s;

	need(schedule_parse(&s, arg[0], atoll(arg[2]), &why));
	for (int64_t u = 0; u < atoll(arg[3]); u++)
		printf("%.17g\n", schedule_rate(&s, atof(arg[1]), u));
	return 0;
}

/* ---- speed ---- */

static struct batch random_batch(int64_t rows, int64_t length, int64_t classes, bool sequence)
{
	struct batch b = { .rows = rows, .length = length };
	int64_t n = rows * length, targets = sequence ? n : rows;

	b.ids = sequence ? room(n * (int64_t)sizeof *b.ids) : NULL;
	b.x = sequence ? NULL : room(n * (int64_t)sizeof *b.x);
	b.targets = room(targets * (int64_t)sizeof *b.targets);
	b.key = room(rows * (int64_t)sizeof *b.key);
	for (int64_t i = 0; i < n; i++)
		if (sequence)
			b.ids[i] = (int32_t)(rand_bits(1, RAND_TEST, (uint64_t)i, 0) % (uint64_t)classes);
		else
			b.x[i] = (float)rand_normal(1, RAND_TEST, (uint64_t)i, 0);
	for (int64_t i = 0; i < targets; i++)
		b.targets[i] = (int32_t)(rand_bits(1, RAND_TEST, (uint64_t)i, 1) % (uint64_t)classes);
	return b;
}

/* Seconds of one update and of its parts. */
struct lap {
	double forward, backward, update, whole;
};

static int by_whole(const void *a, const void *b)
{
	const struct lap *x = a, *y = b;

	return (x->whole > y->whole) - (x->whole < y->whole);
}

static struct lap one_update(struct model *m, struct optim *o, struct dev *d, const struct batch *b, int64_t positions)
{
	struct param *p;
	int n = model_params(m, &p);
	double t[4] = { clock_seconds() };
	struct forward f;

	model_zero_gradients(m);
	model_put(m, b, true);
	model_forward(m, true, false, &f);
	t[1] = clock_seconds();
	model_backward(m, 1.0 / (double)positions);
	t[2] = clock_seconds();
	need(optim_take(o, d, p, n, "update", &why));
	optim_step(o, d, p, n, 1e-4, 1);
	t[3] = clock_seconds();
	return (struct lap){ t[1] - t[0], t[2] - t[1], t[3] - t[2], t[3] - t[0] };
}

/* Of all threads; what other programs do hardly shows in it. */
static double processor_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int run_speed(char **arg)
{
	int64_t rows = atoll(arg[1]), length = atoll(arg[2]), classes = atoll(arg[3]), updates = atoll(arg[4]);
	bool sequence = classes > 0;
	struct data_facts facts = { .sequence = sequence, .classes = llabs(classes), .features = sequence ? 0 : length, .length = length };
	struct batch b = random_batch(rows, length, llabs(classes), sequence);
	struct lap *lap = room(updates * (int64_t)sizeof *lap), *middle = lap + updates / 2;
	struct dev_memory memory;
	struct model *m;
	struct optim *o;
	struct dev *d;
	double processor;

	need(dev_open(&d, "cpu", 0, atoi(arg[5]), &why));
	need(optim_new(&o, "adamw", &why));
	need(model_new(&m, arg[0], &facts, length, 0, "", 1, d, &why));
	for (enum part part = PART_LOAD; part <= PART_BACKWARD; part++)
		need(model_take(m, part, rows, length, "test", &why));
	model_init(m);
	one_update(m, o, d, &b, rows * (sequence ? length : 1));
	processor = processor_seconds();
	for (int64_t i = 0; i < updates; i++)
		lap[i] = one_update(m, o, d, &b, rows * (sequence ? length : 1));
	processor = (processor_seconds() - processor) / (double)updates;
	qsort(lap, (size_t)updates, sizeof *lap, by_whole);
	dev_memory(d, &memory);
	printf("{\"seconds\": %.9g, \"best\": %.9g, \"processor\": %.9g, \"forward\": %.9g, \"backward\": %.9g, \"update\": %.9g, \"allocated\": %lld, \"resident\": %lld}\n", middle->whole, lap->whole, processor,
		middle->forward, middle->backward, middle->update, (long long)memory.allocated_peak, (long long)host_rss_peak());
	model_free(m);
	optim_free(o, d);
	dev_close(d);
	free(lap);
	free(b.ids);
	free(b.x);
	free(b.targets);
	free(b.key);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 5 && !strcmp(argv[1], "model"))
		return run_model(argv + 2);
	if (argc == 6 && !strcmp(argv[1], "optimizer"))
		return run_optimizer(argv + 2);
	if (argc == 6 && !strcmp(argv[1], "schedule"))
		return run_schedule(argv + 2);
	if (argc == 8 && !strcmp(argv[1], "speed"))
		return run_speed(argv + 2);
	fprintf(stderr, "numbers: see the head of numbers.c\n");
	return EX_USAGE;
}
