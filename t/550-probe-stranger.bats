#!/usr/bin/env bats
# probe-batch on programs that know nothing of it: a PyTorch script as people write it, and one that speaks the
# protocol. What it says fits is what train-step can run, and nothing of the user's is written to.

load helpers

setup() {
	out=$BATS_TEST_TMPDIR/out err=$BATS_TEST_TMPDIR/err work=$BATS_FILE_TMPDIR/work.$BATS_TEST_NUMBER
	export TMPDIR=$BATS_TEST_TMPDIR OMP_NUM_THREADS=1
	# How much address space a heap takes differs from run to run; with every large block by itself it does not,
	# and the edge can be held to the row.
	export MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=131072
	mkdir "$work"
	cd "$work" || return
}

of() { jq -r "select(.kind == \"$1\") | $2" "$out"; }

# probe ARGUMENT...: sets status, output (stderr), and the file out (JSON Lines).
probe() {
	status=0
	timeout 300 probe-batch -j --seconds 0.1s "$@" >"$out" 2>"$err" || status=$?
	output=$(cat "$err")
}

none_left() { eventually 10 _none_left; }
_none_left() {
	local p
	for p in /proc/[0-9]*/cwd; do
		[[ $(readlink "$p" 2>/dev/null) == *"$BATS_TEST_TMPDIR/pilot-probe."* ]] && return 1
	done
	return 0
}

# A small model whose activations are large: 3 MB a row.
torch_script() {
	cat >train.py <<'END'
import argparse
import torch
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--batch_size", type=int, default=8)
p.add_argument("--max_iters", type=int, default=100000)
p.add_argument("--val", type=int, default=0)
a = p.parse_args()
torch.manual_seed(1)


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(16, 64), nn.Linear(64, 10)
        self.scale = nn.Parameter(torch.ones(4096))

    def forward(self, x):
        h = torch.tanh(self.inner(x).unsqueeze(-1) * self.scale)
        return self.outer(h.mean(-1))


def batch(n):
    return torch.randn(n, 16), torch.randint(0, 10, (n,))


net = Wide()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for it in range(a.max_iters):
    x, y = batch(a.batch_size)
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it == 1:
        if a.val:
            net.eval()
            with torch.no_grad():
                x, y = batch(a.val * a.batch_size)
                print("validation", nn.functional.cross_entropy(net(x), y).item())
            net.train()
        torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(), "it": it}, "ckpt.pt")
END
}

# The address space that the script takes at one row.
base() { train-step -j -n 3 -- "$PYTHON" train.py --batch_size=1 2>/dev/null | jq 'select(.kind == "end") | .address_peak_bytes'; rm -f ckpt.pt; }

# ends SIZE ARGUMENT...: how a run of train-step alone ends at that size.
ends() {
	local size=$1
	shift
	train-step -j -n 4 -b "$size" --memory "$memory" -- "$@" 2>/dev/null | jq -r 'select(.kind == "end") | .status, .oom_phase // empty' | paste -sd' '
	rm -f ckpt.pt
}

@test "a PyTorch script, unmodified: the exact maximum, what runs out, and the confirmed run goes through gate into the ledger" {
	requires torch
	torch_script
	local memory largest
	memory=$(($(base) + 120000000))
	probe --memory "$memory" --headroom 2% -- "$PYTHON" train.py '--batch_size={micro_batch}'
	exits 0
	is "$(of probe '.status, .largest_exact' | paste -sd' ')" "found true" "conclusion"
	largest=$(of probe .largest)
	((largest >= 32)) # 120 MB at 3 MB a row
	is "$(of trial "select(.micro_batch == $largest and .part != \"speed\") | .verdict" | head -1)" fits "the largest ran"
	is "$(of trial "select(.micro_batch == $largest + 1) | .verdict" | head -1)" oom "and so did the next, which does not fit"
	is "$(ends "$largest" "$PYTHON" train.py '--batch_size={micro_batch}')" "done" "by train-step alone: $largest"
	is "$(ends $((largest + 1)) "$PYTHON" train.py '--batch_size={micro_batch}')" "~ ^oom (forward|backward)$" "by train-step alone: $((largest + 1))"
	is "$(of probe .oom_phase)" "~ ^(forward|backward)$" "phase"
	is "$(of probe .oom_input)" "~ $((largest + 1))x16" "input"
	(($(of probe .trials_after_failure) <= 8)) # halving a bracket of 64 takes 6
	is "$(of probe '(.knee != null) != (.knee_note != null)')" true "a knee, or why it is unknown"
	(($(of probe .recommended) <= largest))
	is "$(of probe '.unseen | join(" ")')" validate "the script has no validation"
	is "$(of run 'select(.role == "confirm") | .origin, .updates' | paste -sd' ')" "$work 20" "the confirmed run"
	is "$(of trial 'select(.examples_per_second != null) | select((.examples_per_second * .update_seconds / .micro_batch - 1 | fabs) > 1e-9) | .micro_batch')" "" "throughput is rows over seconds"
	is "$(ls)" train.py "the user's folder"
	none_left
	# The same stream to the ledger.
	status=0
	gate -j --no-replay "$out" >"$out.2" 2>"$err" || status=$?
	output=$(cat "$err")
	exits 0 "gate"
	is "$(jq -r 'select(.kind == "verdict" and (.phase | IN("forward", "backward", "update"))) | .verdict' "$out.2" | sort -u)" ok "verdicts on the confirmed run"
	run bash -c 'ledger append -e runs.ledger <"$1"' - "$out.2"
	exits 0 "ledger"
	run ledger summary runs.ledger
	is "$output" "~ train.py" "its row"
}

@test "memory that is short in validation only" {
	requires torch
	torch_script
	local memory
	memory=$(($(base) + 120000000))
	probe --memory "$memory" --headroom 2% -n 3 -- "$PYTHON" train.py '--batch_size={micro_batch}' --val 6
	exits 0
	is "$(of probe '.oom_phase, .largest_exact' | paste -sd' ')" "validate true" "phase"
	is "$(of probe .oom_input)" "~ $((6 * $(of probe .smallest_failed)))x16" "input: the validation's"
	is "$(of probe .unseen)" null "validation and save were seen"
	is "$(jq -r 'select(.kind == "run") | .updates' "$out" | sort -u)" 3 "-n is every run's"
}

@test "importing PyTorch alone is more than there is: nothing fits, and what it needs is named" {
	requires torch
	torch_script
	probe --memory 200M -- "$PYTHON" train.py '--batch_size={micro_batch}'
	exits 1
	is "$(of probe '.status, .largest' | paste -sd' ')" "nothing-fits null" "conclusion"
	is "$(of probe .why)" "~ size 1 does not fit.*: without a cap it takes [0-9.]+[MG].*, and there are 200.0M" "why"
	is "$(ls)" train.py "the user's folder"
}

# It speaks the protocol: 3 MB a row; a fault in its second argument, from 4 rows on.
plain_script() {
	cat >plain.py <<'END'
import json, os, sys, time
rows, fault = int(sys.argv[1]), (sys.argv[2:] + [""])[0]
fd, stop = int(os.environ["PILOT_RECORD_FD"]), int(os.environ.get("PILOT_UPDATES", "1000000"))


def say(**line):
    os.write(fd, (json.dumps(line) + "\n").encode())


if fault == "ignored":
    rows = 12
if fault == "hang" and rows >= 4:
    time.sleep(900)
if fault == "abort" and rows >= 4:
    print("Error: an assertion", file=sys.stderr, flush=True)
    os.abort()
if fault == "raise" and rows >= 4:
    raise ValueError("Error: this is no lack of memory")
for update in range(1, stop + 1):
    try:
        held = bytearray(3000000 * rows)
    except MemoryError as e:
        say(kind="failure", exception="MemoryError", message=str(e), phase="forward", update=update - 1, memory=True, rows=rows, shape=[rows, 5])
        sys.exit(1)
    time.sleep(0.002)
    say(kind="step", update=update, loss=2.5, **({} if fault == "silent" else {"rows": rows}))
    with open("progress", "a") as f:
        f.write("%d\n" % update)
END
}

@test "a program that speaks the protocol: exact too" {
	plain_script
	local memory=200M largest
	probe --memory $memory -- "$PYTHON" plain.py '{micro_batch}'
	exits 0
	largest=$(of probe .largest)
	is "$(of probe '.largest_exact, .oom_phase, .trials_after_failure' | paste -sd' ')" "true forward 0" "conclusion"
	is "$(of probe .oom_input)" "~ $((largest + 1))x5" "input"
	is "$(ends "$largest" "$PYTHON" plain.py '{micro_batch}')" "done" "by train-step alone: $largest"
	is "$(ends $((largest + 1)) "$PYTHON" plain.py '{micro_batch}')" "oom forward" "by train-step alone: $((largest + 1))"
	rm -f progress
	is "$(of trial 'select(.part == "speed") | .micro_batch' | wc -l)" "~ [1-9]" "sizes timed again"
	(($(of probe .trials) <= 24))
	is "$(ls)" plain.py "the user's folder"
}

@test "rows other than asked: both numbers; without rows: what is wanted" {
	plain_script
	probe --memory 200M -- "$PYTHON" plain.py '{micro_batch}' ignored
	exits 70
	is "$output" "~ error: the program trains on 12 rows where \{micro_batch\} was 1$" "message"
	is "$(of probe '.status, .largest' | paste -sd' ')" "error null" "no size is returned"
	probe --memory 200M -- "$PYTHON" plain.py '{micro_batch}' silent
	exits 70
	is "$output" "~ step lines need \`rows\`" "message"
}

@test "a crash is no lack of memory, a hang is ended: the search stops there and keeps what it found" {
	plain_script
	local fault
	for fault in raise abort; do
		probe --memory 200M -- "$PYTHON" plain.py '{micro_batch}' $fault
		exits 0 $fault
		is "$(of trial 'select(.micro_batch == 4) | .verdict' | sort -u)" crashed "$fault: verdict, with the cap and without"
		is "$(of probe '.largest, .largest_exact, .smallest_failed' | paste -sd' ')" "2 false null" "$fault: conclusion"
		is "$(of trial 'select(.micro_batch == 4) | .stderr | join(" ")' | head -1)" "~ Error: " "$fault: last lines"
		is "$output" "~ the search stopped at micro-batch 4: crashed" "$fault: warning"
	done
	probe --memory 200M --deadline 2 -- "$PYTHON" plain.py '{micro_batch}' hang
	exits 0
	is "$(of trial 'select(.micro_batch == 4) | .verdict' | sort -u)" timeout "hang: verdict"
	is "$(of probe '.largest, .largest_exact' | paste -sd' ')" "2 false" "hang: conclusion"
	none_left
	probe -- "$BATS_TEST_TMPDIR/absent" '{micro_batch}'
	exits 69 "no such command"
}

@test "SIGTERM in the middle of a trial leaves no process and no folder, and the stream is whole" {
	plain_script
	timeout 60 probe-batch -j --memory 200M -- sh -c "$PYTHON plain.py \$1 hang; true" sh '{micro_batch}' >"$out" 2>"$err" 3>&- &
	local job=$! pid
	eventually 20 grep -q '"kind":"trial".*"micro_batch":2,' "$out"
	eventually 20 grep -q '"kind":"run".*"micro_batch":4,' "$out"
	pid=$(pgrep -P $job)
	kill -TERM "$pid"
	status=0
	wait $job || status=$?
	is "$status" 143 "status"
	is "$(of probe '.status, .largest' | paste -sd' ')" "stopped 2" "conclusion"
	is "$(jq -r .kind "$out" | tail -1)" 'done' "last record"
	none_left
	run ! pgrep -f 'plain.py 4 hang'
	is "$(find "$BATS_TEST_TMPDIR" -name 'pilot-probe*')" "" "temporary folders"
}
