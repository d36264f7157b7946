#!/usr/bin/env bats
# ledger sheet: memory of runs, against a catalogue.

load helpers

setup() {
	requires jq
	cd "$BATS_TEST_TMPDIR" || return 1
	train-step -n 4 --val-every 2 --threads 1 -j >s
	peak=$(jq 'select(.kind == "end") | .reserved_peak_bytes' s)
}

@test "the figures are those of the records" {
	run -0 ledger sheet -j s
	is "$(jq 'select(.table == "devices") | .reserved_peak_bytes' <<<"$output")" "$peak"
	is "$(jq -c 'select(.table == "phases") | .allocated_peak_bytes' <<<"$output")" "$(jq 'select(.kind == "phase") | .allocated_peak_bytes' s)" "phases"
	run -0 ledger sheet --csv --runs s
	is "${#lines[@]}" 2
}

@test "fits with headroom, and not without" {
	printf '# mine\nname\tusable_bytes\tprice\nexact\t%s\t\nroomy\t79G\t2.5\n' "$peak" >c
	run -0 ledger sheet -j --catalogue c s
	is "$(jq -c 'select(.table == "fits") | [.catalogue_device, .fits, .price, .software, .needed_counter]' <<<"$output")" $'["exact",false,null,"not verified","reserved"]\n["roomy",true,2.5,"not verified","reserved"]'
	run -0 ledger sheet -j --catalogue c --headroom 0 s
	is "$(jq -c 'select(.table == "fits") | .fits' <<<"$output")" $'true\ntrue'
}

@test "a run under --memory is emulated" {
	printf 'name\tusable_bytes\nbig\t79G\n' >c
	jq -c 'if .kind == "run" then .memory_bytes = 67108864 else . end' s >m
	run -0 ledger sheet --catalogue c m
	is "$output" "~ big .* emulated"
}

@test "bad lines are refused by line and column" {
	bad() { printf "$1" >c; run -65 ledger sheet --catalogue c s; is "$output" "~ $2"; }
	bad 'name\tusable_bytes\nx\t7Q\n' 'line 2, column 2: usable_bytes'
	bad 'name\tusable_bytes\nx\n' 'line 2, column 2: 1 cells'
	bad 'name\tusable_bytes\tprice\nx\t7G\tcheap\n' 'line 2, column 3: price'
	bad 'name\tusable_bytes\n\t7G\n' 'line 2, column 1: name'
	bad 'name\tcolour\n' 'line 1, column 2: .*no such column'
	bad 'name\n' 'name and usable_bytes are needed'
	bad '' 'empty'
	bad "name\\tusable_bytes\\n$(printf 'n%.0s' {1..80})\\t7G\\n" 'line 2, column 1: name: longer than 79 bytes'
	run -66 ledger sheet --catalogue none s
}

@test "nothing, and usage" {
	run ledger sheet <<<'{"kind":"note","t":"2026-11-30T12:00:00Z","text":"x"}'
	is "$output" "~ There is no training run here"
	run -64 ledger sheet --headroom 100 s
	run -64 ledger sheet --csv -j s
	run -64 ledger sheet --metric f1 s
	is "$output" "~ not loss, accuracy or exact_match"
	run -0 ledger sheet --help
}

# table NAME FILTER <JSON Lines of an answer
table() { jq -c "select(.table == \"$1\") | $2"; }

@test "runs on equal devices with equal settings are one row, with the highest peak and the medians" {
	jq -c 'if .run then .run = "01M8Q000010000000000000001" else . end | if .kind == "end" then .reserved_peak_bytes += 1048576 | .examples_per_second = 10 else . end' s >again
	jq -c 'if .run then .run = "01M8Q000010000000000000002" else . end | if .kind == "run" then .host = "elsewhere" else . end' s >third
	run -0 ledger sheet -j --runs s again third
	is "$(table devices '[.run_count, (.runs | length)]' <<<"$output")" $'[2,2]\n[1,1]'
	is "$(table devices .reserved_peak_bytes <<<"$output" | head -1)" "$((peak + 1048576))"
	first=$(jq 'select(.kind == "end") | .examples_per_second' s)
	is "$(table devices .examples_per_second <<<"$output" | head -1 | jq ". - ($first + 10) / 2 | fabs < 1e-6")" true "median"
	is "$(table phases .device <<<"$output" | sort -u | wc -l)" 2
}

@test "the peak's phase and its input" {
	phase=$(jq -r 'select(.kind == "end") | .peak_phase' s)
	want=$(jq -sc "[.[] | select(.kind == \"phase\" and .phase == \"$phase\")] | max_by(.allocated_peak_bytes) | [.phase, .micro_batch, .length]" s)
	run -0 ledger sheet -j s
	is "$(table devices '[.peak_phase, .peak_micro_batch, .peak_length]' <<<"$output")" "$want"
}

@test "--metric: of the last validation" {
	for m in loss accuracy; do
		run -0 ledger sheet -j --metric $m s
		is "$(table devices .validation_$m <<<"$output")" "$(jq "select(.kind == \"eval\" and .split == \"validation\") | .$m" s | tail -1)" $m
	done
}

@test "software is verified where the same stack ran on a device of that name" {
	printf 'name\tusable_bytes\nBig GPU\t79G\nBig\t79G\n' >c
	on() { jq -c "if .run then .run = \"01M8Q00001000000000000000$1\" else . end | if .kind == \"run\" then .devices = [\"$2\"] | .driver = \"$3\" else . end" s; }
	stack() { ledger sheet -j --catalogue c "$@" | table fits 'select(.catalogue_device == "Big GPU" and .measured_on[:5] == "Small") | .software'; }
	on 1 'Small GPU' 550 >small
	on 2 'Big GPU' 550 >big
	on 3 'Big GPU' 560 >newer
	is "$(stack small)" '"not verified"'
	is "$(stack small newer)" '"not verified"' "another driver"
	is "$(stack small big)" '"verified"'
	run -0 ledger sheet -j --catalogue c big
	is "$(table fits '[.catalogue_device, .memory, .software]' <<<"$output")" $'["Big GPU","measured there","verified"]\n["Big","measured elsewhere","not verified"]'
}

@test "no usable bytes: unknown, unless it is more than the nominal size" {
	printf 'name\tusable_bytes\tnominal_bytes\tbandwidth\tsource\nlarge\t\t79G\t3e11\ta sheet\nsmall\t\t1M\t\t\n' >c
	run -0 ledger sheet -j --catalogue c s
	is "$(table fits '[.fits, .bandwidth_bytes_per_second, .source]' <<<"$output")" $'[null,300000000000,"a sheet"]\n[false,null,null]'
	run -0 ledger sheet --catalogue c s
	is "$output" "~ large .* unknown .* 300 "
}

@test "the catalogue that is shipped can be read, and has no prices" {
	run -0 ledger sheet -j --catalogue "$PILOT_ROOT/share/devices.tsv" s
	is "$(table fits '[.price == null, .source != null, .bandwidth_bytes_per_second > 1e11]' <<<"$output" | sort -u)" '[true,true,true]'
}

@test "what probes found; under --memory it is emulated" {
	probe='{"kind":"probe","t":"2026-11-30T12:00:00Z","id":"01M8Q0000000000000000000CC","status":"found","recommended":24,"accum":2,"largest":30,"budget_bytes":67108864,"budget_source":"--memory","fixed_bytes":1000,"per_example_bytes":20.5,"examples_per_second":12,"fingerprint":"sha256:aa"}'
	echo "$probe" >p
	run -0 ledger sheet -j p
	is "$(table probes '[.budget, .budget_bytes, .recommended, .accum, .largest, .fixed_bytes, .per_example_bytes, .examples_per_second, .fingerprint]' <<<"$output")" '["emulated",67108864,24,2,30,1000,20.5,12,"sha256:aa"]'
	sed 's/--memory/device/' p >d
	is "$(ledger sheet -j d | table probes .budget)" '"device"'
}
