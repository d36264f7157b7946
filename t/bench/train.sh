#!/usr/bin/env bash
# train.sh - training on the CPU beside PyTorch's: updates per second (forward, backward, AdamW) and
# peak memory, taken in turns in one run; also by the second of processor time, which a busy machine leaves as it is. Idle threads sleep on both sides, since those that spin are slow on a
# machine that others use too (OMP_WAIT_POLICY=active says otherwise).
set -eu
cd "${BASH_SOURCE[0]%/*}/../.."
build=${PILOT_BUILD:-build}
python=${PILOT_PYTHON:-/usr/bin/python3}
threads=${PILOT_THREADS:-$(nproc)}
export OMP_NUM_THREADS=$threads OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}

make -s BUILD="$build" "$build/numbers"
if ! "$python" -c 'import torch' 2>/dev/null; then
	echo "no PyTorch for $python: nothing to compare with"
	exit 0
fi

# versus NAME PER-UPDATE UNIT OURS... -- THEIRS...: three rounds each, in turns; the median of the medians.
versus() {
	local name=$1 amount=$2 unit=$3 ours=() theirs=()
	shift 3
	while [[ $1 != -- ]]; do ours+=("$1") && shift; done
	shift
	theirs=("$@")
	for _ in 1 2 3; do
		"$build/numbers" speed "${ours[@]}" "$threads"
		"$python" t/py/speed_torch.py "${theirs[@]}" "$threads"
	done | "$python" -c '
import json, sys
name, amount, unit = sys.argv[1], float(sys.argv[2]), sys.argv[3]
laps = [json.loads(l) for l in sys.stdin]
ours, theirs = (sorted(laps[i::2], key=lambda x: x["seconds"])[1] for i in (0, 1))
a, b = amount / ours["seconds"], amount / theirs["seconds"]
print(f"{name}: pilot {a:.0f} {unit}/s, PyTorch {b:.0f} {unit}/s, ratio {a / b:.2f}")
p, q = (amount / min(x["processor"] for x in laps[i::2]) for i in (0, 1))
print(f"{name}: a second of processor time is worth pilot {p:.0f} {unit}, PyTorch {q:.0f}, ratio {p / q:.2f}")
m, n = ours["resident"] / 2**20, theirs["resident"] / 2**20
print(f"{name}: pilot peaks at {m:.0f} MiB resident, PyTorch at {n:.0f} MiB, ratio {m / n:.2f}")
' "$name" "$amount" "$unit"
}

versus "gpt 6 x 384, 8 x 256 bytes" 2048 tokens gpt:layers=6,width=384,heads=6 8 256 256 "${PILOT_UPDATES:-4}" -- gpt 6 384 6 8 256 256 "${PILOT_UPDATES:-4}"
versus "gpt 4 x 128, 16 x 64 bytes" 1024 tokens gpt:layers=4,width=128,heads=4 16 64 256 "${PILOT_UPDATES:-40}" -- gpt 4 128 4 16 64 256 "${PILOT_UPDATES:-40}"
versus "mlp 784-256-10, 64 images" 64 images mlp:hidden=256 64 784 -10 "${PILOT_UPDATES:-300}" -- mlp 256 64 784 10 "${PILOT_UPDATES:-300}"
