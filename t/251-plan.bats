#!/usr/bin/env bats
# ledger plan: a comparison that is fixed before its first run, and the way from it to an answer.
# shellcheck disable=SC2154

load helpers
load answers

setup() {
	requires jq
	export OMP_NUM_THREADS=1
	cd "$BATS_TEST_TMPDIR" || return
}

# plan OPTION...: JSON Lines in $output
plan() { run --separate-stderr ledger plan -j "$@"; }
of() { jq -c "select(.kind == \"$1\") | $2" <<<"$output"; }
tiny=(-m mlp:hidden=4 --optimizer sgd:lr=1e-2 --val-every 0 --val-examples 16 -b 8)

@test "one setting at a time: a comparison, then a request for each run, seed by seed" {
	plan --control lr=1e-4 --vary lr=5e-5,2e-4 --seeds 3 -n 200
	exits 0
	is "$(of comparison '[.factors, .arms, .runs, .seeds, .paired, .metric, .choice, .budget, .amount]')" \
		'[["optimizer.lr"],["lr=1e-4","lr=5e-5","lr=2e-4"],9,[1,2,3],true,"validation_loss","last","updates",200]'
	is "$(of request '[.seed, .arm]' | head -4 | paste -sd' ')" '[1,"lr=1e-4"] [1,"lr=5e-5"] [1,"lr=2e-4"] [2,"lr=1e-4"]'
	is "$(of request .optimizer | sort | uniq -c | tr -s ' ' | paste -sd' ')" ' 3 "adamw:lr=1e-4"  3 "adamw:lr=2e-4"  3 "adamw:lr=5e-5"'
	is "$(of request .comparison | sort -u)" "$(of comparison .id)"
	is "$(of request .id | sort -u | wc -l)" 9 "each has its own id"
	is "$(jq -r .kind <<<"$output" | head -1) $(jq -r .kind <<<"$output" | tail -1)" "tool done"
}

@test "every setting is pinned, so that another default does not creep in" {
	plan --vary b=16 -n 10
	is "$(of request 'has("model") and has("data") and has("optimizer") and has("schedule") and has("precision") and has("last_window") and has("accum") and has("val_every")' | sort -u)" true
	is "$(of comparison .pinned)" '["updates=10"]' "what the user named"
}

@test "every combination; the control is the first, or the one named" {
	plan --cross 'b=8,16;lr=1e-3,2e-3' -n 10
	is "$(of comparison '[.factors, .arms]')" '[["micro_batch","optimizer.lr"],["b=8,lr=1e-3","b=8,lr=2e-3","b=16,lr=1e-3","b=16,lr=2e-3"]]'
	is "$(of request '[.micro_batch, .optimizer]' | tail -1)" '[16,"adamw:lr=2e-3"]'
	plan --control b=16,lr=2e-3 --cross 'b=8,16;lr=1e-3,2e-3' -n 10
	is "$(of comparison '.arms[0]')" '"b=16,lr=2e-3"'
	is "$(of comparison '.arms | length')" 4
}

@test "several settings, each varied for itself; the control has what every run has" {
	plan --vary lr=2e-3 --vary warmup=5 --control warmup=0 --schedule cosine -n 10
	is "$(of comparison .arms)" '["warmup=0,lr=1e-3","warmup=5,lr=1e-3","warmup=0,lr=2e-3"]'
	is "$(of request .schedule | sort -u | paste -sd' ')" '"cosine:warmup=0" "cosine:warmup=5"'
	plan --vary micro-batch=64 -n 10
	is "$(of comparison .arms)" '["micro-batch=32","micro-batch=64"]'
}

@test "seeds by list; several for the control alone; all of a plan's terms are in its record" {
	plan --control lr=1e-4 --vary lr=2e-4 --seeds 3,1 -n 10
	is "$(of comparison .seeds)" "[3,1]"
	plan --control lr=1e-4 --vary lr=2e-4 --control-seeds 4 --seeds 1 -n 10
	is "$(of comparison '[.runs, .seeds, .arm_seeds]')" '[5,[1,2,3,4],[1]]'
	is "$(of request '[.arm, .seed]' | paste -sd' ')" '["lr=1e-4",1] ["lr=2e-4",1] ["lr=1e-4",2] ["lr=1e-4",3] ["lr=1e-4",4]'
	plan --control lr=1e-4 --vary lr=2e-4 --epochs 2 --val-every 7 --stop 'loss>9' --within 0.01 --target 1.5 --best --metric accuracy --unpaired --name x --question 'why?'
	is "$(of comparison '[.budget, .amount, .val_every, .stop, .within, .target, .choice, .metric, .paired, .name, .question]')" \
		'["epochs",2,7,"loss>9",0.01,1.5,"best","validation_accuracy",false,"x","why?"]'
	plan --vary b=64 --examples 3200
	is "$(of comparison '[.budget, .amount]')" '["examples",3200]'
}

@test "a changed batch at equal updates: said" {
	run --separate-stderr ledger plan -j --vary b=64 -n 10
	exits 0
	is "$stderr" "~ b: arms of other batches see other numbers of examples"
	run --separate-stderr ledger plan -j --vary b=64 --examples 640
	is "$stderr" ""
}

@test "--save: a folder below it for each run" {
	plan --vary lr=2e-3 --seeds 2 -n 10 -C out
	is "$(of request .save | paste -sd' ')" '"out/lr=1e-3,seed=1" "out/lr=2e-3,seed=1" "out/lr=1e-3,seed=2" "out/lr=2e-3,seed=2"'
}

@test "what cannot be a controlled comparison is refused, and named" {
	refused() {
		local want=$1
		shift
		run ledger plan "$@"
		exits 64 "$*"
		is "$output" "~ $want" "$*"
	}
	refused 'nothing varies' -n 10
	refused 'nothing varies' --control lr=1 -n 10
	refused 'no budget' --vary lr=2e-3
	refused 'two arms are the same' --vary lr=2e-3,2e-3 -n 10
	refused 'two arms are the same' --vary lr=1e-3 -n 10
	refused 'two arms are the same' --control lr=1e-4 --vary lr=0.0001 -n 10
	refused 'is the setting that micro-batch names already' --control micro-batch=8 --vary b=16,64 -n 10
	refused 'is the setting that optimizer names already' --control optimizer=sgd --vary lr=1e-2,2e-2 -n 10
	refused '--optimizer sets it for every run, and --control otherwise' -o adamw:lr=1e-3 --control lr=1e-4 --vary lr=2e-4 -n 10
	refused 'a control character' --vary lr=$'2e-4\e[31m' -n 10
	refused 'bananas: no option of train-step' --vary bananas=1,2 -n 10
	refused 'both set for every run and to be compared' --vary b=8 -b 16 -n 10
	refused 'seeds are --seeds' --vary seed=1,2 -n 10
	refused 'seed' --vary lr=2e-3 -s 3 -n 10
	refused '2: named twice' --vary lr=2e-3 --seeds 2,2 -n 10
	refused 'seeds: ' --vary lr=2e-3 --seeds 0 -n 10
	refused 'seed 7 of the variants' --vary lr=2e-3 --seeds 7,1 --control-seeds 2 -n 10
	refused 'NAME=VALUE' --vary lr -n 10
	refused 'a value is missing' --vary lr=1e-2,,2 -n 10
	refused 'named twice' --control lr=1,lr=2 --vary lr=3 -n 10
	refused 'vary with --cross' --vary lr=2e-3 --cross b=8,16 -n 10
	refused 'what has the control' --vary warmup=5 -n 10
	refused 'micro-batch' --vary b=0 -n 10
	refused 'not validation_loss' --vary b=8 --metric f1 -n 10
	refused 'begin anew' --vary b=8 -n 10 -r ckpt
	refused 'takes no operands' --vary b=8 -n 10 file
	refused 'no setting to compare' --vary save=a,b -n 10
	run ledger plan --vary precision=bf16 -n 10
	exits 69
	is "$output" "~ bf16: not in this version"
}

@test "--account: the numbers are those that training has" {
	local line arm
	plan --account --cross 'b=30,64;last-window=keep,drop' --epochs 1 "${tiny[@]:2:2}" -m gpt:layers=1,width=8,heads=1 --val-every 0
	exits 0
	jq -c 'select(.table == "arms")' <<<"$output" >account
	is "$(wc -l <account)" 4
	ledger plan --cross 'b=30,64;last-window=keep,drop' --epochs 1 -m gpt:layers=1,width=8,heads=1 --optimizer sgd --val-every 0 --val-examples 8 >p
	train-step -j - <p >r 2>/dev/null
	while read -r line; do
		arm=$(jq -r .arm <<<"$line")
		is "$(jq -c "select(.kind == \"run\" and .arm == \"$arm\") | .run" r | head -1 | xargs -I{} jq -c 'select(.run == "{}" and .kind == "end") | [.updates, .examples]' r)" "$(jq -c '[.updates, .examples]' <<<"$line")" "$arm"
		is "$(jq -c "select(.kind == \"run\" and .arm == \"$arm\") | .updates_per_epoch" r)" "$(jq .updates_per_epoch <<<"$line")" "$arm"
	done <account
	is "$(jq -r .last_window account | paste -sd,)" "20 of 30, kept,20 of 30, dropped,whole,whole"
	jq -c 'select(.kind == "end") | .tokens' r | sort -n | tail -1 >tokens
	is "$(jq -s '.[0].tokens / 1000 | round' account)" "$(jq '. / 1000 | round' tokens)" "tokens, about"
}

@test "--account says what stays equal and what does not" {
	run ledger plan --account --vary b=64 --examples 6400 --schedule linear
	exits 0
	is "$output" $'~ examples per update: not equal: a changed batch is to be tuned again\nupdates: not equal: the rate, which falls with the budget, falls over another number of updates\nexamples: equal in all arms\nepochs: equal in all arms'
	run ledger plan --account --vary lr=2e-3 -n 10
	is "$output" "~ examples per update: equal in all arms"
}

@test "from the plan to the answer: train-step, gate, ledger, compare" {
	ledger plan --control lr=1e-2 --vary lr=3e-2 --seeds 2 -n 4 --name small "${tiny[@]:4}" -o sgd:lr=1e-2 -m gpt:layers=1,width=8,heads=1 >p
	ledger append l <p
	run ledger compare l
	exits 0 "before the first run"
	is "$output" "~ planned, and no run of it is there"
	run bash -o pipefail -c 'train-step - <p | gate --no-replay | ledger append -e l'
	exits 0
	run ledger compare -j l
	exits 0
	is "$(row arms '[.arm, .n, .missing]' | paste -sd' ')" '["lr=1e-2",2,0] ["lr=3e-2",2,0]'
	is "$(row variants '[.n, .verdict]')" '[2,"~"]'
	run ledger verify l
	exits 0
	run ledger show -t l
	exits 0
	is "$output" "~ small" "the comparison is shown"
}

@test "a command's own placeholders: {lr} takes each arm's value, and the run says so" {
	ledger plan --command --control lr=1e-4 --vary lr=2e-4 --seeds 2 -n 2 >p
	cat >trainer <<'END'
#!/bin/sh
for u in 1 2; do echo "{\"kind\":\"step\",\"update\":$u,\"loss\":$1}" >&"$PILOT_RECORD_FD"; done
echo "{\"kind\":\"eval\",\"split\":\"validation\",\"update\":2,\"loss\":$1$2}" >&"$PILOT_RECORD_FD"
END
	chmod +x trainer
	train-step -j --no-adapter - -- ./trainer '{lr}' '{seed}' <p >r 2>err
	is "$(jq -c 'select(.kind == "run") | [.arm, .values, .program[1], .seed]' r | paste -sd' ')" \
		'["lr=1e-4",["lr=1e-4"],"1e-4",1] ["lr=2e-4",["lr=2e-4"],"2e-4",1] ["lr=1e-4",["lr=1e-4"],"1e-4",2] ["lr=2e-4",["lr=2e-4"],"2e-4",2]'
	cat p >both
	ledger append l <p
	ledger append l <r
	run ledger compare -j l
	exits 0
	is "$(row arms '[.arm, .n]' | paste -sd' ')" '["lr=1e-4",2] ["lr=2e-4",2]'
	run train-step - -- ./trainer '{rate}' <p
	exits 64
	is "$output" "~ \{rate\}: no such placeholder"
	run train-step - <p
	exits 64
	is "$output" "~ values are for a command"
	run ledger plan --command --vary lr=2e-4 -n 2
	exits 64
	is "$output" "~ what has the control"
	run ledger plan --account --command --control lr=1 --vary lr=2 -n 2
	exits 64
}

@test "train-step --set and --repeats: for a single run of a command" {
	train-step -j --no-adapter --set lr=3 --repeats 01M8G0000000000000000000T0 -- sh -c 'echo {lr}' >r 2>err
	is "$(jq -c 'select(.kind == "run") | [.values, .repeats]' r)" '[["lr=3"],"01M8G0000000000000000000T0"]'
	is "$(grep -c '^3$' err)" 1
	run train-step --set lr -- true
	exits 64
	run train-step --repeats nonsense
	exits 64
	is "$output" "~ nonsense: not a run's id"
	run train-step --set a=1 -n 1
	exits 64
}

@test "the script in the man page: three learning rates and one that diverges, five seeds" {
	requires mandoc
	sed -n '/^#!\/bin\/sh$/,/^\.Ed$/p' "$PILOT_ROOT/man/ledger-plan.1" | sed '/^\.Ed$/d; s/\\e/\\/g; s/\\-/-/g; s/\\&//g' >script
	is "$(head -1 script)" '#!/bin/sh'
	sed 's/-n 200/-n 12/; s/--val-every 50/--val-every 6/; s/--seeds 5/--seeds 2/' script >short
	run sh -e short
	exits 0
	is "$output" "~ Comparison three rates"
	is "$output" "~ ranks only"
}
