#!/usr/bin/env bats
# How a run ends: budgets, stop rules, divergence, signals, a reader that goes away.

load helpers
load train

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# The stream is whole: the last record closes the tool's bracket, and each run has its end.
whole() {
	is "$(jq -r .kind "$1" | tail -1)" done "last record" || return 1
	is "$(jq -r 'select(.kind == "end") | .run' "$1")" "$(jq -r 'select(.kind == "run") | .run' "$1")" "ends of runs"
}

@test "a budget in updates, examples or epochs; the record has all three" {
	train-step -j -d sums:digits=1 -b 12 -n 9 >u.jsonl
	n=$(of u.jsonl run train_examples) # 7 updates an epoch, the last of them incomplete
	is "$(((n + 11) / 12)) $((n % 12 > 0))" "7 1"
	is "$(of u.jsonl run budget) $(of u.jsonl run planned_updates) $(of u.jsonl run planned_examples)" "updates 9 $((n + 24))"
	train-step -j -d sums:digits=1 -b 12 --examples $((n + 13)) >x.jsonl
	is "$(of x.jsonl run budget) $(of x.jsonl run planned_updates) $(of x.jsonl run planned_examples)" "examples 9 $((n + 24))"
	train-step -j -d sums:digits=1 -b 12 --epochs 2 >e.jsonl
	is "$(of e.jsonl run budget) $(of e.jsonl run planned_updates) $(of e.jsonl run planned_examples)" "epochs 14 $((2 * n))"
	is "$(of e.jsonl run planned_epochs)" 2
	for f in u x e; do
		is "$(of $f.jsonl end updates)" "$(of $f.jsonl run planned_updates)"
		is "$(of $f.jsonl end examples)" "$(of $f.jsonl run planned_examples)"
		is "$(of $f.jsonl end status)" done
	done
	train-step -j -d sums:digits=1 -b 12 --epochs 0.5 >h.jsonl
	is "$(of h.jsonl end updates)" 4
}

@test "3,200 examples at 2 x 8 are 200 updates" {
	train-step -j -b 2 -a 8 --examples 3200 -m gpt:layers=1,width=8,heads=1 >x.jsonl
	is "$(of x.jsonl end updates) $(of x.jsonl end examples) $(of x.jsonl run effective_batch)" "200 3200 16"
}

@test "an incomplete window: kept and normalised by what it holds, or dropped and counted" {
	train-step -j -d sums:digits=1 -b 4 -a 3 --epochs 1 >keep.jsonl
	n=$(of keep.jsonl run train_examples)
	[ $((n % 12)) -ne 0 ]
	is "$(of keep.jsonl step rows)" $((n % 12))
	is "$(of keep.jsonl end examples) $(of keep.jsonl end dropped_examples)" "$n 0"
	train-step -j -d sums:digits=1 -b 4 -a 3 --epochs 1 --last-window drop >drop.jsonl
	is "$(of drop.jsonl step rows)" 12
	is "$(of drop.jsonl end examples) $(of drop.jsonl end dropped_examples)" "$((n - n % 12)) $((n % 12))"
	run --separate-stderr train-step -j -d sums:digits=1 -b 200 --last-window drop
	exits 64
	is "$stderr" "~ no window is complete"
}

@test "every example of an epoch once, in another order in the next" {
	train-step -j -d sums:digits=1 -b 41 --epochs 2 >e.jsonl
	run -0 bash -c "jq -r 'select(.kind == \"step\") | .batch_digest' e.jsonl | sort | uniq -d"
	is "$output" "" "no window comes twice"
}

@test "accumulation is one big batch: the same losses and weights to rounding" {
	train-step -j -b 24 -a 1 -n 5 -o sgd:lr=0.1 -C one >one.jsonl
	train-step -j -b 5 -a 5 -n 5 -o sgd:lr=0.1 -C odd >odd.jsonl || true
	train-step -j -b 8 -a 3 -n 5 -o sgd:lr=0.1 -C three >three.jsonl
	"$PYTHON" - one.jsonl three.jsonl <<-'EOF'
	import json, sys
	a, b = [[r for r in map(json.loads, open(f)) if r["kind"] == "step"] for f in sys.argv[1:]]
	assert [r["batch_digest"] for r in a] == [r["batch_digest"] for r in b]
	assert [r["passes"] for r in b] == [3] * 5
	for x, y in zip(a, b):
	    assert abs(x["loss"] - y["loss"]) < 1e-5, (x["loss"], y["loss"])
	    assert abs(x["gradient_norm"] - y["gradient_norm"]) < 1e-4 * x["gradient_norm"]
	EOF
}

@test "stop rules: update, seconds, target, loss" {
	train-step -j -n 50 --stop update=7 -C c >u.jsonl
	is "$(of u.jsonl end status) $(of u.jsonl end updates)" "stopped 7"
	is "$(of u.jsonl end why)" "~ update=7"
	[ -f "$(update_file c 7)" ]
	is "$(of u.jsonl end test_loss)" null "test is not scored by a run that did not come to its end"
	train-step -j -n 100000000 --stop seconds=1 -m gpt:layers=1,width=8,heads=1 >s.jsonl
	is "$(of s.jsonl end status)" stopped
	is "$(of s.jsonl end why)" "~ seconds=1"
	train-step -j -n 5000 --stop target=2.2 --val-every 5 -C t >t.jsonl
	is "$(of t.jsonl end status)" done
	is "$(of t.jsonl end why)" "~ target reached"
	[ "$(of t.jsonl end updates)" -lt 5000 ]
	[ -f "$(update_file t "$(of t.jsonl end updates)")" ]
	[ "$(of t.jsonl end test_loss)" != null ]
	run train-step -j -n 50 --stop 'loss>1.5'
	exits 1
	for f in u s t; do whole $f.jsonl; done
}

@test "a loss that is not finite ends the run before the update is applied; the last good checkpoint stays" {
	run -1 --separate-stderr bash -c 'train-step -j -n 50 -o sgd:lr=1e6 -C d --save-every 1 >d.jsonl'
	is "$stderr" "~ diverged: .*not finite"
	whole d.jsonl
	is "$(of d.jsonl end status)" diverged
	is "$(of d.jsonl done status)" 1
	applied=$(of d.jsonl end updates)
	is "$(of d.jsonl end skipped_updates)" 1
	is "$(of d.jsonl step loss) $(of d.jsonl step skipped)" "~ ^(NaN|Infinity|[0-9.e+]+) true$"
	is "$(of d.jsonl step update)" "$applied"
	is "$(of d.jsonl save update)" "$applied"
	# What was saved last is finite: nothing of the bad update went into it.
	"$PYTHON" - "$(update_file d "$applied")" <<-'EOF'
	import json, math, struct, sys
	d = open(sys.argv[1], "rb").read()
	n = struct.unpack("<Q", d[:8])[0]
	h = json.loads(d[8:8 + n])
	for name, t in h.items():
	    if name != "__metadata__":
	        a, b = t["data_offsets"]
	        assert all(map(math.isfinite, struct.unpack(f"<{(b - a) // 4}f", d[8 + n + a:8 + n + b]))), name
	EOF
}

@test "the first update diverges: its phases are in the stream, nothing is saved" {
	run -1 train-step -j -n 5 --stop 'loss>0.001' -C d
	printf '%s\n' "$output" | grep '^{' >d.jsonl
	is "$(jq -r 'select(.kind == "phase") | .phase' d.jsonl | paste -sd ' ')" "load data forward backward"
	is "$(of d.jsonl end updates) $(of d.jsonl end skipped_updates)" "0 1"
	# the gradient that was there is told as that of an update that was applied
	train-step -j -n 1 >e.jsonl
	facts='select(.kind == "phase" and .phase == "backward") | [.trainable_tensors, .gradients_missing, .gradient_norm]'
	is "$(jq -c "$facts" d.jsonl)" "$(jq -c "$facts" e.jsonl)"
	is "$(of d.jsonl step gradient_norm)" "$(of e.jsonl step gradient_norm)"
	run ! ls d/update-*
}

# until_update FILE N: waits for the step record.
until_update() { eventually 20 grep -q "\"update\":$2," "$1"; }

endless=(train-step -j -n 100000000 --val-every 0)

@test "SIGTERM and SIGINT: the update is finished, the checkpoint saved, the stream closed, then dead by the signal" {
	for sig in TERM INT; do
		"${endless[@]}" -C "c$sig" >"$sig.jsonl" 2>"$sig.err" &
		pid=$!
		until_update "$sig.jsonl" 5
		kill -$sig $pid
		st=0; wait $pid || st=$?
		is $st $((128 + $(kill -l $sig))) "status of $sig"
		whole "$sig.jsonl"
		is "$(of "$sig.jsonl" end status)" stopped
		is "$(of "$sig.jsonl" done status)" $((128 + $(kill -l $sig)))
		n=$(of "$sig.jsonl" end updates)
		is "$(of "$sig.jsonl" step update)" "$n"
		is "$(of "$sig.jsonl" save update)" "$n"
		train-step -j -r "c$sig" --stop update=$((n + 2)) >r.jsonl
		is "$(of r.jsonl end updates)" $((n + 2))
	done
}

@test "a second signal ends it at once" {
	# One update takes minutes, so only the second signal can have ended it.
	train-step -j -m gpt:layers=8,width=512,heads=8,context=64 -d sums:digits=2 -b 512 -a 200 -n 5 >x.jsonl 2>/dev/null &
	pid=$!
	eventually 20 grep -q '"phase":"load"' x.jsonl
	kill -TERM $pid
	sleep 0.3
	kill -0 $pid
	kill -TERM $pid
	ended $pid 5
	st=0; wait $pid || st=$?
	is $st 143
}

@test "the reader goes away: finished, saved, dead by SIGPIPE" {
	{ "${endless[@]}" -C c 2>err || echo $? >status; } | head -n 40 >got.jsonl
	eventually 20 test -s status
	is "$(cat status)" 141
	is "$(wc -l <got.jsonl)" 40
	run -0 ls c
	n=$(printf '%s\n' "$output" | sed -n 's/update-0*\([1-9][0-9]*\).safetensors/\1/p')
	[ "$n" -gt 0 ]
	train-step -j -r c --stop update=$((n + 1)) >r.jsonl
	is "$(of r.jsonl end updates)" $((n + 1))
}

@test "standard output that cannot be written: 74" {
	run -74 bash -c 'train-step -j -n 20 -C c >/dev/full'
	is "$output" "~ [Nn]o space left"
	run -74 bash -c 'train-step -j -n 2 >&-'
}

@test "the disk behind standard output fills up: 74, and the checkpoint is saved all the same" {
	requires tmpfs
	mkdir m
	run -74 unshare -m bash -c 'mount -t tmpfs -o size=16k none m && train-step -j -n 200 --val-every 0 -C c >m/out.jsonl'
	is "$output" "~ [Nn]o space left"
	n=$(find c -name 'update-*' | sed -n 's/.*update-0*\([1-9][0-9]*\).safetensors/\1/p')
	[ "$n" -gt 0 ]
	[ "$n" -lt 200 ]
	train-step -j -r c --stop update=$((n + 1)) >r.jsonl
	is "$(of r.jsonl end updates)" $((n + 1))
}

@test "the man page's preempted job: SIGUSR1 saves and asks to be run again, the next one goes on" {
	requires kjv
	mkdir bin
	printf '#!/bin/sh\necho "$@" >>requeued\n' >bin/scontrol
	chmod +x bin/scontrol
	sed -n '/^#!\/bin\/sh$/,/^exit \$status$/p' "$PILOT_ROOT/man/train-step.1" | sed 's/\\e/\\/g' >job.sh
	grep -q USR1 job.sh
	bible -f gen1:1-gen30:1 >kjv.txt
	for round in 1 2; do
		PATH=$PWD/bin:$PATH SLURM_JOB_ID=42 sh job.sh 2>err &
		pid=$!
		if [ $round = 1 ]; then
			eventually 20 test -s runs.ledger
		else
			first=$(find ckpt -name 'update-*' | sort | tail -1)
		fi
		sleep 1.5
		kill -USR1 $pid
		st=0; wait $pid || st=$?
		is $st 143 "round $round: $(cat err)"
	done
	is "$(cat requeued)" $'requeue 42\nrequeue 42'
	last=$(find ckpt -name 'update-*' | sort | tail -1)
	[ "$first" != "$last" ]
	ledger verify runs.ledger
	is "$(zcat runs.ledger | records | jq -r 'select(.kind == "end") | .status' | paste -sd ' ')" "stopped stopped"
	is "$(zcat runs.ledger | records | jq -r 'select(.kind == "run") | .resumed_update' | tail -1)" "$(echo "$first" | sed 's/.*update-0*//; s/.safetensors//')"
	is "$(find . -name 'records.*')" ""
}

@test "progress is one line on a terminal, and nothing elsewhere" {
	requires tty
	script -qec "train-step -j -n 2000 -m gpt:layers=1,width=8,heads=1 --val-every 0 >out.jsonl" /dev/null </dev/null >shown
	is "$(tr -d '\r' <shown)" "~ train-step: update [0-9]+ of 2000, loss [0-9.]+"
	run -0 --separate-stderr train-step -j -n 300
	is "$stderr" ""
}
