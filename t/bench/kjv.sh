#!/usr/bin/env bash
# kjv.sh - a byte-level GPT of 4 layers, 128 wide, on the King James text for five minutes: nats per byte on
# text that it never saw, beside what gzip -9 needs for the same bytes. Goal: below 1.64.
# PILOT_BENCH_UPDATES is the schedule's horizon, which 300 s of two cores may not reach (2026-11-30: 2455 updates at 92 ms,
# 1.461 nats/byte on validation): PILOT_BENCH_SECONDS ends the training then, at a high rate still.
set -eu
cd "$(dirname "$0")/../.."
PATH=$(cd "${PILOT_BUILD:-build}" && pwd)/bin:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
updates=${PILOT_BENCH_UPDATES:-3500}
limit=${PILOT_BENCH_SECONDS:-300}

if ! bible -f gen1:1-rev22:21 >kjv.txt 2>/dev/null; then
	echo "no bible command (bible-kjv, bible-kjv-text): nothing to train on"
	exit 0
fi
status=0
train-step -j -m gpt:layers=4,width=128,heads=4,context=128 -l 128 -d text:file=kjv.txt -o adamw:lr=3e-3,beta2=0.99,weight_decay=0.1 \
	--schedule "cosine:warmup=$((updates < 200 ? updates / 2 : 100))" --clip 1 -b 16 -n "$updates" --stop "seconds=$limit" --threads "${PILOT_THREADS:-2}" >run.jsonl || status=$?

# the validation stretch: the bytes behind the first 90 %, and gzip's figure for them, alone and in the whole text
bytes=$(stat -c %s kjv.txt)
held=$(jq -r 'select(.kind == "eval" and .split == "validation") | .supervised' run.jsonl | tail -1)
tail -c +$((bytes - 2 * held)) kjv.txt | head -c "$held" | gzip -9 >held.gz
gzip -9 <kjv.txt >whole.gz
jq -rs --argjson held "$held" --argjson alone "$(stat -c %s held.gz)" --argjson bytes "$bytes" --argjson whole "$(stat -c %s whole.gz)" '
	def nats(z; n): z * 8 * (2 | log) / n;
	def round3: . * 1000 | round / 1000;
	(map(select(.kind == "end"))[0]) as $e | (map(select(.kind == "eval" and .split == "validation"))[-1]) as $v | (map(select(.kind == "eval" and .split == "test"))[-1]) as $t
	| (map(select(.kind == "step"))[1:] | map(.seconds)) as $s
	| "gpt 4 x 128 on the King James text: \($e.status) after \($e.updates) updates, \($e.tokens) tokens, \($e.seconds | floor) s; an update of 2048 tokens takes \($s | sort[length / 2 | floor] * 1000 | round) ms (median)",
	  "held-out \($v.supervised) bytes: \($v.loss | round3) nats/byte (goal: below 1.64); gzip -9 of the same bytes \(nats($alone; $held) | round3), ratio \($v.loss / nats($alone; $held) | round3); gzip -9 of the whole text \(nats($whole; $bytes) | round3)",
	  if $t then "test \($t.supervised) bytes, scored once: \($t.loss | round3) nats/byte" else empty end' run.jsonl
exit "$status"
