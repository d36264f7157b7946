# 310-safetensors.bats - files of others read, and ours read by others.
load helpers

ST=$PILOT_BUILD/t/safetensors

same() {
	"$ST" dump "$@" >"$BATS_TEST_TMPDIR/ours"
	"$PYTHON" "$PILOT_ROOT/t/safetensors.py" "$@" >"$BATS_TEST_TMPDIR/theirs"
	diff "$BATS_TEST_TMPDIR/ours" "$BATS_TEST_TMPDIR/theirs"
	[ -s "$BATS_TEST_TMPDIR/ours" ]
}

@test "a Hugging Face GPT-2: every tensor's name, type, shape and bytes" {
	requires shared-data
	same "$PILOT_SHARED/data/weights/tiny_gpt2/model.safetensors" format
	grep -q '^meta format pt$' "$BATS_TEST_TMPDIR/ours"
}

@test "files that burn wrote" {
	requires shared-data
	same "$PILOT_SHARED/data/weights/burn-mnist.safetensors"
	same "$PILOT_SHARED/data/weights/burn-multi_layer.safetensors"
}

@test "what we write, another reader reads: types, names with quotes, metadata, empty and scalar tensors" {
	f=$BATS_TEST_TMPDIR/ours.safetensors
	run -0 "$ST" write "$f"
	is "$output" "sha256:$(sha256sum "$f" | cut -d' ' -f1) $(stat -c %s "$f")" "digest and size while writing"
	same "$f" format pilot.data
	"$PYTHON" - "$f" "$PILOT_ROOT/t" <<-'END'
		import struct, sys
		sys.path.insert(0, sys.argv[2])
		from safetensors import read
		meta, header, data, n = read(sys.argv[1])
		assert (8 + n) % 8 == 0, n
		assert meta == {"format": "pt", "pilot.data": 'text:file="a\\b"\n\u00e9'}, meta
		def numbers(name, code):
		    a, b = header[name]["data_offsets"]
		    return struct.unpack("<%d%s" % ((b - a) // struct.calcsize(code), code), data[a:b])
		assert numbers("d", "d") == (1.5, -2.25, 1e300, 0.0, -0.0, 3.0)
		assert numbers("i", "q") == (-2**63, -1, 0, 1, 2, 2**63 - 1)
		assert numbers('f "quoted" \u00e9', "f") == struct.unpack("<5f", struct.pack("<5f", *(k / 7 for k in range(5))))
		assert header["scalar"]["shape"] == [] and header["empty"]["shape"] == [0, 5] and header["empty"]["dtype"] == "BF16"
	END
}

@test "the safetensors package reads what we write, and we what it writes" {
	"$PYTHON" -c 'import safetensors.numpy' 2>/dev/null || skip "no python3 module safetensors (Debian 12 has none)"
	"$ST" write "$BATS_TEST_TMPDIR/ours.safetensors"
	(cd "$BATS_TEST_TMPDIR" && "$PYTHON" - <<-'END'
		import numpy as np
		from safetensors import safe_open
		from safetensors.numpy import save_file
		with safe_open("ours.safetensors", "np") as f:
		    assert f.metadata()["pilot.data"] == 'text:file="a\\b"\n\u00e9'
		    assert f.get_tensor("i").tolist() == [[-2**63, -1, 0], [1, 2, 2**63 - 1]] and f.get_tensor("d")[0][1] == -2.25
		save_file({"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.zeros((0, 4), np.int64), "c": np.array(3.5)}, "theirs.safetensors", metadata={"k": "v"})
	END
	)
	same "$BATS_TEST_TMPDIR/theirs.safetensors" k
}

@test "a file cut anywhere is refused, and says why" {
	requires shared-data
	f=$PILOT_SHARED/data/weights/burn-multi_layer.safetensors
	size=$(stat -c %s "$f")
	for n in 0 1 7 8 9 50 100 1000 $((size - 1)); do
		head -c "$n" "$f" >"$BATS_TEST_TMPDIR/cut"
		run -65 "$ST" dump "$BATS_TEST_TMPDIR/cut"
		is "$output" "~ $BATS_TEST_TMPDIR/cut: " "names the file at $n bytes"
	done
	{ cat "$f"; printf x; } >"$BATS_TEST_TMPDIR/long"
	run -65 "$ST" dump "$BATS_TEST_TMPDIR/long"
	is "$output" "~ the tensors end at" "a byte too many"
}

@test "a disk that is full: 74, the old file intact, nothing beside it" {
	f=$BATS_TEST_TMPDIR/d/w.safetensors
	mkdir "$BATS_TEST_TMPDIR/d"
	"$ST" write "$f" >/dev/null
	before=$(sha256sum "$f")
	run -74 "$ST" full "$f"
	is "$output" "~ w.safetensors: at byte [0-9]+: File too large" "its reason"
	is "$(sha256sum "$f")" "$before" "the old file"
	is "$(ls -A "$BATS_TEST_TMPDIR/d")" w.safetensors "the folder"
}
