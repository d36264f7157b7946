#!/usr/bin/env bats
# The command: usage, its man page, forms of output, what a run record holds, wrong input.

load helpers
load train

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

@test "usage, help, version" {
	run -0 train-step --help
	is "${lines[0]}" "usage: train-step [-jt] [--msgpack] [--show K] [options]"
	run -0 train-step --version
	is "$output" "~ ^train-step \(pilot\) [0-9]"
	for bad in --nonsense "-n" "-n x" "-n -3" "-b 0" "operand" "-n 5 -n" "--show 0" "--" "-j --msgpack -n 3 extra"; do
		# shellcheck disable=SC2086
		run --separate-stderr train-step $bad
		exits 64 "$bad"
		is "$output" "" "nothing on stdout: $bad"
		is "$stderr" "~ ^train-step: " "$bad"
	done
}

@test "the man page: its synopsis is the usage, its options are the list's" {
	requires mandoc
	page=$PILOT_ROOT/man/train-step.1
	mandoc -T lint -W warning "$page"
	mandoc -T utf8 "$page" | plain | sed -n '/^SYNOPSIS/,/^DESCRIPTION/p' | grep train-step | tr -s ' ' | sed 's/^ *//' >synopsis
	train-step --help | sed -n '/^usage: /,/^$/p' | sed 's/^usage: //; s/^ *//' | grep train-step >usage
	diff <(sed 's/‐/-/g' synopsis) usage
	# Every option of --help is described on the page, with its letter; and the page has no other.
	train-step --help | grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort -u >help
	grep -E '^\.It Fl' "$page" | grep -oE -- '\\-[a-z-]+' | sed 's/^\\-/--/' | sort -u >described
	diff described help
	sed -n 's/^OPTION([a-z_]*, "\([a-z-]*\)", '"'"'\(.\)'"'"'.*/\2 \1/p' "$PILOT_ROOT/lib/wire/options.list" >letters
	[ -s letters ]
	while read -r letter name; do
		grep -qE "^\.It Fl $letter , Fl \\\\-$name( |\$)" "$page" || { echo "-$letter --$name is not on the page"; return 1; }
	done <letters
}

@test "msgpack into a pipe, JSON Lines, text: the same records" {
	requires msgpack
	train-step -n 3 >m
	records m >m.jsonl
	train-step -j -n 3 >j.jsonl
	train-step -t -n 3 >t.txt
	is "$(jq -c '[.kind, .phase, .update, .loss]' m.jsonl)" "$(jq -c '[.kind, .phase, .update, .loss]' j.jsonl)"
	is "$(cat t.txt)" "~ done after 3 updates"
	is "$(jq -r .kind j.jsonl | uniq | paste -sd ' ')" "tool run plan phase step phase step phase eval phase eval end done"
	# Without jq's help: every line is one JSON text.
	"$PYTHON" -c 'import json,sys; [json.loads(l) for l in sys.stdin]' <j.jsonl
	is "$(of j.jsonl done records)" $(($(wc -l <j.jsonl) - 2))
}

@test "the run record has all that is needed to run it again" {
	requires git
	git init -q repo && cd repo && git -c user.name=x -c user.email=x@x commit -q --allow-empty -m x
	train-step -j -n 2 -b 4 -a 2 -s 5 >../r.jsonl
	echo 1 >f && git add f && git -c user.name=x -c user.email=x@x commit -q -m f && echo 2 >f
	train-step -j -n 1 >../dirty.jsonl
	cd ..
	is "$(of r.jsonl run revision) $(of r.jsonl run dirty)" "$(git -C repo rev-parse HEAD~1) false"
	is "$(of dirty.jsonl run revision) $(of dirty.jsonl run dirty)" "$(git -C repo rev-parse HEAD) true"
	is "$(of r.jsonl run argv)" '["train-step","-j","-n","2","-b","4","-a","2","-s","5"]'
	is "$(of r.jsonl run cwd)" "$PWD/repo"
	is "$(of r.jsonl run host)" "$(hostname)"
	is "$(of r.jsonl run role) $(of r.jsonl run micro_batch) $(of r.jsonl run accum) $(of r.jsonl run effective_batch) $(of r.jsonl run seed)" "train 4 2 8 5"
	is "$(of r.jsonl run weights_provenance)" initialised
	is "$(of r.jsonl run data_digests)" "~ sha256:[0-9a-f]{64}"
	is "$(of r.jsonl run version) $(of r.jsonl run devices)" '~ ^[0-9.]+ \["cpu"\]$'
	is "$(of r.jsonl run run)" "~ ^[0-9A-HJKMNP-TV-Z]{26}$"
	# The fingerprint does not depend on what does not decide fit and speed.
	train-step -j -n 2 -b 8 -s 6 -o adamw:lr=5e-4 >other.jsonl
	is "$(of other.jsonl run fingerprint)" "$(of r.jsonl run fingerprint)"
	train-step -j -n 2 -m gpt:layers=1 >other.jsonl
	[ "$(of other.jsonl run fingerprint)" != "$(of r.jsonl run fingerprint)" ]
}

@test "real files: digest, provenance and where they lie" {
	requires kjv
	bible -f gen1:1-gen5:1 >kjv.txt
	train-step -j -n 2 -m gpt:layers=1,width=16,heads=2 -l 16 -d text:file=kjv.txt >r.jsonl
	is "$(of r.jsonl run data_digests)" "[\"sha256:$(sha256sum kjv.txt | cut -d' ' -f1)\"]"
	is "$(of r.jsonl run data_provenance)" "~ $PWD/kjv.txt, $(stat -c %s kjv.txt) bytes"
	is "$(of r.jsonl run classes)" 256
}

@test "phases of the first applied update and of a steady one, with facts" {
	train-step -j -n 6 --val-every 2 >r.jsonl
	for p in data forward backward update validate; do
		is "$(jq -r --arg p $p 'select(.kind == "phase" and .phase == $p) | .occurrence' r.jsonl | paste -sd ' ')" "first steady" $p
	done
	is "$(phase r.jsonl data first supervised)" "$(phase r.jsonl data first declared_supervised)"
	is "$(phase r.jsonl data first shift_wrong) $(phase r.jsonl data first shared_examples)" "0 0"
	[ "$(phase r.jsonl data first shift_compared)" -gt 32 ]
	is "$(phase r.jsonl forward first fresh) $(phase r.jsonl forward steady fresh)" "true false"
	is "$(phase r.jsonl forward first output_shape)" "[32,9,14]"
	is "$(phase r.jsonl forward first loss)" "$(jq 'select(.kind == "step" and .update == 1) | .loss' r.jsonl)"
	is "$(phase r.jsonl backward first gradient_norm)" "$(jq 'select(.kind == "step" and .update == 1) | .gradient_norm' r.jsonl)"
	is "$(phase r.jsonl update steady applied) $(phase r.jsonl update steady optimizer_count)" "3 3"
	for f in gradients_missing gradients_nonfinite gradients_frozen; do is "$(phase r.jsonl backward first $f)" 0 $f; done
	is "$(phase r.jsonl update first changed) $(phase r.jsonl update first unchanged)" "$(phase r.jsonl update first trainable_tensors) 0"
	is "$(phase r.jsonl update first lr)" "$(phase r.jsonl update first schedule_lr)"
	is "$(phase r.jsonl validate first evaluation_mode) $(phase r.jsonl validate first training_mode_after)" "true true"
	is "$(phase r.jsonl validate first distinct_examples)" "$(of r.jsonl run validation_examples)"
	for f in weights_changed optimizer_changed random_changed; do is "$(phase r.jsonl validate first $f)" false $f; done
	# A run of two updates has its second one as the steady one.
	train-step -j -n 2 >r.jsonl
	is "$(phase r.jsonl update steady update)" 1
}

@test "steps: the rate is the schedule's, clipping is told, times add up" {
	train-step -j -n 12 --schedule linear:warmup=4 --clip 0.5 -o sgd:lr=0.4 >r.jsonl
	"$PYTHON" - r.jsonl <<-'EOF'
	import json, sys
	s = [r for r in map(json.loads, open(sys.argv[1])) if r["kind"] == "step"]
	lr = [r["lr"] for r in s]
	assert [r["update"] for r in s] == list(range(1, 13))
	assert all(abs(a - b) < 1e-12 for a, b in zip(lr[:4], [0.1, 0.2, 0.3, 0.4])), lr
	assert lr == sorted(lr[:4]) + sorted(lr[4:], reverse=True) and lr[-1] < 0.1, lr
	for r in s:
	    assert r["clipped"] == (r["gradient_norm"] > 0.5)
	    parts = r["data_seconds"] + r["forward_seconds"] + r["backward_seconds"] + r["update_seconds"]
	    assert 0 < parts <= r["seconds"] * 1.0001, r
	    assert r["rows"] == 32 and r["examples"] == 32 * r["update"]
	assert any(r["clipped"] for r in s)
	EOF
}

@test "--show: examples as the loss sees them, and nothing else" {
	train-step -j --show 3 >s.jsonl
	is "$(jq -r .kind s.jsonl | uniq -c | awk '{print $2 $1}' | paste -sd ' ')" "tool1 run1 example3 end1 done1"
	"$PYTHON" - s.jsonl <<-'EOF'
	import json, sys
	x = [r for r in map(json.loads, open(sys.argv[1])) if r["kind"] == "example"]
	for e in x:
	    a, b = e["id"].split("+")
	    assert e["text"] == f"{a}+{b}=" and e["target"] == str(int(a) + int(b)), e
	    assert e["mask"] == [int(t >= 0) for t in e["targets"]]
	    assert sum(e["mask"]) == len(e["target"]) + 1  # the digits of the answer and its end
	    n = e["length"]
	    assert len(e["ids"]) == n + e["padding"] and e["split"] == "train"
	    assert all(t == -1 for t in e["targets"][n:])
	    for i in range(n - 1):  # the label of a position is the id that follows it
	        assert e["targets"][i] in (-1, e["ids"][i + 1])
	EOF
	printf 'a,b,class\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n1,1,x\n2,2,y\n3,3,x\n4,4,y\n9,9,x\n8,8,y\n' >t.csv
	train-step -j --show 2 -m mlp:hidden=3 -d csv:file=t.csv,class=class >c.jsonl
	is "$(jq -c 'select(.kind == "example") | [(.features | length), .class, .target]' c.jsonl | head -1)" "~ ^\[2,[01],\"[xy]\"\]$"
	run -0 train-step -t --show 1
	is "$output" "~ [0-9]\+[0-9]"
}

@test "wrong input names the setting or the file, and the reason" {
	check() {
		local code=$1 pattern=$2
		shift 2
		run --separate-stderr train-step -j "$@"
		exits "$code" "$*" || return 1
		is "$stderr" "~ $pattern" "$*" || return 1
		is "$(printf '%s\n' "$output" | jq -r .kind | paste -sd ' ')" "tool done" "the bracket closes: $*" || return 1
		is "$(printf '%s\n' "$output" | jq -r 'select(.kind == "done") | .status')" "$code"
	}
	check 66 "nowhere.txt" -d text:file=nowhere.txt
	printf 'ab' >short.txt
	check 65 "short.txt|text" -d text:file=short.txt
	check 64 'unknown key "colour"' -m gpt:colour=red
	check 64 'heads' -m gpt:width=10,heads=3
	check 64 "context" -m gpt:context=4
	check 64 "no parameter .* has such a name" --freeze 'nothing*'
	check 64 "left to train" --freeze '*'
	check 69 "cuda" -D cuda:0
	check 69 "bf16" -p bf16
	check 64 "one budget" -n 5 --epochs 2
	printf 'a,class\n1,x\n2,y\n3,x\n4,y\n5,x\n6,y\n7,x\n8,y\n9,x\n10,y\n' >t.csv
	check 64 "no length to choose" -m mlp:hidden=3 -d csv:file=t.csv,class=class --val-length 5
	check 66 "nothing.safetensors" -w nothing.safetensors
	check 64 "save-every without" --save-every 5
}
