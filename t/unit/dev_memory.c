/* dev_memory.c - blocks, their counters to the byte, budgets, and running out of memory. */
#include "../../lib/dev/dev.h"
#include "tap.h"

static struct why why;

static struct dev *open_cpu(int64_t budget)
{
	struct dev *d;

	if (dev_open(&d, "cpu", budget, 2, &why) < 0)
		exit(1);
	return d;
}

static void test_open(void)
{
	struct dev *d;

	is_int(dev_open(&d, "cuda:0", 0, 0, &why), -EX_UNAVAILABLE, "another device is not there");
	has_str(why.text, "cuda:0", "and the reason names it");
	ok(!d, "nothing was opened");
	d = open_cpu(0);
	is_str(dev_name(d), "cpu", "its name");
	is_int(dev_threads(d), 2, "threads as asked");
	has_str(dev_blas(d), "blas", "the library of the matrix products is named");
	ok(dev_deterministic(d), "it repeats itself");
	dev_close(d);
	dev_close(NULL);
}

static void test_counters(void)
{
	static const int64_t sizes[] = { 1, 64, 4096, 4097, 1000003, (2 << 20) - 64, (2 << 20) + 64, 5 << 20 };
	enum { N = sizeof sizes / sizeof *sizes };
	struct dev *d = open_cpu(0);
	struct dev_memory m;
	int64_t bytes = 0, reserved = 0;
	bool exact = true, zero = true, aligned = true;
	void *p[N];

	for (int i = 0; i < N; i++) {
		is_int(dev_alloc(d, sizes[i], "test", &p[i], &why), 0, "a block");
		bytes += sizes[i];
		reserved += (sizes[i] + 4095) / 4096 * 4096;
		dev_memory(d, &m);
		exact = exact && m.allocated == bytes && m.reserved == reserved && dev_reserved(sizes[i]) == (sizes[i] + 4095) / 4096 * 4096;
		aligned = aligned && (uintptr_t)p[i] % DEV_ALIGN == 0;
		for (int64_t at = 0; at < sizes[i]; at++)
			zero = zero && ((char *)p[i])[at] == 0;
		memset(p[i], 1, (size_t)sizes[i]);
	}
	ok(exact, "allocated moves by the block, reserved by its pages");
	ok(aligned, "blocks are aligned");
	ok(zero, "blocks hold zeros");
	is_int(m.allocated_peak, bytes, "the peak of allocated");
	is_int(m.reserved_peak, reserved, "the peak of reserved");
	for (int i = N; i-- > 0;)
		dev_free(d, p[i]);
	dev_free(d, NULL);
	dev_memory(d, &m);
	is_int(m.allocated, 0, "all given back");
	is_int(m.reserved, 0, "pages too");
	is_int(m.allocated_peak, bytes, "the peak stays");
	dev_mark(d);
	dev_memory(d, &m);
	is_int(m.allocated_peak, 0, "until the mark");
	is_int(m.reserved_peak, 0, "for reserved too");
	dev_close(d);
}

/* The resident set is what the kernel says; a block is in it from the moment it is there. */
static void test_used(void)
{
	struct dev *d = open_cpu(0);
	int64_t size = 48 << 20;
	struct dev_memory before, during, after;
	void *p;

	dev_memory(d, &before);
	is_int(dev_alloc(d, size, "test", &p, &why), 0, "48 MiB");
	dev_memory(d, &during);
	ok(during.used - before.used > size - (1 << 20), "are resident before anybody has written to them");
	dev_free(d, p);
	dev_memory(d, &after);
	ok(after.used < during.used - size / 2, "and gone when given back");
	/* The kernel's two counters are exact to a few pages a core only. */
	ok(after.used_peak >= during.used - (1 << 20), "the peak remembers them");
	dev_mark(d);
	dev_memory(d, &after);
	ok(after.used_peak < during.used - size / 2, "until the mark");
	dev_close(d);
}

static void test_budget(void)
{
	struct dev *d = open_cpu(100 * 4096);
	struct dev_memory m;
	struct dev_oom oom;
	void *p, *q, *r;

	is_int(dev_alloc(d, 60 * 4096 - 10, "load", &p, &why), 0, "within the budget");
	is_int(dev_alloc(d, 40 * 4096 + 1, "forward", &q, &why), -EX_NO, "one byte beyond it: pages count");
	ok(!q, "no block");
	has_str(why.text, "forward", "the reason names the phase");
	has_str(why.text, "budget is 400.0K", "and the budget");
	dev_last_oom(d, &oom);
	is_str(oom.what, "forward", "the oom names the phase");
	is_int(oom.asked, 40 * 4096 + 1, "what was asked");
	is_int(oom.allocated, 60 * 4096 - 10, "what was held");
	is_int(oom.budget, 100 * 4096, "and the budget");
	dev_memory(d, &m);
	is_int(m.allocated, 60 * 4096 - 10, "everything is as it was");
	is_int(m.allocated_peak, m.allocated, "the peak too");
	is_int(dev_alloc(d, 40 * 4096, "forward", &q, &why), 0, "exactly the budget");
	is_int(dev_alloc(d, 1, "update", &r, &why), -EX_NO, "not a byte more");
	dev_free(d, p);
	is_int(dev_alloc(d, 1, "update", &r, &why), 0, "until something is given back");
	is_int(dev_alloc(d, 0, "save", &p, &why), 0, "nothing asked is nothing taken");
	ok(!p, "and no block");
	is_int(dev_alloc(d, INT64_MAX - 5, "forward", &p, &why), -EX_NO, "a size beyond all");
	dev_close(d);
}

/* Without a budget the host itself is the limit: more than it has left is refused, not killed for. */
static void test_host(void)
{
	struct dev *d = open_cpu(0);
	void *p;

	is_int(dev_alloc(d, (int64_t)1 << 46, "forward", &p, &why), -EX_NO, "64 TiB");
	has_str(why.text, "out of memory", "are said to be too much");
	is_int(dev_alloc(d, INT64_MAX, "forward", &p, &why), -EX_NO, "the largest number");
	dev_close(d);
}

static void test_fail_at(void)
{
	struct dev *d = open_cpu(0);
	void *p;

	dev_fail_at(d, 2);
	is_int(dev_alloc(d, 100, "load", &p, &why), 0, "the first works");
	is_int(dev_alloc(d, 100, "data", &p, &why), -EX_NO, "the second fails");
	is_int(dev_alloc(d, 100, "data", &p, &why), 0, "the third works");
	dev_close(d);
}

int main(void)
{
	test_open();
	test_counters();
	test_used();
	test_budget();
	test_host();
	test_fail_at();
	return done_testing();
}
