#!/usr/bin/env bats
# Statistics beside scipy's, and beside counting every case.

load helpers

@test "distributions, intervals and exact tests agree with scipy to 1e-9" {
	requires scipy
	run "$PYTHON" "$PILOT_ROOT/t/py/beside_scipy.py" "$PILOT_BUILD/tools/stat"
	exits 0 "beside scipy"
	is "$output" "~ ^[0-9]{3,} compared, 0 wrong$" "how many"
}

@test "a wrong value would be seen: the same comparison against a tool that is off by 1e-8" {
	requires scipy
	cat >"$BATS_TEST_TMPDIR/off" <<-END
		#!/bin/sh
		"$PILOT_BUILD/tools/stat" | awk '{ \$1 = sprintf("%.17g", \$1 + 1e-8 * (\$1 < 0 ? -1 : 1)); print }'
	END
	chmod +x "$BATS_TEST_TMPDIR/off"
	run "$PYTHON" "$PILOT_ROOT/t/py/beside_scipy.py" "$BATS_TEST_TMPDIR/off"
	exits 1 "off by 1e-8"
}
