/* rules.c - what each phase must show, as a table: one line a check, its facts, the words
 * for an ok and for a fault. A check follows from facts that any trainer can report, not
 * from a fault that somebody thought of; one whose facts are missing proves nothing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"

enum test {
	ZERO,   /* a == 0 */
	SOME,   /* a > 0 */
	LEAST,  /* a >= 0 */
	YES,    /* a is true */
	NO,     /* a is false */
	SAME,   /* a == b, numbers bit by bit */
	MOST,   /* a <= b */
	BELOW,  /* a < b */
	FINITE, /* a is a number */
	CALL,   /* fn says */
};

enum when {
	ALWAYS,
	IDS,      /* inputs are ids: the record has ids_min */
	FEATURES, /* they are features */
	MOVING,   /* the rate is not 0 */
	FROM_FILE, /* the run was given weights */
	CONTINUED, /* the run goes on from a checkpoint */
};

enum { NEED = 1 }; /* where the rule applies, its facts must be there */

struct rule {
	enum kind kind;
	enum gate_phase phase; /* whose verdict it is; of KIND_phase records, only those of this phase */
	enum test test;
	enum field a, b;
	rule_check *fn;
	enum when when;
	int need;
	const char *good; /* evidence; {a} and {b} are the values. NULL: silent, or what fn says */
	const char *bad;  /* the reason; the values are added */
	const char *look; /* where to look first; NULL: as the phase has it */
};

#define F(x) F_phase_##x
#define PH(p) KIND_phase, p
#define ON(k, p) KIND_##k, p

static const struct rule rules[] = {
	/* load */
	{ PH(G_LOAD), LEAST, F(seconds), 0, NULL, ALWAYS, NEED, "weights in place", "no time", NULL },
	{ PH(G_LOAD), SAME, F(restored_tensors), F(tensors), NULL, FROM_FILE, NEED, "all {b} tensors came from the file", "not every tensor came from the file", "the file of weights" },

	/* data */
	{ PH(G_DATA), LEAST, F(ids_min), 0, NULL, IDS, NEED, NULL, "an id below 0", NULL },
	{ PH(G_DATA), BELOW, F(ids_max), F(classes), NULL, IDS, NEED, "ids and targets in range of {b} classes", "an id beyond the vocabulary", NULL },
	{ PH(G_DATA), LEAST, F(targets_min), 0, NULL, ALWAYS, NEED, NULL, "a target below 0", NULL },
	{ PH(G_DATA), BELOW, F(targets_max), F(classes), NULL, ALWAYS, NEED, NULL, "a target beyond the classes", NULL },
	{ PH(G_DATA), ZERO, F(nonfinite_inputs), 0, NULL, FEATURES, NEED, "features finite, targets in range", "features that are not finite", NULL },
	{ PH(G_DATA), SOME, F(supervised), 0, NULL, ALWAYS, NEED, NULL, "the loss looks at no target", "the mask" },
	{ PH(G_DATA), SAME, F(supervised), F(declared_supervised), NULL, ALWAYS, NEED, "{a} supervised targets as declared", "the loss looks at other targets than the examples declare", "the mask, the padding" },
	{ PH(G_DATA), SOME, F(shift_compared), 0, NULL, IDS, NEED, NULL, "no target was compared with the next id", NULL },
	{ PH(G_DATA), ZERO, F(shift_wrong), F(shift_compared), NULL, IDS, NEED, "each of {b} compared is the next id", "targets that are not the next id", "a shift done twice, or not at all" },
	{ PH(G_DATA), SAME, F(class_names), F(classes), NULL, ALWAYS, 0, "{a} class names", "class names and class numbers are out of step", NULL },
	{ PH(G_DATA), ZERO, F(shared_examples), 0, NULL, ALWAYS, NEED, "splits disjoint", "examples in more than one split", "how the splits were made" },
	{ PH(G_DATA), ZERO, F(shared_groups), 0, NULL, ALWAYS, 0, NULL, "groups in more than one split", "how the splits were made" },
	{ ON(step, G_DATA), CALL, 0, 0, check_window, ALWAYS, 0, NULL, NULL, "the sampler" },
	{ ON(step, G_DATA), SOME, F_step_supervised, 0, NULL, ALWAYS, 0, NULL, "an update without any target", "the mask" },
	{ ON(end, G_DATA), CALL, 0, 0, check_end_windows, ALWAYS, NEED, NULL, NULL, "the sampler" },
	{ ON(end, G_DATA), CALL, 0, 0, check_end_orders, ALWAYS, 0, NULL, NULL, "the sampler's seed" },

	/* forward */
	{ PH(G_FORWARD), CALL, F(output_shape), 0, check_output, ALWAYS, NEED, NULL, NULL, "the model's head" },
	{ PH(G_FORWARD), FINITE, F(loss), 0, NULL, ALWAYS, NEED, NULL, "a loss that is not finite", NULL },
	{ PH(G_FORWARD), ZERO, F(loss_nonfinite), 0, NULL, ALWAYS, NEED, NULL, "passes whose loss is not finite", NULL },
	{ PH(G_FORWARD), CALL, F(fresh), F(logits_variance), check_fresh_loss, ALWAYS, NEED, NULL, NULL, "the loss, the initialisation" },
	{ PH(G_FORWARD), CALL, F(loss), 0, check_logged_loss, ALWAYS, 0, NULL, NULL, "what the log shows" },
	{ ON(step, G_FORWARD), CALL, F_step_loss, 0, check_logged_loss, ALWAYS, 0, NULL, NULL, "what the log shows" },
	{ ON(step, G_FORWARD), FINITE, F_step_loss, 0, NULL, ALWAYS, NEED, NULL, "a loss that is not finite", NULL },
	{ ON(step, G_FORWARD), CALL, F_step_loss, 0, check_stale, ALWAYS, 0, NULL, NULL, "what the log shows" },
	{ ON(end, G_FORWARD), CALL, 0, 0, check_end_finite, ALWAYS, NEED, NULL, NULL, NULL },

	/* backward */
	{ PH(G_BACKWARD), ZERO, F(gradients_missing), F(trainable_tensors), NULL, ALWAYS, NEED, "every one of {b} trainable tensors has a gradient", "trainable tensors without a gradient", "the graph" },
	{ PH(G_BACKWARD), ZERO, F(gradients_nonfinite), 0, NULL, ALWAYS, NEED, "all finite", "gradients that are not finite", "precision, normalisation" },
	{ PH(G_BACKWARD), ZERO, F(gradients_frozen), 0, NULL, ALWAYS, NEED, "frozen ones have none", "frozen tensors with a gradient", "what was frozen, and when" },
	{ PH(G_BACKWARD), SOME, F(gradient_norm), 0, NULL, ALWAYS, NEED, NULL, "no gradient at all", "the graph" },
	{ ON(step, G_BACKWARD), FINITE, F_step_gradient_norm, 0, NULL, ALWAYS, NEED, NULL, "a gradient norm that is not finite", "precision, normalisation" },
	{ ON(step, G_BACKWARD), CALL, F_step_gradient_norm, 0, check_gradient, ALWAYS, 0, NULL, NULL, "the graph" },
	{ PH(G_BACKWARD), CALL, F(trainable_tensors), 0, check_trainable, ALWAYS, 0, NULL, NULL, "what was frozen, and when" },
	{ ON(end, G_BACKWARD), CALL, 0, 0, check_end_norms, ALWAYS, NEED, NULL, NULL, NULL },

	/* update */
	{ PH(G_UPDATE), SAME, F(changed), F(trainable_tensors), NULL, MOVING, NEED, "all {b} trainable tensors changed", "not every trainable tensor changed", "what was handed to the optimizer" },
	{ PH(G_UPDATE), CALL, F(trainable_tensors), 0, check_trainable, ALWAYS, 0, NULL, NULL, "what was frozen, and when" },
	{ PH(G_UPDATE), ZERO, F(unchanged), 0, NULL, MOVING, NEED, NULL, "tensors with a gradient that did not change", "what was handed to the optimizer" },
	{ PH(G_UPDATE), ZERO, F(frozen_changed), 0, NULL, ALWAYS, NEED, "no frozen one did", "frozen tensors changed", "weight decay" },
	{ PH(G_UPDATE), ZERO, F(tied_apart), 0, NULL, ALWAYS, 0, NULL, "tied tensors are apart", "where weights are tied" },
	{ PH(G_UPDATE), CALL, F(attempted), F(applied), check_skipped, ALWAYS, NEED, NULL, NULL, "what skips updates" },
	{ PH(G_UPDATE), SAME, F(optimizer_count), F(applied), NULL, ALWAYS, NEED, "the optimizer counts the same", "the optimizer counts otherwise", NULL },
	{ PH(G_UPDATE), SAME, F(lr), F(schedule_lr), NULL, ALWAYS, NEED, "the rate is the schedule's", "the rate is not the schedule's", "when the schedule ticks" },
	{ ON(step, G_UPDATE), CALL, 0, 0, check_rate, ALWAYS, 0, NULL, NULL, "when the schedule ticks" },
	{ ON(step, G_UPDATE), CALL, 0, 0, check_count, ALWAYS, NEED, NULL, NULL, "what counts updates" },
	{ ON(step, G_UPDATE), CALL, 0, 0, check_examples, ALWAYS, 0, NULL, NULL, "what counts examples" },
	{ ON(step, G_UPDATE), CALL, 0, 0, check_passes, ALWAYS, 0, NULL, NULL, "accumulation" },
	{ ON(step, G_UPDATE), CALL, 0, 0, check_step_time, ALWAYS, 0, NULL, NULL, "the clock, its unit" },
	{ ON(end, G_UPDATE), CALL, 0, 0, check_end_updates, ALWAYS, NEED, NULL, NULL, "what counts updates" },
	{ ON(end, G_UPDATE), CALL, 0, 0, check_end_rate, ALWAYS, 0, NULL, NULL, "the clock, its unit" },
	{ ON(end, G_UPDATE), CALL, 0, 0, check_end_clock, ALWAYS, 0, NULL, NULL, "the clock, its unit" },
	{ ON(end, G_UPDATE), CALL, 0, 0, check_end_peak, ALWAYS, 0, NULL, NULL, "what the plan left out" },

	/* validate */
	{ PH(G_VALIDATE), SOME, F(examples), 0, NULL, ALWAYS, NEED, NULL, "no example", "the validation split" },
	{ PH(G_VALIDATE), SAME, F(examples), F(expected_examples), NULL, ALWAYS, NEED, "{a} examples, each once", "not every example once", "the last batch" },
	{ PH(G_VALIDATE), SAME, F(distinct_examples), F(expected_examples), NULL, ALWAYS, NEED, NULL, "not every example once", "the last batch" },
	{ PH(G_VALIDATE), CALL, F(expected_examples), 0, check_expected, ALWAYS, 0, NULL, NULL, "which split, how much of it" },
	{ PH(G_VALIDATE), YES, F(evaluation_mode), 0, NULL, ALWAYS, NEED, "evaluation mode", "evaluation mode was not on", "dropout" },
	{ PH(G_VALIDATE), YES, F(training_mode_after), 0, NULL, ALWAYS, NEED, "training mode back", "training mode was not back", "dropout" },
	{ PH(G_VALIDATE), NO, F(weights_changed), 0, NULL, ALWAYS, NEED, "weights, optimizer and random state untouched", "it changed the weights", NULL },
	{ PH(G_VALIDATE), NO, F(optimizer_changed), 0, NULL, ALWAYS, NEED, NULL, "it changed the optimizer's state", NULL },
	{ PH(G_VALIDATE), NO, F(random_changed), 0, NULL, ALWAYS, NEED, NULL, "it used up random numbers of training", NULL },
	{ PH(G_VALIDATE), FINITE, F(loss), 0, NULL, ALWAYS, NEED, NULL, "a loss that is not finite", "the model, before the data" },
	{ PH(G_VALIDATE), CALL, F(loss), 0, check_eval, ALWAYS, 0, NULL, NULL, "what the log shows" },
	{ ON(eval, G_VALIDATE), CALL, F_eval_loss, 0, check_eval, ALWAYS, 0, NULL, NULL, "what the log shows" },
	{ ON(eval, G_VALIDATE), FINITE, F_eval_loss, 0, NULL, ALWAYS, NEED, NULL, "a loss that is not finite", "the model, before the data" },
	{ ON(end, G_VALIDATE), CALL, 0, 0, check_end_evals, ALWAYS, NEED, NULL, NULL, NULL },

	/* save */
	{ PH(G_SAVE), YES, F(complete), 0, NULL, ALWAYS, NEED, "written under another name, synced, renamed", "not written under another name, synced and renamed", "what writes it" },
	{ PH(G_SAVE), NO, F(weights_changed), 0, NULL, ALWAYS, NEED, "weights and state untouched", "it changed the weights", NULL },
	{ PH(G_SAVE), NO, F(optimizer_changed), 0, NULL, ALWAYS, 0, NULL, "it changed the optimizer's state", NULL },
	{ PH(G_SAVE), NO, F(random_changed), 0, NULL, ALWAYS, 0, NULL, "it used up random numbers of training", NULL },
	{ PH(G_SAVE), CALL, F(digest), 0, check_save, ALWAYS, 0, NULL, NULL, "what writes it" },
	{ ON(save, G_SAVE), CALL, F_save_digest, 0, check_save, ALWAYS, 0, NULL, NULL, "what writes it" },
	{ ON(end, G_SAVE), CALL, 0, 0, check_end_saves, ALWAYS, NEED, NULL, NULL, NULL },

	/* resume: of a run that goes on; the replays come from elsewhere */
	{ PH(G_RESUME), CALL, F(restored_update), 0, check_resumed, CONTINUED, NEED, NULL, NULL, "the update count" },
	{ PH(G_RESUME), CALL, F(restored_tensors), F(tensors), check_restored, CONTINUED, NEED, NULL, NULL, "what the file holds" },
	{ PH(G_RESUME), ZERO, F(tied_apart), 0, NULL, ALWAYS, 0, NULL, "tied tensors are apart", "where weights are tied" },
};

/* Of every phase record, whatever its phase. */
static const struct rule common[] = {
	{ PH(0), MOST, F(allocated_bytes), F(reserved_bytes), NULL, ALWAYS, NEED, NULL, "more allocated than reserved", "the memory counters" },
	{ PH(0), MOST, F(allocated_peak_bytes), F(reserved_peak_bytes), NULL, ALWAYS, NEED, NULL, "a peak of allocated above that of reserved", "the memory counters" },
	{ PH(0), MOST, F(allocated_bytes), F(allocated_peak_bytes), NULL, ALWAYS, NEED, NULL, "more allocated than its peak", "the memory counters" },
	{ PH(0), MOST, F(baseline_bytes), F(allocated_peak_bytes), NULL, ALWAYS, 0, NULL, "began with more than its peak", "the memory counters" },
	{ PH(0), LEAST, F(seconds), 0, NULL, ALWAYS, NEED, NULL, "it took less than no time", "the clock, its unit" },
	{ PH(0), CALL, F(allocated_bytes), F(baseline_bytes), check_plan, ALWAYS, 0, NULL, NULL, "the plan of memory, what is allocated besides" },
};

enum { RULES = sizeof rules / sizeof *rules, COMMON_RULES = sizeof common / sizeof *common };
_Static_assert(RULES + COMMON_RULES * GATE_PHASES <= WATCH_RULES, "a place for every rule");

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
		find_fail(r, p, u->look, "%s", say);
	if (rank(u, s) <= rank(u, r->rule[i]))
		return;
	r->rule[i] = (unsigned char)s;
	free(r->said[i]);
	r->said[i] = *say ? strdup(say) : NULL;
}

/* ---- the table over a record ---- */

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
	for (int i = 0; i < RULES; i++) {
		const struct rule *u = &rules[i];

		if (u->kind != v->kind || (phase >= 0 && (int)u->phase != phase))
			continue;
		if (u->test == FINITE && skip_update(v))
			continue; /* what was not applied may be anything */
		apply(u, i, u->phase, r, v);
	}
	for (int i = 0; phase >= 0 && i < COMMON_RULES; i++)
		apply(&common[i], RULES + phase * COMMON_RULES + i, phase, r, v);
}

/* ---- at the end ---- */

static void close_rule(struct watch *r, const struct rule *u, int i, enum gate_phase p)
{
	if (r->rule[i] == RULE_HELD && r->said[i])
		find_say(r, p, "%s", r->said[i]);
	if (u->need && r->rule[i] == RULE_MISSING && r->said[i])
		find_lack(r, p, "%s", r->said[i]);
	else if (u->need && r->rule[i] == RULE_MISSING)
		find_lack(r, p, "not reported: %s%s%s", u->a ? field_info(u->a)->name : "facts", u->b ? ", " : "", u->b ? field_info(u->b)->name : "");
}

/* A phase of which there is no record shows nothing, whatever steps may say. */
static void close_phase(struct watch *r, enum gate_phase p)
{
	static const char *const hint[GATE_PHASES] = {
		[G_VALIDATE] = "no validation in this run (see --val-every)",
		[G_SAVE] = "nothing was saved in this run (see --save)",
	};

	if (!r->measure[p].seen && p != G_RESUME && p != G_EXPORT)
		find_lack(r, p, "%s", hint[p] ? hint[p] : "no record of this phase");
}

void rules_close(struct watch *r)
{
	for (int p = 0; p < GATE_PHASES; p++)
		close_phase(r, p);
	for (int i = 0; i < RULES; i++)
		close_rule(r, &rules[i], i, rules[i].phase);
	for (int p = 0; p < GATE_PHASES; p++)
		for (int i = 0; i < COMMON_RULES; i++)
			close_rule(r, &common[i], RULES + p * COMMON_RULES + i, p);
	r->finding[G_EXPORT].na = true;
	r->finding[G_EXPORT].na_reason = "no export was asked for";
}
