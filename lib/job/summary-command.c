/* summary-command.c - the row of a run of a user's command: what it is called, and what it says of itself. */
#include "summary.h"

#include <string.h>

/* Does this word of a command line name a script: train.py, not -x, not a=b.py? */
static bool is_script(const char *s, size_t n)
{
	size_t letters = 0;

	while (letters < n && ((s[n - 1 - letters] | 32) >= 'a' && (s[n - 1 - letters] | 32) <= 'z'))
		letters++;
	return letters >= 1 && letters <= 3 && letters + 1 < n && s[n - 1 - letters] == '.' && s[0] != '-' && !memchr(s, '=', n);
}

static void take_program(struct summary_row *r, const char *s, size_t n)
{
	const char *slash = memrchr(s, '/', n);

	if (slash && (size_t)(slash + 1 - s) < n) {
		n -= (size_t)(slash + 1 - s);
		s = slash + 1;
	}
	snprintf(r->program, sizeof r->program, "%.*s", (int)(n < sizeof r->program ? n : sizeof r->program - 1), s);
}

/* The script of a command line, the module behind -m, or else the program itself. */
void summary_command(struct summary_row *r, const struct view *v)
{
	enum field f = view_count(v, F_run_program) > 0 ? F_run_program : F_run_command;
	const char *s, *name = NULL;
	size_t n, size = 0;

	view_int(v, F_run_updates, &r->planned_updates);
	for (int i = 0; i < view_count(v, f); i++) {
		if (!view_item_str(v, f, i, &s, &n))
			continue;
		if (!name || is_script(s, n)) {
			name = s;
			size = n;
		}
		if (is_script(s, n))
			break;
		if (n == 2 && memcmp(s, "-m", 2) == 0 && view_item_str(v, f, i + 1, &name, &size))
			break;
	}
	if (name && !*r->program)
		take_program(r, name, size);
}

static void first_word(const struct view *v, enum field f, char *out, size_t size)
{
	if (!*out)
		view_copy(v, f, out, size);
}

static void see_trainer(struct summary_row *r, const struct view *v)
{
	const char *s;
	size_t n;

	if (view_str(v, F_trainer_program, &s, &n) && n)
		take_program(r, s, n);
}

void summary_rows(struct summary_row *r, int64_t rows, int64_t passes)
{
	if (!*r->program || rows < 0 || passes < 1)
		return;
	r->micro_batch = rows / passes;
	r->accum = passes;
	r->effective_batch = rows;
}

bool summary_word(struct summary_row *r, const struct view *v)
{
	switch (v->kind) {
	case KIND_trainer: see_trainer(r, v); return true;
	case KIND_model: first_word(v, F_model_name, r->model, sizeof r->model); return true;
	case KIND_optimizer: first_word(v, F_optimizer_name, r->optimizer, sizeof r->optimizer); return true;
	default: return false;
	}
}
