#!/usr/bin/env bash
# Builds a loader, runs it, and holds what it takes to its limits:
#   run.sh lm3s6965evb|mps2-an385|x86_64|wasm32 [--broken frame|table]
# The status is 0 when every check holds. With --broken it reads an archive with one byte changed, in a
# frame or in the table of contents: the status must not be 0.
set -eu
# shellcheck source=drivers/baremetal/lib.sh
. "$(dirname "$0")/lib.sh"

usage() {
    sed -n '2,5s/^# //p' "$0" >&2
    exit 2
}
[ $# -eq 1 ] || { [ $# -eq 3 ] && [ "$2" = --broken ]; } || usage
name=$1 broken=${3:-}

# What each may take, in bytes: code and constants, without the files; and RAM: statics and the stack as
# deep as it was.
std=core profile=release
case $name in
    lm3s6965evb) triple=thumbv7m-none-eabi flash=$((64 << 10)) ram=$((48 << 10)) profile=board ;;
    mps2-an385) triple=thumbv7m-none-eabi flash=$((224 << 10)) ram=$((160 << 10)) profile=board std=core,alloc ;;
    x86_64) triple=x86_64-unknown-none flash=$((288 << 10)) ram=$((96 << 10)) ;;
    wasm32) triple=wasm32-unknown-unknown flash=$((288 << 10)) ram=$((192 << 10)) ;;
    *) usage ;;
esac

cd "$BAREMETAL"
target=$triple
[ "$profile" != board ] || target=$(board "$triple")
freestanding build "$std" "$target" --profile "$profile" --locked --quiet -p "$name"
image=$BUILT/$triple/$profile/$name
[ "$name" != wasm32 ] || image=$image.wasm

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
archive=../../fixtures/kpack/board.kpack
run=$image
if [ -n "$broken" ]; then
    whole=$image
    [ "$name" != wasm32 ] || whole=$archive
    python3 break.py "$archive" "$broken" "$whole" "$scratch/broken"
    [ "$name" = wasm32 ] && archive=$scratch/broken || run=$scratch/broken
fi

# A loader that hangs has failed as well.
cortex=(timeout 120 qemu-system-arm -cpu cortex-m3 -nographic -monitor none -serial null
    -semihosting-config enable=on,target=native)
status=0
case $name in
    lm3s6965evb | mps2-an385) "${cortex[@]}" -M "$name" -kernel "$run" </dev/null >"$scratch/out" || status=$? ;;
    x86_64)
        # The machine's exit device answers 33 for a run that passed; a reset ends it with 0.
        timeout 120 qemu-system-x86_64 -M pc -m 32M -nodefaults -no-reboot -display none -serial stdio \
            -device isa-debug-exit,iobase=0xf4,iosize=4 -kernel "$run" </dev/null >"$scratch/out" || status=$?
        case $status in 33) status=0 ;; 0) status=1 ;; esac
        ;;
    wasm32) timeout 120 node wasm32/run.mjs "$run" "$archive" >"$scratch/out" || status=$? ;;
esac
cat "$scratch/out"
if [ "$status" -ne 0 ]; then
    echo "$name: failed with status $status"
    exit 1
fi

stack=$(sed -n 's/^stack: \([0-9]*\) bytes.*/\1/p' "$scratch/out")
if [ "$name" = wasm32 ]; then
    read -r code data statics < <(sed -n 's/^sections: code \(.*\) data \(.*\) statics \(.*\)/\1 \2 \3/p' "$scratch/out")
    code=$((code + data))
else
    data=$(section "$image" .data)
    code=$(($(section "$image" .text) + $(section "$image" .rodata) + data))
    statics=$((data + $(section "$image" .bss)))
fi
echo "$name: code and constants $code of $flash, RAM $((statics + stack)) of $ram (statics $statics, stack $stack)"
if [ "$code" -gt "$flash" ] || [ $((statics + stack)) -gt "$ram" ]; then
    echo "$name: over its limit"
    exit 1
fi
# Less would be a program that the linker has thrown away, or a stack that was not measured.
if [ "$code" -lt 16384 ] || [ "$stack" -lt 4096 ]; then
    echo "$name: the figures are not those of the program"
    exit 1
fi
