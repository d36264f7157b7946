# safetensors.py - an independent reader of the format, in json, struct and hashlib: prints what `safetensors dump` prints.
import hashlib, json, struct, sys

def reject(pairs):
    keys = [k for k, _ in pairs]
    assert len(keys) == len(set(keys)), "a key twice"
    return dict(pairs)

def read(path):
    raw = open(path, "rb").read()
    (n,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + n].decode("utf-8"), object_pairs_hook=reject)
    meta = header.pop("__metadata__", {})
    return meta, header, raw[8 + n :], n

if __name__ == "__main__":
    meta, header, data, n = read(sys.argv[1])
    at = 0
    for name, t in sorted(header.items(), key=lambda kv: kv[1]["data_offsets"]):
        begin, end = t["data_offsets"]
        assert begin == at, "a hole"
        at = end
        print(name, t["dtype"], "x".join(map(str, t["shape"])), hashlib.sha256(data[begin:end]).hexdigest())
    assert at == len(data), "not covered"
    for key in sys.argv[2:]:
        print("meta", key, meta.get(key, "(none)"))
