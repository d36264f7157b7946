#!/usr/bin/env bats
# The ledger under kills, full disks, locks, and a file that is replaced or damaged.

load helpers
load ledger

setup() { ledger_setup; }
teardown() { [[ -z ${held:-} ]] || kill "$held" 2>/dev/null || true; }

note='{"kind":"note","t":"2026-11-30T12:00:00Z","text":"one more"}'

@test "8 concurrent writers, killed 100 times: nothing acknowledged is lost, and the file is whole" {
	run -0 "$PYTHON" "$PILOT_ROOT/t/kill.py" . 100 8 1
	echo "# $output" >&3
	run -0 ledger verify --receipt receipts k.ledger
	is "$output" "~ receipts ok" "every receipt holds"
}

@test "8 makers of one new ledger: one file, all records" {
	for i in 1 2 3 4 5 6 7 8; do stream --notes 20 --seed $i >n$i; done
	for round in 1 2 3 4 5; do
		rm -f x.ledger
		for i in 1 2 3 4 5 6 7 8; do ledger append x.ledger <n$i & done
		wait
		run -0 ledger verify x.ledger
		is "$output" "~ 8 appends, 17 members, 160 records" "round $round"
		[[ -z $(find . -name '.x.ledger*') ]]
	done
}

@test "every cut inside the last append is named, and the next append survives it" {
	stream --steps 4 --eval-every 0 >a
	ledger append x.ledger <a
	before=$(stat -c %s x.ledger)
	ledger append x.ledger <<<"$note"
	after=$(stat -c %s x.ledger)
	for ((n = before + 1; n < after; n += 1 + (n - before) / 8)); do
		head -c $n x.ledger >y.ledger
		run ledger verify y.ledger
		[[ $status == 1 && $output == *"offset $before,"*"$((n - before)) bytes: torn tail"* ]] || { echo "$n: $status $output"; false; }
		run -0 ledger append y.ledger <<<"$note"
		is "$output" "~ torn tail.*saved in y.ledger.torn-[0-9TZ]+-$before" "what was cut"
		run -0 ledger verify y.ledger
		cmp <(head -c $n x.ledger | tail -c +$((before + 1))) y.ledger.torn-*
		same_as y.ledger a <(zcat <x.ledger | tail -c +$(($(stat -c %s a) + 1)))
		rm y.ledger*
	done
}

@test "a tail that cannot be saved is not cut" {
	ledger append x.ledger <<<"$note"
	head -c 100 x.ledger >>x.ledger
	cp x.ledger was
	# 8 blocks of 512 are room for the ledger, but not where the tail's copy would go
	mkdir full
	cp x.ledger full/x.ledger
	chmod a-w full
	if [[ $EUID == 0 ]]; then
		requires tmpfs
		unshare -m bash -c 'mount -t tmpfs -o size=8k none full && cp was full/x.ledger && head -c 100000 /dev/zero >full/filler 2>/dev/null
			ledger append full/x.ledger <<<"$1" 2>err; echo $? >rc; cp full/x.ledger now' - "$note"
	else
		ledger append full/x.ledger <<<"$note" 2>err || echo $? >rc
		cp full/x.ledger now
	fi
	is "$(<rc)" 74 "exit status"
	grep -q 'saving the torn tail.*not cut' err
	cmp was now
}

@test "bytes that do not belong there are told apart" {
	stream --steps 5 >a
	ledger append x.ledger <a
	head -c 300 /dev/zero | cat x.ledger - >zero
	gzip -c a | cat x.ledger - >foreign
	echo hello | cat x.ledger - >text
	ledger append y.ledger <a
	cat x.ledger y.ledger >two
	run -1 ledger verify zero
	is "$output" "~ torn tail: nothing but zero bytes" "zeros"
	run -1 ledger verify foreign
	is "$output" "~ foreign bytes: gzip data that ledger append did not write" "gzip -c"
	run -1 ledger verify text
	is "$output" "~ foreign bytes: bytes that are no gzip member" "text"
	run -1 ledger verify two
	is "$output" "~ foreign bytes: another ledger was put behind this one; see ledger merge" "another ledger"
	cp x.ledger flipped
	flip flipped 400
	run -1 ledger verify flipped
	is "$output" "~ offset [0-9]+, member [0-9]+, [0-9]+ bytes: bad checksum" "a flipped bit"
	for f in zero foreign text two flipped; do
		run -65 ledger show -j $f
		run -65 ledger summary $f
		is "$output" "~ reading: $f: offset [0-9]+, member" "$f"
		[[ $f == flipped ]] || ledger show --msgpack $f 2>/dev/null | cmp - a
	done
}

@test "zcat's output is whole again after an append behind a torn tail" {
	stream --steps 300 >a
	ledger append x.ledger <a
	size=$(stat -c %s x.ledger)
	ledger append x.ledger <a
	truncate -s $((size + 5000)) x.ledger
	run ! gzip -t x.ledger.gz -S .ledger
	run ! zcat <x.ledger
	run -0 ledger append x.ledger <<<"$note"
	zcat <x.ledger >out
	cmp <(head -c "$(stat -c %s a)" out) a
}

# ---- the disk ----

@test "a file size limit: 74, cut back, and the rest spooled and appended later" {
	stream --steps 100 --seed 2 >a
	stream --steps 400 >first
	mkdir spool
	ledger append x.ledger <first
	(($(stat -c %s x.ledger) > 36000)) # of the 40 KiB that the limit allows
	run -74 bash -c 'ulimit -f 40; ledger append -e --spool spool x.ledger <a'
	is "$output" "~ appending: x.ledger: offset [0-9]+: File too large" "message"
	is "$output" "~ append it with: ledger append --rest x.ledger <spool/x.ledger" "how to go on"
	run -0 ledger verify x.ledger
	(($(stat -c %s x.ledger) <= 40 * 1024))
	run -0 ledger append --rest x.ledger <spool/*.records
	same_as x.ledger first a
}

@test "a full disk: 74, cut back, and the rest spooled; the writer upstream lives" {
	requires tmpfs
	stream --steps 5000 >a
	mkdir disk spool
	# shellcheck disable=SC2016
	unshare -m bash -c 'mount -t tmpfs -o size=300k none disk || exit 99
		(cat a && echo finished >upstream) | ledger append --receipt --spool spool disk/x.ledger >receipts 2>err; echo $? >rc
		ledger verify --receipt receipts disk/x.ledger >verify; echo $? >verify.rc
		cp disk/x.ledger .'
	is "$(<rc)" 74 "exit status"
	grep -q 'No space left on device' err
	is "$(<upstream)" finished "the writer upstream"
	is "$(<verify.rc)" 0 "verify"
	cat spool/*.records >rest
	same_as x.ledger <(head -c $(($(stat -c %s a) - $(stat -c %s rest))) a)
	run -0 ledger append --rest x.ledger <rest
	same_as x.ledger a
}

@test "without a spool a full disk ends append at once, with 74 and a count" {
	stream --steps 1500 >a
	run -74 bash -c 'ulimit -f 20; ledger append x.ledger <a'
	is "$output" "~ [0-9]+ records that were read are not in the ledger" "message"
	run -0 ledger verify x.ledger
}

@test "a ledger that cannot be opened: with a spool the whole stream is kept" {
	stream >a
	mkdir spool
	run -74 ledger append --spool spool nowhere/x.ledger <a
	cmp spool/*.records a
}

# ---- locks ----

# hold FILE SECONDS: another program holds the lock (open file description lock, by python).
hold() {
	"$PYTHON" - "$1" "$2" <<-'EOF' &
		import fcntl, os, struct, sys, time
		f = os.open(sys.argv[1], os.O_RDWR)
		fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK
		open("locked", "w").close()
		time.sleep(float(sys.argv[2]))
	EOF
	held=$!
	eventually 10 test -e locked
}

@test "a lock that is held: 75 after the timeout, nothing written" {
	ledger append x.ledger <<<"$note"
	cp x.ledger was
	hold x.ledger 30
	run -75 ledger append --timeout 0.3 x.ledger <<<"$note"
	is "$output" "~ locking: x.ledger: another process holds it \(waited 0.3 s\)" "message"
	cmp x.ledger was
	mkdir spool
	run -75 ledger append --timeout 0.1 --spool spool x.ledger <<<"$note"
	[[ -s $(echo spool/*.records) ]]
}

@test "a lock that is let go in time is waited for" {
	ledger append x.ledger <<<"$note"
	hold x.ledger 0.5
	run -0 ledger append --timeout 20 x.ledger <<<"$note"
	run -0 ledger verify x.ledger
	is "$output" "~ 2 appends" "both"
}

@test "a file that is replaced while its lock is waited for: the append goes to the new one" {
	ledger append x.ledger <<<"$note"
	ledger append new <<<"$note"
	ledger append new <<<"$note"
	hold x.ledger 1
	ledger append --timeout 20 x.ledger <<<"$note" &
	sleep 0.3
	mv x.ledger old
	mv new x.ledger
	wait $!
	ledger verify old | grep -q ': ok; 1 appends'
	ledger verify x.ledger | grep -q ': ok; 3 appends'
}

@test "a tail under a held lock is in progress, not torn" {
	stream --steps 3 >a
	ledger append x.ledger <a
	tail -c +57 x.ledger | head -c 200 >half
	cat half >>x.ledger
	run -1 ledger verify x.ledger
	is "$output" "~ torn tail: an append that was cut" "without the lock"
	run -65 ledger summary x.ledger
	hold x.ledger 30
	run -0 ledger verify x.ledger
	is "$output" "~ in progress: another process is appending" "verify"
	run -0 ledger summary x.ledger
	run -0 bash -o pipefail -c 'ledger show --msgpack x.ledger | cmp - a'
}

# ---- signals ----

@test "the first SIGINT is for the writers upstream: append reads to the end, then ends by it" {
	mkfifo p
	stream --steps 50 >a
	env --default-signal=INT ledger append -e --receipt x.ledger <p >r &
	pid=$!
	exec 7>p
	head -c 5000 a >&7
	eventually 10 test -s r
	kill -INT $pid
	sleep 0.2
	kill -0 $pid
	tail -c +5001 a >&7
	exec 7>&-
	status=0
	wait $pid || status=$?
	is "$status" 130 "ended by SIGINT"
	same_as x.ledger a
}

@test "what was read is on disk before the next read waits; a second signal ends at once" {
	mkfifo p
	stream --steps 50 >a
	env --default-signal=INT ledger append x.ledger <p 2>err &
	pid=$!
	exec 7>p
	head -c 5000 a >&7 # ends inside a record, after steps
	sleep 0.3
	kill -INT $pid
	sleep 0.3 # told to stop, it commits steps, too
	kill -INT $pid
	status=0
	wait $pid || status=$?
	exec 7>&-
	is "$status" 130 "ended by SIGINT"
	run -0 ledger verify x.ledger
	zcat <x.ledger >held
	(($(stat -c %s held) > 4700))
	cmp held <(head -c "$(stat -c %s held)" a)
}

@test "steps alone are committed after five seconds" {
	mkfifo p
	stream --steps 50 --eval-every 0 >a
	ledger append --receipt x.ledger <p >r &
	pid=$!
	exec 7>p
	head -c 3000 a >&7
	eventually 3 test -s r
	n=$(wc -l <r)
	head -c 4000 a | tail -c +3001 >&7
	sleep 1
	is "$(wc -l <r)" "$n" "not at once"
	eventually 8 bash -c "((\$(wc -l <r) > $n))"
	exec 7>&-
	wait $pid || true
	run -0 ledger verify --receipt r x.ledger
}
