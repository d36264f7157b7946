/* rules-builtin.c - what each phase of the builtin trainer must show, as a table: one line a check,
 * its facts, the words for an ok and for a fault. A check follows from facts that any trainer can
 * report, not from a fault that somebody thought of; one whose facts are missing proves nothing. */
#include "rules.h"

#define F(x) F_phase_##x

static const struct rule rules[] = {
	/* load */
	{ PH(G_LOAD), LEAST, F(seconds), 0, NULL, ALWAYS, NEED, "weights in place", "no time", NULL },
	{ PH(G_LOAD), SAME, F(restored_tensors), F(tensors), NULL, FROM_FILE, NEED, "all {b} tensors came from the file", "not every tensor came from the file", "the file of weights" },

	/* data */
	{ PH(G_DATA), LEAST, F(ids_min), 0, NULL, IDS, NEED, NULL, "an id below 0", NULL },
	{ PH(G_DATA), BELOW, F(ids_max), F(classes), NULL, IDS, NEED, "ids and targets in range of {b} classes", "an id beyond the vocabulary", NULL },
	{ PH(G_DATA), LEAST, F(targets_min), 0, NULL, ALWAYS, NEED, NULL, "a target below 0", NULL },
	{ PH(G_DATA), BELOW, F(targets_max), F(classes), NULL, ALWAYS, NEED, NULL, "a target beyond the classes", NULL },
	{ PH(G_DATA), ZERO, F(nonfinite_inputs), 0, NULL, FEATURES, NEED, "features finite, targets in range", "features that are not finite", NULL },
	{ PH(G_DATA), SOME, F(supervised), 0, NULL, ALWAYS, NEED, NULL, "the loss looks at no target", "the mask" },
	{ PH(G_DATA), SAME, F(supervised), F(declared_supervised), NULL, ALWAYS, NEED, "{a} supervised targets as declared", "the loss looks at other targets than the examples declare", "the mask, the padding" },
	{ PH(G_DATA), SOME, F(shift_compared), 0, NULL, IDS, NEED, NULL, "no target was compared with the next id", NULL },
	{ PH(G_DATA), ZERO, F(shift_wrong), F(shift_compared), NULL, IDS, NEED, "each of {b} compared is the next id", "targets that are not the next id", "a shift done twice, or not at all" },
	{ PH(G_DATA), SAME, F(class_names), F(classes), NULL, ALWAYS, 0, "{a} class names", "class names and class numbers are out of step", NULL },
	{ PH(G_DATA), ZERO, F(shared_examples), 0, NULL, ALWAYS, NEED, "splits disjoint", "examples in more than one split", "how the splits were made" },
	{ PH(G_DATA), ZERO, F(shared_groups), 0, NULL, ALWAYS, 0, NULL, "groups in more than one split", "how the splits were made" },
	{ ON(step, G_DATA), CALL, 0, 0, check_window, ALWAYS, 0, NULL, NULL, "the sampler" },
	{ ON(step, G_DATA), SOME, F_step_supervised, 0, NULL, ALWAYS, 0, NULL, "an update without any target", "the mask" },
	{ ON(end, G_DATA), CALL, 0, 0, check_end_windows, ALWAYS, NEED, NULL, NULL, "the sampler" },
	{ ON(end, G_DATA), CALL, 0, 0, check_end_orders, ALWAYS, 0, NULL, NULL, "the sampler's seed" },

	/* forward */
	{ PH(G_FORWARD), CALL, F(output_shape), 0, check_output, ALWAYS, NEED, NULL, NULL, "the model's head" },
	{ PH(G_FORWARD), FINITE, F(loss), 0, NULL, ALWAYS, NEED, NULL, "a loss that is not finite", NULL },
	{ PH(G_FORWARD), ZERO, F(loss_nonfinite), 0, NULL, ALWAYS, NEED, NULL, "passes whose loss is not finite", NULL },
	{ PH(G_FORWARD), CALL, F(fresh), F(logits_variance), check_fresh_loss, ALWAYS, NEED, NULL, NULL, "the loss, the initialisation" },
	{ PH(G_FORWARD), CALL, F(loss), 0, check_logged_loss, ALWAYS, 0, NULL, NULL, "what the log shows" },
	{ ON(step, G_FORWARD), CALL, F_step_loss, 0, check_logged_loss, ALWAYS, 0, NULL, NULL, "what the log shows" },
	{ ON(step, G_FORWARD), FINITE, F_step_loss, 0, NULL, ALWAYS, NEED, NULL, "a loss that is not finite", NULL },
	{ ON(step, G_FORWARD), CALL, F_step_loss, 0, check_stale, ALWAYS, 0, NULL, NULL, "what the log shows" },
	{ ON(end, G_FORWARD), CALL, 0, 0, check_end_finite, ALWAYS, NEED, NULL, NULL, NULL },

	/* backward */
	{ PH(G_BACKWARD), ZERO, F(gradients_missing), F(trainable_tensors), NULL, ALWAYS, NEED, "every one of {b} trainable tensors has a gradient", "trainable tensors without a gradient", "the graph" },
	{ PH(G_BACKWARD), ZERO, F(gradients_nonfinite), 0, NULL, ALWAYS, NEED, "all finite", "gradients that are not finite", "precision, normalisation" },
	{ PH(G_BACKWARD), ZERO, F(gradients_frozen), 0, NULL, ALWAYS, NEED, "frozen ones have none", "frozen tensors with a gradient", "what was frozen, and when" },
	{ PH(G_BACKWARD), SOME, F(gradient_norm), 0, NULL, ALWAYS, NEED, NULL, "no gradient at all", "the graph" },
	{ ON(step, G_BACKWARD), FINITE, F_step_gradient_norm, 0, NULL, ALWAYS, NEED, NULL, "a gradient norm that is not finite", "precision, normalisation" },
	{ ON(step, G_BACKWARD), CALL, F_step_gradient_norm, 0, check_gradient, ALWAYS, 0, NULL, NULL, "the graph" },
	{ PH(G_BACKWARD), CALL, F(trainable_tensors), 0, check_trainable, ALWAYS, 0, NULL, NULL, "what was frozen, and when" },
	{ ON(end, G_BACKWARD), CALL, 0, 0, check_end_norms, ALWAYS, NEED, NULL, NULL, NULL },

	/* update */
	{ PH(G_UPDATE), SAME, F(changed), F(trainable_tensors), NULL, MOVING, NEED, "all {b} trainable tensors changed", "not every trainable tensor changed", "what was handed to the optimizer" },
	{ PH(G_UPDATE), CALL, F(trainable_tensors), 0, check_trainable, ALWAYS, 0, NULL, NULL, "what was frozen, and when" },
	{ PH(G_UPDATE), ZERO, F(unchanged), 0, NULL, MOVING, NEED, NULL, "tensors with a gradient that did not change", "what was handed to the optimizer" },
	{ PH(G_UPDATE), ZERO, F(frozen_changed), 0, NULL, ALWAYS, NEED, "no frozen one did", "frozen tensors changed", "weight decay" },
	{ PH(G_UPDATE), ZERO, F(tied_apart), 0, NULL, ALWAYS, 0, NULL, "tied tensors are apart", "where weights are tied" },
	{ PH(G_UPDATE), CALL, F(attempted), F(applied), check_skipped, ALWAYS, NEED, NULL, NULL, "what skips updates" },
	{ PH(G_UPDATE), SAME, F(optimizer_count), F(applied), NULL, ALWAYS, NEED, "the optimizer counts the same", "the optimizer counts otherwise", NULL },
	{ PH(G_UPDATE), SAME, F(lr), F(schedule_lr), NULL, ALWAYS, NEED, "the rate is the schedule's", "the rate is not the schedule's", "when the schedule ticks" },
	{ ON(step, G_UPDATE), CALL, 0, 0, check_rate, ALWAYS, 0, NULL, NULL, "when the schedule ticks" },
	{ ON(step, G_UPDATE), CALL, 0, 0, check_count, ALWAYS, NEED, NULL, NULL, "what counts updates" },
	{ ON(step, G_UPDATE), CALL, 0, 0, check_examples, ALWAYS, 0, NULL, NULL, "what counts examples" },
	{ ON(step, G_UPDATE), CALL, 0, 0, check_passes, ALWAYS, 0, NULL, NULL, "accumulation" },
	{ ON(step, G_UPDATE), CALL, 0, 0, check_step_time, ALWAYS, 0, NULL, NULL, "the clock, its unit" },
	{ ON(end, G_UPDATE), CALL, 0, 0, check_end_updates, ALWAYS, NEED, NULL, NULL, "what counts updates" },
	{ ON(end, G_UPDATE), CALL, 0, 0, check_end_rate, ALWAYS, 0, NULL, NULL, "the clock, its unit" },
	{ ON(end, G_UPDATE), CALL, 0, 0, check_end_clock, ALWAYS, 0, NULL, NULL, "the clock, its unit" },
	{ ON(end, G_UPDATE), CALL, 0, 0, check_end_peak, ALWAYS, 0, NULL, NULL, "what the plan left out" },

	/* validate */
	{ PH(G_VALIDATE), SOME, F(examples), 0, NULL, ALWAYS, NEED, NULL, "no example", "the validation split" },
	{ PH(G_VALIDATE), SAME, F(examples), F(expected_examples), NULL, ALWAYS, NEED, "{a} examples, each once", "not every example once", "the last batch" },
	{ PH(G_VALIDATE), SAME, F(distinct_examples), F(expected_examples), NULL, ALWAYS, NEED, NULL, "not every example once", "the last batch" },
	{ PH(G_VALIDATE), CALL, F(expected_examples), 0, check_expected, ALWAYS, 0, NULL, NULL, "which split, how much of it" },
	{ PH(G_VALIDATE), YES, F(evaluation_mode), 0, NULL, ALWAYS, NEED, "evaluation mode", "evaluation mode was not on", "dropout" },
	{ PH(G_VALIDATE), YES, F(training_mode_after), 0, NULL, ALWAYS, NEED, "training mode back", "training mode was not back", "dropout" },
	{ PH(G_VALIDATE), NO, F(weights_changed), 0, NULL, ALWAYS, NEED, "weights, optimizer and random state untouched", "it changed the weights", NULL },
	{ PH(G_VALIDATE), NO, F(optimizer_changed), 0, NULL, ALWAYS, NEED, NULL, "it changed the optimizer's state", NULL },
	{ PH(G_VALIDATE), NO, F(random_changed), 0, NULL, ALWAYS, NEED, NULL, "it used up random numbers of training", NULL },
	{ PH(G_VALIDATE), FINITE, F(loss), 0, NULL, ALWAYS, NEED, NULL, "a loss that is not finite", "the model, before the data" },
	{ PH(G_VALIDATE), CALL, F(loss), 0, check_eval, ALWAYS, 0, NULL, NULL, "what the log shows" },
	{ ON(eval, G_VALIDATE), CALL, F_eval_loss, 0, check_eval, ALWAYS, 0, NULL, NULL, "what the log shows" },
	{ ON(eval, G_VALIDATE), FINITE, F_eval_loss, 0, NULL, ALWAYS, NEED, NULL, "a loss that is not finite", "the model, before the data" },
	{ ON(end, G_VALIDATE), CALL, 0, 0, check_end_evals, ALWAYS, NEED, NULL, NULL, NULL },

	/* save */
	{ PH(G_SAVE), YES, F(complete), 0, NULL, ALWAYS, NEED, "written under another name, synced, renamed", "not written under another name, synced and renamed", "what writes it" },
	{ PH(G_SAVE), NO, F(weights_changed), 0, NULL, ALWAYS, NEED, "weights and state untouched", "it changed the weights", NULL },
	{ PH(G_SAVE), NO, F(optimizer_changed), 0, NULL, ALWAYS, 0, NULL, "it changed the optimizer's state", NULL },
	{ PH(G_SAVE), NO, F(random_changed), 0, NULL, ALWAYS, 0, NULL, "it used up random numbers of training", NULL },
	{ PH(G_SAVE), CALL, F(digest), 0, check_save, ALWAYS, 0, NULL, NULL, "what writes it" },
	{ ON(save, G_SAVE), CALL, F_save_digest, 0, check_save, ALWAYS, 0, NULL, NULL, "what writes it" },
	{ ON(end, G_SAVE), CALL, 0, 0, check_end_saves, ALWAYS, NEED, NULL, NULL, NULL },

	/* resume: of a run that goes on; the replays come from elsewhere */
	{ PH(G_RESUME), CALL, F(restored_update), 0, check_resumed, CONTINUED, NEED, NULL, NULL, "the update count" },
	{ PH(G_RESUME), CALL, F(restored_tensors), F(tensors), check_restored, CONTINUED, NEED, NULL, NULL, "what the file holds" },
	{ PH(G_RESUME), ZERO, F(tied_apart), 0, NULL, ALWAYS, 0, NULL, "tied tensors are apart", "where weights are tied" },
};

/* Of every phase record, whatever its phase. */
static const struct rule common[] = {
	{ PH(0), MOST, F(allocated_bytes), F(reserved_bytes), NULL, ALWAYS, NEED, NULL, "more allocated than reserved", "the memory counters" },
	{ PH(0), MOST, F(allocated_peak_bytes), F(reserved_peak_bytes), NULL, ALWAYS, NEED, NULL, "a peak of allocated above that of reserved", "the memory counters" },
	{ PH(0), MOST, F(allocated_bytes), F(allocated_peak_bytes), NULL, ALWAYS, NEED, NULL, "more allocated than its peak", "the memory counters" },
	{ PH(0), MOST, F(baseline_bytes), F(allocated_peak_bytes), NULL, ALWAYS, 0, NULL, "began with more than its peak", "the memory counters" },
	{ PH(0), LEAST, F(seconds), 0, NULL, ALWAYS, NEED, NULL, "it took less than no time", "the clock, its unit" },
	{ PH(0), CALL, F(allocated_bytes), F(baseline_bytes), check_plan, ALWAYS, 0, NULL, NULL, "the plan of memory, what is allocated besides" },
};

enum { RULES = sizeof rules / sizeof *rules, COMMON_RULES = sizeof common / sizeof *common };
_Static_assert(RULES + COMMON_RULES * GATE_PHASES <= WATCH_RULES, "a place for every rule");

static const char no_record[] = "no record of this phase";

const struct rules builtin_rules = {
	.rule = rules,
	.count = RULES,
	.common = common,
	.commons = COMMON_RULES,
	.unseen = {
		[G_LOAD] = no_record,
		[G_DATA] = no_record,
		[G_FORWARD] = no_record,
		[G_BACKWARD] = no_record,
		[G_UPDATE] = no_record,
		[G_VALIDATE] = "no validation in this run (see --val-every)",
		[G_SAVE] = "nothing was saved in this run (see --save)",
	},
};
