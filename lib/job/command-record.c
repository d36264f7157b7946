/* command-record.c - the records of a command's run that are ours: what was run, and how it ended. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "command-inner.h"

enum { DIGESTS = 64, PROGRAM_MAX = 16 << 20 };

/* ---- its words ---- */

static void words_field(struct command *c, enum field f, char *const *words)
{
	char **shown;
	int n = 0;

	if (!words || secret_argv(words, &shown))
		return;
	while (shown[n])
		n++;
	if (n)
		rec_strs(&c->rec, f, shown, n);
	secret_free(shown);
}

static void shell_field(struct command *c, enum field f, const char *text)
{
	char *shown = text ? secret_shell(text) : NULL;

	rec_str(&c->rec, f, shown);
	free(shown);
}

/* ---- digests of what it is ---- */

struct digests {
	char text[DIGESTS][72], *list[DIGESTS];
	int n;
};

static bool is_interpreter(const char *path)
{
	static const char *const names[] = { "sh", "bash", "dash", "zsh", "ksh", "env", "perl", "ruby", "node", "java", "julia", "Rscript", "lua",
		"torchrun", "accelerate", "deepspeed", "mpirun", "mpiexec", "srun", "nice", "time", "timeout", "stdbuf", NULL };
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	if (!strncmp(name, "python", 6) || !strncmp(name, "pypy", 4))
		return true;
	for (int i = 0; names[i]; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static void digest_file(struct command *c, struct digests *d, const char *name)
{
	char path[8400];
	struct stat st;

	if (!*name || d->n == DIGESTS || strlen(name) > 4000)
		return;
	if (*name == '/')
		snprintf(path, sizeof path, "%s", name);
	else
		snprintf(path, sizeof path, "%s/%s", c->cwd, name);
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > PROGRAM_MAX || sha_file(path, d->text[d->n], NULL, NULL) < 0)
		return;
	d->list[d->n] = d->text[d->n];
	d->n++;
}

/* The word itself, what stands behind its "=", and the words of a line for sh. */
static void digest_word(struct command *c, struct digests *d, const char *word)
{
	const char *equals = strchr(word, '=');
	char *copy, *save = NULL;

	digest_file(c, d, word);
	if (equals)
		digest_file(c, d, equals + 1);
	if (!strpbrk(word, " \t\n") || !(copy = strdup(word)))
		return;
	for (char *p = strtok_r(copy, " \t\n'\";&|()", &save); p; p = strtok_r(NULL, " \t\n'\";&|()", &save))
		if (!is_interpreter(p))
			digest_file(c, d, p);
	free(copy);
}

static void program_digests(struct command *c, struct digests *d)
{
	for (int i = 0; c->argv[i]; i++)
		if (i > 0 || (strchr(c->argv[0], '/') && !is_interpreter(c->argv[0])))
			digest_word(c, d, c->argv[i]);
}

/* What decides fit and speed: the files, the words but for those that a campaign changes, the device, the cap. */
static void fingerprint(struct command *c, const struct digests *d)
{
	static const enum word loose[] = { WORD_MICRO_BATCH, WORD_UPDATES, WORD_SEED, WORD_SAVE_DIR, WORD_RESUME };
	struct words *v = malloc(sizeof *v);
	struct buf b = { 0 };
	char cpu[256], text[72] = "sha256:";
	unsigned char raw[32];
	int r = v ? 0 : -1;

	host_cpu(cpu);
	if (v) {
		words_from(v, c->how->config);
		v->own = c->how->names->values;
		for (size_t i = 0; i < sizeof loose / sizeof *loose; i++) {
			v->has[loose[i]] = true;
			snprintf(v->value[loose[i]], sizeof v->value[0], "{%s}", word_name(loose[i]));
		}
	}
	for (int i = 0; !r && i < d->n; i++)
		r = buf_printf(&b, "%s|", d->list[i]);
	for (int i = 0; !r && c->how->stranger->argv[i]; i++)
		if ((r = words_expand(v, c->how->stranger->argv[i], false, "", &b, NULL)) == 0)
			r = buf_add(&b, "|", 1);
	for (int i = 0; !r && c->how->stranger->env && c->how->stranger->env[i]; i++)
		if ((r = words_expand(v, c->how->stranger->env[i], false, "", &b, NULL)) == 0)
			r = buf_add(&b, "|", 1);
	if (!r && buf_printf(&b, "%s|%s|%lld|%s", c->how->config->device, cpu, (long long)c->how->config->memory_bytes, PILOT_VERSION) == 0 && sha_of(b.p, b.n, raw) == 0) {
		sha_hex(raw, text + 7);
		rec_str(&c->rec, F_run_fingerprint, text);
	}
	buf_free(&b);
	free(v);
}

/* ---- run ---- */

static bool has_meaning(const struct command *c, enum word p, enum option o)
{
	return c->words.used >> p & 1 || config_given(c->how->config, o);
}

/* Settings that the command was given; it may have others of its own, which nobody knows. */
static void settings(struct command *c)
{
	const struct config *s = c->how->config;
	bool rows = has_meaning(c, WORD_MICRO_BATCH, O_micro_batch), passes = has_meaning(c, WORD_ACCUM, O_accum);
	struct rec *r = &c->rec;

	if (*s->freeze)
		rec_str(r, F_run_freeze, s->freeze);
	if (rows)
		rec_int(r, F_run_micro_batch, s->micro_batch);
	if (passes)
		rec_int(r, F_run_accum, s->accum);
	if (c->words.has[WORD_LENGTH])
		rec_int(r, F_run_length, s->length);
	if (c->words.has[WORD_UPDATES])
		rec_int(r, F_run_updates, s->updates);
	if (*s->stop)
		rec_str(r, F_run_stop, s->stop);
	if (has_meaning(c, WORD_SEED, O_seed))
		rec_int(r, F_run_seed, s->seed);
	if (config_given(s, O_device))
		rec_str(r, F_run_device, s->device);
	if (s->memory_bytes > 0)
		rec_int(r, F_run_memory_bytes, s->memory_bytes);
	if (*s->save)
		rec_str(r, F_run_save, c->words.value[WORD_SAVE_DIR]);
	if (*s->resume)
		rec_str(r, F_run_resume, c->words.value[WORD_RESUME]);
}

static void host_fields(struct command *c)
{
	char text[256], revision[64];
	struct rec *r = &c->rec;
	bool dirty;

	words_field(c, F_run_argv, c->how->names->argv);
	rec_str(r, F_run_cwd, c->cwd);
	rec_str(r, F_run_origin, c->how->origin);
	rec_str(r, F_run_version, PILOT_VERSION);
	host_revision(c->cwd, revision, &dirty);
	if (*revision) {
		rec_str(r, F_run_revision, revision);
		rec_bool(r, F_run_dirty, dirty);
	}
	host_name(text);
	rec_str(r, F_run_host, text);
	host_cpu(text);
	rec_str(r, F_run_cpu, text);
	rec_int(r, F_run_cores, host_cores());
}

static void names_fields(struct command *c)
{
	const struct run_names *n = c->how->names;
	struct rec *r = &c->rec;

	rec_str(r, F_run_run, c->result->run);
	rec_str(r, F_run_role, n->role ? n->role : "train");
	rec_str(r, F_run_request, n->request);
	rec_str(r, F_run_parent, n->parent);
	rec_str(r, F_run_repeats, n->repeats);
	rec_str(r, F_run_comparison, n->comparison);
	rec_str(r, F_run_arm, n->arm);
}

static void values_field(struct command *c)
{
	char *const *v = c->how->names->values;
	int n = 0;

	while (v && v[n])
		n++;
	if (n)
		rec_strs(&c->rec, F_run_values, v, n);
}

int command_record_run(struct command *c)
{
	const struct stranger *s = c->how->stranger;
	const struct config *config = c->how->config;
	struct digests *d = calloc(1, sizeof *d);
	struct rec *r = &c->rec;

	if (!d)
		return why_set(c->why, EX_OSERR, "start: no memory");
	program_digests(c, d);
	rec_begin(r, KIND_run);
	names_fields(c);
	rec_str(r, F_run_trainer, "command");
	values_field(c);
	words_field(c, F_run_command, s->argv);
	words_field(c, F_run_program, c->argv);
	shell_field(c, F_run_resume_with, s->resume_with);
	if (s->env)
		command_env_record(r, F_run_env, s->env);
	command_env_record(r, F_run_environment, c->envp);
	rec_str(r, F_run_step_regex, s->step_regex);
	rec_str(r, F_run_evidence, c->evidence);
	if (*c->cap.how)
		rec_str(r, F_run_memory_cap, c->cap.how);
	if (d->n)
		rec_strs(r, F_run_program_digests, d->list, d->n);
	settings(c);
	host_fields(c);
	if (has_meaning(c, WORD_MICRO_BATCH, O_micro_batch) && has_meaning(c, WORD_ACCUM, O_accum))
		rec_int(r, F_run_effective_batch, config->micro_batch * config->accum);
	if (c->stop_after > 0) {
		rec_str(r, F_run_budget, "updates");
		rec_int(r, F_run_planned_updates, c->stop_after);
	}
	fingerprint(c, d);
	free(d);
	return command_send(c);
}

/* ---- what we say of it ---- */

int command_record_note(struct command *c, const char *text)
{
	rec_begin(&c->rec, KIND_note);
	rec_str(&c->rec, F_note_run, c->result->run);
	rec_str(&c->rec, F_note_text, text);
	rec_str(&c->rec, F_note_author, "train-step");
	return command_send(c);
}

int command_record_blind(struct command *c, const char *reason)
{
	rec_begin(&c->rec, KIND_blind);
	rec_str(&c->rec, F_blind_run, c->result->run);
	rec_str(&c->rec, F_blind_phase, "all");
	rec_str(&c->rec, F_blind_reason, reason);
	return command_send(c);
}

/* ---- end ---- */

static void memory_fields(struct command *c)
{
	const struct totals *t = &c->totals;
	struct rec *r = &c->rec;

	if (strcmp(c->result->status, "oom") != 0)
		return;
	if (*t->failure_phase)
		rec_str(r, F_end_oom_phase, t->failure_phase);
	if (t->asked_bytes >= 0)
		rec_int(r, F_end_asked_bytes, t->asked_bytes);
	if (c->how->config->memory_bytes > 0)
		rec_int(r, F_end_budget_bytes, c->how->config->memory_bytes);
	if (*t->input)
		rec_str(r, F_end_input, t->input);
}

static void watched_fields(struct command *c)
{
	const struct tree_facts *f = &c->tree_facts;
	struct rec *r = &c->rec;

	if (!c->watched)
		return;
	rec_num(r, F_end_cpu_seconds, f->cpu_seconds);
	rec_int(r, F_end_processes, f->processes);
	rec_int(r, F_end_resident_peak_bytes, f->resident_peak);
	rec_int(r, F_end_address_peak_bytes, f->address_peak);
	if (f->device_peak >= 0 && c->totals.used_peak < 0)
		rec_int(r, F_end_device_used_peak_bytes, f->device_peak);
	if (f->device_all_peak >= 0)
		rec_int(r, F_end_device_all_peak_bytes, f->device_all_peak);
	rec_int(r, F_end_files_written, f->files);
	rec_int(r, F_end_bytes_written, f->bytes);
	if (f->file_count > 0)
		rec_strs(r, F_end_files, f->file, f->file_count);
	if (f->files_partial)
		rec_bool(r, F_end_files_partial, true);
}

int command_record_end(struct command *c)
{
	struct rec *r = &c->rec;
	int st = c->wait_status;

	rec_begin(r, KIND_end);
	rec_str(r, F_end_run, c->result->run);
	rec_str(r, F_end_status, c->result->status);
	if (*c->reason)
		rec_str(r, F_end_why, c->reason);
	rec_num(r, F_end_seconds, clock_seconds() - c->began);
	totals_fields(&c->totals, r);
	memory_fields(c);
	rec_str(r, F_end_cause, c->cause);
	if (c->watched && WIFEXITED(st))
		rec_int(r, F_end_exit_status, WEXITSTATUS(st));
	if (*c->signal)
		rec_str(r, F_end_signal, c->signal);
	if (*c->exception)
		rec_str(r, F_end_exception, c->exception);
	watched_fields(c);
	if (c->refused > 0)
		rec_int(r, F_end_lines_refused, c->refused);
	if (c->output.lines > 0 && (st != 0 || !c->watched) && strcmp(c->result->status, "stopped") != 0)
		rec_strs(r, F_end_stderr, c->output.line, c->output.lines);
	return command_send(c);
}
