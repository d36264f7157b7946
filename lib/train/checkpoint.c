/* checkpoint.c - saving: weights under their own names, optimizer state beside them, and
 * all else that a run needs to go on as strings in the file's metadata. */
#include "checkpoint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void checkpoint_state_name(char out[160], const struct optim *o, int slot, const struct param *p)
{
	snprintf(out, 160, "optimizer.%s.%s", optim_slot_name(o, slot), p->name);
}

static int meta_int(struct st_out *o, const char *key, int64_t v)
{
	char text[32];

	snprintf(text, sizeof text, "%" PRId64, v);
	return st_out_meta(o, key, text);
}

/* Hexadecimal, so that it reads back bit by bit. */
static int meta_num(struct st_out *o, const char *key, double v)
{
	char text[64];

	snprintf(text, sizeof text, "%a", v);
	return st_out_meta(o, key, text);
}

static int meta_config(struct st_out *o, const struct config *c)
{
	struct buf value = { 0 };
	char key[64];
	int rc = 0;

	for (enum option i = 0; i < OPTIONS && !rc; i++) {
		value.n = 0;
		snprintf(key, sizeof key, "pilot.%s", option_info(i)->field);
		if ((rc = config_get(c, i, &value)) == 0 && (rc = buf_add(&value, "", 1)) == 0)
			rc = st_out_meta(o, key, (char *)value.p);
	}
	buf_free(&value);
	return rc;
}

static int meta_progress(struct st_out *o, const struct progress *p)
{
	int rc;

	if ((rc = st_out_meta(o, "pilot.progress.run", p->run)) != 0)
		return rc;
	if ((rc = st_out_meta(o, "pilot.progress.lineage", p->lineage)) != 0)
		return rc;
#define P_INT(name)                                                                                \
	if ((rc = meta_int(o, "pilot.progress." #name, p->name)) != 0)                             \
		return rc;
#define P_NUM(name)                                                                                \
	if ((rc = meta_num(o, "pilot.progress." #name, p->name)) != 0)                             \
		return rc;
	PROGRESS_LIST
#undef P_INT
#undef P_NUM
	return 0;
}

/* Names from data files may be any bytes; JSON strings may not. The same escape is compared on resume. */
static int meta_escaped(struct st_out *o, const char *key, const char *value)
{
	struct buf shown = { 0 };
	int rc = text_escape(&shown, value, strlen(value));

	if (!rc)
		rc = buf_add(&shown, "", 1);
	if (!rc)
		rc = st_out_meta(o, key, (char *)shown.p);
	buf_free(&shown);
	return rc;
}

static int meta_data(struct st_out *o, const struct data_facts *d)
{
	char key[64];
	int rc = meta_int(o, "pilot.data.classes", d->classes);

	for (int i = 0; i < SPLITS && !rc; i++) {
		snprintf(key, sizeof key, "pilot.data.%s_examples", split_name(i));
		rc = meta_int(o, key, d->count[i]);
	}
	if (!rc)
		rc = meta_int(o, "pilot.data.names", d->names);
	for (int i = 0; i < d->names && !rc; i++) {
		snprintf(key, sizeof key, "pilot.data.name.%d", i);
		rc = meta_escaped(o, key, d->name[i]);
	}
	if (!rc)
		rc = meta_int(o, "pilot.data.files", d->files);
	for (int i = 0; i < d->files && !rc; i++) {
		snprintf(key, sizeof key, "pilot.data.digest.%d", i);
		if ((rc = st_out_meta(o, key, d->digest[i])) != 0)
			break;
		snprintf(key, sizeof key, "pilot.data.provenance.%d", i);
		rc = meta_escaped(o, key, d->provenance[i]);
	}
	return rc;
}

static int meta_optim(struct st_out *o, const struct optim *optim)
{
	struct buf scalars = { 0 };
	int rc = meta_int(o, "pilot.optimizer.count", optim_count(optim));

	if (!rc)
		rc = optim_scalars(optim, &scalars);
	if (!rc)
		rc = buf_add(&scalars, "", 1);
	if (!rc)
		rc = st_out_meta(o, "pilot.optimizer.scalars", (char *)scalars.p);
	buf_free(&scalars);
	return rc;
}

static int declare(struct st_out *o, const struct model *m, const struct optim *optim, struct checkpoint_facts *f)
{
	struct param *p;
	char name[160];
	int n = model_params(m, &p), rc = 0;

	f->weights = f->states = 0;
	for (int i = 0; i < n && !rc; i++, f->weights++)
		rc = st_out_declare(o, p[i].name, "F32", p[i].dims, p[i].shape);
	for (int slot = 0; optim_taken(optim) && slot < optim_slots(optim); slot++)
		for (int i = 0; i < n && !rc; i++) {
			if (!optim_state(optim, i, slot))
				continue;
			checkpoint_state_name(name, optim, slot, &p[i]);
			rc = st_out_declare(o, name, "F32", p[i].dims, p[i].shape);
			f->states++;
		}
	return rc;
}

static int put(struct st_out *o, const struct model *m, const struct optim *optim, struct why *w)
{
	struct param *p;
	int n = model_params(m, &p), rc = 0;

	for (int i = 0; i < n && !rc; i++)
		rc = st_out_put(o, p[i].w, w);
	for (int slot = 0; optim_taken(optim) && slot < optim_slots(optim); slot++)
		for (int i = 0; i < n && !rc; i++)
			if (optim_state(optim, i, slot))
				rc = st_out_put(o, optim_state(optim, i, slot), w);
	return rc;
}

static int meta_all(struct st_out *o, const struct config *c, const struct progress *p, const struct data_facts *data,
	const struct optim *optim, const struct checkpoint_facts *f)
{
	int rc;

	if ((rc = st_out_meta(o, "format", "pt")) != 0 ||
		(rc = st_out_meta(o, "pilot.format", CHECKPOINT_FORMAT)) != 0 ||
		(rc = st_out_meta(o, "pilot.version", PILOT_VERSION)) != 0 ||
		(rc = st_out_meta(o, "pilot.digest.weights", f->weights_digest)) != 0 ||
		(rc = st_out_meta(o, "pilot.digest.optimizer", f->optimizer_digest)) != 0)
		return rc;
	if ((rc = meta_config(o, c)) != 0 || (rc = meta_progress(o, p)) != 0 || (rc = meta_optim(o, optim)) != 0)
		return rc;
	if ((rc = meta_data(o, data)) != 0)
		return rc;
	return st_out_seal(o, CHECKPOINT_SEAL);
}

/* Absolute, so that the save record means the same in every folder. */
static int save_path(const char *dir, int64_t update, char path[4096], struct why *w)
{
	char *absolute = realpath(dir, NULL);
	int n;

	if (!absolute)
		return why_errno(w, EX_IOERR, "save: %s", dir);
	n = snprintf(path, 4096, "%s/update-%09" PRId64 ".safetensors", absolute, update);
	free(absolute);
	return n < 4096 ? 0 : why_set(w, EX_USAGE, "save: %s: the folder's name is too long", dir);
}

int checkpoint_save(const char *dir, int64_t keep, const struct config *c, const struct progress *p,
	const struct data_facts *data, const struct model *m, const struct optim *o, struct checkpoint_facts *f, struct why *w)
{
	double began = clock_seconds();
	struct st_out *out = NULL;
	int rc;

	memset(f, 0, sizeof *f);
	if ((rc = save_path(dir, p->update, f->path, w)) != 0)
		return rc;
	if (weights_digest(m, f->weights_digest) || optimizer_digest(m, o, f->optimizer_digest))
		return why_set(w, EX_OSERR, "save: %s: no memory for a digest", f->path);
	if ((rc = st_out_new(&out, f->path, w)) != 0)
		return rc;
	if (declare(out, m, o, f) || meta_all(out, c, p, data, o, f)) {
		st_out_abandon(out);
		return why_set(w, EX_OSERR, "save: %s: no memory for its header", f->path);
	}
	if ((rc = put(out, m, o, w)) != 0) {
		st_out_abandon(out);
		return rc;
	}
	if ((rc = st_out_commit(out, f->digest, &f->bytes, w)) != 0)
		return rc;
	if (keep > 0)
		checkpoint_prune(dir, keep);
	f->seconds = clock_seconds() - began;
	return 0;
}
