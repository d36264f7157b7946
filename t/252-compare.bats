#!/usr/bin/env bats
# ledger compare: which variant won, and whether that can be told.
# shellcheck disable=SC2154

load helpers
load answers

setup() {
	requires jq
	cd "$BATS_TEST_TMPDIR" || return
}

# compare OPTION...: of the stream in the file s, as JSON Lines.
compare() {
	run --separate-stderr ledger compare -j "$@" s
}

verdicts() { row variants '[.variant, .n, .test, .verdict]' | tr -d '"' | paste -sd' '; }

@test "fewer than three seeds: numbers only" {
	three --seeds 2 >s
	compare
	exits 0
	is "$(verdicts)" "[lr=5e-5,2,numbers only,~] [lr=2e-4,2,numbers only,~]"
	is "$(says variant | head -1)" "~ too few to tell anything"
	is "$(row variants .p)" $'null\nnull' "no p"
}

@test "one run a variant and a control with several seeds: inside or outside what one more run would give" {
	three --seeds 5 --missing lr=5e-5:2 --missing lr=5e-5:3 --missing lr=5e-5:4 --missing lr=5e-5:5 --missing lr=2e-4:2 --missing lr=2e-4:3 --missing lr=2e-4:4 --missing lr=2e-4:5 --between 0.005 >s
	compare
	exits 0
	is "$(verdicts)" "[lr=5e-5,1,one run against the control's spread,~] [lr=2e-4,1,one run against the control's spread,~]"
	is "$(says variant | grep 2e-4)" "~ outside what one more run of lr=1e-4 would give"
	# the same interval by scipy
	requires scipy
	is "$(says variant | grep 2e-4 | grep -oE '[0-9.]+ to [0-9.]+')" "$(jq -r 'select(.kind == "end" and .status == "done") | .run + " " + (.validation_loss | tostring)' s | "$PYTHON" -c '
import sys, json
from scipy import stats
import numpy as np
loss = dict(l.split() for l in sys.stdin)
runs = [json.loads(l) for l in open("s")]
x = [float(loss[r["run"]]) for r in runs if r["kind"] == "run" and r["arm"] == "lr=1e-4"]
h = stats.t.ppf(.975, len(x) - 1) * np.std(x, ddof=1) * np.sqrt(1 + 1 / len(x))
print("%.5g to %.5g" % (np.mean(x) - h, np.mean(x) + h))')"
}

@test "three to five seeds: a t interval, at most suggestive; the numbers are scipy's" {
	requires scipy
	three --seeds 5 >s
	compare
	exits 0
	is "$(verdicts)" "[lr=5e-5,5,t interval,suggestive: worse] [lr=2e-4,5,t interval,suggestive: better]"
	is "$(says power)" "~ 5 pairs and 2 variants no result can be significant .* 0.125; with 7 pairs one can be" "the floor"
	is "$(says departure)" "" "what was planned was asked"
	compare --metric validation_accuracy
	is "$(says departure)" "~ not what was planned to decide: that is validation_loss, the last"
	compare --best
	is "$(says departure)" "~ not what was planned to decide: that is validation_loss, the last"
	compare --budget updates=100
	is "$(says departure)" "~ not what was planned to decide: that is validation_loss, the last"
	compare
	row variants '[.variant, .difference, .low, .high, .p, .p_adjusted]' | "$PYTHON" -c '
import sys, json
from scipy import stats
import numpy as np
said = {r[0]: r[1:] for r in map(json.loads, sys.stdin)}
records = [json.loads(l) for l in open("s")]
loss = {r["run"]: r["validation_loss"] for r in records if r["kind"] == "end"}
arm = {}
for r in records:
    if r["kind"] == "run":
        arm.setdefault(r["arm"], {})[r["seed"]] = loss[r["run"]]
ps = {}
for name in ("lr=5e-5", "lr=2e-4"):
    d = np.array([arm[name][s] - arm["lr=1e-4"][s] for s in sorted(arm[name])])
    t = stats.ttest_1samp(d, 0)
    low, high = stats.t.interval(.95, len(d) - 1, np.mean(d), stats.sem(d))
    ps[name] = t.pvalue
    for got, want in zip(said[name], (np.mean(d), low, high, t.pvalue)):
        assert abs(got - want) < 1e-8, (name, got, want)
small, large = sorted(ps, key=ps.get)
assert abs(said[small][4] - 2 * ps[small]) < 1e-9 and abs(said[large][4] - max(2 * ps[small], ps[large])) < 1e-9'
}

@test "from six seeds: sign flips and Holm; too few for two variants is said" {
	three --seeds 6 >s
	compare
	is "$(verdicts)" "[lr=5e-5,6,sign flips, every one,~] [lr=2e-4,6,sign flips, every one,~]"
	is "$(row variants .p)" $'0.03125\n0.03125' "2 of 64 patterns"
	is "$(says variant | head -1)" "~ is not certain.*leaves out 0.*more seeds would tell"
	three --seeds 8 >s
	compare
	is "$(verdicts)" "[lr=5e-5,8,sign flips, every one,worse] [lr=2e-4,8,sign flips, every one,better]"
	is "$(row variants .p_adjusted)" $'0.015625\n0.015625'
	is "$(says detectable)" "~ four times in five: about 0.0[0-9]+ for lr=5e-5, 0.0[0-9]+ for lr=2e-4"
}

@test "identical arms: no difference is told" {
	answers arms --factor optimizer.lr --arm 'lr=1e-4@1.75:optimizer=adamw;lr=1e-4' --arm 'lr=2e-4@1.75:optimizer=adamw;lr=2e-4' --seeds 8 --random 3 >s
	compare
	is "$(verdicts)" "[lr=2e-4,8,sign flips, every one,~]"
	is "$(says variant)" "~ no difference from lr=1e-4 can be told"
}

@test "a run that diverged: ranks only, never an interval over the survivors; its rate with an interval" {
	three --seeds 6 --diverged lr=2e-4:3 --diverged lr=2e-4:4 >s
	compare
	exits 0
	is "$(ledger compare s)" "~ lr=2e-4: not certainly other than lr=1e-4 by ranks" "as firm as the verdict"
	is "$(row variants 'select(.variant == "lr=2e-4") | [.difference, .low, .high, .test]')" '["ranks only",null,null,"ranks: some diverged"]'
	is "$(row arms 'select(.arm == "lr=2e-4") | [.n, .diverged]')" '[4,2]'
	is "$(row not_counted 'select(.state == "diverged") | .seed' | paste -sd' ')" "3 4"
	requires scipy
	row variants 'select(.variant == "lr=2e-4") | .p' | "$PYTHON" -c '
import json, sys, itertools
from scipy import stats
import numpy as np
records = [json.loads(l) for l in open("s")]
end = {r["run"]: float("inf") if r["status"] == "diverged" else r["validation_loss"] for r in records if r["kind"] == "end"}
arm = {}
for r in records:
    if r["kind"] == "run":
        arm.setdefault(r["arm"], []).append(end[r["run"]])
ranks = stats.rankdata(arm["lr=2e-4"] + arm["lr=1e-4"])
seen, middle = abs(sum(ranks[:6]) - sum(ranks) / 2), sum(ranks) / 2
p = np.mean([abs(sum(c) - middle) >= seen - 1e-9 for c in itertools.combinations(ranks, 6)])
assert abs(json.load(sys.stdin) - p) < 1e-12, p'
	row arms 'select(.arm == "lr=2e-4") | [.diverged_low, .diverged_high]' | "$PYTHON" -c '
import json, sys
from scipy import stats
got, want = json.load(sys.stdin), stats.binomtest(2, 6).proportion_ci(method="exact")
assert max(abs(g - w) for g, w in zip(got, want)) < 1e-9'
}

@test "all runs of few seeds diverged: may be worse, as the verdict has it; large numbers in full" {
	three --seeds 5 --speed 20000 --diverged lr=2e-4:1 --diverged lr=2e-4:2 --diverged lr=2e-4:3 --diverged lr=2e-4:4 --diverged lr=2e-4:5 >s
	run -0 ledger compare s
	is "$output" "~ lr=2e-4 +5 +ranks only .* suggestive: worse" "the verdict"
	is "$output" "~ lr=2e-4 may be worse than lr=1e-4 by ranks" "the sentence"
	is "$(sed -n '/^arm/,/^$/p' <<<"$output")" "~ lr=1e-4 .* [12][0-9]{4}" "not 2e+04"
	[[ $output != *e+0* ]]
}

@test "missing, stopped by another rule, without an end: named, with the reason, and not counted" {
	three --seeds 5 --missing lr=5e-5:2 --stopped lr=5e-5:4 --unended lr=2e-4:5 >s
	run --separate-stderr ledger compare -j s
	exits 65 "a stream with an open run was cut"
	is "$(row not_counted '[.arm, .seed, .state]' | paste -sd' ')" '["lr=5e-5",2,"missing"] ["lr=5e-5",4,"left out"] ["lr=2e-4",5,"left out"]'
	is "$(row not_counted .why | paste -sd' ')" '~ stopped after 120 updates.*no end'
	is "$(row arms '[.arm, .n, .missing, .left_out]' | paste -sd' ')" '["lr=1e-4",5,0,0] ["lr=5e-5",3,1,1] ["lr=2e-4",4,0,1]'
	ledger append l <s || true
	run ledger compare -j l
	exits 0 "in a ledger an open run is data"
}

@test "a planned stop rule does not exclude" {
	three --seeds 3 --stop 'update=120' >s
	jq -c 'if .kind == "end" then .status = "stopped" | .why = "stop rule update=120" | .updates = 120 else . end' s >s2
	mv s2 s
	compare
	is "$(row arms .n | paste -sd' ')" "3 3 3"
	jq -c 'if .kind == "end" then .why = "signal 15 (Terminated)" else . end' s >s2
	mv s2 s
	compare
	is "$(row arms '[.n, .left_out]' | paste -sd' ')" "[0,3] [0,3] [0,3]"
}

@test "runs that differ in more than was planned: refused with the differences; --force goes on and says so" {
	three --seeds 3 --odd 'lr=5e-5:2:revision=bbb' --odd 'lr=2e-4:1:micro_batch=16:accum=2' >s
	compare
	exits 1
	is "$(row differences '[.arm, .setting, .value, .other]' | sort | paste -sd' ')" '["lr=2e-4","accum","2","1"] ["lr=2e-4","micro_batch","16","32"] ["lr=5e-5","revision","bbb","aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]'
	is "$stderr" "~ ledger: comparing: the runs differ in more"
	is "$(row variants .verdict)" "" "no verdict"
	compare --force
	exits 0
	is "$(says forced)" "~ ^Forced: the runs differ"
	is "$(row variants .verdict | wc -l)" 2
}

@test "each of these differences is refused" {
	local field
	for field in data_digests=other model='gpt;layers=3' length=64 cut_examples=3 precision=bf16 dirty=true tokenizer=other weights_provenance=/w.safetensors:weights_digest=sha256x split_rule=other; do
		three --seeds 3 --odd "lr=2e-4:1:$field" | jq -c 'if .data_digests == "other" then .data_digests = ["sha256:e"] else . end' >s
		compare
		exits 1 "$field"
		is "$(row differences .setting | head -1)" "~ [a-z]" "$field is named"
	done
}

@test "another host is told and no reason to refuse; a dirty tree everywhere is warned of" {
	three --seeds 3 --odd 'lr=2e-4:1:host=node2' >s
	compare
	exits 0
	is "$(row told '[.setting, .value, .other]')" '["host","node2","node1"]'
	three --seeds 3 | jq -c 'if .kind == "run" then .dirty = true else . end' >s
	compare
	exits 0
	is "$(says dirty)" "~ no revision holds"
}

@test "--within: kept, worse, unknown" {
	three --seeds 5 --within 0.1 >s
	compare
	is "$(row variants '[.variant, .within]' | paste -sd' ')" '["lr=5e-5","kept"] ["lr=2e-4","kept"]'
	compare --within 0.001
	is "$(row variants '[.variant, .within]' | paste -sd' ')" '["lr=5e-5","worse"] ["lr=2e-4","kept"]'
	compare --within 0.05
	is "$(row variants '[.variant, .within]' | paste -sd' ')" '["lr=5e-5","unknown"] ["lr=2e-4","kept"]'
	three --seeds 2 >s
	compare --within 5
	is "$(row variants .within | paste -sd' ')" '"unknown" "unknown"' "too few"
}

@test "accuracy: more is better; best is a selection, with the number it was selected from" {
	three --seeds 8 >s
	compare --metric accuracy
	is "$(verdicts)" "[lr=5e-5,8,sign flips, every one,worse] [lr=2e-4,8,sign flips, every one,better]"
	compare --best
	is "$(says metric)" "~ which is a selection"
	is "$(row arms .selected_from | paste -sd' ')" "32 32 32"
}

@test "--target: updates, examples and seconds to it; never reached is censored" {
	three --seeds 5 --between 0 --sd 0.001 >s
	compare --target loss=1.87
	is "$(row target '[.arm, .n, .reached, .censored, .updates_median, .examples_median]' | paste -sd' ')" '["lr=1e-4",5,5,0,150,4800] ["lr=5e-5",5,5,0,200,6400] ["lr=2e-4",5,5,0,100,3200]'
	is "$(row target '.seconds_median * 100 | round' | paste -sd' ')" "80 107 53"
	compare --target 1.7
	is "$(row target '[.arm, .reached, .censored, .updates_median]' | paste -sd' ')" '["lr=1e-4",0,5,"not by half of them"] ["lr=5e-5",0,5,"not by half of them"] ["lr=2e-4",5,0,150]'
}

@test "different batches: no winner without a named budget; the rate that stayed is flagged" {
	answers arms --unplanned --arm 'b=16@1.75:micro_batch=16:planned_updates=400' --arm 'b=32@1.60' --seeds 8 >s
	compare --by micro_batch
	exits 0
	is "$(row variants .verdict)" '"~"'
	is "$(says no_budget)" "~ No winner is told"
	is "$(says batch_not_tuned)" "~ the rate stayed at 0.001"
	is "$(row arms '[.updates, .examples]' | paste -sd' ')" '[400,6400] [200,6400]'
	compare --by micro_batch --budget examples=6400
	is "$(row variants .verdict)" '"better"' "a winner at a named budget"
	is "$(says plan)" "~ Nothing was planned"
}

@test "--budget takes the last validation within it" {
	three --seeds 3 --between 0 --sd 0 >s
	compare --budget updates=120
	is "$(row arms '[(.validation_loss * 1000 | round), .updates]' | paste -sd' ')" "[2000,100] [2050,100] [1850,100]"
	compare --budget updates=10
	is "$(row not_counted .why | sort -u)" '"no validation within the budget"'
	run ledger compare --budget bananas=3 s
	exits 64
	is "$output" "~ bananas=3: not updates=N"
}

@test "a length of run that changed under a decaying schedule is flagged" {
	answers arms --unplanned --arm 'short@1.75:planned_updates=200:schedule=cosine:dropout=0' --arm 'long@1.60:planned_updates=400:schedule=cosine:dropout=1' --seeds 3 >s
	compare --by dropout --force
	is "$(says schedule_stretched)" "~ 400 updates instead of 200 under a cosine schedule"
}

@test "--by: groups what is there; --control; unknown fields and values are refused" {
	three --unplanned --seeds 3 >s
	compare --by lr --control 5e-5
	exits 0
	is "$(row arms .arm | paste -sd' ')" '"lr=5e-05" "lr=0.0001" "lr=0.0002"'
	run ledger compare --by lr --control 7 s
	exits 64
	is "$output" "~ --control 7: no run has that"
	run ledger compare --by bananas s
	exits 1
	is "$output" "~ no run that trained says bananas"
	run ledger compare s
	exits 1
	is "$output" "~ there is no planned comparison"
	run ledger compare --comparison nope s
	exits 64
	three >s
	run ledger compare --comparison nope s
	exits 64
	is "$output" "~ no comparison nope"
}

@test "unpaired: Welch's test, as scipy has it" {
	requires scipy
	three --seeds 7 --unpaired >s
	compare
	is "$(row variants .test | sort -u)" "\"Welch's t\""
	row variants '[.variant, .low, .high, .p]' | "$PYTHON" -c '
import json, sys
from scipy import stats
records = [json.loads(l) for l in open("s")]
end = {r["run"]: r["validation_loss"] for r in records if r["kind"] == "end"}
arm = {}
for r in records:
    if r["kind"] == "run":
        arm.setdefault(r["arm"], []).append(end[r["run"]])
for line in sys.stdin:
    name, low, high, p = json.loads(line)
    t = stats.ttest_ind(arm[name], arm["lr=1e-4"], equal_var=False)
    assert abs(p - t.pvalue) < 1e-9, (name, p, t.pvalue)'
	three --seeds 7 >s
	compare --unpaired
	is "$(row variants .test | sort -u)" "\"Welch's t\""
}

@test "a rerun by hand does not count; of two runs of one request the first whole one does" {
	three --seeds 3 >s
	jq -c 'select(.kind != "tool" and .kind != "done")' s | head -3 >/dev/null
	jq -c --slurp '[.[] | select(.kind == "run")][0] as $r | .[] | select(.kind != "done"), (select(.kind == "done") | ($r | .run = "01M8ZZZZZZZZZZZZZZZZZZZZZZ"), {kind: "end", t: $r.t, run: "01M8ZZZZZZZZZZZZZZZZZZZZZZ", status: "done", updates: 200}, .)' s >s2
	mv s2 s
	compare
	exits 0
	is "$(says repeated)" "~ 01M8ZZZZZZZZZZZZZZZZZZZZZZ is one more run of what .* had done: only the first counts"
	is "$(row arms .n | paste -sd' ')" "3 3 3"
}

@test "a resumed run stands for the one that it resumes" {
	three --seeds 3 >s
	jq -c --slurp '[.[] | select(.kind == "run")][0] as $r | .[] |
		if .kind == "end" and .run == $r.run then (.status = "killed" | .updates = 100 | .training_seconds = 0.5),
			($r | .run = "01M8ZZZZZZZZZZZZZZZZZZZZZZ" | .resumed_run = $r.run | del(.request, .arm, .comparison)),
			{kind: "eval", t: .t, run: "01M8ZZZZZZZZZZZZZZZZZZZZZZ", split: "validation", update: 200, loss: 1.5},
			{kind: "end", t: .t, run: "01M8ZZZZZZZZZZZZZZZZZZZZZZ", status: "done", updates: 200, training_seconds: 1.1} else . end' s >s2
	mv s2 s
	compare
	exits 0
	is "$(row arms '[.arm, .n, .left_out]' | head -1)" '["lr=1e-4",3,0]'
	is "$(row not_counted .why)" ""
}

@test "notes and decisions of people stand at the end" {
	three --seeds 3 >s
	ledger append l <s
	ledger note l rates "all was quiet" -a ann
	ledger note l rates --decision "stay with 1e-4" -a ann
	run ledger compare l
	exits 0
	is "$(tail -2 <<<"$output")" $'Note: all was quiet - ann\nDecision: stay with 1e-4 - ann'
}

@test "evaluations that were logged twice, clocks that jump back, one seed, one run, nothing at all" {
	three --seeds 3 --clock --steps 9 --twice >s
	compare
	exits 0
	jq -c 'if .kind == "eval" and .update == 100 then ., (.loss = 9) else . end' s >s2
	mv s2 s
	compare --budget updates=100
	is "$(row arms .validation_loss | sort -u)" 9 "of two at one update the last counts"
	answers arms --unplanned --arm 'a@1' --seeds 1 >s
	compare --by lr
	exits 1
	is "$stderr" "~ one arm only"
	ledger append empty </dev/null || true
	run ledger compare empty
	exits 1
	is "$output" "~ there is no planned comparison"
	three --seeds 1 | jq -c 'select(.kind == "comparison" or .kind == "request" or .kind == "tool" or .kind == "done")' >s
	compare
	exits 0
	is "$(says empty)" "No run is there yet."
	is "$(row arms .missing | paste -sd' ')" "1 1 1"
}

@test "names of strangers: no terminal escape in text, no formula in CSV, JSON stays JSON" {
	three --seeds 3 --name $'=cmd|\e[31m"x"' --question $'a\nb\x07' >s
	run ledger compare s
	exits 0
	is "$(grep -c $'\e\|\a' <<<"$output")" 0 "escapes"
	is "$output" '~ \\x1b\[31m'
	jq -c 'if .kind == "comparison" then .arms[1] = "=1+1" elif .arm == "lr=5e-5" then .arm = "=1+1" else . end' s >s2
	run ledger compare --csv s2
	exits 0
	is "$(sed -n 3p <<<"$output")" "~ ^\"'=1\+1\","
	run ledger compare -j s2
	jq -e . <<<"$output" >/dev/null
}

@test "--runs names the runs of each figure; --csv is the table of the arms" {
	three --seeds 3 >s
	run ledger compare --runs -j s
	is "$(row arms '.runs | length' | paste -sd' ')" "3 3 3"
	is "$(row variants '.runs | length' | paste -sd' ')" "6 6"
	run ledger compare --runs s
	is "$(grep -c '^    runs: 01M8' <<<"$output")" "~ ^[5-9]|[1-9][0-9]$"
	run ledger compare --csv s
	is "$(head -1 <<<"$output" | cut -d, -f1-3)" '"arm","n","missing"'
	is "$(wc -l <<<"$output")" 4
	run ledger compare --csv -j s
	exits 64
}

@test "--predictions: example by example, with the exact p of McNemar's test" {
	requires scipy
	three --seeds 2 >s
	"$PYTHON" - <<'END'
import json
out = []
for line in open("s"):
    r = json.loads(line)
    out.append(r)
    if r["kind"] == "run":
        for e in range(40):
            right = e % 4 != 0 if r["arm"] == "lr=1e-4" else e % 5 != 0 if r["arm"] == "lr=2e-4" else None
            if right is None:
                continue
            for update, ok in ((100, not right), (200, right)):  # the last answer counts
                p = {"kind": "prediction", "t": r["t"], "run": r["run"], "split": "validation", "update": update, "id": f"a long id of example {e} " * 3}
                if e % 2:
                    p["correct"] = ok
                else:
                    p.update(target="95", output="95" if ok else "94")
                out.append(p)
open("s", "w").write("".join(json.dumps(r) + "\n" for r in out))
END
	compare --predictions
	exits 0
	is "$(row examples '[.variant, .seed, .examples, .both_right, .control_only, .variant_only, .none_right]' | paste -sd' ')" '["lr=2e-4",1,40,24,6,8,2] ["lr=2e-4",2,40,24,6,8,2]'
	row examples .p | head -1 | "$PYTHON" -c '
import sys
from scipy import stats
assert abs(float(sys.stdin.read()) - stats.binomtest(8, 14).pvalue) < 1e-9'
	run bash -c 'cat s | ledger compare --predictions -j'
	exits 0
	is "$(row examples .examples | paste -sd' ')" "40 40" "a pipe is read twice"
	compare
	is "$(row examples .)" "" "not asked"
	three --seeds 2 >s
	compare --predictions
	is "$(says examples)" "~ predictions were not kept"
}
