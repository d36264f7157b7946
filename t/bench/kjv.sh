#!/usr/bin/env bash
# kjv.sh - a 4-layer, 128-wide byte GPT on the King James Bible: nats per byte on held-out text within five
# minutes, against gzip -9 of the whole text.
set -eu
export LC_ALL=C
bin=${PILOT_BUILD:-build}/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! bible -f gen1:1-rev22:21 >"$work/kjv.txt" 2>"$work/err"; then
	echo "kjv: skipped: bible-kjv and bible-kjv-text are not installed"
	exit 0
fi
gzip9=$(awk -v a="$(gzip -9 -c "$work/kjv.txt" | wc -c)" -v b="$(wc -c <"$work/kjv.txt")" 'BEGIN { print a / b * 8 * log(2) }')
"$bin/train-step" -j -m gpt:layers=4,width=128,heads=4 -d "text:file=$work/kjv.txt" -l 64 -b 16 -n "${KJV_UPDATES:-5000}" \
	-o adamw:lr=3e-3 --schedule cosine:warmup=50 --clip 1 --val-every 1000 --val-micro-batch 100 --stop seconds=300 >"$work/r.jsonl"
jq -r --argjson g "$gzip9" 'select(.kind == "end") |
	"kjv: \(.status) after \(.updates) updates, \(.seconds | floor) s, \(.tokens_per_second | floor) bytes/s",
	"kjv: held-out \(.validation_loss * 1000 | round / 1000) nats/byte, gzip -9 \($g * 1000 | round / 1000): \(.validation_loss / $g * 1000 | round / 1000) of it (below 1 is the goal)",
	"kjv: \(.seconds / 300 * 100 | round / 100) of five minutes"' "$work/r.jsonl"
