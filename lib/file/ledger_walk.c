/* ledger_walk.c - from member to member of a ledger, by the lengths in their heads; over damage to the
 * next true head. */
#include "ledger_format.h"

#include <stdlib.h>

enum { CHUNK = 64 << 10, HEAD_MOSTLY = 512 }; /* the head of a member of steps is some 300 bytes, the longest HEAD_MAX */

int walk_begin(struct walk *k, int fd, int64_t from, int64_t end)
{
	*k = (struct walk){ .fd = fd, .at = from, .end = end };
	k->window = malloc(HEAD_MAX);
	return k->window ? 0 : -EX_OSERR;
}

void walk_end(struct walk *k)
{
	free(k->window);
	k->window = NULL;
}

/* The next true head at or after `from`; end if there is none. Chunks overlap by a head. */
static int64_t search(const struct walk *k, int64_t from)
{
	unsigned char *p = malloc(CHUNK + HEAD_MAX);
	int64_t found = p ? k->end : -EX_OSERR;

	while (p && from < k->end) {
		int64_t n = k->end - from < CHUNK + HEAD_MAX ? k->end - from : CHUNK + HEAD_MAX;
		ssize_t got = io_pread(k->fd, p, (size_t)n, from);
		size_t at = got < 0 ? 0 : head_search(p, (size_t)got, 0);

		if (got > 0 && at < (size_t)got) {
			found = from + (int64_t)at;
			break;
		}
		if (got < n)
			break;
		from += CHUNK;
	}
	free(p);
	return found;
}

/* `why` is what is wrong with what is at k->at, of which n bytes are in the window. */
static int fault(struct walk *k, size_t n, bool cut, const char *why, struct why *w)
{
	int64_t next = search(k, k->at + 1);
	struct ledger_fault *f = &k->fault;

	if (next < 0)
		return why_set(w, EX_OSERR, "reading the ledger: out of memory");
	tail_name(f, k->fd, k->at, next - k->at);
	if (n > AT_TYPE && head_like(k->window, n) && (k->at == 0 || f->kind != LEDGER_FOREIGN)) {
		f->kind = cut && next == k->end ? LEDGER_TORN : LEDGER_CHECKSUM;
		snprintf(f->text, sizeof f->text, "%s%s", why, cut && next < k->end ? ", and another begins inside it" : "");
	}
	f->empty = (k->head.type == HEAD_FOOTER || k->head.type == HEAD_HEADER) && f->bytes <= FOOTER_SIZE;
	f->member = ++k->number;
	k->item_at = k->at;
	k->at = next;
	return WALK_FAULT;
}

int walk_next(struct walk *k, struct why *w)
{
	int64_t left = k->end - k->at;
	enum head_state state;
	const char *why;
	ssize_t n;

	if (left <= 0)
		return WALK_END;
	for (int64_t most = HEAD_MOSTLY;; most = HEAD_MAX) {
		n = io_pread(k->fd, k->window, (size_t)(left < most ? left : most), k->at);
		if (n < 0)
			return why_errno(w, EX_IOERR, "reading the ledger: offset %lld", (long long)k->at);
		if (n == 0) /* cut by a writer since we looked */
			return WALK_END;
		state = head_read(&k->head, k->window, (size_t)n, &why);
		if (state == HEAD_RIGHT || most == HEAD_MAX)
			break;
	}
	if (state != HEAD_RIGHT)
		return fault(k, (size_t)n, state == HEAD_CUT, why, w);
	if (k->head.size > left)
		return fault(k, (size_t)n, true, "the member is cut", w);
	k->item_at = k->at;
	k->at += k->head.size;
	k->number++;
	return WALK_MEMBER;
}
