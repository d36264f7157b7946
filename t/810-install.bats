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
	[ -r "$dest/opt/pilot/share/pilot/devices.tsv" ]
	for d in README.md LICENSE NEWS; do
		cmp "$d" "$dest/opt/pilot/share/doc/pilot/$d"
	done
	for f in $(cd cmd/train-step/adapters/torch && find . -name '*.py'); do
		cmp "cmd/train-step/adapters/torch/$f" "$dest/opt/pilot/libexec/pilot/torch/$f"
	done
	[ -r "$dest/opt/pilot/libexec/pilot/torch/sitecustomize.py" ]
	run "$dest/opt/pilot/bin/gate" --version
	exits 0 "the installed gate"
	mkdir "$dest/opt/pilot/libexec/pilot/torch/__pycache__" # as Python leaves it
	touch "$dest/opt/pilot/libexec/pilot/torch/__pycache__/sitecustomize.cpython-311.pyc"
	run make -s BUILD="$PILOT_BUILD" PREFIX=/opt/pilot DESTDIR="$dest" uninstall
	exits 0 "make uninstall"
	is "$(find "$dest" ! -type d)" "" "files left behind"
	[ ! -d "$dest/opt/pilot/share/doc/pilot" ]
	[ ! -d "$dest/opt/pilot/share/pilot" ]
	[ ! -d "$dest/opt/pilot/libexec/pilot" ]
}

@test "the installed train-step finds its adapter, wherever it is called from" {
	requires torch
	dest=$BATS_TEST_TMPDIR/dest
	make -s BUILD="$PILOT_BUILD" PREFIX=/opt/pilot DESTDIR="$dest" install
	cat >"$BATS_TEST_TMPDIR/small.py" <<-'END'
		import torch
		model = torch.nn.Linear(3, 1)
		optimizer = torch.optim.SGD(model.parameters(), 0.1)
		for _ in range(3):
		    model(torch.ones(4, 3)).sum().backward()
		    optimizer.step()
		    optimizer.zero_grad()
	END
	cd "$BATS_TEST_TMPDIR"
	ln -s "$dest/opt/pilot/bin/train-step" linked
	for c in "$dest/opt/pilot/bin/train-step" ./linked; do
		OMP_NUM_THREADS=1 "$c" -j -- "$PYTHON" small.py >out.jsonl
		is "$(jq -r 'select(.kind == "step") | "\(.update) \(.rows)"' out.jsonl | xargs)" "1 4 2 4 3 4" "updates seen by $c"
	done
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
