/* gate_kit.h - a healthy stream written by hand, its changes, and the judge over it. */
#ifndef PILOT_GATE_KIT_H
#define PILOT_GATE_KIT_H

#include <fcntl.h>
#include <unistd.h>

#include "../../lib/job/job.h"
#include "memfile.h"
#include "tap.h"

enum { LINES = 64, WIDE = 4096 };
#define ID "01JEXAMPLE0000000000000000"

static char path[200], digest[72];
static long long bytes;

/* 18 examples in windows of 8, 8 and 2: three updates an epoch, two epochs. ln(13) is 2.5649... */
static const char *const healthy[] = {
	/* 0 */ "{\"kind\":\"run\",\"t\":\"2026-01-01T00:00:00Z\",\"run\":\"" ID "\",\"role\":\"train\",\"model\":\"gpt:layers=1\",\"optimizer\":\"adamw:lr=0.001\",\"schedule\":\"constant\",\"micro_batch\":4,\"accum\":2,\"last_window\":\"keep\",\"precision\":\"fp32\",\"classes\":13,\"train_examples\":18,\"validation_examples\":6,\"planned_updates\":6,\"deterministic\":true,\"seed\":1}",
	/* 1 */ "{\"kind\":\"plan\",\"t\":\"2026-01-01T00:00:00Z\",\"run\":\"" ID "\",\"load_bytes\":1000,\"data_bytes\":100,\"forward_bytes\":500,\"backward_bytes\":1000,\"update_bytes\":2000,\"validate_bytes\":300,\"peak_bytes\":4900}",
	/* 2 */ "{\"kind\":\"phase\",\"t\":\"2026-01-01T00:00:00Z\",\"run\":\"" ID "\",\"phase\":\"load\",\"occurrence\":\"first\",\"update\":0,\"tensors\":2,\"baseline_bytes\":0,\"allocated_bytes\":1000,\"allocated_peak_bytes\":1000,\"reserved_bytes\":4096,\"reserved_peak_bytes\":4096,\"seconds\":0.01}",
	/* 3 */ "{\"kind\":\"step\",\"t\":\"2026-01-01T00:00:01Z\",\"run\":\"" ID "\",\"update\":1,\"examples\":8,\"loss\":2.6,\"lr\":0.001,\"gradient_norm\":1.5,\"rows\":8,\"supervised\":20,\"passes\":2,\"batch_digest\":\"aa\",\"seconds\":0.1,\"data_seconds\":0.01,\"forward_seconds\":0.03,\"backward_seconds\":0.04,\"update_seconds\":0.01}",
	/* 4 */ "{\"kind\":\"phase\",\"t\":\"2026-01-01T00:00:01Z\",\"run\":\"" ID "\",\"phase\":\"data\",\"occurrence\":\"first\",\"update\":0,\"micro_batch\":4,\"length\":7,\"ids_min\":0,\"ids_max\":12,\"targets_min\":1,\"targets_max\":11,\"classes\":13,\"class_names\":13,\"supervised\":20,\"declared_supervised\":20,\"shift_compared\":12,\"shift_wrong\":0,\"shared_examples\":0,\"shared_groups\":0,\"baseline_bytes\":1000,\"allocated_bytes\":1100,\"allocated_peak_bytes\":1100,\"reserved_bytes\":8192,\"reserved_peak_bytes\":8192,\"seconds\":0.01}",
	/* 5 */ "{\"kind\":\"phase\",\"t\":\"2026-01-01T00:00:01Z\",\"run\":\"" ID "\",\"phase\":\"forward\",\"occurrence\":\"first\",\"update\":0,\"output_shape\":[4,7,13],\"loss\":2.6,\"loss_nonfinite\":0,\"fresh\":true,\"expected_loss\":2.5649493574615367,\"logits_variance\":0.04,\"baseline_bytes\":1100,\"allocated_bytes\":1600,\"allocated_peak_bytes\":1600,\"reserved_bytes\":8192,\"reserved_peak_bytes\":8192,\"seconds\":0.03}",
	/* 6 */ "{\"kind\":\"phase\",\"t\":\"2026-01-01T00:00:01Z\",\"run\":\"" ID "\",\"phase\":\"backward\",\"occurrence\":\"first\",\"update\":0,\"tensors\":2,\"trainable_tensors\":2,\"gradients_missing\":0,\"gradients_nonfinite\":0,\"gradients_frozen\":0,\"gradient_norm\":1.5,\"worst_tensor\":\"wte\",\"baseline_bytes\":1600,\"allocated_bytes\":2600,\"allocated_peak_bytes\":2600,\"reserved_bytes\":12288,\"reserved_peak_bytes\":12288,\"seconds\":0.04}",
	/* 7 */ "{\"kind\":\"phase\",\"t\":\"2026-01-01T00:00:01Z\",\"run\":\"" ID "\",\"phase\":\"update\",\"occurrence\":\"first\",\"update\":0,\"trainable_tensors\":2,\"changed\":2,\"unchanged\":0,\"frozen_changed\":0,\"tied_apart\":0,\"attempted\":1,\"applied\":1,\"skipped\":0,\"optimizer_count\":1,\"lr\":0.001,\"schedule_lr\":0.001,\"baseline_bytes\":2600,\"allocated_bytes\":4600,\"allocated_peak_bytes\":4600,\"reserved_bytes\":12288,\"reserved_peak_bytes\":12288,\"seconds\":0.01}",
	/* 8 */ "{\"kind\":\"step\",\"t\":\"2026-01-01T00:00:01Z\",\"run\":\"" ID "\",\"update\":2,\"examples\":16,\"loss\":2.5,\"lr\":0.001,\"gradient_norm\":1.4,\"rows\":8,\"supervised\":21,\"passes\":2,\"batch_digest\":\"bb\",\"seconds\":0.1}",
	/* 9 */ "{\"kind\":\"step\",\"t\":\"2026-01-01T00:00:01Z\",\"run\":\"" ID "\",\"update\":3,\"examples\":18,\"loss\":2.4,\"lr\":0.001,\"gradient_norm\":1.3,\"rows\":2,\"supervised\":6,\"passes\":1,\"batch_digest\":\"cc\",\"seconds\":0.1}",
	/* 10 */ "{\"kind\":\"eval\",\"t\":\"2026-01-01T00:00:01Z\",\"run\":\"" ID "\",\"split\":\"validation\",\"update\":3,\"examples\":6,\"loss\":2.45}",
	/* 11 */ "{\"kind\":\"phase\",\"t\":\"2026-01-01T00:00:01Z\",\"run\":\"" ID "\",\"phase\":\"validate\",\"occurrence\":\"first\",\"update\":3,\"examples\":6,\"expected_examples\":6,\"distinct_examples\":6,\"split\":\"validation\",\"evaluation_mode\":true,\"training_mode_after\":true,\"weights_changed\":false,\"optimizer_changed\":false,\"random_changed\":false,\"loss\":2.45,\"baseline_bytes\":4600,\"allocated_bytes\":4600,\"allocated_peak_bytes\":4900,\"reserved_bytes\":16384,\"reserved_peak_bytes\":16384,\"seconds\":0.02}",
	/* 12 */ "{\"kind\":\"step\",\"t\":\"2026-01-01T00:00:01Z\",\"run\":\"" ID "\",\"update\":4,\"examples\":26,\"loss\":2.3,\"lr\":0.001,\"gradient_norm\":1.2,\"rows\":8,\"supervised\":20,\"passes\":2,\"batch_digest\":\"dd\",\"seconds\":0.1}",
	/* 13 */ "{\"kind\":\"step\",\"t\":\"2026-01-01T00:00:01Z\",\"run\":\"" ID "\",\"update\":5,\"examples\":34,\"loss\":2.2,\"lr\":0.001,\"gradient_norm\":1.1,\"rows\":8,\"supervised\":20,\"passes\":2,\"batch_digest\":\"ee\",\"seconds\":0.1}",
	/* 14 */ "{\"kind\":\"step\",\"t\":\"2026-01-01T00:00:01Z\",\"run\":\"" ID "\",\"update\":6,\"examples\":36,\"loss\":2.1,\"lr\":0.001,\"gradient_norm\":1.0,\"rows\":2,\"supervised\":5,\"passes\":1,\"batch_digest\":\"ff\",\"seconds\":0.1}",
	/* 15 */ "{\"kind\":\"save\",\"t\":\"2026-01-01T00:00:01Z\",\"run\":\"" ID "\",\"update\":6,\"path\":\"@PATH@\",\"digest\":\"@DIGEST@\",\"bytes\":@BYTES@}",
	/* 16 */ "{\"kind\":\"phase\",\"t\":\"2026-01-01T00:00:01Z\",\"run\":\"" ID "\",\"phase\":\"save\",\"occurrence\":\"first\",\"update\":6,\"tensors\":2,\"path\":\"@PATH@\",\"digest\":\"@DIGEST@\",\"complete\":true,\"weights_changed\":false,\"optimizer_changed\":false,\"random_changed\":false,\"baseline_bytes\":4600,\"allocated_bytes\":4600,\"allocated_peak_bytes\":4600,\"reserved_bytes\":16384,\"reserved_peak_bytes\":16384,\"seconds\":0.02}",
	/* 17 */ "{\"kind\":\"end\",\"t\":\"2026-01-01T00:00:02Z\",\"run\":\"" ID "\",\"status\":\"done\",\"updates\":6,\"examples\":36,\"dropped_examples\":0,\"seconds\":2,\"training_seconds\":0.6,\"examples_per_second\":60,\"allocated_peak_bytes\":4900}",
	NULL,
};

struct change {
	int line;
	const char *from, *to; /* the first `from` in the line; to NULL: the line is taken away */
};

/* ---- a stream through the judge ---- */

static inline void put(char *out, size_t n, const char *line, const char *from, const char *to)
{
	const char *at = from ? strstr(line, from) : NULL;

	if (!at)
		snprintf(out, n, "%s", line);
	else
		snprintf(out, n, "%.*s%s%s", (int)(at - line), line, to, at + strlen(from));
}

/* The verdict line of a phase, cut out of text into out. */
static inline void verdict_of(const char *text, const char *phase, char *out, size_t n)
{
	char key[64];
	const char *at, *from, *to;

	snprintf(key, sizeof key, "\"phase\":\"%s\"", phase);
	at = text ? strstr(text, key) : NULL;
	*out = 0;
	if (!at)
		return;
	for (from = at; from > text && from[-1] != '\n'; from--)
		;
	to = strchr(at, '\n');
	snprintf(out, n, "%.*s", (int)(to - from), from);
}

/* Writes the stream with its changes; -1 if one of them does not fit the line. */
static inline int stream(int fd, const struct change *change, int changes)
{
	for (int i = 0; healthy[i]; i++) {
		char a[WIDE], b[WIDE], number[32];
		bool gone = false;

		snprintf(number, sizeof number, "%lld", bytes);
		snprintf(a, sizeof a, "%s", healthy[i]);
		for (int c = 0; c < changes; c++) {
			if (!change[c].from || change[c].line != i)
				continue;
			if (!strstr(a, change[c].from))
				return -1;
			gone |= !change[c].to;
			put(b, sizeof b, a, change[c].from, change[c].to ? change[c].to : "");
			strcpy(a, b);
		}
		put(b, sizeof b, a, "@PATH@", path);
		put(a, sizeof a, b, "@DIGEST@", digest);
		put(b, sizeof b, a, "@BYTES@", number);
		if (!gone)
			dprintf(fd, "%s\n", b);
	}
	return 0;
}

/* The verdicts as JSON Lines, by the caller freed; NULL if something went wrong. */
static inline char *judge_fd(int fd, const struct judge_settings *s, int *status)
{
	int to = memfd_create("verdicts", MFD_CLOEXEC);
	struct out *o = NULL;
	struct judge *j = NULL;
	struct in *in = NULL;
	struct why w = { 0 };
	struct view v;
	int rc;

	lseek(fd, 0, SEEK_SET);
	if (out_open(&o, to, FORM_JSON, &w) < 0 || judge_new(&j, s, o, "tool", &w) < 0 || in_open(&in, fd, "stream", &w) < 0)
		return NULL;
	while ((rc = in_next(in, &v, &w)) > 0 && (rc = judge_see(j, &v, &w)) == 0)
		;
	if (rc < 0) {
		diag("%s", w.text);
		return NULL;
	}
	*status = judge_finish(j, &w);
	judge_free(j);
	in_close(in);
	if (out_close(o, &w) < 0)
		return NULL;
	off_t n = lseek(to, 0, SEEK_END);
	char *text = calloc(1, (size_t)n + 1);
	if (pread(to, text, (size_t)n, 0) != n)
		return NULL;
	close(to);
	return text;
}

/* A checkpoint of update 6 with two tensors, and its digest. */
static inline int make_file(void)
{
	struct st_out *o = NULL;
	struct why w = { 0 };
	int64_t shape[1] = { 2 }, n;
	float two[2] = { 1, 2 };

	snprintf(path, sizeof path, "%s/rules-%d.safetensors", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (int)getpid());
	if (st_out_new(&o, path, &w) < 0 || st_out_meta(o, "pilot.progress.update", "6") < 0 || st_out_meta(o, "pilot.optimizer.count", "6") < 0)
		return -1;
	if (st_out_declare(o, "a", "F32", 1, shape) < 0 || st_out_declare(o, "b", "F32", 1, shape) < 0 || st_out_declare(o, "optimizer.exp_avg.a", "F32", 1, shape) < 0)
		return -1;
	for (int i = 0; i < 3; i++)
		if (st_out_put(o, two, &w) < 0)
			return -1;
	if (st_out_commit(o, digest, &n, &w) < 0)
		return -1;
	bytes = n;
	return 0;
}

#endif
