/* ledger_file.c - the ledger's bytes: whole, cut at every byte, with every bit flipped, and with what does not
 * belong there. */
#include <zlib.h>

#include "ledger_kit.h"

/* Does zlib's own command-line reader of concatenated members read it whole? */
static bool zcat_whole(const char *path, struct buf *out)
{
	char command[600];
	FILE *f;
	size_t n;
	int rc;

	snprintf(command, sizeof command, "zcat < '%s' 2>/dev/null", path);
	f = popen(command, "r");
	if (!f)
		exit(1);
	do {
		if (buf_room(out, 65536) < 0)
			exit(1);
		n = fread(out->p + out->n, 1, 65536, f);
		out->n += n;
	} while (n);
	rc = pclose(f);
	return rc == 0;
}

static void whole(void)
{
	const char *path = kit_path("whole");
	struct kit_found f, skipped;
	struct kit_checked c;
	struct buf z = { 0 };

	kit_ledger(path, 3, 250);
	c = kit_check(path);
	is_int(c.code, 0, "a whole ledger can be checked");
	is_int(c.faults, 0, "and has no fault");
	is_int(c.totals.appends, 3, "its appends");
	is_int(c.totals.records, 3 * 252, "its records");
	f = kit_all(path, false, false, true);
	is_int(f.records, 3 * 252, "a reader gets all records");
	is_int(f.faults, 0, "and no fault");
	ok(zcat_whole(path, &z), "zcat reads it whole");
	ok(z.n == f.raw.n && memcmp(z.p, f.raw.p, z.n) == 0, "and gives the same bytes");
	skipped = kit_all(path, false, true, false);
	is_int(skipped.skipped, 3 * 250, "steps are counted from the heads");
	is_int(skipped.records, 6, "and the rest is read");
	buf_free(&z);
	buf_free(&f.raw);
}

static void empty(void)
{
	const char *path = kit_path("empty");
	struct ledger_writer *l;
	struct buf z = { 0 };
	struct why w;

	is_int(ledger_writer_open(&l, path, 5, &w), 0, "a file is made");
	ledger_writer_close(l);
	ok(zcat_whole(path, &z) && z.n == 0, "zcat reads a new ledger, and it is empty");
	is_int(kit_check(path).faults, 0, "a new ledger has no fault");
	kit_write(path, "", 0);
	is_int(ledger_writer_open(&l, path, 5, &w), 0, "an empty file is accepted");
	is_int(kit_note(l, "x", 1, &w), 0, "a note");
	is_int(ledger_commit(l, &(struct ledger_receipt){ 0 }, &w), 1, "is appended to it");
	ledger_writer_close(l);
	is_int(kit_check(path).faults, 0, "and gives it its header");
	buf_free(&z);
}

/* Every cut inside the last append is a torn tail at the end of the one before; the next append survives it. */
static void cuts(void)
{
	const char *path = kit_path("cuts");
	int64_t unnamed = 0, wrong_place = 0, unreadable = 0, lost = 0, unnoticed = 0, not_whole = 0;
	struct buf all;

	kit_ledger(path, 2, 5);
	all = kit_read(path);
	for (size_t n = 1; n < all.n; n++) {
		struct ledger_writer *l;
		struct kit_checked c;
		struct kit_found f;
		struct why w;

		kit_write(path, all.p, n);
		c = kit_check(path);
		if (n == 56) /* nothing but the header: a new ledger */
			continue;
		f = kit_all(path, false, false, false);
		if (c.code == 0 && c.faults == 0) {
			if (kit_check(path).totals.last.end != (int64_t)n)
				unnamed++;
			continue; /* between two appends */
		}
		unnamed += c.first.kind != LEDGER_TORN;
		wrong_place += c.first.offset + c.first.bytes != (int64_t)n;
		unreadable += f.code != 0 || f.faults != 1;
		if (ledger_writer_open(&l, path, 5, &w) < 0 || kit_note(l, "after", 5, &w) < 0 || ledger_commit(l, &(struct ledger_receipt){ 0 }, &w) != 1) {
			if (lost++ == 0)
				diag("cut at %zu: %s", n, w.text);
		} else {
			unnoticed += ledger_notice(l) == NULL;
		}
		ledger_writer_close(l);
		not_whole += kit_check(path).faults != 0;
		f = kit_all(path, false, false, false);
		lost += f.records != (c.totals.appends ? 8 : 1);
	}
	is_int(unnamed, 0, "each cut is named a torn tail");
	is_int(wrong_place, 0, "with its place");
	is_int(unreadable, 0, "readers read what is before it and say so");
	is_int(unnoticed, 0, "the next append tells that it cut");
	is_int(lost, 0, "and keeps all that was whole");
	is_int(not_whole, 0, "and the file is whole again");
	buf_free(&all);
}

/* A cut append is kept beside the file, byte by byte. */
static void aside(void)
{
	const char *path = kit_path("aside");
	struct ledger_writer *l;
	struct why w;
	struct buf all, kept;
	char *at, command[300];
	const char *notice;
	int64_t end;

	kit_ledger(path, 1, 30);
	end = kit_check(path).totals.last.end;
	all = kit_read(path);
	if (buf_add(&all, all.p + 56, 100) < 0)
		exit(1);
	kit_write(path, all.p, all.n);
	is_int(ledger_writer_open(&l, path, 5, &w), 0, "opened");
	is_int(kit_note(l, "x", 1, &w), 0, "a note");
	is_int(ledger_commit(l, &(struct ledger_receipt){ 0 }, &w), 1, "committed behind a torn tail");
	notice = ledger_notice(l);
	at = notice ? strstr(notice, "saved in ") : NULL;
	ok(at != NULL, "the notice says where the tail is");
	ok(ledger_notice(l) == NULL, "once");
	if (at) {
		snprintf(command, sizeof command, "%.*s", (int)strcspn(at + 9, " "), at + 9);
		command[strcspn(command, " ;")] = 0;
		kept = kit_read(command);
		ok(kept.n == 100 && memcmp(kept.p, all.p + end, 100) == 0, "there, as it was");
		buf_free(&kept);
	}
	ledger_writer_close(l);
	buf_free(&all);
}

/* No bit of the file can be flipped without verify finding it. */
static void flips(void)
{
	const char *path = kit_path("flips");
	int64_t missed = 0, refused = 0, crashed = 0;
	struct buf all;

	kit_ledger(path, 2, 12);
	all = kit_read(path);
	for (size_t i = 0; i < all.n; i++)
		for (int bit = 0; bit < 8; bit++) {
			struct kit_checked c;
			struct kit_found f;

			all.p[i] ^= (unsigned char)(1 << bit);
			kit_write(path, all.p, all.n);
			c = kit_check(path);
			missed += c.code == 0 && c.faults == 0;
			refused += c.code < 0;
			f = kit_all(path, true, false, false);
			crashed += f.code < 0 && f.code != -EX_DATAERR;
			all.p[i] ^= (unsigned char)(1 << bit);
		}
	is_int(missed, 0, "every flipped bit is found");
	diag("%lld bits", 8 * (long long)all.n);
	is_int(refused, 0, "as a fault with its place");
	is_int(crashed, 0, "and recover reads what it can");
	buf_free(&all);
}

/* Damage in one member loses that member and no other. */
static void middle(void)
{
	const char *path = kit_path("middle");
	struct kit_checked c;
	struct kit_found f;
	struct buf all;

	kit_ledger(path, 3, 250);
	all = kit_read(path);
	all.p[all.n / 2] ^= 1;
	kit_write(path, all.p, all.n);
	c = kit_check(path);
	is_int(c.faults, 1, "one fault is told once");
	f = kit_all(path, false, false, false);
	is_int(f.faults, 1, "readers tell it");
	ok(f.records >= 3 * 252 - 100 && f.records < 3 * 252, "and lose one member at most (%lld of %d records)", (long long)f.records, 3 * 252);
	ok(strstr(ledger_fault_name(f.first.kind), "checksum") != NULL, "as a bad checksum");
	buf_free(&all);
}

/* A record that holds a member of a ledger, stored because it does not compress: no search may find its head. */
static void ledger_inside(void)
{
	const char *path = kit_path("inside");
	struct ledger_writer *l;
	struct kit_checked c;
	struct kit_found f;
	struct buf inner = { 0 }, all, noise = { 0 };
	struct why w;
	size_t n;

	kit_ledger(path, 1, 5);
	all = kit_read(path);
	n = all.p[56 + 26] + 256u * all.p[56 + 27]; /* the size in its head */
	for (uint64_t i = 0; i < 4096; i++) { /* noise around it, so that deflate stores the whole */
		uint64_t x = rand_bits(1, RAND_TEST, i, 0);

		if (buf_add(&inner, &x, 8) < 0 || (i == 1000 && buf_add(&inner, all.p + 56, n) < 0))
			exit(1);
	}
	buf_free(&all);
	/* its bytes as Latin-1 text would grow: put them into a binary field of an unknown kind */
	if (buf_add(&noise, "\x83\xa4kind\xa4""blob\xa1t\xd6\xff\x65\x00\x00\x00\xa1""b\xc6", 22) < 0)
		exit(1);
	{
		unsigned char be[4] = { (unsigned char)(inner.n >> 24), (unsigned char)(inner.n >> 16), (unsigned char)(inner.n >> 8), (unsigned char)inner.n };
		if (buf_add(&noise, be, 4) < 0 || buf_add(&noise, inner.p, inner.n) < 0)
			exit(1);
	}
	unlink(path);
	is_int(ledger_writer_open(&l, path, 5, &w), 0, "opened");
	struct view v;
	is_int(scan_size(noise.p, noise.n, &w), (long long)noise.n, "scanned");
	is_int(view_open(&v, noise.p, noise.n, &w), 0, "a record with a member in it");
	is_int(ledger_add(l, &v, &w), 0, "added");
	is_int(ledger_commit(l, &(struct ledger_receipt){ 0 }, &w), 1, "committed");
	ledger_writer_close(l);
	all = kit_read(path);
	ok(all.n > inner.n, "it is stored, not compressed (%zu bytes of %zu)", all.n, inner.n);
	c = kit_check(path);
	if (!is_int(c.faults, 0, "the ledger is whole"))
		diag("%s", c.first.text);
	f = kit_all(path, false, false, false);
	is_int(f.records, 1, "and has one record");
	/* its head damaged, so that what follows is searched: that must not land inside it */
	all.p[90] ^= 1; /* the head's checksum */
	all.p[all.n - 140] ^= 1; /* and the member's own */
	kit_write(path, all.p, all.n);
	f = kit_all(path, true, false, false);
	is_int(f.records, 0, "no record of the inner member is resurrected when the outer member is damaged");
	is_int(kit_check(path).totals.appends, 1, "nor a footer");
	all.p[90] ^= 1;
	all.p[all.n - 140] ^= 1;
	kit_write(path, all.p, all.n - 1);
	c = kit_check(path);
	is_int(c.first.kind, LEDGER_TORN, "nor when it is cut");
	is_int(c.totals.appends, 0, "no inner footer counts");
	buf_free(&all);
	buf_free(&inner);
	buf_free(&noise);
}

static size_t gzip(const void *p, size_t n, unsigned char *out, size_t size)
{
	z_stream z = { 0 };

	if (deflateInit2(&z, 6, Z_DEFLATED, 31, 8, 0) != Z_OK)
		exit(1);
	z.next_in = (unsigned char *)p;
	z.avail_in = (uInt)n;
	z.next_out = out;
	z.avail_out = (uInt)size;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		exit(1);
	size = z.total_out;
	deflateEnd(&z);
	return size;
}

static void put(const char *path, const struct buf *a, const void *p, size_t n)
{
	struct buf all = { 0 };

	if (buf_add(&all, a->p, a->n) < 0 || buf_add(&all, p, n) < 0)
		exit(1);
	kit_write(path, all.p, all.n);
	buf_free(&all);
}

static void tails(void)
{
	static const struct {
		const char *what;
		enum ledger_fault_kind kind;
	} want[] = { { "zero bytes", LEDGER_TORN }, { "text", LEDGER_FOREIGN }, { "gzip -c output", LEDGER_FOREIGN }, { "another ledger", LEDGER_FOREIGN } };
	static const unsigned char zero[5000];
	const char *path = kit_path("tails");
	struct buf all, other;
	struct kit_found f;
	unsigned char gz[1000];
	size_t n;

	kit_ledger(path, 1, 10);
	all = kit_read(path);
	f = kit_all(path, false, false, true);
	n = gzip(f.raw.p, 200 < f.raw.n ? f.raw.n : 0, gz, sizeof gz);
	kit_ledger(kit_path("other"), 2, 10);
	other = kit_read(kit_path("other"));
	for (int i = 0; i < 4; i++) {
		struct ledger_writer *l;
		struct kit_checked c;
		struct kit_found g;
		struct why w;

		put(path, &all, i == 0 ? zero : i == 1 ? (const unsigned char *)"hello, world\n" : i == 2 ? gz : other.p, i == 0 ? sizeof zero : i == 1 ? 13 : i == 2 ? n : other.n);
		c = kit_check(path);
		ok(c.code == 0 && c.faults == 1 && c.first.kind == want[i].kind && c.first.offset == (int64_t)all.n, "%s at the end: %s", want[i].what, c.first.text);
		g = kit_all(path, false, false, false);
		is_int(g.records, 12, "readers give the ledger's own records");
		g = kit_all(path, true, false, false);
		is_int(g.records, i < 2 ? 12 : i == 2 ? 24 : 36, "recover also what is whole behind them");
		if (ledger_writer_open(&l, path, 5, &w) < 0 || kit_note(l, "x", 1, &w) < 0)
			exit(1);
		is_int(ledger_commit(l, &(struct ledger_receipt){ 0 }, &w), 1, "the next append goes through");
		ledger_writer_close(l);
		is_int(kit_check(path).faults, 0, "and leaves it whole");
	}
	/* and in the middle */
	for (int i = 0; i < 3; i++) {
		struct buf mixed = { 0 };
		int64_t end = kit_check(kit_path("other")).totals.last.end;
		size_t half = 56 + (size_t)(end - 56) / 2;
		struct kit_checked c;

		if (buf_add(&mixed, other.p, half) < 0 || buf_add(&mixed, i == 0 ? zero : i == 1 ? (const unsigned char *)"hello" : gz, i == 0 ? 300 : i == 1 ? 5 : n) < 0 ||
		    buf_add(&mixed, other.p + half, other.n - half) < 0)
			exit(1);
		kit_write(path, mixed.p, mixed.n);
		c = kit_check(path);
		ok(c.code == 0 && c.faults > 0 && c.first.offset <= (int64_t)half, "%s in the middle: %s", want[i].what, c.first.text);
		buf_free(&mixed);
	}
	buf_free(&all);
	buf_free(&other);
	buf_free(&f.raw);
}

/* A footer on disk whose data never got there (a crash of the machine): the next append steps back over it. */
static void lost_data(void)
{
	const char *path = kit_path("lost");
	struct ledger_writer *l;
	struct kit_found f;
	struct buf all, z = { 0 };
	struct why w;

	kit_ledger(path, 1, 10);
	size_t first = (size_t)kit_check(path).totals.last.end;
	if (ledger_writer_open(&l, path, 5, &w) < 0 || kit_note(l, "second", 6, &w) < 0 || ledger_commit(l, &(struct ledger_receipt){ 0 }, &w) != 1)
		exit(1);
	ledger_writer_close(l);
	all = kit_read(path);
	memset(all.p + first, 0, all.n - 130 - first);
	kit_write(path, all.p, all.n);
	is_int(kit_check(path).faults > 0, 1, "data that never reached the disk are found");
	if (ledger_writer_open(&l, path, 5, &w) < 0 || kit_note(l, "third", 5, &w) < 0)
		exit(1);
	is_int(ledger_commit(l, &(struct ledger_receipt){ 0 }, &w), 1, "the next append goes through");
	ledger_writer_close(l);
	is_int(kit_check(path).faults, 0, "and leaves the ledger whole");
	ok(zcat_whole(path, &z), "for zcat, too");
	f = kit_all(path, false, false, false);
	is_int(f.records, 13, "with all else");
	buf_free(&all);
	buf_free(&z);
}

static void not_ours(void)
{
	const char *path = kit_path("not-ours");
	struct ledger_writer *l = NULL;
	struct buf now;
	struct why w;

	kit_write(path, "precious notes\n", 15);
	is_int(ledger_writer_open(&l, path, 5, &w), -EX_DATAERR, "a file that is no ledger is refused");
	ok(strstr(w.text, path) && strstr(w.text, "not a ledger"), "by name: %s", w.text);
	now = kit_read(path);
	is_int((long long)now.n, 15, "and left alone");
	is_int(ledger_writer_open(&l, kit_dir, 5, &w) < 0, 1, "so is a folder");
	is_int(kit_check(path).code, -EX_DATAERR, "verify says that it is none");
	buf_free(&now);
}

static void receipts(void)
{
	const char *path = kit_path("receipts");
	struct ledger_receipt r, again;
	struct ledger_writer *l;
	char line[LEDGER_RECEIPT_SIZE];
	struct why w;
	struct buf all;

	kit_ledger(path, 1, 1);
	if (ledger_writer_open(&l, path, 5, &w) < 0 || kit_note(l, "x", 1, &w) < 0 || ledger_commit(l, &r, &w) != 1)
		exit(1);
	ledger_writer_close(l);
	is_int(r.sequence, 2, "sequence");
	is_int(r.records, 1, "records");
	ledger_receipt_write(&r, line);
	is_int(ledger_receipt_read(line, &again, &w), 0, "a receipt reads back");
	ok(memcmp(&r, &again, sizeof r) == 0, "as it was");
	is_int(ledger_receipt_holds(path, &again, &w), 1, "and holds");
	again.hash[0] ^= 1;
	is_int(ledger_receipt_holds(path, &again, &w), 0, "with another hash it does not");
	line[9] ^= 1;
	is_int(ledger_receipt_read(line, &again, &w) < 0 || ledger_receipt_holds(path, &again, &w) == 0, 1, "nor with another file id");
	is_int(ledger_receipt_read("receipt 12 3 4", &again, &w), -EX_DATAERR, "what is no receipt is refused");
	all = kit_read(path);
	kit_write(path, all.p, (size_t)(all.n - 1));
	is_int(ledger_receipt_holds(path, &r, &w), 0, "an append that was cut is missed");
	buf_free(&all);
}

int main(void)
{
	whole();
	empty();
	cuts();
	aside();
	flips();
	middle();
	ledger_inside();
	tails();
	lost_data();
	not_ours();
	receipts();
	kit_done();
	return done_testing();
}
