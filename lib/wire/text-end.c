/* text-end.c - how a run ended; examples and answers. */
#include "text.h"

static void end_status(struct pen *p, const struct view *v)
{
	char status[VALUE], u[VALUE], x[VALUE], e[VALUE], s[VALUE];
	pen_newline(p);
	pen_printf(p, "  ");
	say_str(v, F_end_status, status);
	pen_colored(p, status_color(status), "%s", status);
	int64_t n;
	if (view_int(v, F_end_updates, &n))
		pen_printf(p, " after %s %s", grouped(n, u), n == 1 ? "update" : "updates");
	if (view_int(v, F_end_examples, &n))
		pen_printf(p, ", %s %s", grouped(n, x), n == 1 ? "example" : "examples");
	if (*say_short(v, F_end_epochs, e))
		pen_printf(p, ", %s epochs", e);
	if (*say_seconds(v, F_end_seconds, s))
		pen_printf(p, ", in %s s", s);
	pen_newline(p);
}

static void end_why(struct pen *p, const struct view *v)
{
	const char *s;
	size_t n;
	char phase[VALUE], asked[VALUE], held[VALUE], budget[VALUE], input[VALUE];
	bool oom = *say_str(v, F_end_oom_phase, phase);
	if (!oom && view_str(v, F_end_why, &s, &n) && n)
		pen_wrapped(p, "", 4, s, n);
	if (!oom) /* what follows says it all */
		return;
	pen_printf(p, "    ran out of memory in %s", phase);
	if (*say_bytes(v, F_end_asked_bytes, asked))
		pen_printf(p, ": %s more were asked", asked);
	if (*say_bytes(v, F_end_allocated_bytes, held))
		pen_printf(p, " with %s allocated", held);
	if (*say_bytes(v, F_end_budget_bytes, budget))
		pen_printf(p, " of %s", budget);
	if (*say_str(v, F_end_input, input))
		pen_printf(p, ", on %s", input);
	pen_newline(p);
}

static void end_scores(struct pen *p, const struct view *v)
{
	char loss[VALUE], acc[VALUE], best[VALUE], when[VALUE], of[VALUE];
	bool exact = false;
	view_bool(v, F_end_exact_match, &exact);
	const char *name = exact ? "exact answers" : "accuracy"; /* as in the line of the evaluation */
	if (*say_num(v, F_end_validation_loss, loss)) {
		pen_label(p, "validation");
		pen_printf(p, "loss %s", loss);
		if (*say_share(v, F_end_validation_accuracy, acc))
			pen_printf(p, ", %s %s", name, acc);
		if (*say_num(v, F_end_best_validation_loss, best))
			pen_printf(p, "; best loss %s at update %s, selected from %s", best, say_int(v, F_end_best_update, when), *say_int(v, F_end_validations, of) ? of : "?");
		pen_newline(p);
	}
	if (*say_num(v, F_end_test_loss, loss)) {
		pen_label(p, "test");
		pen_printf(p, "loss %s", loss);
		if (*say_share(v, F_end_test_accuracy, acc))
			pen_printf(p, ", %s %s", name, acc);
		pen_printf(p, ", scored once");
		pen_newline(p);
	}
	if (*say_int(v, F_end_overfit_examples, of)) {
		pen_label(p, "overfit");
		pen_printf(p, "%s of %s examples came back", say_int(v, F_end_overfit_recovered, when), of);
		pen_newline(p);
	}
}

static void end_costs(struct pen *p, const struct view *v)
{
	char a[VALUE], r[VALUE], d[VALUE], phase[VALUE], x[VALUE], t[VALUE];
	if (*say_rate(v, F_end_examples_per_second, x)) {
		pen_label(p, "speed");
		pen_printf(p, "%s examples/s", x);
		if (*say_tokens(v, F_end_examples_per_second, F_end_tokens_per_second, t))
			pen_printf(p, ", %s tokens/s", t);
		pen_newline(p);
	}
	if (*say_bytes(v, F_end_allocated_peak_bytes, a)) {
		pen_label(p, "peak memory");
		pen_printf(p, "%s allocated", a);
		if (*say_str(v, F_end_peak_phase, phase))
			pen_printf(p, " (in %s)", phase);
		if (*say_bytes(v, F_end_reserved_peak_bytes, r))
			pen_printf(p, ", %s reserved", r);
		if (*say_bytes(v, F_end_device_used_peak_bytes, d))
			pen_printf(p, ", %s used on the device", d);
		pen_newline(p);
	}
}

/* ---- a command's ---- */

static void end_cause(struct pen *p, const struct view *v)
{
	char exception[VALUE], signal[VALUE], status[VALUE], cause[VALUE];
	if (!*say_str(v, F_end_cause, cause))
		return;
	pen_label(p, "cause");
	pen_printf(p, "%s", view_is(v, F_end_cause, "updates") ? "stopped after its updates" : view_is(v, F_end_cause, "asked") ? "asked to stop" : cause);
	text_also(p, view_is(v, F_end_cause, "exception") ? " " : ", exception ", say_str(v, F_end_exception, exception));
	text_also(p, view_is(v, F_end_cause, "signal") ? " " : ", signal ", say_str(v, F_end_signal, signal));
	text_also(p, ", exit status ", say_int(v, F_end_exit_status, status));
	pen_newline(p);
}

/* Counters of the whole tree of processes, seen from outside. */
static void end_tree(struct pen *p, const struct view *v)
{
	char resident[VALUE], space[VALUE], all[VALUE], cpu[VALUE], n[VALUE];
	bool any = *say_bytes(v, F_end_resident_peak_bytes, resident);
	if (any) {
		pen_label(p, "of the host");
		pen_printf(p, "%s resident at the peak", resident);
		text_also(p, ", address space ", say_bytes(v, F_end_address_peak_bytes, space));
		pen_newline(p);
	}
	if (*say_bytes(v, F_end_device_all_peak_bytes, all)) {
		pen_label(p, "of the device");
		pen_printf(p, " %s in use at the peak, others' too", all);
		pen_newline(p);
	}
	if (!*say_seconds(v, F_end_cpu_seconds, cpu))
		return;
	pen_label(p, "processor");
	pen_printf(p, "%s s", cpu);
	int64_t most;
	if (view_int(v, F_end_processes, &most))
		pen_printf(p, " in %s %s", grouped(most, n), most == 1 ? "process" : "processes at most");
	pen_newline(p);
}

static void end_files(struct pen *p, const struct view *v)
{
	char n[VALUE], bytes[VALUE];
	int64_t files = 0, refused = 0;
	if (view_int(v, F_end_files_written, &files) && files) {
		pen_label(p, "wrote");
		pen_printf(p, "%s %s", grouped(files, n), files == 1 ? "file" : "files");
		text_also(p, ", ", say_bytes(v, F_end_bytes_written, bytes));
		if (view_count(v, F_end_files) > 0) {
			pen_printf(p, ": ");
			text_strs(p, v, F_end_files, 4);
		}
		pen_newline(p);
	}
	if (view_int(v, F_end_lines_refused, &refused) && refused) {
		pen_label(p, "refused");
		pen_printf(p, "%s %s of its protocol", grouped(refused, n), refused == 1 ? "line" : "lines");
		pen_newline(p);
	}
}

static void end_words(struct pen *p, const struct view *v)
{
	const char *s;
	size_t n;
	for (int i = 0; i < view_count(v, F_end_stderr); i++)
		if (view_item_str(v, F_end_stderr, i, &s, &n)) {
			pen_printf(p, "    | ");
			pen_bytes(p, s, n);
			pen_newline(p);
		}
}

static void end_lost(struct pen *p, const struct view *v)
{
	char n[VALUE];
	int64_t dropped = 0, skipped = 0;
	if (view_int(v, F_end_dropped_examples, &dropped) && dropped) {
		pen_label(p, "dropped");
		pen_printf(p, "%s %s of incomplete windows", grouped(dropped, n), dropped == 1 ? "example" : "examples");
		pen_newline(p);
	}
	if (view_int(v, F_end_skipped_updates, &skipped) && skipped) {
		pen_label(p, "skipped");
		pen_printf(p, "%s %s attempted and not applied", grouped(skipped, n), skipped == 1 ? "update was" : "updates were");
		pen_newline(p);
	}
}

void text_end(struct pen *p, const struct view *v)
{
	pen_break(p);
	end_status(p, v);
	end_why(p, v);
	end_words(p, v);
	end_cause(p, v);
	end_scores(p, v);
	end_costs(p, v);
	end_tree(p, v);
	end_files(p, v);
	end_lost(p, v);
}

static void quoted(struct pen *p, const struct view *v, const char *label, enum field f)
{
	const char *s;
	size_t n;
	if (!view_str(v, f, &s, &n))
		return;
	pen_label(p, label);
	pen_printf(p, "\"");
	pen_bytes(p, s, n);
	pen_printf(p, "\"");
	pen_newline(p);
}

static void numbers(struct pen *p, const struct view *v, const char *label, enum field f)
{
	int n = view_count(v, f);
	if (n <= 0)
		return;
	pen_label(p, label);
	for (int i = 0; i < n; i++) {
		int64_t k;
		double x;
		if (view_item_int(v, f, i, &k))
			pen_printf(p, "%s%lld", i ? " " : "", (long long)k);
		else if (view_item_num(v, f, i, &x))
			pen_printf(p, "%s%g", i ? " " : "", x);
	}
	pen_newline(p);
}

void text_example(struct pen *p, const struct view *v)
{
	char id[VALUE], split[VALUE], group[VALUE], length[VALUE], padding[VALUE], class[VALUE];
	pen_break(p);
	pen_newline(p);
	pen_colored(p, BOLD, "example %s", say_str(v, F_example_id, id));
	pen_printf(p, "  %s", say_str(v, F_example_split, split));
	if (*say_str(v, F_example_group, group))
		pen_printf(p, ", group %s", group);
	if (*say_int(v, F_example_length, length))
		pen_printf(p, ", length %s", length);
	if (*say_int(v, F_example_padding, padding))
		pen_printf(p, ", padding %s", padding);
	if (*say_int(v, F_example_class, class))
		pen_printf(p, ", class %s", class);
	pen_newline(p);
	quoted(p, v, "text", F_example_text);
	quoted(p, v, "target", F_example_target);
	numbers(p, v, "ids", F_example_ids);
	numbers(p, v, "targets", F_example_targets);
	numbers(p, v, "mask", F_example_mask);
	numbers(p, v, "features", F_example_features);
}

void text_prediction(struct pen *p, const struct view *v)
{
	char id[VALUE], text[VALUE], output[VALUE], target[VALUE];
	bool right = false, judged = view_bool(v, F_prediction_correct, &right);
	pen_break(p);
	pen_printf(p, "  %s  %s -> %s", say_str(v, F_prediction_id, id), say_str(v, F_prediction_text, text), say_str(v, F_prediction_output, output));
	if (judged)
		pen_colored(p, right ? GREEN : RED, right ? "  right" : "  wrong");
	if (!right && *say_str(v, F_prediction_target, target))
		pen_printf(p, ", the answer is %s", target);
	pen_newline(p);
}
