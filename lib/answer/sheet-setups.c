/* sheet-setups.c - training runs put together by device and settings. */
#include "sheet.h"

#include <stdlib.h>
#include <string.h>

/* A field of the run record in full; "" where there is none, NULL without memory. */
static char *whole(const struct view *v, enum field f)
{
	const char *s = "";
	size_t n = 0;

	if (v->kind == KIND_UNKNOWN || !view_str(v, f, &s, &n))
		n = 0;
	return strndup(s, n);
}

/* Adds a list of devices to b; 0 or -EX_OSERR. */
static int list(struct buf *b, const struct view *v, enum field f)
{
	const char *s;
	size_t n;
	int count = view_count(v, f), rc = 0;

	for (int i = 0; i < count && rc == 0; i++)
		if (view_item_str(v, f, i, &s, &n))
			rc = buf_printf(b, "%s%.*s", b->n ? ", " : "", (int)n, s);
	return rc < 0 ? -EX_OSERR : 0;
}

/* As the run has them, else as its framework sees them, else as was asked. */
static char *devices_of(const struct book_run *r)
{
	const struct book_record *t = book_of(r, KIND_trainer, 0);
	struct buf b = { 0 };
	struct view v;
	const char *s;
	size_t n;
	int rc = r->run.kind == KIND_run ? list(&b, &r->run, F_run_devices) : 0;

	if (rc == 0 && b.n == 0 && t && book_view(t, &v))
		rc = list(&b, &v, F_trainer_devices);
	if (rc == 0 && b.n == 0 && r->run.kind == KIND_run && view_str(&r->run, F_run_device, &s, &n))
		rc = buf_printf(&b, "%.*s", (int)n, s);
	if (rc == 0 && buf_add(&b, "", 1) == 0)
		return (char *)b.p;
	buf_free(&b);
	return NULL;
}

/* On a processor its model is the device. */
static char *name_of(const struct book_run *r, const char *devices)
{
	const char *cpu;
	size_t n;

	return strcmp(devices, "cpu") == 0 && r->run.kind == KIND_run && view_str(&r->run, F_run_cpu, &cpu, &n) ? strndup(cpu, n) : strdup(devices);
}

static char *shown(const struct book_run *r, const char *devices)
{
	char *host = whole(&r->run, F_run_host), *cpu = whole(&r->run, F_run_cpu), *out = NULL;
	bool with_cpu = cpu && *cpu && strcmp(devices, "cpu") == 0;

	if (host && cpu && asprintf(&out, "%s%s%s%s%s%s", devices, with_cpu ? " (" : "", with_cpu ? cpu : "", with_cpu ? ")" : "", *host ? ", " : "", host) < 0)
		out = NULL;
	free(host);
	free(cpu);
	return out;
}

/* "torch 2.1.0", or the builtin trainer with its version. */
static char *framework_of(const struct book_run *r)
{
	const struct book_record *t = book_of(r, KIND_trainer, 0);
	struct view v;
	char *name, *version, *out = NULL;

	if (t && book_view(t, &v)) {
		name = whole(&v, F_trainer_name);
		version = whole(&v, F_trainer_version);
	} else {
		name = whole(&r->run, F_run_trainer);
		version = whole(&r->run, F_run_version);
	}
	if (name && version && asprintf(&out, "%s%s%s", name, *version ? " " : "", version) < 0)
		out = NULL;
	free(name);
	free(version);
	return out;
}

static void stack_free(struct sheet_stack *s)
{
	free(s->device);
	free(s->name);
	free(s->framework);
	free(s->driver);
	free(s->precision);
}

static int stack_of(struct sheet_stack *s, const struct book_run *r)
{
	char *devices = devices_of(r);

	*s = (struct sheet_stack){ 0 };
	if (devices) {
		s->device = shown(r, devices);
		s->name = name_of(r, devices);
	}
	free(devices);
	s->framework = framework_of(r);
	s->driver = whole(&r->run, F_run_driver);
	s->precision = whole(&r->run, F_run_precision);
	if (s->device && s->name && s->framework && s->driver && s->precision)
		return 0;
	stack_free(s);
	return -EX_OSERR;
}

static int64_t int_of(const struct book_run *r, enum field f)
{
	int64_t n;

	return book_int(r, f, &n) ? n : -1;
}

static bool same(const struct sheet_setup *a, const struct sheet_setup *b)
{
	return a->micro_batch == b->micro_batch && a->accum == b->accum && a->replicas == b->replicas && a->length == b->length && a->limit == b->limit &&
	       strcmp(a->stack.device, b->stack.device) == 0 && strcmp(a->stack.framework, b->stack.framework) == 0 &&
	       strcmp(a->stack.driver, b->stack.driver) == 0 && strcmp(a->stack.precision, b->stack.precision) == 0;
}

int64_t sheet_needs(const struct sheet_setup *s)
{
	return s->reserved >= 0 ? s->reserved : s->allocated;
}

static void higher(int64_t *most, int64_t n)
{
	if (n > *most)
		*most = n;
}

static int put_run(struct sheet_setup *s, const struct book_run *r)
{
	const struct book_run **p = realloc(s->run, (size_t)(s->runs + 1) * sizeof *p);
	int64_t before = sheet_needs(s);

	if (!p)
		return -EX_OSERR;
	s->run = p;
	s->run[s->runs++] = r;
	higher(&s->allocated, int_of(r, F_end_allocated_peak_bytes));
	higher(&s->reserved, int_of(r, F_end_reserved_peak_bytes));
	higher(&s->used, int_of(r, F_end_device_used_peak_bytes));
	if (sheet_needs(s) > before)
		s->peak = r;
	return 0;
}

/* Behind the last setup of its device: rows of one device stand together. */
static struct sheet_setup *insert(struct sheet_setups *x, const struct sheet_setup *s)
{
	struct sheet_setup *p = realloc(x->setup, (size_t)(x->n + 1) * sizeof *p);
	int at = x->n;

	if (!p)
		return NULL;
	x->setup = p;
	for (int i = 0; i < x->n; i++)
		if (strcmp(p[i].stack.device, s->stack.device) == 0)
			at = i + 1;
	memmove(p + at + 1, p + at, (size_t)(x->n - at) * sizeof *p);
	p[at] = *s;
	x->n++;
	return &p[at];
}

static int see(struct sheet_setups *x, const struct book_run *r)
{
	struct sheet_setup s = { .allocated = -1, .reserved = -1, .used = -1 }, *at;

	if (stack_of(&s.stack, r) < 0)
		return -EX_OSERR;
	s.micro_batch = int_of(r, F_run_micro_batch);
	s.accum = int_of(r, F_run_accum);
	s.replicas = int_of(r, F_run_replicas);
	s.length = int_of(r, F_run_length);
	s.limit = int_of(r, F_run_memory_bytes);
	for (int i = 0; i < x->n; i++)
		if (same(&x->setup[i], &s)) {
			stack_free(&s.stack);
			return put_run(&x->setup[i], r);
		}
	at = insert(x, &s);
	if (!at) {
		stack_free(&s.stack);
		return -EX_OSERR;
	}
	return put_run(at, r);
}

int sheet_setups(struct sheet_setups *x, const struct book *b, struct why *w)
{
	*x = (struct sheet_setups){ 0 };
	for (int i = 0; i < book_runs(b); i++)
		if (book_trained(book_run(b, i)) && see(x, book_run(b, i)) < 0) {
			sheet_setups_free(x);
			return why_set(w, EX_OSERR, "putting runs together: out of memory");
		}
	return 0;
}

void sheet_setups_free(struct sheet_setups *x)
{
	for (int i = 0; i < x->n; i++) {
		stack_free(&x->setup[i].stack);
		free(x->setup[i].run);
	}
	free(x->setup);
	*x = (struct sheet_setups){ 0 };
}
