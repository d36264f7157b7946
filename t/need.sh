# need.sh - what pilot needs from the system: found by the Makefile, installed by demo and check.
# Sourced by sh; every function prints or returns, none exits.
# shellcheck shell=sh

# ---- found: compiler flags ----

# msgpack-c is `msgpack` in pkg-config up to 4.0 and `msgpack-c` from 6.0 on.
need_msgpack() {
	for p in msgpack-c msgpack; do
		if pkg-config --exists "$p" 2>/dev/null; then
			echo "$p"
			return
		fi
	done
	echo msgpack
}
# A CBLAS: OpenBLAS's OpenMP build where there is one, else any.
need_blas_name() {
	for p in openblas-openmp openblas blas-openblas cblas; do
		if pkg-config --exists "$p" 2>/dev/null; then
			echo "$p"
			return
		fi
	done
}
need_blas_cflags() {
	b=$(need_blas_name)
	[ -z "$b" ] || pkg-config --cflags "$b"
}
# Debian gives the builds of OpenBLAS one soname, and the alternatives may choose the pthread
# build, which fights with our threads: name the OpenMP build's folder in the binary.
need_blas_libs() {
	b=$(need_blas_name)
	if [ -z "$b" ]; then
		echo -lopenblas
		return
	fi
	pkg-config --libs "$b"
	d=$(pkg-config --variable=libdir "$b")
	case $d in
	*openblas-openmp*) if [ -e "$d/libopenblas.so.0" ]; then echo "-Wl,-rpath,${d%/}"; fi ;;
	esac
}
# For the commands: the static library where there is one. Loading the shared one, with its LAPACK
# and the Fortran runtime, costs more than the start-up of all the rest.
need_blas_static() {
	b=$(need_blas_name)
	d=
	[ -z "$b" ] || d=$(pkg-config --variable=libdir "$b")
	if [ -n "$d" ] && [ -e "${d%/}/libopenblas.a" ]; then
		# lib/dev asks for these only if they are there, and a static library gives only what is asked for.
		echo "-Wl,-u,openblas_set_num_threads,-u,openblas_get_config,-u,openblas_get_corename ${d%/}/libopenblas.a"
	else
		need_blas_libs
	fi
}
need_banner() {
	b=$(need_blas_name)
	v=
	kind=
	if [ -n "$b" ]; then
		v=$(pkg-config --modversion "$b")
		case $(need_blas_libs) in *openmp*) kind=' (OpenMP build)' ;; esac
	fi
	echo "pilot: compiler $1 -march=$2; BLAS: ${b:-not found}${v:+ $v}$kind; CUDA: not built (no device code in this version)"
}

# ---- installed: packages of Debian ----

# PACKAGE | how to see that it is there | what for. `build` makes the commands, `test` is what no
# test runs without; of `real`, each missing one only skips the tests that compare with it.
need_list() {
	case $1 in
	build) cat <<-'END' ;;
		gcc|command -v cc|the compiler
		libc6-dev|test -e /usr/include/stdio.h|the C library's headers
		make|command -v make|the build
		pkg-config|command -v pkg-config|finding the libraries
		libmsgpack-dev|pkg-config --exists "$(need_msgpack)"|records
		zlib1g-dev|pkg-config --exists zlib|ledger, compressed data
		libjansson-dev|pkg-config --exists jansson|reading JSON
		libssl-dev|pkg-config --exists libcrypto|digests
		libopenblas-openmp-dev|test -n "$(need_blas_name)"|matrix products
	END
	test) cat <<-'END' ;;
		bats|command -v bats|tests of the commands
		jq|command -v jq|tests of JSON, bench
		python3|test -x /usr/bin/python3|tests against readers that we did not write
		python3-msgpack|need_module msgpack|tests against a msgpack reader that we did not write
		python3-numpy|need_module numpy|tests of data files and numbers
		python3-scipy|need_module scipy|tests of statistics
		gzip|command -v zcat|tests of the ledger file
		mandoc|command -v mandoc|manual pages: lint and README
		procps|command -v ps|tests that no process stays behind
		git|command -v git|tests of the code's revision
	END
	real) cat <<-'END' ;;
		python3-torch|need_module torch|tests of numbers against PyTorch
		bible-kjv|command -v bible|real text
		bible-kjv-text|bible -f gen1:1|real text
		dataset-fashion-mnist|test -e /usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz|real images
		strace|command -v strace|tests of what is read and synced
		time|test -x /usr/bin/time|tests of memory
		miller|command -v mlr|bench
		sqlite3|command -v sqlite3|bench
		cppcheck|command -v cppcheck|lint
		shellcheck|command -v shellcheck|lint
		python3-pyflakes|need_module pyflakes|lint
	END
	esac
}
need_module() { /usr/bin/python3 -c "import importlib.util as u, sys; sys.exit(u.find_spec('$1') is None)"; }

# Packages of the sets named that are not there, a line each: PACKAGE|what for.
need_missing() {
	for set_ in "$@"; do
		need_list "$set_" | while IFS='|' read -r package check why; do
			if ! eval "$check" </dev/null >/dev/null 2>&1; then echo "$package|$why"; fi
		done
	done
}

# How to become root for apt-get: "", "sudo", or failure.
need_root() {
	if [ "$(id -u)" = 0 ]; then
		return 0
	elif command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
		echo sudo
	else
		return 1
	fi
}

# Package lists are fetched only when one of the packages is not in them, or installing fails.
need_apt() {
	sudo_=$1
	shift
	known=yes
	for p in "$@"; do
		apt-cache show "$p" >/dev/null 2>&1 || known=no
	done
	[ $known = yes ] || $sudo_ apt-get -q update || return 1
	set -- env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends -o Dpkg::Use-Pty=0 install "$@"
	$sudo_ "$@" && return 0
	[ $known = yes ] && $sudo_ apt-get -q update && $sudo_ "$@"
}

# need_install SET...: names what is missing and installs it (Debian, as root or with sudo);
# elsewhere names it and returns 1. Does nothing, and needs no network, where all is there.
need_install() {
	missing=$(need_missing "$@")
	[ -n "$missing" ] || return 0
	echo "pilot: missing packages (as Debian names them):"
	echo "$missing" | while IFS='|' read -r package why; do printf '  %-24s %s\n' "$package" "$why"; done
	if ! command -v apt-get >/dev/null 2>&1; then
		echo "pilot: not a Debian system: install them, then try again"
		return 1
	fi
	packages=$(echo "$missing" | cut -d'|' -f1 | tr '\n' ' ')
	if ! sudo_=$(need_root); then
		echo "pilot: not root, and no sudo: as root, run  apt-get install --no-install-recommends $packages"
		return 1
	fi
	echo "pilot: installing $packages"
	# shellcheck disable=SC2086  # words on purpose
	need_apt "$sudo_" $packages </dev/null
}

# What tests need; a missing package of `real` stops nothing.
need_install_tests() {
	need_install build test || return 1
	need_install real || echo "pilot: going on; tests that need one of these packages are skipped"
}
