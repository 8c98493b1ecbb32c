# shellcheck shell=bash
# What the gate's scripts share. Each begins with:
#   set -eu
#   . "$(dirname "$0")/../lib.sh"

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT" || exit 1

# Servers that are slow to get are kept here, per user, across runs and clones.
CACHE=${ROCLOAD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rocload}
SERVERS=$CACHE/servers
# Cargo's own variable wins; without it, `target/` is the one folder of the clone that is written.
# shellcheck disable=SC2034  # for the steps
TARGET=${CARGO_TARGET_DIR:-$ROOT/target}

# What only an edit and a second build would use is not kept: it is gigabytes, and takes time to write.
export CARGO_INCREMENTAL=0

# Debian's Rust, which one step installs, must not stand before the toolchain that the others use.
if [ -d "${CARGO_HOME:-$HOME/.cargo}/bin" ]; then
    PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
fi

# Folders to remove at the end. A script adds to it instead of setting its own trap.
REMOVE=()
cleanup() {
    [ ${#REMOVE[@]} -eq 0 ] || rm -rf "${REMOVE[@]}"
}
trap cleanup EXIT

# Scratch for one run: made by `run`, or by a script that is started on its own.
if [ -z "${CI_SCRATCH:-}" ]; then
    CI_SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/rocload-ci.XXXXXX")
    REMOVE+=("$CI_SCRATCH")
    export CI_SCRATCH
fi

die() {
    echo "ci: $*" >&2
    exit 1
}

# quiet COMMAND...: shows the command's output only when it fails.
quiet() {
    local log status=0
    log=$(mktemp "$CI_SCRATCH/log.XXXXXX")
    "$@" >"$log" 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then
        cat "$log" >&2
        echo "ci: failed with status $status: $*" >&2
    fi
    rm -f "$log"
    return "$status"
}

# tests COMMAND...: like quiet, but the closing line of each of cargo's test runs stays visible, and a command
# that ran no test at all has failed.
tests() {
    local log status=0
    log=$(mktemp "$CI_SCRATCH/log.XXXXXX")
    "$@" >"$log" 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then
        cat "$log" >&2
        echo "ci: failed with status $status: $*" >&2
    else
        # Runs of nothing (a crate without tests) are not worth a line.
        grep '^test result:' "$log" | grep -v ' 0 passed; 0 failed; 0 ignored' || status=1
        [ "$status" -eq 0 ] || echo "ci: ran no test: $*" >&2
    fi
    rm -f "$log"
    return "$status"
}

installed() {
    dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^.i'
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo -n "$@"
    else
        echo "ci: needs root, or sudo without a password: $*" >&2
        return 1
    fi
}

# apt_need PACKAGE...: installs those that are missing; does not touch apt when none is.
apt_need() {
    local package missing=()
    for package in "$@"; do
        installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)
    # A new machine's list of packages may be old or absent. Once in a run is enough.
    if [ ! -e "$CI_SCRATCH/apt-updated" ]; then
        quiet as_root "${apt[@]}" update
        : >"$CI_SCRATCH/apt-updated"
    fi
    quiet as_root "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
    echo "installed: ${missing[*]}"
}

# lock NAME: waits until no other run holds the cache's lock of that name. It is held until the script ends.
lock() {
    mkdir -p "$SERVERS"
    exec 9>"$SERVERS/$1.lock"
    flock -w 3600 9 || die "another run has held $SERVERS/$1.lock for an hour"
}

# use_servers: exports ROCLOAD_LLAMA_SERVER and ROCLOAD_LLAMA_LAUNCHER, where the servers step has noted them.
use_servers() {
    local name value
    [ -r "$SERVERS/env" ] || return 0
    while IFS='=' read -r name value; do
        export "$name=$value"
    done <"$SERVERS/env"
}
