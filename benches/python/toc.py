"""Times Python's msgpack on an archive's table of contents: toc.py ARCHIVE ROUNDS.

Prints the median time of a round in microseconds: open, read the header and the table, unpack.
Exits with 9 where the module is missing.
"""

import struct
import sys
import time

try:
    import msgpack
except ImportError:
    sys.exit(9)


def read(path):
    with open(path, "rb", buffering=0) as file:
        magic, version, offset = struct.unpack("<4sIQ", file.read(16))
        if magic != b"KPAK" or version != 1:
            raise ValueError("not an archive")
        file.seek(offset)
        return msgpack.unpackb(file.readall())


def main():
    path, rounds = sys.argv[1], int(sys.argv[2])
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        table = read(path)
        times.append(time.perf_counter() - start)
        del table
    times.sort()
    print(times[len(times) // 2] * 1e6)


main()
