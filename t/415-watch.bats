#!/usr/bin/env bats
# train-step -- COMMAND: what the command and all that it started used, as seen from outside; and caps on its memory.

load helpers
load train

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	unset PYTHONPATH OMP_WAIT_POLICY LD_LIBRARY_PATH CUDA_VISIBLE_DEVICES
}

# watched OPTION... -- COMMAND...: its records are in out.jsonl.
watched() {
	run --separate-stderr train-step -j "$@"
	printf '%s\n' "$output" >out.jsonl
}

ends() { of out.jsonl end "$1"; }

@test "resident memory of a process and its children, beside what they say themselves" {
	cat >tree.py <<-'EOS'
		import os, re, time
		def hold(mib):
		    b = bytearray(mib << 20)
		    b[::4096] = b"x" * (mib << 8)
		    text = open("/proc/self/status").read()
		    with open("said.%d" % mib, "w") as f:
		        f.write(" ".join(re.search(k + r":\s*(\d+)", text).group(1) for k in ("VmRSS", "VmPeak")))
		    end = time.time() + 60
		    while not os.path.exists("stop") and time.time() < end:
		        time.sleep(0.05)
		for mib in 40, 70:
		    if os.fork() == 0:
		        hold(mib)
		        os._exit(0)
		hold(20)
	EOS
	(eventually 60 test -e said.70 -a -e said.40 -a -e said.20; sleep 1; touch stop) &
	watched --no-adapter -- "$PYTHON" tree.py
	exits 0
	is "$(ends processes)" 3
	read -r rss peak < <(awk '{ rss += $1; if ($2 > peak) peak = $2 } END { print rss * 1024, peak * 1024 }' said.*)
	is "$((rss > 130 << 20))" 1 "they hold $rss bytes"
	is "$(($(ends resident_peak_bytes) >= rss && $(ends resident_peak_bytes) < rss + (8 << 20)))" 1 "$(ends resident_peak_bytes) of $rss bytes"
	is "$(($(ends address_peak_bytes) >= peak && $(ends address_peak_bytes) < peak + (4 << 20)))" 1 "$(ends address_peak_bytes) of $peak bytes of address space"
}

@test "a peak that is over before anybody looks is in the record" {
	watched --no-adapter -- "$PYTHON" -c 'b = bytearray(b"x" * (150 << 20))
print(__import__("resource").getrusage(0).ru_maxrss * 1024, file=open("said", "w"))'
	is "$(($(ends resident_peak_bytes) >= $(<said) && $(ends resident_peak_bytes) < $(<said) + (4 << 20)))" 1 "$(ends resident_peak_bytes) of $(<said)"
}

@test "processor time of all processes, beside the shell's time" {
	cat >burn.py <<-'EOS'
		import os, time
		def burn():
		    end = time.process_time() + 0.5
		    while time.process_time() < end:
		        os.getppid()
		if os.fork() == 0:
		    burn()
		    os._exit(0)
		burn()
		os.wait()
	EOS
	TIMEFORMAT='%U %S'
	# shellcheck disable=SC2030
	{ time train-step -j --no-adapter -- "$PYTHON" burn.py >out.jsonl 2>err; } 2>took
	# The shell's time has train-step's own in it, too.
	is "$(jq -n --argjson cpu "$(ends cpu_seconds)" --argjson all "$(awk '{ print $1 + $2 }' took)" '$cpu >= 1 and $cpu <= $all + 0.02 and $cpu > $all - 0.4')" true \
		"$(ends cpu_seconds) of $(<took)"
}

@test "files that it wrote: new and changed ones, by name; not what others write" {
	mkdir -p data/a .git saves
	echo old >data/same
	echo old >data/changed
	echo old >data/touched
	cat >write.sh <<-'EOS'
		echo more >>data/changed
		echo 12345 >data/a/new
		echo hidden >.git/x
		echo kept >saves/last
		mv data/touched data/moved
		rm -f gone; echo x >gone; rm gone
		ln -s data link
		seq 1 2000
	EOS
	run bash -c 'train-step -j --no-adapter --log mine.log -C saves -- sh write.sh 2>err | tee out.jsonl >/dev/null'
	exits 0
	is "$(ends files)" '["data/a/new","data/changed","data/moved","saves/last"]'
	is "$(ends files_written) $(ends bytes_written)" "4 $((6 + 9 + 4 + 5))"
	is "$(wc -l <mine.log)" 2000 "the log is ours"
	watched --no-adapter -C "$BATS_TEST_TMPDIR/elsewhere" -- sh -c 'cd /; echo 1 >"$PILOT_SAVE_DIR/x"'
	is "$(ends files)" '["elsewhere/x"]'
	mkdir -p apart/work
	(cd apart/work && train-step -j --no-adapter -C ../other -- sh -c 'echo 1 >../other/x; for i in $(seq 100); do echo 1 >n$i; done' >../../out.jsonl 2>../../err)
	is "$(ends files_written) $(jq 'select(.kind == "end") | .files | length' out.jsonl)" "101 64" "the first 64"
	is "$(jq -r 'select(.kind == "end") | .files[0]' out.jsonl)" "$PWD/apart/other/x" "outside the working folder, in full"
}

@test "too many files to look at each: it says so, and names those near the top" {
	mkdir -p many/deep
	(cd many/deep && seq 21000 | xargs touch)
	cd many
	watched --no-adapter -- sh -c 'echo 1 >new; echo 1 >deep/1'
	is "$(jq -c 'select(.kind == "end") | [.files_partial, (.files | index("new") != null)]' out.jsonl)" '[true,true]'
	cd ..
	watched --no-adapter -- true
	is "$(ends files_written) $(ends files_partial)" "0 true" "what was not looked at is not called new"
	rm -rf many
	watched --no-adapter -- true
	is "$(ends files_written) $(ends files_partial)" "0 null"
}

@test "who escapes by a session of its own is counted, and killed at the end" {
	cat >escape.sh <<-'EOS'
		(setsid sh -c 'echo $$ >escaped; exec sleep 1000' &)
		until [ -s escaped ]; do sleep 0.05; done
		sleep 1
	EOS
	watched --no-adapter -- sh escape.sh
	exits 0
	is "$(ends status)" done
	is "$(ends processes)" 3 "the shell, its sleep, and the one that escaped"
	ended "$(<escaped)" 5
}

@test "many processes that start each other are all ended" {
	cat >bomb.sh <<-'EOS'
		echo $$ >>pids
		[ "$1" -gt 0 ] || exec sleep 1000
		setsid sh bomb.sh $(($1 - 1)) &
		setsid sh bomb.sh $(($1 - 1)) &
		sleep 1000
	EOS
	watched --no-adapter -- sh -c 'sh bomb.sh 5 & until [ "$(wc -l <pids)" -ge 63 ]; do sleep 0.1; done 2>/dev/null'
	exits 0
	is "$(wc -l <pids)" 63
	while read -r pid; do ended "$pid" 5; done <pids
}

# ---- caps ----

@test "a cap on the host: PyTorch's own allocator fails, and the end says whose memory" {
	requires torch
	cat >big.py <<-'EOS'
		import torch
		torch.set_num_threads(1)
		m = torch.nn.Linear(1024, 1024)
		x = torch.randn(8, 1024)
		m(x).sum().backward()
		y = m(torch.zeros(1 << 19, 1024))
	EOS
	OMP_NUM_THREADS=1 watched --memory 2G -- "$PYTHON" big.py
	exits 1
	is "$(ends status) $(ends cause)" "oom host-memory"
	is "$(ends why)" "~ allocate memory"
	is "$(ends asked_bytes) $(ends budget_bytes)" "$((1 << 31)) $((1 << 31))"
	is "$(of out.jsonl run memory_cap)" "address space of each process (RLIMIT_AS)"
	is "$(($(ends address_peak_bytes) <= 2 << 30))" 1
}

@test "each process of the command has the cap" {
	watched --no-adapter --memory 512M -- sh -c 'ulimit -v; sh -c "ulimit -v"; echo "$MALLOC_ARENA_MAX"'
	is "$stderr" $'524288\n524288\n2'
}

@test "who asks for memory in vain, again and again, is out of memory; who computes near the cap is not" {
	[[ -x $PILOT_BUILD/t/tree ]] || skip "the unit tests are not built"
	grep -q __asan_init "$PILOT_BUILD/t/tree" && skip "the sanitizers' address space has no cap"
	watched --no-adapter --memory 100M -- sh -c '"$0" spin 0 & "$0" starve 128 & echo $! >starves; wait' "$PILOT_BUILD/t/tree"
	exits 1
	is "$(ends status) $(ends cause)" "oom host-memory"
	is "$(ends why)" "~ ^process $(<starves) asks in vain for memory"
}

@test "a program that hangs under a cap ends by the deadline" {
	watched --no-adapter --memory 100M --deadline 1s -- sh -c 'trap "exit 3" TERM; while :; do sleep 0.1; done'
	exits 75
	is "$(ends status) $(ends cause)" "error deadline"
}

@test "a command that was stopped hears a request to end" {
	train-step -j --no-adapter -- sh -c 'echo 1 >begun; kill -STOP $$; sleep 1000' >out.jsonl 2>err &
	pid=$!
	eventually 20 test -s begun
	sleep 0.3
	kill -TERM "$pid"
	ended "$pid" 15
	is "$(ends status) $(ends cause) $(ends signal)" "stopped asked SIGTERM"
}

# ---- devices, which are fakes ----

@test "a cap that the adapter was to make, for a program that it is not in, is said not to hold" {
	[[ -d $PILOT_BUILD/libexec/pilot/torch ]] || skip "the adapter is not built"
	watched --memory 1G --device cuda:0 -- true
	exits 0
	is "$(of out.jsonl run memory_cap)" "PyTorch's memory fraction"
	is "$(of out.jsonl note text)" "~ ^--memory was not kept to"
	is "$stderr" "~ --memory was not kept to"
}

@test "a ballast leaves a program so much of the device, and goes with it" {
	export LD_LIBRARY_PATH=$PILOT_BUILD/fake/cuda FAKE_CUDA_LOG=$PWD/log FAKE_CUDA_TOTAL=$((10 << 30)) FAKE_CUDA_USED=$((1 << 30))
	watched --no-adapter --memory 2G --device cuda:1 -- sh -c "sed -n 's/^Name:.*pilot-ballast/there/p' /proc/[0-9]*/status 2>/dev/null | head -1"
	exits 0
	is "$(of out.jsonl run memory_cap)" "~ ^ballast: $((7 << 30)) bytes held by process [0-9]+, $((2 << 30)) left free of $((10 << 30))$"
	is "$(awk '{ d = $1; n += $2 } END { print d, n / 1048576 }' log)" "1 $((7 << 10))" "taken from the device that was named"
	is "$stderr" "~ there" "while the command runs"
	ended "$(of out.jsonl run memory_cap | sed 's/.*process \([0-9]*\),.*/\1/')" 5
}

@test "a ballast takes a device in the pieces that it gives, of the devices that the command sees" {
	export LD_LIBRARY_PATH=$PILOT_BUILD/fake/cuda FAKE_CUDA_LOG=$PWD/log FAKE_CUDA_CHUNK=$((300 << 20)) FAKE_CUDA_DEVICES=4
	watched --no-adapter --memory 4G --device cuda:0 --env CUDA_VISIBLE_DEVICES=3 -- true
	exits 0
	is "$(awk '{ d = $1; n += $2 } END { print d, n / 1048576 }' log)" "3 $((4 << 10))"
	watched --no-adapter --memory 4G --device cuda:1 --env CUDA_VISIBLE_DEVICES=3 -- true
	exits 69
	is "$stderr" "~ cuda:1: invalid device ordinal"
}

@test "no ballast: no driver, no device, or too little is free; nothing is run" {
	watched --no-adapter --memory 1G --device cuda:0 -- touch ran
	exits 69
	is "$stderr" "~ libcuda.so.1"
	export LD_LIBRARY_PATH=$PILOT_BUILD/fake/cuda
	FAKE_CUDA_DEVICES=0 watched --no-adapter --memory 1G --device cuda:0 -- touch ran
	exits 69
	is "$stderr" "~ no CUDA-capable device"
	FAKE_CUDA_USED=$((15 << 29)) watched --no-adapter --memory 1G --device cuda:0 -- touch ran
	exits 69
	is "$stderr" "~ $((1 << 29)) of $((1 << 33)) bytes are free, fewer than the $((1 << 30))"
	[ ! -e ran ]
}

@test "a ballast dies with train-step" {
	export LD_LIBRARY_PATH=$PILOT_BUILD/fake/cuda
	train-step -j --no-adapter --memory 1G --device cuda:0 -- sleep 100 >out.jsonl 2>err &
	pid=$!
	eventually 20 grep -q ballast out.jsonl
	kill -KILL "$pid"
	ended "$(of out.jsonl run memory_cap | sed 's/.*process \([0-9]*\),.*/\1/')" 5
}

@test "device memory of its processes and in all, by the driver's library, new and old" {
	export FAKE_NVML=$PWD/nvml
	for library in nvml nvml-old; do
		export LD_LIBRARY_PATH=$PILOT_BUILD/fake/$library
		: >nvml
		watched --no-adapter -- sh -c 'sleep 1.1 & printf "%s\n" "0 used 5000" "0 $$ 1000" "1 1 99" "1 $! 200" "1 used 7000" "0 1 4000" >nvml.new; mv nvml.new nvml; wait'
		is "$(ends device_used_peak_bytes) $(ends device_all_peak_bytes)" "1200 7000" "$library: two of its processes on two devices"
		: >nvml
		watched --no-adapter -- sh -c 'printf "%s\n" "0 used 5000" "0 $$ -" "1 1 99" "1 used 300" >nvml.new; mv nvml.new nvml; sleep 1.1'
		is "$(ends device_used_peak_bytes) $(ends device_all_peak_bytes)" "null 5000" "$library: the driver does not know how much"
	done
	for i in $(seq 100); do echo "0 $((i + 4000000)) 1"; done >many
	LD_LIBRARY_PATH=$PILOT_BUILD/fake/nvml watched --no-adapter -- sh -c '(cat many; echo "0 $$ 77") >nvml.new; mv nvml.new nvml; sleep 1.1'
	is "$(ends device_used_peak_bytes)" 77 "one of many processes"
}

@test "without that library device memory is unknown, and no error" {
	watched --no-adapter -- true
	exits 0
	is "$(jq 'select(.kind == "end") | has("device_all_peak_bytes")' out.jsonl)" false
}
