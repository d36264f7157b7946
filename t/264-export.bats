#!/usr/bin/env bats
# 264-export.bats - ledger export: every record, exactly, as python's csv and json read it.

load helpers
load ledger

setup() {
	ledger_setup
}

@test "export: JSON Lines are what show prints; of a kind, of a run" {
	stream --steps 250 --runs 2 >a
	ledger append l <a
	cmp <(ledger export jsonl l) <(ledger show -j l)
	cmp <(ledger export jsonl <a) <(ledger show -j a)
	cmp <(ledger export jsonl --kind eval l) <(ledger show -j l | grep '"kind":"eval"')
	id=$(ledger summary -j l | jq -r .id | tail -1)
	cmp <(ledger export jsonl --kind step -r "$id" l) <(ledger show -j l | grep '"kind":"step"' | grep "$id")
	is "$(ledger export jsonl --kind step -r "$id" l | wc -l)" 250 "unsampled"
}

@test "export: python's csv reads from the table what json reads from the records" {
	stream --steps 120 --runs 2 >a
	ledger append l <a
	for kind in step eval run end; do
		ledger export csv --kind $kind l >k.csv
		ledger export jsonl --kind $kind l >k.jsonl
		"$PYTHON" - k.csv k.jsonl <<'P'
import csv, json, sys
table = list(csv.DictReader(open(sys.argv[1], newline="")))
lines = [json.loads(l) for l in open(sys.argv[2])]
assert len(table) == len(lines) > 0, (len(table), len(lines))
for t, l in zip(table, lines):
    for k, v in t.items():
        if v == "":
            assert l.get(k) in (None, ""), (k, l)
        elif isinstance(l[k], bool):
            assert v == ("true" if l[k] else "false"), (k, v)
        elif isinstance(l[k], (int, float)):
            assert type(l[k])(v) == l[k], (k, v, l[k])
        elif isinstance(l[k], str):
            assert v.lstrip("'") == l[k], (k, v, l[k])
        else:
            assert json.loads(v) == l[k], (k, v, l[k])
    assert set(l) - {"kind"} <= set(t), set(l) - set(t)
P
	done
}

@test "export: whole numbers in full, doubles to the bit, NaN and infinities" {
	base='"t":"2026-11-30T12:00:00.000000001Z","run":"01J00000000000000000000001"'
	printf '{"kind":"step",%s,"update":%s,"loss":%s}\n' "$base" 9007199254740993 0.1 "$base" 9223372036854775807 5e-324 "$base" 3 '"NaN"' "$base" 4 '"-Infinity"' "$base" 5 1.7976931348623157e308 >a
	ledger append l <a 2>/dev/null || true # an open run
	run -0 ledger export csv --fields update,loss l
	is "$(xargs <<<"$output")" "update,loss 9007199254740993,0.1 9223372036854775807,5e-324 3,NaN 4,-Infinity 5,1.7976931348623157e+308" "table"
	run -0 bash -c "ledger export csv l | cut -d, -f1-2 | tail -1"
	is "$output" "~ 01J00000000000000000000001.*2026-11-30T12:00:00.000000001Z" "run and t come first"
}

@test "export: fields that came late have columns; names with slashes, commas, UTF-8; no formula, no escape" {
	base='"kind":"step","t":"2026-11-30T12:00:00Z","run":"01J00000000000000000000001"'
	printf '{%s,"update":%s}\n' "$base" 1 "$base" '2,"a/ü, \"x\"":"=cmd|x","=z":"\u001b[31m"' >a
	ledger append l <a 2>/dev/null || true # an open run
	run -0 ledger export csv l
	is "$(wc -l <<<"$output")" 3 "rows"
	[[ $output != *$'\e'* && $output == *\'=cmd* && $output == *\'=z* ]]
	"$PYTHON" -c 'import csv, sys; r = list(csv.reader(sys.stdin)); assert len(set(map(len, r))) == 1 and "a/ü, \"x\"" in r[0], r' <<<"$output"
}

@test "export: an empty ledger, a pipe that ends, a full disk, usage" {
	ledger append l </dev/null || true
	[[ -e l ]] && run -0 ledger export csv l
	stream --steps 300 >a
	run -0 bash -c "ledger export csv <a | sed -n '\$='"
	is "$output" 301 "from a pipe"
	run -74 bash -c "ledger export csv a >/dev/full"
	run -64 ledger export a
	is "$output" "~ csv or jsonl\?" "form"
	run -64 ledger export csv --kind foo a
	is "$output" "~ --kind: foo: no such kind" "kind"
	run -64 ledger export jsonl --fields update a
	is "$output" "~ --fields goes with csv" "fields"
	run -66 ledger export csv nowhere
}
