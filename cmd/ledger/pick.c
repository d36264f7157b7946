/* pick.c - which runs are asked for. */
#include <string.h>
#include <time.h>

#include "ledger.h"

/* A date is local time, or UTC with a Z. */
static bool date(const char *s, struct timestamp *t)
{
	static const char *const forms[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d" };

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(s, forms[i], &tm);

		if (!end || (*end && strcmp(end, "Z")))
			continue;
		t->seconds = *end ? timegm(&tm) : mktime(&tm);
		t->nanoseconds = 0;
		return true;
	}
	return false;
}

static int since(struct pick *p, const char *value)
{
	double seconds;
	struct why w;

	p->has_since = true;
	if (date(value, &p->since))
		return 0;
	if (num_duration(value, "--since", &seconds, &w) < 0)
		return cmd_usage_error("--since: %.80s: neither a date (2026-11-30, 2026-11-30T18:00Z) nor a duration (90m, 12h, 3d)", value);
	p->since = clock_now();
	p->since.seconds -= (int64_t)seconds;
	return 0;
}

int pick_option(struct pick *p, int opt, const char *value)
{
	switch (opt) {
	case 'r':
		if (p->runs == (int)(sizeof p->run / sizeof *p->run))
			return cmd_usage_error("--run: more than %d", p->runs);
		if (!*value)
			return cmd_usage_error("--run: is empty");
		p->run[p->runs++] = value;
		return 0;
	case PICK_LAST: p->last = true; return 0;
	case PICK_SINCE: return since(p, value);
	default: return 1;
	}
}

bool pick_any(const struct pick *p)
{
	return p->runs || p->last || p->has_since;
}

static bool named(const struct pick *p, const char *id)
{
	for (int i = 0; i < p->runs; i++)
		if (strncasecmp(id, p->run[i], strlen(p->run[i])) == 0)
			return true;
	return p->runs == 0;
}

static bool before(struct timestamp a, struct timestamp b)
{
	return a.seconds < b.seconds || (a.seconds == b.seconds && a.nanoseconds < b.nanoseconds);
}

static int mark_rows(const struct pick *p, const struct summary *s, struct ids *rows)
{
	const struct summary_row *last = NULL;

	for (int i = 0; i < summary_count(s); i++) {
		const struct summary_row *r = summary_row(s, i);

		if (!named(p, r->id) || (p->has_since && before(r->last, p->since)))
			continue;
		if (!last || !before(r->first, last->first))
			last = r;
		if (!p->last && ids_put(rows, r->id, 1) < 0)
			return -EX_OSERR;
	}
	return p->last && last ? ids_put(rows, last->id, 1) : 0;
}

struct marking {
	const struct pick *pick;
	const struct ids *rows;
	struct ids *runs;
};

/* A trial, or a probe's last run, named by its own id. */
static int mark_run(void *ctx, const char *id, const char *row)
{
	struct marking *m = ctx;

	if (strcmp(id, row) == 0 || ids_find(m->rows, row) || !named(m->pick, id))
		return 0;
	return ids_put(m->runs, id, 1);
}

int pick_rows(const struct pick *p, const struct summary *s, struct ids *rows, struct ids *runs)
{
	struct marking m = { p, rows, runs };
	int r = mark_rows(p, s, rows);

	return r == 0 && p->runs && !p->last && !p->has_since ? summary_ids(s, mark_run, &m) : r;
}
