/* plan.c - the arms of a comparison, from what a person names. */
#include "plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a name means ---- */

static const struct {
	enum option o;
	const char *keys;
} spec_keys[] = {
	{ O_optimizer, " lr weight_decay decay momentum beta1 beta2 eps momentum_decay " },
	{ O_schedule, " warmup floor " },
	{ O_model, " layers width heads context vocab tied hidden activation " },
	{ O_data, " digits split-seed test " },
};

static enum option option_of(const char *name)
{
	char field[48];

	for (int o = 0; o < OPTIONS; o++) {
		const struct option_info *i = option_info((enum option)o);

		snprintf(field, sizeof field, "%s", i->field);
		if (strcmp(name, i->option) == 0 || strcmp(name, field) == 0 || (name[0] == i->letter && !name[1]))
			return (enum option)o;
	}
	return OPTIONS;
}

static bool own_placeholder(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return n && !name[n] && strcmp(name, "secret");
}

static int meaning(struct plan_factor *f, bool command, struct why *w)
{
	char word[64];

	f->option = option_of(f->name);
	snprintf(f->setting, sizeof f->setting, "%s", f->option < OPTIONS ? option_info((enum option)f->option)->field : f->name);
	if (f->option < OPTIONS) {
		if (f->option == O_seed)
			return why_set(w, EX_USAGE, "plan: %.40s: seeds are --seeds; they are no factor", f->name);
		if (f->option == O_save || f->option == O_resume)
			return why_set(w, EX_USAGE, "plan: %.40s: is no setting to compare", f->name);
		return 0;
	}
	if (command)
		return own_placeholder(f->name) ? 0 : why_set(w, EX_USAGE, "plan: %.40s: not the name of a placeholder (letters, digits, _)", f->name);
	snprintf(word, sizeof word, " %s ", f->name);
	for (size_t i = 0; i < sizeof spec_keys / sizeof *spec_keys; i++)
		if (strstr(spec_keys[i].keys, word)) {
			f->option = spec_keys[i].o;
			snprintf(f->key, sizeof f->key, "%s", f->name);
			snprintf(f->setting, sizeof f->setting, "%s.%s", option_info(spec_keys[i].o)->field, f->name);
			return 0;
		}
	return why_set(w, EX_USAGE, "plan: %.40s: no option of train-step, and no key of --optimizer, --schedule, --model or --data (--command: a placeholder of a command's own)", f->name);
}

/* ---- reading "name=v1,v2" ---- */

/* Two names of one option (b, micro-batch), or a spec beside a key of its own. */
static const struct plan_factor *same_setting(const struct plan *p, const struct plan_factor *f)
{
	for (int i = 0; i < p->factors; i++) {
		const struct plan_factor *g = &p->factor[i];

		if (f->option < OPTIONS && g->option == f->option && (strcmp(g->key, f->key) == 0 || !*g->key || !*f->key))
			return g;
	}
	return NULL;
}

static struct plan_factor *factor_named(struct plan *p, const char *name)
{
	for (int i = 0; i < p->factors; i++)
		if (strcmp(p->factor[i].name, name) == 0)
			return &p->factor[i];
	return NULL;
}

static int add_value(struct plan_factor *f, const char *s, size_t n, struct why *w)
{
	if (!n)
		return why_set(w, EX_USAGE, "plan: %.40s: a value is missing beside a comma", f->name);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
			return why_set(w, EX_USAGE, "plan: %.40s: a control character in a value", f->name);
	if (f->values == PLAN_VALUES)
		return why_set(w, EX_USAGE, "plan: %.40s: more than %d values", f->name, PLAN_VALUES);
	f->value[f->values] = strndup(s, n);
	return f->value[f->values] ? (f->values++, 0) : why_set(w, EX_OSERR, "plan: out of memory");
}

/* The factor that "name=..." begins with, made if it is new; *rest its values. */
static int read_name(struct plan *p, const struct plan_settings *s, const char *option, const char *text, size_t n, struct plan_factor **f, const char **rest, struct why *w)
{
	const char *equals = memchr(text, '=', n);
	char name[48];
	int rc;

	if (!equals || equals == text || (size_t)(equals - text) >= sizeof name)
		return why_set(w, EX_USAGE, "--%s: %.*s: not NAME=VALUE", option, n > 80 ? 80 : (int)n, text);
	snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
	*rest = equals + 1;
	*f = factor_named(p, name);
	if (*f)
		return 0;
	if (p->factors == PLAN_FACTORS)
		return why_set(w, EX_USAGE, "--%s: more than %d settings that differ", option, PLAN_FACTORS);
	*f = &p->factor[p->factors];
	**f = (struct plan_factor){ 0 };
	snprintf((*f)->name, sizeof (*f)->name, "%s", name);
	rc = meaning(*f, s->command, w);
	if (rc == 0 && same_setting(p, *f))
		rc = why_set(w, EX_USAGE, "--%s: %.40s: is the setting that %.40s names already", option, (*f)->name, same_setting(p, *f)->name);
	if (rc == 0)
		p->factors++;
	return rc;
}

static int read_list(struct plan_factor *f, const char *list, size_t n, struct why *w)
{
	const char *end = list + n;
	int rc = 0;

	while (rc == 0) {
		size_t k = strcspn(list, ",;");

		if (k > (size_t)(end - list))
			k = (size_t)(end - list);
		rc = add_value(f, list, k, w);
		if (list + k >= end)
			break;
		list += k + 1;
	}
	return rc;
}

/* What the control has where it was not named: the setting of every run. */
static int own_value(const struct plan_settings *s, struct plan_factor *f, struct why *w)
{
	struct buf b = { 0 };
	struct spec spec;
	const char *v = NULL;
	int rc;

	if (f->option == OPTIONS)
		return why_set(w, EX_USAGE, "plan: %.40s: what has the control? --control %.40s=VALUE", f->name, f->name);
	rc = config_get(s->config, (enum option)f->option, &b) < 0 || buf_add(&b, "", 1) < 0 ? why_set(w, EX_OSERR, "plan: out of memory") : 0;
	if (rc == 0 && *f->key) {
		rc = spec_parse(&spec, (char *)b.p, w);
		for (int i = 0; rc == 0 && i < spec.n; i++)
			if (strcmp(spec.pair[i].key, f->key) == 0)
				v = spec.pair[i].value;
		if (rc == 0 && !v)
			rc = why_set(w, EX_USAGE, "plan: %.40s: --%s does not name it: what has the control? --control %.40s=VALUE", f->name, option_info((enum option)f->option)->option, f->name);
		if (rc == 0)
			rc = add_value(f, v, strlen(v), w);
		spec_free(&spec);
	} else if (rc == 0) {
		rc = add_value(f, (char *)b.p, b.n - 1, w);
	}
	buf_free(&b);
	return rc;
}

static int read_control(struct plan *p, const struct plan_settings *s, struct why *w)
{
	const char *text = s->control, *rest;
	struct plan_factor *f;
	int rc = 0;

	while (text && *text && rc == 0) {
		size_t n = strcspn(text, ",;");

		rc = read_name(p, s, "control", text, n, &f, &rest, w);
		if (rc == 0 && f->values)
			rc = why_set(w, EX_USAGE, "--control: %.40s: named twice", f->name);
		if (rc == 0)
			rc = add_value(f, rest, (size_t)(text + n - rest), w);
		text += n + (text[n] != '\0');
	}
	return rc;
}

static int read_vary(struct plan *p, const struct plan_settings *s, struct why *w)
{
	const char *rest;
	struct plan_factor *f;
	int rc = 0;

	for (int i = 0; rc == 0 && i < s->varies; i++) {
		rc = read_name(p, s, "vary", s->vary[i], strlen(s->vary[i]), &f, &rest, w);
		if (rc == 0 && !f->values)
			rc = own_value(s, f, w);
		if (rc == 0)
			rc = read_list(f, rest, strlen(rest), w);
	}
	return rc;
}

static int read_cross(struct plan *p, const struct plan_settings *s, struct why *w)
{
	const char *text = s->cross, *rest;
	struct plan_factor *f;
	int rc = 0;

	while (text && *text && rc == 0) {
		size_t n = strcspn(text, ";");
		int had;

		rc = read_name(p, s, "cross", text, n, &f, &rest, w);
		had = rc == 0 ? f->values : 0;
		if (rc == 0)
			rc = read_list(f, rest, (size_t)(text + n - rest), w);
		/* the control's value may stand among those crossed */
		for (int i = had; rc == 0 && had && i < f->values; i++)
			if (num_same(f->value[i], f->value[0])) {
				free(f->value[i]);
				memmove(f->value + i, f->value + i + 1, (size_t)(--f->values - i) * sizeof *f->value);
			}
		text += n + (text[n] != '\0');
	}
	return rc;
}

/* ---- arms ---- */

/* A spec with one key changed, or added. */
static int with_key(const char *spec, const char *key, const char *value, struct buf *out, struct why *w)
{
	struct spec s;
	bool there = false;
	int rc = spec_parse(&s, spec, w);

	if (rc < 0)
		return rc;
	out->n = 0;
	rc = buf_printf(out, "%s", s.kind);
	for (int i = 0; rc == 0 && i < s.n; i++) {
		bool this = strcmp(s.pair[i].key, key) == 0;

		rc = buf_printf(out, "%c%s=", i ? ',' : ':', s.pair[i].key);
		for (const char *c = this ? value : s.pair[i].value; rc == 0 && *c; c++)
			rc = buf_printf(out, "%s%c", *c == ',' || *c == '\\' ? "\\" : "", *c);
		there |= this;
	}
	if (rc == 0 && !there)
		rc = buf_printf(out, "%c%s=%s", s.n ? ',' : ':', key, value);
	spec_free(&s);
	return rc < 0 || buf_add(out, "", 1) < 0 ? why_set(w, EX_OSERR, "plan: out of memory") : 0;
}

static int apply(struct plan_arm *a, const struct plan_factor *f, const char *value, struct why *w)
{
	struct buf spec = { 0 }, text = { 0 };
	int rc = 0;

	if (f->option == OPTIONS)
		return 0;
	if (!*f->key)
		return config_set(&a->config, (enum option)f->option, value, w);
	if (config_get(&a->config, (enum option)f->option, &spec) < 0 || buf_add(&spec, "", 1) < 0)
		rc = why_set(w, EX_OSERR, "plan: out of memory");
	if (rc == 0)
		rc = with_key((char *)spec.p, f->key, value, &text, w);
	if (rc == 0)
		rc = config_set(&a->config, (enum option)f->option, (char *)text.p, w);
	buf_free(&spec);
	buf_free(&text);
	return rc;
}

static bool same_arm(const struct plan *p, const struct plan_arm *a, const struct plan_arm *b)
{
	for (int i = 0; i < p->factors; i++)
		if (!num_same(p->factor[i].value[a->value[i]], p->factor[i].value[b->value[i]]))
			return false;
	return true;
}

static int add_arm(struct plan *p, const struct plan_settings *s, const int *value, struct why *w)
{
	struct plan_arm *a = realloc(p->arm, (size_t)(p->arms + 1) * sizeof *a);
	size_t n = 0;
	int rc = 0;

	if (!a)
		return why_set(w, EX_OSERR, "plan: out of memory");
	p->arm = a;
	a = &p->arm[p->arms];
	*a = (struct plan_arm){ 0 };
	if (config_copy(&a->config, s->config) < 0)
		return why_set(w, EX_OSERR, "plan: out of memory");
	p->arms++;
	for (int i = 0; rc == 0 && i < p->factors; i++) {
		const char *v = p->factor[i].value[value[i]];

		a->value[i] = value[i];
		if (n < sizeof a->name)
			n += (size_t)snprintf(a->name + n, sizeof a->name - n, "%s%s=%s", i ? "," : "", p->factor[i].name, v);
		rc = apply(a, &p->factor[i], v, w);
	}
	if (rc == 0 && n >= sizeof a->name)
		rc = why_set(w, EX_USAGE, "plan: an arm's name is longer than %d letters", (int)sizeof a->name - 1);
	if (rc == 0 && !s->command)
		rc = config_check(&a->config, w);
	for (int i = 0; rc == 0 && i < p->arms - 1; i++)
		if (same_arm(p, &p->arm[i], a))
			rc = why_set(w, EX_USAGE, "plan: %.120s: two arms are the same", a->name);
	return rc;
}

static int one_at_a_time(struct plan *p, const struct plan_settings *s, struct why *w)
{
	int value[PLAN_FACTORS] = { 0 }, rc = add_arm(p, s, value, w);

	for (int i = 0; rc == 0 && i < p->factors; i++) {
		for (int k = 1; rc == 0 && k < p->factor[i].values; k++) {
			value[i] = k;
			rc = add_arm(p, s, value, w);
		}
		value[i] = 0;
	}
	return rc;
}

static int every_combination(struct plan *p, const struct plan_settings *s, struct why *w)
{
	int value[PLAN_FACTORS] = { 0 }, rc = 0, i;

	do {
		if (p->arms == PLAN_ARMS)
			return why_set(w, EX_USAGE, "--cross: more than %d arms", PLAN_ARMS);
		rc = add_arm(p, s, value, w);
		for (i = p->factors - 1; i >= 0 && ++value[i] == p->factor[i].values; i--)
			value[i] = 0;
	} while (rc == 0 && i >= 0);
	return rc;
}

/* ---- seeds and the budget ---- */

static int read_seeds(const char *option, const char *text, int64_t *seed, int *n, struct why *w)
{
	int rc = 0;

	*n = 0;
	if (!strchr(text, ',')) {
		int64_t count;

		rc = num_int(text, option, 1, PLAN_SEEDS, &count, w);
		for (; rc == 0 && *n < count; (*n)++)
			seed[*n] = *n + 1;
		return rc;
	}
	while (rc == 0) {
		char word[32];
		size_t k = strcspn(text, ",");

		if (*n == PLAN_SEEDS)
			return why_set(w, EX_USAGE, "%s: more than %d seeds", option, PLAN_SEEDS);
		snprintf(word, sizeof word, "%.*s", k > 31 ? 31 : (int)k, text);
		rc = num_int(word, option, 0, INT64_MAX, &seed[*n], w);
		for (int i = 0; rc == 0 && i < *n; i++)
			if (seed[i] == seed[*n])
				rc = why_set(w, EX_USAGE, "%s: %s: named twice", option, word);
		++*n;
		if (!text[k])
			break;
		text += k + 1;
	}
	return rc;
}

static int take_seeds(struct plan *p, const struct plan_settings *s, struct why *w)
{
	int rc = read_seeds("--seeds", s->seeds ? s->seeds : "1", p->seed, &p->seeds, w);

	if (rc == 0)
		rc = read_seeds("--control-seeds", s->control_seeds ? s->control_seeds : s->seeds ? s->seeds : "1", p->control_seed, &p->control_seeds, w);
	for (int i = 0; rc == 0 && i < p->seeds; i++) {
		bool shared = false;

		for (int k = 0; k < p->control_seeds; k++)
			shared |= p->control_seed[k] == p->seed[i];
		if (!shared && !s->unpaired)
			rc = why_set(w, EX_USAGE, "--control-seeds: seed %lld of the variants is not among them, so there is no pair (--unpaired: there need be none)", (long long)p->seed[i]);
	}
	return rc;
}

static int take_budget(struct plan *p, const struct plan_settings *s, struct why *w)
{
	const struct config *c = s->config;

	p->budget = config_given(c, O_examples) ? "examples" : config_given(c, O_epochs) ? "epochs" : config_given(c, O_updates) ? "updates" : NULL;
	if (!p->budget)
		return why_set(w, EX_USAGE, "plan: no budget: the same -n, --examples or --epochs for every run is what makes it a comparison");
	p->amount = *p->budget == 'u' ? (double)c->updates : p->budget[1] == 'x' ? (double)c->examples : c->epochs;
	return 0;
}

/* Whether a spec that the user named says something of a factor's key; into value. */
static bool named_in_spec(const struct config *c, const struct plan_factor *f, char value[128])
{
	bool found = false;
	struct buf b = { 0 };
	struct spec spec;
	struct why w;

	if (config_given(c, (enum option)f->option) && config_get(c, (enum option)f->option, &b) == 0 && buf_add(&b, "", 1) == 0 && spec_parse(&spec, (char *)b.p, &w) == 0) {
		for (int i = 0; i < spec.n; i++)
			if (strcmp(spec.pair[i].key, f->key) == 0) {
				snprintf(value, 128, "%s", spec.pair[i].value);
				found = true;
			}
		spec_free(&spec);
	}
	buf_free(&b);
	return found;
}

static int check_factors(const struct plan *p, const struct plan_settings *s, struct why *w)
{
	int variants = 0;

	for (int i = 0; i < p->factors; i++) {
		const struct plan_factor *f = &p->factor[i];

		variants += f->values - 1;
		if (f->option < OPTIONS && !*f->key && config_given(s->config, (enum option)f->option))
			return why_set(w, EX_USAGE, "plan: %.40s: both set for every run and to be compared", f->name);
	}
	for (int i = 0; i < p->factors; i++) {
		char said[128];

		if (*p->factor[i].key && s->control && named_in_spec(s->config, &p->factor[i], said) && !num_same(said, p->factor[i].value[0]))
			return why_set(w, EX_USAGE, "plan: %.40s: --%s sets it for every run, and --control otherwise", p->factor[i].name, option_info((enum option)p->factor[i].option)->option);
	}
	return variants ? 0 : why_set(w, EX_USAGE, "plan: nothing varies: --vary NAME=VALUE,... or --cross 'NAME=VALUE,...;NAME=VALUE,...'");
}

int plan_make(const struct plan_settings *s, struct plan *p, struct why *w)
{
	int rc;

	*p = (struct plan){ 0 };
	ulid_new(p->id);
	rc = s->cross && s->varies ? why_set(w, EX_USAGE, "plan: --vary with --cross: one setting at a time, or every combination?") : 0;
	if (rc == 0)
		rc = read_control(p, s, w);
	if (rc == 0)
		rc = s->cross ? read_cross(p, s, w) : read_vary(p, s, w);
	if (rc == 0)
		rc = check_factors(p, s, w);
	if (rc == 0)
		rc = take_budget(p, s, w);
	if (rc == 0)
		rc = take_seeds(p, s, w);
	if (rc == 0)
		rc = s->cross ? every_combination(p, s, w) : one_at_a_time(p, s, w);
	if (rc < 0)
		plan_free(p);
	return rc;
}

void plan_free(struct plan *p)
{
	for (int i = 0; i < p->factors; i++)
		for (int k = 0; k < p->factor[i].values; k++)
			free(p->factor[i].value[k]);
	for (int i = 0; i < p->arms; i++)
		config_free(&p->arm[i].config);
	free(p->arm);
	*p = (struct plan){ 0 };
}
