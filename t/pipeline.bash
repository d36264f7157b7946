# pipeline.bash - what the tests of whole pipelines share.
# shellcheck shell=bash disable=SC2034,SC2154

# A run of half a second, and one that does not end by itself; in the words of a shell.
TRAIN='train-step -m gpt:layers=1,width=16,heads=2 -b 8 -n 10 --val-every 5 --val-examples 16'
ENDLESS='train-step -m gpt:layers=1,width=16,heads=2 -b 8 -n 100000000 --val-every 0 --val-examples 16'

# last STATUS PIPELINE [OR]: runs it in sh, which knows no pipefail; its status is that of the last member.
last() {
	local s=0
	timeout 60 sh -c "$2" >out 2>err || s=$?
	is "$s" "$1" "exit status of: $2" || { cat err; return 1; }
}

# kept LEDGER: whatever was said, what the ledger holds is whole.
kept() { ledger verify "$1" >/dev/null; }
