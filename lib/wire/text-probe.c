/* text-probe.c - what a probe concludes, as a few sentences. */
#include "text.h"

static void words(struct pen *p, const struct view *v, const char *label, enum field f)
{
	const char *s;
	size_t n;
	if (!view_str(v, f, &s, &n) || !n)
		return;
	pen_label(p, label);
	pen_bytes(p, s, n);
	pen_newline(p);
}

static void probe_largest(struct pen *p, const struct view *v)
{
	char n[VALUE], failed[VALUE], phase[VALUE];
	const char *input;
	size_t size;
	bool exact = false;
	if (!*say_int(v, F_probe_largest, n))
		return;
	view_bool(v, F_probe_largest_exact, &exact);
	pen_label(p, "largest");
	pen_printf(p, "%s fits", n);
	if (*say_int(v, F_probe_smallest_failed, failed))
		pen_printf(p, ", %s does not", failed);
	if (*say_str(v, F_probe_oom_phase, phase)) {
		pen_printf(p, " (it runs out in %s", phase);
		if (view_str(v, F_probe_oom_input, &input, &size) && size) {
			pen_printf(p, ", on ");
			pen_bytes(p, input, size);
		}
		pen_printf(p, ")");
	}
	pen_printf(p, exact ? "; both were run" : "; the edge was not sought");
	pen_newline(p);
}

static void probe_knee(struct pen *p, const struct view *v)
{
	char n[VALUE], tolerance[VALUE];
	bool known = *say_int(v, F_probe_knee, n);
	if (!known && !view_is(v, F_probe_status, "found"))
		return;
	pen_label(p, "knee");
	pen_printf(p, "%s", known ? n : "unknown");
	if (known)
		pen_printf(p, ", the smallest within %s of the best throughput", *say_share(v, F_probe_knee_tolerance, tolerance) ? tolerance : "5 %");
	const char *s;
	size_t size;
	if (view_str(v, F_probe_knee_note, &s, &size) && size) {
		pen_printf(p, ": ");
		pen_bytes(p, s, size);
	}
	pen_newline(p);
}

static void probe_recommended(struct pen *p, const struct view *v)
{
	char n[VALUE], room[VALUE], run[VALUE], x[VALUE], t[VALUE];
	if (!*say_int(v, F_probe_recommended, n))
		return;
	pen_label(p, "recommended");
	pen_colored(p, BOLD, "-b %s", n);
	if (*say_share(v, F_probe_headroom, room))
		pen_printf(p, ", with %s of the memory left free", room);
	if (*say_rate(v, F_probe_examples_per_second, x))
		pen_printf(p, ": %s examples/s", x);
	if (*say_tokens(v, F_probe_examples_per_second, F_probe_tokens_per_second, t))
		pen_printf(p, ", %s tokens/s", t);
	pen_newline(p);
	if (!*say_str(v, F_probe_confirm_run, run))
		return;
	pen_label(p, "");
	pen_printf(p, "confirmed by run %s", run);
	pen_newline(p);
}

static void probe_fit(struct pen *p, const struct view *v)
{
	char fixed[VALUE], each[VALUE], budget[VALUE], source[VALUE], t0[VALUE], c[VALUE];
	if (*say_bytes(v, F_probe_fixed_bytes, fixed) && *say_bytes(v, F_probe_per_example_bytes, each)) {
		pen_label(p, "memory");
		pen_printf(p, "%s + b x %s", fixed, each);
		if (*say_bytes(v, F_probe_budget_bytes, budget))
			pen_printf(p, ", of %s", budget);
		if (*say_str(v, F_probe_budget_source, source))
			pen_printf(p, " (%s)", source);
		pen_newline(p);
	}
	if (*say_num(v, F_probe_t0_seconds, t0) && *say_num(v, F_probe_per_example_seconds, c)) {
		pen_label(p, "time");
		pen_printf(p, "%s s + b x %s s an update", t0, c);
		pen_newline(p);
	}
	words(p, v, "scaling", F_probe_scaling);
}

static void probe_accum(struct pen *p, const struct view *v)
{
	char n[VALUE], e[VALUE];
	if (*say_int(v, F_probe_accum, n)) {
		pen_label(p, "accumulate");
		pen_printf(p, "-a %s", n);
		if (*say_int(v, F_probe_effective_batch, e))
			pen_printf(p, " keeps %s examples an update", e);
		pen_newline(p);
	}
	words(p, v, *n ? "" : "accumulate", F_probe_accum_note);
}

static void probe_unseen(struct pen *p, const struct view *v)
{
	int n = view_count(v, F_probe_unseen);
	if (n <= 0)
		return;
	pen_label(p, "not seen");
	for (int i = 0; i < n; i++) {
		const char *s;
		size_t size;
		if (view_item_str(v, F_probe_unseen, i, &s, &size)) {
			pen_printf(p, "%s", i ? ", " : "");
			pen_bytes(p, s, size);
		}
	}
	pen_printf(p, ": no trial came to it, and its memory is in no size; a longer -n would show it");
	pen_newline(p);
}

static void probe_cost(struct pen *p, const struct view *v)
{
	char n[VALUE], after[VALUE], s[VALUE];
	int64_t trials;
	if (!view_int(v, F_probe_trials, &trials))
		return;
	pen_label(p, "cost");
	pen_printf(p, "%s %s", grouped(trials, n), trials == 1 ? "trial" : "trials");
	if (*say_int(v, F_probe_trials_after_failure, after))
		pen_printf(p, ", %s of them after the first that did not fit", after);
	if (*say_seconds(v, F_probe_seconds, s))
		pen_printf(p, ", %s s", s);
	pen_newline(p);
}

void text_probe(struct pen *p, const struct view *v)
{
	char id[VALUE], status[VALUE], n[VALUE];
	pen_break(p);
	pen_newline(p);
	pen_colored(p, BOLD, "probe %s", say_str(v, F_probe_id, id));
	say_str(v, F_probe_status, status);
	pen_printf(p, "  ");
	pen_colored(p, status_color(status), "%s", status);
	pen_newline(p);
	words(p, v, "why", F_probe_why);
	probe_largest(p, v);
	probe_knee(p, v);
	probe_recommended(p, v);
	probe_fit(p, v);
	probe_accum(p, v);
	probe_unseen(p, v);
	probe_cost(p, v);
	if (*say_int(v, F_probe_recommended, n)) {
		pen_label(p, "mind");
		pen_printf(p, "this is a micro-batch for throughput, not the batch of least training time");
		pen_newline(p);
	}
}
