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
	is "$(jq 'select(.table == "runs") | .reserved_peak_bytes' <<<"$output")" "$peak"
	is "$(jq -c 'select(.table == "phases") | .allocated_peak_bytes' <<<"$output")" "$(jq 'select(.kind == "phase") | .allocated_peak_bytes' s)" "phases"
	run -0 ledger sheet --csv --runs s
	is "${#lines[@]}" 2
}

@test "fits with headroom, and not without" {
	printf '# mine\nname\tusable_bytes\tprice\nexact\t%s\t\nroomy\t79G\t2.5\n' "$peak" >c
	run -0 ledger sheet -j --catalogue c s
	is "$(jq -c 'select(.table == "fits") | [.catalogue_device, .fits, .price, .software]' <<<"$output")" $'["exact",false,null,"not verified"]\n["roomy",true,2.5,"not verified"]'
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
	run -66 ledger sheet --catalogue none s
}

@test "nothing, and usage" {
	run ledger sheet <<<'{"kind":"note","t":"2026-11-30T12:00:00Z","text":"x"}'
	is "$output" "~ There is no training run here"
	run -64 ledger sheet --headroom 100 s
	run -64 ledger sheet --csv -j s
	run -0 ledger sheet --help
}
