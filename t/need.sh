# need.sh - what pilot needs from the system: found by the Makefile, installed by demo and check.
# Sourced by sh; every function prints or returns, none exits.

# msgpack-c is `msgpack` in pkg-config up to 4.0 and `msgpack-c` from 6.0 on.
need_msgpack() {
	for p in msgpack-c msgpack; do
		if pkg-config --exists "$p" 2>/dev/null; then echo "$p"; return; fi
	done
	echo msgpack
}
# A CBLAS: OpenBLAS's OpenMP build where there is one, else any.
need_blas_name() {
	for p in openblas-openmp openblas blas-openblas cblas; do
		if pkg-config --exists "$p" 2>/dev/null; then echo "$p"; return; fi
	done
}
need_blas_cflags() { b=$(need_blas_name); [ -z "$b" ] || pkg-config --cflags "$b"; }
need_blas_libs() { b=$(need_blas_name); if [ -n "$b" ]; then pkg-config --libs "$b"; else echo -lopenblas; fi; }
need_banner() {
	b=$(need_blas_name)
	echo "pilot: compiler $1 -march=$2; BLAS: ${b:-not found}${b:+ $(pkg-config --modversion "$b")}; CUDA: not built (no device code in this version)"
}
