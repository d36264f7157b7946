# 311-idx.bats - Fashion-MNIST against Python's gzip and numpy.
load helpers

FASHION=/usr/share/datasets/fashion-mnist

setup() { requires fashion-mnist numpy; }

@test "images and labels are the bytes that zcat gives" {
	for f in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do
		f=$FASHION/$f-ubyte.gz
		run -0 "$PILOT_BUILD/t/idx" dump "$f"
		is "${output##* }" "$(zcat "$f" | tail -c +$(($(skip_of "$f") + 1)) | sha256sum | cut -d' ' -f1)" "$f"
	done
}

# Bytes of the header.
skip_of() { case $1 in *idx3*) echo 16 ;; *) echo 8 ;; esac; }

@test "splits: test from the test files only, validation from the training file, every image once, x = byte / 255" {
	head -c $((16 + 300 * 784)) <(zcat $FASHION/train-images-idx3-ubyte.gz) >"$BATS_TEST_TMPDIR/x"
	head -c $((8 + 300)) <(zcat $FASHION/train-labels-idx1-ubyte.gz) >"$BATS_TEST_TMPDIR/y"
	head -c $((16 + 50 * 784)) <(zcat $FASHION/t10k-images-idx3-ubyte.gz) >"$BATS_TEST_TMPDIR/tx"
	head -c $((8 + 50)) <(zcat $FASHION/t10k-labels-idx1-ubyte.gz) >"$BATS_TEST_TMPDIR/ty"
	for f in x y; do
		printf '\0\0\1\54' | dd of="$BATS_TEST_TMPDIR/$f" bs=1 seek=4 conv=notrunc status=none
		printf '\0\0\0\62' | dd of="$BATS_TEST_TMPDIR/t$f" bs=1 seek=4 conv=notrunc status=none
	done
	cd "$BATS_TEST_TMPDIR"
	printf '%s\n' T-shirt Trouser Pullover Dress Coat Sandal Shirt Sneaker Bag Boot >names
	"$PILOT_BUILD/t/data" dump idx:images=x,labels=y,test-images=tx,test-labels=ty,val=70,names=names >dump
	"$PYTHON" - <<-'END'
		import numpy as np
		x = np.fromfile("x", np.uint8)[16:].reshape(300, 784); y = np.fromfile("y", np.uint8)[8:]
		tx = np.fromfile("tx", np.uint8)[16:].reshape(50, 784); ty = np.fromfile("ty", np.uint8)[8:]
		names = open("names").read().split()
		seen = {"train": [], "validation": [], "test": []}
		for line in open("dump"):
		    f = line.rstrip("\n").split("\t")
		    if f[0] not in seen:
		        continue
		    part = dict(kv.split("=", 1) for kv in f[1:6])
		    where, _, number = bytes.fromhex(part["id"]).decode().split()
		    v = f[6].split()
		    a, b = (tx, ty) if where == "test" else (x, y)
		    n = int(number)
		    seen[f[0]].append((where, n))
		    want = a[n].astype(np.float32) / np.float32(255)
		    assert np.allclose(np.array(v[:784], np.float32), want, rtol=1e-6, atol=0), (f[0], n)
		    assert v[784:] == ["class", str(b[n])] and bytes.fromhex(part["target"]).decode() == names[b[n]]
		assert seen["test"] == [("test", i) for i in range(50)]
		train, val = [n for _, n in seen["train"]], [n for _, n in seen["validation"]]
		assert len(val) == 70 and len(train) == 230 and sorted(train + val) == list(range(300))
		assert sorted(val) != list(range(230, 300)) and val != sorted(val), "cut from the end of the file, not by a permutation"
	END
}

@test "normalise=meanstd: mean 0 and deviation 1 over the training split, the same numbers for the others" {
	cd "$BATS_TEST_TMPDIR"
	head -c $((16 + 100 * 784)) <(zcat $FASHION/t10k-images-idx3-ubyte.gz) >x
	head -c 108 <(zcat $FASHION/t10k-labels-idx1-ubyte.gz) >y
	for f in x y; do printf '\0\0\0\144' | dd of=$f bs=1 seek=4 conv=notrunc status=none; done
	"$PILOT_BUILD/t/data" dump idx:images=x,labels=y,val=20,normalise=meanstd >dump
	"$PYTHON" - <<-'END'
		import numpy as np
		rows = {"train": [], "validation": []}
		for line in open("dump"):
		    f = line.rstrip("\n").split("\t")
		    if f[0] in rows:
		        rows[f[0]].append((int(bytes.fromhex(f[1][3:]).decode().split()[2]), np.array(f[6].split()[:784], np.float64)))
		x = np.fromfile("x", np.uint8)[16:].reshape(100, 784).astype(np.float64)
		t = x[[n for n, _ in rows["train"]]]
		assert len(t) == 80
		for s in rows:
		    for n, v in rows[s]:
		        assert np.allclose(v, (x[n] - t.mean()) / t.std(), atol=2e-6)
	END
}

@test "labels and images that do not belong together are refused" {
	run -65 "$PILOT_BUILD/t/data" dump "idx:images=$FASHION/train-images-idx3-ubyte.gz,labels=$FASHION/t10k-labels-idx1-ubyte.gz"
	is "$output" "~ 60000 images, but .*: 10000 labels" "the reason"
}
