#!/usr/bin/env bats
# the gate's rules over what a command told: records written by hand, as an adapter or a program of the user's would.
# Every rule by itself is in t/unit/stranger_rules.c; scripts with faults are in 650.

load helpers
load gate

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# told UPDATES [JQ]: the records of a command's run, each changed by the jq program.
told() {
	jq -cn --argjson n "$1" --arg at "$PWD/ckpt.pt" --arg digest "${DIGEST:-sha256:0}" '
		{t: "2026-01-01T00:00:00Z", run: "01JEXAMPLE0000000000000000"} as $r |
		{kind: "run", role: "train", trainer: "command", command: ["./train"], micro_batch: 4, accum: 1},
		{kind: "model", name: "Net", tensors: 4, trainable_tensors: 4, parameters: 50, dropout_layers: 1, norm_layers: 0, precision: "float32"},
		(range(1; $n + 1) as $u |
			{kind: "step", update: $u, rows: 4, passes: 1, loss: (4 / $u), lr: 0.1, gradient_norm: 1, left_over: 0, batch_digest: "b\($u)"},
			(if $u == 3 then
				{kind: "optimizer", name: "SGD", uncovered: 0},
				({kind: "phase", update: 2, occurrence: "steady", micro_batch: 4} |
					. + {phase: "data"}, . + {phase: "forward"}, . + {phase: "backward", gradients_missing: 0, trainable_tensors: 4},
					. + {phase: "update", changed: 4, unchanged: 0, frozen_changed: 0, lr: 0.1})
			else empty end),
			(if $u % 4 == 0 then {kind: "save", update: $u, path: $at, digest: $digest, holds: ["weights"], in_place: false} else empty end)),
		{kind: "end", status: "done", updates: $n} | $r + .' | jq -c "${2:-.}"
}

export -f told

@test "a healthy command's run opens the gate, and each ok names what it rests on" {
	echo weights >ckpt.pt
	touch -d 2025-12-31 ckpt.pt
	DIGEST=sha256:$(sha256sum ckpt.pt | cut -d' ' -f1)
	export DIGEST
	told 8 >run
	gate --no-replay -j <run >out
	is "$(verdicts out | grep -c ' ok$')" 6
	is "$(verdicts out | grep -c ' fail')" 0
	is "$(verdicts out | grep validate)" "validate unproven: no validation was seen in this run"
	is "$(evidence out data)" "4 rows in the last update; no batch of 8 seen twice"
	is "$(evidence out save)" "2 saves, the last holds weights; on disk with digest: update 8"
}

@test "a file that is not what was saved last fails; one saved over before does not" {
	echo weights >ckpt.pt
	touch -d 2025-12-31 ckpt.pt
	DIGEST=sha256:$(sha256sum ckpt.pt | cut -d' ' -f1)
	export DIGEST
	told 8 'if .kind == "save" and .update == 4 then .digest = "sha256:4" else . end' | gate --no-replay -j >out
	is "$(verdicts out | grep save)" "save ok"
	run -1 bash -c 'told 8 "if .update == 8 and .kind == \"save\" then .digest = \"sha256:8\" else . end" | gate --no-replay -j >out'
	is "$(verdicts out | grep save)" "~ save fail: check the saved file: .*ckpt.pt: its digest is"
	rm ckpt.pt
	told 8 | gate --no-replay -j >out
	is "$(verdicts out | grep save)" "save unproven: its newest file is gone"
}

@test "steps alone prove nothing: every phase is unproven with its reason, and the gate is open" {
	told 5 'select(.kind == "run" or .kind == "end" or .kind == "step") | del(.passes, .gradient_norm, .left_over, .batch_digest)' >run
	gate --no-replay -j <run >out
	is "$(verdicts out | grep -c unproven)" 8
	is "$(verdicts out | grep forward)" "forward unproven: not reported: the command told nothing of this phase"
	run -1 bash -c 'gate --no-replay --require data -j <run >required'
	is "$(verdicts required | grep data)" "~ data fail: required, and unproven: not reported"
}

@test "what an adapter does not see well is unproven, whatever seems wrong in it; a loss that is NaN fails all the same" {
	local leak='if .kind == "step" then .left_over = 4 else . end' blind='if .kind == "model" then ., (. | {kind: "blind", t, run, phase: "all", reason: "several optimizers step"}) else . end'
	run -1 bash -c "told 8 '$leak' | gate --no-replay -j >out"
	is "$(verdicts out | grep backward)" "~ backward fail: gradients of the update before are still there"
	told 8 "$leak | $blind" | gate --no-replay -j >out
	is "$(verdicts out | grep backward)" "backward unproven: several optimizers step"
	is "$(evidence out backward)" "~ not to be trusted: gradients of the update before"
	run -1 bash -c "told 8 'if .kind == \"step\" and .update == 6 then .loss = \"NaN\" else . end | $blind' | gate --no-replay -j >out"
	is "$(verdicts out | grep forward)" "forward fail: a loss that is not finite (loss = NaN, at update 6)"
}

@test "control characters in what a command says of itself are escaped for people" {
	told 8 'if .kind == "model" then .name = "\u001b[2JNet" else . end' | COLUMNS=200 gate --no-replay -t >out
	is "$(grep -c $'\033' out)" 0
	grep -F '\x1b[2JNet: 4 tensors' out
}
