# helpers.bash - what every .bats file loads: where the commands are, is, requires, and a
# msgpack reader that we did not write.
# shellcheck shell=bash disable=SC2154  # status and output are set by Bats' run

bats_require_minimum_version 1.5.0

PILOT_ROOT=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
PILOT_BUILD=${PILOT_BUILD:-build}
case $PILOT_BUILD in /*) ;; *) PILOT_BUILD=$PILOT_ROOT/$PILOT_BUILD ;; esac
PILOT_SHARED=${PILOT_SHARED:-$PILOT_ROOT/../shared}
PILOT_BIN=$PILOT_BUILD/bin
PATH=$PILOT_BIN:$PATH
# Debian's python3, the one that Debian's torch, numpy and msgpack belong to; not one that shadows it.
PYTHON=${PILOT_PYTHON:-/usr/bin/python3}
export PILOT_ROOT PILOT_BUILD PILOT_SHARED PILOT_BIN PATH PYTHON
# The digest cache stays out of the home folder; settings of the caller stay out of the tests.
export XDG_CACHE_HOME=${BATS_FILE_TMPDIR:-${TMPDIR:-/tmp}}/cache
export LC_ALL=C.UTF-8 TZ=UTC
unset COLUMNS NO_COLOR

# is ACTUAL EXPECTED WHAT: equal, or fail showing all three. EXPECTED "~ PATTERN" is an extended
# regular expression that must be found somewhere in ACTUAL.
is() {
	local actual=$1 expected=$2 what=${3:-output}
	if [[ $expected == '~ '* ]]; then
		[[ $actual =~ ${expected#'~ '} ]] && return 0
	else
		[[ $actual == "$expected" ]] && return 0
	fi
	printf '%s\n  expected: %s\n  actual:   %s\n' "$what" "${expected//$'\n'/$'\n'            }" "${actual//$'\n'/$'\n'            }"
	return 1
}

# exits STATUS WHAT: the status of the last `run`.
exits() {
	[[ $status == "$1" ]] && return 0
	printf '%s\n  expected exit %s, got %s; output:\n%s\n' "${2:-exit status}" "$1" "$status" "$output"
	return 1
}

_module() { "$PYTHON" -c "import importlib.util as u, sys; sys.exit(u.find_spec('$1') is None)" 2>/dev/null; }

# requires THING...: skips with the reason where it is missing; a THING it does not know fails.
requires() {
	local thing
	for thing; do
		case $thing in
		torch | numpy | msgpack | scipy) _module "$thing" || skip "python3-$thing is not installed" ;;
		fashion-mnist) [[ -r /usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz ]] || skip "dataset-fashion-mnist is not installed" ;;
		kjv) bible -f gen1:1 >/dev/null 2>&1 || skip "bible-kjv and bible-kjv-text are not installed" ;;
		shared-data) [[ -d $PILOT_SHARED/data ]] || skip "no folder of shared data ($PILOT_SHARED/data)" ;;
		# Kernels of OpenBLAS for AVX2 without AVX-512 sum in another order where a product is cut elsewhere.
		same-bits)
			if train-step -j -n 1 --val-every 0 2>/dev/null | grep -E '"blas":"[^"]*(Zen|Haswell)' >/dev/null; then
				skip "this processor's kernels of OpenBLAS give other bits for another number of threads"
			fi
			;;
		sanitizers) [[ -x $PILOT_ROOT/build-san/bin/ledger ]] || skip "not built with sanitizers" ;;
		root) [[ $EUID == 0 ]] || skip "needs root" ;;
		tmpfs) _can_mount || skip "cannot mount a tmpfs here" ;;
		tty) script -qec true /dev/null </dev/null >/dev/null 2>&1 || skip "script(1) makes no terminal here" ;;
		repository) git -C "$PILOT_ROOT" rev-parse HEAD >/dev/null 2>&1 || skip "not a git checkout" ;;
		sqlite3 | jq | mlr | mandoc | strace | cppcheck | shellcheck | man | git | gzip | ldd | ps | clang | gdb)
			command -v "$thing" >/dev/null || skip "$thing is not installed" ;;
		*)
			echo "requires: unknown requirement: $thing"
			return 1 ;;
		esac
	done
}

_can_mount() { [[ $EUID == 0 ]] && unshare -m mount -t tmpfs -o size=64k none /mnt 2>/dev/null; }

# records [FILE]: a msgpack stream as JSON Lines, one record a line, made by python3-msgpack.
# Timestamps become {"seconds":..,"nanoseconds":..}; NaN and infinities strings.
records() {
	"$PYTHON" "$PILOT_ROOT/t/records.py" "$@"
}

# field NAME [KIND] <JSON Lines: the field's value of each record (of that kind) that has it.
field() {
	jq -c --arg f "$1" --arg k "${2:-}" 'select($k == "" or .kind == $k) | .[$f] | select(. != null)' | sed 's/^"\(.*\)"$/\1/'
}

# ended PID SECONDS: waits until the process is gone (a zombie counts as gone); fails if it stays.
ended() {
	local pid=$1 n=$((${2:-10} * 20)) state
	while ((n-- > 0)); do
		state=$(sed -n 's/^State:[[:space:]]*//p' "/proc/$pid/status" 2>/dev/null) || return 0
		[[ -z $state || $state == Z* ]] && return 0
		sleep 0.05
	done
	echo "process $pid is still there: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
	return 1
}

# eventually SECONDS COMMAND...: tries until it succeeds.
eventually() {
	local n=$(($1 * 20))
	shift
	while ((n-- > 0)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.05
	done
	echo "never succeeded: $*"
	return 1
}

# What mandoc prints, without its overstriking.
plain() {
	sed "s/.$(printf '\b')//g"
}
