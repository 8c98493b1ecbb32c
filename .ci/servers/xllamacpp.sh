#!/usr/bin/env bash
# Provides a launcher around PyPI's xllamacpp, which has llama.cpp's HTTP server inside, in the cache, and prints
# its path on the last line. Half a minute at most.
set -eu
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/../lib.sh"

# The hash is that of the wheel for x86-64 and CPython 3.10 or newer.
version=2026.10.11549
requirement="xllamacpp==$version --hash=sha256:c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261"

python=$(python3 -c 'import sys; print("py%d.%d" % sys.version_info[:2])')
home=$SERVERS/xllamacpp-$version-$python
launcher=$home/llama-launcher

lock xllamacpp
if ! "$home/venv/bin/python" -c 'import xllamacpp' >/dev/null 2>&1; then
    rm -rf "$home"
    work=$(mktemp -d "$SERVERS/installing.XXXXXX")
    REMOVE+=("$work")
    mkdir "$work/done"
    echo "$requirement" >"$work/requirements.txt"
    # Without its own pip, which Debian keeps in another package: the machine's pip installs into it.
    quiet python3 -m venv --without-pip "$work/done/venv"
    quiet timeout 600 python3 -m pip --python "$work/done/venv/bin/python" install --quiet \
        --disable-pip-version-check --no-compile --no-deps --only-binary :all: --require-hashes \
        -r "$work/requirements.txt"
    quiet "$work/done/venv/bin/python" -c 'import xllamacpp'
    mv "$work/done" "$home"
    echo "installed: xllamacpp $version"
fi

# The launcher is a part of the project and small: laid anew each time, by renaming, so that one which is being
# started stays whole.
cp .ci/servers/launcher.py "$home/launcher.py.new"
mv "$home/launcher.py.new" "$home/launcher.py"
cat >"$launcher.new" <<'END'
#!/bin/sh
home=$(dirname "$(readlink -f "$0")")
exec "$home/venv/bin/python" "$home/launcher.py" "$@"
END
chmod +x "$launcher.new"
mv "$launcher.new" "$launcher"
echo "$launcher"
