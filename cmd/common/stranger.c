/* The options of train-step, probe-batch and gate for a command of the user's. */
#include "stranger.h"

#include <string.h>

static int add_env(struct stranger_options *s, const char *value)
{
	const char *equals = strchr(value, '=');

	if (!equals || equals == value)
		return cmd_usage_error("--env %s: NAME=VALUE is wanted", value);
	if (s->envs == STRANGER_ENVS)
		return cmd_usage_error("--env %s: more than %d", value, STRANGER_ENVS);
	s->env[s->envs++] = (char *)value;
	s->stranger.env = s->env;
	return 1;
}

static int set_evidence(struct stranger_options *s, const char *value)
{
	if (strcmp(value, "none") && strcmp(value, "basic") && strcmp(value, "full"))
		return cmd_usage_error("--evidence %s: not one of none, basic, full", value);
	s->stranger.evidence = value;
	return 1;
}

int stranger_option(struct stranger_options *s, int opt, const char *value)
{
	switch (opt) {
	case STRANGER_ENV:
		s->any = true;
		return add_env(s, value);
	case STRANGER_RESUME:
		s->any = true;
		s->stranger.resume_with = value;
		return *value ? 1 : cmd_usage_error("--resume-with: an empty command");
	case STRANGER_REGEX:
		s->any = true;
		s->stranger.step_regex = value;
		return 1;
	case STRANGER_EVIDENCE:
		s->any = true;
		return set_evidence(s, value);
	case STRANGER_BLIND:
		s->any = true;
		s->stranger.no_adapter = true;
		return 1;
	default:
		return 0;
	}
}
