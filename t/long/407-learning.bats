#!/usr/bin/env bats
# It learns what it should, given the time: the bounds of whole trainings.

load ../helpers
load ../train

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

@test "mlp 784-256-10 on Fashion-MNIST, 5 epochs: median test accuracy of three seeds at least 86.5 %" {
	requires fashion-mnist
	d=/usr/share/datasets/fashion-mnist
	for s in 1 2 3; do
		train-step -j -s $s -m mlp:hidden=256 -b 64 --epochs 5 -o adamw:lr=1e-3 --schedule cosine --val-every 0 --val-micro-batch 500 \
			-d "idx:images=$d/train-images-idx3-ubyte.gz,labels=$d/train-labels-idx1-ubyte.gz,test-images=$d/t10k-images-idx3-ubyte.gz,test-labels=$d/t10k-labels-idx1-ubyte.gz" >$s.jsonl
		of $s.jsonl end test_accuracy
	done >scores
	echo "# test accuracy of seeds 1, 2, 3: $(paste -sd' ' scores)" >&3 # 2026-11-30: 0.8759 0.8742 0.8743
	median=$(sort -n scores | sed -n 2p)
	jq -en --argjson m "$median" '$m >= 0.865'
}

@test "sums: above 98 % exact on pairs that were not trained on" {
	train-step -j -m gpt:layers=2,width=64,heads=4 -b 128 -n 5000 -o adamw:lr=5e-3,weight_decay=0.1 \
		--schedule cosine:warmup=200 --clip 1 --val-every 1000 --val-micro-batch 500 >r.jsonl
	echo "# exact: validation $(of r.jsonl end validation_accuracy), test $(of r.jsonl end test_accuracy)" >&3 # 2026-11-30: 0.996, 0.997
	jq -en --argjson v "$(of r.jsonl end validation_accuracy)" --argjson t "$(of r.jsonl end test_accuracy)" '$v > 0.98 and $t > 0.98'
}

@test "a 4-layer, 128-wide byte GPT on the King James Bible: below gzip -9" {
	requires kjv
	bible -f gen1:1-rev22:21 >kjv.txt
	bound=$(awk -v a="$(gzip -9 -c kjv.txt | wc -c)" -v b="$(wc -c <kjv.txt)" 'BEGIN { print a / b * 8 * log(2) }')
	train-step -j -m gpt:layers=4,width=128,heads=4 -d text:file=kjv.txt -l 64 -b 16 -n 2500 \
		-o adamw:lr=3e-3 --schedule cosine:warmup=50 --clip 1 --val-every 500 --val-micro-batch 100 >r.jsonl
	echo "# validation loss $(of r.jsonl end validation_loss), gzip -9 $bound" >&3 # 2026-11-30: 1.539, 1.641
	jq -en --argjson l "$(of r.jsonl end validation_loss)" --argjson b "$bound" '$l < $b'
}
