/* data_sums.c - sums:digits=D: prompts and answers, "37+58=" and "95", made and not read.
 * The loss looks at the answer and its end mark. Both orders of a pair of operands are in one split. */
#include "data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ids; digits follow. Padding and the end mark are different, and neither decides what is masked. */
enum { PAD, END, PLUS, EQUALS, DIGIT, VOCAB = DIGIT + 10 };
enum { SUMS_TEXT = 32, SUMS_DIGITS = 6, COUNTED_DIGITS = 3, DIGESTED = 20000 };

/* Unordered pairs a < b are numbered 0..pairs-1 and make two examples each; pairs a = a make one.
 * Each of the two is permuted and cut: first[s] and count[s] are the split's part. */
struct sums {
	int digits;
	int64_t operands, pairs;
	int64_t first[SPLITS], count[SPLITS];   /* of the pairs a < b */
	int64_t dfirst[SPLITS], dcount[SPLITS]; /* of the pairs a = a */
};

struct sum {
	int64_t a, b;
	char text[SUMS_TEXT]; /* "37+58=95" */
	int prompt, all;      /* characters before the answer, and with it */
};

/* Pair k of (0,1) (0,2) (1,2) (0,3) ... */
static void pair_of(int64_t k, int64_t *a, int64_t *b)
{
	int64_t hi = (int64_t)((1 + sqrt(1 + 8 * (double)k)) / 2);

	while (hi * (hi - 1) / 2 > k)
		hi--;
	while (hi * (hi + 1) / 2 <= k)
		hi++;
	*a = k - hi * (hi - 1) / 2;
	*b = hi;
}

static void operands(const struct sums *u, enum split s, int64_t index, int64_t *a, int64_t *b)
{
	int64_t k, swap;

	if (index >= 2 * u->count[s]) {
		*a = *b = rand_permute(0, DATA_SPLIT_EPOCH + 1, u->operands, u->dfirst[s] + index - 2 * u->count[s]);
		return;
	}
	k = rand_permute(0, DATA_SPLIT_EPOCH, u->pairs, u->first[s] + index / 2);
	pair_of(k, a, b);
	if (index % 2) {
		swap = *a;
		*a = *b;
		*b = swap;
	}
}

static void make(const struct data *d, enum split s, int64_t index, struct sum *m)
{
	operands(d->state, s, index, &m->a, &m->b);
	m->prompt = sprintf(m->text, "%lld+%lld=", (long long)m->a, (long long)m->b);
	m->all = m->prompt + sprintf(m->text + m->prompt, "%lld", (long long)(m->a + m->b));
}

static int32_t id_of(char c)
{
	return c == '+' ? PLUS : c == '=' ? EQUALS : DIGIT + (c - '0');
}

static char char_of(int32_t id)
{
	return id == PAD ? '_' : id == END ? '$' : id == PLUS ? '+' : id == EQUALS ? '=' : id < VOCAB && id >= DIGIT ? (char)('0' + id - DIGIT) : '?';
}

/* ---- the table ---- */

static int sums_row(const struct data *d, enum split s, int64_t index, int32_t *ids, int32_t *targets, struct why *w)
{
	struct sum m;

	(void)w;
	make(d, s, index, &m);
	for (int t = 0; t < m.all; t++) {
		ids[t] = id_of(m.text[t]);
		targets[t] = t + 1 < m.prompt ? -1 : t + 1 < m.all ? id_of(m.text[t + 1]) : END;
	}
	return 0;
}

static int64_t sums_length(const struct data *d, enum split s, int64_t index)
{
	struct sum m;

	make(d, s, index, &m);
	return m.all;
}

static int64_t sums_longest(const struct data *d, enum split s)
{
	const struct sums *u = d->state;
	int64_t best = 0, most = 0, n;

	for (int64_t i = 0; i < d->facts.count[s] && most < 3 * u->digits + 3; i++)
		if ((n = sums_length(d, s, i)) > most) {
			most = n;
			best = i;
		}
	return best;
}

/* Characters of the right answer, and the end mark: counted from the number, not from the mask. */
static int64_t sums_declared(const struct data *d, enum split s, int64_t index)
{
	int64_t a, b, n = 1;

	operands(d->state, s, index, &a, &b);
	for (int64_t sum = a + b; sum >= 10; sum /= 10)
		n++;
	return n + 1;
}

static int sums_describe(const struct data *d, enum split s, int64_t index, struct example_text *out)
{
	struct sum m;

	make(d, s, index, &m);
	if (buf_printf(&out->id, "%lld+%lld", (long long)m.a, (long long)m.b) || buf_add(&out->text, m.text, (size_t)m.prompt) || buf_printf(&out->target, "%s", m.text + m.prompt))
		return -EX_OSERR;
	return buf_printf(&out->group, "{%lld,%lld}", (long long)(m.a < m.b ? m.a : m.b), (long long)(m.a < m.b ? m.b : m.a));
}

static int sums_decode(const struct data *d, const int32_t *ids, int64_t n, struct buf *out)
{
	int r = 0;

	(void)d;
	for (int64_t i = 0; i < n && !r; i++) {
		char c = char_of(ids[i]);
		r = buf_add(out, &c, 1);
	}
	return r;
}

static int64_t sums_prompt(const struct data *d, enum split s, int64_t index, int32_t *ids, int64_t max, int32_t *end_id)
{
	struct sum m;

	make(d, s, index, &m);
	*end_id = END;
	if (m.prompt > max)
		return -1;
	for (int t = 0; t <= m.all && t < max; t++)
		ids[t] = t < m.all ? id_of(m.text[t]) : END;
	return m.prompt;
}

/* ---- opening ---- */

/* Cuts n into train, validation and test, in that order. */
static void cut(int64_t n, double val, double test, int64_t first[SPLITS], int64_t count[SPLITS])
{
	count[VALIDATION] = data_share(val, n);
	count[TEST] = data_share(test, n);
	count[TRAIN] = n - count[VALIDATION] - count[TEST];
	first[TRAIN] = 0;
	first[VALIDATION] = count[TRAIN];
	first[TEST] = count[TRAIN] + count[VALIDATION];
}

/* Looks at every example: how many unordered pairs stand in more than one split. */
static int count_shared(struct data *d, struct why *w)
{
	const struct sums *u = d->state;
	unsigned char *seen;
	int64_t a, b, swap, n = u->operands * (u->operands + 1) / 2;

	d->facts.shared_examples = d->facts.shared_groups = -1;
	if (u->digits > COUNTED_DIGITS)
		return 0;
	if (!(seen = calloc((size_t)n, 1)))
		return data_no_memory(w);
	for (enum split s = 0; s < SPLITS; s++)
		for (int64_t i = 0; i < d->facts.count[s]; i++) {
			operands(u, s, i, &a, &b);
			if (a > b) {
				swap = a;
				a = b;
				b = swap;
			}
			seen[b * (b + 1) / 2 + a] |= (unsigned char)(1 << s);
		}
	d->facts.shared_examples = 0;
	for (int64_t i = 0; i < n; i++)
		d->facts.shared_examples += (seen[i] & (seen[i] - 1)) != 0;
	d->facts.shared_groups = d->facts.shared_examples; /* a group is an unordered pair */
	free(seen);
	return 0;
}

/* There is no file: what is digested is the beginning of each split, as text. */
static int digest(struct data *d, double val, double test, struct why *w)
{
	struct sha *h = sha_new();
	unsigned char sum[32];
	char text[160];
	struct sum m;
	int r;

	if (!h)
		return data_no_memory(w);
	sha_add(h, text, (size_t)sprintf(text, "sums 1 digits=%d val=%.17g test=%.17g\n", ((struct sums *)d->state)->digits, val, test));
	for (enum split s = 0; s < SPLITS; s++)
		for (int64_t i = 0; i < d->facts.count[s] && i < DIGESTED; i++) {
			make(d, s, i, &m);
			sha_add(h, m.text, (size_t)m.all + 1);
		}
	sha_end(h, sum);
	memcpy(text, "sha256:", 7);
	sha_hex(sum, text + 7);
	r = strings_add(&d->digests, text, strlen(text));
	if (!r)
		r = strings_add(&d->provenances, text, (size_t)snprintf(text, sizeof text, "made by train-step: all sums of two numbers of up to %d digits", ((struct sums *)d->state)->digits));
	return r ? data_no_memory(w) : 0;
}

static int check_length(struct data *d, int64_t length, struct why *w)
{
	for (enum split s = 0; s < SPLITS; s++) {
		int64_t n = d->facts.count[s] ? sums_length(d, s, sums_longest(d, s)) : 0;
		d->facts.length = n > d->facts.length ? n : d->facts.length;
	}
	if (length && length < d->facts.length)
		return why_set(w, EX_USAGE, "--length %lld: sums: the longest example has %lld positions, and examples cannot be cut", (long long)length, (long long)d->facts.length);
	return 0;
}

/* Pairs held out by default: a tenth of 3 digits' pairs would take minutes to answer. */
enum { HELD_OUT = 1000 };

static int sums_open(struct data *d, struct spec *spec, int64_t length, struct why *w)
{
	struct sums *u = d->state = calloc(1, sizeof *u);
	double val, test;
	int64_t digits = 2;
	int r;

	if (!u)
		return data_no_memory(w);
	if ((r = spec_int(spec, "digits", 1, SUMS_DIGITS, &digits, w)) < 0)
		return r;
	u->digits = (int)digits;
	u->operands = (int64_t)llround(pow(10, (double)digits));
	u->pairs = u->operands * (u->operands - 1) / 2;
	val = test = u->pairs > 10 * HELD_OUT ? (double)HELD_OUT / (double)u->pairs : 0.1;
	if ((r = data_shares(spec, &val, &test, w)) || (r = spec_done(spec, w)))
		return r;
	cut(u->pairs, val, test, u->first, u->count);
	cut(u->operands, val, test, u->dfirst, u->dcount);
	d->facts.sequence = d->facts.answers = true;
	d->facts.classes = VOCAB;
	for (enum split s = 0; s < SPLITS; s++)
		d->facts.count[s] = 2 * u->count[s] + u->dcount[s];
	if ((r = check_length(d, length, w)) || (r = count_shared(d, w)) || (r = digest(d, val, test, w)))
		return r;
	return data_rule(d, w, "unordered operand pairs, both orders together: %g of them to validation, %g to test, the rest to training, by a fixed permutation (the run's seed does not matter)", val, test);
}

static void sums_close(struct data *d)
{
	free(d->state);
}

const struct data_kind data_sums = {
	.name = "sums",
	.open = sums_open,
	.close = sums_close,
	.row = sums_row,
	.example_length = sums_length,
	.longest = sums_longest,
	.declared = sums_declared,
	.describe = sums_describe,
	.decode = sums_decode,
	.prompt = sums_prompt,
};
