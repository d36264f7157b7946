#!/usr/bin/env bats
# train-step -- COMMAND: a program of the user's as the trainer, by what it says, prints, and how it ends.

load helpers
load train

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	unset PYTHONPATH OMP_WAIT_POLICY
}

# A program in sh that says N updates of 8 rows; STOP=1 makes it honour PILOT_UPDATES.
script() {
	cat >train.sh <<-'EOS'
		n=0
		while [ $n -lt ${N:-5} ]; do
			n=$((n + 1))
			printf '{"kind":"step","update":%d,"rows":8,"loss":2.%d,"lr":0.001}\n' $n $n >&"$PILOT_RECORD_FD"
			if [ -n "$STOP" ] && [ "$n" = "$PILOT_UPDATES" ]; then break; fi
			sleep "${SLEEP:-0}"
		done
	EOS
}

# said LINE...: the stream of a program that says these lines. ERR is what went to stderr.
said() {
	printf '%s\n' "$@" >lines
	train-step -j --no-adapter -- sh -c 'while IFS= read -r l; do printf "%s\n" "$l" >&"$PILOT_RECORD_FD"; done <lines' >out.jsonl 2>err
}

# ended_as STATUS CAUSE CODE COMMAND...: how a command ends.
ended_as() {
	local want="$1 $2" code=$3
	shift 3
	run --separate-stderr train-step -j "$@"
	printf '%s\n' "$output" >out.jsonl
	exits "$code" "$*"
	is "$(of out.jsonl end status) $(of out.jsonl end cause)" "$want" "$*"
}

@test "a program in sh: its updates, what was run, and what it came to" {
	script
	run -0 --separate-stderr train-step -j -- sh train.sh
	printf '%s\n' "$output" >out.jsonl
	is "$(jq -r .kind out.jsonl | paste -sd ' ')" "tool run step step step step step end done"
	is "$(jq -c 'select(.kind == "step") | [.update, .rows, .loss, .lr, .examples]' out.jsonl | sed -n '1p;5p' | paste -sd ' ')" "[1,8,2.1,0.001,8] [5,8,2.5,0.001,40]"
	is "$(jq -c 'select(.kind == "step") | has("seconds")' out.jsonl | paste -sd ' ')" "false true true true true" "the first has nothing to count from"
	is "$(jq -c 'select(.kind == "run") | [.role, .trainer, .command, .program, .cwd, .micro_batch, .updates]' out.jsonl)" \
		"[\"train\",\"command\",[\"sh\",\"train.sh\"],[\"sh\",\"train.sh\"],\"$PWD\",null,null]"
	is "$(of out.jsonl run program_digests)" "[\"sha256:$(sha256sum train.sh | cut -d' ' -f1)\"]" "the script, not the shell"
	is "$(jq -c 'select(.kind == "end") | [.status, .cause, .exit_status, .updates, .examples, .loss, .skipped_updates, .tokens]' out.jsonl)" '["done","exit",0,5,40,2.5,0,null]'
	is "$(of out.jsonl done records)" 7
	is "$(jq -r 'select(.kind != "tool" and .kind != "done") | .run' out.jsonl | sort -u | wc -l)" 1
	is "$(of out.jsonl end processes)" "~ ^[1-9]"
	is "$(jq 'select(.kind == "end") | .resident_peak_bytes > 100000 and .cpu_seconds > 0' out.jsonl)" true
}

@test "the same in msgpack, read by a reader that is not ours, and as text" {
	requires msgpack
	script
	train-step -- sh train.sh >out
	is "$(records out | field kind | paste -sd ' ')" "tool run step step step step step end done"
	is "$(records out | field loss step | paste -sd ' ')" "2.1 2.2 2.3 2.4 2.5"
	is "$(train-step -t -- sh train.sh)" "~ command +sh train.sh"
}

@test "placeholders: in arguments and --env, with their values and defaults" {
	cat >show.sh <<-'EOS'
		for a; do printf '<%s>' "$a"; done
		echo " $X"
	EOS
	run -0 --separate-stderr train-step -j -b 16 -a 2 -n 7 -l 64 -s 3 -C out -r here --env 'X={micro_batch}/{{y}}' -- sh show.sh 'b={micro_batch}' '{accum}{updates}' '{length} {seed}' '{save_dir}' 'r={resume}' '{{}}' ''
	is "$stderr" "~ <b=16><27><64 3><$PWD/out><r=here><\{\}><> 16/\{y\}"
	is "$(jq -c 'select(.kind == "run") | [.micro_batch, .accum, .updates, .length, .seed, .effective_batch, .save, .resume]' <<<"$output")" "[16,2,7,64,3,32,\"$PWD/out\",\"here\"]"
	is "$(jq -c 'select(.kind == "run") | [.command[2], .program[2], .env]' <<<"$output")" '["b={micro_batch}","b=16",["X={micro_batch}/{{y}}"]]'
	[ -d out ]
	run -0 --separate-stderr train-step -j -- sh show.sh '{micro_batch}' '{accum}' '{seed}' '--resume={resume}' last
	is "$stderr" "~ <32><1><1><last>"
	is "$(jq -c 'select(.kind == "run") | [.micro_batch, .accum, .seed, .length]' <<<"$output")" '[32,1,1,null]'
	# As two words: the option goes with its value, and nothing else does.
	run -0 --separate-stderr train-step -j -- sh show.sh -v --resume '{resume}' --b=1 '{resume}' -- '{resume}' - '{resume}' -x 'r={resume}' last
	is "$stderr" "~ <-v><--b=1><--><-><-x><last>"
	is "$(jq -c 'select(.kind == "run") | .command[3:5]' <<<"$output")" '["--resume","{resume}"]' "as it was given"
	run -0 --separate-stderr train-step -j -r here -- sh show.sh -v --resume '{resume}' last
	is "$stderr" "~ <-v><--resume><here><last>"
}

@test "placeholders that are wrong are refused, naming the argument, and nothing runs" {
	for a in '{nosuch}' 'x={' '{micro_batch' '}' '{}' '{updates}' '{length}' '{save_dir}' '{micro batch}' '{{}'; do
		run -64 --separate-stderr train-step -j -- sh -c 'touch ran' "$a"
		is "$stderr" "~ argument 3 \(" "$a"
		is "$output" "" "$a"
	done
	run -64 --separate-stderr train-step -- sh -c 'touch ran' '{updates}'
	is "$stderr" "~ --updates is not given"
	run -64 --separate-stderr train-step --env 'X={y}' -- touch ran
	is "$stderr" "~ --env .*\{y\}: no such placeholder"
	run -64 --separate-stderr train-step --resume-with 'x {y}' -- touch ran
	is "$stderr" "~ --resume-with: \{y\}: no such placeholder"
	run -64 --separate-stderr train-step -r x -- touch ran
	is "$stderr" "~ --resume x: neither the command nor --resume-with has \{resume\}"
	[ ! -e ran ]
}

@test "options that the command has itself are refused by name, and those of a command without one" {
	for o in "-m gpt" "-d sums" "-o sgd" "--schedule constant" "--clip 1" "--dropout 0.1" "--last-window drop" "--examples 9" "--epochs 1" "-p fp32" \
		"--threads 1" "--val-every 1" "--val-length 1" "--val-micro-batch 1" "--val-examples 1" "--overfit 1" "--stop nonfinite" "--stop loss>3" "--stop update=1,loss>3" "--save-every 1" "--keep 1" "-w f"; do
		# shellcheck disable=SC2086
		run -64 train-step $o -- touch ran
		is "$output" "~ with a command: the command has its own" "$o"
	done
	run -64 train-step --show 3 -- touch ran
	run -64 train-step -n 0 -- touch ran
	run -64 train-step --
	for o in "--env A=b" "--resume-with x" "--step-regex x" "--evidence full" "--no-adapter" "--log f" "--deadline 3"; do
		# shellcheck disable=SC2086
		run -64 train-step $o
		is "$output" "~ are for a command" "$o"
	done
	run -64 train-step --env novalue -- touch ran
	run -64 train-step --evidence some -- touch ran
	run -64 train-step -n 3 - -- touch ran
	is "$output" "~ settings come with the requests"
	[ ! -e ran ]
}

@test "what the program finds: its environment, no input, its folder; what it prints is not in the stream" {
	cat >show.sh <<-'EOS'
		env | grep ^PILOT_ | sort | grep -vE 'RECORD|BIN|BUILD|ROOT|SHARED'
		cat; pwd
		echo "to stderr" >&2
		readlink /proc/self/fd/0
		echo "wait ${OMP_WAIT_POLICY:-unset} ${PYTHONPATH:-none}"
	EOS
	PILOT_CONTROL=cold PILOT_LENGTH=9 PYTHONPATH=/mine run -0 --separate-stderr train-step -j -n 3 --freeze 'a*' --evidence full -- sh show.sh </etc/passwd
	is "$stderr" "PILOT_ACCUM=1
PILOT_EVIDENCE=full
PILOT_FREEZE=a*
PILOT_MICRO_BATCH=32
PILOT_SEED=1
PILOT_UPDATES=3
$PWD
to stderr
/dev/null
wait unset $PILOT_BUILD/libexec/pilot/torch:/mine"
	is "$(jq -r .kind <<<"$output" | paste -sd ' ')" "tool run blind end done"
	is "$(jq -r 'select(.kind == "run") | .environment[]' <<<"$output")" "~ PILOT_UPDATES=3"
	PYTHONPATH=/mine run -0 --separate-stderr train-step -j --no-adapter -- sh show.sh
	is "$stderr" "~ wait unset /mine"
	is "$(jq -r 'select(.kind == "blind") | .phase + " " + .reason' <<<"$output")" "~ ^all no line came .*--no-adapter"
}

@test "-n: stopped after N updates, by itself or by SIGTERM; one that ends before says so" {
	script
	N=100 STOP=1 ended_as done updates 0 -n 3 -- sh train.sh
	is "$(jq -c 'select(.kind == "end") | [.updates, .why]' out.jsonl)" '[3,null]'
	is "$(jq -c 'select(.kind == "run") | [.updates, .budget, .planned_updates]' out.jsonl)" '[3,"updates",3]'
	N=100 SLEEP=0.2 ended_as done updates 0 -n 3 -- sh train.sh
	is "$(of out.jsonl end updates)" 4
	is "$(of out.jsonl end signal)" SIGTERM
	# {updates} may be what a schedule is made for, and the stop come before.
	N=100 STOP=1 ended_as done updates 0 -n 9 --stop update=3 -- sh train.sh {updates}
	is "$(jq -c 'select(.kind == "end") | .updates' out.jsonl) $(jq -c 'select(.kind == "run") | [.program[2], .updates, .stop]' out.jsonl)" '3 ["9",9,"update=3"]'
	N=2 ended_as done exit 0 -n 30 -- sh train.sh
	is "$(of out.jsonl end why)" "ended by itself after 2 updates"
	ended_as error exit 70 -n 1 -- sh -c 'echo "{{\"kind\":\"step\",\"update\":1}}" >&$PILOT_RECORD_FD; exit 3'
}

@test "how it ended: exit status, signal, exception, and the last lines" {
	ended_as error exit 70 -- sh -c 'seq 30; echo "no such thing" >&2; exit 3'
	is "$(jq -c 'select(.kind == "end") | [.exit_status, .why, (.stderr | length), .stderr[0], .stderr[19]]' out.jsonl)" '[3,"exit status 3: no such thing",20,"12","no such thing"]'
	ended_as killed signal 70 -- sh -c 'kill -SEGV $$'
	is "$(jq -c 'select(.kind == "end") | [.signal, .exit_status]' out.jsonl)" '["SIGSEGV",null]'
	ended_as killed signal 70 -- sh -c 'kill -KILL $$'
	ended_as error exception 70 -- python3 -c 'raise ValueError("no\nsuch")'
	is "$(jq -c 'select(.kind == "end") | [.exception, .why]' out.jsonl)" '["ValueError","ValueError: no"]'
	ended_as error exception 70 -- python3 -c 'import json; json.loads("[")'
	is "$(of out.jsonl end exception)" "json.decoder.JSONDecodeError"
	ended_as error exception 70 -- python3 -c 'x = ('
	is "$(of out.jsonl end exception)" SyntaxError
	ended_as error exit 70 -- python3 -c 'import sys; sys.exit(4)'
	# One that was caught and told is not what ended it.
	ended_as error exit 70 -- python3 -c '
import traceback, sys
try: 1/0
except Exception: traceback.print_exc()
print("on we go"); [print("line", i) for i in range(9)]; sys.exit(4)'
}

@test "a program that is not there, or no program: 69, with a run that says so" {
	run -69 --separate-stderr train-step -j -- ./nowhere
	is "$(jq -r 'select(.kind == "end") | .status + " " + .why' <<<"$output")" "error starting: ./nowhere: No such file or directory"
	echo text >notexec
	run -69 --separate-stderr train-step -j -- ./notexec
	is "$stderr" "~ Permission denied"
	run -69 train-step -- no-such-command-at-all
}

@test "out of memory is told from crashes, by what ended it" {
	ended_as oom host-memory 1 -- python3 -c 'raise MemoryError'
	ended_as oom host-memory 1 -- python3 -c 'raise RuntimeError("[enforce fail at alloc_cpu.cpp:66] . DefaultCPUAllocator: can'\''t allocate memory: you tried to allocate 8000 bytes. Error code 12 (Cannot allocate memory)")'
	is "$(of out.jsonl end asked_bytes)" 8000
	ended_as oom device-memory 1 -- python3 -c 'raise RuntimeError("CUDA out of memory. Tried to allocate 2.50 GiB (GPU 0; 39 GiB total)")'
	is "$(of out.jsonl end asked_bytes)" 2684354560
	ended_as oom host-memory 1 -- sh -c 'echo "terminate called after throwing an instance of '\''std::bad_alloc'\''"; echo "  what():  std::bad_alloc"; kill -ABRT $$'
	ended_as oom host-memory 1 -- python3 -c '
try: raise MemoryError("x")
except MemoryError as e: raise RuntimeError("the step failed") from e'
	# What only speaks of memory, or went on, or died of something else.
	ended_as done exit 0 -- sh -c 'echo "CUDA out of memory"'
	ended_as error exception 70 -- python3 -c 'print("hint: if you run out of memory, lower the batch size"); raise ValueError("bad shape")'
	ended_as error exception 70 -- python3 -c 'raise RuntimeError("can'\''t start new thread")'
	ended_as error exit 70 -- sh -c 'echo "an error occurred: memory map"; exit 1'
	# Its own line of it counts, with phase, size and input; but not if it came well out of it.
	line='{"kind":"failure","exception":"OutOfMemoryError","message":"no room","phase":"backward","memory":true,"device":"cuda:0","asked_bytes":77,"rows":8,"shape":[8,64]}'
	printf '%s\n' "$line" >line
	ended_as oom device-memory 1 -- sh -c 'cat line >&$PILOT_RECORD_FD; exit 1'
	is "$(jq -c 'select(.kind == "end") | [.oom_phase, .asked_bytes, .input, .exception, .why]' out.jsonl)" '["backward",77,"micro-batch 8, shape 8x64","OutOfMemoryError","backward: OutOfMemoryError: no room"]'
	ended_as done exit 0 -- sh -c 'cat line >&$PILOT_RECORD_FD'
}

@test "--memory on the CPU: the program's own allocator fails, and the record says how the cap was made" {
	cat >eat.c <<-'EOS'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <errno.h>
		int main(int argc, char **argv)
		{
			size_t n = (size_t)atoi(argv[1]) << 20;
			char *p = malloc(n);
			if (!p) { fprintf(stderr, "eat: %zu bytes: %s\n", n, strerror(errno)); return 1; }
			memset(p, 1, n);
			return 0;
		}
	EOS
	cc -O0 -o eat eat.c
	ended_as oom host-memory 1 --memory 64M -- ./eat 100
	is "$(jq -r 'select(.kind == "run") | .memory_cap' out.jsonl)" "~ address space of each process \(RLIMIT_AS\)"
	is "$(jq -c 'select(.kind == "end") | .budget_bytes' out.jsonl)" 67108864
	ended_as done exit 0 --memory 64M -- ./eat 20
	ended_as done exit 0 -- ./eat 100
	# Under a cap a thread that cannot be made is memory, too.
	ended_as oom host-memory 1 --memory 4G -- python3 -c 'raise RuntimeError("can'\''t start new thread")'
}

@test "a loss that is not finite: diverged, exit 1, also where the program did not notice" {
	printf '{"kind":"step","update":1,"loss":2.5}\n{"kind":"step","update":2,"loss":"NaN"}\n' >line
	ended_as diverged exit 1 -- sh -c 'cat line >&$PILOT_RECORD_FD'
	ended_as diverged exit 1 -- sh -c 'cat line >&$PILOT_RECORD_FD; exit 5'
	echo '{"kind":"step","update":3,"loss":2.5}' >>line
	ended_as done exit 0 -- sh -c 'cat line >&$PILOT_RECORD_FD'
}

@test "lines that lie: refused, counted, the first told, and harmless" {
	run -0 --separate-stderr train-step -j --no-adapter -- sh -c 'true'
	long=$(printf '{"kind":"note","text":"%04080d"}' 0)
	said '{"kind":"step","update":1,"rows":8,"loss":2.5}' \
		'not json' \
		'{"kind":"run","role":"train"}' \
		'{"kind":"end","status":"done"}' \
		'{"kind":"verdict","phase":"update","verdict":"ok"}' \
		'{"kind":"tool","id":"x","name":"gate","version":"1"}' \
		'{"kind":"nosuch"}' \
		'{"kind":"step"}' \
		'{"kind":"step","update":"2"}' \
		'{"kind":"step","update":2.5}' \
		'{"kind":"step","update":-3}' \
		'{"kind":"step","update":2,"rows":-1}' \
		'{"kind":"step","update":2,"run":"01M8Q7WAAGCQKW23ZMQG1CZE1J"}' \
		'{"kind":"step","update":2,"t":"2026-01-01T00:00:00Z"}' \
		'{"kind":"step","update":2,"update":3}' \
		'{"kind":"step","update":99999999999999999999}' \
		'{"kind":"step","update":2' \
		'[1]' '{}' '{ }' '{"update":1}' 'null' "$long" "${long}xxxxxxxxxxxxxx" \
		'' '   ' \
		'{"kind":"step","update":2,"rows":8,"loss":2.4,"something":{"of":["its","own"]}}'
	is "$(jq -c 'select(.kind == "step") | [.update, .loss, .something]' out.jsonl | paste -sd ' ')" '[1,2.5,null] [2,2.4,{"of":["its","own"]}]'
	is "$(of out.jsonl end lines_refused)" 23
	is "$(jq -r 'select(.kind == "note") | .author' out.jsonl | sort | uniq -c | tr -s ' ')" " 5 train-step"
	is "$(grep -c 'a line of the command was refused' err)" 5
	is "$(jq -r .kind out.jsonl | sort | uniq -c | tr -s ' ' | paste -sd ,)" " 1 done, 1 end, 5 note, 1 run, 2 step, 1 tool"
	is "$(jq -r 'select(.kind == "end") | .status' out.jsonl)" done
	gate <out.jsonl >/dev/null || [ $? -lt 64 ] || [ $? = 65 ]
	# The longest that is taken has 4096 bytes with its newline.
	fits=$(printf '{"kind":"note","text":"%04070d"}' 0)
	is "${#fits}" 4095
	said "$fits" "x$fits"
	is "$(jq -r 'select(.kind == "note" and .author == null) | .text | length' out.jsonl)" 4070
	is "$(of out.jsonl end lines_refused)" 1
}

@test "a line in pieces, one without its newline, and bytes that are no text" {
	run -0 --separate-stderr train-step -j --no-adapter -- sh -c 'printf "{{\"kind\":\"step\"," >&$PILOT_RECORD_FD; sleep 0.2; printf "\"update\":1}}\n\377\376\n\0\n" >&$PILOT_RECORD_FD; printf "{{\"kind\":\"step\",\"update\":2}}" >&$PILOT_RECORD_FD'
	is "$(jq -r 'select(.kind == "step") | .update' <<<"$output" | paste -sd ' ')" "1 2"
	is "$(jq -r 'select(.kind == "end") | .lines_refused' <<<"$output")" 2
}

@test "many writers at once: no line is torn" {
	cat >many.py <<-'EOS'
		import os
		for k in range(8):
		    if os.fork() == 0:
		        fd = os.open(os.environ["PILOT_RECORD_PATH"], os.O_WRONLY)
		        for i in range(300):
		            os.write(fd, (('{"kind":"note","text":"%d %d ' % (k, i)) + "x" * 1500 + '"}\n').encode())
		        os._exit(0)
		while True:
		    try: os.wait()
		    except ChildProcessError: break
	EOS
	train-step -j --no-adapter -- python3 many.py >out.jsonl
	is "$(jq -r 'select(.kind == "note") | .text[0:6]' out.jsonl | wc -l)" 2400
	is "$(of out.jsonl end lines_refused)" null
}

@test "PILOT_RECORD_PATH: a child of a child that lost every descriptor" {
	cat >deep.py <<-'EOS'
		import subprocess, sys
		subprocess.run([sys.executable, "-c", "import os; open(os.environ['PILOT_RECORD_PATH'], 'w').write('{\"kind\":\"step\",\"update\":1}\\n')"], close_fds=True, check=True, start_new_session=True)
	EOS
	train-step -j --no-adapter -- sh -c 'python3 deep.py' >out.jsonl
	is "$(of out.jsonl step update)" 1
}

@test "a save: digest and size are taken from the file, and what the line says of them must be true" {
	head -c 100000 /dev/urandom >ckpt
	d=sha256:$(sha256sum ckpt | cut -d' ' -f1)
	said "{\"kind\":\"save\",\"update\":1,\"path\":\"$PWD/ckpt\",\"holds\":[\"weights\"]}" \
		"{\"kind\":\"save\",\"update\":2,\"path\":\"$PWD/ckpt\",\"digest\":\"$d\",\"bytes\":100000}" \
		"{\"kind\":\"save\",\"update\":3,\"path\":\"$PWD/ckpt\",\"digest\":\"sha256:00\"}" \
		"{\"kind\":\"save\",\"update\":4,\"path\":\"$PWD/ckpt\",\"bytes\":99}" \
		"{\"kind\":\"save\",\"update\":5,\"path\":\"ckpt\"}" \
		"{\"kind\":\"save\",\"update\":6,\"path\":\"$PWD/nowhere\"}" \
		"{\"kind\":\"save\",\"update\":7,\"path\":\"$PWD\"}" \
		"{\"kind\":\"save\",\"update\":8}"
	is "$(jq -c 'select(.kind == "save") | [.update, .bytes, .digest]' out.jsonl)" "[1,100000,\"$d\"]
[2,100000,\"$d\"]"
	is "$(of out.jsonl end lines_refused)" 6
}

@test "evaluations: best and last, and which of two means was printed" {
	cat >val.sh <<-'EOS'
		say() { echo "$1" >&"$PILOT_RECORD_FD"; }
		say '{"kind":"step","update":1,"rows":2,"loss":3.125}'
		echo "step 1 val loss 2.4567"
		say '{"kind":"eval","split":"validation","update":1,"loss":2.45671,"batch_mean_loss":2.5,"accuracy":0.25}'
		say '{"kind":"step","update":2,"rows":2,"loss":3}'
		echo "val 2.300"
		say '{"kind":"eval","split":"validation","update":2,"loss":2.29,"batch_mean_loss":2.3001}'
		say '{"kind":"step","update":3,"rows":2,"loss":3}'
		echo "val 2"
		say '{"kind":"eval","split":"validation","update":3,"loss":2.31,"batch_mean_loss":2.3001}'
		say '{"kind":"eval","split":"test","update":3,"loss":2.5,"accuracy":0.5}'
	EOS
	train-step -j --no-adapter -- sh val.sh >out.jsonl 2>/dev/null
	is "$(jq -c 'select(.kind == "eval") | .printed' out.jsonl | paste -sd ' ')" '"loss" "batch_mean_loss" null null'
	is "$(jq -c 'select(.kind == "end") | [.validation_loss, .best_validation_loss, .best_update, .validations, .test_loss, .test_accuracy]' out.jsonl)" "[2.31,2.29,2,3,2.5,0.5]"
}

@test "peaks of the phases, and whose they are" {
	said '{"kind":"phase","phase":"forward","reserved_peak_bytes":100,"device_used_peak_bytes":70}' \
		'{"kind":"phase","phase":"backward","reserved_peak_bytes":300,"device_used_peak_bytes":60}' \
		'{"kind":"phase","phase":"save","reserved_peak_bytes":200,"rank":1}'
	is "$(jq -c 'select(.kind == "end") | [.allocated_peak_bytes, .reserved_peak_bytes, .device_used_peak_bytes, .peak_phase]' out.jsonl)" '[null,300,70,"backward"]'
	said '{"kind":"phase","phase":"update","allocated_peak_bytes":9,"reserved_peak_bytes":100}' \
		'{"kind":"phase","phase":"validate","allocated_peak_bytes":5,"reserved_peak_bytes":300}'
	is "$(jq -c 'select(.kind == "end") | [.allocated_peak_bytes, .reserved_peak_bytes, .peak_phase]' out.jsonl)" '[9,300,"update"]'
}

@test "--step-regex: updates from what is printed, by names of a step's fields" {
	printf 'echo "iter 1: loss 2.50, lr 1e-3 rows 4"; echo "iter 2: loss 1,234.5, lr 1e-3 rows 4"; printf "iter 3: loss nan, lr 0 rows 4\\riter 4: loss 2, lr 0 rows 4"\n' >print.sh
	train-step -j --no-adapter --step-regex 'iter (?<update>\d+): loss (?<loss>[0-9.,a-z]+), lr (?<lr>[-0-9.e]+) rows (?P<rows>[0-9]+)' -- sh print.sh >out.jsonl 2>/dev/null
	is "$(jq -c 'select(.kind == "step") | [.update, .loss, .lr, .rows, .examples]' out.jsonl | paste -sd ' ')" '[1,2.5,0.001,4,4] [2,1234.5,0.001,4,8] [3,"NaN",0,4,12] [4,2,0,4,16]'
	is "$(jq -r 'select(.kind == "blind") | .reason' out.jsonl)" "~ only what --step-regex read"
	is "$(jq -c 'select(.kind == "end") | [.status, .updates, .examples]' out.jsonl)" '["done",4,16]'
	# Without an update they are counted; groups without a name and brackets are left alone.
	train-step -j --no-adapter --step-regex '(it|iter) [0-9](:)[( ]+loss (?<loss>[0-9.]+)' -- sh print.sh >out.jsonl 2>/dev/null
	is "$(jq -c 'select(.kind == "step") | [.update, .loss]' out.jsonl | paste -sd ' ')" '[1,2.5] [2,1] [3,2]'
	# Nobody is counted twice.
	train-step -j --no-adapter --step-regex 'loss (?<loss>[0-9.]+)' -- sh -c 'echo "{{\"kind\":\"step\",\"update\":1}}" >&$PILOT_RECORD_FD; sleep 0.3; echo "loss 3"' >out.jsonl 2>/dev/null
	is "$(jq -c 'select(.kind == "step") | [.update, .loss]' out.jsonl)" '[1,null]'
	for x in 'loss (?<nosuch>.)' 'loss (?<status>.)' 'no group' '(loss' '(?:loss)(?<loss>.)' '(?<loss' 'a{2' '(?<digest>.)'; do
		run -64 train-step --step-regex "$x" -- touch ran
		is "$output" "~ --step-regex" "$x"
	done
	run -64 train-step --step-regex "$(printf '(a)%.0s' {1..500})(?<loss>.)" -- touch ran
	is "$output" "~ --step-regex: more than 16 groups"
	[ ! -e ran ]
}

@test "--step-regex with -n: it is stopped when it prints the update after the last one" {
	run -0 --separate-stderr train-step -j --no-adapter -n 3 --step-regex 'update (?<update>[0-9]+)' -- sh -c 'i=0; while :; do i=$((i+1)); echo "update $i"; sleep 0.1; done'
	is "$(jq -r 'select(.kind == "end") | .status + " " + .cause' <<<"$output")" "done updates"
	is "$(jq -r 'select(.kind == "end") | .updates' <<<"$output")" 4
}

@test "secrets stay out of every record" {
	cat >quiet.sh <<-'EOS'
		test "$HF_TOKEN" = s3cr3t-1 && test "$1" = --api-key=s3cr3t-4 && echo same
	EOS
	HF_TOKEN=s3cr3t-1 WANDB_API_KEY=s3cr3t-2 PGPASSWORD=s3cr3t-3 DATABASE=postgres://me:s3cr3t-7@host/db MYSECRETTHING=s3cr3t-8 TOKENIZERS_PARALLELISM=false PLAIN=visible \
		run -0 --separate-stderr train-step -j --no-adapter --env MY_AUTH=s3cr3t-5 --env OTHER=shown --resume-with 'X_TOKEN=s3cr3t-9 python --password=s3cr3t-10 --n {updates}' -n 3 -- \
		sh quiet.sh --api-key=s3cr3t-4 https://user:s3cr3t-6@host/x --pad_token=pad --url=ftp://u:s3cr3t-11@h --hub_token as3cr3t12qwertyuiopa --tokens=12 --text_key=words
	is "$stderr" same "the program has them"
	is "$(grep -c s3cr3t <<<"$output")" 0
	is "$output" "~ PLAIN=visible"
	is "$output" "~ TOKENIZERS_PARALLELISM=false"
	is "$(jq -c 'select(.kind == "run") | .environment | map(select(. == "HF_TOKEN" or . == "MYSECRETTHING" or . == "DATABASE"))' <<<"$output")" '["DATABASE","HF_TOKEN","MYSECRETTHING"]'
	is "$(jq -c 'select(.kind == "run") | [.env, .command, .resume_with]' <<<"$output")" \
		'[["MY_AUTH","OTHER=shown"],["sh","quiet.sh","--api-key={secret}","{secret}","--pad_token=pad","--url={secret}","--hub_token","{secret}","--tokens=12","--text_key=words"],"X_TOKEN={secret} python --password={secret} --n {updates}"]'
	# A command line that was read from a record cannot run without them by mistake.
	run -64 train-step -- sh quiet.sh '--api-key={secret}'
	is "$output" "~ a secret was left out of the record"
}

@test "an environment of any size makes a record" {
	cat >big.py <<-'EOS'
		import os, subprocess, sys
		for i in range(1500):
		    os.environ["BIG%d" % i] = "x" * 1200
		sys.exit(subprocess.run(["train-step", "-j", "--no-adapter", "--", "true"]).returncode)
	EOS
	python3 big.py >out.jsonl
	is "$(jq -r 'select(.kind == "run") | .environment | length' out.jsonl)" "~ ^[1-9]"
	is "$(of out.jsonl end status)" done
}

@test "a reader that goes away: the program is asked to end, once" {
	script
	cat >trap.sh <<-'EOS'
		trap 'echo asked >>asked; exit 0' TERM
		i=0
		while :; do i=$((i + 1)); echo "{\"kind\":\"step\",\"update\":$i}" >&"$PILOT_RECORD_FD"; sleep 0.05; done
	EOS
	run bash -c 'set -o pipefail; train-step -j -- sh trap.sh | head -n 4 >/dev/null'
	is "$status" 141
	is "$(cat asked)" asked
}

@test "SIGTERM and SIGINT are passed on once, and the run ends as stopped, with what the program still said" {
	for s in TERM INT; do
		cat >trap.sh <<-EOS
			trap 'echo got >>got; echo "{\"kind\":\"step\",\"update\":9}" >&\$PILOT_RECORD_FD; exit 0' $s
			echo "{\"kind\":\"step\",\"update\":1}" >&\$PILOT_RECORD_FD
			touch ready
			while :; do sleep 0.05; done
		EOS
		rm -f ready got
		"$PYTHON" -c 'import signal, os, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])' train-step -j -- sh trap.sh >out.jsonl 2>/dev/null &
		pid=$!
		eventually 10 test -e ready
		kill -$s $pid
		wait $pid && false
		is "$(jq -c 'select(.kind == "end") | [.status, .cause, .updates]' out.jsonl)" '["stopped","asked",9]'
		is "$(of out.jsonl done status)" $((128 + $(kill -l $s)))
		is "$(cat got)" got
	done
}

@test "kill -9 of train-step leaves no process, wherever they went" {
	cat >family.sh <<-'EOS'
		sleep 300 & echo $! >>pids
		setsid sleep 301 & echo $! >>pids
		python3 -c 'import subprocess; print(subprocess.Popen(["sleep", "302"], start_new_session=True).pid)' >>pids
		( ( sleep 303 & echo $! >>pids ) & )
		echo $$ >>pids
		sleep 0.2
		touch ready
		wait
	EOS
	train-step -j -- sh family.sh >/dev/null 2>&1 &
	pid=$!
	eventually 10 test -e ready
	kill -9 $pid
	wait $pid 2>/dev/null || true
	is "$(sort -u pids | wc -l)" 5
	while read -r p; do ended "$p" 10; done <pids
}

@test "what a program leaves behind is ended with it" {
	cat >leave.sh <<-'EOS'
		sleep 300 & echo $! >>pids
		setsid sleep 301 & echo $! >>pids
		sleep 0.2
	EOS
	run -0 train-step -j -- sh leave.sh
	while read -r p; do ended "$p" 5; done <pids
}

@test "--log: the output goes there, behind what was there; a full disk is an error and no harm" {
	echo before >log
	run -0 --separate-stderr train-step -j --log log -- sh -c 'echo out; echo err >&2'
	is "$stderr" ""
	is "$(cat log)" "before
out
err"
	run -74 --separate-stderr train-step -j --log /dev/full -- sh -c 'echo out; echo "{{\"kind\":\"step\",\"update\":1}}" >&$PILOT_RECORD_FD'
	is "$stderr" "~ passing on what the command prints: No space left on device"
	is "$(jq -r .kind <<<"$output" | paste -sd ' ')" "tool run step end done"
	is "$(jq -r 'select(.kind == "end") | .status' <<<"$output")" done
	run -74 train-step --log /nowhere/log -- touch ran
	[ ! -e ran ]
}

@test "a full disk downstream ends the program and the run" {
	script
	run -74 bash -c 'N=100000 train-step -j -- sh train.sh >/dev/full'
}

@test "--deadline: silence is a hang, but work that shows is none" {
	run -75 --separate-stderr train-step -j --deadline 1 -- sh -c 'echo hello; sleep 60'
	is "$(jq -r 'select(.kind == "end") | [.status, .cause, .why] | join(" ")' <<<"$output")" "error deadline no line, no output and no file written for 1 s, after update 0"
	run -0 train-step -j --deadline 1 -- sh -c 'for i in 1 2 3 4 5 6; do sleep 0.4; echo $i; done'
	run -0 train-step -j --deadline 1 -- sh -c 'for i in 1 2 3 4 5 6; do sleep 0.4; echo $i >>grows; done'
	run -0 train-step -j --deadline 1 -- sh -c 'for i in 1 2 3 4 5 6; do sleep 0.4; echo "{{\"kind\":\"note\",\"text\":\"x\"}}" >&$PILOT_RECORD_FD; done'
	run -64 train-step --deadline soon -- true
	# A framework that cannot make its threads under a cap says so, and waits for ever.
	ended_as oom host-memory 1 --memory 4G --deadline 1 -- sh -c 'echo "libgomp: Thread creation failed: Resource temporarily unavailable"; sleep 60'
}

@test "files that it wrote" {
	run -0 --separate-stderr train-step -j -C out -- sh -c 'echo 12345 >a; echo 1 >$PILOT_SAVE_DIR/b; cat a >/dev/null'
	is "$(jq -c 'select(.kind == "end") | [.files_written, .bytes_written, .files]' <<<"$output")" '[2,8,["a","out/b"]]'
}

@test "the fingerprint: the same for other micro-batches and lengths of run, another for another program, cap or setting" {
	script
	print() { train-step -j "$@" 2>/dev/null | jq -r 'select(.kind == "run") | .fingerprint'; }
	a=$(print -b 8 -n 3 -- sh train.sh x={micro_batch})
	is "$a" "~ ^sha256:[0-9a-f]{64}$"
	is "$(print -b 16 -n 4 -s 7 -- sh train.sh x={micro_batch})" "$a"
	[ "$(print -b 8 -n 3 -l 9 -- sh train.sh x={length})" != "$(print -b 8 -n 3 -l 8 -- sh train.sh x={length})" ]
	[ "$(print -b 8 -n 3 --memory 1G -- sh train.sh x={micro_batch})" != "$a" ]
	[ "$(print -b 8 -n 3 --env A=2 -- sh train.sh x={micro_batch})" != "$a" ]
	echo '# changed' >>train.sh
	[ "$(print -b 8 -n 3 -- sh train.sh x={micro_batch})" != "$a" ]
}

@test "the revision is that of the folder it runs in" {
	requires git
	mkdir repo && cd repo && git init -q . && echo a >f && git add f && git -c user.name=a -c user.email=a@b commit -qm x && echo b >f
	run -0 --separate-stderr train-step -j -- true
	is "$(jq -c 'select(.kind == "run") | [.revision, .dirty]' <<<"$output")" "[\"$(git rev-parse HEAD)\",true]"
}

@test "without its adapter the program runs all the same, and that is told" {
	mkdir -p alone/bin
	cp "$PILOT_BIN/train-step" alone/bin
	run -0 --separate-stderr alone/bin/train-step -j -- true
	is "$stderr" "~ the adapter for PyTorch is not there"
	is "$(jq -r 'select(.kind == "note") | .text' <<<"$output")" "~ adapter for PyTorch is not there"
	is "$(jq -r 'select(.kind == "blind") | .reason' <<<"$output")" "~ not installed"
	run -0 --separate-stderr alone/bin/train-step -j --no-adapter -- true
	is "$stderr" ""
}

# request ID KEY:VALUE,...: one as JSON Lines.
request() { printf '{"kind":"request","t":"2026-11-30T00:00:00Z","id":"%s"%s}\n' "$1" "${2:+,$2}"; }

@test "requests: each is answered by a run and its end, with what it asks for" {
	mkdir other
	cat >show.sh <<-'EOS'
		echo "{\"kind\":\"note\",\"text\":\"$(pwd) $* c=$PILOT_CONTROL e=$PILOT_EVIDENCE n=$PILOT_UPDATES\"}" >&"$PILOT_RECORD_FD"
	EOS
	{
		request a '"micro_batch":4,"updates":2,"role":"trial","parent":"P"'
		request b "\"cwd\":\"$PWD/other\",\"control\":\"cold\",\"evidence\":\"full\",\"role\":\"replay\",\"repeats\":\"R\""
		request c '"resumes":true,"micro_batch":9,"resume":"it'\''s"'
		request d '"model":"gpt"'
		request e '"cwd":"/nowhere"'
		request f '"control":"warm"'
		request g '"evidence":"some"'
		request h '"colour":"red"'
		request i '"micro_batch":5'
	} >in
	run -64 --separate-stderr bash -c "train-step -j --no-adapter --resume-with 'sh $PWD/show.sh again {micro_batch} {resume}' - -- sh $PWD/show.sh b={micro_batch} r={resume} <in >out.jsonl"
	is "$(jq -r 'select(.kind == "run") | .request' out.jsonl | paste -sd ' ')" "a b c d e f g h i"
	is "$(jq -r 'select(.kind == "end") | .status' out.jsonl | paste -sd ' ')" "done done done error error error error error done"
	is "$(jq -r 'select(.kind == "run") | .trainer' out.jsonl | sort -u)" command
	is "$(jq -r 'select(.kind == "note") | .text' out.jsonl)" "$PWD b=4 c= e=basic n=2
$PWD/other b=32 c=cold e=full n=
$PWD again 9 it's c= e=basic n=
$PWD b=5 c= e=basic n="
	is "$(jq -c 'select(.kind == "run" and .request == "b") | [.role, .repeats, .cwd, .evidence]' out.jsonl)" "[\"replay\",\"R\",\"$PWD/other\",\"full\"]"
	is "$(jq -c 'select(.kind == "run" and .request == "c") | [.program[0], .program[2]]' out.jsonl)" "[\"/bin/sh\",\"sh $PWD/show.sh again '9' 'it'\\\\''s'\"]"
	is "$(jq -r 'select(.kind == "end") | .why // "-"' out.jsonl | sed -n '4p;8p')" "~ --model with a command.*
.*unknown setting"
}

@test "the builtin trainer is named as such, and refuses what is for a command" {
	run -0 --separate-stderr train-step -j -n 2
	is "$(jq -r 'select(.kind == "run") | .trainer' <<<"$output")" builtin
	for f in '"cwd":"/"' '"resumes":true' '"control":"cold"' '"evidence":"full"'; do
		request a "$f" >in
		run -64 --separate-stderr train-step -j - <in
		is "$(jq -r 'select(.kind == "end") | .why' <<<"$output")" "~ are for a command"
	done
}

@test "PyTorch through the adapter: stopped after N updates, in the middle of a long run" {
	requires torch
	cat >train.py <<-'EOS'
		import sys, torch
		torch.manual_seed(0)
		m = torch.nn.Linear(8, 3)
		o = torch.optim.SGD(m.parameters(), lr=0.1)
		for i in range(100000):
		    x, y = torch.randn(int(sys.argv[1]), 8), torch.randint(0, 3, (int(sys.argv[1]),))
		    o.zero_grad()
		    torch.nn.functional.cross_entropy(m(x), y).backward()
		    o.step()
	EOS
	export OMP_NUM_THREADS=1
	train-step -j -n 5 -b 12 -- "$PYTHON" train.py {micro_batch} >out.jsonl
	is "$(jq -c 'select(.kind == "step") | [.update, .rows, .lr]' out.jsonl | paste -sd ' ')" "[1,12,0.1] [2,12,0.1] [3,12,0.1] [4,12,0.1] [5,12,0.1]"
	is "$(jq -c 'select(.kind == "end") | [.status, .cause, .updates, .examples, .lines_refused]' out.jsonl)" '["done","updates",5,60,null]'
	is "$(jq -r 'select(.kind == "trainer") | .name' out.jsonl)" torch
	is "$(jq -r 'select(.kind == "blind") | .phase' out.jsonl)" ""
}

@test "the man pages: the examples of pilot-trainer(7), as the page shows them" {
	page=$PILOT_ROOT/man/pilot-trainer.7
	# display WORDS: the first literal display behind the line with these words.
	display() {
		awk -v p="$1" 'index($0, p) { near = 1 } near && /^\.Bd -literal/ { on = 1; next } on && /^\.Ed/ { exit } on' "$page" |
			sed 's/\\e/\\/g; s/\\&//g; s/\\-/-/g'
	}
	display 'example.sh' >example.sh
	display 'example.c' >example.c
	display 'example.py' >example.py
	grep -q PILOT_UPDATES example.sh && grep -q PILOT_UPDATES example.c && grep -q PILOT_UPDATES example.py
	cc -Wall -Wextra -Werror -o example example.c
	for e in "sh example.sh" ./example "python3 example.py"; do
		# shellcheck disable=SC2086
		$e >/dev/null 2>&1 || [ "$e" = "sh example.sh" ] # without train-step too, but for the shell's redirection
		# shellcheck disable=SC2086
		train-step -j --no-adapter -n 20 -- $e >out.jsonl 2>err
		is "$(cat err)" "" "$e"
		is "$(jq -c 'select(.kind == "end") | [.status, .cause, .updates, .examples, .lines_refused]' out.jsonl)" '["done","updates",20,160,null]' "$e"
	done
	is "$(of out.jsonl save digest)" "sha256:$(sha256sum checkpoint.json | cut -d' ' -f1)"
	is "$(of out.jsonl end validation_loss)" 0.25
	# What the page says of kinds is what is taken.
	for k in step eval save load state phase failure trainer model optimizer loader replica check blind prediction example note; do
		grep -E '^\.It Li ' "$page" | grep -qw "$k" || { echo "$k is not on the page"; return 1; }
	done
}

@test "a signal goes to the process that says it trains, and to no other; one that lies about it moves nobody else" {
	cat >wrap.sh <<-'EOS'
		sh -c 'trap "echo helper >>hit; exit 1" TERM; touch ready1; while :; do sleep 0.05; done' &
		sh trainer.sh
		echo "wrapper goes on" >>hit
	EOS
	cat >trainer.sh <<-'EOS'
		trap 'echo trainer >>hit; echo "{\"kind\":\"step\",\"update\":7}" >&"$PILOT_RECORD_FD"; exit 0' TERM
		echo "{\"kind\":\"trainer\",\"name\":\"mine\",\"process\":$$}" >&"$PILOT_RECORD_FD"
		touch ready2
		while :; do sleep 0.05; done
	EOS
	train-step -j --no-adapter -- sh wrap.sh >out.jsonl 2>/dev/null &
	pid=$!
	eventually 10 test -e ready1 -a -e ready2
	eventually 10 grep -q '"kind":"trainer"' out.jsonl
	kill $pid
	wait $pid || is $? 143
	is "$(cat hit)" "trainer
wrapper goes on"
	is "$(jq -c 'select(.kind == "end") | [.status, .exit_status, .updates]' out.jsonl)" '["stopped",0,7]'
	# A stranger's process is not touched, and the group gets the signal as before.
	sleep 300 &
	other=$!
	cat >liar.sh <<-EOS
		trap 'echo group >>hit2; exit 0' TERM
		echo "{\"kind\":\"trainer\",\"name\":\"mine\",\"process\":$other}" >&"\$PILOT_RECORD_FD"
		while :; do sleep 0.05; done
	EOS
	train-step -j --no-adapter -- sh liar.sh >out.jsonl 2>/dev/null &
	pid=$!
	eventually 10 grep -q '"kind":"trainer"' out.jsonl
	kill $pid
	wait $pid || is $? 143
	is "$(cat hit2)" group
	kill -0 $other
	kill $other
}
