#!/usr/bin/env bats
# probe-batch: a host without memory for itself. Whichever allocation fails, it says so and leaves nothing behind.

load helpers
load probe

setup_file() { fake_install; }
setup() {
	probe_setup
	export FAKE_T0=0 FAKE_C=0
}

@test "the Nth allocation fails, for N = 1, 2, ... until none does" {
	local n hit=$BATS_TEST_TMPDIR/hit bad=0 found=0
	for ((n = 1; n < 100000; n += 1 + n / 100)); do
		rm -f "$hit"
		FAKE_ALLOC=$n FAKE_ALLOC_HIT=$hit probe --seconds 0.001s --memory 1200000 --max 2
		[[ -e $hit ]] || break
		# Found all the same (what failed was not needed), or no memory; never a signal, never "nothing fits".
		case $status in
		0) found=$((found + 1)) ;;
		71) [[ $output == *memory* ]] || { echo "$n: $output"; bad=$((bad + 1)); } ;;
		*) echo "$n: status $status: $output"; bad=$((bad + 1)) ;;
		esac
	done
	echo "up to $n; $found found something all the same"
	is $bad 0 "wrong ends"
	((n > 50))
	none_left
	is "$(find "$BATS_TEST_TMPDIR" -name 'pilot-probe*')" "" "temporary folders"
}
