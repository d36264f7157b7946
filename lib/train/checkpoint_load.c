/* checkpoint_load.c - reading a checkpoint back: every string and tensor must be there,
 * be what its shape says, and be what was in memory when it was saved. */
#include "checkpoint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct checkpoint {
	struct st *st;
	char *path;
	struct config config;
	struct progress progress;
};

static int missing(const struct checkpoint *c, const char *key, struct why *w)
{
	return why_set(w, EX_DATAERR, "resume: %s: metadata %s is missing or malformed", c->path, key);
}

static int read_int(const struct checkpoint *c, const char *key, int64_t *out, struct why *w)
{
	const char *s = st_meta(c->st, key);

	if (!s || num_int(s, key, INT64_MIN, INT64_MAX, out, NULL) != 0)
		return missing(c, key, w);
	return 0;
}

static int read_num(const struct checkpoint *c, const char *key, double *out, struct why *w)
{
	const char *s = st_meta(c->st, key);
	char *end;

	if (!s || !*s)
		return missing(c, key, w);
	*out = strtod(s, &end);
	return *end ? missing(c, key, w) : 0;
}

static int read_id(const struct checkpoint *c, const char *key, char out[ULID_SIZE], struct why *w)
{
	const char *s = st_meta(c->st, key);

	if (!s || !ulid_valid(s))
		return missing(c, key, w);
	snprintf(out, ULID_SIZE, "%s", s);
	return 0;
}

static int read_progress(struct checkpoint *c, struct why *w)
{
	struct progress *p = &c->progress;
	int rc;

	if ((rc = read_id(c, "pilot.progress.run", p->run, w)) != 0 ||
		(rc = read_id(c, "pilot.progress.lineage", p->lineage, w)) != 0)
		return rc;
#define P_INT(name)                                                                                \
	if ((rc = read_int(c, "pilot.progress." #name, &p->name, w)) != 0)                         \
		return rc;                                                                         \
	if (p->name < 0)                                                                           \
		return missing(c, "pilot.progress." #name, w);
#define P_NUM(name)                                                                                \
	if ((rc = read_num(c, "pilot.progress." #name, &p->name, w)) != 0)                         \
		return rc;
	PROGRESS_LIST
#undef P_INT
#undef P_NUM
	return 0;
}

static int read_config(struct checkpoint *c, struct why *w)
{
	char key[64];
	struct why here;

	for (enum option i = 0; i < OPTIONS; i++) {
		const char *value;

		snprintf(key, sizeof key, "pilot.%s", option_info(i)->field);
		if ((value = st_meta(c->st, key)) == NULL)
			return missing(c, key, w);
		if (config_set(&c->config, i, value, &here) != 0)
			return why_set(w, EX_DATAERR, "resume: %s: metadata %s: %s", c->path, key, here.text);
	}
	return 0;
}

static int check_seal(const struct checkpoint *c, struct why *w)
{
	int sealed = st_sealed(c->st, CHECKPOINT_SEAL);

	if (sealed < 0)
		return why_set(w, EX_OSERR, "resume: %s: no memory for a digest", c->path);
	if (!sealed)
		return why_set(w, EX_DATAERR, "resume: %s: the metadata are not those that were saved (" CHECKPOINT_SEAL ")", c->path);
	return 0;
}

static int read_meta(struct checkpoint *c, struct why *w)
{
	const char *format = st_meta(c->st, "pilot.format");
	int64_t named = checkpoint_name_update(strrchr(c->path, '/') ? strrchr(c->path, '/') + 1 : c->path);
	int rc;

	if (!format)
		return why_set(w, EX_DATAERR, "resume: %s: not a checkpoint of pilot's (no metadata pilot.format); "
			"--weights takes weights alone", c->path);
	if (strcmp(format, CHECKPOINT_FORMAT) != 0)
		return why_set(w, EX_DATAERR, "resume: %s: checkpoint format %.20s, this program reads " CHECKPOINT_FORMAT, c->path, format);
	if ((rc = check_seal(c, w)) != 0 || (rc = read_progress(c, w)) != 0 || (rc = read_config(c, w)) != 0)
		return rc;
	if (named >= 0 && named != c->progress.update)
		return why_set(w, EX_DATAERR, "resume: %s: the file holds update %" PRId64 ", its name says otherwise",
			c->path, c->progress.update);
	return 0;
}

int checkpoint_open(struct checkpoint **out, const char *path, struct why *w)
{
	struct checkpoint *c = calloc(1, sizeof *c);
	int rc;

	*out = NULL;
	if (!c || !(c->path = strdup(path))) {
		free(c);
		return why_set(w, EX_OSERR, "resume: %s: no memory", path);
	}
	if (config_init(&c->config) != 0)
		rc = why_set(w, EX_OSERR, "resume: %s: no memory", path);
	else if ((rc = st_open(&c->st, path, w)) == 0)
		rc = read_meta(c, w);
	if (rc)
		checkpoint_close(c);
	else
		*out = c;
	return rc;
}

void checkpoint_close(struct checkpoint *c)
{
	if (!c)
		return;
	st_close(c->st);
	config_free(&c->config);
	free(c->path);
	free(c);
}

const struct config *checkpoint_config(const struct checkpoint *c)
{
	return &c->config;
}

const struct progress *checkpoint_progress(const struct checkpoint *c)
{
	return &c->progress;
}

/* ---- the same data? ---- */

static int same_string(const struct checkpoint *c, const char *key, const char *now, const char *what, struct why *w)
{
	const char *then = st_meta(c->st, key);

	if (!then)
		return missing(c, key, w);
	if (strcmp(then, now) != 0)
		return why_set(w, EX_DATAERR, "resume: %s: %s was \"%s\" when it was saved and is \"%s\" now", c->path, what, then, now);
	return 0;
}

static int same_int(const struct checkpoint *c, const char *key, int64_t now, const char *what, struct why *w)
{
	int64_t then;
	int rc = read_int(c, key, &then, w);

	if (rc == 0 && then != now)
		rc = why_set(w, EX_DATAERR, "resume: %s: %s: %" PRId64 " when it was saved, %" PRId64 " now", c->path, what, then, now);
	return rc;
}

static int same_name(const struct checkpoint *c, int i, const char *now, struct why *w)
{
	struct buf shown = { 0 };
	char key[64], what[64];
	int rc = 0;

	snprintf(key, sizeof key, "pilot.data.name.%d", i);
	snprintf(what, sizeof what, "the name of class %d", i);
	if (text_escape(&shown, now, strlen(now)) || buf_add(&shown, "", 1))
		rc = why_set(w, EX_OSERR, "resume: %s: no memory", c->path);
	else
		rc = same_string(c, key, (char *)shown.p, what, w);
	buf_free(&shown);
	return rc;
}

static int same_names(const struct checkpoint *c, const struct data_facts *d, struct why *w)
{
	int rc = same_int(c, "pilot.data.names", d->names, "class names", w);

	for (int i = 0; i < d->names && !rc; i++)
		rc = same_name(c, i, d->name[i], w);
	return rc;
}

int checkpoint_same_data(const struct checkpoint *c, const struct data_facts *d, struct why *w)
{
	char key[64], what[64];
	int rc;

	if ((rc = same_int(c, "pilot.data.classes", d->classes, "classes", w)) != 0 || (rc = same_names(c, d, w)) != 0)
		return rc;
	rc = same_int(c, "pilot.data.files", d->files, "data files", w);
	for (int i = 0; i < d->files && !rc; i++) {
		snprintf(key, sizeof key, "pilot.data.digest.%d", i);
		snprintf(what, sizeof what, "the digest of data file %d", i + 1);
		rc = same_string(c, key, d->digest[i], what, w);
	}
	/* Validation and test may be cut otherwise now (--val-length); training may not. */
	return rc ? rc : same_int(c, "pilot.data.train_examples", d->count[TRAIN], "training examples", w);
}

/* ---- tensors ---- */

static int same_shape(const struct st_tensor *t, const struct param *p)
{
	if (strcmp(t->dtype, "F32") != 0 || t->dims != p->dims)
		return 0;
	for (int i = 0; i < p->dims; i++)
		if (t->shape[i] != p->shape[i])
			return 0;
	return t->end - t->begin == p->count * (int64_t)sizeof(float);
}

static int read_tensor(struct checkpoint *c, const char *name, const struct param *p, float *dst, struct why *w)
{
	const struct st_tensor *t = st_find(c->st, name);

	if (!t)
		return why_set(w, EX_DATAERR, "resume: %s: tensor %s is missing", c->path, name);
	if (!same_shape(t, p))
		return why_set(w, EX_DATAERR, "resume: %s: tensor %s has another shape or type than the model's", c->path, name);
	return st_read(c->st, t, dst, w);
}

/* Digests of what is in memory now against those of what was in memory at the save. */
static int same_digests(const struct checkpoint *c, const struct model *m, const struct optim *o,
	struct checkpoint_facts *f, struct why *w)
{
	int rc;

	if (weights_digest(m, f->weights_digest) || optimizer_digest(m, o, f->optimizer_digest))
		return why_set(w, EX_OSERR, "resume: %s: no memory for a digest", c->path);
	if ((rc = same_string(c, "pilot.digest.weights", f->weights_digest, "the digest of the weights", w)) != 0)
		return rc;
	return same_string(c, "pilot.digest.optimizer", f->optimizer_digest, "the digest of the optimizer state", w);
}

static int read_states(struct checkpoint *c, const struct param *p, int n, struct optim *o, struct checkpoint_facts *f, struct why *w)
{
	char name[160];
	int rc = 0;

	for (int slot = 0; optim_taken(o) && slot < optim_slots(o); slot++)
		for (int i = 0; i < n && !rc; i++) {
			if (!optim_state(o, i, slot))
				continue;
			checkpoint_state_name(name, o, slot, &p[i]);
			rc = read_tensor(c, name, &p[i], optim_state(o, i, slot), w);
			f->states += !rc;
		}
	return rc;
}

int checkpoint_load(struct checkpoint *c, struct model *m, struct optim *o, struct checkpoint_facts *f, struct why *w)
{
	double began = clock_seconds();
	const char *scalars = st_meta(c->st, "pilot.optimizer.scalars");
	struct param *p;
	int64_t count;
	int n = model_params(m, &p), rc;

	memset(f, 0, sizeof *f);
	snprintf(f->path, sizeof f->path, "%s", c->path);
	if ((rc = read_int(c, "pilot.optimizer.count", &count, w)) != 0)
		return rc;
	if (!scalars)
		return missing(c, "pilot.optimizer.scalars", w);
	for (int i = 0; i < n; i++, f->weights++)
		if ((rc = read_tensor(c, p[i].name, &p[i], p[i].w, w)) != 0)
			return rc;
	if ((rc = read_states(c, p, n, o, f, w)) != 0 || (rc = optim_restore(o, count, scalars, w)) != 0)
		return rc;
	if (st_count(c->st) != f->weights + f->states)
		return why_set(w, EX_DATAERR, "resume: %s: the file holds %d tensors, the run has %d", c->path,
			st_count(c->st), f->weights + f->states);
	if ((rc = same_digests(c, m, o, f, w)) != 0 || (rc = sha_file(c->path, f->digest, &f->bytes, w)) != 0)
		return rc;
	f->seconds = clock_seconds() - began;
	return 0;
}
