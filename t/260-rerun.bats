#!/usr/bin/env bats
# 260-rerun.bats - ledger rerun: the printed line does the run again, bit by bit.

load helpers
load ledger

setup() {
	ledger_setup
	export OMP_NUM_THREADS=1
	TINY=(-m gpt:layers=1,width=16,heads=2 -d sums -n 6)
}

# again LEDGER-OR-STREAM RUN: does what rerun prints.
again() {
	ledger rerun "$2" "$1" >line 2>err
	is "$(wc -l <line)" 1 "one line"
	sh -c "$(<line)"
}

losses() { ledger show -j "$1" | grep -E '"kind":"(step|eval)"' | grep -o '"loss":[^,}]*'; }

@test "rerun: the same losses, bit by bit; a name of its own, and whom it repeats" {
	mkdir "a folder's" && cd "a folder's"
	train-step "${TINY[@]}" -o adamw:lr=2e-3,beta1=0.8 -b 8 --accum 2 --seed 5 --val-every 3 --schedule linear:warmup=2 >../s
	cd ..
	RUN=$(ledger summary -j s | jq -r .id)
	again s "$RUN" >t
	cmp <(losses s) <(losses t)
	is "$(losses s | wc -l | xargs)" "$(ledger show -j s | grep -cE '"kind":"(step|eval)"')" "losses compared"
	is "$(ledger show -j t | field repeats run)" "$RUN" "whom"
	[[ $(ledger summary -j t | jq -r .id) != "$RUN" ]]
	is "$(ledger show -j t | field cwd run)" "$PWD/a folder's" "where"
	is "$(<err)" "" "nothing differs"
	run -0 ledger rerun "${RUN:0:20}" s
	[[ $output != *--dropout* && $output != *--precision* ]]
}

@test "rerun: checkpoints go into a folder of their own" {
	train-step "${TINY[@]}" -C ck >s
	again s "$(ledger summary -j s | jq -r .id)" >t
	[[ -d ck && -d ck-again ]]
	cmp <(losses s) <(losses t)
}

@test "rerun: a command with its placeholders, their values, its environment and odd words" {
	cat >prog.sh <<'P'
i=0; while [ $i -lt 3 ]; do i=$((i + 1)); echo "step=$i loss=$1.$i word=$2 $WHAT"; done
P
	train-step -n 3 --seed 4 --set 'word=it'\''s $HOME "x"' --env 'WHAT=b {seed}' --step-regex 'step=(?<update>[0-9]+) loss=(?<loss>[0-9.]+)' -- sh prog.sh '{seed}' '{word}' >s || true
	RUN=$(ledger summary -j s 2>/dev/null | jq -r .id)
	[[ -n $RUN ]]
	again s "$RUN" >t || true
	is "$(ledger show -j t 2>/dev/null | jq -c 'select(.kind == "run") | [.program, .values, .env]')" \
		"$(ledger show -j s 2>/dev/null | jq -c 'select(.kind == "run") | [.program, .values, .env]')" "what was run"
	is "$(ledger show -j t 2>/dev/null | jq -r 'select(.kind == "run") | .program[3]')" "it's \$HOME \"x\"" "the word"
	cmp <(losses s 2>/dev/null) <(losses t 2>/dev/null)
}

@test "rerun: secrets are not invented" {
	train-step -n 1 --env 'API_TOKEN=abcdefghijklmnop1234' -- sh -c 'echo step: 1' >s || true
	RUN=$(ledger summary -j s 2>/dev/null | jq -r .id)
	run ledger rerun "$RUN" s
	[[ $output != *abcdefghijklmnop1234* ]]
	is "$output" "~ \{secret\}" "in its place"
	is "$output" "~ what looked like a secret was not kept" "told"
	run -64 sh -c "$(ledger rerun "$RUN" s 2>/dev/null)"
	is "$output" "~ what looked like a secret was left out" "refused as it is"
	train-step -n 1 --env "LONG=$(printf 'x%.0s' {1..2000})" -- sh -c 'echo step: 1' >s || true
	run ledger rerun "$(ledger summary -j s 2>/dev/null | jq -r .id)" s
	is "$output" "~ the value of LONG was too long for the record" "too long"
	is "$output" "~ LONG=\{secret\}" "nor cut"
}

@test "rerun: data that is missing or other, another revision, host and version are told" {
	requires git
	echo a,label >d.csv
	for i in $(seq 40); do printf '%s,%s\n' $((i % 7)) $([[ $((i % 2)) == 0 ]] && echo x || echo y) >>d.csv; done
	git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one
	train-step -m mlp:hidden=4 -d "csv:file=$PWD/d.csv,class=label" -n 2 -b 4 >s
	RUN=$(ledger summary -j s | jq -r .id)
	run -0 --separate-stderr ledger rerun "$RUN" s
	is "$stderr" "" "nothing is other"
	echo 3,x >>d.csv
	run -0 --separate-stderr ledger rerun "$RUN" s
	is "$stderr" "~ its data file .*/d.csv is another one now" "changed"
	rm d.csv
	git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two
	run -0 --separate-stderr ledger rerun "$RUN" s
	is "$stderr" "~ its data file .*/d.csv cannot be read" "missing"
	is "$stderr" "~ its code was revision [0-9a-f]{40}; here is [0-9a-f]{40}" "revision"
	ledger show -j s | jq -c 'if .kind == "run" then .host = "elsewhere" | .version = "0.0.1" | .dirty = true else . end' >o
	run -0 --separate-stderr ledger rerun "$RUN" o
	is "$stderr" "~ it ran on host elsewhere" "host"
	is "$stderr" "~ trained by version 0.0.1" "version"
	is "$stderr" "~ its code had changes that no revision holds" "dirty"
	is "$output" "~ --schedule constant .*--precision fp32" "every setting, for another version's defaults"
}

@test "rerun: an imported run, an unknown one, none" {
	printf 'step,loss\n1,2\n' >a.csv
	ledger import csv a.csv >s
	RUN=$(ledger summary -j s | jq -r .id)
	run -1 ledger rerun "$RUN" s
	is "$output" "~ it was imported; how it was run is not known" "imported"
	run -64 ledger rerun 0QQ s
	is "$output" "~ no run whose id begins so" "unknown"
	run -64 ledger rerun
	is "$output" "~ which run\?" "none"
	run -66 ledger rerun "$RUN" nowhere
}
