#!/usr/bin/env bats
# Models and keys by their names, and defaults that can be read.

load helpers
load train

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

@test "the published sizes of GPT-2 go by their names" {
	train-step -j -m gpt2 --memory 1M >g.jsonl || is "$?" 1 "there is no room for it"
	is "$(of g.jsonl run parameters)" 124439808
	is "$(of g.jsonl plan load_bytes)" $((124439808 * 4))
}

@test "--help has the defaults, and an unknown key is told those that there are" {
	run -0 train-step --help
	is "$output" "~ --micro-batch N +examples in one forward and backward pass \(32\)"
	train-step -j -n 1 >r.jsonl
	is "$output" "~ --seed N[^(]*\($(of r.jsonl run seed)\)"
	is "$output" "~ --model SPEC[^(]*\($(of r.jsonl run model)\)"
	run -64 train-step -j -m gpt:colour=red
	is "$output" '~ unknown key "colour" \(there are: layers, width, heads, context, vocab, tied\)'
}
