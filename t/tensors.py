"""The tensors of a safetensors file, read with json and struct alone: NAME DTYPE SHAPE SHA256, a line
each, sorted; with --meta KEY a string of its metadata."""
import hashlib
import json
import struct
import sys

args = sys.argv[1:]
key = None
if args[0] == "--meta":
    key, args = args[1], args[2:]
data = open(args[0], "rb").read()
(n,) = struct.unpack("<Q", data[:8])
header = json.loads(data[8 : 8 + n])
meta = header.pop("__metadata__", {})
if key:
    print(meta[key])
    sys.exit()
body = data[8 + n :]
end = 0
for name in sorted(header):
    t = header[name]
    a, b = t["data_offsets"]
    end = max(end, b)
    print(name, t["dtype"], "x".join(map(str, t["shape"])), hashlib.sha256(body[a:b]).hexdigest())
if end != len(body):
    sys.exit(f"tensors.py: {len(body) - end} bytes too many")
