/* text-command.c - a command in the trainer's place: how it was started, and what it says of its
 * model, optimizer, loaders and files. All these words are a stranger's. */
#include "text.h"

void text_also(struct pen *p, const char *word, const char *value)
{
	if (*value)
		pen_printf(p, "%s%s", word, value);
}

/* "  word N thing" or "things"; nothing where the field is absent or 0. */
static void count_of(struct pen *p, const struct view *v, const char *word, enum field f, const char *one, const char *more)
{
	char n[VALUE];
	int64_t i;
	if (view_int(v, f, &i) && i)
		pen_printf(p, "%s%s %s", word, grouped(i, n), i == 1 ? one : more);
}

/* Words of a list, with commas; `more` says that others are not shown. */
void text_strs(struct pen *p, const struct view *v, enum field f, int most)
{
	int n = view_count(v, f);
	const char *s;
	size_t size;
	for (int i = 0; i < n && i < most; i++)
		if (view_item_str(v, f, i, &s, &size)) {
			pen_printf(p, i ? ", " : "");
			pen_bytes(p, s, size);
		}
	if (n > most)
		pen_printf(p, ", ..");
}

static void also_strs(struct pen *p, const struct view *v, const char *word, enum field f, int most)
{
	if (view_count(v, f) <= 0)
		return;
	pen_printf(p, "%s", word);
	text_strs(p, v, f, most);
}

/* A digest is told by its first eight digits. */
static void also_digest(struct pen *p, const struct view *v, const char *word, enum field f)
{
	const char *s;
	size_t n;
	if (!view_str(v, f, &s, &n) || !n)
		return;
	const char *colon = memchr(s, ':', n);
	size_t skip = colon ? (size_t)(colon + 1 - s) : 0;
	pen_printf(p, "%s", word);
	pen_bytes(p, s + skip, n - skip < 8 ? n - skip : 8);
}

static void whole_str(struct pen *p, const struct view *v, enum field f)
{
	const char *s = "";
	size_t n = 0;
	view_str(v, f, &s, &n);
	pen_bytes(p, s, n);
}

static bool there(const struct view *v, enum field f)
{
	const char *s;
	size_t n;
	return view_str(v, f, &s, &n) && n;
}

/* ---- run: the command ---- */

static bool is_plain(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c <= ' ' || c == 0x7f || strchr("\"'\\$`&|;<>()*?[]#~!", c))
			return false;
	}
	return n > 0;
}

/* One word of a command line as one would type it. */
static void shell_word(struct pen *p, const char *s, size_t n)
{
	bool plain = is_plain(s, n);
	pen_printf(p, plain ? "" : "'");
	for (size_t from = 0, to; from < n; from = to + 1) {
		const char *quote = plain ? NULL : memchr(s + from, '\'', n - from);
		to = quote ? (size_t)(quote - s) : n;
		pen_bytes(p, s + from, to - from);
		if (quote)
			pen_printf(p, "'\\''");
	}
	pen_printf(p, plain ? "" : "'");
}

static void command_line(struct pen *p, const struct view *v, const char *label, enum field f)
{
	int n = view_count(v, f);
	const char *s;
	size_t size;
	if (n <= 0)
		return;
	pen_label(p, label);
	for (int i = 0; i < n; i++)
		if (view_item_str(v, f, i, &s, &size)) {
			pen_printf(p, i ? " " : "");
			shell_word(p, s, size);
		}
	pen_newline(p);
}

static bool list_names(const struct view *v, enum field f, const char *placeholder)
{
	const char *s;
	size_t n;
	for (int i = 0; i < view_count(v, f); i++)
		if (view_item_str(v, f, i, &s, &n) && memmem(s, n, placeholder, strlen(placeholder)))
			return true;
	return false;
}

/* Numbers that the command was given through placeholders; of the others it knows nothing. */
static void command_settings(struct pen *p, const struct view *v)
{
	static const struct {
		const char *placeholder;
		enum field f;
	} all[] = {
		{"{micro_batch}", F_run_micro_batch}, {"{accum}", F_run_accum}, {"{length}", F_run_length},
		{"{updates}", F_run_updates}, {"{seed}", F_run_seed},
	};
	char n[VALUE];
	bool any = false;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (!*say_int(v, all[i].f, n) || !(list_names(v, F_run_command, all[i].placeholder) || list_names(v, F_run_env, all[i].placeholder)))
			continue;
		if (!any)
			pen_label(p, "given");
		pen_printf(p, "%s%s = %s", any ? ", " : "", all[i].placeholder, n);
		any = true;
	}
	if (any)
		pen_newline(p);
}

static void text_line(struct pen *p, const struct view *v, const char *label, enum field f)
{
	const char *s;
	size_t n;
	if (!view_str(v, f, &s, &n) || !n)
		return;
	pen_label(p, label);
	pen_bytes(p, s, n);
	pen_newline(p);
}

static void command_budget(struct pen *p, const struct view *v)
{
	int64_t n = 0;
	char s[VALUE];
	pen_label(p, "budget");
	if (view_int(v, F_run_updates, &n) && n > 0)
		pen_printf(p, "%s %s of this process, then it is stopped", grouped(n, s), n == 1 ? "update" : "updates");
	else
		pen_printf(p, "none: it runs to its own end");
	pen_newline(p);
}

void text_run_command(struct pen *p, const struct view *v)
{
	command_line(p, v, "command", view_count(v, F_run_program) > 0 ? F_run_program : F_run_command);
	text_line(p, v, "resume with", F_run_resume_with);
	command_line(p, v, "set for it", F_run_env);
	text_line(p, v, there(v, F_run_origin) ? "a copy of" : "in", there(v, F_run_origin) ? F_run_origin : F_run_cwd);
	command_settings(p, v);
	command_budget(p, v);
	text_line(p, v, "updates by", F_run_step_regex);
	text_line(p, v, "capped by", F_run_memory_cap);
	if (!view_is(v, F_run_evidence, "basic"))
		text_line(p, v, "evidence", F_run_evidence);
}

/* ---- what it is ---- */

void text_trainer(struct pen *p, const struct view *v)
{
	char name[VALUE], version[VALUE], language[VALUE], n[VALUE];
	int64_t rank = 0;
	pen_label(p, "watched by");
	pen_printf(p, "%s", say_str(v, F_trainer_name, name));
	text_also(p, " ", say_str(v, F_trainer_version, version));
	text_also(p, ", ", say_str(v, F_trainer_language, language));
	if (there(v, F_trainer_program)) {
		pen_printf(p, ", in ");
		whole_str(p, v, F_trainer_program);
	}
	count_of(p, v, ", ", F_trainer_threads, "thread", "threads");
	also_strs(p, v, ", on ", F_trainer_devices, 8);
	if (view_int(v, F_trainer_rank, &rank) && rank)
		pen_printf(p, ", replica %s", grouped(rank, n));
	int64_t copies = 1;
	if (view_int(v, F_trainer_replicas, &copies) && copies > 1)
		pen_printf(p, " of %s", grouped(copies, n));
	pen_newline(p);
	if (there(v, F_trainer_fault)) {
		pen_label(p, "");
		pen_colored(p, YELLOW, "a fault in the adapter itself: ");
		whole_str(p, v, F_trainer_fault);
		pen_newline(p);
	}
}

static void numbered(struct pen *p, const struct view *v, const char *label, enum field f)
{
	char s[VALUE];
	int64_t n = 0;
	if (view_int(v, f, &n) && n > 1 && n < 100)
		snprintf(s, sizeof s, "%s %d", label, (int)n);
	else
		snprintf(s, sizeof s, "%s", label);
	pen_label(p, s);
}

static void model_trained(struct pen *p, const struct view *v)
{
	int64_t all, some;
	char n[VALUE];
	if (!view_int(v, F_model_tensors, &all) || !view_int(v, F_model_trainable_tensors, &some))
		return;
	if (some == all) {
		pen_printf(p, ", all trained");
		return;
	}
	pen_printf(p, ", %s of them frozen", grouped(all - some, n));
	if (view_count(v, F_model_frozen) > 0) {
		pen_printf(p, " (");
		text_strs(p, v, F_model_frozen, 2);
		pen_printf(p, ")");
	}
}

void text_model(struct pen *p, const struct view *v)
{
	char name[VALUE], wrapper[VALUE], n[VALUE], precision[VALUE], device[VALUE];
	numbered(p, v, "model", F_model_number);
	pen_printf(p, "%s", say_str(v, F_model_name, name));
	text_also(p, " in ", say_str(v, F_model_wrapper, wrapper));
	text_also(p, ": ", say_int(v, F_model_parameters, n));
	pen_printf(p, *n ? " parameters" : ":");
	count_of(p, v, " in ", F_model_tensors, "tensor", "tensors");
	model_trained(p, v);
	text_also(p, ", ", say_str(v, F_model_precision, precision));
	text_also(p, " on ", say_str(v, F_model_device, device));
	count_of(p, v, ", ", F_model_dropout_layers, "dropout layer", "dropout layers");
	count_of(p, v, ", ", F_model_norm_layers, "layer of batch statistics", "layers of batch statistics");
	also_strs(p, v, ", equal and not tied: ", F_model_equal_apart, 2);
	pen_newline(p);
}

static void numbers_of(struct pen *p, const struct view *v, const char *word, enum field f)
{
	int n = view_count(v, f), shown = 0;
	double x, before = 0;
	for (int i = 0; i < n && shown < 4; i++) {
		if (!view_item_num(v, f, i, &x) || (i && x == before))
			continue;
		pen_printf(p, "%s%.6g", shown++ ? " | " : word, x);
		before = x;
	}
}

void text_optimizer(struct pen *p, const struct view *v)
{
	char name[VALUE];
	int64_t n = 0;
	numbered(p, v, "optimizer", F_optimizer_number);
	pen_printf(p, "%s:", say_str(v, F_optimizer_name, name));
	numbers_of(p, v, " rate ", F_optimizer_lr);
	numbers_of(p, v, ", weight decay ", F_optimizer_weight_decay);
	count_of(p, v, ", ", F_optimizer_tensors, "tensor", "tensors");
	if (view_int(v, F_optimizer_groups, &n) && n > 1)
		count_of(p, v, " in ", F_optimizer_groups, "group", "groups");
	count_of(p, v, ", after ", F_optimizer_count, "update", "updates");
	pen_newline(p);
	if (view_int(v, F_optimizer_uncovered, &n) && n) {
		pen_label(p, "");
		count_of(p, v, "", F_optimizer_uncovered, "trainable tensor is in no optimizer", "trainable tensors are in no optimizer");
		also_strs(p, v, ": ", F_optimizer_uncovered_names, 4);
		pen_newline(p);
	}
	if (view_int(v, F_optimizer_strangers, &n) && n) {
		pen_label(p, "");
		count_of(p, v, "", F_optimizer_strangers, "tensor in it is no model's", "tensors in it are no model's");
		pen_newline(p);
	}
}

void text_blind(struct pen *p, const struct view *v)
{
	char phase[VALUE];
	bool all = view_is(v, F_blind_phase, "all");
	pen_label(p, "not seen");
	pen_colored(p, YELLOW, "%s", all ? "anything" : say_str(v, F_blind_phase, phase));
	pen_printf(p, ": ");
	whole_str(p, v, F_blind_reason);
	pen_newline(p);
}

/* ---- what it does: a line each among the rows of steps ---- */

static void event(struct pen *p, const char *color, const char *word)
{
	pen_printf(p, "  ");
	pen_colored(p, color, "%s", word);
}

void text_loader(struct pen *p, const struct view *v)
{
	char split[VALUE], name[VALUE], sampler[VALUE], n[VALUE];
	bool end = view_is(v, F_loader_event, "end"), drop = false;
	event(p, BOLD, "loader");
	text_also(p, " ", say_int(v, F_loader_number, n));
	text_also(p, ", ", say_str(v, F_loader_split, split));
	text_also(p, ", pass ", say_int(v, F_loader_pass, n));
	text_also(p, end ? " ends at update " : " begins at update ", say_int(v, F_loader_update, n));
	pen_printf(p, ":");
	if (end) {
		count_of(p, v, " ", F_loader_batches, "batch", "batches");
		count_of(p, v, " of ", F_loader_rows, "example", "examples");
		count_of(p, v, ", ", F_loader_repeated, "of them given out twice", "of them given out twice");
		count_of(p, v, ", ", F_loader_waiting, "backward pass without an update", "backward passes without an update");
		also_digest(p, v, ", order ", F_loader_order_digest);
	} else {
		text_also(p, " ", say_str(v, F_loader_name, name));
		count_of(p, v, ", ", F_loader_examples, "example", "examples");
		text_also(p, " in batches of ", say_int(v, F_loader_micro_batch, n));
		text_also(p, ", ", say_str(v, F_loader_sampler, sampler));
		count_of(p, v, ", ", F_loader_workers, "worker", "workers");
		if (view_bool(v, F_loader_drop_last, &drop) && drop)
			pen_printf(p, ", an incomplete batch is left out");
	}
	pen_newline(p);
}

void text_load(struct pen *p, const struct view *v)
{
	char s[VALUE];
	event(p, BOLD, "loaded");
	text_also(p, " at update ", say_int(v, F_load_update, s));
	pen_printf(p, ": ");
	whole_str(p, v, F_load_path);
	also_strs(p, v, ", holds ", F_load_holds, 8);
	if (view_count(v, F_load_restored) > 0)
		also_strs(p, v, "; put back: ", F_load_restored, 8);
	else
		pen_printf(p, "; nothing of it was put back");
	count_of(p, v, "; ", F_load_matched, "tensor matched", "tensors matched");
	count_of(p, v, ", ", F_load_missing, "missing", "missing");
	count_of(p, v, ", ", F_load_unexpected, "not of the model", "not of the model");
	pen_newline(p);
}

void text_state(struct pen *p, const struct view *v)
{
	char s[VALUE], at[VALUE];
	event(p, BOLD, "state");
	text_also(p, " at ", say_str(v, F_state_at, at));
	text_also(p, ", update ", say_int(v, F_state_update, s));
	text_also(p, ", optimizer at ", say_int(v, F_state_optimizer_count, s));
	text_also(p, ", schedule at ", say_int(v, F_state_schedule_count, s));
	text_also(p, ", rate ", say_short(v, F_state_lr, s));
	text_also(p, ", loss scale ", say_short(v, F_state_scale, s));
	also_digest(p, v, ", weights ", F_state_weights_digest);
	also_digest(p, v, ", batch ", F_state_batch_digest);
	pen_newline(p);
}

void text_replica(struct pen *p, const struct view *v)
{
	char s[VALUE], n[VALUE];
	event(p, BOLD, "replica");
	pen_printf(p, " %s", say_int(v, F_replica_rank, n));
	text_also(p, " of ", say_int(v, F_replica_replicas, n));
	text_also(p, " at update ", say_int(v, F_replica_update, n));
	text_also(p, ": loss ", say_num(v, F_replica_loss, s));
	count_of(p, v, *s ? ", " : ": ", F_replica_rows, "example", "examples");
	also_digest(p, v, ", weights ", F_replica_weights_digest);
	text_also(p, ", ", say_bytes(v, F_replica_allocated_peak_bytes, s));
	pen_printf(p, *s ? " allocated at the peak" : "");
	pen_newline(p);
}

void text_check(struct pen *p, const struct view *v)
{
	char name[VALUE], s[VALUE];
	double x;
	event(p, BOLD, "checked");
	pen_printf(p, " %s", say_str(v, F_check_name, name));
	text_also(p, " at update ", say_int(v, F_check_update, s));
	pen_printf(p, ": ");
	if (there(v, F_check_reason)) {
		pen_printf(p, "not made: ");
		whole_str(p, v, F_check_reason);
	} else if (view_num(v, F_check_difference, &x)) {
		pen_printf(p, "outputs differ by %s", number_words(x, s));
		text_also(p, " of ", say_num(v, F_check_magnitude, s));
	}
	pen_newline(p);
}

static void failure_shape(struct pen *p, const struct view *v)
{
	char rows[VALUE];
	int64_t k;
	int n = view_count(v, F_failure_shape);
	if (n > 0) {
		pen_printf(p, ", on ");
		for (int i = 0; i < n; i++)
			if (view_item_int(v, F_failure_shape, i, &k))
				pen_printf(p, "%s%lld", i ? " x " : "", (long long)k);
	} else if (*say_int(v, F_failure_rows, rows)) {
		pen_printf(p, ", on %s rows", rows);
	}
}

void text_failure(struct pen *p, const struct view *v)
{
	char name[VALUE], s[VALUE];
	const char *message = "";
	size_t n = 0;
	event(p, RED, say_str(v, F_failure_exception, name));
	text_also(p, " in ", say_str(v, F_failure_phase, s));
	text_also(p, " after update ", say_int(v, F_failure_update, s));
	failure_shape(p, v);
	text_also(p, ", asked for ", say_bytes(v, F_failure_asked_bytes, s));
	text_also(p, " of ", say_str(v, F_failure_device, s));
	pen_newline(p);
	if (view_str(v, F_failure_message, &message, &n) && n)
		pen_wrapped(p, "", 4, message, n);
}
