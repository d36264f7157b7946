"""A msgpack stream as JSON Lines, read by python3-msgpack: a reader that pilot did not write.

Numbers keep their type; a timestamp becomes {"seconds", "nanoseconds"}; NaN and infinities
become the strings that pilot uses. Bytes left over at the end are an error (exit 1)."""
import json
import math
import sys

import msgpack


def plain(x):
    if isinstance(x, msgpack.Timestamp):
        return {"seconds": x.seconds, "nanoseconds": x.nanoseconds}
    if isinstance(x, dict):
        return {str(k): plain(v) for k, v in x.items()}
    if isinstance(x, list):
        return [plain(v) for v in x]
    if isinstance(x, bytes):
        return {"$bin": x.hex()}
    if isinstance(x, float) and not math.isfinite(x):
        return "NaN" if math.isnan(x) else "Infinity" if x > 0 else "-Infinity"
    return x


data = open(sys.argv[1], "rb").read() if len(sys.argv) > 1 else sys.stdin.buffer.read()
unpacker = msgpack.Unpacker(raw=False, strict_map_key=True, timestamp=0, max_buffer_size=0)
unpacker.feed(data)
for record in unpacker:
    json.dump(plain(record), sys.stdout, ensure_ascii=False, separators=(",", ":"))
    sys.stdout.write("\n")
if unpacker.tell() != len(data):
    sys.exit(f"records.py: {len(data) - unpacker.tell()} bytes left over at offset {unpacker.tell()}")
