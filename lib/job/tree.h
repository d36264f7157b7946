/* tree.h - what a command and all that it started use, watched from outside through /proc and NVML, and
 * which files they wrote; see also written.h.
 *
 * While a tree is watched this process is the subreaper of its descendants: who escapes from the command by
 * setsid(2) or a double fork becomes our child, is counted, and is killed at the end. Whatever else we start
 * meanwhile must be over before the next tree_look: any new child of ours belongs to the tree. */
#ifndef PILOT_TREE_H
#define PILOT_TREE_H

#include "../base/base.h"

struct tree;

/* Before the command starts, and after all other children of ours have: looks at the files below cwd (of the
 * command; NULL: ours) and save_dir (below cwd if it is not absolute; may be NULL, may not exist yet). */
int tree_new(struct tree **t, const char *cwd, const char *save_dir, struct why *w) MUST_USE;
void tree_watch(struct tree *t, pid_t root); /* the command: a child of ours */
/* Call it every tenth of a second or so. Returns at once where more looks would cost over 1 % of the time.
 * Reaps what has escaped and ended; never the root, which is the caller's. */
void tree_look(struct tree *t);
/* To every process of the tree, the root too: in whatever group or session it is. */
void tree_signal(struct tree *t, int sig);
/* Seconds since a file below cwd or save_dir was last written to; infinite if none was since tree_new. It walks
 * through the folders: ask only where everything else is quiet. */
double tree_quiet(struct tree *t);

/* Each process of the tree is held to so much address space (RLIMIT_AS); 0: it is not. For tree_stuck. */
void tree_limit(struct tree *t, int64_t address_bytes);
/* Some libraries ask for memory again and again when there is none (OpenBLAS before 0.3.22). True if a process has
 * done so for 10 s: less than 160 MiB below the limit, busy, much of it in the kernel, and neither its memory nor what
 * it reads, writes and waits for has changed. words says it. */
bool tree_stuck(struct tree *t, char words[200]);

struct tree_facts {
	double cpu_seconds;      /* of all processes, user and system; what was killed and never waited for as last seen */
	int processes;           /* most at one time */
	/* Highest sum of their VmRSS at one look: pages that several share are counted in each (workers forked from a
	 * big parent), and what came and went between two looks is missed, but never below one process's own peak. */
	int64_t resident_peak;
	int64_t address_peak;    /* highest VmPeak of one of them */
	int64_t device_peak;     /* highest sum of their device memory at one look; -1 unknown */
	int64_t device_all_peak; /* highest memory in use on a device they use, others' too; -1 unknown */
	int64_t files, bytes;    /* regular files that are new or changed, and their sizes */
	char **file;             /* the first 64 of these by name: relative where below cwd, else absolute */
	int file_count;
	bool files_partial;      /* there were too many to look at all of them */
	int escaped;             /* processes that had left the root's group, outlived it, and were killed */
};
/* After the root has been reaped: kills what is left of the tree, reaps it, compares the files, and frees t (NULL: nothing). */
void tree_end(struct tree *t, struct tree_facts *f);
void tree_facts_free(struct tree_facts *f);

/* For tests: as on a kernel that does not list a process's children. */
void tree_scan(struct tree *t, bool whole);

#endif
