# 100-records.bats - records against Python's msgpack and json and against jq: both directions, every
# kind of the list, random values, hostile bytes, the text view on terminals.

load helpers

RECAT=$PILOT_BUILD/tools/recat
STEPS=$PILOT_BUILD/tools/steps

setup() {
	requires msgpack
	cd "$BATS_TEST_TMPDIR" || return
}
py() { "$PYTHON" "$PILOT_ROOT/t/py/wire.py" "$@"; }

@test "the table of pilot-record(5) is that of the list" {
	"$PILOT_BUILD/tools/record-table" "$PILOT_ROOT/man/pilot-record.5" >page
	run diff "$PILOT_ROOT/man/pilot-record.5" page
	exits 0 "the page is what 'make record-table' makes of it"
	run -1 "$PILOT_BUILD/tools/record-table" "$PILOT_ROOT/man/pilot.7"
	is "$output" "~ no markers" "a page without markers"
}

@test "every kind with all its fields, packed by Python, is read and passes in its own bytes" {
	"$PILOT_BUILD/tools/record-table" >table
	py kinds table >all
	(($(records all | wc -l) > 14))
	"$RECAT" all >back
	cmp all back
	"$RECAT" -j all >all.json
	py view all all.json
	"$RECAT" all.json >again
	py same all again
	"$RECAT" -j again | cmp - all.json
}

@test "a required field that is left out is named" {
	"$RECAT" -j <(py bytes 82 a46b696e64 a46e6f7465 a174 d6ff00000001) 2>err && false
	is "$(<err)" "~ record 1 at offset 0: field text is missing in a note record" "the reason"
}

@test "random records: bytes pass unchanged, the JSON view is Python's, and is stable" {
	py random 1 1500 >r
	"$RECAT" r | cmp - r
	"$RECAT" -j r >r.json
	py view r r.json
	"$RECAT" r.json | "$RECAT" -j | cmp - r.json
	jq -c . r.json >/dev/null
}

@test "random JSON: msgpack has the same values and types, and the JSON is the same again" {
	py randomjson 2 1500 >r.json
	"$RECAT" r.json >r
	py view r r.json
	"$RECAT" -j r >again.json
	"$RECAT" again.json | cmp - r
	"$RECAT" -j again.json | cmp - again.json
}

@test "what jq cannot say in numbers is exact" {
	echo '{"kind":"x","a":[9007199254740993,9223372036854775807,-9223372036854775808,0.1,1e-320]}' >in
	"$RECAT" in >packed
	is "$(records packed)" '{"kind":"x","a":[9007199254740993,9223372036854775807,-9223372036854775808,0.1,1e-320]}' "Python reads"
	is "$("$RECAT" -j packed)" '{"kind":"x","a":[9007199254740993,9223372036854775807,-9223372036854775808,0.1,1e-320]}' "the JSON view"
}

@test "jq stands in the pipe, and JSON and msgpack mix in one stream" {
	"$STEPS" 100 >s
	"$RECAT" -j s | jq -c 'if .kind == "step" then .loss = 0.5 else . end' | "$RECAT" -b | "$RECAT" -j -b >out
	is "$(field loss step <out | sort | uniq -c | tr -s ' ')" " 100 0.5" "losses"
	cat s <("$RECAT" -j s | sed 's/01JDZ3NDEKTSV4RRFFQ69G5FAV/01JDZ3NDEKTSV4RRFFQ69G5FAW/') s | "$RECAT" -b | records | wc -l >n
	is "$(<n)" 312 "records of a mixed stream"
}

@test "a cut stream is told from one that ended, at any record" {
	"$STEPS" 3 -j >s
	"$RECAT" -n -b s
	for n in 0 1 2 3 5 6; do
		run -65 bash -c "head -n $n s | '$RECAT' -n -b"
		is "$output" "~ (cut|empty)" "after $n records"
	done
}

@test "hostile bytes are refused with the input, the record, the offset and the reason" {
	hostile() { # REASON HEX...
		py bytes "${@:2}" >h
		run -65 bash -c "ulimit -v 200000; exec '$RECAT' -n h"
		is "$output" "~ h: record 1 at offset 0: .*$1" "${*:2}"
	}
	hostile "1 MiB" dfffffffff
	hostile "1 MiB" 81a16bddffffffff
	hostile "1 MiB" 81a16bc67fffffff
	hostile "16 deep" 81a16b "$(printf '91%.0s' {1..1000})"
	hostile "0xc1" 81a16bc1
	hostile "begins no record" 01
	hostile "is gzip: use zcat" 1f8b0800
	hostile "cut inside record 1 at offset 3" 81a16b
	hostile "key a is there twice" 83a46b696e64a178a16101a16102
	hostile "not a string" 82a46b696e64a17801c0
	hostile "there is no kind" 80
}

@test "hostile JSON is refused, too" {
	hostile() { # REASON LINE
		printf '{"kind":"x"}\n%s\n' "$2" >h
		run -65 bash -c "ulimit -v 400000; exec '$RECAT' -n h"
		is "$output" "~ h: record 2 at offset 13: .*$1" "${2:0:60}"
	}
	hostile "duplicate" '{"kind":"x","a":1,"a":2}'
	hostile "integer" '{"kind":"x","a":9223372036854775808}'
	hostile "16 deep" "{\"kind\":\"x\",\"a\":$(printf '[%.0s' {1..100000})"
	hostile "65536 objects" "{\"kind\":\"x\",\"a\":[$(printf '{},%.0s' {1..70000})1]}"
	hostile "JSON" '{"kind":"x","a":NaN}'
	hostile "no kind" '{"a":1}'
	hostile "field loss of a step record is a string" '{"kind":"step","t":"2026-11-30T18:34:05Z","run":"r","update":1,"loss":"high"}'
	hostile "control character 0x1b" $'{"kind":"note","\x1b[2J":1}'
	[[ $output != *$'\x1b'* ]]
	hostile "duplicate" '{"kind":"note","\u009b[2J":1,"\u009b[2J":2}'
	[[ $output != *$'\xc2\x9b'* ]]
}

@test "binary records do not go to a terminal" {
	requires tty
	"$STEPS" 3 >s
	run script -qec "'$RECAT' -m s" /dev/null
	exits 64
	is "$output" "~ do not go to a terminal" "the reason"
}

@test "text is coloured on a terminal, not elsewhere, not with NO_COLOR or TERM=dumb" {
	requires tty
	py bytes 85 a46b696e64 a776657264696374 a174 d6ff00000001 a372756e a172 a57068617365 a46c6f6164 a776657264696374 a46661696c >s
	TERM=xterm run script -qec "'$RECAT' -t s" /dev/null
	is "$output" $'~ \x1b\\[1;31mfail\x1b\\[m' "red"
	TERM=xterm NO_COLOR=1 run script -qec "'$RECAT' -t s" /dev/null
	[[ $output != *$'\x1b'* ]]
	TERM=dumb run script -qec "'$RECAT' -t s" /dev/null
	[[ $output != *$'\x1b'* ]]
	run "$RECAT" -t s
	[[ $output != *$'\x1b'* ]]
	is "$output" "~ load .*fail" "the line"
}

@test "control characters of a record reach no text view, and lines wrap at COLUMNS" {
	py random 3 300 >r
	"$RECAT" -t r >text
	run ! grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' text
	iconv -f UTF-8 -t UTF-8 text >/dev/null
	echo '{"kind":"note","t":"2026-11-30T18:34:05Z","text":"'"$(printf 'word %.0s' {1..100})"$'"}' >n
	COLUMNS=60 "$RECAT" -t n >narrow
	is "$(awk '{ if (length > max) max = length } END { print (max > 40 && max <= 60) }' narrow)" 1 "the longest line"
	is "$(tr -s ' \n' '  ' <narrow | grep -o word | wc -l)" 100 "no word is lost"
}
