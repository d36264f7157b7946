#!/usr/bin/env bats
# probe-batch: which sizes it runs, and what it concludes, against a trainer whose memory is known.

load helpers
load probe

setup_file() { fake_install; }
setup() { probe_setup; }

@test "the exact maximum of a linear memory: it ran, the next one ran too, in at most 5 trials" {
	local budget largest
	for budget in 1200000 1700000 5000000 20971520 33000000; do
		rm -f "$FAKE_LOG"
		probe --memory $budget
		exits 0 "budget $budget"
		whole
		largest=$(((budget - FAKE_FIXED) / FAKE_PER))
		is "$(of probe .largest)" $largest "largest within $budget"
		is "$(of probe .largest_exact)" true "exact within $budget"
		is "$(of probe .smallest_failed)" $((largest + 1)) "smallest failed within $budget"
		grep -q "^[0-9]* $largest [0-9]* trial$" "$FAKE_LOG"
		grep -q "^[0-9]* $((largest + 1)) [0-9]* trial$" "$FAKE_LOG"
		(($(of probe .trials_after_failure) <= 5))
	done
}

@test "doubling from 1, then the line's end: two trials after the first failure" {
	probe --memory 20971520
	is "$(sizes fits)" "1 2 4 8 16 32 64 128 199" "sizes that fit"
	is "$(sizes oom)" "256 200" "sizes that do not"
	is "$(of probe .trials_after_failure)" 2 "trials after the first failure"
	is "$(of probe '.fixed_bytes, .per_example_bytes' | paste -sd' ')" "1000000 100000" "the fitted line"
}

@test "a trainer without a plan, memory in steps, memory that is not monotonic" {
	local shape
	for shape in linear steps jagged; do
		FAKE_PLAN=0 FAKE_SHAPE=$shape probe --memory 21000000
		exits 0 $shape
		whole
		is "$(of probe .largest_exact)" true "$shape: exact"
		is "$(sizes fits | tr ' ' '\n' | sort -n | tail -1)" "$(of probe .largest)" "$shape: the largest that ran and fits"
		is "$(sizes oom | tr ' ' '\n' | sort -n | head -1)" $(($(of probe .largest) + 1)) "$shape: the next one ran and does not"
	done
}

@test "a cap is run before it is returned, and is not called exact" {
	probe --memory 1G --max 100
	exits 0
	is "$(sizes fits)" "1 2 4 8 16 32 64 100" "sizes"
	is "$(of probe '.largest, .largest_exact, .smallest_failed' | paste -sd' ')" "100 false null" "largest"
	is "$(of probe .why)" "~ --max is 100" "why"
}

@test "the data's examples are a cap too" {
	FAKE_EXAMPLES=50 probe --memory 1G
	exits 0
	is "$(sizes fits)" "1 2 4 8 16 32 50" "sizes"
	is "$(of probe .why)" "~ the data has 50 examples" "why"
}

@test "nothing fits: exit 1 and a record; fixed bytes beyond the budget are named" {
	probe --memory 900000
	exits 1
	whole
	is "$(of probe .status)" nothing-fits "status"
	is "$(of probe .largest)" null "no size is returned"
	is "$(of probe .recommended)" null "none is recommended"
	is "$(of probe .why)" "~ no batch, length or accumulation helps" "why"
	is "$(of 'done' .status)" 1 "done"
	is "$output" "~ ^probe-batch: probe: nothing fits: " "message"
	probe --memory 1050000
	exits 1
	is "$(of probe .status)" nothing-fits "status"
	run ! grep -q "no batch, length" <(of probe .why)
}

@test "memory that is short in one phase only: validation, save, after it, from the second update on, loading" {
	local phase
	for phase in validate save after second load; do
		FAKE_OOM_IN=$phase probe --memory 2000000
		exits 0 $phase
		is "$(of probe .largest)" 10 "$phase: largest"
		is "$(of probe .oom_phase)" $phase "$phase: phase"
		is "$(of trial 'select(.verdict == "oom" and .micro_batch == 11) | .asked_bytes')" 2100000 "$phase: bytes asked"
		is "$(of trial 'select(.verdict == "oom" and .micro_batch == 11) | .input')" "the longest" "$phase: input"
	done
}

@test "resuming that needs more than starting did: the recommended size resumes" {
	FAKE_OOM_IN=resume FAKE_BUDGET=6600000 probe --memory 0 --max 64 --headroom 0 --exact
	exits 0
	(($(of probe .recommended) <= 56))
	is "$(of trial 'select(.part == "resume") | .verdict' | paste -sd' ')" "oom fits" "the first did not resume, the smaller one did"
	is "$(of trial 'select(.part == "resume") | .oom_phase' | head -1)" resume "phase"
	is "$(of probe .why)" "~ ran, but did not resume" "why"
	# A folder of the user's keeps the checkpoints of the size that was confirmed, and no other's.
	mkdir "$BATS_TEST_TMPDIR/keep"
	FAKE_OOM_IN=resume FAKE_BUDGET=6600000 probe --memory 0 --max 64 --headroom 0 --exact -C "$BATS_TEST_TMPDIR/keep"
	is "$(cut -d' ' -f1 "$BATS_TEST_TMPDIR"/keep/update-* | sort -u)" "$(of probe .recommended)" "whose checkpoints"
}

@test "after running out, a new trainer: what the old one still holds does not count" {
	FAKE_LEAK=1 probe --memory 20971520
	is "$(of probe '.largest, .largest_exact' | paste -sd' ')" "199 true" "largest"
	# The trainer that ran out at 256 and the next request are different processes.
	local ran next
	ran=$(awk '$2 == 256 { print $1 }' "$FAKE_LOG")
	next=$(awk '$2 == 256 { getline; print $1 }' "$FAKE_LOG")
	[[ $ran != "$next" ]]
	is "$(awk '$2 <= 128 && $4 == "trial" { print $1 }' "$FAKE_LOG" | head -8 | sort -u | wc -l)" 1 "one trainer while all fits"
}

@test "a trial shows two updates, a validation, a save and another update, with the trainer's settings" {
	probe --memory 1400000 -a 4 -o sgd:lr=0.5 -n 100000 --val-every 7
	exits 0
	local run
	run=$(of trial 'select(.part == "search") | .run' | tail -1)
	is "$(jq -r --arg r "$run" 'select(.run == $r) | .kind' "$out" | head -2 | paste -sd' ')" "run plan" "opens"
	run=$(of trial 'select(.micro_batch == 4 and .part == "search") | .run')
	is "$(jq -r --arg r "$run" 'select(.run == $r) | .kind' "$out" | grep -v step | paste -sd' ')" "run plan eval save end trial" "what it shows"
	is "$(jq -r --arg r "$run" 'select(.run == $r) | .kind' "$out" | grep -n . | sed -n 's/:step//p' | head -2 | paste -sd' ')" "3 4" "two updates first"
	is "$(jq -r --arg r "$run" 'select(.run == $r) | .kind' "$out" | grep -A1 save | tail -1)" step "one after the save"
	is "$(jq -r --arg r "$run" 'select(.kind == "run" and .run == $r) | .optimizer, .accum, .role' "$out" | paste -sd' ')" "sgd:lr=0.5 2 trial" "settings; accumulation is tried with two passes"
	is "$(of trial 'select(.part == "confirm") | .accum')" 4 "the confirmation accumulates as asked"
	(($(of run .updates | sort -n | tail -1) <= 2001))
}

@test "headroom: the recommended size leaves it free, and is rounded to eights where that costs nothing" {
	FAKE_T0=0 FAKE_C=200 probe --memory 20971520 --effective-batch 4096
	is "$(of probe '.accum * .recommended')" 4096 "a divisor of the wanted effective batch"
	FAKE_C=0 FAKE_T0=1000 probe --memory 20971520 --headroom 10%
	(($(of trial 'select(.part == "confirm") | .allocated_peak_bytes') <= 18874368))
	is "$(of probe .recommended)" 178 "where every example is free, no eights"
	FAKE_C=0 FAKE_T0=1000 probe --memory 20971520 --headroom 0.5
	(($(of trial 'select(.part == "confirm") | .allocated_peak_bytes') <= 10485760))
	is "$(of probe '.headroom, .recommended' | paste -sd' ')" "0.5 94" "half"
	is "$(of probe .meaning)" "~ not the batch of least training time" "what it is not"
}

@test "without --memory on cpu the search ends past the knee, within what the host has, and says so" {
	FAKE_AVAILABLE=8000000000 FAKE_T0=0 FAKE_C=2000 probe
	exits 0
	is "$(of probe .why)" "~ the edge of memory was not sought: [0-9]+ is two doublings past the knee" "why"
	is "$(of probe .smallest_failed)" null "nothing was made to fail"
	is "$(of probe .largest_exact)" false "not exact"
	is "$(of probe .budget_bytes)" 7200000000 "a tenth in reserve"
	(($(of probe .largest) < 1000))
	is "$output" "" "nothing to warn of"
}

@test "without --memory the next doubling must be foreseen to fit; --exact seeks the edge with the budget as cap" {
	# 1 GB available, half of it in reserve: 512 MB, which is 5110 examples. Each doubling pays, so the knee comes late.
	export FAKE_AVAILABLE=1024000000 FAKE_T0=4000 FAKE_C=0
	probe
	exits 0
	is "$(sizes fits | tr ' ' '\n' | tail -1)" 4096 "the last doubling below the budget"
	is "$(sizes oom)" "" "nothing beyond it was run"
	is "$(of probe .why)" "~ 8192 would need" "why"
	FAKE_PLAN=0 probe
	is "$(sizes oom)" "" "nor without a plan"
	probe --exact
	exits 0
	is "$(of probe '.largest, .largest_exact' | paste -sd' ')" "5110 true" "the edge"
	is "$(jq -r 'select(.kind == "run" and .role == "trial" and .resume == null) | .memory_bytes' "$out" | sort -u)" 512000000 "trials have the budget as cap"
}

@test "throughput is rows over seconds, in every trial" {
	FAKE_T0=3000 FAKE_C=300 probe --memory 3000000 -a 2
	local n
	n=$(of trial 'select(.examples_per_second != null) | select((.examples_per_second * .update_seconds / (.micro_batch * .accum) - 1 | fabs) > 1e-9) | .micro_batch' | wc -l)
	is "$n" 0 "trials whose throughput is something else"
	(($(of trial 'select(.examples_per_second != null) | .micro_batch' | wc -l) >= 10))
	# Against the clock of the test: an update of 16 takes 3 + 4.8 ms and what the machine adds.
	is "$(of trial 'select(.part == "speed" and .micro_batch == 16) | (.update_seconds > 0.0078 and .update_seconds < 0.5)' | sort -u)" true "seconds are seconds"
	is "$(of trial 'select(.tokens_per_second != null) | (.tokens_per_second / .examples_per_second - 10 | fabs) < 1e-6' | sort -u)" true "ten tokens an example"
}

@test "the bottleneck is input only where waiting for data shows it; accumulation buys the update's share" {
	probe --memory 2000000
	run ! grep -q bottleneck <(of probe .scaling)
	is "$(of probe .accum_note)" "~ at most 10 % of the time" "the fake's update takes a tenth"
	FAKE_WAIT=0.5 probe --memory 2000000
	is "$(of probe .scaling)" "~ input is the bottleneck" "scaling"
}

@test "sizes are timed in an order that is not the search's, and the knee is a size or has a reason" {
	FAKE_NOISE=0.5 FAKE_T0=1000 FAKE_C=50 probe --memory 30000000
	local timed
	timed=$(of trial 'select(.part == "speed") | .micro_batch' | tr '\n' ' ')
	[[ $timed != "$(tr ' ' '\n' <<<"$timed" | sort -n | tr '\n' ' ')" ]]
	is "$(of probe '(.knee != null) != (.knee_note != null)')" true "one of the two"
}

@test "records pass as the trainer's bytes, its own bracket does not" {
	FAKE_ODD=1 TMPDIR=$BATS_TEST_TMPDIR "$BATS_FILE_TMPDIR/bin/probe-batch" --seconds 0.01s --memory 1300000 >"$out"
	local runs odd
	runs=$(records "$out" | jq -r 'select(.kind == "run") | .run' | wc -l)
	odd=$(LC_ALL=C grep -aoP '\x84\xa4kind\xa6oddity\xa1t\xc7\x0c\xff\x00{11}\x01\xa1x\xd3\x00{7}\x01\xd9\x03run\xda\x00\x1a' "$out" | grep -ac oddity)
	is "$odd" "$runs" "wide numbers kept wide"
	is "$(records "$out" | jq -r 'select(.kind == "tool" or .kind == "done") | .name // .kind' | paste -sd' ')" "probe-batch done" "brackets"
}

@test "nothing stays in TMPDIR, unless -C names a folder" {
	probe --memory 2000000
	is "$(find "$BATS_TEST_TMPDIR" -name 'pilot-probe*')" "" "temporary folders"
	mkdir "$BATS_TEST_TMPDIR/keep"
	probe --memory 2000000 -C "$BATS_TEST_TMPDIR/keep"
	exits 0
	is "$(of save .path | grep -c "^$BATS_TEST_TMPDIR/keep/")" 2 "saves of the confirmed run"
	[[ -e $(of save .path | grep "^$BATS_TEST_TMPDIR/keep/" | tail -1) ]]
}

@test "usage: what train-step has and a probe has not, bad values, help" {
	local args
	for args in "-b 8" "-r x" "--headroom 2" "--headroom 95%" "--max 0" "--seconds 0" "--deadline 0s" "--effective-batch 8 -a 2" "operand" "--nonsense" "-n 5 --epochs 2"; do
		# shellcheck disable=SC2086
		probe $args
		exits 64 "$args"
		is "$(cat "$out")" "" "$args: no records"
		is "$output" "~ ^probe-batch: " "$args: message"
	done
	run --separate-stderr "$BATS_FILE_TMPDIR/bin/probe-batch" --help
	exits 0
	is "$output" "~ ^usage: probe-batch" "help on stdout"
	is "$output" "~ --accum" "help: settings"
	[[ "$output" != *"--micro-batch N  "* && "$output" != *"--resume FILE"* ]] # refused, so not offered
	is "$stderr" "" "nothing on stderr"
}

@test "no train-step beside it: 69, named" {
	mkdir "$BATS_TEST_TMPDIR/alone"
	cp "$BATS_FILE_TMPDIR/bin/probe-batch" "$BATS_TEST_TMPDIR/alone/"
	run "$BATS_TEST_TMPDIR/alone/probe-batch" -j
	exits 69
	is "$output" "~ alone/train-step: No such file" "message"
}
