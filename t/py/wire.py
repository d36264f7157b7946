"""Records made and judged by python3-msgpack and python's json, which pilot did not write.

wire.py kinds TABLE          every kind with all its fields, as msgpack; TABLE is record-table's output
wire.py random SEED N        records of unknown kinds with random fields, as msgpack
wire.py randomjson SEED N    the same as JSON Lines
wire.py same A B             two msgpack streams hold the same values and types, or exit 1
wire.py view A J             J is the JSON view of the msgpack stream A, or exit 1
wire.py bytes HEX...         raw bytes
"""
import base64
import datetime
import json
import math
import random
import re
import struct
import sys

import msgpack

WHEN = msgpack.Timestamp(1900000000, 123456789)


def kinds(table):
    kind, name = None, None
    fields = {}
    for line in open(table):
        if m := re.match(r"\.Ss (\S+)", line):
            kind = m[1]
            fields[kind] = {}
        elif m := re.match(r"\.It Va (\S+)", line):
            name = m[1]
        elif name:
            fields[kind][name] = re.match(r"(\w+)", line)[1]
            name = None
        elif (m := re.match(r"\.Va (\S+)", line)) and kind:
            fields[kind][m[1]] = fields["request"][m[1]]
    return fields


def value(kind, name, type_, n):
    return {
        "integer": (-1) ** n * (2 ** (n % 63) + n % 2), "number": n / 7, "string": f"{kind}.{name} é\n", "boolean": n % 2 == 0, "time": WHEN,
        "strings": [name, "", "€"], "integers": [n, -n, 2**63 - 1, -(2**63)], "numbers": [n / 3, math.inf, -math.inf, n],
    }[type_]


def every_kind(table):
    n = 0
    for kind, fields in kinds(table).items():
        r = {"kind": kind}
        for name, type_ in fields.items():
            n += 1
            r[name] = value(kind, name, type_, n)
        yield r


def string(rng):
    alphabet = ["a", "é", "€", "😀", '"', "\\", "/", "\n", "\x00", "\x1b", "\x7f", "\x9b", "\u2028", "\u202e", " "]
    return "".join(rng.choice(alphabet) for _ in range(rng.choice([0, 1, 3, 40, 300])))


def number(rng):
    while True:
        x = struct.unpack("<d", rng.getrandbits(64).to_bytes(8, "little"))[0]
        if math.isfinite(x):
            return x


def anything(rng, depth, foreign):
    pick = rng.randrange(11 if foreign else 8)
    if depth == 0 and pick in (6, 7):
        pick = 0
    if pick == 6:
        return [anything(rng, depth - 1, foreign) for _ in range(rng.choice([0, 1, 5, 20]))]
    if pick == 7:
        return {f"k{i}{string(rng)}".replace("\x00", ""): anything(rng, depth - 1, foreign) for i in range(rng.choice([0, 1, 5, 20]))}
    return [
        lambda: rng.choice([1, -1]) * rng.getrandbits(rng.choice([3, 7, 8, 15, 16, 31, 32, 62])), lambda: number(rng), lambda: string(rng),
        lambda: rng.choice([True, False]), lambda: None, lambda: rng.choice([0.1, 1.0, -0.0, 1e22, 5e-324, 2.0**53]), None, None,
        lambda: rng.randbytes(rng.choice([0, 1, 2, 3, 300])), lambda: msgpack.ExtType(rng.randrange(0, 128), rng.randbytes(rng.choice([0, 1, 2, 4, 5, 8, 16, 300]))),
        lambda: msgpack.Timestamp(rng.choice([0, 1, 2**32, 2**34, 253402300799, -1, -62135596800]), rng.choice([0, 1, 999999999, 500000000])),
    ][pick]()


def random_records(seed, n, foreign):
    rng = random.Random(seed)
    for i in range(n):
        r = {f"f{k}": anything(rng, 3, foreign) for k in range(rng.randrange(20))}
        r["kind"] = f"kind{i % 5}"
        yield r


def unpack(path):
    u = msgpack.Unpacker(open(path, "rb"), raw=False, strict_map_key=True, timestamp=0, max_buffer_size=0, ext_hook=msgpack.ExtType)
    return list(u)


def alike(a, b):
    """Equal, types, NaN, signs of zero and order of keys included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b) or (math.isnan(a) and math.isnan(b))
    return a == b


def rfc3339(t):
    day = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=t.seconds)
    fraction = f".{t.nanoseconds:09d}".rstrip("0").rstrip(".")
    return f"{day.year:04d}" + day.strftime("-%m-%dT%H:%M:%S") + fraction + "Z"


def json_view(x):
    if isinstance(x, dict):
        return {k: json_view(v) for k, v in x.items()}
    if isinstance(x, list):
        return [json_view(v) for v in x]
    if isinstance(x, bytes):
        return {"$bin": base64.b64encode(x).decode()}
    if isinstance(x, msgpack.ExtType):
        return {"$ext": [x.code, base64.b64encode(x.data).decode()]}
    if isinstance(x, msgpack.Timestamp):
        return rfc3339(x)
    if isinstance(x, float) and not math.isfinite(x):
        return "NaN" if math.isnan(x) else "Infinity" if x > 0 else "-Infinity"
    return x


def judge(a, b):
    for i, (x, y) in enumerate(zip(a, b), 1):
        if not alike(x, y):
            sys.exit(f"record {i} differs:\n{x}\n{y}")
    if len(a) != len(b):
        sys.exit(f"{len(a)} and {len(b)} records")


def main(what, *args):
    write = sys.stdout.buffer.write
    if what == "kinds":
        for r in every_kind(args[0]):
            write(msgpack.packb(r))
    elif what == "random":
        for r in random_records(int(args[0]), int(args[1]), True):
            write(msgpack.packb(r))
    elif what == "randomjson":
        for r in random_records(int(args[0]), int(args[1]), False):
            write(json.dumps(r).encode() + b"\n")
    elif what == "same":
        judge(unpack(args[0]), unpack(args[1]))
    elif what == "view":
        judge([json_view(r) for r in unpack(args[0])], [json.loads(line) for line in open(args[1], encoding="utf-8", newline="\n")])
    elif what == "bytes":
        write(bytes.fromhex("".join(args)))
    else:
        sys.exit(__doc__)


main(*sys.argv[1:])
