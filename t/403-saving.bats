#!/usr/bin/env bats
# Checkpoints: what the file holds, one run a folder, killed at any moment, a full disk.

load helpers
load train

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

@test "the file: Hugging Face's names, optimizer state beside them, the rest as strings" {
	train-step -j -n 3 -o adamw:lr=1e-3 -C c >c.jsonl
	f=$(update_file c 3)
	is "$(of c.jsonl save path)" "$PWD/$f"
	is "$(of c.jsonl save digest)" "sha256:$(sha256sum "$f" | cut -d' ' -f1)"
	is "$(of c.jsonl save bytes)" "$(stat -c %s "$f")"
	is "$(phase c.jsonl save first digest)" "$(of c.jsonl save digest)"
	for n in wte.weight wpe.weight h.0.ln_1.weight h.0.attn.c_attn.weight h.0.attn.c_attn.bias h.0.mlp.c_proj.weight h.1.mlp.c_fc.bias ln_f.bias; do
		tensors "$f" | grep -qE "^(transformer\.)?$n F32 " || { echo "no $n"; tensors "$f"; return 1; }
	done
	weights=$(tensors "$f" | grep -vc ^optimizer)
	is "$(tensors "$f" | grep -c '^optimizer\.exp_avg\.')" "$weights"
	is "$(tensors "$f" | grep -c '^optimizer\.exp_avg_sq\.')" "$weights"
	is "$(tensors --meta format "$f")" pt
	is "$(tensors --meta pilot.optimizer "$f")" adamw:lr=1e-3
	is "$(tensors --meta pilot.progress.update "$f")" 3
	is "$(tensors --meta pilot.progress.run "$f")" "$(of c.jsonl run run)"
	is "$(tensors --meta pilot.data.digest.0 "$f")" "$(of c.jsonl run data_digests | jq -r '.[0]')"
}

@test "every --save-every updates and at the end; --keep the newest" {
	train-step -j -n 10 --save-every 3 -C all >all.jsonl
	is "$(cd all && echo *)" "update-000000003.safetensors update-000000006.safetensors update-000000009.safetensors update-000000010.safetensors"
	is "$(jq -r 'select(.kind == "save") | .update' all.jsonl | paste -sd ' ')" "3 6 9 10"
	train-step -j -n 10 --save-every 3 --keep 2 -C two >/dev/null
	is "$(cd two && echo *)" "update-000000009.safetensors update-000000010.safetensors"
	train-step -j -n 4 -C deep/er/folder >/dev/null
	[ -f "$(update_file deep/er/folder 4)" ]
}

@test "a folder holds one run: another is refused, with the way out" {
	train-step -j -n 4 --save-every 2 -C c >c.jsonl
	before=$(sha256sum c/*)
	run --separate-stderr train-step -j -n 4 -C c
	exits 64
	is "$stderr" "~ holds another run's checkpoints.*--resume c"
	train-step -j -n 4 -C d >/dev/null
	run --separate-stderr train-step -j -r d -C c
	exits 64
	is "$stderr" "~ which is not the one resumed"
	run --separate-stderr train-step -j -r "$(update_file c 2)" -C c -n 6
	exits 64 "an older update than the newest"
	is "$stderr" "~ holds update 4 of this run, newer than update 2"
	is "$(sha256sum c/*)" "$before"
	run -0 train-step -j -r "$(update_file c 2)" -C elsewhere
	run --separate-stderr train-step -j -n 1 -C /proc/nowhere
	exits 74
}

@test "two processes: the second is told to try again" {
	train-step -j -n 100000000 --val-every 0 --save-every 50 --keep 1 -C c >c.jsonl 2>/dev/null &
	pid=$!
	eventually 20 sh -c 'ls c/update-*'
	run --separate-stderr train-step -j -r c -C c
	kill -TERM $pid
	wait $pid || true
	exits 75
	is "$stderr" "~ another run is saving into this folder"
}

@test "killed at any moment: the folder always resumes, and what is left behind is cleared" {
	local killed=0
	train-step -j -n 1 -m gpt:layers=2,width=128,heads=4 -C c >/dev/null
	for i in $(seq 12); do
		train-step -j -r c -C c -n $((i * 100000)) --save-every 1 --keep 2 --val-every 0 >"$i.jsonl" 2>"$i.err" &
		pid=$!
		eventually 20 grep -q '"kind":"save"' "$i.jsonl" || { cat "$i.err"; return 1; }
		sleep "0.0$((RANDOM % 9))$((RANDOM % 9))"
		kill -KILL $pid
		st=0; wait $pid || st=$?
		[ $st = 137 ] && killed=$((killed + 1))
		[ "$(find c -name 'update-*.safetensors' | wc -l)" -ge 1 ]
	done
	is $killed 12
	train-step -j -r c -C c -n 10000000 --stop update=1 >/dev/null 2>&1 || true
	train-step -j -r c >end.jsonl --stop update=1
	is "$(of end.jsonl end status)" stopped
	is "$(grep -c passed end.jsonl)" 0 "no file was torn"
	is "$(find c -name '*.tmp' | wc -l)" 0 "temporary files"
}

@test "a full disk in a save: 74, status error, the previous checkpoint intact, nothing half-written" {
	requires tmpfs
	mkdir m
	size=$(train-step -j -n 1 -C probe | jq 'select(.kind == "save") | .bytes')
	# Room for two files and a half.
	cat >script <<-EOF
	mount -t tmpfs -o size=$((size * 5 / 2)) none m
	train-step -j -n 100 --save-every 1 -C m/c >out.jsonl 2>err; echo \$? >status
	ls -A m/c >files
	cp m/c/update-* .
	EOF
	unshare -m bash script
	is "$(cat status)" 74
	is "$(cat err)" "~ [Nn]o space left"
	is "$(of out.jsonl end status)" error
	is "$(of out.jsonl end why)" "~ [Nn]o space left"
	is "$(of out.jsonl done status)" 74
	is "$(grep -v lock files | paste -sd ' ')" "update-000000001.safetensors update-000000002.safetensors"
	train-step -j -r update-000000002.safetensors --stop update=3 >r.jsonl
	is "$(of r.jsonl end updates)" 3
}

@test "a file-size limit in a save: the same" {
	train-step -j -n 3 -C c >/dev/null
	before=$(sha256sum c/*)
	# The limit signals with SIGXFSZ, which ends a program that does not ignore it.
	run -74 --separate-stderr bash -c 'ulimit -f 512; train-step -j -r c -C c -n 6 >out.jsonl'
	is "$stderr" "~ [Ff]ile too large"
	is "$(sha256sum c/*)" "$before"
	is "$(of out.jsonl end status)" error
	is "$(ls -A c | grep -c tmp)" 0
}

@test "a last save that fails is the end, also of a run that its rule or its target stopped" {
	for rule in update=3 target=1e9; do
		rm -rf c
		run -74 --separate-stderr bash -c 'ulimit -f 100; train-step -j -n 9 --val-every 3 --stop $1 -C c >out.jsonl' - $rule
		is "$stderr" "~ [Ff]ile too large" "$rule"
		is "$(of out.jsonl end status)" error "$rule"
		is "$(of out.jsonl end why)" "~ ^save: .*[Ff]ile too large" "$rule"
	done
}

@test "settings that a checkpoint could not keep are refused before the training" {
	run --separate-stderr train-step -j -n 1 -d text:file=$'\xff' -C c
	exits 64
	is "$stderr" "~ --data: .*no UTF-8"
}
