/* shadow.h - a private copy of a working folder, so that a program can be run again without writing into the
 * user's. Folders and small files (scripts among them) are real, so that what is found beside a script is found
 * in the copy; the rest, which is only read, is symbolic links to the user's. The copy stands at the end of the
 * same path below its root, where the folders on the way are real and their other entries links: ../data is
 * found, too. A folder of over 1000 entries, a hidden one, one of another file system and a virtual environment are
 * links as a whole; the copy itself, if it lies below, is left out. */
#ifndef PILOT_SHADOW_H
#define PILOT_SHADOW_H

#include "../wire/wire.h"

struct shadow_plan {
	const char *cwd;    /* the user's working folder, absolute */
	char *const *omit; /* absolute paths of files that are not there at the beginning: what an earlier run wrote */
	int omits;
	char *const *copy; /* absolute paths of files to copy whatever their size: what an earlier run wrote and may need */
	int copies;
	char *const *fresh; /* absolute paths of folders in which files that changed since then are left out, too */
	int freshes;
	int64_t since;      /* seconds since 1970 */
	bool guess;         /* what the program writes is not known: files that look like checkpoints are copied too */
};
/* Makes `root` (which must not exist) and the copy in it; cwd gets the folder to work in. Nothing of the user's is
 * changed. On failure root is removed again: -EX_NOINPUT the working folder cannot be read, -EX_IOERR no room. */
int shadow_make(const char *root, const struct shadow_plan *p, char *cwd, size_t size, struct why *w) MUST_USE;
/* A second copy of a whole root with what a program has left in it: links stay links, files are copied. `to` must
 * not exist. */
int shadow_copy(const char *from, const char *to, struct why *w) MUST_USE;

/* A program's last words tell of a refusal that it may have met only because it worked in a copy; and what to add then. */
bool shadow_refused(const char *why);
#define SHADOW_REFUSED " (it may write only into its copy of the working folder and into folders for temporary files)"

/* ---- shadow-guard.c ---- */

/* Rules for a child (struct stranger's guard): it can write to no file but below `keep` (ended by NULL), /dev, /proc, the
 * usual folders for caches and for temporary files (one that holds cwd left out), whatever path it names: the
 * kernel refuses it (Landlock). A descriptor, or -1: this kernel cannot, and only the copy protects. */
int shadow_guard(const char *cwd, const char *const keep[]);

#endif
