/* requests.c - `train-step -`: requests on stdin, one after another, each a run. Every request is
 * answered by a run and its end, so that whoever drives us never waits for nothing. */
#include "train-step.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_MS = 200, REQUEST_VALUES = 64 }; /* how late a signal may be noticed while nothing comes */

/* False: asked to stop. */
static bool wait_for_input(struct in *in)
{
	while (!stop_wanted() && in_would_wait(in)) {
		struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

		poll(&p, 1, LOOK_MS);
	}
	return !stop_wanted();
}

/* The first field that no request has. */
static int unknown_field(const struct view *v, struct why *w)
{
	struct view_pair p = { 0 };

	while (view_next_pair(v, &p))
		if (!(p.key_size == 4 && memcmp(p.key, "kind", 4) == 0) && field_find(KIND_request, p.key, p.key_size) == F_NONE)
			return why_set(w, EX_USAGE, "request: record %lld: unknown setting \"%.*s\"", (long long)v->number,
				p.key_size > 100 ? 100 : (int)p.key_size, p.key);
	return 0;
}

/* What a request says besides settings. */
struct said {
	char id[256], role[32], parent[64], repeats[64], comparison[64], arm[256], cwd[4096], origin[4096], control[32], evidence[32];
	char *value[REQUEST_VALUES + 1]; /* owned */
	bool resumes;
};

static void read_names(const struct view *v, struct said *s, struct run_names *n)
{
	view_copy(v, F_request_id, s->id, sizeof s->id);
	n->request = s->id;
	if (view_copy(v, F_request_role, s->role, sizeof s->role))
		n->role = s->role;
	if (view_copy(v, F_request_parent, s->parent, sizeof s->parent))
		n->parent = s->parent;
	if (view_copy(v, F_request_repeats, s->repeats, sizeof s->repeats))
		n->repeats = s->repeats;
	if (view_copy(v, F_request_comparison, s->comparison, sizeof s->comparison))
		n->comparison = s->comparison;
	if (view_copy(v, F_request_arm, s->arm, sizeof s->arm))
		n->arm = s->arm;
}

/* NAME=VALUE of a command's own placeholders. */
static int read_values(const struct view *v, struct said *s, struct run_names *n, struct why *w)
{
	int count = view_count(v, F_request_values);
	const char *text;
	size_t size;

	if (count <= 0)
		return 0;
	if (count > REQUEST_VALUES)
		return why_set(w, EX_USAGE, "request: record %lld: values: more than %d", (long long)v->number, REQUEST_VALUES);
	for (int i = 0; i < count && view_item_str(v, F_request_values, i, &text, &size); i++) {
		if (memchr(text, 0, size) || !memchr(text, '=', size) || *text == '=')
			return why_set(w, EX_USAGE, "request: record %lld: values: \"%.*s\": not NAME=VALUE", (long long)v->number, size > 80 ? 80 : (int)size, text);
		s->value[i] = strndup(text, size);
		if (!s->value[i])
			return why_set(w, EX_OSERR, "request: values: no memory");
	}
	n->values = s->value;
	return 0;
}

static void free_values(struct said *s)
{
	for (int i = 0; i < REQUEST_VALUES; i++)
		free(s->value[i]);
}

static bool known_role(const char *role)
{
	return !role || !strcmp(role, "train") || !strcmp(role, "trial") || !strcmp(role, "confirm") || !strcmp(role, "replay");
}

/* What only a command can be asked for. */
static int read_command(const struct view *v, const struct stranger *stranger, struct said *s, struct command_run *run, struct why *w)
{
	bool any = false;

	if (view_copy(v, F_request_cwd, s->cwd, sizeof s->cwd))
		run->cwd = s->cwd;
	if (view_copy(v, F_request_origin, s->origin, sizeof s->origin))
		run->origin = s->origin;
	if (view_copy(v, F_request_control, s->control, sizeof s->control))
		run->control = s->control;
	if (view_copy(v, F_request_evidence, s->evidence, sizeof s->evidence))
		run->evidence = s->evidence;
	any = view_bool(v, F_request_resumes, &run->resumes);
	if (!stranger && (any || run->cwd || run->origin || run->control || run->evidence))
		return why_set(w, EX_USAGE, "request: record %lld: cwd, origin, resumes, control and evidence are for a command", (long long)v->number);
	if (run->control && strcmp(run->control, "cold") != 0)
		return why_set(w, EX_USAGE, "request: record %lld: control \"%s\": not cold", (long long)v->number, run->control);
	if (run->evidence && strcmp(run->evidence, "none") && strcmp(run->evidence, "basic") && strcmp(run->evidence, "full"))
		return why_set(w, EX_USAGE, "request: record %lld: evidence \"%s\": not one of none, basic, full", (long long)v->number, run->evidence);
	run->stranger = stranger;
	return 0;
}

static int run_command(struct command_run run, const struct config *c, struct out *o, struct outcome *result, struct why *w)
{
	run.config = c;
	return command_run(&run, o, result, w);
}

/* The run, or -code if it cannot become one. */
static int try_request(const struct view *v, struct said *said, struct command_run *run, const struct stranger *stranger, struct out *o, struct outcome *result, struct why *w)
{
	const char *role = run->names->role;
	struct config c;
	int rc;

	if (!known_role(role))
		return why_set(w, EX_USAGE, "request: record %lld: role \"%s\": not one of train, trial, confirm, replay", (long long)v->number, role);
	if ((rc = unknown_field(v, w)) != 0 || (rc = read_command(v, stranger, said, run, w)) != 0)
		return rc;
	if (!stranger && run->names->values)
		return why_set(w, EX_USAGE, "request: record %lld: values are for a command", (long long)v->number);
	if (config_init(&c) != 0)
		return why_set(w, EX_OSERR, "request: settings: no memory");
	if ((rc = config_from_view(&c, v, w)) == 0)
		rc = stranger ? run_command(*run, &c, o, result, w) : trainer_run(&c, run->names, NULL, o, result, w);
	config_free(&c);
	return rc;
}

static int answer(const struct view *v, const struct stranger *stranger, int log, struct out *o)
{
	struct run_names names = { .trainer = stranger ? "command" : NULL };
	struct said said = { 0 };
	struct command_run run = { .names = &names, .log = log, .say = say_line };
	struct outcome result = { 0 };
	struct why w = { 0 }, refused;
	int rc;

	read_names(v, &said, &names);
	rc = read_values(v, &said, &names, &w);
	if (rc == 0)
		rc = try_request(v, &said, &run, stranger, o, &result, &w);
	if (rc < 0 && !*result.status) {
		refused = w;
		rc = trainer_refuse(&names, &refused, o, &result, &w);
		if (rc < 0 && out_broken(o))
			stop_request(SIGPIPE);
	}
	say_outcome(&result);
	free_values(&said);
	return result.code;
}

int run_requests(const struct stranger *stranger, int log, struct out *o)
{
	struct why w = { 0 };
	struct view v;
	struct in *in;
	int status = 0, rc = in_open(&in, STDIN_FILENO, "standard input", &w);

	while (rc == 0 && wait_for_input(in) && (rc = in_next(in, &v, &w)) == 1) {
		rc = 0;
		if (v.kind == KIND_request) {
			status = code_worst(status, answer(&v, stranger, log, o));
		} else if (v.kind != KIND_tool && v.kind != KIND_done && v.kind != KIND_note && v.kind != KIND_comparison) {
			cmd_say("request: standard input: record %lld is no request", (long long)v.number);
			status = code_worst(status, EX_DATAERR);
		}
	}
	if (rc < 0) {
		cmd_warn(&w);
		status = code_worst(status, -rc);
	}
	in_close(in);
	return status;
}
