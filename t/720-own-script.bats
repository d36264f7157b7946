# 720-own-script.bats - the pipelines that pilot(7) shows for a script of one's own, word for word, on a script
# that nobody prepared for them; and what a person sees then.

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export TMPDIR=$BATS_TEST_TMPDIR OMP_NUM_THREADS=1
	requires torch jq
	mkdir bin
	ln -s "$PYTHON" bin/python
	PATH=$BATS_TEST_TMPDIR/bin:$PATH
	cp "$PILOT_ROOT/t/scripts/gptlike.py" train.py
}

# shown PATTERN: the first literal display of pilot(7) behind ON YOUR OWN SCRIPT with this in it.
shown() {
	sed -n '/^\.Sh ON YOUR OWN SCRIPT/,$p' "$PILOT_ROOT/man/pilot.7" |
		awk -v p="$1" '/^\.Bd -literal/ { on = 1; text = ""; next }
			on && /^\.Ed/ { if (index(text, p)) { printf "%s", text; found = 1; exit } on = 0 }
			on { text = text $0 "\n" }
			END { exit !found }' | sed 's/\\e/\\/g; s/\\&//g; s/\\(aq/'\''/g; s/\\-/-/g'
}

# example PATTERN [SED]: runs what is shown, made smaller.
example() {
	shown "$1" | sed -E "${2:-}" >script
	[[ -s script ]] || { echo "pilot(7) shows nothing with: $1"; return 1; }
	timeout 240 sh script >printed 2>err
}

@test "pilot(7): some updates of one's own script, as a person sees them" {
	requires tty
	shown 'train-step -n 50' | sed 's/-n 50/-n 6/' >script
	NO_COLOR=1 run script -qec "sh script 2>err" /dev/null
	exits 0 "$(cat err)"
	is "$output" "~ command     python train.py --batch_size=32 --max_iters=100000" "the command"
	is "$output" "~ model       Model: [0-9,]+ parameters in [0-9]+ tensors" "the model"
	is "$output" "~ optimizer   AdamW: rate" "the optimizer"
	is "$(grep -cE '^ +[1-6]    32 x 2 +3\.' <<<"$output")" 6 "a line for each update"
	is "$output" "~ validation at update 5: " "a validation"
	is "$output" "~ saved at update 5: " "a save"
	is "$output" "~ forward, first " "a phase"
	is "$output" "~ done after 6 updates" "how it ended"
	is "$output" "~ resident at the peak" "its memory"
	is "$(cat err)" "~ iter 6: loss" "what the script printed goes to stderr"
	run ! grep -qE '[0-9a-f]{64}' <<<"$output"
}

@test "pilot(7): the largest batch of one's own script, judged and kept" {
	example 'probe-batch -- python' 's/^probe-batch/& --max 8 --seconds 0.2/' || { cat err; false; }
	run -0 ledger summary runs.ledger
	is "$output" "~ probe train.py Model AdamW  .* unproven resume .*found, [0-9]+ trials" "its row"
	run -0 ledger show -t --last runs.ledger
	is "$output" "~ recommended -b " "the conclusion"
	is "$output" "~ the next id|every one of [0-9]+ trainable tensors|resident" "verdicts"
	[ ! -e out/ckpt.pt ] # trials run in a copy of the folder
	# The copy is gone; said how it resumes, the gate makes another of the same folder.
	ledger show --msgpack runs.ledger | gate -j --allow-exec --resume-with 'python train.py --init_from=resume' >again.jsonl
	is "$(jq -r 'select(.kind == "verdict" and .phase == "resume") | .verdict' again.jsonl | tail -n 1)" ok "resume"
	is "$(jq -r 'select(.kind == "verdict" and .phase == "save") | .verdict + ": " + .evidence' again.jsonl | tail -n 1)" "~ ^ok: .* 1 saved by the replay of its settings is on disk with digest" "save"
}

@test "pilot(7): what does not come back is told, and what does" {
	example 'train-step -n 40' 's/-n 40/-n 8/' || { cat err; false; }
	is "$(ledger show -j runs.ledger | jq -r 'select(.kind == "verdict" and .phase == "resume") | .verdict')" ok "all comes back"
	# The same script, which forgets numpy's and python's random numbers: other batches.
	sed -i -E '/(np\.random\.set_state|random\.setstate)\(/d' train.py
	rm -rf out
	run example 'train-step -n 40' 's/-n 40/-n 8/'
	exits 1 "the gate is shut"
	is "$(ledger show -j --last runs.ledger | jq -r 'select(.kind == "verdict" and .phase == "resume") | .verdict + ": " + .reason')" "~ ^fail: data order: .*weights" "what did not come back"
	run -0 ledger summary runs.ledger
	is "$output" "~ train.py Model AdamW  8x2 .* fail resume" "its row"
}
