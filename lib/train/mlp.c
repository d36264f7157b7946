/* mlp.c - a classifier of fully connected layers: fc.0, activation, dropout, fc.1, ... logits.
 * hidden=128x64 names the widths between; activation=relu (the default), gelu or tanh. */
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HIDDEN = 32 };

struct acts {
	float *z[MAX_HIDDEN], *a[MAX_HIDDEN]; /* (B, width) before and after the activation; one buffer in validation */
	float *logits;                        /* (B, K); after a train forward their gradient */
	double *row;                          /* (B, 2) */
};

struct mlp {
	int hidden;
	int64_t width[MAX_HIDDEN + 2]; /* features, hidden ..., classes */
	enum activation activation;
	struct acts acts[2]; /* [train] */
	float *d[2];         /* (B, widest hidden): gradients on their way down */
};

static struct mlp *mlp_of(const struct model *m)
{
	return m->own;
}

/* ---- memory ---- */

static void mlp_lay_forward(struct model *m, struct layout *l, int64_t rows, int64_t length, bool train)
{
	struct mlp *p = mlp_of(m);
	struct acts a = { 0 };

	(void)length;
	for (int i = 0; i < p->hidden; i++) {
		a.z[i] = layout_take(l, times(rows, p->width[i + 1]), sizeof(float));
		a.a[i] = train ? layout_take(l, times(rows, p->width[i + 1]), sizeof(float)) : a.z[i];
	}
	a.logits = layout_take(l, times(rows, m->classes), sizeof(float));
	a.row = layout_take(l, times(rows, 2), sizeof(double));
	if (l->base)
		p->acts[train] = a;
}

static void mlp_lay_backward(struct model *m, struct layout *l, int64_t rows, int64_t length)
{
	struct mlp *p = mlp_of(m);
	int64_t widest = 0;

	(void)length;
	for (int i = 1; i <= p->hidden; i++)
		if (p->width[i] > widest)
			widest = p->width[i];
	for (int i = 0; i < 2; i++) {
		float *d = layout_take(l, times(rows, widest), sizeof(float));

		if (l->base)
			p->d[i] = d;
	}
}

/* ---- forward and backward ---- */

static const struct drop *dropping(const struct model *m, struct drop *d, bool train, int site)
{
	if (!train || m->dropout == 0)
		return NULL;
	*d = (struct drop){ .p = m->dropout, .seed = m->seed, .site = (uint32_t)site, .key = m->in[1].key, .length = 1 };
	return d;
}

/* y (rows, out) = x (rows, in) w (out, in)^T */
static void product(const struct model *m, float *y, const float *x, const struct param *w, int64_t rows)
{
	struct matmul mm = { .tb = true, .m = rows, .n = w->shape[0], .k = w->shape[1], .alpha = 1, .a = x, .lda = w->shape[1], .b = w->w, .ldb = w->shape[1], .c = y, .ldc = w->shape[0] };

	m->ops->matmul(m->dev, &mm);
}

static void mlp_run(struct model *m, bool train, int what, struct loss *out)
{
	struct mlp *p = mlp_of(m);
	const struct inputs *in = &m->in[train];
	const struct acts *a = &p->acts[train];
	const float *x = in->x;
	struct drop d;

	for (int i = 0; i < p->hidden; i++) {
		product(m, a->z[i], x, &m->param[2 * i], in->rows);
		m->ops->activate(m->dev, p->activation, a->a[i], a->z[i], m->param[2 * i + 1].w, in->rows, p->width[i + 1], dropping(m, &d, train, i));
		x = a->a[i];
	}
	product(m, a->logits, x, &m->param[2 * p->hidden], in->rows);
	m->ops->bias(m->dev, a->logits, m->param[2 * p->hidden + 1].w, in->rows, m->classes);
	m->ops->cross_entropy(m->dev, out, a->logits, in->targets, in->rows, m->classes, what, a->row);
}

/* dw (out, in) += dy^T x, db += column sums; dx = dy w unless NULL. */
static void product_back(const struct model *m, float *dx, const float *dy, const float *x, const struct param *w, int64_t rows)
{
	int64_t out = w->shape[0], in = w->shape[1];
	struct matmul dw = { .ta = true, .m = out, .n = in, .k = rows, .alpha = 1, .a = dy, .lda = out, .b = x, .ldb = in, .beta = 1, .c = w->g, .ldc = in };
	struct matmul down = { .m = rows, .n = in, .k = out, .alpha = 1, .a = dy, .lda = out, .b = w->w, .ldb = in, .c = dx, .ldc = in };

	if (w->g)
		m->ops->matmul(m->dev, &dw);
	if (w[1].g)
		m->ops->bias_back(m->dev, w[1].g, dy, rows, out);
	if (dx)
		m->ops->matmul(m->dev, &down);
}

static void mlp_back(struct model *m, double scale)
{
	struct mlp *p = mlp_of(m);
	const struct inputs *in = &m->in[1];
	const struct acts *a = &p->acts[1];
	float *dy = a->logits;
	struct drop d;

	m->ops->scale(m->dev, dy, in->rows * m->classes, scale);
	for (int i = p->hidden; i >= 0; i--) {
		float *dx = i ? p->d[i & 1] : NULL;

		product_back(m, dx, dy, i ? a->a[i - 1] : in->x, &m->param[2 * i], in->rows);
		if (i)
			m->ops->activate_back(m->dev, p->activation, dx, a->z[i - 1], in->rows, p->width[i], dropping(m, &d, true, i - 1));
		dy = dx;
	}
}

static const float *mlp_logits(const struct model *m)
{
	return mlp_of(m)->acts[0].logits;
}

/* ---- a new one ---- */

/* torch.nn.Linear's own: weights and biases uniform within 1/sqrt(in). */
static void mlp_init(struct model *m)
{
	for (int i = 0; i < m->params; i++) {
		double in = (double)mlp_of(m)->width[i / 2];

		m->ops->uniform(m->dev, m->param[i].w, m->param[i].count, m->seed, model_stream(&m->param[i]), 1 / sqrt(in));
	}
}

static void mlp_free(struct model *m)
{
	free(m->own);
}

static const struct arch mlp_arch = { mlp_lay_forward, mlp_lay_backward, mlp_init, mlp_run, mlp_back, mlp_logits, mlp_free };

/* "128x64" */
static int read_hidden(struct mlp *p, const char *text, struct why *w)
{
	char part[32];
	int rc;

	for (const char *at = text;; at++) {
		size_t n = strcspn(at, "x");

		if (p->hidden == MAX_HIDDEN)
			return why_set(w, EX_USAGE, "mlp: hidden: \"%.100s\": more than %d layers", text, MAX_HIDDEN);
		snprintf(part, sizeof part, "%.*s", n < sizeof part ? (int)n : (int)sizeof part - 1, at);
		if ((rc = num_int(part, "mlp: hidden", 1, 1 << 24, &p->width[++p->hidden], w)) < 0)
			return rc;
		at += n;
		if (!*at)
			return 0;
	}
}

static int read_activation(struct mlp *p, struct spec *s, struct why *w)
{
	const char *name = "relu";
	int rc = spec_str(s, "activation", &name, w);

	if (rc < 0)
		return rc;
	if (!strcmp(name, "gelu"))
		p->activation = ACT_GELU;
	else if (!strcmp(name, "tanh"))
		p->activation = ACT_TANH;
	else if (!strcmp(name, "relu"))
		p->activation = ACT_RELU;
	else
		return why_set(w, EX_USAGE, "mlp: activation: \"%.60s\": is none of relu, gelu, tanh", name);
	return 0;
}

int mlp_new(struct model *m, struct spec *s, const struct data_facts *facts, struct why *w)
{
	struct mlp *p = calloc(1, sizeof *p);
	const char *hidden = "128";
	int rc;

	if (!p)
		return -EX_OSERR;
	m->own = p;
	m->arch = &mlp_arch;
	m->classes = facts->classes;
	m->context = 1;
	if (facts->sequence)
		return why_set(w, EX_USAGE, "model: %s: the data has sequences, not features and classes: use a gpt", m->spec);
	if ((rc = spec_str(s, "hidden", &hidden, w)) < 0 || (rc = read_activation(p, s, w)) < 0)
		return rc;
	if (strcmp(hidden, "0") && (rc = read_hidden(p, hidden, w)) < 0)
		return rc;
	p->width[0] = facts->features;
	p->width[p->hidden + 1] = facts->classes;
	for (int i = 0; i <= p->hidden; i++)
		if ((rc = model_add(m, p->width[i + 1], p->width[i], "fc.%d.weight", i)) < 0 || (rc = model_add(m, 0, p->width[i + 1], "fc.%d.bias", i)) < 0)
			return rc;
	return 0;
}
