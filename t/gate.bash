# gate.bash - what the tests of the gate share.
# shellcheck shell=bash

# A model and data that make an update in a millisecond, with dropout, accumulation, and an epoch's incomplete window.
SMALL=(-m "gpt:layers=1,width=16,heads=2" -b 4 -a 2 -n 14 --val-every 7 --save-every 7 --val-examples 30 --dropout 0.1)

# stream FILE: as JSON Lines; msgpack through a reader that pilot did not write.
stream() { if [[ $(head -c 1 "$1") == "{" ]]; then cat "$1"; else records "$1"; fi; }

# verdicts FILE: phase, verdict and reason of each, one a line.
verdicts() { stream "$1" | jq -r 'select(.kind == "verdict") | "\(.phase) \(.verdict)\(if .reason then ": " + .reason else "" end)"'; }

# evidence FILE PHASE
evidence() { stream "$1" | jq -r --arg p "$2" 'select(.kind == "verdict" and .phase == $p) | .evidence'; }

# opened FILE: none of the verdicts fails, and all but export are ok.
opened() {
	local v
	v=$(verdicts "$1" | grep -v '^export n/a' | grep -v ' ok$') || return 0
	echo "not ok:"
	echo "$v"
	return 1
}

# table FILE: a csv of three features and a class that follows from them.
table() {
	awk 'BEGIN { srand(1); print "a,b,c,label"; for (i = 0; i < 300; i++) { x = rand(); y = rand(); z = rand()
		print x "," y "," z "," (x > y ? "up" : z > .5 ? "down" : "side") } }' >"$1"
}
