/* main.c - runs a fuzz target over a fixed number of inputs, made from seeds with a fixed
 * sequence of random numbers: the same on every run. With files as arguments it runs just these.
 *
 * Seeds are the files of t/fuzz/seeds/NAME. PILOT_FUZZ_RUNS is the count. A crash prints the
 * input as hexadecimal bytes (`xxd -r -p` makes a file of them). */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
/* Inputs where PILOT_FUZZ_RUNS does not say; a target whose inputs are dear has its own. */
long fuzz_runs __attribute__((weak)) = 20000;
void __sanitizer_set_death_callback(void (*f)(void)) __attribute__((weak));

enum { SEEDS = 256, LARGEST = 1 << 16 };

struct bytes {
	uint8_t *p;
	size_t n;
};

/* What is being run: the death callback has no argument. */
static struct {
	struct bytes input;
	long number;
} now;

static uint64_t state = 0x9E3779B97F4A7C15;

static uint64_t draw(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return below ? (state >> 11) % below : 0;
}

static void on_death(void)
{
	fprintf(stderr, "\n# input %ld, %zu bytes:\n", now.number, now.input.n);
	for (size_t i = 0; i < now.input.n && i < 8192; i++)
		fprintf(stderr, "%02x", now.input.p[i]);
	fprintf(stderr, "\n");
}

/* An own block of exactly the size, so that reading past its end is seen. */
static void run(const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);

	if (!copy)
		abort();
	memcpy(copy, p, n);
	now.input = (struct bytes){ copy, n };
	now.number++;
	LLVMFuzzerTestOneInput(copy, n);
	free(copy);
}

static int load(const char *path, struct bytes *b)
{
	FILE *f = fopen(path, "rb");

	if (!f)
		return -1;
	b->p = malloc(LARGEST);
	b->n = b->p ? fread(b->p, 1, LARGEST, f) : 0;
	fclose(f);
	return b->p ? 0 : -1;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* In the order of their names, so that every machine has the same sequence. */
static int load_folder(const char *folder, struct bytes seed[SEEDS])
{
	struct dirent **entry;
	char path[4400];
	int n = scandir(folder, &entry, NULL, by_name), seeds = 0;

	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
		if (entry[i]->d_name[0] != '.' && seeds < SEEDS && load(path, &seed[seeds]) == 0)
			seeds++;
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
	return seeds;
}

/* ---- mutations of b, which has room for LARGEST bytes ---- */

static void cut_out(struct bytes *b)
{
	size_t at = draw(b->n), n = 1 + draw(b->n - at < 64 ? b->n - at : 64);

	if (n > b->n - at)
		n = b->n - at;
	memmove(b->p + at, b->p + at + n, b->n - at - n);
	b->n -= n;
}

static void insert(struct bytes *b, const uint8_t *from, size_t n)
{
	size_t at = draw(b->n + 1);

	if (n > LARGEST - b->n)
		n = LARGEST - b->n;
	memmove(b->p + at + n, b->p + at, b->n - at);
	if (from)
		memcpy(b->p + at, from, n);
	else
		for (size_t i = 0; i < n; i++)
			b->p[at + i] = (uint8_t)draw(256);
	b->n += n;
}

static void edge_number(struct bytes *b)
{
	static const uint64_t edge[] = { 0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, UINT64_MAX };
	uint64_t v = edge[draw(sizeof edge / sizeof *edge)];
	size_t width = (size_t)1 << draw(4);
	int big = (int)draw(2);

	if (b->n < width)
		return;
	for (size_t i = 0, at = draw(b->n - width + 1); i < width; i++)
		b->p[at + i] = (uint8_t)(v >> 8 * (big ? width - 1 - i : i));
}

static void edge_text(struct bytes *b)
{
	static const char *const text[] = { "0", "-1", "9223372036854775807", "9223372036854775808", "1e308", "1e999", "-0", "NaN", "null", "{", "}", "[", "]", "\"", ",", ":", "=", "\\", "\\u0000", "\n", "\r\n" };
	const char *t = text[draw(sizeof text / sizeof *text)];

	insert(b, (const uint8_t *)t, strlen(t));
}

static void mutate(struct bytes *b, const struct bytes *other)
{
	uint8_t piece[64];
	size_t n;

	switch (draw(9)) {
	case 0: if (b->n) b->p[draw(b->n)] ^= (uint8_t)(1u << draw(8)); break;
	case 1: if (b->n) b->p[draw(b->n)] = (uint8_t)draw(256); break;
	case 2: if (b->n) cut_out(b); break;
	case 3: insert(b, NULL, 1 + draw(8)); break;
	case 4: if (b->n && draw(4) == 0) b->n = draw(b->n); break;
	case 5: edge_number(b); break;
	case 6: edge_text(b); break;
	case 7: /* a piece of itself again */
		if (!b->n)
			break;
		n = 1 + draw(b->n < sizeof piece ? b->n : sizeof piece);
		n = n > b->n ? b->n : n;
		memcpy(piece, b->p + draw(b->n - n + 1), n);
		insert(b, piece, n);
		break;
	case 8: /* a piece of another seed */
		if (other->n) {
			size_t at = draw(other->n);

			insert(b, other->p + at, 1 + draw(other->n - at < 256 ? other->n - at : 256) % (other->n - at));
		}
		break;
	}
}

static void fuzz(const struct bytes *seed, int seeds, long runs)
{
	struct bytes b = { malloc(LARGEST), 0 };

	if (!b.p)
		abort();
	for (int i = 0; i < seeds; i++)
		run(seed[i].p, seed[i].n);
	while (now.number < runs) {
		const struct bytes *from = &seed[draw((uint64_t)seeds)];

		memcpy(b.p, from->p, from->n);
		b.n = from->n;
		for (uint64_t k = 1 + draw(6); k; k--)
			mutate(&b, &seed[draw((uint64_t)seeds)]);
		run(b.p, b.n);
	}
	free(b.p);
}

int main(int argc, char **argv)
{
	static struct bytes seed[SEEDS + 1];
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	const char *runs = getenv("PILOT_FUZZ_RUNS");
	char folder[4096];
	int seeds;

	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(on_death);
	for (int i = 1; i < argc; i++)
		if (load(argv[i], &seed[0]) == 0) {
			run(seed[0].p, seed[0].n);
			free(seed[0].p);
		}
	if (argc > 1)
		return 0;
	snprintf(folder, sizeof folder, "t/fuzz/seeds/%s", name);
	seeds = load_folder(folder, seed);
	seed[seeds].p = malloc(1); /* and the empty input */
	fuzz(seed, seeds + 1, runs ? atol(runs) : fuzz_runs);
	printf("%s 1 - fuzz %s: %ld inputs from %d seeds\n1..1\n", seeds ? "ok" : "not ok", name, now.number, seeds);
	for (int i = 0; i <= seeds; i++)
		free(seed[i].p);
	return seeds ? 0 : 1;
}
