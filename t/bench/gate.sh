#!/usr/bin/env bash
# gate.sh - gate on ten million records beside jq, which only copies them (a part, JSON Lines), and beside our own
# library copying them without a gate. Goal: memory under 16 MiB whatever the length.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${PILOT_BUILD:-build}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
n=${PILOT_BENCH_GATE:-10000000}
part=$((n < 300000 ? n : 300000))

# Processor seconds of a command, into `took`: a busy machine does not decide.
seconds() {
	local TIMEFORMAT='%U %S'
	{ time "$@" >/dev/null; } 2>took
	took=$(awk '{ t += $1 + $2 } END { print t }' took)
}

# The most that gate has in memory when all has gone through, into `kib`.
gated() {
	mkfifo in
	"$build/bin/gate" --no-replay <in &
	local pid=$!
	exec 7>in
	cat all.mp >&7
	kib=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")
	exec 7>&-
	wait $pid
	rm in
}

"$build/tools/steps" "$n" >all.mp
"$build/tools/steps" "$part" -j >part.jl
seconds gated
gate=$took
seconds "$build/tools/recat" all.mp
copy=$took
seconds jq -c . part.jl
jq=$took
seconds "$build/bin/gate" -j --no-replay part.jl
json=$took
awk -v n="$n" -v p="$part" -v g="$gate" -v c="$copy" -v j="$jq" -v o="$json" -v k="$kib" 'BEGIN {
	printf "gate, %d records of msgpack      %6.1f s %10.0f/s   peak %.1f MiB (goal: under 16)\n", n, g, n / g, k / 1024
	printf "  the library alone, copying them    %6.1f s %10.0f/s   gate takes x %.2f\n", c, n / c, g / c
	printf "  jq -c . on %d of JSON           %6.1f s %10.0f/s   gate from msgpack is x %.1f\n", p, j, p / j, (n / g) / (p / j)
	printf "gate -j on the same JSON             %6.1f s %10.0f/s   x %.1f of jq\n", o, p / o, j / o }'
