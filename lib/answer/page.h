/* page.h - one HTML page: no script, nothing fetched. Every string goes through xml_text. */
#ifndef PILOT_PAGE_H
#define PILOT_PAGE_H

#include "chart.h"

/* <!doctype html> to the open <main>; to </html>. */
int page_begin(struct buf *out, const char *title) MUST_USE;
int page_end(struct buf *out, const char *foot) MUST_USE;
int page_head(struct buf *out, int level, const char *text) MUST_USE;
int page_line(struct buf *out, const char *css, const char *text) MUST_USE; /* a paragraph; css: a class, or "" */
/* Sentences as paragraphs, headings one level below, tables with their captions. */
int page_answer(struct buf *out, const struct answer *a) MUST_USE;

#endif
