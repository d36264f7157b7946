#!/usr/bin/env bats
# The pipelines in the man pages, word for word, with smaller budgets and a shorter text.

load helpers
load pipeline

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export TMPDIR=$BATS_TEST_TMPDIR HOME=$BATS_TEST_TMPDIR
}

# shown PAGE PATTERN: the first literal display of the page with this in it, as the page shows it.
shown() {
	awk -v p="$2" '/^\.Bd -literal/ { on = 1; text = ""; next }
		on && /^\.Ed/ { if (index(text, p)) { printf "%s", text; found = 1; exit } on = 0 }
		on { text = text $0 "\n" }
		END { exit !found }' "$PILOT_ROOT/man/$1" | sed 's/\\e/\\/g; s/\\&//g; s/\\(aq/'\''/g; s/\\(ga/`/g; s/\\-/-/g'
}

# smaller: the same commands with a small budget.
smaller() {
	sed -E 's/gen1:1-rev22:21/gen1:1-gen9:29/; s/ -n [0-9]+/ -n 8/; s/warmup=[0-9]+/warmup=2/; s/--(val|save)-every [0-9]+/--\1-every 4/; s/--epochs [0-9.]+/--epochs 0.02/'
}

# example PAGE PATTERN: runs it; the last status must be 0.
example() {
	shown "$1" "$2" >whole || { echo "$1 shows nothing with: $2"; return 1; }
	smaller <whole >script
	timeout 120 sh -e script >out 2>err || { cat script err; return 1; }
}

ok() { is "$(ledger summary -j "$1" | jq -r '.verdict + " " + .status' | uniq)" "ok done" "$1"; }

@test "pilot(7): a text, images, a night of cron, and the questions afterwards" {
	requires kjv fashion-mnist jq
	example pilot.7 'bible -f'
	rm -f nightly.ledger
	example pilot.7 'd=/usr/share'
	ok nightly.ledger
	is "$(ledger show -j nightly.ledger | jq -r 'select(.kind == "end") | .test_accuracy > 0.2')" true "the test files were scored"

	mkdir campaign
	shown pilot.7 '# crontab' | smaller >night
	sed '/^# crontab/,$d' night >campaign/nightly.sh
	grep -q -- '--epochs 0.02' campaign/nightly.sh
	d=/usr/share/datasets/fashion-mnist
	echo "idx:images=$d/t10k-images-idx3-ubyte.gz,labels=$d/t10k-labels-idx1-ubyte.gz" >campaign/data.spec
	# what cron does with a line: five fields, the rest for sh, % being a newline unless behind a backslash
	sed -n '/^# crontab/,$p' night | grep -qx 'PATH=/usr/local/bin:/usr/bin:/bin' # where make install puts them
	line=$(sed -n '/^# crontab/,$p' night | grep -v -e '^#' -e '^PATH=' | grep .)
	[[ $line =~ ^([0-9*,/-]+\ +){5}(.*)$ ]]
	command=${BASH_REMATCH[2]}
	[[ ! $command =~ (^|[^\\])% ]]
	run -0 sh -c "$command"
	is "$output" "" "cron has nothing to mail"
	ok campaign/nightly.ledger
	# with a gate that is not there, the morning's mail shows it
	mkdir bin
	cp "$PILOT_BIN/train-step" "$PILOT_BIN/ledger" bin/
	rm -r campaign/ckpt-*
	PATH=$PWD/bin:/usr/bin:/bin run sh -c "$command"
	is "$output" "~ gate" "mailed"

	shown pilot.7 "ledger show -j nightly.ledger | jq" >asking
	run -0 sh -e asking
	is "$output" "~ mlp:256 idx" "summary"
	is "$output" "~ verdicts on run" "show"
	is "$output" "~ \"split\": *\"test\"" "jq"
}

@test "train-step(1): a text and images" {
	requires kjv fashion-mnist
	example train-step.1 'bible -f'
	ok nightly.ledger
	is "$(find . -name 'update-*' | wc -l)" 2 "--keep 2"
	rm nightly.ledger
	example train-step.1 'cd /usr/share'
	ok nightly.ledger
}

@test "train-step(1): showing, learning by heart, two runs in one process" {
	shown train-step.1 --overfit >script
	run -0 sh -e script
	is "$output" "~ 10 of 10" "all ten come back"
	shown train-step.1 printf >script
	run -0 sh -e script
	is "$(grep -c '^ *done after' <<<"$output")" 2 "two ends"
}

@test "train-step(1): the job that is preempted, twice" {
	requires kjv
	bible -f gen1:1-gen9:29 >kjv.txt
	shown train-step.1 scontrol | sed -E 's/layers=[0-9]+,width=[0-9]+,heads=[0-9]+/layers=1,width=16,heads=2/; s/--save-every [0-9]+/--save-every 50/' >job
	mkdir bin
	# shellcheck disable=SC2016
	printf '#!/bin/sh\necho "$@" >>asked\n' >bin/scontrol
	chmod +x bin/scontrol
	for night in 1 2; do
		SLURM_JOB_ID=7 PATH=$PWD/bin:$PATH sh job 2>err 3>&- &
		pid=$!
		eventually 30 test -e ckpt/update-000000$((night * 200)).safetensors || { cat err; return 1; }
		kill -USR1 $pid
		s=0
		wait $pid || s=$?
		is $s 143 "the trainer's own end"
	done
	is "$(cat asked)" $'requeue 7\nrequeue 7'
	is "$(ledger summary -j runs.ledger | jq -r .status | paste -sd' ')" "stopped stopped" "both runs"
	ledger show -j runs.ledger >runs.jsonl
	first=$(jq -r 'select(.kind == "end") | .updates' runs.jsonl | head -1)
	is "$(jq -r 'select(.kind == "step") | .update' runs.jsonl | uniq -d)" "" "no update twice"
	is "$(jq -r 'select(.kind == "run") | .resumed_update' runs.jsonl | tail -1)" "$first" "the second went on where the first ended"
	is "$(find . -name 'records.*')" "" "no pipe is left"
}

@test "gate(1), ledger(1) and probe-batch(1): the usual pipelines" {
	requires jq fashion-mnist
	example gate.1 --require
	ok runs.ledger
	example gate.1 'ledger show --msgpack'
	shown ledger.1 'ledger show --msgpack' | sed "s/01M8PYBW/$(ledger summary -j runs.ledger | jq -r '.id[:8]')/" >script
	run -0 sh -e script
	ok again.ledger
	mkdir campaign
	d=/usr/share/datasets/fashion-mnist
	echo "idx:images=$d/t10k-images-idx3-ubyte.gz,labels=$d/t10k-labels-idx1-ubyte.gz" >campaign/data.spec
	[[ $(shown ledger.1 '30 2 * * *') =~ ^([0-9*,/-]+\ +){5}(.*)$ ]]
	# in a crontab \% is a percent sign
	run -0 sh -c "cd \"\$HOME\" && TMPDIR=$PWD; ${BASH_REMATCH[2]//'\%'/%}"
	ok campaign/nightly.ledger
	shown probe-batch.1 effective-batch >script
	run -0 sh -e script
	is "$(jq -r '.recommended * .accum' <<<"$(grep -v '^probe-batch:' <<<"$output")")" 512
}
