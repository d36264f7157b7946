#!/usr/bin/env bash
# ledger.sh - appending: to an empty and to a large ledger, against sqlite3 with synchronous=FULL, and the
# memory of a long stream. All ratios are of one run; appends of the two are taken in turns.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${PILOT_BUILD:-build}" && pwd)
PATH=$build/bin:$PATH
python=${PILOT_PYTHON:-/usr/bin/python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}
n=${PILOT_BENCH_APPENDS:-400}

# A driver of the library and of SQLite in one process, so that neither pays for starting programs.
cat >"$work/appends.c" <<'END'
/* appends EMPTY.ledger LARGE.ledger N: commits of 64 step records each, to the one and the other in turns; prints medians in us. */
#include "lib/file/file.h"
#include <stdlib.h>
static int less(const void *a, const void *b) { double x = *(const double *)a, y = *(const double *)b; return (x > y) - (x < y); }
int main(int argc, char **argv)
{
	int n = atoi(argv[3]), update = 0;
	double *us[2], sum[2] = { 0, 0 };
	struct ledger_writer *l[2];
	struct ledger_receipt receipt;
	struct why w;
	(void)argc;
	for (int k = 0; k < 2; k++) {
		us[k] = malloc(sizeof(double) * (size_t)n);
		if (ledger_writer_open(&l[k], argv[1 + k], 10, &w) < 0)
			return fprintf(stderr, "%s\n", w.text), 1;
	}
	for (int i = 0; i < 2 * n; i++) {
		struct rec r = { 0 };
		struct view v;
		double begin = clock_seconds();
		for (int k = 0; k < 64; k++) {
			rec_begin(&r, KIND_step);
			rec_str(&r, F_step_run, "01HZZZZZZZZZZZZZZZZZZZZZZZ");
			rec_int(&r, F_step_update, ++update);
			rec_num(&r, F_step_loss, 1.0 / update);
			rec_num(&r, F_step_lr, 1e-3);
			rec_num(&r, F_step_gradient_norm, 1.0 / (update + 7));
			rec_num(&r, F_step_seconds, 0.01 + 1e-5 * (update % 37));
			if (rec_end(&r, &w) < 0 || view_open(&v, r.buf.p, r.buf.n, &w) < 0 || ledger_add(l[i & 1], &v, &w) < 0)
				return fprintf(stderr, "%s\n", w.text), 1;
		}
		if (ledger_commit(l[i & 1], &receipt, &w) != 1)
			return fprintf(stderr, "%s\n", w.text), 1;
		us[i & 1][i / 2] = 1e6 * (clock_seconds() - begin);
		sum[i & 1] += us[i & 1][i / 2];
		rec_free(&r);
	}
	for (int k = 0; k < 2; k++) {
		qsort(us[k], (size_t)n, sizeof(double), less);
		printf("%.1f %.1f\n", us[k][n / 2], sum[k] / n);
	}
	return 0;
}
END
# shellcheck disable=SC2046
"$cc" -std=c11 -D_GNU_SOURCE -O2 -I. -o "$work/appends" "$work/appends.c" "$build/libpilot.a" $(pkg-config --libs "$(. t/need.sh && need_msgpack)" zlib jansson libcrypto) -lm

echo "making a large ledger ..." >&2
"$python" t/stream.py --steps 200000 --eval-every 0 >"$work/stream"
for _ in 1 2 3 4 5; do cat "$work/stream"; done | ledger append --rest "$work/large.ledger" 2>/dev/null || true
size=$(stat -c %s "$work/large.ledger")
"$work/appends" "$work/empty.ledger" "$work/large.ledger" "$n" >"$work/us"
{ read -r empty empty_mean; read -r large _; } <"$work/us"
awk -v e="$empty" -v l="$large" -v s="$size" 'BEGIN { printf "append of 64 steps: empty ledger %.0f us, one of %.0f MB %.0f us, ratio %.2f (goal: independent of the size)\n", e, s / 1e6, l, l / e }'

# sqlite3: the same rows, 64 a transaction, WAL and FULL; statements made beforehand and fed to one process
if command -v sqlite3 >/dev/null; then
	awk -v n="$n" 'BEGIN {
		print "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE step(run TEXT, t REAL, \"update\" INT, loss REAL, lr REAL, gradient_norm REAL, seconds REAL);"
		for (i = 0; i < n; i++) { print "BEGIN;"
			for (k = 0; k < 64; k++) { u++; printf "INSERT INTO step VALUES(\"01HZZZZZZZZZZZZZZZZZZZZZZZ\",%d.5,%d,%.17g,0.001,%.17g,%.17g);\n", u, u, 1 / u, 1 / (u + 7), 0.01 + 1e-5 * (u % 37) }
			print "COMMIT;" } }' >"$work/sql"
	begin=$EPOCHREALTIME
	sqlite3 "$work/x.db" <"$work/sql" >/dev/null
	end=$EPOCHREALTIME
	awk -v a="$begin" -v b="$end" -v n="$n" -v m="$empty_mean" 'BEGIN {
		us = 1e6 * (b - a) / n
		printf "commits of 64 steps: ledger %.0f a second (mean %.0f us), sqlite3 (WAL, synchronous=FULL, parsing its SQL) %.0f a second: %.1f times\n", 1e6 / m, m, 1e6 / us, us / m }'
	# without the parsing: a prepared statement, by python3
	"$python" - "$work/y.db" "$n" "$empty_mean" <<-'END'
		import sqlite3, sys, time
		c = sqlite3.connect(sys.argv[1], isolation_level=None)
		c.execute("PRAGMA journal_mode=WAL"); c.execute("PRAGMA synchronous=FULL")
		c.execute("CREATE TABLE step(run TEXT, t REAL, u INT, loss REAL, lr REAL, gn REAL, seconds REAL)")
		n, mean, u = int(sys.argv[2]), float(sys.argv[3]), 0
		rows = [[("01HZZZZZZZZZZZZZZZZZZZZZZZ", i * 64 + k + 0.5, i * 64 + k, 1 / (i * 64 + k + 1), 1e-3, 0.5, 0.01) for k in range(64)] for i in range(n)]
		begin = time.perf_counter()
		for r in rows:
		    c.execute("BEGIN"); c.executemany("INSERT INTO step VALUES(?,?,?,?,?,?,?)", r); c.execute("COMMIT")
		us = 1e6 * (time.perf_counter() - begin) / n
		print("commits of 64 steps: sqlite3 with prepared statements %.0f a second: ledger %.1f times" % (1e6 / us, us / mean))
	END
fi

# A whole program an append, as a shell script would do it.
head -c 11000 "$work/stream" >"$work/some"
begin=$EPOCHREALTIME
for _ in $(seq 50); do ledger append --rest "$work/empty.ledger" <"$work/some" 2>/dev/null || true; done
end=$EPOCHREALTIME
awk -v a="$begin" -v b="$end" 'BEGIN { printf "ledger append as a program: %.1f ms each\n", 1e3 * (b - a) / 50 }'

if [ -x /usr/bin/time ]; then
	for k in 1 5; do
		for _ in $(seq $k); do cat "$work/stream"; done >"$work/long"
		bytes=$(stat -c %s "$work/long")
		rm -f "$work/z.ledger"
		begin=$EPOCHREALTIME
		/usr/bin/time -f %M -o "$work/kb" ledger append --rest "$work/z.ledger" <"$work/long" 2>/dev/null || true
		end=$EPOCHREALTIME
		awk -v kb="$(tail -1 "$work/kb")" -v n="$bytes" -v a="$begin" -v b="$end" -v z="$(stat -c %s "$work/z.ledger")" 'BEGIN {
			printf "append of a stream of %.0f MB: %.1f MB resident at the peak (goal: below 16.8), %.0f MB/s, kept in %.2f of its size\n", n / 1e6, kb / 1e3, n / 1e6 / (b - a), z / n }'
	done
fi
