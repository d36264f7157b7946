#!/usr/bin/env bats
# Whole pipelines as a user runs them, in a shell without pipefail: real data, and what the last exit status
# says when a member is missing, killed or wrong.

load helpers
load pipeline

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export TMPDIR=$BATS_TEST_TMPDIR HOME=$BATS_TEST_TMPDIR
}

# ok_phases LEDGER RUN: the phases of the run that are ok, in one line.
ok_phases() { ledger show -j "$1" | jq -r --arg r "$2" 'select(.kind == "verdict" and .run == $r and .verdict == "ok") | .phase' | paste -sd' '; }

# twice PIPELINE: it is run, and run again; two whole runs are in nightly.ledger, the first one as it was.
twice() {
	sh -c "$1" 2>err || { cat err; return 1; }
	ledger show -j nightly.ledger >first.jsonl
	rm -rf ckpt
	sh -c "$1" 2>>err || { cat err; return 1; }
	ledger show -j nightly.ledger >both.jsonl
	cmp first.jsonl <(head -n "$(wc -l <first.jsonl)" both.jsonl)
	ledger verify nightly.ledger
	is "$(ledger summary -j nightly.ledger | jq -r '.verdict' | paste -sd' ')" "ok ok" "verdicts in the summary"
	is "$(ledger summary nightly.ledger | wc -l)" 3 "a heading and one line a run"
	is "$(ledger summary -j nightly.ledger | jq -r .id | uniq | wc -l)" 2 "two ids"
}

@test "a byte-level gpt on the King James text, twice" {
	requires kjv
	bible -f gen1:1-gen30:43 >kjv.txt
	twice 'train-step -m gpt:layers=2,width=32,heads=2,context=64 -d text:file=kjv.txt -o adamw:lr=3e-3 --schedule cosine:warmup=5 \
		--clip 1 -b 16 -n 40 --val-every 20 -C ckpt | gate | ledger append -e nightly.ledger'
	for run in $(ledger summary -j nightly.ledger | jq -r .id); do
		is "$(ok_phases nightly.ledger "$run")" "load data forward backward update validate save resume" "$run"
	done
	# it learns: from the 5.545 of 256 equal bytes to below the 4.0 that a flat guess at the 60 bytes in use costs
	is "$(jq -r 'select(.kind == "eval" and .split == "test") | .loss < 4.0' both.jsonl | paste -sd' ')" "true true" "test losses, once a run"
	run -0 ledger show -t --last nightly.ledger
	is "$output" "~ test .*scored once" "shown"
}

@test "an mlp on Fashion-MNIST, twice: validation is cut from training, the test files are scored once at the end" {
	requires fashion-mnist
	d=/usr/share/datasets/fashion-mnist
	twice "train-step -m mlp:hidden=64 -o adam:lr=1e-3 -b 128 -n 60 --val-every 30 -C ckpt -d \
		idx:images=$d/train-images-idx3-ubyte.gz,labels=$d/train-labels-idx1-ubyte.gz,test-images=$d/t10k-images-idx3-ubyte.gz,test-labels=$d/t10k-labels-idx1-ubyte.gz |
		gate | ledger append -e nightly.ledger"
	is "$(jq -c 'select(.kind == "run") | [.train_examples, .validation_examples, .test_examples]' both.jsonl | uniq)" "[54000,6000,10000]" "splits"
	for run in $(ledger summary -j nightly.ledger | jq -r .id); do
		is "$(ok_phases nightly.ledger "$run")" "load data forward backward update validate save resume" "$run"
		is "$(jq -r --arg r "$run" 'select(.kind == "eval" and .run == $r) | "\(.split) \(.update)"' both.jsonl | paste -sd,)" \
			"validation 30,validation 60,test 60" "evaluations"
	done
	# ten classes: chance is 0.1
	is "$(jq -r 'select(.kind == "eval" and .split == "test") | .accuracy > 0.6' both.jsonl | paste -sd' ')" "true true" "test accuracy"
}

@test "probe-batch | gate | ledger append -e, twice" {
	twice 'probe-batch --seconds 0.03s | gate | ledger append -e nightly.ledger'
	is "$(jq -r 'select(.kind == "probe") | .status' both.jsonl | paste -sd' ')" "found found" "probes"
	for run in $(jq -r 'select(.kind == "probe") | .confirm_run' both.jsonl); do
		is "$(ok_phases nightly.ledger "$run")" "load data forward backward update validate save resume" "$run"
	done
}

# hanging: a gate whose replays never end; the file says when one has begun, and its process.
hanging() {
	mkdir bin
	cp "$PILOT_BIN/gate" bin/
	printf '#!/bin/sh\necho $$ >replaying\nexec sleep 1000\n' >bin/train-step
	chmod +x bin/train-step
}
gone() { [[ ! -d /proc/$1 ]]; }

# ---- the truth table: the status of the last member alone ----

@test "0: healthy; and the same as JSON Lines through jq" {
	last 0 "$TRAIN -C ckpt | gate --no-replay | ledger append -e x.ledger"
	last 0 "$TRAIN -j | jq -c . | gate --no-replay -j | jq -c . | ledger append -e x.ledger"
	kept x.ledger
}

@test "65: the gate is missing, forgotten, or dies" {
	last 65 "$TRAIN | no-such-gate | ledger append -e x.ledger"
	last 65 "$TRAIN | ledger append -e y.ledger"
	is "$(cat err)" "~ verdict" "why"
	kept y.ledger
	# killed before it has read a byte, and while the trainer still writes
	last 65 "$TRAIN | sh -c 'kill -9 \$\$' | ledger append -e z.ledger"
	last 65 "$ENDLESS -C a | sh -c 'echo \$\$ >pid; exec gate' | { sleep 1; kill -9 \$(cat pid); ledger append -e z.ledger; }"
	kept z.ledger
	# killed after the trainer's last record, in the middle of a replay
	hanging
	last 65 "$TRAIN -C ckpt | sh -c 'echo \$\$ >pid; exec bin/gate' | { timeout 20 sh -c 'until [ -s replaying ]; do sleep 0.05; done'; kill -9 \$(cat pid); ledger append -e w.ledger; }"
	kept w.ledger
	is "$(ledger show -j w.ledger | jq -r 'select(.kind == "end") | .status')" 'done' "the run had ended"
	eventually 5 gone "$(cat replaying)"
}

@test "65: the trainer is killed, the stream is cut or empty" {
	last 65 "sh -c 'echo \$\$ >pid; exec $ENDLESS' | { sleep 1; kill -9 \$(cat pid); cat; } | gate --no-replay | ledger append -e x.ledger"
	kept x.ledger
	for n in 1 300 3000 5000; do
		last 65 "$TRAIN | head -c $n | gate --no-replay | ledger append -e x.ledger"
		last 65 "$TRAIN | gate --no-replay | head -c $n | ledger append -e x.ledger"
	done
	last 65 "true | gate | ledger append -e x.ledger"
	last 65 "ledger append -e y.ledger </dev/null"
	last 65 "train-step --no-such-option | gate | ledger append -e x.ledger"
	last 65 "no-such-trainer | gate | ledger append -e x.ledger"
	last 65 "cat no-such-file | gate | ledger append -e x.ledger"
	kept x.ledger
}

@test "1: the run diverged, ran out of memory, or a phase failed" {
	last 1 "$TRAIN -o sgd:lr=1e6 | gate --no-replay | ledger append -e x.ledger"
	is "$(ledger summary -j x.ledger | jq -r .status)" diverged
	last 1 "$TRAIN --memory 20K | gate --no-replay | ledger append -e x.ledger"
	is "$(ledger summary -j x.ledger | jq -r .status | tail -1)" oom
	last 1 "$TRAIN -C ckpt | gate --no-replay --require export | ledger append -e x.ledger"
	kept x.ledger
}

@test "1: a trainer with a fault, seen by its facts or by a replay" {
	export PILOT_FAULT
	faulty=$PILOT_BUILD/faults
	PILOT_FAULT=D4-padding-counted
	last 1 "$faulty/$TRAIN | $faulty/gate --no-replay | ledger append -e x.ledger"
	is "$(ledger show -j x.ledger | jq -r 'select(.verdict == "fail") | .phase')" data "what failed"
	PILOT_FAULT=R6-optimizer-cold
	last 1 "$faulty/$TRAIN -n 16 -C ckpt | $faulty/gate | ledger append -e y.ledger"
	is "$(ledger show -j y.ledger | jq -r 'select(.verdict == "fail") | .phase')" resume "what failed"
	PILOT_FAULT=
	last 0 "$faulty/$TRAIN -n 16 -C ckpt2 | $faulty/gate | ledger append -e z.ledger"
}

# ---- Ctrl-C ----

@test "Ctrl-C while it trains: no process stays, the ledger is whole, the checkpoint resumes" {
	requires tty
	run -0 "$PYTHON" "$PILOT_ROOT/t/py/ctrl_c.py" 'ledger show -j x.ledger | grep -q \"step\"' "$ENDLESS -C ckpt | gate | ledger append -e x.ledger"
	echo "$output"
	is "$output" "~ nothing left" "processes"
	run -0 ledger verify x.ledger
	is "$(ledger summary -j x.ledger | jq -r .status)" stopped "the run"
	n=$(ledger show -j x.ledger | jq -r 'select(.kind == "end") | .updates')
	is "$(ledger show -j x.ledger | jq -r 'select(.kind == "step") | .update' | tail -1)" "$n" "every update is in the ledger"
	last 0 "train-step -r ckpt -C ckpt --stop update=$((n + 3)) | gate --no-replay | ledger append -e x.ledger"
	is "$(ledger summary -j x.ledger | jq -r .updates | tail -1)" "$((n + 3))" "it went on"
}

@test "Ctrl-C while the gate replays, and in a probe: no process stays, the ledger is whole" {
	requires tty
	hanging
	run -0 "$PYTHON" "$PILOT_ROOT/t/py/ctrl_c.py" 'test -s replaying' "$TRAIN -C ckpt | bin/gate | ledger append -e x.ledger"
	is "$output" "~ nothing left" "processes"
	run -0 ledger verify x.ledger
	is "$(ledger show -j x.ledger | jq -r 'select(.kind == "verdict" and .phase == "resume") | .verdict')" unproven
	run -0 "$PYTHON" "$PILOT_ROOT/t/py/ctrl_c.py" 'grep -aq trial y.ledger.copy || { zcat <y.ledger >y.ledger.copy; false; }' \
		"probe-batch --memory 64M --seconds 0.5s | gate | ledger append -e y.ledger"
	is "$output" "~ nothing left" "processes"
	run -0 ledger verify y.ledger
	is "$(ledger show -j y.ledger | jq -r 'select(.kind == "probe") | .status')" stopped "the probe"
}
