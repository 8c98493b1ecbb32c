#!/usr/bin/env bash
# The public API of the two library crates, with every feature, as text beside this script.
#   api/list.sh            writes the listings anew
#   api/list.sh --check    shows how the code differs from them, and fails when it does
# Rust's rustdoc writes what it knows as JSON only when it is told that unstable options are wanted; the
# crates themselves are compiled as ever.
set -eu
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/../.ci/lib.sh"

check=
case "$#:${1:-}" in
0:) ;;
1:--check) check=1 ;;
*) die "usage: api/list.sh [--check]" ;;
esac

# Set for rustdoc alone: in the compiler's environment it would have dependencies built again.
rustdoc=$CI_SCRATCH/rustdoc
cat >"$rustdoc" <<'END_SCRIPT'
#!/bin/sh
RUSTC_BOOTSTRAP=1 exec rustdoc "$@"
END_SCRIPT
chmod +x "$rustdoc"

quiet cargo build -p rocload-api
differs=
for crate in rocload-core rocload; do
    json=$TARGET/doc/${crate//-/_}.json
    rm -f "$json"
    RUSTDOC="$rustdoc" quiet cargo rustdoc -p "$crate" --lib --all-features -- -Z unstable-options --output-format json
    "$TARGET/debug/list_api" "$json" >"$CI_SCRATCH/$crate.txt"
    # Thousands of lines are wanted, and none would also be equal to an empty listing.
    lines=$(wc -l <"$CI_SCRATCH/$crate.txt")
    [ "$lines" -gt 500 ] || die "rustdoc told of $lines items of $crate: too few to be all"
    if [ -z "$check" ]; then
        mv "$CI_SCRATCH/$crate.txt" "api/$crate.txt"
    elif ! diff -u --label "api/$crate.txt" --label "the code" "api/$crate.txt" "$CI_SCRATCH/$crate.txt"; then
        differs=1
    fi
    echo "$crate: $lines public items"
done
if [ -n "$differs" ]; then
    die "the public API is not what api/ lists. If it is meant to change, run api/list.sh and commit the listings." \
        "($(rustc --version) wrote this one; another may write an unchanged API otherwise.)"
fi
