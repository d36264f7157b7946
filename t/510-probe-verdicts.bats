#!/usr/bin/env bats
# probe-batch: what became of a trial that does not fit. Only a lack of memory moves the search down.

load helpers
load probe

setup_file() { fake_install; }
setup() {
	probe_setup
	export FAKE_AT=16
}

# stops VERDICT WHY: the trial at 16 ends so, the search stops there, and what fitted is kept.
stops() {
	exits 0 "$1"
	whole
	is "$(sizes "$1")" 16 "sizes with the verdict"
	is "$(sizes fits)" "1 2 4 8" "sizes that fit; none is tried between 8 and 16"
	is "$(of probe '.status, .largest, .largest_exact, .smallest_failed' | paste -sd' ')" "found 8 false null" "conclusion"
	is "$(of trial "select(.verdict == \"$1\") | .why")" "~ $2" "why"
	is "$output" "~ ^probe-batch: probe: .*the search stopped at micro-batch 16: $1" "warning"
	(($(of probe .recommended) <= 8))
	none_left
}

@test "a crash is no lack of memory, whatever its last words say" {
	FAKE_FAULT=segv probe --memory 1G
	stops crashed "signal 11 \(Segmentation fault\): CUDA error: out of memory, says the last line"
	is "$(of trial 'select(.verdict == "crashed") | .stderr | join("|")')" "something|CUDA error: out of memory, says the last line" "last lines"
	is "$(of end 'select(.status == "killed") | .why')" "~ signal 11" "the end that the trainer could not write"
	FAKE_FAULT=exit probe --memory 1G
	stops crashed "status 3 in the middle"
}

@test "SIGKILL: the host's memory only if the kernel counted a kill, and then the search goes down" {
	FAKE_FAULT=kill probe --memory 1G
	stops crashed "signal 9"
	export FAKE_KILLS=$BATS_TEST_TMPDIR/kills
	FAKE_FAULT=kill probe --memory 1G
	exits 0
	whole
	is "$(of probe '.largest, .largest_exact, .smallest_failed' | paste -sd' ')" "15 true 16" "conclusion"
	is "$(of trial 'select(.verdict == "host-oom") | .why' | head -1)" "~ out-of-memory kills went from 0 to 1" "why"
	is "$output" "~ micro-batch 16: host-oom" "warning"
}

@test "SIGBUS names /dev/shm" {
	FAKE_FAULT=bus probe --memory 1G
	stops crashed "/dev/shm"
}

@test "a limit of a kernel is not a lack of memory" {
	FAKE_FAULT=limit probe --memory 1G
	stops kernel-limit "invalid configuration argument"
}

@test "a run that ends with an error or diverges is neither" {
	FAKE_FAULT=error probe --memory 1G
	stops error "ended .error.: out of memory was not the reason"
	FAKE_FAULT=diverge probe --memory 1G
	stops error "ended .diverged.: loss is NaN"
}

@test "the word error on stderr is nothing" {
	FAKE_FAULT=chatter FAKE_AT=1 probe --memory 2000000
	exits 0
	is "$(of probe '.largest, .largest_exact' | paste -sd' ')" "10 true" "conclusion"
	is "$output" "" "not passed on"
	FAKE_FAULT=chatter FAKE_AT=1 probe --memory 1100000 -v
	is "$output" "~ ^error: this is a warning" "passed on with -v"
}

@test "a trainer that hangs, or stops in the middle of a record: timeout, and it is gone" {
	FAKE_FAULT=hang probe --memory 1G --deadline 1
	stops timeout "deadline of 1 s"
	FAKE_FAULT=half probe --memory 1G --deadline 1
	stops timeout "deadline of 1 s"
}

@test "done is not enough: rows, updates, validation and save must be shown" {
	FAKE_FAULT=rows probe --memory 1G
	stops error "had [01] rows where 16 were asked"
	FAKE_FAULT=idle probe --memory 1G
	stops error "after 0 applied updates"
	FAKE_FAULT=noval probe --memory 1G
	stops error "without a validation"
	FAKE_FAULT=nosave probe --memory 1G
	stops error "without a save"
}

@test "milliseconds that call themselves seconds" {
	FAKE_FAULT=ms probe --memory 1G
	stops error "is its unit seconds"
}

@test "what is no record is named with its place" {
	FAKE_FAULT=garbage probe --memory 1G
	stops error "read the trainer's records: record [0-9]+ at byte [0-9]+"
}

@test "it fits and crawls: spilled, which is a lack of memory" {
	FAKE_FAULT=spill FAKE_C=500 FAKE_T0=0 probe --memory 1G
	exits 0
	is "$(sizes spilled | tr ' ' '\n' | sort -n | head -1)" 16 "sizes that crawl"
	is "$(of probe '.largest, .largest_exact, .smallest_failed' | paste -sd' ')" "15 true 16" "conclusion"
	is "$(of trial 'select(.verdict == "spilled") | .why' | head -1)" "~ MiB are allocated, but the device holds .* of the best" "why"
}

@test "validation slower than training is no fault" {
	FAKE_FAULT=slowval FAKE_AT=8 probe --memory 2000000
	exits 0
	is "$(of probe '.largest, .largest_exact' | paste -sd' ')" "10 true" "conclusion"
	is "$(of trial 'select(.micro_batch == 8 and .update_seconds != null) | .update_seconds < 0.1' | sort -u)" true "and not counted as training"
}

@test "a trainer's own exit status is passed on when nothing was found: a crash 70, bad data 65, a lost device 69" {
	FAKE_AT=1 FAKE_FAULT=segv probe
	exits 70
	whole
	is "$(of probe '.status, .largest, .recommended' | paste -sd' ')" "error null null" "conclusion"
	is "$(of 'done' .status)" 70 "done"
	FAKE_AT=1 FAKE_FAULT=early probe
	exits 65
	whole
	is "$output" "~ crashed: the trainer left with status 65 .*: train-step: reading: data.txt: no such file" "message"
	FAKE_AT=1 FAKE_FAULT=gone probe
	exits 69
}

@test "a size that fitted and then crashes is no answer" {
	FAKE_FAULT=once FAKE_AT=8 probe --memory 1900000
	exits 0
	is "$(of trial 'select(.part == "speed" and .verdict == "crashed") | .micro_batch' | sort -nu | paste -sd' ')" "8 9" "crashes while timed"
	is "$(of probe '.largest, .largest_exact' | paste -sd' ')" "4 false" "conclusion"
	is "$output" "~ micro-batch [89] fitted once and then did not: crashed" "warning"
}

@test "a recommendation that does not run is none" {
	FAKE_FAULT=segv FAKE_AT=1 FAKE_ROLE=confirm probe --memory 2000000
	exits 70
	is "$(of probe '.status, .largest, .recommended' | paste -sd' ')" "error 10 null" "what was found is kept"
	is "$output" "~ micro-batch [0-9]+ was to be recommended, but its longer run ended otherwise: crashed" "message"
}

@test "what a trainer leaves behind ends with it" {
	FAKE_FAULT=child FAKE_AT=1 probe --memory 1100000
	exits 0
	run ! pgrep -f '^sleep 987$'
}

@test "other programs on the processors are named" {
	local spinners=() p
	for ((p = 0; p < $(nproc); p++)); do
		bash -c 'while :; do :; done' 3>&- &
		spinners+=($!)
	done
	FAKE_T0=20000 probe --memory 1400000 --seconds 0.6s
	kill "${spinners[@]}"
	exits 0
	is "$(of probe .why)" "~ other programs took [0-9]+ % of the processors" "why"
}
