/* What a probe concludes from its measurements, and the record that says so. What is not
 * known is left out, with the reason. */
#include <math.h>
#include <string.h>

#include "probe.h"

static const double doubled = 1.8;       /* throughput that counts as doubled */
static const double starved = 0.2;       /* share of waiting for data from which input is the bottleneck */

void conclude_knee(struct probe *p)
{
	struct rate r[PROBE_SIZES];
	int64_t maybe = 0;
	int n = timing_rates(p, r);
	if (!n) {
		snprintf(p->knee_note, sizeof p->knee_note, "no update was timed");
		return;
	}
	p->knee = speed_knee(r, n, PROBE_TOLERANCE, &p->knee_sure, &maybe);
	if (!p->knee)
		snprintf(p->knee_note, sizeof p->knee_note, "it lies between %lld and %lld: the intervals cannot tell (--seconds makes them narrower)", (long long)maybe, (long long)p->knee_sure);
	speed_line(r, n, &p->t0, &p->c);
}

/* ---- memory ---- */

/* Bytes = fixed + size x per: measured, else as planned. */
static bool line(const struct probe *p, double *fixed, double *per)
{
	if (search_line(&p->search, fixed, per))
		return true;
	*fixed = p->fixed, *per = p->per;
	return *per > 0;
}

/* Without a line: the largest that ran within `bytes`. */
static int64_t largest_within(const struct search *s, double bytes)
{
	int64_t best = 1;
	for (int i = 0; i < s->points; i++)
		if (s->point[i].fits && s->point[i].bytes > 0 && s->point[i].bytes <= bytes && s->point[i].size > best)
			best = s->point[i].size;
	return best;
}

int64_t conclude_limit(const struct probe *p)
{
	double fixed, per, bytes = p->budget;
	const struct search *s = &p->search;
	for (int i = 0; bytes <= 0 && i < s->points; i++) /* no budget is known: what the largest took */
		if (s->point[i].fits && s->point[i].size == s->lo)
			bytes = s->point[i].bytes;
	if (bytes <= 0)
		return s->lo;
	bytes *= 1 - p->set->headroom;
	if (!line(p, &fixed, &per))
		return largest_within(s, bytes);
	double n = floor((bytes - fixed) / per);
	return n >= (double)s->lo ? s->lo : n < 1 ? 1 : (int64_t)n;
}

static void nothing_of_stranger(struct probe *p)
{
	char a[16], b[16], c[16], where[300] = "", before[100] = "";
	if (*p->oom_phase)
		snprintf(where, sizeof where, " (it runs out in %s%s%s)", p->oom_phase, *p->oom_input ? ", on " : "", p->oom_input);
	if (p->least_bytes > 0)
		snprintf(before, sizeof before, ", %s of it before its first pass", num_human_bytes((int64_t)p->least_bytes, b));
	if (p->least_needs)
		probe_remark(p, "size 1 does not fit%s: without a cap it takes %s%s, and there are %s%s", where, num_human_bytes(p->least_needs, a), before, num_human_bytes((int64_t)p->budget, c),
			p->least_bytes > p->budget ? ": no batch, length or accumulation helps" : "");
	else
		probe_remark(p, "size 1 does not fit%s", where);
}

void conclude_nothing(struct probe *p)
{
	char a[16], b[16];
	p->remarkable = true;
	if (p->set->stranger)
		nothing_of_stranger(p);
	else if (p->least_bytes > p->budget && p->budget > 0)
		probe_remark(p, "size 1 does not fit, and %s are needed before the first example, of %s there are: no batch, length or accumulation helps; a smaller model or optimizer does", num_human_bytes((int64_t)p->least_bytes, a), num_human_bytes((int64_t)p->budget, b));
	else if (!strcmp(p->oom_phase, "validate"))
		probe_remark(p, "size 1 does not fit, because of validation: --val-micro-batch or --val-length makes it smaller");
	else
		probe_remark(p, "size 1 does not fit%s%s%s", *p->oom_phase ? " (phase " : "", p->oom_phase, *p->oom_phase ? ")" : "");
}

/* ---- speed ---- */

/* Throughput at each doubling over the one before; returns how many. last: the size up to which it doubled. */
static int doublings(struct probe *p, double *ratio, int64_t *last, double *share)
{
	struct rate r[PROBE_SIZES];
	int n = timing_rates(p, r), k = 0;
	bool on = true;
	*last = n ? r[0].size : 0;
	*share = 0;
	for (int i = 0; i + 1 < n; i++) {
		double times = (double)r[i + 1].size / (double)r[i].size;
		if (p->set->stranger ? times < 1.5 : times != 2)
			continue;
		ratio[k] = pow(r[i + 1].median / r[i].median, 1 / log2(times)); /* of a command not each doubling was run */
		on &= ratio[k++] >= doubled;
		if (on)
			*last = r[i + 1].size;
	}
	for (int i = 0; i < p->timings; i++)
		if (p->timing[i].size == p->recommended)
			*share = p->timing[i].data / p->timing[i].all;
	return k;
}

static void write_scaling(struct probe *p, struct rec *r)
{
	double ratio[PROBE_SIZES], share;
	int64_t last;
	char text[400];
	int n = doublings(p, ratio, &last, &share), used;
	if (!n)
		return;
	if (last > 1)
		used = snprintf(text, sizeof text, "throughput doubles with the micro-batch up to %lld", (long long)last);
	else
		used = snprintf(text, sizeof text, "throughput never doubles with the micro-batch");
	if (p->c > 0)
		used += snprintf(text + used, sizeof text - (size_t)used, "; %s takes %.3g ms + %.3g ms an example", p->passes > 1 ? "a pass with its share of the update" : "an update", p->t0 * 1e3, p->c * 1e3);
	if (share >= starved)
		snprintf(text + used, sizeof text - (size_t)used, "; %.0f %% of the time is spent waiting for data: input is the bottleneck", share * 100);
	rec_str(r, F_probe_scaling, text);
	rec_nums(r, F_probe_doublings, ratio, n);
}

/* What accumulation can save: the update is done once for several passes. From the timed size nearest to the recommended one. */
static void write_accum(struct probe *p, struct rec *r)
{
	double distance = INFINITY, share = -1;
	char text[300];
	int64_t at = 0;
	for (int i = 0; i < p->timings; i++) {
		const struct timing *g = &p->timing[i];
		double d = fabs(log((double)g->size / (double)p->recommended));
		if (g->all > 0 && g->parts && g->accum == 1 && d < distance) {
			distance = d;
			share = g->optimizer / g->all;
			at = g->size;
		}
	}
	rec_int(r, F_probe_accum, p->accum);
	rec_int(r, F_probe_effective_batch, p->update_rows > 0 ? (int64_t)p->update_rows : p->accum * p->recommended);
	if (share < 0)
		return;
	snprintf(text, sizeof text, "accumulation buys at most %.2g %% of the time: the update's share at micro-batch %lld without it", share * 100, (long long)at);
	rec_str(r, F_probe_accum_note, text);
}

/* ---- the record ---- */

static void write_memory(const struct probe *p, struct rec *r)
{
	double fixed, per;
	if (p->search.lo) {
		rec_int(r, F_probe_largest, p->search.lo);
		rec_bool(r, F_probe_largest_exact, search_exact(&p->search));
	}
	if (p->search.hi)
		rec_int(r, F_probe_smallest_failed, p->search.hi);
	if (p->search.hi && *p->oom_phase)
		rec_str(r, F_probe_oom_phase, p->oom_phase);
	if (p->search.hi && *p->oom_input)
		rec_str(r, F_probe_oom_input, p->oom_input);
	rec_num(r, F_probe_headroom, p->set->headroom);
	if (p->budget > 0)
		rec_int(r, F_probe_budget_bytes, (int64_t)p->budget);
	rec_str(r, F_probe_budget_source, p->source);
	if (!line(p, &fixed, &per)) {
		if (p->least_bytes > 0)
			rec_int(r, F_probe_fixed_bytes, (int64_t)p->least_bytes);
		return;
	}
	rec_int(r, F_probe_fixed_bytes, llround(fixed));
	rec_num(r, F_probe_per_example_bytes, per);
}

static void write_speed(struct probe *p, struct rec *r)
{
	if (p->knee)
		rec_int(r, F_probe_knee, p->knee);
	if (p->knee || *p->knee_note)
		rec_num(r, F_probe_knee_tolerance, PROBE_TOLERANCE);
	if (*p->knee_note)
		rec_str(r, F_probe_knee_note, p->knee_note);
	if (p->c > 0) {
		rec_num(r, F_probe_t0_seconds, p->t0);
		rec_num(r, F_probe_per_example_seconds, p->c);
	}
	write_scaling(p, r);
}

static void write_advice(struct probe *p, struct rec *r)
{
	if (!p->confirmed)
		return;
	rec_int(r, F_probe_recommended, p->recommended);
	rec_str(r, F_probe_confirm_run, p->confirm_run);
	write_accum(p, r);
	if (p->confirm_rate > 0)
		rec_num(r, F_probe_examples_per_second, p->confirm_rate);
	if (p->confirm_tokens > 0)
		rec_num(r, F_probe_tokens_per_second, p->confirm_tokens);
	rec_str(r, F_probe_meaning, "a micro-batch for throughput on this device; not the batch of least training time, which depends on how the loss falls");
}

/* Phases of a command whose memory is in no size, because its trials were too short to come to them. */
static void write_unseen(struct probe *p, struct rec *r)
{
	char *unseen[2];
	int n = 0;
	if (!p->set->stranger || !p->search.lo)
		return;
	if (!p->validated)
		unseen[n++] = "validate";
	if (!p->saved)
		unseen[n++] = "save";
	if (n)
		rec_strs(r, F_probe_unseen, unseen, n);
}

int conclude_write(struct probe *p, struct why *w)
{
	struct rec *r = &p->rec;
	rec_begin(r, KIND_probe);
	rec_str(r, F_probe_id, p->id);
	rec_str(r, F_probe_status, p->status);
	if (*p->why)
		rec_str(r, F_probe_why, p->why);
	write_memory(p, r);
	write_speed(p, r);
	write_advice(p, r);
	write_unseen(p, r);
	rec_int(r, F_probe_trials, p->trials);
	if (p->search.hi)
		rec_int(r, F_probe_trials_after_failure, p->search.after);
	rec_num(r, F_probe_seconds, clock_seconds() - p->began);
	if (*p->fingerprint)
		rec_str(r, F_probe_fingerprint, p->fingerprint);
	return out_rec(p->out, r, w);
}
