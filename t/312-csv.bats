# 312-csv.bats - tables against Python's csv module, and the splits that are made of them.
load helpers

@test "hostile tables that Python's csv wrote are read cell by cell as it reads them" {
	cd "$BATS_TEST_TMPDIR"
	cat >make.py <<-'END'
		import csv, random, sys
		r = random.Random(int(sys.argv[1]))
		pieces = ['"', ',', '\n', '\r\n', "'", ' ', 'a', '1', '', '\u00e9', '\U0001f600', '""', '\t', ';', '\\', '\ufeff', '=1+1', '\x1b[0m', '0x1']
		columns = r.randint(1, 6)
		quoting = r.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
		def cell():
		    return "".join(r.choice(pieces) for _ in range(r.randint(0, 6)))
		with open("t.csv", "w", newline="", encoding=r.choice(["utf-8", "utf-8-sig"])) as f:
		    w = csv.writer(f, quoting=quoting, lineterminator=r.choice(["\r\n", "\n"]))
		    w.writerow(["c%d %s" % (i, cell()) for i in range(columns)])
		    for _ in range(r.randint(0, 30)):
		        w.writerow([cell() for _ in range(columns)])
		with open("t.csv", newline="", encoding="utf-8-sig") as f, open("want", "w") as o:
		    for row in csv.reader(f):
		        o.write(",".join(c.encode().hex() for c in row) + "\n")
	END
	for seed in $(seq 60); do
		"$PYTHON" make.py "$seed"
		"$PILOT_BUILD/t/csv" dump t.csv >got || { echo "seed $seed"; cat got; false; }
		cmp got want || { echo "seed $seed"; false; }
	done
}

@test "gzip or plain is the same table" {
	cd "$BATS_TEST_TMPDIR"
	printf 'a,b\n1,2\n' >t.csv
	gzip -k t.csv
	"$PILOT_BUILD/t/csv" dump t.csv >plain
	"$PILOT_BUILD/t/csv" dump t.csv.gz >packed
	cmp plain packed
}

@test "splits: groups and equal rows on one side, features standardised by the training rows, every row once" {
	requires numpy
	cd "$BATS_TEST_TMPDIR"
	"$PYTHON" - <<-'END'
		import csv, random
		r = random.Random(5)
		with open("t.csv", "w", newline="") as f:
		    w = csv.writer(f)
		    w.writerow(["x", "species", "house", "note", "y"])
		    for i in range(300):
		        x, y = (r.gauss(5, 3), r.gauss(-1, 1e-3)) if i % 10 else (r.randint(0, 8), -1)
		        w.writerow([x, r.choice(["Iris, blue", "Iris red"]), "h%d" % r.randint(0, 120), "free text", y])
	END
	"$PILOT_BUILD/t/data" dump csv:file=t.csv,class=species,group=house,ignore=note,val=0.15,test=0.15 >dump
	"$PYTHON" - <<-'END'
		import csv, numpy as np
		rows = list(csv.reader(open("t.csv", newline="")))
		lines = {i + 1: row for i, row in enumerate(rows)}
		split, value, names = {}, {}, []
		for line in open("dump"):
		    f = line.rstrip("\n").split("\t")
		    if f[0] == "name":
		        names.append(f[1])
		    if f[0] not in ("train", "validation", "test"):
		        continue
		    p = dict(kv.split("=", 1) for kv in f[1:6])
		    n = int(bytes.fromhex(p["id"]).decode().split()[1])
		    assert n not in split
		    split[n] = f[0]
		    v = f[6].split()
		    value[n] = [float(v[0]), float(v[1])]
		    assert bytes.fromhex(p["group"]).decode() == lines[n][2] and bytes.fromhex(p["target"]).decode() == lines[n][1]
		    assert names[int(v[3])] == lines[n][1]
		assert names == ["Iris red", "Iris, blue"] == sorted(names) and sorted(split) == list(range(2, 302))
		for key in (lambda r: r[2], lambda r: (float(r[0]), float(r[4]))):
		    side = {}
		    for n in split:
		        side.setdefault(key(lines[n]), set()).add(split[n])
		    assert all(len(s) == 1 for s in side.values())
		assert len({split[n] for n in split}) == 3
		raw = {n: np.array([float(lines[n][0]), float(lines[n][4])]) for n in split}
		t = np.array([raw[n] for n in split if split[n] == "train"])
		for n in split:
		    assert np.allclose(value[n], (raw[n] - t.mean(0)) / t.std(0), atol=1e-5), n
	END
}

@test "a bad cell is named by file, line and column" {
	cd "$BATS_TEST_TMPDIR"
	printf 'a,b\n1,x\n"2\n",y\n' >t.csv
	run -65 "$PILOT_BUILD/t/data" dump csv:file=t.csv,class=b
	is "$output" '~ data: csv: t.csv: line 3, column "a": "2\\x0a": is no number' "the message"
}
