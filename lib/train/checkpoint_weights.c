/* checkpoint_weights.c - weights alone, from anybody's safetensors file; and the digests of what
 * is in memory. A lenient load that loads nothing is refused: every tensor must be there,
 * and a tensor that the model has no place for is named. */
#include "checkpoint.h"

#include <stdlib.h>
#include <string.h>

static const char prefix[] = "transformer.";

static const struct st_tensor *find(const struct st *f, const char *name)
{
	const struct st_tensor *t = st_find(f, name);
	char other[128];

	if (t)
		return t;
	if (strncmp(name, prefix, sizeof prefix - 1) == 0)
		return st_find(f, name + sizeof prefix - 1);
	snprintf(other, sizeof other, "%s%s", prefix, name);
	return st_find(f, other);
}

static void shape_text(char out[128], int dims, const int64_t *shape)
{
	int n = 0;

	out[0] = '\0';
	for (int i = 0; i < dims && n < 100; i++)
		n += snprintf(out + n, 128 - n, "%s%lld", i ? "x" : "", (long long)shape[i]);
}

static int check(const char *path, const struct st_tensor *t, const struct param *p, struct why *w)
{
	char theirs[128], ours[128];

	if (!t)
		return why_set(w, EX_DATAERR, "weights: %s: tensor %s is missing", path, p->name);
	if (strcmp(t->dtype, "F32") != 0)
		return why_set(w, EX_DATAERR, "weights: %s: tensor %s is %s; only F32 is read", path, t->name, t->dtype);
	shape_text(theirs, t->dims, t->shape);
	shape_text(ours, p->dims, p->shape);
	if (strcmp(theirs, ours) != 0 || t->end - t->begin != p->count * (int64_t)sizeof(float))
		return why_set(w, EX_DATAERR, "weights: %s: tensor %s is %s, the model's is %s", path, t->name, theirs, ours);
	return 0;
}

static bool ends(const char *s, const char *tail)
{
	size_t n = strlen(s), m = strlen(tail);

	return n >= m && strcmp(s + n - m, tail) == 0;
}

/* Not weights: optimizer state, and the masks that old GPT-2 files carry. */
static bool ignored(const char *name)
{
	return strncmp(name, "optimizer.", 10) == 0 || ends(name, ".attn.bias") || ends(name, ".attn.masked_bias");
}

/* A head stored beside the embedding that it is tied to must be the same numbers. */
static int check_head(struct st *f, const char *path, const struct st_tensor *head, struct why *w)
{
	const struct st_tensor *t = find(f, "wte.weight");
	size_t n = head->end - head->begin;
	void *a = malloc(n), *b = malloc(n);
	int rc = 0;

	if (!a || !b)
		rc = why_set(w, EX_OSERR, "weights: %s: no memory for lm_head.weight", path);
	else if (t && (size_t)(t->end - t->begin) == n && (rc = st_read(f, head, a, w)) == 0 && (rc = st_read(f, t, b, w)) == 0 &&
		memcmp(a, b, n) != 0)
		rc = why_set(w, EX_DATAERR, "weights: %s: lm_head.weight differs from wte.weight; the model ties them", path);
	else if (!rc && (!t || (size_t)(t->end - t->begin) != n))
		rc = why_set(w, EX_DATAERR, "weights: %s: lm_head.weight has another shape than wte.weight; the model ties them", path);
	free(a);
	free(b);
	return rc;
}

static int check_extra(struct st *f, const char *path, const struct param *p, int n, struct why *w)
{
	int rc;

	for (int i = 0; i < st_count(f); i++) {
		const struct st_tensor *t = st_tensor(f, i);
		bool known = ignored(t->name);

		for (int k = 0; k < n && !known; k++)
			known = find(f, p[k].name) == t;
		if (known)
			continue;
		if (strcmp(t->name, "lm_head.weight") != 0)
			return why_set(w, EX_DATAERR, "weights: %s: the model has no tensor %s", path, t->name);
		if ((rc = check_head(f, path, t, w)) != 0)
			return rc;
	}
	return 0;
}

int weights_load(const char *path, struct model *m, int *tensors, char digest[72], struct why *w)
{
	struct param *p;
	struct st *f;
	int n = model_params(m, &p), rc;

	*tensors = 0;
	if ((rc = st_open(&f, path, w)) != 0)
		return rc;
	for (int i = 0; i < n && !rc; i++)
		rc = check(path, find(f, p[i].name), &p[i], w);
	if (!rc)
		rc = check_extra(f, path, p, n, w);
	for (int i = 0; i < n && !rc; i++) {
		rc = st_read(f, find(f, p[i].name), p[i].w, w);
		*tensors += !rc;
	}
	st_close(f);
	return rc ? rc : sha_file(path, digest, NULL, w);
}

/* ---- digests ---- */

static int digest_end(struct sha *s, char out[72])
{
	unsigned char raw[32];
	char hex[65];

	sha_end(s, raw);
	sha_hex(raw, hex);
	snprintf(out, 72, "sha256:%s", hex);
	return 0;
}

int weights_digest(const struct model *m, char out[72])
{
	struct sha *s = sha_new();
	struct param *p;
	int n = model_params(m, &p);

	out[0] = '\0';
	if (!s)
		return -EX_OSERR;
	for (int i = 0; i < n; i++) {
		sha_add(s, p[i].name, strlen(p[i].name) + 1);
		sha_add(s, p[i].w, p[i].count * sizeof(float));
	}
	return digest_end(s, out);
}

int optimizer_digest(const struct model *m, const struct optim *o, char out[72])
{
	struct buf scalars = { 0 };
	struct param *p;
	int n = model_params(m, &p);
	int64_t count = optim_count(o);
	struct sha *s;

	out[0] = '\0';
	if (!optim_taken(o))
		return 0;
	if (optim_scalars(o, &scalars) || (s = sha_new()) == NULL) {
		buf_free(&scalars);
		return -EX_OSERR;
	}
	sha_add(s, &count, sizeof count);
	sha_add(s, scalars.p, scalars.n);
	buf_free(&scalars);
	for (int slot = 0; slot < optim_slots(o); slot++)
		for (int i = 0; i < n; i++)
			if (optim_state(o, i, slot))
				sha_add(s, optim_state(o, i, slot), p[i].count * sizeof(float));
	return digest_end(s, out);
}
