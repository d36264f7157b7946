/* page.c - answers as HTML that a phone, a desk and paper can show. */
#include "page.h"

#include <string.h>

enum { CELL_MOST = 120, LINE_MOST = 2000 };

static const char head[] =
	"<style>:root{--ink:#1a1a1a;--soft:#5c5c5c;--line:#d8d8d8;--paper:#fff;--warn:#a33a00;--mark:#f4f4f4}"
	"@media(prefers-color-scheme:dark){:root{--ink:#ececec;--soft:#a9a9a9;--line:#3a3a3a;--paper:#161616;--warn:#ff9a5c;--mark:#222}}"
	"@media print{:root{--ink:#000;--soft:#333;--line:#bbb;--paper:#fff;--warn:#000;--mark:#fff}section,figure,tr{break-inside:avoid}}"
	"body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
	"main,header,footer{max-width:1080px;margin:0 auto;padding:0 16px}h1{font-size:1.5rem;margin:1.2rem 0 .2rem}h2{font-size:1.2rem;margin:2rem 0 .4rem;border-bottom:1px solid var(--line)}"
	"h3{font-size:1rem;margin:1.2rem 0 .2rem}p{margin:.3rem 0;max-width:75ch;overflow-wrap:anywhere}.soft,footer{color:var(--soft);font-size:.85rem}.warn{color:var(--warn);font-weight:600}"
	".wide{overflow-x:auto;margin:.6rem 0}table{border-collapse:collapse;font-size:.85rem}caption{text-align:left;color:var(--soft);padding-bottom:.2rem}"
	"th,td{padding:.2rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}th{color:var(--soft);font-weight:600}.l{text-align:left}"
	".w{white-space:normal;min-width:14ch;overflow-wrap:anywhere}figure{margin:1rem 0}figure svg{width:100%;max-width:720px;height:auto;display:block}.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr));gap:0 24px}"
	"</style>\n";

int page_begin(struct buf *out, const char *title)
{
	int rc = buf_printf(out, "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
		"<meta name=\"color-scheme\" content=\"light dark\"><title>");

	if (rc == 0)
		rc = xml_text(out, title, CELL_MOST);
	if (rc == 0)
		rc = buf_printf(out, "</title>\n");
	if (rc == 0)
		rc = buf_add(out, head, sizeof head - 1);
	if (rc == 0)
		rc = buf_printf(out, "</head>\n<body>\n<header><h1>");
	if (rc == 0)
		rc = xml_text(out, title, CELL_MOST);
	return rc ? rc : buf_printf(out, "</h1></header>\n<main>\n");
}

int page_end(struct buf *out, const char *foot)
{
	int rc = buf_printf(out, "</main>\n<footer><p>");

	if (rc == 0)
		rc = xml_text(out, foot, LINE_MOST);
	return rc ? rc : buf_printf(out, "</p></footer>\n</body>\n</html>\n");
}

int page_head(struct buf *out, int level, const char *text)
{
	int rc = buf_printf(out, "<h%d>", level);

	if (rc == 0)
		rc = xml_text(out, text, 200);
	return rc ? rc : buf_printf(out, "</h%d>\n", level);
}

int page_line(struct buf *out, const char *css, const char *text)
{
	int rc = *css ? buf_printf(out, "<p class=\"%s\">", css) : buf_printf(out, "<p>");

	if (rc == 0)
		rc = xml_text(out, text, LINE_MOST);
	return rc ? rc : buf_printf(out, "</p>\n");
}

/* ---- tables ---- */

static int cell(struct buf *out, const struct cell *c)
{
	const char *s = c->shown ? c->shown : c->type == CELL_TEXT ? c->text : NULL;

	if (s)
		return xml_text(out, s, CELL_MOST);
	switch (c->type) {
	case CELL_INT: return buf_printf(out, "%lld", (long long)c->i);
	case CELL_NUM: return buf_printf(out, "%.6g", c->x);
	case CELL_BOOL: return buf_printf(out, "%s", c->i ? "yes" : "no");
	default: return buf_printf(out, "<span class=\"soft\">not measured</span>");
	}
}

/* Long words may break; short ones and numbers may not. */
static const char *class_of(const struct table *t, int k)
{
	size_t longest = 0;

	for (int i = 0; i < t->rows; i++) {
		const struct cell *c = &t->cell[i * t->columns + k];
		size_t n = c->type == CELL_TEXT && !c->shown ? strlen(c->text) : 0;

		longest = n > longest ? n : longest;
	}
	return !t->column[k].left ? "" : longest > 36 ? " class=\"l w\"" : " class=\"l\"";
}

static int table(struct buf *out, const struct table *t)
{
	int rc = buf_printf(out, "<div class=\"wide\"><table>");

	rc = rc ? rc : buf_printf(out, "<caption>");
	rc = rc ? rc : xml_text(out, t->title ? t->title : t->name, 200);
	rc = rc ? rc : buf_printf(out, "</caption>");
	rc = rc ? rc : buf_printf(out, "<thead><tr>");
	for (int k = 0; k < t->columns && rc == 0; k++)
		if (!t->column[k].hidden) {
			rc = buf_printf(out, "<th scope=\"col\"%s>", t->column[k].left ? " class=\"l\"" : "");
			rc = rc ? rc : xml_text(out, t->column[k].title, CELL_MOST);
			rc = rc ? rc : buf_printf(out, "</th>");
		}
	rc = rc ? rc : buf_printf(out, "</tr></thead>\n<tbody>");
	for (int i = 0; i < t->rows && rc == 0; i++) {
		rc = buf_printf(out, "<tr>");
		for (int k = 0; k < t->columns && rc == 0; k++)
			if (!t->column[k].hidden) {
				rc = buf_printf(out, "<td%s>", class_of(t, k));
				rc = rc ? rc : cell(out, &t->cell[i * t->columns + k]);
				rc = rc ? rc : buf_printf(out, "</td>");
			}
		rc = rc ? rc : buf_printf(out, "</tr>\n");
	}
	return rc ? rc : buf_printf(out, "</tbody></table></div>\n");
}

int page_answer(struct buf *out, const struct answer *a)
{
	int rc = 0;

	for (int i = 0; i < a->items && rc == 0; i++) {
		const struct answer_item *p = &a->item[i];

		if (p->table)
			rc = table(out, p->table);
		else if (p->say == SAY_HEAD)
			rc = page_head(out, 3, p->text);
		else
			rc = page_line(out, p->say == SAY_WARNING ? "warn" : "", p->text);
	}
	return rc;
}
