#!/usr/bin/env bash
# summary.sh - `ledger summary` over a million step records of 40 runs, against jq and mlr on JSON Lines and
# CSV, and against sqlite3's query on an imported table. Each does the same: per run the number of steps, the last update,
# the last loss and the time. Seconds are of processor time, so that a busy machine does not decide. Goals: 50 times jq, not slower than sqlite3's query.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${PILOT_BUILD:-build}" && pwd)
PATH=$build/bin:$PATH
python=${PILOT_PYTHON:-/usr/bin/python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
steps=${PILOT_BENCH_STEPS:-1000000}
runs=40

echo "making $steps step records ..." >&2
"$python" t/stream.py --runs $runs --steps $((steps / runs)) --eval-every 500 >"$work/stream"
ledger append "$work/x.ledger" <"$work/stream"
ledger show -j "$work/x.ledger" >"$work/x.jsonl"
jq -r 'select(.kind == "step") | [.run, .t, .update, .examples, .loss, .seconds] | @csv' "$work/x.jsonl" >"$work/x.csv"

# once COMMAND...: its processor seconds
once() {
	local TIMEFORMAT='%U %S'
	{ time "$@" >"$work/out"; } 2>&1 | awk '{ t += $1 + $2 } END { printf "%.4f\n", t }'
}
# best COMMAND...: the least of five, so that the caches are warm
best() { for _ in 1 2 3 4 5; do once "$@"; done | sort -n | head -1; }
of_jq() { jq -n -c 'reduce (inputs | select(.kind == "step")) as $r ({}; .[$r.run] |= {n: (.n + 1), update: $r.update, loss: $r.loss, seconds: (.seconds + $r.seconds)})' "$work/x.jsonl"; }
of_mlr() { mlr --icsv --implicit-csv-header --ojson stats1 -a count,max,sum -f 3,5,6 -g 1 "$work/x.csv"; }
of_sqlite() { sqlite3 "$work/x.db" 'SELECT run, count(*), max("update"), loss, sum(seconds) FROM step GROUP BY run;'; }

s=$(best ledger summary "$work/x.ledger")
[ "$(ledger summary -j "$work/x.ledger" | jq -s 'map(.updates) | add')" = "$steps" ]
p=$(best ledger summary "$work/stream")
printf 'ledger summary over %d step records: %s s from the ledger (%.1f MB), %s s from the plain stream (%.1f MB)\n' "$steps" "$s" \
	"$(awk -v n="$(stat -c %s "$work/x.ledger")" 'BEGIN { print n / 1e6 }')" "$p" "$(awk -v n="$(stat -c %s "$work/stream")" 'BEGIN { print n / 1e6 }')"
against() { awk -v w="$1" -v t="$2" -v s="$s" -v g="$3" 'BEGIN { printf "  %-28s %8.3f s: ledger summary is %.1f times as fast%s\n", w, t, t / s, g }'; }
against "jq on JSON Lines" "$(once of_jq)" " (goal: 50)"
if command -v mlr >/dev/null; then against "mlr on CSV" "$(once of_mlr)" ""; fi
if command -v sqlite3 >/dev/null; then
	import=$(once sqlite3 "$work/x.db" -cmd 'CREATE TABLE step(run TEXT, t TEXT, "update" INT, examples INT, loss REAL, seconds REAL);' '.mode csv' ".import $work/x.csv step")
	against "sqlite3, the query alone" "$(best of_sqlite)" " (goal: not slower), after $import s of import"
fi
if [ -x /usr/bin/time ]; then
	/usr/bin/time -f %M -o "$work/kb" ledger summary "$work/x.ledger" >/dev/null
	awk -v kb="$(tail -1 "$work/kb")" 'BEGIN { printf "  resident at the peak: %.1f MB\n", kb / 1e3 }'
fi
a=$(once ledger show -t --last "$work/x.ledger")
echo "ledger show -t --last: $a s"
