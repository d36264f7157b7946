/* faults-data.c - what the loss sees of the examples. */
#include "faults.h"

#include <math.h>
#include <string.h>

static void recount(struct batch *b)
{
	b->supervised = 0;
	for (int64_t i = 0; i < b->rows * b->length; i++)
		b->supervised += b->targets[i] >= 0;
}

/* Masked by id where it should be by position: the real ends go with the padding. */
static void mask_ends(struct batch *b)
{
	for (int64_t r = 0; r < b->rows; r++)
		for (int64_t i = b->lengths[r] - 1; i >= 0; i--)
			if (b->targets[r * b->length + i] >= 0) {
				b->targets[r * b->length + i] = -1;
				break;
			}
}

static void unmask_prompt(struct batch *b)
{
	for (int64_t i = 0; i + 1 < b->lengths[0]; i++)
		b->targets[i] = b->ids[i + 1];
}

static void shift_again(struct batch *b)
{
	for (int64_t r = 0; r < b->rows; r++) {
		int32_t *t = b->targets + r * b->length;

		for (int64_t i = 0; i + 1 < b->length; i++)
			if (t[i] >= 0 && t[i + 1] >= 0)
				t[i] = t[i + 1];
	}
}

static void no_shift(struct batch *b)
{
	for (int64_t i = 0; i < b->rows * b->length; i++)
		if (b->targets[i] >= 0)
			b->targets[i] = b->ids[i];
}

static void count_padding(struct batch *b)
{
	for (int64_t r = 0; r < b->rows; r++)
		for (int64_t i = b->lengths[r]; i < b->length; i++)
			b->targets[r * b->length + i] = 0;
}

static void drop_first(struct batch *b)
{
	for (int64_t r = 0; r < b->rows; r++)
		for (int64_t i = 0; i < b->length; i++)
			if (b->targets[r * b->length + i] >= 0) {
				b->targets[r * b->length + i] = -1;
				break;
			}
}

static void one_batch(struct batch *b)
{
	if (b->ids && fault("D1-ends-masked"))
		mask_ends(b);
	if (b->ids && fault("D2-mask-missed"))
		unmask_prompt(b);
	if (b->ids && fault("D3-shifted-twice"))
		shift_again(b);
	if (b->ids && fault("D3-not-shifted"))
		no_shift(b);
	if (b->ids && fault("D4-padding-counted"))
		count_padding(b);
	if (b->ids && fault("D4-mask-off-by-one"))
		drop_first(b);
	if (!b->ids && fault("D-inputs-not-finite"))
		b->x[0] = INFINITY;
	if (b->ids)
		recount(b);
}

void faults_data(const char *point)
{
	struct batch *b;
	int n;

	if (strcmp(point, "window"))
		return;
	b = trainer_window(scene.t, &n);
	for (int k = 0; k < n; k++)
		one_batch(&b[k]);
}
