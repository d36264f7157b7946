# 120-stranger-text.bats - what a person sees of a command in the trainer's place: as it comes, and out of a ledger.

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	T='"t":"2026-11-30T18:34:05Z"'
	R='"run":"01JDZ3NDEKTSV4RRFFQ69G5FAV"'
}
text() { "$PILOT_BUILD/tools/recat" -t; }
# rec KIND FIELDS: one record of the run.
rec() { echo "{\"kind\":\"$1\",$T,$R${2:+,$2}}"; }
# A run record of a command: FIELDS come behind those that every one has.
command_run() { rec run "\"role\":\"${2:-train}\",\"trainer\":\"command\",\"device\":\"cpu\"${1:+,$1}"; }

a_run() {
	command_run '"command":["python","sub/train.py","--batch_size={micro_batch}","--name=it'\''s"],"program":["python","sub/train.py","--batch_size=8","--name=it'\''s"],"resume_with":"python train.py --init_from=resume","env":["A=b c"],"micro_batch":8,"accum":1,"seed":7,"updates":50,"cores":2,"cwd":"/home/u/x","memory_bytes":2147483648,"memory_cap":"address space of each process (RLIMIT_AS)"'
	rec trainer '"name":"torch","version":"1.13.1","language":"Python 3.11.2","threads":2,"devices":["cpu"],"rank":0'
	rec model '"name":"GPT","tensors":52,"trainable_tensors":50,"parameters":10788929,"frozen":["emb.weight","emb.bias","more"],"dropout_layers":1,"precision":"float32","device":"cpu"'
	rec phase '"phase":"forward","occurrence":"first","micro_batch":8,"length":64,"passes":4,"reserved_peak_bytes":2147483648,"device_used_peak_bytes":314572800,"seconds":0.1'
	rec optimizer '"name":"AdamW","groups":2,"lr":[0.001,0.001],"weight_decay":[0.1,0.0],"tensors":48,"uncovered":2,"uncovered_names":["a","b"]'
	for n in {1..30}; do rec step "\"update\":$n,\"rows\":32,\"passes\":4,\"loss\":4.25,\"lr\":0.001,\"gradient_norm\":1.5,\"seconds\":0.1"; done
	rec eval '"split":"validation","update":30,"loss":4.125,"batch_mean_loss":4.2,"printed":"batch_mean_loss","examples":36'
	rec save '"update":30,"path":"/home/u/x/ckpt.pt","digest":"sha256:0","bytes":1048576,"holds":["weights","optimizer"],"in_place":true'
}
its_end() { rec end '"status":"done","why":"stopped after 30 updates","updates":30,"examples":960,"seconds":12.5,"cause":"updates","exit_status":0,"cpu_seconds":20.5,"processes":3,"resident_peak_bytes":536870912,"address_peak_bytes":5368709120,"files_written":1,"bytes_written":1048576,"files":["ckpt.pt"]'; }

@test "a run of a command shows the command in place of model and data, and what it was given" {
	a_run | text >out
	is "$(head -n 9 out)" "
run 01JDZ3NDEKTSV4RRFFQ69G5FAV  train, 2026-11-30T18:34:05Z
  command     python sub/train.py --batch_size=8 '--name=it'\''s'
  resume with python train.py --init_from=resume
  set for it  'A=b c'
  in          /home/u/x
  given       {micro_batch} = 8
  budget      50 updates of this process, then it is stopped
  capped by   address space of each process (RLIMIT_AS)" "the header"
	run ! grep -E '^  (model|data|batch) +.*[{]|seed' out
	command_run '"command":["./a.out"],"cwd":"/tmp/x","origin":"/home/u"' | text >out
	is "$(<out)" "~ a copy of   /home/u"
	is "$(<out)" "~ command     ./a.out" "without a program line"
	is "$(<out)" "~ budget      none: it runs to its own end" "no budget"
	run ! grep -qE 'given|model|data' out
}

@test "model and optimizer have one line each, what is in no optimizer another" {
	a_run | text >out
	is "$(grep -A1 '^  watched' out)" "  watched by  torch 1.13.1, Python 3.11.2, 2 threads, on cpu
  model       GPT: 10,788,929 parameters in 52 tensors, 2 of them frozen (emb.weight, emb.bias, ..), float32 on cpu, 1 dropout layer" "trainer and model"
	is "$(grep -A1 '^  optimizer' out)" "  optimizer   AdamW: rate 0.001, weight decay 0.1 | 0, 48 tensors in 2 groups
              2 trainable tensors are in no optimizer: a, b" "optimizer"
	rec model '"name":"Net","number":2,"wrapper":"compiled","tensors":1,"trainable_tensors":1,"parameters":4,"equal_apart":["e.weight","o.weight"]' | text >out
	is "$(<out)" "  model 2     Net in compiled: 4 parameters in 1 tensor, all trained, equal and not tied: e.weight, o.weight" "a second one"
	rec trainer '"name":"x","rank":1,"replicas":2,"fault":"hook: died"' | text >out
	is "$(<out)" "  watched by  x, replica 1 of 2
              a fault in the adapter itself: hook: died" "another rank, and a fault"
}

@test "updates of a command show their examples in the place of epochs; what is odd stands behind the row" {
	{
		rec step '"update":1,"rows":32,"passes":4,"loss":4.25,"lr":0.001,"seconds":0.1'
		rec step '"update":2,"rows":30,"passes":4,"loss":"NaN","left_over":12,"training":false,"dropped_passes":1'
		rec step '"update":3,"loss":2'
		rec step '"update":4,"epoch":0.5,"rows":8,"loss":2'
	} | text | sed 's/ *$//' >out
	is "$(<out)" "
  update      rows        loss         lr  grad norm   ms/update  examples/s
       1     8 x 4      4.2500      0.001                  100.0       320.0
       2        30         NaN                                                not in training mode  12 gradients were left over  1 pass was thrown away
       3                2.0000

  update     epoch        loss         lr  grad norm   ms/update  examples/s
       4     0.500      2.0000" "both headers, each once"
}

@test "validations, saves and loads say what they held" {
	a_run | text >out
	is "$(tail -n 2 out)" "  validation at update 30: loss 4.1250, mean of batch means 4.2000 (as printed), on 36 examples
  saved at update 30: /home/u/x/ckpt.pt, 1.0M, holds weights, optimizer; written over the one before" "validation and save"
	rec eval '"split":"validation","update":1,"batch_mean_loss":4.5,"examples":1' | text >out
	is "$(<out)" "  validation at update 1: loss 4.5000, a mean of batch means, on 1 example" "only the mean of means"
	{
		rec load '"update":0,"path":"ckpt.pt","holds":["weights","optimizer"],"restored":["weights"],"matched":52,"missing":0,"unexpected":1'
		rec load '"update":0,"path":"ckpt.pt","holds":["weights"]'
	} | text >out
	is "$(<out)" "  loaded at update 0: ckpt.pt, holds weights, optimizer; put back: weights; 52 tensors matched, 1 not of the model
  loaded at update 0: ckpt.pt, holds weights; nothing of it was put back" "loads"
}

@test "loaders, states, replicas, checks and blind spots have one short line; no digest is shown whole" {
	digest=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
	{
		rec loader '"event":"begin","number":1,"pass":1,"update":0,"name":"TensorDataset","examples":220,"micro_batch":8,"sampler":"RandomSampler","workers":1,"drop_last":true'
		rec loader "\"event\":\"end\",\"number\":1,\"pass\":1,\"update\":27,\"split\":\"train\",\"batches\":27,\"rows\":216,\"repeated\":2,\"waiting\":1,\"order_digest\":\"$digest\""
		rec state "\"update\":20,\"at\":\"stop\",\"weights_digest\":\"$digest\",\"optimizer_digest\":\"$digest\",\"torch_random\":\"$digest\",\"batch_digest\":\"$digest\",\"optimizer_count\":20,\"schedule_count\":20,\"lr\":0.0006,\"scale\":1024.0"
		rec replica "\"rank\":1,\"replicas\":2,\"update\":3,\"rows\":8,\"loss\":4.5,\"weights_digest\":\"$digest\""
		rec check '"name":"future","update":1,"difference":0.25,"magnitude":4.0'
		rec check '"name":"rows","update":1,"reason":"one row"'
		rec blind '"phase":"update","reason":"two optimizers step"'
		rec blind '"phase":"all","reason":"no line came"'
	} | text >out
	is "$(<out)" "  loader 1, pass 1 begins at update 0: TensorDataset, 220 examples in batches of 8, RandomSampler, 1 worker, an incomplete batch is left out
  loader 1, train, pass 1 ends at update 27: 27 batches of 216 examples, 2 of them given out twice, 1 backward pass without an update, order 01234567
  state at stop, update 20, optimizer at 20, schedule at 20, rate 0.0006, loss scale 1.02e+03, weights 01234567, batch 01234567
  replica 1 of 2 at update 3: loss 4.5000, 8 examples, weights 01234567
  checked future at update 1: outputs differ by 0.2500 of 4.0000
  checked rows at update 1: not made: one row
  not seen    update: two optimizers step
  not seen    anything: no line came" "the lines"
}

@test "an end tells why, the last words, the cause, and what was seen from outside" {
	its_end | text >out
	is "$(<out)" "
  done after 30 updates, 960 examples, in 12.5 s
    stopped after 30 updates
  cause       stopped after its updates, exit status 0
  of the host 512.0M resident at the peak, address space 5.0G
  processor   20.5 s in 3 processes at most
  wrote       1 file, 1.0M: ckpt.pt" "a good end"
	{
		rec failure '"exception":"RuntimeError","message":"no memory: you tried 1073741824 bytes","phase":"forward","update":2,"memory":true,"device":"cpu","asked_bytes":1073741824,"shape":[8,64]'
		rec end '"status":"error","why":"it raised ValueError","updates":1,"examples":1,"cause":"exception","exit_status":1,"exception":"ValueError","processes":1,"cpu_seconds":0.5,"lines_refused":2,"stderr":["Traceback (most recent call last):","ValueError: no"]'
		rec end '"status":"killed","cause":"signal","signal":"SIGKILL","lines_refused":1'
	} | text >out
	is "$(<out)" "  RuntimeError in forward after update 2, on 8 x 64, asked for 1.0G of cpu
    no memory: you tried 1073741824 bytes

  error after 1 update, 1 example
    it raised ValueError
    | Traceback (most recent call last):
    | ValueError: no
  cause       exception ValueError, exit status 1
  processor   0.500 s in 1 process
  refused     2 lines of its protocol

  killed
  cause       signal SIGKILL
  refused     1 line of its protocol" "bad ends"
}

@test "a stranger's control characters never reach the terminal" {
	bad='a\u001b[31m\u0007\u009b\u202eb'
	{
		command_run "\"command\":[\"$bad\"],\"env\":[\"$bad\"],\"resume_with\":\"$bad\",\"cwd\":\"$bad\",\"memory_cap\":\"$bad\",\"step_regex\":\"$bad\",\"evidence\":\"$bad\""
		rec trainer "\"name\":\"$bad\",\"version\":\"$bad\",\"language\":\"$bad\",\"program\":\"$bad\",\"devices\":[\"$bad\"],\"fault\":\"$bad\""
		rec blind "\"phase\":\"$bad\",\"reason\":\"$bad\""
		rec model "\"name\":\"$bad\",\"wrapper\":\"$bad\",\"tensors\":2,\"trainable_tensors\":1,\"frozen\":[\"$bad\"],\"precision\":\"$bad\",\"device\":\"$bad\",\"equal_apart\":[\"$bad\"]"
		rec optimizer "\"name\":\"$bad\",\"uncovered\":1,\"uncovered_names\":[\"$bad\"]"
		rec loader "\"event\":\"begin\",\"split\":\"$bad\",\"name\":\"$bad\",\"sampler\":\"$bad\""
		rec loader "\"event\":\"end\",\"order_digest\":\"$bad\""
		rec load "\"path\":\"$bad\",\"holds\":[\"$bad\"],\"restored\":[\"$bad\"]"
		rec state "\"update\":1,\"at\":\"$bad\",\"weights_digest\":\"$bad\",\"batch_digest\":\"$bad\""
		rec replica "\"rank\":1,\"update\":1,\"weights_digest\":\"$bad\""
		rec check "\"name\":\"$bad\",\"reason\":\"$bad\""
		rec save "\"update\":1,\"path\":\"$bad\",\"digest\":\"$bad\",\"holds\":[\"$bad\"]"
		rec failure "\"exception\":\"$bad\",\"message\":\"$bad\",\"phase\":\"$bad\",\"device\":\"$bad\""
		rec end "\"status\":\"$bad\",\"why\":\"$bad\",\"cause\":\"$bad\",\"signal\":\"$bad\",\"exception\":\"$bad\",\"files_written\":1,\"files\":[\"$bad\"],\"stderr\":[\"$bad\"]"
	} >in
	text <in >out
	ledger summary in >>out
	ledger show -t in >>out
	is "$(grep -c 'x1b' out)" "~ ^[4-9][0-9]$" "lines with an escape that is shown"
	obeyed='[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae'
	run ! env LC_ALL=C grep -qP "$obeyed" out
	for c in '\x1b' '\xc2\x9b' '\xe2\x80\xae'; do # the pattern finds what it must
		printf "$c" | LC_ALL=C grep -qP "$obeyed"
	done
}

@test "of the phases of an update the first and a steady one are shown" {
	{
		rec phase '"phase":"backward","occurrence":"first","update":0,"seconds":0.1'
		rec phase '"phase":"backward","update":1,"gradients_missing":0,"seconds":0.2'
		rec phase '"phase":"validate","update":1,"seconds":0.3'
	} | text >out
	is "$(tail -n +3 out | awk '{ print $1, $NF }' | xargs)" "backward, 0.100 validate 0.300" "rows"
}

@test "a trial's column names the counter that it shows" {
	trial() { echo "{\"kind\":\"trial\",$T,$R,\"probe\":\"P\",\"micro_batch\":$1,\"verdict\":\"$2\"$3}"; }
	{
		trial 1 fits ',"reserved_peak_bytes":2097152,"device_used_peak_bytes":1048576'
		trial 2 oom
		trial 4 fits ',"allocated_peak_bytes":3145728,"reserved_peak_bytes":2097152'
		trial 8 fits ',"device_used_peak_bytes":4194304'
	} | text >out
	is "$(sed -n '2p' out)" "~ tokens/s  reserved$" "reserved"
	is "$(sed -n '3p' out)" "~ 2.0M$" "its row"
	is "$(sed -n '4p' out)" "~ 2           oom" "a row without stands under it"
	is "$(grep -A1 'peak$' out | tail -n 1)" "~ 3.0M$" "allocated"
	is "$(grep -A1 'used$' out | tail -n 1)" "~ 4.0M$" "used"
	echo "{\"kind\":\"probe\",$T,\"id\":\"P\",\"status\":\"found\",\"trials\":1}" | text >out
	is "$(<out)" "~ cost        1 trial$" "one trial"
}

@test "the ledger tells such a run in order: the command, its parts, the updates, the end" {
	{ a_run; its_end; } >a.jsonl
	ledger show -t a.jsonl >out
	is "$(grep -nE '^  (command|watched by|model|optimizer|update|validation|saved|done)' out | sed -E 's/^[0-9]+:  ([a-z]+).*/\1/' | xargs)" \
		"command watched model optimizer update validation saved done" "the order"
	is "$(<out)" "~ 20 of 30 shown" "a handful of updates"
	{
		a_run
		for n in {1..30}; do rec loader "\"event\":\"end\",\"number\":1,\"pass\":$n,\"batches\":1"; done
		for n in {1..40}; do rec replica "\"rank\":1,\"update\":$n"; done
		its_end
	} >many.jsonl
	ledger show -t many.jsonl >out
	is "$(grep -c '^  loader' out)" 20 "loaders shown"
	is "$(<out)" "~ 20 of 40 shown" "replicas"
	ledger show -t --steps many.jsonl >out
	is "$(grep -c '^  loader' out)" 30 "with --steps all"
}

@test "summary: the script, its model and optimizer, the rows that came, the counter of the peak" {
	{ a_run; its_end; } >a.jsonl
	run -0 ledger summary a.jsonl
	is "$output" "~ train.py GPT AdamW  8x4 +30/50 +4.125 .* 512.0M resident  - +done$" "the row"
	ledger append -e x.ledger <a.jsonl || true
	run -0 ledger summary -j x.ledger
	is "$(jq -r '[.program, .model, .optimizer, .data, .micro_batch, .accum, .resident_peak_bytes, .verdict] | map(tostring) | join(" ")' <<<"$output")" \
		"train.py GPT AdamW null 8 4 536870912 null" "through a ledger, steps unread"
	# A run that said nothing of itself: the script from the command line, and - for what was not seen.
	for c in '["torchrun","--nproc_per_node=2","/a/b/train.py","x.bin"]=train.py' '["python","-m","pkg.train"]=pkg.train' '["/bin/my-trainer","--lr=0.1.py"]=my-trainer' '["python3.11","-c","print(1)"]=python3.11' '["sh","run.sh"]=run.sh'; do
		{ command_run "\"command\":${c%%]=*}]"; rec end '"status":"done"'; } >b.jsonl
		run -0 ledger summary b.jsonl
		is "$(tail -n 1 <<<"$output")" "~ ${c##*]=}  - +- +- +- +- +- +- +done$" "$c"
	done
}

@test "summary: on a device the peak is the tensors', or else the device's" {
	gpu() { { rec run '"role":"train","trainer":"command","device":"cuda:0","command":["a"]'; rec end "\"status\":\"done\",\"resident_peak_bytes\":1048576$1"; } | ledger summary; }
	is "$(gpu ',"allocated_peak_bytes":2097152,"device_used_peak_bytes":3145728')" "~ 2.0M  +- +done" "allocated"
	is "$(gpu ',"device_used_peak_bytes":3145728')" "~ 3.0M device  +- +done" "device"
	is "$(gpu '')" "~ 1.0M resident  +- +done" "host"
}

@test "summary: a probe of a command, its verdicts, and one trial in the singular" {
	{
		echo "{\"kind\":\"run\",$T,\"run\":\"01JDZ3NDEKTSV4RRFFQ69G5FAA\",\"role\":\"trial\",\"parent\":\"01JDZ3NDEKTSV4RRFFQ69G5FAP\",\"trainer\":\"command\",\"command\":[\"python\",\"train.py\"]}"
		echo "{\"kind\":\"model\",$T,\"run\":\"01JDZ3NDEKTSV4RRFFQ69G5FAA\",\"name\":\"Net\"}"
		echo "{\"kind\":\"step\",$T,\"run\":\"01JDZ3NDEKTSV4RRFFQ69G5FAA\",\"update\":1,\"rows\":64}"
		echo "{\"kind\":\"end\",$T,\"run\":\"01JDZ3NDEKTSV4RRFFQ69G5FAA\",\"status\":\"done\"}"
		echo "{\"kind\":\"trial\",$T,\"run\":\"01JDZ3NDEKTSV4RRFFQ69G5FAA\",\"probe\":\"01JDZ3NDEKTSV4RRFFQ69G5FAP\",\"micro_batch\":64,\"verdict\":\"fits\",\"reserved_peak_bytes\":4096,\"device_used_peak_bytes\":1048576}"
		echo "{\"kind\":\"probe\",$T,\"id\":\"01JDZ3NDEKTSV4RRFFQ69G5FAP\",\"status\":\"found\",\"recommended\":56,\"trials\":1}"
	} >p.jsonl
	run -0 ledger summary p.jsonl
	is "$(tail -n 1 <<<"$output")" "~ probe train.py Net  56 .* 1.0M resident  - +found, 1 trial$" "the row"
}
