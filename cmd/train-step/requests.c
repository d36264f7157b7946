/* requests.c - `train-step -`: requests on stdin, one after another, each a run. Every request is
 * answered by a run and its end, so that whoever drives us never waits for nothing. */
#include "train-step.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_MS = 200 }; /* how late a signal may be noticed while nothing comes */

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

struct words {
	char id[256], role[32], parent[64], repeats[64];
};

static void read_names(const struct view *v, struct words *s, struct run_names *n)
{
	view_copy(v, F_request_id, s->id, sizeof s->id);
	n->request = s->id;
	if (view_copy(v, F_request_role, s->role, sizeof s->role))
		n->role = s->role;
	if (view_copy(v, F_request_parent, s->parent, sizeof s->parent))
		n->parent = s->parent;
	if (view_copy(v, F_request_repeats, s->repeats, sizeof s->repeats))
		n->repeats = s->repeats;
}

static bool known_role(const char *role)
{
	return !role || !strcmp(role, "train") || !strcmp(role, "trial") || !strcmp(role, "confirm") || !strcmp(role, "replay");
}

/* The run, or -code if it cannot become one. */
static int try_request(const struct view *v, const struct run_names *names, struct out *o, struct outcome *result, struct why *w)
{
	struct config c;
	int rc;

	if (!known_role(names->role))
		return why_set(w, EX_USAGE, "request: record %lld: role \"%s\": not one of train, trial, confirm, replay", (long long)v->number, names->role);
	if ((rc = unknown_field(v, w)) != 0)
		return rc;
	if (config_init(&c) != 0)
		return why_set(w, EX_OSERR, "request: settings: no memory");
	if ((rc = config_from_view(&c, v, w)) == 0)
		rc = trainer_run(&c, names, NULL, o, result, w);
	config_free(&c);
	return rc;
}

static int answer(const struct view *v, struct out *o)
{
	struct run_names names = { 0 };
	struct words words = { 0 };
	struct outcome result = { 0 };
	struct why w = { 0 }, refused;
	int rc;

	read_names(v, &words, &names);
	rc = try_request(v, &names, o, &result, &w);
	if (rc < 0 && !*result.status) {
		refused = w;
		rc = trainer_refuse(&names, &refused, o, &result, &w);
		if (rc < 0 && out_broken(o))
			stop_request(SIGPIPE);
	}
	say_outcome(&result);
	return result.code;
}

int run_requests(struct out *o)
{
	struct why w = { 0 };
	struct view v;
	struct in *in;
	int status = 0, rc = in_open(&in, STDIN_FILENO, "standard input", &w);

	while (rc == 0 && wait_for_input(in) && (rc = in_next(in, &v, &w)) == 1) {
		rc = 0;
		if (v.kind == KIND_request) {
			status = code_worst(status, answer(&v, o));
		} else if (v.kind != KIND_tool && v.kind != KIND_done && v.kind != KIND_note) {
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
