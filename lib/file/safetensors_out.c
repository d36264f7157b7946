/* safetensors_out.c - writing safetensors: the header first, from what was declared, then each
 * tensor's bytes in that order; digested on the way, and on disk whole or not at all. */
#include "safetensors.h"

#include <stdlib.h>
#include <string.h>

struct st_out {
	struct whole *file;
	struct sha *sha;
	json_t *header, *meta; /* meta belongs to header */
	int64_t *end;          /* of each declared tensor in the data part */
	int declared, put, cap;
	bool begun;
	int64_t written;
	char path[301];
};

int st_out_new(struct st_out **out, const char *path, struct why *w)
{
	struct st_out *o = calloc(1, sizeof *o);
	int r;

	*out = NULL;
	if (!o)
		return why_set(w, EX_OSERR, "writing: %.300s: no memory", path);
	snprintf(o->path, sizeof o->path, "%s", path);
	o->sha = sha_new();
	o->header = json_object();
	o->meta = json_object();
	if (!o->sha || !o->header || json_object_set(o->header, "__metadata__", o->meta) || json_object_set_new(o->meta, "format", json_string("pt")))
		r = why_set(w, EX_OSERR, "writing: %s: no memory", o->path);
	else
		r = whole_begin(&o->file, path, w);
	if (r) {
		st_out_abandon(o);
		return r;
	}
	*out = o;
	return 0;
}

/* JSON strings are UTF-8: other bytes are refused, not changed. */
int st_out_meta(struct st_out *o, const char *key, const char *value)
{
	json_t *s = json_string(value);

	if (o->begun || !s)
		return s ? (json_decref(s), -EX_SOFTWARE) : -EX_DATAERR;
	return json_object_set_new(o->meta, key, s) ? -EX_DATAERR : 0;
}

int st_out_seal(struct st_out *o, const char *key)
{
	char digest[72];
	int r = st_seal_of(o->meta, key, digest);

	return r ? r : st_out_meta(o, key, digest);
}

static int room(struct st_out *o)
{
	int cap = o->cap ? o->cap * 2 : 64;
	int64_t *end;

	if (o->declared < o->cap)
		return 0;
	if (!(end = realloc(o->end, (size_t)cap * sizeof *end)))
		return -EX_OSERR;
	o->end = end;
	o->cap = cap;
	return 0;
}

int st_out_declare(struct st_out *o, const char *name, const char *dtype, int dims, const int64_t *shape)
{
	int64_t begin = o->declared ? o->end[o->declared - 1] : 0, end, bytes;
	json_t *list, *t;

	if (o->begun || dims > ST_MAX_DIMS || st_bytes(dtype, dims, shape, &bytes) || __builtin_add_overflow(begin, bytes, &end))
		return -EX_SOFTWARE;
	if (json_object_get(o->header, name)) /* __metadata__ among them */
		return -EX_SOFTWARE;
	if (room(o) || !(list = json_array()))
		return -EX_OSERR;
	for (int i = 0; i < dims; i++)
		if (json_array_append_new(list, json_integer(shape[i]))) {
			json_decref(list);
			return -EX_OSERR;
		}
	t = json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype, "shape", list, "data_offsets", (json_int_t)begin, (json_int_t)end);
	if (!t || json_object_set_new(o->header, name, t))
		return -EX_DATAERR;
	o->end[o->declared++] = end;
	return 0;
}

static int write_bytes(struct st_out *o, const void *p, size_t n, struct why *w)
{
	if (io_write(whole_fd(o->file), p, n))
		return why_errno(w, EX_IOERR, "writing: %s: at byte %lld", o->path, (long long)o->written);
	sha_add(o->sha, p, n);
	o->written += (int64_t)n;
	return 0;
}

/* Length and header, padded with spaces so that the data part begins at a multiple of 8. */
static int write_header(struct st_out *o, struct why *w)
{
	char *text = json_dumps(o->header, JSON_COMPACT);
	size_t n = text ? strlen(text) : 0, padded = (n + 7) / 8 * 8;
	struct buf b = { 0 };
	int r;

	if (!text || buf_room(&b, 8 + padded)) {
		free(text);
		return why_set(w, EX_OSERR, "writing: %s: no memory", o->path);
	}
	for (int i = 0; i < 8; i++)
		b.p[i] = (unsigned char)((uint64_t)padded >> 8 * i);
	memset(b.p + 8, ' ', padded);
	memcpy(b.p + 8, text, n);
	free(text);
	if (padded > ST_MAX_HEADER)
		r = why_set(w, EX_SOFTWARE, "writing: %s: a header of %zu bytes is more than readers take", o->path, padded);
	else
		r = write_bytes(o, b.p, 8 + padded, w);
	buf_free(&b);
	o->begun = true;
	return r;
}

int st_out_put(struct st_out *o, const void *p, struct why *w)
{
	int64_t begin;
	int r;

	if (o->put == o->declared)
		return why_set(w, EX_SOFTWARE, "writing: %s: more tensors than the %d declared", o->path, o->declared);
	if (!o->begun && (r = write_header(o, w)))
		return r;
	begin = o->put ? o->end[o->put - 1] : 0;
	if ((r = write_bytes(o, p, (size_t)(o->end[o->put] - begin), w)))
		return r;
	o->put++;
	return 0;
}

static void release(struct st_out *o)
{
	unsigned char unused[32];

	if (o->sha)
		sha_end(o->sha, unused);
	json_decref(o->header);
	json_decref(o->meta);
	free(o->end);
	free(o);
}

int st_out_commit(struct st_out *o, char digest[72], int64_t *bytes, struct why *w)
{
	unsigned char sum[32];
	int r = 0;

	if (!o->begun)
		r = write_header(o, w);
	if (!r && o->put < o->declared)
		r = why_set(w, EX_SOFTWARE, "writing: %s: %d of %d tensors written", o->path, o->put, o->declared);
	if (r) {
		st_out_abandon(o);
		return r;
	}
	r = whole_commit(o->file, w);
	sha_end(o->sha, sum);
	o->sha = NULL;
	if (!r && digest) {
		memcpy(digest, "sha256:", 7);
		sha_hex(sum, digest + 7);
	}
	if (!r && bytes)
		*bytes = o->written;
	release(o);
	return r;
}

void st_out_abandon(struct st_out *o)
{
	if (!o)
		return;
	whole_abandon(o->file);
	release(o);
}
