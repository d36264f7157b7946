#!/usr/bin/env bats
# 261-diff.bats - ledger diff: settings, surroundings and results of two runs, and where their losses part.

load helpers
load ledger

setup() {
	ledger_setup
	export OMP_NUM_THREADS=1
	TINY=(-m gpt:layers=1,width=16,heads=2 -d sums -n 6)
}

ids() { ledger summary -j "$@" | jq -r .id; }

@test "diff: one key of the optimizer, and where losses part, as jq finds it" {
	train-step "${TINY[@]}" | ledger append l
	train-step "${TINY[@]}" -o adamw:lr=2e-3 | ledger append l
	mapfile -t id < <(ids l)
	run -0 ledger diff "${id[@]}" l
	is "$output" "~ optimizer.lr +0.001 +0.002" "the key"
	is "$output" "~ [0-9]+ settings are equal" "the others"
	[[ $output != *beta1* ]]
	part=$(paste <(ledger show -j -r "${id[0]}" l | field loss step) <(ledger show -j -r "${id[1]}" l | field loss step) | awk '$1 != $2 { print NR; exit }')
	is "$output" "~ part at update $part: |first update that both have, $part: " "where"
	is "$output" "~ at the first 1 update that both have" "one update"
	is "$output" "~ exact_match +[0-9]" "an accuracy of whole answers is called so"
	[[ $output != *validation_accuracy* ]]
	run -0 ledger diff --csv "${id[@]}" l
	is "$(xargs <<<"$output")" "what,first,second optimizer.lr,0.001,0.002" "CSV"
	run -0 ledger diff -j "${id[@]}" l
	is "$(jq -c 'select(.table == "settings") | [.what, .first, .second]' <<<"$output")" '["optimizer.lr","0.001","0.002"]' "JSON"
	is "$(jq -r 'select(.table == "results" and .what == "updates") | .first' <<<"$output")" 6 "results"
	run -0 ledger diff --runs "${id[@]}" l
	is "$output" "~ ${id[1]}" "runs"
}

@test "diff: a run and its repetition; a run and itself; two files" {
	train-step "${TINY[@]}" >a
	train-step "${TINY[@]}" >b
	run -0 ledger diff "$(ids a)" "$(ids b)" a b
	is "$output" "~ settings are equal; none differs" "settings"
	is "$output" "~ Losses are the same, bit by bit, at all 6 updates" "losses"
	run -0 ledger diff "$(ids a)" "$(ids a)" a
	is "$output" "~ none differs" "itself"
	run -0 ledger diff "$(ids a)" "$(ids b)" b a
	run -0 bash -c "cat a b | ledger diff $(ids a) $(ids b)"
	is "$output" "~ Losses are the same, bit by bit, at all 6 updates" "a pipe"
	run -0 bash -c "cat b | ledger diff $(ids a) $(ids b) <(cat a) -"
	is "$output" "~ Losses are the same, bit by bit, at all 6 updates" "two pipes"
}

@test "diff: steps logged twice count as said last; NaN equals NaN; updates beyond 2^53; no steps in common" {
	step() { printf '{"kind":"step","t":"2026-11-30T12:00:00Z","run":"01J0000000000000000000000%s","update":%s,"loss":%s}\n' "$1" "$2" "$3"; }
	run_of() { printf '{"kind":"run","t":"2026-11-30T12:00:00Z","run":"01J0000000000000000000000%s","role":"train"}\n' "$1"; }
	end() { printf '{"kind":"end","t":"2026-11-30T12:00:00Z","run":"01J0000000000000000000000%s","status":"done"}\n' "$1"; }
	{
		run_of 1; step 1 1 2.5; step 1 2 9; step 1 2 1.5; step 1 3 '"NaN"'; step 1 9007199254740993 1; end 1
		run_of 2; step 2 1 2.5; step 2 2 1.5; step 2 3 '"NaN"'; step 2 9007199254740993 2; end 2
		run_of 3; step 3 7 1; end 3
	} >s
	a=01J00000000000000000000001 b=01J00000000000000000000002 c=01J00000000000000000000003
	run -0 ledger diff $a $b s
	is "$output" "~ at the first 3 updates that both have, and part at update 9007199254740993: 1 and 2" "where"
	run -0 ledger diff $a $c s
	is "$output" "~ Losses: .*(no update|common|both)" "none in common"
}

@test "diff: hostile names; unknown, several, one" {
	stream --steps 3 >a
	stream --steps 3 --seed 2 | ledger show -j - | jq -c 'if .kind == "run" then .device = "\u001b[31m" else . end' >b
	run -0 ledger diff "$(ids a)" "$(ids b)" a b
	[[ $output != *$'\e'* ]]
	run -64 ledger diff "$(ids a)"
	is "$output" "~ which two runs\?" "one"
	run -64 ledger diff "$(ids a)" 0QQ a b
	is "$output" "~ no run whose id begins so" "unknown"
	run -64 ledger diff 01 "$(ids b)" a b
	run -66 ledger diff "$(ids a)" "$(ids b)" a nowhere
}
