# train.bash - what the tests of train-step share.
# shellcheck shell=bash

# tensors FILE: name, type, shape and SHA-256 of each tensor, by a reader that pilot did not write.
tensors() { "$PYTHON" "$PILOT_ROOT/t/tensors.py" "$@"; }

# steps FILE.jsonl [FROM]: update, loss, rate, norm, batch digest and totals of each step, in full precision.
steps() {
	jq -c --argjson from "${2:-0}" 'select(.kind == "step" and .update > $from)
		| [.update, .epoch, .loss, .lr, .gradient_norm, .clipped, .rows, .supervised, .batch_digest, .examples, .tokens]' "$1"
}

# of FILE.jsonl KIND FIELD: the field of the last record of that kind.
of() { jq -rc --arg k "$2" --arg f "$3" 'select(.kind == $k) | .[$f]' "$1" | tail -1; }

# phase FILE.jsonl PHASE OCCURRENCE FIELD
phase() {
	jq -rc --arg p "$2" --arg o "$3" --arg f "$4" 'select(.kind == "phase" and .phase == $p and .occurrence == $o) | .[$f]' "$1" | head -1
}

update_file() { printf '%s/update-%09d.safetensors' "$1" "$2"; }
