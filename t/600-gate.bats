#!/usr/bin/env bats
# gate as a filter: what goes through, what is cut, what it exits with, and that nothing stays behind.

load helpers
load gate

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	train-step "${SMALL[@]}" -C ckpt --msgpack >run.bin 2>run.err
	export RUN=$BATS_FILE_TMPDIR/run.bin
}

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# through IN OUT: IN stands in OUT byte for byte, behind one record (the gate's own).
through() {
	"$PYTHON" - "$1" "$2" <<'PY'
import sys, msgpack
a, b = open(sys.argv[1], "rb").read(), open(sys.argv[2], "rb").read()
u = msgpack.Unpacker(raw=False, timestamp=1); u.feed(b); first = u.unpack()
assert first["kind"] == "tool" and first["name"] == "gate", first
at = u.tell()
assert b[at:at + len(a)] == a, "the bytes differ"
PY
}

@test "its own bracket first, then every byte that was read, then verdicts, then done" {
	requires msgpack
	gate --no-replay <"$RUN" >out.bin
	through "$RUN" out.bin
	is "$(records out.bin | jq -r .kind | uniq | tail -3 | tr '\n' ' ')" "done verdict done "
	is "$(records out.bin | jq -r 'select(.kind == "verdict") | .phase' | tr '\n' ' ')" "load data forward backward update validate save resume export "
	is "$(records out.bin | tail -1 | jq -c '[.status, .records]')" "[0,9]" "its done record"
	is "$(records out.bin | jq -r 'select(.kind == "verdict") | .tool' | uniq)" "$(records out.bin | head -1 | jq -r .id)" "verdicts name the bracket"
}

@test "unknown kinds, unknown fields and the order of fields pass byte for byte" {
	requires msgpack
	"$PYTHON" - >odd.bin <<'PY'
import sys, msgpack
p = lambda m: sys.stdout.buffer.write(msgpack.packb(m, use_bin_type=True))
t = msgpack.Timestamp(1, 5)
p({"kind": "tool", "t": t, "id": "01JEXAMPLE0000000000000009", "name": "x", "version": "1"})
p({"other": {"deep": [1, None, {"a": b"\x00\xff"}]}, "kind": "weather", "t": t, "x": 1 << 63})
sys.stdout.buffer.write(bytes.fromhex("df00000002a46b696e64d90565787472 61a17ad300000000000000 01".replace(" ", "")))
p({"t": t, "kind": "note", "text": "x", "colour": "blue"})
p({"kind": "done", "t": t, "id": "01JEXAMPLE0000000000000009", "status": 0})
PY
	run -65 bash -c 'gate --no-replay <odd.bin >out.bin'
	is "$output" "~ no run of role train or confirm" "there is nothing to judge"
	through odd.bin out.bin
}

@test "a record goes out before the next one is waited for" {
	mkfifo in
	gate -j --no-replay <in >out &
	exec 7>in
	printf '{"kind":"note","t":"2026-01-01T00:00:00Z","text":"hello"}\n' >&7
	eventually 10 grep hello out
	exec 7>&-
	s=0; wait $! || s=$?
	is "$s" 65 "exit status"
}

@test "JSON Lines in, msgpack and text out; files instead of standard input" {
	records "$RUN" >/dev/null
	gate -j --no-replay "$RUN" >a.jsonl
	gate --no-replay <a.jsonl >b.bin 2>err
	is "$(records b.bin | jq -r 'select(.kind == "verdict") | .verdict' | sort | uniq -c | tr -s ' ' | tr '\n' ';')" "~ 14 ok; 2 unproven" "gated twice"
	run -0 gate -t --no-replay "$RUN"
	is "$output" "~ resume .*unproven" "text"
	run -0 gate -j --no-replay "$RUN" - <"$RUN"
	run -66 gate --no-replay -j "$RUN" nothing.bin
	is "$output" "~ gate: open: nothing.bin: No such file" "a file that is not there"
	run -66 gate -t nothing.bin
	run ! grep -q 'no run of role' <<<"$output" # one reason, not two
}

@test "the upstream's status counts when it is 64 or more, the worst wins" {
	for s in 0:0 1:0 64:64 74:74 65:65; do
		records_of=$(gate -j --no-replay "$RUN" 2>err | jq -c --argjson s "${s%:*}" 'if .kind == "done" and (.records | . != 9) then .status = $s else . end')
		run -"${s#*:}" gate -j --no-replay <<<"$records_of"
	done
}

@test "--require: unproven fails where it is required" {
	run -0 bash -c 'gate --no-replay <"$RUN" >a.bin'
	run -1 bash -c 'gate --no-replay --require save,resume <"$RUN" >a.bin'
	is "$(verdicts a.bin | grep resume)" "resume fail: required, and unproven: no replay was asked for (--no-replay)"
	is "$(records a.bin | tail -1 | jq .status)" 1 "done"
	run -1 bash -c 'gate --no-replay --require export <"$RUN" >a.bin'
	run -64 gate --require resum
	is "$output" "~ --require: resum: no such phase"
}

@test "wrong usage is 64, and says so" {
	for o in "--replay never" "--replay-updates 0" "--replay-updates x" "--deadline 0" "--deadline" "--nonsense"; do
		# shellcheck disable=SC2086
		run -64 gate $o
		is "$output" "~ gate: "
	done
	run -0 gate --help
	is "$output" "~ usage: gate"
	run -0 gate --version
}

@test "the man page's synopsis is what --help says" {
	requires mandoc
	gate --help | sed -n '/^usage: /,/^$/p' | sed 's/^usage: //' | tr -s ' \n' ' ' >usage
	mandoc -T ascii -O width=400 "$PILOT_ROOT/man/gate.1" | plain | sed -n '/^SYNOPSIS/,/^DESCRIPTION/s/^     //p' | tr -s ' \n' ' ' >synopsis
	is "$(cat usage)" "$(cat synopsis)"
}

@test "a stream cut at any record: what came goes on, and it is 65" {
	requires msgpack
	"$PYTHON" - "$RUN" >offsets <<'PY'
import sys, msgpack
u = msgpack.Unpacker(open(sys.argv[1], "rb"), raw=False, timestamp=1)
for _ in u: print(u.tell())
PY
	n=$(wc -l <offsets)
	head -n $((n - 1)) offsets >inner
	while read -r at; do
		head -c "$at" "$RUN" >cut.bin
		run -65 bash -c 'gate --no-replay <cut.bin >out.bin 2>err'
		grep -q 'cut: .* open at the end' err || { cat err; return 1; }
		through cut.bin out.bin
		is "$(records out.bin | tail -1 | jq -r '.kind + " " + (.status | tostring)')" "done 65" "cut at $at"
	done <inner
}

@test "a stream cut inside a record, an empty one, gzip, garbage: 65, with the place and the reason" {
	head -c 1000 "$RUN" >cut.bin
	run -65 bash -c 'gate --no-replay <cut.bin 2>&1 >out.bin'
	is "$output" "~ standard input: record [0-9]+ at offset [0-9]+: cut inside"
	run -65 bash -c 'gate </dev/null 2>&1 >out.bin'
	is "$output" "~ standard input: empty"
	is "$(records out.bin | jq -r .kind | tr '\n' ' ')" "tool done " "an empty input still has the gate's bracket"
	gzip -c "$RUN" >run.gz
	run -65 bash -c 'gate run.gz 2>&1 >out.bin'
	is "$output" "~ run.gz: .*gzip"
	run -65 bash -c 'printf "hello\n" | gate 2>&1 >out.bin'
	is "$output" "~ record 1 at offset 0: byte 0x68"
	{ cat "$RUN"; printf '\001\002'; } >tail.bin
	run -65 bash -c 'gate --no-replay <tail.bin 2>&1 >out.bin'
	is "$(verdicts out.bin | grep -c ok)" 7 "the run before the garbage is judged"
}

@test "a run that is still open gets no verdict; trials get none" {
	gate -j --no-replay "$RUN" | jq -c 'select(.kind != "end" and .kind != "verdict")' >open.jsonl
	run -65 bash -c 'gate --no-replay <open.jsonl >out.bin'
	is "$(verdicts out.bin)" ""
	sed 's/"role":"train"/"role":"trial"/' <(gate -j --no-replay "$RUN") >trial.jsonl
	run -65 bash -c 'gate --no-replay <trial.jsonl 2>err >out.bin; s=$?; cat err; exit $s'
	is "$output" "~ no run of role train or confirm"
}

@test "a reader that goes away ends it by SIGPIPE, without a word" {
	requires msgpack
	for _ in $(seq 30); do cat "$RUN"; done >many.bin
	run -0 bash -c 'gate --no-replay <many.bin 2>err | head -c 100 >/dev/null; echo "${PIPESTATUS[0]}"'
	is "$output" 141
	is "$(cat err)" ""
}

@test "a full disk is 74" {
	run -74 bash -c 'gate --no-replay <"$RUN" >/dev/full'
	is "$output" "~ No space left"
}

# hanging: a gate beside a trainer that never says anything.
hanging() {
	mkdir -p bin tmp
	cp "$PILOT_BIN/gate" bin/gate
	printf '#!/bin/sh\nexec sleep 1000\n' >bin/train-step
	chmod +x bin/train-step
}

# children PID: its descendants are there.
trainer_of() { pgrep -P "$1" >/dev/null; }

@test "SIGTERM during a replay: verdicts, done, no process and no folder stay" {
	hanging
	TMPDIR=$PWD/tmp bin/gate <"$RUN" >out.bin 2>err &
	pid=$!
	eventually 20 trainer_of $pid
	child=$(pgrep -P $pid)
	kill -TERM $pid
	s=0; wait $pid || s=$?
	is "$s" 143 "exit status"
	ended "$child" 5
	is "$(ls -A tmp)" "" "the temporary folder"
	is "$(verdicts out.bin | grep '^resume')" "~ resume unproven: "
	is "$(records out.bin | tail -1 | jq -r '"\(.kind) \(.status)"')" "done 143"
}

@test "SIGKILL during a replay: the trainer dies with it" {
	hanging
	TMPDIR=$PWD/tmp bin/gate <"$RUN" >out.bin 2>err &
	pid=$!
	eventually 20 trainer_of $pid
	child=$(pgrep -P $pid)
	kill -KILL $pid
	s=0; wait $pid || s=$?
	is "$s" 137 "exit status"
	ended "$child" 5
}

@test "SIGINT while it reads: the input is read to its end, nothing is replayed" {
	hanging
	mkfifo in
	bash -c 'trap - INT; exec bin/gate <in >out.bin 2>err' &
	pid=$!
	exec 7>in
	head -c 2000 "$RUN" >&7
	eventually 10 test -s out.bin
	sleep 0.2
	kill -TERM $pid
	sleep 0.2
	tail -c +2001 "$RUN" >&7
	exec 7>&-
	s=0; wait $pid || s=$?
	is "$s" 143 "exit status"
	is "$(verdicts out.bin | grep '^resume')" "resume unproven: no replay: the gate was asked to stop"
	is "$(verdicts out.bin | grep -c ok)" 7
}

@test "a replay that takes too long leaves resume unproven" {
	hanging
	run -0 bash -c 'TMPDIR=$PWD/tmp bin/gate --deadline 1 <"$RUN" >out.bin'
	is "$(verdicts out.bin | grep '^resume')" "~ resume unproven: .*the deadline is over"
	is "$(ls -A tmp)" "" "the temporary folder"
}

@test "a trainer that is missing, or no trainer, leaves resume unproven" {
	hanging
	rm bin/train-step
	run -0 bash -c 'bin/gate <"$RUN" >out.bin'
	is "$(verdicts out.bin | grep '^resume')" "~ resume unproven: the replay did not get through"
	printf '#!/bin/sh\necho nonsense; echo "no way" >&2; exit 3\n' >bin/train-step
	chmod +x bin/train-step
	run -0 bash -c 'bin/gate <"$RUN" >out.bin'
	is "$(verdicts out.bin | grep '^resume')" "~ resume unproven: the replay did not get through"
}

@test "only the train-step beside it is ever started, whatever the stream says" {
	gate -j --no-replay "$RUN" | jq -c 'if .kind == "run" then .argv = ["/bin/sh", "-c", "touch pwned"] | .data = "sums:digits=2" | .cwd = "/nowhere" else . end | if .kind == "save" then .path = "$(touch pwned)" else . end' >evil.jsonl
	run -0 bash -c 'gate <evil.jsonl >out.bin'
	[[ ! -e pwned ]]
	is "$(verdicts out.bin | grep '^resume' | tail -1)" "resume ok" "the settings are replayed all the same"
}

# peak FILE: sets `kib`, the most that gate had in memory when all of the file had gone through.
peak() {
	rm -f in
	mkfifo in
	gate --no-replay <in >/dev/null 2>err &
	local pid=$!
	exec 7>in
	cat "$1" >&7
	kib=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")
	exec 7>&-
	wait $pid
}

@test "a million updates take no more memory than a thousand" {
	"$PILOT_BUILD/tools/steps" 1000 >few.bin
	"$PILOT_BUILD/tools/steps" 1000000 >many.bin
	peak few.bin
	few=$kib
	peak many.bin
	echo "few $few KiB, many $kib KiB"
	((kib > 500 && kib < 16384 && kib < few + 512))
}

@test "it links no device code" {
	requires ldd
	run -1 bash -c "ldd '$PILOT_BIN/gate' | grep -iE 'blas|gomp|cuda'"
}

@test "a run that diverges by --stop: the update that was not applied is no false log of the one before" {
	train-step -o sgd:lr=1e6 --stop 'loss>20' -n 20 --val-every 0 >d.bin 2>/dev/null || true
	is "$(records d.bin | jq -r 'select(.kind == "end") | .status')" diverged
	is "$(records d.bin | jq -c 'select(.kind == "step" and .skipped) | .update')" "$(records d.bin | jq -c 'select(.kind == "step" and (.skipped | not)) | .update' | tail -1)" "it carries that count"
	gate -j --no-replay d.bin >out 2>/dev/null || true
	is "$(jq -r 'select(.kind == "verdict" and .phase == "forward") | .reason' out)" "~ ^the run ended with status diverged: the loss of update 2 is [^;]*$" "that, and nothing about the log"
}
