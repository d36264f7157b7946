#!/usr/bin/env bats
# probe-batch on a command: which sizes it asks of train-step and what it concludes, against one that plays
# train-step with a command whose memory is known (t/fake).

load helpers
load probe

setup_file() { fake_install; }
setup() {
	probe_setup
	mkdir "$BATS_FILE_TMPDIR/here.$BATS_TEST_NUMBER" # each trial copies the working folder
	cd "$BATS_FILE_TMPDIR/here.$BATS_TEST_NUMBER" || return
	export FAKE_FIXED=800000000 FAKE_PER=5000000 FAKE_VAL=0
}

# sizes_of PART: in the order in which they ran.
sizes_of() { of trial "select(.part == \"$1\") | .micro_batch" | paste -sd' '; }

@test "two doublings that agree lead to the edge: few trials, none of them after the first failure" {
	probe --memory 1000000000 -- trainer '{micro_batch}'
	exits 0
	whole
	is "$(of probe '.largest, .largest_exact, .smallest_failed, .trials_after_failure' | paste -sd' ')" "40 true 41 0" "conclusion"
	is "$(sizes_of search)" "1 2 4 32 40 41" "sizes of the search"
	is "$(of trial 'select(.micro_batch == 41) | .verdict')" oom "the next one"
	is "$(of probe '.oom_phase, .oom_input' | paste -sd' ')" "forward the longest" "what ran out"
	is "$(of probe '.fixed_bytes, .per_example_bytes' | paste -sd' ')" "800000000 5000000" "the line"
	is "$(of probe .budget_source)" "~ ^--memory: address space of each process" "what the budget counts"
	is "$(jq -r 'select(.kind == "run") | .updates' "$out" | sort -n | paste -sd' ' | cut -d' ' -f1)" 4 "updates of a short trial"
	is "$(of run 'select(.role == "confirm") | .updates')" 20 "updates of the confirmed run"
	is "$(of trial 'select(.part == "resume") | .run')" "" "no trial resumes: gate does that"
}

@test "what starting takes hides the batch at first: the edge is exact all the same" {
	FAKE_BASE=900000000 probe --memory 1000000000 -- trainer '{micro_batch}'
	exits 0
	is "$(of probe '.largest, .largest_exact' | paste -sd' ')" "40 true" "conclusion"
	(($(of probe .trials_after_failure) <= 6))
	FAKE_SHAPE=steps probe --memory 1000000000 -- trainer '{micro_batch}'
	exits 0
	is "$(of probe .largest_exact)" true "memory in steps"
	is "$(sizes fits | tr ' ' '\n' | sort -n | tail -1)" "$(of probe .largest)" "the largest that ran and fits"
}

@test "the request has what a command understands, and a copy of the folder to work in" {
	local mine=$BATS_FILE_TMPDIR/mine # not below TMPDIR: that is where a command may write
	mkdir "$mine"
	cd "$mine"
	echo data >input
	FAKE_REQUESTS=$BATS_TEST_TMPDIR/requests probe --memory 900000000 -s 7 -l 32 -n 5 -- trainer '{micro_batch}' --out '{save_dir}'
	exits 0
	is "$(jq -r 'keys_unsorted[]' "$BATS_TEST_TMPDIR/requests" | sort -u | paste -sd' ')" \
		"cwd evidence id kind length memory_bytes micro_batch origin parent role save seed t updates" "fields"
	is "$(jq -r '.origin' "$BATS_TEST_TMPDIR/requests" | sort -u)" "$mine" "the user's folder"
	is "$(jq -r '.cwd' "$BATS_TEST_TMPDIR/requests" | grep -cv 'pilot-probe')" 0 "none works in it"
	is "$(jq -r '.save' "$BATS_TEST_TMPDIR/requests" | grep -cv 'pilot-probe')" 0 "none saves in it"
	is "$(jq -r '.updates, .seed, .length, .evidence' "$BATS_TEST_TMPDIR/requests" | sort -u | paste -sd' ')" "32 5 7 basic" "as given, in every run"
	is "$(ls)" input "the user's folder"
	probe --memory 900000000 -C "$BATS_TEST_TMPDIR/kept" -- trainer '{micro_batch}' --out '{save_dir}'
	exits 0
	is "$(of run 'select(.role == "confirm") | .save')" "$BATS_TEST_TMPDIR/kept" "-C is the confirmed run's"
	is "$(of run 'select(.role == "trial") | .save' | grep -c kept)" 0 "and no trial's"
	is "$(find "$BATS_TEST_TMPDIR" -name 'pilot-probe*')" "" "nothing stays"
}

@test "accumulation goes through {accum}; passes that a command makes by itself count" {
	FAKE_T0=0 FAKE_C=300 probe --memory 900000000 --effective-batch 48 -- trainer '{micro_batch}' '{accum}'
	exits 0
	is "$(of probe '.accum * .recommended, .effective_batch' | paste -sd' ')" "48 48" "a divisor, and what keeps it"
	is "$(of run 'select(.role == "confirm") | .accum')" "$(of probe .accum)" "the confirmed run accumulates so"
	FAKE_PASSES=5 FAKE_T0=0 FAKE_C=300 probe --memory 900000000 -- trainer '{micro_batch}'
	exits 0
	is "$(of probe '.accum, .effective_batch / .recommended' | paste -sd' ')" "5 5" "five passes of its own"
	is "$(of trial 'select(.examples_per_second != null) | select((.examples_per_second * .update_seconds / (.micro_batch * 5) - 1 | fabs) > 1e-9) | .micro_batch')" "" "throughput is rows over seconds"
	is "$(of trial '.accum' | sort -u | paste -sd' ')" "5 null" "passes"
}

@test "sizes that the search leapt over are timed where the knee may lie" {
	FAKE_FIXED=1000000 FAKE_PER=100000 FAKE_T0=2000 FAKE_C=20 probe --memory 300000000 -- trainer '{micro_batch}'
	exits 0
	is "$(comm -23 <(of trial 'select(.part == "speed") | .micro_batch' | sort -u) <(of trial 'select(.part == "search") | .micro_batch' | sort -u) | head -1)" \
		"~ ^(8|16|64|128|512|1024)$" "a doubling between the leaps"
	is "$(of trial 'select(.part == "speed") | .verdict' | sort -u)" fits "and they fit"
	(($(of probe .trials) <= 40))
}

@test "without --memory on cpu: resident memory, no cap, and no edge; --exact seeks it under the cap" {
	export FAKE_AVAILABLE=2000000000 FAKE_PER=1000000 FAKE_T0=4000 FAKE_C=0
	probe -- trainer '{micro_batch}'
	exits 0
	is "$(of probe '.smallest_failed, .largest_exact' | paste -sd' ')" "null false" "nothing was made to fail"
	is "$(of probe .why)" "~ 1024 would need 1.7G of the 1.4G there are" "why"
	is "$(jq -r 'select(.kind == "run") | .memory_bytes' "$out" | sort -u)" 0 "no cap"
	probe --exact -- trainer '{micro_batch}'
	exits 0
	is "$(of probe '.largest, .largest_exact' | paste -sd' ')" "663 true" "the edge"
	is "$(of probe .budget_source)" "~ host memory available.*address space" "what the budget counts"
}

@test "a longer run that takes more from the start: the recommendation follows what it took" {
	FAKE_CONFIRM=60000000 FAKE_T0=4000 FAKE_C=0 probe --memory 1000000000 -- trainer '{micro_batch}'
	exits 0
	is "$(of trial 'select(.part == "confirm") | .micro_batch' | paste -sd' ')" "20 8" "twelve rows less: 60 MB"
	is "$(of probe .recommended)" 8 "confirmed"
	FAKE_CONFIRM=160000000 probe --memory 1000000000 -- trainer '{micro_batch}'
	exits 0
	is "$(of probe '.recommended, .why' | paste -sd' ')" "~ ^1 .*not even micro-batch 1 leaves the headroom" "no headroom at all"
}

@test "nothing fits: what size 1 takes without the cap, and before its first pass, is named" {
	probe --memory 802000000 -- trainer '{micro_batch}'
	exits 1
	whole
	is "$(of probe '.status, .largest, .recommended' | paste -sd' ')" "nothing-fits null null" "conclusion"
	is "$(of probe .why)" "~ size 1 does not fit \(it runs out in forward, on the longest\): without a cap it takes 767.7M, 762.9M of it before its first pass, and there are 764.8M$" "why"
	is "$(of trial 'select(.part == "uncapped") | .verdict')" fits "the run without a cap"
	probe --memory 500000000 -- trainer '{micro_batch}'
	exits 1
	is "$(of probe .why)" "~ no batch, length or accumulation helps" "why"
	# A crash in the cap that is none without it.
	FAKE_FAULT=error FAKE_CAPPED=1 probe --memory 500000000 -- trainer '{micro_batch}'
	exits 1
	is "$(of probe .status)" nothing-fits "a crash in the cap alone"
	is "$(of trial .verdict | paste -sd' ')" "crashed fits" "as it was"
	FAKE_FAULT=error probe --memory 500000000 -- trainer '{micro_batch}'
	exits 70
	is "$(of probe .status)" error "a crash with and without"
}

@test "a crash or a hang in the cap alone is a lack of memory where more is taken without it, and the record says so" {
	FAKE_AT=41 FAKE_FAULT=error FAKE_CAPPED=1 FAKE_OOM_IN=never probe --memory 1000000000 -- trainer '{micro_batch}'
	exits 0
	is "$(of probe '.largest, .largest_exact, .smallest_failed' | paste -sd' ')" "40 true 41" "conclusion"
	is "$(of trial 'select(.micro_batch == 41) | .part, .verdict' | paste -sd' ')" "search crashed uncapped fits" "as it was"
	is "$output" "~ micro-batch 41: crashed in the cap of 953.7M; without it, it ran and took 958.4M" "warning"
	FAKE_AT=41 FAKE_FAULT=hang FAKE_CAPPED=1 FAKE_OOM_IN=never probe --memory 1000000000 --deadline 1 -- trainer '{micro_batch}'
	exits 0
	is "$(of probe '.largest, .largest_exact' | paste -sd' ')" "40 true" "conclusion"
	is "$(of trial 'select(.micro_batch == 41) | .part, .verdict' | paste -sd' ')" "search timeout uncapped fits" "as it was"
	# Where it takes no more than the cap without it, the cap is not why.
	FAKE_AT=32 FAKE_FAULT=error FAKE_CAPPED=1 FAKE_OOM_IN=never probe --memory 1000000000 -- trainer '{micro_batch}'
	exits 0
	is "$(of probe '.largest, .largest_exact, .smallest_failed' | paste -sd' ')" "4 false null" "the search stopped"
	none_left
}

@test "rows other than asked, and no rows, are errors with both numbers; a crash is no lack of memory" {
	FAKE_AT=16 FAKE_FAULT=rows probe --memory 1G -- trainer '{micro_batch}'
	exits 0
	is "$(of probe '.largest, .largest_exact' | paste -sd' ')" "4 false" "what was found is kept"
	is "$output" "~ micro-batch [0-9]+: error: the program trains on 1 rows where \{micro_batch\} was [0-9]+" "message"
	FAKE_FAULT=rowless probe --memory 1G -- trainer '{micro_batch}'
	exits 70
	is "$output" "~ does not say how many rows it trains on.*pilot-trainer\(7\)" "message"
	FAKE_AT=4 FAKE_FAULT=error probe --memory 1G -- trainer '{micro_batch}'
	exits 0
	is "$(of trial 'select(.verdict == "crashed") | .part, .micro_batch, .why' | paste -sd' ')" \
		"search 4 out of memory was not the reason uncapped 4 out of memory was not the reason" "verdict, with and without the cap"
	is "$(of probe '.largest, .largest_exact, .smallest_failed' | paste -sd' ')" "2 false null" "conclusion"
	FAKE_FAULT=ms probe --memory 1G -- trainer '{micro_batch}'
	exits 70
	is "$output" "~ is its unit seconds" "milliseconds"
}

@test "rows that are another dimension of the input than the first, and one that only happened to be as many" {
	FAKE_INPUT=10xB FAKE_T0=4000 FAKE_C=0 probe --memory 900000000 -- trainer '{micro_batch}'
	exits 0
	is "$(of probe '.largest, .largest_exact' | paste -sd' ')" "20 true" "conclusion"
	is "$(of probe .why)" "~ rows are dimension 2 of the input \(10x2\): it follows \{micro_batch\}, and the first does not" "said"
	is "$(of trial 'select(.verdict == "fits" and .rows != .micro_batch) | .micro_batch')" "" "rows of each trial"
	is "$(of trial 'select(.examples_per_second != null) | select((.examples_per_second * .update_seconds / .micro_batch - 1 | fabs) > 1e-9) | .micro_batch')" "" "throughput is rows over seconds"
	is "$(of probe '.accum, .effective_batch / .recommended' | paste -sd' ')" "1 1" "an update"
	FAKE_INPUT=12x1x28 probe --memory 900000000 -- trainer '{micro_batch}'
	exits 70
	is "$(of probe '.status, .largest' | paste -sd' ')" "error null" "no size is returned"
	is "$output" "~ error: the program trains on 12 rows where \{micro_batch\} was 2: its input is 12x1x28$" "message"
	FAKE_INPUT=32x1 FAKE_PER=1000000 probe --memory 900000000 -- trainer '{micro_batch}'
	exits 70
	FAKE_INPUT=4xB FAKE_PER=1000000 probe --memory 900000000 -- trainer '{micro_batch}'
	exits 0 "at one size the first happens to be as many"
	is "$(of probe '.largest, .largest_exact' | paste -sd' ')" "100 true" "and the other is still the one"
}

@test "what no trial came to is said" {
	probe --memory 900000000 -- trainer '{micro_batch}'
	is "$(of probe '.unseen | join(" ")')" "validate save" "neither was seen"
	FAKE_VAL=2 probe --memory 900000000 -- trainer '{micro_batch}' '{save_dir}'
	is "$(of probe .unseen)" null "both were"
	TMPDIR=$BATS_TEST_TMPDIR "$BATS_FILE_TMPDIR/bin/probe-batch" -t --seconds 0.01s --memory 900000000 -- trainer '{micro_batch}' >"$out"
	is "$(cat "$out")" "~ not seen +validate, save: .*a longer -n would show it" "text"
	is "$(cat "$out")" "~ largest +20 fits, 21 does not \(it runs out in forward, on the longest\); both were run" "text"
}

@test "usage: what a command has of its own, placeholders, options that need a command" {
	local args
	for args in "-b 8 -- t {micro_batch}" "-r x -- t {micro_batch}" "-m mlp -- t {micro_batch}" "-o sgd -- t {micro_batch}" "--val-every 2 -- t {micro_batch}" \
		"-- t" "-- t {{micro_batch}}" "-- t {micro_batch} {nonsense}" "-- t {micro_batch" "-- t {micro_batch} {length}" "-n 1 -- t {micro_batch}" \
		"--effective-batch 8 -- t {micro_batch}" "--" "--env X=1" "--no-adapter" "--evidence some -- t {micro_batch}" "t {micro_batch}"; do
		# shellcheck disable=SC2086
		probe $args
		exits 64 "$args"
		is "$(cat "$out")" "" "$args: no records"
		is "$output" "~ ^probe-batch: " "$args: message"
	done
	probe --memory 900000000 --env 'ROWS={micro_batch}' -- trainer
	exits 0 "the placeholder in --env"
}

@test "SYNOPSIS is what usage says" {
	requires mandoc
	mandoc -T ascii -O width=400 "$PILOT_ROOT/man/probe-batch.1" | plain | sed -n '/^SYNOPSIS/,/^DESCRIPTION/s/^     //p' | tr -s ' \n' ' ' >"$BATS_TEST_TMPDIR/synopsis"
	"$BATS_FILE_TMPDIR/bin/probe-batch" --help | sed '/^$/,$d' | sed 's/^usage://' | tr -s ' \n' ' ' | sed 's/^ //' >"$BATS_TEST_TMPDIR/usage"
	is "$(cat "$BATS_TEST_TMPDIR/synopsis")" "$(cat "$BATS_TEST_TMPDIR/usage")" "SYNOPSIS"
}
