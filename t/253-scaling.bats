#!/usr/bin/env bats
# ledger scaling: updates to a target against batch, on studies whose critical batch is known.

load helpers

setup() {
	requires jq
	cd "$BATS_TEST_TMPDIR" || return 1
}

study() { "$PYTHON" "$PILOT_ROOT/t/scaling.py" "$@"; }

# of FILTER <JSON Lines of an answer
critical() { jq -c "select(.table == \"critical\" and .what == \"$1\") | $2"; }
sizes() { jq -c "select(.table == \"sizes\") | $1"; }

@test "a known critical batch lies in the interval, and the number near it" {
	study noise=0.03 >s
	run -0 ledger scaling --target loss=2.0 -j s
	is "$(critical 'critical batch B_c' '(.batch_low < 90 and 90 < .batch_high) and (.batch > 85 and .batch < 95)' <<<"$output")" true "B_c of 90"
	is "$(critical 'critical batch B_c' '.least_updates > 190 and .least_updates < 205' <<<"$output")" true "S_min of 200"
	# within 20 % until 1.2 x 8 + 0.2 x 90 = 27.6
	is "$(critical 'perfect scaling until' '[.batch, .batch_low <= 27.6, .batch_high >= 27.6]' <<<"$output")" '[16,true,true]' "perfect scaling"
	run -0 ledger scaling --target loss=2.0 s
	is "$output" "~ Perfect scaling until: 16 \(95 %: between "
	is "$output" "~ Critical batch B_c: [0-9.]+ \(95 %: between "
	is "$output" "~ McCandlish et al. 2018"
}

@test "numpy's least squares on the same table gives the same critical batch" {
	requires numpy
	study noise=0.05 draw=3 >s
	ledger scaling --target loss=2.0 -j s >answer
	"$PYTHON" - answer <<-'END'
	import json, sys
	import numpy as np
	rows = [json.loads(line) for line in open(sys.argv[1])]
	size = [r for r in rows if r.get("table") == "sizes"]
	b = np.array([r["effective_batch"] for r in size], float)
	s = np.log([r["updates"] for r in size])
	grid = np.linspace(np.log(1), np.log(10000), 400001)
	rest = [np.var(s - np.log1p(np.exp(x) / b)) for x in grid]
	got = next(r["batch"] for r in rows if r.get("what") == "critical batch B_c")
	want = float(np.exp(grid[int(np.argmin(rest))]))
	assert abs(np.log(got / want)) < 1e-4, (got, want)
	END
}

@test "over simulated studies the printed interval holds the critical batch" {
	local held=0 draw
	for draw in $(seq 1 40); do
		study sizes=8,32,128,512,1024 rates=0.5,1,2 seeds=1,2 noise=0.04 critical=150 every=0.03 draw="$draw" >s
		ledger scaling --target loss=2.0 -j s >a
		held=$((held + $(critical 'critical batch B_c' 'if (.batch_low // 0) <= 150 and 150 <= (.batch_high // 1e9) then 1 else 0 end' <a)))
	done
	# 38 of 40 are expected; fewer than 34 has a chance of 2 %
	((held >= 34)) || { echo "held in $held of 40"; false; }
}

@test "validations at the same phase at every size, without noise: the interval still holds it" {
	local c e
	for c in 30 90 200; do
		for e in 0.02 0.06; do
			study noise=0 critical=$c every=$e seeds=1 rates=0.5,1,2 >s
			run -0 ledger scaling --target loss=2.0 -j s
			is "$(critical 'critical batch B_c' ".batch_low <= $c and $c <= .batch_high" <<<"$output")" true "$c, every $e"
		done
	done
}

@test "the updates are those of the first validation at the target, and no more is read into them" {
	study rates=0.5,1,2 seeds=1 every=0.05 sizes=8 >s
	run -0 ledger scaling --target loss=2.0 -j s
	best=$(jq -s '[.[] | select(.kind == "run")][1].run' s)
	high=$(jq -s "[.[] | select(.kind == \"eval\" and .run == $best and .loss <= 2.0)][0].update" s)
	before=$(jq -s "[.[] | select(.kind == \"eval\" and .run == $best and .loss > 2.0)][-1].update" s)
	is "$(sizes '[(.updates_low | round), (.updates_high | round)]' <<<"$output")" "[$((before + 1)),$high]"
}

@test "fewer than five sizes, a factor below 16, or a coarse target: no number" {
	study sizes=8,16,32,64 >s
	run -0 ledger scaling --target loss=2.0 s
	is "$output" "~ Critical batch B_c: not determined, but .*: five sizes over a factor of 16 are needed"
	is "$output" "~ Perfect scaling until: not determined"
	study sizes=8,10,12,14,16,18 >s
	run -0 ledger scaling --target loss=2.0 -j s
	is "$(critical 'critical batch B_c' .batch <<<"$output")" null
	study every=0.12 >s
	run -0 ledger scaling --target loss=2.0 s
	is "$output" "~ B_c: not determined.*seen only every tenth of the way"
	study sizes=8 >s
	run -0 ledger scaling --target loss=2.0 s
	is "$output" "~ B_c: not determined: two sizes at least that count"
}

@test "a best rate at the edge of those tried is refused for that batch, and so are two rates" {
	{ study sizes=8,16,32; study sizes=64 rates=1,2,4 draw=2; study sizes=128 rates=0.25,0.5,1 draw=3; study sizes=256 rates=1,2 draw=4; } >s
	run -0 ledger scaling --target loss=2.0 s
	is "$output" "~ 64 .*its best rate is the lowest tried: try lower ones"
	is "$output" "~ 128 .*its best rate is the highest tried: try higher ones"
	is "$output" "~ 256 .*2 rates were tried long enough: three are needed"
	is "$output" "~ ! 3 of 6 sizes do not count"
	is "$(ledger scaling --target loss=2.0 -j s | sizes .counts | tr '\n' ' ')" "true true true false false false "
}

@test "a rate that diverged is the other side of the best one; one that gave up early tells nothing" {
	study sizes=8,16,32,64,128 rates=0.5,1 seeds=1 >s
	study sizes=8,16,32,64,128 rates=2 seeds=1 draw=2 | jq -c 'if .kind == "end" then .status = "diverged" elif .kind == "eval" then .loss = "NaN" else . end' >>s
	run -0 ledger scaling --target loss=2.0 -j s
	is "$(sizes .counts <<<"$output" | uniq)" true "diverged"
	study sizes=8,16,32,64,128 rates=0.5,1 seeds=1 >s
	study sizes=8,16,32,64,128 rates=2 seeds=1 draw=2 budget=0.3 >>s
	run -0 ledger scaling --target loss=2.0 -j s
	is "$(sizes .refused <<<"$output" | uniq)" '"2 rates were tried long enough: three are needed"' "gave up"
}

@test "never reached, at no rate or only by some seeds" {
	study sizes=8 budget=0.5 >s
	run -0 ledger scaling --target loss=2.0 s
	is "$output" "~ no rate came to the target, in [0-9]+ updates"
	study sizes=8 | jq -c 'if .kind == "eval" and (.run | test("(1|4|7|10|13)$")) then .loss = 3 else . end' >s
	run -0 ledger scaling --target loss=2.0 s
	is "$output" "~ at no rate every seed came to the target"
	run -0 ledger scaling --target accuracy=0.5 s
	is "$output" "~ the metric was not validated in it"
}

@test "accuracy: at least" {
	study sizes=8,16,32 | jq -c 'if .kind == "eval" then .accuracy = 0.5 + (2 - .loss) | del(.loss) else . end' >s
	run -0 ledger scaling --target accuracy=0.5 -j s
	is "$(sizes '.updates != null' <<<"$output" | uniq)" true
}

@test "a schedule that decays is flagged" {
	study 'set=schedule="cosine:warmup=10"' >s
	run -0 ledger scaling --target loss=2.0 s
	is "$output" "~ ! The rate of 90 of 90 runs falls towards a fixed end \(cosine"
	study >s
	run -0 ledger scaling --target loss=2.0 s
	run ! grep -q "fixed end" <<<"$output"
}

@test "runs of other data or another model are not mixed, unless forced" {
	{ study sizes=8,16,32; study sizes=64,128 draw=2 'set=data="sums:digits=3"' 'set=dropout=0.1'; } >s
	run -1 ledger scaling --target loss=2.0 s
	is "$output" "~ cannot stand on one curve: data.digits, dropout"
	is "$output" "~ data.digits +3 +30 "
	run ! grep -q 'Critical batch' <<<"$output"
	run -0 ledger scaling --target loss=2.0 --force s
	is "$output" "~ ! These runs differ .* put together by --force: data.digits, dropout"
	# rates are no difference; other settings of the optimizer are
	study 'set=optimizer="adamw:lr=3e-4,beta1=0.9"' sizes=8 >s
	study 'set=optimizer="adamw:beta1=0.8,lr=1e-4"' sizes=16 draw=2 >>s
	run -1 ledger scaling --target loss=2.0 s
	is "$output" "~ one curve: optimizer"
}

@test "-r and --comparison pick" {
	{ study sizes=8,16,32; study sizes=64,128 draw=2 'set=data="sums:digits=3"' 'set=comparison="01M8Q0000000000000000000CC"'; } >s
	echo '{"kind":"comparison","t":"2026-11-30T12:00:00Z","id":"01M8Q0000000000000000000CC","name":"large","factors":["micro_batch"],"arms":["64"],"runs":1,"seeds":[1],"paired":true,"metric":"validation_loss","choice":"last","budget":"updates","amount":10}' >>s
	run -0 ledger scaling --target loss=2.0 -r 01M8Q00001 -j s
	is "$(sizes .effective_batch <<<"$output" | tr '\n' ' ')" "8 16 32 "
	run -0 ledger scaling --target loss=2.0 --comparison large -j s
	is "$(sizes .effective_batch <<<"$output" | tr '\n' ' ')" "64 128 "
	run -64 ledger scaling --target loss=2.0 --comparison other s
	is "$output" "~ none has this name"
	run -0 ledger scaling --target loss=2.0 -r 7ZZZ s
	is "$output" "~ no training run here that was asked for"
}

@test "time is the mean of whole runs, stalls included; devices and money" {
	study sizes=8,16,32 rates=0.5,1,2 seeds=1 >s
	# a stall of 9 s in one step of each run
	jq -c 'if .kind == "step" and .update == 2 then .seconds += 9 else . end' s >stalled
	is "$(ledger scaling --target loss=2 -j stalled | sizes '.seconds_per_update * 1e4 | round' | head -1)" 30108
	jq -c 'if .kind == "run" then .devices = ["cuda:0", "cuda:1"] | .replicas = 2 else . end' s >two
	run -0 ledger scaling --target loss=2 --price 3.6 --upfront 1 -j two
	is "$(sizes '(.device_seconds / .training_seconds) * (.cost / .device_seconds * 1000)' <<<"$output" | jq '. * 1000 | round' | uniq)" 2000 "device-seconds and their price"
	is "$(sizes '.break_even_runs == (1 / .cost | ceil)' <<<"$output" | uniq)" true "break-even"
	run -0 ledger scaling --target loss=2 --price 3.6 --upfront 1 two
	is "$output" "~ it pays from run [0-9]+ on"
	jq -c 'select(.kind != "step") | del(.training_seconds)' s >timeless
	run -0 ledger scaling --target loss=2 -j timeless
	is "$(sizes .seconds_per_update <<<"$output" | uniq)" null "not measured"
	is "$output" "~ batch of least time: not determined"
}

@test "least time and least resource differ where more devices make the batch" {
	study sizes=8 rates=0.5,1,2 seeds=1 >s
	study sizes=64 rates=0.5,1,2 seeds=1 draw=2 'set=replicas=8' 'set=devices=["a","b","c","d","e","f","g","h"]' | jq -c 'if .kind == "step" then .seconds = 0.011 else . end' >>s
	run -0 ledger scaling --target loss=2.0 s
	is "$output" "~ Least time: batch 64"
	is "$output" "~ Least resource: batch 8,"
	is "$output" "~ Advice: batch 64 where time counts, 8 where devices or money do"
}

@test "times from two machines are told" {
	{ study sizes=8,16; study sizes=32 draw=2 'set=host="beta"'; } >s
	run -0 ledger scaling --target loss=2.0 s
	is "$output" "~ ! Times are from different places \(alpha, cpu; beta, cpu\)"
}

@test "gradient noise from first norms at equal weights, else not measured" {
	study norms=400 sizes=8,64 >s
	run -0 ledger scaling --target loss=2.0 s
	is "$output" "~ B_simple = tr\(Sigma\)/\|G\|\^2: 100 examples \(95 %: 100 to 100; from batches of 8 to 64 at 3 sets"
	study sizes=8,64 >s
	run -0 ledger scaling --target loss=2.0 s
	is "$output" "~ Gradient noise .*: not measured: no two runs"
	study norms=400 sizes=8,64 seeds=1 >s
	run -0 ledger scaling --target loss=2.0 s
	is "$output" "~ 100 examples \(no interval from fewer than three seeds"
	# other weights at the two batches
	{ study norms=400 sizes=8 seeds=1; study norms=400 sizes=64 seeds=2 draw=2; } >s
	run -0 ledger scaling --target loss=2.0 s
	is "$output" "~ Gradient noise .*: not measured"
}

@test "runs without an end, killed, repeated and resumed ones" {
	study sizes=8 rates=0.5,1,2 seeds=1 >s
	run1=$(jq -r 'select(.kind == "run") | .run' s | sed -n 2p)
	# no end, but at the target: counts. No end and not there: left out.
	jq -c "select(.kind != \"end\" or .run != \"$run1\")" s >open
	run -65 --separate-stderr ledger scaling --target loss=2.0 -j open
	is "$(sizes .counts <<<"$output")" true
	run -65 ledger scaling --target loss=0.5 open
	is "$output" "~ $run1 +it has no end"
	jq -c "if .kind == \"end\" and .run == \"$run1\" then .status = \"killed\" else . end" s >killed
	run -0 ledger scaling --target loss=0.5 killed
	is "$output" "~ $run1 +it ended before its budget"
	# the same once more
	{ cat s; study sizes=8 rates=1 seeds=1 draw=2; } >twice
	run -0 ledger scaling --target loss=2.0 twice
	is "$output" "~ it repeats $run1"
	# cut at half, and gone on with from there under another name, overlapping
	half=$(jq -s "[.[] | select(.kind == \"eval\" and .run == \"$run1\")] | .[length / 3 | floor].update" s)
	new=01M8Q77777000000000000000A
	{ jq -c "select(.run != \"$run1\" or ((.update // 0) < $half + 50 and .kind != \"end\"))" s
		jq -c "select(.run == \"$run1\") | .run = \"$new\" | if .kind == \"run\" then .resumed_run = \"$run1\" | .resumed_update = $half else . end | select((.update // 9e9) > $half)" s; } >resumed
	ledger scaling --target loss=2.0 -j s | sizes 'del(.micro_accum)' >want
	{ ledger scaling --target loss=2.0 -j resumed || true; } | sizes 'del(.micro_accum)' >got
	is "$(jq -c '[.updates, .updates_low, .counts]' got)" "$(jq -c '[.updates, .updates_low, .counts]' want)" "the same updates"
	run -65 ledger scaling --target loss=2.0 resumed
	is "$output" "~ $run1 +another run went on from it"
	# what it resumed is not here, and its first validation is at the target
	{ jq -c "select(.run == \"$run1\") | if .kind == \"run\" then .resumed_run = \"01M8Q99999000000000000000A\" | .resumed_update = 5 else . end | select(.kind != \"eval\" or .loss <= 2)" s; } >blind
	run ledger scaling --target loss=2.0 blind
	is "$output" "~ it resumes a run that is not here"
}

@test "steps beyond 2^53, validations said twice, NaN" {
	study sizes=8 rates=0.5,1,2 seeds=1 | jq -c 'if .kind == "eval" and .loss > 2.2 then .loss = "NaN" else . end' >s
	{ cat s; jq -c 'select(.kind == "eval")' s; } >twice
	is "$(ledger scaling --target loss=2.0 -j twice | sizes .updates)" "$(ledger scaling --target loss=2.0 -j s | sizes .updates)"
	sed 's/"update": *\([0-9]*\)/"update":900719925474\1/; s/"updates": *\([0-9]*\)/"updates":900719925474\1/' <(study sizes=8 rates=0.5,1,2 seeds=1) >far
	run -0 ledger scaling --target loss=2.0 -j far
	is "$(sizes '.updates > 9e14' <<<"$output")" true
}

@test "an empty ledger, a probe alone, a run without anything" {
	ledger append l </dev/null || true
	run ledger scaling --target loss=2.0 l
	is "$output" "~ There is no training run here"
	echo '{"kind":"run","t":"2026-11-30T12:00:00Z","run":"01M8Q000010000000000000001","role":"train"}' >s
	run -65 --separate-stderr ledger scaling --target loss=2.0 s
	is "$output" "~ its batch is not known"
}

@test "a name in a record cannot move the cursor" {
	study sizes=8,16 'set=host="a\u001b[31mb"' >s
	study sizes=32 draw=2 'set=host="c"' >>s
	run -0 ledger scaling --target loss=2.0 s
	run ! grep -q $'\e' <<<"$output"
}

@test "csv is the table of sizes, and --runs names runs" {
	study sizes=8,16,32 rates=0.5,1,2 seeds=1 >s
	run -0 ledger scaling --target loss=2.0 --csv s
	is "${#lines[@]}" 4
	is "${lines[0]}" "~ ^\"effective_batch\""
	run -0 ledger scaling --target loss=2.0 --runs -j s
	is "$(sizes '.runs | length' <<<"$output" | uniq)" 3
	ledger append l <s || true
	is "$(ledger scaling --target loss=2.0 --csv l)" "$(ledger scaling --target loss=2.0 --csv s)" "a ledger, steps not read"
}

@test "usage" {
	run -64 ledger scaling s
	is "$output" "~ --target METRIC=X"
	run -64 ledger scaling --target loss s
	is "$output" "~ expected loss=X"
	run -64 ledger scaling --target loss=abc s
	run -64 ledger scaling --target loss=2 --upfront 3 s
	is "$output" "~ needs --price"
	run -64 ledger scaling --target loss=2 --within 0 s
	run -64 ledger scaling --target loss=2 --price -1 s
	run -64 ledger scaling --target loss=2 --csv -j s
	study sizes=8,16,32,64,128,256 >s
	run -0 ledger scaling --target loss=2 --within 50% -j s
	is "$(critical 'perfect scaling until' .batch <<<"$output")" 32
	run -0 ledger scaling --target loss=2 --within 0.5 -j s
	is "$(critical 'perfect scaling until' .batch <<<"$output")" 32
	run -0 ledger scaling --help
	is "$output" "~ usage: ledger scaling"
}
