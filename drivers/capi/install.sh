#!/usr/bin/env bash
# Builds librocm_kpack and installs it: libraries, headers, pkg-config and CMake files.
#   install.sh [--documented] [--prefix DIR] [--libdir DIR] [--from DIR]
# --documented  the seven functions of the design document, in place of the shipped library's fourteen
# --prefix      /usr/local unless said otherwise; what is installed finds itself wherever that folder is moved
# --libdir      the libraries' folder below the prefix: lib
# --from        libraries that are built already, in this folder; nothing is built
# DESTDIR is put in front of all paths, for packagers. Nothing else is asked or written.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
package=rocload-capi
name=rocm_kpack
include=$here/include
prefix=/usr/local
libdir=lib
from=

die() {
    echo "install.sh: $*" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    option=$1
    shift
    case $option in
    --documented)
        package=rocload-capi-documented
        name=rocm_kpack_documented
        include=$here/documented/include
        ;;
    --prefix | --libdir | --from)
        [ $# -gt 0 ] || die "$option wants a folder"
        declare "${option#--}=$1"
        shift
        ;;
    -h | --help)
        sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
        exit 0
        ;;
    *) die "unknown option: $option (--help tells which there are)" ;;
    esac
done
case $prefix in
/*) ;;
*) die "the prefix must be an absolute path: $prefix" ;;
esac

cd "$here"
version=$(cargo pkgid -p "$package")
version=${version##*[@#]}
soname=librocm_kpack.so.0

if [ -z "$from" ]; then
    # These two kinds alone: link-time optimisation does not reach a library that is built for Rust as well.
    built=$(cargo rustc --quiet --release -p "$package" --lib --crate-type cdylib,staticlib \
        --message-format json-render-diagnostics | tr ',[]' '\n\n\n' | sed -n "s|^\"\(/.*/lib$name\.so\)\"$|\1|p" | tail -n 1)
    [ -n "$built" ] || die "cargo has built no lib$name.so"
    from=$(dirname "$built")
fi
for file in "$from/lib$name.so" "$from/lib$name.a"; do
    [ -f "$file" ] || die "no such file: $file"
done

root=${DESTDIR:-}$prefix
lib=$root/$libdir
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cp "$from/lib$name.so" "$scratch/so"
cp "$from/lib$name.a" "$scratch/a"
if command -v strip >/dev/null; then
    strip --strip-unneeded "$scratch/so"
    strip --strip-debug "$scratch/a" 2>/dev/null || cp "$from/lib$name.a" "$scratch/a"
fi

mkdir -p "$lib/pkgconfig" "$lib/cmake/rocm-kpack" "$root/include/rocm_kpack"
# A program may be running with the old library: the new one takes its name, not its file.
put() {
    install -m "$1" "$2" "$3.new"
    mv -f "$3.new" "$3"
}
put 755 "$scratch/so" "$lib/librocm_kpack.so.$version"
ln -sfn "librocm_kpack.so.$version" "$lib/$soname"
ln -sfn "$soname" "$lib/librocm_kpack.so"
put 644 "$scratch/a" "$lib/librocm_kpack.a"
for header in "$include"/rocm_kpack/*.h; do
    put 644 "$header" "$root/include/rocm_kpack/$(basename "$header")"
done

# From a file in DEEP folders below the prefix back to it.
up() {
    local path=$1 out=
    while [ -n "$path" ] && [ "$path" != . ]; do
        out=../$out
        path=$(dirname "$path")
    done
    echo "${out%/}"
}
fill() {
    sed -e "s|@VERSION@|$version|g" -e "s|@LIBDIR@|$libdir|g" -e "s|@UP@|$2|g" "$1" >"$scratch/filled"
    put 644 "$scratch/filled" "$3"
}
fill pkgconfig/rocm_kpack.pc.in "$(up "$libdir/pkgconfig")" "$lib/pkgconfig/rocm_kpack.pc"
for file in rocm-kpack-config rocm-kpack-config-version; do
    fill "cmake/$file.cmake.in" "$(up "$libdir/cmake/rocm-kpack")" "$lib/cmake/rocm-kpack/$file.cmake"
done

echo "installed $package $version in $root"
