#!/usr/bin/env bats
# ledger check: did last night's run come, end and pass, and is anything worse than before?
# shellcheck disable=SC2154

load helpers
load answers

setup() {
	requires jq
	cd "$BATS_TEST_TMPDIR" || return
}

tonight=2026-11-29T20:00Z
# night OPTION...: of answers.py nights; the answer as JSON Lines.
night() {
	answers nights "$@" >s
	check
}
check() { run --separate-stderr ledger check -j --since $tonight "$@" s; }
worse() { row figures 'select(.verdict == "worse") | .figure' | tr -d '"' | paste -sd,; }
conclusion() { says conclusion; }

@test "a steady night: all is well" {
	night
	exits 0
	is "$(conclusion)" "All is well."
	is "$(row figures .figure | wc -l)" 14
	is "$(row figures .earlier | sort -u)" 14
	is "$(says job)" "~ done and passed; 0 of 14 figures are worse than on 14 nights before"
}

@test "slower, a slower phase, more memory, a worse loss: worse, and which" {
	night --throughput 0.8
	exits 1
	is "$(worse)" "~ examples/s,training"
	night --slow save --slower 1.6
	exits 1
	is "$(worse)" "save"
	night --memory 1.2
	exits 1
	is "$(worse)" "allocated peak,reserved peak,device used peak"
	night --loss 1.3
	exits 1
	is "$(worse)" "~ validation loss"
	is "$(conclusion)" "Worse."
}

@test "better is not worse; a change below the least that counts is none" {
	night --throughput 1.5 --memory 0.5 --loss 0.5
	exits 0
	night --memory 1.04
	exits 0
	check --effect 3
	exits 1
	is "$(worse)" "allocated peak,reserved peak,device used peak"
}

@test "it did not come; nothing came at all" {
	night --skip 0
	exits 1
	is "$(says missing)" "~ did not come; it came 14 times before, last 2026-11-29 02:00"
	is "$(conclusion)" "Missing."
	answers nights --nights 3 >s
	run ledger check --since 2026-12-01 s
	exits 1
	is "$output" "~ did not come"
	answers nights --nights 1 >s
	run ledger check --since 2026-12-20 s
	exits 1
	is "$output" "~ No run came"
}

@test "it came and did not end well" {
	night --status oom
	exits 1
	is "$(says ended)" "~ ended as oom"
	night --unended
	is "$(says ended)" "~ has no end"
	ledger append l <s || true
	run ledger check --since $tonight l
	exits 1
	is "$output" "~ has no end: it was cut, or still runs"
}

@test "verdicts: a gate that failed it, one that no longer says ok, one that did not speak" {
	night --verdict fail --verdict-before ok
	exits 1
	is "$(says verdict)" "~ the gate failed it: update"
	night --verdict unproven --verdict-before ok
	exits 1
	is "$(says verdict)" "~ update is unproven; it was ok the time before"
	night --verdict-before ok
	exits 1
	is "$(says verdict)" "~ no gate judged it; the time before one did"
	night --verdict unproven --verdict-before unproven
	exits 0 "as it was"
}

@test "too few earlier runs: says so and is 0, unless --strict" {
	night --nights 4
	exits 0
	is "$(says few)" "~ 3 earlier runs to compare with, 4 are wanted"
	is "$(row figures .figure)" ""
	is "$(conclusion)" "What came ended well; of its figures nothing can be told yet."
	run --separate-stderr ledger check -j --since 2020-01-01 s
	exits 0
	is "$(says few | wc -l)" 1 "said once of a job, not of each run"
	check --strict
	exits 1
	is "$(conclusion)" "Too few earlier runs."
	night --nights 5
	exits 0
	is "$(row figures .earlier | sort -u)" 4
}

@test "another revision, host or driver begins a new baseline" {
	local field
	for field in revision host driver; do
		night --set-tonight $field=other --throughput 0.5
		exits 0 "$field"
		is "$(says few)" "~ a new baseline began, as $field was .* is other"
	done
}

@test "another batch is another job; --by makes them one" {
	night --set-tonight micro_batch=16
	exits 1
	is "$(says missing)" "~ b=32 n=200: did not come"
	check --by model
	exits 0
	is "$(says job)" "~ model=gpt.*0 of"
	check --only b=16
	exits 0 "only that job"
}

@test "--against bounds the nights; options that cannot be are refused" {
	night
	check --against 5
	is "$(row figures .earlier | sort -u)" 5
	run ledger check --against 3 s
	exits 64
	run ledger check --rate 99 s
	exits 64
	run ledger check --since yesterdayish s
	exits 64
}

@test "the allowed change: the quantile that a stated rate asks for, against numpy's" {
	requires scipy
	night --nights 9
	local allowed
	allowed=$(row figures 'select(.figure == "examples/s") | .allowed_percent / 100 * .median')
	"$PYTHON" - "$allowed" <<'END'
import json, sys
import numpy as np
runs = [json.loads(l) for l in open("s")]
x = [r["examples_per_second"] for r in runs if r["kind"] == "end"][:-1]
x = np.log(x)
mad = 1.4826 * np.median(np.abs(x - np.median(x)))
rng = np.random.default_rng(7)
z = rng.normal(size=(400000, 8))
m = np.median(z, axis=1)
ratio = (rng.normal(size=400000) - m) / (1.4826 * np.median(np.abs(z - m[:, None]), axis=1))
want = -np.expm1(-np.quantile(ratio, 1 - 0.05 / 14) * mad) * np.exp(np.median(x))
assert abs(float(sys.argv[1]) / want - 1) < 0.12, (sys.argv[1], want)
END
}

@test "an empty ledger, a stream of nothing, streams in a pipe" {
	ledger append empty </dev/null || true
	run ledger check empty
	exits 1
	is "$output" "~ No run came"
	answers nights >s
	run bash -c 'ledger check --since 2026-11-29T20:00Z --csv <s'
	exits 0
	is "$(head -1 <<<"$output" | cut -d, -f1-3)" '"job","figure","tonight"'
}

@test "nights that differ so much that only a great fall, or none, could be told: it is said" {
	night --noise 0.5
	is "$(says noise | head -1)" "~ examples/s differed so much on the nights before that only a fall of more than [0-9]+ % could be told"
	is "$(says noise | tail -1)" "~ validation accuracy differed .* no fall of it could be told"
	is "$(row figures 'select(.figure == "examples/s") | .allowed_percent > 50')" true
	night
	is "$(says noise)" ""
}

@test "what is not waited for: seeds of a planned comparison, and a job given up long ago" {
	three --seeds 5 >s
	answers nights --last 2026-10-01T02:00:00Z --set micro_batch=64 >>s
	answers nights --last 2026-12-04T03:00:00Z >>s
	run --separate-stderr ledger check -j --since 2026-12-03T20:00Z s
	exits 0
	is "$(says missing)" ""
	run --separate-stderr ledger check -j --since 2026-12-04T20:00Z s
	exits 1
	is "$(says missing | wc -l)" 1 "the steady one is"
}

@test "a loss that is not a number is worse; what was not measured tonight is said" {
	night --loss nan
	exits 1
	is "$(worse)" "validation loss"
	night
	jq -c 'if .kind == "end" and .t > "2026-11-29T20" then del(.examples_per_second) elif .kind == "eval" and .t > "2026-11-29T20" then empty else . end' s >t
	mv t s
	check
	exits 0
	is "$(says unmeasured | sed 's/.*: //; s/ was.*//' | paste -sd,)" "examples/s,validation loss,validation accuracy"
}

@test "another device begins a new baseline, by name or by kind" {
	night --set-tonight device=cuda --throughput 3
	is "$(says few)" "~ a new baseline began, as device was cpu, is cuda"
	night
	jq -c 'if .kind == "run" and .t > "2026-11-29T20" then .devices = ["another"] else . end' s >t
	mv t s
	check
	is "$(says few)" "~ a new baseline began, as devices was cpu, is another"
}

@test "two hosts that take turns: each beside its own nights" {
	answers nights >s
	answers nights --set host=node2 --last 2026-11-30T03:00:00Z --throughput 0.3 >>s
	check
	exits 1
	is "$(worse)" "~ ^examples/s"
	is "$(row figures .earlier | sort -u)" 14
}
