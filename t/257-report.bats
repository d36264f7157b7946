#!/usr/bin/env bats
# ledger report: one page, without script or network.
# shellcheck disable=SC2154

load helpers
load answers

setup() {
	requires jq
	cd "$BATS_TEST_TMPDIR" || return
}

# page FILE: checks it with an HTML parser that we did not write and prints its text, a line an element.
page() {
	"$PYTHON" - "$1" <<'END'
import sys
from html.parser import HTMLParser
VOID = {"meta", "br", "hr", "link", "img"}
class Page(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.count, self.out = [], {}, []
    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        assert tag not in ("script", "iframe", "object", "link", "img", "form", "base"), tag
        for k, v in attrs:
            assert not k.startswith("on") and k not in ("src", "href", "action"), (tag, k)
            assert k == "xmlns" or "://" not in (v or ""), (tag, k, v)
        if tag not in VOID:
            self.open.append(tag)
    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()
    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()
    def handle_data(self, data):
        if data.strip() and self.open and self.open[-1] != "style":
            self.out.append(f"{self.open[-1]}: {data.strip()}")
        if self.open and self.open[-1] == "style":
            assert "url(" not in data and "@import" not in data
p = Page()
text = open(sys.argv[1], encoding="utf-8").read()
assert text.startswith("<!doctype html>")
p.feed(text)
p.close()
assert not p.open, p.open
ids = [w.split('"')[0] for w in text.split(' id="')[1:]]
assert len(ids) == len(set(ids)), "ids stand twice"
print("\n".join(p.out))
print("tables", p.count.get("table", 0), "charts", p.count.get("svg", 0))
END
}

@test "decisions, comparisons, curves, memory, runs, notes: each has its place" {
	three --seeds 3 --steps 30 --diverged lr=2e-4:1 >s
	ledger append l <s
	ledger note l rates --decision "stay with 1e-4" -a ann
	ledger note l "$(jq -r 'select(.kind == "run") | .run' s | head -1)" "the fan was loud" -a bob
	run ledger report out.html l
	exits 0
	page out.html >text
	is "$(grep '^h2' text | paste -sd,)" "h2: Decisions,h2: Comparisons,h2: Speed and memory,h2: Runs,h2: Notes"
	is "$(cat text)" "~ ann, on rates: stay with 1e-4"
	is "$(cat text)" "~ bob, on 01M8.*: the fan was loud"
	is "$(cat text)" "~ Against lr=1e-4, by seed"
	is "$(tail -1 text)" "tables 4 charts 3"
	is "$(cat text)" "~ p: Made .* by pilot .* from l\."
}

@test "verdicts that are not ok stand there with the reason" {
	answers nights --nights 3 --verdict fail --verdict-before ok >s
	run ledger report out.html s
	exits 0
	page out.html >text
	is "$(grep -A99 'Verdicts that are not ok' text | grep '^td' | head -3 | cut -d' ' -f2 | paste -sd,)" "~ ^01M8.*,update,fail$"
}

@test "an empty ledger, a stream in a pipe, very many runs" {
	ledger append empty </dev/null || true
	run ledger report out.html empty
	exits 0
	page out.html >text
	is "$(cat text)" "~ No run is in what was read"
	three --seeds 2 --steps 5 >s
	run bash -c 'cat s | ledger report two.html'
	exits 0
	page two.html >/dev/null
	answers arms --unplanned --arm 'a@1' --seeds 230 >s
	run ledger report many.html s
	exits 0
	page many.html >text
	is "$(cat text)" "~ The newest 200 of 230 runs"
}

@test "never over what it reads, never over a ledger; whole or not at all" {
	three --seeds 1 >s
	ledger append l <s
	cp l l.before
	run ledger report l
	exits 64
	is "$output" "~ a ledger, or another gzip file"
	run ledger report l l
	exits 64
	cmp l l.before
	run ledger report s s
	exits 64
	run ledger report /nonexistent/x.html s
	exits 74
	run ledger report
	exits 64
	run ledger report x.html nofile
	exits 66
	[[ ! -e x.html ]]
}

@test "strings of strangers stay text: in names, arms, notes, reasons" {
	three --seeds 2 --name '<img src=x onerror=alert(1)>' --question $'</p><script>alert(2)</script>\x01' >s
	jq -c 'if .kind == "run" then .name = "</td><script>alert(3)</script>\u202e" else . end' s >s2
	ledger append l <s2
	ledger note l "$(jq -r 'select(.kind == "comparison") | .id' s2)" '<script>alert(4)</script>'
	run ledger report --title '</title><script>alert(5)</script>' out.html l
	exits 0
	page out.html >text
	is "$(grep -c '<script' out.html)" 0
	is "$(grep -o 'alert([1-5])' text | sort -u | wc -l)" 5 "all five can be read"
}
