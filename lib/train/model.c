/* model.c - what all models have in common: parameters, memory by parts, batches, modes. */
#include "model.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* ---- layouts ---- */

int64_t times(int64_t a, int64_t b)
{
	int64_t c;

	return __builtin_mul_overflow(a, b, &c) ? INT64_MAX : c;
}

void *layout_take(struct layout *l, int64_t n, int64_t size)
{
	int64_t bytes = dev_round(times(n, size));
	char *p = l->base ? l->base + l->bytes : NULL;

	if (__builtin_add_overflow(l->bytes, bytes, &l->bytes))
		l->bytes = INT64_MAX;
	return p;
}

static void lay_load(struct model *m, struct layout *l)
{
	for (int i = 0; i < m->params; i++) {
		float *w = layout_take(l, m->param[i].count, sizeof(float));

		if (l->base)
			m->param[i].w = w;
	}
}

static void lay_gradients(struct model *m, struct layout *l)
{
	for (int i = 0; i < m->params; i++) {
		float *g = m->param[i].trainable ? layout_take(l, m->param[i].count, sizeof(float)) : NULL;

		if (l->base)
			m->param[i].g = g;
	}
}

static void lay_inputs(struct model *m, struct layout *l, int64_t rows, int64_t length, bool train)
{
	int64_t positions = m->sequence ? times(rows, length) : rows;
	struct inputs in = { 0 };

	if (m->sequence)
		in.ids = layout_take(l, positions, sizeof *in.ids);
	else
		in.x = layout_take(l, times(rows, m->features), sizeof *in.x);
	in.targets = layout_take(l, positions, sizeof *in.targets);
	if (train)
		in.key = layout_take(l, rows, sizeof *in.key);
	if (l->base)
		m->in[train] = in;
}

static void lay(struct model *m, struct layout *l, enum part part, int64_t rows, int64_t length)
{
	switch (part) {
	case PART_LOAD:
		lay_load(m, l);
		break;
	case PART_DATA:
		lay_inputs(m, l, rows, length, true);
		break;
	case PART_FORWARD:
		m->arch->forward(m, l, rows, length, true);
		break;
	case PART_BACKWARD:
		lay_gradients(m, l);
		m->arch->backward(m, l, rows, length);
		break;
	case PART_VALIDATE:
		lay_inputs(m, l, rows, length, false);
		m->arch->forward(m, l, rows, length, false);
		break;
	default: /* PART_UPDATE is the optimizer's */
		break;
	}
}

int64_t model_plan(const struct model *m, enum part part, int64_t rows, int64_t length)
{
	struct layout l = { 0 };

	/* Without a base nothing in m is written. */
	lay((struct model *)m, &l, part, rows, length);
	return l.bytes;
}

/* Sizes that do not fit the kernels' 32-bit dimensions. */
static int check_sizes(const struct model *m, int64_t rows, int64_t length, const char *phase, struct why *w)
{
	if (m->sequence && length > m->context)
		return why_set(w, EX_USAGE, "%s: %s: an input of %lld positions does not fit the context of %lld", phase, m->spec, (long long)length, (long long)m->context);
	if (times(rows, m->sequence ? length : 1) > INT32_MAX)
		return why_set(w, EX_USAGE, "%s: %s: %lld x %lld positions: more than the matrix products can count", phase, m->spec, (long long)rows, (long long)length);
	return 0;
}

int model_take(struct model *m, enum part part, int64_t rows, int64_t length, const char *phase, struct why *w)
{
	struct held *h = &m->held[part];
	bool sized = part != PART_LOAD;
	struct layout l = { 0 };
	void *p;
	int rc;

	if (h->p && (!sized || (rows <= h->rows && length <= h->length)))
		return 0;
	if (sized && (rc = check_sizes(m, rows, length, phase, w)) < 0)
		return rc;
	model_release(m, part);
	rc = dev_alloc(m->dev, model_plan(m, part, rows, length), phase, &p, w);
	if (rc < 0)
		return rc;
	l.base = p;
	*h = (struct held){ p, rows, length };
	lay(m, &l, part, rows, length);
	return 0;
}

void model_release(struct model *m, enum part part)
{
	dev_free(m->dev, m->held[part].p);
	m->held[part] = (struct held){ 0 };
	for (int i = 0; i < m->params; i++) {
		if (part == PART_LOAD)
			m->param[i].w = NULL;
		if (part == PART_BACKWARD)
			m->param[i].g = NULL;
	}
	if (part == PART_DATA || part == PART_VALIDATE)
		m->in[part == PART_DATA] = (struct inputs){ 0 };
}

/* ---- parameters ---- */

int model_add(struct model *m, int64_t rows, int64_t cols, const char *name, ...)
{
	struct param *p = realloc(m->param, (size_t)(m->params + 1) * sizeof *p);
	va_list ap;

	if (!p)
		return -EX_OSERR;
	m->param = p;
	p += m->params++;
	*p = (struct param){ .dims = rows ? 2 : 1, .shape = { rows ? rows : cols, rows ? cols : 0 }, .count = times(rows ? rows : 1, cols), .trainable = true, .decay = rows > 0 };
	va_start(ap, name);
	vsnprintf(p->name, sizeof p->name, name, ap);
	va_end(ap);
	return 0;
}

/* FNV-1a (Fowler, Noll, Vo), 56 bits: what a random number's counter has room for. */
uint64_t model_stream(const struct param *p)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (const char *c = p->name; *c; c++)
		h = (h ^ (unsigned char)*c) * UINT64_C(1099511628211);
	return h & ((UINT64_C(1) << 56) - 1);
}

/* Patterns are separated by commas; each must name something, and something must be left to train. */
static int freeze(struct model *m, const char *patterns, struct why *w)
{
	char *copy = strdup(patterns), *save, *one;
	int left = 0, rc = 0;

	if (!copy)
		return why_set(w, EX_OSERR, "freeze: %.100s: out of memory", patterns);
	for (one = strtok_r(copy, ",", &save); one && rc == 0; one = strtok_r(NULL, ",", &save)) {
		int hits = 0;

		for (int i = 0; i < m->params; i++)
			if (fnmatch(one, m->param[i].name, 0) == 0) {
				m->param[i].trainable = false;
				hits++;
			}
		if (!hits)
			rc = why_set(w, EX_USAGE, "freeze: \"%.100s\": no parameter of %s has such a name", one, m->spec);
	}
	for (int i = 0; i < m->params; i++)
		left += m->param[i].trainable;
	if (rc == 0 && left == 0)
		rc = why_set(w, EX_USAGE, "freeze: \"%.100s\": nothing of %s is left to train", patterns, m->spec);
	free(copy);
	return rc;
}

static int build(struct model *m, struct spec *s, const struct data_facts *facts, int64_t length, struct why *w)
{
	int rc;

	if (!strcmp(s->kind, "mlp"))
		rc = mlp_new(m, s, facts, w);
	else if (!strncmp(s->kind, "gpt", 3))
		rc = gpt_new(m, s, facts, length, w);
	else
		return why_set(w, EX_USAGE, "model: \"%.60s\": is none of gpt, gpt2, gpt2-medium, gpt2-large, gpt2-xl, mlp", s->kind);
	if (rc == -EX_OSERR)
		return why_set(w, EX_OSERR, "model: %s: out of memory", m->spec);
	return rc < 0 ? rc : spec_done(s, w);
}

int model_new(struct model **out, const char *spec, const struct data_facts *facts, int64_t length, double dropout, const char *pattern, uint64_t seed, struct dev *d, struct why *w)
{
	struct model *m = calloc(1, sizeof *m);
	struct spec s;
	int rc;

	*out = NULL;
	if (!m)
		return why_set(w, EX_OSERR, "model: %.200s: out of memory", spec);
	m->dev = d;
	m->ops = dev_ops(d);
	m->sequence = facts->sequence;
	m->features = facts->features;
	m->dropout = dropout;
	m->seed = seed;
	snprintf(m->spec, sizeof m->spec, "%s", spec);
	rc = dropout >= 0 && dropout < 1 ? spec_parse(&s, spec, w) : why_set(w, EX_USAGE, "dropout: %g: must be at least 0 and below 1", dropout);
	if (rc == 0) {
		rc = build(m, &s, facts, length, w);
		spec_free(&s);
	}
	if (rc == 0 && pattern && *pattern)
		rc = freeze(m, pattern, w);
	if (rc < 0)
		model_free(m);
	else
		*out = m;
	return rc;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	for (int part = 0; part < PARTS; part++)
		model_release(m, part);
	if (m->arch)
		m->arch->free(m);
	free(m->param);
	free(m);
}

int model_params(const struct model *m, struct param **p)
{
	*p = m->param;
	return m->params;
}

int64_t model_numbers(const struct model *m, bool trainable_only)
{
	int64_t n = 0;

	for (int i = 0; i < m->params; i++)
		if (!trainable_only || m->param[i].trainable)
			n += m->param[i].count;
	return n;
}

void model_init(struct model *m)
{
	m->arch->init(m);
}

int model_tied_apart(const struct model *m)
{
	(void)m; /* a tied tensor is one tensor here */
	return 0;
}

/* ---- running ---- */

void model_put(struct model *m, const struct batch *b, bool train)
{
	struct inputs *in = &m->in[train];
	int64_t positions = m->sequence ? b->rows * b->length : b->rows;

	in->rows = b->rows;
	in->length = m->sequence ? b->length : 1;
	if (m->sequence)
		dev_write(m->dev, in->ids, b->ids, positions * (int64_t)sizeof *in->ids);
	else
		dev_write(m->dev, in->x, b->x, b->rows * m->features * (int64_t)sizeof *in->x);
	dev_write(m->dev, in->targets, b->targets, positions * (int64_t)sizeof *in->targets);
	if (train)
		dev_write(m->dev, in->key, b->key, b->rows * (int64_t)sizeof *in->key);
}

void model_forward(struct model *m, bool train, bool want_variance, struct forward *f)
{
	const struct inputs *in = &m->in[train];
	struct loss loss;

	m->training = train;
	m->arch->run(m, train, (train ? LOSS_GRADIENT : LOSS_CORRECT) | (want_variance ? LOSS_VARIANCE : 0), &loss);
	*f = (struct forward){ .loss_sum = loss.sum, .supervised = loss.supervised, .correct = loss.correct };
	if (want_variance && loss.supervised)
		f->logits_variance = loss.variance / (double)loss.supervised;
	f->output_shape[f->output_dims++] = in->rows;
	if (m->sequence)
		f->output_shape[f->output_dims++] = in->length;
	f->output_shape[f->output_dims++] = m->classes;
}

void model_backward(struct model *m, double scale)
{
	m->arch->back(m, scale);
}

void model_zero_gradients(struct model *m)
{
	for (int i = 0; i < m->params; i++)
		if (m->param[i].g)
			m->ops->fill(m->dev, m->param[i].g, m->param[i].count, 0);
}

const float *model_logits(const struct model *m)
{
	return m->arch->logits(m);
}

bool model_training(const struct model *m)
{
	return m->training;
}
