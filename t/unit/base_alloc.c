/* base_alloc.c - the floor lib/base when the Nth allocation of the host fails. */
#include <unistd.h>

#include "alloc.h"

#include "../../lib/base/base.h"

static int grow(void *ctx)
{
	struct buf b = { 0 };
	int r = 0;

	(void)ctx;
	for (int i = 0; i < 200 && r == 0; i++)
		r = buf_printf(&b, "%d,", i);
	if (r == 0)
		r = buf_add(&b, "0123456789", 10);
	buf_free(&b);
	return r;
}

static int parse(void *ctx)
{
	struct why w = { 0 };
	struct spec s;
	int r = spec_parse(&s, "gpt:layers=4,width=128,heads=4,context=64", &w);

	(void)ctx;
	if (r == 0)
		spec_free(&s);
	else if (!strstr(w.text, "out of memory"))
		ok(false, "spec_parse says why: %s", w.text);
	return r;
}

static int slurp(void *ctx)
{
	struct why w = { 0 };
	struct buf b = { 0 };
	int r = io_slurp(ctx, 1 << 20, &b, &w);

	buf_free(&b);
	return r;
}

static int whole(void *ctx)
{
	struct why w = { 0 };
	struct whole *f;
	int r = whole_begin(&f, ctx, &w);

	return r < 0 ? r : whole_commit(f, &w);
}

static int digest(void *ctx)
{
	unsigned char hash[32];

	(void)ctx;
	return sha_of("abc", 3, hash);
}

static int digest_file(void *ctx)
{
	struct why w = { 0 };
	char out[72];

	return sha_file(ctx, out, NULL, &w);
}

static int run(void *ctx)
{
	struct why w = { 0 };
	char *argv[] = { "true", NULL };
	struct proc p;
	int r = proc_start(&p, argv, PROC_OUT, &w);

	(void)ctx;
	if (r == 0)
		proc_end(&p, 1);
	return r;
}

int main(void)
{
	char path[] = "/tmp/pilot-alloc-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0 || write(fd, "hello", 5) != 5)
		return 70;
	close(fd);
	alloc_each("a buffer that grows", grow, NULL);
	alloc_each("spec_parse", parse, NULL);
	alloc_each("io_slurp", slurp, path);
	alloc_each("whole_begin", whole, path);
	alloc_each("sha_of", digest, NULL);
	alloc_each("sha_file", digest_file, path);
	alloc_arm(1, true);
	ok(run(NULL) == 0, "starting a process needs no memory of ours");
	alloc_disarm();
	unlink(path);
	return done_testing();
}
