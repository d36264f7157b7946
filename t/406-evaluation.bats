#!/usr/bin/env bats
# Validation, test, answers, overfitting, freezing.

load helpers
load train

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

@test "the result of a validation does not depend on its batch" {
	train-step -j -n 5 -C c >/dev/null
	w=$(update_file c 5)
	for b in 1 7 32 999 5000; do
		train-step -j -n 1 -o sgd:lr=1e-30 -w "$w" --val-micro-batch $b >"$b.jsonl"
	done
	"$PYTHON" - 1 7 32 999 5000 <<-'EOF'
	import json, sys
	e = []
	for b in sys.argv[1:]:
	    r = [json.loads(l) for l in open(b + ".jsonl")]
	    e.append(next(x for x in r if x["kind"] == "eval" and x["split"] == "validation"))
	    p = next(x for x in r if x["kind"] == "phase" and x["phase"] == "validate")
	    assert p["expected_examples"] == p["distinct_examples"] == p["examples"] == e[-1]["examples"] == 1000, p
	    assert p["passes"] == -(-1000 // int(b)), p
	for x in e:
	    assert abs(x["loss"] - e[0]["loss"]) < 1e-6, (x["loss"], e[0]["loss"])
	    assert x["supervised"] == e[0]["supervised"] and abs(x["accuracy"] - e[0]["accuracy"]) < 1e-3
	EOF
}

@test "a --val-length beyond the longest example takes no more room and time than that one" {
	train-step -j -n 2 -d sums:digits=1 >short.jsonl
	train-step -j -n 2 -d sums:digits=1 --val-length 1000000 >long.jsonl
	is "$(of long.jsonl eval loss)" "$(of short.jsonl eval loss)" "loss"
	is "$(of long.jsonl plan peak_bytes)" "$(of short.jsonl plan peak_bytes)" "memory planned"
	is "$(of long.jsonl end allocated_peak_bytes)" "$(of short.jsonl end allocated_peak_bytes)" "memory taken"
}

@test "the loss of a validation is PyTorch's" {
	requires torch numpy
	printf 'a,b,class\n' >t.csv
	for i in $(seq 90); do echo "$((i * 7 % 31)),$((i * i % 17)),c$((i % 3))"; done >>t.csv
	train-step -j -n 9 -m mlp:hidden=5 -d csv:file=t.csv,class=class -b 8 --val-micro-batch 4 -C c >r.jsonl
	# --show gives the features of training examples, --overfit evaluates them.
	train-step -j -n 1 -o sgd:lr=1e-30 -m mlp:hidden=5 -d csv:file=t.csv,class=class -b 8 --overfit 20 -w "$(update_file c 9)" >o.jsonl || true
	train-step -j --show 20 -m mlp:hidden=5 -d csv:file=t.csv,class=class >s.jsonl
	"$PYTHON" - "$(update_file c 9)" <<-'EOF'
	import json, struct, sys
	import numpy, torch
	d = open(sys.argv[1], "rb").read()
	n = struct.unpack("<Q", d[:8])[0]
	h = json.loads(d[8:8 + n])
	t = {k: torch.from_numpy(numpy.frombuffer(d[8 + n:], "<f4", (v["data_offsets"][1] - v["data_offsets"][0]) // 4, v["data_offsets"][0]).reshape(v["shape"]).copy())
	     for k, v in h.items() if k != "__metadata__" and not k.startswith("optimizer.")}
	names = sorted({k.rsplit(".", 1)[0] for k in t})
	ex = [r for r in map(json.loads, open("s.jsonl")) if r["kind"] == "example"]
	x = torch.tensor([e["features"] for e in ex], dtype=torch.float32)
	y = torch.tensor([e["class"] for e in ex])
	for i, k in enumerate(names):
	    x = torch.nn.functional.linear(x, t[k + ".weight"], t[k + ".bias"])
	    x = torch.relu(x) if i + 1 < len(names) else x
	want = torch.nn.functional.cross_entropy(x, y).item()
	got = next(r for r in map(json.loads, open("o.jsonl")) if r["kind"] == "eval")
	assert got["split"] == "train" and got["examples"] == 20, got
	assert abs(got["loss"] - want) < 1e-5, (got["loss"], want)
	assert abs(got["accuracy"] - (x.argmax(1) == y).float().mean().item()) < 1e-6
	p = [r["correct"] for r in map(json.loads, open("o.jsonl")) if r["kind"] == "prediction"]
	assert p == (x.argmax(1) == y).tolist()
	EOF
}

@test "validation at its own length; only the first so many examples" {
	requires kjv
	bible -f gen1:1-gen20:1 >kjv.txt
	train-step -j -n 3 -m gpt:layers=1,width=16,heads=2,context=64 -l 16 --val-length 48 --val-micro-batch 5 -d text:file=kjv.txt >r.jsonl
	is "$(of r.jsonl eval length) $(phase r.jsonl validate first length)" "48 48"
	is "$(phase r.jsonl forward first output_shape)" "[32,16,256]"
	train-step -j -n 3 -m gpt:layers=1,width=16,heads=2 -l 16 --val-examples 7 -d text:file=kjv.txt >r.jsonl
	is "$(jq -r 'select(.kind == "eval" and .split == "validation") | .examples' r.jsonl)" 7
	is "$(phase r.jsonl validate first expected_examples) $(phase r.jsonl validate first distinct_examples)" "7 7"
}

@test "the test split is scored once, at the end of a run that is done, and never selected on" {
	train-step -j -n 20 --val-every 4 >r.jsonl
	is "$(jq -r 'select(.kind == "eval") | .split' r.jsonl | uniq -c | awk '{print $1 $2}' | paste -sd ' ')" "5validation 1test"
	is "$(of r.jsonl end validations)" 5
	is "$(of r.jsonl end test_loss)" "$(jq 'select(.kind == "eval" and .split == "test") | .loss' r.jsonl)"
	best=$(jq -s '[.[] | select(.kind == "eval" and .split == "validation")] | min_by(.loss) | [.loss, .update]' -c r.jsonl)
	is "[$(of r.jsonl end best_validation_loss),$(of r.jsonl end best_update)]" "$best"
	is "$(of r.jsonl end validation_loss)" "$(jq 'select(.kind == "eval" and .split == "validation") | .loss' r.jsonl | tail -1)"
	train-step -j -n 4 -d sums:digits=1,val=0,test=0 >r.jsonl
	is "$(grep -c '"kind":"eval"' r.jsonl)" 0
}

@test "the best validation is remembered across a resume" {
	train-step -j -n 12 --val-every 3 -C w >whole.jsonl
	train-step -j -n 12 --val-every 3 --stop update=6 -C r >/dev/null
	train-step -j -r r >r.jsonl
	for f in best_validation_loss best_update validations validation_loss test_loss; do
		is "$(of r.jsonl end $f)" "$(of whole.jsonl end $f)" $f
	done
}

@test "--overfit: a few examples come back, and the run says so" {
	train-step -j --overfit 8 -n 300 -o adamw:lr=3e-3 >o.jsonl
	is "$(of o.jsonl end overfit_recovered) $(of o.jsonl end overfit_examples) $(of o.jsonl end status)" "8 8 done"
	is "$(jq -r 'select(.kind == "prediction") | .correct' o.jsonl | uniq -c | tr -s ' ')" " 8 true"
	is "$(jq -r 'select(.kind == "eval") | .split' o.jsonl)" train
	# What it answers is what the example wants, by arithmetic.
	jq -r 'select(.kind == "prediction") | .text + " " + .output' o.jsonl | while read -r sum answer; do
		is "$((${sum%=}))" "$answer"
	done
	# The same examples as --show names.
	is "$(jq -r 'select(.kind == "prediction") | .id' o.jsonl)" "$(train-step -j --show 8 | jq -r 'select(.kind == "example") | .id')"
	run train-step -j --overfit 8 -n 2
	exits 1 "too short to learn anything"
	is "$output" "~ \"overfit_recovered\":[0-7],\"overfit_examples\":8"
	# Text has no prompts: the targets themselves must come back.
	requires kjv
	bible -f gen1:1-gen5:1 >kjv.txt
	train-step -j --overfit 2 -n 300 -b 2 -m gpt:layers=1,width=32,heads=2 -l 16 -o adamw:lr=1e-2 -d text:file=kjv.txt >t.jsonl
	is "$(of t.jsonl end overfit_recovered)" 2
	is "$(jq -r 'select(.kind == "prediction") | (.output == .target)' t.jsonl | uniq)" true
}

@test "answers are generated: exact only if every letter and the end are right" {
	train-step -j -n 40 --overfit 4 -d sums:digits=1 -o adamw:lr=1e-2 >o.jsonl || true
	jq -r 'select(.kind == "prediction") | [.target, .output, .correct] | @tsv' o.jsonl | while IFS=$'\t' read -r target output correct; do
		is "$correct" "$([ "$target" = "$output" ] && echo true || echo false)" "$target $output"
	done
	is "$(of o.jsonl end overfit_recovered)" "$(jq -r 'select(.kind == "prediction" and .correct) | .id' o.jsonl | wc -l)"
}

@test "frozen parameters are bitwise the same, the others move; weight decay does not touch them" {
	train-step -j -n 6 --freeze '*wte*,*.mlp.*' -o adamw:lr=1e-2,weight_decay=0.5 -C c --save-every 1 >r.jsonl
	tensors "$(update_file c 1)" | grep -v ^optimizer >a
	tensors "$(update_file c 6)" | grep -v ^optimizer >b
	grep -E 'wte|\.mlp\.' a >frozen.a
	grep -E 'wte|\.mlp\.' b >frozen.b
	[ "$(wc -l <frozen.a)" -eq 9 ]
	diff frozen.a frozen.b
	# The first update left the initial ones as well: a rate too small to move them gives the same weights.
	train-step -j -n 1 -o sgd:lr=1e-30 -C start >/dev/null
	is "$(tensors "$(update_file start 1)" | grep -E 'wte|\.mlp\..*weight')" "$(grep weight frozen.b)"
	is "$(comm -12 <(grep -vE 'wte|\.mlp\.' a) <(grep -vE 'wte|\.mlp\.' b))" "" "trainable tensors that did not move"
	is "$(tensors "$(update_file c 6)" | grep ^optimizer | grep -cE 'wte|\.mlp\.')" 0 "no state for what is frozen"
	is "$(phase r.jsonl update first frozen_changed)" 0
	is "$(phase r.jsonl backward first trainable_tensors) $(phase r.jsonl backward first tensors)" "19 28"
	is "$(of r.jsonl run trainable_parameters)" "~ ^[0-9]+$"
	[ "$(of r.jsonl run trainable_parameters)" -lt "$(of r.jsonl run parameters)" ]
}

@test "dropout is off in validation" {
	train-step -j -n 5 -C c >/dev/null
	w=$(update_file c 5)
	train-step -j -n 1 -o sgd:lr=1e-30 -w "$w" >off.jsonl
	train-step -j -n 1 -o sgd:lr=1e-30 -w "$w" --dropout 0.5 >on.jsonl
	is "$(of on.jsonl end validation_loss)" "$(of off.jsonl end validation_loss)"
	[ "$(of on.jsonl end loss)" != "$(of off.jsonl end loss)" ]
}
