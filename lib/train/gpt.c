/* gpt.c - GPT-2 (Radford et al. 2019): pre-norm blocks of causal self-attention and a GELU
 * network, learned positions, and a head that is the token embedding unless tied=0. */
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NORM_EPS 1e-5f

/* Parameters in the order of model_add: two embeddings, twelve of each block, the last norm, the head. */
enum { WTE, WPE, BLOCKS };
enum { LN1_W, LN1_B, QKV_W, QKV_B, PROJ_W, PROJ_B, LN2_W, LN2_B, FC_W, FC_B, OUT_W, OUT_B, PER_BLOCK };

/* Activations. Those of blocks are (L, ...): the tensor of block l begins `stride` numbers times l behind
 * the first. N = B x T positions, C columns. */
struct acts {
	int64_t narrow, stats2, softmax; /* strides: of (N, C), (N, 2), (B, H, T, 2) */
	float *x;              /* (L + 1, N, C) input of each block, output of the last */
	float *n1, *s1;        /* (L, N, C) first norm, (L, N, 2) */
	float *qkv;            /* (L, N, 3C), stride 3 x narrow */
	float *soft;           /* (L, B, H, T, 2) */
	float *y;              /* (L, N, C) attention's output before its projection */
	float *mid;            /* (L, N, C) between the two halves of a block */
	float *n2, *s2;
	float *h, *g;          /* (L, N, 4C) before and after GELU, stride 4 x narrow */
	float *nf, *sf;        /* (N, C), (N, 2) last norm */
	float *logits;         /* (N, V); after a train forward their gradient */
	double *row;           /* (N, 2) */
	void *scratch;
};

/* Validation walks through the blocks in one set of these. */
struct light {
	float *x, *n, *wide; /* (N, C), (N, C), (N, 4C): qkv and y, then h */
	float *logits;
	double *row;
	void *scratch;
};

struct scratch {
	float *dx, *dn, *wide; /* (N, C), (N, C), (N, 4C) */
	void *attention;
};

struct gpt {
	int64_t layers, width, heads, context;
	bool tied;
	int norm, head; /* places of ln_f.weight and of the head's matrix */
	struct acts acts;
	struct light light;
	struct scratch back;
};

static struct gpt *gpt_of(const struct model *m)
{
	return m->own;
}

static const struct param *of_block(const struct model *m, int64_t l, int which)
{
	return &m->param[BLOCKS + l * PER_BLOCK + which];
}

/* ---- memory ---- */

static int64_t stride_of(int64_t n)
{
	return dev_round(times(n, sizeof(float))) / (int64_t)sizeof(float);
}

static void lay_train(const struct model *m, const struct gpt *g, struct acts *a, struct layout *l, int64_t rows, int64_t length)
{
	int64_t n = times(rows, length), blocks = g->layers;

	a->narrow = stride_of(times(n, g->width));
	a->stats2 = stride_of(times(n, 2));
	a->softmax = stride_of(times(times(n, g->heads), 2));
	a->x = layout_take(l, times(blocks + 1, a->narrow), sizeof(float));
	a->n1 = layout_take(l, times(blocks, a->narrow), sizeof(float));
	a->s1 = layout_take(l, times(blocks, a->stats2), sizeof(float));
	a->qkv = layout_take(l, times(3 * blocks, a->narrow), sizeof(float));
	a->soft = layout_take(l, times(blocks, a->softmax), sizeof(float));
	a->y = layout_take(l, times(blocks, a->narrow), sizeof(float));
	a->mid = layout_take(l, times(blocks, a->narrow), sizeof(float));
	a->n2 = layout_take(l, times(blocks, a->narrow), sizeof(float));
	a->s2 = layout_take(l, times(blocks, a->stats2), sizeof(float));
	a->h = layout_take(l, times(4 * blocks, a->narrow), sizeof(float));
	a->g = layout_take(l, times(4 * blocks, a->narrow), sizeof(float));
	a->nf = layout_take(l, a->narrow, sizeof(float));
	a->sf = layout_take(l, a->stats2, sizeof(float));
	a->logits = layout_take(l, times(n, m->classes), sizeof(float));
	a->row = layout_take(l, times(n, 2), sizeof(double));
	a->scratch = layout_take(l, m->ops->attention_scratch(m->dev, length, false), 1);
}

static void lay_light(const struct model *m, const struct gpt *g, struct light *a, struct layout *l, int64_t rows, int64_t length)
{
	int64_t n = times(rows, length), numbers = times(n, g->width);

	a->x = layout_take(l, numbers, sizeof(float));
	a->n = layout_take(l, numbers, sizeof(float));
	a->wide = layout_take(l, times(numbers, 4), sizeof(float));
	a->logits = layout_take(l, times(n, m->classes), sizeof(float));
	a->row = layout_take(l, times(n, 2), sizeof(double));
	a->scratch = layout_take(l, m->ops->attention_scratch(m->dev, length, false), 1);
}

static void gpt_lay_forward(struct model *m, struct layout *l, int64_t rows, int64_t length, bool train)
{
	struct acts acts = { 0 };
	struct light light = { 0 };
	struct gpt *g = gpt_of(m);

	if (train)
		lay_train(m, g, &acts, l, rows, length);
	else
		lay_light(m, g, &light, l, rows, length);
	if (l->base && train)
		g->acts = acts;
	if (l->base && !train)
		g->light = light;
}

static void gpt_lay_backward(struct model *m, struct layout *l, int64_t rows, int64_t length)
{
	struct gpt *g = gpt_of(m);
	int64_t numbers = times(times(rows, length), g->width);
	struct scratch s;

	s.dx = layout_take(l, numbers, sizeof(float));
	s.dn = layout_take(l, numbers, sizeof(float));
	s.wide = layout_take(l, times(numbers, 4), sizeof(float));
	s.attention = layout_take(l, m->ops->attention_scratch(m->dev, length, true), 1);
	if (l->base)
		g->back = s;
}

/* ---- forward ---- */

/* y (n, out) = x (n, in) w (in, out) */
static void product(const struct model *m, float *y, const float *x, const struct param *w, int64_t n)
{
	struct matmul mm = { .m = n, .n = w->shape[1], .k = w->shape[0], .alpha = 1, .a = x, .lda = w->shape[0], .b = w->w, .ldb = w->shape[1], .c = y, .ldc = w->shape[1] };

	m->ops->matmul(m->dev, &mm);
}

/* Dropout at one of a model's places in training; NULL where there is none. */
static const struct drop *dropping(const struct model *m, struct drop *d, bool train, uint32_t site)
{
	if (!train || m->dropout == 0)
		return NULL;
	*d = (struct drop){ .p = m->dropout, .seed = m->seed, .site = site, .key = m->in[1].key, .length = m->in[1].length };
	return d;
}

/* Sites: the embedding, then three of each block. */
enum { SITE_EMBED, SITE_ATTENTION, SITE_PROJ, SITE_OUT };
static uint32_t site_of(int64_t l, uint32_t which)
{
	return (uint32_t)(3 * l) + which;
}

static struct attention attention_of(const struct model *m, bool train, const struct drop *drop)
{
	const struct gpt *g = gpt_of(m);

	return (struct attention){ m->in[train].rows, m->in[train].length, g->heads, g->width / g->heads, g->context, drop };
}

static void norm(const struct model *m, float *y, float *stats, const float *x, const struct param *w, int64_t n)
{
	m->ops->norm(m->dev, y, stats, x, w[0].w, w[1].w, n, w[0].count, NORM_EPS);
}

/* Where one block works. n1 and n2, h and g, may be the same. */
struct place {
	const float *x;
	float *n1, *s1, *qkv, *soft, *y, *mid, *n2, *s2, *h, *g, *out;
	void *scratch;
};

static void run_block(const struct model *m, int64_t l, const struct place *p, int64_t n, bool train)
{
	const struct ops *o = m->ops;
	const struct param *w = of_block(m, l, 0);
	int64_t c = gpt_of(m)->width;
	struct drop d1, d2, d3;
	struct attention a = attention_of(m, train, dropping(m, &d1, train, site_of(l, SITE_ATTENTION)));

	norm(m, p->n1, p->s1, p->x, &w[LN1_W], n);
	product(m, p->qkv, p->n1, &w[QKV_W], n);
	o->bias(m->dev, p->qkv, w[QKV_B].w, n, 3 * c);
	o->attend(m->dev, &a, p->y, p->soft, p->qkv, p->scratch);
	/* In validation x, mid and out are one buffer, so the product goes by n1, which is done with. */
	product(m, train ? p->mid : p->n1, p->y, &w[PROJ_W], n);
	o->residual(m->dev, p->mid, p->x, train ? p->mid : p->n1, w[PROJ_B].w, n, c, dropping(m, &d2, train, site_of(l, SITE_PROJ)));

	norm(m, p->n2, p->s2, p->mid, &w[LN2_W], n);
	product(m, p->h, p->n2, &w[FC_W], n);
	o->activate(m->dev, ACT_GELU, p->g, p->h, w[FC_B].w, n, 4 * c, NULL);
	product(m, train ? p->out : p->n2, p->g, &w[OUT_W], n);
	o->residual(m->dev, p->out, p->mid, train ? p->out : p->n2, w[OUT_B].w, n, c, dropping(m, &d3, train, site_of(l, SITE_OUT)));
}

/* logits (n, V) = x (n, C) head (V, C)^T */
static void run_head(const struct model *m, float *logits, const float *x, int64_t n)
{
	int64_t c = gpt_of(m)->width;
	struct matmul mm = { .tb = true, .m = n, .n = m->classes, .k = c, .alpha = 1, .a = x, .lda = c, .b = m->param[gpt_of(m)->head].w, .ldb = c, .c = logits, .ldc = m->classes };

	m->ops->matmul(m->dev, &mm);
}

static void run_embedding(const struct model *m, float *x, bool train)
{
	const struct inputs *in = &m->in[train];
	struct drop d;

	m->ops->embed(m->dev, x, m->param[WTE].w, m->param[WPE].w, in->ids, in->rows, in->length, gpt_of(m)->width, dropping(m, &d, train, SITE_EMBED));
}

static void run_train(struct model *m, int what, struct loss *out)
{
	struct gpt *g = gpt_of(m);
	const struct acts *a = &g->acts;
	int64_t n = m->in[1].rows * m->in[1].length, L = g->layers;

	run_embedding(m, a->x, true);
	for (int64_t l = 0; l < L; l++) {
		int64_t at = l * a->narrow;
		struct place p = { a->x + at, a->n1 + at, a->s1 + l * a->stats2, a->qkv + 3 * at, a->soft + l * a->softmax, a->y + at,
			a->mid + at, a->n2 + at, a->s2 + l * a->stats2, a->h + 4 * at, a->g + 4 * at, a->x + at + a->narrow, a->scratch };

		run_block(m, l, &p, n, true);
	}
	norm(m, a->nf, a->sf, a->x + L * a->narrow, &m->param[g->norm], n);
	run_head(m, a->logits, a->nf, n);
	m->ops->cross_entropy(m->dev, out, a->logits, m->in[1].targets, n, m->classes, what, a->row);
}

static void run_light(struct model *m, int what, struct loss *out)
{
	struct gpt *g = gpt_of(m);
	const struct light *a = &g->light;
	int64_t n = m->in[0].rows * m->in[0].length;
	struct place p = { a->x, a->n, NULL, a->wide, NULL, a->wide + 3 * n * g->width, a->x, a->n, NULL, a->wide, a->wide, a->x, a->scratch };

	run_embedding(m, a->x, false);
	for (int64_t l = 0; l < g->layers; l++)
		run_block(m, l, &p, n, false);
	norm(m, a->n, NULL, a->x, &m->param[g->norm], n);
	run_head(m, a->logits, a->n, n);
	m->ops->cross_entropy(m->dev, out, a->logits, m->in[0].targets, n, m->classes, what, a->row);
}

static void gpt_run(struct model *m, bool train, int what, struct loss *out)
{
	if (train)
		run_train(m, what, out);
	else
		run_light(m, what, out);
}

static const float *gpt_logits(const struct model *m)
{
	return gpt_of(m)->light.logits;
}

/* ---- backward ---- */

/* Of y = x w + b, given dy: dw += x^T dy, db += column sums, and dx = dy w^T. */
static void product_back(const struct model *m, float *dx, const float *dy, const float *x, const struct param *w, int64_t n)
{
	int64_t in = w->shape[0], out = w->shape[1];
	struct matmul dw = { .ta = true, .m = in, .n = out, .k = n, .alpha = 1, .a = x, .lda = in, .b = dy, .ldb = out, .beta = 1, .c = w->g, .ldc = out };
	struct matmul down = { .tb = true, .m = n, .n = in, .k = out, .alpha = 1, .a = dy, .lda = out, .b = w->w, .ldb = out, .c = dx, .ldc = in };

	if (w->g)
		m->ops->matmul(m->dev, &dw);
	if (w[1].g)
		m->ops->bias_back(m->dev, w[1].g, dy, n, out);
	m->ops->matmul(m->dev, &down);
}

static void norm_back(const struct model *m, float *dx, bool add, const float *dy, const float *x, const float *stats, const struct param *w, int64_t n)
{
	m->ops->norm_back(m->dev, dx, add, w[0].g, w[1].g, dy, x, w[0].w, stats, n, w[0].count);
}

/* The gradient of a branch behind its dropout: dx itself where there is none. */
static const float *branch(const struct model *m, float *room, const float *dx, int64_t n, uint32_t site)
{
	struct drop d;
	const struct drop *drop = dropping(m, &d, true, site);

	if (!drop)
		return dx;
	m->ops->dropout(m->dev, room, dx, n, gpt_of(m)->width, drop);
	return room;
}

static void back_block(const struct model *m, int64_t l, int64_t n)
{
	struct gpt *g = gpt_of(m);
	const struct acts *a = &g->acts;
	const struct scratch *s = &g->back;
	const struct param *w = of_block(m, l, 0);
	int64_t at = l * a->narrow, c = g->width;
	struct drop d;
	struct attention attention = attention_of(m, true, dropping(m, &d, true, site_of(l, SITE_ATTENTION)));
	float *dy = s->wide + 3 * n * c;

	product_back(m, s->wide, branch(m, s->dn, s->dx, n, site_of(l, SITE_OUT)), a->g + 4 * at, &w[OUT_W], n);
	m->ops->activate_back(m->dev, ACT_GELU, s->wide, a->h + 4 * at, n, 4 * c, NULL);
	product_back(m, s->dn, s->wide, a->n2 + at, &w[FC_W], n);
	norm_back(m, s->dx, true, s->dn, a->mid + at, a->s2 + l * a->stats2, &w[LN2_W], n);

	product_back(m, dy, branch(m, s->dn, s->dx, n, site_of(l, SITE_PROJ)), a->y + at, &w[PROJ_W], n);
	m->ops->attend_back(m->dev, &attention, s->wide, dy, a->y + at, a->qkv + 3 * at, a->soft + l * a->softmax, s->attention);
	product_back(m, s->dn, s->wide, a->n1 + at, &w[QKV_W], n);
	norm_back(m, s->dx, true, s->dn, a->x + at, a->s1 + l * a->stats2, &w[LN1_W], n);
}

static void back_head(const struct model *m, double scale, int64_t n)
{
	struct gpt *g = gpt_of(m);
	const struct acts *a = &g->acts;
	const struct param *w = &m->param[g->head];
	int64_t v = m->classes, c = g->width;
	struct matmul dw = { .ta = true, .m = v, .n = c, .k = n, .alpha = 1, .a = a->logits, .lda = v, .b = a->nf, .ldb = c, .beta = 1, .c = w->g, .ldc = c };
	struct matmul down = { .m = n, .n = c, .k = v, .alpha = 1, .a = a->logits, .lda = v, .b = w->w, .ldb = c, .c = g->back.dn, .ldc = c };

	m->ops->scale(m->dev, a->logits, n * v, scale);
	if (w->g)
		m->ops->matmul(m->dev, &dw);
	m->ops->matmul(m->dev, &down);
	norm_back(m, g->back.dx, false, g->back.dn, a->x + g->layers * a->narrow, a->sf, &m->param[g->norm], n);
}

static void gpt_back(struct model *m, double scale)
{
	struct gpt *g = gpt_of(m);
	const struct inputs *in = &m->in[1];
	int64_t n = in->rows * in->length;
	struct drop d;

	back_head(m, scale, n);
	for (int64_t l = g->layers - 1; l >= 0; l--)
		back_block(m, l, n);
	m->ops->dropout(m->dev, g->back.dx, g->back.dx, n, g->width, dropping(m, &d, true, SITE_EMBED));
	m->ops->embed_back(m->dev, m->param[WTE].g, m->param[WPE].g, g->back.dx, in->ids, in->rows, in->length, g->width);
}

/* ---- a new one ---- */

/* GPT-2's own: N(0, 0.02), and 0.02 / sqrt(2L) for what is added to the residual stream. */
static void gpt_init(struct model *m)
{
	struct gpt *g = gpt_of(m);

	for (int i = 0; i < m->params; i++) {
		struct param *p = &m->param[i];
		int which = i >= BLOCKS && i < g->norm ? (i - BLOCKS) % PER_BLOCK : -1;
		bool residual = which == PROJ_W || which == OUT_W;

		if (p->dims == 2)
			m->ops->normal(m->dev, p->w, p->count, m->seed, model_stream(p), residual ? 0.02 / sqrt(2.0 * (double)g->layers) : 0.02);
		else
			m->ops->fill(m->dev, p->w, p->count, which == LN1_W || which == LN2_W || i == g->norm ? 1 : 0);
	}
}

static void gpt_free(struct model *m)
{
	free(m->own);
}

static const struct arch gpt_arch = { gpt_lay_forward, gpt_lay_backward, gpt_init, gpt_run, gpt_back, gpt_logits, gpt_free };

static int add_block(struct model *m, int l, int64_t c)
{
	static const struct {
		const char *name;
		int64_t rows, cols; /* in widths */
	} part[PER_BLOCK] = {
		{ "ln_1.weight", 0, 1 }, { "ln_1.bias", 0, 1 }, { "attn.c_attn.weight", 1, 3 }, { "attn.c_attn.bias", 0, 3 },
		{ "attn.c_proj.weight", 1, 1 }, { "attn.c_proj.bias", 0, 1 }, { "ln_2.weight", 0, 1 }, { "ln_2.bias", 0, 1 },
		{ "mlp.c_fc.weight", 1, 4 }, { "mlp.c_fc.bias", 0, 4 }, { "mlp.c_proj.weight", 4, 1 }, { "mlp.c_proj.bias", 0, 1 },
	};
	int rc = 0;

	for (int i = 0; rc == 0 && i < PER_BLOCK; i++)
		rc = model_add(m, part[i].rows * c, part[i].cols * c, "h.%d.%s", l, part[i].name);
	return rc;
}

static int add_params(struct model *m, struct gpt *g)
{
	int rc = model_add(m, m->classes, g->width, "wte.weight");

	if (rc == 0)
		rc = model_add(m, g->context, g->width, "wpe.weight");
	for (int l = 0; rc == 0 && l < g->layers; l++)
		rc = add_block(m, l, g->width);
	g->norm = m->params;
	if (rc == 0)
		rc = model_add(m, 0, g->width, "ln_f.weight");
	if (rc == 0)
		rc = model_add(m, 0, g->width, "ln_f.bias");
	g->head = g->tied ? WTE : m->params;
	if (rc == 0 && !g->tied)
		rc = model_add(m, m->classes, g->width, "lm_head.weight");
	return rc;
}

/* The published sizes by their names; "gpt" takes what its keys say. */
static int preset(struct gpt *g, int64_t *vocab, const char *kind)
{
	static const struct {
		const char *kind;
		int64_t layers, width, heads, context, vocab;
	} size[] = {
		{ "gpt", 4, 128, 4, 0, 0 },
		{ "gpt2", 12, 768, 12, 1024, 50257 },
		{ "gpt2-medium", 24, 1024, 16, 1024, 50257 },
		{ "gpt2-large", 36, 1280, 20, 1024, 50257 },
		{ "gpt2-xl", 48, 1600, 25, 1024, 50257 },
	};

	for (size_t i = 0; i < sizeof size / sizeof *size; i++)
		if (!strcmp(size[i].kind, kind)) {
			*g = (struct gpt){ .layers = size[i].layers, .width = size[i].width, .heads = size[i].heads, .context = size[i].context };
			*vocab = size[i].vocab;
			return 0;
		}
	return -1;
}

static int read_keys(struct gpt *g, struct spec *s, int64_t *vocab, struct why *w)
{
	int64_t tied = 1;
	int rc;

	if ((rc = spec_int(s, "layers", 1, 1000, &g->layers, w)) < 0 || (rc = spec_int(s, "width", 1, 1 << 17, &g->width, w)) < 0 ||
	    (rc = spec_int(s, "heads", 1, 1 << 12, &g->heads, w)) < 0 || (rc = spec_int(s, "context", 1, 1 << 20, &g->context, w)) < 0 ||
	    (rc = spec_int(s, "vocab", 1, 1 << 24, vocab, w)) < 0 || (rc = spec_int(s, "tied", 0, 1, &tied, w)) < 0)
		return rc;
	g->tied = tied;
	if (g->width % g->heads)
		return why_set(w, EX_USAGE, "%s: width: %lld is no multiple of heads=%lld", s->kind, (long long)g->width, (long long)g->heads);
	return 0;
}

int gpt_new(struct model *m, struct spec *s, const struct data_facts *facts, int64_t length, struct why *w)
{
	struct gpt *g = calloc(1, sizeof *g);
	int64_t vocab;
	int rc;

	if (!g)
		return -EX_OSERR;
	m->own = g;
	m->arch = &gpt_arch;
	if (preset(g, &vocab, s->kind) < 0)
		return why_set(w, EX_USAGE, "model: \"%.60s\": is none of gpt, gpt2, gpt2-medium, gpt2-large, gpt2-xl, mlp", s->kind);
	if ((rc = read_keys(g, s, &vocab, w)) < 0)
		return rc;
	if (!facts->sequence)
		return why_set(w, EX_USAGE, "model: %s: the data has features and classes, not sequences: use an mlp", m->spec);
	if (vocab && vocab < facts->classes)
		return why_set(w, EX_USAGE, "%s: vocab: %lld is less than the data's %lld", s->kind, (long long)vocab, (long long)facts->classes);
	if (!g->context)
		g->context = length > 0 ? length : 1;
	if (length > g->context)
		return why_set(w, EX_USAGE, "%s: context: inputs of %lld positions do not fit %lld", s->kind, (long long)length, (long long)g->context);
	m->classes = vocab ? vocab : facts->classes;
	m->context = g->context;
	return add_params(m, g);
}
