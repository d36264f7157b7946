/* optim.c - optimizers: their settings, their state as one block, one update. */
#include "../dev/ops.h"
#include "train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct optim {
	enum update_kind kind;
	char name[16];
	double lr, decay, momentum, beta1, beta2, eps, momentum_decay;
	bool decoupled, decay_all;
	int slots;
	int64_t count;
	double mu_product; /* nadam: product of the momenta so far */
	void *block;
	bool taken;
	int params;
	float **state; /* [param * slots + slot] */
};

/* What each name means, and torch's defaults. */
static const struct optimizer {
	const char *name;
	enum update_kind kind;
	int slots;
	double lr, decay;
	bool decoupled;
} optimizer[] = {
	{ "sgd", UPDATE_SGD, 0, 1e-2, 0, false },
	{ "momentum", UPDATE_MOMENTUM, 1, 1e-2, 0, false },
	{ "nesterov", UPDATE_NESTEROV, 1, 1e-2, 0, false },
	{ "adam", UPDATE_ADAM, 2, 1e-3, 0, false },
	{ "adamw", UPDATE_ADAM, 2, 1e-3, 1e-2, true },
	{ "nadam", UPDATE_NADAM, 2, 2e-3, 0, false },
};

static int read_decay(struct optim *o, struct spec *s, struct why *w)
{
	const char *which = "matrices";
	int rc;

	if ((rc = spec_float(s, "weight_decay", 0, 1e6, &o->decay, w)) < 0 || (rc = spec_str(s, "decay", &which, w)) < 0)
		return rc;
	o->decay_all = !strcmp(which, "all");
	if (!o->decay_all && strcmp(which, "matrices"))
		return why_set(w, EX_USAGE, "%s: decay: \"%.60s\": is neither matrices nor all", o->name, which);
	return 0;
}

static int read_keys(struct optim *o, struct spec *s, struct why *w)
{
	int rc;

	if ((rc = spec_float(s, "lr", 0, 1e6, &o->lr, w)) < 0 || (rc = read_decay(o, s, w)) < 0)
		return rc;
	if (o->slots == 1 && (rc = spec_float(s, "momentum", 0, 1, &o->momentum, w)) < 0)
		return rc;
	if (o->slots == 2) {
		if ((rc = spec_float(s, "beta1", 0, 1, &o->beta1, w)) < 0 || (rc = spec_float(s, "beta2", 0, 1, &o->beta2, w)) < 0 ||
		    (rc = spec_float(s, "eps", 0, 1, &o->eps, w)) < 0)
			return rc;
		if (o->beta1 == 1 || o->beta2 == 1)
			return why_set(w, EX_USAGE, "%s: %s: must be below 1", o->name, o->beta1 == 1 ? "beta1" : "beta2");
	}
	if (o->kind == UPDATE_NADAM && (rc = spec_float(s, "momentum_decay", 0, 1e6, &o->momentum_decay, w)) < 0)
		return rc;
	return spec_done(s, w);
}

static int read_kind(struct optim *o, const struct spec *s, struct why *w)
{
	for (size_t i = 0; i < sizeof optimizer / sizeof *optimizer; i++)
		if (!strcmp(optimizer[i].name, s->kind)) {
			*o = (struct optim){ .kind = optimizer[i].kind, .slots = optimizer[i].slots, .lr = optimizer[i].lr, .decay = optimizer[i].decay,
				.decoupled = optimizer[i].decoupled, .momentum = 0.9, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .momentum_decay = 4e-3, .mu_product = 1 };
			snprintf(o->name, sizeof o->name, "%s", s->kind);
			return 0;
		}
	return why_set(w, EX_USAGE, "optimizer: \"%.60s\": is none of sgd, momentum, nesterov, adam, adamw, nadam", s->kind);
}

int optim_new(struct optim **out, const char *spec, struct why *w)
{
	struct optim *o = calloc(1, sizeof *o);
	struct spec s;
	int rc;

	*out = NULL;
	if (!o)
		return why_set(w, EX_OSERR, "optimizer: %.200s: out of memory", spec);
	rc = spec_parse(&s, spec, w);
	if (rc == 0) {
		rc = read_kind(o, &s, w);
		if (rc == 0)
			rc = read_keys(o, &s, w);
		spec_free(&s);
	}
	if (rc < 0)
		free(o);
	else
		*out = o;
	return rc;
}

void optim_free(struct optim *o, struct dev *d)
{
	if (!o)
		return;
	if (o->block)
		dev_free(d, o->block);
	free(o->state);
	free(o);
}

double optim_lr(const struct optim *o) { return o->lr; }
int optim_slots(const struct optim *o) { return o->slots; }
bool optim_taken(const struct optim *o) { return o->taken; }
int64_t optim_count(const struct optim *o) { return o->count; }

const char *optim_slot_name(const struct optim *o, int slot)
{
	if (o->slots == 1)
		return "momentum_buffer";
	return slot ? "exp_avg_sq" : "exp_avg";
}

/* ---- state ---- */

int64_t optim_plan(const struct optim *o, const struct param *p, int n)
{
	int64_t bytes = 0;

	for (int i = 0; i < n; i++)
		if (p[i].trainable)
			bytes += o->slots * dev_round(p[i].count * (int64_t)sizeof(float));
	return bytes;
}

int optim_take(struct optim *o, struct dev *d, const struct param *p, int n, const char *phase, struct why *w)
{
	char *at;
	int rc;

	if (o->taken)
		return 0;
	if (!o->state)
		o->state = calloc((size_t)n * (size_t)(o->slots ? o->slots : 1), sizeof *o->state);
	if (!o->state)
		return why_set(w, EX_OSERR, "%s: optimizer state: out of memory", phase);
	rc = dev_alloc(d, optim_plan(o, p, n), phase, &o->block, w); /* fresh pages hold zeros */
	if (rc < 0)
		return rc;
	at = o->block;
	for (int i = 0; i < n; i++)
		for (int slot = 0; p[i].trainable && slot < o->slots; slot++) {
			o->state[i * o->slots + slot] = (float *)at;
			at += dev_round(p[i].count * (int64_t)sizeof(float));
		}
	o->params = n;
	o->taken = true;
	return 0;
}

float *optim_state(const struct optim *o, int param, int slot)
{
	return o->taken && param < o->params && slot < o->slots ? o->state[param * o->slots + slot] : NULL;
}

/* ---- one update ---- */

static void set_adam(struct optim *o, struct update *u, double lr)
{
	double t = (double)o->count;

	u->beta1 = (float)o->beta1;
	u->beta2 = (float)o->beta2;
	u->one_beta1 = (float)(1 - o->beta1);
	u->one_beta2 = (float)(1 - o->beta2);
	u->eps = (float)o->eps;
	u->root_scale = (float)(1 / sqrt(1 - pow(o->beta2, t)));
	if (o->kind == UPDATE_NADAM) {
		/* Dozat 2016, with the schedule of momenta that torch has. */
		double mu = o->beta1 * (1 - 0.5 * pow(0.96, t * o->momentum_decay));
		double next = o->beta1 * (1 - 0.5 * pow(0.96, (t + 1) * o->momentum_decay));

		o->mu_product *= mu;
		u->rate_g = (float)(lr * (1 - mu) / (1 - o->mu_product));
		u->rate_m = (float)(lr * next / (1 - o->mu_product * next));
	} else {
		u->rate_m = (float)(lr / (1 - pow(o->beta1, t)));
	}
}

void optim_step(struct optim *o, struct dev *d, struct param *p, int n, double lr, double gscale)
{
	struct update u = { .kind = o->kind, .gscale = (float)gscale, .lr = (float)lr, .beta1 = (float)o->momentum };

	o->count++;
	if (o->slots == 2)
		set_adam(o, &u, lr);
	for (int i = 0; i < n; i++) {
		double decay = p[i].decay || o->decay_all ? o->decay : 0;

		if (!p[i].trainable)
			continue;
		u.decay = o->decoupled ? 0 : (float)decay;
		u.shrink = o->decoupled ? (float)(1 - lr * decay) : 1;
		u.w = p[i].w;
		u.g = p[i].g;
		u.n = p[i].count;
		u.s0 = optim_state(o, i, 0);
		u.s1 = optim_state(o, i, 1);
		dev_ops(d)->update(d, &u);
	}
}

double optim_gradient_norm(struct dev *d, const struct param *p, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		if (p[i].trainable && p[i].g)
			sum += dev_ops(d)->sum_squares(d, p[i].g, p[i].count);
	return sqrt(sum);
}

/* ---- what is no tensor ---- */

int optim_scalars(const struct optim *o, struct buf *out)
{
	char number[32];

	if (o->kind != UPDATE_NADAM)
		return buf_printf(out, "%s", "");
	num_shortest(o->mu_product, number);
	return buf_printf(out, "mu_product=%s", number);
}

int optim_restore(struct optim *o, int64_t count, const char *scalars, struct why *w)
{
	static const char key[] = "mu_product=";
	double product = 1;
	int rc = 0;

	if (count < 0)
		return why_set(w, EX_DATAERR, "restore optimizer: %s: its update count is negative", o->name);
	if (o->kind == UPDATE_NADAM && strncmp(scalars, key, strlen(key)))
		rc = -EX_DATAERR;
	else if (o->kind == UPDATE_NADAM)
		rc = num_float(scalars + strlen(key), key, 0, 1, &product, NULL);
	else if (*scalars)
		rc = -EX_DATAERR;
	if (rc < 0)
		return why_set(w, EX_DATAERR, "restore optimizer: %s: \"%.60s\" is not what it saves", o->name, scalars);
	o->count = count;
	o->mu_product = product;
	return 0;
}
