#!/usr/bin/env bats
# The faults that real training loops had, one by one, in a trainer that is only the tests' (t/faults): each
# must shut the gate, by the phase that it belongs to and with a reason that says what is wrong.

load helpers
load gate

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export TMPDIR=$BATS_TEST_TMPDIR
	GATE=("$PILOT_BUILD/faults/gate" -j)
}

# shuts FAULT PHASE WORDS OPTIONS...: a run with the fault fails at the phase, for that reason.
shuts() {
	local fault=$1 phase=$2 words=$3 s=0
	shift 3
	rm -rf ckpt
	PILOT_FAULT=$fault "$PILOT_BUILD/faults/train-step" "${SMALL[@]}" "$@" -C ckpt --msgpack >run.bin 2>err || :
	PILOT_FAULT=$fault "${GATE[@]}" <run.bin >out.bin 2>>err || s=$?
	is "$s" "${EXIT:-1}" "$fault: exit status" || { cat err; verdicts out.bin; return 1; }
	is "$(verdicts out.bin | grep "^$phase ")" "~ ^$phase fail: .*$words" "$fault"
}

# by_facts: what the stream itself shows needs no replay.
by_facts() { GATE+=(--no-replay); shuts "$@"; }

mlp() { table t.csv; MLP=(-m "mlp:hidden=8" -d "csv:file=t.csv,class=label"); }

@test "the trainer without a fault opens the gate" {
	PILOT_FAULT='' "$PILOT_BUILD/faults/train-step" "${SMALL[@]}" -C ckpt --msgpack 2>err | PILOT_FAULT='' "${GATE[@]}" >out.bin
	opened out.bin
}

@test "the shipped commands know no faults" {
	run -1 grep -c PILOT_FAULT "$PILOT_BIN/train-step" "$PILOT_BIN/gate" "$PILOT_BIN/probe-batch"
}

# ---- data and labels ----

@test "D1 masking by id takes real ends away" { by_facts D1-ends-masked data "supervised = 21, declared_supervised = 29"; }
@test "D2 a prompt that the mask missed" { by_facts D2-mask-missed data "other targets than the examples declare"; }
@test "D3 labels shifted twice" { by_facts D3-shifted-twice data "not the next id"; }
@test "D3 labels not shifted" { by_facts D3-not-shifted data "not the next id"; }
@test "D4 padding counted in the loss" { by_facts D4-padding-counted data "other targets than the examples declare"; }
@test "D4 the mask off by one" { by_facts D4-mask-off-by-one data "other targets than the examples declare"; }
@test "D6 the same order in every epoch" { shuts D6-same-order data "repeat their order"; }
@test "D6 never shuffled" { shuts D6-not-shuffled data "repeat their order"; }
@test "D6 seen in the stream, where the run has two epochs" { by_facts D6-same-order data "repeat their order" -d sums:digits=1 -b 16 -a 1; }
@test "D9 class names and numbers out of step" {
	mlp
	by_facts D9-names-out-of-step data "class_names = 2, classes = 3" "${MLP[@]}"
}
@test "D an example in two splits" { by_facts D-shared-examples data "more than one split"; }
@test "D features that are not finite" {
	mlp
	by_facts D-inputs-not-finite data "features that are not finite" "${MLP[@]}"
}

# ---- loss, accumulation, gradient ----

@test "G1 a mean of means under accumulation, of unequal token counts" { shuts G1-mean-of-means backward "gradient norm"; }
@test "G1 the same, of classes, in an epoch's incomplete window" {
	mlp
	shuts G1-mean-of-means backward "gradient norm" "${MLP[@]}"
}
@test "G1 the same, where there is no memory for larger passes" { shuts G1-mean-of-means backward "as 8 of 1" --memory 185K; }
@test "G2 the incomplete window dropped without a word" { shuts G2-tail-dropped data "its window has 4"; }
@test "G3 gradients of the tail leak into the next epoch" { shuts G3-tail-leaks resume "gradients were left over" --last-window drop; }
@test "G5 a NaN hidden behind the last good loss" {
	mlp
	by_facts G5-nan-hidden backward "update 4 has no gradient" "${MLP[@]}"
	is "$(verdicts out.bin | grep ^forward)" "~ fail: updates 3 and 4, on other examples, show the same loss"
}
@test "G5 the log shows another loss than the pass had" { by_facts G5-other-loss-logged forward "a fresh model's loss is"; }
@test "G6 a bias gradient overwritten where it should be added" { shuts G6-bias-overwritten backward "gradient norm"; }
@test "G6 the same in an mlp" {
	mlp
	shuts G6-bias-overwritten backward "gradient norm" "${MLP[@]}"
}
@test "G a trainable tensor without a gradient" { by_facts G-no-gradient backward "gradients_missing = 1, trainable_tensors = 16, wte.weight"; }

# ---- update ----

@test "U1 frozen tensors decay" { by_facts U1-frozen-decays update "frozen tensors changed" --freeze '*wpe*'; }
@test "U2 frozen tensors trained after all" { by_facts U2-unfrozen update "frozen tensors changed" --freeze '*wpe*'; }
@test "U4 a tensor that the optimizer never got" { by_facts U4-not-handed-over update "not every trainable tensor changed"; }
@test "U5 updates skipped in silence" { by_facts U5-skips-silently update "optimizer_count = 2, applied = 3"; }
@test "U7 the schedule ticks by the micro-batch" { by_facts U7-ticks-per-micro-batch update "update 2 used the rate" --schedule linear:warmup=4; }
@test "U7 the schedule is one update late" { by_facts U7-one-late update "update 2 used the rate" --schedule linear:warmup=4; }
@test "U another rate than the schedule's" { by_facts U-rate-other update "update 1 used the rate 0.002; the schedule asks for 0.001"; }
@test "U9 tied weights are apart" { by_facts U9-tied-apart update "tied tensors are apart"; }

# ---- validation ----

@test "V1 evaluation mode never entered" { by_facts V1-training-mode validate "evaluation mode was not on"; }
@test "V1 training mode never restored" { EXIT=70 by_facts V1-not-restored validate "training mode was not back"; }
@test "V2 validation touches the weights" { by_facts V2-weights-touched validate "changed the weights"; }
@test "V3 the last batch dropped" { by_facts V3-last-batch-dropped validate "examples = 28, expected_examples = 30"; }
@test "V3 the first batch again and again" { by_facts V3-first-batch-again validate "distinct_examples = 4, expected_examples = 30"; }
@test "V5 a mean of batch means" { shuts V5-mean-of-means validate "the same validation in batches of 4 and of 2"; }
@test "V5 a mean of batch means, of classes" {
	mlp
	shuts V5-mean-of-means validate "the same validation in batches of 4 and of 2" "${MLP[@]}"
}

# ---- resume ----

@test "R1 the data begin again" { shuts R1-restarts resume "the position in the data did not come back"; }
@test "R1 the epoch begins again" { shuts R1-epoch-restarts resume "the position in the data did not come back"; }
@test "R1 the first epoch's order, which shows from the second on" { shuts R1-first-epochs-order resume "at update 6: .*the position in the data did not come back"; }
@test "R1 the next epoch's order" { shuts R1-next-epochs-order resume "at update 6: .*the position in the data did not come back"; }
@test "R2 random state not restored" { shuts R2-random-not-restored resume "update 8: loss .*weights or random state"; }
@test "R2 random state restored, then set again later" { shuts R2-reseeded-later resume "update 9: loss"; }
@test "R3 the count is wrong on the second resume only" { shuts R3-second-resume resume "resumed once more .*the count did not come back"; }
@test "R4 the count is one too high" { shuts R4-one-too-high resume "with update 9, not 8"; }
@test "R4 the count is one too low" { shuts R4-one-too-low resume "with update 7, not 8"; }
@test "R4 the first update runs twice" { shuts R4-last-runs-twice resume "update 9: loss"; }
@test "R5 the schedule advanced twice" { shuts R5-advanced-twice resume "rate 0.0006, .* 0.0007: the schedule did not come back" --schedule linear:warmup=4; }
@test "R5 the schedule begins again" { shuts R5-reset resume "the schedule did not come back" --schedule linear:warmup=4; }
@test "R6 the optimizer is cold" { shuts R6-optimizer-cold resume "update 9: loss .*the optimizer's state"; }
@test "R6 the optimizer is cold, with momentum" { shuts R6-optimizer-cold resume "the optimizer's state" -o momentum:lr=0.1; }
@test "R6 one tensor of the optimizer's state is cold" { shuts R6-one-tensor-cold resume "update 9: loss"; }
@test "R6 the optimizer's count is cold" { shuts R6-count-cold resume "update 9: loss"; }
@test "R11 nothing was loaded" { shuts R11-nothing-loaded resume "update 8: loss .*weights"; }
@test "R one weight did not come back" { shuts R-weight-lost resume "update 8: loss .*weights"; }
@test "R without a saved file of the run's own, the short run shows it" {
	PILOT_FAULT=R6-optimizer-cold "$PILOT_BUILD/faults/train-step" "${SMALL[@]}" -C ckpt --msgpack >run.bin 2>err
	rm ckpt/*7.safetensors
	s=0
	PILOT_FAULT=R6-optimizer-cold "${GATE[@]}" <run.bin >out.bin || s=$?
	is "$s" 1
	is "$(verdicts out.bin | grep ^resume)" "~ fail: resumed at update 6: update 8: loss"
}

# ---- checkpoint files ----

@test "C3 the optimizer's count is of another update than the weights" { by_facts C3-torn save "pilot.optimizer.count is 8 in a file of update 7"; }
@test "C5 a full disk" {
	run bash -c '(trap "" XFSZ; ulimit -f 20; exec train-step "$@" -C ckpt --msgpack 2>err) | gate -j >out.bin; echo "${PIPESTATUS[@]}"' sh "${SMALL[@]}"
	is "$output" "74 74"
	is "$(verdicts out.bin | grep ^save)" "~ ^save fail: the run ended with status error: .*(File too large|No space left)"
}
@test "C7 a record shorter than its shape says" { by_facts C7-short save "data_offsets end at"; }
@test "C a byte that changed on disk" { by_facts C-bit-flipped save "its digest is"; }
@test "C a save that moves the weights" { by_facts C-save-moves-weights save "it changed the weights"; }
@test "C a file that is not there" { shuts C-gone save "is not there"; }
