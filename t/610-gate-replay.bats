#!/usr/bin/env bats
# gate's replays on healthy runs: what is proven, once for each configuration, and what stays unproven.

load helpers
load gate

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	train-step "${SMALL[@]}" -C ckpt --msgpack >run.bin 2>run.err
	export RUN=$BATS_FILE_TMPDIR/run.bin CKPT=$BATS_FILE_TMPDIR/ckpt
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir tmp
	export TMPDIR=$BATS_TEST_TMPDIR/tmp
}

teardown() { is "$(ls -A "$BATS_TEST_TMPDIR/tmp")" "" "what the gate left behind"; }

# healthy OPTIONS...: a run with them, gated: exit 0, every phase ok.
healthy() {
	rm -rf ckpt
	train-step "$@" -C ckpt --msgpack 2>err | gate -j 2>>err >out.bin || { cat err; verdicts out.bin; return 1; }
	opened out.bin
}

@test "resume is proven twice over, and the evidence says by what" {
	gate -j <"$RUN" >out.bin
	opened out.bin
	is "$(evidence out.bin resume)" "~ from its own checkpoint of update 7: updates 8-14 bitwise equal to the run that went on .count, rate, batch digests, losses, gradient norms, weights, optimizer.; resumed twice; a cold start from the weights alone differs"
	is "$(evidence out.bin resume)" "~ stopped at update 6 .in a later epoch, after a validation. and once more at 12 .an epoch's end.: updates 7-16 bitwise equal"
	is "$(evidence out.bin backward)" "~ the same gradient norm as 2 passes of 4 and as 1 of 8"
	is "$(evidence out.bin validate)" "~ the same loss in batches of 4 and of 2"
	is "$(evidence out.bin save)" "~ on disk with digest and tensors: update 7, 14"
}

@test "a gate without room for its replays says so: unproven, and no fault of the run" {
	run -0 bash -c 'ulimit -f 40; gate -j <"$RUN" | cat >out.bin; exit "${PIPESTATUS[0]}"'
	is "$(verdicts out.bin | grep ^resume)" "~ ^resume unproven: the replay did not get through: .*[Ff]ile too large"
}

@test "every optimizer comes back" {
	for o in sgd momentum nesterov adam adamw nadam; do
		healthy "${SMALL[@]}" -o $o:lr=0.01 --schedule cosine:warmup=3 --last-window drop
	done
}

@test "every kind of data, and both models" {
	table t.csv
	seq 4000 | tr '\n' ' ' >t.txt
	"$PYTHON" -c 'import struct,random,sys; random.seed(1); sys.stdout.buffer.write(b"".join(struct.pack("<H", random.randrange(50)) for _ in range(3000)))' >t.u16
	healthy -m mlp:hidden=8 -d csv:file=t.csv,class=label -b 8 -n 20 --val-every 10
	healthy -m gpt:layers=1,width=16,heads=2,context=16 -d text:file=t.txt -l 16 -b 4 -n 6 --val-every 3
	healthy -m gpt:layers=1,width=16,heads=2,context=16 -d tokens:file=t.u16 -l 16 -b 4 -n 6 --freeze '*wpe*'
}

@test "images: Fashion-MNIST" {
	requires fashion-mnist
	d=/usr/share/datasets/fashion-mnist
	healthy -m mlp:hidden=16 -d "idx:images=$d/train-images-idx3-ubyte.gz,labels=$d/train-labels-idx1-ubyte.gz" -b 32 -n 30 --val-examples 100
}

@test "a batch of one, no accumulation, one long window" {
	healthy -m gpt:layers=1,width=16,heads=2 -b 1 -n 5 --val-examples 3
	is "$(evidence out.bin backward)" "~ frozen ones have none"
	[[ $(evidence out.bin backward) != *passes* ]]
	healthy -m gpt:layers=1,width=16,heads=2 -b 3 -a 5 -n 3 --val-examples 3
}

@test "an epoch of few examples, and --overfit" {
	healthy -m gpt:layers=1,width=16,heads=2 -d sums:digits=1 -b 16 --epochs 5 --last-window keep
	rm -rf ckpt
	train-step -m gpt:layers=1,width=16,heads=2 -b 4 --overfit 6 -n 30 --val-every 10 -C ckpt --msgpack 2>err | gate -j >out.bin
	opened out.bin
}

@test "a run that resumed, and one that began from given weights" {
	train-step -r "$CKPT/update-000000007.safetensors" -C b --stop update=10 --save-every 2 --msgpack 2>err | gate -j >out.bin
	is "$(verdicts out.bin | grep -v ' ok$')" "export n/a: no export was asked for"
	is "$(evidence out.bin resume)" "~ went on from update 7; from its own checkpoint of update 8: updates 9-10 bitwise"
	train-step "${SMALL[@]}" -w "$CKPT/update-000000007.safetensors" -C c --msgpack 2>err | gate -j >out.bin
	opened out.bin
	is "$(evidence out.bin load)" "~ all 16 tensors came from the file"
}

@test "a run that saved nothing: save and resume are unproven, and the gate stays open" {
	train-step "${SMALL[@]}" --save-every 0 --msgpack 2>err | gate -j >out.bin
	is "$(verdicts out.bin | grep -E '^(save|resume)')" "save unproven: nothing was saved in this run (see --save)
resume unproven: nothing was saved in this run (see --save)"
}

@test "a run stopped by a rule, or by a signal, is judged as far as it came" {
	train-step "${SMALL[@]}" -C a --stop update=9 --msgpack 2>err | gate -j >out.bin
	opened out.bin
}

@test "a diverged run fails, with its reason; the stream before it is whole" {
	s=0
	train-step "${SMALL[@]}" --stop 'loss>2' -C a --msgpack 2>err | gate -j >out.bin || s=$?
	is "$s" 1
	is "$(verdicts out.bin | grep '^forward')" "~ forward fail: the run ended with status diverged: .*above 2"
	is "$(verdicts out.bin | grep '^backward')" "~ backward ok" "its gradient was a good one"
}

@test "a loss that is NaN fails forward at its update" {
	s=0
	train-step "${SMALL[@]}" -o sgd:lr=1e6 -C a --msgpack 2>err | gate -j >out.bin || s=$?
	is "$s" 1
	is "$(verdicts out.bin | grep '^forward')" "~ forward fail: .*not finite"
}

@test "out of memory fails the phase that ran out" {
	s=0
	train-step "${SMALL[@]}" --memory 100K -C a --msgpack 2>err | gate -j >out.bin || s=$?
	is "$s" 1
	is "$(verdicts out.bin | grep ' fail')" "~ ^(load|data|forward|backward|update) fail: the run ended with status oom: .*asked"
}

@test "runs of the same settings share a replay, and the evidence names the run that was replayed" {
	for k in 1 2; do train-step "${SMALL[@]}" -s $k -C s$k --msgpack 2>err; done >two.bin
	gate -j <two.bin >out.bin
	opened out.bin
	first=$(records two.bin | jq -r 'select(.kind == "run") | .run' | head -1)
	is "$(evidence out.bin resume | tail -1)" "~ ^run $first, of the same settings: "
	gate -j --replay all <two.bin >out.bin
	is "$(evidence out.bin resume | grep -c 'of the same settings')" 0
}

@test "a checkpoint that was touched afterwards is a failed save, and nothing to replay from" {
	cp -r "$CKPT" mine
	gate -j --no-replay "$RUN" | jq -c --arg d "$PWD/mine" 'select(.kind != "verdict") | if .path then .path |= sub(".*/ckpt"; $d) else . end' >run.jsonl
	printf 'x' | dd of=mine/update-000000014.safetensors bs=1 seek=5000 conv=notrunc status=none
	s=0
	gate -j <run.jsonl >out.bin || s=$?
	is "$s" 1
	is "$(verdicts out.bin | grep '^save')" "~ save fail: check the saved file: .*000014.safetensors: its digest is"
	rm -r mine
	run -0 bash -c 'gate -j <run.jsonl >out.bin'
	is "$(verdicts out.bin | grep '^save')" "save unproven: its newest file is gone"
	is "$(evidence out.bin resume)" "~ ^on a short training set"
	sed 's/"role":"train"/"role":"confirm"/' run.jsonl >confirm.jsonl
	gate -j <confirm.jsonl >out.bin
	opened out.bin
	is "$(evidence out.bin save)" "~ its own file went with the probe; 3 saved by the replay"
}

@test "relative data paths are those of the run's folder" {
	mkdir there
	table there/t.csv
	(cd there && train-step -m mlp:hidden=8 -d csv:file=t.csv,class=label -b 8 -n 20 --val-every 10 -C ckpt --msgpack >../run.bin 2>../err)
	gate -j run.bin >out.bin
	opened out.bin
}

@test "data that is gone: no proof, and no ok" {
	table t.csv
	train-step -m mlp:hidden=8 -d csv:file=t.csv,class=label -b 8 -n 20 --val-every 10 -C ckpt --msgpack >run.bin 2>err
	rm t.csv
	run bash -c 'gate -j run.bin >out.bin'
	is "$(verdicts out.bin | grep '^resume')" "~ resume (unproven|fail): .*t.csv"
}

@test "a device that does not repeat a run is not compared bit by bit" {
	gate -j --no-replay "$RUN" | jq -c 'select(.kind != "verdict") | if .kind == "run" then .deterministic = false else . end' >run.jsonl
	gate -j <run.jsonl >out.bin
	is "$(verdicts out.bin | grep '^resume')" "~ resume unproven: no replay: the device does not repeat a run bit by bit"
}

@test "a rate of nothing proves nothing" {
	s=0
	train-step "${SMALL[@]}" -o sgd:lr=0 -C a --msgpack 2>err | gate -j >out.bin || s=$?
	is "$(verdicts out.bin | grep '^resume')" "~ resume unproven: .*proves nothing"
}
