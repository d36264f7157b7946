#!/bin/sh
# demo.sh - make demo: installs what the build needs, builds, probes a small model on the embedded
# data, judges it, keeps it in demo.ledger, and shows what the ledger has now.
set -u
cd "$(dirname "$0")/.." || exit 70
build=${PILOT_BUILD:-build}
ledger=${DEMO_LEDGER:-demo.ledger}

. ./t/need.sh
need_install build || exit 1
# The first make may have looked for libraries before they were there: a new one looks again.
make -s -j"$(nproc)" BUILD="$build" all || exit 1
PATH=$(cd "$build/bin" && pwd):$PATH
export PATH

say() { printf '\n$ %s\n' "$*"; }

say "probe-batch | gate | ledger append -e $ledger"
begin=$(date +%s)
probe-batch | gate | ledger append -e "$ledger"
status=$?
echo "(exit status $status, $(($(date +%s) - begin)) s)"
[ -e "$ledger" ] || exit "$status"

say "ledger show -t --last $ledger"
ledger show -t --last "$ledger" || exit
say "ledger summary $ledger"
ledger summary "$ledger" || exit
exit "$status"
