#!/usr/bin/env bats
# ledger schedule: what fits into a number of days.
# shellcheck disable=SC2154

load helpers
load answers

setup() {
	requires jq
	cd "$BATS_TEST_TMPDIR" || return
}

# of OPTION...: the answer to the stream in s
of() { run --separate-stderr ledger schedule -j "$@" s; }

# with_saves: each run of the stream saves twice: 3 s and 1 GB; 2 s for a validation
with_saves() {
	jq -c 'if .kind == "eval" then .seconds = 2 elif .kind == "run" then .save_every = 100 elif .kind == "end" then
		({kind: "save", t: .t, run: .run, update: 100, path: "/c", digest: "sha256:1", bytes: 1000000000, seconds: 3}), .seconds = .training_seconds + 20 else . end'
}

@test "the numbers are those of the runs, and what fits is counted by hand" {
	three --seeds 5 --speed 32 | with_saves >s # 1 s an update
	of --days 1,3 --reserve 0 --updates 20000
	exits 0
	# 200 updates: 200 s training, 4 validations 8 s, 1 save 3 s, so 9 s for the start and the rest
	is "$(row costs '[.arm, .planned_runs, (.seconds_per_update * 1000 | round), .validation_seconds, .save_seconds, (.start_seconds | round), .checkpoint_bytes, .measured_on]' | head -1)" '["lr=1e-4",5,1000,2,3,9,1000000000,"its own runs"]'
	# 20,000 updates: 20,000 + 400 x 2 + 200 x 3 + 9 s
	is "$(row costs '.run_seconds | round' | sort -u)" 21409
	is "$(row days '[.days, .fitting_runs]' | paste -sd' ')" "[1,4] [3,12]"
	is "$(row days .left_out_first | paste -sd' ')" '"lr=1e-4, seed 5" "lr=2e-4, seed 3"'
	is "$(row days .first_conclusion_days | head -1)" '"not in that time"'
	is "$(row days '.first_conclusion_days * 86400 | round' | tail -1)" 214090
	is "$(row days .disk_bytes | paste -sd' ')" "4000000000 12000000000"
}

@test "reserve, devices, order, uplink, checkpoints kept" {
	three --seeds 5 --speed 32 | with_saves >s
	of --days 3 --reserve 50 --updates 20000
	is "$(row days .fitting_runs)" 6
	of --days 1 --reserve 0 --updates 20000 --devices 3
	is "$(row days .fitting_runs)" 12
	of --days 3 --reserve 0 --updates 20000 --order 'lr=2e-4' --uplink 10M --keep 3
	is "$(row costs .arm | paste -sd' ')" '"lr=1e-4" "lr=2e-4" "lr=5e-5"'
	is "$(row days .disk_bytes)" 36000000000
	is "$(row days '.carry_home_seconds | round')" 1144
	of --days 3 --order 'lr=9'
	exits 64
	is "$stderr" "~ --order: lr=9"
}

@test "restarts cost their load and half of what lies between two saves" {
	three --seeds 5 --speed 32 | with_saves >s
	# a save every 100 updates: 50 s, and 9 s for the start, ten times a day
	of --days 1 --reserve 0 --updates 20000 --restarts 10
	is "$(row days '.usable_seconds | round')" 85810
	is "$(says not_measured)" "~ A resume was not measured"
	three --seeds 2 >s
	of --days 1 --updates 200000000 --restarts 3
	is "$(says restarts)" "~ save more often"
}

@test "an arm that did not run is measured on another; nothing measured is said" {
	three --seeds 2 --missing lr=2e-4:1 --missing lr=2e-4:2 >s
	of --days 3
	is "$(row costs 'select(.arm == "lr=2e-4") | .measured_on')" '"lr=1e-4"'
	jq -c 'select(.kind == "comparison" or .kind == "request" or .kind == "tool" or .kind == "done")' s >s2
	mv s2 s
	of --days 3
	exits 0
	is "$(says not_measured)" "~ No run was measured"
	is "$(row days .fitting_runs)" 0
	is "$(row costs .run_seconds | sort -u)" null
	run ledger schedule --days 3 s
	is "$output" "~ not measured"
}

@test "what cannot be is refused" {
	three --seeds 1 >s
	local bad
	for bad in "--days 0" "--days x" "--days 1,2,3,4,5,6,7,8,9" "" "--days 3 --reserve 100" "--days 3 --devices 0" "--days 3 --uplink 0" "--days 3 --comparison none"; do
		# shellcheck disable=SC2086
		run ledger schedule $bad s
		exits 64 "$bad"
	done
	answers nights --nights 1 >s
	run ledger schedule --days 3 s
	exits 1
	is "$output" "~ no planned comparison"
}

@test "an arm of another batch that did not run is not measured on one that did" {
	three --seeds 2 --missing lr=2e-4:1 --missing lr=2e-4:2 | jq -c 'if .kind == "request" then .micro_batch = (if .arm == "lr=2e-4" then 64 else 32 end) else . end' >s
	of --days 3
	is "$(row costs 'select(.arm == "lr=2e-4") | [.measured_on, .seconds_per_update]')" '["nothing",null]'
	is "$(says not_measured)" "~ lr=2e-4: no run of it"
	is "$(row days '[.fitting_runs, .left_out_first]')" '[4,"lr=2e-4, seed 1"]'
	is "$(says export)" "~ not in these times"
	run ledger schedule --days 3 --runs --csv s
	is "$(head -1 <<<"$output" | tr ',' '\n' | sort | uniq -d)" "" "no column stands twice"
}
