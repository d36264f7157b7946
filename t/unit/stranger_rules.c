/* stranger_rules.c - the gate's rules over a command's run, both ways: a healthy run gives ok, and with one fact
 * changed it fails; what healthy training of another kind shows does not fail; what is not told is unproven. */
#include "stranger_kit.h"

enum { EDITS = 4 };
struct one {
	struct edit edit[EDITS];
	const char *phase, *verdict, *words;
};

static const struct judge_settings plain = { .replay = false, .updates = 16, .deadline = 60 };

/* ---- faults ---- */

#define STEP "step", NULL
#define CHANGE(tag, from, to) { { tag, from, to } }
#define TWO(t1, f1, o1, t2, f2, o2) { { t1, f1, o1 }, { t2, f2, o2 } }
#define EXTRA(at, json) { at, NULL, json }

static const struct one faults[] = {
	/* load */
	{ CHANGE("model", "\"equal_apart\":[]", "\"equal_apart\":[\"wte.weight = head.weight\"]"), "load", "fail", "tied in name only: wte.weight = head.weight" },
	{ { EXTRA("gap:0", "\"kind\":\"load\",\"path\":\"ckpt.pt\",\"restored\":[\"weights\"],\"matched\":0,\"missing\":28") }, "load", "fail", "loaded from ckpt.pt, which has no tensor of the model" },
	/* data */
	{ CHANGE("step", "\"target_offset\":1", "\"target_offset\":2"), "data", "fail", "the input 2 positions on (100 % of them, at update 1)" },
	{ CHANGE("step:2", "\"target_offset\":1", "\"target_offset\":3"), "data", "fail", "the input 3 positions on" },
	{ CHANGE("step", "\"target_offset\":1", "\"target_offset\":0"), "data", "fail", "nothing is left to predict" },
	{ CHANGE("step", "\"padding_supervised\":0", "\"padding_supervised\":17"), "data", "fail", "padding: 17 targets at update 1, some in 24 of 24" },
	{ CHANGE("step:9", "\"supervised\":128", "\"supervised\":0"), "data", "fail", "no target that the loss looks at (first at update 9)" },
	{ CHANGE("pass:2", "\"order_digest\":\"order2\"", "\"order_digest\":\"order1\""), "data", "fail", "ended at update 16 gave out the same 64 examples in the same order as the one that ended at 8: RandomSampler" },
	{ CHANGE("pass:3", "\"order_digest\":\"order3\"", "\"order_digest\":\"order1\""), "data", "fail", "epochs repeat their order" },
	{ TWO("pass", "\"sampler\":\"RandomSampler\"", "\"sampler\":\"SequentialSampler\"", "pass:3", "\"order_digest\":\"order3\"", "\"order_digest\":\"order1\""), "data", "unproven", "nothing shuffles it" },
	{ CHANGE("pass:2", "\"repeated\":0", "\"repeated\":8"), "data", "fail", "8 of the 16 batches of a pass had been given out in it before, by 2 workers" },
	{ CHANGE("end", "\"status\":\"done\"", "\"status\":\"oom\",\"oom_phase\":\"data\""), "data", "fail", "status oom" },
	/* an error counts for the phase that it came in */
	{ { EXTRA("gap:24", "\"kind\":\"failure\",\"exception\":\"ValueError\",\"phase\":\"backward\""), { "end", "\"status\":\"done\"", "\"status\":\"error\",\"why\":\"ValueError\"" } }, "backward", "fail", "status error: ValueError" },
	/* forward */
	{ CHANGE("step:7", "\"loss\":3.850", "\"loss\":\"NaN\""), "forward", "fail", "a loss that is not finite (loss = NaN, at update 7)" },
	{ CHANGE("check:future", "\"difference\":0", "\"difference\":0.8"), "forward", "fail", "outputs change with other tokens behind them: by 0.8 of 3.5" },
	{ CHANGE("check:rows", "\"difference\":0", "\"difference\":0.8"), "forward", "fail", "outputs change with half the rows" },
	{ CHANGE("check:padding", "\"difference\":0", "\"difference\":0.8"), "forward", "fail", "outputs change with more padding" },
	{ CHANGE("end", "\"status\":\"done\"", "\"status\":\"diverged\""), "forward", "fail", "status diverged" },
	/* backward */
	{ CHANGE("step:5", "\"gradient_norm\":1.2", "\"gradient_norm\":\"Infinity\""), "backward", "fail", "not finite, and an update all the same" },
	{ CHANGE("step", "\"gradient_norm\":1.2", "\"gradient_norm\":0"), "backward", "fail", "no gradient at all in 24 updates" },
	{ TWO("step", "\"gradient_norm\":1.2", "\"gradient_norm\":0", "optimizer", "\"strangers\":0", "\"strangers\":28"), "backward", "unproven", "which holds 28 others" },
	{ CHANGE("step", "\"left_over\":0", "\"left_over\":28"), "backward", "fail", "still there when the next begins: 28 tensors at update 2, some at 23" },
	{ CHANGE("step:9", "\"left_over\":0", "\"left_over\":28"), "backward", "fail", "28 tensors at update 9, some at 1 of 24" },
	{ TWO("pass:1", "\"waiting\":0", "\"waiting\":1", "step:9", "\"passes\":2", "\"passes\":3"), "backward", "fail", "gradients of 1 passes at the end of a pass over the data leak into update 9: it sums 3 passes, others 2" },
	{ CHANGE("step:9", "\"dropped_passes\":0", "\"dropped_passes\":1"), "backward", "fail", "the gradients of 1 passes were thrown away before update 9 (an update has 2)" },
	{ CHANGE("pass", "\"batches\":16", "\"batches\":17"), "backward", "fail", "the last 1 batches of a pass over the data, which do not fill an update of 2, are left out (first at update 8)" },
	{ { { "step", "\"divisor\":2", "\"divisor\":0.002,\"pass_divisors\":[0.002,0.002]" }, { "step:6", "\"pass_supervised\":[64,64]", "\"pass_supervised\":[64,16]" } }, "backward", "fail", "passes of unequal targets are weighted alike" },
	{ CHANGE("step", "\"pass_supervised\":[64,64]", "\"pass_supervised\":[64,16]"), "backward", "fail", "passes of unequal targets are weighted alike" },
	{ CHANGE("step", "\"pass_supervised\":[64,64],\"supervised\":128", "\"pass_supervised\":[60,30],\"supervised\":90,\"ignored\":38"), "backward", "fail", "passes of unequal targets are weighted alike" },
	{ CHANGE("step:6", "\"pass_supervised\":[64,64],\"supervised\":128", "\"pass_supervised\":[30,64],\"supervised\":94"), "backward", "fail", "54 % below the most at update 6" },
	/* update */
	{ CHANGE("step:9", "\"update\":9", "\"update\":8"), "update", "fail", "update 8 comes after update 8" },
	{ CHANGE("update:3", "\"changed\":28,\"unchanged\":0", "\"changed\":0,\"unchanged\":28"), "update", "fail", "no tensor changed at update 3" },
	{ CHANGE("update:3", "\"frozen_changed\":0", "\"frozen_changed\":2"), "update", "fail", "frozen tensors changed (frozen_changed = 2" },
	{ CHANGE("update:3", "\"zero_changed\":0", "\"zero_changed\":1"), "update", "fail", "1 tensors changed that have had no gradient" },
	{ CHANGE("backward:3", "\"gradients_frozen\":0", "\"gradients_frozen\":0,\"declared_trainable\":4"), "update", "fail", "4 tensors that --freeze names are trained" },
	{ CHANGE("model", "\"dropout_layers\":4", "\"dropout_layers\":4,\"declared_trainable\":4"), "update", "fail", "4 tensors that --freeze names are trained" },
	{ TWO("optimizer", "\"uncovered\":0", "\"uncovered\":14,\"uncovered_names\":[\"h.0.w\"]", "update", "\"changed\":28,\"unchanged\":0", "\"changed\":14,\"unchanged\":14"), "update", "fail", "14 trainable tensors are in no optimizer: h.0.w" },
	{ TWO("step", "\"touched\":28", "\"touched\":0", "update", "\"changed\":28,\"unchanged\":0", "\"changed\":0,\"unchanged\":28"), "update", "fail", "(and 1 more)" },
	{ TWO("model", "\"precision\":\"float32\"", "\"precision\":\"bfloat16\"", "update:3", "\"changed_share\":0.9", "\"changed_share\":0.1"), "update", "fail", "updates are rounded away" },
	{ CHANGE("step", "\"scheduler_calls\":1", "\"scheduler_calls\":2"), "update", "fail", "ticks once a pass: 2 times by update 1" },
	{ CHANGE("step", "\"scaler_calls\":0", "\"scaler_calls\":2"), "update", "fail", "the loss scale is changed after every pass" },
	{ TWO("step", "\"divisor\":2", "\"divisor\":2,\"pass_divisors\":[2,2]", "step:5", "[2,2]", "[2,1]"), "update", "fail", "the loss scale changes between the passes of update 5" },
	{ CHANGE("update:3", "\"tied_apart\":0", "\"tied_apart\":1"), "update", "fail", "tied tensors are apart" },
	/* validate */
	{ CHANGE("validate", "\"evaluation_mode\":true", "\"evaluation_mode\":false"), "validate", "fail", "evaluation mode was not on in 3 of 3 validations (first at update 8)" },
	{ CHANGE("validate:16", "\"training_mode_after\":true", "\"training_mode_after\":false"), "validate", "fail", "training mode was not back in 1 of 3" },
	{ CHANGE("step:9", "\"training\":true", "\"training\":false"), "validate", "fail", "training mode was not back" },
	{ CHANGE("validate:8", "\"buffers_changed\":false", "\"buffers_changed\":true"), "validate", "fail", "statistics of normalisation changed in 1 of 3" },
	{ CHANGE("validate:8", "\"weights_changed\":false", "\"weights_changed\":true"), "validate", "fail", "weights changed in 1 of 3" },
	{ CHANGE("validate:8", "\"optimizer_changed\":false", "\"optimizer_changed\":true"), "validate", "fail", "the optimizer's state changed" },
	{ TWO("vpass", "\"drop_last\":false", "\"drop_last\":true", "vpass", "\"rows\":19", "\"rows\":16"), "validate", "fail", "the last 3 of 19 examples are never validated" },
	{ CHANGE("eval:16", "\"printed\":\"loss\"", "\"printed\":\"batch_mean_loss\""), "validate", "fail", "3.1 is printed, the mean of the passes' means; the mean over the targets is 3 (update 16)" },
	{ CHANGE("eval:16", "\"loss\":3,", "\"loss\":\"NaN\","), "validate", "fail", "a loss that is not finite" },
	/* save */
	{ CHANGE("save:24", "\"digest\":\"sha256:", "\"digest\":\"sha256:0"), "save", "fail", "digest" },
	{ CHANGE("save:16", "\"optimizer_count\":16", "\"optimizer_count\":17"), "save", "fail", "the optimizer in the save after update 16 counts 17 updates, not 16" },
	/* resume */
	{ { EXTRA("gap:0", "\"kind\":\"load\",\"path\":\"ckpt.pt\",\"restored\":[\"weights\",\"optimizer\"],\"matched\":25,\"missing\":3") }, "resume", "fail", "3 tensors of the model are not in ckpt.pt, from which the optimizer's state came back" },
};

/* ---- no faults: a verdict that is not fail ---- */

static const struct one harmless[] = {
	/* load: a backbone under a new head; frozen tensors that a save leaves out */
	{ { EXTRA("gap:0", "\"kind\":\"load\",\"path\":\"bert.pt\",\"restored\":[\"weights\"],\"matched\":26,\"missing\":2") }, "load", "ok", "26 tensors came from bert.pt, 2 of the model's are not in it" },
	{ { EXTRA("gap:0", "\"kind\":\"load\",\"path\":\"lora.pt\",\"restored\":[\"weights\",\"optimizer\"],\"matched\":8,\"missing\":20"), { "model", "\"trainable_tensors\":28", "\"trainable_tensors\":8" } }, "resume", "unproven", "--no-replay" },
	{ { EXTRA("gap:0", "\"kind\":\"load\",\"path\":\"x.pt\",\"restored\":[\"optimizer\"]") }, "load", "ok", NULL },
	/* data: other targets */
	{ TWO("step", "\"target_offset\":1", "\"target_offset\":0", "check:future", NULL, NULL), "data", "unproven", "right for an autoencoder" },
	{ CHANGE("step", "\"target_offset\":1,\"target_match\":1", "\"target_offset\":2,\"target_match\":0.3"), "data", "ok", NULL },
	{ CHANGE("step", "\"target_offset\":1", "\"target_offset\":-1"), "data", "unproven", "task of memory" },
	{ CHANGE("step", "\"target_offset\":1,\"target_match\":1,\"padding_supervised\":0,", ""), "data", "ok", "no batch of 24 seen twice" },
	{ CHANGE("step:3", "\"padding_supervised\":0", "\"padding_supervised\":5"), "data", "unproven", "looks like padding" },
	/* the whole set in one batch, or without a loader */
	{ { { "step", "\"batch_digest\":\"batch", "\"batch_digest\":\"same\",\"x\":\"" }, { "pass", NULL, NULL }, { "begin", NULL, NULL } }, "data", "unproven", "every one of 24 updates sees the same batch" },
	{ TWO("step", "\"batch_digest\":\"batch", "\"batch_digest\":\"same\",\"x\":\"", "pass", "\"batches\":16,\"rows\":64,\"order_digest\":\"order", "\"batches\":1,\"rows\":64,\"order_digest\":\"o\",\"x\":\""), "data", "ok", "the whole data set, 64 examples" },
	/* a stream's own order; three examples; two loaders side by side; a pass broken off */
	{ TWO("pass", "\"sampler\":\"RandomSampler\"", "\"sampler\":\"_InfiniteConstantSampler\"", "pass", "\"order_digest\":\"order", "\"order_digest\":\"o\",\"x\":\""), "data", "unproven", "comes as a stream" },
	{ TWO("pass", "\"rows\":64,\"order_digest\":\"order", "\"rows\":3,\"order_digest\":\"o\",\"x\":\"", "pass", "\"examples\":64", "\"examples\":3"), "data", "unproven", "too few examples" },
	{ { EXTRA("gap:8", "\"kind\":\"loader\",\"event\":\"end\",\"number\":5,\"pass\":1,\"update\":8,\"split\":\"train\",\"examples\":64,\"micro_batch\":4,\"batches\":16,\"rows\":64,\"order_digest\":\"order1\""), EXTRA("gap:1", "\"kind\":\"loader\",\"event\":\"begin\",\"number\":5,\"pass\":1,\"update\":0") }, "data", "ok", "the order differs" },
	{ TWO("pass:2", "\"rows\":64,\"order_digest\":\"order2\"", "\"rows\":8,\"order_digest\":\"order1\"", "pass:2", "\"batches\":16", "\"batches\":2"), "data", "ok", NULL },
	{ CHANGE("pass:2", "\"repeated\":0", "\"repeated\":1"), "data", "unproven", "may hold the same example again" },
	{ CHANGE("pass:2", "\"repeated\":0", "\"repeated\":15"), "data", "unproven", NULL },
	/* passes of other sizes than asked, and a last one shorter */
	{ CHANGE("step:8", "\"rows\":8,\"passes\":2", "\"rows\":6,\"passes\":2"), "data", "ok", NULL },
	{ CHANGE("step:8", "\"pass_rows\":[4,4]", "\"pass_rows\":[4,2]"), "data", "ok", "passes of 4 rows as asked, a last one shorter" },
	{ CHANGE("step", "\"pass_rows\":[4,4]", "\"pass_rows\":[8,8]"), "data", "unproven", "passes of 8 rows where {micro_batch} was 4" },
	{ CHANGE("step", "\"pass_rows\":[4,4]", "\"pass_rows\":[2,2]"), "data", "unproven", "passes of 2 rows where {micro_batch} was 4" },
	{ CHANGE("run", "\"accum\":2", "\"accum\":4"), "data", "unproven", "2 passes make an update where {accum} was 4" },
	/* forward: looking ahead is right elsewhere; dropout that cannot be switched off; rows that may be time steps */
	{ TWO("step", "\"target_offset\":1,\"target_match\":1,", "", "check:future", "\"difference\":0", "\"difference\":0.8"), "forward", "ok", NULL },
	{ TWO("check:repeat", "\"difference\":0", "\"difference\":0.5", "check:future", "\"difference\":0", "\"difference\":0.8"), "forward", "unproven", "the same batch gives other outputs" },
	{ { { "check:rows", "\"difference\":0", "\"difference\":0.8" }, { "run", "{micro_batch}", "4" }, { "pass", "\"micro_batch\":4", "\"micro_batch\":16" } }, "forward", "unproven", "rows are mixed, if rows are examples" },
	{ TWO("step", "\"padding_supervised\":0,", "", "check:padding", "\"difference\":0", "\"difference\":0.8"), "forward", "ok", NULL },
	{ CHANGE("check:future", "\"difference\":0", "\"difference\":1e-5"), "forward", "ok", "outputs unchanged" },
	{ CHANGE("check:rows", "\"difference\":0,\"magnitude\":3.5", "\"reason\":\"the outputs are not one for each row\""), "forward", "unproven", "not one for each row" },
	{ CHANGE("step:1", "\"loss\":4.150", "\"loss\":40"), "forward", "ok", "40 at the first (ln of 65 classes is 4.174)" },
	{ CHANGE("step:7", "\"loss\":3.850", "\"loss\":\"NaN\",\"skipped\":true"), "forward", "ok", NULL },
	/* backward: tensors without a gradient, warm-up passes, a look ahead, windows over an epoch's end */
	{ CHANGE("backward:3", "\"gradients_missing\":0", "\"gradients_missing\":2"), "backward", "unproven", "2 of 28 trainable tensors have no gradient at update 3: wte" },
	{ CHANGE("backward:1", "\"gradients_missing\":0", "\"gradients_missing\":2"), "backward", "ok", "every one of 28" },
	{ CHANGE("backward:3", "\"gradients_frozen\":0", "\"gradients_frozen\":1"), "backward", "unproven", "1 frozen tensors have a gradient" },
	{ CHANGE("step:1", "\"left_over\":0,\"dropped_passes\":0", "\"left_over\":5,\"dropped_passes\":1"), "backward", "ok", NULL },
	{ CHANGE("step", "\"dropped_passes\":0", "\"dropped_passes\":1"), "backward", "unproven", "thrown away before 23 of 24" },
	{ CHANGE("step:9", "\"dropped_passes\":0", "\"dropped_passes\":2"), "backward", "unproven", "thrown away" },
	{ TWO("pass", "\"waiting\":0", "\"waiting\":1", "pass:1", "\"batches\":16", "\"batches\":17"), "backward", "ok", NULL },
	{ TWO("step:8", "\"passes\":2", "\"passes\":1", "pass:1", "\"batches\":16", "\"batches\":15"), "backward", "ok", NULL },
	{ CHANGE("pass:2", "\"batches\":16", "\"batches\":17"), "backward", "unproven", "1 batches of a pass over the training data were drawn and not trained on (until update 16)" },
	{ { { "pass", NULL, NULL }, { "begin", NULL, NULL }, { "step:9", "\"passes\":2", "\"passes\":3" } }, "backward", "unproven", "1 updates sum more passes than the usual 2" },
	{ CHANGE("step", "\"pass_supervised\":[64,64]", "\"pass_supervised\":[64,60]"), "backward", "ok", "differ by at most 7 %" },
	{ CHANGE("step", "\"pass_supervised\":[64,64],\"supervised\":128", "\"pass_supervised\":[12,7],\"supervised\":19,\"ignored\":109"), "backward", "ok", "differ as a random mask makes them" },
	{ TWO("step:8", "\"pass_supervised\":[64,64]", "\"pass_supervised\":[64,16]", "step:8", "\"pass_rows\":[4,4]", "\"pass_rows\":[4,1]"), "backward", "ok", "1 updates have a shorter last one" },
	{ TWO("step", "\"pass_supervised\":[64,64]", "\"pass_supervised\":[64,16]", "step", "\"reduction\":\"mean\"", "\"reduction\":\"sum\""), "backward", "ok", NULL },
	{ TWO("step", "\"pass_supervised\":[64,64]", "\"pass_supervised\":[64,16]", "step", "\"divisor\":2", "\"divisor\":5"), "backward", "ok", NULL },
	{ { { "step", "\"divisor\":2", "\"divisor\":0.002,\"pass_divisors\":[0.00125,0.005]" }, { "step", "\"pass_supervised\":[64,64]", "\"pass_supervised\":[64,16]" } }, "backward", "ok", NULL },
	{ CHANGE("step", "\"divisor\":2", "\"divisor\":2,\"pass_divisors\":[2,4]"), "update", "ok", NULL },
	{ CHANGE("step", "\"divisor\":2", "\"divisor\":1"), "backward", "ok", "their means added up" },
	{ CHANGE("step:5", "\"gradient_norm\":1.2", "\"gradient_norm\":0"), "backward", "ok", NULL },
	{ CHANGE("step:5", "\"gradient_norm\":1.2", "\"gradient_norm\":\"NaN\",\"skipped\":true"), "backward", "ok", NULL },
	/* update: zero-initialised layers, a rate of 0 in the warm-up, a loss scale that settles, schedulers */
	{ CHANGE("update:1", "\"zero_changed\":0", "\"zero_changed\":1"), "update", "ok", NULL },
	{ TWO("update:1", "\"changed\":28,\"unchanged\":0", "\"changed\":0,\"unchanged\":28", "update:1", "\"lr\":0.001", "\"lr\":0"), "update", "ok", "every tensor with a gradient changed (28 at update 3)" },
	{ CHANGE("update:3", "\"changed\":28,\"unchanged\":0", "\"changed\":26,\"unchanged\":2"), "update", "unproven", "2 tensors with a gradient did not change at update 3" },
	{ CHANGE("optimizer", "\"uncovered\":0", "\"uncovered\":14,\"uncovered_names\":[\"backbone.w\"]"), "update", "unproven", "in no optimizer, and have no gradient: backbone.w" },
	{ CHANGE("optimizer", "\"strangers\":0", "\"strangers\":1"), "update", "ok", "1 tensors that no model has" },
	{ CHANGE("step", "\"touched\":28", "\"touched\":0"), "update", "ok", NULL },
	{ CHANGE("update:3", "\"changed_share\":0.9", "\"changed_share\":0.1"), "update", "ok", NULL },
	{ TWO("step", "\"scheduler_calls\":1", "\"scheduler_calls\":2", "trainer", "\"replicas\":1", "\"replicas\":2"), "update", "unproven", "replicas" },
	{ CHANGE("step:8", "\"scheduler_calls\":1", "\"scheduler_calls\":2"), "update", "ok", NULL },
	{ TWO("step:1", "\"update\":1,", "\"update\":0,\"skipped\":true,", "step:2", "\"update\":2,", "\"update\":1,"), "update", "unproven", "update 3 comes after update 1" },
	{ CHANGE("step:1", "\"dropped_passes\":0", "\"dropped_passes\":44"), "update", "unproven", "44 backward passes made no update before the first one" },
	{ CHANGE("step:5", "\"lr\":0.001", "\"lr\":0.0005"), "update", "ok", "the rate is between 0.0005 and 0.001" },
	{ CHANGE("step:9", NULL, NULL), "update", "unproven", "update 10 comes after update 8: not every one was reported" },
	{ CHANGE("backward:3", "\"trainable_tensors\":28", "\"trainable_tensors\":20"), "update", "ok", NULL },
	{ CHANGE("update:3", "\"optimizer_count\":3", "\"optimizer_count\":4"), "update", "unproven", "the optimizer counts 3 updates where 2 were made" },
	/* validate */
	{ TWO("validate", "\"evaluation_mode\":true", "\"evaluation_mode\":false", "model", "\"dropout_layers\":4,\"norm_layers\":1", "\"dropout_layers\":0,\"norm_layers\":0"), "validate", "ok", "no layer does otherwise" },
	{ TWO("validate", "\"training_mode_after\":true", "\"training_mode_after\":false", "step", "\"training\":true", "\"training\":false"), "validate", "ok", "training mode after it as before" },
	{ CHANGE("validate", "\"random_changed\":false", "\"random_changed\":true"), "validate", "ok", "it drew random numbers" },
	{ TWO("validate", "\"buffers_changed\":false", "\"buffers_changed\":true", "model", "\"norm_layers\":1", "\"norm_layers\":0"), "validate", "ok", NULL },
	{ CHANGE("vpass", "\"rows\":19", "\"rows\":8"), "validate", "ok", NULL },
	{ TWO("vpass", "\"drop_last\":false", "\"drop_last\":true", "vpass", "\"rows\":19", "\"rows\":8"), "validate", "ok", NULL },
	{ TWO("eval", "\"printed\":\"loss\"", "\"printed\":\"batch_mean_loss\"", "eval", "\"batch_mean_loss\":3.1", "\"batch_mean_loss\":3.0000001"), "validate", "ok", NULL },
	{ CHANGE("validate:24", "\"training_mode_after\":true,", ""), "validate", "ok", NULL },
	/* save */
	{ CHANGE("save:8", "\"digest\":\"sha256:", "\"digest\":\"sha256:0"), "save", "ok", "on disk with digest: update 24" },
	{ CHANGE("save:8", "\"in_place\":false", "\"in_place\":true"), "save", "unproven", "a kill during it loses the file before" },
};

/* ---- what is not told ---- */

static const struct one silent[] = {
	{ CHANGE("model", NULL, NULL), "load", "unproven", "not reported: the model" },
	{ CHANGE("step:5", "\"rows\":8,", ""), "data", "unproven", "not reported: rows" },
	{ CHANGE("step", "\"batch_digest\"", "\"x\""), "data", "unproven", "not reported: batch_digest" },
	{ CHANGE("data", NULL, NULL), "data", "unproven", "the command told nothing of this phase" },
	{ CHANGE("step:5", "\"loss\":3.950,", ""), "forward", "unproven", "not reported: loss" },
	{ CHANGE("forward", NULL, NULL), "forward", "unproven", "the command told nothing of this phase" },
	{ CHANGE("step", "\"gradient_norm\":1.2,", ""), "backward", "unproven", "not reported: gradient_norm" },
	{ CHANGE("backward", "\"gradients_missing\":0,", ""), "backward", "unproven", "not reported: gradients_missing" },
	{ CHANGE("step", "\"left_over\":0,", ""), "backward", "unproven", "not reported: left_over" },
	{ CHANGE("step:5", "\"pass_supervised\":[64,64],", ""), "backward", "unproven", "not reported: pass_supervised" },
	{ CHANGE("update", "\"changed\":28,", ""), "update", "unproven", "not reported: changed" },
	{ CHANGE("update", "\"lr\":0.001", "\"lr\":0"), "update", "unproven", "nothing was to change" },
	{ CHANGE("optimizer", NULL, NULL), "update", "unproven", "not reported: what the optimizer holds" },
	{ CHANGE("step", "\"lr\":0.001,", ""), "update", "unproven", "not reported: lr" },
	{ TWO("model", "float32", "bfloat16", "update", "\"changed_share\":0.9,", ""), "update", "unproven", "not reported: changed_share" },
	{ TWO("validate", NULL, NULL, "eval", NULL, NULL), "validate", "unproven", "no validation was seen" },
	{ CHANGE("validate", "\"evaluation_mode\":true,", ""), "validate", "unproven", "not reported: evaluation_mode" },
	{ CHANGE("validate", "\"training_mode_after\":true,", ""), "validate", "unproven", "not reported: training_mode_after" },
	{ CHANGE("validate", "\"buffers_changed\":false,", ""), "validate", "unproven", "not reported: buffers_changed" },
	{ CHANGE("validate", "\"weights_changed\":false,", ""), "validate", "unproven", "not reported: weights_changed" },
	{ TWO("save", NULL, NULL, "psave", NULL, NULL), "save", "unproven", "nothing was saved in this run" },
	/* blind: the phase is unproven, the fault in it is said and is none; a loss that is NaN is one all the same */
	{ { EXTRA("gap:3", "\"kind\":\"blind\",\"phase\":\"backward\",\"reason\":\"several optimizers step\""), { "step", "\"left_over\":0", "\"left_over\":28" } }, "backward", "unproven", "several optimizers step" },
	{ { EXTRA("gap:3", "\"kind\":\"blind\",\"phase\":\"all\",\"reason\":\"several optimizers step\""), { "step:9", "\"update\":9", "\"update\":8" } }, "update", "unproven", "several optimizers step" },
	{ { EXTRA("gap:3", "\"kind\":\"blind\",\"phase\":\"backward\",\"reason\":\"several optimizers step\"") }, "update", "ok", NULL },
	{ { EXTRA("gap:3", "\"kind\":\"blind\",\"phase\":\"all\",\"reason\":\"several optimizers step\""), { "step:7", "\"loss\":3.850", "\"loss\":\"NaN\"" } }, "forward", "fail", "a loss that is not finite" },
	{ { EXTRA("gap:3", "\"kind\":\"trainer\",\"name\":\"torch\",\"fault\":\"finish, line 3: KeyError\"") }, "update", "unproven", "the adapter failed: finish, line 3: KeyError" },
};

static void verdict_is(const char *text, const struct one *c, const char *what)
{
	char line[2 * WIDE], want[64];

	verdict_of(text, c->phase, line, sizeof line);
	snprintf(want, sizeof want, "\"verdict\":\"%s\"", c->verdict);
	if (!ok(strstr(line, want) && (!c->words || strstr(line, c->words)), "%s", what))
		diag("wanted %s %s; got %s", c->verdict, c->words ? c->words : "", *line ? line : text ? "no verdict" : "an edit that fits no line");
}

static void what_of(const struct one *c, char *out, size_t n)
{
	const struct edit *e = &c->edit[0];

	snprintf(out, n, "%s %s: %s, %.60s -> %.80s", c->phase, c->verdict, e->tag, e->from ? e->from : "the line", e->to ? e->to : "nothing");
}

/* fails: this verdict and no other. */
static void test_each(const struct one *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct one *c = &list[i];
		bool fails = !strcmp(c->verdict, "fail");
		int status = 0, failed = 0;
		char *text = judged_run(c->edit, EDITS, &plain, &status), what[300];

		what_of(c, what, sizeof what);
		verdict_is(text, c, what);
		for (const char *p = text; p && (p = strstr(p, "\"verdict\":\"fail\"")); p++)
			failed++;
		if (!ok(failed == fails && status == (fails ? -EX_NO : 0), "... and %s", fails ? "nothing else fails" : "nothing fails"))
			diag("%s", text ? text : "");
		free(text);
	}
}

static void test_healthy(void)
{
	static const struct one phases[] = {
		{ { { 0 } }, "load", "ok", "GPT: 28 tensors, 50000 numbers in float32 on cpu" },
		{ { { 0 } }, "data", "ok", "passes of 4 rows as asked; each target is the next input; the loss does not look at padding; no batch of 24 seen twice; the order differs between 3 passes" },
		{ { { 0 } }, "forward", "ok", "loss finite in 24 updates, 4.15 at the first (ln of 65 classes is 4.174), 3 at the last; outputs unchanged with other tokens behind them" },
		{ { { 0 } }, "backward", "ok", "every one of 28 trainable tensors has a gradient; norm finite in 24 updates, 1.2 at the last; none left over from the update before; 2 passes an update; passes of equal targets weighted alike" },
		{ { { 0 } }, "update", "ok", "every tensor with a gradient changed (28 at update 3); it changed no frozen one; AdamW holds every trainable tensor; the rate is 0.001; updates 1-24 counted, by the optimizer too" },
		{ { { 0 } }, "validate", "ok", "3 validations, 19 examples in 5 batches at the last, loss 3; evaluation mode; training mode back; weights and optimizer untouched; every example of its data; the loss that is printed is the mean over the targets" },
		{ { { 0 } }, "save", "ok", "3 saves, the last holds weights, optimizer, count; the optimizer in it counts as many updates" },
		{ { { 0 } }, "resume", "unproven", "--no-replay" },
		{ { { 0 } }, "export", "n/a", NULL },
	};
	int status = 0;
	char *text = judged_run(NULL, 0, &plain, &status);

	for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
		verdict_is(text, &phases[i], phases[i].phase);
	is_int(status, 0, "a healthy run: no verdict fails");
	free(text);
}

/* ---- the protocol's minimal program ---- */

static void test_protocol(void)
{
	struct told s = { .fd = memfd_create("stream", MFD_CLOEXEC) };
	int status = 0;
	char *text;

	tell(&s, "run", "run", "\"role\":\"train\",\"trainer\":\"command\",\"command\":[\"./train.sh\"],\"micro_batch\":4,\"accum\":1");
	for (int i = 1; i <= 5; i++)
		tell(&s, "step", "step", "\"update\":%d,\"rows\":8,\"loss\":%d.5,\"lr\":0.001", i, 9 - i);
	tell(&s, "end", "end", "\"status\":\"done\",\"updates\":5,\"examples\":40,\"seconds\":2");
	text = judge_fd(s.fd, &plain, &status);
	ok(text && !strstr(text, "\"verdict\":\"ok\""), "a program that tells its steps alone: nothing is ok");
	ok(text && !strstr(text, "\"verdict\":\"fail\""), "and nothing fails");
	is_int(status, 0, "the gate is open");
	free(text);
	close(s.fd);
}

/* ---- replicas: what one of them tells may come before or after the step ---- */

static char *replicas(const char *wrapper, int norms, bool same_batch, bool same_weights, bool before, int *status)
{
	struct told s = { .fd = memfd_create("stream", MFD_CLOEXEC) };
	char *text;

	tell(&s, "run", "run", "\"role\":\"train\",\"trainer\":\"command\",\"command\":[\"torchrun\"]");
	tell(&s, "trainer", "trainer", "\"name\":\"torch\",\"replicas\":2");
	tell(&s, "model", "model", "\"name\":\"Net\",\"tensors\":4,\"trainable_tensors\":4,\"dropout_layers\":0,\"norm_layers\":%d,\"wrapper\":\"%s\"", norms, wrapper);
	tell_phases(&s, 1, "first");
	tell(&s, "optimizer", "optimizer", "\"name\":\"SGD\",\"uncovered\":0");
	for (int i = 1; i <= 6; i++)
		for (int k = 0; k < 2; k++)
			if (before == (k == 0))
				tell(&s, "replica", "replica", "\"rank\":1,\"update\":%d,\"replicas\":2,\"batch_digest\":\"%s%d\",\"weights_digest\":\"%s%d\"", i, same_batch ? "b" : "c", i, same_weights ? "w" : "v", i);
			else
				tell(&s, "step", "step", "\"update\":%d,\"rows\":8,\"loss\":1.5,\"lr\":0.001,\"replicas\":2,\"passes\":1,\"batch_digest\":\"b%d\",\"weights_digest\":\"w%d\"", i, i, i);
	tell(&s, "end", "end", "\"status\":\"done\",\"updates\":6,\"seconds\":2");
	text = judge_fd(s.fd, &plain, status);
	close(s.fd);
	return text;
}

static void test_replicas(void)
{
	static const struct {
		const char *wrapper;
		int norms;
		bool batch, weights;
		const char *failed, *words;
	} cases[] = {
		{ "DistributedDataParallel", 0, false, true, NULL, "2 replicas have the same weights" },
		{ "DistributedDataParallel", 0, true, true, "data", "the data is not shared out: replicas see the same batch in 6 of 6" },
		{ "", 0, false, false, "update", "replica 1 has other weights than replica 0 after update 1" },
		{ "FullyShardedDataParallel", 0, false, false, NULL, "parts of one model" },
		{ "DistributedDataParallel", 2, false, false, NULL, "statistics of normalisation" },
		{ "", 0, true, false, NULL, "as parts of one model do" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int before = 0; before < 2; before++) {
			int status = 0;
			char *text = replicas(cases[i].wrapper, cases[i].norms, cases[i].batch, cases[i].weights, before, &status), line[2 * WIDE];

			if (!ok(text && strstr(text, cases[i].words), "replicas: %s", cases[i].words))
				diag("%s", text ? text : "");
			is_int(status, cases[i].failed ? -EX_NO : 0, cases[i].failed ? "... fails" : "... does not fail");
			verdict_of(text, cases[i].failed ? cases[i].failed : "data", line, sizeof line);
			ok(!!strstr(line, "\"fail\"") == !!cases[i].failed, "... in its phase");
			free(text);
		}
}

/* ---- skipped updates ---- */

static void test_skips(void)
{
	for (int late = 0; late < 2; late++) {
		struct told s = { .fd = memfd_create("stream", MFD_CLOEXEC) };
		int status = 0, update = 0;
		char *text, line[2 * WIDE];

		tell(&s, "run", "run", "\"role\":\"train\",\"trainer\":\"command\",\"command\":[\"python\"]");
		for (int i = 0; i < 40; i++) {
			bool skipped = late ? i % 4 : i < 8;

			update += !skipped;
			tell(&s, "step", "step", "\"update\":%d,\"rows\":8,\"loss\":%s,\"lr\":0.001%s", update, skipped ? "\"NaN\"" : "1.5", skipped ? ",\"skipped\":true" : "");
		}
		tell(&s, "end", "end", "\"status\":\"done\",\"updates\":%d,\"seconds\":2", update);
		text = judge_fd(s.fd, &plain, &status);
		verdict_of(text, "update", line, sizeof line);
		ok(strstr(line, late ? "were skipped, " : "8 of 40 attempts skipped"), "skips %s", late ? "that go on" : "while the loss scale settles");
		if (!is_int(status, late ? -EX_NO : 0, late ? "... fail" : "... do not fail"))
			diag("%s", text);
		free(text);
		close(s.fd);
	}
}

int main(void)
{
	if (!ok(make_old_file() == 0, "a file to judge"))
		return done_testing();
	test_healthy();
	test_each(faults, sizeof faults / sizeof *faults);
	test_each(harmless, sizeof harmless / sizeof *harmless);
	test_each(silent, sizeof silent / sizeof *silent);
	test_protocol();
	test_replicas();
	test_skips();
	unlink(path);
	return done_testing();
}
