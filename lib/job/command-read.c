/* command-read.c - what waits in the two pipes of a command: lines of the protocol, and its output. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "command-inner.h"

enum { TOLD = 5, AT_ONCE = 16 }; /* refused lines that are told; reads before others have their turn */

/* ---- lines ---- */

static void after_step(struct command *c, int64_t update)
{
	c->stepped = true;
	if (c->stop_after > 0 && update > c->stop_after)
		command_ask(c, ASKED_UPDATES, SIGTERM);
}

/* A record has been written; what it means for the run. */
static void account(struct command *c, const struct view *v)
{
	int64_t update = 0, rank = 0;

	totals_see(&c->totals, v);
	if (v->kind == KIND_trainer)
		command_speaker(c, v);
	if (v->kind != KIND_step)
		return;
	view_int(v, F_step_rank, &rank);
	if (rank == 0 && view_int(v, F_step_update, &update))
		after_step(c, update);
}

static void refused(struct command *c, const char *line, size_t n, const struct why *w)
{
	char text[1400], start[81];
	size_t k = 0;

	if (++c->refused > TOLD)
		return;
	for (; k < n && k < sizeof start - 1; k++)
		start[k] = isprint((unsigned char)line[k]) ? line[k] : '?';
	start[k] = '\0';
	snprintf(text, sizeof text, "a line of the command was refused: %s: %s%s%s", w->text, start, n > k ? "..." : "",
		c->refused == TOLD ? " (others will only be counted)" : "");
	command_say(c, "%s", text);
	if (command_record_note(c, text) < 0)
		command_ask(c, ASKED_LOST, SIGTERM);
}

/* What it printed of an evaluation was printed before the line was written, so it waits already; but it is not
 * known which of the lines that wait came first, hence the tenth of a second. Several in a row are looked up alike. */
static const char *printed(void *ctx, double loss, double batch_mean)
{
	struct command *c = ctx;

	if (c->stepped) {
		c->evaluated_before = c->evaluated;
		output_spend(&c->output);
	}
	c->stepped = false;
	c->evaluated = clock_seconds();
	while (command_read_output(c))
		;
	switch (output_which(&c->output, loss, batch_mean, c->evaluated_before - 0.1)) {
	case 1: return "loss";
	case 2: return "batch_mean_loss";
	default: return NULL;
	}
}

static double since_mark(const struct command *c)
{
	return c->totals.mark > 0 ? clock_seconds() - c->totals.mark : -1;
}

static void pass_on(struct command *c, const struct view *v)
{
	int r = out_made(c->out, v, c->why);

	if (r < 0 && out_broken(c->out)) {
		stop_request(SIGPIPE);
	} else if (r < 0) {
		c->lost = r;
		command_ask(c, ASKED_LOST, SIGTERM);
	}
}

static void take_line(struct command *c, const char *line, size_t n)
{
	struct line_adds adds = { c->result->run, since_mark(c), c->totals.examples_known ? c->totals.examples : -1, printed, c };
	struct why w = { 0 };
	struct view v;

	while (n && isspace((unsigned char)line[n - 1]))
		n--;
	while (n && isspace((unsigned char)*line)) {
		line++;
		n--;
	}
	if (!n)
		return;
	if (command_line(line, n, &adds, &c->scratch, &c->raw, &v, &w) < 0) {
		refused(c, line, n, &w);
		return;
	}
	c->taken++;
	c->protocol_steps += v.kind == KIND_step;
	v.number = c->taken;
	v.offset = 0;
	pass_on(c, &v);
	account(c, &v);
}

static void overlong(struct command *c)
{
	struct why w;

	why_set(&w, EX_DATAERR, "longer than %d bytes", LINE_MAX_BYTES);
	refused(c, c->lines, c->lines_n, &w);
	c->overlong = true;
	c->lines_n = 0;
}

static void take_bytes(struct command *c, const char *p, size_t n)
{
	while (n) {
		const char *end = memchr(p, '\n', n);
		size_t k = end ? (size_t)(end - p) : n;

		if (!c->overlong && c->lines_n + k >= LINE_MAX_BYTES)
			overlong(c);
		if (!c->overlong) {
			memcpy(c->lines + c->lines_n, p, k);
			c->lines_n += k;
		}
		if (end && !c->overlong)
			take_line(c, c->lines, c->lines_n);
		if (end) {
			c->lines_n = 0;
			c->overlong = false;
			k++;
		}
		p += k;
		n -= k;
	}
}

bool command_read_records(struct command *c)
{
	char b[1 << 14];
	ssize_t n = -1;
	bool any = false;

	for (int i = 0; i < AT_ONCE && (n = read(c->record[0], b, sizeof b)) > 0; i++) {
		take_bytes(c, b, (size_t)n);
		any = true;
	}
	if (any)
		c->heard = clock_seconds();
	return any;
}

/* ---- output ---- */

bool command_read_output(struct command *c)
{
	char b[1 << 14];
	ssize_t n = -1;
	bool any = false;

	for (int i = 0; i < AT_ONCE && c->proc.out >= 0 && (n = read(c->proc.out, b, sizeof b)) > 0; i++) {
		output_take(&c->output, b, (size_t)n);
		any = true;
	}
	if (c->proc.out >= 0 && (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))) {
		close(c->proc.out);
		c->proc.out = -1;
	}
	if (any)
		c->heard = clock_seconds();
	return any;
}

void command_read_last(struct command *c)
{
	while (command_read_output(c) || command_read_records(c))
		;
	if (c->lines_n && !c->overlong)
		take_line(c, c->lines, c->lines_n);
	c->lines_n = 0;
	output_end(&c->output);
}

/* ---- updates that are read from the output ---- */

static bool whole(double x)
{
	return x >= 0 && x <= 0x1p53 && x == floor(x);
}

static int step_fields(struct command *c, const double *value, const bool *has)
{
	struct step_regex *x = &c->regex;
	bool update = false, seconds = false, examples = false;
	double elapsed = since_mark(c);
	int64_t rows = -1;

	for (int i = 1; i <= x->groups; i++) {
		enum field f = x->field[i];

		if (!has[i])
			continue;
		if (field_info(f)->type == T_NUM)
			rec_num(&c->rec, f, value[i]);
		else if (whole(value[i]))
			rec_int(&c->rec, f, (int64_t)value[i]);
		else
			return -1;
		update |= f == F_step_update;
		seconds |= f == F_step_seconds;
		examples |= f == F_step_examples;
		if (f == F_step_rows)
			rows = (int64_t)value[i];
	}
	if (!update)
		rec_int(&c->rec, F_step_update, c->regex_steps + 1);
	if (!seconds && elapsed >= 0)
		rec_num(&c->rec, F_step_seconds, elapsed);
	if (!examples && rows >= 0 && c->totals.examples_known)
		rec_int(&c->rec, F_step_examples, c->totals.examples + rows);
	return 0;
}

/* Nothing is read from the output once the command tells its updates itself. */
static void line_seen(void *ctx, const char *line)
{
	struct command *c = ctx;
	double value[GROUPS + 1] = { 0 };
	bool has[GROUPS + 1] = { false };
	struct view v;

	if (c->protocol_steps > 0 || !step_regex_match(&c->regex, line, value, has))
		return;
	rec_begin(&c->rec, KIND_step);
	rec_str(&c->rec, F_step_run, c->result->run);
	if (step_fields(c, value, has) < 0)
		return;
	if (command_send(c) == 0 && view_open(&v, c->rec.buf.p, c->rec.buf.n, NULL) == 0) {
		c->regex_steps++;
		account(c, &v);
	}
}

void command_read_init(struct command *c)
{
	c->output.line_seen = c->regex.set ? line_seen : NULL;
	c->output.ctx = c;
	c->output.log = c->how->log;
}
