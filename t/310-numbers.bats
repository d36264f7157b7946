#!/usr/bin/env bats
# Numbers: models, optimizers and schedules beside PyTorch's, and a GPT that others trained.
# shellcheck disable=SC2154

load helpers

py() {
	local script=$1
	shift
	run "$PYTHON" "$PILOT_ROOT/t/py/$script" "$PILOT_BUILD/numbers" "$@"
	exits 0 "$script $*"
	echo "$output"
}

models() { py compare_model.py "$BATS_TEST_TMPDIR" "$@"; }

optimizers() { py compare_optimizer.py "$BATS_TEST_TMPDIR" "$@"; }

setup() {
	requires numpy
}

@test "gpt: loss, logits and every gradient are PyTorch's" {
	requires torch
	models small shorter one odd untied
}

@test "gpt: more positions than one block of queries, and a wide model" {
	requires torch
	models long wide
}

@test "gpt: one, two and three threads give the same bits" {
	requires torch same-bits
	local n
	models wide
	for n in 1 2 3; do
		"$PILOT_BUILD/numbers" model "$BATS_TEST_TMPDIR/in" "$BATS_TEST_TMPDIR/out$n" gpt:layers=1,width=384,heads=6 \
			classes=256 dropout=0.1 threads=$n rows=1,1
	done
	cmp "$BATS_TEST_TMPDIR/out1" "$BATS_TEST_TMPDIR/out2"
	cmp "$BATS_TEST_TMPDIR/out1" "$BATS_TEST_TMPDIR/out3"
	run ! cmp -s "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/out1" # without dropout
}

@test "gpt: masked targets, and unequal micro-batches summed to the whole batch's gradient" {
	requires torch
	models masked unequal
}

@test "gpt: frozen parameters have no gradient, the others PyTorch's" {
	requires torch
	models frozen
}

@test "mlp: loss, logits and every gradient are PyTorch's, for each activation" {
	requires torch
	models mlp mlp-gelu mlp-tanh mlp-large mlp-linear mlp-two
}

@test "mlp: unequal micro-batches, and frozen layers" {
	requires torch
	models mlp-unequal mlp-frozen
}

@test "a GPT trained by others gives the logits stored with it" {
	requires shared-data
	py sort_model.py "$BATS_TEST_TMPDIR" "$PILOT_SHARED/data"
	is "$output" "~ ^33 positions" "the whole batch was compared"
}

@test "optimizers: twenty updates are torch.optim's to 1e-5 of the rate" {
	requires torch
	optimizers sgd:lr=0.1 momentum:lr=0.1,momentum=0.8 nesterov:lr=0.05 adam:lr=0.01 adamw:lr=0.01 nadam:lr=0.01
}

@test "optimizers: weight decay, decoupled and not, of matrices and of all, and further settings" {
	requires torch
	optimizers sgd:lr=0.1,weight_decay=0.1 momentum:lr=0.1,weight_decay=0.05,decay=all nesterov:lr=0.05,weight_decay=0.1 \
		adam:lr=0.01,weight_decay=0.1,beta1=0.8,beta2=0.95 adam:lr=0.01,eps=1e-4,decay=all,weight_decay=0.2 \
		adamw:lr=0.02,weight_decay=0.3,decay=all,beta2=0.9 nadam:lr=0.01,weight_decay=0.1,momentum_decay=0.01
}

@test "schedules: the manual's formulas, and PyTorch's curves where it has them" {
	requires torch
	py schedules.py
}
