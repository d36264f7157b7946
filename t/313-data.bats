# 313-data.bats - sums, text and tokens as another program sees them, and what settings need of the linker.
load helpers

DATA=$PILOT_BUILD/t/data

@test "sums: right answers, masks on prompts only, all pairs once, no unordered pair in two splits" {
	for digits in 1 2; do
		"$DATA" dump sums:digits=$digits >"$BATS_TEST_TMPDIR/dump"
		"$PYTHON" - "$BATS_TEST_TMPDIR/dump" $digits <<-'END'
			import re, sys
			n = 10 ** int(sys.argv[2])
			pairs, split = set(), {}
			for line in open(sys.argv[1]):
			    f = line.rstrip("\n").split("\t")
			    if f[0] not in ("train", "validation", "test"):
			        continue
			    p = {k: bytes.fromhex(v).decode() for k, v in (kv.split("=", 1) for kv in f[1:5])}
			    a, b = map(int, re.fullmatch(r"(\d+)\+(\d+)=", p["text"]).groups())
			    assert p["target"] == str(a + b) and (a, b) not in pairs
			    pairs.add((a, b))
			    assert split.setdefault(frozenset((a, b)), f[0]) == f[0], (a, b)
			    full = p["text"] + p["target"]
			    ids = [int(t.split(":")[0]) for t in f[6].split()]
			    targets = [int(t.split(":")[1]) for t in f[6].split()]
			    code = lambda c: {"+": 2, "=": 3}.get(c) or 4 + int(c)
			    assert ids == [code(c) for c in full]
			    want = [code(c) for c in full[1:]] + [1]
			    for i in range(len(p["text"]) - 1):
			        want[i] = -1
			    assert targets == want and f[5] == "declared=%d" % (len(p["target"]) + 1)
			assert len(pairs) == n * n
		END
	done
}

@test "text: three stretches whose targets are the file, byte for byte; gzip is the same" {
	requires shared-data
	head -c 5000 "$PILOT_SHARED/data/text/tinyshakespeare.txt" >"$BATS_TEST_TMPDIR/t.txt"
	cd "$BATS_TEST_TMPDIR"
	"$DATA" dump text:file=t.txt,val=0.1,test=0.1 100 37 >dump
	"$PYTHON" - <<-'END'
		raw = open("t.txt", "rb").read()
		edge = {"train": (0, 4000), "validation": (4000, 4500), "test": (4500, 5000)}
		targets, width = {s: b"" for s in edge}, {s: set() for s in edge}
		for line in open("dump"):
		    f = line.rstrip("\n").split("\t")
		    if f[0] in edge:
		        row = [tuple(map(int, t.split(":"))) for t in f[6].split()]
		        at = edge[f[0]][0] + len(targets[f[0]])
		        assert bytes(i for i, _ in row) == raw[at : at + len(row)]
		        targets[f[0]] += bytes(t for _, t in row)
		        width[f[0]].add(len(row))
		for s, (a, b) in edge.items():
		    assert targets[s] == raw[a + 1 : b], s
		    assert max(width[s]) == (100 if s == "train" else 37) and len(width[s]) == 2
	END
	gzip -c t.txt >t.gz
	"$DATA" dump text:file=t.gz,val=0.1,test=0.1 100 37 >dump.gz
	diff <(grep -v ^file dump) <(grep -v ^file dump.gz)
	is "$(sed -n 's/^file\t\([^\t]*\)\t.*/\1/p' dump.gz)" "sha256:$(sha256sum t.gz | cut -d' ' -f1)" "digest of the file as it is on disk"
}

@test "tokens as nanoGPT writes them: numpy uint16, train.bin and val.bin" {
	requires numpy
	cd "$BATS_TEST_TMPDIR"
	"$PYTHON" - <<-'END'
		import numpy as np
		r = np.random.default_rng(1)
		r.integers(0, 50257, 1000).astype(np.uint16).tofile("train.bin")
		r.integers(0, 50257, 101).astype(np.uint16).tofile("val.bin")
	END
	"$DATA" dump tokens:file=train.bin,val-file=val.bin,vocab=50257 32 >dump
	"$PYTHON" - <<-'END'
		import numpy as np
		got = {"train": [], "validation": [], "test": []}
		for line in open("dump"):
		    f = line.rstrip("\n").split("\t")
		    if f[0] in got:
		        got[f[0]] += [tuple(map(int, t.split(":"))) for t in f[6].split()]
		for s, name in (("train", "train.bin"), ("validation", "val.bin")):
		    v = np.fromfile(name, np.uint16).astype(int).tolist()
		    assert got[s] == list(zip(v[:-1], v[1:])), s
		assert got["test"] == []
	END
	grep -q '^facts.*classes=50257' dump
}

@test "the Bible: bytes in, bytes out" {
	requires kjv
	cd "$BATS_TEST_TMPDIR"
	bible -f gen1:1-exo40:38 >kjv.txt
	"$DATA" dump text:file=kjv.txt,val=0.02,test=0.02 256 >dump
	sed -n 's/^train.*\ttext=\([0-9a-f]*\)\t.*/\1/p' dump | "$PYTHON" -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.stdin.read().replace("\n", "")))' >head
	[ "$(stat -c %s head)" -gt 100000 ]
	cmp -n "$(stat -c %s head)" head kjv.txt
}

@test "a data file is digested as sha256sum does, also from the cache" {
	cd "$BATS_TEST_TMPDIR"
	head -c 18000000 /dev/zero | tr '\0' a >big
	for i in 1 2; do
		run -0 bash -o pipefail -c '"$1" dump text:file=big,val=0.001,test=0.001 1000000 | sed -n "s/^file\t\([^\t]*\)\t.*/\1/p"' - "$DATA"
		is "$output" "sha256:$(sha256sum big | cut -d' ' -f1)" "digest, time $i"
	done
}

@test "settings of a run are read without device code" {
	o=$PILOT_BUILD/lib/train/config.o
	[ -e "$o" ] || skip "object files are not here"
	run -0 nm -u "$o"
	run -1 grep -E ' (dev_|data_|model_|optim_|cblas|GOMP|omp_)' <<<"$output"
}

@test "a fifo or a device in place of a file is refused, not waited for" {
	cd "$BATS_TEST_TMPDIR"
	mkfifo fifo
	ln -s /dev/zero endless
	for f in fifo endless; do
		for d in "text:file=$f" "tokens:file=$f" "csv:file=$f,class=c" "idx:images=$f,labels=$f"; do
			run --separate-stderr timeout 20 train-step -j -n 1 -d "$d"
			exits 66
			is "$stderr" "~ $f: is no regular file" "$d"
		done
		for o in --weights --resume; do
			run --separate-stderr timeout 20 train-step -j -n 1 $o $f
			exits 66
			is "$stderr" "~ $f: is no regular file" "$o"
		done
	done
}
