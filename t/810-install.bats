# 810-install.bats - make install and uninstall; the package list.

load helpers

setup() { cd "$PILOT_ROOT"; }

@test "make install places the commands, the pages and the papers; uninstall removes them" {
	dest=$BATS_TEST_TMPDIR/dest
	run make -s BUILD="$PILOT_BUILD" PREFIX=/opt/pilot DESTDIR="$dest" install
	exits 0 "make install"
	for c in train-step probe-batch gate ledger; do
		[ -x "$dest/opt/pilot/bin/$c" ]
		[ -r "$dest/opt/pilot/share/man/man1/$c.1" ]
	done
	[ -r "$dest/opt/pilot/share/man/man5/pilot-record.5" ]
	[ -r "$dest/opt/pilot/share/man/man7/pilot.7" ]
	for d in README.md LICENSE NEWS; do
		cmp "$d" "$dest/opt/pilot/share/doc/pilot/$d"
	done
	run "$dest/opt/pilot/bin/gate" --version
	exits 0 "the installed gate"
	run make -s BUILD="$PILOT_BUILD" PREFIX=/opt/pilot DESTDIR="$dest" uninstall
	exits 0 "make uninstall"
	is "$(find "$dest" ! -type d)" "" "files left behind"
	[ ! -d "$dest/opt/pilot/share/doc/pilot" ]
}

@test "what is missing is named with what it is for" {
	# A system without package tools, where one library is missing.
	mkdir "$BATS_TEST_TMPDIR/bin"
	for c in sh cat id cut tr test; do ln -s "$(command -v $c)" "$BATS_TEST_TMPDIR/bin/$c"; done
	run env PATH="$BATS_TEST_TMPDIR/bin" sh -c '. ./t/need.sh && need_install build'
	exits 1 "need_install"
	is "$output" "~ libjansson-dev +reading JSON" "named"
	is "$output" "~ not a Debian system" "and not installed"
}

@test "where all is there nothing is installed" {
	# build's packages must be here: this was built.
	run sh -c '. ./t/need.sh && need_apt() { echo called; } && need_install build'
	exits 0
	is "$output" "" "says nothing"
}

@test "make help names every target that is for people, and none that is not there" {
	run make -s help
	exits 0 "make help"
	for t in $(sed -n 's/^make \([a-z-]*\) .*/\1/p' <<<"$output"); do
		grep -q "^$t:" Makefile
	done
	for t in demo check install uninstall bench; do is "$output" "~ make $t " "$t"; done
}
