"""st.py - safetensors files for tests, from the format's description (a length, a JSON header, bytes)."""
import json
import struct

import numpy as np

DTYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64, "U8": np.uint8}
NAMES = {np.dtype(t): n for n, t in DTYPES.items()}


def write(path, tensors, meta=None):
    header, at, parts = {}, 0, []
    if meta:
        header["__metadata__"] = meta
    for name, value in tensors.items():
        value = np.ascontiguousarray(value)
        raw = value.tobytes()
        header[name] = {"dtype": NAMES[value.dtype], "shape": list(value.shape), "data_offsets": [at, at + len(raw)]}
        at += len(raw)
        parts.append(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


def read(path):
    with open(path, "rb") as f:
        raw = f.read()
    (n,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + n])
    meta = header.pop("__metadata__", {})
    data = raw[8 + n :]
    tensors = {}
    for name, t in header.items():
        begin, end = t["data_offsets"]
        tensors[name] = np.frombuffer(data[begin:end], DTYPES[t["dtype"]]).reshape(t["shape"])
    return tensors, meta
