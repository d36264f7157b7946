/* clock.c - time, and names of runs (ULID: 48 bits of milliseconds, 80 random bits). */
#include "base.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static const char crockford[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

struct timestamp clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (struct timestamp){ t.tv_sec, (int32_t)t.tv_nsec };
}

double clock_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* 80 bits; where the kernel has none to give, from the time and the process. */
static void random_bytes(unsigned char out[10])
{
	struct timestamp t;
	uint64_t x;

	if (getrandom(out, 10, 0) == 10)
		return;
	t = clock_now();
	x = rand_bits((uint64_t)t.seconds, RAND_TEST, (uint64_t)t.nanoseconds, (uint64_t)getpid());
	memcpy(out, &x, 8);
	memset(out + 8, 0, 2);
}

void ulid_new(char out[ULID_SIZE])
{
	struct timestamp t = clock_now();
	uint64_t ms = (uint64_t)t.seconds * 1000 + (uint64_t)t.nanoseconds / 1000000;
	unsigned char bytes[10];
	uint64_t high, low;

	random_bytes(bytes);
	for (int i = 9; i >= 0; i--, ms >>= 5)
		out[i] = crockford[ms & 31];
	high = (uint64_t)bytes[0] << 32 | (uint64_t)bytes[1] << 24 | (uint64_t)bytes[2] << 16 | (uint64_t)bytes[3] << 8 | bytes[4];
	low = (uint64_t)bytes[5] << 32 | (uint64_t)bytes[6] << 24 | (uint64_t)bytes[7] << 16 | (uint64_t)bytes[8] << 8 | bytes[9];
	for (int i = 7; i >= 0; i--, high >>= 5, low >>= 5) {
		out[10 + i] = crockford[high & 31];
		out[18 + i] = crockford[low & 31];
	}
	out[26] = '\0';
}

bool ulid_valid(const char *s)
{
	/* 26 digits hold 130 bits, a ULID 128. */
	return strspn(s, crockford) == 26 && s[26] == '\0' && s[0] <= '7';
}
