#!/usr/bin/env bats
# probe-batch with the real train-step on a cpu: what it says fits is what train-step can run.

load helpers

setup() {
	out=$BATS_TEST_TMPDIR/out err=$BATS_TEST_TMPDIR/err
	export TMPDIR=$BATS_TEST_TMPDIR OMP_WAIT_POLICY=passive
}

of() { jq -r "select(.kind == \"$1\") | $2" "$out"; }

probe() {
	status=0
	timeout 120 probe-batch -j --seconds 0.1s "$@" >"$out" 2>"$err" || status=$?
	output=$(cat "$err")
}

# train SIZE ARGUMENT...: how a run of train-step at that size ends; validation of one pass and a save in it.
train() {
	local size=$1
	shift
	rm -rf "$BATS_TEST_TMPDIR/c"
	train-step -j -b "$size" -n 4 --val-every 2 --val-examples "$size" -C "$BATS_TEST_TMPDIR/c" --save-every 2 "$@" 2>/dev/null |
		jq -r 'select(.kind == "end") | .status'
}

# exact ARGUMENT...: the probe's largest fits, the next does not, by train-step alone.
exact() {
	probe "$@"
	exits 0 "$*"
	is "$(of probe '.status, .largest_exact' | paste -sd' ')" "found true" "$*: conclusion"
	local largest
	largest=$(of probe .largest)
	is "$(train "$largest" "$@")" 'done' "$*: micro-batch $largest"
	is "$(train $((largest + 1)) "$@")" oom "$*: micro-batch $((largest + 1))"
	(($(of probe .trials_after_failure) <= 5))
	is "$(of trial 'select(.part == "confirm") | .verdict' | tail -1)" fits "$*: confirmation"
	is "$(of trial 'select(.part == "resume") | .verdict' | tail -1)" fits "$*: resuming"
	jq -e -s '(map(select(.kind == "trial" and .part == "confirm"))[-1].allocated_peak_bytes) <= 0.9 * (map(select(.kind == "probe"))[0].budget_bytes)' "$out" >/dev/null
}

@test "the exact maximum of a gpt on sums, under several budgets" {
	exact --memory 3M
	exact --memory 8M
	exact --memory 5M -m gpt:layers=1,width=32,heads=2 -o momentum:lr=0.1 -a 2
	exact --memory 6M --val-micro-batch 4 --dropout 0.1
}

@test "the exact maximum of an mlp on a table" {
	"$PYTHON" - "$BATS_TEST_TMPDIR/t.csv" <<-'END'
		import random, sys
		random.seed(5)
		with open(sys.argv[1], "w") as f:
		    f.write(",".join(f"x{i}" for i in range(20)) + ",kind\n")
		    for n in range(3000):
		        x = [random.gauss(n % 3, 1) for _ in range(20)]
		        f.write(",".join(f"{v:.4f}" for v in x) + "," + "abc"[n % 3] + "\n")
	END
	exact --memory 300K -m mlp:hidden=64x32 -d "csv:file=$BATS_TEST_TMPDIR/t.csv,class=kind"
	exact --memory 1M -m mlp:hidden=128 -d "csv:file=$BATS_TEST_TMPDIR/t.csv,class=kind" -o sgd:lr=0.1
}

@test "the exact maximum of an mlp on real images" {
	requires fashion-mnist
	local d=/usr/share/datasets/fashion-mnist
	exact --memory 4M -m mlp:hidden=128 -o sgd:lr=0.1 -d "idx:images=$d/t10k-images-idx3-ubyte.gz,labels=$d/t10k-labels-idx1-ubyte.gz"
}

@test "nothing fits: the fixed bytes are the plan's, and train-step agrees" {
	probe --memory 1M
	exits 1
	is "$(of probe .status)" nothing-fits "status"
	is "$(of probe .why)" "~ no batch, length or accumulation helps" "why"
	is "$(of probe .fixed_bytes)" "$(of plan .fixed_bytes | tail -1)" "fixed bytes"
	is "$(train 1 --memory 1M)" oom "micro-batch 1"
}

@test "the fitted line is the plan's within its rounding" {
	probe --memory 8M
	jq -e -s '(map(select(.kind == "plan"))[-1]) as $p | map(select(.kind == "probe"))[0]
		| ((.fixed_bytes / $p.fixed_bytes - 1) | fabs) < 0.01 and ((.per_example_bytes / $p.per_example_bytes - 1) | fabs) < 0.01' "$out"
}

@test "a setting that train-step refuses is the user's error, with its words" {
	probe -d text:file="$BATS_TEST_TMPDIR/absent"
	is "$(of probe .status)" error "status"
	is "$output" "~ absent" "names the file"
	((status >= 64 && status != 70))
	probe -d csv:file=x
	exits 64
}

@test "trials neither score the test split nor keep checkpoints; the confirmed run can be judged" {
	probe --memory 3M
	is "$(of eval 'select(.split == "test") | .run')" "" "test scores"
	is "$(of run .role | sort | uniq -c | awk '$2 == "confirm" { print $1 }')" 1 "one confirmed run"
	local run
	run=$(of probe .confirm_run)
	is "$(jq -r --arg r "$run" 'select(.kind == "phase" and .run == $r) | .phase' "$out" | sort -u | paste -sd' ')" "backward data forward load save update validate" "phases"
	is "$(jq -r --arg r "$run" 'select(.kind == "run" and .run == $r) | .fingerprint' "$out")" "$(of probe .fingerprint)" "fingerprint"
	is "$(find "$BATS_TEST_TMPDIR" -name 'pilot-probe*')" "" "temporary folders"
}

@test "-C keeps the confirmed run, and train-step goes on from it" {
	probe --memory 3M -C "$BATS_TEST_TMPDIR/keep" --headroom 0
	exits 0
	is "$(find "$BATS_TEST_TMPDIR/keep" -name 'update-*' | wc -l)" 2 "checkpoints"
	local budget
	budget=$(of run 'select(.role == "confirm") | .updates' | tail -1)
	is "$(train-step -j -r "$BATS_TEST_TMPDIR/keep" -C "$BATS_TEST_TMPDIR/keep" -n $((budget + 2)) --val-examples 1 | jq -r 'select(.kind == "end") | .status, .updates' | paste -sd' ')" "done $((budget + 2))" "two more updates"
	probe --memory 3M -C "$BATS_TEST_TMPDIR/other" --headroom 0 --effective-batch 10000
	exits 0 "an effective batch beyond the data"
	is "$(of probe '.accum * .recommended')" 10000 "kept"
}

@test "text on a terminal says what fits and what is recommended" {
	probe --memory 3M
	timeout 60 probe-batch -t --seconds 0.1s --memory 3M >"$out" 2>"$err"
	is "$(cat "$out")" "~ largest +[0-9]+ fits, [0-9]+ does not" "largest"
	is "$(cat "$out")" "~ recommended -b [0-9]+" "recommended"
	is "$(cat "$out")" "~ not the batch of least training time" "what it is not"
}
