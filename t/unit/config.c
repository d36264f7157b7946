/* config.c - settings of a run: defaults, strict words, contradictions, and the way through records. */
#include "tap.h"
#include "alloc.h"

#include "../../lib/train/train.h"

static void defaults(void)
{
	struct config c;
	struct why w = { 0 };

	is_int(config_init(&c), 0, "defaults");
	is_int(config_check(&c, &w), 0, "they hold together");
	is_str(c.data, "sums:digits=2", "the embedded data");
	is_int(c.updates, 200, "a budget");
	for (int o = 0; o < OPTIONS; o++)
		if (config_given(&c, o))
			ok(false, "--%s is marked as named by the user", option_info(o)->option);
	is_int(option_find("micro-batch"), O_micro_batch, "a long option is found");
	is_int(option_find("micro_batch"), OPTIONS, "a field's name is no long option");
	config_free(&c);
}

/* Every setting reads back as it is written. */
static void canonical(void)
{
	struct config a, b;
	int wrong = 0;

	if (config_init(&a) || config_init(&b))
		return (void)ok(false, "init");
	if (config_set(&a, O_clip, "0.1", NULL) || config_set(&a, O_memory_bytes, "1.5M", NULL) || config_set(&a, O_epochs, "2.5", NULL) || config_set(&a, O_save, "a b,c", NULL))
		ok(false, "settings are taken");
	is_int(a.memory_bytes, 1572864, "--memory takes a size");
	for (int o = 0; o < OPTIONS; o++) {
		struct buf x = { 0 }, y = { 0 };
		struct why w = { 0 };
		if (config_get(&a, o, &x) || buf_add(&x, "", 1) || config_set(&b, o, (char *)x.p, &w) || config_get(&b, o, &y) || buf_add(&y, "", 1) || strcmp((char *)x.p, (char *)y.p)) {
			diag("--%s: \"%s\" \"%s\" %s", option_info(o)->option, (char *)x.p, (char *)y.p, w.text);
			wrong++;
		}
		buf_free(&x);
		buf_free(&y);
	}
	is_int(wrong, 0, "every setting reads back");
	ok(!memcmp(&a.memory_bytes, &b.memory_bytes, sizeof a.memory_bytes) && a.clip == b.clip && a.epochs == b.epochs, "to the same bits");
	config_free(&a);
	config_free(&b);
}

static void refusals(void)
{
	static const struct {
		enum option o;
		const char *value;
		int code;
		const char *reason;
	} t[] = {
		{ O_micro_batch, "0", EX_USAGE, "--micro-batch" },
		{ O_micro_batch, "x", EX_USAGE, "--micro-batch" },
		{ O_micro_batch, "2147483648", EX_USAGE, "--micro-batch" },
		{ O_accum, "-1", EX_USAGE, "--accum" },
		{ O_dropout, "1", EX_USAGE, "--dropout" },
		{ O_dropout, "nan", EX_USAGE, "--dropout" },
		{ O_clip, "-1", EX_USAGE, "--clip" },
		{ O_epochs, "1e400", EX_USAGE, "--epochs" },
		{ O_memory_bytes, "12Q", EX_USAGE, "--memory" },
		{ O_memory_bytes, "-1", EX_USAGE, "--memory" },
		{ O_seed, "-1", EX_USAGE, "--seed" },
		{ O_model, "gtp:layers=1", EX_USAGE, "gtp: no such model (there are: gpt, gpt2, gpt2-medium, gpt2-large, gpt2-xl, mlp)" },
		{ O_model, "gpt:layers", EX_USAGE, "layers" },
		{ O_model, "gpt:layers=1,layers=2", EX_USAGE, "given twice" },
		{ O_model, "", EX_USAGE, "--model" },
		{ O_model, "@file", EX_UNAVAILABLE, "not in this version" },
		{ O_data, "jsonl:file=x", EX_UNAVAILABLE, "--data: jsonl: not in this version" },
		{ O_data, "sum", EX_USAGE, "--data: sum: no such data" },
		{ O_data, "gpt", EX_USAGE, "--data" },
		{ O_optimizer, "adam, adamw", EX_USAGE, "--optimizer" },
		{ O_optimizer, "adam, adamw:lr=1", EX_USAGE, "--optimizer" },
		{ O_optimizer, "Adam", EX_USAGE, "--optimizer" },
		{ O_schedule, "step", EX_USAGE, "--schedule" },
		{ O_last_window, "Keep", EX_USAGE, "--last-window" },
		{ O_last_window, "", EX_USAGE, "--last-window" },
		{ O_precision, "fp8", EX_USAGE, "--precision" },
		{ O_device, "gpu", EX_USAGE, "--device" },
		{ O_device, "cuda:", EX_USAGE, "--device" },
		{ O_device, "cuda:x", EX_USAGE, "--device" },
		{ O_stop, "loss<3", EX_USAGE, "--stop" },
		{ O_stop, ",", EX_USAGE, "--stop" },
	};
	struct config c;

	if (config_init(&c))
		return (void)ok(false, "init");
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct why w = { 0 };
		struct buf before = { 0 }, after = { 0 };
		char what[100];

		snprintf(what, sizeof what, "--%s \"%s\"", option_info(t[i].o)->option, t[i].value);
		ok(!config_get(&c, t[i].o, &before), "%s: has a value", what);
		is_int(config_set(&c, t[i].o, t[i].value, &w), -t[i].code, what);
		has_str(w.text, t[i].reason, what);
		ok(!config_get(&c, t[i].o, &after) && after.n == before.n && !memcmp(after.p, before.p, after.n) && !config_given(&c, t[i].o), "%s: changes nothing", what);
		buf_free(&before);
		buf_free(&after);
	}
	config_free(&c);
}

struct setting {
	enum option o;
	const char *value;
};

static int check(const struct setting *s, int n, struct why *w)
{
	struct config c;
	int r = config_init(&c);

	for (int i = 0; i < n && !r; i++)
		if ((r = config_set(&c, s[i].o, s[i].value, w)))
			diag("unexpected: %s", w->text);
	if (!r)
		r = config_check(&c, w);
	config_free(&c);
	return r;
}

static void contradictions(void)
{
	static const struct {
		struct setting s[4];
		int n, code;
		const char *reason;
	} t[] = {
		{ { { O_updates, "10" }, { O_examples, "10" } }, 2, EX_USAGE, "--updates with --examples" },
		{ { { O_epochs, "1" }, { O_updates, "10" } }, 2, EX_USAGE, "--updates with --epochs" },
		{ { { O_epochs, "1" }, { O_examples, "10" } }, 2, EX_USAGE, "--examples with --epochs" },
		{ { { O_epochs, "1.5" } }, 1, 0, NULL },
		{ { { O_examples, "100" } }, 1, 0, NULL },
		{ { { O_updates, "0" } }, 1, EX_USAGE, "--updates 0" },
		{ { { O_updates, "0" }, { O_epochs, "2" } }, 2, 0, NULL },
		{ { { O_resume, "a" }, { O_weights, "b" } }, 2, EX_USAGE, "--resume with --weights" },
		{ { { O_save_every, "5" } }, 1, EX_USAGE, "--save-every without --save" },
		{ { { O_save_every, "5" }, { O_save, "d" } }, 2, 0, NULL },
		{ { { O_save_every, "5" }, { O_resume, "d" } }, 2, 0, NULL },
		{ { { O_keep, "2" } }, 1, EX_USAGE, "--keep without --save" },
		{ { { O_overfit, "8" }, { O_last_window, "drop" } }, 2, EX_USAGE, "--overfit 8 with --last-window drop" },
		{ { { O_overfit, "8" }, { O_last_window, "drop" }, { O_micro_batch, "4" }, { O_accum, "2" } }, 4, 0, NULL },
		{ { { O_overfit, "8" } }, 1, 0, NULL },
		{ { { O_accum, "2147483647" }, { O_micro_batch, "2147483647" } }, 2, EX_USAGE, "--accum" },
		{ { { O_precision, "bf16" } }, 1, EX_UNAVAILABLE, "--precision: bf16: not in this version" },
		{ { { O_device, "cuda:0" } }, 1, EX_UNAVAILABLE, "--device: cuda:0: not in this version" },
		{ { { O_stop, "target=1.5" }, { O_val_every, "0" } }, 2, EX_USAGE, "--val-every 0" },
		{ { { O_stop, "target=1.5" } }, 1, 0, NULL },
	};

	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct why w = { 0 };
		char what[100];

		snprintf(what, sizeof what, "--%s %s%s%s", option_info(t[i].s[0].o)->option, t[i].s[0].value, t[i].n > 1 ? " with --" : "", t[i].n > 1 ? option_info(t[i].s[1].o)->option : "");
		is_int(check(t[i].s, t[i].n, &w), -t[i].code, what);
		if (t[i].reason)
			has_str(w.text, t[i].reason, what);
	}
}

static void stops(void)
{
	static const char *const bad[] = { "loss>", "loss=3", "update=0", "update=1.5", "seconds=-1", "seconds=5y", "target=", "target=nan", "update=1,,update=2", "update=1,", ",update=1", "never" };
	struct stop_rules s;
	struct why w = { 0 };

	is_int(stop_parse(&s, "", &w), 0, "no rule");
	ok(isinf(s.loss_above) && s.loss_above > 0 && isinf(s.seconds) && s.seconds > 0 && isinf(s.target) && s.target < 0 && s.update == 0, "rules that are not there never hold");
	is_int(stop_parse(&s, "loss>12.5,update=40,seconds=5m,target=-0.25", &w), 0, "all four rules");
	ok(s.loss_above == 12.5 && s.update == 40 && s.seconds == 300 && s.target == -0.25, "their values");
	is_int(stop_parse(&s, "nonfinite", &w), 0, "nonfinite may be named");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		is_int(stop_parse(&s, bad[i], &w), -EX_USAGE, bad[i]);
		has_str(w.text, "--stop", bad[i]);
	}
}

/* c through a record of kind k into a fresh one. */
static int through(const struct config *c, enum kind k, struct config *to, struct why *w)
{
	struct rec rec = { 0 };
	struct view v;
	int r;

	rec_begin(&rec, k);
	if (k == KIND_run) {
		rec_str(&rec, F_run_run, "01ARZ3NDEKTSV4RRFFQ69G5FAV");
		rec_str(&rec, F_run_role, "train");
	} else {
		rec_str(&rec, F_request_id, "01ARZ3NDEKTSV4RRFFQ69G5FAV");
	}
	config_to_rec(c, &rec);
	if (!(r = rec_end(&rec, w)) && !(r = view_open(&v, rec.buf.p, rec.buf.n, w)))
		r = config_from_view(to, &v, w);
	rec_free(&rec);
	return r;
}

static bool same(const struct config *a, const struct config *b)
{
	bool all = true;

	for (int o = 0; o < OPTIONS; o++) {
		struct buf x = { 0 }, y = { 0 };
		if (config_get(a, o, &x) || config_get(b, o, &y) || x.n != y.n || (x.n && memcmp(x.p, y.p, x.n))) {
			diag("--%s differs", option_info(o)->option);
			all = false;
		}
		buf_free(&x);
		buf_free(&y);
	}
	return all;
}

static void records(void)
{
	struct config a, b, fresh;
	struct why w = { 0 };

	if (config_init(&a) || config_init(&b) || config_init(&fresh))
		return (void)ok(false, "init");
	if (config_set(&a, O_epochs, "0.1", &w) || config_set(&a, O_seed, "9223372036854775807", &w) || config_set(&a, O_clip, "0.30000000000000004", &w) ||
	    config_set(&a, O_data, "text:file=a\\,b", &w) || config_set(&a, O_val_every, "0", &w) || config_set(&a, O_stop, "seconds=2h", &w))
		ok(false, "settings: %s", w.text);
	is_int(through(&a, KIND_run, &b, &w), 0, "through a run record");
	ok(same(&a, &b), "nothing is lost: numbers to the bit, absent strings empty");
	is_int(config_check(&b, &w), 0, "and holds together");
	config_free(&b);
	if (config_init(&b))
		return (void)ok(false, "init");
	is_int(through(&a, KIND_request, &b, &w), 0, "through a request");
	ok(same(&a, &b) && !memcmp(a.given, b.given, sizeof a.given), "a request carries what was named, and that it was");
	is_int(through(&fresh, KIND_request, &b, &w), 0, "an empty request");
	ok(same(&a, &b), "changes nothing");
	config_free(&a);
	config_free(&b);
	config_free(&fresh);
}

static void bad_records(void)
{
	struct config c;
	struct rec r = { 0 };
	struct view v;
	struct why w = { 0 };

	if (config_init(&c))
		return (void)ok(false, "init");
	rec_begin(&r, KIND_request);
	rec_str(&r, F_request_id, "x");
	rec_int(&r, F_request_micro_batch, -5);
	if (rec_end(&r, &w) || view_open(&v, r.buf.p, r.buf.n, &w))
		ok(false, "record: %s", w.text);
	is_int(config_from_view(&c, &v, &w), -EX_USAGE, "a request is checked like the command line");
	has_str(w.text, "--micro-batch", "by name");
	rec_begin(&r, KIND_request);
	rec_str(&r, F_request_id, "x");
	rec_strn(&r, F_request_save, "a\0b", 3);
	if (rec_end(&r, &w) || view_open(&v, r.buf.p, r.buf.n, &w))
		ok(false, "record: %s", w.text);
	is_int(config_from_view(&c, &v, &w), -EX_DATAERR, "a NUL in a string is refused, it would cut it");
	rec_begin(&r, KIND_request);
	rec_str(&r, F_request_id, "x");
	rec_num(&r, F_request_clip, NAN);
	if (rec_end(&r, &w) || view_open(&v, r.buf.p, r.buf.n, &w))
		ok(false, "record: %s", w.text);
	is_int(config_from_view(&c, &v, &w), -EX_DATAERR, "NaN is no setting");
	rec_free(&r);
	config_free(&c);
}

static int without_memory(void *ctx)
{
	struct config a, b;
	struct stop_rules s;
	int r;

	(void)ctx;
	if ((r = config_init(&a)))
		return r;
	if (!(r = config_set(&a, O_save, "dir", NULL)) && !(r = stop_parse(&s, "loss>1", NULL)) && !(r = config_copy(&b, &a)))
		config_free(&b);
	config_free(&a);
	return r;
}

int main(void)
{
	defaults();
	canonical();
	refusals();
	contradictions();
	stops();
	records();
	bad_records();
	alloc_each("config", without_memory, NULL);
	return done_testing();
}
