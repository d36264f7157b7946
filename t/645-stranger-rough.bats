#!/usr/bin/env bats
# What may go wrong around a command: signals in the middle of a replay or a trial, full disks, closed streams, names,
# records that nobody would write, and output that is none. Nothing is left behind, and memory stays bounded.

# shellcheck disable=SC2154  # stderr comes from run
load helpers
load gate

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir tmp work
	export TMPDIR=$BATS_TEST_TMPDIR/tmp PYTHONDONTWRITEBYTECODE=1
	cp "$PILOT_ROOT/t/py/resumes.py" work/train.py
	cd work || return 1
}

# resume FILE: the verdict on it.
resume() { jq -r 'select(.kind == "verdict" and .phase == "resume") | "\(.verdict): \(.reason // .evidence)"' "$1"; }

# nothing_left: no folder of ours, and no process that works in one.
nothing_left() { eventually 10 _nothing_left || { ls -A "$TMPDIR"; return 1; }; }
_nothing_left() {
	local p
	[[ -z $(ls -A "$TMPDIR") ]] || return 1
	for p in /proc/[0-9]*/cwd; do
		[[ $(readlink "$p" 2>/dev/null) == "$TMPDIR/"* ]] && return 1
	done
	return 0
}

# A command that does not listen, with a child in a session of its own.
deaf() {
	cat >deaf.sh <<-'EOS'
		trap '' TERM INT HUP
		setsid sleep 300 &
		echo here >"$WITNESS"
		sleep 300
	EOS
	export WITNESS=$TMPDIR/witness
}

# struck SIGNAL COMMAND...: it is sent the signal once the deaf command is there; its exit status in $struck.
struck() {
	local sig=$1 pid
	shift
	"$@" >../out.jsonl 2>../err 3>&- &
	pid=$!
	eventually 60 test -s "$WITNESS"
	rm "$WITNESS"
	kill "-$sig" "$pid"
	struck=0
	wait "$pid" 2>/dev/null || struck=$?
	nothing_left
}

@test "gate is struck in the middle of a replay: it ends by the signal, and leaves no process and no folder" {
	train-step --msgpack -n 12 -- "$PYTHON" train.py --auto >../run.bin 2>../err
	deaf
	for s in TERM:143 INT:130 HUP:129 KILL:137; do
		struck "${s%:*}" gate -j ../run.bin -- sh deaf.sh
		is "$struck" "${s#*:}" "$s"
		[[ $s == KILL* ]] || is "$(resume ../out.jsonl)" "~ ^unproven: " "$s"
	done
}

@test "probe-batch is struck in the middle of a trial: the same" {
	deaf
	for s in TERM:143 INT:130 HUP:129 KILL:137; do
		struck "${s%:*}" probe-batch -j -- sh deaf.sh '{micro_batch}'
		is "$struck" "${s#*:}" "$s"
		[[ $s == KILL* ]] || is "$(jq -r 'select(.kind == "probe") | .status' ../out.jsonl)" stopped "$s"
	done
}

@test "a hangup that is ignored stays ignored" {
	# shellcheck disable=SC2016  # the inner shell's
	run -0 --separate-stderr bash -c 'trap "" HUP; exec train-step -j --no-adapter -- sh -c "kill -HUP \$PPID; sleep 0.2"'
	is "$(jq -r 'select(.kind == "end") | .status' <<<"$output")" 'done'
}

@test "full disks: of the copy, of what a replay saves, of the log, of the reader" {
	requires tmpfs
	train-step --msgpack -n 12 --resume-with "$PYTHON train.py --resume out/line.json" -- "$PYTHON" train.py >../run.bin 2>../err
	cat >../disks.sh <<-'EOS'
		mkdir ../small && mount -t tmpfs -o size=300k none ../small || exit 99
		export TMPDIR=$PWD/../small
		head -c 400000 /dev/zero >data.bin
		gate -j --allow-exec <../run.bin >../copy.jsonl 2>../copy.err; echo "copy $?"
		rm data.bin
		head -c 282000 /dev/zero >../small/fill
		gate -j --allow-exec <../run.bin >../save.jsonl 2>../save.err; echo "save $?"
		head -c 400000 /dev/zero >../small/fill 2>/dev/null
		probe-batch -j -- sh train.py '{micro_batch}' >../probe.jsonl 2>../probe.err; echo "probe $?"
		rm ../small/fill
		train-step -j --no-adapter --log ../small/log -- sh -c 'head -c 2000000 /dev/zero; exit 3' >../log.jsonl 2>../log.err; echo "log $?"
		rm ../small/log
		train-step -j --no-adapter -- sh -c 'while echo "{{\"kind\":\"step\",\"update\":1}}" >&$PILOT_RECORD_FD; do :; done' >../small/out 2>../out.err; echo "out $?"
		rm ../small/out
		gate -j --no-replay ../many.jsonl >../small/out 2>../gate.err; echo "gate $?"
		rm ../small/out
		ls -A ../small
	EOS
	# shellcheck disable=SC2016  # the inner shell's
	train-step -j --no-adapter -- sh -c 'seq -f "{{\"kind\":\"step\",\"update\":%.0f,\"rows\":1}}" 5000 >&$PILOT_RECORD_FD' >../many.jsonl 2>../err
	run -0 unshare -m bash ../disks.sh
	is "$output" $'copy 0\nsave 0\nprobe 74\nlog 74\nout 74\ngate 74' "exit, and nothing left"
	is "$(resume ../copy.jsonl)" "~ ^unproven: no replay: copy the working folder: .*No space left"
	is "$(resume ../save.jsonl)" "~ ^unproven: .*[Nn]o space left" "no fault of resuming"
	is "$(cat ../probe.err)" "~ ^probe-batch: copy the working folder: .*: No space left on device$"
	is "$(jq -r 'select(.kind == "end") | "\(.status) \(.exit_status)"' ../log.jsonl)" "error 3"
	is "$(cat ../log.err)" "~ passing on what the command prints: No space left"
	is "$(cat ../out.err)" "~ ^train-step: [^$]*writing records: standard output: No space left on device$" 
	is "$(cat ../gate.err)" "gate: writing records: standard output: No space left on device" "said once"
}

@test "closed streams" {
	run -74 --separate-stderr bash -c 'train-step -j --no-adapter -- true >&-'
	is "$stderr" "train-step: writing records: standard output: Bad file descriptor" "said once"
	run -74 --separate-stderr bash -c 'probe-batch -j -- true {micro_batch} >&-'
	is "$stderr" "probe-batch: writing records: standard output: Bad file descriptor"
	run -74 --separate-stderr bash -c 'gate -j >&- </dev/null'
	run -65 --separate-stderr bash -c 'gate -j <&-'
	is "$stderr" "~ gate: reading records: standard input: empty"
	run -0 bash -c 'train-step -j --no-adapter -- sh -c "cat; echo out; echo err >&2" <&- 2>&-'
	is "$(jq -r 'select(.kind == "end") | .status' <<<"$output")" 'done'
	nothing_left
}

# within MEGABYTES COMMAND...: it runs, and neither it nor a child of it was resident with more.
within() {
	"$PYTHON" -c 'import resource, subprocess, sys
status = subprocess.run(sys.argv[2:]).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
if peak > float(sys.argv[1]): sys.exit("%s: %.1f MB were resident" % (sys.argv[2], peak))
sys.exit(status)' "$@"
}

@test "a hundred thousand steps, and megabytes that are no lines, in bounded memory" {
	# shellcheck disable=SC2016  # the inner shell's
	within 40 timeout 120 train-step -j --no-adapter -- sh -c 'seq -f "{{\"kind\":\"step\",\"update\":%.0f,\"rows\":8,\"loss\":2.5}}" 100000 >&$PILOT_RECORD_FD' 2>../err |
		within 40 gate -j --no-replay >../out.jsonl
	is "$(jq -r 'select(.kind == "end") | "\(.status) \(.updates)"' ../out.jsonl)" "done 100000"
	is "$(jq -r 'select(.kind == "step") | .update' ../out.jsonl | wc -l)" 100000
	# shellcheck disable=SC2016
	within 40 timeout 120 train-step -j --no-adapter -- sh -c 'head -c 50000000 /dev/zero | tr "\0" x; head -c 50000000 /dev/zero >&$PILOT_RECORD_FD
		head -c 1000000 /dev/urandom; head -c 1000000 /dev/urandom >&$PILOT_RECORD_FD; printf "\n{{\"kind\":\"step\",\"update\":1}}\n" >&$PILOT_RECORD_FD; printf "\na\0b\n"' >../out.jsonl 2>../err
	is "$(jq -r 'select(.kind == "end") | "\(.status) \(.updates)"' ../out.jsonl)" "done 1"
	is "$(jq -r 'select(.kind == "note") | .text' ../out.jsonl | grep -c refused)" 5 "the first refused lines are told"
	is "$(wc -c <../err)" "~ ^5100[0-9]{4}$" "what it printed is passed on"
}

@test "a replay that floods ends at a bound" {
	train-step --msgpack -n 12 -- "$PYTHON" train.py --auto >../run.bin 2>../err
	# shellcheck disable=SC2016
	within 60 timeout 120 gate -j ../run.bin -- sh -c 'trap "" TERM; seq -f "{{\"kind\":\"step\",\"update\":1,\"rows\":8,\"seconds\":%.0f}}" 100000000 >&$PILOT_RECORD_FD' >../out.jsonl 2>../err
	is "$(resume ../out.jsonl)" "~ ^unproven: the replay did not get through: .*more than 4096 records"
	nothing_left
}

@test "names with spaces, newlines, braces and letters of other scripts" {
	local d=$'a b\n\xc3\xa9\xf0\x9f\x98\x80 {x}'
	mkdir "$d"
	mv train.py "$d/tr ain.py"
	cd "$d"
	train-step --msgpack -n 12 --resume-with "$PYTHON 'tr ain.py' --out 'o ut' --resume 'o ut/line.json'" -- "$PYTHON" 'tr ain.py' --out 'o ut' >"$BATS_TEST_TMPDIR/run.bin" 2>"$BATS_TEST_TMPDIR/err"
	gate -j --allow-exec "$BATS_TEST_TMPDIR/run.bin" >"$BATS_TEST_TMPDIR/out.jsonl"
	is "$(resume "$BATS_TEST_TMPDIR/out.jsonl")" "~ ^ok: resumed at update 8"
	nothing_left
}

@test "run records that nobody would write: an answer, and nothing of the user's is touched" {
	train-step -j -n 12 --resume-with "$PYTHON train.py --resume out/line.json" -- "$PYTHON" train.py >../run.jsonl 2>../err
	local before edit n=0
	before=$(sha256sum train.py out/line.json)
	while read -r edit; do
		jq -c "if .kind == \"run\" then $edit else . end" ../run.jsonl >../odd.jsonl
		status=0
		timeout 60 gate -j --allow-exec --deadline 10 ../odd.jsonl >../out.jsonl 2>../err || status=$?
		((status == 0 || status == 1)) || { echo "$edit: exit $status"; cat ../err; return 1; }
		is "$(resume ../out.jsonl | wc -l)" 1 "$edit: verdicts"
		is "$(resume ../out.jsonl)" "~ ^(unproven|fail): " "$edit"
		((++n))
	done <<'END'
.command = []
.command = [""]
.command = ["a\u0000b"]
.command = ["/"]
.command = ["--help"]
.command = ["{"]
.command = ["sh", "{nosuch}"]
.command = ["python3", "{secret}"]
.command = [range(100000) | "x"]
.command = ["\u001b[31m\u0007"]
.cwd = "work"
.cwd = ""
.cwd = "/no/such"
.cwd = "/proc/self"
.cwd = "/" + ("a" * 5000)
.cwd = "\n"
.env = ["=x", "NOEQ"]
.env = ["A={x}"]
.env = ["A=\u0000"]
.resume_with = "{resume}{nosuch}"
.resume_with = "kill -9 0"
.resume_with = "setsid sleep 100 & exit 0"
.step_regex = "("
.micro_batch = -1
.micro_batch = 4611686018427387904
.memory_bytes = 1
.seed = -5
END
	is "$n" 27
	is "$(sha256sum train.py out/line.json)" "$before" "the user's files"
	nothing_left
}
