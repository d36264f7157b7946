#!/usr/bin/env bash
# answers.sh - how often the ledger's answers err where the truth is known, and what they cost on 10 million steps in 1,000
# runs: summary and compare (goal: under 2 seconds each, members of steps not read), one run's curve, beside sqlite3's query
# of the same runs' last losses on a table that holds the steps. Seconds are of the clock, memory is the peak.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${PILOT_BUILD:-build}" && pwd)
PATH=$build/bin:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
runs=${PILOT_BENCH_RUNS:-1000} steps=${PILOT_BENCH_STEPS_A_RUN:-10000} studies=${PILOT_BENCH_STUDIES:-2000} nights=${PILOT_BENCH_NIGHTS:-4000}

echo "coverage of 95 % intervals, 20,000 samples each (the share's interval is never below 95 %):"
"$build/tools/simulate" coverage 20000
echo "differences told between identical arms, $studies studies each (at most 5 %; the standard error is $(awk -v n="$studies" 'BEGIN { printf "%.1f", 100 * sqrt(0.05 * 0.95 / n) }') %):"
"$build/tools/simulate" compare "$studies"
echo "false alarms of check on steady nights, $nights each (the standard error is $(awk -v n="$nights" 'BEGIN { printf "%.1f", 100 * sqrt(0.05 * 0.95 / n) }') %):"
"$build/tools/simulate" check "$nights"

"$build/tools/campaign" "$runs" "$steps" | ledger append "$work/l"
printf '%s steps in %s runs, a ledger of %s MB\n' $((runs * steps)) "$runs" $(($(stat -c %s "$work/l") / 1000000))
once() {
	local what=$1
	shift
	/usr/bin/time -f "  $what: %e s, %M KiB" "$@" >"$work/out"
}
for _ in 1 2 3; do once "ledger summary" ledger summary "$work/l"; done
for _ in 1 2 3; do once "ledger compare" ledger compare "$work/l"; done
[ "$(ledger compare -j "$work/l" | jq -s '[.[] | select(.table == "arms") | .n] | add')" = "$runs" ]
one=$(ledger summary -j "$work/l" | head -1 | jq -r .id)
once "one run's curve" ledger plot -r "$one" -o "$work/curve.svg" "$work/l"
if command -v strace >/dev/null; then
	bytes=$(strace -f -e trace=read,pread64 ledger compare "$work/l" 2>&1 >/dev/null | awk -F'= ' '/^(read|pread64)/ { s += $NF } END { print s }')
	printf '  compare read %s of %s bytes\n' "$bytes" "$(stat -c %s "$work/l")"
fi
if command -v sqlite3 >/dev/null; then
	ledger export csv --fields run,update,loss "$work/l" >"$work/steps.csv"
	sqlite3 "$work/db" 'CREATE TABLE step (run TEXT, "update" INTEGER, loss REAL)' ".import --csv --skip 1 $work/steps.csv step"
	once "sqlite3, last update and loss a run" sqlite3 "$work/db" 'SELECT run, max("update"), loss FROM step GROUP BY run'
fi
