# ledger.bash - what the ledger's tests share: streams of known contents, and readers we did not write.
# shellcheck shell=bash disable=SC2154

# stream OPTION...: a record stream on stdout (t/stream.py).
stream() { "$PYTHON" "$PILOT_ROOT/t/stream.py" "$@"; }

ledger_setup() {
	requires msgpack
	cd "$BATS_TEST_TMPDIR" || return 1
}

# same_as LEDGER FILE...: zcat gives exactly these records.
same_as() {
	local ledger=$1
	shift
	zcat <"$ledger" >zcat.out && cat "$@" >want.out && cmp zcat.out want.out
}

# flip FILE OFFSET: flips a bit of the byte there.
flip() {
	"$PYTHON" -c 'import sys; f = open(sys.argv[1], "r+b"); f.seek(int(sys.argv[2])); b = f.read(1)[0]; f.seek(int(sys.argv[2])); f.write(bytes([b ^ 4]))' "$1" "$2"
}
