/* stranger-rules.c - what each phase of a command in the trainer's place must show, as a table. Its facts come from an
 * adapter that sees what it can, or from a program that reports what it likes, and its training may do what
 * nobody foresaw: a rule fails only on what no healthy training shows; what could be either is unproven. */
#include "stranger-rules.h"

#define F(x) F_phase_##x
#define END(p) KIND_end, p, CALL, 0, 0

static const struct rule rules[] = {
	/* load: no phase record; the model as it was first trained */
	{ END(G_LOAD), stranger_model, ALWAYS, NEED, NULL, NULL, NULL },
	{ END(G_LOAD), stranger_loaded, ALWAYS, NEED, NULL, NULL, "names in the file against names in the model" },
	{ END(G_LOAD), stranger_apart, ALWAYS, 0, NULL, NULL, "where weights are tied" },

	/* data */
	{ END(G_DATA), stranger_rows, ALWAYS, NEED, NULL, NULL, "what makes the batches" },
	{ PH(G_DATA), BELOW, F(targets_max), F(classes), NULL, ALWAYS, 0, NULL, "a target beyond the classes", NULL },
	{ END(G_DATA), stranger_targets, ALWAYS, 0, NULL, NULL, "the mask" },
	{ END(G_DATA), stranger_shift, ALWAYS, NEED, NULL, NULL, "a shift done twice, or not at all" },
	{ END(G_DATA), stranger_padding, ALWAYS, NEED, NULL, NULL, "the mask, the padding" },
	{ END(G_DATA), stranger_batches, ALWAYS, NEED, NULL, NULL, "the sampler" },
	{ END(G_DATA), stranger_order, ALWAYS, NEED, NULL, NULL, "the sampler, its seed" },
	{ END(G_DATA), stranger_workers, ALWAYS, NEED, NULL, NULL, "the seed of each worker, its share of the data" },
	{ END(G_DATA), stranger_shards, ALWAYS, NEED, NULL, NULL, "the sampler of each replica" },

	/* forward */
	{ ON(step, G_FORWARD), FINITE, F_step_loss, 0, NULL, ALWAYS, NEED | FIRM, NULL, "a loss that is not finite", NULL },
	{ END(G_FORWARD), stranger_loss, ALWAYS, NEED, NULL, NULL, NULL },
	{ END(G_FORWARD), stranger_repeat, ALWAYS, NEED, NULL, NULL, NULL },
	{ END(G_FORWARD), stranger_future, ALWAYS, NEED, NULL, NULL, "the causal mask" },
	{ END(G_FORWARD), stranger_mixed, ALWAYS, NEED, NULL, NULL, "where rows are reshaped" },
	{ END(G_FORWARD), stranger_widened, ALWAYS, NEED, NULL, NULL, "the mask of padding" },

	/* backward */
	{ ON(step, G_BACKWARD), FINITE, F_step_gradient_norm, 0, NULL, ALWAYS, FIRM, NULL, "a gradient that is not finite, and an update all the same", "precision, normalisation, clipping" },
	{ END(G_BACKWARD), stranger_gradients, ALWAYS, NEED, NULL, NULL, "the graph" },
	{ END(G_BACKWARD), stranger_no_gradient, ALWAYS, NEED, NULL, NULL, "the graph" },
	{ END(G_BACKWARD), stranger_left_over, ALWAYS, NEED, NULL, NULL, "zero_grad" },
	{ END(G_BACKWARD), stranger_tail, ALWAYS, NEED, NULL, NULL, "accumulation at the end of a pass over the data" },
	{ END(G_BACKWARD), stranger_dropped, ALWAYS, NEED, NULL, NULL, "accumulation at the end of a pass over the data" },
	{ END(G_BACKWARD), stranger_unused, ALWAYS, NEED, NULL, NULL, "accumulation at the end of a pass over the data" },
	{ END(G_BACKWARD), stranger_means, ALWAYS, NEED, NULL, NULL, "how the passes of an update are weighted" },

	/* update */
	{ ON(step, G_UPDATE), CALL, 0, 0, stranger_count, ALWAYS, NEED, NULL, NULL, "what counts updates" },
	{ END(G_UPDATE), stranger_changed, ALWAYS, NEED, NULL, NULL, "what was handed to the optimizer" },
	{ PH(G_UPDATE), ZERO, F(frozen_changed), 0, NULL, ALWAYS, 0, "it changed no frozen one", "frozen tensors changed", "weight decay, what the optimizer holds" },
	{ END(G_UPDATE), stranger_zero_changed, ALWAYS, 0, NULL, NULL, "weight decay" },
	{ END(G_UPDATE), stranger_declared, ALWAYS, 0, NULL, NULL, "what was frozen, and when" },
	{ END(G_UPDATE), stranger_covered, ALWAYS, NEED, NULL, NULL, "what was handed to the optimizer" },
	{ END(G_UPDATE), stranger_touched, ALWAYS, 0, NULL, NULL, "what was handed to the optimizer" },
	{ END(G_UPDATE), stranger_rounded, ALWAYS, NEED, NULL, NULL, "a copy of the weights in float32" },
	{ END(G_UPDATE), stranger_skipped, ALWAYS, 0, NULL, NULL, "the loss scale" },
	{ END(G_UPDATE), stranger_first, ALWAYS, NEED, NULL, NULL, "the loss scale" },
	{ END(G_UPDATE), stranger_scaler, ALWAYS, 0, NULL, NULL, "where the loss scale is changed" },
	{ END(G_UPDATE), stranger_schedule, ALWAYS, 0, NULL, NULL, "when the schedule ticks" },
	{ PH(G_UPDATE), ZERO, F(tied_apart), 0, NULL, ALWAYS, 0, NULL, "tied tensors are apart", "where weights are tied" },
	{ END(G_UPDATE), stranger_synchronised, ALWAYS, NEED, NULL, NULL, "what adds the replicas' gradients" },
	{ END(G_UPDATE), stranger_rate, ALWAYS, NEED, NULL, NULL, NULL },
	{ END(G_UPDATE), stranger_counted, ALWAYS, NEED, NULL, NULL, "what counts updates" },

	/* validate */
	{ ON(eval, G_VALIDATE), FINITE, F_eval_loss, 0, NULL, ALWAYS, FIRM, NULL, "a loss that is not finite", "the model, before the data" },
	{ END(G_VALIDATE), stranger_evals, ALWAYS, 0, NULL, NULL, NULL },
	{ END(G_VALIDATE), stranger_mode, ALWAYS, NEED, NULL, NULL, "dropout, normalisation" },
	{ END(G_VALIDATE), stranger_mode_after, ALWAYS, NEED, NULL, NULL, "dropout, normalisation" },
	{ END(G_VALIDATE), stranger_statistics, ALWAYS, NEED, NULL, NULL, "normalisation" },
	{ END(G_VALIDATE), stranger_untouched, ALWAYS, NEED, NULL, NULL, NULL },
	{ END(G_VALIDATE), stranger_split, ALWAYS, 0, NULL, NULL, "the last batch" },
	{ END(G_VALIDATE), stranger_printed, ALWAYS, 0, NULL, NULL, "how the batches' losses are put together" },

	/* save: what lies on disk comes from elsewhere */
	{ END(G_SAVE), stranger_saves, ALWAYS, NEED, NULL, NULL, NULL },
	{ END(G_SAVE), stranger_in_place, ALWAYS, NEED, NULL, NULL, "what writes it" },
	{ END(G_SAVE), stranger_torn, ALWAYS, 0, NULL, NULL, "what is saved when" },
	{ PH(G_SAVE), NO, F(weights_changed), 0, NULL, ALWAYS, 0, NULL, "it changed the weights", NULL },

	/* resume: the replays come from elsewhere */
	{ END(G_RESUME), stranger_restored, ALWAYS, NEED, NULL, NULL, "what the file holds" },
	{ PH(G_RESUME), ZERO, F(tied_apart), 0, NULL, ALWAYS, 0, NULL, "tied tensors are apart", "where weights are tied" },
};

enum { RULES = sizeof rules / sizeof *rules };
_Static_assert((int)RULES <= (int)WATCH_RULES, "a place for every rule");

static const char no_record[] = "not reported: the command told nothing of this phase";

const struct rules stranger_rules = {
	.rule = rules,
	.count = RULES,
	.unseen = {
		[G_DATA] = no_record,
		[G_FORWARD] = no_record,
		[G_BACKWARD] = no_record,
		[G_UPDATE] = no_record,
		[G_VALIDATE] = "no validation was seen in this run",
	},
};
