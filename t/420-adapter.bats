#!/usr/bin/env bats
# The adapter for PyTorch, by itself: what it says of a program, and that the program does not notice it.

load helpers

ADAPTER=$PILOT_ROOT/cmd/train-step/adapters/torch
TRAIN=$PILOT_ROOT/t/py/adapter_train.py

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	unset PYTHONPATH PILOT_RECORD_PATH
	export OMP_NUM_THREADS=1
	"$PYTHON" -c 'import torch' 2>/dev/null || skip "no PyTorch for $PYTHON"
}

# watched COMMAND...: run with the adapter; its lines go to `lines`, its output to `said`.
watched() {
	PILOT_RECORD_FD=9 PYTHONPATH=$ADAPTER timeout 120 "$@" 9>lines >said 2>err
}

# fact FILTER: what jq finds over all lines.
fact() {
	jq -sc "$1" lines
}

@test "the program does not notice: losses, weights, random numbers and output are the same with deep facts on" {
	"$PYTHON" "$TRAIN" >alone
	for evidence in none basic full; do
		PILOT_EVIDENCE=$evidence watched "$PYTHON" "$TRAIN"
		is "$(cat said)" "$(cat alone)" "$evidence"
		is "$(cat err)" "" "nothing on stderr"
		"$PYTHON" "$PILOT_ROOT/t/py/adapter_lines.py" lines
	done
	is "$(fact 'map(select(.kind == "check") | .name)')" '["repeat","future","rows","padding"]'
	run ! grep -q weights_only alone
}

@test "what it says of each update is what the program computes itself" {
	PILOT_EVIDENCE=full watched "$PYTHON" "$TRAIN" own=own.json
	"$PYTHON" "$PILOT_ROOT/t/py/adapter_lines.py" lines own.json
	is "$(fact '[.[] | select(.kind == "eval") | .loss * 1e4 | round]')" \
		"$(awk '/^validation/ {printf "%s%.0f", n++ ? "," : "[", $2 * 1e4} END {print "]"}' said)" "the mean over targets"
	is "$(fact '[.[] | select(.kind == "phase" and .phase == "validate") | [.batches, .examples, .last_rows, .evaluation_mode,
		.training_mode_after, .weights_changed, .buffers_changed, .optimizer_changed, .random_changed]] | unique')" \
		'[[3,10,2,true,null,false,false,false,false],[3,10,2,true,true,false,false,false,false]]'
	is "$(fact 'map(select(.kind == "step")) | map([.loss_function, .reduction, .divisor, .target_offset, .left_over, .dropped_passes,
		.training, .passes, .touched, .tensors]) | unique')" '[["NllLoss","mean",2,1,0,0,true,2,8,11]]'
	is "$(fact 'map(select(.kind == "step") | .scheduler_calls)')" '[0,1,1,1,1,1,1,1,1]'
	is "$(fact 'map(select(.kind == "model") | [.name, .tensors, .trainable_tensors, .frozen, .dropout_layers, .norm_layers])')" \
		'[["Net",11,9,["frozen.weight","frozen.bias"],1,1]]'
	is "$(fact 'map(select(.kind == "loader" and .event == "end") | [.split, .batches, .rows, .examples]) | unique')" \
		'[["validation",3,10,10]]'
	is "$(fact 'map(select(.phase == "backward") | [.gradients_missing, .gradients_zero, .gradients_nonfinite, .gradients_frozen]) | unique')" \
		'[[1,0,0,0]]' "only the tensor that nothing uses has no gradient"
	is "$(fact 'map(select(.phase == "update") | [.changed, .unchanged, .frozen_changed, .zero_changed, .tied_apart]) | unique')" '[[8,0,0,0,0]]'
	is "$(fact 'map(select(.kind == "phase" and .occurrence == "first") | .phase)')" '["data","forward","backward","update"]'
	is "$(fact 'map(select(.phase == "forward")) | all(.device_used_peak_bytes > 1e7 and .reserved_peak_bytes > .device_used_bytes)')" true
}

# one CASE FILTER EXPECTED: the case shows it, and the healthy program shows something else.
one() {
	watched "$PYTHON" "$TRAIN" "$1"
	is "$(fact "$2")" "$3" "$1"
	[[ $(jq -sc "$2" healthy) != "$3" ]] || { echo "$1: the healthy program shows $3 too"; return 1; }
}

@test "each thing that is wrong shows in a fact that is different in a healthy program (losses and gradients)" {
	watched "$PYTHON" "$TRAIN"
	mv lines healthy
	one nozero 'map(select(.kind == "step") | .left_over)' '[0,8,8,8,8,8,8,8,8]'
	one dropped 'map(select(.kind == "step") | [.dropped_passes, .passes]) | unique' '[[1,1]]'
	one shift 'map(select(.kind == "step") | .target_offset // empty) | unique' '[2]'
	one padding 'map(select(.kind == "step") | .padding_supervised // empty) | all(. > 0)' true
	one nan 'map(select(.phase == "backward") | .gradients_nonfinite)' '[0,0,8,8,8]'
	grep -q '"loss": "NaN"' lines
	one clip 'map(select(.kind == "step") | .clip) | unique' '[0.25]'
	one perpass 'map(select(.kind == "step") | .scheduler_calls) | unique' '[2]'
}

@test "each thing that is wrong shows in a fact that is different in a healthy program (tensors and modes)" {
	watched "$PYTHON" "$TRAIN"
	mv lines healthy
	one half 'map(select(.kind == "optimizer") | [.uncovered, .uncovered_names])' '[[1,["head.weight"]]]'
	one copied 'map(select(.kind == "model") | .equal_apart)' '[["embed.weight = head.weight"]]'
	one apart 'map(select(.phase == "update") | .tied_apart)' '[0,1,1,1,1]'
	one decay 'map(select(.phase == "update") | .zero_changed)' '[1,1,1,1,null]'
	one bf16 'map(select(.phase == "update") | .changed_share) | all(. < 0.5)' true
	one noeval 'map(select(.phase == "validate") | [.evaluation_mode, .buffers_changed]) | unique' '[[false,true]]'
	one staysoff 'map(select(.phase == "validate") | .training_mode_after) | unique' '[null,false]'
	one lastdropped 'map(select(.phase == "validate") | .examples) | unique' '[8]'
	PILOT_FREEZE='gru.*,nothing' watched "$PYTHON" "$TRAIN"
	is "$(fact 'map(select(.phase == "backward") | .declared_trainable) | unique')" '[4]'
}

@test "extra passes show outputs that depend on later tokens and on other rows" {
	for case in leak mixed; do
		PILOT_EVIDENCE=full watched "$PYTHON" "$TRAIN" $case updates=1
		cp lines $case
	done
	is "$(jq -sc '[.[] | select(.kind == "check") | select(.difference / .magnitude > 1e-4) | .name]' leak)" '["future","padding"]'
	is "$(jq -sc '[.[] | select(.kind == "check") | select(.difference / .magnitude > 1e-4) | .name]' mixed)" '["rows"]'
}

@test "a run stops at the next training forward, and its state comes back in a new process" {
	export PILOT_EVIDENCE=full
	watched "$PYTHON" "$TRAIN" updates=4 save=half.pt
	is "$(fact 'map(select(.kind == "save") | [.path, .holds, .optimizer_count, .in_place])')" \
		"[[\"$PWD/half.pt\",[\"count\",\"optimizer\",\"random\",\"schedule\",\"weights\"],4,false]]"
	# the program goes on after the save: its state then is the state of its first pass when resumed
	PILOT_UPDATES=3 watched "$PYTHON" "$TRAIN" load=half.pt
	is "$(fact 'map(select(.kind == "load") | [.path, .restored, .matched, .missing])')" \
		"[[\"$PWD/half.pt\",[\"optimizer\",\"random\",\"schedule\",\"weights\"],14,0]]"
	is "$(fact 'map(select(.kind == "step") | .update)')" '[1,2,3]' "stopped"
	is "$(fact 'map(select(.kind == "state") | [.at, .optimizer_count, .schedule_count])')" '[["start",4,4],["stop",7,7]]'
	mv lines first
	PILOT_UPDATES=3 watched "$PYTHON" "$TRAIN" load=half.pt
	is "$(fact 'map(select(.kind == "state"))')" "$(jq -sc 'map(select(.kind == "state"))' first)" "the same again"
	PILOT_CONTROL=cold PILOT_UPDATES=1 watched "$PYTHON" "$TRAIN" load=half.pt
	is "$(fact 'map(select(.at == "start") | [.optimizer_count, .schedule_count])')" '[[null,4]]' "cold"
	is "$(fact "map(select(.at == \"start\").weights_digest) == [$(jq -c 'select(.at == "start").weights_digest' first)]")" true
	is "$(fact "map(select(.at == \"start\").torch_random) == [$(jq -c 'select(.at == "start").torch_random' first)]")" false
}

@test "SIGTERM ends it between updates; a handler of the program's own stays" {
	cat >wait.py <<-'EOS'
		import os, signal, sys, torch
		model = torch.nn.Linear(3, 1)
		if len(sys.argv) > 1:
		    signal.signal(signal.SIGTERM, lambda *a: print("mine", flush=True))
		opt = torch.optim.SGD(model.parameters(), 0.1)
		for n in range(6):
		    loss = model(torch.ones(2, 3)).mean()
		    if n == 2:
		        os.kill(os.getpid(), signal.SIGTERM)
		    loss.backward()
		    opt.step()
		    print("after", n, flush=True)
	EOS
	watched "$PYTHON" wait.py
	is "$(tail -n 1 said)" "after 2"
	is "$(fact 'map(select(.kind == "state") | [.at, .update])')" '[["start",0],["stop",3]]'
	watched "$PYTHON" wait.py own
	is "$(grep -c -e mine -e 'after 5' said)" 2
	sed 's/if n == 2/if n == -1/; s/^for/os.kill(os.getpid(), signal.SIGTERM)\nfor/' wait.py >early.py
	run watched "$PYTHON" early.py
	exits 143 "before any training it ends as without the adapter"
}

@test "whoever swallows the end is ended all the same" {
	cat >swallow.py <<-'EOS'
		import torch
		model = torch.nn.Linear(3, 1)
		opt = torch.optim.SGD(model.parameters(), 0.1)
		while True:
		    try:
		        model(torch.ones(2, 3)).mean().backward()
		        opt.step()
		    except BaseException as e:
		        print(type(e).__name__)
	EOS
	PILOT_UPDATES=2 watched "$PYTHON" swallow.py
	is "$(uniq -c said | xargs)" "3 SystemExit"
	is "$(fact 'map(select(.kind == "step") | .update)')" '[1,2]'
}

@test "worker processes are silent, forked and spawned" {
	"$PYTHON" "$TRAIN" updates=3 workers=2 >alone
	for context in fork spawn; do
		watched "$PYTHON" "$TRAIN" updates=3 workers=2 context=$context
		is "$(cat said)" "$(cat alone)" "$context"
		"$PYTHON" "$PILOT_ROOT/t/py/adapter_lines.py" lines
	done
}

@test "another sitecustomize still runs, python -I is left alone, and so is a program without torch" {
	mkdir -p theirs
	echo 'import sys; sys.theirs = "theirs"' >theirs/sitecustomize.py
	echo 'import sys; print(sys.theirs)' >has.py
	PILOT_RECORD_FD=9 PYTHONPATH=$ADAPTER:theirs "$PYTHON" has.py 9>lines >said
	is "$(cat said)" theirs
	[ ! -s lines ]
	watched "$PYTHON" -I "$TRAIN" updates=1
	[ ! -s lines ]
	is "$(grep -c weights said)" 1
	cat >absent.py <<-'EOS'
		import sys
		sys.path[:] = [p for p in sys.path if "packages" not in p]
		try:
		    import torch
		except ImportError:
		    print("absent")
	EOS
	watched "$PYTHON" absent.py
	is "$(cat said)" absent
	[ ! -s lines ]
	# a descriptor that is not what it was
	PILOT_RECORD_FD=9 PILOT_RECORD_PATH=/nonexistent PYTHONPATH=$ADAPTER "$PYTHON" "$TRAIN" updates=1 9>lines >said 2>err
	is "$(grep -c weights said) $(wc -l <err)" "1 1"
	[ ! -s lines ]
}

@test "a reader that has gone away does not end the training" {
	"$PYTHON" "$TRAIN" updates=3 >alone
	mkfifo pipe
	head -n 1 pipe >first &
	PILOT_RECORD_FD=9 PYTHONPATH=$ADAPTER "$PYTHON" "$TRAIN" updates=3 9>pipe >said
	is "$(cat said)" "$(cat alone)"
	wait
	is "$(jq -r .kind first)" trainer
}

@test "what it cannot see it says: several optimizers, closures, updates by hand" {
	watched "$PYTHON" "$PILOT_ROOT/t/scripts/gan.py"
	is "$(fact 'map(select(.kind == "blind") | .reason)')" '["several optimizers step: Adam, Adam"]'
	watched "$PYTHON" "$PILOT_ROOT/t/scripts/lbfgs.py"
	is "$(fact 'map(select(.kind == "blind") | .reason)')" '["the optimizer calls its closure several times in an update"]'
	watched "$PYTHON" "$PILOT_ROOT/t/scripts/byhand.py"
	is "$(fact 'map(select(.kind == "blind") | .reason)')" '["no step of an optimizer was seen, of 40 forward and 40 backward passes"]'
}

@test "memory that runs out is told with its phase, the size asked for and the rows" {
	cat >big.py <<-'EOS'
		import torch
		model = torch.nn.Linear(1 << 10, 1 << 18)
		opt = torch.optim.SGD(model.parameters(), 0.1)
		model(torch.ones(1 << 12, 1 << 10)).sum().backward()
		opt.step()
	EOS
	run -1 bash -c "ulimit -v 4000000; exec train-step -j -- $PYTHON big.py >lines"
	is "$(fact 'map(select(.kind == "failure") | [.exception, .memory, .phase, .rows, .shape, .asked_bytes, .device])')" \
		'[["RuntimeError",true,"forward",4096,[4096,1024],4294967296,"cpu"]]'
}

@test "whether memory ran out is read from the words of a failure that does not say it" {
	failed() {
		train-step -j -- sh -c 'cat "$1" >&"$PILOT_RECORD_FD"' sh "$PWD/told" >lines 2>/dev/null
		is "$(fact 'map(select(.kind == "failure") | [.memory, .asked_bytes])')" "$1"
	}
	echo '{"kind":"failure","exception":"OutOfMemoryError","message":"CUDA out of memory. Tried to allocate 2.50 GiB (GPU 0)"}' >told
	failed '[[true,2684354560]]'
	echo '{"kind":"failure","exception":"OutOfMemoryError","message":"no room","memory":true}' >told
	failed '[[true,null]]'
	echo '{"kind":"failure","exception":"RuntimeError","message":"tried to allocate 4 bytes: out of memory","memory":false}' >told
	failed '[[false,null]]'
	echo '{"kind":"failure","exception":"RuntimeError","message":"tried to allocate 4 bytes: out of memory","asked_bytes":7}' >told
	failed '[[true,7]]'
	echo '{"kind":"failure","exception":"ValueError","message":"bad shape"}' >told
	failed '[[false,null]]'
}

# Two replicas, started with the environment that torchrun gives (Debian's torchrun does not run on its Python).
replicas() {
	export MASTER_ADDR=127.0.0.1 WORLD_SIZE=2 PILOT_RECORD_FD=9 PYTHONPATH=$ADAPTER
	MASTER_PORT=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	export MASTER_PORT
	RANK=0 LOCAL_RANK=0 timeout 120 "$PYTHON" "$@" 9>lines >said 2>err &
	RANK=1 LOCAL_RANK=1 timeout 120 "$PYTHON" "$@" 9>>lines.1 >/dev/null 2>err.1
	wait $!
	cat lines.1 >>lines
	unset PYTHONPATH PILOT_RECORD_FD WORLD_SIZE
}

@test "replicas: a record each, the same weights, stopped together" {
	PILOT_EVIDENCE=full PILOT_UPDATES=5 replicas "$PILOT_ROOT/t/scripts/ddp.py" --epochs 40
	is "$(fact 'map(select(.kind == "step") | [.update, .replicas, .rows]) | unique')" '[[1,2,6],[2,2,6],[3,2,6],[4,2,6],[5,2,6]]'
	is "$(fact 'map(select(.kind == "replica") | [.update, .rank, .replicas, .rows])')" '[[1,1,2,6],[2,1,2,6],[3,1,2,6],[4,1,2,6],[5,1,2,6]]'
	is "$(fact '(map(select(.kind == "step") | .weights_digest)) == (map(select(.kind == "replica") | .weights_digest))')" true
	is "$(fact '(map(select(.kind == "step") | .batch_digest)) == (map(select(.kind == "replica") | .batch_digest))')" false
	is "$(fact 'map(select(.kind == "trainer") | .rank) | sort')" '[0,1]'
	is "$(fact 'map(select(.kind == "model") | [.name, .wrapper])')" '[["Sequential","DistributedDataParallel"]]'
	is "$(fact 'map(select(.kind == "state") | [.at, .update])')" '[["start",0],["stop",5]]'
	# asked by a signal, each at a moment of its own
	sed 's/^        for xb, yb in loader:/&\n            if epoch == 2 + rank and os.environ.pop("LOCAL_RANK", ""): os.kill(os.getpid(), 15)/' \
		"$PILOT_ROOT/t/scripts/ddp.py" >asked.py
	replicas asked.py --epochs 40
	is "$(fact '[map(select(.kind == "step") | .update), map(select(.kind == "replica") | .update)] | map(max) | unique | length')" 1
	is "$(fact 'map(select(.at == "stop")) | length')" 1
}

@test "long lists are cut to the length of a line" {
	cat >long.py <<-'EOS'
		import torch
		layers = {"x" * 200 + str(n): torch.nn.Linear(2, 2) for n in range(40)}
		model = torch.nn.Sequential(*[torch.nn.ModuleDict({k: v}) [k] for k, v in layers.items()])
		for n, (name, layer) in enumerate(layers.items()):
		    model.add_module(name, layer)
		    layer.bias.requires_grad = n > 15
		opt = torch.optim.SGD([next(model.parameters())], 0.1)
		for n in range(4):
		    model(torch.ones(2, 2)).sum().backward()
		    opt.step()
	EOS
	watched "$PYTHON" long.py
	"$PYTHON" "$PILOT_ROOT/t/py/adapter_lines.py" lines
	is "$(fact 'map(select(.kind == "step")) | length')" 4
	is "$(fact 'map(select(.kind == "optimizer") | .uncovered)')" '[63]'
}

@test "what is saved into memory and then written is a save of that file; what is not written is a blind spot" {
	cat >mem.py <<-'EOS'
		import io, os, torch
		model = torch.nn.Linear(3, 1)
		opt = torch.optim.SGD(model.parameters(), 0.1)
		for i in range(4):
		    model(torch.ones(4, 3)).sum().backward()
		    opt.step()
		    opt.zero_grad()
		    held = io.BytesIO()
		    torch.save(model.state_dict(), held)
		    if i > 1:
		        with open('new', 'wb') as f:
		            f.write(held.getvalue())
		        os.rename('new', 'mem%d.pt' % i)
	EOS
	watched "$PYTHON" mem.py
	is "$(fact 'map(select(.kind == "save") | [.update, (.path | split("/") | last), .holds])')" '[[3,"mem2.pt",["weights"]],[4,"mem3.pt",["weights"]]]'
	is "$(fact 'map(select(.kind == "blind") | [.phase, .reason])')" '[["save","it saved into memory, and no file was written with that"]]'
}

@test "the classes are those of what the loss was given, whatever else the model returns" {
	cat >lstm.py <<-'EOS'
		import torch
		from torch import nn

		class Net(nn.Module):
		    def __init__(self):
		        super().__init__()
		        self.embed, self.lstm, self.head = nn.Embedding(11, 8), nn.LSTM(8, 6, batch_first=True), nn.Linear(6, 11)

		    def forward(self, ids):
		        out, hidden = self.lstm(self.embed(ids))
		        return hidden, self.head(out[:, -1])

		def train(model, ids, targets):
		    opt = torch.optim.SGD(model.parameters(), 0.1)
		    scores = model(ids)
		    nn.functional.cross_entropy(scores[1] if isinstance(scores, tuple) else scores, targets).backward()
		    opt.step()

		train(Net(), torch.randint(0, 11, (3, 5)), torch.randint(0, 11, (3,)))
	EOS
	{ sed '$d' lstm.py; echo 'train(nn.Conv2d(3, 5, 3), torch.ones(2, 3, 9, 8), torch.zeros(2, 7, 6, dtype=torch.long))'; } >picture.py
	watched "$PYTHON" lstm.py
	is "$(fact 'map(select(.kind == "step" or .phase == "forward") | .output_shape) | unique')" '[[3,11]]'
	watched "$PYTHON" picture.py
	is "$(fact 'map(select(.kind == "step") | .output_shape)')" '[[2,7,6,5]]' "a class for each point"
}

@test "a part of the model called alone validates nothing; two backward passes of one forward are one micro-batch" {
	cat >parts.py <<-'EOS'
		import torch
		from torch import nn
		model = nn.Sequential(nn.Linear(8, 4), nn.Sequential(nn.Dropout(0.1), nn.Linear(4, 8)))
		opt = torch.optim.SGD(model.parameters(), 0.1)
		for n in range(4):
		    x = torch.randn(6, 8)
		    y = model(x)
		    a, b = nn.functional.mse_loss(y, x), y.pow(2).mean()
		    a.backward(retain_graph=True)
		    b.backward()
		    opt.step()
		    opt.zero_grad()
		    print(round(1e4 * float(a + b)))
		    model.eval()
		    with torch.no_grad():
		        model[1](torch.randn(64, 4))
		        if n == 2:
		            model(x)
		    model.train()
	EOS
	watched "$PYTHON" parts.py
	is "$(fact 'map(select(.phase == "validate") | [.update, .batches, .examples])')" '[[3,1,6]]'
	is "$(fact 'map(select(.kind == "step") | [.passes, .rows, .pass_rows]) | unique')" '[[1,6,[6]]]'
	is "$(fact 'map(select(.kind == "step") | .loss * 1e4 | round)')" "[$(paste -sd, said)]" "both losses"
}
