/* How much of the processors others took while we ran: a speed measured beside them is
 * theirs too. From the kernel's counters, so that nobody has to be watched. */
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "probe.h"

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

/* Processor seconds of this process and of its children that have ended. */
static double own_seconds(void)
{
	struct rusage self, children;
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	return seconds(&self.ru_utime) + seconds(&self.ru_stime) + seconds(&children.ru_utime) + seconds(&children.ru_stime);
}

/* Of the whole machine since it started: user, nice, system, and later irq, softirq and steal; not idle and iowait. */
static double all_seconds(double *processors)
{
	double v[8] = { 0 };
	FILE *f = fopen("/proc/stat", "re");
	int n = f ? fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) : 0;
	if (f)
		fclose(f);
	*processors = (double)sysconf(_SC_NPROCESSORS_ONLN);
	return n < 4 ? -1 : (v[0] + v[1] + v[2] + v[5] + v[6] + v[7]) / (double)sysconf(_SC_CLK_TCK);
}

void busy_begin(struct busy *b)
{
	double processors;
	b->began = clock_seconds();
	b->own = own_seconds();
	b->all = all_seconds(&processors);
}

double busy_others(const struct busy *b)
{
	double processors, all = all_seconds(&processors), wall = clock_seconds() - b->began;
	if (all < 0 || b->all < 0 || wall < 1)
		return 0;
	double others = (all - b->all) - (own_seconds() - b->own);
	return others > 0 ? others / (wall * processors) : 0;
}
