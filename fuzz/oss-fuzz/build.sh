#!/usr/bin/env bash
# Builds the fuzz targets as OSS-Fuzz wants them: into $OUT, each with its seeds (<target>_seed_corpus.zip),
# its dictionary (<target>.dict) and its options (<target>.options).
#
#   OUT     where to: a folder that exists
#   SRC     where the repository is, as $SRC/rocload; without it, the repository that this file is in
#   FUZZ_TARGETS    names of targets, with blanks between them; without it, all
#   SANITIZER       address (as OSS-Fuzz names it) or none
#
# RUSTFLAGS, CFLAGS and CXXFLAGS are the builder's and are passed on.
set -eu

if [ -n "${SRC:-}" ]; then
    root=$SRC/rocload
else
    root=$(cd "$(dirname "$0")/../.." && pwd)
fi
: "${OUT:?the folder to build into}"
cd "$root"

# Link-time optimisation would drop the coverage tables; the stable toolchain takes cargo-fuzz's flags so.
export CARGO_PROFILE_RELEASE_LTO=false RUSTC_BOOTSTRAP=1

sanitizer=${SANITIZER:-address}
targets=${FUZZ_TARGETS:-$(cargo fuzz list)}
for target in $targets; do
    cargo fuzz build -O --debug-assertions -s "$sanitizer" "$target"
done

triple=$(rustc -vV | sed -n 's/^host: //p')
built=${CARGO_TARGET_DIR:-target}/$triple/release
for target in $targets; do
    cp "$built/$target" "$OUT/"
    # Entries in one order and without dates, so that the same corpus gives the same archive.
    python3 - "fuzz/corpus/$target" "$OUT/${target}_seed_corpus.zip" <<'PY'
import pathlib
import sys
import zipfile

with zipfile.ZipFile(sys.argv[2], "w", zipfile.ZIP_DEFLATED) as archive:
    for file in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        archive.writestr(zipfile.ZipInfo(file.name), file.read_bytes())
PY
    printf '[libfuzzer]\nmax_len = 4096\ntimeout = 25\n' >"$OUT/$target.options"
    if [ -f "fuzz/dict/$target.dict" ]; then
        cp "fuzz/dict/$target.dict" "$OUT/"
        printf 'dict = %s.dict\n' "$target" >>"$OUT/$target.options"
    fi
done
