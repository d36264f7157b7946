/* ledger.c - any bytes as a ledger's file: read, read as damaged, checked and summed up, always to an end, with
 * reasons for what is wrong; and an append to it leaves a whole ledger or refuses. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../unit/memfile.h"
#include "../../lib/job/job.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void bad(void)
{
	abort();
}

static bool want(void *ctx, const struct ledger_steps *s, int n)
{
	int *i = ctx;

	for (int k = 0; k < n; k++)
		if (strlen(s[k].run) >= ULID_SIZE)
			bad();
	return ++*i & 1;
}

/* Reads to the end; the records it had. */
static int64_t read_it(const char *path, bool damaged)
{
	struct summary *sum = summary_new();
	struct tally *tally = tally_new();
	struct ledger *l = NULL;
	struct why w = { 0 };
	struct view v;
	int64_t records = 0;
	int what = damaged ? ledger_open_damaged(&l, path, &w) : ledger_open(&l, path, &w), members = 0;

	if (!sum || !tally)
		bad();
	if (what == 0 && !damaged)
		ledger_skip(l, want, &members);
	while (what >= 0 && (what = ledger_next(l, &v, &w)) > 0) {
		if (what == LEDGER_RECORD) {
			records++;
			if (summary_see(sum, &v, &w) < 0)
				bad();
			if (tally_see(tally, &v, &w) == -EX_OSERR)
				bad();
		} else if (what == LEDGER_FAULT && (!*ledger_fault(l)->text || ledger_fault(l)->bytes <= 0)) {
			bad();
		}
	}
	if (what < 0 && !*w.text)
		bad();
	if (tally_whole(tally, "x", &w) == 0 && tally_verdict(tally, "x", &w) < 0 && !*w.text)
		bad();
	ledger_close(l);
	tally_free(tally);
	summary_free(sum);
	return records;
}

struct seen {
	int64_t faults;
};

static void fault(void *ctx, const struct ledger_fault *f)
{
	struct seen *s = ctx;

	s->faults += f->kind != LEDGER_IN_PROGRESS;
	if (!*f->text || f->offset < 0)
		bad();
}

/* Faults found; -1 it is no ledger. */
static int64_t check_it(const char *path)
{
	struct ledger_totals t;
	struct seen s = { 0 };
	struct why w = { 0 };
	int r = ledger_check(path, fault, &s, &t, &w);

	if (r < 0 && !*w.text)
		bad();
	if (r == 0 && s.faults != t.faults)
		bad();
	return r < 0 ? -1 : s.faults;
}

/* The heads of the inputs have right checksums only by chance: give them right ones half of the time. */
static void mend(uint8_t *p, size_t n)
{
	for (size_t i = 0; i + 130 <= n; i++) {
		unsigned long c;
		size_t at;

		if (p[i] != 0x1f || memcmp(p + i + 16, "\x89pilot\r\n", 8))
			continue;
		at = p[i + 24] == 'H' ? 42 : p[i + 24] == 'F' ? 116 : 34;
		c = crc32(0, p + i, (unsigned)at);
		if (at == 34) {
			size_t entries = (size_t)p[i + 25] * 76;
			if (i + 38 + entries <= n)
				c = crc32(c, p + i + 38, (unsigned)entries);
		}
		for (int k = 0; k < 4; k++)
			p[i + at + (size_t)k] = (uint8_t)(c >> 8 * k);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n + 1);
	struct memfile m;
	int64_t faults, records, damaged;

	if (!copy)
		return 0;
	memcpy(copy, p, n);
	if (n && p[n - 1] & 1)
		mend(copy, n);
	m = memfile(copy, n);
	faults = check_it(m.path);
	records = read_it(m.path, false);
	damaged = read_it(m.path, true);
	if (faults == 0 && damaged < records)
		bad();
	memfile_close(&m);
	free(copy);
	return 0;
}
