#!/usr/bin/env bash
# The C library beside a loop in C over libzstd: builds both, makes the archive of 20,000 kernels at the first run, and
# prints a line for each figure; `report capi` makes a table of them.
#   run.sh [ROUNDS]
# It needs a C compiler and libzstd's header (Debian: libzstd-dev). With ROCLOAD_SHARED_DATA or ../shared/data, real
# archives are measured as well. As root it takes priority over other work, which a busy machine needs for steady ratios.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
rounds=${1:-31}
target=${CARGO_TARGET_DIR:-$root/target}
prefix=$target/rocload-benches/capi
large=$target/rocload-benches/kernels-20000.kpack

drivers/capi/install.sh --prefix "$prefix" >&2
if [ ! -f "$large" ]; then
    mkdir -p "$(dirname "$large")"
    cargo run --quiet --profile test -p rocload-fixtures --example write_large -- "$large"
fi
"${CC:-cc}" -O2 -Wall -Wextra -o "$prefix/harness" benches/capi/harness.c -I"$prefix/include" -L"$prefix/lib" \
    -lrocm_kpack -lzstd -pthread -Wl,-rpath,"$prefix/lib"

archives=("$large")
for name in b_2000_zstd e_rocrand_zstd; do
    real=${ROCLOAD_SHARED_DATA:-$root/../shared/data}/kpack/$name.kpack
    [ ! -f "$real" ] || archives+=("$(realpath "$real")")
done
first=()
if [ "$(id -u)" -eq 0 ] && command -v chrt >/dev/null; then
    first=(chrt -f 10)
fi
"${first[@]}" "$prefix/harness" "$rounds" "${archives[@]}"
