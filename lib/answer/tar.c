/* tar.c - a tar archive of a few plain files, and its manifest.
 * Own code, not libarchive: of all that a tar can hold this writes regular files with a fixed owner, mode and time,
 * which is a header of 512 bytes and, for a size over 8 GiB or a long name, one record of pax. A library for that would
 * be one more package on every machine that trains, and its bytes would depend on its version: the bundle of a run
 * is to be the same bytes wherever it is made. Format: POSIX.1-2001, pax, "ustar Interchange Format". */
#include "tar.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 512, RECORD = 20 * BLOCK, CHUNK = 65536 };
#define USTAR_MAX_SIZE INT64_C(077777777777)

struct tar {
	int fd;
	char folder[64];
	int64_t mtime, written;
	struct buf manifest;
};

static int put(struct tar *t, const void *p, size_t n, struct why *w)
{
	if (io_write(t->fd, p, n) < 0)
		return why_errno(w, EX_IOERR, "writing the archive");
	t->written += (int64_t)n;
	return 0;
}

/* Zeros up to a multiple of size. */
static int pad(struct tar *t, int64_t size, struct why *w)
{
	static const char zeros[BLOCK];
	int rc = 0;

	while (rc == 0 && t->written % size) {
		int64_t n = size - t->written % size;

		rc = put(t, zeros, n > BLOCK ? BLOCK : (size_t)n, w);
	}
	return rc;
}

static void octal(char *at, int digits, int64_t v)
{
	char text[24];

	snprintf(text, sizeof text, "%0*llo", digits, (long long)v);
	memcpy(at, text, (size_t)digits);
}

/* name: name[100], mode[8], uid[8], gid[8], size[12], mtime[12], chksum[8], typeflag, linkname[100], magic[6], version[2]. */
static int header(struct tar *t, const char *path, int64_t size, char type, struct why *w)
{
	char h[BLOCK] = { 0 };
	unsigned sum = 0;
	size_t n = strlen(path);

	memcpy(h, path, n > 100 ? 100 : n);
	octal(h + 100, 7, 0644);
	octal(h + 108, 7, 0);
	octal(h + 116, 7, 0);
	octal(h + 124, 11, size > USTAR_MAX_SIZE ? 0 : size);
	octal(h + 136, 11, t->mtime);
	memset(h + 148, ' ', 8);
	h[156] = type;
	memcpy(h + 257, "ustar\00000", 8);
	for (int i = 0; i < BLOCK; i++)
		sum += (unsigned char)h[i];
	octal(h + 148, 6, sum);
	h[154] = '\0';
	return put(t, h, BLOCK, w);
}

/* "LENGTH KEY=VALUE\n", LENGTH counting itself. */
static int pax_line(struct buf *b, const char *key, const char *value)
{
	size_t n = strlen(key) + strlen(value) + 3, all = n + 1;
	char digits[24];

	while (n + (size_t)snprintf(digits, sizeof digits, "%zu", all) != all)
		all = n + strlen(digits);
	return buf_printf(b, "%zu %s=%s\n", all, key, value);
}

static bool ascii(const char *s)
{
	while (*s && (unsigned char)*s < 0x80)
		s++;
	return !*s;
}

static int extended(struct tar *t, const char *path, int64_t size, struct why *w)
{
	struct buf b = { 0 };
	char text[24];
	int rc = 0;

	snprintf(text, sizeof text, "%lld", (long long)size);
	if ((size > USTAR_MAX_SIZE && pax_line(&b, "size", text) < 0) || ((strlen(path) > 100 || !ascii(path)) && pax_line(&b, "path", path) < 0))
		rc = why_set(w, EX_OSERR, "writing the archive: out of memory");
	if (rc == 0 && b.n) {
		rc = header(t, "pax", (int64_t)b.n, 'x', w);
		rc = rc < 0 ? rc : put(t, b.p, b.n, w);
		rc = rc < 0 ? rc : pad(t, BLOCK, w);
	}
	buf_free(&b);
	return rc;
}

static int member(struct tar *t, const char *name, int64_t size, struct why *w)
{
	char path[512];
	int rc;

	if (snprintf(path, sizeof path, "%s/%s", t->folder, name) >= (int)sizeof path)
		return why_set(w, EX_DATAERR, "writing the archive: %.100s...: the name is too long", name);
	rc = extended(t, path, size, w);
	return rc < 0 ? rc : header(t, path, size, '0', w);
}

static int listed(struct tar *t, const char *name, const char hex[65], struct why *w)
{
	return buf_printf(&t->manifest, "%s  %s\n", hex, name) < 0 ? why_set(w, EX_OSERR, "writing the archive: out of memory") : 0;
}

int tar_begin(struct tar **out, int fd, const char *folder, int64_t mtime, struct why *w)
{
	struct tar *t = calloc(1, sizeof *t);

	*out = t;
	if (!t)
		return why_set(w, EX_OSERR, "writing the archive: out of memory");
	t->fd = fd;
	t->mtime = mtime > 0 && mtime <= USTAR_MAX_SIZE ? mtime : 0;
	snprintf(t->folder, sizeof t->folder, "%s", folder);
	return 0;
}

int tar_bytes(struct tar *t, const char *name, const void *p, size_t n, struct why *w)
{
	unsigned char sum[32];
	char hex[65];
	int rc = member(t, name, (int64_t)n, w);

	rc = rc < 0 ? rc : put(t, p, n, w);
	rc = rc < 0 ? rc : pad(t, BLOCK, w);
	if (rc < 0)
		return rc;
	if (sha_of(p, n, sum) < 0)
		return why_set(w, EX_OSERR, "writing the archive: out of memory");
	sha_hex(sum, hex);
	return listed(t, name, hex, w);
}

/* The digest is of the bytes that went in, not of what the file may be by then. */
static int copy(struct tar *t, const char *name, int from, int64_t size, char hex[65], struct why *w)
{
	struct sha *s = sha_new();
	unsigned char p[CHUNK], sum[32];
	int rc = s ? 0 : why_set(w, EX_OSERR, "writing the archive: out of memory");

	for (int64_t at = 0; rc == 0 && at < size;) {
		ssize_t n = io_pread(from, p, size - at < CHUNK ? (size_t)(size - at) : CHUNK, at);

		if (n < 0)
			rc = why_errno(w, EX_IOERR, "reading: %.300s", name);
		else if (n == 0)
			rc = why_set(w, EX_DATAERR, "reading: %.300s: it became shorter meanwhile", name);
		if (rc < 0)
			break;
		sha_add(s, p, (size_t)n);
		rc = put(t, p, (size_t)n, w);
		at += n;
	}
	if (s)
		sha_end(s, sum);
	if (rc == 0)
		sha_hex(sum, hex);
	return rc < 0 ? rc : pad(t, BLOCK, w);
}

int tar_file(struct tar *t, const char *name, int from, const char *digest, struct why *w)
{
	struct stat st;
	char hex[65];
	int rc;

	if (fstat(from, &st) < 0)
		return why_errno(w, EX_IOERR, "reading: %.300s", name);
	rc = member(t, name, st.st_size, w);
	rc = rc < 0 ? rc : copy(t, name, from, st.st_size, hex, w);
	if (rc < 0)
		return rc;
	if (digest && (strncmp(digest, "sha256:", 7) || strcmp(digest + 7, hex)))
		return why_set(w, EX_DATAERR, "reading: %.300s: its digest is sha256:%s, not %.80s", name, hex, digest);
	return listed(t, name, hex, w);
}

int tar_end(struct tar *t, const char *comment, struct why *w)
{
	struct buf b = { 0 };
	int rc = 0;

	while (*comment && rc == 0) {
		size_t n = strcspn(comment, "\n");

		rc = buf_printf(&b, "# %.*s\n", (int)n, comment);
		comment += n + (comment[n] == '\n');
	}
	if (rc < 0 || buf_add(&b, t->manifest.p, t->manifest.n) < 0)
		rc = why_set(w, EX_OSERR, "writing the archive: out of memory");
	rc = rc < 0 ? rc : tar_bytes(t, "MANIFEST", b.p, b.n, w);
	buf_free(&b);
	/* two blocks of zeros are the end; then to the end of the record */
	rc = rc < 0 ? rc : put(t, (char[2 * BLOCK]){ 0 }, 2 * BLOCK, w);
	return rc < 0 ? rc : pad(t, RECORD, w);
}

void tar_free(struct tar *t)
{
	if (t)
		buf_free(&t->manifest);
	free(t);
}
