/* shadow-guard.c - where a replayed program may write, held by the kernel: a path that leads out of the copy of
 * its working folder (an absolute one, a link) is refused instead of followed into the user's files. */
#include "shadow.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers may be. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

static uint64_t writing(int abi)
{
	uint64_t all = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;

	if (abi >= 2)
		all |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= 3)
		all |= LANDLOCK_ACCESS_FS_TRUNCATE;
	return all;
}

static void allow(int rules, uint64_t all, const char *path)
{
	struct landlock_path_beneath_attr a = { .allowed_access = all, .parent_fd = open(path, O_PATH | O_CLOEXEC) };
	struct stat st;

	if (a.parent_fd < 0)
		return;
	if (fstat(a.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode))
		a.allowed_access &= LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE;
	(void)!syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &a, 0);
	close(a.parent_fd);
}

/* A folder that holds the user's working folder would open that, too; one inside it is the user's own choice. */
static void allow_usual(int rules, uint64_t all, const char *path, const char *cwd)
{
	char *real = path && *path ? realpath(path, NULL) : NULL;
	size_t n = real ? strlen(real) : 0;

	if (real && n > 1 && (strncmp(cwd, real, n) || (cwd[n] && cwd[n] != '/')))
		allow(rules, all, real);
	free(real);
}

int shadow_guard(const char *cwd, const char *const keep[])
{
	static const char *const folder[] = { "/dev", "/proc", "/tmp", "/var/tmp", "/run" };
	static const char *const named[] = { "TMPDIR", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "HF_HOME", "HF_DATASETS_CACHE", "TORCH_HOME", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TRITON_HOME", "CUDA_CACHE_PATH", "MPLCONFIGDIR", "NUMBA_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR" };
	static const char *const home[] = { ".cache", ".nv", ".triton", ".config/matplotlib" };
	int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_ruleset_attr attr = { .handled_access_fs = writing(abi) };
	char path[4096];
	int rules;

	/* Before version 2 no file can be renamed from one folder to another: too strict for a training script. */
	if (abi < 2 || (rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0)) < 0)
		return -1;
	for (int i = 0; keep[i]; i++)
		allow(rules, attr.handled_access_fs, keep[i]);
	for (size_t i = 0; i < sizeof folder / sizeof *folder; i++)
		allow_usual(rules, attr.handled_access_fs, folder[i], cwd);
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		allow_usual(rules, attr.handled_access_fs, getenv(named[i]), cwd);
	for (size_t i = 0; getenv("HOME") && i < sizeof home / sizeof *home; i++)
		if (snprintf(path, sizeof path, "%s/%s", getenv("HOME"), home[i]) < (int)sizeof path)
			allow_usual(rules, attr.handled_access_fs, path, cwd);
	return rules;
}
