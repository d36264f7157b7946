/* tar.h - writing a tar archive: ustar, with pax headers where ustar has no room. */
#ifndef PILOT_TAR_H
#define PILOT_TAR_H

#include "answer.h"

/* Every member is a plain file in one folder, owned by 0:0, mode 0644, of one time: the same input gives the same bytes.
 * Names are relative, without control characters. After a failure the archive is not whole: abandon its file. */
struct tar;
int tar_begin(struct tar **t, int fd, const char *folder, int64_t mtime, struct why *w) MUST_USE;
int tar_bytes(struct tar *t, const char *name, const void *p, size_t n, struct why *w) MUST_USE;
/* The file's bytes from its beginning; digest ("sha256:..", may be NULL) is what they must have, -EX_DATAERR if not. */
int tar_file(struct tar *t, const char *name, int from, const char *digest, struct why *w) MUST_USE;
/* The last member is MANIFEST, for sha256sum -c: the comment's lines, each begun by "# ", and a line a member. Then the end. */
int tar_end(struct tar *t, const char *comment, struct why *w) MUST_USE;
void tar_free(struct tar *t); /* the descriptor stays open; may be NULL */

#endif
