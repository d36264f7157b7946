/* recover.c - ledger recover: every good record of a damaged ledger into a new one, and what was lost. */
#include "ledger.h"

static const char usage[] = "usage: ledger recover IN OUT\n";

struct recover {
	const char *in;
	struct ledger *l;
	struct fresh out;
	struct ledger_fault fault; /* the last one, told when it is known what came out of it */
	bool open;
	int64_t from_it, records, faults, lost_bytes;
};

static void tell(struct recover *r)
{
	const struct ledger_fault *f = &r->fault;

	if (!r->open)
		return;
	r->open = false;
	printf("%s: offset %lld, member %lld, %lld bytes: %s: ", r->in, (long long)f->offset, (long long)f->member, (long long)f->bytes, ledger_fault_name(f->kind));
	for (const char *s = f->text; *s; s++)
		putchar((unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s);
	if (r->from_it)
		printf("; %lld records in it are good and kept\n", (long long)r->from_it);
	else
		printf(f->empty ? "; no record was in it\n" : "; lost\n");
	if (!r->from_it && !f->empty)
		r->lost_bytes += f->bytes;
}

static bool inside(const struct recover *r, const struct view *v)
{
	return r->open && v->offset >= r->fault.offset && v->offset < r->fault.offset + r->fault.bytes;
}

static void see_fault(struct recover *r)
{
	const struct ledger_fault *f = ledger_fault(r->l);

	/* damage inside a tail that is told already */
	if (r->open && f->offset >= r->fault.offset && f->offset < r->fault.offset + r->fault.bytes) {
		r->lost_bytes += f->empty || f->bytes == r->fault.bytes ? 0 : f->bytes;
		return;
	}
	tell(r);
	r->fault = *f;
	r->open = true;
	r->from_it = 0;
	r->faults++;
}

static int copy(struct recover *r, struct why *w)
{
	struct view v;
	int what, code = 0;

	while (code == 0 && !stop_wanted() && (what = ledger_next(r->l, &v, w)) != LEDGER_END) {
		if (what < 0)
			return what;
		if (what == LEDGER_FAULT)
			see_fault(r);
		if (what != LEDGER_RECORD)
			continue;
		r->records++;
		if (inside(r, &v))
			r->from_it++;
		else
			tell(r);
		code = fresh_add(&r->out, &v, w);
	}
	tell(r);
	return code;
}

static int finish(struct recover *r, const char *out, struct why *w)
{
	int code;

	if (r->records == 0 && r->faults)
		return why_set(w, EX_DATAERR, "recovering: %.300s: not one good record of a ledger in it", r->in);
	code = fresh_commit(&r->out, w);
	if (code < 0)
		return code;
	printf("%s: %lld records recovered into %s; %lld faults, %lld bytes lost\n", r->in, (long long)r->records, out, (long long)r->faults, (long long)r->lost_bytes);
	return r->lost_bytes ? EX_NO : 0;
}

static int recover(const char *in, const char *out)
{
	struct recover r = { .in = in };
	struct why w;
	int code = fresh_begin(&r.out, out, &w);

	if (code == 0)
		code = ledger_open_damaged(&r.l, in, &w);
	if (code == 0)
		code = copy(&r, &w);
	if (code == 0 && !stop_wanted())
		code = finish(&r, out, &w);
	ledger_close(r.l);
	fresh_abandon(&r.out);
	if (code < 0) {
		cmd_warn(&w);
		return w.code;
	}
	return code;
}

int do_recover(int argc, char **argv)
{
	const char *value;
	struct cmd c;

	cmd_options(&c, argc, argv, usage, NULL, NULL);
	if (cmd_next(&c, &value) != CMD_END)
		return c.status;
	if (c.argc - c.operand != 2)
		return cmd_usage_error("recover: needs IN and OUT");
	return recover(c.argv[c.operand], c.argv[c.operand + 1]);
}
