"""Kills `ledger append` at random moments under concurrent writers, and looks for what was acknowledged.

usage: kill.py FOLDER KILLS WRITERS SEED
Each writer feeds its own `ledger append --receipt` with numbered notes and steps in bursts; most are killed by
SIGKILL at a random moment, the others end. An append is acknowledged by its receipts, and whole by exit 0.
Prints one line of totals; exits 1 with what was lost."""
import os
import random
import signal
import subprocess
import sys
import threading
import time

import msgpack

folder, kills, writers, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
rng = random.Random(seed)
ledger = os.path.join(folder, "k.ledger")
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
fed = {}           # writer -> the records it wrote, in order
acknowledged = {}  # writer -> how many of them are acknowledged
receipts = []
killed = whole = 0
lock = threading.Lock()


def records(me, r):
    """Notes and steps of writer `me`, each with its number."""
    run = "01J" + "".join(ALPHABET[me >> 5 * i & 31] for i in range(22, -1, -1))
    for i in range(r.randint(20, 400)):
        t = msgpack.Timestamp(1796040000 + i, me)
        if r.random() < 0.8:
            yield {"kind": "step", "t": t, "run": run, "update": i, "loss": r.random()}
        else:
            yield {"kind": "note", "t": t, "run": run, "text": "%d-%d " % (me, i) + "%x" % r.getrandbits(r.choice((40, 4000, 400000)))}


def write(me, r, kill):
    global killed, whole
    p = subprocess.Popen(["ledger", "append", "--receipt", "--rest", ledger], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    mine = fed[me] = []
    out = []
    reader = threading.Thread(target=lambda: out.append(p.stdout.read()))
    reader.start()
    if kill:
        timer = threading.Timer(r.uniform(0.002, 0.08), p.kill)
        timer.start()
    try:
        for record in records(me, r):
            data = msgpack.packb(record)
            mine.append(data)
            p.stdin.write(data)
            if r.random() < 0.1:
                p.stdin.flush()
            if r.random() < 0.05:
                time.sleep(r.uniform(0, 0.004))
        p.stdin.close()
    except BrokenPipeError:
        pass
    p.wait()
    if kill:
        timer.cancel()
    reader.join()
    lines = out[0].decode().splitlines(keepends=True)
    n = 0
    for line in lines:
        if line.endswith("\n"):  # a line cut by the kill says nothing
            n += int(line.split()[4])
            with lock:
                receipts.append(line)
    with lock:
        acknowledged[me] = len(mine) if p.returncode == 0 else n
        killed += p.returncode == -signal.SIGKILL
        whole += p.returncode == 0
    if p.returncode == 0 and n != len(mine):
        print("writer %d: exit 0, receipts for %d of %d records" % (me, n, len(mine)))
        os._exit(1)


me = 0
while killed < kills:
    threads = []
    for _ in range(writers):
        t = threading.Thread(target=write, args=(me, random.Random(rng.random()), rng.random() < 0.9))
        t.start()
        threads.append(t)
        me += 1
    for t in threads:
        t.join()

# the next append makes it whole; then zcat, which knows nothing of ledgers, must read it all
subprocess.run(["ledger", "append", "--rest", ledger], input=msgpack.packb({"kind": "note", "t": msgpack.Timestamp(1), "text": "last"}), check=True, stderr=subprocess.DEVNULL)
data = subprocess.run(["zcat"], stdin=open(ledger, "rb"), stdout=subprocess.PIPE, check=True).stdout
unpacker = msgpack.Unpacker(raw=False, timestamp=0, max_buffer_size=0)
unpacker.feed(data)
held = {}
begin = 0
for record in unpacker:
    end = unpacker.tell()
    if record.get("text") != "last":
        held.setdefault(record["t"].nanoseconds, []).append(data[begin:end])
    begin = end
assert begin == len(data), "zcat's output ends inside a record"

bad = 0
for w, mine in fed.items():
    got = held.get(w, [])
    if len(got) < acknowledged[w]:
        print("writer %d: %d records acknowledged, %d held" % (w, acknowledged[w], len(got)))
        bad += 1
    if got != mine[: len(got)]:
        print("writer %d: its records are not the first of what it wrote, in order" % w)
        bad += 1
with open(os.path.join(folder, "receipts"), "w") as f:
    f.writelines(receipts)
torn = sum(".torn-" in n for n in os.listdir(folder))
print("%d killed, %d whole, %d receipts, %d records acknowledged, %d held, %d torn tails" % (
    killed, whole, len(receipts), sum(acknowledged.values()), sum(len(g) for g in held.values()), torn))
sys.exit(bad > 0)
