#!/usr/bin/env bats
# Memory: the plan equals the counters to the byte, and running out is an answer.

load helpers
load train

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# Every part of the plan against the counters of the phase that takes it.
plan_holds() {
	"$PYTHON" - "$1" <<-'EOF'
	import json, sys
	r = [json.loads(l) for l in open(sys.argv[1])]
	plan = next(x for x in r if x["kind"] == "plan")
	end = next(x for x in r if x["kind"] == "end")
	first = {x["phase"]: x for x in r if x["kind"] == "phase" and x["occurrence"] == "first"}
	assert end["status"] == "done", end
	for phase in ["load", "data", "forward", "backward", "update"]:
	    p = first[phase]
	    took = p["allocated_bytes"] - p["baseline_bytes"]
	    assert took == plan[phase + "_bytes"], (phase, took, plan)
	    if p.get("passes", 1) == 1:  # later passes run beside what came after the first
	        assert p["allocated_peak_bytes"] == p["allocated_bytes"], p
	if "validate" in first:
	    p = first["validate"]
	    assert p["allocated_bytes"] == p["baseline_bytes"], "validation gives back what it took"
	    assert p["allocated_peak_bytes"] - p["baseline_bytes"] == plan["validate_bytes"], p
	assert plan["peak_bytes"] == end["allocated_peak_bytes"], (plan, end)
	assert plan["peak_phase"] == end["peak_phase"], (plan, end)
	assert plan["reserved_bytes"] == end["reserved_peak_bytes"], (plan, end)
	b = next(x for x in r if x["kind"] == "run")["micro_batch"]
	assert plan["fixed_bytes"] + b * plan["per_example_bytes"] == plan["peak_bytes"]
	for x in r:  # nothing else is ever taken
	    if x["kind"] == "phase" and x["occurrence"] == "steady" and x["phase"] != "validate":
	        assert x["allocated_peak_bytes"] == x["baseline_bytes"], x
	EOF
}

@test "the plan equals the counters to the byte, for many configurations" {
	i=0
	while read -r options; do
		# shellcheck disable=SC2086
		i=$((i + 1))
		train-step -j $options >$i.jsonl || [[ $options == *overfit* ]] || { echo "$options"; return 1; }
		plan_holds $i.jsonl || { echo "$options"; return 1; }
	done <<-'EOF'
	-n 4
	-n 4 -o sgd:lr=0.1
	-n 4 -o momentum:lr=0.1 -b 1
	-n 4 -o nadam:lr=1e-3 -b 7 -a 3
	-n 4 --freeze wte* --dropout 0.3
	-n 4 --freeze *.weight -b 5
	-n 4 --val-micro-batch 500
	-n 4 --val-micro-batch 1 --val-every 2
	-n 4 -l 32 -b 3 --val-length 20 -m gpt:layers=1,width=24,heads=3,context=40
	-n 4 -m gpt:layers=3,width=40,heads=5 -b 13
	-n 4 -d sums:digits=3,val=0.001,test=0.001 -b 17 -a 2
	-n 4 -d sums:digits=1,val=0,test=0
	-n 4 --overfit 5
	-n 4 --overfit 5 -b 2 --val-micro-batch 3
	-n 1
	EOF
	printf 'a,b,class\n' >t.csv
	for i in $(seq 60); do echo "$i,$((i * i % 13)),c$((i % 3))"; done >>t.csv
	for options in "-b 4" "-b 40 -o sgd:lr=0.1" "-b 3 -a 2 --val-micro-batch 9"; do
		# shellcheck disable=SC2086
		train-step -j -n 4 -m mlp:hidden=7x5 -d csv:file=t.csv,class=class $options >m.jsonl
		plan_holds m.jsonl
	done
}

@test "a resumed run's plan too" {
	train-step -j -n 8 --stop update=4 -C c >/dev/null
	train-step -j -r c >r.jsonl
	is "$(of r.jsonl plan peak_bytes)" "$(of r.jsonl end allocated_peak_bytes)"
	is "$(of r.jsonl plan peak_phase)" "$(of r.jsonl end peak_phase)"
	took=$(($(phase r.jsonl resume first allocated_bytes) - $(phase r.jsonl resume first baseline_bytes)))
	is $took "$(of r.jsonl plan update_bytes)"
}

@test "out of memory in each phase: the phase, the size asked, the input; exit 1, the stream whole" {
	train-step -j -n 4 >plan.jsonl
	allocated=0
	for part in load data forward backward update validate; do
		# A budget is counted in what is taken from the device: whole pages.
		budget=$(($(phase plan.jsonl $part first reserved_peak_bytes) - 1))
		run -1 --separate-stderr bash -c "train-step -j -n 4 --memory $budget >$part.jsonl"
		is "$stderr" "~ oom: $part: out of memory"
		is "$(of $part.jsonl end status)" oom
		is "$(of $part.jsonl end oom_phase)" $part
		is "$(of $part.jsonl end asked_bytes)" "$(of plan.jsonl plan ${part}_bytes)"
		is "$(of $part.jsonl end allocated_bytes)" $allocated
		is "$(of $part.jsonl end budget_bytes)" $budget
		is "$(of $part.jsonl end input)" "32 x 9"
		is "$(of $part.jsonl plan budget_bytes)" $budget
		is "$(of $part.jsonl done status)" 1
		allocated=$((allocated + $(of plan.jsonl plan ${part}_bytes)))
	done
	# With one byte more it runs.
	run -0 train-step -j -n 4 --memory "$(of plan.jsonl plan reserved_bytes)"
}

@test "out of memory while resuming, where starting had room" {
	train-step -j -n 4 --stop update=2 -C c >c.jsonl
	run -1 bash -c "train-step -j -r c --memory $(($(phase c.jsonl load first reserved_bytes) + 1)) >r.jsonl"
	is "$(of r.jsonl end oom_phase)" resume
}

@test "out of memory in validation: the run ends, but what was trained is saved" {
	train-step -j -n 6 --val-micro-batch 900 >plan.jsonl
	run -1 bash -c "train-step -j -n 6 --val-micro-batch 900 --val-every 3 --memory $(($(of plan.jsonl plan reserved_bytes) - 1)) -C c >o.jsonl"
	is "$(of o.jsonl end oom_phase)" validate
	is "$(of o.jsonl end input)" "900 x 9"
	is "$(of o.jsonl save update)" 3
	train-step -j -r c --val-micro-batch 10 >r.jsonl
	is "$(of r.jsonl end updates)" 6
}

@test "a size that the kernels cannot is no lack of memory" {
	run --separate-stderr bash -c "train-step -j -n 1 -b 2000000000 -m gpt:layers=1,width=8,heads=1 >k.jsonl"
	exits 64
	is "$(of k.jsonl end status)" error
	is "$(of k.jsonl end kernel_limit)" "~ more than the matrix products can count"
}
