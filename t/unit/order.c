/* order.c - which examples an update sees: every example once an epoch, another order each epoch,
 * windows that account for every one, and nothing but (seed, epoch, position) deciding. */
#include "tap.h"

#include "../../lib/train/train.h"

/* Whether the epoch's order visits each example once. */
static bool permutes(const struct order *o, int64_t epoch)
{
	unsigned char *seen = calloc((size_t)o->examples, 1);
	bool good = seen;

	for (int64_t i = 0; i < o->examples && good; i++) {
		int64_t e = order_example(o, epoch, i);
		good = e >= 0 && e < o->examples && !seen[e];
		if (good)
			seen[e] = 1;
	}
	free(seen);
	return good;
}

static void permutations(void)
{
	static const int64_t sizes[] = { 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 100, 255, 256, 257, 1000, 4097 };
	int bad = 0;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (uint64_t seed = 0; seed < 3; seed++)
			for (int64_t epoch = 0; epoch < 4; epoch++) {
				struct order o = { .seed = seed, .examples = sizes[i], .micro_batch = 1, .accum = 1 };
				bad += !permutes(&o, epoch);
			}
	is_int(bad, 0, "every epoch visits every example once, for every size and seed");
}

/* Positions at which two orders agree; a random pair agrees at about one. */
static int64_t agree(const struct order *a, int64_t ea, const struct order *b, int64_t eb)
{
	int64_t n = 0;

	for (int64_t i = 0; i < a->examples; i++)
		n += order_example(a, ea, i) == order_example(b, eb, i);
	return n;
}

static void orders_differ(void)
{
	struct order o = { .seed = 1, .examples = 5000, .micro_batch = 1, .accum = 1 }, other = o, sorted = o;
	int64_t in_place = 0, neighbours = 0;

	other.seed = 2;
	for (int64_t e = 0; e < 5; e++)
		for (int64_t f = 0; f < e; f++)
			if (!ok(agree(&o, e, &o, f) < 12, "epochs %lld and %lld have orders of their own", (long long)f, (long long)e))
				diag("%lld positions agree", (long long)agree(&o, e, &o, f));
	ok(agree(&o, 0, &other, 0) < 12, "another seed gives another order");
	ok(agree(&o, 1, &other, 0) < 12, "and not that of this seed's next epoch");
	for (int64_t i = 0; i < sorted.examples; i++) {
		in_place += order_example(&o, 0, i) == i;
		neighbours += i && llabs(order_example(&o, 0, i) - order_example(&o, 0, i - 1)) == 1;
	}
	ok(in_place < 12 && neighbours < 20, "the order is no walk through the file (%lld in place, %lld neighbours)", (long long)in_place, (long long)neighbours);
}

/* Adds up U updates window by window and compares with the closed form. */
static void account(int64_t examples, int64_t micro_batch, int64_t accum, bool keep)
{
	struct order o = { .seed = 7, .examples = examples, .micro_batch = micro_batch, .accum = accum, .keep = keep };
	int64_t window = micro_batch * accum, upe = order_updates_per_epoch(&o), seen = 0, next = 0, at_epoch = 0;
	bool good = upe == (keep ? (examples + window - 1) / window : examples / window);

	for (int64_t u = 0; u < 3 * upe + 2 && good; u++) {
		int64_t epoch, first, count;
		order_window(&o, u, &epoch, &first, &count);
		if (epoch != at_epoch) {
			good = good && epoch == at_epoch + 1 && first == 0 && next == (keep ? examples : examples / window * window);
			at_epoch = epoch;
			next = 0;
		}
		good = good && first == next && count >= 1 && count <= window && (keep || count == window) && order_examples_before(&o, u) == seen;
		next += count;
		seen += count;
	}
	ok(good, "%lld examples at %lld x %lld, %s: windows follow each other and account for all", (long long)examples, (long long)micro_batch, (long long)accum, keep ? "keep" : "drop");
}

static void windows(void)
{
	struct order o = { .examples = 3200, .micro_batch = 2, .accum = 8 }, few = { .examples = 7, .micro_batch = 4, .accum = 2 };
	int64_t e, f, n;

	is_int(order_updates_per_epoch(&o), 200, "3,200 examples at 2 x 8 are 200 updates");
	for (int keep = 0; keep < 2; keep++) {
		account(100, 4, 2, keep);
		account(101, 4, 2, keep);
		account(7, 7, 1, keep);
		account(8, 3, 1, keep);
		account(1, 1, 1, keep);
		account(1000, 32, 3, keep);
	}
	account(7, 4, 2, true);
	is_int(order_updates_per_epoch(&few), 0, "fewer examples than a dropped window: no update");
	order_window(&few, 3, &e, &f, &n);
	is_int(n, 0, "and an empty window rather than a division by zero");
	is_int(order_examples_before(&few, 3), 0, "and nothing seen");
}

/* Large splits: any position is reached without the others. */
static void large(void)
{
	struct order o = { .seed = 3, .examples = INT64_C(1) << 50, .micro_batch = 1 << 20, .accum = 1 << 10, .keep = true };
	int64_t e, f, n, x = order_example(&o, 5, o.examples - 1);

	ok(x >= 0 && x < o.examples, "2^50 examples");
	order_window(&o, (INT64_C(1) << 20) * 3 + 1, &e, &f, &n);
	ok(e == 3 && f == INT64_C(1) << 30 && n == INT64_C(1) << 30, "their windows");
}

int main(void)
{
	permutations();
	orders_differ();
	windows();
	large();
	return done_testing();
}
