#!/usr/bin/env bats
# What takes as long as the grace that a command has to end: 30 seconds.

load ../helpers
load ../train

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

@test "a program that does not heed SIGTERM: ended by force, after its updates and after a signal" {
	cat >deaf.sh <<-'EOS'
		trap '' TERM
		n=0
		while :; do n=$((n + 1)); echo "{\"kind\":\"step\",\"update\":$n}" >&"$PILOT_RECORD_FD"; sleep 0.5; done
	EOS
	run -0 --separate-stderr train-step -j -n 3 -- sh deaf.sh
	is "$(jq -c 'select(.kind == "end") | [.status, .cause, .signal, .why]' <<<"$output")" '["done","updates","SIGKILL","it did not end on SIGTERM after its updates and was killed"]'
	train-step -j -- sh deaf.sh >out.jsonl 2>/dev/null &
	pid=$!
	eventually 10 grep -q step out.jsonl
	kill $pid
	wait $pid || is $? 143
	is "$(jq -c 'select(.kind == "end") | [.status, .cause, .signal]' out.jsonl)" '["stopped","asked","SIGKILL"]'
	is "$(of out.jsonl end why)" "~ was killed"
}
