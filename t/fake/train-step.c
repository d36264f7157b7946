/* A test-only trainer: answers requests with the records that a trainer would write, by a memory
 * and a clock that its environment describes. Installed beside a copy of probe-batch.
 *
 * FAKE_FIXED, FAKE_PER  bytes of batch zero, and of each example        FAKE_SHAPE  linear, steps, jagged
 * FAKE_BUDGET           bytes there are, where the request names none   FAKE_PLAN=0 no plan record
 * FAKE_OOM_IN           the phase whose memory is short: forward (default), validate, save, after,
 *                       second (from the second update on), load, resume
 * FAKE_T0, FAKE_C       microseconds of an update, and of each example  FAKE_NOISE  share of it, uniform
 * FAKE_AT=N             the fault happens from this size on (default 1)
 * FAKE_FAULT            segv, exit, hang, half (hangs inside a record), kill, bus, limit, error, diverge,
 *                       rows, idle (no update), nosave, noval, garbage, early (dies before the run), ms, spill, once (fails the second
 *                       time), child (leaves a process behind), slowval, chatter
 * FAKE_EXAMPLES         in the training split   FAKE_LEAK=1  holds its memory after running out
 * FAKE_KILLS            file that gets a line when the fault `kill` comes, as a kernel counts its kills
 * FAKE_ROLE             the fault happens in runs of this role only
 * FAKE_ODD=1            writes a record of an unknown kind with numbers packed wider than need be
 * FAKE_LOG              file: a line for each request
 * FAKE_STARTUP          milliseconds that a run takes before its first update
 *
 * With a command behind "--" (which it does not run) it plays what train-step writes of one: no plan, bytes as
 * address space, FAKE_BASE of them at the start, FAKE_PASSES in an update, FAKE_VAL the updates between
 * validations (0: none), FAKE_REQUESTS a file that gets the requests, FAKE_CAPPED=1 the fault only under --memory;
 * FAKE_CONFIRM bytes more in the confirmed run; the fault `rowless` leaves the rows out; FAKE_INPUT the shape of a pass,
 * as 10xB: B is the micro-batch, and the first of them is told as rows. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/train/train.h"

struct fake {
	struct out *out;
	struct rec rec;
	struct config c;
	char run[ULID_SIZE], request[ULID_SIZE], role[16];
	bool faulty; /* the fault is due at this size */
	bool command;
	int64_t updates, examples;
	double leaked, peak;
};

static const char *env(const char *name, const char *otherwise)
{
	const char *s = getenv(name);
	return s && *s ? s : otherwise;
}

static double env_num(const char *name, double otherwise)
{
	const char *s = getenv(name);
	return s && *s ? strtod(s, NULL) : otherwise;
}

static bool fault(const struct fake *f, const char *name)
{
	return f->faulty && !strcmp(env("FAKE_FAULT", ""), name);
}

static void die(const char *what)
{
	fprintf(stderr, "train-step: %s\n", what);
	exit(70);
}

static void write_rec(struct fake *f)
{
	struct why w = { 0 };
	if (out_rec(f->out, &f->rec, &w) < 0)
		die(w.text);
}

static void begin(struct fake *f, enum kind k, enum field run)
{
	rec_begin(&f->rec, k);
	rec_str(&f->rec, run, f->run);
}

/* ---- memory ---- */

static double jag(int64_t b)
{
	return rand_uniform(1, RAND_TEST, (uint64_t)b, 0);
}

static double needs(const struct fake *f)
{
	double fixed = env_num("FAKE_FIXED", 1e6), per = env_num("FAKE_PER", 1e5), b = (double)f->c.micro_batch;
	const char *shape = env("FAKE_SHAPE", "linear");
	double bytes = fixed + per * b;
	if (!strcmp(shape, "steps"))
		bytes = (double)((int64_t)(bytes / 2097152) + 1) * 2097152;
	if (!strcmp(shape, "jagged"))
		bytes += 4 * per * jag(f->c.micro_batch);
	if (f->command && !strcmp(f->role, "confirm"))
		bytes += env_num("FAKE_CONFIRM", 0);
	return bytes + f->leaked;
}

static double budget(const struct fake *f)
{
	return f->c.memory_bytes ? (double)f->c.memory_bytes : env_num("FAKE_BUDGET", 1e18);
}

/* The phase asks for the whole; true if that is more than there is. */
static bool short_of_memory(struct fake *f, const char *phase)
{
	if (strcmp(env("FAKE_OOM_IN", "forward"), phase))
		return false;
	if (needs(f) <= budget(f))
		return false;
	begin(f, KIND_end, F_end_run);
	rec_str(&f->rec, F_end_status, "oom");
	rec_str(&f->rec, F_end_why, "no room");
	rec_str(&f->rec, F_end_oom_phase, phase);
	rec_int(&f->rec, F_end_asked_bytes, (int64_t)needs(f));
	rec_int(&f->rec, F_end_budget_bytes, (int64_t)budget(f));
	rec_str(&f->rec, F_end_input, "the longest");
	rec_int(&f->rec, F_end_updates, f->updates);
	write_rec(f);
	if (env_num("FAKE_LEAK", 0))
		f->leaked += needs(f) / 2;
	return true;
}

/* ---- time ---- */

static double spend(double microseconds)
{
	struct timespec t = { (time_t)(microseconds / 1e6), (long)(microseconds * 1e3) % 1000000000 };
	double began = clock_seconds();
	nanosleep(&t, NULL);
	return clock_seconds() - began;
}

static double spend_update(const struct fake *f)
{
	static uint64_t draw;
	double u = env_num("FAKE_T0", 500) + env_num("FAKE_C", 5) * (double)(f->c.micro_batch * f->c.accum);
	u *= 1 + env_num("FAKE_NOISE", 0) * (rand_uniform((uint64_t)getpid(), RAND_TEST, draw++, 1) * 2 - 1);
	return spend(fault(f, "spill") ? u * 5 : u);
}

/* ---- records ---- */

static void write_run(struct fake *f)
{
	ulid_new(f->run);
	begin(f, KIND_run, F_run_run);
	rec_str(&f->rec, F_run_role, f->role);
	rec_str(&f->rec, F_run_request, f->request);
	config_to_rec(&f->c, &f->rec);
	rec_int(&f->rec, F_run_train_examples, (int64_t)env_num("FAKE_EXAMPLES", 1e9));
	rec_str(&f->rec, F_run_fingerprint, "fake");
	if (f->command && f->c.memory_bytes)
		rec_str(&f->rec, F_run_memory_cap, "address space of each process (RLIMIT_AS)");
	write_rec(f);
	if (!f->command)
		return;
	begin(f, KIND_phase, F_phase_run);
	rec_str(&f->rec, F_phase_phase, "data");
	rec_int(&f->rec, F_phase_reserved_bytes, (int64_t)env_num("FAKE_FIXED", 1e6) - 1000);
	write_rec(f);
}

static void write_plan(struct fake *f)
{
	if (!env_num("FAKE_PLAN", 1) || f->command)
		return;
	begin(f, KIND_plan, F_plan_run);
	rec_int(&f->rec, F_plan_fixed_bytes, (int64_t)env_num("FAKE_FIXED", 1e6));
	rec_int(&f->rec, F_plan_per_example_bytes, (int64_t)env_num("FAKE_PER", 1e5));
	rec_int(&f->rec, F_plan_peak_bytes, (int64_t)needs(f));
	write_rec(f);
}

static int input_shape(const struct fake *f, int64_t shape[8])
{
	const char *s = env("FAKE_INPUT", "");
	int n = 0;
	for (char *end; *s && n < 8; s = *end == 'x' ? end + 1 : end) {
		shape[n++] = *s == 'B' ? f->c.micro_batch : strtoll(s, &end, 10);
		if (*s == 'B')
			end = (char *)s + 1;
	}
	return n;
}

static void write_step(struct fake *f, double seconds)
{
	int64_t passes = f->command ? (int64_t)env_num("FAKE_PASSES", (double)f->c.accum) : f->c.accum, rows = f->c.micro_batch * passes;
	int64_t shape[8];
	int dims = f->command ? input_shape(f, shape) : 0;
	if (dims)
		rows = shape[0] * passes;
	f->updates++;
	f->examples += rows;
	begin(f, KIND_step, F_step_run);
	rec_int(&f->rec, F_step_update, f->updates);
	rec_int(&f->rec, F_step_examples, f->examples);
	rec_int(&f->rec, F_step_tokens, f->examples * 10);
	if (!fault(f, "rowless"))
		rec_int(&f->rec, F_step_rows, fault(f, "rows") ? 1 : rows);
	if (dims)
		rec_ints(&f->rec, F_step_shape, shape, dims);
	rec_int(&f->rec, F_step_passes, passes);
	rec_num(&f->rec, F_step_seconds, fault(f, "ms") ? seconds * 1000 : seconds);
	rec_num(&f->rec, F_step_data_seconds, seconds * env_num("FAKE_WAIT", 0));
	rec_num(&f->rec, F_step_update_seconds, seconds * 0.1);
	write_rec(f);
}

static void write_eval(struct fake *f)
{
	if (fault(f, "noval"))
		return;
	if (fault(f, "slowval"))
		spend(2e5);
	begin(f, KIND_eval, F_eval_run);
	rec_str(&f->rec, F_eval_split, "validation");
	rec_int(&f->rec, F_eval_update, f->updates);
	write_rec(f);
}

static void write_save(struct fake *f)
{
	char path[5000];
	if (!*f->c.save || fault(f, "nosave"))
		return;
	snprintf(path, sizeof path, "%s/update-%lld", f->c.save, (long long)f->updates);
	FILE *file = fopen(path, "w");
	if (!file || fprintf(file, "%lld %lld\n", (long long)f->c.micro_batch, (long long)f->c.accum) < 0 || fclose(file))
		die("cannot save");
	begin(f, KIND_save, F_save_run);
	rec_int(&f->rec, F_save_update, f->updates);
	rec_str(&f->rec, F_save_path, path);
	rec_str(&f->rec, F_save_digest, "sha256:00");
	write_rec(f);
}

static void write_end(struct fake *f, const char *status, const char *why)
{
	begin(f, KIND_end, F_end_run);
	rec_str(&f->rec, F_end_status, status);
	rec_str(&f->rec, F_end_why, why);
	rec_int(&f->rec, F_end_updates, f->updates);
	if (!f->command)
		rec_int(&f->rec, F_end_allocated_peak_bytes, (int64_t)needs(f));
	rec_int(&f->rec, F_end_device_used_peak_bytes, (int64_t)(needs(f) * (fault(f, "spill") ? 0.5 : 1.2)));
	rec_str(&f->rec, F_end_peak_phase, "forward");
	if (f->command) {
		rec_int(&f->rec, F_end_address_peak_bytes, (int64_t)fmax(needs(f), env_num("FAKE_BASE", 0)));
		rec_int(&f->rec, F_end_resident_peak_bytes, (int64_t)needs(f));
	}
	if (f->command && !strcmp(status, "error"))
		rec_str(&f->rec, F_end_cause, "exit");
	write_rec(f);
}

/* ---- faults ---- */

static void hang(void)
{
	signal(SIGTERM, SIG_IGN);
	for (;;)
		pause();
}

static void half_record(struct fake *f)
{
	struct why w;
	if (out_flush(f->out, &w) == 0)
		(void)!write(1, "\x82\xa4kind\xa4st", 9);
	hang();
}

static void killed_for_memory(void)
{
	const char *path = getenv("FAKE_KILLS");
	FILE *file = path ? fopen(path, "a") : NULL;
	if (file) {
		fputs("killed\n", file);
		fclose(file);
	}
	raise(SIGKILL);
}

static void suffer(struct fake *f)
{
	struct why w;
	if (!f->faulty)
		return;
	if (fault(f, "chatter"))
		fprintf(stderr, "error: this is a warning with the word error in it\n");
	if (fault(f, "segv") || fault(f, "exit") || fault(f, "kill") || fault(f, "bus") || fault(f, "garbage"))
		fprintf(stderr, "something\nCUDA error: out of memory, says the last line\n");
	if (out_flush(f->out, &w) < 0)
		die(w.text);
	if (fault(f, "segv"))
		raise(SIGSEGV);
	if (fault(f, "exit"))
		_exit(3);
	if (fault(f, "gone"))
		_exit(69);
	if (fault(f, "kill"))
		killed_for_memory();
	if (fault(f, "bus"))
		raise(SIGBUS);
	if (fault(f, "hang"))
		hang();
	if (fault(f, "half"))
		half_record(f);
	if (fault(f, "garbage"))
		(void)!write(1, "Traceback (most recent call last)\n", 34);
	if (fault(f, "child") && fork() == 0) {
		signal(SIGTERM, SIG_IGN);
		execlp("sleep", "sleep", "987", (char *)NULL);
	}
}

/* ---- one run ---- */

/* The updates up to the next one with a validation; false if memory ran out. */
static bool update(struct fake *f)
{
	if (short_of_memory(f, f->updates ? "second" : "forward"))
		return false;
	if (f->updates && f->updates % 3 == 0 && fault(f, "once") && !strcmp(f->role, "trial") && !*f->c.save)
		raise(SIGSEGV);
	write_step(f, spend_update(f));
	if (!f->c.val_every || f->updates % f->c.val_every)
		return true;
	if (short_of_memory(f, "validate"))
		return false;
	write_eval(f);
	if (short_of_memory(f, "save"))
		return false;
	write_save(f);
	return !(f->updates < f->c.updates && short_of_memory(f, "after"));
}

/* {"kind":"oddity","t":<timestamp 96>,"x":1 in nine bytes,"run":...} */
static void write_oddity(struct fake *f)
{
	static const unsigned char head[] = "\x84\xa4kind\xa6oddity\xa1t\xc7\x0c\xff\0\0\0\0\0\0\0\0\0\0\0\1\xa1x\xd3\0\0\0\0\0\0\0\1\xd9\x03run\xda\0\x1a";
	struct why w;
	if (out_flush(f->out, &w) < 0 || io_write(1, head, sizeof head - 1) || io_write(1, f->run, ULID_SIZE - 1))
		die("cannot write");
}

static void run(struct fake *f)
{
	write_run(f);
	write_plan(f);
	spend(env_num("FAKE_STARTUP", 0) * 1000);
	if (getenv("FAKE_ODD"))
		write_oddity(f);
	if (short_of_memory(f, *f->c.resume ? "resume" : "load"))
		return;
	suffer(f);
	if (fault(f, "limit") || fault(f, "error") || fault(f, "diverge")) {
		write_end(f, fault(f, "diverge") ? "diverged" : "error", fault(f, "limit") ? "CUDA error: invalid configuration argument" : fault(f, "error") ? "out of memory was not the reason" : "loss is NaN");
		return;
	}
	struct stop_rules stop;
	struct why w;
	double until = stop_parse(&stop, f->c.stop, &w) == 0 ? clock_seconds() + stop.seconds : 0;
	while (f->updates < f->c.updates && !fault(f, "idle") && clock_seconds() < until)
		if (!update(f))
			return;
	write_end(f, f->updates < f->c.updates && !fault(f, "idle") ? "stopped" : "done", NULL);
}

/* A checkpoint of ours holds the two numbers; it was taken half way. */
static void resume(struct fake *f)
{
	long long b = 0, a = 0;
	FILE *file = fopen(f->c.resume, "r");
	if (!file || fscanf(file, "%lld %lld", &b, &a) != 2)
		die("cannot resume");
	fclose(file);
	f->c.micro_batch = b;
	f->c.accum = a;
	f->updates = 4;
	f->c.updates = 8;
	f->c.val_every = 2;
}

static void log_request(const struct fake *f)
{
	const char *path = getenv("FAKE_LOG");
	FILE *file = path ? fopen(path, "a") : NULL;
	if (!file)
		return;
	fprintf(file, "%d %lld %lld %s%s\n", (int)getpid(), (long long)f->c.micro_batch, (long long)f->c.updates, f->role, *f->c.resume ? " resume" : *f->c.save ? "" : " speed");
	fclose(file);
}

static void log_whole(const struct view *v)
{
	const char *path = getenv("FAKE_REQUESTS");
	FILE *file = path ? fopen(path, "a") : NULL;
	struct buf b = { 0 };
	if (!file || json_write(v->raw, v->size, &b) < 0)
		return;
	fprintf(file, "%.*s\n", (int)b.n, (char *)b.p);
	fclose(file);
	buf_free(&b);
}

static void serve(struct fake *f, const struct view *v)
{
	struct why w = { 0 };
	log_whole(v);
	if (config_init(&f->c) < 0 || config_from_view(&f->c, v, &w) < 0)
		die(w.text);
	view_copy(v, F_request_id, f->request, sizeof f->request);
	view_copy(v, F_request_role, f->role, sizeof f->role);
	f->updates = f->examples = 0;
	if (*f->c.resume)
		resume(f);
	if (f->command)
		f->c.val_every = (int64_t)env_num("FAKE_VAL", 0);
	f->faulty = (!env_num("FAKE_CAPPED", 0) || f->c.memory_bytes > 0) && (double)f->c.micro_batch >= env_num("FAKE_AT", 1) && (!getenv("FAKE_ROLE") || !strcmp(getenv("FAKE_ROLE"), f->role));
	log_request(f);
	if (fault(f, "early")) {
		fprintf(stderr, "train-step: reading: data.txt: no such file\n");
		_exit(EX_DATAERR);
	}
	run(f);
	config_free(&f->c);
}

int main(int argc, char **argv)
{
	struct fake f = { 0 };
	struct why w = { 0 };
	struct in *in;
	struct view v;
	char id[ULID_SIZE];
	int r;
	for (int i = 1; i < argc; i++)
		f.command |= !strcmp(argv[i], "--");
	if (out_open(&f.out, 1, FORM_MSGPACK, &w) < 0 || in_open(&in, 0, "stdin", &w) < 0 || tool_begin(f.out, "train-step", argv, id, &w) < 0)
		die(w.text);
	while ((r = in_next(in, &v, &w)) > 0)
		serve(&f, &v);
	if (r < 0 || tool_end(f.out, id, 0, &w) < 0 || out_close(f.out, &w) < 0)
		die(w.text);
	in_close(in);
	rec_free(&f.rec);
	return 0;
}
