/* sheet-fits.c - which devices of a catalogue hold what was measured. */
#include "sheet.h"

#include <math.h>
#include <string.h>

/* The catalogue's name, whole, in the device's: "NVIDIA L4" is not in "NVIDIA L40", nor in "NVIDIA L4 x". */
static bool named(const char *device, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = device; (p = strcasestr(p, name)) != NULL; p++)
		if ((p == device || p[-1] == ' ') && (p[n] == '\0' || p[n] == ',' || p[n] == '(' || (p[n] == ' ' && p[n + 1] == '(')))
			return true;
	return false;
}

/* The setup whose software ran on that device; NULL: none did. */
static const struct sheet_setup *verified(const struct sheet_setups *x, const struct sheet_setup *s, const char *name)
{
	for (int i = 0; i < x->n; i++) {
		const struct sheet_stack *k = &x->setup[i].stack;

		if (named(k->name, name) && *s->stack.framework && *s->stack.precision && strcmp(k->framework, s->stack.framework) == 0 && strcmp(k->driver, s->stack.driver) == 0 &&
		    strcmp(k->precision, s->stack.precision) == 0)
			return &x->setup[i];
	}
	return NULL;
}

enum { OF, BATCH, NAME, USABLE, NOMINAL, NEEDED, COUNTER, FITS, MEMORY, SOFTWARE, BANDWIDTH, CAPABILITY, PRICE, SOURCE };

static void columns(struct table *t)
{
	table_words(t, "measured_on", "measured on");
	table_column(t, "micro_batch", "micro-batch");
	table_words(t, "catalogue_device", "device");
	table_column(t, "usable_bytes", "usable");
	table_column(t, "nominal_bytes", "nominal");
	table_column(t, "needed_bytes", "needed");
	table_words(t, "needed_counter", "counter");
	table_words(t, "fits", "fits");
	table_words(t, "memory", "memory figure");
	table_words(t, "software", "software");
	table_column(t, "bandwidth_bytes_per_second", "GB/s");
	table_words(t, "compute_capability", "capability");
	table_column(t, "price", "price");
	table_words(t, "source", "source");
}

/* Beyond the nominal size it cannot fit; below it, without the usable size, nobody knows. */
static void put_fits(struct table *t, const struct catalogue_device *d, int64_t needed, double headroom)
{
	if (needed < 0)
		return;
	if (d->usable_bytes >= 0)
		table_bool(t, FITS, (double)needed <= (1 - headroom) * (double)d->usable_bytes);
	else if (d->nominal_bytes >= 0 && (double)needed > (1 - headroom) * (double)d->nominal_bytes)
		table_bool(t, FITS, false);
	else {
		table_num(t, FITS, NAN, NULL);
		table_shown(t, FITS, "unknown");
	}
}

static void put_facts(struct table *t, const struct catalogue_device *d)
{
	table_num(t, BANDWIDTH, d->bandwidth, NULL);
	table_shown(t, BANDWIDTH, "%.4g", d->bandwidth / 1e9);
	table_num(t, PRICE, d->price, "%.4g");
	if (*d->capability)
		table_text(t, CAPABILITY, d->capability);
	if (*d->source)
		table_text(t, SOURCE, d->source);
	if (isnan(d->bandwidth))
		table_shown(t, BANDWIDTH, "-");
	if (isnan(d->price))
		table_shown(t, PRICE, "-");
	if (!*d->capability)
		table_shown(t, CAPABILITY, "-");
	if (!*d->source)
		table_shown(t, SOURCE, "-");
	if (d->usable_bytes < 0)
		table_shown(t, USABLE, "-");
	if (d->nominal_bytes < 0)
		table_shown(t, NOMINAL, "-");
}

static void row(const struct sheet_setups *x, const struct sheet_setup *s, const struct catalogue_device *d, double headroom, struct table *t)
{
	const struct sheet_setup *there = verified(x, s, d->name);
	bool here = named(s->stack.name, d->name) && s->limit <= 0;

	table_row(t);
	table_text(t, OF, s->stack.device);
	if (s->micro_batch >= 0)
		table_int(t, BATCH, s->micro_batch);
	table_text(t, NAME, d->name);
	table_bytes(t, USABLE, d->usable_bytes);
	table_bytes(t, NOMINAL, d->nominal_bytes);
	table_bytes(t, NEEDED, sheet_needs(s));
	if (sheet_needs(s) >= 0)
		table_text(t, COUNTER, s->reserved >= 0 ? "reserved" : "allocated");
	put_fits(t, d, sheet_needs(s), headroom);
	table_text(t, MEMORY, s->limit > 0 ? "emulated" : here ? "measured there" : "measured elsewhere");
	table_text(t, SOFTWARE, there ? "verified" : "not verified");
	put_facts(t, d);
	for (int i = 0; i < s->runs; i++)
		table_run(t, s->run[i]->id);
	for (int i = 0; there && there != s && i < there->runs; i++)
		table_run(t, there->run[i]->id);
}

void sheet_fits(const struct sheet_setups *x, const struct sheet_settings *s, struct answer *a)
{
	struct table *t = answer_table(a, "fits", "which devices it fits");

	columns(t);
	for (int i = 0; i < x->n; i++)
		for (int k = 0; k < s->catalogue->n; k++)
			row(x, &x->setup[i], &s->catalogue->device[k], s->headroom, t);
	answer_say(a, SAY, "headroom", "It fits where %.3g %% of the usable bytes stay free. Needed is the reserved peak, what the allocator took from the device, where it was counted; "
	           "the allocated peak, of tensors alone, is less than a device must have. Where the catalogue has no usable bytes it is unknown, unless more is needed than the nominal size.", 100 * s->headroom);
	answer_say(a, SAY, "software", "Software is verified where a run with the same framework, driver and precision ran on a device of that name.");
}
