#!/usr/bin/env bats
# ledger plot: self-contained SVG of what was measured.
# shellcheck disable=SC2154

load helpers
load answers

setup() {
	requires jq
	cd "$BATS_TEST_TMPDIR" || return
}

# facts FILE: what an XML parser that we did not write sees: elements, texts, and what lies outside of the drawing.
facts() {
	"$PYTHON" - "$1" <<'END'
import re, sys
import xml.etree.ElementTree as E
root = E.parse(sys.argv[1]).getroot()
ns = "{http://www.w3.org/2000/svg}"
assert root.tag == ns + "svg", root.tag
_, _, width, height = map(float, root.get("viewBox").split())
texts = ["".join(e.itertext()) for e in root.iter(ns + "text")]
print("texts:", " | ".join(t for t in texts if t))
print("lines:", sum(1 for e in root.iter(ns + "path") if e.get("fill") == "none" and e.get("stroke-linejoin")))
print("marks:", sum(1 for e in root.iter(ns + "circle")))
print("bars:", sum(1 for e in root.iter(ns + "rect")) - 1)
print("bands:", sum(1 for e in root.iter(ns + "path") if e.get("fill-opacity")))
for e in root.iter():
    assert e.tag not in (ns + "script", ns + "image", ns + "foreignObject"), e.tag
    for k, v in e.attrib.items():
        assert not k.startswith("on") and "href" not in k, k
        if k in ("x", "x1", "x2", "cx"):
            assert -0.01 <= float(v) <= width + 0.01, (e.tag, k, v)
        if k in ("y", "y1", "y2", "cy"):
            assert -0.01 <= float(v) <= height + 0.01, (e.tag, k, v)
style = "".join(e.text for e in root.iter(ns + "style"))
assert "url(" not in style and "@import" not in style and "prefers-color-scheme:dark" in style and "@media print" in style
for e in root.iter(ns + "path"):
    assert "nan" not in e.get("d", "") and "inf" not in e.get("d", "")
END
}

plot() {
	run --separate-stderr ledger plot "$@"
	printf '%s\n' "$output" >x.svg
	facts x.svg >facts || return
}
fact() { sed -n "s/^$1: //p" facts; }

@test "loss: a line an arm with a band over its seeds; a line a run without arms" {
	three --seeds 3 --steps 40 >s
	plot --comparison rates s
	exits 0
	is "$(fact lines) $(fact bands)" "3 3"
	is "$(fact texts)" "~ lr=1e-4 \(n = 3\) \| lr=5e-5 \(n = 3\) \| lr=2e-4 \(n = 3\)"
	plot s
	is "$(fact lines) $(fact bands)" "9 0"
	plot --by lr s
	is "$(fact lines)" 3
	plot -r "$(jq -r 'select(.kind == "run") | .run' s | head -1)" s
	is "$(fact lines)" 1
}

@test "divergence is marked, and drawn for itself" {
	three --seeds 3 --steps 40 --diverged lr=2e-4:2 >s
	plot --comparison rates s
	is "$(fact texts)" "~ lr=2e-4 \(n = 3, 1 diverged\)"
	is "$(fact texts | grep -o '| diverged' | wc -l)" 1 "the mark"
	is "$(fact lines)" 4
}

@test "validation: points at their updates" {
	three --seeds 2 >s
	plot --kind validation --comparison rates s
	is "$(fact lines)" 3
	is "$(fact texts)" "~ Validation loss.*update \| loss"
	# the last point is where the mean of the last losses is: between the axis' ticks
	"$PYTHON" - <<'END'
import json, re
import xml.etree.ElementTree as E
ns = "{http://www.w3.org/2000/svg}"
root = E.parse("x.svg").getroot()
lines = [e for e in root.iter(ns + "line") if e.get("class") == "g" and e.get("y1") == e.get("y2")]
labels = [e for e in root.iter(ns + "text") if e.get("text-anchor") == "end" and e.get("class") == "s"]
scale = [(float(l.get("y1")), float("".join(t.itertext()))) for l, t in zip(lines, labels)]
(y0, v0), (y1, v1) = scale[0], scale[-1]
records = [json.loads(l) for l in open("s")]
arm = {r["run"]: r["arm"] for r in records if r["kind"] == "run"}
want = [r["validation_loss"] for r in records if r["kind"] == "end" and arm[r["run"]] == "lr=1e-4"]
want = sum(want) / len(want)
path = [e for e in root.iter(ns + "path") if e.get("stroke-linejoin")][0].get("d")
last = float(re.findall(r"[ML]([\d.]+) ([\d.]+)", path)[-1][1])
got = v0 + (last - y0) / (y1 - y0) * (v1 - v0)
assert abs(got - want) < 0.01, (got, want)
END
}

@test "throughput, seconds and knee from a probe; memory by phase as stacked bars" {
	probe-batch --seconds 0.05s -m mlp:hidden=8 -d sums:digits=1 >p 2>/dev/null || probe-batch --seconds 0.05s >p 2>/dev/null
	plot --kind throughput p
	exits 0
	is "$(fact texts)" "~ Throughput against the micro-batch.*median and its 95 % interval.*largest that fits"
	plot --kind seconds p
	is "$(fact texts)" "~ Seconds of an update"
	plot --kind memory p
	is "$(fact texts)" "~ load \| data \| forward \| backward \| update \| validate"
	is "$(fact texts)" "~ held when the phase began.*reserved, at its peak"
	(($(fact bars) >= 8))
}

@test "nothing to draw is said in words; one point can be seen; forty runs fold the legend" {
	three --seeds 1 | jq -c 'select(.kind != "step" and .kind != "eval")' >s
	local kind
	for kind in loss validation throughput seconds memory; do
		[[ $kind == memory ]] && jq -c 'select(.kind != "phase")' s >s2 && mv s2 s
		plot --kind $kind s
		exits 0
		is "$(fact texts)" "~ not measured|no probe was timed|no phase of these runs was measured" "$kind"
	done
	ledger append empty </dev/null || true
	plot empty
	is "$(fact texts)" "~ not measured"
	answers arms --unplanned --arm 'a@1' --seeds 1 --evals 1 >s
	plot --kind validation s
	is "$(fact marks)" "~ ^[12]$" "a point, and its mark in the legend"
	answers arms --unplanned --arm 'a@1' --seeds 40 --steps 10 >s
	plot s
	is "$(fact lines)" 40
	is "$(fact texts)" "~ and 26 more"
}

@test "steps logged twice, losses that are not finite, updates beyond 2^53, steps out of order" {
	three --seeds 1 --steps 30 --twice >s
	plot s
	is "$(fact lines)" 3
	jq -c 'if .kind == "step" then .update += 9007199254740993 | (if .update % 4 == 0 then .loss = "NaN" else . end) else . end' s >s2
	plot s2
	exits 0
	is "$(fact texts | grep -o '| not finite' | wc -l)" 3
}

@test "names of strangers: markup, entities, direction marks and control characters stay text" {
	answers arms --unplanned --arm 'a@1' --seeds 1 --steps 5 | jq -c 'if .kind == "run" then .name = "</svg><script>alert(1)</script>&\"'"'"'\u202e\u0001\ufeff" else . end' >s
	plot s
	exits 0
	is "$(fact texts)" "~ </svg><script>" "it is text"
	is "$(grep -c '<script' x.svg)" 0
	is "$(fact texts)" '~ \\u202E|</svg>' "shown"
	jq -c 'if .kind == "run" then .name = ("x" * 10000) else . end' s >s2
	plot s2
	(($(stat -c %s x.svg) < 30000))
}

@test "a stream in a pipe is read twice; -o writes whole or not at all; a million steps are thinned" {
	three --seeds 2 --steps 40 >s
	run bash -c 'ledger plot --comparison rates <s >y.svg'
	exits 0
	run bash -c 'cat s | ledger plot --comparison rates - >z.svg'
	exits 0
	cmp y.svg z.svg
	run ledger plot -o out.svg s
	exits 0
	facts out.svg
	run ledger plot -o /nonexistent/x.svg s
	exits 74
	"$PYTHON" "$PILOT_ROOT/t/stream.py" --runs 1 --steps 60000 --eval-every 10000 >many
	ledger append many.ledger <many
	ledger plot -o many.svg many.ledger
	facts many.svg
	(($(stat -c %s many.svg) < 20000))
}

@test "what cannot be is refused" {
	three --seeds 1 >s
	run ledger plot --kind pie s
	exits 64
	run ledger plot --comparison a --by b s
	exits 64
	run ledger plot -r ZZZ s
	exits 64
	run ledger plot --comparison none s
	exits 64
	run ledger plot nofile
	exits 66
}

# heights LINE: the values of a line's points, by the axis' ticks (linear).
heights() {
	"$PYTHON" - "$1" <<'END'
import re, sys
import xml.etree.ElementTree as E
ns = "{http://www.w3.org/2000/svg}"
root = E.parse("x.svg").getroot()
lines = [e for e in root.iter(ns + "line") if e.get("class") == "g" and e.get("y1") == e.get("y2")]
labels = [e for e in root.iter(ns + "text") if e.get("text-anchor") == "end" and e.get("class") == "s"]
(y0, v0), *_, (y1, v1) = [(float(l.get("y1")), float("".join(t.itertext()))) for l, t in zip(lines, labels)]
path = [e for e in root.iter(ns + "path") if e.get("stroke-linejoin")][int(sys.argv[1])].get("d")
points = [tuple(map(float, p)) for p in re.findall(r"[ML]([\d.]+) ([\d.]+)", path)]
assert points == sorted(points, key=lambda p: p[0]), "the line runs backwards"
print(" ".join("%.2f" % (v0 + (y - y0) / (y1 - y0) * (v1 - v0)) for _, y in points))
END
}

@test "an update that was logged again counts as it was logged last; so do those of a resume that overlaps" {
	answers arms --unplanned --arm 'a@1' --seeds 1 --steps 30 >clean
	plot clean
	heights 0 >want
	jq -c 'if .kind == "step" then (.loss = 100), . else . end' clean >s
	plot s
	heights 0 >got
	cmp want got
	# 20 updates that go astray, and a resume that does them again from the eleventh
	jq -c 'select(.kind == "step" and .update > 10 and .update <= 20) | .loss = 50' clean >astray
	jq -c 'select(.kind != "step")' clean | head -2 >s
	jq -c 'select(.kind == "step" and .update <= 10)' clean >>s
	cat astray >>s
	jq -c 'select(.kind == "step" and .update > 10)' clean >>s
	tail -2 clean >>s
	plot s
	heights 0 >got
	is "$(wc -w <got)" "$(wc -w <want)"
	cmp want got
}

@test "beyond what is kept, too: sixty thousand steps with each update logged twice" {
	"$PYTHON" - >s <<'END'
import json
t, r = "2026-11-30T12:00:00Z", "01M8G000000000000000000000"
print(json.dumps({"kind": "run", "t": t, "run": r, "role": "train"}))
for u in range(1, 60001):
    print(json.dumps({"kind": "step", "t": t, "run": r, "update": u, "loss": 100.0}))
    print(json.dumps({"kind": "step", "t": t, "run": r, "update": u, "loss": 2.0 + (u > 30000)}))
print(json.dumps({"kind": "end", "t": t, "run": r, "status": "done", "updates": 60000}))
END
	plot s
	exits 0
	is "$(heights 0 | tr ' ' '\n' | sort -u | paste -sd' ')" "2.00 3.00"
}

@test "a loss that is not finite for once is marked where it was, and the run stays in its arm" {
	three --seeds 2 --steps 40 | jq -c 'if .kind == "step" and .update == 10 then .loss = "NaN" else . end' >s
	plot --comparison rates s
	is "$(fact texts)" "~ lr=1e-4 \(n = 2\)"
	jq -c 'select(.kind == "tool" or .kind == "done")' s >/dev/null
	plot -r "$(jq -r 'select(.kind == "run") | .run' s | head -1)" s
	is "$(fact texts)" "~ not finite"
	"$PYTHON" - <<'END'
import re
text = open("x.svg").read()
x = float(re.search(r'<path d="M([\d.]+) [\d.]+l8 8', text).group(1)) + 4
ticks = {float(t): float(a) for a, t in re.findall(r'<text class="s" x="([\d.]+)" y="312" text-anchor="middle">([\d.]+)</text>', text)}
at = ticks[0] + (ticks[40] - ticks[0]) / 40 * 10
assert abs(x - at) < 1.5, (x, at, ticks)
END
}

@test "seeds that validate at different updates: a mean only where all have one, and forwards" {
	three --seeds 2 | jq -c 'if .kind == "eval" and .update < 200 and (.loss * 1e6 | floor) % 2 == 0 then .update += 7 else . end' >s
	plot --kind validation --comparison rates s
	exits 0
	heights 0 >/dev/null
	is "$(heights 0 | wc -w)" "~ ^[1-4]$"
}

@test "what was held before a phase was not measured: said, and not drawn as nothing" {
	three --seeds 1 >s
	plot --kind memory s
	is "$(fact texts)" "~ both \(what was held before: not measured\)"
	jq -c 'if .kind == "phase" then .baseline_bytes = 1000000 else . end' s >s2
	plot --kind memory s2
	run ! grep -q "not measured" x.svg
	grep -q "held when the phase began" x.svg
}

@test "forty runs that diverged: forty crosses, three words" {
	local d=()
	for i in $(seq 40); do d+=(--diverged "a:$i"); done
	answers arms --unplanned --arm 'a@1' --seeds 40 --steps 10 "${d[@]}" >s
	plot s
	is "$(fact texts | grep -o '| diverged' | wc -l)" 3
	is "$(grep -c 'l8 8m0' x.svg)" 40
}

@test "scaling: a point a batch with its bar, the perfect line, and the critical batch" {
	requires numpy
	"$PYTHON" "$PILOT_ROOT/t/scaling.py" noise=0.03 >s
	plot --kind scaling --target loss=2.0 s
	exits 0
	is "$(fact texts)" "~ Updates to the target.*B_c [0-9]+.*best rate at each batch.*perfect scaling.*S_min"
	is "$(fact lines)" 2
	is "$(grep -o 'm-3 0h6m-3 0' x.svg | wc -l)" "$(ledger scaling --target loss=2.0 -j s | jq -r 'select(.table == "sizes" and .updates != null) | .updates' | wc -l)" "bars"
	three --seeds 2 >s
	plot --kind scaling --target loss=2.0 s
	is "$(fact texts)" "~ no batch counts"
	run ledger plot --kind scaling s
	exits 64
	run ledger plot --target loss=2 s
	exits 64
	run ledger plot --kind scaling --target bananas s
	exits 64
}

@test "losses hundreds of powers of ten apart: an axis all the same" {
	three --seeds 1 --steps 5 | jq -c 'if .kind == "step" and .update == 3 then .loss = 1e-309 else . end' >s
	run timeout 10 ledger plot -o x.svg s
	exits 0
	facts x.svg >/dev/null
}
