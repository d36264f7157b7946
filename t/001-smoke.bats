# 001-smoke.bats - each command starts, explains itself, and refuses what it does not know.
# Also run with the sanitizers' build.

load helpers

commands=(train-step probe-batch gate ledger)

@test "--version" {
	for c in "${commands[@]}"; do
		run --separate-stderr "$c" --version
		exits 0 "$c --version"
		is "$output" "~ ^$c \\(pilot\\) [0-9]+\\.[0-9]+\\.[0-9]+\$" "$c --version"
		is "$stderr" "" "$c --version says nothing on stderr"
	done
}

@test "--help goes to stdout and names the command" {
	for c in "${commands[@]}"; do
		run --separate-stderr "$c" --help
		exits 0 "$c --help"
		is "$output" "~ ^usage: $c" "$c --help"
		is "$stderr" "" "$c --help says nothing on stderr"
	done
}

@test "train-step and probe-batch explain every setting of a run" {
	sed -n 's/^OPTION([a-z_]*, "\([^"]*\)".*/\1/p' "$PILOT_ROOT/lib/wire/options.list" >"$BATS_TEST_TMPDIR/options"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/options")" -gt 20 ]
	for c in train-step probe-batch; do
		"$c" --help >"$BATS_TEST_TMPDIR/help"
		while read -r o; do
			case $c$o in probe-batchmicro-batch | probe-batchresume) continue ;; esac # it refuses them
			is "$(grep -cE -- "^ +(-., )?--$o " "$BATS_TEST_TMPDIR/help")" 1 "$c --help has --$o"
		done <"$BATS_TEST_TMPDIR/options"
	done
}

@test "an unknown option is a usage error, on stderr" {
	for c in "${commands[@]}"; do
		run --separate-stderr "$c" --no-such-option
		exits 64 "$c --no-such-option"
		is "$output" "" "$c: nothing on stdout"
		is "$stderr" "~ ^$c: --no-such-option: unknown option" "$c names it"
		run --separate-stderr "$c" -%
		exits 64 "$c -%"
		is "$stderr" "~ ^$c: -%: unknown option" "$c names the letter"
	done
}

@test "control characters of an argument are escaped in messages" {
	run --separate-stderr gate $'--x\e[31m\n'
	exits 64
	is "$stderr" '~ ^gate: --x\\x1b\[31m\\x0a: unknown option' "escaped"
}

@test "wrong values are refused by the option's name" {
	run --separate-stderr train-step -b 3x
	exits 64
	is "$stderr" '~ ^train-step: --micro-batch: "3x": not a whole number' "a number"
	run --separate-stderr probe-batch --micro-batch
	exits 64
	is "$stderr" "~ ^probe-batch: --micro-batch: needs a value" "a missing value"
	run --separate-stderr train-step -m 'mlp:hidden=8,nonsense=1'
	exits 64
	is "$stderr" '~ nonsense' "an unknown key"
}

@test "a last flush that fails is an error" {
	[ -w /dev/full ] || skip "no /dev/full"
	for c in "${commands[@]}"; do
		run bash -c '"$1" --help 2>&1 >/dev/full' _ "$c"
		exits 74 "$c --help >/dev/full"
		is "$output" "~ ^$c: writing: standard output: No space left on device" "$c says why"
		run bash -c '"$1" --version 2>&1 >&-' _ "$c"
		exits 74 "$c --version with stdout closed"
	done
}

@test "a small run passes the gate into a ledger" {
	cd "$BATS_TEST_TMPDIR"
	train-step -m mlp:hidden=8 -n 3 -b 4 --memory 64M >bad 2>err || rc=$?
	is "${rc:-0}" 64 "an mlp cannot learn sums"
	train-step -m gpt:layers=1,width=16,heads=2,context=16 -n 4 -b 4 -C ckpt >run.mp
	run bash -o pipefail -c 'gate <run.mp | ledger append -e runs.ledger'
	exits 0 "gate | ledger append -e"
	run ledger summary runs.ledger
	exits 0
	id=$(ledger show -j runs.ledger | sed -n 's/.*"kind":"end".*"run":"\([0-9A-Z]*\)".*/\1/p')
	is "${#id}" 26 "one run has ended"
	is "$output" "~ ${id:0:8}" "the summary has its row"
	requires msgpack
	zcat runs.ledger >back.mp
	records run.mp >run.json
	records back.mp >back.json
	is "$(grep -vxFf back.json run.json)" "" "every record that the trainer wrote is in the ledger"
}
