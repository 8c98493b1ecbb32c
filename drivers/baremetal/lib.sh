# shellcheck shell=bash
# How programs without an operating system are built: by Debian's Rust, which brings the sources of
# `core` and `alloc`, and by the linker of the Rust that is used for all else.

BAREMETAL=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BUILT=${CARGO_TARGET_DIR:-$BAREMETAL/../../target}/baremetal

# linker: the path of rustup's rust-lld.
linker() {
    local version
    version=$(rustc -vV) || return
    echo "$(rustc --print sysroot)/lib/rustlib/$(sed -n 's/^host: //p' <<<"$version")/bin/rust-lld"
}

# board TRIPLE: the target of a board as the compiler has it, but without frame pointers, which nobody on a
# board reads and which take 2 KiB of code. No flag of the compiler leaves them out where the
# target has them. The file is named as the target, so that what is set for that is set for this.
board() {
    local spec=$BUILT/spec/$1.json
    mkdir -p "${spec%/*}" || return
    RUSTC_BOOTSTRAP=1 /usr/bin/rustc -Zunstable-options --print target-spec-json --target "$1" |
        sed 's/"frame-pointer": "always"/"frame-pointer": "may-omit"/' >"$spec.new" || return
    grep -q '"frame-pointer": "may-omit"' "$spec.new" || return
    mv "$spec.new" "$spec"
    echo "$spec"
}

# freestanding COMMAND STD TRIPLE ARGUMENT...: cargo build or check, with a standard library of the crates STD.
# All three tools by their full path: two toolchains must not mix, nor share a folder.
freestanding() {
    local command=$1 std=$2 triple=$3 lld variable
    shift 3
    lld=$(linker) || return
    variable=${triple##*/} variable=${variable%.json} variable=${variable//-/_}
    env -u RUSTUP_TOOLCHAIN -u RUSTFLAGS RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc \
        CARGO_TARGET_DIR="$BUILT" "CARGO_TARGET_${variable^^}_LINKER=$lld" \
        /usr/bin/cargo "$command" -Zbuild-std="$std" -Zjson-target-spec --target "$triple" "$@"
}

# section FILE NAME: the section's size in bytes, 0 when there is none.
section() {
    local size
    size=$(readelf -SW "$1" | sed 's/^ *\[ *[0-9]*\] *//' | awk -v name="$2" '$1 == name { print $5 }')
    echo $((16#${size:-0}))
}
