"""Reads a ledger by the FILE FORMAT section of ledger(1) alone, checks all that it promises, and writes the records.

usage: read_ledger.py FILE >RECORDS      exits 1 with the first thing that is not as the page says."""
import hashlib
import struct
import sys
import zlib

import msgpack

data = open(sys.argv[1], "rb").read()
MAGIC = bytes.fromhex("8970696c6f740d0a")


def check(good, at, what):
    if not good:
        sys.exit("offset %d: %s" % (at, what))


def entries_of(records):
    runs = {}
    for r in records:
        e = runs.setdefault(r["run"], {"n": 0, "first": r["update"], "examples": -1, "seconds": 0.0})
        e["n"] += 1
        e["last"] = r["update"]
        e["examples"] = r.get("examples", e["examples"])
        e["seconds"] += r.get("seconds", 0.0)
        e["t"] = r["t"]
    return runs


at = begin = number = count = 0
chain = None
while at < len(data):
    m = data[at:]
    check(m[:10] == bytes.fromhex("1f8b08040000000000ff"), at, "first ten bytes")
    xlen, tag, length = struct.unpack_from("<H2sH", m, 10)
    check(tag == b"PL" and length == xlen - 4 and m[16:24] == MAGIC, at, "extra field")
    body = 12 + xlen
    kind = m[24:25]
    if kind == b"H":
        check(at == 0 and body + 10 == 56 and m[25] == 1, at, "header")
        check(struct.unpack_from("<I", m, 42)[0] == zlib.crc32(m[:42]), at, "header's checksum")
        check(m[46:56] == b"\x03" + bytes(9), at, "header's body")
        file_id, chain, size = m[26:42], hashlib.sha256(m[:56]).digest(), 56
        begin = 56
    elif kind == b"F":
        check(body + 10 == 130 and m[25:28] == bytes(3) and m[28:44] == file_id, at, "footer")
        seq, nbytes, offset, nrecords, _ = struct.unpack_from("<QQQQQ", m, 44)
        check(seq == number + 1 and nbytes == at - begin and offset == at and nrecords == count, at, "footer's numbers")
        chain = hashlib.sha256(chain + data[begin:at] + m[:84]).digest()
        check(m[84:116] == chain, at, "hash")
        check(struct.unpack_from("<I", m, 116)[0] == zlib.crc32(m[:116]), at, "footer's checksum")
        check(m[120:130] == b"\x03" + bytes(9), at, "footer's body")
        number, count, size, begin = seq, 0, 130, at + 130
    else:
        check(kind in (b"D", b"S"), at, "type")
        n, size, nrecords, crc = struct.unpack_from("<BIII", m, 25)
        check(body == 38 + 76 * n and crc == zlib.crc32(m[38:body], zlib.crc32(m[:34])), at, "head's checksum")
        z = zlib.decompressobj(31)
        raw = z.decompress(m[:size])
        check(z.eof and not z.unused_data and len(raw) <= 4 << 20, at, "gzip member")
        check(m[body:size].find(MAGIC) < 0, at, "the magic inside compressed data")
        u = msgpack.Unpacker(raw=False, timestamp=0, strict_map_key=True, max_buffer_size=0)
        u.feed(raw)
        records = list(u)
        check(u.tell() == len(raw) and len(records) == nrecords, at, "records")
        if kind == b"S":
            check(0 < n <= 64 and all(r["kind"] == "step" for r in records), at, "steps only")
            for i, (run, e) in enumerate(entries_of(records).items()):
                want = struct.pack("<28sIqqqdqI", run.encode(), e["n"], e["first"], e["last"], e["examples"], e["seconds"], e["t"].seconds, e["t"].nanoseconds)
                check(m[38 + 76 * i : 114 + 76 * i] == want, at, "entry of run %s" % run)
            check(len(entries_of(records)) == n, at, "number of entries")
        else:
            check(n == 0, at, "entries of D")
        count += nrecords
        sys.stdout.buffer.write(raw)
    at += size
check(begin == len(data), begin, "bytes behind the last footer")
