/* stranger_kit.h - a healthy run of a command as its adapter tells it, made line by line, and its changes. */
#ifndef PILOT_STRANGER_KIT_H
#define PILOT_STRANGER_KIT_H

#include <sys/stat.h>

#include "gate_kit.h"

/* Three passes over 64 examples in micro-batches of 4, two an update; a validation and a save after each. */
enum { UPDATES = 24, EPOCH = 8 };

/* Lines have tags: `step:5`, `validate:8`. A change is for the lines whose tag begins with its own; `from`
 * NULL: the whole line; `to` NULL: the line is taken away. */
struct edit {
	const char *tag, *from, *to;
};

struct told {
	int fd;
	const struct edit *edit;
	int edits;
	int done[16]; /* how often each was made */
};

static inline bool tagged(const char *tag, const char *want)
{
	size_t n = strlen(want);

	return !strncmp(tag, want, n) && (!tag[n] || tag[n] == ':');
}

/* The run of the stream ended at its own time: its files are not younger. */
static inline int make_old_file(void)
{
	struct timespec then[2] = { { .tv_sec = 1700000000 }, { .tv_sec = 1700000000 } };

	return make_file() < 0 ? -1 : utimensat(AT_FDCWD, path, then, 0);
}

/* Writes one line, {"kind":KIND,"t":..,"run":..,REST}. */
__attribute__((format(printf, 4, 5))) static inline void tell(struct told *s, const char *tag, const char *kind, const char *fmt, ...)
{
	char rest[WIDE], a[2 * WIDE], b[2 * WIDE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(rest, sizeof rest, fmt, ap);
	va_end(ap);
	snprintf(a, sizeof a, "{\"kind\":\"%s\",\"t\":\"2026-01-01T00:00:00Z\",\"run\":\"" ID "\",%s}", kind, rest);
	for (int i = 0; i < s->edits; i++) {
		const struct edit *e = &s->edit[i];

		if (!e->tag || !tagged(tag, e->tag) || (e->from && !strstr(a, e->from)))
			continue;
		s->done[i]++;
		if (!e->to)
			return;
		if (e->from)
			put(b, sizeof b, a, e->from, e->to);
		else
			snprintf(b, sizeof b, "{\"t\":\"2026-01-01T00:00:00Z\",\"run\":\"" ID "\",%s}", e->to);
		strcpy(a, b);
	}
	dprintf(s->fd, "%s\n", a);
}

/* A place where a change may put another record. */
static inline void gap(struct told *s, int at)
{
	char tag[32];

	snprintf(tag, sizeof tag, "gap:%d", at);
	tell(s, tag, "note", "\"text\":\"-\"");
}

static inline void tell_begin(struct told *s)
{
	tell(s, "run", "run", "\"role\":\"train\",\"trainer\":\"command\",\"command\":[\"python\",\"train.py\",\"--batch={micro_batch}\",\"--accum={accum}\"],\"micro_batch\":4,\"accum\":2,\"seed\":1,\"deterministic\":true");
	tell(s, "trainer", "trainer", "\"name\":\"torch\",\"version\":\"2.1\",\"replicas\":1");
	gap(s, 0);
	tell(s, "begin:1", "loader", "\"event\":\"begin\",\"number\":0,\"pass\":1,\"update\":0,\"examples\":64,\"micro_batch\":4,\"sampler\":\"RandomSampler\",\"workers\":2");
	tell(s, "model", "model", "\"name\":\"GPT\",\"number\":0,\"tensors\":28,\"trainable_tensors\":28,\"parameters\":50000,\"dropout_layers\":4,\"norm_layers\":1,\"precision\":\"float32\",\"device\":\"cpu\",\"equal_apart\":[]");
	tell(s, "state", "state", "\"update\":0,\"at\":\"start\",\"weights_digest\":\"w0\"");
}

static inline void tell_phases(struct told *s, int update, const char *occurrence)
{
	char tag[32];
#define TELL(name, ...) (snprintf(tag, sizeof tag, name ":%d", update), tell(s, tag, "phase", "\"phase\":\"" name "\",\"occurrence\":\"%s\",\"update\":%d,\"micro_batch\":4,\"seconds\":0.01," __VA_ARGS__))
	TELL("data", "\"length\":16,\"reserved_bytes\":1000", occurrence, update - 1);
	TELL("forward", "\"length\":16,\"output_shape\":[4,16,65]", occurrence, update - 1);
	TELL("backward", "\"gradients_missing\":0,\"gradients_zero\":0,\"gradients_nonfinite\":0,\"gradients_frozen\":0,\"trainable_tensors\":28,\"gradient_norm\":1.5,\"worst_tensor\":\"wte\"", occurrence, update - 1);
	TELL("update", "\"changed\":28,\"unchanged\":0,\"frozen_changed\":0,\"zero_changed\":0,\"changed_share\":0.9,\"tied_apart\":0,\"optimizer_count\":%d,\"lr\":0.001", occurrence, update - 1, update);
#undef TELL
}

static inline void tell_step(struct told *s, int update)
{
	char tag[32];

	snprintf(tag, sizeof tag, "step:%d", update);
	tell(s, tag, "step", "\"update\":%d,\"examples\":%d,\"rows\":8,\"passes\":2,\"loss\":%.3f,\"lr\":0.001,\"gradient_norm\":1.2,\"pass_rows\":[4,4],\"pass_supervised\":[64,64],\"supervised\":128,\"loss_function\":\"NllLoss\",\"reduction\":\"mean\",\"divisor\":2,\"shape\":[4,16],\"output_shape\":[4,16,65],\"target_offset\":1,\"target_match\":1,\"padding_supervised\":0,\"training\":true,\"left_over\":0,\"dropped_passes\":0,\"scheduler_calls\":1,\"scaler_calls\":0,\"touched\":28,\"tensors\":28,\"batch_digest\":\"batch%d\"",
		update, 8 * update, 4.2 - update * 0.05, update);
	if (update == 1)
		tell(s, "optimizer", "optimizer", "\"name\":\"AdamW\",\"number\":0,\"groups\":1,\"lr\":[0.001],\"weight_decay\":[0.1],\"tensors\":28,\"uncovered\":0,\"strangers\":0");
	if (update == 1 || update == 3)
		tell_phases(s, update, update == 1 ? "first" : "steady");
}

static inline void tell_checks(struct told *s)
{
	static const char *const name[] = { "repeat", "future", "rows", "padding" };
	char tag[32];

	for (int i = 0; i < 4; i++) {
		snprintf(tag, sizeof tag, "check:%s", name[i]);
		tell(s, tag, "check", "\"name\":\"%s\",\"update\":1,\"difference\":0,\"magnitude\":3.5", name[i]);
	}
}

/* The end of a pass over the data, what is validated and saved behind it, and the begin of the next. */
static inline void tell_epoch(struct told *s, int update)
{
	int epoch = update / EPOCH;
	char tag[32];
#define TAG(name, n) (snprintf(tag, sizeof tag, name ":%d", n), tag)
	tell(s, TAG("pass", epoch), "loader", "\"event\":\"end\",\"number\":0,\"pass\":%d,\"update\":%d,\"split\":\"train\",\"examples\":64,\"micro_batch\":4,\"sampler\":\"RandomSampler\",\"workers\":2,\"batches\":16,\"rows\":64,\"order_digest\":\"order%d\",\"repeated\":0,\"waiting\":0", epoch, update, epoch);
	tell(s, TAG("validate", update), "phase", "\"phase\":\"validate\",\"update\":%d,\"split\":\"validation\",\"examples\":19,\"batches\":5,\"last_rows\":3,\"loss\":3,\"batch_mean_loss\":3.1,\"evaluation_mode\":true,\"training_mode_after\":true,\"weights_changed\":false,\"buffers_changed\":false,\"optimizer_changed\":false,\"random_changed\":false,\"seconds\":0.1", update);
	tell(s, TAG("eval", update), "eval", "\"split\":\"validation\",\"update\":%d,\"examples\":19,\"loss\":3,\"batch_mean_loss\":3.1,\"printed\":\"loss\"", update);
	tell(s, TAG("vpass", epoch), "loader", "\"event\":\"end\",\"number\":1,\"pass\":%d,\"update\":%d,\"split\":\"validation\",\"examples\":19,\"micro_batch\":4,\"drop_last\":false,\"sampler\":\"SequentialSampler\",\"workers\":0,\"batches\":5,\"rows\":19,\"order_digest\":\"v\",\"repeated\":0,\"waiting\":0", epoch, update);
	tell(s, TAG("save", update), "save", "\"update\":%d,\"path\":\"%s\",\"digest\":\"%s\",\"bytes\":%lld,\"holds\":[\"weights\",\"optimizer\",\"count\"],\"in_place\":false,\"optimizer_count\":%d", update, path, digest, bytes, update);
	tell(s, TAG("psave", update), "phase", "\"phase\":\"save\",\"update\":%d,\"path\":\"%s\",\"in_place\":false,\"seconds\":0.1", update, path);
	if (update < UPDATES)
		tell(s, TAG("begin", epoch + 1), "loader", "\"event\":\"begin\",\"number\":0,\"pass\":%d,\"update\":%d,\"examples\":64,\"micro_batch\":4,\"sampler\":\"RandomSampler\",\"workers\":2", epoch + 1, update);
#undef TAG
}

/* The verdicts on the run with its edits, by the caller freed; NULL: one of the edits fits no line. */
static inline char *judged_run(const struct edit *edit, int edits, const struct judge_settings *settings, int *status)
{
	struct told s = { .fd = memfd_create("stream", MFD_CLOEXEC), .edit = edit, .edits = edits };
	char *text = NULL;
	bool all = true;

	tell_begin(&s);
	for (int update = 1; update <= UPDATES; update++) {
		tell_step(&s, update);
		gap(&s, update);
		if (update == 1)
			tell_checks(&s);
		if (update % EPOCH == 0)
			tell_epoch(&s, update);
	}
	tell(&s, "end", "end", "\"status\":\"done\",\"updates\":%d,\"examples\":%d,\"seconds\":2,\"cause\":\"updates\"", UPDATES, 8 * UPDATES);
	for (int i = 0; i < edits; i++)
		all &= !edit[i].tag || s.done[i] > 0;
	if (all)
		text = judge_fd(s.fd, settings, status);
	close(s.fd);
	return text;
}

#endif
