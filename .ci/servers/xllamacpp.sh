#!/usr/bin/env bash
# Provides a launcher around PyPI's xllamacpp, which has llama.cpp's HTTP server inside, in the cache, and prints
# its path on the last line. Half a minute at most. It is what `rocload server install` does.
set -eu
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/../lib.sh"

exec python3 drivers/cli/assets/servers/install.py xllamacpp "$SERVERS"
