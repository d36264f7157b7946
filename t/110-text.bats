# 110-text.bats - the text view: what a person sees of each kind, and what is left out.

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	T='"t":"2026-11-30T18:34:05Z"'
	R='"run":"01JDZ3NDEKTSV4RRFFQ69G5FAV"'
}
text() { "$PILOT_BUILD/tools/recat" -t; }
run_as() { echo "{\"kind\":\"run\",$T,$R,\"role\":\"$1\"}"; }

@test "a verdict line is whole: inputs, peaks, device, seconds, verdict; under a fail why, and where to look" {
	text >out <<-END
		{"kind":"verdict",$T,$R,"phase":"backward","verdict":"fail","reason":"no gradient in 2 tensors","look":"graph, precision","micro_batch":8,"length":64,"allocated_peak_bytes":1258291,"reserved_peak_bytes":2097152,"device_used_peak_bytes":3145728,"seconds":0.25}
		{"kind":"verdict",$T,$R,"phase":"load","verdict":"ok","evidence":"weights in place","look":"nowhere"}
		{"kind":"verdict",$T,$R,"phase":"resume","verdict":"unproven","reason":"no checkpoint"}
		{"kind":"verdict",$T,$R,"phase":"export","verdict":"n/a"}
	END
	is "$(<out)" "
verdicts on run 01JDZ3NDEKTSV4RRFFQ69G5FAV
phase            b x length  allocated   reserved  device used   seconds  verdict
backward             8 x 64       1.2M       2.0M         3.0M     0.250  fail
    no gradient in 2 tensors
    look first at: graph, precision
load                                                                      ok
    weights in place
resume                                                                    unproven
    no checkpoint
export                                                                    n/a" "the table"
}

@test "steps stand in columns under a header that comes again after 40 rows" {
	{
		for n in {1..90}; do echo "{\"kind\":\"step\",$T,$R,\"update\":$n,\"epoch\":0.5,\"loss\":1.25,\"lr\":0.0003,\"gradient_norm\":2.5,\"rows\":16,\"seconds\":0.02}"; done
		echo "{\"kind\":\"step\",$T,$R,\"update\":91,\"loss\":\"NaN\",\"skipped\":true}"
	} | text >out
	is "$(grep -c '^  update' out)" 3 "headers"
	is "$(sed -n 3p out)" "       1     0.500      1.2500     0.0003     2.5000        20.0       800.0" "a row"
	is "$(tail -n 1 out)" "      92                   NaN                                                skipped" "a row with little in it, of the update after the 91 applied"
}

@test "a phase tells its inputs, three peaks and seconds" {
	text >out <<-END
		{"kind":"phase",$T,$R,"phase":"forward","occurrence":"steady","micro_batch":4,"length":9,"allocated_peak_bytes":1048576,"reserved_peak_bytes":1048576,"device_used_peak_bytes":10485760,"seconds":0.5}
	END
	is "$(tail -n 1 out)" "forward, steady       4 x 9       1.0M       1.0M        10.0M     0.500" "the row"
}

@test "a trial is its line in the table; what is inside of it is not shown" {
	{
		run_as trial
		echo "{\"kind\":\"step\",$T,$R,\"update\":1,\"loss\":7.7}"
		echo "{\"kind\":\"end\",$T,$R,\"status\":\"oom\"}"
		echo "{\"kind\":\"trial\",$T,$R,\"probe\":\"P\",\"micro_batch\":64,\"part\":\"search\",\"verdict\":\"oom\",\"oom_phase\":\"forward\",\"asked_bytes\":1048576,\"input\":\"64 x 9\"}"
		echo "{\"kind\":\"trial\",$T,$R,\"probe\":\"P\",\"micro_batch\":2,\"part\":\"speed\",\"verdict\":\"crashed\",\"why\":\"it ended by SIGSEGV\",\"stderr\":[\"one\",\"two\"]}"
	} | text >out
	run ! grep -q 7.7 out
	is "$(<out)" "~ 64  search   oom .*
    in forward, 1.0M more were asked, on 64 x 9
 +2  speed    crashed .*
    it ended by SIGSEGV
    . one
    . two" "two trials"
}

@test "a confirmation is shown, and a run says what it is" {
	{
		run_as confirm
		echo "{\"kind\":\"step\",$T,$R,\"update\":1,\"loss\":7.75}"
	} | text >out
	is "$(<out)" "~ run 01JDZ3NDEKTSV4RRFFQ69G5FAV  confirm, 2026-11-30T18:34:05Z" "its title"
	is "$(<out)" "~ 7.75" "its step"
}

@test "an end out of memory says in which phase, on what, and how much was asked" {
	{
		run_as train
		echo "{\"kind\":\"end\",$T,$R,\"status\":\"oom\",\"updates\":0,\"oom_phase\":\"forward\",\"asked_bytes\":1048576,\"allocated_bytes\":2097152,\"budget_bytes\":2621440,\"input\":\"8 x 64\"}"
	} | text >out
	is "$(<out)" "~ ran out of memory in forward: 1.0M more were asked with 2.0M allocated of 2.5M, on 8 x 64" "why"
}

@test "an end names its accuracy as the evaluation does, and no rate of tokens where an example is one" {
	{
		run_as train
		echo "{\"kind\":\"end\",$T,$R,\"status\":\"done\",\"updates\":1,\"skipped_updates\":1,\"validation_loss\":1.5,\"validation_accuracy\":0.25,\"test_loss\":1.5,\"test_accuracy\":0.5,\"exact_match\":true,\"examples_per_second\":50.0,\"tokens_per_second\":450.0}"
	} | text >out
	is "$(<out)" "~ validation  loss 1.5000, exact answers 25 %"
	is "$(<out)" "~ test        loss 1.5000, exact answers 50 %, scored once"
	is "$(<out)" "~ speed       50.0 examples/s, 450.0 tokens/s"
	is "$(<out)" "~ skipped     1 update was attempted"
	sed 's/,"exact_match":true//; s/450.0/50.0/' <<<"{\"kind\":\"end\",$T,$R,\"status\":\"done\",\"validation_loss\":1.5,\"validation_accuracy\":0.25,\"exact_match\":true,\"examples_per_second\":50.0,\"tokens_per_second\":450.0}" | text >out
	is "$(<out)" "~ validation  loss 1.5000, accuracy 25 %"
	run ! grep -q tokens out
}

@test "a probe's conclusion: sizes, memory, time, and what it is not" {
	text >out <<-END
		{"kind":"probe",$T,"id":"P","status":"found","largest":24,"largest_exact":true,"smallest_failed":25,"oom_phase":"forward","knee":16,"knee_tolerance":0.05,"recommended":16,"headroom":0.1,"budget_bytes":67108864,"budget_source":"--memory","fixed_bytes":1048576,"per_example_bytes":2097152.5,"trials":9,"trials_after_failure":3,"seconds":12.5}
	END
	is "$(<out)" "~ largest     24 fits, 25 does not \(it runs out in forward\); both were run" "largest"
	is "$(<out)" "~ knee        16, the smallest within 5 % of the best throughput" "knee"
	is "$(<out)" "~ recommended -b 16, with 10 % of the memory left free" "recommended"
	is "$(<out)" "~ memory      1.0M \+ b x 2.0M, of 64.0M \(--memory\)" "memory"
	is "$(<out)" "~ 9 trials, 3 of them after the first that did not fit" "cost"
	is "$(<out)" "~ not the batch of least training time" "what it is not"
	echo "{\"kind\":\"probe\",$T,\"id\":\"P\",\"status\":\"nothing-fits\",\"why\":\"the fixed bytes alone exceed the budget\"}" | text >out
	is "$(<out)" "~ nothing-fits.*the fixed bytes alone" "nothing fits"
	run ! grep -q recommended out
}

@test "a tool that did not end well is named; an unknown kind is shown as it is" {
	text >out <<-END
		{"kind":"tool",$T,"id":"A","name":"train-step","version":"1"}
		{"kind":"tool",$T,"id":"B","name":"gate","version":"1"}
		{"kind":"later",$T,"cost":[1,2.5,null],"place":"here"}
		{"kind":"done",$T,"id":"B","status":0}
		{"kind":"done",$T,"id":"A","status":69}
	END
	is "$(tail -n 2 out)" 'later cost=[1,2.5,null] place="here"
train-step ends with exit status 69' "the last lines"
}
