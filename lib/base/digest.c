/* digest.c - SHA-256 by libcrypto, and a cache of big files' digests. */
#include "base.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

enum { CACHE_FROM = 16 << 20, CHUNK = 1 << 18 };

/* A context that could not be made or fed is remembered and told at the end. */
struct sha {
	EVP_MD_CTX *ctx;
};

struct sha *sha_new(void)
{
	struct sha *s = malloc(sizeof *s);

	if (!s)
		return NULL;
	/* openssl.cnf may load engines and providers: a digest needs none. */
	OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	s->ctx = EVP_MD_CTX_new();
	if (!s->ctx || !EVP_DigestInit_ex(s->ctx, EVP_sha256(), NULL)) {
		EVP_MD_CTX_free(s->ctx);
		free(s);
		return NULL;
	}
	return s;
}

void sha_add(struct sha *s, const void *p, size_t n)
{
	if (n)
		EVP_DigestUpdate(s->ctx, p, n);
}

void sha_end(struct sha *s, unsigned char out[32])
{
	EVP_DigestFinal_ex(s->ctx, out, NULL);
	EVP_MD_CTX_free(s->ctx);
	free(s);
}

void sha_hex(const unsigned char in[32], char out[65])
{
	for (int i = 0; i < 32; i++) {
		out[2 * i] = "0123456789abcdef"[in[i] >> 4];
		out[2 * i + 1] = "0123456789abcdef"[in[i] & 15];
	}
	out[64] = '\0';
}

int sha_of(const void *p, size_t n, unsigned char out[32])
{
	struct sha *s = sha_new();

	if (!s)
		return -EX_OSERR;
	sha_add(s, p, n);
	sha_end(s, out);
	return 0;
}

/* The cache's file for st (one a device and inode); false where there is no home. */
static bool cache_path(const struct stat *st, char out[1100], bool make)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n;

	if (xdg && *xdg == '/')
		n = snprintf(out, 1024, "%s", xdg);
	else if (home && *home == '/')
		n = snprintf(out, 1024, "%s/.cache", home);
	else
		return false;
	if (n > 900)
		return false;
	if (make)
		mkdir(out, 0700);
	n += sprintf(out + n, "/pilot");
	if (make)
		mkdir(out, 0700);
	sprintf(out + n, "/%jx-%jx", (uintmax_t)st->st_dev, (uintmax_t)st->st_ino);
	return true;
}

/* What must be the same for a digest to hold; the digest follows it. */
static int cache_key(const struct stat *st, char out[128])
{
	return snprintf(out, 128, "%jd %jd.%09ld %jd.%09ld ", (intmax_t)st->st_size,
		(intmax_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
		(intmax_t)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
}

static bool cache_get(const struct stat *st, char out[72])
{
	char path[1100], key[128];
	struct buf b = { 0 };
	size_t n;
	bool hit;

	if (!cache_path(st, path, false) || io_slurp(path, 1024, &b, NULL) < 0) {
		buf_free(&b);
		return false;
	}
	n = (size_t)cache_key(st, key);
	hit = b.n == n + 72 && !memcmp(b.p, key, n) && !memcmp(b.p + n, "sha256:", 7) && b.p[n + 71] == '\n';
	for (size_t i = 0; hit && i < 64; i++)
		hit = strchr("0123456789abcdef", b.p[n + 7 + i]) != NULL;
	if (hit) {
		memcpy(out, b.p + n, 71);
		out[71] = '\0';
	}
	buf_free(&b);
	return hit;
}

static void cache_put(const struct stat *st, const char digest[72])
{
	char path[1100], temp[1200], line[256], id[ULID_SIZE];
	int fd, n;

	/* A file changed in this very moment may change again within its time stamp's tick. */
	if (st->st_ctim.tv_sec + 2 >= time(NULL) || !cache_path(st, path, true))
		return;
	n = cache_key(st, line);
	n += sprintf(line + n, "%s\n", digest);
	ulid_new(id);
	snprintf(temp, sizeof temp, "%s.%s", path, id);
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	n = io_write(fd, line, (size_t)n);
	if (close(fd) < 0 || n < 0 || rename(temp, path) < 0)
		unlink(temp);
}

static int digest_fd(int fd, const char *path, char out[72], int64_t *bytes, struct why *w)
{
	unsigned char hash[32], *chunk = malloc(CHUNK);
	struct sha *s = sha_new();
	ssize_t got = 0;

	*bytes = 0;
	if (chunk && s)
		while ((got = io_read(fd, chunk, CHUNK)) > 0) {
			sha_add(s, chunk, (size_t)got);
			*bytes += got;
		}
	if (s)
		sha_end(s, hash);
	free(chunk);
	if (!chunk || !s)
		return why_set(w, EX_OSERR, "digesting: %.300s: out of memory", path);
	if (got < 0)
		return why_errno(w, EX_IOERR, "reading: %.300s", path);
	memcpy(out, "sha256:", 7);
	sha_hex(hash, out + 7);
	return 0;
}

int sha_file(const char *path, char out[72], int64_t *bytes, struct why *w)
{
	struct stat before, after;
	int64_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int r;

	/* A fifo is not waited for, and a device may have no end. */
	if (fd < 0 || fstat(fd, &before) < 0 || (!S_ISREG(before.st_mode) && !S_ISDIR(before.st_mode))) {
		r = fd < 0 ? why_errno(w, EX_NOINPUT, "reading: %.300s", path) :
			why_set(w, EX_NOINPUT, "reading: %.300s: is no regular file", path);
		if (fd >= 0)
			close(fd);
		return r;
	}
	n = before.st_size;
	if (S_ISREG(before.st_mode) && n > CACHE_FROM && cache_get(&before, out)) {
		r = 0;
	} else {
		r = digest_fd(fd, path, out, &n, w);
		if (r == 0 && S_ISREG(before.st_mode) && n > CACHE_FROM && fstat(fd, &after) == 0 && n == after.st_size &&
		    before.st_size == n && !memcmp(&before.st_ctim, &after.st_ctim, sizeof before.st_ctim))
			cache_put(&after, out);
	}
	close(fd);
	if (r == 0 && bytes)
		*bytes = n;
	return r;
}
