/* config.c - all settings of a run, from the one table wire/options.list: defaults,
 * strict parsing, contradictions, and the way into and out of records. Programs
 * without any device link this file, so it knows the other parts by their words only. */
#include "train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 65536 };

static const struct option_info infos[OPTIONS] = {
#define OPTION(name, option, letter, type, metavar, doc) { #name, option, letter, type, metavar, doc },
#include "../wire/options.list"
};

static const size_t places[OPTIONS] = {
#define OPTION(name, option, letter, type, metavar, doc) offsetof(struct config, name),
#include "../wire/options.list"
};

static const enum field request_fields[OPTIONS] = {
#define OPTION(name, option, letter, type, metavar, doc) F_request_##name,
#include "../wire/options.list"
};

static const enum field run_fields[OPTIONS] = {
#define OPTION(name, option, letter, type, metavar, doc) F_run_##name,
#include "../wire/options.list"
};

_Static_assert(OPTIONS <= 128, "config.given has a bit for every option");

const struct option_info *option_info(enum option o)
{
	return &infos[o];
}

enum option option_find(const char *long_name)
{
	for (int o = 0; o < OPTIONS; o++)
		if (!strcmp(infos[o].option, long_name))
			return o;
	return OPTIONS;
}

static char **str_at(const struct config *c, enum option o)
{
	return (char **)((char *)c + places[o]);
}

static int64_t *int_at(const struct config *c, enum option o)
{
	return (int64_t *)((char *)c + places[o]);
}

static double *num_at(const struct config *c, enum option o)
{
	return (double *)((char *)c + places[o]);
}

/* ---- life ---- */

/* Settings that are neither 0 nor "" unless the user names them. */
static const struct {
	enum option o;
	const char *value;
} defaults[] = {
	{ O_model, "gpt:layers=2,width=64,heads=4" },
	{ O_data, "sums:digits=2" },
	{ O_optimizer, "adamw:lr=1e-3" },
	{ O_schedule, "constant" },
	{ O_micro_batch, "32" },
	{ O_accum, "1" },
	{ O_last_window, "keep" },
	{ O_updates, "200" },
	{ O_seed, "1" },
	{ O_precision, "fp32" },
	{ O_device, "cpu" },
	{ O_val_every, "100" },
};

int config_init(struct config *c)
{
	memset(c, 0, sizeof *c);
	for (int o = 0; o < OPTIONS; o++)
		if (infos[o].type == T_STR && !(*str_at(c, o) = strdup("")))
			goto fail;
	for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
		if (config_set(c, defaults[i].o, defaults[i].value, NULL))
			goto fail;
	c->given[0] = c->given[1] = 0;
	return 0;
fail:
	config_free(c);
	return -EX_OSERR;
}

void config_free(struct config *c)
{
	for (int o = 0; o < OPTIONS; o++)
		if (infos[o].type == T_STR)
			free(*str_at(c, o));
	memset(c, 0, sizeof *c);
}

int config_copy(struct config *to, const struct config *from)
{
	*to = *from;
	for (int o = 0; o < OPTIONS; o++)
		if (infos[o].type == T_STR)
			*str_at(to, o) = NULL;
	for (int o = 0; o < OPTIONS; o++)
		if (infos[o].type == T_STR && !(*str_at(to, o) = strdup(*str_at(from, o)))) {
			config_free(to);
			return -EX_OSERR;
		}
	return 0;
}

bool config_given(const struct config *c, enum option o)
{
	return c->given[o / 64] >> o % 64 & 1;
}

/* ---- words ---- */

/* Is word one of list's, which are joined by ", "? */
static bool listed(const char *list, const char *word)
{
	size_t n = strlen(word);
	const char *p = list;

	while (n && (p = strstr(p, word))) {
		bool first = p == list || p[-1] == ' ';
		if (first && (!p[n] || p[n] == ','))
			return true;
		p++;
	}
	return false;
}

static int later(const char *option, const char *value, struct why *w)
{
	return why_set(w, EX_UNAVAILABLE, "--%s: %.200s: not in this version", option, value);
}

/* What KIND may be; kinds that a later version has are named for what they are. */
static const struct {
	enum option o;
	const char *kinds, *later;
} specs[] = {
	{ O_model, "gpt, gpt2, gpt2-medium, gpt2-large, gpt2-xl, mlp", "" },
	{ O_data, "sums, text, tokens, idx, csv", "jsonl" },
	{ O_optimizer, "sgd, momentum, nesterov, adam, adamw, nadam", "" },
	{ O_schedule, "constant, linear, cosine", "" },
};

/* KIND:key=value,... with a kind that exists; the keys are checked by the part that knows them. */
static int check_spec(enum option o, const char *value, const char *kinds, const char *kinds_later, struct why *w)
{
	struct why inner = { 0 };
	struct spec s;
	int r = 0;

	if (*value == '@')
		return later(infos[o].option, value, w);
	if ((r = spec_parse(&s, value, &inner)))
		return why_set(w, -r, "--%s: %s", infos[o].option, inner.text);
	if (listed(kinds_later, s.kind))
		r = later(infos[o].option, s.kind, w);
	else if (!listed(kinds, s.kind))
		r = why_set(w, EX_USAGE, "--%s: %.200s: no such %s (there are: %s)", infos[o].option, s.kind, infos[o].option, kinds);
	spec_free(&s);
	return r;
}

static int check_device(const char *value, struct why *w)
{
	int64_t n;

	if (!strcmp(value, "cpu"))
		return 0;
	if (!strncmp(value, "cuda:", 5))
		return num_int(value + 5, "--device: cuda", 0, 1023, &n, w);
	return why_set(w, EX_USAGE, "--device: %.200s: no such device (cpu)", value);
}

static int check_word(enum option o, const char *value, const char *words, struct why *w)
{
	if (listed(words, value))
		return 0;
	return why_set(w, EX_USAGE, "--%s: %.200s: not one of %s", infos[o].option, value, words);
}

static int check_text(enum option o, const char *value, struct why *w)
{
	struct stop_rules rules;

	if (strlen(value) > TEXT_MAX)
		return why_set(w, EX_USAGE, "--%s: longer than %d bytes", infos[o].option, TEXT_MAX);
	for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
		if (specs[i].o == o)
			return check_spec(o, value, specs[i].kinds, specs[i].later, w);
	switch (o) {
	case O_last_window:
		return check_word(o, value, "drop, keep", w);
	case O_precision:
		return check_word(o, value, "fp32, bf16, fp16", w);
	case O_device:
		return check_device(value, w);
	case O_stop:
		return stop_parse(&rules, value, w);
	default:
		return 0;
	}
}

/* ---- setting ---- */

static void int_range(enum option o, int64_t *min, int64_t *max)
{
	*min = 0;
	*max = INT64_MAX;
	switch (o) {
	case O_micro_batch:
	case O_accum:
		*min = 1;
		*max = INT32_MAX;
		break;
	case O_val_micro_batch:
		*max = INT32_MAX;
		break;
	case O_length:
	case O_val_length:
		*max = 1 << 24;
		break;
	case O_threads:
		*max = 4096;
		break;
	case O_updates:
	case O_examples:
	case O_val_every:
	case O_save_every:
		*max = INT64_C(1) << 52; /* products with these stay exact */
		break;
	default:
		break;
	}
}

static int set_int(struct config *c, enum option o, const char *value, const char *what, struct why *w)
{
	int64_t min, max, v;
	int r;

	int_range(o, &min, &max);
	r = o == O_memory_bytes ? num_size(value, what, &v, w) : num_int(value, what, min, max, &v, w);
	if (r)
		return r;
	*int_at(c, o) = v;
	return 0;
}

static int set_num(struct config *c, enum option o, const char *value, const char *what, struct why *w)
{
	double v;
	int r = num_float(value, what, 0, o == O_dropout ? 1 : 1e15, &v, w);

	if (r)
		return r;
	if (o == O_dropout && v == 1)
		return why_set(w, EX_USAGE, "%s: 1 would drop everything; it must be less than 1", what);
	*num_at(c, o) = v;
	return 0;
}

static int set_str(struct config *c, enum option o, const char *value, const char *what, struct why *w)
{
	int r = check_text(o, value, w);
	char *copy;

	if (r)
		return r;
	if (!(copy = strdup(value)))
		return why_set(w, EX_OSERR, "%s: no memory", what);
	free(*str_at(c, o));
	*str_at(c, o) = copy;
	return 0;
}

int config_set(struct config *c, enum option o, const char *value, struct why *w)
{
	char what[64];
	int r;

	snprintf(what, sizeof what, "--%s", infos[o].option);
	if (infos[o].type == T_INT)
		r = set_int(c, o, value, what, w);
	else if (infos[o].type == T_NUM)
		r = set_num(c, o, value, what, w);
	else
		r = set_str(c, o, value, what, w);
	if (r)
		return r;
	c->given[o / 64] |= UINT64_C(1) << o % 64;
	/* A budget that is named takes the place of the default one. */
	if (!config_given(c, O_updates) && (c->examples || c->epochs > 0))
		c->updates = 0;
	return 0;
}

int config_get(const struct config *c, enum option o, struct buf *out)
{
	char text[32];

	if (infos[o].type == T_STR)
		return buf_printf(out, "%s", *str_at(c, o));
	if (infos[o].type == T_INT)
		return buf_printf(out, "%lld", (long long)*int_at(c, o));
	num_shortest(*num_at(c, o), text);
	return buf_printf(out, "%s", text);
}

/* ---- contradictions ---- */

static int check_budget(const struct config *c, struct why *w)
{
	int n = (c->updates > 0) + (c->examples > 0) + (c->epochs > 0);

	if (n > 1)
		return why_set(w, EX_USAGE, "--%s with --%s: a run has one budget",
		    c->updates > 0 ? "updates" : "examples", c->epochs > 0 ? "epochs" : "examples");
	if (!n && !*c->resume)
		return why_set(w, EX_USAGE, "--updates 0: a run needs a budget of updates, examples or epochs");
	return 0;
}

static int check_saving(const struct config *c, struct why *w)
{
	if (*c->resume && *c->weights)
		return why_set(w, EX_USAGE, "--resume with --weights: a checkpoint holds the weights already");
	if (*c->save || *c->resume) /* a resumed run's folder may come from its checkpoint */
		return 0;
	if (c->save_every > 0)
		return why_set(w, EX_USAGE, "--save-every without --save: no folder to save to");
	if (c->keep > 0)
		return why_set(w, EX_USAGE, "--keep without --save: no folder to keep checkpoints in");
	return 0;
}

static int check_windows(const struct config *c, struct why *w)
{
	int64_t window;

	if (__builtin_mul_overflow(c->micro_batch, c->accum, &window) || window > INT64_C(1) << 40)
		return why_set(w, EX_USAGE, "--accum %lld with --micro-batch %lld: an update of more than 2^40 examples",
		    (long long)c->accum, (long long)c->micro_batch);
	if (c->overfit > 0 && c->overfit < window && !strcmp(c->last_window, "drop"))
		return why_set(w, EX_USAGE, "--overfit %lld with --last-window drop: an update is %lld examples, so every window is incomplete and none is left",
		    (long long)c->overfit, (long long)window);
	return 0;
}

int config_check(const struct config *c, struct why *w)
{
	struct stop_rules stop;
	int r;

	if (strcmp(c->precision, "fp32"))
		return later("precision", c->precision, w);
	if (strcmp(c->device, "cpu"))
		return later("device", c->device, w);
	if ((r = check_budget(c, w)) || (r = check_saving(c, w)) || (r = check_windows(c, w)))
		return r;
	if ((r = stop_parse(&stop, c->stop, w)))
		return r;
	if (stop.target > -INFINITY && !c->val_every)
		return why_set(w, EX_USAGE, "--stop target=.. with --val-every 0: nothing would look at the validation loss before the end");
	return 0;
}

/* ---- stop rules ---- */

static int stop_rule(struct stop_rules *s, const char *rule, struct why *w)
{
	if (!strncmp(rule, "loss>", 5))
		return num_float(rule + 5, "--stop: loss", -1e300, 1e300, &s->loss_above, w);
	if (!strncmp(rule, "update=", 7))
		return num_int(rule + 7, "--stop: update", 1, INT64_C(1) << 52, &s->update, w);
	if (!strncmp(rule, "seconds=", 8))
		return num_duration(rule + 8, "--stop: seconds", &s->seconds, w);
	if (!strncmp(rule, "target=", 7))
		return num_float(rule + 7, "--stop: target", -1e300, 1e300, &s->target, w);
	if (!strcmp(rule, "nonfinite"))
		return 0; /* always on */
	return why_set(w, EX_USAGE, "--stop: %.200s: not one of loss>X, update=N, seconds=T, target=X", rule);
}

int stop_parse(struct stop_rules *s, const char *rules, struct why *w)
{
	int r = 0;
	char *copy, *save = NULL, *rule;

	*s = (struct stop_rules){ .loss_above = INFINITY, .seconds = INFINITY, .target = -INFINITY };
	if (!*rules)
		return 0;
	if (*rules == ',' || rules[strlen(rules) - 1] == ',' || strstr(rules, ",,"))
		return why_set(w, EX_USAGE, "--stop: %.200s: a rule is missing beside a comma", rules);
	if (!(copy = strdup(rules)))
		return why_set(w, EX_OSERR, "--stop: no memory");
	for (rule = strtok_r(copy, ",", &save); rule && !r; rule = strtok_r(NULL, ",", &save))
		r = stop_rule(s, rule, w);
	free(copy);
	return r;
}

/* ---- records ---- */

static int from_str(struct config *c, enum option o, const char *s, size_t n, struct why *w)
{
	char *copy;
	int r;

	if (memchr(s, 0, n))
		return why_set(w, EX_DATAERR, "record: %s: holds a NUL byte", infos[o].field);
	if (!(copy = strndup(s, n)))
		return why_set(w, EX_OSERR, "record: %s: no memory", infos[o].field);
	r = config_set(c, o, copy, w);
	free(copy);
	return r;
}

static int from_num(struct config *c, enum option o, double x, struct why *w)
{
	char text[32];

	if (!isfinite(x))
		return why_set(w, EX_DATAERR, "record: %s: not a finite number", infos[o].field);
	num_shortest(x, text);
	return config_set(c, o, text, w);
}

static int from_field(struct config *c, enum option o, const struct view *v, enum field f, struct why *w)
{
	const char *s;
	char text[32];
	size_t n;
	int64_t i;
	double x;

	if (infos[o].type == T_STR && view_str(v, f, &s, &n))
		return from_str(c, o, s, n, w);
	if (infos[o].type == T_NUM && view_num(v, f, &x))
		return from_num(c, o, x, w);
	if (infos[o].type == T_INT && view_int(v, f, &i)) {
		snprintf(text, sizeof text, "%lld", (long long)i);
		return config_set(c, o, text, w);
	}
	return 0;
}

int config_from_view(struct config *c, const struct view *v, struct why *w)
{
	const enum field *fields = v->kind == KIND_run ? run_fields : request_fields;
	int r = 0;

	if (v->kind != KIND_run && v->kind != KIND_request)
		return why_set(w, EX_DATAERR, "record: kind %s: holds no settings of a run", kind_name(v->kind));
	for (int o = 0; o < OPTIONS && !r; o++)
		r = from_field(c, o, v, fields[o], w);
	return r;
}

void config_to_rec(const struct config *c, struct rec *r)
{
	bool all = r->kind == KIND_run;

	for (int o = 0; o < OPTIONS; o++) {
		enum field f = all ? run_fields[o] : request_fields[o];
		if (!all && !config_given(c, o))
			continue;
		if (infos[o].type == T_INT)
			rec_int(r, f, *int_at(c, o));
		else if (infos[o].type == T_NUM)
			rec_num(r, f, *num_at(c, o));
		else if (!all || **str_at(c, o)) /* absent reads back as "", the default of all that can be empty */
			rec_str(r, f, *str_at(c, o));
	}
}
