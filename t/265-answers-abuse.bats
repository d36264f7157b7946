#!/usr/bin/env bats
# Records that no trainer would write, and the ledger's questions: no crash, and no run that vanishes.
# shellcheck disable=SC2154

load helpers

arms() {
	/usr/bin/python3 "$BATS_TEST_DIRNAME/answers.py" arms --arm a@1.0 --arm b@1.1
}

# resumes STEP - run i resumes run i + STEP, the last the first again; 0: each itself
resumes() {
	jq -c --slurp --argjson step "$1" '[.[] | select(.kind == "run") | .run] as $ids
		| .[] | if .kind == "run" then .run as $r | .resumed_run = $ids[(($ids | index($r)) + $step) % ($ids | length)] else . end'
}

@test "runs that resume themselves count as runs that resume nothing" {
	requires jq
	arms >"$BATS_TEST_TMPDIR/plain"
	resumes 0 <"$BATS_TEST_TMPDIR/plain" >"$BATS_TEST_TMPDIR/self"
	ledger compare -j "$BATS_TEST_TMPDIR/plain" >"$BATS_TEST_TMPDIR/a"
	ledger compare -j "$BATS_TEST_TMPDIR/self" >"$BATS_TEST_TMPDIR/b"
	cmp "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
}

@test "runs that resume each other in a circle do not vanish from compare" {
	requires jq
	arms | resumes 1 >"$BATS_TEST_TMPDIR/circle"
	run ledger compare "$BATS_TEST_TMPDIR/circle"
	[ "$status" -eq 0 ]
	[[ $output != *"No run is there yet"* ]]
	[[ $output == *$'\n'"a    5 "* ]]
	[[ $output == *$'\n'"b    5 "* ]]
}
