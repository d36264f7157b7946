/* merge.c - ledger merge: the records of several ledgers in one new one, those they share once. */
#include <stdlib.h>
#include <string.h>

#include "ledger.h"

static const char usage[] = "usage: ledger merge OUT IN ...\n";

/* How often each record was written, and how often it was in the present input: a record goes out only where
 * an input holds it more often than all before. 24 bytes a record. */
struct bag {
	struct bag_slot {
		uint64_t a, b; /* of its SHA-256 */
		uint32_t out, now;
	} *slot;
	size_t n, cap;
};

struct merge {
	struct bag bag;
	struct fresh out;
	int64_t records, duplicates;
};

static struct bag_slot *place(const struct bag *b, uint64_t x, uint64_t y)
{
	size_t i = x & (b->cap - 1);

	while ((b->slot[i].a || b->slot[i].b) && (b->slot[i].a != x || b->slot[i].b != y))
		i = (i + 1) & (b->cap - 1);
	return &b->slot[i];
}

static int grow(struct bag *b)
{
	struct bag old = *b;

	b->cap = old.cap ? 2 * old.cap : 1024;
	b->slot = calloc(b->cap, sizeof *b->slot);
	if (!b->slot) {
		*b = old;
		return -EX_OSERR;
	}
	for (size_t i = 0; i < old.cap; i++)
		if (old.slot[i].a || old.slot[i].b)
			*place(b, old.slot[i].a, old.slot[i].b) = old.slot[i];
	free(old.slot);
	return 0;
}

/* 1 it is new, 0 it was written already. */
static int bag_add(struct bag *b, const struct view *v)
{
	unsigned char hash[32];
	struct bag_slot *s;
	uint64_t x[2];

	if (sha_of(v->raw, v->size, hash) < 0 || (2 * b->n >= b->cap && grow(b) < 0))
		return -EX_OSERR;
	memcpy(x, hash, sizeof x);
	s = place(b, x[0], x[1]);
	if (!s->out && !s->now) {
		s->a = x[0];
		s->b = x[1];
		b->n++;
	}
	s->now++;
	if (s->now <= s->out)
		return 0;
	s->out = s->now;
	return 1;
}

static void bag_next_input(struct bag *b)
{
	for (size_t i = 0; i < b->cap; i++)
		b->slot[i].now = 0;
}

static int see(void *ctx, const struct view *v, struct why *w)
{
	struct merge *m = ctx;
	int fresh = bag_add(&m->bag, v);

	if (fresh < 0)
		return why_set(w, EX_OSERR, "merging: record %lld: out of memory", (long long)v->number);
	m->records += fresh;
	m->duplicates += !fresh;
	return fresh ? fresh_add(&m->out, v, w) : 0;
}

static int merge_one(struct merge *m, const char *name)
{
	struct reading r = { .see = see, .ctx = m };
	struct operand o;
	struct why w;
	int status;

	if (operand_open(&o, name, false, &w) < 0) {
		cmd_warn(&w);
		return w.code;
	}
	status = operand_read(&o, &r);
	operand_close(&o);
	bag_next_input(&m->bag);
	return status;
}

/* Damage in an input is told, and what is good of it merged; an input that cannot be read at all ends it. */
static int merge(const char *out, char **in, int n)
{
	struct merge m = { 0 };
	struct why w;
	int status = 0;

	if (fresh_begin(&m.out, out, &w) < 0) {
		cmd_warn(&w);
		return w.code;
	}
	for (int i = 0; i < n && (status == 0 || status == EX_DATAERR) && !stop_wanted(); i++)
		status = code_worst(status, merge_one(&m, in[i]));
	if ((status == 0 || status == EX_DATAERR) && !stop_wanted()) {
		if (fresh_commit(&m.out, &w) < 0) {
			cmd_warn(&w);
			status = code_worst(status, w.code);
		} else {
			printf("%s: %lld records, %lld duplicates left out\n", out, (long long)m.records, (long long)m.duplicates);
		}
	}
	fresh_abandon(&m.out);
	free(m.bag.slot);
	return status;
}

int do_merge(int argc, char **argv)
{
	const char *value;
	struct cmd c;

	cmd_options(&c, argc, argv, usage, NULL, NULL);
	if (cmd_next(&c, &value) != CMD_END)
		return c.status;
	if (c.argc - c.operand < 2)
		return cmd_usage_error("merge: needs OUT and at least one IN");
	return merge(c.argv[c.operand], c.argv + c.operand + 1, c.argc - c.operand - 1);
}
