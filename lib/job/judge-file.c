/* judge-file.c - what lies on disk: a saved file against what its record says. Paths come from a stream: files are
 * read, never run. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "judge.h"

enum { CHUNK = 1 << 16 };

/* The digest of what is in the file now: no cache stands between. */
static int digest_of(int fd, const char *path, char out[DIGEST_SIZE], struct why *w)
{
	static const char prefix[] = "sha256:";
	unsigned char *chunk = malloc(CHUNK), raw[32];
	struct sha *s = chunk ? sha_new() : NULL;
	char hex[65];
	ssize_t n = 0;

	if (!s) {
		free(chunk);
		return why_set(w, EX_OSERR, "check the saved file: %s: no memory", path);
	}
	while ((n = io_read(fd, chunk, CHUNK)) > 0)
		sha_add(s, chunk, (size_t)n);
	int failed = n < 0 ? why_errno(w, EX_IOERR, "check the saved file: %s", path) : 0;
	sha_end(s, raw);
	free(chunk);
	sha_hex(raw, hex);
	snprintf(out, DIGEST_SIZE, "%s%s", prefix, hex);
	return failed;
}

/* A tensor of the optimizer stands beside one of the model, of the same shape. */
static int check_state(const struct st *f, const struct st_tensor *t, const char *path, struct why *w)
{
	const char *name = strchr(t->name + strlen("optimizer."), '.');
	const struct st_tensor *of = name ? st_find(f, name + 1) : NULL;

	if (of && of->dims == t->dims && !memcmp(of->shape, t->shape, (size_t)t->dims * sizeof *t->shape))
		return 0;
	return why_set(w, EX_DATAERR, "check the saved file: %s: %s has no tensor of the model beside it", path, t->name);
}

static int check_meta(const struct st *f, const char *key, int64_t want, const char *path, struct why *w)
{
	const char *s = st_meta(f, key);
	int64_t got;

	if (!s)
		return 0; /* another trainer's file */
	if (num_int(s, key, 0, INT64_MAX, &got, NULL) == 0 && got == want)
		return 0;
	return why_set(w, EX_DATAERR, "check the saved file: %s: %s is %.40s in a file of update %lld", path, key, s, (long long)want);
}

static int check_header(const char *path, int64_t tensors, int64_t update, struct why *w)
{
	struct st *f = NULL;
	int64_t weights = 0;
	int rc = st_open(&f, path, w);

	if (rc < 0)
		return rc;
	for (int i = 0; i < st_count(f) && !rc; i++) {
		const struct st_tensor *t = st_tensor(f, i);

		if (strncmp(t->name, "optimizer.", strlen("optimizer.")))
			weights++;
		else
			rc = check_state(f, t, path, w);
	}
	if (!rc && tensors >= 0 && weights < tensors)
		rc = why_set(w, EX_DATAERR, "check the saved file: %s: %lld tensors of the model's %lld", path, (long long)weights, (long long)tensors);
	if (!rc)
		rc = check_meta(f, "pilot.progress.update", update, path, w);
	if (!rc)
		rc = check_meta(f, "pilot.optimizer.count", update, path, w);
	st_close(f);
	return rc;
}

static int check_digest(int fd, const char *path, const char *digest, struct why *w)
{
	char is[DIGEST_SIZE];
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return why_set(w, EX_DATAERR, "check the saved file: %s: not a regular file", path);
	int rc = digest_of(fd, path, is, w);
	if (rc < 0)
		return rc;
	if (strcmp(is, digest))
		return why_set(w, EX_DATAERR, "check the saved file: %s: its digest is %.19s.., not %.19s.. as saved", path, is, digest);
	return 0;
}

int saved_file(const char *path, const char *digest, int64_t tensors, int64_t update, struct why *w)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 1;
	if (fd < 0)
		return why_errno(w, EX_DATAERR, "check the saved file: %s", path);
	rc = check_digest(fd, path, digest, w);
	close(fd);
	return rc ? rc : check_header(path, tensors, update, w);
}

int saved_bytes(const char *path, const char *digest, double ended, struct why *w)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc;
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 1;
	if (fd < 0)
		return why_errno(w, EX_DATAERR, "check the saved file: %s", path);
	rc = check_digest(fd, path, digest, w);
	if (rc < 0 && fstat(fd, &st) == 0 && (double)st.st_mtime > ended + 1)
		rc = 2;
	close(fd);
	return rc;
}
