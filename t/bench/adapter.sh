#!/usr/bin/env bash
# adapter.sh - what watching costs: one PyTorch script that times its own updates, alone and under train-step with
# its adapter (--evidence basic, and full), taken in turns; on a tiny update and on one of about 100 ms. Medians
# over the rounds of each run's median and mean (the mean has the deep looks at updates 1, 2, 3, 4, 8, ... in it) and of its
# processor time; what a run alone differs by from round to round, which on a shared machine is more than 1 %;
# and the highest resident memory. PILOT_PYTHON chooses the PyTorch.
set -eu
cd "${BASH_SOURCE[0]%/*}/../.."
build=${PILOT_BUILD:-build}
python=${PILOT_PYTHON:-/usr/bin/python3}
rounds=${PILOT_ROUNDS:-5}
export OMP_NUM_THREADS=${PILOT_THREADS:-1}
if ! "$python" -c 'import torch' 2>/dev/null; then
	echo "no PyTorch for $python: nothing to watch"
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# once HOW SIZE UPDATES: one run; its line of JSON is appended to HOW's file.
once() {
	local script=("$python" t/py/adapter_speed.py "$2" "$3" "$work/result")
	case $1 in
	alone) "${script[@]}" ;;
	*) "$build/bin/train-step" --evidence "$1" --log /dev/null --msgpack -- "${script[@]}" >"$work/records" ;;
	esac
	{ cat "$work/result" && echo; } >>"$work/$1.json"
}

# versus NAME SIZE UPDATES
versus() {
	rm -f "$work"/*.json
	for ((i = 0; i < rounds; i++)); do
		for how in alone basic full; do once $how "$2" "$3"; done
	done
	"$python" -c '
import json, sys
name, files = sys.argv[1], sys.argv[2:]
import os
os.chdir(files[0])
def rounds(how, key):
    return sorted(json.loads(l)[key] for l in open(f"{how}.json"))
def middle(how, key):
    x = rounds(how, key)
    return x[len(x) // 2]
x = rounds("alone", "median")
print(f"{name}: alone from {x[0]:.3f} to {x[-1]:.3f} ms in {len(x)} rounds: what is less than that is noise")
for how in ("basic", "full"):
    for key in ("median", "mean", "processor"):
        a, b = middle("alone", key), middle(how, key)
        print(f"{name}, evidence {how}: {key} {b:.3f} ms an update, alone {a:.3f}: {b - a:+.3f} ms, {100 * (b / a - 1):+.1f} %")
    m, n = middle(how, "resident") / 2**20, middle("alone", "resident") / 2**20
    print(f"{name}, evidence {how}: {m:.0f} MiB resident at the peak, alone {n:.0f}: {m - n:+.0f} MiB")
' "$1" "$work"
}

versus "smallest update (goal: under 1 ms)" tiny "${PILOT_UPDATES:-2000}"
versus "update of about 100 ms (goal: under 1 %)" wide "${PILOT_UPDATES:-60}"
