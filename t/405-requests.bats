#!/usr/bin/env bats
# train-step -: requests on standard input, one after another, in one process.

load helpers
load train

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# request ID KEY:VALUE,...: one as JSON Lines.
request() { printf '{"kind":"request","t":"2026-11-30T00:00:00Z","id":"%s"%s}\n' "$1" "${2:+,$2}"; }

small='"model":"gpt:layers=1,width=8,heads=2"'

@test "several requests, good and bad: each is answered by a run and its end, in order" {
	{
		request a "$small,\"updates\":3,\"role\":\"trial\",\"parent\":\"P\""
		request b "$small,\"updates\":3,\"colour\":\"red\""
		request c '"model":"mlp:hidden=nothing"'
		request d '"data":"text:file=/nowhere/at/all"'
		request e "$small,\"updates\":3,\"memory_bytes\":100000"
		request f "$small,\"updates\":3,\"dropout\":7"
		request g "$small,\"updates\":3,\"role\":\"spy\""
		request h "$small,\"updates\":2,\"seed\":9"
	} >in
	run -64 --separate-stderr bash -c 'train-step -j - <in >out.jsonl'
	is "$(jq -r 'select(.kind == "run") | .request' out.jsonl | paste -sd ' ')" "a b c d e f g h"
	is "$(jq -r 'select(.kind == "end") | .status' out.jsonl | paste -sd ' ')" "done error error error oom error error done"
	is "$(jq -r 'select(.kind == "end") | .run' out.jsonl)" "$(jq -r 'select(.kind == "run") | .run' out.jsonl)"
	is "$(jq -r 'select(.kind == "run" and .request == "a") | .role + " " + .parent' out.jsonl)" "trial P"
	is "$(jq -r 'select(.kind == "run" and .request == "h") | [.seed, .updates] | @csv' out.jsonl)" 9,2
	is "$(jq -r 'select(.kind == "end") | .why // "-"' out.jsonl | sed -n 2p)" "~ unknown setting \"colour\""
	is "$(jq -r 'select(.kind == "end") | .why // "-"' out.jsonl | sed -n 4p)" "~ /nowhere/at/all"
	is "$(jq -r 'select(.kind == "end") | .why // "-"' out.jsonl | sed -n 6p)" "~ --dropout"
	is "$(jq -r .kind out.jsonl | sed -n '1p;$p' | paste -sd ' ')" "tool done"
	is "$(of out.jsonl done status)" 64
}

@test "a request gives what the same options give, bit by bit, also after others and after running out of memory" {
	train-step -j -n 5 -s 3 -o sgd:lr=0.1 >alone.jsonl
	{
		request a "$small,\"updates\":4"
		request b '"memory_bytes":500000,"updates":4'
		request c '"updates":5,"seed":3,"optimizer":"sgd:lr=0.1"'
	} >in
	train-step -j - <in >out.jsonl 2>/dev/null || true
	run=$(jq -r 'select(.kind == "run" and .request == "c") | .run' out.jsonl)
	jq -c --arg r "$run" 'select(.run == $r)' out.jsonl >c.jsonl
	cmp <(steps alone.jsonl) <(steps c.jsonl)
	# Everything was freed in between: the load phase begins at zero.
	is "$(phase c.jsonl load first baseline_bytes)" 0
	is "$(of c.jsonl end allocated_peak_bytes)" "$(of alone.jsonl end allocated_peak_bytes)"
}

@test "records in, records out: a run record's own fields are a request" {
	requires msgpack
	train-step -n 4 -b 5 --dropout 0.2 --clip 0.3 --schedule cosine:warmup=2 >first
	records first | jq -c 'select(.kind == "run")
		| {kind: "request", t: "2026-11-30T00:00:00Z", id: "again", model, data, optimizer, schedule, clip, dropout, micro_batch, accum,
		   length, last_window, updates, examples, epochs, seed, precision, device, memory_bytes, threads, val_every, val_length,
		   val_micro_batch, val_examples, overfit, save_every, keep}' >in
	train-step -j - <in >again.jsonl
	records first >first.jsonl
	cmp <(steps first.jsonl) <(steps again.jsonl)
}

@test "an answer comes at once, while standard input stays open" {
	mkfifo in
	train-step -j - <in >out.jsonl &
	pid=$!
	exec 7>in
	request a "$small,\"updates\":2" >&7
	eventually 20 grep -q '"kind":"end"' out.jsonl
	request b "$small,\"updates\":2" >&7
	eventually 20 sh -c '[ $(grep -c "\"kind\":\"end\"" out.jsonl) = 2 ]'
	kill -0 $pid
	exec 7>&-
	wait $pid
	is "$(of out.jsonl done status)" 0
}

@test "a signal while it waits, and while it runs" {
	mkfifo in
	train-step -j - <in >out.jsonl &
	pid=$!
	exec 7>in
	eventually 20 test -s out.jsonl
	kill -TERM $pid
	ended $pid 5
	st=0; wait $pid || st=$?
	is $st 143
	is "$(of out.jsonl done status)" 143
	train-step -j - <in >out.jsonl 2>/dev/null &
	pid=$!
	exec 7>&- 7>in
	request a "$small,\"updates\":100000000" >&7
	request b "$small,\"updates\":2" >&7
	eventually 20 grep -q '"update":3,' out.jsonl
	kill -INT $pid
	st=0; wait $pid || st=$?
	exec 7>&-
	is $st 130
	is "$(jq -r 'select(.kind == "run") | .request' out.jsonl)" a
	is "$(of out.jsonl end status)" stopped
}

@test "what is no request" {
	run --separate-stderr bash -c 'echo garbage | train-step -j -'
	exits 65
	run --separate-stderr bash -c 'printf "" | train-step -j -'
	exits 0
	run --separate-stderr bash -c 'train-step -n 1 | train-step -j - >out.jsonl'
	exits 65 "a stream of records that are no requests"
	is "$stderr" "~ is no request"
	run --separate-stderr bash -c 'echo "{\"kind\":\"request\",\"t\":\"2026-11-30T00:00:00Z\"}" | train-step -j -'
	exits 65 "a request without its id"
	run --separate-stderr train-step -n 5 -
	exits 64
	run --separate-stderr train-step --show 5 -
	exits 64
}
