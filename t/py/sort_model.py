"""sort_model.py NUMBERS FOLDER DATA - a GPT that others trained (three layers, torch's names and (out, in)
matrices, a head of its own): pilot's logits beside those stored with it."""
import base64
import json
import subprocess
import sys

import numpy as np

import st

numbers, folder, data = sys.argv[1:]


def load(name):
    with open(f"{data}/weights/{name}") as f:
        return json.load(f)


def array(t):
    return np.frombuffer(base64.b64decode(t["data"]), "<f4").reshape(t["shape"])


model, stored = load("gpt-nano-sort-model.json"), load("gpt-nano-sort-t0-partials.json")
c = model["config"]
w = {}
for name, t in model.items():
    if name == "config" or name.endswith(".attn.bias"):  # the causal mask is no parameter
        continue
    value = array(t)
    # nn.Linear keeps (out, in), the layout of GPT-2's files is (in, out); embeddings and the head stay.
    if value.ndim == 2 and ".h." in name:
        value = value.T
    w[name.removeprefix("transformer.")] = value
ids = array(stored["idx"]).astype(np.int32)
want = array(stored["lm_head"]).reshape(-1, c["vocab_size"])
# Targets the stored model has no say in: its own answers, so that all must come out correct.
batch = {"batch.ids": ids, "batch.targets": want.argmax(1).reshape(ids.shape).astype(np.int32)}
st.write(f"{folder}/in", {**w, **batch})
spec = f"gpt:layers={c['n_layer']},width={c['n_embd']},heads={c['n_head']},context={c['block_size']},tied=0"
subprocess.run([numbers, "model", f"{folder}/in", f"{folder}/out", spec, f"classes={c['vocab_size']}"], check=True)
got, meta = st.read(f"{folder}/out")
off = np.abs(got["logits"] - want).max()
print(f"{ids.size} positions, logits between {want.min():.2f} and {want.max():.2f}, off by at most {off:.1e}")
if not off <= 1e-4 or float(meta["correct"]) != ids.size:
    sys.exit("too far")
