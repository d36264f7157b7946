#!/usr/bin/env bats
# 259-note.bats - ledger note: what a person says stands beside what was measured.

load helpers
load ledger

setup() {
	ledger_setup
	stream --steps 10 >a
	ledger append l <a
	RUN=$(ledger summary -j l | jq -r .id)
}

@test "note: of a run by the beginning of its id; dated, with an author, in a bracket of its own" {
	before=$(date +%s)
	ledger note l "${RUN,,}" "spikes at 9"
	ledger note --decision -a Ada l "${RUN:0:20}" "keep it"
	run -0 ledger show -j l
	is "$(jq -c 'select(.kind == "note") | [.run, .text, .decision]' <<<"$output" | xargs -d '\n')" \
		"[\"$RUN\",\"spikes at 9\",null] [\"$RUN\",\"keep it\",true]" "notes"
	is "$(field author note <<<"$output" | xargs)" "$(id -un) Ada" "authors"
	t=$(date -d "$(jq -r 'select(.kind == "note") | .t' <<<"$output" | head -1)" +%s)
	((t >= before && t <= $(date +%s)))
	is "$(jq -r 'select(.kind == "tool" and .name == "ledger") | .argv[0:1][]' <<<"$output" | xargs)" "note note" "who added it"
	ledger verify l
	run -0 ledger show -t l
	is "$output" "~ note \($(id -un), $(date -u +%F)\)"$'\n'" +spikes at 9" "shown with its run"
	is "$output" "~ decision \(Ada, $(date -u +%F)\)"$'\n'" +keep it" "shown as what it is"
}

@test "note: of a comparison by its name or the beginning of its id; compare tells it" {
	ledger plan -m gpt:layers=1,width=16,heads=2 -d sums -n 4 --control lr=1e-3 --vary lr=2e-3 --seeds 1 --name rates >p
	ledger append l <p
	train-step - <p | ledger append l
	id=$(ledger show -j l | jq -r 'select(.kind == "comparison") | .id')
	ledger note l rates "one seed says little"
	ledger note --decision l "${id:0:22}" "1e-3 stays"
	is "$(ledger show -j l | field comparison note | xargs)" "$id $id" "the comparison"
	run -0 ledger compare l
	is "$output" "~ one seed says little" "compare"
	is "$output" "~ 1e-3 stays" "compare"
}

@test "note: unknown, several, no ledger, nothing said" {
	stream --steps 3 --seed 2 >b
	ledger append l <b
	cp l before
	run -64 ledger note l 0QQQ x
	is "$output" "~ note: 0QQQ: no run and no comparison of that name is in the ledger" "unknown"
	run -64 ledger note l 01 x
	is "$output" "~ 01.*several|01: .*begin" "several"
	run -64 ledger note l "$RUN" ""
	is "$output" "~ the text is empty" "nothing said"
	run -64 ledger note l "$RUN"
	run -64 ledger note l "$RUN" two words
	is "$output" "~ quote the text" "not quoted"
	run -64 ledger note --timeout soon l "$RUN" x
	cmp l before
	run -66 ledger note nowhere "$RUN" x
	[[ ! -e nowhere ]]
	run -65 ledger note a "$RUN" x
	is "$output" "~ not a ledger" "a plain stream"
}

@test "note: what it says is no order to a terminal" {
	ledger note l "$RUN" $'\e[31mred\a\nsecond line'
	run -0 ledger show -t l
	[[ $output != *$'\e'* && $output == *red* ]]
	is "$(ledger show -j l | jq -r 'select(.kind == "note") | .text' | sed -n l | head -1)" '\033[31mred\a$' "kept as it was said"
}

@test "note: a lock that stays held is 75" {
	"$PYTHON" -c 'import fcntl, struct, sys, time
f = open("l", "r+b"); fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)); open("held", "w"); time.sleep(30)' &
	holder=$!
	eventually 10 test -e held
	run -75 ledger note --timeout 0.2s l "$RUN" x
	kill $holder
	is "$output" "~ another process holds it" "message"
}
