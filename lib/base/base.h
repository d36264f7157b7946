/* base.h - floor 1: what every other floor stands on.
 *
 * Nothing in lib/ prints or exits. A function that can fail returns 0 (or a
 * count) on success and -code on failure, code being one of sysexits.h's or
 * EX_NO, and leaves the reason in a struct why as "what was tried: on what:
 * why". The command prints it and exits with the code. */
#ifndef PILOT_BASE_H
#define PILOT_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <sysexits.h>

#define PILOT_VERSION "0.1.0"
#define EX_NO 1 /* a well-formed no: gate shut, nothing fits, diverged, out of memory */

#define NONNULL __attribute__((nonnull))
#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF(f, a) __attribute__((format(printf, f, a)))

/* ---- why.c: reasons and exit codes ---- */

struct why {
	int code;
	char text[1000];
};

/* Sets the reason and returns -code. w may be NULL. */
int why_set(struct why *w, int code, const char *fmt, ...) PRINTF(3, 4);
/* The same, with ": " and strerror(errno) appended. */
int why_errno(struct why *w, int code, const char *fmt, ...) PRINTF(3, 4);
/* Of two exit codes the one that counts: 74, 69, 65, then any other that is
 * not 0 or 1, then 1, then 0. */
int code_worst(int a, int b);

/* ---- buf.c: a byte buffer that grows ---- */

struct buf {
	unsigned char *p; /* owned; release with buf_free */
	size_t n, cap;
};

/* Make room for more bytes behind n; -EX_OSERR when the host has no memory. */
int buf_room(struct buf *b, size_t more) MUST_USE;
int buf_add(struct buf *b, const void *p, size_t n) MUST_USE;
int buf_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3) MUST_USE;
void buf_free(struct buf *b);

/* ---- num.c: strict numbers, with range and unit ---- */

/* The whole of s must be the number; `what` names it in the reason. */
int num_int(const char *s, const char *what, int64_t min, int64_t max, int64_t *out, struct why *w) MUST_USE;
int num_float(const char *s, const char *what, double min, double max, double *out, struct why *w) MUST_USE;
/* Equal to the letter, or the same number: 1e-4 and 0.0001. */
bool num_same(const char *a, const char *b);
/* "64M": K, M, G, T are powers of 1024; bytes. */
int num_size(const char *s, const char *what, int64_t *out, struct why *w) MUST_USE;
/* "90", "90s", "5m", "2h", "3d": seconds. */
int num_duration(const char *s, const char *what, double *out, struct why *w) MUST_USE;
/* The shortest decimal that reads back as x (finite only); returns its length. */
int num_shortest(double x, char out[32]);
/* "12.3M", powers of 1024, at most 7 characters: for people only. */
const char *num_human_bytes(int64_t bytes, char out[16]);

/* ---- spec.c: KIND:key=value,key=value, with \, for a comma and \\ for a backslash in a value ---- */

struct spec {
	char *kind; /* owned */
	struct spec_pair {
		char *key, *value;
		bool used;
	} *pair;
	int n;
	char *text; /* owned storage behind the above */
	const char *asked[24]; /* keys that were asked for, all of them literals; for spec_done's words */
	int n_asked;
};

int spec_parse(struct spec *s, const char *text, struct why *w) MUST_USE;
/* 1 found (and stored), 0 absent (out untouched), <0 malformed. */
int spec_int(struct spec *s, const char *key, int64_t min, int64_t max, int64_t *out, struct why *w) MUST_USE;
int spec_float(struct spec *s, const char *key, double min, double max, double *out, struct why *w) MUST_USE;
int spec_str(struct spec *s, const char *key, const char **out, struct why *w) MUST_USE; /* owned by s */
/* Refuses the first key that nobody asked for, by name, and names those that there are (-EX_USAGE). */
int spec_done(const struct spec *s, struct why *w) MUST_USE;
void spec_free(struct spec *s);

/* ---- io.c: whole reads and writes, and files that appear whole or not at all ---- */

/* Retry EINTR and short counts. read: bytes got (less than n only at the end). */
ssize_t io_read(int fd, void *p, size_t n);
int io_write(int fd, const void *p, size_t n); /* 0, or -1 with errno; EPIPE included */
ssize_t io_pread(int fd, void *p, size_t n, off_t at);
/* Reads a whole file of at most max bytes; -EX_NOINPUT, -EX_DATAERR (too big), -EX_IOERR. */
int io_slurp(const char *path, size_t max, struct buf *out, struct why *w) MUST_USE;

struct whole; /* a file being written under a temporary name in the same folder */
int whole_begin(struct whole **f, const char *path, struct why *w) MUST_USE;
int whole_fd(const struct whole *f);
/* fsync, rename over path, fsync of the folder. Frees f, also on failure; the
 * old file is intact unless 0 is returned (or the folder alone could not be synced). */
int whole_commit(struct whole *f, struct why *w) MUST_USE;
void whole_abandon(struct whole *f); /* removes the temporary file; f may be NULL */

/* Open-file-description lock (F_OFD_SETLK), polled until `seconds` have gone or a stop is
 * wanted; -EX_TEMPFAIL then. Released when fd is closed. */
int io_lock(int fd, bool exclusive, double seconds, const char *path, struct why *w) MUST_USE;

/* ---- digest.c: SHA-256 (FIPS 180-4) from libcrypto's EVP, configuration not loaded ---- */

struct sha;
struct sha *sha_new(void); /* NULL: no memory */
void sha_add(struct sha *s, const void *p, size_t n);
void sha_end(struct sha *s, unsigned char out[32]); /* frees s */
void sha_hex(const unsigned char in[32], char out[65]);
int sha_of(const void *p, size_t n, unsigned char out[32]) MUST_USE;
/* "sha256:..." of a file's bytes. Digests of files over 16 MiB are cached under
 * $XDG_CACHE_HOME/pilot (or ~/.cache/pilot) by device, inode, size and times; a cache that cannot
 * be read or written is no error. bytes may be NULL. */
int sha_file(const char *path, char out[72], int64_t *bytes, struct why *w) MUST_USE;

/* ---- rand.c: counter-based random numbers (Philox4x32-10; Salmon et al. 2011) ---- */

enum rand_purpose { RAND_INIT = 1, RAND_ORDER, RAND_DROPOUT, RAND_SPLIT, RAND_DATA, RAND_TEST, RAND_TRIAL };

void philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);
/* One draw, a function of its arguments alone; b is below 2^56. */
uint64_t rand_bits(uint64_t seed, enum rand_purpose purpose, uint64_t a, uint64_t b);
double rand_uniform(uint64_t seed, enum rand_purpose purpose, uint64_t a, uint64_t b); /* [0,1) */
double rand_normal(uint64_t seed, enum rand_purpose purpose, uint64_t a, uint64_t b);
/* Where position i of a shuffle of 0..n-1 points: a keyed permutation (Feistel
 * network with cycle walking), so any position is reached without the others. */
int64_t rand_permute(uint64_t seed, uint64_t epoch, int64_t n, int64_t i);

/* ---- clock.c: time and names of runs ---- */

struct timestamp {
	int64_t seconds; /* since 1970 UTC */
	int32_t nanoseconds;
};
struct timestamp clock_now(void);
double clock_seconds(void); /* monotonic */
#define ULID_SIZE 27 /* 26 characters and NUL; Crockford base 32, sorts by time */
void ulid_new(char out[ULID_SIZE]);
bool ulid_valid(const char *s);

/* ---- proc.c: children that die with us, and signals that ask us to stop ---- */

struct proc {
	pid_t pid; /* its own process group, PDEATHSIG SIGKILL; 0 when none */
	int in;    /* write here: its stdin; -1 when not piped or closed */
	int out;   /* read here: its stdout */
	int err;   /* read here: its stderr; -1 when inherited */
};
enum { PROC_IN = 1, PROC_OUT = 2, PROC_ERR = 4 }; /* which of the three are pipes; the others are inherited */
int proc_start(struct proc *p, char *const argv[], int pipes, struct why *w) MUST_USE;
struct proc_how {
	char *const *envp;     /* NULL: ours */
	const char *cwd;       /* NULL: ours */
	int64_t address_bytes; /* RLIMIT_AS; 0 none */
	int keep[2];           /* descriptors above 2 that it has, too, by the same number */
	bool no_input;         /* its stdin is /dev/null */
	bool joined;           /* its stderr is its stdout */
	int rules;             /* of Landlock, that it and its children are held to; 0 none */
};
int proc_start_as(struct proc *p, char *const argv[], int pipes, const struct proc_how *how, struct why *w) MUST_USE;
/* A child without another program: it runs body, whose result is its exit status, with no descriptor of ours but
 * stderr and out, which p->out reads. */
int proc_fork(struct proc *p, int (*body)(void *ctx, int out), void *ctx, const char *name, struct why *w) MUST_USE;
void proc_signal(const struct proc *p, int sig); /* to the whole group */
/* Waits up to seconds (negative: for ever); 1 ended (status as waitpid's, may be NULL; what
 * is left of its group is killed), 0 still running. The pipes stay open until proc_end. */
int proc_wait(struct proc *p, double seconds, int *status);
/* SIGTERM, a grace period, SIGKILL, reaped; pipes closed. Harmless when none runs. */
void proc_end(struct proc *p, double grace_seconds);
/* Absolute path of the program `name` in the folder of the running binary. */
int proc_beside(const char *name, char *out, size_t size, struct why *w) MUST_USE;

/* SIGTERM, SIGINT and SIGHUP (where it is not ignored, as nohup does) set a flag; a second one ends the process at once, the same one within a fifth
 * of a second (timeout(1) sends it twice) not counted. SIGPIPE and SIGXFSZ are ignored: a write says it. */
void stop_install(void);
int stop_wanted(void);      /* 0, or the number of the first signal */
void stop_request(int sig); /* as if the signal had come (a broken pipe: SIGPIPE) */
/* Ends this process by the signal with its default action, so that the parent sees it. */
void stop_reraise(int sig) __attribute__((noreturn));

/* ---- secret.c: what no record should hold ---- */

#define SECRET_MARK "{secret}" /* in its place; no placeholder of a command, so that it can never be run again like that */
bool secret_name(const char *name, size_t n); /* of a variable whose value may be one */
bool secret_url(const char *s);               /* holds scheme://user:password@ */
/* A copy of a command line with what look like secrets left out; freed by secret_free. */
int secret_argv(char *const argv[], char ***out) MUST_USE;
void secret_free(char **argv); /* may be NULL */
char *secret_shell(const char *text); /* the same of a line for sh, whose words are then joined by single spaces; NULL: no memory */

/* ---- guard.c: who ends what our children left if we are killed ---- */

struct guard {
	pid_t pid; /* 0: none */
	int fd;
};
/* Starts it, before the children it is for. When we are gone it kills the group it was told of, and every
 * process that began with the line `mark` (NAME=VALUE) in its environment; then it removes `folder`. Both may be NULL. */
int guard_start(struct guard *g, const char *mark, const char *folder, struct why *w) MUST_USE;
void guard_group(struct guard *g, pid_t group); /* 0: none any more */
void guard_end(struct guard *g); /* harmless when there is none */

/* ---- temp.c: a folder for temporary files, in $TMPDIR or /tmp ---- */

struct temp {
	char dir[4096]; /* absolute; "": there is none */
	struct guard guard;
};
/* Called `prefix` and a dot and six letters; removed by temp_end, or by a guard if we are killed. -EX_IOERR, -EX_OSERR. */
int temp_make(struct temp *t, const char *prefix, struct why *w) MUST_USE;
void temp_end(struct temp *t); /* harmless when there is none */
void temp_clear(const char *path); /* a folder with all that is in it; never follows a link; nothing there is no error */

/* ---- host.c: the machine we are on ---- */

int64_t host_rss(void);       /* resident bytes of this process */
int64_t host_rss_peak(void);
int64_t host_available(void); /* bytes that can still be taken: the least of MemAvailable and the cgroup's room */
int64_t host_oom_kills(void); /* cgroup's memory.events oom_kill, or vmstat's; -1 unknown */
int host_cores(void);         /* usable by this process */
void host_name(char out[256]);
void host_cpu(char out[256]);
/* Revision of the git checkout that holds dir ("" when none) and whether tracked files differ. */
void host_revision(const char *dir, char out[64], bool *dirty);

#endif
