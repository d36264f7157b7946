/* plan-write.c - a comparison as records: itself, then a request for each of its runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

static int strings(struct rec *r, enum field f, int n, const char *(*get)(const void *ctx, int i), const void *ctx)
{
	char **v = calloc((size_t)n + 1, sizeof *v);

	for (int i = 0; v && i < n; i++)
		v[i] = (char *)get(ctx, i);
	if (v)
		rec_strs(r, f, v, n);
	free(v);
	return v ? 0 : -EX_OSERR;
}

static const char *factor_name(const void *ctx, int i)
{
	return ((const struct plan *)ctx)->factor[i].setting;
}

static const char *arm_name(const void *ctx, int i)
{
	return ((const struct plan *)ctx)->arm[i].name;
}

/* NAME=VALUE of what the user set for every run. */
static int pinned(struct rec *r, const struct config *c)
{
	char *v[OPTIONS];
	int n = 0, rc = 0;

	for (int o = 0; o < OPTIONS && rc == 0; o++) {
		struct buf b = { 0 };

		if (!config_given(c, (enum option)o))
			continue;
		rc = buf_printf(&b, "%s=", option_info((enum option)o)->field) < 0 || config_get(c, (enum option)o, &b) < 0 || buf_add(&b, "", 1) < 0 ? -EX_OSERR : 0;
		v[n++] = (char *)b.p;
	}
	if (rc == 0 && n)
		rec_strs(r, F_comparison_pinned, v, n);
	while (n > 0)
		free(v[--n]);
	return rc;
}

static int comparison(const struct plan_settings *s, const struct plan *p, struct rec *r)
{
	bool apart = p->seeds != p->control_seeds || memcmp(p->seed, p->control_seed, (size_t)p->seeds * sizeof *p->seed);

	rec_begin(r, KIND_comparison);
	rec_str(r, F_comparison_id, p->id);
	rec_str(r, F_comparison_name, s->name);
	rec_str(r, F_comparison_question, s->question);
	if (strings(r, F_comparison_factors, p->factors, factor_name, p) < 0 || strings(r, F_comparison_arms, p->arms, arm_name, p) < 0)
		return -EX_OSERR;
	rec_int(r, F_comparison_runs, p->control_seeds + (int64_t)(p->arms - 1) * p->seeds);
	rec_ints(r, F_comparison_seeds, p->control_seed, p->control_seeds);
	if (apart)
		rec_ints(r, F_comparison_arm_seeds, p->seed, p->seeds);
	rec_bool(r, F_comparison_paired, !s->unpaired);
	rec_str(r, F_comparison_metric, s->metric ? s->metric : "validation_loss");
	rec_str(r, F_comparison_choice, s->best ? "best" : "last");
	if (!isnan(s->within))
		rec_num(r, F_comparison_within, s->within);
	if (!isnan(s->target))
		rec_num(r, F_comparison_target, s->target);
	rec_str(r, F_comparison_budget, p->budget);
	rec_num(r, F_comparison_amount, p->amount);
	if (!s->command || config_given(s->config, O_val_every))
		rec_int(r, F_comparison_val_every, s->config->val_every);
	if (*s->config->stop)
		rec_str(r, F_comparison_stop, s->config->stop);
	return pinned(r, s->config);
}

/* A folder of its own below --save: one holds one run. */
static int own_folder(struct config *c, const char *arm, int64_t seed, struct why *w)
{
	char path[4400];
	size_t n;

	if (!*c->save)
		return 0;
	n = (size_t)snprintf(path, sizeof path, "%.4000s/", c->save);
	snprintf(path + n, sizeof path - n, "%.120s,seed=%lld", arm, (long long)seed);
	for (char *q = path + n; *q; q++)
		if (*q == '/' || (unsigned char)*q <= ' ')
			*q = '_';
	return config_set(c, O_save, path, w);
}

/* Every setting is named, so that another default of a later version does not creep in; of a command those of the user. */
static int pin_all(struct config *c, const char *budget, struct why *w)
{
	int rc = 0;

	for (int o = 0; o < OPTIONS && rc == 0; o++) {
		struct buf b = { 0 };
		bool other = (o == O_updates || o == O_examples || o == O_epochs) && strcmp(option_info((enum option)o)->field, budget);

		if (other || config_given(c, (enum option)o) || o == O_threads || o == O_overfit)
			continue;
		if (config_get(c, (enum option)o, &b) < 0 || buf_add(&b, "", 1) < 0)
			rc = why_set(w, EX_OSERR, "plan: out of memory");
		else if (*b.p && strcmp((char *)b.p, "0"))
			rc = config_set(c, (enum option)o, (char *)b.p, w);
		buf_free(&b);
	}
	return rc;
}

static const char *value_of(const void *ctx, int i)
{
	return ((char *const *)ctx)[i];
}

static int values(struct rec *r, const struct plan *p, const struct plan_arm *a)
{
	char *v[PLAN_FACTORS];
	int n = 0, rc = 0;

	for (int i = 0; i < p->factors && rc == 0; i++)
		if (p->factor[i].option == OPTIONS)
			rc = asprintf(&v[n++], "%s=%s", p->factor[i].name, p->factor[i].value[a->value[i]]) < 0 ? (n--, -EX_OSERR) : 0;
	if (rc == 0 && n)
		rc = strings(r, F_request_values, n, value_of, v);
	while (n > 0)
		free(v[--n]);
	return rc;
}

static int request(const struct plan_settings *s, const struct plan *p, const struct plan_arm *a, int64_t seed, struct rec *r, struct out *o, struct why *w)
{
	struct config c;
	char id[ULID_SIZE], text[32];
	int rc = config_copy(&c, &a->config) < 0 ? why_set(w, EX_OSERR, "plan: out of memory") : 0;

	if (rc < 0)
		return rc;
	snprintf(text, sizeof text, "%lld", (long long)seed);
	rc = config_set(&c, O_seed, text, w);
	if (rc == 0)
		rc = own_folder(&c, a->name, seed, w);
	if (rc == 0 && !s->command)
		rc = pin_all(&c, p->budget, w);
	ulid_new(id);
	rec_begin(r, KIND_request);
	rec_str(r, F_request_id, id);
	rec_str(r, F_request_role, "train");
	rec_str(r, F_request_comparison, p->id);
	rec_str(r, F_request_arm, a->name);
	if (rc == 0 && values(r, p, a) < 0)
		rc = why_set(w, EX_OSERR, "plan: out of memory");
	config_to_rec(&c, r);
	if (rc == 0)
		rc = out_rec(o, r, w);
	config_free(&c);
	return rc;
}

static bool has_seed(const int64_t *list, int n, int64_t seed)
{
	for (int i = 0; i < n; i++)
		if (list[i] == seed)
			return true;
	return false;
}

int plan_write(const struct plan_settings *s, const struct plan *p, struct out *o, struct why *w)
{
	struct rec r = { 0 };
	int rc = comparison(s, p, &r) < 0 ? why_set(w, EX_OSERR, "plan: out of memory") : out_rec(o, &r, w);

	for (int i = 0; rc == 0 && i < p->control_seeds; i++)
		for (int k = 0; rc == 0 && k < p->arms; k++)
			if (k == 0 || has_seed(p->seed, p->seeds, p->control_seed[i]))
				rc = request(s, p, &p->arm[k], p->control_seed[i], &r, o, w);
	for (int i = 0; rc == 0 && i < p->seeds; i++) /* unpaired: seeds that the control has not */
		for (int k = 1; rc == 0 && k < p->arms && !has_seed(p->control_seed, p->control_seeds, p->seed[i]); k++)
			rc = request(s, p, &p->arm[k], p->seed[i], &r, o, w);
	rec_free(&r);
	return rc;
}
