/* check-jobs.c - which runs are the same job on another night, and which of them can be compared. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* What may change between nights without making it another job. */
static bool changes(const char *name)
{
	static const char *const loose[] = { "revision", "dirty", "version", "data_digests", "program_digests", "weights", "seed", "train_examples", "validation_examples", "cut_examples", "split_rule" };

	for (size_t i = 0; i < sizeof loose / sizeof *loose; i++)
		if (strcmp(name, loose[i]) == 0)
			return true;
	return false;
}

static int add(struct buf *b, const char *name, const char *value)
{
	return buf_printf(b, "%s=%s\n", name, value);
}

static int key_of(const struct check_settings *s, const struct book_run *r, const struct identity *id, struct buf *b)
{
	char field[64];
	int rc = buf_printf(b, "%s\n", r->role);

	for (int i = 0; !s->by && rc == 0 && i < id->n; i++)
		if (id->item[i].need == IDENTITY_HARD && !changes(id->item[i].name))
			rc = add(b, id->item[i].name, id->item[i].value);
	for (const char *p = s->by; p && *p && rc == 0;) {
		size_t n = strcspn(p, ",");
		const char *name, *value;

		snprintf(field, sizeof field, "%.*s", n > 63 ? 63 : (int)n, p);
		name = identity_name(id, field);
		value = name ? identity_value(id, name) : NULL;
		rc = add(b, field, value ? value : "");
		p += n + (p[n] == ',');
	}
	return rc;
}

static void name_of(const struct check_settings *s, const struct book_run *r, const struct identity *id, const char *key, char *out, size_t size)
{
	const char *model = identity_value(id, "model"), *data = identity_value(id, "data"), *command = identity_value(id, "command");
	const char *batch = identity_value(id, "micro_batch"), *updates = identity_value(id, "planned_updates");
	char name[80];

	if (s->by) {
		snprintf(out, size, "%s", strchr(key, '\n') ? strchr(key, '\n') + 1 : key);
		for (char *p = out; *p; p++)
			if (*p == '\n')
				*p = p[1] ? ',' : '\0';
		return;
	}
	if (!book_text(r, F_run_name, name, sizeof name))
		snprintf(name, sizeof name, "%.79s", command ? command : model ? model : "?");
	snprintf(out, size, "%s%s%s%s%s%s%s", name, data && !command ? " " : "", data && !command ? data : "", batch ? " b=" : "", batch ? batch : "", updates ? " n=" : "", updates ? updates : "");
}

static struct check_job *job_of(struct check *c, const char *key)
{
	struct check_job *p;

	for (int i = 0; i < c->jobs; i++)
		if (strcmp(c->job[i].key, key) == 0)
			return &c->job[i];
	p = realloc(c->job, (size_t)(c->jobs + 1) * sizeof *p);
	if (!p)
		return NULL;
	c->job = p;
	p = &p[c->jobs++];
	*p = (struct check_job){ 0 };
	snprintf(p->key, sizeof p->key, "%s", key);
	return p;
}

static int add_run(struct check *c, const struct book_run *r)
{
	struct identity id;
	struct check_job *j;
	struct buf b = { 0 };
	unsigned char raw[32];
	char key[72];
	const struct book_run **p;
	int rc = identity_of(r, &id);

	if (rc == 0)
		rc = key_of(c->settings, r, &id, &b);
	if (rc == 0)
		rc = sha_of(b.p, b.n, raw);
	if (rc == 0)
		rc = buf_add(&b, "", 1);
	if (rc == 0) {
		sha_hex(raw, key);
		j = job_of(c, key);
		p = j ? realloc(j->run, (size_t)(j->runs + 1) * sizeof *p) : NULL;
		rc = p ? 0 : -EX_OSERR;
		if (p) {
			j->run = p;
			p[j->runs++] = r;
			name_of(c->settings, r, &id, (char *)b.p, j->name, sizeof j->name);
		}
	}
	buf_free(&b);
	identity_free(&id);
	return rc < 0 ? -EX_OSERR : 0;
}

static bool before(struct timestamp a, struct timestamp b)
{
	return a.seconds < b.seconds || (a.seconds == b.seconds && a.nanoseconds < b.nanoseconds);
}

static int by_time(const void *a, const void *b)
{
	const struct book_run *x = *(const struct book_run *const *)a, *y = *(const struct book_run *const *)b;

	return before(x->first, y->first) ? -1 : before(y->first, x->first) ? 1 : x->order < y->order ? -1 : 1;
}

int check_jobs(struct check *c, const struct book *b, struct why *w)
{
	for (int i = 0; i < book_runs(b); i++)
		if (book_trained(book_run(b, i)) && add_run(c, book_run(b, i)) < 0)
			return why_set(w, EX_OSERR, "checking: out of memory");
	for (int i = 0; i < c->jobs; i++) {
		struct check_job *j = &c->job[i];

		qsort(j->run, (size_t)j->runs, sizeof *j->run, by_time);
		while (j->earlier < j->runs && before(j->run[j->earlier]->first, c->settings->since))
			j->earlier++;
	}
	return 0;
}

void check_free(struct check *c)
{
	for (int i = 0; i < c->jobs; i++)
		free(c->job[i].run);
	free(c->job);
}

/* ---- what a run may be compared with ---- */

static bool alike(const struct book_run *a, const struct book_run *b, char changed[200])
{
	static const enum field same[] = { F_run_host, F_run_cpu, F_run_device, F_run_driver, F_run_revision, F_run_version };
	char x[256], y[256];
	const char *p, *q;
	size_t np, nq;
	int devices = view_count(&a->run, F_run_devices);

	for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
		book_text(a, same[i], x, sizeof x);
		book_text(b, same[i], y, sizeof y);
		if (strcmp(x, y)) {
			snprintf(changed, 200, "%s was %.60s, is %.60s", field_info(same[i])->name, *x ? x : "none", *y ? y : "none");
			return false;
		}
	}
	if (devices != view_count(&b->run, F_run_devices)) {
		snprintf(changed, 200, "devices were %d, are %d", devices, view_count(&b->run, F_run_devices));
		return false;
	}
	for (int i = 0; i < devices; i++)
		if (view_item_str(&a->run, F_run_devices, i, &p, &np) && view_item_str(&b->run, F_run_devices, i, &q, &nq) && (np != nq || memcmp(p, q, np))) {
			snprintf(changed, 200, "devices was %.*s, is %.*s", np > 60 ? 60 : (int)np, p, nq > 60 ? 60 : (int)nq, q);
			return false;
		}
	return true;
}

int check_baseline(const struct check_job *j, const struct book_run *r, int most, const struct book_run **out, char changed[200])
{
	char other[200];
	int n = 0;

	*changed = '\0';
	for (int i = j->earlier - 1; i >= 0 && n < most; i--) {
		if (strcmp(j->run[i]->status, "done"))
			continue;
		if (alike(j->run[i], r, other))
			out[n++] = j->run[i];
		else if (!*changed && !n) /* two hosts may take turns: each has its own earlier runs */
			snprintf(changed, 200, "%s", other);
	}
	return n;
}
