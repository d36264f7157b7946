#!/usr/bin/env bats
# Two thousand kills under concurrent writers, and long streams.

load ../helpers
load ../ledger

setup() { ledger_setup; }

@test "8 concurrent writers, killed 2,000 times: nothing acknowledged is lost, and the file is whole" {
	# on a disk, not in memory: syncs take their time, and kills fall into them
	run -0 "$PYTHON" "$PILOT_ROOT/t/kill.py" . 2000 8 7
	echo "# $output" >&3
	run -0 ledger verify --receipt receipts k.ledger
}

@test "3 writers of long appends, killed 300 times" {
	run -0 "$PYTHON" "$PILOT_ROOT/t/kill.py" . 300 3 11
	echo "# $output" >&3
	run -0 ledger verify --receipt receipts k.ledger
}

@test "every byte of the last append cut: named, and survived by the next" {
	stream --steps 30 --eval-every 10 >a
	ledger append x.ledger <a
	before=$(stat -c %s x.ledger)
	stream --steps 2 --seed 2 >b
	ledger append x.ledger <b
	after=$(stat -c %s x.ledger)
	cat a b >ab
	for ((n = before + 1; n < after; n++)); do
		head -c $n x.ledger >y.ledger
		run ledger verify y.ledger
		[[ $status == 1 && $output == *"offset $before,"*"torn tail"* ]] || { echo "$n: $status $output"; false; }
		ledger append y.ledger <b 2>/dev/null
		[[ $(((n - before) % 10)) != 0 ]] || ledger verify y.ledger >/dev/null
		zcat <y.ledger | cmp - ab
		rm y.ledger*
	done
}

@test "a stream of 5 million steps: memory does not grow, all are kept" {
	[[ -x /usr/bin/time ]] || skip "GNU time is not installed"
	stream --steps 500000 --eval-every 0 >a
	/usr/bin/time -f %M -o kb bash -c 'for i in 1 2 3 4 5 6 7 8 9 10; do cat a; done | ledger append --rest x.ledger 2>/dev/null' || true
	/usr/bin/time -f %M -o kb ledger append y.ledger <a
	(($(<kb) < 16384))
	run -0 ledger verify x.ledger
	is "$output" "~ 5000190 records" "all of them"
}
