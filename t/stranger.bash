# stranger.bash - what the tests with scripts that know nothing of pilot share.
# shellcheck shell=bash disable=SC2034,SC2154

SCRIPTS=$PILOT_ROOT/t/scripts
# The launcher of Debian's torch 1.13 fails under Python 3.11 unless output is sent through files.
TORCHRUN=("$PYTHON" -m torch.distributed.run --nproc_per_node=2 --standalone -r 1 -t 1 --log_dir log)

stranger_setup() {
	requires torch numpy
	cd "$BATS_TEST_TMPDIR" || return 1
	export TMPDIR=$BATS_TEST_TMPDIR OMP_NUM_THREADS=1
}

# verdicts FILE: phase, verdict and reason of each, one a line.
verdicts() { jq -r 'select(.kind == "verdict") | "\(.phase) \(.verdict)\(if .reason then ": " + .reason else "" end)"' "$1"; }

# watched SCRIPT OPTIONS... -- ARGUMENTS...: a copy of the script is run; records in run.jsonl.
watched() {
	local script=$1 options=() command=("$PYTHON" "$1")
	shift
	while [[ $1 != -- ]]; do options+=("$1"); shift; done
	shift
	[[ -e $script ]] || cp "$SCRIPTS/$script" .
	[[ $script == ddp.py ]] && command=("${TORCHRUN[@]}" "$script")
	timeout 120 train-step -j --log log.txt "${options[@]}" -- "${command[@]}" "$@" >run.jsonl 2>err
}

# judged OPTIONS...: the gate on run.jsonl; the stream in out.jsonl.
judged() { timeout 300 gate -j "$@" <run.jsonl >out.jsonl 2>>err; }

# shuts FAULT: a copy of the script with the fault in it is run, and its phase fails for that reason.
shuts() {
	local needs script phase words verdict args options gate s=0
	needs=$("$PYTHON" "$SCRIPTS/faults.py" put "$1" .) || return 1
	eval "$needs"
	watched "$script" "${options[@]}" -- "${args[@]}" || :
	judged "${gate[@]}" || s=$?
	if ! verdicts out.jsonl | grep -E "^($phase) $verdict: " | grep -E -- "$words"; then
		printf '%s: expected %s %s: ... %s\n' "$1" "$phase" "$verdict" "$words"
		verdicts out.jsonl
		cat err
		return 1
	fi
	[[ $verdict != fail ]] || is "$s" 1 "$1: the gate's exit status"
}

# open_but PHASE:WORDS...: no verdict fails; those that are named are unproven for a reason with these words, all others ok.
open_but() {
	local line phase verdict want bad=0
	while read -r line; do
		read -r phase verdict _ <<<"${line/:/ }"
		want=
		for w; do [[ $w == "$phase:"* ]] && want=${w#*:}; done
		if [[ -n $want ]]; then
			[[ $verdict == unproven && $line =~ $want ]] && continue
		else
			[[ $verdict == ok || $phase == export ]] && continue
		fi
		echo "expected of $phase: ${want:-ok}; got: $line"
		bad=1
	done < <(verdicts out.jsonl)
	((bad == 0)) && is "$(verdicts out.jsonl | wc -l)" 9 "number of verdicts" || { cat err; return 1; }
}

# numbers FILE: what a script prints, without times.
numbers() { sed -E 's/, time [0-9.]+ms//; /Warning|warn\(/d' "$1" | grep -E '[0-9]'; }
