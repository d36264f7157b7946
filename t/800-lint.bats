# 800-lint.bats - the rules of the house hold.

load helpers

setup() { cd "$PILOT_ROOT"; }

@test "a file includes only its own or a lower floor" {
	run sh t/lint-layers
	exits 0 "t/lint-layers"
}

@test "the layer check sees what breaks the rule" {
	mkdir -p "$BATS_TEST_TMPDIR/t" "$BATS_TEST_TMPDIR/lib/base" "$BATS_TEST_TMPDIR/lib/wire" "$BATS_TEST_TMPDIR/cmd/x"
	cp t/lint-layers "$BATS_TEST_TMPDIR/t"
	cd "$BATS_TEST_TMPDIR"
	touch lib/wire/wire.h
	printf '/* x */\n#include "../wire/wire.h"\n' >lib/base/x.c
	run sh t/lint-layers
	exits 1
	is "$output" "~ lib/base/x.c: includes ../wire/wire.h" "upwards"
	printf '/* x */\n#include <zlib.h>\n' >lib/base/x.c
	run sh t/lint-layers
	exits 1
	is "$output" "~ lib/base/x.c: includes <zlib.h>" "a library of another floor"
	printf '/* x */\n' >lib/base/x.c
	printf '/* x */\n#include "../base/x.c"\n' >lib/wire/y.c
	run sh t/lint-layers
	exits 0 "downwards"
}

@test "lib/ never prints and never exits; functions are short" {
	run sh t/lint-code
	exits 0 "t/lint-code"
}

@test "the code check sees what breaks the rule" {
	mkdir -p "$BATS_TEST_TMPDIR"/{t,lib/base,cmd/x}
	cp t/lint-code "$BATS_TEST_TMPDIR/t"
	echo "/* y */" >"$BATS_TEST_TMPDIR/cmd/x/y.c"
	cd "$BATS_TEST_TMPDIR"
	for bad in 'printf("x");' 'fprintf(stderr, "x");' 'exit(1);' 'fputs("x", stdout);' 'abort();' 'assert(x);'; do
		printf '/* x */\nint f(void)\n{\n\t%s\n\treturn 0;\n}\n' "$bad" >lib/base/x.c
		run sh t/lint-code
		exits 1 "$bad"
	done
	printf '/* x */\nint f(void)\n{\n\tbuf_printf(b, "x"); snprintf(s, 1, "x"); my_exit(1); /* printf() */\n}\n' >lib/base/x.c
	run sh t/lint-code
	exits 0 "what only looks like it"
	{ printf '/* x */\nint f(void)\n{\n'; yes '	x++;' | head -61; echo '}'; } >lib/base/x.c
	run sh t/lint-code
	exits 1 "61 lines"
}

@test "shell scripts pass shellcheck" {
	requires shellcheck
	run shellcheck -x -S warning -e SC1010,SC2034,SC2154 t/run t/strangers t/*.sh t/lint-* t/bench/*.sh t/*.bash .ci/run
	exits 0 "shellcheck"
}

@test "the adapter for PyTorch is short, typed, and Python 3.8" {
	run sh t/lint-adapter
	exits 0 "t/lint-adapter"
}

@test "the adapter's check sees what breaks the rule" {
	mkdir "$BATS_TEST_TMPDIR/a"
	file=$BATS_TEST_TMPDIR/a/x.py
	good='"""Says x."""\n\n\ndef f() -> int:\n    return 1\n'
	printf "$good" >"$file"
	run sh t/lint-adapter "$BATS_TEST_TMPDIR/a"
	exits 0 "what is in order"
	while IFS='|' read -r bad words; do
		printf "$good$bad" >"$file"
		run sh t/lint-adapter "$BATS_TEST_TMPDIR/a"
		exits 1 "$bad"
		is "$output" "~ $words" "$bad"
	done <<-'END'
		match f():\n    case 1:\n        pass\n|not Python 3.8
		import requests\n\nrequests.get\n|imports requests
		def g():\n    return 1\n|g: no type of what it returns
		def h() -> int:\n    (\n
	END
	{ printf "$good"; yes "f()" | head -1200; } >"$file"
	run sh t/lint-adapter "$BATS_TEST_TMPDIR/a"
	exits 1 "1200 lines"
}

@test "the compiler warns of nothing" {
	run make -s -j2 BUILD="$BATS_TEST_TMPDIR/build" OPT=-O1 SAN=-Werror compile
	exits 0 "make compile with -Werror"
}

@test "the manual pages are clean" {
	requires mandoc
	run mandoc -T lint -W warning man/*.[1-8]
	exits 0 "mandoc -T lint"
}

@test "C passes cppcheck" {
	requires cppcheck
	run sh t/lint-cppcheck
	exits 0 "cppcheck"
}

@test "gate, ledger and probe-batch load no device code" {
	requires ldd
	for c in gate ledger probe-batch; do
		run ldd "$PILOT_BIN/$c"
		exits 0 "ldd $c"
		is "$output" "~ libc\\.so" "ldd lists libraries"
		is "$(grep -E 'blas|gomp|cuda|lapack' <<<"$output")" "" "$c's libraries"
		is "$(nm "$PILOT_BIN/$c" | grep -ciE 'gemm|gomp')" 0 "$c's functions"
	done
	run ldd "$PILOT_BIN/train-step"
	is "$output" "~ gomp" "the check sees OpenMP in train-step"
	run grep -c cblas_sgemm <(nm "$PILOT_BIN/train-step")
	exits 0 "the check sees BLAS in train-step"
}
