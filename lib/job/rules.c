/* rules.c - the use of a table of rules: each rule over each record that passes by, and what
 * is left to say after the last one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"

#define F(x) F_phase_##x

/* ---- one rule, one record ---- */

static bool number(const struct view *v, enum field f, double *x)
{
	int64_t i;
	bool b;

	if (view_num(v, f, x))
		return true;
	if (view_int(v, f, &i)) {
		*x = (double)i;
		return true;
	}
	if (!view_bool(v, f, &b))
		return false;
	*x = b;
	return true;
}

static bool holds(enum test t, double a, double b)
{
	switch (t) {
	case ZERO:
	case NO:
		return a == 0;
	case SOME:
		return a > 0;
	case LEAST:
		return a >= 0;
	case YES:
		return a == 1;
	case SAME:
		return a == b;
	case MOST:
		return a <= b;
	case BELOW:
		return a < b;
	default:
		return isfinite(a);
	}
}

static bool applies(const struct rule *u, const struct watch *r, const struct view *v)
{
	double x;

	switch (u->when) {
	case IDS:
		return number(v, F(ids_min), &x) || number(v, F(shift_compared), &x);
	case FEATURES:
		return !number(v, F(ids_min), &x) && !number(v, F(shift_compared), &x);
	case MOVING:
		return !number(v, F(lr), &x) || x != 0;
	case FROM_FILE:
		return r->given_weights;
	case CONTINUED:
		return r->resumed;
	default:
		return true;
	}
}

static void show(const struct view *v, enum field f, char *out, size_t n)
{
	int64_t i;
	bool b;
	double x;

	if (view_int(v, f, &i))
		snprintf(out, n, "%lld", (long long)i);
	else if (view_bool(v, f, &b))
		snprintf(out, n, "%s", b ? "true" : "false");
	else if (view_num(v, f, &x) && isfinite(x)) {
		char s[32];
		num_shortest(x, s);
		snprintf(out, n, "%s", s);
	} else
		snprintf(out, n, "%s", view_num(v, f, &x) ? isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity" : "?");
}

/* " (lr = 0.1, schedule_lr = 0.2, at update 3)" */
static void add_values(const struct rule *u, const struct view *v, char *say, size_t n)
{
	char a[64], b[64] = "", name[128] = "";
	int64_t update;
	size_t k = strlen(say);

	show(v, u->a, a, sizeof a);
	k += (size_t)snprintf(say + k, n - k, " (%s = %s", field_info(u->a)->name, a);
	if (u->b) {
		show(v, u->b, b, sizeof b);
		k += (size_t)snprintf(say + k, n - k, ", %s = %s", field_info(u->b)->name, b);
	}
	if (v->kind == KIND_phase && view_copy(v, F(worst_tensor), name, sizeof name) && *name && (u->phase == G_BACKWARD || u->phase == G_UPDATE))
		k += (size_t)snprintf(say + k, n - k, ", %s", name);
	if (rule_int(v, v->kind == KIND_phase ? F(update) : v->kind == KIND_step ? F_step_update : F_eval_update, &update))
		k += (size_t)snprintf(say + k, n - k, ", at update %lld", (long long)update + (v->kind == KIND_phase && u->phase < G_VALIDATE && u->phase > G_LOAD));
	snprintf(say + k, n - k, ")");
}

/* good with {a} and {b} filled in. */
static void fill(const struct rule *u, const struct view *v, char *say, size_t n)
{
	size_t k = 0;

	*say = 0;
	for (const char *p = u->good; p && *p && k + 64 < n; p++)
		if (p[0] == '{' && p[1] && p[2] == '}') {
			show(v, p[1] == 'a' ? u->a : u->b, say + k, 64);
			k += strlen(say + k);
			p += 2;
		} else {
			say[k++] = *p;
			say[k] = 0;
		}
}

static enum rule_state try(const struct rule *u, struct watch *r, const struct view *v, char *say, size_t n)
{
	double a = 0, b = 0;

	*say = 0;
	if (u->test == CALL)
		return u->fn(r, v, say, n);
	if (!number(v, u->a, &a) || ((u->test == SAME || u->test == MOST || u->test == BELOW) && !number(v, u->b, &b)))
		return RULE_MISSING;
	if (holds(u->test, a, b)) {
		fill(u, v, say, n);
		return RULE_HELD;
	}
	snprintf(say, n, "%s", u->bad);
	add_values(u, v, say, n);
	return RULE_BROKEN;
}

/* A fact that one record of a phase has is shown; every update has to have those of an update. */
static int rank(const struct rule *u, enum rule_state s)
{
	if (s == RULE_MISSING)
		return u->kind == KIND_step ? 4 : 1;
	return s == RULE_BROKEN ? 5 : s == RULE_HELD ? 3 : 0;
}

static void apply(const struct rule *u, int i, enum gate_phase p, struct watch *r, const struct view *v)
{
	char say[600];

	if (!applies(u, r, v))
		return;
	enum rule_state s = try(u, r, v, say, sizeof say);
	if (s == RULE_BROKEN && r->rule[i] != RULE_BROKEN)
		(u->need & FIRM || !r->stranger ? find_fail : find_doubt)(r, p, u->look, "%s", say);
	if (rank(u, s) <= rank(u, r->rule[i]))
		return;
	r->rule[i] = (unsigned char)s;
	free(r->said[i]);
	r->said[i] = *say ? strdup(say) : NULL;
}

/* ---- the table over a record ---- */

static int common_place(const struct rules *u, int phase, int i)
{
	return u->count + phase * u->commons + i;
}

static bool skip_update(const struct view *v)
{
	bool skipped;

	return v->kind == KIND_step && view_bool(v, F_step_skipped, &skipped) && skipped;
}

void rules_see(struct watch *r, const struct view *v)
{
	const char *name;
	size_t n;
	int phase = -1;

	if (v->kind == KIND_phase && (!view_str(v, F(phase), &name, &n) || (phase = gate_phase_find(name, n)) < 0))
		return;
	if (v->kind == KIND_eval && !view_is(v, F_eval_split, "validation"))
		return;
	for (int i = 0; i < r->rules->count; i++) {
		const struct rule *u = &r->rules->rule[i];

		if (u->kind != v->kind || (phase >= 0 && (int)u->phase != phase))
			continue;
		if (u->test == FINITE && skip_update(v))
			continue; /* what was not applied may be anything */
		apply(u, i, u->phase, r, v);
	}
	for (int i = 0; phase >= 0 && i < r->rules->commons; i++)
		apply(&r->rules->common[i], common_place(r->rules, phase, i), phase, r, v);
}

/* ---- at the end ---- */

static void close_rule(struct watch *r, const struct rule *u, int i, enum gate_phase p)
{
	if (r->rule[i] == RULE_HELD && r->said[i])
		find_say(r, p, "%s", r->said[i]);
	if (u->need & NEED && r->rule[i] == RULE_MISSING && r->said[i])
		find_lack(r, p, "%s", r->said[i]);
	else if (u->need & NEED && r->rule[i] == RULE_MISSING)
		find_lack(r, p, "not reported: %s%s%s", u->a ? field_info(u->a)->name : "facts", u->b ? ", " : "", u->b ? field_info(u->b)->name : "");
}

/* A phase of which there is no record shows nothing, whatever steps may say. */
static void close_phase(struct watch *r, enum gate_phase p)
{
	if (!r->measure[p].seen && r->rules->unseen[p])
		find_lack(r, p, "%s", r->rules->unseen[p]);
}

void rules_close(struct watch *r)
{
	const struct rules *u = r->rules;

	for (int p = 0; p < GATE_PHASES; p++)
		close_phase(r, p);
	for (int i = 0; i < u->count; i++)
		close_rule(r, &u->rule[i], i, u->rule[i].phase);
	for (int p = 0; p < GATE_PHASES; p++) {
		for (int i = 0; i < u->commons; i++)
			close_rule(r, &u->common[i], common_place(u, p, i), p);
		find_settle(r, p);
	}
	r->finding[G_EXPORT].na = true;
	r->finding[G_EXPORT].na_reason = "no export was asked for";
}
