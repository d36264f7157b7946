/* rules.c - every rule of the gate both ways: a healthy stream written by hand gives ok, and the same
 * stream with one fact changed gives fail, or unproven where the fact is taken away. */
#include "gate_kit.h"

struct one {
	struct change change[3];
	const char *phase, *verdict, *words;
};

static char *judged(const struct change *change, int changes, const struct judge_settings *s, int *status)
{
	int fd = memfd_create("stream", MFD_CLOEXEC);
	char *text = stream(fd, change, changes) < 0 ? NULL : judge_fd(fd, s, status);

	close(fd);
	return text;
}

static const struct judge_settings plain = { .replay = false, .updates = 16, .deadline = 60 };

/* ---- one change each ---- */

static const struct one cases[] = {
	/* load */
	{ { { 2, "\"seconds\":0.01", "\"seconds\":-1" } }, "load", "fail", "no time" },
	{ { { 2, "\"phase\":\"load\"", "\"phase\":\"elsewhere\"" } }, "load", "unproven", "no record of this phase" },
	{ { { 2, "\"allocated_bytes\":1000,\"allocated_peak_bytes\":1000", "\"allocated_bytes\":1064,\"allocated_peak_bytes\":1064" } }, "load", "fail", "planned" },
	{ { { 0, "\"seed\":1", "\"weights\":\"w.safetensors\"" }, { 2, "\"tensors\":2", "\"tensors\":2,\"restored_tensors\":2" } }, "load", "ok", "all 2 tensors came from the file" },
	{ { { 0, "\"seed\":1", "\"weights\":\"w.safetensors\"" }, { 2, "\"tensors\":2", "\"tensors\":2,\"restored_tensors\":1" } }, "load", "fail", "not every tensor came from the file" },
	{ { { 0, "\"seed\":1", "\"weights\":\"w.safetensors\"" } }, "load", "unproven", "restored_tensors" },
	/* memory counters, of any phase */
	{ { { 2, "\"reserved_bytes\":4096", "\"reserved_bytes\":999" } }, "load", "fail", "more allocated than reserved" },
	{ { { 4, "\"reserved_peak_bytes\":8192", "\"reserved_peak_bytes\":1099" } }, "data", "fail", "above that of reserved" },
	{ { { 5, "\"allocated_peak_bytes\":1600", "\"allocated_peak_bytes\":1500" } }, "forward", "fail", "more allocated than its peak" },
	{ { { 16, "\"baseline_bytes\":4600", "\"baseline_bytes\":4601" } }, "save", "fail", "began with more than its peak" },
	{ { { 6, "\"reserved_peak_bytes\":12288", "\"x\":1" } }, "backward", "unproven", "reserved_peak_bytes" },
	{ { { 11, "\"allocated_peak_bytes\":4900", "\"allocated_peak_bytes\":4964" } }, "validate", "fail", "364" },
	/* data */
	{ { { 4, "\"ids_max\":12", "\"ids_max\":13" } }, "data", "fail", "an id beyond the vocabulary" },
	{ { { 4, "\"ids_min\":0", "\"ids_min\":-1" } }, "data", "fail", "an id below 0" },
	{ { { 4, "\"ids_max\":12,", "" } }, "data", "unproven", "ids_max" },
	{ { { 4, "\"targets_max\":11", "\"targets_max\":13" } }, "data", "fail", "a target beyond the classes" },
	{ { { 4, "\"targets_min\":1", "\"targets_min\":-2" } }, "data", "fail", "a target below 0" },
	{ { { 4, "\"supervised\":20", "\"supervised\":19" } }, "data", "fail", "other targets than the examples declare" },
	{ { { 4, "\"declared_supervised\":20,", "" } }, "data", "unproven", "declared_supervised" },
	{ { { 4, "\"supervised\":20,\"declared_supervised\":20", "\"supervised\":0,\"declared_supervised\":0" } }, "data", "fail", "no target" },
	{ { { 4, "\"shift_wrong\":0", "\"shift_wrong\":12" } }, "data", "fail", "not the next id" },
	{ { { 4, "\"shift_compared\":12", "\"shift_compared\":0" } }, "data", "fail", "no target was compared" },
	{ { { 4, "\"shift_compared\":12,\"shift_wrong\":0,", "" } }, "data", "unproven", "shift_compared" },
	{ { { 4, "\"class_names\":13", "\"class_names\":12" } }, "data", "fail", "out of step" },
	{ { { 4, "\"class_names\":13,", "" } }, "data", "ok", "splits disjoint" },
	{ { { 4, "\"shared_examples\":0", "\"shared_examples\":1" } }, "data", "fail", "more than one split" },
	{ { { 4, "\"shared_examples\":0,", "" } }, "data", "unproven", "shared_examples" },
	{ { { 4, "\"shared_groups\":0", "\"shared_groups\":3" } }, "data", "fail", "groups in more than one split" },
	{ { { 4, "\"ids_min\":0,\"ids_max\":12,", "\"nonfinite_inputs\":0," }, { 4, "\"shift_compared\":12,\"shift_wrong\":0,", "" } }, "data", "ok", "features finite" },
	{ { { 4, "\"ids_min\":0,\"ids_max\":12,", "\"nonfinite_inputs\":2," }, { 4, "\"shift_compared\":12,\"shift_wrong\":0,", "" } }, "data", "fail", "not finite" },
	{ { { 4, "\"ids_min\":0,\"ids_max\":12,", "" }, { 4, "\"shift_compared\":12,\"shift_wrong\":0,", "" } }, "data", "unproven", "nonfinite_inputs" },
	{ { { 8, "\"rows\":8", "\"rows\":7" } }, "data", "fail", "update 2 saw 7 examples; its window has 8" },
	{ { { 9, "\"supervised\":6", "\"supervised\":0" } }, "data", "fail", "without any target" },
	{ { { 12, "\"dd\"", "\"aa\"" }, { 13, "\"ee\"", "\"bb\"" }, { 14, "\"ff\"", "\"cc\"" } }, "data", "fail", "repeat their order" },
	{ { { 12, "\"dd\"", "\"bb\"" } }, "data", "ok", NULL },
	/* the last window dropped: two updates an epoch, with and without a word */
	{ { { 0, "\"keep\"", "\"drop\"" }, { 0, "\"train_examples\":18", "\"train_examples\":10" }, { 17, "\"dropped_examples\":0", "\"dropped_examples\":0" } }, "data", "fail", "saw 2 examples" },
	/* forward */
	{ { { 5, "\"output_shape\":[4,7,13]", "\"output_shape\":[4,7,14]" } }, "forward", "fail", "not those of 13 classes" },
	{ { { 5, "\"output_shape\":[4,7,13]", "\"output_shape\":[5,7,13]" } }, "forward", "fail", "a micro-batch of 4" },
	{ { { 5, "\"output_shape\":[4,7,13],", "" } }, "forward", "unproven", "output_shape" },
	{ { { 5, "\"loss\":2.6", "\"loss\":\"NaN\"" } }, "forward", "fail", "not finite" },
	{ { { 5, "\"loss_nonfinite\":0", "\"loss_nonfinite\":1" } }, "forward", "fail", "passes whose loss is not finite" },
	{ { { 8, "\"loss\":2.5", "\"loss\":\"Infinity\"" } }, "forward", "fail", "at update 2" },
	{ { { 8, "\"loss\":2.5,", "" } }, "forward", "unproven", "loss" },
	{ { { 3, "\"loss\":2.6", "\"loss\":2.61" } }, "forward", "fail", "the step record shows loss 2.61; the forward pass had 2.6" },
	{ { { 3, "\"loss\":2.6", "\"loss\":3.2" }, { 5, "\"loss\":2.6", "\"loss\":3.2" } }, "forward", "fail", "a fresh model's loss is 3.2" },
	{ { { 3, "\"loss\":2.6", "\"loss\":1.9" }, { 5, "\"loss\":2.6", "\"loss\":1.9" } }, "forward", "fail", "a fresh model's loss is 1.9" },
	{ { { 3, "\"loss\":2.6", "\"loss\":3.2" }, { 5, "\"loss\":2.6", "\"loss\":3.2" }, { 5, "\"fresh\":true", "\"fresh\":false" } }, "forward", "ok", "finite" },
	{ { { 5, "\"expected_loss\":2.5649493574615367", "\"expected_loss\":2.7" } }, "forward", "fail", "ln(13 classes)" },
	{ { { 5, "\"logits_variance\":0.04,", "" } }, "forward", "unproven", "logits_variance" },
	{ { { 5, "\"fresh\":true,", "" } }, "forward", "unproven", "fresh" },
	/* backward */
	{ { { 6, "\"gradients_missing\":0", "\"gradients_missing\":1" } }, "backward", "fail", "wte" },
	{ { { 6, "\"gradients_missing\":0,", "" } }, "backward", "unproven", "gradients_missing" },
	{ { { 6, "\"gradients_nonfinite\":0", "\"gradients_nonfinite\":1" } }, "backward", "fail", "not finite" },
	{ { { 6, "\"gradients_frozen\":0", "\"gradients_frozen\":1" } }, "backward", "fail", "frozen tensors with a gradient" },
	{ { { 6, "\"gradient_norm\":1.5", "\"gradient_norm\":0" } }, "backward", "fail", "no gradient at all" },
	{ { { 12, "\"gradient_norm\":1.2", "\"gradient_norm\":\"NaN\"" } }, "backward", "fail", "at update 4" },
	{ { { 12, "\"gradient_norm\":1.2,", "" } }, "backward", "unproven", "gradient_norm" },
	/* update */
	{ { { 7, "\"changed\":2", "\"changed\":1" } }, "update", "fail", "not every trainable tensor changed" },
	{ { { 7, "\"unchanged\":0", "\"unchanged\":1" } }, "update", "fail", "did not change" },
	{ { { 7, "\"changed\":2,\"unchanged\":0", "\"changed\":0,\"unchanged\":2" }, { 7, "\"lr\":0.001", "\"lr\":0" }, { 7, "\"schedule_lr\":0.001", "\"schedule_lr\":0" } }, "update", "ok", NULL },
	{ { { 7, "\"changed\":2,", "" } }, "update", "unproven", "changed" },
	{ { { 7, "\"frozen_changed\":0", "\"frozen_changed\":1" } }, "update", "fail", "frozen tensors changed" },
	{ { { 7, "\"tied_apart\":0", "\"tied_apart\":1" } }, "update", "fail", "apart" },
	{ { { 7, "\"attempted\":1", "\"attempted\":2" } }, "update", "fail", "2 updates attempted, 1 applied, 0 skipped" },
	{ { { 7, "\"attempted\":1", "\"attempted\":2" }, { 7, "\"skipped\":0", "\"skipped\":1" } }, "update", "fail", "nothing is skipped in fp32" },
	{ { { 7, "\"attempted\":1", "\"attempted\":2" }, { 7, "\"skipped\":0", "\"skipped\":1" }, { 0, "\"fp32\"", "\"fp16\"" } }, "update", "ok", "1 skipped of 2" },
	{ { { 7, "\"optimizer_count\":1", "\"optimizer_count\":2" } }, "update", "fail", "counts otherwise" },
	{ { { 7, "\"schedule_lr\":0.001", "\"schedule_lr\":0.0005" } }, "update", "fail", "not the schedule's" },
	{ { { 13, "\"lr\":0.001", "\"lr\":0.0011" } }, "update", "fail", "update 5 used the rate 0.0011" },
	{ { { 12, "\"update\":4", "\"update\":5" } }, "update", "fail", "update 5 comes after update 3" },
	{ { { 12, "\"update\":4", "\"update\":3" } }, "update", "fail", "update 3 comes after update 3" },
	{ { { 3, "\"update\":1", "\"update\":2" } }, "update", "fail", "the first is 1" },
	{ { { 12, "\"examples\":26", "\"examples\":27" } }, "update", "fail", "are counted as 27" },
	{ { { 8, "\"passes\":2", "\"passes\":1" } }, "update", "fail", "are 2 passes; 1 were made" },
	{ { { 3, "\"forward_seconds\":0.03", "\"forward_seconds\":30" } }, "update", "fail", "its parts" },
	{ { { 17, "\"updates\":6", "\"updates\":7" } }, "update", "fail", "counts 7 updates" },
	{ { { 17, "\"updates\":6,", "" } }, "update", "unproven", NULL },
	{ { { 17, "\"examples\":36", "\"examples\":35" } }, "update", "fail", "counts 35 examples" },
	{ { { 17, "\"training_seconds\":0.6", "\"training_seconds\":600" } }, "update", "fail", "the steps add up to 0.6" },
	{ { { 17, "\"examples_per_second\":60", "\"examples_per_second\":0.06" } }, "update", "fail", "examples a second" },
	{ { { 17, "\"seconds\":2", "\"seconds\":2000" } }, "update", "fail", "between its first and last record" },
	{ { { 17, "\"allocated_peak_bytes\":4900", "\"allocated_peak_bytes\":5000" } }, "update", "fail", "were planned" },
	/* validate */
	{ { { 11, "\"examples\":6", "\"examples\":4" } }, "validate", "fail", "not every example once" },
	{ { { 11, "\"distinct_examples\":6", "\"distinct_examples\":5" } }, "validate", "fail", "not every example once" },
	{ { { 11, "\"examples\":6,\"expected_examples\":6,\"distinct_examples\":6", "\"examples\":4,\"expected_examples\":4,\"distinct_examples\":4" } }, "validate", "fail", "the split has 6" },
	{ { { 11, "\"distinct_examples\":6,", "" } }, "validate", "unproven", "distinct_examples" },
	{ { { 11, "\"evaluation_mode\":true", "\"evaluation_mode\":false" } }, "validate", "fail", "evaluation mode was not on" },
	{ { { 11, "\"evaluation_mode\":true,", "" } }, "validate", "unproven", "evaluation_mode" },
	{ { { 11, "\"training_mode_after\":true", "\"training_mode_after\":false" } }, "validate", "fail", "training mode was not back" },
	{ { { 11, "\"weights_changed\":false", "\"weights_changed\":true" } }, "validate", "fail", "changed the weights" },
	{ { { 11, "\"optimizer_changed\":false", "\"optimizer_changed\":true" } }, "validate", "fail", "optimizer" },
	{ { { 11, "\"random_changed\":false", "\"random_changed\":true" } }, "validate", "fail", "random numbers" },
	{ { { 11, "\"loss\":2.45", "\"loss\":2.46" } }, "validate", "fail", "the eval record shows loss 2.45, the phase record 2.46" },
	{ { { 10, "\"loss\":2.45", "\"loss\":\"NaN\"" } }, "validate", "fail", NULL },
	{ { { 10, "{", NULL }, { 11, "{", NULL } }, "validate", "unproven", "no validation in this run" },
	{ { { 11, "{", NULL } }, "validate", "unproven", "no validation" },
	/* save */
	{ { { 16, "\"complete\":true", "\"complete\":false" } }, "save", "fail", "not written under another name" },
	{ { { 16, "\"complete\":true,", "" } }, "save", "unproven", "complete" },
	{ { { 16, "\"weights_changed\":false", "\"weights_changed\":true" } }, "save", "fail", "changed the weights" },
	{ { { 16, "@DIGEST@", "sha256:00" } }, "save", "fail", "different digests" },
	{ { { 15, "@DIGEST@", "sha256:00" }, { 16, "@DIGEST@", "sha256:00" } }, "save", "fail", "its digest is" },
	{ { { 15, "@PATH@", "/nowhere/at/all" } }, "save", "unproven", "gone" },
	{ { { 15, "@PATH@", "/dev/null" } }, "save", "fail", "not a regular file" },
	{ { { 16, "\"tensors\":2", "\"tensors\":3" } }, "save", "fail", "2 tensors of the model's 3" },
	{ { { 15, "\"update\":6", "\"update\":5" }, { 16, "\"update\":6", "\"update\":5" } }, "save", "fail", "in a file of update 5" },
	{ { { 15, "{", NULL }, { 16, "{", NULL } }, "save", "unproven", "nothing was saved" },
	{ { { 15, "{", NULL }, { 16, "{", NULL } }, "resume", "unproven", NULL },
	/* resume, of a run that goes on */
	{ { { 0, "\"seed\":1", "\"resumed_update\":0,\"resumed_run\":\"01JEXAMPLE0000000000000001\"" }, { 2, "\"phase\":\"load\"", "\"phase\":\"resume\",\"restored_update\":1,\"restored_tensors\":2" } }, "resume", "fail", "1 updates came back" },
	{ { { 0, "\"seed\":1", "\"resumed_update\":0,\"resumed_run\":\"01JEXAMPLE0000000000000001\"" }, { 2, "\"phase\":\"load\"", "\"phase\":\"resume\",\"restored_update\":0,\"restored_tensors\":1" } }, "resume", "fail", "1 tensors came back" },
	{ { { 0, "\"seed\":1", "\"resumed_update\":0,\"resumed_run\":\"01JEXAMPLE0000000000000001\"" }, { 2, "\"phase\":\"load\"", "\"phase\":\"resume\",\"restored_update\":0,\"restored_tensors\":2" } }, "resume", "unproven", "--no-replay" },
	{ { { 0, "\"seed\":1", "\"resumed_update\":3,\"resumed_run\":\"01JEXAMPLE0000000000000001\"" } }, "update", "fail", "update 1 comes after update 3 of the checkpoint" },
	/* how it ended */
	{ { { 17, "\"done\"", "\"diverged\",\"why\":\"the loss of update 7 is not finite\"" } }, "forward", "fail", "the run ended with status diverged: the loss of update 7" },
	{ { { 17, "\"done\"", "\"oom\",\"oom_phase\":\"validate\"" } }, "validate", "fail", "status oom" },
	{ { { 17, "\"done\"", "\"error\",\"why\":\"save: /x: No space left on device\"" } }, "save", "fail", "No space left" },
	{ { { 17, "\"done\"", "\"killed\"" }, { 7, "{", NULL } }, "update", "fail", "status killed" },
	{ { { 17, "\"done\"", "\"stopped\",\"why\":\"signal 15\"" } }, "update", "ok", NULL },
};

/* The last window dropped: 20 examples, two updates an epoch, four left over each time. */
static const struct change dropping[] = {
	{ 0, "\"keep\"", "\"drop\"" }, { 0, "\"train_examples\":18", "\"train_examples\":20" },
	{ 9, "\"examples\":18", "\"examples\":24" }, { 9, "\"rows\":2", "\"rows\":8" }, { 9, "\"passes\":1", "\"passes\":2" },
	{ 12, "\"examples\":26", "\"examples\":32" }, { 13, "\"examples\":34", "\"examples\":40" },
	{ 14, "\"examples\":36", "\"examples\":48" }, { 14, "\"rows\":2", "\"rows\":8" }, { 14, "\"passes\":1", "\"passes\":2" },
	{ 17, "\"examples\":36", "\"examples\":48" }, { 17, "\"examples_per_second\":60", "\"examples_per_second\":80" },
	{ 17, "\"dropped_examples\":0", "\"dropped_examples\":12" },
};

static void verdict_is(const char *text, const char *phase, const char *verdict, const char *words, const char *what)
{
	char line[WIDE], want[64];

	verdict_of(text, phase, line, sizeof line);
	snprintf(want, sizeof want, "\"verdict\":\"%s\"", verdict);
	if (!ok(strstr(line, want) && (!words || strstr(line, words)), "%s: %s%s%s", what, verdict, words ? ": " : "", words ? words : ""))
		diag("%s", *line ? line : "no verdict");
}

static void test_healthy(void)
{
	static const char *const phases[] = { "load", "data", "forward", "backward", "update", "validate", "save" };
	int status = 0;
	char *text = judged(NULL, 0, &plain, &status);

	for (int i = 0; i < 7; i++)
		verdict_is(text, phases[i], "ok", "\"evidence\":", phases[i]);
	verdict_is(text, "resume", "unproven", "--no-replay", "resume without a replay");
	verdict_is(text, "export", "n/a", NULL, "export");
	is_int(status, 0, "a healthy run: no verdict fails");
	verdict_is(text, "update", "ok", "updates 1-6 counted, 36 examples", "evidence has the counts");
	verdict_is(text, "data", "ok", "\"micro_batch\":4", "a verdict has its phase's inputs");
	verdict_is(text, "validate", "ok", "\"allocated_peak_bytes\":4900", "and its peaks");
	free(text);
}

static void test_cases(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct one *c = &cases[i];
		char what[300];
		int status = 0;
		char *text = judged(c->change, 3, &plain, &status);

		snprintf(what, sizeof what, "%s, line %d: %s -> %s", c->phase, c->change[0].line, c->change[0].from, c->change[0].to ? c->change[0].to : "nothing");
		verdict_is(text, c->phase, c->verdict, c->words, what);
		if (!strcmp(c->verdict, "fail"))
			ok(status == -EX_NO, "... and the gate shuts");
		free(text);
	}
}

static void test_dropped(void)
{
	int n = sizeof dropping / sizeof *dropping, status = 0;
	char *text = judged(dropping, n, &plain, &status);

	verdict_is(text, "data", "ok", "an epoch's last dropped", "a dropped window with a word");
	free(text);
	text = judged(dropping, n - 1, &plain, &status);
	verdict_is(text, "data", "fail", "dropped without a word", "a dropped window without one");
	free(text);
}

/* Nothing but a run that ends: nothing is ok. */
static void test_nothing(void)
{
	struct change all[LINES];
	int n = 0, status = 0;
	char *text;

	for (int i = 1; i < 17; i++)
		all[n++] = (struct change){ i, "{", NULL };
	all[n++] = (struct change){ 17, "\"updates\":6", "\"updates\":0" };
	text = judged(all, n, &plain, &status);
	ok(text && !strstr(text, "\"verdict\":\"ok\""), "a run without facts: nothing is ok");
	is_int(status, 0, "and nothing fails");
	free(text);
	struct judge_settings s = plain;
	s.required = 1u << gate_phase_find("data", 4);
	text = judged(all, n, &s, &status);
	verdict_is(text, "data", "fail", "required, and unproven", "unproven fails where it is required");
	verdict_is(text, "forward", "unproven", NULL, "and stays unproven elsewhere");
	is_int(status, -EX_NO, "the gate shuts");
	free(text);
}

static void test_none_judged(void)
{
	struct change trial[] = { { 0, "\"train\"", "\"trial\"" } };
	int status = 0;
	char *text = judged(trial, 1, &plain, &status);

	is_int(status, -EX_DATAERR, "a stream of trials only has nothing to judge");
	is_str(text, "", "and gets no verdict");
	free(text);
}

int main(void)
{
	if (!ok(make_file() == 0, "a checkpoint to judge"))
		return done_testing();
	test_healthy();
	test_cases();
	test_dropped();
	test_nothing();
	test_none_judged();
	unlink(path);
	return done_testing();
}
