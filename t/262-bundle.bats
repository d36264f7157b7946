#!/usr/bin/env bats
# 262-bundle.bats - ledger bundle: a run as one archive, read by tar, python's tarfile and sha256sum.

load helpers
load ledger

setup() {
	ledger_setup
	TINY=(-m gpt:layers=1,width=16,heads=2 -d sums -n 6)
}

trained() {
	train-step "${TINY[@]}" --save-every 3 -C "${1:-ck}" | ledger append "${2:-l}"
	RUN=$(ledger summary -j "${2:-l}" | jq -r .id | tail -1)
}

@test "bundle: what tar and python's tarfile find in it, and sha256sum says of it" {
	stream --steps 30 >a
	ledger append l <a
	trained
	ledger bundle --checkpoint -o o.tar "$RUN" l
	run -0 tar tf o.tar
	is "$(sed "s|^$RUN/||" <<<"$output" | xargs)" "run.txt rerun.sh records.jsonl records.msgpack checkpoint/update-000000006.safetensors MANIFEST" "members"
	run -0 "$PYTHON" -c 'import sys, tarfile
for m in tarfile.open(sys.argv[1], "r:"): assert m.isreg() and (m.uid, m.gid, m.mode) == (0, 0, 0o644) and m.mtime > 1.6e9, m' o.tar
	tar xf o.tar
	cd "$RUN"
	run -0 sha256sum --strict -c MANIFEST
	is "$(wc -l <<<"$output")" 5 "members in the manifest"
	run -0 head -1 MANIFEST
	is "$output" "~ ^# run $RUN, by ledger bundle of pilot [0-9]" "the tool's version"
	cmp checkpoint/*.safetensors ../ck/update-000000006.safetensors
	run -0 cat run.txt
	is "$output" "~ (^|"$'\n'")optimizer: adamw:lr=1e-3"$'\n' "configuration"
	is "$output" "~ "$'\n'"data_digests: sha256:[0-9a-f]{64}"$'\n' "digests"
	is "$output" "~ "$'\n'"checkpoint: update 6, sha256:$(sha256sum <checkpoint/update-000000006.safetensors | cut -c1-64), /" "checkpoint"
	is "$(tail -1 rerun.sh)" "$(ledger rerun "$RUN" ../l 2>/dev/null)" "rerun.sh"
}

@test "bundle: records of this run alone, whole in both forms, and a ledger takes them" {
	stream --steps 250 >a
	ledger append l <a
	trained
	ledger bundle -o o.tar "${RUN:0:20}" l
	tar xf o.tar
	ledger show -j -r "$RUN" l >want
	cmp want "$RUN/records.jsonl"
	cmp want <(ledger show -j "$RUN/records.msgpack")
	ledger append new <"$RUN/records.msgpack"
	cmp <(ledger summary -j -r "$RUN" l) <(ledger summary -j new)
	# steps in a ledger's step members, too
	other=$(ledger summary -j l | jq -r .id | head -1)
	ledger bundle -o p.tar "$other" l
	tar xf p.tar
	is "$(field update step <"$other/records.jsonl" | wc -l)" 250 "steps"
}

@test "bundle: its request, the comparison that planned it, and that one's notes" {
	ledger plan "${TINY[@]:0:4}" -n 4 --control lr=1e-3 --vary lr=2e-3 --seeds 1,2 --name rates >p
	ledger append l <p
	train-step - <p | ledger append l
	ledger note l rates "both will do"
	RUN=$(ledger show -j l | jq -r 'select(.kind == "run") | .run' | head -1)
	ledger note l "$RUN" "this one"
	ledger bundle -o o.tar "$RUN" l
	tar xf o.tar
	is "$(field name comparison <"$RUN/records.jsonl")" rates "comparison"
	is "$(field id request <"$RUN/records.jsonl")" "$(field request run <"$RUN/records.jsonl")" "its request, and no other"
	is "$(field text note <"$RUN/records.jsonl" | xargs -d '\n')" "both will do this one" "notes"
}

@test "bundle: the same input gives the same bytes, from a pipe, too" {
	trained
	ledger bundle --checkpoint -o a.tar "$RUN" l
	ledger bundle --checkpoint -o b.tar "$RUN" <l
	ledger show --msgpack l | ledger bundle --checkpoint -o c.tar "$RUN"
	cmp a.tar b.tar
	cmp a.tar c.tar
}

@test "bundle: names that ustar has no room for" {
	long=$(printf 'é%.0s' {1..60})$(printf 'x%.0s' {1..80})
	trained
	cp ck/update-000000006.safetensors "$long"
	ledger show -j l | jq -c --arg p "$PWD/$long" 'if .kind == "save" then .path = $p else . end' >j
	ledger bundle --checkpoint -o o.tar "$RUN" j
	run -0 "$PYTHON" -c 'import sys, tarfile
t = tarfile.open(sys.argv[1]); m = [m for m in t if "/checkpoint/" in m.name][0]
assert m.name.endswith("/checkpoint/" + sys.argv[2]), m.name
assert t.extractfile(m).read() == open(sys.argv[2], "rb").read()' o.tar "$long"
	tar xf o.tar
	cd "$RUN"
	sha256sum --strict -c MANIFEST
}

@test "bundle: a checkpoint that is missing, changed, or was never saved is refused, and nothing is written" {
	trained
	ck=ck/update-000000006.safetensors
	flip $ck 2000
	run -65 ledger bundle --checkpoint -o o.tar "$RUN" l
	is "$output" "~ its digest is sha256:[0-9a-f]{64}, not sha256:" "changed"
	rm $ck
	run -66 ledger bundle --checkpoint -o o.tar "$RUN" l
	is "$output" "~ bundle: the checkpoint /.*$ck: No such file" "missing"
	mkdir $ck
	run -65 ledger bundle --checkpoint -o o.tar "$RUN" l
	is "$output" "~ is no file" "a folder"
	ledger bundle -o without.tar "$RUN" l
	train-step "${TINY[@]}" >r
	run -1 ledger bundle --checkpoint -o o.tar "$(ledger summary -j r | jq -r .id)" r
	is "$output" "~ it saved no checkpoint" "none"
	run ls -A
	is "$(xargs <<<"$output")" "ck l r without.tar" "what is there"
}

@test "bundle: never over a file, and not half" {
	requires root tmpfs
	trained
	echo mine >o.tar
	run -64 ledger bundle -o o.tar "$RUN" l
	is "$output" "~ o.tar: is there already" "message"
	is "$(cat o.tar)" mine "the file"
	run -74 unshare -m sh -c 'mkdir m && mount -t tmpfs -o size=32k none m && ledger bundle -o m/o.tar '"$RUN"' l; s=$?; ls -A m; exit $s'
	is "$output" "~ No space left on device" "a full disk"
	[[ $output != *o.tar.* && $(tail -1 <<<"$output") == ledger:* ]]
}

@test "bundle: damaged records are told, the good ones bundled" {
	stream --steps 300 --eval-every 0 >a
	ledger append l <a
	flip l $(($(stat -c %s l) / 2))
	RUN=$(ledger summary -j l | jq -r .id)
	run -65 ledger bundle -o o.tar "$RUN" l
	is "$output" "~ $RUN: some of its records are damaged, and not in it" "told"
	tar xf o.tar
	is "$(field update step <"$RUN/records.jsonl" | wc -l)" 200 "the good members of steps"
}

@test "bundle: an imported run has no rerun.sh; its configuration is no order to a terminal" {
	trained
	ledger show -j l | jq -c 'if .kind == "run" then .trainer = "import" | .imported = "x\u001b[31m.csv" else . end' >i
	ledger bundle -o i.tar "$RUN" i
	run -0 tar tf i.tar
	[[ $output != *rerun.sh* && $output == *run.txt* ]]
	tar xf i.tar
	run -0 grep ^imported "$RUN/run.txt"
	is "$output" 'imported: x\x1b[31m.csv' "escaped"
}

@test "bundle: an open run; usage" {
	stream --open --steps 5 >a
	ledger append l <a || true
	RUN=$(ledger summary -j l | jq -r .id)
	ledger bundle -o o.tar "$RUN" l
	run -64 ledger bundle -o x.tar
	is "$output" "~ which run\?" "no run"
	run -64 ledger bundle "$RUN" l
	is "$output" "~ where to\?" "no -o"
	run -64 ledger bundle -o x.tar 0QQQ l
	is "$output" "~ no run whose id begins so" "unknown"
	run -66 ledger bundle -o x.tar "$RUN" nowhere
	[[ ! -e x.tar ]]
}
