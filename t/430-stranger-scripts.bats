#!/usr/bin/env bats
# Scripts as strangers write them, which know nothing of pilot (t/scripts): they train and resume by themselves,
# train the same under train-step, and the gate finds no fault in them.

load helpers
load stranger

setup() {
	stranger_setup
	BLIND=(load data forward backward update validate save resume)
	NO_VALIDATION="validate:no validation was seen"
	NOT_ALLOWED="resume:not allowed"
}

# alone SCRIPT ARGUMENTS...
alone() {
	local script=$1
	shift
	"$PYTHON" "$SCRIPTS/$script" "$@" 2>>alone.err
}

# stops_and_resumes NAME STRAIGHT FIRST SECOND THIRD: in one go, and in three processes: the same numbers.
stops_and_resumes() {
	mkdir -p "$1/straight" "$1/parts"
	(cd "$1/straight" && eval "alone $2" >../straight.txt)
	(cd "$1/parts" && { eval "alone $3" && eval "alone $4" && eval "alone $5"; } >../parts.txt)
	numbers "$1/straight.txt" >"$1/a"
	numbers "$1/parts.txt" >"$1/b"
	[[ $(wc -l <"$1/a") -ge 24 ]]
	cmp "$1/a" "$1/b"
}

# the_same SAVED SCRIPT ARGUMENTS...: alone, and watched with all facts: the same numbers printed, the same tensors saved.
the_same() {
	local saved=$1 script=$2
	shift 2
	mkdir alone
	(cd alone && alone "$script" "$@") >alone.txt
	watched "$script" --evidence full -- "$@"
	is "$(field status end <run.jsonl)" done "status"
	[[ $(jq -s 'map(select(.kind == "step")) | length' run.jsonl) -ge 20 ]]
	numbers alone.txt >a
	numbers log.txt >b
	[[ -s a ]]
	cmp a b
	"$PYTHON" "$SCRIPTS/same_tensors.py" "alone/$saved" "$saved"
}

# ---- without pilot ----

@test "the healthy scripts resume by themselves, twice, as if they had not stopped" {
	stops_and_resumes gptlike "gptlike.py --max_iters=24" "gptlike.py --max_iters=10" \
		"gptlike.py --max_iters=15 --init_from=resume" "gptlike.py --max_iters=24 --init_from=resume"
	stops_and_resumes loader "loader.py --max-updates 24" "loader.py --max-updates 10" \
		"loader.py --max-updates 15 --resume" "loader.py --max-updates 24 --resume --workers 2"
	stops_and_resumes tied "tied.py --steps 24 --every 5" "tied.py --steps 10 --every 5" \
		"tied.py --steps 15 --every 5 --resume tied.pt" "tied.py --steps 24 --every 5 --resume tied.pt"
	stops_and_resumes noseed "noseed.py --seed 1 --steps 32" "noseed.py --seed 1 --steps 8" \
		"noseed.py --seed 1 --steps 16" "noseed.py --seed 1 --steps 32"
}

# ---- watched, nothing changes ----

@test "the same with and without: a single file that trains a language model" { the_same out/ckpt.pt gptlike.py --max_iters=20; }
@test "the same with and without: loader, accumulation, loss scale, schedule" { the_same run/last.pt loader.py --max-updates 20; }
@test "the same with and without: loader with workers" { the_same crops.pt crops.py; }
@test "the same with and without: a classifier" { the_same classifier.pt weights_only.py --epochs 2; }
@test "the same with and without: bfloat16" { the_same bf16.pt bf16.py; }

@test "the same with and without: what the adapter is blind to" {
	local s
	for s in gan lbfgs byhand; do
		mkdir -p $s/alone
		(cd $s/alone && alone $s.py) >$s/alone.txt
		(cd $s && watched $s.py --)
		cmp <(numbers $s/alone.txt) <(numbers $s/log.txt)
		"$PYTHON" "$SCRIPTS/same_tensors.py" $s/alone/$s.pt $s/$s.pt
	done
}

@test "the same with and without: two replicas" {
	mkdir alone
	(cd alone && "${TORCHRUN[@]}" "$SCRIPTS/ddp.py" --epochs 3) >alone.txt 2>alone.err
	watched ddp.py -- --epochs 3
	cmp <(numbers alone.txt | grep loss) <(numbers log.txt | grep loss)
	"$PYTHON" "$SCRIPTS/same_tensors.py" alone/ddp.pt ddp.pt
	judged
	open_but update:"weights of 2 replicas" "$NO_VALIDATION" resume:.
	is "$(jq -s '[.[] | select(.kind == "replica")] | length' run.jsonl)" 24 "updates of the other replica"
}

# ---- judged: no fault where there is none ----

@test "no fault: a single file that trains a language model, resumed" {
	watched gptlike.py -n 12 --resume-with "$PYTHON gptlike.py --init_from=resume" --
	judged --allow-exec
	open_but
	is "$(jq -r 'select(.kind == "verdict" and .phase == "resume").evidence' out.jsonl)" \
		"~ weights, optimizer, count, rate, data order, torch's random state, numpy's random state and python's random state came back; .*bitwise equal.*resumed once more" evidence
}

@test "no fault: the same on a file of tokens, with all extra passes" {
	mkdir data
	"$PYTHON" -c 'import sys; sys.stdout.buffer.write(bytes(b for c in open(sys.argv[1], "rb").read() for b in (c % 32, 0)))' "$SCRIPTS/gptlike.py" >data/train.bin
	cp data/train.bin data/val.bin
	watched gptlike.py -n 6 --evidence full -- --data_dir=data '--batch_size={micro_batch}'
	judged
	open_but "$NOT_ALLOWED"
	is "$(jq -c 'select(.kind == "step") | .pass_rows' run.jsonl | sort -u | wc -l)" 1 "sizes of passes"
}

@test "no fault: loader, accumulation, loss scale, schedule, workers, resumed" {
	watched loader.py -n 12 --freeze 'embed*' --resume-with "$PYTHON loader.py --resume --workers 1" -- --workers 1
	judged --allow-exec
	open_but
}

@test "no fault: more than two epochs of it, with all extra passes" {
	watched loader.py -n 18 --evidence full --
	judged
	open_but "$NOT_ALLOWED"
	is "$(jq -r 'select(.kind == "verdict" and .phase == "data").evidence' out.jsonl)" "~ the order differs between 2 passes" "data"
}

@test "no fault: tied weights, the file to resume from in a placeholder" {
	watched tied.py -n 12 -- --every 5 '--resume={resume}'
	judged --allow-exec
	open_but "$NO_VALIDATION"
}

@test "a script that resumes by itself: proven with a seed, unproven without one" {
	watched noseed.py -n 12 -- --seed 1
	judged --allow-exec
	open_but "$NO_VALIDATION"
	rm noseed.pt
	watched noseed.py -n 12 --
	judged --allow-exec
	open_but "$NO_VALIDATION" resume:"does not repeat itself"
}

@test "weights only: nothing to resume from, which is a fault only if it was to resume" {
	watched weights_only.py -- --epochs 2
	judged --allow-exec
	open_but resume:"not resumable: the save holds weights only"
	watched weights_only.py --resume-with "$PYTHON weights_only.py" -- --epochs 2
	run -1 judged --allow-exec
	is "$(verdicts out.jsonl | grep ^resume)" "~ ^resume fail: not resumable: the save holds weights only" resume
}

@test "no fault: bfloat16 under autocast, and with a copy in float32" {
	watched bf16.py --
	judged --no-replay
	open_but "$NO_VALIDATION" resume:.
	watched bf16.py -- --master
	judged --no-replay
	open_but "$NO_VALIDATION" resume:. backward:. update:.
}

@test "no fault: loader with workers, and the whole data in every update" {
	watched crops.py --
	judged --no-replay
	open_but "$NO_VALIDATION" resume:.
	watched regression.py --
	judged --no-replay
	open_but "$NO_VALIDATION" resume:. data:"same batch"
}

@test "what cannot be seen is unproven, with the reason" {
	watched gan.py --
	judged
	open_but "${BLIND[@]/%/:several optimizers}"
	watched lbfgs.py --
	judged
	open_but "${BLIND[@]/%/:closure}"
	watched byhand.py --
	judged
	open_but "${BLIND[@]/%/:no step of an optimizer was seen}"
}

# ---- ends ----

@test "a crash, a hang" {
	run -70 watched crash.py --
	is "$(jq -r 'select(.kind == "end") | "\(.status) \(.cause) \(.exception) \(.updates)"' run.jsonl)" "error exception RuntimeError 6" "end of a crash"
	is "$(jq -r 'select(.kind == "end") | .stderr[-1]' run.jsonl)" "~ ^RuntimeError: mat1 and mat2" "last words"
	run -75 watched hang.py --deadline 10s --
	is "$(jq -r 'select(.kind == "end") | "\(.status) \(.cause) \(.updates)"' run.jsonl)" "error deadline 5" "end of a hang"
}
