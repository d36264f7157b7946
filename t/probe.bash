# probe.bash - a probe-batch beside a trainer that plays one (t/fake), for the 50x files.
# shellcheck shell=bash disable=SC2034,SC2154

# fake_install: once a file; copies, because a program's neighbour is found by its real path.
fake_install() {
	mkdir -p "$BATS_FILE_TMPDIR/bin"
	cp "$PILOT_BUILD/fake/probe-batch" "$PILOT_BUILD/fake/train-step" "$BATS_FILE_TMPDIR/bin/"
}

# probe ARGUMENT...: sets status, and the files out (JSON Lines) and err.
probe() {
	status=0
	TMPDIR=$BATS_TEST_TMPDIR timeout 200 "$BATS_FILE_TMPDIR/bin/probe-batch" -j --seconds 0.03s "$@" >"$out" 2>"$err" || status=$?
	output=$(cat "$err")
}

probe_setup() {
	out=$BATS_TEST_TMPDIR/out err=$BATS_TEST_TMPDIR/err
	export FAKE_LOG=$BATS_TEST_TMPDIR/log
	export FAKE_FIXED=1000000 FAKE_PER=100000
}

# of KIND FILTER: jq over the records of that kind.
of() { jq -r "select(.kind == \"$1\") | $2" "$out"; }

# sizes VERDICT: the micro-batches of the search that ended so, in order.
sizes() { of trial "select(.verdict == \"$1\" and (.part == \"search\" or .part == \"exact\")) | .micro_batch" | tr '\n' ' ' | sed 's/ $//'; }

# Every bracket is closed, and every trial belongs to a run of the stream.
whole() {
	is "$(jq -r 'select(.kind == "run") | .run' "$out" | sort)" "$(jq -r 'select(.kind == "end") | .run' "$out" | sort)" "each run has its end"
	is "$(jq -r 'select(.kind == "trial") | .run' "$out" | sort -u | comm -23 - <(jq -r 'select(.kind == "run") | .run' "$out" | sort -u))" "" "each trial has its run"
	is "$(jq -r .kind "$out" | head -1)" tool "first record"
	is "$(jq -r .kind "$out" | tail -1)" 'done' "last record"
	is "$(jq -r 'select(.kind == "tool" or .kind == "done") | .id' "$out" | uniq -c | wc -l)" 1 "one bracket of a tool"
}

# none_left: no trainer of this test file runs any more.
none_left() {
	eventually 5 _none_left
}
_none_left() {
	local exe
	for exe in /proc/[0-9]*/exe; do
		[[ $(readlink "$exe" 2>/dev/null) == "$BATS_FILE_TMPDIR/bin/"* ]] && return 1
	done
	return 0
}
