/* identity.c - a run's settings as a list of names and values. */
#include "identity.h"

#include <stdlib.h>
#include <string.h>


/* ---- the list ---- */

static int add(struct identity *id, const char *prefix, const char *name, const char *value, enum identity_need need)
{
	struct identity_item *p = realloc(id->item, (size_t)(id->n + 1) * sizeof *p);
	struct identity_item *i;

	if (!p)
		return -EX_OSERR;
	id->item = p;
	i = &p[id->n];
	*i = (struct identity_item){ .need = need };
	if (asprintf(&i->name, "%s%s%s", prefix, *prefix ? "." : "", name) < 0) {
		i->name = NULL;
		return -EX_OSERR;
	}
	i->value = strdup(value);
	if (!i->value) {
		free(i->name);
		return -EX_OSERR;
	}
	id->n++;
	return 0;
}

void identity_free(struct identity *id)
{
	for (int i = 0; i < id->n; i++) {
		free(id->item[i].name);
		free(id->item[i].value);
	}
	free(id->item);
	*id = (struct identity){ 0 };
}

const char *identity_value(const struct identity *id, const char *name)
{
	for (int i = 0; i < id->n; i++)
		if (strcmp(id->item[i].name, name) == 0)
			return id->item[i].value;
	return NULL;
}

/* ---- values as text ---- */

/* 1e-3 and 0.001 are the same rate. */
static const char *plain(const char *value, char out[32])
{
	struct why w;
	double x;

	if (strlen(value) > 24 || num_float(value, "a value", -1e300, 1e300, &x, &w) < 0)
		return value;
	num_shortest(x, out);
	return out;
}

/* A field of any type; lists are joined by single spaces. False: absent. */
static bool text_of(const struct view *v, enum field f, struct buf *b)
{
	int64_t i;
	double x;
	bool yes, ok = true;
	char num[32];
	const char *s;
	size_t n;

	b->n = 0;
	switch (field_info(f)->type) {
	case T_INT: ok = view_int(v, f, &i) && buf_printf(b, "%lld", (long long)i) == 0; break;
	case T_NUM: ok = view_num(v, f, &x) && (num_shortest(x, num), buf_printf(b, "%s", num)) == 0; break;
	case T_BOOL: ok = view_bool(v, f, &yes) && buf_printf(b, "%s", yes ? "yes" : "no") == 0; break;
	case T_STR: ok = view_str(v, f, &s, &n) && buf_add(b, s, n) == 0; break;
	case T_STRS:
		ok = view_count(v, f) >= 0;
		for (int k = 0; ok && k < view_count(v, f) && view_item_str(v, f, k, &s, &n); k++)
			ok = buf_printf(b, "%s%.*s", k ? " " : "", (int)n, s) == 0;
		break;
	default: ok = false;
	}
	return ok && buf_add(b, "", 1) == 0;
}

/* ---- specs ---- */

static bool is_path(const char *key)
{
	static const char *const paths[] = { "file", "images", "labels", "test-images", "test-labels" };

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (strcmp(key, paths[i]) == 0)
			return true;
	return false;
}

static int add_spec(struct identity *id, const char *name, const char *text)
{
	struct spec s;
	struct why w;
	char num[32];
	int rc;

	if (spec_parse(&s, text, &w) < 0)
		return add(id, "", name, text, IDENTITY_HARD);
	rc = add(id, "", name, s.kind, IDENTITY_HARD);
	for (int i = 0; i < s.n && rc == 0; i++)
		if (!is_path(s.pair[i].key))
			rc = add(id, name, s.pair[i].key, plain(s.pair[i].value, num), IDENTITY_HARD);
	spec_free(&s);
	return rc;
}

/* ---- which fields, and how firmly ---- */

struct line {
	enum field field;
	enum identity_need need;
	bool spec;
};
static const struct line lines[] = {
	{ F_run_trainer, IDENTITY_HARD, false },
	{ F_run_command, IDENTITY_HARD, false },
	{ F_run_env, IDENTITY_HARD, false },
	{ F_run_program_digests, IDENTITY_HARD, false },
	{ F_run_model, IDENTITY_HARD, true },
	{ F_run_data, IDENTITY_HARD, true },
	{ F_run_data_digests, IDENTITY_HARD, false },
	{ F_run_split_rule, IDENTITY_HARD, false },
	{ F_run_train_examples, IDENTITY_HARD, false },
	{ F_run_validation_examples, IDENTITY_HARD, false },
	{ F_run_tokenizer, IDENTITY_HARD, false },
	{ F_run_length, IDENTITY_HARD, false },
	{ F_run_cut_examples, IDENTITY_HARD, false },
	{ F_run_optimizer, IDENTITY_HARD, true },
	{ F_run_schedule, IDENTITY_HARD, true },
	{ F_run_clip, IDENTITY_HARD, false },
	{ F_run_dropout, IDENTITY_HARD, false },
	{ F_run_freeze, IDENTITY_HARD, false },
	{ F_run_micro_batch, IDENTITY_HARD, false },
	{ F_run_accum, IDENTITY_HARD, false },
	{ F_run_replicas, IDENTITY_HARD, false },
	{ F_run_last_window, IDENTITY_HARD, false },
	{ F_run_precision, IDENTITY_HARD, false },
	{ F_run_planned_updates, IDENTITY_HARD, false },
	{ F_run_overfit, IDENTITY_HARD, false },
	{ F_run_val_length, IDENTITY_HARD, false },
	{ F_run_val_examples, IDENTITY_HARD, false },
	{ F_run_revision, IDENTITY_HARD, false },
	{ F_run_dirty, IDENTITY_HARD, false },
	{ F_run_version, IDENTITY_HARD, false },
	{ F_run_parameters, IDENTITY_TOLD, false },
	{ F_run_val_every, IDENTITY_TOLD, false },
	{ F_run_stop, IDENTITY_TOLD, false },
	{ F_run_memory_bytes, IDENTITY_TOLD, false },
	{ F_run_devices, IDENTITY_TOLD, false },
	{ F_run_driver, IDENTITY_TOLD, false },
	{ F_run_host, IDENTITY_TOLD, false },
	{ F_run_cpu, IDENTITY_TOLD, false },
	{ F_run_blas, IDENTITY_TOLD, false },
	{ F_run_seed, IDENTITY_SELF, false },
};

/* Digest of the weights it started from; of fresh ones it is the seed's. */
static int add_weights(struct identity *id, const struct book_run *r, struct buf *b)
{
	if (view_is(&r->run, F_run_weights_provenance, "initialised"))
		return add(id, "", "weights", "initialised", IDENTITY_HARD);
	return text_of(&r->run, F_run_weights_digest, b) ? add(id, "", "weights", (char *)b->p, IDENTITY_HARD) : 0;
}

/* A command's own placeholders: {lr} is a setting like any other. */
static int add_values(struct identity *id, const struct book_run *r)
{
	char name[64], value[256], num[32];
	const char *s, *equals;
	size_t n;
	int rc = 0;

	for (int i = 0; rc == 0 && view_item_str(&r->run, F_run_values, i, &s, &n); i++) {
		equals = memchr(s, '=', n);
		if (!equals)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)(equals - s), s);
		snprintf(value, sizeof value, "%.*s", (int)(n - (size_t)(equals + 1 - s)), equals + 1);
		rc = add(id, "", name, plain(value, num), IDENTITY_HARD);
	}
	return rc;
}

/* What a command said of its model and optimizer, where it gave no settings to read. */
static int add_said(struct identity *id, const struct book_run *r)
{
	char text[160];
	int64_t n;
	int rc = 0;

	if (!identity_value(id, "model") && book_text(r, F_model_name, text, sizeof text))
		rc = add(id, "", "model", text, IDENTITY_HARD);
	if (rc == 0 && book_int(r, F_model_parameters, &n)) {
		snprintf(text, sizeof text, "%lld", (long long)n);
		rc = add(id, "model", "parameters", text, IDENTITY_HARD);
	}
	if (rc == 0 && book_text(r, F_model_precision, text, sizeof text) && !identity_value(id, "precision"))
		rc = add(id, "", "precision", text, IDENTITY_HARD);
	if (rc == 0 && !identity_value(id, "optimizer") && book_text(r, F_optimizer_name, text, sizeof text))
		rc = add(id, "", "optimizer", text, IDENTITY_HARD);
	return rc;
}

int identity_of(const struct book_run *r, struct identity *id)
{
	struct buf b = { 0 };
	int rc = 0;

	*id = (struct identity){ 0 };
	for (size_t i = 0; r->run.kind == KIND_run && i < sizeof lines / sizeof *lines && rc == 0; i++) {
		const struct line *l = &lines[i];

		if (!text_of(&r->run, l->field, &b))
			continue;
		if (l->spec)
			rc = add_spec(id, field_info(l->field)->name, (char *)b.p);
		else
			rc = add(id, "", field_info(l->field)->name, (char *)b.p, l->need);
	}
	if (rc == 0 && r->run.kind == KIND_run)
		rc = add_weights(id, r, &b);
	if (rc == 0 && r->run.kind == KIND_run)
		rc = add_values(id, r);
	if (rc == 0)
		rc = add_said(id, r);
	buf_free(&b);
	if (rc)
		identity_free(id);
	return rc;
}

/* ---- words of people ---- */

const char *identity_name(const struct identity *id, const char *word)
{
	char name[64];
	size_t n = strlen(word);

	for (enum option o = 0; n == 1 && o < OPTIONS; o++)
		if (option_info(o)->letter == *word)
			word = option_info(o)->field;
	snprintf(name, sizeof name, "%s", word);
	for (char *p = name; *p; p++)
		if (*p == '-')
			*p = '_';
	n = strlen(name);
	for (int i = 0; i < id->n; i++)
		if (strcmp(id->item[i].name, name) == 0 || strcmp(id->item[i].name, word) == 0)
			return id->item[i].name;
	for (int i = 0; i < id->n; i++) {
		const char *dot = strrchr(id->item[i].name, '.');

		if (dot && (strcmp(dot + 1, name) == 0 || strcmp(dot + 1, word) == 0))
			return id->item[i].name;
	}
	return NULL;
}
