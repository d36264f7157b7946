#!/usr/bin/env bats
# It learns: a fixed, short budget on real text and on real images, with bounds from measured runs.

load helpers
load train

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

@test "a byte-level GPT on the King James Bible: 400 updates, below 2.15 nats per byte on held-out text" {
	requires kjv
	bible -f gen1:1-rev22:21 >kjv.txt
	train-step -j -m gpt:layers=2,width=64,heads=4 -d text:file=kjv.txt -l 32 -b 32 -n 400 \
		-o adamw:lr=5e-3 --schedule cosine:warmup=20 --clip 1 --val-examples 1000 --val-micro-batch 100 >r.jsonl
	loss=$(of r.jsonl end validation_loss)
	echo "validation loss $loss" # measured: 2.08; the frequencies of single bytes alone give 3.15, of pairs 2.31
	jq -en --argjson l "$loss" '$l < 2.15 and $l > 1.2'
	# Held-out text is text that was not trained on, so it is never easier than by this much.
	is "$(phase r.jsonl data first shared_examples)" 0
}

@test "an MLP on Fashion-MNIST: a fifth of an epoch, above 78 % on the test files" {
	requires fashion-mnist
	d=/usr/share/datasets/fashion-mnist
	train-step -j -m mlp:hidden=128 -b 64 -n 180 -o adamw:lr=2e-3 --val-every 0 --val-micro-batch 500 \
		-d "idx:images=$d/train-images-idx3-ubyte.gz,labels=$d/train-labels-idx1-ubyte.gz,test-images=$d/t10k-images-idx3-ubyte.gz,test-labels=$d/t10k-labels-idx1-ubyte.gz" >r.jsonl
	a=$(of r.jsonl end test_accuracy)
	echo "test accuracy $a"
	jq -en --argjson a "$a" '$a > 0.78'
	# The score is what the test files hold, counted without us.
	is "$(jq 'select(.kind == "eval" and .split == "test") | .examples' r.jsonl)" 10000
	[ "$(jq -r 'select(.kind == "run") | .validation_examples' r.jsonl)" -gt 0 ]
	is "$(($(of r.jsonl run validation_examples) + $(of r.jsonl run train_examples)))" 60000
}
