/* text.c - the view for people: which record is shown how. */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "text.h"

void text_init(struct text *t, int fd)
{
	const char *columns = getenv("COLUMNS"), *term = getenv("TERM"), *no = getenv("NO_COLOR");
	struct winsize size;
	bool terminal = isatty(fd);
	int64_t n;
	*t = (struct text){0};
	t->color = terminal && !(no && *no) && !(term && !strcmp(term, "dumb"));
	if (columns && *columns && num_int(columns, "COLUMNS", 1, 10000, &n, NULL) == 0)
		t->width = (int)n;
	else if (terminal && ioctl(fd, TIOCGWINSZ, &size) == 0)
		t->width = size.ws_col;
}

/* ---- runs of which nothing is shown: a trial is its line in the table ---- */

static int hidden_place(const struct text *t, const char *run)
{
	int n = sizeof t->hidden / sizeof *t->hidden;
	for (int i = 0; i < n; i++)
		if (*run && !strcmp(t->hidden[i], run))
			return i;
	return -1;
}

/* Whether this record is inside a trial or replay, and keeps count of which are open. More than
 * eight at once are rare, and the oldest is then shown. */
static bool hidden(struct text *t, const struct view *v)
{
	char run[ULID_SIZE];
	if (t->all)
		return false;
	view_run(v, run);
	if (v->kind == KIND_run && (view_is(v, F_run_role, "trial") || view_is(v, F_run_role, "replay"))) {
		int i = t->next_hidden++ % (int)(sizeof t->hidden / sizeof *t->hidden);
		memcpy(t->hidden[i], run, sizeof run);
		return true;
	}
	int place = hidden_place(t, run);
	if (place < 0 || v->kind == KIND_trial || v->kind == KIND_verdict)
		return false;
	if (v->kind == KIND_end)
		t->hidden[place][0] = 0;
	return true;
}

/* ---- the small ones ---- */

static void text_tool(struct pen *p, const struct view *v)
{
	char name[VALUE], version[VALUE];
	struct text_tool *t = &p->t->tools[p->t->next_tool++ % (int)(sizeof p->t->tools / sizeof *p->t->tools)];
	view_copy(v, F_tool_id, t->id, sizeof t->id);
	snprintf(t->name, sizeof t->name, "%.23s", say_str(v, F_tool_name, name));
	pen_break(p);
	pen_colored(p, DIM, "tool %s %s", say_str(v, F_tool_name, name), say_str(v, F_tool_version, version));
	pen_newline(p);
}

static const char *tool_name(const struct text *t, const char *id)
{
	for (size_t i = 0; i < sizeof t->tools / sizeof *t->tools; i++)
		if (*id && !strcmp(t->tools[i].id, id))
			return t->tools[i].name;
	return "a tool";
}

/* A tool that ended well has said so already. */
static void text_done(struct pen *p, const struct view *v)
{
	int64_t status;
	char id[ULID_SIZE];
	view_copy(v, F_done_id, id, sizeof id);
	if (!view_int(v, F_done_status, &status) || !status)
		return;
	pen_break(p);
	pen_colored(p, DIM, "%s ends with exit status %lld", tool_name(p->t, id), (long long)status);
	pen_newline(p);
}

static void text_note(struct pen *p, const struct view *v)
{
	const char *s;
	size_t n;
	char author[VALUE], date[RFC3339_SIZE];
	struct timestamp t;
	bool decision = false;
	if (!view_str(v, F_note_text, &s, &n))
		return;
	view_bool(v, F_note_decision, &decision);
	pen_break(p);
	pen_colored(p, YELLOW, decision ? "decision" : "note");
	if (*say_str(v, F_note_author, author))
		pen_printf(p, view_time(v, F_note_t, &t) && rfc3339_write(t, date) ? " (%s, %.10s)" : " (%s)", author, date);
	pen_newline(p);
	pen_wrapped(p, "", 2, s, n);
}

/* key=value in the JSON view, for kinds without a view of their own. */
static void pair(struct pen *p, const struct view_pair *q)
{
	struct buf json = {0};
	pen_printf(p, " ");
	pen_bytes(p, q->key, q->key_size);
	pen_printf(p, "=");
	int rc = json_write(q->value, q->value_size, &json);
	if (!p->rc)
		p->rc = rc ? rc : text_escape(p->out, (char *)json.p, json.n);
	buf_free(&json);
}

/* Cuts the present line at the width, between characters, and says so. */
static void cut_line(struct pen *p)
{
	if (p->rc || p->t->width < 8)
		return;
	size_t at = p->line;
	for (int columns = 0; at < p->out->n && columns < p->t->width - 2; columns++)
		at += utf8_step((char *)p->out->p + at, p->out->n - at) ?: 1;
	if (at + 2 < p->out->n) {
		p->out->n = at;
		pen_printf(p, "..");
	}
}

static bool key_is(const struct view_pair *q, const char *name)
{
	return q->key_size == strlen(name) && !memcmp(q->key, name, q->key_size);
}

void text_generic(struct pen *p, const struct view *v)
{
	struct view_pair q = {0};
	pen_break(p);
	while (view_next_pair(v, &q))
		if (key_is(&q, "kind")) {
			size_t n;
			const char *s = item_str(q.value, &n);
			pen_bytes(p, s, n);
		}
	q = (struct view_pair){0};
	while (!p->rc && view_next_pair(v, &q))
		if (!key_is(&q, "kind") && !key_is(&q, "t"))
			pair(p, &q);
	cut_line(p);
	pen_newline(p);
}

int text_write(struct text *t, const struct view *v, struct buf *out)
{
	static void (*const views[KINDS])(struct pen *, const struct view *) = {
		[KIND_comparison] = text_comparison, [KIND_request] = text_request, [KIND_tool] = text_tool, [KIND_done] = text_done, [KIND_run] = text_run, [KIND_plan] = text_plan,
		[KIND_example] = text_example, [KIND_phase] = text_phase, [KIND_trial] = text_trial, [KIND_probe] = text_probe,
		[KIND_step] = text_step, [KIND_eval] = text_eval, [KIND_prediction] = text_prediction, [KIND_save] = text_save,
		[KIND_verdict] = text_verdict, [KIND_note] = text_note, [KIND_end] = text_end,
		[KIND_trainer] = text_trainer, [KIND_model] = text_model, [KIND_optimizer] = text_optimizer, [KIND_blind] = text_blind,
		[KIND_loader] = text_loader, [KIND_load] = text_load, [KIND_state] = text_state, [KIND_replica] = text_replica,
		[KIND_check] = text_check, [KIND_failure] = text_failure,
	};
	struct pen p = {t, out, 0, out->n};
	if (!hidden(t, v))
		(views[v->kind] ? views[v->kind] : text_generic)(&p, v);
	return p.rc;
}
