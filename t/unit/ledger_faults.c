/* ledger_faults.c - the Nth write, sync or cut fails, for N = 1, 2, ...: no acknowledged record is lost, and the
 * next append leaves the ledger whole. Linked with -Wl,--wrap for the calls below. */
#include <errno.h>

#include "ledger_kit.h"

enum call { WRITE, SHORT_WRITE, FDATASYNC, FSYNC, FTRUNCATE, LINK, CALLS };
static const char *const names[CALLS] = { "write", "short write", "fdatasync", "fsync", "ftruncate", "link" };

static bool cannot_cut; /* ftruncate fails, too */
static struct {
	enum call call;
	long at, seen; /* 0: none fails */
	bool on;       /* all from that on */
	bool hit;
} fault;

static bool refused(enum call c)
{
	if (!fault.at || fault.call != c)
		return false;
	fault.seen++;
	if (fault.seen < fault.at || (fault.seen > fault.at && !fault.on))
		return false;
	fault.hit = true;
	errno = c == WRITE || c == SHORT_WRITE ? ENOSPC : EIO;
	return true;
}

ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n)
{
	static bool cut; /* a full disk takes some bytes first, and says so on the next call */

	if (fd <= 2)
		return __real_write(fd, p, n);
	if (cut) {
		cut = false;
		errno = ENOSPC;
		return -1;
	}
	if (refused(WRITE))
		return -1;
	if (n > 1 && refused(SHORT_WRITE)) {
		cut = true;
		return __real_write(fd, p, n / 2);
	}
	return __real_write(fd, p, n);
}

#define WRAP(name, call, parameters, arguments) \
	int __real_##name parameters; \
	int __wrap_##name parameters; \
	int __wrap_##name parameters { return refused(call) ? -1 : __real_##name arguments; }
WRAP(fdatasync, FDATASYNC, (int fd), (fd))
WRAP(fsync, FSYNC, (int fd), (fd))
int __real_ftruncate(int fd, off_t n);
int __wrap_ftruncate(int fd, off_t n);
int __wrap_ftruncate(int fd, off_t n)
{
	if (cannot_cut)
		errno = EIO;
	return cannot_cut || refused(FTRUNCATE) ? -1 : __real_ftruncate(fd, n);
}
WRAP(link, LINK, (const char *a, const char *b), (a, b))

static void arm(enum call c, long at, bool on)
{
	fault.call = c;
	fault.at = at;
	fault.seen = 0;
	fault.on = on;
	fault.hit = false;
}

/* Appends notes "0 ".."9 " one by one, each tried once; which ones were acknowledged. */
static unsigned append(const char *path, int64_t *refusals)
{
	struct ledger_receipt receipt;
	struct ledger_writer *l;
	unsigned acknowledged = 0;
	struct why w = { 0 };
	char text[3] = "0 ";

	for (int i = 0; i < 10; i++) {
		/* a new process each time, as far as the library is concerned */
		text[0] = (char)('0' + i);
		if (ledger_writer_open(&l, path, 5, &w) < 0) {
			++*refusals;
			continue;
		}
		if (kit_note(l, text, 2, &w) == 0 && ledger_commit(l, &receipt, &w) == 1)
			acknowledged |= 1u << i;
		else
			++*refusals;
		ledger_writer_close(l);
	}
	return acknowledged;
}

/* Which notes it holds. */
static unsigned found(const char *path, int64_t *faults)
{
	struct ledger *l;
	unsigned held = 0;
	struct view v;
	struct why w;
	char text[8];
	int what;

	if (ledger_open(&l, path, &w) < 0)
		return 0;
	while ((what = ledger_next(l, &v, &w)) > 0) {
		*faults += what == LEDGER_FAULT;
		if (what == LEDGER_RECORD && view_copy(&v, F_note_text, text, sizeof text) && text[0] >= '0' && text[0] <= '9')
			held |= 1u << (text[0] - '0');
	}
	ledger_close(l);
	return held;
}

static void clean(void)
{
	char command[100];

	snprintf(command, sizeof command, "rm -f %s/*", kit_dir);
	if (system(command))
		exit(1);
}

/* begin: the file is there, or (torn) there with half an append behind it. */
enum begin { NEW, THERE, TORN };

static void start(const char *path, enum begin begin)
{
	struct buf all;

	clean();
	if (begin == NEW)
		return;
	kit_ledger(path, 2, 5);
	if (begin == TORN) {
		all = kit_read(path);
		kit_write(path, all.p, all.n - 200);
		buf_free(&all);
	}
}

static void each(enum call c, enum begin begin, bool on, bool uncut)
{
	static const char *const begins[] = { "a new file", "a file that is there", "a torn file" };
	const char *path = kit_path("faults");
	int64_t lost = 0, not_whole = 0, failures = 0, silent = 0;
	long n = 1;

	for (;; n++) {
		struct ledger_writer *l;
		struct ledger_receipt receipt;
		int64_t refusals = 0, faults = 0;
		unsigned acknowledged, held;
		struct why w;
		bool hit;

		start(path, begin);
		arm(c, n, on);
		cannot_cut = uncut;
		acknowledged = append(path, &refusals);
		hit = fault.hit;
		arm(c, 0, false);
		cannot_cut = false;
		if (!hit)
			break;
		failures++;
		if (ledger_writer_open(&l, path, 5, &w) < 0 || kit_note(l, "x", 1, &w) < 0 || ledger_commit(l, &receipt, &w) != 1)
			not_whole++;
		ledger_writer_close(l);
		held = found(path, &faults);
		lost += (acknowledged & ~held) != 0;
		not_whole += faults != 0 || kit_check(path).faults != 0;
		/* a failing link, or sync of a folder, has another way round */
		silent += refusals == 0 && c != LINK && c != FSYNC && c != FTRUNCATE;
	}
	if (failures == 0) /* this call is not made from such a beginning */
		return;
	ok(lost == 0 && not_whole == 0 && silent == 0, "%s fails%s%s, %s: %lld times; %lld lost, %lld not whole, %lld unnoticed", names[c], on ? " from then on" : "", uncut ? " and nothing can be cut" : "",
	   begins[begin], (long long)failures, (long long)lost, (long long)not_whole, (long long)silent);
}

int main(void)
{
	int64_t refusals = 0, faults = 0;
	const char *path = kit_path("none");

	is_int(append(path, &refusals), 1023, "without faults all are acknowledged");
	is_int(found(path, &faults), 1023, "and there");
	for (int c = 0; c < CALLS; c++)
		for (int begin = NEW; begin <= TORN; begin++)
			for (int on = 0; on < 2; on++)
				each((enum call)c, (enum begin)begin, on, false);
	each(SHORT_WRITE, THERE, false, true);
	each(FDATASYNC, THERE, false, true);
	kit_done();
	return done_testing();
}
