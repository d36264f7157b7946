/* append.c - ledger append: what comes on standard input is on disk before it is acknowledged. It reads to
 * the end of its input whatever happens, because a trainer may stand at the other end of the pipe. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger.h"

static const char usage[] =
	"usage: ledger append [-e] [--receipt | --pass [-t | -j | --msgpack]] [--rest] [--spool DIR] [--timeout SECONDS] FILE\n";

enum { RECEIPT = 0x1001, PASS, REST, SPOOL, TIMEOUT };

static const struct cmd_option options[] = {
	{ 'e', "exit-status", NULL, "take the exit status from the stream's verdicts" },
	{ RECEIPT, "receipt", NULL, "print a line for each commit, which ledger verify can check later" },
	{ PASS, "pass", NULL, "write the records to standard output, too" },
	CMD_FORM_OPTIONS,
	{ REST, "rest", NULL, "the input is the rest of a stream: closings without their opening are no fault" },
	{ SPOOL, "spool", "DIR", "if the ledger cannot be written, put the rest of the input into a file here" },
	{ TIMEOUT, "timeout", "SECONDS", "wait so long for another process's lock (default 60)" },
	{ 0 },
};

static const char input_name[] = "standard input";

struct append {
	const char *path, *spool_dir;
	bool verdicts, receipt, pass, rest;
	enum form form;
	double timeout;

	struct in *in;
	struct ledger_writer *writer; /* NULL: it could not be opened */
	struct out *out;
	struct tally *tally;
	bool urgent;    /* something pending is not for later */
	bool given_up;  /* the ledger is not written any more */
	bool misplaced; /* a bracket out of place was told */
	int status;
	int spool; /* -1 none */
	char spool_path[4096];
	int64_t spooled;
	struct buf spool_buf;
};

static void worsen(struct append *a, const struct why *w)
{
	cmd_warn(w);
	a->status = code_worst(a->status, w->code);
}

/* ---- the spool ---- */

static int spool_flush(struct append *a, struct why *w)
{
	int r = 0;

	if (io_write(a->spool, a->spool_buf.p, a->spool_buf.n) < 0)
		r = why_errno(w, EX_IOERR, "spooling: %.300s", a->spool_path);
	a->spool_buf.n = 0;
	return r;
}

static int spool_put(struct append *a, const unsigned char *p, size_t n, struct why *w)
{
	if (buf_add(&a->spool_buf, p, n) < 0)
		return why_set(w, EX_OSERR, "spooling: %.300s: out of memory", a->spool_path);
	return a->spool_buf.n >= 65536 ? spool_flush(a, w) : 0;
}

/* What is pending is the beginning of the rest. */
static int spool_begin(struct append *a, struct why *w)
{
	const char *slash = strrchr(a->path, '/');
	char id[ULID_SIZE];
	const unsigned char *p = NULL;
	size_t n = 0;

	ulid_new(id);
	snprintf(a->spool_path, sizeof a->spool_path, "%s/%s.%s.records", a->spool_dir, slash ? slash + 1 : a->path, id);
	a->spool = open(a->spool_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (a->spool < 0)
		return why_errno(w, EX_IOERR, "spooling: %.300s", a->spool_path);
	if (a->writer) {
		p = ledger_pending_bytes(a->writer, &n);
		a->spooled = ledger_pending(a->writer);
	}
	return n ? spool_put(a, p, n, w) : 0;
}

static void spool_end(struct append *a)
{
	struct why w;

	if (a->spool < 0)
		return;
	if (spool_flush(a, &w) < 0) {
		worsen(a, &w);
	} else if (fsync(a->spool) < 0) {
		why_errno(&w, EX_IOERR, "spooling: %.300s", a->spool_path);
		worsen(a, &w);
	} else {
		cmd_say("the rest of the input, %lld records, is in %s; append it with: ledger append --rest %s <%s",
		        (long long)a->spooled, a->spool_path, a->path, a->spool_path);
	}
	close(a->spool);
}

/* The ledger cannot be written. With a spool the input is still read to its end; without one there is
 * nothing left to do, and the writers upstream are told by the broken pipe. */
static void give_up(struct append *a)
{
	struct why w;

	a->given_up = true;
	if (!a->spool_dir) {
		if (a->writer && ledger_pending(a->writer))
			cmd_say("%lld records that were read are not in the ledger (see --spool)", (long long)ledger_pending(a->writer));
	} else if (spool_begin(a, &w) < 0) {
		worsen(a, &w);
		if (a->spool >= 0)
			close(a->spool);
		a->spool = -1;
	}
}

/* ---- commits ---- */

static void print_receipt(const struct append *a, const struct ledger_receipt *r)
{
	char line[LEDGER_RECEIPT_SIZE];

	if (!a->receipt)
		return;
	ledger_receipt_write(r, line);
	puts(line);
	fflush(stdout);
}

static void commit(struct append *a)
{
	struct ledger_receipt receipt;
	const char *notice;
	struct why w;
	int r;

	if (a->given_up)
		return;
	r = ledger_commit(a->writer, &receipt, &w);
	notice = ledger_notice(a->writer);
	if (notice)
		cmd_say("%s", notice);
	a->urgent = false;
	if (r > 0)
		print_receipt(a, &receipt);
	if (r >= 0)
		return;
	worsen(a, &w);
	give_up(a);
}

/* Steps can wait for company; what closes, judges or saves should be on disk when its writer goes on. */
static bool urgent(enum kind k)
{
	return k != KIND_step && k != KIND_example && k != KIND_prediction;
}

/* ---- the input ---- */

static void flush_pass(struct append *a)
{
	struct why w, again;

	if (!a->out || out_flush(a->out, &w) == 0)
		return;
	if (out_broken(a->out)) /* the ledger matters more than who watches */
		cmd_say("writing records: standard output: its reader has gone; appending goes on");
	else
		worsen(a, &w);
	(void)!out_close(a->out, &again); /* said above */
	a->out = NULL;
}

/* Until a whole record is there; commits meanwhile what is due. */
static void wait_for_input(struct append *a)
{
	while (in_would_wait(a->in)) {
		double left = 5.0;
		bool pending = a->writer && !a->given_up && ledger_pending(a->writer) > 0;
		struct pollfd p = { .fd = 0, .events = POLLIN };

		flush_pass(a);
		if (pending && (a->urgent || stop_wanted() || ledger_full(a->writer))) {
			commit(a);
			continue;
		}
		if (pending)
			left -= ledger_age(a->writer);
		poll(&p, 1, pending ? (int)(left > 0 ? left * 1000 + 1 : 1) : -1);
	}
}

static void pass_on(struct append *a, const struct view *v)
{
	struct why w;

	if (a->out && out_view(a->out, v, &w) < 0)
		flush_pass(a);
}

static int keep(struct append *a, const struct view *v, struct why *w)
{
	if (a->given_up) {
		a->spooled++;
		return spool_put(a, v->raw, v->size, w);
	}
	a->urgent |= urgent(v->kind);
	return ledger_add(a->writer, v, w);
}

static void see(struct append *a, const struct view *v)
{
	struct why w;

	if (keep(a, v, &w) < 0) {
		worsen(a, &w);
		if (a->spool >= 0)
			close(a->spool);
		a->spool = -1;
		a->given_up = true;
	}
	pass_on(a, v);
	if (tally_see(a->tally, v, &w) < 0) {
		if (!a->misplaced)
			worsen(a, &w);
		a->misplaced = true;
	}
	if (!a->given_up && ledger_full(a->writer))
		commit(a);
}

static void read_all(struct append *a)
{
	struct view v;
	struct why w;
	int r = 1;

	while (r > 0 && (!a->given_up || a->spool >= 0)) {
		wait_for_input(a);
		if (a->given_up && a->spool < 0)
			break;
		r = in_next(a->in, &v, &w);
		if (r > 0)
			see(a, &v);
	}
	if (r < 0)
		worsen(a, &w);
	commit(a);
	/* without a spool the input was not read to its end: what it lacks is not its fault */
	if (r == 0 && tally_whole(a->tally, input_name, &w) < 0)
		worsen(a, &w);
	else if (r == 0 && a->verdicts && !a->misplaced && tally_verdict(a->tally, input_name, &w) < 0)
		worsen(a, &w);
}

/* ---- the command ---- */

static int open_all(struct append *a)
{
	struct why w;

	a->tally = tally_new();
	if (!a->tally || in_open(&a->in, 0, input_name, &w) < 0) {
		cmd_say("out of memory");
		return EX_OSERR;
	}
	if (a->rest)
		tally_part(a->tally);
	if (a->pass && out_open(&a->out, 1, a->form, &w) < 0) {
		cmd_warn(&w);
		return w.code;
	}
	if (ledger_writer_open(&a->writer, a->path, a->timeout, &w) < 0) {
		worsen(a, &w);
		give_up(a);
	}
	return 0;
}

static int run(struct append *a)
{
	int r = open_all(a);
	struct why w;

	if (r == 0)
		read_all(a);
	else
		a->status = code_worst(a->status, r);
	spool_end(a);
	if (a->out && out_close(a->out, &w) < 0 && errno != EPIPE)
		worsen(a, &w);
	in_close(a->in);
	ledger_writer_close(a->writer);
	tally_free(a->tally);
	buf_free(&a->spool_buf);
	return a->status;
}

static int check(const struct append *a, const struct cmd *c)
{
	struct stat st;

	if (c->operand != c->argc - 1)
		return cmd_usage_error("append: %s", c->operand == c->argc ? "which ledger?" : "one ledger at a time, please");
	if (a->receipt && a->pass)
		return cmd_usage_error("--receipt and --pass both write to standard output: choose one");
	if (a->form != FORM_AUTO && !a->pass)
		return cmd_usage_error("-t, -j and --msgpack go with --pass");
	if (a->spool_dir && (stat(a->spool_dir, &st) < 0 || !S_ISDIR(st.st_mode) || access(a->spool_dir, W_OK | X_OK) < 0))
		return cmd_usage_error("--spool: %.300s: not a folder that can be written", a->spool_dir);
	return 0;
}

int do_append(int argc, char **argv)
{
	struct append a = { .timeout = 60, .spool = -1 };
	const char *value;
	struct cmd c;
	int opt, bad = 0;

	cmd_options(&c, argc, argv, usage, options, NULL);
	while (bad == 0 && (opt = cmd_next(&c, &value)) >= 0)
		switch (opt) {
		case 'e': a.verdicts = true; break;
		case RECEIPT: a.receipt = true; break;
		case PASS: a.pass = true; break;
		case REST: a.rest = true; break;
		case SPOOL: a.spool_dir = value; break;
		case TIMEOUT: bad = cmd_duration("--timeout", value, &a.timeout); break;
		default: cmd_form(opt, &a.form); break;
		}
	if (bad)
		return bad;
	if (opt != CMD_END)
		return c.status;
	bad = check(&a, &c);
	if (bad)
		return bad;
	a.path = c.argv[c.operand];
	return run(&a);
}
