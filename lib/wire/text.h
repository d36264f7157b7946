/* text.h - what the text views share: a pen that keeps the first failure. */
#ifndef PILOT_WIRE_TEXT_H
#define PILOT_WIRE_TEXT_H

#include "inner.h"

struct pen {
	struct text *t;
	struct buf *out;
	int rc;
	size_t line; /* where in out the present line began */
};

#define BOLD "1"
#define DIM "2"
#define RED "1;31"
#define GREEN "32"
#define YELLOW "33"

void pen_printf(struct pen *p, const char *fmt, ...) PRINTF(2, 3);
void pen_colored(struct pen *p, const char *color, const char *fmt, ...) PRINTF(3, 4);
/* Bytes from a record: escaped. */
void pen_bytes(struct pen *p, const char *s, size_t n);
void pen_newline(struct pen *p);
/* From a record, in words that wrap at the width, each line indented by so much. */
void pen_wrapped(struct pen *p, const char *color, int indent, const char *s, size_t n);
/* "  label       ": the left column of a block. */
void pen_label(struct pen *p, const char *label);
/* One cell of a table: right-aligned in so many columns, left-aligned if negative. */
void pen_cell(struct pen *p, int width, const char *text);
/* Column header of the kind's table, unless the same stands near above; a literal. */
void pen_header(struct pen *p, enum kind k, const char *header);
/* Something else begins: each table prints its header again. */
void pen_break(struct pen *p);

/* Values for people; each returns out, which is "" where the field is absent. */
enum { VALUE = 96 };
const char *say_int(const struct view *v, enum field f, char out[VALUE]);     /* 1,234 */
const char *say_bytes(const struct view *v, enum field f, char out[VALUE]);   /* 12.3M */
const char *say_num(const struct view *v, enum field f, char out[VALUE]);     /* about five digits */
const char *say_rate(const struct view *v, enum field f, char out[VALUE]);    /* 1,234.5 */
/* A rate of tokens; "" where an example is one, so that it would say nothing. */
const char *say_tokens(const struct view *v, enum field examples, enum field tokens, char out[VALUE]);
const char *say_short(const struct view *v, enum field f, char out[VALUE]);   /* three digits */
const char *say_share(const struct view *v, enum field f, char out[VALUE]);   /* 93.1 % */
const char *say_seconds(const struct view *v, enum field f, char out[VALUE]); /* 0.0123 */
const char *say_str(const struct view *v, enum field f, char out[VALUE]);     /* escaped, cut with .. */
const char *number_words(double x, char out[VALUE]);
const char *grouped(int64_t i, char out[VALUE]);
const char *status_color(const char *status);

void text_generic(struct pen *p, const struct view *v); /* every field, for kinds without a view of their own */
void text_comparison(struct pen *p, const struct view *v);
void text_request(struct pen *p, const struct view *v);
void text_run(struct pen *p, const struct view *v);
void text_plan(struct pen *p, const struct view *v);
void text_eval(struct pen *p, const struct view *v);
void text_save(struct pen *p, const struct view *v);
void text_end(struct pen *p, const struct view *v);
void text_example(struct pen *p, const struct view *v);
void text_prediction(struct pen *p, const struct view *v);
void text_step(struct pen *p, const struct view *v);
void text_phase(struct pen *p, const struct view *v);
void text_verdict(struct pen *p, const struct view *v);
void text_trial(struct pen *p, const struct view *v);
void text_probe(struct pen *p, const struct view *v);
void text_trainer(struct pen *p, const struct view *v);
void text_model(struct pen *p, const struct view *v);
void text_optimizer(struct pen *p, const struct view *v);
void text_blind(struct pen *p, const struct view *v);
void text_loader(struct pen *p, const struct view *v);
void text_load(struct pen *p, const struct view *v);
void text_state(struct pen *p, const struct view *v);
void text_replica(struct pen *p, const struct view *v);
void text_check(struct pen *p, const struct view *v);
void text_failure(struct pen *p, const struct view *v);

/* ---- text-command.c ---- */

/* Of a run record: the command and its settings in place of model, data and optimizer. */
void text_run_command(struct pen *p, const struct view *v);
/* "word value", where there is a value. */
void text_also(struct pen *p, const char *word, const char *value);
/* The first `most` words of a list, with commas. */
void text_strs(struct pen *p, const struct view *v, enum field f, int most);

#endif
