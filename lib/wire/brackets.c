/* brackets.c - tells a stream that ended from one that was cut: which tools and runs are open. */
#include <stdlib.h>

#include "inner.h"

struct bracket {
	struct bracket *chain; /* of its bucket */
	struct bracket *before, *after; /* in order of opening */
	bool run;
	char id[ULID_SIZE];
};

/* Memory is bounded by the brackets that are open: what is closed is forgotten. */
struct brackets {
	int64_t seen;
	size_t open, buckets; /* buckets: a power of two */
	struct bracket **bucket;
	struct bracket *oldest, *newest;
	struct bracket *last; /* looked up last: steps come in thousands of one run */
};

struct brackets *brackets_new(void)
{
	struct brackets *b = calloc(1, sizeof *b);
	if (!b)
		return NULL;
	b->buckets = 64;
	b->bucket = calloc(b->buckets, sizeof *b->bucket);
	if (!b->bucket) {
		free(b);
		return NULL;
	}
	return b;
}

void brackets_free(struct brackets *b)
{
	if (!b)
		return;
	for (struct bracket *e = b->oldest, *after; e; e = after) {
		after = e->after;
		free(e);
	}
	free(b->bucket);
	free(b);
}

/* FNV-1a. */
static size_t hash(const char *id, bool run)
{
	uint64_t h = 14695981039346656037u ^ run;
	for (; *id; id++)
		h = (h ^ (unsigned char)*id) * 1099511628211u;
	return (size_t)(h ^ h >> 32);
}

static struct bracket *find(struct brackets *b, const char *id, bool run)
{
	struct bracket *e = b->last;
	if (e && e->run == run && !strcmp(e->id, id))
		return e;
	for (e = b->bucket[hash(id, run) & (b->buckets - 1)]; e; e = e->chain)
		if (e->run == run && !strcmp(e->id, id))
			return b->last = e;
	return NULL;
}

/* More buckets where there are many brackets; without memory for them it is only slower. */
static void spread(struct brackets *b)
{
	size_t n = b->buckets * 4;
	struct bracket **bucket = calloc(n, sizeof *bucket);
	if (!bucket)
		return;
	for (struct bracket *e = b->oldest; e; e = e->after) {
		struct bracket **at = &bucket[hash(e->id, e->run) & (n - 1)];
		e->chain = *at;
		*at = e;
	}
	free(b->bucket);
	b->bucket = bucket;
	b->buckets = n;
}

static int open_one(struct brackets *b, const char *id, bool run)
{
	struct bracket *e = malloc(sizeof *e);
	if (!e)
		return -EX_OSERR;
	struct bracket **at = &b->bucket[hash(id, run) & (b->buckets - 1)];
	*e = (struct bracket){.chain = *at, .before = b->newest, .run = run};
	snprintf(e->id, sizeof e->id, "%s", id);
	*at = e;
	*(b->newest ? &b->newest->after : &b->oldest) = e;
	b->newest = e;
	if (++b->open > 2 * b->buckets)
		spread(b);
	return 0;
}

static void close_one(struct brackets *b, struct bracket *e)
{
	struct bracket **at = &b->bucket[hash(e->id, e->run) & (b->buckets - 1)];
	while (*at != e)
		at = &(*at)->chain;
	*at = e->chain;
	*(e->before ? &e->before->after : &b->oldest) = e->after;
	*(e->after ? &e->after->before : &b->newest) = e->before;
	if (b->last == e)
		b->last = NULL;
	b->open--;
	free(e);
}

/* A verdict comes when its run has ended, and so does what a probe learned from a trial; a
 * note may come at any time. */
static bool inside_only(enum kind k)
{
	return k == KIND_plan || k == KIND_example || k == KIND_phase || k == KIND_step || k == KIND_eval || k == KIND_save || k == KIND_prediction;
}

static int bracket_why(const struct view *v, const char *id, const char *reason, struct why *w)
{
	char text[80];
	escape_short(text, id, strlen(id));
	return why_set(w, EX_DATAERR, "record %lld at offset %lld: %s %s: %s", (long long)v->number, (long long)v->offset, kind_name(v->kind), text, reason);
}

static int see_opening(struct brackets *b, const struct view *v, const char *id, bool run, struct why *w)
{
	if (!*id)
		return bracket_why(v, id, "its id is empty", w);
	if (find(b, id, run))
		return bracket_why(v, id, "it is open already", w);
	if (open_one(b, id, run))
		return why_set(w, EX_OSERR, "following brackets: the host has no memory");
	return 0;
}

static int see_closing(struct brackets *b, const struct view *v, const char *id, bool run, struct why *w)
{
	struct bracket *e = find(b, id, run);
	if (!e)
		return bracket_why(v, id, run ? "it closes a run that is not open" : "it closes a tool that is not open", w);
	close_one(b, e);
	return 0;
}

int brackets_see(struct brackets *b, const struct view *v, struct why *w)
{
	char id[ULID_SIZE];
	b->seen++;
	switch (v->kind) {
	case KIND_tool:
		view_copy(v, F_tool_id, id, sizeof id);
		return see_opening(b, v, id, false, w);
	case KIND_run:
		view_run(v, id);
		return see_opening(b, v, id, true, w);
	case KIND_done:
		view_copy(v, F_done_id, id, sizeof id);
		return see_closing(b, v, id, false, w);
	case KIND_end:
		view_run(v, id);
		return see_closing(b, v, id, true, w);
	default:
		break;
	}
	if (!inside_only(v->kind))
		return 0;
	view_run(v, id);
	return find(b, id, true) ? 0 : bracket_why(v, id, "its run is not open", w);
}

int64_t brackets_seen(const struct brackets *b)
{
	return b->seen;
}

int brackets_check(const struct brackets *b, const char *name, struct why *w)
{
	if (!b->seen)
		return why_set(w, EX_DATAERR, "reading records: %.300s: empty", name);
	const struct bracket *e = b->newest;
	if (!e)
		return 0;
	char id[80];
	escape_short(id, e->id, strlen(e->id));
	if (b->open == 1)
		return why_set(w, EX_DATAERR, "reading records: %.300s: cut: %s %s is open at the end", name, e->run ? "run" : "tool", id);
	return why_set(w, EX_DATAERR, "reading records: %.300s: cut: %s %s and %zu more are open at the end", name, e->run ? "run" : "tool", id, b->open - 1);
}

bool brackets_open(const struct brackets *b, int i, const char **what, char id[ULID_SIZE])
{
	const struct bracket *e = b->oldest;
	while (e && i-- > 0)
		e = e->after;
	if (!e)
		return false;
	*what = e->run ? "run" : "tool";
	memcpy(id, e->id, sizeof e->id);
	return true;
}

int tool_begin(struct out *o, const char *name, char *const argv[], char id[ULID_SIZE], struct why *w)
{
	struct rec r = {0};
	int n = 0;
	char **shown = NULL;
	if (argv && secret_argv(argv, &shown))
		return why_set(w, EX_OSERR, "writing records: no memory for the command line");
	while (shown && shown[n])
		n++;
	ulid_new(id);
	rec_begin(&r, KIND_tool);
	rec_str(&r, F_tool_id, id);
	rec_str(&r, F_tool_name, name);
	rec_str(&r, F_tool_version, PILOT_VERSION);
	if (shown)
		rec_strs(&r, F_tool_argv, shown, n);
	int rc = out_rec(o, &r, w);
	rec_free(&r);
	secret_free(shown);
	return rc;
}

int tool_end(struct out *o, const char *id, int status, struct why *w)
{
	struct rec r = {0};
	rec_begin(&r, KIND_done);
	rec_str(&r, F_done_id, id);
	rec_int(&r, F_done_status, status);
	rec_int(&r, F_done_records, out_added(o) - 1); /* the tool record is not between the two */
	int rc = out_rec(o, &r, w);
	rec_free(&r);
	return rc;
}
