/* text-run.c - a run for people: what it is, what it needs, how it ended. */
#include "text.h"

static void run_title(struct pen *p, const struct view *v)
{
	char run[VALUE], role[VALUE], host[VALUE], when[RFC3339_SIZE] = "";
	struct timestamp t;
	if (view_time(v, F_run_t, &t)) {
		t.nanoseconds = 0;
		rfc3339_write(t, when);
	}
	pen_newline(p);
	pen_colored(p, BOLD, "run %s", say_str(v, F_run_run, run));
	pen_printf(p, "  %s, %s", say_str(v, F_run_role, role), when);
	text_also(p, " on ", say_str(v, F_run_host, host));
	pen_newline(p);
}

/* One line: the label, and the text field whole. */
static bool line_of(struct pen *p, const struct view *v, const char *label, enum field f)
{
	const char *s;
	size_t n;
	if (!view_str(v, f, &s, &n) || !n)
		return false;
	pen_label(p, label);
	pen_bytes(p, s, n);
	return true;
}

static void run_model(struct pen *p, const struct view *v)
{
	char a[VALUE];
	if (!line_of(p, v, "model", F_run_model))
		return;
	if (*say_int(v, F_run_parameters, a))
		pen_printf(p, "  (%s parameters)", a);
	pen_newline(p);
}

static void run_data(struct pen *p, const struct view *v)
{
	char a[VALUE], b[VALUE], c[VALUE];
	if (!line_of(p, v, "data", F_run_data))
		return;
	if (*say_int(v, F_run_train_examples, a)) {
		pen_printf(p, "  (%s train", a);
		text_also(p, ", validation ", say_int(v, F_run_validation_examples, b));
		text_also(p, ", test ", say_int(v, F_run_test_examples, c));
		pen_printf(p, " examples)");
	}
	pen_newline(p);
}

static void run_optimizer(struct pen *p, const struct view *v)
{
	char a[VALUE], c[VALUE];
	double clip;
	if (!line_of(p, v, "optimizer", F_run_optimizer))
		return;
	text_also(p, ", schedule ", say_str(v, F_run_schedule, a));
	if (view_num(v, F_run_clip, &clip) && clip > 0)
		pen_printf(p, ", clipped at %s", number_words(clip, c));
	pen_newline(p);
}

static void run_batch(struct pen *p, const struct view *v)
{
	char b[VALUE], a[VALUE], r[VALUE], e[VALUE], l[VALUE];
	int64_t replicas = 1;
	if (!*say_int(v, F_run_micro_batch, b))
		return;
	view_int(v, F_run_replicas, &replicas);
	pen_label(p, "batch");
	pen_printf(p, "%s", b);
	text_also(p, " x accum ", say_int(v, F_run_accum, a));
	if (replicas > 1)
		pen_printf(p, " x %s replicas", grouped(replicas, r));
	if (*say_int(v, F_run_effective_batch, e))
		pen_printf(p, " = %s examples an update", e);
	int64_t length;
	if (view_int(v, F_run_length, &length) && length > 0) /* 0: as the data has it */
		pen_printf(p, ", length %s", grouped(length, l));
	pen_newline(p);
}

static void run_budget(struct pen *p, const struct view *v)
{
	char u[VALUE], x[VALUE], e[VALUE], named[VALUE];
	if (!*say_int(v, F_run_planned_updates, u))
		return;
	pen_label(p, "budget");
	pen_printf(p, "%s updates", u);
	if (*say_int(v, F_run_planned_examples, x))
		pen_printf(p, " = %s examples", x);
	if (*say_short(v, F_run_planned_epochs, e))
		pen_printf(p, " = %s epochs", e);
	text_also(p, ", named in ", say_str(v, F_run_budget, named));
	pen_newline(p);
}

static void run_place(struct pen *p, const struct view *v)
{
	char seed[VALUE], precision[VALUE], device[VALUE], threads[VALUE], memory[VALUE];
	int64_t budget = 0;
	pen_label(p, "on");
	pen_printf(p, "%s", *say_str(v, F_run_device, device) ? device : view_is(v, F_run_trainer, "command") ? "a device of its choice" : "an unknown device");
	text_also(p, ", ", say_str(v, F_run_precision, precision));
	int64_t n = 0;
	if (view_int(v, F_run_threads, &n) && n > 0)
		pen_printf(p, ", %s threads", grouped(n, threads));
	else if (*say_int(v, F_run_cores, threads)) /* 0: all there are */
		pen_printf(p, ", all %s cores", threads);
	if (view_int(v, F_run_memory_bytes, &budget) && budget > 0)
		pen_printf(p, ", memory budget %s", say_bytes(v, F_run_memory_bytes, memory));
	if (!view_is(v, F_run_trainer, "command")) /* which may not have been told */
		text_also(p, ", seed ", say_int(v, F_run_seed, seed));
	pen_newline(p);
}

static void run_origin(struct pen *p, const struct view *v)
{
	char id[VALUE], update[VALUE], parent[VALUE];
	bool dirty = false;
	if (*say_str(v, F_run_resumed_run, id)) {
		pen_label(p, "resumes");
		pen_printf(p, "run %s", id);
		text_also(p, " from update ", say_int(v, F_run_resumed_update, update));
		pen_newline(p);
	}
	if (*say_str(v, F_run_parent, parent)) {
		pen_label(p, "belongs to");
		pen_printf(p, "%s", parent);
		pen_newline(p);
	}
	if (line_of(p, v, "code", F_run_revision)) {
		if (view_bool(v, F_run_dirty, &dirty) && dirty)
			pen_printf(p, ", with changes that are not committed");
		pen_newline(p);
	}
}

void text_run(struct pen *p, const struct view *v)
{
	pen_break(p);
	run_title(p, v);
	if (view_is(v, F_run_trainer, "command")) {
		text_run_command(p, v);
	} else {
		run_model(p, v);
		run_data(p, v);
		run_optimizer(p, v);
		run_batch(p, v);
		run_budget(p, v);
	}
	run_place(p, v);
	run_origin(p, v);
}

void text_plan(struct pen *p, const struct view *v)
{
	char peak[VALUE], phase[VALUE], fixed[VALUE], each[VALUE], budget[VALUE];
	pen_break(p);
	pen_label(p, "will need");
	pen_printf(p, "%s at the peak", *say_bytes(v, F_plan_peak_bytes, peak) ? peak : "unknown memory");
	text_also(p, ", in ", say_str(v, F_plan_peak_phase, phase));
	if (*say_bytes(v, F_plan_fixed_bytes, fixed) && *say_bytes(v, F_plan_per_example_bytes, each))
		pen_printf(p, ": %s + %s for each example of the micro-batch", fixed, each);
	int64_t bytes;
	if (view_int(v, F_plan_budget_bytes, &bytes) && bytes > 0)
		pen_printf(p, "; the budget is %s", say_bytes(v, F_plan_budget_bytes, budget));
	pen_newline(p);
}

/* The loss as it was computed over all targets, and the mean of the passes' means where that is what there is, or
 * what was printed. */
static void eval_losses(struct pen *p, const struct view *v)
{
	char loss[VALUE], means[VALUE];
	say_num(v, F_eval_loss, loss);
	say_num(v, F_eval_batch_mean_loss, means);
	pen_printf(p, "loss %s", *loss ? loss : *means ? means : "unknown");
	if (*means)
		pen_printf(p, *loss ? ", mean of batch means %s" : ", a mean of batch means", means);
	if (*means && *loss && view_is(v, F_eval_printed, "batch_mean_loss"))
		pen_printf(p, " (as printed)");
}

void text_eval(struct pen *p, const struct view *v)
{
	char split[VALUE], at[VALUE], acc[VALUE], exact[VALUE], n[VALUE], s[VALUE];
	pen_printf(p, "  ");
	pen_colored(p, BOLD, "%s", say_str(v, F_eval_split, split));
	pen_printf(p, " at update %s: ", say_int(v, F_eval_update, at));
	eval_losses(p, v);
	text_also(p, ", accuracy ", say_share(v, F_eval_accuracy, acc));
	text_also(p, ", exact answers ", say_share(v, F_eval_exact_match, exact));
	int64_t examples;
	if (view_int(v, F_eval_examples, &examples))
		pen_printf(p, ", on %s %s", grouped(examples, n), examples == 1 ? "example" : "examples");
	if (*say_seconds(v, F_eval_seconds, s))
		pen_printf(p, " in %s s", s);
	pen_newline(p);
}

void text_save(struct pen *p, const struct view *v)
{
	char at[VALUE], bytes[VALUE], s[VALUE];
	const char *path = "";
	size_t n = 0;
	bool in_place = false;
	view_str(v, F_save_path, &path, &n);
	pen_printf(p, "  ");
	pen_colored(p, BOLD, "saved");
	pen_printf(p, " at update %s: ", say_int(v, F_save_update, at));
	pen_bytes(p, path, n);
	text_also(p, ", ", say_bytes(v, F_save_bytes, bytes));
	if (*say_seconds(v, F_save_seconds, s))
		pen_printf(p, " in %s s", s);
	if (view_count(v, F_save_holds) > 0) {
		pen_printf(p, ", holds ");
		text_strs(p, v, F_save_holds, 8);
	}
	if (view_bool(v, F_save_in_place, &in_place) && in_place)
		pen_printf(p, "; written over the one before");
	pen_newline(p);
}
