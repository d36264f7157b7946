#!/usr/bin/env bats
# A run that is stopped and resumed is bit by bit the run that was not.

load helpers
load train

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# halves NAME OPTIONS...: 20 updates in one process, 10 and then 10 in another.
halves() {
	local name=$1
	shift
	train-step -j "$@" -n 20 -C "$name-whole" >"$name-whole.jsonl" || return 1
	train-step -j "$@" -n 20 --stop update=10 -C "$name" >"$name-1.jsonl" || return 1
	train-step -j -r "$name" -C "$name" >"$name-2.jsonl"
}

same() {
	local name=$1 from=${2:-10}
	tensors "$(update_file "$name-whole" 20)" >whole.txt
	tensors "$(update_file "$name" 20)" >resumed.txt
	is "$(grep -c optimizer whole.txt)" "~ ^[1-9]" "$name: optimizer tensors in the file" || return 1
	diff whole.txt resumed.txt || return 1
	steps "$name-whole.jsonl" "$from" >whole.steps
	steps "$name-2.jsonl" >resumed.steps
	is "$(wc -l <resumed.steps)" $((20 - from)) "$name: resumed updates" || return 1
	cmp whole.steps resumed.steps
}

@test "10 and 10 updates are 20: weights, optimizer state, losses" {
	halves plain
	same plain
	is "$(of plain-1.jsonl end status)" stopped
	is "$(of plain-2.jsonl end status)" done
	is "$(of plain-2.jsonl end updates)" 20
	is "$(of plain-2.jsonl run resumed_update)" 10
	is "$(of plain-2.jsonl run resumed_run)" "$(of plain-1.jsonl run run)"
	is "$(of plain-2.jsonl run resumed_digest)" "sha256:$(sha256sum "$(update_file plain 10)" | cut -d' ' -f1)"
	[ "$(of plain-2.jsonl run run)" != "$(of plain-1.jsonl run run)" ]
	is "$(phase plain-2.jsonl resume first restored_update)" 10
	is "$(phase plain-2.jsonl resume first restored_tensors)" "$(tensors "$(update_file plain 10)" | grep -vc optimizer)"
	is "$(phase plain-2.jsonl resume first restored_optimizer)" "$(tensors "$(update_file plain 10)" | grep -c optimizer)"
	is "$(phase plain-2.jsonl resume first weights_digest)" "$(of plain-1.jsonl save weights_digest)"
	is "$(phase plain-2.jsonl resume first optimizer_digest)" "$(of plain-1.jsonl save optimizer_digest)"
}

@test "weights alone and a cold optimizer go another way: the comparison can fail" {
	halves plain
	train-step -j -n 20 -w "$(update_file plain 10)" --stop update=10 -C cold >cold.jsonl
	tensors "$(update_file plain 20)" | grep -v optimizer >whole.txt
	tensors "$(update_file cold 10)" | grep -v optimizer >cold.txt
	run ! diff -q whole.txt cold.txt
}

@test "with dropout, accumulation, clipping, and a schedule" {
	halves rich --dropout 0.2 -a 3 -b 8 --clip 0.5 --schedule cosine:warmup=4 -o adamw:lr=2e-3,weight_decay=0.1
	same rich
}

@test "across an epoch's end, with an incomplete last window kept or dropped" {
	# 80 training examples: 7 windows of 12 an epoch when kept (the last of 8), 6 when dropped.
	for rule in keep drop; do
		halves "epoch-$rule" -d sums:digits=1 --last-window "$rule" -b 4 -a 3 --dropout 0.1
		same "epoch-$rule"
	done
	is "$(of epoch-keep-whole.jsonl end epochs)" "~ ^2\.8"
	is "$(of epoch-drop-2.jsonl end dropped_examples)" "$(of epoch-drop-whole.jsonl end dropped_examples)"
	[ "$(of epoch-drop-2.jsonl end dropped_examples)" -gt 0 ]
	is "$(of epoch-keep-2.jsonl end dropped_examples)" 0
}

@test "stopped in the second epoch, and just at an epoch's end" {
	for at in 7 9 14; do
		train-step -j -d sums:digits=1 -b 12 --dropout 0.1 -n 20 -C "whole$at" >"whole$at.jsonl"
		train-step -j -d sums:digits=1 -b 12 --dropout 0.1 -n 20 --stop update=$at -C "r$at" >/dev/null
		train-step -j -r "r$at" -C "r$at" >"r$at.jsonl"
		diff <(tensors "$(update_file "whole$at" 20)") <(tensors "$(update_file "r$at" 20)")
		cmp <(steps "whole$at.jsonl" $at) <(steps "r$at.jsonl")
	done
}

@test "the second resume too" {
	train-step -j -n 20 --dropout 0.1 -o nadam:lr=1e-3 -C whole >whole.jsonl
	train-step -j -n 20 --dropout 0.1 -o nadam:lr=1e-3 --stop update=5 -C r >/dev/null
	train-step -j -r r -C r --stop update=12 >/dev/null
	train-step -j -r r -C r >third.jsonl
	diff <(tensors "$(update_file whole 20)") <(tensors "$(update_file r 20)")
	cmp <(steps whole.jsonl 12) <(steps third.jsonl)
	is "$(phase third.jsonl update first optimizer_count)" 13
}

@test "every optimizer" {
	for o in sgd momentum nesterov adam adamw nadam; do
		train-step -j -n 8 -o $o:lr=0.01 -C "w-$o" >"w-$o.jsonl"
		train-step -j -n 8 -o $o:lr=0.01 --stop update=3 -C "r-$o" >/dev/null
		train-step -j -r "r-$o" -C "r-$o" >"r-$o.jsonl"
		diff <(tensors "$(update_file "w-$o" 8)") <(tensors "$(update_file "r-$o" 8)")
		cmp <(steps "w-$o.jsonl" 3) <(steps "r-$o.jsonl")
	done
}

@test "validation and saving between do not change the run" {
	train-step -j -n 20 --dropout 0.1 -C whole >whole.jsonl
	train-step -j -n 20 --dropout 0.1 -C r --stop update=10 --val-every 3 --val-micro-batch 7 --save-every 2 >/dev/null
	train-step -j -r r -C r --val-every 4 --val-micro-batch 50 --save-every 3 --keep 2 >r.jsonl
	diff <(tensors "$(update_file whole 20)") <(tensors "$(update_file r 20)")
	cmp <(steps whole.jsonl 10) <(steps r.jsonl)
	is "$(cd r && echo update-*)" "update-000000018.safetensors update-000000020.safetensors"
}

@test "another number of threads gives the same bits" {
	requires same-bits
	train-step -j -n 10 --threads 1 -C one >one.jsonl
	train-step -j -n 10 --threads 2 -C two >two.jsonl
	cmp <(steps one.jsonl) <(steps two.jsonl)
	diff <(tensors "$(update_file one 10)") <(tensors "$(update_file two 10)")
}

@test "the checkpoint's settings override defaults; a contradiction is refused by name" {
	train-step -j -n 20 --stop update=10 -b 8 -o adamw:lr=5e-4,beta1=0.8 -s 7 --dropout 0.1 --schedule linear -C r >/dev/null
	train-step -j -r r >r.jsonl
	is "$(of r.jsonl run micro_batch)" 8
	is "$(of r.jsonl run optimizer)" adamw:lr=5e-4,beta1=0.8
	is "$(of r.jsonl run seed)" 7
	is "$(of r.jsonl run dropout)" 0.1
	is "$(of r.jsonl run updates)" 20
	for bad in "-b 16" "-s 8" "-o adamw:lr=1e-3" "-m gpt:layers=1" "--dropout 0.2" "--clip 1" "--last-window drop" "-a 2" "-d sums:digits=1" "--freeze wte*"; do
		# shellcheck disable=SC2086
		run --separate-stderr train-step -j -r r $bad
		exits 64 "$bad"
		is "$stderr" "~ resume: --.*the checkpoint .* has .* this command names" "$bad"
	done
	run --separate-stderr train-step -j -r r -n 30
	exits 64 "a larger budget under a schedule that depends on it"
	is "$stderr" "~ the budget is 20 updates .* and 30"
	# Named, and the same: allowed, however it is written.
	run -0 train-step -j -r r -b 8 -o adamw:beta1=.8,lr=0.0005 -n 20
}

@test "a larger budget where the schedule does not depend on it" {
	train-step -j -n 20 -C whole >whole.jsonl
	train-step -j -n 10 -C r >/dev/null
	train-step -j -r r -C r -n 20 >r.jsonl
	diff <(tensors "$(update_file whole 20)") <(tensors "$(update_file r 20)")
	cmp <(steps whole.jsonl 10) <(steps r.jsonl)
	run --separate-stderr train-step -j -r r -n 5
	exits 64
	is "$stderr" "~ less than the 20"
}

@test "data that changed is refused; data that moved is not" {
	requires kjv
	bible -f gen1:1-gen30:1 >a.txt
	train-step -j -m gpt:layers=1,width=16,heads=2 -d text:file=a.txt -l 16 -n 4 --stop update=2 -C r >/dev/null
	mkdir moved && cp a.txt moved/
	run -0 train-step -j -r r -d text:file=moved/a.txt
	echo "and one more verse" >>a.txt
	run --separate-stderr train-step -j -r r
	exits 65
	is "$stderr" "~ the digest of data file 1 was .* is"
	rm a.txt
	run --separate-stderr train-step -j -r r
	exits 66
}

@test "class names are compared" {
	printf '%s\n' x,y,class >data.csv
	for i in $(seq 40); do echo "$i,$((i % 7)),$([ $((i % 2)) = 0 ] && echo cat || echo dog)"; done >>data.csv
	train-step -j -m mlp:hidden=4 -d csv:file=data.csv,class=class -b 4 -n 4 --stop update=2 -C r >r.jsonl
	is "$(of r.jsonl run class_names)" '["cat","dog"]'
	sed -i 's/cat/cow/' data.csv
	run --separate-stderr train-step -j -r r
	exits 65
	is "$stderr" "~ the name of class 0 was \"cat\" .* \"cow\""
}

@test "a checkpoint that was tampered with is refused, and the reason named" {
	train-step -j -n 4 --save-every 2 -C r >/dev/null
	f=$(update_file r 4)
	cp "$f" whole
	# One bit of a weight.
	"$PYTHON" - "$f" <<-'EOF'
	import sys
	d = bytearray(open(sys.argv[1], "rb").read()); d[-1000] ^= 1; open(sys.argv[1], "wb").write(d)
	EOF
	run --separate-stderr train-step -j -r "$f"
	exits 65
	is "$stderr" "~ digest of the (weights|optimizer state)"
	# One bit anywhere else: settings and progress are text, and many a turned bit leaves good JSON.
	"$PYTHON" - whole <<-'EOF' >flips
	import os, struct, sys
	d = open(sys.argv[1], "rb").read()
	n = 8 + struct.unpack("<Q", d[:8])[0]
	seed = d.index(b'"pilot.seed":"') + len(b'"pilot.seed":"')
	update = d.index(b'"pilot.progress.examples":"') + len(b'"pilot.progress.examples":"')
	for i, at in enumerate([0, 9, seed, update] + list(range(40, n, n // 20))):
	    b = bytearray(d)
	    b[at] ^= 2
	    os.makedirs("flip%d" % i)
	    open("flip%d/x.safetensors" % i, "wb").write(b)
	    print(i, at)
	EOF
	while read -r i at; do
		run --separate-stderr train-step -j -r "flip$i/x.safetensors" -n 5
		is "$status" "~ ^(64|65)$" "a bit of byte $at turned over" || return 1
	done <flips
	run --separate-stderr train-step -j -r flip2/x.safetensors
	is "$stderr" "~ the metadata are not those that were saved"
	# Cut short: the newest complete one is taken instead, and a note says so.
	head -c 5000 whole >"$f"
	run --separate-stderr train-step -j -r "$f"
	exits 65
	train-step -j -r r >r.jsonl
	is "$(of r.jsonl run resumed_update)" 2
	is "$(of r.jsonl note text)" "~ passed over 1 newer file .*update-000000004"
	# Not a checkpoint at all, an empty folder, nothing there.
	echo hello >x.safetensors
	run --separate-stderr train-step -j -r x.safetensors
	exits 65
	mkdir empty
	run --separate-stderr train-step -j -r empty
	exits 66
	is "$stderr" "~ holds no checkpoint"
	run --separate-stderr train-step -j -r nowhere
	exits 66
}

@test "weights alone: the numbers, and nothing else" {
	train-step -j -n 5 -C a >a.jsonl
	train-step -j -n 1 -o sgd:lr=1e-30 -w "$(update_file a 5)" -C b >b.jsonl
	is "$(of b.jsonl run weights_digest)" "sha256:$(sha256sum "$(update_file a 5)" | cut -d' ' -f1)"
	is "$(of b.jsonl run weights_provenance)" "$(update_file a 5)"
	is "$(phase b.jsonl load first restored_tensors)" 28
	is "$(phase b.jsonl load first weights_digest)" "$(of a.jsonl save weights_digest)"
	is "$(phase b.jsonl forward first fresh)" false
	run --separate-stderr train-step -j -n 1 -m gpt:layers=1,width=64,heads=4 -w "$(update_file a 5)"
	exits 65 "weights of a deeper model"
	is "$stderr" "~ the model has no tensor .*h.1"
	run --separate-stderr train-step -j -n 1 -m gpt:layers=3,width=64,heads=4 -w "$(update_file a 5)"
	exits 65 "weights of a shallower model"
	is "$stderr" "~ tensor .*h.2.* is missing"
	run --separate-stderr train-step -j -n 1 -m gpt:layers=2,width=32,heads=4 -w "$(update_file a 5)"
	exits 65 "weights of another width"
	is "$stderr" "~ the model's is"
}

@test "a finished run, resumed, has nothing left to do and says so" {
	train-step -j -n 6 -C r >a.jsonl
	train-step -j -r r -C r >b.jsonl
	is "$(of b.jsonl end status)" done
	is "$(of b.jsonl end updates)" 6
	is "$(of b.jsonl end test_loss)" "$(of a.jsonl end test_loss)"
	is "$(steps b.jsonl)" ""
	is "$(of b.jsonl plan peak_bytes)" "$(of b.jsonl end allocated_peak_bytes)"
}
