#!/usr/bin/env bash
# start.sh - start-up of the four commands (--version) against an empty C program, in turns:
# medians in ms, the difference (goal: within 3 ms), and the ratio; the least of each too, which other programs
# on the machine disturb less.
set -eu
build=${PILOT_BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo 'int main(void) { return 0; }' >"$work/empty.c"
cat >"$work/turns.c" <<'END'
/* turns N PROGRAM...: starts each in turn N times; prints the median and the least of each in ms. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
extern char **environ;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e3 + t.tv_nsec * 1e-6; }
static int less(const void *a, const void *b) { double x = *(const double *)a, y = *(const double *)b; return (x > y) - (x < y); }
int main(int argc, char **argv)
{
	int n = atoi(argv[1]), programs = argc - 2, status;
	double *ms = malloc(sizeof *ms * n * programs);
	posix_spawn_file_actions_t quiet;
	pid_t pid;
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	for (int i = -3; i < n; i++)
		for (int p = 0; p < programs; p++) {
			char *child[] = { argv[2 + p], "--version", NULL };
			double begin = now();
			if (posix_spawn(&pid, child[0], &quiet, NULL, child, environ) || waitpid(pid, &status, 0) < 0 || status)
				return fprintf(stderr, "%s: did not run\n", child[0]), 1;
			if (i >= 0)
				ms[p * n + i] = now() - begin;
		}
	for (int p = 0; p < programs; p++) {
		qsort(ms + p * n, n, sizeof *ms, less);
		printf("%.3f %.3f\n", ms[p * n + n / 2], ms[p * n]);
	}
}
END
cc -O2 -o "$work/empty" "$work/empty.c"
cc -O2 -o "$work/turns" "$work/turns.c"
programs=(train-step probe-batch gate ledger)
"$work/turns" "${PILOT_BENCH_RUNS:-200}" "$work/empty" "${programs[@]/#/$build/bin/}" >"$work/ms"
{ read -r empty; for p in "${programs[@]}"; do read -r ms && echo "$p $ms $empty"; done; } <"$work/ms" |
	awk '{ printf "start-up %-12s %6.2f ms, an empty program %5.2f ms: +%.2f ms, ratio %.1f; the least %5.2f and %.2f ms: +%.2f ms (goal: within 3 ms)\n",
		$1, $2, $4, $2 - $4, $2 / $4, $3, $5, $3 - $5 }'
