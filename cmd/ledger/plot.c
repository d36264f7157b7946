/* plot.c - ledger plot: curves, throughput and memory as one self-contained SVG. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/answer/plot.h"
#include "ledger.h"

static const char usage[] = "usage: ledger plot [--kind loss|validation|throughput|seconds|memory] [-o FILE] [--comparison ID|NAME | --by FIELD,...]\n"
	"                   [-r PREFIX] ... [FILE ...]\n"
	"       ledger plot --kind scaling --target METRIC=X [-o FILE] [-r PREFIX] ... [FILE ...]\n";

enum { KIND_OPTION = 0x1020, COMPARISON, BY, TARGET };
static const struct cmd_option options[] = {
	{ KIND_OPTION, "kind", "KIND", "loss, validation, throughput, seconds, memory, scaling (loss)" },
	{ TARGET, "target", "METRIC=X", "scaling: loss=X (at most), accuracy=X or exact_match=X (at least)" },
	{ 'o', "output", "FILE", "write it there instead of standard output" },
	{ COMPARISON, "comparison", "ID|NAME", "a line an arm of this comparison" },
	{ BY, "by", "FIELD,...", "a line for runs with equal values of these settings" },
	{ 'r', "run", "PREFIX", "only runs whose id begins so; may be repeated" },
	{ 0 },
};

struct plotting {
	enum plot_kind kind;
	const char *output;
	struct arms_settings arms;
	bool by_arms, scaling, target;
	struct scaling_settings scale;
	struct pick pick;
};

int pick_book(const struct pick *p, const struct book *b, struct ids *out)
{
	int found = 0;

	for (int i = 0; i < p->runs; i++)
		for (int k = 0; k < book_runs(b); k++) {
			const char *id = book_run(b, k)->id;

			if (strncasecmp(id, p->run[i], strlen(p->run[i])))
				continue;
			found++;
			if (ids_put(out, id, 1) < 0)
				return EX_OSERR;
		}
	return p->runs && !found ? cmd_usage_error("--run: %.60s: no run whose id begins so is in what was read", p->run[0]) : 0;
}

static int see_curve(void *ctx, const struct view *v, struct why *w)
{
	return curves_see(ctx, v) < 0 ? why_set(w, EX_OSERR, "reading curves: out of memory") : 0;
}

int curves_read(struct curves *c, const struct book *b, const struct ids *only, char **file, int files)
{
	struct why w;

	if (curves_begin(c, b, only, &w) < 0) {
		cmd_warn(&w);
		return w.code;
	}
	ask_again(file, files, &c->ids, true, see_curve, c);
	curves_end(c);
	return 0;
}

static int draw(const struct book *b, const struct plotting *p, const struct plot_settings *s)
{
	struct buf out = { 0 };
	struct chart c;
	struct why w;
	int rc = p->scaling ? plot_scaling(b, &p->scale, &c, &w) : plot_chart(b, p->kind, s, &c, &w), status;

	if (rc == 0) {
		rc = chart_svg(&c, 1, true, &out) < 0 ? why_set(&w, EX_OSERR, "plotting: out of memory") : 0;
		chart_free(&c);
	}
	if (rc < 0)
		cmd_warn(&w);
	status = rc < 0 ? -rc : 0;
	if (rc == 0 && p->output)
		status = print_whole(p->output, &out);
	else if (rc == 0)
		fwrite(out.p, 1, out.n, stdout);
	buf_free(&out);
	return status;
}

static int plot(const struct book *b, struct plotting *p, char **file, int files)
{
	struct plot_settings s = { .source = files == 1 && strncmp(file[0], "/proc/", 6) ? file[0] : NULL };
	struct curves curves = { 0 };
	struct arms arms = { 0 };
	struct ids only = { 0 };
	struct why w;
	int status = pick_book(&p->pick, b, &only);

	s.only = p->arms.only = p->pick.runs ? &only : NULL;
	if (status == 0 && p->by_arms && !p->scaling) {
		if (arms_of(b, &p->arms, &arms, &w) < 0) {
			cmd_warn(&w);
			status = w.code;
		}
		s.arms = &arms;
	}
	if (status == 0 && p->kind == PLOT_LOSS) {
		status = curves_read(&curves, b, s.only, file, files);
		s.curves = &curves;
	}
	if (status == 0)
		status = draw(b, p, &s);
	curves_free(&curves);
	arms_free(&arms);
	ids_free(&only);
	return status;
}

static int take(struct plotting *p, int opt, const char *value)
{
	struct why w;
	int k;

	switch (opt) {
	case KIND_OPTION:
		k = plot_find(value);
		p->scaling = strcmp(value, "scaling") == 0;
		if (k < 0 && !p->scaling)
			return cmd_usage_error("--kind: %.40s: not loss, validation, throughput, seconds, memory or scaling", value);
		p->kind = p->scaling ? PLOT_SECONDS : (enum plot_kind)k;
		return 0;
	case TARGET:
		p->target = true;
		return scaling_target(value, &p->scale, &w) < 0 ? cmd_usage_error("%s", w.text) : 0;
	case 'o': p->output = value; return 0;
	case COMPARISON:
		p->arms.comparison = value;
		p->by_arms = true;
		return 0;
	case BY:
		p->arms.by = value;
		p->by_arms = true;
		return 0;
	default: return pick_option(&p->pick, opt, value);
	}
}

int do_plot(int argc, char **argv)
{
	struct plotting p = { .scale = { .tolerance = 0.2, .price = NAN, .upfront = NAN } };
	struct book *b = NULL;
	const char *value;
	char **file = NULL;
	struct cmd c;
	int opt, files = 0, status;

	cmd_options(&c, argc, argv, usage, options, NULL);
	while ((opt = cmd_next(&c, &value)) >= 0)
		if (take(&p, opt, value))
			return EX_USAGE;
	if (opt != CMD_END)
		return c.status;
	if (p.arms.comparison && p.arms.by)
		return cmd_usage_error("--comparison and --by: which of the two?");
	if (p.scaling != p.target)
		return cmd_usage_error(p.scaling ? "--kind scaling: --target loss=X: updates to what?" : "--target goes with --kind scaling");
	p.scale.comparison = p.arms.comparison;
	p.scale.run = p.pick.run;
	p.scale.runs = p.pick.runs;
	status = ask_keep(c.argv + c.operand, c.argc - c.operand, &file, &files);
	if (status == 0)
		status = ask_book(&b, file, files);
	if (b && ask_worth(b, status))
		status = code_worst(status, plot(b, &p, file, files));
	ask_kept_free(file, files);
	book_free(b);
	return status;
}
