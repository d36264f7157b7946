#!/usr/bin/env bats
# probe-batch: signals, dead readers and dead parents leave a whole stream and no process behind.

load helpers
load probe

setup_file() { fake_install; }
setup() {
	probe_setup
	export FAKE_AT=8 TMPDIR=$BATS_TEST_TMPDIR
}

# start ARGUMENT...: in the background, until a trial has been written; sets pid.
start() {
	"$BATS_FILE_TMPDIR/bin/probe-batch" -j --memory 1G "$@" >"$out" 2>"$err" 3>&- &
	pid=$!
	eventually 10 grep -q '"kind":"trial".*"micro_batch":4' "$out"
}

# The way it ended: bash gives 128 + signal.
reap() {
	status=0
	wait "$pid" || status=$?
	output=$(cat "$err")
}

@test "SIGINT and SIGTERM: the trainer ends, the stream is whole, what is known is kept, and it dies of the signal" {
	local sig number
	for sig in INT TERM; do
		number=$((128 + $(kill -l $sig)))
		FAKE_FAULT=hang start
		kill -s $sig "$pid"
		reap
		whole
		is "$(of probe '.status, .largest' | paste -sd' ')" "stopped 4" "$sig: conclusion"
		is "$(of end 'select(.status == "killed") | .why')" "~ asked to stop" "$sig: the open run"
		none_left
		is "$(find "$BATS_TEST_TMPDIR" -name 'pilot-probe*')" "" "$sig: temporary folders"
		is "$status" $number "$sig: status"
		is "$(of 'done' .status)" $number "$sig: done"
	done
}

@test "a trainer that ignores SIGTERM is killed" {
	FAKE_FAULT=hang start
	kill -TERM "$pid"
	ended "$pid" 10
	reap
	none_left
}

@test "a second signal ends it at once, and the trainer with it" {
	FAKE_FAULT=hang start
	kill -TERM "$pid"
	sleep 0.3
	kill -TERM "$pid" 2>/dev/null || true
	ended "$pid" 5
	reap
	none_left
}

@test "SIGKILL on probe-batch takes the trainer along" {
	FAKE_FAULT=hang start
	kill -KILL "$pid"
	reap
	is "$status" 137 "status"
	none_left
}

@test "a reader that goes away: no process stays, and it dies of SIGPIPE" {
	local codes
	codes=$(bash -c '"$1" --msgpack --memory 1G --seconds 5 | head -c 1000 >/dev/null; echo "${PIPESTATUS[0]}"' - "$BATS_FILE_TMPDIR/bin/probe-batch" 2>"$err")
	is "$codes" 141 "status"
	is "$(cat "$err")" "" "nothing to say"
	none_left
}

@test "a full disk is 74" {
	[[ -w /dev/full ]] || skip "no /dev/full"
	status=0
	"$BATS_FILE_TMPDIR/bin/probe-batch" -j --memory 1200000 --seconds 0.01s >/dev/full 2>"$err" || status=$?
	output=$(cat "$err")
	exits 74
	is "$output" "~ No space left" "message"
	none_left
}

@test "a folder for checkpoints that cannot be made is 74" {
	status=0
	TMPDIR=$BATS_TEST_TMPDIR/absent "$BATS_FILE_TMPDIR/bin/probe-batch" -j >"$out" 2>"$err" || status=$?
	output=$(cat "$err")
	exits 74
	is "$output" "~ temporary folder: in .*absent: No such file or directory" "message"
	is "$(of 'done' .status)" 74 "done"
}
