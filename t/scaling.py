"""Records of a study of batch sizes as JSON Lines, of a known critical batch: updates to the target are
S_min (1 + B_c / B) (1 + curvature ln(rate / best rate)^2), and the loss falls in a straight line through it.

scaling.py KEY=VALUE ...: sizes=8,16,.. rates=0.25,0.5,1,2,4 (over the best one, which grows with the batch)
seeds=1,2,3 critical=90 least=200 noise=0 (deviation of ln updates) every=0.02 (of the updates to the target)
target=2.0 seconds=0.01 (of an update, and 0.0001 an example) norms=0 (trace of the gradient's covariance; 0: none)
set=FIELD=VALUE (of every run, may be repeated), budget=1.5 (updates over those to the target), draw=1."""
import json
import math
import random
import sys

arg = {"sizes": "8,16,32,64,128,256", "rates": "0.25,0.5,1,2,4", "seeds": "1,2,3", "critical": "90", "least": "200",
       "noise": "0", "every": "0.02", "target": "2.0", "seconds": "0.01", "norms": "0", "budget": "1.5", "draw": "1"}
fields = {}
for a in sys.argv[1:]:
    key, value = a.split("=", 1)
    if key == "set":
        name, value = value.split("=", 1)
        fields[name] = json.loads(value)
    elif key in arg:
        arg[key] = value
    else:
        sys.exit(f"scaling.py: {key}: not one of {', '.join(arg)}")
num = {k: float(v) for k, v in arg.items() if "," not in v and k not in ("sizes", "rates", "seeds")}
rng = random.Random(int(arg["draw"]))
count = 0


def put(kind, run, **rest):
    print(json.dumps({"kind": kind, "t": "2026-11-30T12:00:00Z", "run": run, **rest}))


for b in map(int, arg["sizes"].split(",")):
    for rate in map(float, arg["rates"].split(",")):
        for seed in map(int, arg["seeds"].split(",")):
            count += 1
            run = f"01M8Q{int(arg['draw']):05d}{count:016d}"
            exact = num["least"] * (1 + num["critical"] / b) * (1 + 0.3 * math.log(rate) ** 2)
            s = exact * math.exp(num["noise"] * rng.gauss(0, 1))
            step = max(1, round(num["least"] * (1 + num["critical"] / b) * num["every"]))
            updates = int(exact * num["budget"])
            put("run", run, **{"role": "train", "trainer": "builtin", "model": "gpt:layers=2", "data": "sums:digits=2", "data_digests": ["sha256:aa"],
                "optimizer": f"adamw:lr={rate * 1e-4 * math.sqrt(b):.6g},beta1=0.9", "schedule": "constant", "micro_batch": b, "accum": 1, "replicas": 1, "seed": seed,
                "device": "cpu", "devices": ["cpu"], "host": "alpha", "precision": "fp32", "effective_batch": b, "revision": "abc", **fields})
            if num["norms"]:
                # every group of first weights has a true gradient of norm 2, and batches of b examples their own draw of it
                put("phase", run, phase="load", update=0, weights_digest=f"sha256:{seed}")
                put("phase", run, phase="backward", occurrence="first", update=0, examples=b, gradient_norm=math.sqrt(4 + num["norms"] / b))
                put("phase", run, phase="backward", occurrence="steady", update=2, examples=b, gradient_norm=99)
            each = num["seconds"] + 0.0001 * b
            for u in range(1, 4):
                put("step", run, update=u, examples=u * b, seconds=each)
            for u in list(range(step, updates, step)) + [updates]:
                put("eval", run, split="validation", update=u, loss=num["target"] + (s - u) / exact, run_examples=u * b)
            put("end", run, status="done", updates=updates, seconds=updates * each * 2, training_seconds=updates * each)
