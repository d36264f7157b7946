#!/usr/bin/env bats
# The faults that real training loops had, in copies of scripts that know nothing of pilot (t/scripts/faults.py):
# each fails at the phase that it belongs to, with a reason that says what is wrong.

load helpers
load stranger

setup() { stranger_setup; }

@test "every fault of the table has a test" {
	local f
	while read -r f; do
		grep -hq "shuts $f; }" "$PILOT_ROOT"/t/65?-stranger-*.bats || { echo "no test of $f"; return 1; }
	done < <("$PYTHON" "$SCRIPTS/faults.py" list)
}

@test "a fault that does not fit its script is told" {
	cp -r "$SCRIPTS" scripts
	sed -i 's/optimizer.zero_grad(set_to_none=True)/optimizer.zero_grad()/' scripts/gptlike.py
	run -1 "$PYTHON" scripts/faults.py put G-never-zeroed .
	is "$output" "~ G-never-zeroed: gptlike.py: 0 times in the script"
}

# ---- data and labels ----

@test "D3 labels shifted twice" { shuts D3-shifted-twice; }
@test "D3 labels not shifted" { shuts D3-not-shifted; }
@test "D4 padding counted in the loss" { shuts D4-padding-counted; }
@test "D6 the same order in every epoch" { shuts D6-same-order; }
@test "D6 a sampler that is not told the epoch" { shuts D6-sampler-without-epoch; }
@test "D7 workers share one random seed" { shuts D7-workers-share-a-seed; }
@test "D replicas see the same batch" { shuts D-replicas-same-batch; }

# ---- loss, accumulation, gradient ----

@test "G1 mean of means" { shuts G1-mean-of-means; }
@test "G2 the last window thrown away" { shuts G2-window-dropped; }
@test "G2 the last window never run" { shuts G2-window-never-run; }
@test "G3 the tail leaks into the next epoch" { shuts G3-tail-leaks; }
@test "G gradients never zeroed" { shuts G-never-zeroed; }
@test "G5 a NaN hidden in the log" { shuts G5-nan-hidden; }
@test "G7 the loss scale changed once a pass" { shuts G7-scale-per-micro-batch; }

# ---- update ----

@test "U1 frozen parameters moved by decay" { shuts U1-frozen-decayed; }
@test "U1 zeroed gradients, and weight decay" { shuts U1-zeroed-gradients-decayed; }
@test "U2 frozen, and trained again" { shuts U2-unfrozen; }
@test "U4 half the parameters in the optimizer" { shuts U4-half-the-parameters; }
@test "U4 a layer replaced after the optimizer was built" { shuts U4-replaced-afterwards; }
@test "U5 most updates skipped" { shuts U5-most-skipped; }
@test "U6 weights in bf16" { shuts U6-bf16-weights; }
@test "U7 the schedule ticks once a pass" { shuts U7-schedule-per-micro-batch; }
@test "U9 tied in name only" { shuts U9-not-tied; }

# ---- validation ----

@test "V1 evaluation mode never entered" { shuts V1-no-evaluation-mode; }
@test "V1 training mode never restored" { shuts V1-training-mode-not-back; }
@test "V2 statistics updated by validation data" { shuts V2-statistics-of-validation; }
@test "V3 the last batch dropped" { shuts V3-last-batch-dropped; }
@test "V5 mean of batch means" { shuts V5-mean-of-means; }

# ---- what extra passes show ----

@test "no causal mask" { shuts F-no-causal-mask; }
@test "rows mixed" { shuts F-rows-mixed; }
