#!/usr/bin/env bash
# records.sh - records of 12 fields read, written and copied, against jq and mlr. The same records as
# msgpack and as JSON Lines; each line's programs take turns, the better of two counts, in seconds of
# processor time, so that a busy machine does not decide. Goal: 20 times jq.
# shellcheck disable=SC2317,SC2016,SC1010  # functions are called by name; mlr's then, jq's and mlr's dollars
set -eu
cd "$(dirname "$0")/../.."
tools=$(cd "${PILOT_BUILD:-build}" && pwd)/tools
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
n=${PILOT_BENCH_RECORDS:-200000}

# Processor seconds of a command, its threads' too, into `took`.
seconds() {
	local TIMEFORMAT='%U %S'
	took=$({ time "$@" >/dev/null; } 2>&1 | awk '{ t += $1 + $2 } END { print t }')
}
least() { awk -v a="$1" -v b="$2" 'BEGIN { print (a == "" || b < a) ? b : a }'; }

# compare WHAT: ours, jq, mlr are functions; prints records per second and ratios.
compare() {
	local a='' b='' c=''
	for _ in 1 2; do
		seconds ours
		a=$(least "$a" "$took")
		seconds by_jq
		b=$(least "$b" "$took")
		seconds by_mlr
		c=$(least "$c" "$took")
	done
	awk -v what="$1" -v n="$n" -v a="$a" -v b="$b" -v c="$c" 'BEGIN {
		printf "%-52s %10.0f/s   jq %8.0f/s (x %.1f)   mlr %8.0f/s (x %.1f)\n", what, n / a, n / b, b / a, n / c, c / a }'
}

"$tools/steps" "$n" >s.mp
"$tools/steps" "$n" -j | grep '"step"' >s.jl
echo "records: $n steps of 12 fields, $(($(stat -c %s s.mp) / n)) bytes each as msgpack, $(($(stat -c %s s.jl) / n)) as JSON"

by_jq() { jq empty s.jl; }
by_mlr() { mlr --ijsonl --ojsonl nothing s.jl; }
ours() { "$tools/recat" -n s.mp; }
compare "read and checked, ours from msgpack"
ours() { "$tools/recat" -n s.jl; }
compare "read and checked, ours from JSON Lines"

by_jq() { jq -c . s.jl; }
by_mlr() { mlr --ijsonl --ojsonl cat s.jl; }
ours() { "$tools/recat" s.mp; }
compare "copied, ours msgpack to msgpack"
ours() { "$tools/recat" -j s.jl; }
compare "copied, ours JSON Lines to JSON Lines"

by_jq() {
	jq -nc --argjson n "$n" 'range($n) | {kind: "step", t: "2026-11-30T18:34:05.123456789Z", run: "01JDZ3NDEKTSV4RRFFQ69G5FAV", update: ., epoch: (. / 4096),
		examples: (16 * .), tokens: (1024 * .), loss: (1 / (. + 1) + 0.01 * (. | sin)), lr: 1e-3, gradient_norm: (. / 7), rows: 16, seconds: (0.0123 + 0.001 * (7 * . | sin))}'
}
by_mlr() {
	mlr --ojsonl seqgen -f update --start 1 --stop "$n" then put -q 'emit {"kind": "step", "t": "2026-11-30T18:34:05.123456789Z", "run": "01JDZ3NDEKTSV4RRFFQ69G5FAV", "update": $update,
		"epoch": $update / 4096, "examples": 16 * $update, "tokens": 1024 * $update, "loss": 1 / $update + 0.01 * sin($update), "lr": 1e-3, "gradient_norm": $update / 7, "rows": 16, "seconds": 0.0123 + 0.001 * sin(7 * $update)}'
}
ours() { "$tools/steps" "$n"; }
compare "written, ours as msgpack"
ours() { "$tools/steps" "$n" -j; }
compare "written, ours as JSON Lines"
