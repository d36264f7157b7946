#!/usr/bin/env bats
# ledger append: what it keeps, and the exit status it takes from the stream.

load helpers
load ledger

setup() { ledger_setup; }

@test "zcat reads the records of three streams, byte for byte" {
	stream --steps 250 >a
	stream --probe --seed 2 >b
	stream --notes 30 --length 9000 >c
	for f in a b c; do run -0 ledger append x.ledger <$f; done
	same_as x.ledger a b c
	gzip -t <x.ledger
	run -0 ledger verify x.ledger
	is "$output" "~ ok; 4 appends, [0-9]+ members" "verify"
	ledger show --msgpack x.ledger | cmp - want.out
}

@test "records that somebody else reads: the same JSON as python3-msgpack gives, in the same order" {
	requires jq
	stream --steps 120 >a
	ledger append x.ledger <a
	ledger show -j x.ledger | jq -c '[.kind, .run, .update, .loss]' >ours
	records a | jq -c '[.kind, .run, .update, .loss]' >theirs
	cmp ours theirs
}

@test "JSON Lines go in as records" {
	ledger append x.ledger <<<'{"kind":"note","t":"2026-11-30T12:00:00Z","text":"by hand"}'
	zcat <x.ledger | records | jq -e '.text == "by hand" and .kind == "note" and .t.seconds == 1796040000'
}

@test "a new ledger is readable at once, and a run without input is refused" {
	run -65 ledger append x.ledger </dev/null
	is "$output" "~ standard input: empty" "message"
	[[ $(zcat <x.ledger | wc -c) == 0 ]]
	run -0 ledger verify x.ledger
}

@test "steps stand in members of their own, about a hundred each" {
	stream --steps 1000 --eval-every 0 >a
	ledger append x.ledger <a
	run -0 ledger verify -j x.ledger
	members=$(jq .members <<<"$output")
	# header, footers, at most two members of other records an append, 10 of steps and one more a boundary
	appends=$(jq .appends <<<"$output")
	((members >= 10 + 2 + appends && members <= 1 + 10 + 2 + 3 * appends))
	size=$(stat -c %s x.ledger) raw=$(stat -c %s a)
	((size * 10 < raw * 4))
}

@test "memory does not grow with the stream" {
	[[ -x /usr/bin/time ]] || skip "GNU time is not installed"
	stream --steps 3000 >a
	stream --steps 100000 >b
	for f in a b; do /usr/bin/time -f %M -o $f.kb ledger append $f.ledger <$f; done
	(($(<b.kb) < 16384))
	(($(<b.kb) < $(<a.kb) + 1024))
}

@test "a reader written from the man page alone agrees with every byte" {
	stream --steps 300 --runs 3 >a
	stream --probe --seed 2 >b
	stream --notes 5 --length 70000 --seed 3 >c
	# steps of many runs at once
	"$PYTHON" -c 'import msgpack, sys; [sys.stdout.buffer.write(msgpack.packb({"kind": "step", "t": msgpack.Timestamp(i, i), "run": "01J%023d" % (i % 150), "update": i})) for i in range(3000)]' >d
	for f in a b c; do ledger append x.ledger <$f; done
	ledger append --rest x.ledger <d
	"$PYTHON" "$PILOT_ROOT/t/read_ledger.py" x.ledger >out
	cat a b c d | cmp - out
	run -0 ledger verify x.ledger
}

@test "the man page's synopsis is what --help says" {
	requires mandoc
	for c in append show summary verify recover merge; do
		ledger $c --help | sed -n 's/^usage: /       /; s/^       //p' >>usage
	done
	mandoc -T ascii -O width=400 "$PILOT_ROOT/man/ledger.1" | plain | sed -n '/^SYNOPSIS/,/^DESCRIPTION/s/^     //p' >synopsis
	cmp usage synopsis
	# each subcommand is named by --help, and has its place here or a page of its own
	for c in $(ledger --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
		grep -qE "^\.(Ss $c|It Xr ledger-$c 1 Ta)" "$PILOT_ROOT/man/ledger.1" || { echo "$c"; false; }
		[[ -e $PILOT_ROOT/man/ledger-$c.1 ]] || continue
		for o in $(ledger $c --help | grep -oE -- '^ +(-[a-zA-Z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort -u); do
			[[ $o == --help || $o == --version ]] && continue
			o=${o#--}
			grep -qF -e "\\-$o" -e "\\-${o//-/\\-}" "$PILOT_ROOT/man/ledger-$c.1" "$PILOT_ROOT/man/train-step.1" || { echo "$c $o"; false; }
		done
	done
	for c in append show summary verify; do
		# every option of the subcommand has its place in the page
		for o in $(ledger $c --help | grep -oE -- '--[a-z-]+' | sort -u); do
			[[ $o == --help || $o == --version ]] || grep -qF -- "${o/--/\\-}" "$PILOT_ROOT/man/ledger.1" || { echo "$c $o"; false; }
		done
	done
}

# ---- append -e ----

@test "-e: a whole stream with its verdicts is 0, a failed phase 1" {
	stream >ok
	stream --probe --seed 3 >probe
	stream --fail update >fail
	run -0 ledger append -e x.ledger <ok
	run -0 ledger append -e x.ledger <probe
	run -1 ledger append -e x.ledger <fail
	is "$output" "~ failed: update of run" "message"
	same_as x.ledger ok probe fail
}

@test "-e: no gate, no verdict, no run to judge: never 0" {
	stream --no-gate >nogate
	stream --no-verdict >noverdict
	stream --runs 0 >norun
	run -65 ledger append -e x.ledger <nogate
	is "$output" "~ no gate in the stream" "message"
	run -65 ledger append -e x.ledger <noverdict
	is "$output" "~ has no verdict" "message"
	run -65 ledger append -e x.ledger <norun
	is "$output" "~ no run to judge" "message"
	same_as x.ledger nogate noverdict norun
}

@test "-e: verdicts of another gate than this stream's do not count" {
	stream --no-verdict >a
	stream --seed 9 >b
	# the run of a, judged by the gate of b, whose bracket is not in the stream
	run=$(records a | jq -r 'select(.kind == "run") | .run')
	{ ledger show -j - <a; ledger show -j - <b | jq -c --arg r "$run" 'select(.kind == "verdict") | .run = $r'; } >mixed
	run -65 ledger append -e x.ledger <mixed
	is "$output" "~ has no verdict" "message"
}

@test "-e: a run that comes once more waits for a verdict once more" {
	stream | ledger show -j - >a
	jq -c 'select(.kind != "verdict")' a >b
	cat a a >aa
	cat a b >ab
	run -0 ledger append -e x.ledger <aa
	run -65 ledger append -e x.ledger <ab
	is "$output" "~ has no verdict" "message"
}

@test "-e: a verdict in a word that is none does not count" {
	stream >a
	ledger show -j - <a | jq -c 'if .kind == "verdict" then .verdict = "FAIL" else . end' >b
	run -65 ledger append -e x.ledger <b
	is "$output" "~ has no verdict" "message"
}

@test "-e: the worst status of a program upstream wins" {
	stream --status 74 >a
	stream --status 69 --fail data >b
	stream --status 1 >c
	run -74 ledger append -e x.ledger <a
	run -69 ledger append -e x.ledger <b
	run -1 ledger append -e x.ledger <c
}

@test "-e: a stream cut at any record never gives 0, and what came is kept" {
	stream --steps 6 --eval-every 3 >a
	"$PYTHON" - a <<-'EOF'
		import msgpack, sys
		data = open(sys.argv[1], "rb").read()
		u = msgpack.Unpacker(raw=False, strict_map_key=False)
		u.feed(data)
		ends = []
		for _ in u:
		    ends.append(u.tell())
		for i, end in enumerate([0] + ends[:-1]):
		    open("cut.%03d" % i, "wb").write(data[:end])
		    open("cut.%03d-inside" % i, "wb").write(data[:(end + ends[i]) // 2])
	EOF
	for f in cut.*; do
		rm -f x.ledger
		run ledger append -e x.ledger <$f
		[[ $status == 65 ]] || { echo "$f: $status $output"; false; }
		[[ $f == *-inside ]] || same_as x.ledger $f
	done
	[[ $(ls cut.* | wc -l) -gt 50 ]]
}

@test "-e: a gate that was killed is seen by plain sh, without pipefail" {
	stream --steps 200 >a
	run -65 sh -c 'cat a | sh -c "head -c 9000; kill -9 \$\$" | ledger append -e x.ledger'
	run -65 sh -c 'cat a | no-such-gate | ledger append -e x.ledger'
}

@test "without -e a failed phase is 0, a cut stream is 65 all the same" {
	stream --fail update >fail
	stream --open >open
	run -0 ledger append x.ledger <fail
	run -65 ledger append x.ledger <open
	is "$output" "~ cut: run [0-9A-Z]{26}" "message"
	same_as x.ledger fail open
}

@test "input that is no stream is named with its record and offset, and what came before is kept" {
	stream >a
	{ cat a; echo rubbish; } >b
	run -65 ledger append x.ledger <b
	is "$output" "~ standard input: record $(($(records a | wc -l) + 1)) at offset $(stat -c %s a)" "message"
	same_as x.ledger a
	gzip -c a >c
	run -65 ledger append x.ledger <c
	is "$output" "~ gzip" "gzip is named for what it is"
}

# ---- receipts, pass ----

@test "--receipt: each commit's line is true later, and false of another ledger" {
	stream >a
	ledger append --receipt x.ledger <a >r1
	ledger append --receipt x.ledger <a >>r1
	grep -Eqx 'receipt [0-9a-f]{32} [0-9]+ [0-9]+ [0-9]+ [0-9a-f]{64}' r1
	run -0 ledger verify --receipt r1 x.ledger
	is "$output" "~ receipts? ok" "both hold"
	is "$(tail -1 r1 | cut -d' ' -f4)" "$(stat -c %s x.ledger)" "the end of the last append"
	ledger append y.ledger <a
	run -1 ledger verify --receipt r1 y.ledger
	is "$output" "~ from another ledger" "another ledger"
	size=$(head -1 r1 | cut -d' ' -f4)
	head -c "$size" x.ledger >z.ledger
	run -0 ledger verify z.ledger
	run -1 ledger verify --receipt r1 z.ledger
	is "$output" "~ append 2: no append ends at offset" "an append that is gone"
	echo "receipt 1 2 3" >bad
	run -65 ledger verify --receipt bad x.ledger
	is "$output" "~ bad: line 1" "no receipt"
	run -65 ledger verify --receipt /dev/null x.ledger
	run -66 ledger verify --receipt nowhere x.ledger
}

@test "--pass: the records go on, as they came, or as text or JSON" {
	stream >a
	ledger append --pass x.ledger <a | cmp - a
	ledger append --pass -j x.ledger <a | jq -r .kind | cmp - <(records a | jq -r .kind)
	run -0 bash -o pipefail -c 'ledger append --pass -t x.ledger <a'
	is "$output" "~ verdicts on run" "text"
	same_as x.ledger a a a
	run -64 ledger append --pass --receipt x.ledger
	run -64 ledger append -j x.ledger
}

@test "--pass: a reader that goes away does not end the append" {
	stream --steps 5000 >a
	run -0 bash -c 'ledger append --pass x.ledger <a 2>err | head -c 10; exit ${PIPESTATUS[0]}'
	same_as x.ledger a
	grep -q "its reader has gone; appending goes on" err
}

# ---- usage ----

@test "usage errors are 64 and say what is wanted" {
	run -64 ledger
	run -64 ledger frobnicate
	is "$output" "~ frobnicate: no such subcommand" "message"
	run -64 ledger append
	run -64 ledger append a b
	run -64 ledger append --spool /nowhere x.ledger
	is "$output" "~ --spool: /nowhere" "message"
	run -64 ledger append --timeout soon x.ledger
	run -0 ledger --help
	run -0 ledger append --help
	is "$output" "~ --receipt" "help"
	run -0 ledger --version
	[[ ! -e x.ledger ]]
}

@test "a ledger is not made from another file, a folder, a fifo, or where none can be made" {
	echo precious >x
	run -65 ledger append x <<<'{"kind":"note","t":"2026-11-30T12:00:00Z","text":"x"}'
	is "$output" "~ x: offset 0: not a ledger" "message"
	is "$(<x)" precious "the file"
	mkdir d
	mkfifo f
	for n in d f /proc/x nowhere/x; do
		run -74 timeout 10 ledger append $n <<<'{"kind":"note","t":"2026-11-30T12:00:00Z","text":"x"}'
		is "$output" "~ ledger: (opening|creating): $n" "$n is named"
	done
}

@test "gate and ledger link no BLAS, no OpenMP and no device code" {
	requires ldd
	for p in ledger gate probe-batch; do
		[[ -x $PILOT_BIN/$p ]] || continue
		ldd "$PILOT_BIN/$p" >libs
		run ! grep -Ei 'blas|omp|cuda|gfortran' libs
		grep -q libc libs
	done
}
