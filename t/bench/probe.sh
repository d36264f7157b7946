#!/usr/bin/env bash
# probe.sh - the exact maximum by probe-batch's search, against what a script does with train-step:
# plain powers of two (which stop at the last that fits), and doubling with bisection after it.
# Trials and seconds of the search alone, several budgets in turn. A trial of theirs has the
# settings of ours, asked of train-step in the same words, in a process of its own.
set -eu
build=${PILOT_BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}

# fits SIZE BUDGET: one trial, in a process of its own.
fits() {
	rm -rf "$work/c"
	trials=$((trials + 1))
	printf '{"kind":"request","t":"2026-11-30T00:00:00Z","id":"x","role":"trial","micro_batch":%d,"memory_bytes":%d,"updates":3,"val_every":2,"val_examples":%d,"save_every":2,"save":"%s","last_window":"drop"}\n' \
		"$1" "$2" "$1" "$work/c" | "$build/bin/train-step" -j - 2>/dev/null |
		grep -q '"kind":"end".*"status":"done"'
}

# Both peers double first; sets lo, hi, trials, seconds.
powers() {
	trials=0 lo=0 hi=1
	while fits $hi "$1"; do lo=$hi hi=$((hi * 2)); done
}
bisection() {
	powers "$1"
	while ((hi - lo > 1)); do
		local middle=$(((lo + hi) / 2))
		if fits $middle "$1"; then lo=$middle; else hi=$middle; fi
	done
}
timed() {
	local begin=$EPOCHREALTIME
	"$@"
	seconds=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
}

for mib in 8 24 80; do
	budget=$((mib << 20))
	"$build/bin/probe-batch" -j --memory $budget --seconds 0.01s >"$work/probe" 2>/dev/null
	read -r largest after count taken < <(jq -rs '(map(select(.kind == "probe"))[0]) as $p
		| map(select(.kind == "trial" and (.part == "search" or .part == "exact"))) | [$p.largest, $p.trials_after_failure, length, (map(.seconds) | add)] | @tsv' "$work/probe")
	printf 'within %3dM probe-batch    finds %5d in %2d trials (%d after the first failure; goal: at most 5), %.2f s\n' $mib "$largest" "$count" "$after" "$taken"
	for peer in powers bisection; do
		timed $peer $budget
		awk -v b=$mib -v n=$peer -v lo="$lo" -v l="$largest" -v t="$trials" -v c="$count" -v s="$seconds" -v p="$taken" 'BEGIN {
			printf "within %3dM %-14s finds %5d in %2d trials, %.2f s: probe-batch has %.2f x its size, %.2f x its trials, %.2f x its seconds\n", b, n, lo, t, s, l / lo, c / t, p / s }'
	done
done
