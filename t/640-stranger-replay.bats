#!/usr/bin/env bats
# A command is run again to prove that it resumes: what gate says of scripts that do, and of the same scripts
# with one line broken. t/py/resumes.py is plain Python and speaks the protocol; t/py/resumes_torch.py is
# PyTorch's, seen through the adapter.

load helpers
load gate

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir tmp work
	export TMPDIR=$BATS_TEST_TMPDIR/tmp OMP_NUM_THREADS=1
	cp "$PILOT_ROOT/t/py/resumes.py" work/train.py
	cd work || return 1
}

# Nothing is left behind by the gate, and nothing of the user's has changed since the run.
teardown() {
	is "$(ls -A "$BATS_TEST_TMPDIR/tmp")" "" "what the gate left behind"
	[[ ! -e $BATS_TEST_TMPDIR/before ]] || is "$(files)" "$(cat "$BATS_TEST_TMPDIR/before")" "the user's files"
}

files() { (cd "$BATS_TEST_TMPDIR/work" && find . -type f -not -path '*/__pycache__/*' -exec sha256sum {} + | sort -k 2); }

# broken SED...: the script with its lines changed, which must change.
broken() {
	cp train.py ../whole.py
	sed -i "$@" train.py
	if cmp -s train.py ../whole.py; then echo "nothing broken: $*"; return 1; fi
}

# runs TRAIN-STEP-WORDS...: a run, its stream kept in ../run.bin.
runs() {
	train-step --msgpack "$@" >../run.bin 2>../err || { cat ../err; return 1; }
	files >../before
}

# judged GATE-WORDS...: gate on it; its status in $judged, its verdict on resume in $resume.
judged() {
	judged=0
	gate -j "$@" <../run.bin >../out.jsonl 2>../gate.err || judged=$?
	resume=$(stream ../out.jsonl | jq -r 'select(.kind == "verdict" and .phase == "resume") | "\(.verdict): \(.reason // .evidence)"')
}

# tried: the script as the user runs it, and as the user says that it resumes.
tried() {
	runs -n 22 --resume-with "$PYTHON train.py --resume out/line.json" -- "$PYTHON" train.py
	judged --allow-exec
}

@test "a script that resumes: every piece is named, and what it rests on" {
	tried
	is "$judged" 0 "exit"
	is "$resume" "~ ^ok: resumed at update 16 in a new process \(--resume-with\): weights, optimizer, count, rate, loss scale, data order and python's random state came back; updates 17-32 bitwise equal to the run that went on; resumed once more at update 24; a start without the saved state differs at update 17 \(loss "
	is "$(verdicts ../out.jsonl | grep ^save)" "~ ^save (ok|unproven)"
}

@test "nothing of a stream is run unless it is allowed" {
	broken 's/^tell("trainer".*/&\nopen(os.path.join(os.environ["WITNESS"], str(os.getpid())), "w")/'
	mkdir ../witness
	export WITNESS=$BATS_TEST_TMPDIR/witness
	runs -n 12 -- "$PYTHON" train.py --auto
	is "$(find ../witness -type f | wc -l)" 1
	judged
	is "$judged $resume" "0 unproven: replaying a command was not allowed (--allow-exec)"
	judged --no-replay --allow-exec
	is "$resume" "unproven: no replay was asked for (--no-replay)"
	judged --require resume
	is "$judged $resume" "1 fail: required, and unproven: replaying a command was not allowed (--allow-exec)"
	is "$(find ../witness -type f | wc -l)" 1 "processes that ran the script"
}

@test "a script that resumes by itself, and one whose file is named by {resume}" {
	runs -n 12 -- "$PYTHON" train.py --auto
	judged --allow-exec
	is "$judged $resume" "~ ^0 ok: resumed at update 8 in a new process \(the same command\)"
	runs -n 12 -- "$PYTHON" train.py '--resume={resume}'
	judged --allow-exec
	is "$judged $resume" "~ ^0 ok: resumed at update 8 in a new process \(\{resume\}\)"
}

@test "a folder of the run's own: {save_dir}, below the working folder, elsewhere, and by its own name" {
	for d in ckpt "$BATS_TEST_TMPDIR/far"; do
		runs -n 12 -C "$d" --resume-with "$PYTHON train.py --out {save_dir} --resume {save_dir}/line.json" -- "$PYTHON" train.py --out '{save_dir}'
		before=$(sha256sum "$d/line.json")
		judged --allow-exec
		is "$judged $resume" "~ ^0 ok: resumed at update 8 in a new process \(--resume-with\)"
		is "$(sha256sum "$d/line.json")" "$before" "the user's save"
	done
	rm -r ckpt
	runs -n 12 -C ckpt --resume-with "$PYTHON train.py --out ckpt --resume ckpt/line.json" -- "$PYTHON" train.py --out '{save_dir}'
	judged --allow-exec
	is "$judged $resume" "~ ^0 ok: "
}

@test "{updates} stays what it was where an arm stops before it" {
	broken 's/^    return 0.02.*/    return 0.02 * (1 - count \/ a.steps)/'
	runs -n 20 -- "$PYTHON" train.py --auto --steps '{updates}'
	judged --allow-exec
	is "$judged $resume" "~ ^0 ok: resumed at update 16 .* updates 17-20 bitwise"
}

@test "absolute paths of the working folder are those of its copy; a program that finds its folder by itself" {
	runs -n 12 --resume-with "$PYTHON '$PWD/train.py' --out $PWD/out --resume '$PWD/out/line.json'" -- "$PYTHON" "$PWD/train.py" --out "$PWD/out"
	judged --allow-exec
	is "$judged $resume" "~ ^0 ok: resumed at update 8"
	broken 's/^path = .*/path = os.path.join(os.path.dirname(os.path.realpath(__file__)), "out", "line.json")/'
	rm -r out
	runs -n 12 -- "$PYTHON" train.py --auto
	judged --allow-exec
	is "$judged $resume" "~ ^0 ok: resumed at update 8"
}

@test "saves outside the working folder: no replay would be safe" {
	runs -n 12 -- "$PYTHON" train.py --auto --out "$BATS_TEST_TMPDIR/far"
	before=$(sha256sum ../far/line.json)
	judged --allow-exec
	is "$judged $resume" "~ ^0 unproven: no replay: its saves lie outside its working folder, where a replay would write over them: .*far/line.json .*\{save_dir\}"
	is "$(sha256sum ../far/line.json)" "$before"
}

@test "saves beside the working folder: by {save_dir} they go into the copy, by a name of their own nowhere" {
	mkdir ../ckpt
	runs -n 12 -C ../ckpt -- "$PYTHON" train.py --auto --out '{save_dir}'
	before=$(sha256sum ../ckpt/line.json)
	judged --allow-exec
	is "$judged $resume" "~ ^0 ok: resumed at update 8"
	is "$(sha256sum ../ckpt/line.json)" "$before" "the user's save"
	broken 's/os.path.abspath(path)/os.path.join(os.getcwd(), path)/'
	rm ../ckpt/line.json
	runs -n 12 -C ../ckpt -- "$PYTHON" train.py --auto --out ../ckpt
	before=$(sha256sum ../ckpt/line.json)
	judged --allow-exec
	is "$judged $resume" "~ ^0 unproven: no replay: its saves lie outside its working folder, .*: $BATS_TEST_TMPDIR/ckpt/line.json "
	is "$(sha256sum ../ckpt/line.json)" "$before" "the user's save"
}

# The path is in the script, so that no copy keeps it out: the kernel does.
@test "a path that leads out of the copy is refused, and what lies there is untouched" {
	broken "s|^path = .*|path = '$PWD/out/line.json'|"
	runs -n 12 -- "$PYTHON" train.py --auto
	judged --allow-exec
	[[ $resume != *"outside its copy"* ]] || skip "this kernel has no Landlock"
	is "$judged $resume" "~ ^0 unproven: the replay did not get through: the run that goes on: status error: .*(it may write only into its copy|Permission)"
}

@test "the gate's own command instead of the stream's" {
	runs -n 12 -- "$PYTHON" train.py
	judged --resume-with "$PYTHON train.py --resume out/line.json" -- "$PYTHON" train.py
	is "$judged $resume" "~ ^0 ok: resumed at update 8 in a new process \(--resume-with\)"
	judged -- "$PYTHON" train.py --auto
	is "$judged $resume" "~ ^0 ok: resumed at update 8 in a new process \(the same command\)"
	judged --allow-exec --resume-with "$PYTHON train.py --resume out/line.json"
	is "$judged $resume" "~ ^0 ok: "
}

@test "options for a command: files before it, nothing without one" {
	runs -n 12 -- "$PYTHON" train.py
	gate -j ../run.bin -- "$PYTHON" train.py --auto -- >../out.jsonl 2>../gate.err
	is "$(verdicts ../out.jsonl | grep ^resume)" "~ ^resume unproven: .*(unrecognized|ended with status error)" "the last -- is the command's"
	gate -j ../run.bin -- "$PYTHON" train.py --auto >../out.jsonl 2>../gate.err
	is "$(verdicts ../out.jsonl | grep ^resume)" "resume ok"
	is "$(stream ../out.jsonl | jq -c 'select(.kind == "tool" and .name == "gate") | .argv[1:3]')" '["-j","../run.bin"]'
	run -64 gate --resume-with true ../run.bin
	is "$output" "~ --resume-with: only with --allow-exec or -- COMMAND"
	run -64 gate --env A=b --allow-exec ../run.bin
	is "$output" "~ --env: only with -- COMMAND"
	run -64 gate --resume-with '' --allow-exec ../run.bin
}

@test "a command that begins again: unproven where it may be the wrong one, a failure where it is said to resume" {
	runs -n 12 -- "$PYTHON" train.py
	judged --allow-exec
	is "$judged $resume" "0 unproven: the same command, run again where it had saved: it began again from scratch: name the command that resumes with --resume-with"
	broken 's/^tell("trainer".*/&\ntell("load", path="pretrained", restored=["weights"], matched=2, missing=0)/'
	judged --allow-exec
	is "$judged $resume" "~ ^0 unproven: the same command, .* it began again from scratch" "weights to begin with are no resume"
	mv ../whole.py train.py
	judged --allow-exec --resume-with "$PYTHON train.py"
	is "$judged $resume" "1 fail: it began again from scratch"
	judged --allow-exec --resume-with "$PYTHON train.py --resume out/no-such.json"
	is "$judged $resume" "~ ^1 fail: resumed: status error: FileNotFoundError"
	judged --allow-exec --resume-with true
	is "$judged $resume" "1 fail: it made no update"
}

@test "R1: the epoch begins again" {
	broken 's/^    order, at = c\["order"\], c\["at"\]/    pass/; s/^    random.setstate.*/    pass/'
	tried
	is "$judged" 1
	is "$resume" "~ ^fail: data order: the batch of update 17 is the batch of update 11 \(6 of 8 repeated\); .*; weights, optimizer, count, rate and loss scale came back$"
}

@test "R1: another order" {
	broken 's/^    order, at = c\["order"\], c\["at"\]/    pass/; s/random.Random(/&7 * bool(a.resume) + /'
	tried
	is "$judged $resume" "~ ^1 fail: data order: the batch of update 17 is none of the first 32 of the run that went on"
}

@test "R2: the random state is lost, and what follows from it differs" {
	broken 's/^    random.setstate.*/    pass/'
	tried
	is "$judged $resume" "~ ^1 fail: random state: python's did not come back: update 17 has loss .*, the run that went on had .*; weights, optimizer, count, rate, loss scale and data order came back$"
}

@test "a random state that nothing depends on is not missed" {
	broken 's/^    random.setstate.*/    pass/; s/0.1 \* random.random()/0 * random.random()/'
	tried
	is "$judged $resume" "~ ^0 ok: .*; random state: python's did not come back, and no update compared depends on it$"
}

@test "R3: wrong only at the second resume" {
	broken 's/^    order, at = c\["order"\], c\["at"\]/    order, at = c["order"], c["at"] - (4 if count == 24 else 0)/'
	tried
	is "$judged $resume" "~ ^1 fail: resumed once more: count: the last update runs again: update 25 has the batch and the rate of update 24"
}

@test "R4: the last update runs again, and one is left out" {
	broken 's/^    order, at = c\["order"\], c\["at"\]/    order, at = c["order"], c["at"] - 4/'
	tried
	is "$judged $resume" "~ ^1 fail: count: the last update runs again: update 17 has the batch and the rate of update 16"
	cp ../whole.py train.py
	broken 's/^    order, at = c\["order"\], c\["at"\]/    order, at = c["order"], c["at"] + 4/'
	rm -r out
	tried
	is "$judged $resume" "~ ^1 fail: count: an update is left out: update 17 has the batch and the rate of update 18"
}

@test "R5: the rate" {
	broken 's/^    count = c\["count"\]/    count = 0/'
	tried
	is "$judged $resume" "~ ^1 fail: count: the optimizer has counted 0 updates where it had counted 16"
	cp ../whole.py train.py
	broken 's/count < 12/count < 12 or bool(a.resume)/'
	rm -r out
	tried
	is "$judged $resume" "~ ^1 fail: rate: 0.02 at update 17 where the run that went on had 0.01: the schedule did not come back; weights, optimizer, count, "
}

@test "R6: the optimizer is cold" {
	broken 's/^    v = c\["v"\]/    pass/'
	tried
	is "$judged $resume" "~ ^1 fail: optimizer: started empty; weights, count, rate, loss scale, data order and python's random state came back$"
}

@test "R8: the loss scale" {
	broken 's/^    scale = c\["scale"\]/    pass/'
	tried
	is "$judged $resume" "~ ^1 fail: loss scale: 1024 where it was 4096; weights, optimizer, count, rate, data order"
}

@test "R11: a load that loads nothing" {
	broken 's/^    w = c\["w"\]/    pass/; s/matched=2, missing=0/matched=0, missing=2/'
	tried
	is "$judged $resume" "~ ^1 fail: weights: those of a fresh start \(of what was read, 0 tensors are the model's: nothing was loaded\); optimizer, count"
}

@test "weights alone were saved" {
	broken 's/holds=\["weights", "optimizer", "count", "random"\]/holds=["weights"]/; s/^    v = c\["v"\]/    pass/'
	tried
	is "$judged $resume" "~ ^1 fail: not resumable: the save holds weights only; optimizer: started empty"
	runs -n 12 -- "$PYTHON" train.py --auto
	judged --allow-exec
	is "$judged $resume" "~ ^0 unproven: not resumable: the save holds weights only; optimizer: started empty"
}

@test "a command that does not repeat itself is judged by its state" {
	broken 's/^random.seed(3)/random.seed()/'
	tried
	is "$judged $resume" "~ ^0 unproven: the command does not repeat itself \(run twice from scratch, update 1 has loss [0-9.]+ and [0-9.]+\): losses after resuming cannot be compared; weights, optimizer, count, rate, loss scale, data order and python's random state came back$"
	rm -r out
	broken 's/random.Random(.*)).sample/random.sample/'
	tried
	is "$judged $resume" "~ ^0 unproven: the command does not repeat itself \(run twice from scratch, update 1 has different batches\): losses after resuming cannot be compared; weights, optimizer, count, rate, loss scale, data order and python's random state came back$"
	broken 's/^    v = c\["v"\]/    pass/'
	tried
	is "$judged $resume" "~ ^1 fail: optimizer: started empty"
}

@test "a command that says nothing of its state is judged by its updates" {
	broken 's/^a.quiet = False/a.quiet = True/'
	tried
	is "$judged $resume" "~ ^0 ok: resumed at update 16 .*: rate and data order came back; updates 17-32 bitwise"
	broken 's/^    v = c\["v"\]/    pass/'
	tried
	is "$judged $resume" "~ ^1 fail: losses: update 18 has loss .*: what else decides an update did not come back"
}

@test "a control that goes the same way proves nothing" {
	broken 's/== "cold"/== "lukewarm"/'
	tried
	is "$judged $resume" "0 unproven: a start without the saved state goes the same way: the replay proves nothing"
}

@test "the last save is the last update: nothing goes on from it" {
	runs -- "$PYTHON" train.py --auto --steps 12 --every 12
	judged --allow-exec
	is "$judged $resume" "~ ^0 unproven: no update follows the save of update 12"
}

@test "a deadline, a full disk and a signal end a replay, and leave nothing behind" {
	runs -n 12 -- "$PYTHON" train.py --auto
	judged --allow-exec --deadline 0.05
	is "$judged $resume" "~ ^0 unproven: the replay did not get through: the run that goes on: .*deadline"
	(ulimit -f 1 && exec gate -j --allow-exec <../run.bin) | cat >../out.jsonl
	is "$(verdicts ../out.jsonl | grep ^resume)" "~ ^resume unproven: no replay: copy the working folder: .*File too large"
	broken 's/^tell("trainer".*/&\nimport time; open(os.environ["WITNESS"], "w"); time.sleep(30)/'
	export WITNESS=$TMPDIR/witness
	gate -j --allow-exec <../run.bin >../out.jsonl 2>../gate.err &
	pid=$!
	eventually 60 test -e "$WITNESS"
	rm "$WITNESS"
	kill -TERM "$pid"
	s=0
	wait "$pid" || s=$?
	is "$s" 143
	is "$(verdicts ../out.jsonl | grep ^resume)" "~ ^resume unproven"
	mv ../whole.py train.py
}

@test "runs of the same command share a replay" {
	runs -n 12 -- "$PYTHON" train.py --auto
	cp ../run.bin ../first.bin
	rm -r out
	runs -n 12 -- "$PYTHON" train.py --auto
	cat ../first.bin >>../run.bin
	judged --allow-exec
	is "$(grep -c 'of the same settings' <<<"$resume")" 1
	is "$(grep -c '^ok' <<<"$resume")" 2
}

# PyTorch, through the adapter; faults in its scripts: 655-stranger-resume.bats.

@test "PyTorch: a script that resumes, with torch's, numpy's and python's random state" {
	requires torch numpy
	cp "$PILOT_ROOT/t/py/resumes_torch.py" train.py
	runs -n 16 --resume-with "$PYTHON train.py --resume" -- "$PYTHON" train.py
	judged --allow-exec
	is "$judged $resume" "~ ^0 ok: resumed at update 14 in a new process \(--resume-with\): weights, optimizer, count, rate, data order, torch's random state, numpy's random state and python's random state came back; updates 15-30 bitwise equal to the run that went on; resumed once more at update 21; a start without the saved state differs"
}
