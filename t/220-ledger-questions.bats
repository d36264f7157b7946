#!/usr/bin/env bats
# ledger show, summary, verify, recover, merge.

load helpers
load ledger

setup() { ledger_setup; }

# ids FILE [ROLE]: run ids of the stream.
ids() { records "$1" | jq -r --arg r "${2:-}" 'select(.kind == "run" and ($r == "" or .role == $r)) | .run'; }
probes() { records "$1" | jq -r 'select(.kind == "probe") | .id'; }

three() {
	stream --steps 300 >a
	stream --probe --seed 2 --steps 40 >b
	stream --seed 3 --fail backward >c
	for f in a b c; do ledger append x.ledger <$f; done
}

# ---- show ----

@test "show -t: header, trial table, some steps, evaluations, verdicts instead of their phases, the end" {
	three
	run -0 ledger show -t x.ledger
	run=$(ids a)
	is "$output" "~ run $run  train, " "header"
	is "$output" "~ micro-batch +(for +)?verdict" "trial table"
	is "$output" "~ probe $(probes b)  found" "the probe's conclusion"
	is "$output" "~ \(20 of 300 shown\)" "thinned steps"
	is "$output" "~ validation at update 10:" "evaluations"
	is "$output" "~ verdicts on run $run" "verdicts"
	is "$output" "~ look first at|because" "the reason of a failure"
	is "$output" "~ done after 300 updates" "the end"
	# a phase that was judged is shown by its verdict only, and each verdict once a run
	is "$(grep -Ec '^forward ' <<<"$output")" 3 "lines of the forward phase"
	run ! grep -q 'forward, first' <<<"$output"
	# trials are lines of the table
	for id in $(ids b trial); do run ! grep -q "run $id" <<<"$(ledger show -t x.ledger)"; done
	(($(ledger show -t x.ledger | wc -l) < 300))
}

@test "show -t: a note of no run, and one on a probe, are shown" {
	three
	ledger append x.ledger <<<'{"kind":"note","t":"2026-11-30T12:00:00Z","text":"power cut at noon"}'
	ledger append x.ledger <<<'{"kind":"acme_cost","t":"2026-11-30T12:00:00Z","euro":3}'
	run -0 ledger show -t x.ledger
	is "$output" "~ power cut at noon" "a note"
	is "$output" "~ acme_cost euro=3" "a foreign record"
	is "$output" "~ done after 300 updates" "the runs"
	run -0 ledger show -t --last x.ledger
	run ! grep -q 'power cut' <<<"$output"
	ledger append y.ledger <<<'{"kind":"note","t":"2026-11-30T12:00:00Z","text":"nothing but this"}'
	run -0 ledger show -t y.ledger
	is "$output" "~ nothing but this" "alone"
	{ cat b; echo "{\"kind\":\"note\",\"t\":\"2026-11-30T12:00:00Z\",\"run\":\"$(probes b)\",\"text\":\"on a probe\"}"; } | ledger append z.ledger
	run -0 ledger show -t --last z.ledger
	is "$output" "~ on a probe"
}

@test "show -t --steps shows them all; the first and the last are always there" {
	stream --steps 300 --eval-every 0 >a
	ledger append x.ledger <a
	steps() { ledger show -t "$@" x.ledger | grep -Ec '^ +[0-9]+ +[0-9]+\.[0-9]{3} '; }
	is "$(steps)" 20 "thinned"
	is "$(steps --steps)" 300 "all"
	ledger show -t x.ledger | grep -Eq '^ +1 +0\.010 '
	ledger show -t x.ledger | grep -Eq '^ +300 +3\.000 '
}

@test "show: an open run is shown, and asking is 0; an open plain stream is 65" {
	stream --open --steps 30 >a
	run -65 ledger append x.ledger <a
	run -0 ledger show -t x.ledger
	is "$output" "~ run $(ids a)" "header"
	is "$output" "~ forward, first" "phases without verdicts"
	run -65 ledger show -t a
	is "$output" "~ a: cut: run $(ids a)" "message"
	is "$output" "~ forward, first" "and what came"
}

@test "show picks runs by prefix, --last and --since" {
	three
	a=$(ids a) p=$(probes b) c=$(ids c)
	is "$(ledger show -j -r ${a:0:14} x.ledger | jq -r 'select(.run != null) | .run' | sort -u)" "$a" "a prefix"
	is "$(ledger show -j -r ${a,,} x.ledger | jq -r 'select(.kind == "end") | .run')" "$a" "in small letters"
	is "$(ledger show -j --last x.ledger | jq -r 'select(.kind == "run") | .run')" "$c" "--last"
	is "$(ledger show -j -r $p x.ledger | jq -r 'select(.kind == "run") | .run' | sort)" "$(ids b | sort)" "a probe and its runs"
	trial=$(ids b trial | head -1)
	is "$(ledger show -j -r $trial x.ledger | jq -r .run | sort -u)" "$trial" "one trial"
	run -0 ledger show -t -r $trial x.ledger
	is "$output" "~ run $trial  trial" "its header"
	is "$(ledger show -j --since 2026-11-30T14:30Z x.ledger | jq -r 'select(.kind == "run") | .run')" "$c" "--since a date"
	is "$(ledger show -j -r $a -r $c x.ledger | jq -r 'select(.kind == "end") | .run')" "$a"$'\n'"$c" "two prefixes"
	run -1 ledger show -r 0000 x.ledger
	is "$output" "~ none of 3 is asked for" "message"
	run -1 ledger show --since 2100-01-01 x.ledger
	run -64 ledger show --since tomorrow x.ledger
	is "$output" "~ --since: tomorrow" "message"
	# what is picked is a stream that another reader takes
	ledger show --msgpack --last x.ledger | ledger show -j - >/dev/null
}

@test "show reads a gzip'd stream, a plain one, JSON Lines, a pipe and a redirected file" {
	stream --steps 30 >a
	gzip -c a >a.gz
	{ cat a.gz; gzip -c a; } >twice.gz
	ledger append x.ledger <a
	ledger show -j a >want
	for f in a.gz x.ledger want; do ledger show -j $f | cmp - want; done
	ledger show -j <a.gz | cmp - want
	ledger show -j - <x.ledger | cmp - want
	cat a | ledger show -j | cmp - want
	cat a.gz | ledger show -j --last - >picked
	[[ -s picked ]]
	cat x.ledger | ledger show -t --last - | grep -q 'verdicts on run'
	ledger show -j <(cat a) | cmp - want
	run -65 ledger show -j <(cat a.gz)
	is "$output" "~ is gzip" "gzip on a pipe is named"
	is "$(ledger show -j twice.gz | wc -l)" $((2 * $(wc -l <want))) "two gzip members"
	head -c -20 a.gz >cut.gz
	run -65 ledger show -j cut.gz
	is "$output" "~ cut.gz: record [0-9]+, before byte [0-9]+ of the gzip file: the gzip member is cut" "message"
	run -66 ledger show nowhere
	is "$output" "~ nowhere: No such file" "message"
}

@test "show through a pipe is live" {
	mkfifo p
	stream --steps 5 >a
	cat p | ledger show -t >out &
	exec 7>p
	cat a >&7
	eventually 5 grep -q 'verdicts on run' out
	exec 7>&-
	wait
}

@test "binary records do not go to a terminal; text does" {
	requires tty
	stream --steps 5 >a
	run script -qec "ledger show --msgpack a" /dev/null
	is "$output" "~ binary records do not go to a terminal" "message"
	run script -qec "ledger show a" /dev/null
	is "$output" "~ verdicts on run" "text"
}

# ---- summary ----

@test "summary: one row a run, a probe's trials in its own, the numbers those of the records" {
	three
	run -0 ledger summary -j x.ledger
	is "$(wc -l <<<"$output")" 3 "rows"
	is "$(jq -r .id <<<"$output")" "$(ids a)"$'\n'"$(probes b)"$'\n'"$(ids c)" "ids"
	is "$(jq -r .role <<<"$output" | xargs)" "train probe train" "roles"
	is "$(jq -r .status <<<"$output" | xargs)" "done found done" "status"
	is "$(jq -r .updates <<<"$output" | xargs)" "300 40 20" "updates"
	is "$(jq -r .verdict <<<"$output" | xargs)" "unproven unproven fail" "verdicts"
	is "$(jq -r .phases <<<"$output" | xargs)" "resume resume backward" "phases"
	is "$(jq -r .trials <<<"$output" | xargs)" "null 3 null" "trials"
	is "$(jq -r .micro_batch <<<"$output" | xargs)" "8 2 8" "the recommended micro-batch"
	is "$(jq -r .best_validation_loss <<<"$output" | xargs)" "1.25 1.25 1.25" "best"
	is "$(jq -r .selected_from <<<"$output" | xargs)" "4 4 4" "selected from"
	is "$(jq -r .allocated_peak_bytes <<<"$output" | xargs)" "8000000 8000000 8000000" "peak"
	is "$(jq -r .model <<<"$output" | sort -u)" gpt:2x64 "model"
	is "$(jq -r .data <<<"$output" | sort -u)" text:a.txt "data"
}

@test "summary: what a record says is no formula to a spreadsheet and no order to a terminal" {
	stream | ledger show -j - | jq -c 'if .kind == "run" then .model = "=cmd|x!A0" | .device = "-2+3" | .optimizer = "@SUM(1)" | .data = "\u001b[31m\"a\",b\r\n" else . end' >r
	run -0 ledger summary --csv r
	is "$(wc -l <<<"$output")" 2 "a row is a line"
	is "$output" "~ \"'=cmd\|x!A0\",\"\\\\x1b\[31m\"\"a\"\",b\\\\x0d\\\\x0a\",\"'@SUM\(1\)\",\"'-2\+3\"" "strings"
	run -0 ledger summary r
	[[ $output != *$'\e'* ]]
}

@test "summary: a run without an id" {
	stream | ledger show -j - | jq -c 'if .kind == "run" then .run = "" else . end' >r
	run -65 ledger summary r
	is "$output" "~ its id is empty" "message"
}

@test "summary: text, CSV and JSON say the same" {
	requires mlr
	three
	ledger summary --csv x.ledger >csv
	ledger summary -j x.ledger >json
	mlr --icsv --ojson cut -f id,updates,best_validation_loss,status,verdict csv | jq -c 'if type == "array" then .[] else . end | [.id, .updates, .best_validation_loss, .status, .verdict]' >one
	jq -c '[.id, .updates, .best_validation_loss, .status, .verdict]' json >two
	cmp one two
	run -0 ledger summary x.ledger
	is "$(wc -l <<<"$output")" 4 "header and rows"
	is "$output" "~ best \(selected\)" "the best is marked as selected"
	is "$output" "~ 1.25 at 150 of 4" "and from how many"
	is "$output" "~ found, 3 trials" "a probe's row"
	is "$output" "~ fail backward" "what failed"
	# an id as printed picks its run
	for id in $(tail -n +2 <<<"$output" | cut -d' ' -f1); do is "$(ledger summary -j -r $id x.ledger | wc -l)" 1 "$id"; done
}

@test "summary: of a comparison, how many of its planned runs came" {
	ledger plan -m gpt:layers=1,width=16,heads=2 -d sums -n 2 --control lr=1e-3 --vary lr=2e-3 --seeds 1,2 --name $'rates\e[31m' >p
	ledger append l <p
	run -0 ledger summary l
	is "$(tail -1 <<<"$output")" 'comparison rates\x1b[31m: 0 of 4 planned runs came' "none yet"
	train-step - <p | ledger append l
	ledger show --msgpack --last l | ledger show -j - 2>/dev/null | jq -c 'if .run then .run = "01J00000000000000000000009" else . end | if .kind == "run" then .repeats = "x" else . end' >again
	ledger append l <again
	run -0 ledger summary l l
	is "$(grep ^comparison <<<"$output")" 'comparison rates\x1b[31m: 4 of 4 planned runs came' "the same ledger twice"
	run -0 ledger summary l
	is "$(tail -1 <<<"$output")" 'comparison rates\x1b[31m: 4 of 4 planned runs came' "a repetition is none besides"
	ledger append runs < <(train-step - <p)
	ledger append runs <p
	is "$(ledger summary runs | tail -1)" 'comparison rates\x1b[31m: 4 of 4 planned runs came' "the plan after its runs"
	train-step - <p | ledger append alone
	is "$(ledger summary alone | grep -c ^comparison)" 0 "no plan, no line"
	is "$(ledger summary -j l | wc -l)" 5 "JSON has rows of runs only"
	run -0 ledger summary --last l
	[[ $output != *comparison* ]]
}

@test "summary over heads alone gives what reading all steps gives" {
	three
	stream --open --seed 7 --steps 250 >d
	ledger append x.ledger <d || true
	zcat <x.ledger >plain
	# sums of seconds differ in their last digits
	round() { jq -c '(.examples_per_second | values) |= (. * 1000000 | round)'; }
	ledger summary -j x.ledger | round >heads
	ledger summary -j plain 2>/dev/null | round >steps || true
	cmp heads steps
	is "$(jq -r 'select(.status == "unknown") | .updates' heads)" 250 "updates of the open run"
	jq -e 'select(.status == "unknown") | .examples_per_second > 7e8 and .examples_per_second < 8.1e8' heads
}

@test "summary: an open run is unknown, last seen; asking is 0" {
	stream --open --steps 30 >a
	ledger append x.ledger <a || true
	run -0 ledger summary x.ledger
	is "$output" "~ unknown, last seen 2026-11-30 13:00" "status"
	is "$output" "~ 30" "updates"
}

@test "summary reads only the heads of step members" {
	requires strace
	stream --steps 20000 --eval-every 0 >a
	ledger append x.ledger <a
	size=$(stat -c %s x.ledger)
	strace -f -e trace=pread64,read -o trace ledger summary x.ledger >/dev/null
	# every head is looked at with one read; members themselves are inflated for few
	reads=$(grep -c pread64 trace)
	members=$(ledger verify -j x.ledger | jq .members)
	((reads < members + members / 2 + 50))
	[[ -n $size ]]
}

@test "control characters in records do not reach the terminal" {
	printf '{"kind":"tool","t":"2026-11-30T12:00:00Z","id":"01J00000000000000000000000","name":"x\\u001b[31m\\u0007","version":"1"}\n{"kind":"run","t":"2026-11-30T12:00:00Z","run":"01J00000000000000000000001","role":"train","model":"a\\u001b[2Jb:"}\n' >a
	run -65 ledger append x.ledger <a
	for c in "show -t" summary; do
		run -0 bash -c "ledger $c x.ledger | LC_ALL=C grep -c \$'[\\001-\\010\\013-\\037\\177]'; true"
		is "$output" 0 "$c"
	done
}

@test "a reader that goes away ends show by SIGPIPE, without a word" {
	stream --steps 3000 --eval-every 0 >a
	ledger append x.ledger <a
	for form in "-t --steps" -j --msgpack; do
		run -0 bash -c "ledger show $form x.ledger 2>err | head -c 5 >/dev/null; echo \${PIPESTATUS[0]}"
		is "$output" 141 "$form"
		[[ ! -s err ]]
	done
}

@test "output that cannot be written is 74" {
	stream --steps 30 >a
	ledger append x.ledger <a
	for c in "show -t" "show -j" summary "summary -j" verify; do
		run -74 bash -c "ledger $c x.ledger >/dev/full"
		is "$output" "~ standard output: No space left on device" "$c"
	done
	run -74 bash -c "ledger append --receipt x.ledger <a >/dev/full"
	run -74 bash -c "ledger append --pass x.ledger <a >/dev/full"
	same_as x.ledger a a a
}

# ---- verify, recover, merge ----

@test "verify -j is JSON; several files; 66 for none, 65 for what is no ledger" {
	three
	flip x.ledger 300
	run -1 ledger verify -j x.ledger
	jq -es 'length == 2 and .[0].fault == "bad checksum" and .[0].offset < 300 and .[1].ok == false and .[1].faults == 1' <<<"$output"
	ledger append y.ledger <a
	run -1 ledger verify y.ledger x.ledger
	is "$output" "~ y.ledger: ok" "the good one"
	run -66 ledger verify nowhere
	run -65 ledger verify a
	is "$output" "~ a: not a ledger" "a plain stream"
	: >empty
	run -65 ledger verify empty
}

@test "recover: all that is good, and what was lost with its place" {
	three
	cp x.ledger y.ledger
	size=$(stat -c %s x.ledger)
	flip y.ledger $((size / 2))
	head -c 777 /dev/urandom >>y.ledger
	run -1 ledger recover y.ledger z.ledger
	is "$output" "~ records recovered into z.ledger; 2 faults, [0-9]+ bytes lost" "totals"
	is "$output" "~ y.ledger: offset [0-9]+, member [0-9]+, [0-9]+ bytes: bad checksum: .*; lost" "the flipped member"
	is "$output" "~ offset $size, member [0-9]+, 777 bytes: foreign bytes: .*; lost" "the tail"
	run -0 ledger verify z.ledger
	cat a b c | records >all
	zcat <z.ledger | records >some
	lost=$(($(wc -l <all) - $(wc -l <some)))
	((lost > 0 && lost <= 100))
	is "$(grep -vxFf some all | wc -l)" "$lost" "the rest is there"
	is "$(grep -vxFf all some | wc -l)" 0 "and nothing else"
	run -64 ledger recover x.ledger z.ledger
	is "$output" "~ z.ledger: is there already" "never over another file"
	run -0 ledger recover x.ledger w.ledger
	same_as w.ledger a b c
}

@test "recover: a damaged header, whole members of a cut append, and records appended by gzip -c" {
	stream --steps 30 --seed 5 >a
	stream --steps 30 --seed 6 >b
	ledger append x.ledger <a
	size=$(stat -c %s x.ledger)
	ledger append x.ledger <b
	flip x.ledger 30
	run -65 ledger show x.ledger
	is "$output" "~ member 1: the header is damaged; see ledger recover" "message"
	run -0 ledger recover x.ledger y.ledger
	is "$output" "~ offset 0, member 1, 56 bytes: bad checksum: the header is damaged; no record was in it" "the header"
	same_as y.ledger a b
	flip x.ledger 30
	head -c -60 x.ledger >cut
	run -0 ledger recover cut c.ledger
	is "$output" "~ torn tail: .*records in it are good and kept" "the cut append"
	same_as c.ledger a b
	head -c $size x.ledger >g
	gzip -c b >>g
	run -0 ledger recover g g.ledger
	is "$output" "~ foreign bytes: .*records in it are good and kept" "gzip -c"
	same_as g.ledger a b
	run -65 ledger recover a nothing.ledger
	[[ ! -e nothing.ledger ]]
}

@test "merge: what ledgers share comes once, and what a ledger has twice stays twice" {
	for i in 1 2 3; do stream --seed $i --steps 10 >s$i; done
	ledger append x.ledger <s1
	cp x.ledger y.ledger
	ledger append x.ledger <s2
	ledger append y.ledger <s3
	ledger append y.ledger <s3
	run -0 ledger merge z.ledger x.ledger y.ledger
	is "$output" "~ $(records s1 | wc -l) duplicates left out" "duplicates"
	same_as z.ledger s1 s2 s3 s3
	run -0 ledger verify z.ledger
	run -0 ledger merge w.ledger z.ledger x.ledger y.ledger z.ledger
	cmp <(zcat <z.ledger) <(zcat <w.ledger)
	run -64 ledger merge z.ledger x.ledger
	is "$output" "~ z.ledger: is there already" "never in place"
	run -64 ledger merge q.ledger
	run -66 ledger merge q.ledger x.ledger nowhere
	[[ ! -e q.ledger && -z $(find . -name '.[a-z]*') ]]
}

@test "a member that grows a thousandfold is refused within bounded memory" {
	[[ -x /usr/bin/time ]] || skip "GNU time is not installed"
	ledger append x.ledger <<<'{"kind":"note","t":"2026-11-30T12:00:00Z","text":"x"}'
	head -c 200000000 /dev/zero | gzip -c >>x.ledger
	for c in "verify x.ledger" "show -j x.ledger" "recover x.ledger y.ledger"; do
		/usr/bin/time -f %M -o kb ledger $c >/dev/null 2>&1 || true
		(($(tail -1 kb) < 32768))
	done
	head -c 200000000 /dev/zero | gzip -c >bomb.gz
	run -65 /usr/bin/time -f %M -o kb ledger show -j bomb.gz
	(($(tail -1 kb) < 32768))
}
