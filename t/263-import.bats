#!/usr/bin/env bats
# 263-import.bats - ledger import: old logs as runs that stand beside new ones.

load helpers
load ledger

setup() {
	ledger_setup
}

# runs FILE: the summary's rows of a stream.
rows() { ledger summary -j "$@"; }

@test "import: a table with a map, and fields that are told" {
	printf 'n,the loss,val,rate\n1,3.5,,0.1\n2,3.25,3.125,0.05\n3,1.5,2.75,0.05\n' >a.csv
	ledger import csv --map 'update=n,loss=the loss,validation_loss=val,lr=rate' --name old --set model=mlp:hidden=8 --set seed=7 --set micro_batch=32 a.csv >s
	run -0 ledger show -j s
	is "$(field loss step <<<"$output" | xargs)" "3.5 3.25 1.5" "losses"
	is "$(field lr step <<<"$output" | xargs)" "0.1 0.05 0.05" "rates"
	is "$(jq -c 'select(.kind == "eval") | [.update, .loss, .split]' <<<"$output" | xargs)" "[2,3.125,validation] [3,2.75,validation]" "an empty cell is no evaluation"
	is "$(jq -c 'select(.kind == "run") | [.role, .trainer, .imported, .name, .model, .seed, .micro_batch]' <<<"$output")" \
		'["train","import","a.csv","old","mlp:hidden=8",7,32]' "run"
	run -0 rows s
	jq -e '.status == "done" and .updates == 3 and .validation_loss == 2.75 and .best_validation_loss == 2.75' <<<"$output"
	ledger append l <s
	ledger verify l
}

@test "import: the download of a chart of several runs (Step, NAME - metric, __MIN, __MAX)" {
	printf '"Step","quiet-sun-1 - train/loss","quiet-sun-1 - train/loss__MIN","quiet-sun-1 - train/loss__MAX","a - b-2 - train/loss","a - b-2 - train/loss__MIN","a - b-2 - train/loss__MAX"\n' >w.csv
	printf '"0","2.5","2.5","2.5","2.75","2.75","2.75"\n"10","1.25","1.25","1.25","",,""\n"20","1.125","1","2","0.5","0.5","0.5"\n' >>w.csv
	run -0 bash -c "ledger import csv w.csv | ledger show -j -"
	is "$(jq -r 'select(.kind == "run") | .name' <<<"$output" | xargs -d '\n')" "quiet-sun-1 a - b-2" "names"
	is "$(jq -r 'select(.kind == "step") | "\(.update):\(.loss)"' <<<"$output" | xargs)" "0:2.5 10:1.25 20:1.125 0:2.75 20:0.5" "steps"
}

@test "import: a TensorBoard download of one tag" {
	printf 'Wall time,Step,Value\n1600000000.25,1,0.5\n1600000060.5,2,NaN\n' >run-x-tag-loss.csv
	run -0 bash -c "ledger import csv run-x-tag-loss.csv | ledger show -j -"
	is "$(jq -r 'select(.kind == "run") | .name + " " + .t' <<<"$output")" "~ ^run-x-tag-loss.csv 2020-09-13T12:26:40.25" "name and time"
	is "$(field loss step <<<"$output" | xargs)" "0.5 NaN" "losses"
	is "$(field status end <<<"$output")" diverged "a last loss that is no number"
	run -0 bash -c "ledger import csv --map update=Step,validation_loss=Value,time='Wall time' run-x-tag-loss.csv | ledger show -j -"
	is "$(field loss eval <<<"$output" | xargs)" "0.5 NaN" "the tag is what the map says"
}

@test "import: a log turned to JSON Lines; names with slashes, spaces and UTF-8" {
	printf '%s\n' '{"step": 1, "train/loss": 2.5, "größe": "x", "deep": {"a": 1}}' '{"step": 2, "train/loss": 1.5, "eval loss ü": 1.25}' '' '{"eval loss ü": null, "step": 3, "train/loss": "Infinity"}' >a.jsonl
	run -0 bash -c "ledger import jsonl --map 'update=step,loss=train/loss,validation_loss=eval loss ü' a.jsonl 2>err | ledger show -j -"
	is "$(field loss step <<<"$output" | xargs)" "2.5 1.5 Infinity" "losses"
	is "$(field loss eval <<<"$output" | xargs)" 1.25 "validation"
	run -0 bash -c "ledger import jsonl a.jsonl 2>err | ledger show -j -"
	is "$(field loss step <<<"$output" | xargs)" "2.5 1.5 Infinity" "by their usual names"
	is "$(<err)" "~ columns that were not taken: .*größe" "told"
}

@test "import: runs in a column; rows twice and out of order; all stand in compare's words" {
	printf 'run,step,loss,val_loss\na,2,2.0,2.5\nb,1,9,\na,1,3.0,\na,2,1.5,2.25\nb,2,8,7.5\n' >a.csv
	ledger import csv a.csv >s
	run -0 rows s
	is "$(jq -c '[.updates, .validation_loss]' <<<"$output" | xargs)" "[2,2.25] [2,7.5]" "the later row counts"
	run -0 ledger show -j s
	is "$(field name run <<<"$output" | xargs)" "a b" "names"
	stream --steps 5 >r
	ledger append l <r
	ledger append l <s
	is "$(rows l | wc -l)" 3 "beside a run of ours"
	for lr in 1e-3 2e-3; do ledger import csv --set optimizer=adamw:lr=$lr --set seed=1 a.csv | ledger append c; done
	# without times, and none invented
	run -0 ledger compare -j --by lr c
	jq -es '[.[] | select(.table == "arms")] | length == 2 and all(.[]; .training_seconds == null)' <<<"$output"
}

@test "import: CRLF, a byte order mark, quotes, steps beyond 2^53, gzip" {
	printf '\xef\xbb\xbfstep,"train/loss","say ""x"""\r\n9007199254740993,0.1,"a\r\nb"\r\n9223372036854775807,1e-320,c\r\n' >a.csv
	ledger import csv a.csv 2>err >s
	is "$(ledger show -j s | grep -o '"update":[0-9]*' | cut -d: -f2 | xargs)" "9007199254740993 9223372036854775807" "exact"
	is "$(ledger show -j s | field loss step | head -1)" 0.1 "loss"
	gzip -k a.csv
	ledger import csv a.csv.gz 2>err >z
	is "$(ledger show -j z | grep -c '"kind":"step"')" 2 "gzip"
}

@test "import: a bad cell is named by line and column, and no run is written" {
	bad() {
		printf "$1" >b.csv
		run -65 bash -c "ledger import csv b.csv 2>err | ledger show -j - 2>/dev/null ; exit \${PIPESTATUS[0]}"
		is "$output" "" "nothing"
		is "$(<err)" "~ $2" "message"
	}
	bad 'step,loss\n1,2\n2,x\n' 'importing: b.csv: line 3, column loss: x: not a number'
	bad 'step,loss\n1.5,2\n' 'line 2, column step: 1.5: not a whole number'
	bad 'step,loss\n-1,2\n' 'line 2, column step: -1'
	bad 'step,loss,timestamp\n1,2,yesterday\n' 'line 2, column timestamp: yesterday: neither'
	bad 'step,loss\n1,2,3\n' 'line 2'
	bad 'step,loss,loss\n1,2,3\n' 'loss'
	bad 'loss,x\n1,2\n' 'no column is the update'
	bad 'step,x\n1,2\n' 'no column is a loss'
	bad 'x\n1\n' 'no column is the update, and none a loss'
	printf '{"step":1,"loss":1}\n{"step":2,\n' >b.jsonl
	run -65 bash -c "ledger import jsonl b.jsonl >/dev/null"
	is "$output" "~ b.jsonl.*line 2" "JSON"
}

@test "import: of several files all or nothing; the digest tells one that came twice" {
	printf 'step,loss\n1,2\n' >a.csv
	printf 'step,loss\n1,x\n' >b.csv
	run -65 --separate-stderr ledger import csv -j a.csv b.csv
	is "$output" "" "nothing"
	is "$stderr" "~ b.csv: line 2, column loss" "why"
	cp a.csv c.csv
	for f in a.csv c.csv; do ledger import csv $f | ledger append l; done
	run -0 bash -c "ledger export jsonl --kind run l | jq -r '.imported_digest // empty' | sort | uniq -d"
	is "$output" "sha256:$(sha256sum <a.csv | cut -c1-64)" "twice"
	is "$(ledger summary -j l | wc -l)" 2 "runs of their own"
}

@test "import: usage" {
	printf 'step,loss\n1,2\n' >a.csv
	run -64 ledger import a.csv
	is "$output" "~ csv or jsonl\?" "form"
	run -64 ledger import csv
	is "$output" "~ which file\?" "file"
	run -66 bash -c "ledger import csv nowhere >/dev/null"
	run -64 bash -c "ledger import csv --map loss a.csv >/dev/null"
	is "$output" "~ --map: loss: not FIELD=COLUMN" "map"
	run -64 bash -c "ledger import csv --map update=Step a.csv >/dev/null"
	is "$output" "~ --map: update=Step: a.csv has no such column" "column"
	run -64 bash -c "ledger import csv --set sead=1 a.csv >/dev/null"
	is "$output" "~ --set: sead=1: not FIELD=VALUE" "field"
	run -64 bash -c "ledger import csv --set seed=x a.csv >/dev/null"
	is "$output" "~ --set: seed=x: seed is of type" "type"
	run -64 ledger import csv --status fine a.csv
	is "$output" "~ --status: fine: not done" "status"
	run -0 bash -c "ledger import csv --status killed a.csv | ledger show -j -"
	is "$(field status end <<<"$output")" killed "told"
}
